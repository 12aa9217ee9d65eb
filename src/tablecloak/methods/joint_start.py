"""Numbers that add up without a program, for mixed-joint: those of a rounding of the whole table by annealing.

A rounding of all cells adds up in every equation, so its totals add up among themselves. It is made in a moment, where
programs may take long; the steps of rounding are those that it needs.

Reference: see `annealed_rounding`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.annealed_rounding import annealed_rounding
from tablecloak.methods.forms import Form
from tablecloak.methods.mixing import Joint, Plan, joint_of
from tablecloak.methods.rounding import whole_table
from tablecloak.methods.second_model import SecondModel
from tablecloak.progress import Deadline, Progress


def annealed_numbers(
    method: str,
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
) -> tuple[Joint, Floats] | None:
    """The program of the steps that are needed (at most `most`), and columns whose numbers add up.

    None where annealing cannot do it: several bases, perturbed cells, cells other than forced ones that keep their
    values, conditional levels or a bound on touched cells.
    """
    problem, bases = plan.problem, np.unique(plan.base[plan.rounded])
    kept = plan.perturbed.any() or (plan.exact & ~problem.forced).any()
    if bases.size != 1 or kept or not problem.is_monotone:
        return None
    try:
        whole = whole_table(method, problem, float(bases[0]))
    except (
        InputError,
        NotApplicable,
    ):  # forced cells that are no multiples, or coefficients that are not whole
        return None
    found = annealed_rounding(problem, whole, rng, progress, deadline)
    if found is None or (most is not None and found.reach > most + 1):
        return None
    joint = joint_of(plan, found.reach - 1)
    answer = SecondModel(problem, _at(joint, found.shown), [], [], deadline, progress).solve()
    return (joint, answer.values) if answer.safe else None


def _at(joint: Joint, shown: Floats) -> Form:
    """The form with the columns of rounded cells fixed to what they show."""
    matrix = joint.value.matrix
    moving = np.flatnonzero((np.diff(matrix.indptr) == 1) & joint.plan.rounded)
    at = matrix.indptr[moving]
    columns = np.rint((shown - joint.value.constant)[moving] / matrix.data[at])
    low, high = joint.free.low.copy(), joint.free.high.copy()
    low[matrix.indices[at]] = high[matrix.indices[at]] = columns
    return replace(joint.free, low=low, high=high)
