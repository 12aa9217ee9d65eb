"""The audit: does every attacker stay far enough from every sensitive value? It trusts no method."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.attacker import (
    Component,
    Extents,
    Inference,
    IntegerAttack,
    LinearAttack,
    NetworkAttack,
    Reduction,
    Tick,
    cubes_of,
    is_ready,
    reach_by_cubes,
    reduce,
    working_columns,
)
from tablecloak.errors import InputError, check_kind
from tablecloak.model import (
    Audit,
    Mixed,
    Pattern,
    Perturbation,
    Printed,
    Problem,
    RequiredLevels,
    View,
    required_units,
    units_above,
    units_below,
    whole_units,
)
from tablecloak.model import deviation_bounds as bounds_in_units
from tablecloak.progress import Progress, silent
from tablecloak.solvers.graphs import is_loaded, warm_up


@dataclass(frozen=True)
class JudgeSettings:
    """How the audit spends its work; benchmark part `limits`."""

    fully_pushed_cells: int = 1_000
    """In a verdict on components of more cells no program pushes a cell that its own bounds prove open: it stays open
    however far it goes. In smaller ones it is pushed all the same, so that shortfalls are exact."""


SETTINGS = JudgeSettings()


@dataclass(eq=False)
class _Answers:
    """How far down and up each question got, beside what is required; one row a question, in whole data units."""

    required: RequiredLevels
    down: Extents
    up: Extents

    @classmethod
    def none(cls, required: RequiredLevels) -> _Answers:
        """Nothing found yet: what cannot deviate does not."""
        size = required.lower.size
        return cls(required, *(Extents(np.zeros(size), np.zeros(size)) for _ in range(2)))

    def met(self) -> Bools:
        """By side and row: whether the requirement is met; lower, upper, sliding."""
        lower, upper, sliding = self.required
        met = np.array(
            [self.down.reach >= lower, self.up.reach >= upper, self.down.reach + self.up.reach >= sliding]
        )
        for row in self._fractional():
            down, up = self.down.exact(row)[0], self.up.exact(row)[0]
            met[:, row] = down >= lower[row], up >= upper[row], down + up >= sliding[row]
        return met

    def open(self) -> Bools:
        """By row: whether a requirement is proven to be out of reach."""
        lower, upper, sliding = self.required
        short = (self.down.bound < lower) | (self.up.bound < upper)
        short |= self.down.bound + self.up.bound < sliding
        for row in self._fractional():
            down, up = self.down.exact(row)[1], self.up.exact(row)[1]
            short[row] = down < lower[row] or up < upper[row] or down + up < sliding[row]
        return np.asarray(short)

    def _fractional(self) -> list[int]:
        return sorted({*self.down.fractions, *self.up.fractions})


def audit(
    problem: Problem,
    pattern: Pattern,
    *,
    intervals: bool = False,
    every_hidden: bool = False,
    integer: bool = False,
    progress: Progress = silent,
) -> Audit:
    """Judge what a pattern lets each attacker work out.

    By default the verdict only: each cell is pushed as far as its levels ask. `intervals=True` computes exact
    feasibility intervals; `every_hidden=True` asks about all touched cells, not only those with a requirement;
    `integer=True` judges against an attacker who knows that all values are whole numbers (small tables only).
    """
    check_kind("Audit", "problem", problem, Problem, "Make one with assess(table, rules).")
    start = time.perf_counter()
    view = checked_view(problem, pattern)
    touched = pattern.touched(problem)
    cells = _questions(problem, touched, every_hidden)
    judge = _Judge(problem, view, cells, intervals, integer, progress)
    answers = [judge.answer(attacker) for attacker in range(len(problem.attacker_names))]
    met = _joined([found.met() for found in answers])
    out_of_reach = _joined([found.open() for found in answers])
    safe: Bools = np.asarray(met.all(axis=0))
    value = problem.table.units[cells].astype(np.float64)
    columns = _joined(
        [np.array([value - found.down.reach, value + found.up.reach, *found.required]) for found in answers]
    )
    low, high, lower, upper, sliding = problem.table.amounts(columns)
    return Audit(
        _joined([cells] * len(answers)),
        np.repeat(np.arange(len(answers)), cells.size),
        low,
        high,
        lower,
        upper,
        sliding,
        safe,
        intervals,
        judge.engine,
        time.perf_counter() - start,
        np.flatnonzero(pattern.too_close(problem))
        if isinstance(pattern, Perturbation | Mixed | Printed)
        else cells[:0],
        problem.most_touched is not None and int(touched.sum()) > problem.most_touched,
        problem.against_marks(touched),
        judge.counters,
        (problem, pattern),
        frozen(~met),
        frozen(~safe & ~out_of_reach),
        frozen(_joined([found.down.proven for found in answers]) & intervals),
        frozen(_joined([found.up.proven for found in answers]) & intervals),
    )


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """The arrays of all attackers, one after the other along the last axis."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)


def checked_view(problem: Problem, pattern: Pattern) -> View:
    """The view of a pattern; a view that excludes the true table is an error that lists the cells."""
    given: object = pattern
    if isinstance(given, np.ndarray) or not callable(getattr(given, "view", None)):
        advice = "A result of protect has one: result.pattern. From cells: Suppression.of(table, cells)."
        raise InputError("Pattern", [f"expected a pattern, got {type(pattern).__name__}"], advice=advice)
    view = pattern.view(problem)
    value, count = problem.table.values, len(problem.table)
    if view.low.shape != (count,) or view.high.shape != (count,):
        raise InputError("Pattern", [f"it speaks about {view.low.size} cells, the table has {count}"])
    away = np.flatnonzero(~((view.low <= value) & (view.high >= value)))
    if away.size == 0:
        return view
    unit = problem.table.unit
    number = whole_units(value[away], unit)
    wrong = away[
        ~((units_above(view.low[away], unit) <= number) & (units_below(view.high[away], unit) >= number))
    ]
    if wrong.size:
        faults = [
            f"cell {label}: the true value lies outside what is stated"
            for label in problem.table.labels(wrong)
        ]
        raise InputError("Pattern", faults, advice="A publication may be vague but never false.")
    return view


def deviation_bounds(problem: Problem, view: View, attacker: int) -> tuple[Floats, Floats]:
    """low <= 0 <= high: how far each cell may deviate from the truth by view and box alone."""
    low, high = bounds_in_units(problem, view, attacker)
    return problem.table.amounts(low), problem.table.amounts(high)


def _questions(problem: Problem, touched: Bools, every_hidden: bool) -> Ints:
    """Cells to ask about: the sensitive ones, touched ones with a conditional level, or all touched ones."""
    asked = problem.sensitive
    if problem.has_conditional:
        asked = asked | ((problem.levels.conditional > 0) & touched)
    return np.flatnonzero(asked | touched if every_hidden else asked)


class _Judge:
    """The outsider's system, reduced once; insiders re-open only the components they know something about."""

    def __init__(
        self, problem: Problem, view: View, cells: Ints, intervals: bool, integer: bool, progress: Progress
    ) -> None:
        self.problem, self.view, self.cells = problem, view, cells
        self.intervals, self.integer, self.progress = intervals, integer, progress
        if not is_ready():
            progress("loading the kernels", 0, 1)
        self.low, self.high = bounds_in_units(problem, view, 0)
        self.reduction: Reduction = reduce(
            working_columns(problem.table), self.low, self.high, problem.table.unit
        )
        self.cubes = None if intervals or integer else cubes_of(problem.table, cells.size)
        self.attacks: dict[int, Inference] = {}
        self.outsider: _Answers | None = None
        self.engines: set[str] = set()
        self.solves = self.components = 0
        self.done, self.every = 0, cells.size * len(problem.attacker_names)

    @property
    def engine(self) -> str:
        return " + ".join(sorted(self.engines)) or "unpicking"

    @property
    def counters(self) -> dict[str, float]:
        return {"solves": self.solves, "components": self.components}

    def answer(self, attacker: int) -> _Answers:
        """All questions for one attacker."""
        found = _Answers.none(required_units(self.problem, attacker, self.cells))
        if attacker == 0:
            self._attack(found, np.ones(self.cells.size, dtype=bool), self.low, self.high)
            self.outsider = found
            return found
        assert self.outsider is not None
        low, high = bounds_in_units(self.problem, self.view, attacker)
        tighter = (low > self.low) | (high < self.high)
        block = self.reduction.block
        reopened = np.isin(block[self.cells], np.unique(block[tighter])) & (block[self.cells] >= 0)
        again = reopened | tighter[self.cells]
        kept = np.flatnonzero(~again)
        found.down.copy_from(self.outsider.down, kept, kept)
        found.up.copy_from(self.outsider.up, kept, kept)
        self._attack(found, again, low, high)
        return found

    def _attack(self, found: _Answers, asked: Bools, low: Floats, high: Floats) -> None:
        where = self.reduction.component[self.cells]
        asked = asked & (where >= 0)
        if self.cubes is not None:
            asked = asked & ~self._met_by_cubes(found, np.flatnonzero(asked), low, high)
        for number in np.flatnonzero(np.bincount(where[asked])):
            rows = np.flatnonzero(asked & (where == number))
            component = self.reduction.components[number]
            if low is not self.low or high is not self.high:
                component = component.with_bounds(low[component.cells], high[component.cells])
            attack = self._engine(int(number), component)
            self.engines.add(attack.engine)
            before = attack.solves
            places = self.reduction.position[self.cells[rows]]
            levels = RequiredLevels(*(level[rows] for level in found.required))
            large = component.cells.size > SETTINGS.fully_pushed_cells
            if large and isinstance(attack, LinearAttack) and not self.intervals:
                levels = _undecided(levels, -component.low[places], component.high[places])
            _push(attack, places, found, rows, None if self.intervals else levels, self._tick)
            self.solves += attack.solves - before
            self.components += 1

    def _met_by_cubes(self, found: _Answers, rows: Ints, low: Floats, high: Floats) -> Bools:
        """Which questions hypercubes settle; these have their answers then."""
        assert self.cubes is not None
        lower, upper, sliding = tuple(level[rows] for level in found.required)
        down, up = reach_by_cubes(
            self.cubes, self.cells[rows], (lower, upper, sliding), low, high, self._tick
        )
        enough = (down >= lower) & (up >= upper) & (down + up >= sliding)
        met = np.zeros(self.cells.size, dtype=bool)
        met[rows[enough]] = True
        settled = rows[enough]
        found.down.reach[settled], found.up.reach[settled] = down[enough], up[enough]
        found.down.bound[settled] = found.up.bound[settled] = np.inf
        if met.any():
            self.engines.add("hypercubes")
        self._tick(int(enough.sum()))
        return met

    def _engine(self, number: int, own: Component) -> Inference:
        """The attack on a component: the outsider's own is kept, an insider's starts from its witnesses."""
        outsider = self.reduction.components[number]
        same = own is outsider or (
            np.array_equal(own.low, outsider.low) and np.array_equal(own.high, outsider.high)
        )
        known = self.attacks.get(number)
        if same and known is not None:
            return known
        if own.orientation is not None and not is_loaded():
            self.progress("loading the network kernels", 0, 1)
            warm_up()
        if self.integer:
            attack: Inference = IntegerAttack(own)
        elif isinstance(known, LinearAttack):
            attack = LinearAttack(own, known)
        else:
            attack = LinearAttack(own) if own.orientation is None else NetworkAttack(own)
        if same:
            self.attacks[number] = attack
        return attack

    def _tick(self, settled: int) -> None:
        self.done += settled
        self.progress("audit", self.done, self.every)


def _undecided(levels: RequiredLevels, below: Floats, above: Floats) -> RequiredLevels:
    """The levels to push for; zero for cells that their own bounds prove open: one level is beyond them."""
    lower, upper, sliding = levels
    decided = (below < lower) | (above < upper) | (below + above < sliding)
    return RequiredLevels(*(np.where(decided, 0.0, level) for level in levels))


def _push(
    attack: Inference, cells: Ints, found: _Answers, rows: Ints, levels: RequiredLevels | None, tick: Tick
) -> None:
    """Down and up for the given rows: exact extents (no levels), or only as far as these levels require."""
    lower, upper, sliding = levels or (level[rows] for level in found.required)
    every = np.arange(rows.size)
    size = np.zeros(rows.size) if isinstance(attack, NetworkAttack) else _sizes(lower, upper, sliding)
    if levels is None:
        everything = np.full(rows.size, np.inf)
        down, up = attack.reach(cells, everything, everything, tick, size)
    elif not sliding.any():
        down, up = attack.reach(cells, lower, upper, tick, size)
    else:
        zero = np.zeros(rows.size)
        _, up = attack.reach(cells, zero, np.maximum(upper, sliding), tick, size)
        rest = sliding - np.minimum(np.floor(up.reach), sliding)
        down, _ = attack.reach(cells, np.maximum(lower, rest), zero, tick, size)
        _extend(attack, cells, _Answers(RequiredLevels(lower, upper, sliding), down, up), size)
    found.down.copy_from(down, rows, every)
    found.up.copy_from(up, rows, every)


def _extend(attack: Inference, cells: Ints, found: _Answers, size: Floats) -> None:
    """Widths that bounds on either side leave open: the extents of both sides decide them."""
    left = np.flatnonzero(~found.met().all(axis=0) & ~found.open())
    if left.size:
        everything, every = np.full(left.size, np.inf), np.arange(left.size)
        down, up = attack.reach(cells[left], everything, everything, lambda settled: None, size[left])
        found.down.copy_from(down, left, every)
        found.up.copy_from(up, left, every)


def _sizes(*levels: Floats) -> Floats:
    """The smallest level asked of each cell; cells of which nothing is asked take the middle of the others."""
    amounts = np.array(levels)
    asked: Floats = np.where(amounts > 0, amounts, np.inf).min(axis=0)
    some = np.isfinite(asked)
    if some.all():
        return asked
    return np.where(some, asked, float(np.median(asked[some])) if some.any() else 0.0)
