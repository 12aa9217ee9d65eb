"""The parameters of mixed-joint, read into a `Plan`; and whether a plan can protect and add up at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, counted, listed, near
from tablecloak.methods.adjustment import ReachRule
from tablecloak.methods.feasibility import Obstacles, forced_in_the_way, not_explained
from tablecloak.methods.mixed.choices import WAYS, chosen_ways
from tablecloak.methods.rounding import are_multiples_of_unit, indivisible_cells
from tablecloak.model import (
    Audit,
    Intervals,
    Mark,
    Mixed,
    Pattern,
    Problem,
    Suppression,
    Table,
    amounts,
    nearest_units,
)
from tablecloak.progress import Progress
from tablecloak.solvers import STATED_NOISE

BOUNDS = ("most_suppressed", "most_intervals", "most_rounded", "most_perturbed")
"""Parameters that bound the touched cells of one way, in the order of `WAYS` after exact."""


@dataclass(frozen=True)
class MixedParams:
    """Parameters of mixed-joint."""

    seconds: float | None = None
    """Time limit; then the best found so far is returned with its proven bound."""
    inner: str = "interval"
    """The way of cells that are no totals: exact, suppress, interval, round or perturb."""
    totals: str = "round"
    """The way of cells that are totals in some dimension."""
    ways: Sequence[str] | None = None
    """A way for every cell, in the order of the table (or a text with commas); instead of the other two."""
    choose: Sequence[Mapping[str, Any]] | None = None
    """Rules with a `way` (and a `base`) for cells of some codes, depth, marks or mask; the last that fits counts."""
    base: float = 5.0
    """Rounded cells become multiples of it."""
    bases: Sequence[float] | None = None
    """A base for every cell, in the order of the table (0: a rounded cell keeps its value); instead of `base`."""
    steps: int | None = None
    """How many multiples further away than the next ones a rounded cell may go; None: as few as needed to add up."""
    share: float = 0.5
    """The stated reach of a perturbed cell is at least this share of what is shown (below 1)."""
    least: float = 0.0
    """It is at least this much."""
    most_suppressed: int | None = None
    """Maximum number of cells that are suppressed, those that must be included; None: no bound."""
    most_intervals: int | None = None
    """Maximum number of cells that are published as intervals and not as their exact values."""
    most_rounded: int | None = None
    """Maximum number of rounded cells that show another number than the true one."""
    most_perturbed: int | None = None
    """Maximum number of perturbed cells that show another number than the true one."""
    published_low: Sequence[float] | None = None
    """Lower ends of what was published before, for each cell (NaN: nothing was); equal ends: the exact value was."""
    published_high: Sequence[float] | None = None
    """Upper ends."""
    grid: float | None = None
    """Printed ends of intervals are multiples of this; None: nice numbers that follow the width; 0: no grid."""
    asymmetry: float = 1.0
    """How much larger chance makes the levels of sensitive intervals, against the midpoint attack; 0: not at all."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


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
    most: Mapping[str, int] = field(default_factory=dict)
    """Maximum numbers of touched cells by the name of their parameter (`BOUNDS`), where there are any."""

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

    @property
    def counted(self) -> bool:
        """Whether it matters which cells are touched."""
        return not self.problem.is_monotone or bool(self.most)

    def bounded(self) -> Iterator[tuple[str, Bools, int]]:
        """The bounds on touched cells of single ways: the name of each, its cells, and their maximum number."""
        suppressed = (self.hidden & ~self.problem.table.is_virtual) | self.suppress
        cells = dict(zip(BOUNDS, (suppressed, self.interval, self.rounded, self.perturbed), strict=True))
        yield from ((name, cells[name], most) for name, most in self.most.items())

    def keeps_bounds(self, pattern: Pattern) -> bool:
        """Whether a pattern touches no more cells of any way than it may."""
        touched = pattern.touched(self.problem)
        return all(int((touched & cells).sum()) <= most for _, cells, most in self.bounded())

    def summing(self) -> csr_array:
        """The equations in which every cell shows a number by its way, and not all of them are true."""
        equations = self.problem.table.equations
        silent = abs(equations) @ (~self.numbers).astype(float)
        moving = abs(equations) @ self.changed.astype(float)
        return csr_array(equations[np.flatnonzero((silent == 0) & (moving > 0))])

    def __repr__(self) -> str:
        return f"<confidential Plan: {self.exact.size} cells>"


# ---------------------------------------------------------------------- reading


def plan_of(method: str, problem: Problem, params: MixedParams) -> Plan:
    """The plan; one `InputError` lists everything that is wrong with the parameters."""
    faults = [fault for fault, holds in _plain_faults(params).items() if holds]
    ways, base = _bases(problem, params, _ways(problem.table, params, faults), faults)
    most = {name: getattr(params, name) for name in BOUNDS if getattr(params, name) is not None}
    faults += [f"{name} must not be negative" for name, number in most.items() if number < 0]
    low, high = _published(problem, params, faults)
    try:
        rule = ReachRule.checked(method, params.share, params.least)
    except InputError as error:
        faults += error.faults
    if faults:
        advice = f"Ways are {', '.join(WAYS)}; lists have one entry a cell, in the order of the table."
        raise InputError(method, faults, advice=advice)
    return _checked_bounds(method, replace(Plan.of(problem, ways, base, rule, low, high), most=most))


def _checked_bounds(method: str, plan: Plan) -> Plan:
    """The plan, if no bound is below what must be suppressed anyway."""
    faults = [
        f"{name}: {counted(int((plan.hidden & cells).sum()), 'cell')} must be suppressed"
        for name, cells, most in plan.bounded()
        if int((plan.hidden & cells).sum()) > most
    ]
    if faults:
        raise InputError(method, faults, advice="Allow more cells, or choose another way for sensitive ones.")
    return plan


def _plain_faults(params: MixedParams) -> dict[str, bool]:
    grid = params.grid
    return {
        "grid must be a number that is not negative, or none": grid is not None and not 0 <= grid < math.inf,
        "asymmetry must be a number from 0 on": not 0 <= params.asymmetry < math.inf,
        "steps must be a whole number that is not negative": params.steps is not None and params.steps < 0,
        f"model {params.model!r} is not second or first": params.model not in ("second", "first"),
    }


def _ways(table: Table, params: MixedParams, faults: list[str]) -> Ints:
    """The number of each cell's way in `WAYS`."""
    if params.ways is None:
        given = {"inner": params.inner, "totals": params.totals}
        faults += [
            f"{name}: there is no way {way!r}{near(way, WAYS)}"
            for name, way in given.items()
            if way not in WAYS
        ]
        numbers = [WAYS.index(way) if way in WAYS else 0 for way in given.values()]
        return np.where(table.is_leaf, *numbers)
    words = _entries(params.ways)
    if len(words) != len(table):
        faults.append(f"ways: expected {len(table)} words, one a cell, got {len(words)}")
        return np.zeros(len(table), dtype=np.int64)
    strange = sorted({str(word) for word in words} - set(WAYS))
    faults += [f"ways: there is no way {word!r}{near(word, WAYS)}" for word in strange]
    return np.array([WAYS.index(word) if word in WAYS else 0 for word in words], dtype=np.int64)


def _bases(problem: Problem, params: MixedParams, ways: Ints, faults: list[str]) -> tuple[Ints, Floats]:
    """The ways after the rules, and a base for every cell; those of cells that are not rounded are zero."""
    table, count = problem.table, len(faults)
    if params.bases is None:
        base = np.full(len(table), float(params.base))
    else:
        base = _numbers("bases", params.bases, len(table), faults)
    general = base
    if params.choose is not None:
        ways, base = chosen_ways(problem, params.choose, ways, base, faults)
    rounded = ways == WAYS.index("round")
    if len(faults) > count:
        return ways, base
    if params.bases is None:
        if (rounded & (base == general)).any() and not 0 < params.base < math.inf:
            faults.append("base must be a finite number above zero")
            return ways, base
    elif (rounded & ~(np.isfinite(base) & (base >= 0))).any():
        faults.append("bases: every rounded cell needs a finite number that is not negative")
        return ways, base
    if not are_multiples_of_unit(np.where(rounded, base, 0.0), table):
        faults.append(f"a base must be a multiple of the data unit, {table.unit:g}")
    return ways, frozen(np.where(rounded, base, 0.0))


def _published(problem: Problem, params: MixedParams, faults: list[str]) -> tuple[Floats, Floats]:
    """low, high of what was published before, NaN where nothing was; exact where both are the same."""
    table, size = problem.table, len(problem.table)
    nothing = np.full(size, np.nan)
    if params.published_low is None and params.published_high is None:
        return nothing, nothing
    if params.published_low is None or params.published_high is None:
        faults.append("published_low and published_high must be given together")
        return nothing, nothing
    count = len(faults)
    low = _numbers("published_low", params.published_low, size, faults)
    high = _numbers("published_high", params.published_high, size, faults)
    if len(faults) > count:
        return nothing, nothing
    for what, where in _published_faults(problem, low, high):
        faults += [f"cell {label}: {what}" for label in table.labels(np.flatnonzero(where))]
    stated, value = np.isfinite(low) & np.isfinite(high), table.values
    point = stated & (high - low <= STATED_NOISE * np.maximum(1.0, np.abs(value)))
    low = np.where(stated, np.where(point, value, np.minimum(low, value)), np.nan)
    high = np.where(stated, np.where(point, value, np.maximum(high, value)), np.nan)
    return frozen(low), frozen(high)


def _published_faults(problem: Problem, low: Floats, high: Floats) -> Iterator[tuple[str, Bools]]:
    """Faults of what was published before, and where they are."""
    value = problem.table.values
    slack = STATED_NOISE * np.maximum(1.0, np.abs(value))
    stated = np.isfinite(low) & np.isfinite(high)
    nothing = (np.isnan(low) & np.isnan(high)) | (np.isneginf(low) & np.isposinf(high))
    yield (
        "give both ends of what was published, or none (what everybody knows otherwise belongs to the problem: known=)",
        ~stated & ~nothing,
    )
    order = stated & (low > high)
    yield "the lower end of what was published is above the upper end", order
    outside = stated & ~order & ~((low <= value + slack) & (value - slack <= high))
    yield "the true value lies outside what was published: the table was revised since", outside
    yield "it must be hidden, but was published already", stated & (problem.marks == Mark.HIDDEN)


def _numbers(name: str, given: Any, size: int, faults: list[str]) -> Floats:
    """Numbers, one for each cell, from a list, an array, or a text with commas (an empty place: NaN)."""
    try:
        numbers = np.array([math.nan if entry in ("", None) else float(entry) for entry in _entries(given)])
    except (TypeError, ValueError):
        faults.append(f"{name}: expected numbers")
        return np.full(size, math.nan)
    if numbers.shape != (size,):
        faults.append(f"{name}: expected {size} numbers, one a cell, got {numbers.size}")
        return np.full(size, math.nan)
    return numbers


def _entries(given: Any) -> list[Any]:
    """A list, or the parts of a text."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return list(given) if isinstance(given, Sequence | np.ndarray) else [given]


# ---------------------------------------------------------------------- is it possible at all


def check_possible(plan: Plan, progress: Progress) -> None:
    """Raise `InfeasibleProblem` if some cell is open even when all is hidden that is not settled.

    It names the cells, and what is published exactly or was published before and stands in the way. A cell whose
    conditional levels are out of reach even then is untouched in every publication, and what is left is judged again.
    """
    problem = replace(plan.problem, most_touched=None)
    table, hidden, free = problem.table, ~plan.fixed, ~(_always_touched(plan) | plan.fixed)
    ends = [np.where(plan.published, end, 0.0) for end in (plan.low, plan.high)]
    while True:
        widest = Mixed.of(
            table, [(hidden, Suppression.of(table, hidden)), (plan.published, Intervals.of(*ends))]
        )
        found = audit(problem, widest, progress=progress)
        if found.safe_rows.all():
            return
        untouched = found.open_cells[(free & hidden & problem.levels.is_conditional)[found.open_cells]]
        if untouched.size == 0:
            break
        hidden = hidden.copy()
        hidden[untouched] = False
    cells, (blocking, unexplained) = found.open_cells, _in_the_way(plan, hidden, found)
    labels, settled = table.labels(cells), table.labels(blocking)
    message = (
        f"No publication in these ways can protect {counted(cells.size, 'cell')}, "
        f"even when everything that is not settled is hidden:\n{listed(labels)}"
    )
    if settled:
        message += (
            "\nCells that are published exactly, or were published before, and stand in the way:\n"
            f"{listed(settled)}"
        )
    message += not_explained(problem, unexplained)
    message += "\nLower the levels of these cells, choose other ways, or widen what attackers know."
    raise InfeasibleProblem(
        message, cells=labels, forced=settled, confidential={"shortfall": found.shortfalls(problem)}
    )


def _always_touched(plan: Plan) -> Bools:
    """Cells that are sensitive, or rounded and no multiples of their base: no publication states them exactly."""
    table = plan.problem.table
    base = nearest_units(np.where(plan.rounded, plan.base, table.unit), table.decimals).astype(np.int64)
    between: Bools = plan.rounded & (table.units % np.maximum(base, 1) != 0)
    return plan.problem.must_hide | between


def _in_the_way(plan: Plan, hidden: Bools, found: Audit) -> Obstacles:
    """Settled cells that keep open ones from being protected, by prices in the attacker's program; or are open."""
    marks = np.where(plan.fixed, Mark.FORCED, plan.problem.marks).astype(plan.problem.marks.dtype)
    settled = replace(plan.problem, marks=frozen(marks))
    itself = plan.fixed[found.cells]
    others = forced_in_the_way(settled, hidden, replace(found, safe_rows=found.safe_rows | itself))
    own = found.cells[~found.safe_rows & itself]
    return others._replace(forced=np.union1d(others.forced, own))


def check_divisible(plan: Plan) -> None:
    """Raise `InfeasibleProblem` where cells shown exactly stand among multiples that cannot make up for them."""
    table, sums = plan.problem.table, plan.summing()
    sums = csr_array(sums[np.flatnonzero(abs(sums) @ plan.perturbed.astype(float) == 0)])
    base = np.where(plan.rounded, plan.base, 0.0)
    right = amounts(sums @ table.units, table.decimals)
    cells = indivisible_cells(replace(table, equations=sums, rhs=right), base)
    if not cells.size:
        return
    labels = table.labels(cells)
    raise InfeasibleProblem(
        f"No rounding with these bases adds up: {counted(cells.size, 'cell')} must keep the true value but would have "
        f"to change:\n{listed(labels)}\nPublish these cells, or those that they are added to, as intervals, or take a "
        "base that divides them all.",
        forced=labels,
    )


def cannot_add_up(plan: Plan, steps: int) -> InfeasibleProblem:
    """The refusal where no numbers add up."""
    which = "to the next multiple up or down" if steps == 0 else f"within {steps} steps of the next multiples"
    numbers = f"rounding {which}" if plan.rounded.any() else "perturbation within this reach"
    return InfeasibleProblem(
        f"No {numbers} adds up in the equations in which every cell shows a number "
        f"({plan.summing().shape[0]} of them).\n"
        "Allow more steps, take one base for all cells, or publish some of these cells as intervals.",
        forced=plan.problem.table.labels(np.flatnonzero(plan.exact & ~plan.problem.forced)),
    )
