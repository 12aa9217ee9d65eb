"""The audit: does every attacker stay far enough from every sensitive value? It trusts no method."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.presolve import Component, Reduction, is_ready, reduce, working_columns
from tablecloak.audit.attack import Attack, LinearAttack, Tick, attack_on
from tablecloak.audit.cubes_first import cubes_of, reach_by_cubes
from tablecloak.audit.integer import IntegerAttack
from tablecloak.engines.flow import is_loaded, warm_up
from tablecloak.errors import InputError, check_kind
from tablecloak.pattern import Mixed, Pattern, Perturbation, View
from tablecloak.problem import Problem
from tablecloak.progress import Progress, silent
from tablecloak.result import Audit

DECISION_SLACK = 1e-6
"""Where linear programs decide, a requirement counts as met when it is met up to this share of itself."""
FLOAT_NOISE = 1e-15
"""The same where flows on whole numbers of data units decide: only the rounding of a sum of two floats."""


@dataclass
class _Answers:
    """How far down and up each question got; one row a question."""

    cells: Ints
    lower: Floats
    upper: Floats
    sliding: Floats
    down: Floats
    up: Floats
    slack: Floats
    """The share of a need that may be missing: zero where the engine is exact."""


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
    safe = np.concatenate([_met(found) for found in answers])
    value = problem.table.values[cells]
    return Audit(
        np.concatenate([found.cells for found in answers]),
        np.repeat(np.arange(len(answers)), cells.size),
        np.concatenate([value - found.down for found in answers]),
        np.concatenate([value + found.up for found in answers]),
        np.concatenate([found.lower for found in answers]),
        np.concatenate([found.upper for found in answers]),
        np.concatenate([found.sliding for found in answers]),
        safe,
        intervals,
        judge.engine,
        time.perf_counter() - start,
        np.flatnonzero(pattern.too_close(problem))
        if isinstance(pattern, Perturbation | Mixed)
        else cells[:0],
        problem.most_touched is not None and int(touched.sum()) > problem.most_touched,
        problem.against_marks(touched),
        judge.counters,
        (problem, pattern),
    )


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
    true, slack = value[away], 1e-9 * np.maximum(1.0, np.abs(value[away]))
    wrong = away[~((view.low[away] <= true + slack) & (view.high[away] >= true - slack))]
    if wrong.size:
        faults = [
            f"cell {label}: the true value lies outside what is stated"
            for label in problem.table.labels(wrong)
        ]
        raise InputError("Pattern", faults, advice="A publication may be vague but never false.")
    return view


def deviation_bounds(problem: Problem, view: View, attacker: int) -> tuple[Floats, Floats]:
    """low <= 0 <= high: how far each cell may deviate from the truth by view and box alone."""
    box_low, box_high = problem.box(attacker)
    value, (low, high) = problem.table.values, np.zeros((2, len(problem.table)))
    vague = np.flatnonzero((view.low != value) | (view.high != value))  # what is stated exactly has no room
    noise, true = noise_of(problem, vague), value[vague]
    down = true - np.maximum(view.low[vague], box_low[vague])
    up = np.minimum(view.high[vague], box_high[vague]) - true
    low[vague], high[vague] = np.where(down > noise, -down, 0.0), np.where(up > noise, up, 0.0)
    return low, high


def noise_of(problem: Problem, cells: Ints) -> Floats:
    """Differences of a cell's value from a bound that are rounding noise, not room."""
    return np.asarray(1e-6 * problem.table.unit + 4 * np.spacing(np.abs(problem.table.values[cells])))


def _questions(problem: Problem, touched: Bools, every_hidden: bool) -> Ints:
    """Cells to ask about: the sensitive ones, touched ones with a conditional level, or all touched ones."""
    conditional = (problem.levels.conditional > 0) & touched
    asked = problem.sensitive | conditional
    return np.flatnonzero(asked | touched if every_hidden else asked)


def _met(found: _Answers) -> Bools:
    def enough(got: Floats, need: Floats) -> Bools:
        return np.asarray(got >= need * (1.0 - found.slack))

    return np.asarray(
        enough(found.down, found.lower)
        & enough(found.up, found.upper)
        & enough(found.down + found.up, found.sliding)
    )


class _Judge:
    """The outsider's system, reduced once; insiders re-open only the components they know something about."""

    def __init__(
        self, problem: Problem, view: View, cells: Ints, intervals: bool, integer: bool, progress: Progress
    ) -> None:
        self.problem, self.view, self.cells = problem, view, cells
        self.intervals, self.integer, self.progress = intervals, integer, progress
        if not is_ready():
            progress("loading the kernels", 0, 1)
        self.low, self.high = deviation_bounds(problem, view, 0)
        self.reduction: Reduction = reduce(
            working_columns(problem.table), self.low, self.high, problem.table.unit
        )
        self.cubes = None if intervals or integer else cubes_of(problem.table, cells.size)
        self.attacks: dict[int, Attack] = {}
        self.outsider: _Answers | None = None
        self.engines: set[str] = set()
        self.solves = self.components = 0
        self.done = 0

    @property
    def engine(self) -> str:
        return " + ".join(sorted(self.engines)) or "unpicking"

    @property
    def counters(self) -> dict[str, float]:
        return {"solves": self.solves, "components": self.components}

    def answer(self, attacker: int) -> _Answers:
        """All questions for one attacker."""
        noise = noise_of(self.problem, self.cells)
        levels = self.problem.required(attacker, self.cells)
        lower, upper, sliding = np.where(np.array(levels) > noise, levels, 0.0)
        down, up, slack = (np.zeros(self.cells.size) for _ in range(3))
        found = _Answers(self.cells, lower, upper, sliding, down, up, slack)
        if attacker == 0:
            self._attack(found, np.ones(self.cells.size, dtype=bool), self.low, self.high)
            self.outsider = found
            return found
        assert self.outsider is not None
        low, high = deviation_bounds(self.problem, self.view, attacker)
        tighter = (low > self.low) | (high < self.high)
        found.down[:], found.up[:], found.slack[:] = self.outsider.down, self.outsider.up, self.outsider.slack
        block = self.reduction.block
        reopened = np.isin(block[self.cells], np.unique(block[tighter])) & (block[self.cells] >= 0)
        again = reopened | tighter[self.cells]
        found.down[again] = found.up[again] = 0.0
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
            found.slack[rows] = FLOAT_NOISE if attack.exact else DECISION_SLACK
            before = attack.solves
            _push(attack, self.reduction.position[self.cells[rows]], found, rows, self.intervals, self._tick)
            self.solves += attack.solves - before
            self.components += 1

    def _met_by_cubes(self, found: _Answers, rows: Ints, low: Floats, high: Floats) -> Bools:
        """Which questions hypercubes settle; these have their answers then."""
        assert self.cubes is not None
        lower, upper, sliding = levels = found.lower[rows], found.upper[rows], found.sliding[rows]
        down, up = reach_by_cubes(self.cubes, self.cells[rows], levels, low, high)
        enough = (down >= lower) & (up >= upper) & (down + up >= sliding)
        met = np.zeros(self.cells.size, dtype=bool)
        met[rows[enough]] = True
        found.down[rows[enough]], found.up[rows[enough]] = down[enough], up[enough]
        if met.any():
            self.engines.add("hypercubes")
        self._tick(int(enough.sum()))
        return met

    def _engine(self, number: int, own: Component) -> Attack:
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
            attack: Attack = IntegerAttack(own)
        elif isinstance(known, LinearAttack):
            attack = LinearAttack(own, known)
        else:
            attack = attack_on(own)
        if same:
            self.attacks[number] = attack
        return attack

    def _tick(self, settled: int) -> None:
        self.done += settled
        self.progress("audit", self.done, self.cells.size * len(self.problem.attacker_names))


def _push(attack: Attack, cells: Ints, found: _Answers, rows: Ints, intervals: bool, tick: Tick) -> None:
    """Down and up for the given rows: exact extents, or only as far as the levels ask."""
    lower, upper, sliding = found.lower[rows], found.upper[rows], found.sliding[rows]
    size = _sizes(lower, upper, sliding)
    if intervals:
        everything = np.full(rows.size, np.inf)
        found.down[rows], found.up[rows] = attack.reach(cells, everything, everything, tick, size)
    elif not sliding.any():
        found.down[rows], found.up[rows] = attack.reach(cells, lower, upper, tick, size)
    else:
        zero = np.zeros(rows.size)
        _, up = attack.reach(cells, zero, np.maximum(upper, sliding), tick, size)
        # What is nearly enough leaves nothing but rounding noise to ask for.
        enough = up >= sliding * (1.0 - found.slack[rows])
        rest = np.where(enough, 0.0, sliding - np.minimum(up, sliding))
        down, _ = attack.reach(cells, np.maximum(lower, rest), zero, tick, size)
        found.down[rows], found.up[rows] = down, up


def _sizes(*levels: Floats) -> Floats:
    """The smallest level asked of each cell; cells of which nothing is asked take the middle of the others."""
    amounts = np.array(levels)
    asked: Floats = np.where(amounts > 0, amounts, np.inf).min(axis=0)
    some = np.isfinite(asked)
    if some.all():
        return asked
    return np.where(some, asked, float(np.median(asked[some])) if some.any() else 0.0)
