"""suppress-three-phase: Carvalho & Almeida's exact algorithm for two-way tables.

0. *Preprocessing*: levels that the cells hidden anyway meet are dropped, by paths of maximum capacity.
1. *Phase 1*: solve the relaxation (P) as an integer program: the cuts of single equations (`cuts.equation`,
   `cuts.bridgeless`), from the second iteration on with the flows of phase 3. Its optimum is a lower bound, its cells S
   a candidate.
2. *Phase 2*: each level that S leaves unmet gets a cheapest deviation on top of S, by shortest augmenting paths on
   which S is free; the levels that opened a cell are listed. None: S is optimal. Otherwise the deviations, without
   redundant suppressions, are a safe pattern; if it costs no more than the bound it is optimal.
3. *Phase 3*: the listed levels enter the program, and phase 1 begins again. The paper gives each of them a flow of its
   own (`cuts.flow_model`). By the theorem of maximum flow and minimum cut the flows say as much about the cells as
   their minimum cuts (`cuts.capacity`), which are separated on demand here: the relaxation and its cuts stay as they
   are between iterations, and reduced costs fix cells.

Repairs to the paper: the paths of phases 0 and 2 run on the residual network, so that an unmet level is really unmet
and the loop cannot repeat itself; a total has coefficient g in (5), for it may rise without limit. Beyond
the paper: a first safe pattern before phase 1, and cells whose reduced cost in (P) exceeds the gap leave the program.

Reference: Carvalho & Almeida (2008), A three-phase algorithm for the cell suppression problem in two-dimensional
statistical tables, JORS 59.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import structure_of
from tablecloak.auditing import audit
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.cuts import (
    BridgelessCuts,
    Cut,
    CutProgram,
    EquationCuts,
    FlowProgram,
    NetworkSeparator,
    OneWayCuts,
    fixing_cuts,
    levels_of,
    rounded_up,
)
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import NetworkConstruction, floored_weights
from tablecloak.methods.parameters import wrong_words
from tablecloak.model import Problem, Requirement, Side, Status, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome
from tablecloak.solvers.graphs import Network, PathOpeningNetwork


@dataclass(frozen=True)
class ThreePhaseParams:
    """Parameters of suppress-three-phase."""

    seconds: float | None = None
    """Time limit in seconds; the best pattern so far and its proven bound are returned."""
    iterations: int | None = None
    """Maximum number of iterations; 1 gives the figures of the paper's tables about the first."""
    phase3: Literal["cuts", "flows"] = "cuts"
    """How phase 3 imposes the listed levels: minimum cuts on demand, or a flow for each as the paper prints it."""


def suppress_three_phase(
    problem: Problem,
    *,
    params: ThreePhaseParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """The cheapest safe pattern of a two-way table, or the best found in time with a proven bound."""
    _check(problem)
    run = Run(params.seconds)
    faults = wrong_words(params)
    if params.iterations is not None and params.iterations < 1:
        faults.append("iterations must be at least 1")
    if faults:
        raise InputError("suppress-three-phase", faults)
    solver = _Solver(problem, hide_everything(problem, progress), progress, run.deadline, params)
    proven = False
    with run.stoppable():
        proven = solver.run()
    counted = params.iterations is not None and not run.deadline.passed()
    status = run.status(Status.OPTIMAL if proven else Status.FEASIBLE)
    return replace(solver.proposal(status), stopped_by="work limit" if counted and not proven else "")


def _check(problem: Problem) -> None:
    """The problem must be one of the paper's."""
    blocks = structure_of(problem.table).blocks
    grid = blocks[0].grid if len(blocks) == 1 and blocks[0].kind == "network" else None
    levels = problem.levels
    failing = [
        need
        for need, holds in {
            "a two-way table without hierarchies": grid is not None and grid.levels == (1, 1),
            "no attacker but the outsider": not problem.attackers,
            "lower and upper levels for all sensitive cells": not levels.sliding.any(),
            "no conditional levels": not problem.has_conditional,
            "no bound on touched cells": problem.most_touched is None,
        }.items()
        if not holds
    ]
    if failing:
        raise NotApplicable(
            "suppress-three-phase cannot take this problem.",
            needs=", ".join(failing),
            instead=["suppress-optimal", "suppress-compact"],
        )


class _Solver:
    """The state of one run: the best pattern, the program, the levels that it imposes."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        progress: Progress,
        deadline: Deadline,
        params: ThreePhaseParams,
    ) -> None:
        self.problem, self.allowed, self.report, self.deadline = problem, allowed, progress, deadline
        self.params, self.separator = params, NetworkSeparator(problem, allowed)
        self.free = allowed & ~problem.must_hide
        self.hidden: Bools = allowed.copy()
        self.requirements: list[Requirement] = []
        self.listed: list[Requirement] = []
        self.equations, bridgeless = EquationCuts(problem, allowed), BridgelessCuts(problem, allowed)
        self.finders = [bridgeless.separate, OneWayCuts(self.equations).separate]
        start = bridgeless.cheapest()
        self.program = CutProgram(problem.weights, self.free, start, self.finders, deadline, self._tell)
        self.search = NetworkConstruction(problem, allowed, progress, deadline)
        self.bound = 0.0
        self.counters: dict[str, float] = {}
        self.clock: dict[str, float] = {}

    # ------------------------------------------------------------------ the recipe

    def run(self) -> bool:
        """The phases in turn; whether the optimum is proven."""
        with self._timed("preprocessing"):
            levels = self._levels()
            self.requirements = self._exposed(levels, self.problem.must_hide)
        self.counters |= {
            "levels": len(levels),
            "levels left after preprocessing": len(self.requirements),
            "iterations": 0,
        }
        if not self.requirements:
            self.hidden = self.problem.must_hide.copy()
            return True
        with self._timed("first pattern"):
            self._complete(self.problem.must_hide, self.requirements)
        with self._timed("phase 1"):
            x = self._first()
        while x is not None:
            with self._timed("phase 2"):
                fresh = self._second(x > 0.5)
            if not fresh:  # safe, and no point of the program is cheaper
                self._raise(self.cost)
            self._note_first()
            counted = self.params.iterations is not None
            ended = counted and self.counters["iterations"] >= (self.params.iterations or 0)
            ended = ended or self.deadline.passed()
            if self._proven() or ended:
                break
            with self._timed("phase 3"):
                x = self._third(x, fresh)
        return self._proven()

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        """Seconds of a phase; without a time limit no clock is read."""
        left = self.deadline.left
        try:
            yield
        finally:
            if self.deadline.moment is not None:
                self.clock[phase] = self.clock.get(phase, 0.0) + left - self.deadline.left

    def _tell(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        self._raise(bound or 0.0)
        self.report(phase, done, total, self.cost, self.bound)

    # ------------------------------------------------------------------ cost and proof

    @property
    def cost(self) -> float:
        return float(self.problem.weights[self.hidden & self.free].sum())

    def _raise(self, bound: float) -> None:
        self.bound = max(self.bound, min(rounded_up(bound, self.program.unit), self.cost))

    def _proven(self) -> bool:
        return self.cost - self.bound <= 1e-9 * max(1.0, self.cost)

    def _note_first(self) -> None:
        """The figures of the paper's tables about the first iteration."""
        if self.counters["iterations"] == 1:
            proven, over = self._proven(), self.cost - self.bound
            self.counters["proven at iteration 1"] = float(proven)
            if proven or self.bound > 0:
                self.counters["gap at iteration 1 (%)"] = 0.0 if proven else 100 * over / self.bound

    # ------------------------------------------------------------------ preprocessing

    def _levels(self) -> list[Requirement]:
        """All levels, by decreasing size."""
        lower, upper, _ = levels_of(self.problem, 0)
        requirements = [
            Requirement(cell, 0, side, float(levels[cell]))
            for side, levels in ((Side.UP, upper), (Side.DOWN, lower))
            for cell in np.flatnonzero(levels).tolist()
        ]
        return sorted(
            requirements,
            key=lambda requirement: (-requirement.level, requirement.cell, requirement.side.value),
        )

    def _exposed(self, requirements: Sequence[Requirement], hidden: Bools) -> list[Requirement]:
        """The levels that are not met when these cells are hidden, by augmenting paths of maximum capacity.

        Where these find none the audit has the last word.
        """
        graph, cells = self.search.graph, np.flatnonzero(hidden)
        down, up = (side[cells] for side in self.search.boxes[0])
        network = Network(graph.nodes, graph.tail[cells], graph.head[cells], up, down)
        met = network.meets(
            np.searchsorted(cells, [requirement.cell for requirement in requirements]).astype(np.int32),
            np.array([requirement.side is Side.UP for requirement in requirements], dtype=bool),
            np.array([requirement.level for requirement in requirements], dtype=float),
        )
        exposed = [requirements[place] for place in np.flatnonzero(~met).tolist()]
        return exposed or unmet_requirements(self.problem, audit(self.problem, Suppression.copy_of(hidden)))

    # ------------------------------------------------------------------ phase 1

    def _first(self) -> Floats | None:
        """The optimum of (P): (5) and (6) with the cells that they fix, (7) to (10) as they are violated."""
        volume = self.equations.volume_cuts()
        fixed = fixing_cuts(volume)
        self.program.relaxation.add([*self.equations.isolated_cuts(), *volume, *fixed])
        self.counters |= {"iterations": 1, "cells fixed": len(fixed)}
        x = self.program.solve_integer() if self.program.solve_relaxation() else None
        self._raise(self.program.rounded)
        if x is not None:
            self.counters["value of (P)"] = self.program.rounded
        return x

    # ------------------------------------------------------------------ phase 2

    def _second(self, chosen: Bools) -> list[Requirement]:
        """Complete the candidate; gives the levels that needed it. None: it is safe as it is."""
        hidden = chosen | self.problem.must_hide
        exposed = self._exposed(self.requirements, hidden)
        if not exposed:
            self._adopt(hidden)
            return []
        return self._complete(hidden, exposed) or exposed

    def _complete(self, hidden: Bools, exposed: Sequence[Requirement]) -> list[Requirement]:
        """Deviations for unmet levels on top of a pattern, then elimination; gives the levels that opened a cell."""
        cells = np.flatnonzero(self.allowed)
        price = floored_weights(self.problem.weights[cells])
        graph, (down, up) = self.search.graph, (side[cells] for side in self.search.boxes[0])
        paths = PathOpeningNetwork(graph.nodes, graph.tail[cells], graph.head[cells], price, hidden[cells])
        listed, opened = [], int(hidden.sum())
        for requirement in exposed:
            if self.deadline.passed():
                return list(exposed)
            arc, upward = int(np.searchsorted(cells, requirement.cell)), requirement.side is Side.UP
            if not paths.route(arc, upward, requirement.level, (up, down), self.deadline.passed):
                if self.deadline.passed():
                    return list(exposed)
                hidden = hidden | self.allowed  # lost in rounding: the clean-up shows which are needed
            before, opened = opened, int(paths.is_open.sum())
            if opened > before:
                listed.append(requirement)
        completed = hidden.copy()
        completed[cells[paths.is_open]] = True
        self.search.requirements, self.search.hidden = self.requirements, completed
        self.search.eliminate_redundant()
        self._adopt(self.search.hidden.copy())
        return listed

    def _adopt(self, hidden: Bools) -> None:
        """Keep a safe pattern if it is the best."""
        cheaper = float(self.problem.weights[hidden & self.free].sum()) < self.cost
        if cheaper and audit(self.problem, Suppression.copy_of(hidden)).safe:
            self.hidden = hidden

    # ------------------------------------------------------------------ phase 3

    def _third(self, x: Floats, fresh: Sequence[Requirement]) -> Floats | None:
        """Impose the unmet levels and solve again.

        None when nothing cheaper is left, or when the time is up.
        """
        new = [requirement for requirement in fresh if requirement not in self.listed]
        self.listed += new
        if not new:
            self.program.relaxation.add(self._forbidding(x, fresh))
        self.counters["iterations"] += 1
        return self._with_flows(x) if self.params.phase3 == "flows" else self._with_cuts()

    def _with_cuts(self) -> Floats | None:
        """Phase 3 in the cells alone: minimum cuts of the listed levels, from the last relaxation on."""
        self.program.separators = [*self.finders, self._minimum_cuts]
        solved = self.program.solve_relaxation()
        self._raise(self.program.rounded)
        if not solved or self._proven():
            return None
        x = self.program.solve_integer(self.cost)
        self._raise(self.program.rounded)
        self._tell("phase 3", len(self.listed), len(self.requirements))
        return x

    def _minimum_cuts(self, x: Floats) -> list[Cut]:
        """Capacity cuts of the listed levels that a point violates."""
        return self.separator.separate(x, self.listed, most=len(self.listed), deadline=self.deadline)

    def _with_flows(self, x: Floats) -> Floats | None:
        """Phase 3 as printed; the best point at a time limit is completed if possible."""
        self.program.separate(x)
        pool = self.program.relaxation.pool
        cuts = self.program.relaxation.matrix(pool), np.array([cut.rhs for cut in pool])
        cells = self.program.cells_within(self.cost - self.program.unit)
        flows = FlowProgram(self.search.graph, self.search.boxes[0], self.problem.must_hide, cells)
        solution = flows.solve(self.problem.weights, cuts, self.listed, self.deadline.left)
        self._tell("phase 3", len(self.listed), len(self.requirements), bound=solution.bound)
        if solution.values.size == 0:
            return None
        point = np.zeros(self.free.size)
        point[cells[solution.values[: cells.size] > 0.5]] = 1.0
        if solution.outcome is Outcome.OPTIMAL:
            return point
        self._second(point > 0.5)
        return None

    def _forbidding(self, x: Floats, requirements: Sequence[Requirement]) -> list[Cut]:
        """Cuts for a pattern that is unsafe within the solver's tolerance: it needs one cell more."""
        others = np.flatnonzero(self.free & (x < 0.5))
        return self.separator.separate(x, requirements, most=len(requirements)) or [
            Cut(others, np.ones(others.size), 1.0, "no good")
        ]

    # ------------------------------------------------------------------ the end

    def proposal(self, status: Status) -> Proposal:
        """The best pattern, with the bound and the figures of the phases."""
        return Proposal(
            Suppression.copy_of(self.hidden),
            status,
            f"three phases (HiGHS, network flow) on {structure_of(self.problem.table).description}",
            bound=self.cost if status is Status.OPTIMAL else self.bound,
            counters={
                **self.counters,
                "listed levels": len(self.listed),
                "rows": len(self.program.relaxation.pool),
                **{f"seconds of {phase}": seconds for phase, seconds in self.clock.items()},
            },
        )
