"""The audit: are the requirements of every sensitive cell met against every attacker? It trusts no method."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.attacker import (
    Component,
    Extents,
    HypercubeSettings,
    HypercubeWitnesses,
    Inference,
    IntegerAttack,
    IntegerAttackSettings,
    LinearAttack,
    LinearAttackSettings,
    NetworkAttack,
    Reduction,
    cubes_of,
    reduce,
    working_columns,
)
from tablecloak.auditing.recent import remember
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
    cells_with_requirements,
    deviation_bounds,
    required_units,
    units_above,
    units_below,
    whole_units,
)
from tablecloak.progress import Progress, silent
from tablecloak.solvers import Tick, mapped


@dataclass(frozen=True)
class AuditSettings:
    """Effort of the audit and of its back ends."""

    exact_shortfall_cells: int = 1_000
    """In a verdict on a component of more cells no program is solved for a cell that its own bounds prove open: it
    stays open whatever its reach. In smaller ones it is, so that shortfalls are exact. Benchmark part `limits`."""
    task_work: int = 1_000
    """Parts are settled together until they have this much work: cells of components with linear programs,
    questions about networks. Less keeps more workers busy, more saves their answers. Untested default."""
    attackers_together: int = 8
    """Maximum number of insiders whose requirements are settled together; each takes memory for two bounds a cell.
    Untested default."""
    hypercubes: HypercubeSettings = field(default_factory=HypercubeSettings)
    """Hypercubes as witnesses on large grids."""
    linear: LinearAttackSettings = field(default_factory=LinearAttackSettings)
    """Linear programs on non-network tables."""
    integer: IntegerAttackSettings = field(default_factory=IntegerAttackSettings)
    """Integer programs (`integer=True`)."""


SETTINGS = AuditSettings()


@dataclass(eq=False)
class _AuditedExtents:
    """Extents down and up of the audited cells beside the required levels, a row for each cell, in data units."""

    required: RequiredLevels
    down: Extents
    up: Extents

    @classmethod
    def none(cls, required: RequiredLevels) -> _AuditedExtents:
        """Extents of cells that cannot deviate."""
        size = required.lower.size
        return cls(required, *(Extents(np.zeros(size), np.zeros(size)) for _ in range(2)))

    def met(self) -> Bools:
        """Whether each requirement is met; by side (lower, upper, sliding) and row."""
        lower, upper, sliding = self.required
        met = np.array(
            [self.down.reach >= lower, self.up.reach >= upper, self.down.reach + self.up.reach >= sliding]
        )
        for row in self._fractional():
            down, up = self.down.exact(row)[0], self.up.exact(row)[0]
            met[:, row] = down >= lower[row], up >= upper[row], down + up >= sliding[row]
        return met

    def open(self) -> Bools:
        """Whether a requirement is proven to be out of reach, by row."""
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
    executor: Executor | None = None,
    settings: AuditSettings = SETTINGS,
) -> Audit:
    """Judge what each attacker can infer from a pattern.

    By default the verdict only: extents are computed as far as the levels require. `intervals=True` computes exact
    feasibility intervals; `every_hidden=True` includes all touched cells, not only those with a requirement;
    `integer=True` assumes the knowledge that all values are integral numbers of data units (small tables only).
    `executor`: its workers share the questions; threads suit it. The result is the same with any, and without.
    """
    check_kind("Audit", "problem", problem, Problem, "Make one with assess(table, rules).")
    start = time.perf_counter()
    view = checked_view(problem, pattern)
    touched = pattern.touched(problem)
    required = cells_with_requirements(problem, touched)
    cells = np.flatnonzero(required | touched if every_hidden else required)
    auditor = _Auditor(problem, view, cells, _Mode(intervals, integer), progress, settings, executor)
    by_attacker = auditor.extents()
    met = _joined([found.met() for found in by_attacker])
    out_of_reach = _joined([found.open() for found in by_attacker])
    safe: Bools = np.asarray(met.all(axis=0))
    value = problem.table.units[cells].astype(np.float64)
    ends = [np.array([value - one.down.reach, value + one.up.reach, *one.required]) for one in by_attacker]
    low, high, lower, upper, sliding = problem.table.amounts(_joined(ends))
    found = Audit(
        _joined([cells] * len(by_attacker)),
        np.repeat(np.arange(len(by_attacker)), cells.size),
        low,
        high,
        lower,
        upper,
        sliding,
        safe,
        intervals,
        auditor.engine,
        time.perf_counter() - start,
        _too_close(problem, pattern),
        problem.most_touched is not None and int(touched.sum()) > problem.most_touched,
        problem.against_marks(touched),
        auditor.counters,
        (problem, pattern),
        frozen(~met),
        frozen(~safe & ~out_of_reach),
        frozen(_joined([found.down.proven for found in by_attacker]) & intervals),
        frozen(_joined([found.up.proven for found in by_attacker]) & intervals),
    )
    default = settings is SETTINGS and not (intervals or every_hidden or integer)
    return remember(problem, pattern, view, found) if default else found


def _too_close(problem: Problem, pattern: Pattern) -> Ints:
    """Sensitive cells whose shown number is too near to the truth."""
    if isinstance(pattern, Perturbation | Mixed | Printed):
        return np.flatnonzero(pattern.too_close(problem))
    return np.zeros(0, dtype=np.int64)


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """The arrays of all attackers, concatenated along the last axis."""
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
    inside = (units_above(view.low[away], unit) <= number) & (units_below(view.high[away], unit) >= number)
    if not inside.all():
        labels = problem.table.labels(away[~inside])
        faults = [f"cell {label}: the true value lies outside what is stated" for label in labels]
        raise InputError("Pattern", faults, advice="A publication may be vague but never false.")
    return view


class _Mode(NamedTuple):
    """Exact intervals instead of verdicts; an attacker with integrality knowledge."""

    intervals: bool
    integer: bool


class _Questions(NamedTuple):
    """Some cells of one component against one attacker: a part that shares nothing with any other."""

    attack: Inference
    cells: Ints
    """Positions in the component."""
    levels: RequiredLevels | None
    """How far the cells are pushed; None: as far as they go."""
    size: Floats


class _Answers(NamedTuple):
    """The extents of the cells of some questions, and the attack with what it has learnt."""

    down: Extents
    up: Extents
    attack: Inference


class _Part(NamedTuple):
    """Some questions, and where their answers go: rows of the extents of an attacker, a part of an attack."""

    questions: _Questions
    found: _AuditedExtents
    rows: Ints
    attack: Inference
    number: int


class _Auditor:
    """The outsider's system, reduced once; insiders re-open only the components that they have knowledge about."""

    def __init__(
        self,
        problem: Problem,
        view: View,
        cells: Ints,
        mode: _Mode,
        progress: Progress,
        settings: AuditSettings,
        executor: Executor | None,
    ) -> None:
        self.problem, self.view, self.cells, self.executor = problem, view, cells, executor
        self.mode, self.progress, self.settings = mode, progress, settings
        self.low, self.high = deviation_bounds(problem, view, 0)
        columns, unit = working_columns(problem.table), problem.table.unit
        self.reduction: Reduction = reduce(columns, self.low, self.high, unit)
        quick = not any(mode)
        self.cubes = cubes_of(problem.table, cells.size, settings.hypercubes) if quick else None
        self.attacks: dict[int, Inference] = {}
        self.engines: set[str] = set()
        self.counters: dict[str, float] = {"solves": 0, "components": 0}
        self.done = 0

    @property
    def engine(self) -> str:
        return " + ".join(sorted(self.engines)) or "unpicking"

    def extents(self) -> list[_AuditedExtents]:
        """Extents of all audited cells against each attacker: the outsider's first, for insiders start from them."""
        outsider = _AuditedExtents.none(required_units(self.problem, 0, self.cells))
        every = np.ones(self.cells.size, dtype=bool)
        self._ask(self._parts(outsider, every, self.low, self.high))
        found, count = [outsider], len(self.problem.attacker_names)
        for first in range(1, count, self.settings.attackers_together):
            parts = list[_Part]()
            for attacker in range(first, min(first + self.settings.attackers_together, count)):
                insider, more = self._insider(attacker, outsider)
                found.append(insider)
                parts += more
            self._ask(parts)
        return found

    def _insider(self, attacker: int, outsider: _AuditedExtents) -> tuple[_AuditedExtents, list[_Part]]:
        """The extents of an insider as far as they are the outsider's, and the questions that are left."""
        found = _AuditedExtents.none(required_units(self.problem, attacker, self.cells))
        low, high = deviation_bounds(self.problem, self.view, attacker)
        tighter = (low > self.low) | (high < self.high)
        block = self.reduction.block
        reopened = np.isin(block[self.cells], np.unique(block[tighter])) & (block[self.cells] >= 0)
        again = reopened | tighter[self.cells]
        if self.problem.attackers[attacker - 1].levels.cells.size:
            again |= _asks_further(found, outsider)
        kept = np.flatnonzero(~again)
        found.down.copy_from(outsider.down, kept, kept)
        found.up.copy_from(outsider.up, kept, kept)
        return found, self._parts(found, again, low, high)

    def _parts(self, found: _AuditedExtents, rows_left: Bools, low: Floats, high: Floats) -> list[_Part]:
        """The questions about some rows within deviation bounds, component by component."""
        where = self.reduction.component[self.cells]
        rows_left = rows_left & (where >= 0)
        if self.cubes is not None:
            rows_left = rows_left & ~self._met_by_cubes(found, np.flatnonzero(rows_left), low, high)
        parts = list[_Part]()
        for number in np.flatnonzero(np.bincount(where[rows_left])):
            rows = np.flatnonzero(rows_left & (where == number))
            component = self.reduction.components[number]
            if low is not self.low or high is not self.high:
                component = component.with_bounds(low[component.cells], high[component.cells])
            attack = self._engine(int(number), component)
            self.engines.add(attack.engine)
            self.counters["components"] += 1
            parts += self._divided(attack, component, found, rows)
        return parts

    def _divided(
        self, attack: Inference, component: Component, found: _AuditedExtents, rows: Ints
    ) -> list[_Part]:
        """The questions about the rows of one component, in the parts of its attack."""
        places = self.reduction.position[self.cells[rows]]
        levels = RequiredLevels(*(level[rows] for level in found.required))
        large = component.cells.size > self.settings.exact_shortfall_cells
        if large and isinstance(attack, LinearAttack) and not self.mode.intervals:
            levels = _undecided(levels, -component.low[places], component.high[places])
        size = np.zeros(rows.size) if isinstance(attack, NetworkAttack) else _sizes(*levels)
        parts = list[_Part]()
        for number, here in enumerate(attack.parts(places, size)):
            pushed = None if self.mode.intervals else RequiredLevels(*(level[here] for level in levels))
            questions = _Questions(attack.alone(number), places[here], pushed, size[here])
            parts.append(_Part(questions, found, rows[here], attack, number))
        return parts

    def _ask(self, parts: list[_Part]) -> None:
        """Ask all questions; answers are stored in their order."""
        tasks = [[part.questions for part in batch] for batch in self._batches(parts)]
        answers = (answer for some in mapped(self.executor, _asked, tasks, self._tick) for answer in some)
        for part, (down, up, attack) in zip(parts, answers, strict=True):
            every = np.arange(part.rows.size)
            part.found.down.copy_from(down, part.rows, every)
            part.found.up.copy_from(up, part.rows, every)
            part.attack.learn(part.number, attack)
            self.counters["solves"] += attack.solves

    def _batches(self, parts: list[_Part]) -> Iterator[list[_Part]]:
        """Parts that make a task together: those of small components, which take less time than a worker's answer."""
        batch, work = list[_Part](), 0
        for part in parts:
            batch.append(part)
            work += part.attack.work(part.rows.size)
            if work >= self.settings.task_work:
                yield batch
                batch, work = [], 0
        if batch:
            yield batch

    def _met_by_cubes(self, found: _AuditedExtents, rows: Ints, low: Floats, high: Floats) -> Bools:
        """The rows whose requirements hypercubes meet; their reaches are stored."""
        assert self.cubes is not None
        lower, upper, sliding = levels = RequiredLevels(*(level[rows] for level in found.required))
        witnesses = HypercubeWitnesses(self.cubes, low, high, self.settings.hypercubes)
        down, up = witnesses.reach(self.cells[rows], levels, self._tick, self.executor)
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
        if self.mode.integer:
            attack: Inference = IntegerAttack(own, self.settings.integer)
        elif isinstance(known, LinearAttack):
            attack = LinearAttack(own, known, self.settings.linear)
        elif own.orientation is None:
            attack = LinearAttack(own, settings=self.settings.linear)
        else:
            attack = NetworkAttack(own)
        if same:
            self.attacks[number] = attack
        return attack

    def _tick(self, settled: int) -> None:
        self.done += settled
        self.progress("audit", self.done, self.cells.size * len(self.problem.attacker_names))


def _asks_further(insider: _AuditedExtents, outsider: _AuditedExtents) -> Bools:
    """Where the outsider's extents do not decide about the levels of an insider, whatever his bounds.

    They are exact up to the outsider's levels only: where these are met they prove smaller ones too.
    """
    own, common = np.array(insider.required), np.array(outsider.required)
    met = outsider.met().all(axis=0)
    return np.asarray((own > common).any(axis=0) | (~met & (own != common).any(axis=0)))


def _undecided(levels: RequiredLevels, below: Floats, above: Floats) -> RequiredLevels:
    """Levels without those of cells that their own bounds prove open: one of their levels exceeds the bounds."""
    lower, upper, sliding = levels
    decided = (below < lower) | (above < upper) | (below + above < sliding)
    return RequiredLevels(*(np.where(decided, 0.0, level) for level in levels))


def _asked(batch: list[_Questions], tick: Tick) -> list[_Answers]:
    """The answers to some questions, one part after the other."""
    return [_Answers(*_extents(questions, tick), questions.attack) for questions in batch]


def _extents(questions: _Questions, tick: Tick) -> tuple[Extents, Extents]:
    """Extents of some cells: exact ones (no levels), or only as far as the levels require."""
    attack, cells, levels, size = questions
    if levels is None:
        everything = np.full(cells.size, np.inf)
        return attack.reach(cells, everything, everything, tick, size)
    lower, upper, sliding = levels
    if not sliding.any():
        return attack.reach(cells, lower, upper, tick, size)
    zero = np.zeros(cells.size)
    _, up = attack.reach(cells, zero, np.maximum(upper, sliding), tick, size)
    rest = sliding - np.minimum(np.floor(up.reach), sliding)
    down, _ = attack.reach(cells, np.maximum(lower, rest), zero, tick, size)
    _extend(attack, cells, _AuditedExtents(levels, down, up), size)
    return down, up


def _extend(attack: Inference, cells: Ints, found: _AuditedExtents, size: Floats) -> None:
    """Settle sliding levels that the bounds on either side leave open, by the exact extents of both sides."""
    left = np.flatnonzero(~found.met().all(axis=0) & ~found.open())
    if left.size:
        everything, every = np.full(left.size, np.inf), np.arange(left.size)
        down, up = attack.reach(cells[left], everything, everything, lambda settled: None, size[left])
        found.down.copy_from(down, left, every)
        found.up.copy_from(up, left, every)


def _sizes(*levels: Floats) -> Floats:
    """The smallest required level of each cell; the median of the others where nothing is required."""
    amounts = np.array(levels)
    smallest: Floats = np.where(amounts > 0, amounts, np.inf).min(axis=0)
    some = np.isfinite(smallest)
    if some.all():
        return smallest
    return np.where(some, smallest, float(np.median(smallest[some])) if some.any() else 0.0)
