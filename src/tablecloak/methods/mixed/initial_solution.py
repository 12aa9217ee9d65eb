"""Additive numbers without a program, for mixed-joint: those of a rounding of the whole table by annealing.

A rounding of all cells adds up in every equation, so its totals add up among themselves. It is made in a moment, where
programs may take long; the steps of rounding are those that it needs. With a time limit, and in large tables, it is
made before programs start, as in `rounding.initial_rounding`.

References: see `rounding.annealing`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.errors import SolverError
from tablecloak.methods.base import RunSettings
from tablecloak.methods.intervals import skewed
from tablecloak.methods.mixed.formulation import JointFormulation, joint_formulation
from tablecloak.methods.mixed.plan import Plan, check_possible
from tablecloak.methods.rounding import (
    AnnealedRounding,
    AnnealingSettings,
    RoundingSettings,
    anneal,
    least_change,
    reach_of_hiding,
    takes_long,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import watched


@dataclass(frozen=True, eq=False)
class AdditiveNumbers:
    """A formulation, and columns whose numbers add up. Confidential."""

    joint: JointFormulation
    x: Floats
    bound: float = 0.0
    """A lower bound on the cost of any numbers."""
    tied: bool = False
    """Whether leaves are linearly dependent, as in linked tables: an audit may not end in time."""


def initial_numbers(
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
    settings: RoundingSettings = RoundingSettings(),
) -> AdditiveNumbers | None:
    """`annealed_numbers` before programs start, if there is a limit or they may take long."""
    limited = deadline.moment is not None
    if not limited and not takes_long(plan.problem, settings):
        return None
    within, annealing = deadline.share(settings.initial.share), settings.initial_annealing(limited)
    return annealed_numbers(plan, most, rng, within, progress, annealing)


def check_in_time(plan: Plan, deadline: Deadline, progress: Progress) -> None:
    """`check_possible`; `TimeUp` once the deadline has passed, also while a long program runs."""
    with watched(deadline.check):
        check_possible(plan, deadline.watched(progress))


def annealed_numbers(
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
    settings: AnnealingSettings = AnnealingSettings(),
) -> AdditiveNumbers | None:
    """Annealed numbers with the steps that are needed (at most `most`).

    None where annealing is not applicable: several bases, perturbed cells, cells other than forced ones that keep their
    values, conditional levels, a bound on touched cells or prices of touching.
    """
    problem, bases = plan.problem, plan.base[plan.rounded]
    kept = plan.perturbed.any() or (plan.exact & ~problem.forced).any() or counts_touched(plan)
    found = None if kept else anneal(problem, bases, rng, progress, deadline, settings)
    if found is None:
        return None
    steps = _steps(found, problem.table.values, plan.rounded, float(bases[0]))
    if most is not None and steps > most:
        return None
    joint, units = joint_formulation(plan, steps), found.units
    bound = least_change(problem, units, plan.rounded)
    return AdditiveNumbers(joint, columns_showing(joint, found.shown), bound, found.tied)


def _steps(found: AnnealedRounding, values: Floats, rounded: Bools, base: float) -> int:
    """The steps of a rounding: one less than its reach, but multiples, which do not move without, move by steps."""
    multiples = rounded & (found.units.distances() == 0)
    moved = np.abs(found.shown - values)[multiples] / base
    return max(found.reach - 1, int(np.rint(moved.max(initial=0.0))))


def numbers_by_annealing(
    plan: Plan,
    most: int | None,
    rng: np.random.Generator,
    deadline: Deadline,
    progress: Progress,
    settings: RoundingSettings = RoundingSettings(),
) -> AdditiveNumbers:
    """`annealed_numbers` with a moment in any case; an error where there are none."""
    found = annealed_numbers(
        plan, most, rng, deadline.at_least(RunSettings.grace), progress, settings.annealing
    )
    if found is not None:
        return found
    if deadline.interrupted:
        raise KeyboardInterrupt
    raise SolverError("the time was up before numbers that add up were found; give it more seconds")


def skewed_plan(plan: Plan, blurred: Bools, asymmetry: float, share: int) -> Plan:
    """The plan with randomly raised levels of sensitive intervals; those of other cells as they are."""
    larger = skewed(plan.problem, asymmetry, np.random.default_rng(share), among=blurred)
    return replace(plan, problem=larger)


def counts_touched(plan: Plan) -> bool:
    """Whether it matters which cells are touched, so that numbers have further columns."""
    return plan.counted or plan.problem.applied_prices.touch is not None


def stated_wider(numbers: AdditiveNumbers) -> AdditiveNumbers:
    """The same numbers with a stated reach of rounded cells that is as good as hiding them.

    Numbers beside perturbed cells stay as they are: see `mixed_joint`.
    """
    joint, plan = numbers.joint, numbers.joint.plan
    if not plan.rounded.any() or plan.perturbed.any() or counts_touched(plan):
        return numbers
    wider = joint_formulation(plan, max(joint.steps, reach_of_hiding(plan.problem, plan.base[plan.rounded])))
    shown = np.where(plan.rounded, joint.value.at(numbers.x), plan.problem.table.values)
    return replace(numbers, joint=wider, x=columns_showing(wider, shown))


def columns_showing(joint: JointFormulation, shown: Floats) -> Floats:
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
    beside &= rows.matrix.data * missing[of] > 0  # k - z+ + z- = r: the one of z+, z- that balances it
    x[rows.matrix.indices[beside]] = (missing[of] / rows.matrix.data)[beside]
    return x
