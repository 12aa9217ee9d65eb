"""Several ways to publish in one table: which cell goes which way, all in one `unified.formulation`.

| way | what is decided | what is printed |
|---|---|---|
| exact | nothing | the true value |
| suppress | x binary | nothing where x = 1, else the true value |
| interval | z+, z- >= 0 | from a - z- to a + z+ |
| round | k whole | a multiple of the base, and that it is within the reach |
| perturb | z+, z- >= 0, senses | a number near by, and that it is within the reach |
| published | nothing: it is out already | what was stated then, from low to high |

Attackers have all of it at once, so the room of every cell is that of its own way, and levels tie the ways together.
A cell marked to be hidden is hidden whatever its way, and so are sums that no publication shows (virtual cells).

*What is printed adds up* where every cell of an equation shows a number by its way (exact, round, perturb): these rows
are part of the program. They are taken from all equations of the table, redundant ones too: that row totals add up to
the grand total follows from the inner cells only if these are shown. An equation with cells that are hidden or
intervals, or may be, asks for nothing: readers are told that the truth lies within what is stated, and it does. This
holds also where all its intervals come out as points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.attacker import working_equations
from tablecloak.errors import SolverError
from tablecloak.methods.adjustment import (
    Ranges,
    ReachRule,
    fewest_digits,
    form_of,
    pattern_of,
    price_unit,
    ranges_of,
)
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
    Problem,
    Rounding,
    Suppression,
    amounts,
)

WAYS = ("exact", "suppress", "interval", "round", "perturb")


@dataclass(frozen=True, eq=False)
class Plan:
    """Which way each cell goes: the masks make up the whole table, each cell in one of them. Confidential."""

    problem: Problem
    exact: Bools
    published: Bools
    """Published already, from `low` to `high`; those that were published exactly are in `exact`."""
    hidden: Bools
    """Hidden in any case."""
    suppress: Bools
    """Hidden or published exactly: that is decided."""
    interval: Bools
    rounded: Bools
    perturbed: Bools
    low: Floats
    high: Floats
    base: Floats
    rule: ReachRule

    @classmethod
    def of(
        cls, problem: Problem, ways: Ints, base: Floats, rule: ReachRule, low: Floats, high: Floats
    ) -> Plan:
        """From the number of each cell's way in `WAYS`, and what was published already (NaN: nothing was)."""
        stated = np.isfinite(low) & np.isfinite(high)
        exact = problem.forced | (stated & (low == high)) | (~stated & (ways == WAYS.index("exact")))
        exact |= ~stated & (ways == WAYS.index("round")) & (base == 0)
        hidden = (problem.marks == Mark.HIDDEN) | (problem.table.is_virtual & ~stated & ~problem.forced)
        hidden |= (ways == WAYS.index("suppress")) & problem.sensitive & ~stated
        exact &= ~hidden
        published = stated & ~exact & ~hidden
        rest = ~(exact | hidden | published)
        suppress, interval, rounded, perturbed = (rest & (ways == WAYS.index(way)) for way in WAYS[1:])
        return cls(
            problem, exact, published, hidden, suppress, interval, rounded, perturbed, low, high, base, rule
        )

    @property
    def numbers(self) -> Bools:
        """Cells that show a number by their way."""
        return self.exact | self.rounded | self.perturbed

    @property
    def changed(self) -> Bools:
        """Cells that show a number which need not be the true one: their way may not be able to protect them."""
        return self.rounded | self.perturbed

    @property
    def fixed(self) -> Bools:
        """Cells about which nothing is decided any more."""
        return self.exact | self.published

    def summing(self) -> csr_array:
        """The equations in which every cell shows a number by its way, and not all of them are true."""
        equations = self.problem.table.equations
        silent = abs(equations) @ (~self.numbers).astype(float)
        moving = abs(equations) @ self.changed.astype(float)
        return csr_array(equations[np.flatnonzero((silent == 0) & (moving > 0))])

    def __repr__(self) -> str:
        return f"<confidential Plan: {self.exact.size} cells>"


@dataclass(frozen=True, eq=False)
class Joint:
    """All ways as one form, what is shown as a function of its columns, and how to print a solution. Confidential."""

    plan: Plan
    form: Formulation
    free: Formulation
    """The form without a bound on touched cells."""
    value: Affine
    """What cells with numbers show."""
    reach: Floats
    """The stated reach of rounded cells."""
    steps: int
    vague: Bools
    """Columns that only add room: of suppressed cells and intervals."""
    ranges: Ranges | None

    @property
    def problem(self) -> Problem:
        return self.plan.problem

    def widest(self, x: Floats) -> Floats:
        """The same numbers with everything else as vague as anybody could need."""
        far = np.minimum(self.form.high, sufficient_deviation(self.problem) / length_unit(self.problem))
        return np.where(self.vague, far, x)

    def room(self, x: Floats) -> tuple[Floats, Floats]:
        """Below and above, without noise below zero."""
        return np.maximum(self.form.below.at(x), 0.0), np.maximum(self.form.above.at(x), 0.0)

    def pattern(self, x: Floats, intervals: Intervals) -> Mixed:
        """What is printed: numbers by the columns x, and these intervals."""
        plan, table, nothing = self.plan, self.problem.table, np.full(len(self.problem.table), np.nan)
        parts: list[tuple[Bools, Pattern]] = []
        if (vague := plan.hidden | plan.suppress).any():
            hidden = plan.hidden | (plan.suppress & (self.form.touched.at(x) > 0.5))
            parts.append((vague, Suppression.of(table, hidden)))
        if (stated := plan.interval | plan.published).any():
            low = np.where(plan.interval, intervals.low, np.where(plan.published, plan.low, 0.0))
            high = np.where(plan.interval, intervals.high, np.where(plan.published, plan.high, 0.0))
            parts.append((stated, Intervals.of(low, high)))
        moved = self._moved(x)
        if plan.rounded.any():
            shown = np.where(plan.rounded, _in_units(self.problem, self.value.at(x)), nothing)
            parts.append((plan.rounded, Rounding.of(shown, np.where(plan.rounded, self.reach, 0.0))))
        if self.ranges is not None:
            near = pattern_of(self.problem, self.ranges, np.where(plan.perturbed, moved, 0.0))
            shown = np.where(plan.perturbed, near.shown, nothing)
            parts.append((plan.perturbed, Perturbation.of(shown, np.where(plan.perturbed, near.reach, 0.0))))
        pattern = Mixed.of(table, parts)
        self._check_sums(pattern)
        return pattern

    def _moved(self, x: Floats) -> Floats:
        """How far from the truth numbers are shown, in data units; whole ones wherever that can be."""
        plan, table = self.plan, self.problem.table
        moved = np.where(plan.changed, (self.value.at(x) - table.values) / table.unit, 0.0)
        moved = np.where(plan.rounded, np.rint(moved), moved)
        if self.ranges is None:
            return moved
        low, high = self.ranges.with_senses(moved > 0).ends()
        still = ~plan.perturbed | ((self.form.touched.at(x) < 0.5) & counts_cells(self.problem))
        low, high = np.where(plan.perturbed, low, moved), np.where(plan.perturbed, high, moved)
        low, high = np.where(still & plan.perturbed, 0.0, low), np.where(still & plan.perturbed, 0.0, high)
        sums = plan.summing()
        smaller = replace(table, equations=sums, rhs=amounts(sums @ table.units, table.decimals))
        return fewest_digits(replace(self.problem, table=smaller), moved, low, high)[0]

    def _check_sums(self, pattern: Mixed) -> None:
        sums, shown = self.plan.summing(), pattern.view(self.problem).shown
        shown = np.where(self.plan.numbers, shown, 0.0)
        off = sums @ (shown - np.where(self.plan.numbers, self.problem.table.values, 0.0))
        if (np.abs(off) > 1e-6 * self.problem.table.unit + 1e-9 * (abs(sums) @ np.abs(shown))).any():
            raise SolverError(
                "numbers that do not add up were found; they are dropped. Please report the instance."
            )

    def __repr__(self) -> str:
        return f"<confidential Joint: {self.form.size} columns>"


def counts_cells(problem: Problem) -> bool:
    """Whether it matters which cells are touched at all."""
    return not problem.is_monotone


def joint_of(plan: Plan, steps: int) -> Joint:
    """The program of a plan, with so many steps of rounding."""
    problem, size = plan.problem, len(plan.problem.table)
    parts = [(plan.fixed | plan.hidden, _fixed_form(plan))]
    values: list[Affine] = [Affine(problem.table.values, csr_array((size, 0)))]
    vague = [np.zeros(0, dtype=bool)]
    reach = np.zeros(size)
    ranges: Ranges | None = None

    def add(cells: Bools, form: Formulation, value: Affine | None) -> None:
        parts.append((cells, form))
        values.append(Affine(np.zeros(size), csr_array((size, form.size))) if value is None else value)
        vague.append(np.full(form.size, value is None))

    if plan.suppress.any():
        add(plan.suppress, suppression_formulation(_within(problem), plan.suppress), None)
    if plan.interval.any():
        add(plan.interval, _interval_form(plan), None)
    if plan.rounded.any():
        base = np.where(plan.rounded, plan.base, 0.0)
        shown = rounding_formulation(
            problem, plan.rounded, base, steps, problem.weights, counts_cells(problem)
        )
        reach = shown.reach
        add(plan.rounded, shown.formulation, shown.value)
    if plan.perturbed.any():
        ranges, shown = _perturbed(plan)
        add(plan.perturbed, shown.formulation, shown.value)
    value = _values([cells for cells, _ in parts], values)
    form, value = _from_zero(joined(parts), value)
    if (form.switch < 0).all():
        form = replace(form, switches=None)
    free = form.with_constraints(_adding_up(plan, value))
    form = free.at_most_touched(problem.most_touched)
    return Joint(plan, form, free, value, reach, steps, np.concatenate(vague), ranges)


# ---------------------------------------------------------------------- the parts


def _fixed_form(plan: Plan) -> Formulation:
    """No columns: the room is what it is. What was published as an interval costs its width, which nothing changes."""
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
    """Boxes no wider than anybody needs, for the room of a hidden cell must be a number."""
    value, far = problem.table.values, sufficient_deviation(problem)
    return replace(
        problem,
        outsider_low=np.maximum(problem.outsider_low, value - far),
        outsider_high=np.minimum(problem.outsider_high, value + far),
    )


def _interval_form(plan: Plan) -> Formulation:
    problem, none = plan.problem, np.zeros(plan.exact.size, dtype=bool)
    weights = problem.weights
    if not counts_cells(problem):
        return interval_formulation(problem, plan.interval, none, weights, weights)
    return combined_formulation(
        problem, plan.interval, none, weights, weights, 0.0 * weights, sufficient_deviation(problem)
    )


def _perturbed(plan: Plan) -> tuple[Ranges, ShownFormulation]:
    """The form of the perturbed cells alone, without sums: those are for the whole table to add up."""
    problem = plan.problem
    marks = frozen(np.where(plan.perturbed, problem.marks, Mark.FORCED).astype(problem.marks.dtype))
    alone = replace(problem, marks=marks, most_touched=None)
    ranges = ranges_of("mixed-joint", alone, plan.rule)
    shown = form_of(alone, ranges, counts_cells(problem))
    rows, sums = shown.formulation.constraints, working_equations(problem.table).shape[0]
    own = rows.low.size - sums  # the last rows of `form_of` are the sums of all equations
    kept = LinearConstraints(csr_array(rows.matrix[:own]), rows.low[:own], rows.high[:own])
    form = replace(shown.formulation, constraints=kept, cost=shown.formulation.cost * price_unit(alone))
    return ranges, replace(shown, formulation=form)


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


def _from_zero(form: Formulation, value: Affine) -> tuple[Formulation, Affine]:
    """The same with columns counted from their lower bounds: rows of the second model are sharpened for such."""
    start = form.low
    if not start.any():
        return form, value

    def moved(affine: Affine) -> Affine:
        return Affine(affine.constant + affine.matrix @ start, affine.matrix)

    by = form.constraints.matrix @ start
    rows = LinearConstraints(form.constraints.matrix, form.constraints.low - by, form.constraints.high - by)
    shifted = replace(
        form,
        low=np.zeros_like(start),
        high=form.high - start,
        constraints=rows,
        above=moved(form.above),
        below=moved(form.below),
        touched=moved(form.touched),
        constant=form.constant + float(form.cost @ start),
    )
    return shifted, moved(value)


def _adding_up(plan: Plan, value: Affine) -> LinearConstraints:
    """M v = M a for the equations in which every cell shows a number by its way."""
    sums = plan.summing()
    true = np.where(plan.numbers, plan.problem.table.values, 0.0)
    return sum_constraints(sums, true, Affine(np.where(plan.numbers, value.constant, 0.0), value.matrix))


def _in_units(problem: Problem, values: Floats) -> Floats:
    """Numbers in whole data units, without noise."""
    table = problem.table
    units = np.rint(values / table.unit)
    return np.asarray(units * table.unit if table.decimals == 0 else units / 10.0**table.decimals)
