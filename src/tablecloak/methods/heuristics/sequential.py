"""The frame of heuristics that protect one sensitive cell after the other, each in the way of its paper.

1. *Requests*: the levels of the outsider for all sensitive cells, or for those that a set of `exposure` keeps, in some
   order. Some cells may be hidden to begin with: those that the linear program of a lower bound hides whole.
2. The paper's own algorithm (a `Builder`) hides cells; what it hides and counts is reported before anything is added.
3. *Repair*: an audit of all levels and attackers names what the paper leaves open; each gets its cheapest deviation.
4. *Clean-up*: what no level needs is published again, dearest first.
5. *Several starts*: the same in random orders; the cheapest pattern is kept.

A run that is stopped before step 3 is complete ends with a quick pattern that it began with (`initial_pattern`). With a
time limit the paper's algorithm has a share of it; if it is cut short, the quick pattern takes the place of the repair:
both together are safe, and the clean-up has the rest of the time.

References: the papers of the methods; Castro (2002), Figure 3, for the common frame; our notes, 4.1 and 4.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network, structure_of
from tablecloak.auditing import audit, exposure
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, Run, wrong_words
from tablecloak.methods.cuts import BridgelessCuts, EquationCuts, RowProgram, fixing_cuts
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics.initial_pattern import FIRST_KEPT, first_pattern
from tablecloak.methods.heuristics.lp_construction import Search
from tablecloak.methods.heuristics.network_construction import NetworkSearch
from tablecloak.model import Problem, Requirement, Status, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress

WHOLE = 1 - 1e-6
"""A linear program hides a cell whole from here on."""
BUILD_SHARE = 0.7
"""The share of the time left that the paper's algorithm has; the rest is for the repair and the clean-up."""
FIRST_COLUMNS = 8
"""So many of the cheapest cells of each line are columns of that program from the start."""


@dataclass(frozen=True)
class OneByOneParams:
    """Parameters that all these methods have."""

    seconds: float | None = None
    """Stop after so long with the best pattern so far."""
    order: Literal["level", "value", "small", "given", "random"] = "level"
    """Whose turn is first: the largest level, the largest value, the smallest value, as in the table, or chance."""
    levels: Literal["all", "E", "K1", "K3", "K5"] = "all"
    """Whose levels the paper's algorithm is asked for: all sensitive cells, or what a set of `exposure` keeps."""
    initial: Literal["none", "bound"] = "none"
    """Cells hidden to begin with: none, or those that the linear program of a lower bound hides whole."""
    clean_up: bool = True
    """Try to publish complementary cells again at the end."""
    starts: int = 1
    """So many attempts, all but the first in random orders; the cheapest pattern is kept."""

    def check(self, more: Mapping[str, bool] | None = None) -> None:
        """Raise an error that lists all faults; `more`: those of a method, and whether they hold."""
        faults = {"starts must be at least 1": self.starts < 1, **(more or {})}
        told = [*wrong_words(self), *(fault for fault, holds in faults.items() if holds)]
        if told:
            raise InputError("Method parameters", told)


@dataclass(frozen=True, eq=False)
class Requests:
    """What the paper's algorithm is asked: these cells, in this order, with the levels of the outsider."""

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


@dataclass(frozen=True, eq=False)
class Own:
    """The pattern of the paper's algorithm, what it counted, and what is worth telling."""

    hidden: Bools
    counters: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Builder(Protocol):
    """The paper's own algorithm. It looks at the deadline, and stops early with what it has."""

    def __call__(self, requests: Requests) -> Own: ...


class _Attempt(NamedTuple):
    hidden: Bools
    cost: float
    counters: dict[str, float]
    notes: tuple[str, ...]


def one_by_one(
    problem: Problem,
    params: OneByOneParams,
    rng: np.random.Generator,
    progress: Progress,
    build: Builder,
    engine: str,
    *,
    first: bool = True,
) -> Proposal:
    """The cheapest of some attempts, each the paper's pattern, repaired and cleaned up.

    `first`: whether to make a quick pattern to begin with; methods as quick as that need none.
    """
    params.check()
    _check(problem)
    run = Run(params.seconds)
    frame = _Frame(problem, params, rng, progress, run.deadline)
    best: _Attempt | None = None
    with run.stoppable():
        frame.prepare(first=first)
        for number in range(params.starts):
            attempt = frame.attempt(build, shuffled=number > 0)
            if attempt is not None and (best is None or attempt.cost < best.cost):
                best = attempt
            if frame.deadline.passed():
                break
    status = run.status(Status.FEASIBLE, complete=best is not None and not frame.cut_short)
    described = f"{engine} on {structure_of(problem.table).description}"
    if best is None or (frame.cut_short and frame.has_cheaper(best)):
        hidden, note = frame.fallback()
        return Proposal(Suppression.copy_of(hidden), status, described, bound=frame.bound, notes=(note,))
    return Proposal(
        Suppression.copy_of(best.hidden),
        status,
        described,
        bound=None if frame.bound is None else min(frame.bound, best.cost),
        counters=best.counters,
        notes=best.notes,
    )


def _check(problem: Problem) -> None:
    if problem.most_touched is not None:
        raise NotApplicable(
            "Methods that protect one cell after the other cannot honour a bound on the number of touched cells.",
            needs="a problem without most_touched",
            instead=["suppress-optimal", "suppress-compact"],
        )


class _Frame:
    """What all attempts have in common."""

    def __init__(
        self,
        problem: Problem,
        params: OneByOneParams,
        rng: np.random.Generator,
        progress: Progress,
        deadline: Deadline,
    ) -> None:
        self.problem, self.params, self.rng, self.progress = problem, params, rng, progress
        self.deadline = deadline
        self.allowed = hide_everything(problem, progress)
        self.bound: float | None = None
        self.hidden: Bools = problem.must_hide.copy()
        self.cells: Ints = np.zeros(0, dtype=np.int64)
        self.requirements: list[Requirement] = []
        """All levels of all attackers that the cells hidden anyway do not meet."""
        self.first: Bools | None = None
        """A safe pattern to fall back on."""
        self.cut_short = False
        """Whether the paper's algorithm was stopped before its end."""

    def prepare(self, *, first: bool) -> None:
        """What comes before the first attempt and can be interrupted."""
        problem = self.problem
        self.requirements = unmet_requirements(
            problem, audit(problem, Suppression.copy_of(problem.must_hide), progress=self.progress)
        )
        if first:
            self.first = first_pattern(problem, self.allowed, self.requirements, self.progress, self.deadline)
        if self.params.initial == "bound":
            self._hide_by_bound()
        self.cells = self._cells()

    def has_cheaper(self, best: _Attempt) -> bool:
        """Whether the quick pattern is cheaper than what a stopped run came to."""
        return self.first is not None and self._cost(self.first) < best.cost

    def fallback(self) -> tuple[Bools, str]:
        """What is hidden if no attempt came to its end, and the note that says so."""
        return (self.allowed, HIDES_EVERYTHING) if self.first is None else (self.first, FIRST_KEPT)

    def _cells(self) -> Ints:
        """The sensitive cells whose levels are asked for."""
        if self.params.levels == "all":
            return np.flatnonzero(self.problem.sensitive)
        return exposure(self.problem, progress=self.progress).algorithms[self.params.levels]

    def _hide_by_bound(self) -> None:
        """Hide what the linear program of Kelly's and the volume rows hides whole; its value is a proven bound."""
        problem, free = self.problem, self.allowed & ~self.problem.must_hide
        lines, patterns = EquationCuts(problem, self.allowed), BridgelessCuts(problem, self.allowed)
        volume = lines.volume_cuts()
        start = patterns.cheapest(FIRST_COLUMNS)
        program = RowProgram(problem.weights, free, start, [patterns.separate], self.deadline, self.progress)
        program.relaxation.add([*lines.isolated_cuts(), *volume, *fixing_cuts(volume)])
        program.linear()
        self.bound = program.rounded
        self.hidden |= free & (program.relaxation.x >= WHOLE)

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

    def attempt(self, build: Builder, *, shuffled: bool) -> _Attempt | None:
        """The paper's pattern, made safe against everybody and cleaned up. None: not in time."""
        problem, cells = self.problem, self._ordered(shuffled)
        lower, upper, sliding = problem.required(0, cells)
        within = self.deadline.share(BUILD_SHARE)
        own = build(
            Requests(
                problem,
                self.allowed,
                self.hidden,
                cells,
                lower,
                upper,
                sliding,
                within,
                self.progress,
                self.rng,
            )
        )
        self.cut_short = self.cut_short or within.passed()
        if self.deadline.passed():
            return None
        if within.passed() and self.first is not None:
            return self._united(own)
        found = audit(problem, Suppression.copy_of(own.hidden), progress=self.progress)
        counters = {
            **own.counters,
            "own cells": int(own.hidden.sum()),
            "own cost": self._cost(own.hidden),
            "own open cells": int(found.open_cells.size),
        }
        repaired = self._repaired(own.hidden, unmet_requirements(problem, found))
        if repaired is None:
            return None
        before = int(repaired.hidden.sum())
        counters["added by repair"] = before - int(own.hidden.sum())
        if self.params.clean_up:
            repaired.clean_up()
            counters["published again"] = before - int(repaired.hidden.sum())
        hidden = repaired.hidden.copy()
        self.progress("attempt", 1, 1, self._cost(hidden), self.bound)
        return _Attempt(hidden, self._cost(hidden), counters, own.notes)

    def _united(self, own: Own) -> _Attempt:
        """The pattern of a builder that was cut short together with the quick one, cleaned up: safe without an audit.

        An audit of a pattern with many open cells can take longer than the time that is left.
        """
        assert self.first is not None
        both: Bools = own.hidden | self.first
        search = self._repaired(both, [])
        assert search is not None
        if self.params.clean_up:
            search.clean_up()
        hidden = search.hidden.copy()
        counters = {**own.counters, "published again": int(both.sum()) - int(hidden.sum())}
        return _Attempt(hidden, self._cost(hidden), counters, own.notes)

    def _repaired(self, hidden: Bools, missing: list[Requirement]) -> Search | NetworkSearch | None:
        """A search that starts from this pattern, and has met what it misses. None: not in time."""
        problem, requirements = self.problem, self.requirements
        search: Search | NetworkSearch
        if is_network(problem) and not problem.levels.conditional.any():
            search = NetworkSearch(
                problem, self.allowed, missing, self.progress, self.deadline, start=hidden, met=requirements
            )
        else:
            search = Search(
                problem, self.allowed, self.progress, self.deadline, start=hidden, met=requirements
            )
        if missing:
            search.construct()
        else:
            search.complete = True
        return search if search.complete else None

    def _cost(self, hidden: Bools) -> float:
        return float(self.problem.weights[hidden & ~self.problem.must_hide].sum())
