"""suppress-elimination: everything hidden to begin with, then published cell by cell while every requirement is met.

1. Hide everything that may be hidden. All requirements are met now, or no pattern meets them.
2. Every requirement gets a witness: deviations of hidden cells that meet it.
3. Each complementary cell in turn, by decreasing weight: a requirement whose witness does not move the cell is met
   without it; each of the others needs another witness without the cell. If all have one, the cell is published.

Hiding less never widens an interval, so a cell that is needed now stays needed: one pass ends in a pattern of which no
cell can be published. It is safe at any time, so a deadline may end the pass anywhere (`heuristics.elimination`).

The paper solves a linear program for every level and cell. Additions: the witnesses of 2 and 3, maximum flows on
networks, the null space of small systems, and the order by a linear program (`guided`): what it hides least goes first.

Reference: Serpell, Smith, Clark & Staggemeier (2013), A preprocessing optimization applied to the cell suppression
problem in statistical disclosure control ("Elimination LP").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import structure_of
from tablecloak.auditing import audit, exposure
from tablecloak.errors import InputError
from tablecloak.methods.base import Proposal, refuse_touched_bound, without_incumbent
from tablecloak.methods.cuts import (
    BridgelessCuts,
    BridgelessSettings,
    CapacitySettings,
    Cut,
    CutLoopSettings,
    CutProgram,
    EquationCuts,
    capacity_separator_of,
    fixing_cuts,
)
from tablecloak.methods.heuristics import (
    FIRST_KEPT,
    Elimination,
    FirstPatternSettings,
    SafeAttempt,
    SuppressionRun,
    by_decreasing_level,
    construction_of,
    engine_of,
)
from tablecloak.methods.parameters import wrong_words
from tablecloak.model import EVERYTHING, Problem, Requirement, Status, Suppression, conditional_requirements
from tablecloak.progress import Progress
from tablecloak.solvers import watched


@dataclass(frozen=True)
class EliminationRunSettings:
    """Work of the program that guides the order, and of the elimination."""

    requirements_per_round: int = 200
    """Maximum number of requirements with new capacity cuts in a round of the guiding program. Untested default."""
    first_columns: int = 8
    """Number of the cheapest cells of each equation that are columns of the guiding program from the start. Untested
    default."""
    guiding_share: float = 0.5
    """Share of the time left for the guiding program; the rest is for the elimination. Untested default."""
    capacity: CapacitySettings = CapacitySettings()
    bridgeless: BridgelessSettings = BridgelessSettings()
    guiding: CutLoopSettings = CutLoopSettings()
    """The guiding program."""
    first: FirstPatternSettings = FirstPatternSettings()
    """The quick pattern; its settings of constructions and their witnesses are those of the elimination too."""


@dataclass(frozen=True)
class EliminationParams:
    """Parameters of suppress-elimination."""

    seconds: float | None = None
    """Time limit in seconds; then the pattern so far is returned."""
    order: Literal["weight", "guided", "value", "given", "random"] = "weight"
    """Which cells are tried first: the heaviest, those that a linear program hides least, the largest values, as in the
    table, or by chance."""
    levels: Literal["all", "E", "D", "K1", "K3", "K5"] = "all"
    """Whose levels the elimination keeps: all sensitive cells, or what a set of `exposure` keeps; then the rest is
    repaired."""
    starts: int = 1
    """Number of attempts, all but the first in random orders; the cheapest pattern is kept."""


def suppress_elimination(
    problem: Problem,
    *,
    params: EliminationParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: EliminationRunSettings = EliminationRunSettings(),
) -> Proposal:
    """A safe pattern of which no cell can be published, on every feasible problem without a bound on touched cells."""
    refuse_touched_bound(problem, "suppress-elimination")
    faults = [*wrong_words(params), *(["starts must be at least 1"] if params.starts < 1 else [])]
    if faults:
        raise InputError("Method parameters", faults)
    run = SuppressionRun(problem, params.seconds, progress, settings.first)
    case = _Attempts(run, params, settings)
    best: SafeAttempt | None = None
    with (
        run.stoppable(),
        watched(run.deadline.check),
    ):  # witnesses come from programs without a limit of their own
        case.prepare()
        for number in range(params.starts):
            attempt = case.attempt(case.order(rng, shuffled=number > 0))
            if best is None or attempt.cost < best.cost:
                best = attempt
            if run.deadline.passed():
                break
    status = run.status(Status.FEASIBLE)
    if best is None:
        best = case.finished()
    if run.deadline.passed() and run.first is not None and run.has_cheaper_first(best.cost):
        best = SafeAttempt(run.first, run.cost(run.first), best.counters, (FIRST_KEPT,))
    return Proposal(
        Suppression.copy_of(best.hidden),
        status,
        f"{case.engine} on {structure_of(problem.table).description}",
        bound=None if case.bound is None else min(case.bound, best.cost),
        counters=best.counters,
        notes=best.notes,
    )


class _Attempts:
    """What all attempts have in common, and the one under way."""

    def __init__(
        self, run: SuppressionRun, params: EliminationParams, settings: EliminationRunSettings
    ) -> None:
        self.run, self.params, self.settings = run, params, settings
        self.problem, self.progress, self.deadline = run.problem, run.progress, run.deadline
        self.every: list[Requirement] = []
        """All requirements, conditional widths among them."""
        self.kept: list[Requirement] = []
        """Those that the elimination keeps."""
        self.bound: float | None = None
        self.elimination: Elimination | None = None

    def prepare(self) -> None:
        """The requirements, and the initial pattern for a run that is stopped early."""
        self.run.prepare()
        widths = conditional_requirements(self.problem, self.run.allowed & ~self.problem.must_hide)
        self.every = self.kept = [*self.run.requirements, *widths]
        if self.params.levels != "all":
            kept = ~self.problem.sensitive
            kept[exposure(self.problem, progress=self.progress).algorithms[self.params.levels]] = True
            self.kept = [requirement for requirement in self.every if kept[requirement.cell]]

    @property
    def engine(self) -> str:
        return "linear programs" if self.elimination is None else self.elimination.engine.name

    def order(self, rng: np.random.Generator, *, shuffled: bool) -> Ints:
        """The complementary cells in the order in which they are tried."""
        problem = self.problem
        cells = np.flatnonzero(self.run.allowed & ~problem.must_hide)
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
        """To what extent a linear program hides each cell: bridgeless, volume and capacity cuts."""
        problem, free, settings = self.problem, self.run.allowed & ~self.problem.must_hide, self.settings
        patterns = BridgelessCuts(problem, self.run.allowed, settings=settings.bridgeless)
        lines = EquationCuts(problem, self.run.allowed)
        separator = capacity_separator_of(problem, self.run.allowed, settings=settings.capacity)
        deadline = self.deadline.share(settings.guiding_share)

        def separate(x: Floats) -> list[Cut]:
            return separator.separate(x, self.every, most=settings.requirements_per_round, deadline=deadline)

        start, volume = patterns.cheapest(settings.first_columns), lines.volume_cuts()
        finders = [patterns.separate, *([separate] if self.every else [])]
        program = CutProgram(problem.weights, free, start, finders, deadline, self.progress, settings.guiding)
        program.relaxation.add([*lines.isolated_cuts(), *volume, *fixing_cuts(volume)])
        program.solve_relaxation()
        self.bound = program.rounded
        return program.relaxation.x

    def attempt(self, order: Ints) -> SafeAttempt:
        """One elimination, and the repair of the requirements that it did not keep."""
        problem, requirements, allowed = self.problem, by_decreasing_level(self.kept), self.run.allowed
        progress = self.progress if self.params.levels == "all" else without_incumbent(self.progress)
        tuned = self.settings.first.construction.witnesses
        engine = engine_of(problem, requirements, allowed, self.deadline, tuned)
        self.elimination = Elimination(problem, requirements, allowed, engine, self.deadline, progress)
        self.elimination.run(order)
        return self.finished()

    def finished(self) -> SafeAttempt:
        """The attempt so far as a safe pattern: everything hidden if there is no other yet."""
        if self.elimination is None:
            return self._everything("stopped before anything was published", {})
        own = self.elimination.hidden
        if self.deadline.passed() and np.array_equal(own, self.run.allowed):
            return self._everything("stopped before anything was published", self.elimination.counters)
        if self.deadline.passed() and self.params.levels == "all":  # all have a witness, and `protect` audits
            return SafeAttempt(own.copy(), self.run.cost(own), self.elimination.counters, ())
        found = audit(self.problem, Suppression.copy_of(own), progress=self.progress)
        counters = {
            **self.elimination.counters,
            "own cells": int(own.sum()),
            "own cost": self.run.cost(own),
            "own open cells": int(found.open_cells.size),
        }
        hidden = own.copy() if found.safe_rows.all() else self._repaired(own)
        if hidden is None:
            return self._everything("stopped before the other levels were repaired", counters)
        counters["added by repair"] = int((hidden & ~own).sum())
        return SafeAttempt(hidden, self.run.cost(hidden), counters, ())

    def _everything(self, why: str, counters: dict[str, float]) -> SafeAttempt:
        note = f"{why}: {EVERYTHING}"
        return SafeAttempt(self.run.allowed, self.run.cost(self.run.allowed), counters, (note,))

    def _repaired(self, hidden: Bools) -> Bools | None:
        """The pattern with all requirements met and redundant suppressions eliminated again. None: not in time."""
        given = self.problem, self.run.allowed, self.progress, self.deadline, self.every
        repaired = construction_of(
            *given, start=hidden, met=self.every, settings=self.settings.first.construction
        )
        repaired.construct()
        if not repaired.complete:
            return None
        repaired.eliminate_redundant()
        return repaired.hidden
