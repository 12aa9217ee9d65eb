"""Several ways to publish in one table: which cell goes which way, all in one `unified.formulation`.

| way | what is decided | what is printed |
|---|---|---|
| exact | nothing | the true value |
| suppress | x binary | nothing where x = 1, else the true value |
| interval | z+, z- >= 0 | from a - z- to a + z+ |
| round | k integral | a multiple of the base, and that it is within the reach |
| perturb | z+, z- >= 0, senses | a number near by, and that it is within the reach |
| published | nothing: it is out already | what was stated then, from low to high |

Attackers have all of it at once: the deviation bounds of every cell are those of its own way, and levels tie the ways
together.
A cell marked to be hidden is hidden whatever its way, and so are sums that no publication shows (virtual cells).

*What is printed adds up* where every cell of an equation shows a number by its way (exact, round, perturb): these rows
are part of the program. They are taken from all equations of the table, redundant ones too: that row totals add up to
the grand total follows from the inner cells only if these are shown. An equation with cells that are hidden or
intervals, or may be, is not imposed: it is stated that the truth lies within, and it does. This holds also where all
its intervals come out as points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Bools, Floats, frozen
from tablecloak.errors import SolverError
from tablecloak.methods.adjustment import (
    IntegerUnits,
    Ranges,
    formulate,
    pattern_of,
    price_unit,
    ranges_of,
)
from tablecloak.methods.mixed.plan import Plan
from tablecloak.methods.rounding import in_data_units, is_noise
from tablecloak.methods.unified import (
    Affine,
    Formulation,
    LinearConstraints,
    ShownFormulation,
    combined_formulation,
    interval_formulation,
    joined,
    length_unit,
    rounding_formulation,
    sufficient_deviation,
    sum_constraints,
    suppression_formulation,
)
from tablecloak.model import (
    Intervals,
    Mark,
    Mixed,
    Pattern,
    Perturbation,
    Prices,
    Problem,
    Rounding,
    Suppression,
    amounts,
)


@dataclass(frozen=True, eq=False)
class JointFormulation:
    """All ways as one formulation, what is shown as a function of its columns, and its patterns. Confidential."""

    plan: Plan
    formulation: Formulation
    free: Formulation
    """The formulation without bounds on touched cells."""
    value: Affine
    """What cells with numbers show."""
    reach: Floats
    """The stated reach of rounded cells."""
    steps: int
    vague: Bools
    """Columns that only widen deviation bounds: of suppressed cells and intervals."""
    ranges: Ranges | None

    @property
    def problem(self) -> Problem:
        return self.plan.problem

    def widest(self, x: Floats) -> Floats:
        """The same numbers with everything else as vague as any requirement could need."""
        far = np.minimum(
            self.formulation.high, sufficient_deviation(self.problem) / length_unit(self.problem)
        )
        return np.where(self.vague, far, x)

    def deviation_bounds(self, x: Floats) -> tuple[Floats, Floats]:
        """Deviation bounds below and above, without noise below zero."""
        return np.maximum(self.formulation.below.at(x), 0.0), np.maximum(self.formulation.above.at(x), 0.0)

    def pattern(self, x: Floats, intervals: Intervals) -> Mixed:
        """What is printed: numbers by the columns x, and these intervals."""
        plan, table, nothing = self.plan, self.problem.table, np.full(len(self.problem.table), np.nan)
        parts: list[tuple[Bools, Pattern]] = []
        if (vague := plan.hidden | plan.suppress).any():
            hidden = plan.hidden | (plan.suppress & (self.formulation.touched.at(x) > 0.5))
            parts.append((vague, Suppression.of(table, hidden)))
        if (stated := plan.interval | plan.published).any():
            low = np.where(plan.interval, intervals.low, np.where(plan.published, plan.low, 0.0))
            high = np.where(plan.interval, intervals.high, np.where(plan.published, plan.high, 0.0))
            parts.append((stated, Intervals.of(low, high)))
        moved = self._moved(x)
        if plan.rounded.any():
            shown = np.where(plan.rounded, in_data_units(table, self.value.at(x)), nothing)
            parts.append((plan.rounded, Rounding.of(shown, np.where(plan.rounded, self.reach, 0.0))))
        if self.ranges is not None:
            near = pattern_of(self.problem, self.ranges, np.where(plan.perturbed, moved, 0.0))
            shown = np.where(plan.perturbed, near.shown, nothing)
            parts.append((plan.perturbed, Perturbation.of(shown, np.where(plan.perturbed, near.reach, 0.0))))
        pattern = Mixed.of(table, parts)
        self._check_sums(pattern)
        return pattern

    def _moved(self, x: Floats) -> Floats:
        """The distances of shown numbers from the truth, in data units; integral where possible."""
        plan, table = self.plan, self.problem.table
        moved = np.where(plan.changed, (self.value.at(x) - table.values) / table.unit, 0.0)
        moved = np.where(plan.rounded, np.rint(moved), moved)
        if self.ranges is None:
            return moved
        low, high = self.ranges.with_senses(moved > 0).ends()
        still = ~plan.perturbed | ((self.formulation.touched.at(x) < 0.5) & plan.counted)
        low, high = np.where(plan.perturbed, low, moved), np.where(plan.perturbed, high, moved)
        low, high = np.where(still & plan.perturbed, 0.0, low), np.where(still & plan.perturbed, 0.0, high)
        sums = plan.summing()
        smaller = replace(table, equations=sums, rhs=amounts(sums @ table.units, table.decimals))
        return IntegerUnits(replace(self.problem, table=smaller)).fewest_digits(moved, (low, high))[0]

    def _check_sums(self, pattern: Mixed) -> None:
        sums, shown = self.plan.summing(), pattern.view(self.problem).shown
        shown = np.where(self.plan.numbers, shown, 0.0)
        off = sums @ (shown - np.where(self.plan.numbers, self.problem.table.values, 0.0))
        if not is_noise(off, abs(sums) @ np.abs(shown), self.problem.table.unit):
            raise SolverError(
                "numbers that do not add up were found; they are dropped. Please report the instance."
            )

    def __repr__(self) -> str:
        return f"<confidential JointFormulation: {self.formulation.size} columns>"


def joint_formulation(plan: Plan, steps: int) -> JointFormulation:
    """The formulation of a plan with a number of steps of rounding."""
    problem, size = plan.problem, len(plan.problem.table)
    parts = [(plan.fixed | plan.hidden, _fixed_formulation(plan))]
    values: list[Affine] = [Affine(problem.table.values, csr_array((size, 0)))]
    vague = [np.zeros(0, dtype=bool)]
    reach = np.zeros(size)
    ranges: Ranges | None = None

    def add(cells: Bools, formulation: Formulation, value: Affine | None) -> None:
        parts.append((cells, formulation))
        values.append(Affine(np.zeros(size), csr_array((size, formulation.size))) if value is None else value)
        vague.append(np.full(formulation.size, value is None))

    if plan.suppress.any():
        add(plan.suppress, suppression_formulation(_within(problem), plan.suppress), None)
    if plan.interval.any():
        add(plan.interval, _interval_formulation(plan), None)
    if plan.rounded.any():
        base = np.where(plan.rounded, plan.base, 0.0)
        shown = rounding_formulation(problem, plan.rounded, base, steps, problem.applied_prices, plan.counted)
        reach = shown.reach
        add(plan.rounded, shown.formulation, shown.value)
    if plan.perturbed.any():
        ranges, shown = _perturbed(plan)
        add(plan.perturbed, shown.formulation, shown.value)
    value = _values([cells for cells, _ in parts], values)
    formulation, value = _from_zero(joined(parts), value)
    if (formulation.switch < 0).all():
        formulation = replace(formulation, switches=None)
    free = formulation.with_constraints(_adding_up(plan, value))
    formulation = free.at_most_touched(problem.most_touched)
    for _, cells, most in plan.bounded():
        formulation = formulation.at_most_touched(most, cells)
    return JointFormulation(plan, formulation, free, value, reach, steps, np.concatenate(vague), ranges)


# ---------------------------------------------------------------------- the parts


def _fixed_formulation(plan: Plan) -> Formulation:
    """No columns: fixed deviation bounds. What was published as an interval costs its width."""
    problem, size, none = plan.problem, plan.exact.size, np.zeros(0)
    value, endless = problem.table.values, np.where(plan.hidden, np.inf, 0.0)
    above = np.where(plan.published, np.maximum(plan.high - value, 0.0), endless)
    below = np.where(plan.published, np.maximum(value - plan.low, 0.0), endless)
    stated = Intervals.of(np.where(plan.published, plan.low, 0.0), np.where(plan.published, plan.high, 0.0))
    empty = csr_array((size, 0))
    return Formulation(
        none,
        none,
        none,
        none.astype(bool),
        LinearConstraints.none(0),
        Affine(above, empty),
        Affine(below, empty),
        Affine((plan.hidden | plan.published).astype(float), empty),
        stated.loss(problem),
    )


def _within(problem: Problem) -> Problem:
    """A priori bounds no wider than any requirement needs: those of a hidden cell must be finite."""
    value, far = problem.table.values, sufficient_deviation(problem)
    return replace(
        problem,
        outsider_low=np.maximum(problem.outsider_low, value - far),
        outsider_high=np.minimum(problem.outsider_high, value + far),
    )


def _interval_formulation(plan: Plan) -> Formulation:
    problem, none = plan.problem, np.zeros(plan.exact.size, dtype=bool)
    prices = problem.applied_prices
    if not plan.counted and prices.touch is None:
        return interval_formulation(problem, plan.interval, none, prices)
    prices = Prices(prices.up, prices.down, np.where(problem.must_hide, 0.0, prices.touched))
    return combined_formulation(problem, plan.interval, none, prices, sufficient_deviation(problem))


def _perturbed(plan: Plan) -> tuple[Ranges, ShownFormulation]:
    """The formulation of the perturbed cells alone, without sums: those are imposed on the whole table."""
    problem = plan.problem
    marks = frozen(np.where(plan.perturbed, problem.marks, Mark.FORCED).astype(problem.marks.dtype))
    alone = replace(problem, marks=marks, most_touched=None)
    ranges = ranges_of("mixed-joint", alone, plan.rule)
    shown = formulate(alone, ranges, plan.counted, additive=False)
    formulation = replace(shown.formulation, cost=shown.formulation.cost * price_unit(alone))
    return ranges, replace(shown, formulation=formulation)


def _values(masks: list[Bools], values: list[Affine]) -> Affine:
    """What is shown, each part for its own cells."""
    constant = np.zeros(masks[0].size)
    matrices = []
    for cells, value in zip(masks, values, strict=True):
        constant[cells] = value.constant[cells]
        own = (
            csr_array(value.matrix.multiply(cells[:, None].astype(float)))
            if value.matrix.nnz
            else value.matrix
        )
        matrices.append(own)
    return Affine(constant, csr_array(hstack(matrices)))


def _from_zero(formulation: Formulation, value: Affine) -> tuple[Formulation, Affine]:
    """The same with columns counted from their lower bounds, for which cuts are strengthened."""
    start = formulation.low
    if not start.any():
        return formulation, value

    def moved(affine: Affine) -> Affine:
        return Affine(affine.constant + affine.matrix @ start, affine.matrix)

    by = formulation.constraints.matrix @ start
    rows = LinearConstraints(
        formulation.constraints.matrix, formulation.constraints.low - by, formulation.constraints.high - by
    )
    shifted = replace(
        formulation,
        low=np.zeros_like(start),
        high=formulation.high - start,
        constraints=rows,
        above=moved(formulation.above),
        below=moved(formulation.below),
        touched=moved(formulation.touched),
        constant=formulation.constant + float(formulation.cost @ start),
    )
    return shifted, moved(value)


def _adding_up(plan: Plan, value: Affine) -> LinearConstraints:
    """M v = M a for the equations in which every cell shows a number by its way."""
    sums = plan.summing()
    true = np.where(plan.numbers, plan.problem.table.values, 0.0)
    return sum_constraints(sums, true, Affine(np.where(plan.numbers, value.constant, 0.0), value.matrix))
