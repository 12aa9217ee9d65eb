"""The frame of heuristics that protect one sensitive cell after the other, each in the way of its paper.

1. *Requests*: the levels of the outsider for all sensitive cells, or for those that a set of `exposure` keeps, in some
   order. Some cells may be hidden to begin with: those that the linear program of a lower bound hides whole.
2. The paper's own algorithm (a `Builder`) hides cells; what it hides and counts is reported before anything is added.
3. *Repair*: an audit of all levels and attackers names what the paper leaves open; each gets its cheapest deviation.
4. *Elimination* of redundant suppressions: what no requirement needs is published again, by decreasing weight.
5. *Several starts*: the same in random orders; the cheapest pattern is kept.

A run that is stopped before step 3 is complete ends with a quick pattern that it began with (`initial_pattern`). With a
time limit the paper's algorithm and the audit of its pattern have a share of it; if one is cut short, the quick pattern
takes the place of the repair: both together are safe, and the elimination has the rest of the time.

With `repair=False` there are steps 1, 2 and 5 only: the pattern of the paper, safe or not. `protect` returns it with
the audit that names what it leaves open, as for the methods that cannot always protect every cell.

References: the papers of the methods; Castro (2002), Figure 3, for the common frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import structure_of
from tablecloak.auditing import exposure
from tablecloak.errors import InputError
from tablecloak.methods.base import Proposal, refuse_touched_bound
from tablecloak.methods.cuts import (
    BridgelessCuts,
    BridgelessSettings,
    CutLoopSettings,
    CutProgram,
    EquationCuts,
    fixing_cuts,
)
from tablecloak.methods.heuristics.construction import Construction, construction_of
from tablecloak.methods.heuristics.initial_pattern import FirstPatternSettings, SuppressionRun
from tablecloak.methods.parameters import wrong_words
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Problem, Requirement, Status, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Item, Progress, in_turn


@dataclass(frozen=True)
class SequentialSettings:
    """Time and work of the steps around the paper's algorithm."""

    build_share: float = 0.7
    """Share of the time left for the paper's algorithm; the rest is for repair and elimination. Untested default."""
    audit_share: float = 0.5
    """Share of the time left then for the audit of its pattern: proofs that many cells are open can take long. Untested
    default."""
    first_columns: int = 8
    """Number of the cheapest cells of each equation that are columns of the bound's program from the start. Untested
    default."""
    quick_first: bool = True
    """Whether a quick pattern is made to begin with: something to return early, against its time; methods that are as
    quick themselves need none."""
    hidden_from: float = 1 - 1e-6
    """Value of a variable from which on the bound's program hides a cell entirely. Untested default."""
    bridgeless: BridgelessSettings = BridgelessSettings()
    bound: CutLoopSettings = CutLoopSettings()
    """The bound's program."""
    first: FirstPatternSettings = FirstPatternSettings()
    """The quick pattern; its settings of constructions are those of the repair too."""


@dataclass(frozen=True)
class OneByOneParams:
    """Parameters that all these methods have."""

    seconds: float | None = None
    """Time limit in seconds; then the best pattern so far is returned."""
    order: Literal["level", "value", "small", "given", "random"] = "level"
    """Whose turn is first: the largest level, the largest value, the smallest value, as in the table, or chance."""
    levels: Literal["all", "E", "D", "K1", "K3", "K5"] = "all"
    """Whose levels the paper's algorithm protects: all sensitive cells, or what a set of `exposure` keeps."""
    initial: Literal["none", "bound"] = "none"
    """Cells hidden to begin with: none, or those that the linear program of a lower bound hides whole."""
    clean_up: bool = True
    """Try to publish complementary cells again at the end."""
    repair: bool = True
    """False: the paper's pattern as it is, without repair and clean-up; the audit names what it leaves open."""
    starts: int = 1
    """Number of attempts, all but the first in random orders; the cheapest pattern is kept."""

    def check(self, more: Mapping[str, bool] | None = None) -> None:
        """Raise an error that lists all faults; `more`: those of a method, and whether they hold."""
        faults = {"starts must be at least 1": self.starts < 1, **(more or {})}
        found = [*wrong_words(self), *(fault for fault, holds in faults.items() if holds)]
        if found:
            raise InputError("Method parameters", found)


@dataclass(frozen=True, eq=False)
class Requests:
    """The input of the paper's algorithm: cells in the order of their turns, with the levels of the outsider."""

    problem: Problem
    allowed: Bools
    """All cells that may be hidden; hiding them all meets every level."""
    hidden: Bools
    """Cells hidden to begin with. Make a copy to change it."""
    cells: Ints
    lower: Floats
    upper: Floats
    sliding: Floats
    deadline: Deadline
    progress: Progress
    rng: np.random.Generator

    @property
    def levels(self) -> list[tuple[int, float, float, float]]:
        """Each cell with its lower, upper and sliding level."""
        columns = (self.cells, self.lower, self.upper, self.sliding)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def in_turn(self, items: Sequence[Item], phase: str, every: int = 64) -> Iterator[Item]:
        """The items one after the other until the deadline passes, each `every`-th of them reported."""
        return in_turn(items, phase, self.progress, self.deadline, every)


@dataclass(frozen=True, eq=False)
class Own:
    """The pattern of the paper's algorithm, its counters and its notes."""

    hidden: Bools
    counters: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Builder(Protocol):
    """The paper's own algorithm. It looks at the deadline, and stops early with what it has."""

    def __call__(self, requests: Requests) -> Own: ...


class SafeAttempt(NamedTuple):
    """A safe pattern (without repair the paper's), its cost, and what is counted and noted about it."""

    hidden: Bools
    cost: float
    counters: dict[str, float]
    notes: tuple[str, ...]


NOT_REPAIRED = "the method's own pattern, not repaired: it is safe only where the audit says so"
UNFINISHED = "the method was stopped before its own pattern was complete"


def one_by_one(
    problem: Problem,
    params: OneByOneParams,
    rng: np.random.Generator,
    progress: Progress,
    build: Builder,
    engine: str,
    settings: SequentialSettings = SequentialSettings(),
) -> Proposal:
    """The cheapest of some attempts, each the paper's pattern, repaired and without redundant suppressions."""
    params.check()
    refuse_touched_bound(problem, "Methods that protect one cell after the other")
    run = SuppressionRun(problem, params.seconds, progress, settings.first)
    frame = _Frame(run, params, rng, settings)
    best: SafeAttempt | None = None
    with run.stoppable():
        frame.prepare()
        for number in range(params.starts):
            attempt = frame.attempt(build, shuffled=number > 0)
            if attempt is not None and (best is None or attempt.cost < best.cost):
                best = attempt
            if run.deadline.passed():
                break
    status = run.status(Status.FEASIBLE, complete=best is not None and not frame.cut_short)
    described = f"{engine} on {structure_of(problem.table).description}"
    late = frame.cut_short or run.deadline.passed()
    if best is None or (params.repair and late and run.has_cheaper_first(best.cost)):
        hidden, note = run.fallback
        return Proposal(Suppression.copy_of(hidden), status, described, bound=frame.bound, notes=(note,))
    return Proposal(
        Suppression.copy_of(best.hidden),
        status,
        described,
        bound=None if frame.bound is None else min(frame.bound, best.cost),
        counters=best.counters,
        notes=best.notes,
        may_leave_open=not params.repair,
    )


class _Frame:
    """What all attempts have in common."""

    def __init__(
        self,
        run: SuppressionRun,
        params: OneByOneParams,
        rng: np.random.Generator,
        settings: SequentialSettings,
    ) -> None:
        self.run, self.params, self.rng, self.settings = run, params, rng, settings
        self.problem, self.progress, self.deadline = run.problem, run.progress, run.deadline
        self.bound: float | None = None
        self.hidden: Bools = run.problem.must_hide.copy()
        self.cells: Ints = np.zeros(0, dtype=np.int64)
        self.cut_short = False
        """Whether the paper's algorithm was stopped before its end."""

    def prepare(self) -> None:
        """What comes before the first attempt and can be interrupted."""
        self.run.prepare(first=self.settings.quick_first and self.params.repair)
        if self.params.initial == "bound":
            self._hide_by_bound()
        self.cells = self._cells()

    def _cells(self) -> Ints:
        """The sensitive cells whose levels are protected."""
        if self.params.levels == "all":
            return np.flatnonzero(self.problem.sensitive)
        return exposure(self.problem, progress=self.progress).algorithms[self.params.levels]

    def _hide_by_bound(self) -> None:
        """Hide what the linear program of Kelly's and the volume cuts hides entirely; its value is a proven bound."""
        problem, free = self.problem, self.run.allowed & ~self.problem.must_hide
        lines, patterns = (
            EquationCuts(problem, self.run.allowed),
            BridgelessCuts(problem, self.run.allowed, settings=self.settings.bridgeless),
        )
        volume = lines.volume_cuts()
        start = patterns.cheapest(self.settings.first_columns)
        given = problem.weights, free, start, [patterns.separate], self.deadline, self.progress
        program = CutProgram(*given, self.settings.bound)
        program.relaxation.add([*lines.isolated_cuts(), *volume, *fixing_cuts(volume)])
        program.solve_relaxation()
        self.bound = program.rounded
        self.hidden |= free & (program.relaxation.x >= self.settings.hidden_from)

    def _ordered(self, shuffled: bool) -> Ints:
        """Whose turn is when."""
        lower, upper, sliding = self.problem.required(0, self.cells)
        value = np.abs(self.problem.table.values[self.cells])
        if shuffled or self.params.order == "random":
            return self.rng.permutation(self.cells)
        keys = {
            "level": -np.maximum(np.maximum(lower, upper), sliding),
            "value": -value,
            "small": value,
            "given": np.arange(self.cells.size),
        }
        return self.cells[np.argsort(keys[self.params.order], kind="stable")]

    def attempt(self, build: Builder, *, shuffled: bool) -> SafeAttempt | None:
        """The paper's pattern, safe against all attackers and without redundant suppressions. None: not in time."""
        problem, run, cells = self.problem, self.run, self._ordered(shuffled)
        levels, within = problem.required(0, cells), self.deadline
        if self.params.repair:
            within = within.share(self.settings.build_share)
        requests = Requests(
            problem, run.allowed, self.hidden, cells, *levels, within, self.progress, self.rng
        )
        own = build(requests)
        self.cut_short = self.cut_short or within.passed()
        if not self.params.repair:
            return self._original(own)
        if self.deadline.passed():
            return None
        if within.passed() and self.run.first is not None:
            return self._united(own)
        judged = self.deadline.share(self.settings.audit_share)
        found = audit_within(problem, Suppression.copy_of(own.hidden), judged, self.progress)
        if found is None:
            self.cut_short = True
            return None if self.run.first is None else self._united(own)
        counters = {**self._own_counters(own), "own open cells": int(found.open_cells.size)}
        repaired = self._repaired(own.hidden, unmet_requirements(problem, found))
        if repaired is None:
            return None
        before = int(repaired.hidden.sum())
        counters["added by repair"] = before - int(own.hidden.sum())
        if self.params.clean_up:
            repaired.eliminate_redundant()
            counters["published again"] = before - int(repaired.hidden.sum())
        hidden = repaired.hidden.copy()
        self.progress("attempt", 1, 1, self.run.cost(hidden), self.bound)
        return SafeAttempt(hidden, self.run.cost(hidden), counters, own.notes)

    def _own_counters(self, own: Own) -> dict[str, float]:
        """The builder's counters, and the size of its pattern."""
        cells, cost = int(own.hidden.sum()), self.run.cost(own.hidden)
        return {**own.counters, "own cells": cells, "own cost": cost}

    def _original(self, own: Own) -> SafeAttempt:
        """The builder's pattern as it is. What it leaves open the audit of the result names."""
        notes = (*own.notes, NOT_REPAIRED, *((UNFINISHED,) if self.cut_short else ()))
        return SafeAttempt(own.hidden, self.run.cost(own.hidden), self._own_counters(own), notes)

    def _united(self, own: Own) -> SafeAttempt:
        """The pattern of a builder that was cut short, together with the initial one: safe without an audit.

        An audit of a pattern with many open cells can take longer than the time that is left.
        """
        assert self.run.first is not None
        both: Bools = own.hidden | self.run.first
        united = self._repaired(both, [])
        assert united is not None
        if self.params.clean_up:
            united.eliminate_redundant()
        hidden = united.hidden.copy()
        counters = {**own.counters, "published again": int(both.sum()) - int(hidden.sum())}
        return SafeAttempt(hidden, self.run.cost(hidden), counters, own.notes)

    def _repaired(self, hidden: Bools, missing: list[Requirement]) -> Construction | None:
        """A construction that starts from this pattern and has met what it misses. None: not in time."""
        given = self.problem, self.run.allowed, self.progress, self.deadline, missing
        tuned = self.settings.first.construction
        repaired = construction_of(*given, start=hidden, met=self.run.requirements, settings=tuned)
        if missing:
            repaired.construct()
        else:
            repaired.complete = True
        return repaired if repaired.complete else None
