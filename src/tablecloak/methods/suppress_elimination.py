"""suppress-elimination: everything hidden to begin with, then published cell by cell as long as every level is met.

1. Hide everything that may be hidden. All levels of all attackers are met now, or no pattern meets them.
2. Every level gets a witness: deviations of hidden cells that give the sensitive cell its room.
3. Each complementary cell in turn, the dearest first: a level whose witness does not move the cell is met without it,
   nobody need ask. The others are asked for another witness without the cell. If all have one, the cell is published.

Hiding less never widens an interval, so a cell that must stay now must stay for good: one pass ends in a pattern of
which no cell can be published. It is safe at any time, so the clock may stop it anywhere.

The paper asks a linear program for every level and cell; the witnesses of 2 and 3, the maximum flows on networks and
the elimination of small systems are ours, as is the order by a linear program (`guided`): what it hides least goes
first.

Reference: Serpell, Smith, Clark & Staggemeier (2013), A preprocessing optimization applied to the cell suppression
problem in statistical disclosure control ("Elimination LP").
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network, structure_of
from tablecloak.auditing import audit, exposure
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.cuts import (
    BridgelessCuts,
    Cut,
    EquationCuts,
    RowProgram,
    capacity_separator_of,
    fixing_cuts,
)
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import FIRST_KEPT, Elimination, NetworkSearch, Search, first_pattern
from tablecloak.model import EVERYTHING, Problem, Requirement, Side, Status, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import watched

ORDERS = ("weight", "guided", "value", "given", "random")
SETS = ("all", "E", "K1", "K3", "K5")
LEVELS_A_ROUND = 200
"""At most so many levels get new capacity rows in one round of the program that guides the order."""
FIRST_COLUMNS = 8
"""So many of the cheapest cells of each line are columns of that program from the start."""


@dataclass(frozen=True)
class EliminationParams:
    """Parameters of suppress-elimination."""

    seconds: float | None = None
    """Stop after so long with the pattern so far."""
    order: Literal["weight", "guided", "value", "given", "random"] = "weight"
    """Which cells are tried first: the dearest, those that a linear program hides least, the largest values, as in the
    table, or by chance."""
    levels: Literal["all", "E", "K1", "K3", "K5"] = "all"
    """Whose levels are minded: all sensitive cells, or what a set of `exposure` keeps; then the rest is repaired."""
    starts: int = 1
    """So many attempts, all but the first in random orders; the cheapest pattern is kept."""


def suppress_elimination(
    problem: Problem,
    *,
    params: EliminationParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """A safe pattern of which no cell can be published, on every feasible problem without a bound on touched cells."""
    _check(problem, params)
    run = Run(params.seconds)
    case = _Case(problem, params, progress, run.deadline)
    best: _Attempt | None = None
    with (
        run.stoppable(),
        watched(run.deadline.check),
    ):  # witnesses come from programs without a limit of their own
        case.prepare()
        for number in range(params.starts):
            attempt = case.attempt(case.order(rng, shuffled=number > 0))
            if best is None or attempt.cost < best.cost:
                best = attempt
            if case.deadline.passed():
                break
    status = run.status(Status.FEASIBLE)
    if best is None:
        best = case.finished()
    best = case.cheaper(best)
    return Proposal(
        Suppression.copy_of(best.hidden),
        status,
        f"{case.engine} on {structure_of(problem.table).description}",
        bound=None if case.bound is None else min(case.bound, best.cost),
        counters=best.counters,
        notes=best.notes,
    )


def _check(problem: Problem, params: EliminationParams) -> None:
    if problem.most_touched is not None:
        raise NotApplicable(
            "suppress-elimination cannot honour a bound on the number of touched cells.",
            needs="a problem without most_touched",
            instead=["suppress-optimal", "suppress-compact"],
        )
    faults = {
        f"order {params.order!r} is not one of {', '.join(ORDERS)}": params.order not in ORDERS,
        f"levels {params.levels!r} is not one of {', '.join(SETS)}": params.levels not in SETS,
        "starts must be at least 1": params.starts < 1,
    }
    if any(faults.values()):
        raise InputError("Method parameters", [fault for fault, holds in faults.items() if holds])


class _Attempt(NamedTuple):
    hidden: Bools
    cost: float
    counters: dict[str, float]
    notes: tuple[str, ...]


class _Case:
    """What all attempts have in common, and the one under way."""

    def __init__(
        self, problem: Problem, params: EliminationParams, progress: Progress, deadline: Deadline
    ) -> None:
        self.problem, self.params, self.progress, self.deadline = problem, params, progress, deadline
        self.allowed = hide_everything(problem, progress)
        found = audit(problem, Suppression.copy_of(problem.must_hide), progress=progress)
        self.every = [*unmet_requirements(problem, found), *self._conditional()]
        self.requirements = self._minded()
        self.first: Bools | None = None
        self.bound: float | None = None
        self.run: Elimination | None = None

    def prepare(self) -> None:
        """A quick pattern, for a run that is stopped early."""
        problem = self.problem
        self.first = first_pattern(problem, self.allowed, self.every, self.progress, self.deadline)

    def cheaper(self, best: _Attempt) -> _Attempt:
        """What was found, or the quick pattern, if that is cheaper than what a stopped run came to."""
        if self.first is None or not self.deadline.passed() or self.cost(self.first) >= best.cost:
            return best
        return _Attempt(self.first, self.cost(self.first), best.counters, (FIRST_KEPT,))

    def _conditional(self) -> list[Requirement]:
        """The widths that cells ask for as long as they are hidden."""
        problem = self.problem
        cells = np.flatnonzero(self.allowed & ~problem.must_hide & (problem.levels.conditional > 0))
        requirements = []
        for attacker in range(len(problem.attacker_names) if cells.size else 0):
            widths = problem.required(attacker, cells)[2]
            requirements += [
                Requirement(cell, attacker, Side.SLIDE, width)
                for cell, width in zip(cells.tolist(), widths.tolist(), strict=True)
                if width > 0
            ]
        return requirements

    def _minded(self) -> list[Requirement]:
        """The levels that the elimination minds."""
        if self.params.levels == "all":
            return self.every
        kept = np.zeros(len(self.problem.table), dtype=bool)
        kept[exposure(self.problem, progress=self.progress).algorithms[self.params.levels]] = True
        kept |= ~self.problem.sensitive
        return [requirement for requirement in self.every if kept[requirement.cell]]

    @property
    def engine(self) -> str:
        return "linear programs" if self.run is None else self.run.finder.engine

    def order(self, rng: np.random.Generator, *, shuffled: bool) -> Ints:
        """The complementary cells in the order in which they are tried."""
        problem = self.problem
        cells = np.flatnonzero(self.allowed & ~problem.must_hide)
        weight = problem.weights[cells]
        match "random" if shuffled else self.params.order:
            case "random":
                return rng.permutation(cells)
            case "given":
                return cells
            case "value":
                return cells[np.argsort(-np.abs(problem.table.values[cells]), kind="stable")]
            case "guided":
                return cells[np.lexsort((-weight, np.round(self._relaxed()[cells], 6)))]
        return cells[np.argsort(-weight, kind="stable")]

    def _relaxed(self) -> Floats:
        """To what extent a linear program hides each cell: pattern, volume and capacity rows."""
        problem, free = self.problem, self.allowed & ~self.problem.must_hide
        patterns, lines = BridgelessCuts(problem, self.allowed), EquationCuts(problem, self.allowed)
        separator = capacity_separator_of(problem, self.allowed)
        deadline = self.deadline.share(0.5)  # the other half is for the elimination

        def missed(x: Floats) -> list[Cut]:
            return separator.separate(x, self.every, most=LEVELS_A_ROUND, deadline=deadline)

        start, volume = patterns.cheapest(FIRST_COLUMNS), lines.volume_cuts()
        finders = [patterns.separate, *([missed] if self.every else [])]
        program = RowProgram(problem.weights, free, start, finders, deadline, self.progress)
        program.relaxation.add([*lines.isolated_cuts(), *volume, *fixing_cuts(volume)])
        program.linear()
        self.bound = program.rounded
        return program.relaxation.x

    def attempt(self, order: Ints) -> _Attempt:
        """One elimination, and the repair of what it did not mind."""
        told = self.params.levels == "all"
        self.run = Elimination(
            self.problem, self.requirements, self.allowed, self.deadline, self.progress, tell=told
        )
        self.run.publish(order)
        return self.finished()

    def finished(self) -> _Attempt:
        """The attempt so far as a safe pattern: everything hidden if there is no other yet."""
        if self.run is None:
            return self._everything("stopped before anything was published", {})
        own = self.run.hidden
        if self.deadline.passed() and np.array_equal(own, self.allowed):
            return self._everything("stopped before anything was published", self.run.counters)
        if (
            self.deadline.passed() and self.params.levels == "all"
        ):  # every level has a witness; `protect` audits
            return _Attempt(own.copy(), self.cost(own), self.run.counters, ())
        found = audit(self.problem, Suppression.copy_of(own), progress=self.progress)
        counters = {
            **self.run.counters,
            "own cells": int(own.sum()),
            "own cost": self.cost(own),
            "own open cells": int(found.open_cells.size),
        }
        hidden = own.copy() if found.safe_rows.all() else self._repaired(own)
        if hidden is None:
            return self._everything("stopped before the levels that were not minded were repaired", counters)
        counters["added by repair"] = int((hidden & ~own).sum())
        return _Attempt(hidden, self.cost(hidden), counters, ())

    def _everything(self, why: str, counters: dict[str, float]) -> _Attempt:
        note = f"{why}: {EVERYTHING}"
        return _Attempt(self.allowed, self.cost(self.allowed), counters, (note,))

    def _repaired(self, hidden: Bools) -> Bools | None:
        """Safe against everybody and thinned again. None: not in time."""
        problem, every = self.problem, self.every
        search: Search | NetworkSearch
        if is_network(problem) and not problem.levels.conditional.any():
            search = NetworkSearch(problem, self.allowed, every, self.progress, self.deadline, start=hidden)
        else:
            search = Search(problem, self.allowed, self.progress, self.deadline, start=hidden, met=every)
        search.construct()
        if not search.complete:
            return None
        search.clean_up()
        return search.hidden

    def cost(self, hidden: Bools) -> float:
        return float(self.problem.weights[hidden & ~self.problem.must_hide].sum())
