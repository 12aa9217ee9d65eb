"""Numbers that add up without a program, for mixed-joint: those of a rounding of the whole table by annealing.

A rounding of all cells adds up in every equation, so its totals add up among themselves. It is made in a moment, where
programs may take long; the steps of rounding are those that it needs. With a limit, and in large tables, it is made
before programs start, as in `rounding.initial_rounding`.

Reference: see `rounding.annealing`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.errors import InputError, NotApplicable, SolverError
from tablecloak.methods.base import GRACE
from tablecloak.methods.intervals import skewed
from tablecloak.methods.mixed.formulation import Joint, Plan, joint_of
from tablecloak.methods.mixed.plan import check_possible
from tablecloak.methods.rounding import (
    AnnealedRounding,
    AnnealingSettings,
    FirstSettings,
    annealed_rounding,
    whole_table,
)
from tablecloak.methods.unified import sufficient_deviation
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import watched


@dataclass(frozen=True)
class JointSettings:
    """Benchmark part `limits`."""

    judged_share: float = 0.2
    """Maximum share of the time that is kept for the last judgement within the method."""
    possible_share: float = 0.4
    """Maximum share of the time for the audit of the widest publication, where numbers are at hand."""


@dataclass(frozen=True, eq=False)
class AtHand:
    """A program, and columns whose numbers add up. Confidential."""

    joint: Joint
    x: Floats
    tied: bool
    """Whether leaves are tied to each other, as in linked tables: a judgement that does not end in time is likely."""
    least: float
    """What any numbers cost at least: of each rounded cell the distance to the nearest multiple."""

    @property
    def numbers(self) -> tuple[Joint, Floats, float]:
        """The program, the columns, and what numbers cost at least."""
        return self.joint, self.x, self.least


def numbers_at_hand(
    method: str,
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
    first: FirstSettings = FirstSettings(),  # noqa: B008 (frozen)
) -> AtHand | None:
    """`annealed_numbers` before programs start, if there is a limit or they may take long."""
    usual, limited = AnnealingSettings(), deadline.moment is not None
    if not limited and (len(plan.problem.table) <= first.large or is_network(plan.problem)):
        return None
    few = replace(usual, most_steps=min(usual.most_steps, first.steps)) if limited else usual
    return annealed_numbers(method, plan, most, rng, deadline.share(first.share), progress, few)


def check_in_time(plan: Plan, deadline: Deadline, progress: Progress) -> None:
    """`check_possible`; `TimeUp` once the deadline has passed, also while a long program runs."""
    with watched(deadline.check):
        check_possible(plan, deadline.watched(progress))


def annealed_numbers(
    method: str,
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
    settings: AnnealingSettings,
) -> AtHand | None:
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
    found = annealed_rounding(problem, whole, rng, progress, deadline, settings)
    if found is None:
        return None
    residue = whole.values % whole.base
    steps = _steps(found, problem.table.values, plan.rounded & (residue == 0), float(bases[0]))
    if most is not None and steps > most:
        return None
    joint = joint_of(plan, steps)
    distance = np.where(plan.rounded, whole.amounts(np.minimum(residue, whole.base - residue)), 0.0)
    least = float(problem.weights @ distance)
    return AtHand(joint, columns_showing(joint, found.shown), found.tied, least)


def _steps(found: AnnealedRounding, values: Floats, multiples: Bools, base: float) -> int:
    """The steps of a rounding: the reach is one base more, but multiples, which have no step without, move by steps."""
    moved = np.abs(found.shown - values)[multiples] / base
    return max(found.reach - 1, int(np.rint(moved.max(initial=0.0))))


def numbers_by_annealing(
    method: str,
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
) -> tuple[Joint, Floats, float]:
    """`annealed_numbers`, and what they cost at least; an error where there are none."""
    settings = AnnealingSettings()
    found = annealed_numbers(method, plan, most, rng, deadline.at_least(GRACE), progress, settings)
    if found is not None:
        return found.numbers
    if deadline.interrupted:
        raise KeyboardInterrupt
    raise SolverError("the time was up before numbers that add up were found; give it more seconds")


def skewed_plan(plan: Plan, blurred: Bools, asymmetry: float, share: int) -> Plan:
    """The plan with levels of sensitive intervals that chance made larger; those of other cells as they are."""
    problem = plan.problem
    larger = skewed(problem, asymmetry, np.random.default_rng(share)).levels
    lower = np.where(blurred, larger.lower, problem.levels.lower)
    upper = np.where(blurred, larger.upper, problem.levels.upper)
    levels = replace(problem.levels, lower=lower, upper=upper)
    return replace(plan, problem=replace(problem, levels=levels))


def stated_wider(joint: Joint, x: Floats) -> tuple[Joint, Floats]:
    """The same numbers with the stated reach of rounded cells so large that it is as good as hiding them.

    Steps that are given stay, and so do numbers beside perturbed cells: see `mixed_joint`.
    """
    plan = joint.plan
    if not plan.rounded.any() or plan.perturbed.any() or not plan.problem.is_monotone:
        return joint, x
    least = float(plan.base[plan.rounded].min())
    steps = max(joint.steps, math.ceil(sufficient_deviation(plan.problem) / least))
    wider = joint_of(plan, steps)
    return wider, columns_showing(wider, np.where(plan.rounded, joint.value.at(x), plan.problem.table.values))


def columns_showing(joint: Joint, shown: Floats) -> Floats:
    """The columns of rounded cells for what they show, and of their distances to the truth; all others at zero."""
    matrix, rows = joint.value.matrix, joint.free.constraints
    moving = np.flatnonzero((np.diff(matrix.indptr) == 1) & joint.plan.rounded)
    at = matrix.indptr[moving]
    x = np.zeros(joint.free.size)
    x[matrix.indices[at]] = np.rint((shown - joint.value.constant)[moving] / matrix.data[at])
    decided = np.zeros(x.size, dtype=bool)
    decided[matrix.indices[at]] = True
    missing = rows.low - rows.matrix @ x
    of = np.repeat(np.arange(missing.size), np.diff(rows.matrix.indptr))
    beside = (rows.low == rows.high)[of] & ~decided[rows.matrix.indices]
    beside &= rows.matrix.data * missing[of] > 0  # k - z+ + z- = r: the one of z+, z- that makes up for it
    x[rows.matrix.indices[beside]] = (missing[of] / rows.matrix.data)[beside]
    return x
