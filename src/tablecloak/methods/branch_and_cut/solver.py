"""Exact cell suppression by branch and cut, the recipe.

    min  sum_i w_i x_i   over all capacity cuts of all requirements (`cuts.capacity`),   x binary

1. *Model* (`model`): candidate cells, aggregated where two-cell equations tie them, and the requirements that the cells
   hidden anyway do not meet.
2. *Incumbent* (`incumbent`): a pattern that is given, or constructed by cheapest deviations without redundant
   suppressions (`heuristics`).
3. *Root* (`root`): the linear relaxation with cuts on demand and columns priced in (`cuts.relaxation`): capacity cuts,
   always strengthened by residual, truncation, covers and rounding; bridgeless inequalities; on networks covers by
   minimum cuts of their own. Every few rounds its point guides the construction of a pattern.
   With tied weights central duals fix the cells that no pattern of the cost of the bound hides, and such patterns are
   rewired until one is safe (`improvement.edge_exchange`).
4. *Decomposition* (`decomposition`): where the cuts split, each component is solved by itself.
5. *Improvement* (`improvement`): neighbourhoods of the incumbent are searched during the next step, and before it where
   its nodes take long; on large networks after programs restricted to few cells.
6. *Gap limits* (`gap_limit`): suppose that the optimum is at most a little above the bound. Then cells whose reduced
   cost exceeds the gap are published, which leaves few; branch and cut over them (`tree`) either finds the optimum or
   proves that it is above the limit: then the relaxation is solved again with all cuts found, and the limit enlarged.
   With tied weights the limit is the bound itself, for a unit more would leave all cells.

References: Fischetti & Salazar-Gonzalez (2001), Solving the cell suppression problem on tabular data with linear
constraints; Salazar-Gonzalez (2010) for cutting at the root and then handing over to an integer program.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import structure_of
from tablecloak.errors import InfeasibleProblem, InputError, SolverError, counted
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, Run
from tablecloak.methods.branch_and_cut.decomposition import solve_components
from tablecloak.methods.branch_and_cut.gap_limit import branch_below, resolve_below
from tablecloak.methods.branch_and_cut.improvement import IMPROVEMENTS, Improvement, Improvements, construct
from tablecloak.methods.branch_and_cut.incumbent import Gap, Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.root import RootLoop
from tablecloak.methods.branch_and_cut.search import SearchContext, SolveStatistics
from tablecloak.methods.branch_and_cut.separation import SEPARATORS, PointSeparator, Separation
from tablecloak.methods.branch_and_cut.settings import ExactSettings
from tablecloak.methods.branch_and_cut.small import SmallTree, is_small
from tablecloak.methods.cuts import Cut, GapLimits, Relaxation
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import first_pattern
from tablecloak.model import Problem, Requirement, Status, Suppression
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import OPTIMALITY, Outcome, scip


@dataclass(frozen=True)
class Plugins:
    """The parts of branch and cut that are chosen from outside; the order is that in which they are called."""

    improvements: Sequence[type[Improvement]] = IMPROVEMENTS
    """Primal heuristics; neighbourhood search, which has settings of its own, follows them."""
    separators: Sequence[type[PointSeparator]] = SEPARATORS
    """Separators of fractional points, at the root and in trees. Which integral points are safe does not depend on
    them."""


@dataclass(frozen=True)
class ExactParams:
    """Parameters of exact suppression."""

    seconds: float | None = None
    """Stop after this number of seconds with the best pattern so far and its proven bound."""
    gap: float = 0.0
    """Stop when cost and bound differ by no more than this share of the cost."""
    nodes: int | None = None
    """Stop after this number of nodes of a branch-and-cut tree (SCIP only)."""
    engine: Literal["auto", "scip", "highs"] = "auto"
    """The engine of the integer phase; auto: SCIP if it is installed (`pip install tablecloak[scip]`), else HiGHS."""
    rows_a_round: int = 400
    """Maximum number of requirements that get new cuts in one round."""
    neighbourhoods: float = 0.0
    """With a time limit, on non-network tables: seconds of neighbourhood search for each second of the root."""


@dataclass(frozen=True)
class Start:
    """What there is before branch and cut begins: safe patterns, and the run that it is the last step of."""

    best: Bools | None = None
    """The pattern to begin with; None: one is constructed."""
    others: Sequence[Bools] = ()
    """More of them, not as cheap."""
    run: Run | None = None
    """The run with its deadline; None: one of `params.seconds` begins."""


class BranchAndCut:
    """A run from the model to a proposal. `plugins` has the primal heuristics and separators that it uses."""

    def __init__(
        self,
        problem: Problem,
        params: ExactParams,
        rng: np.random.Generator,
        progress: Progress,
        start: Start = Start(),
        settings: ExactSettings = ExactSettings(),
        plugins: Plugins = Plugins(),
    ) -> None:
        self.params, self.rng, self.progress = params, rng, progress
        self.start, self.settings, self.plugins = start, settings, plugins
        check_parameters(params)
        self.limits = start.run or Run(params.seconds)
        self.model = SuppressionModel.of(problem, hide_everything(problem, progress), progress, settings)
        self.incumbent = Incumbent(self.model, self.limits.deadline, settings.safe_patterns)
        self.gap = Gap(self.incumbent, self.model.unit, params.gap)
        self.statistics = SolveStatistics(implied_levels=self.model.implied)
        self.active: Sequence[Requirement] = ()
        """The requirements that fractional points were separated for."""
        self.pool: Sequence[Cut] = ()
        """The cuts of the general recipe."""
        self.dense_cuts = 0
        """Number of cuts of the small recipe."""

    def run(self) -> Proposal:
        """Solve to optimality, a limit or an interrupt; return the incumbent and the bound."""
        with self.limits.stoppable():
            self.solve()
        return self.proposal()

    def run_small(self, share: float) -> bool:
        """Solve with dense rows if the problem is small, in a share of the time; whether the optimum is proven."""
        deadline = self.limits.deadline.share(share)
        with deadline.stoppable():
            if self.model.is_trivial:
                self.gap.raise_bound(self.incumbent.cost)
            elif self.is_small:
                self.solve_small(deadline)
        return self.gap.relative <= OPTIMALITY

    def solve(self) -> None:
        """The steps of the recipe, until the gap is closed or a limit is reached."""
        if self.model.is_trivial:
            self.gap.raise_bound(self.incumbent.cost)
            return
        if self.is_small and self.solve_small(self.limits.deadline):
            return
        self.construct()
        search = self.begin_search()
        improvements = Improvements(search, self.plugins.improvements)
        if not self.solve_root(search, improvements):
            return
        improvements.run("root")
        solve_components(search)
        improvements.run("tree")
        limits = self.gap_limits(search)
        while not search.is_over:
            limit = limits.next(self.gap.bound)
            if not self.solve_below(search, limit, improvements):
                return
            self._check_feasible()
            if not self.gap.is_closed:  # better reduced costs fix more cells below the next limit
                search.relaxation.reoptimise(search.deadline, self.settings.root.reoptimisation_rounds)
                self.gap.raise_bound(search.relaxation.bound)

    # ------------------------------------------------------------------ steps

    @property
    def is_small(self) -> bool:
        """Whether dense rows and a tree of their own are tried first."""
        params = self.params
        chosen = params.engine != "auto" or params.nodes is not None or self.plugins != Plugins()
        return not chosen and self.start.best is None and is_small(self.model, self.settings.small)

    def solve_small(self, deadline: Deadline) -> bool:
        """Solve with dense rows; False if that leaves a gap."""
        settings, statistics = self.settings.small, self.statistics
        small = SmallTree(self.model, self.incumbent, self.gap, deadline, settings, statistics, self.report)
        try:
            return small.run()
        finally:
            self.dense_cuts = small.cuts

    def construct(self) -> None:
        """The first incumbent: a pattern that is given, or one that is constructed."""
        model, deadline = self.model, self.limits.deadline
        start = self.start.best
        if start is None and not model.is_network:  # there construction at the weights is as quick
            given = model.problem, model.allowed, model.requirements, self.report, deadline
            first = first_pattern(*given, self.settings.first)
            if first is not None:
                self._begin_with(first)
        if start is not None:
            self._begin_with(start)
        few = model.is_network and model.representatives.sum() <= self.settings.max_restart_cells
        if start is None or few:
            tuned = self.settings.first.construction
            construct(model, self.incumbent, deadline, self.report, model.problem.weights, settings=tuned)

    def begin_search(self) -> SearchContext:
        """The separators, and the relaxation with its first columns and no cuts but the one on touched cells."""
        model, deadline = self.model, self.limits.deadline
        none = np.zeros_like(model.free)
        relaxation = Relaxation(model.prices, model.representatives, none, self.settings.relaxation)
        self.pool = relaxation.pool
        separation = Separation(
            model,
            self.incumbent,
            relaxation,
            deadline,
            self.params.rows_a_round,
            self.settings,
            self.plugins.separators,
        )
        self.active = separation.active
        ties = np.random.default_rng(0) if model.has_tied_weights else None
        columns = separation.bridgeless.cheapest(self.settings.root.first_columns, ties)
        pattern = self.incumbent.pattern
        if pattern is not None and not (pattern == model.allowed).all():
            columns |= model.representatives_of(pattern & model.free)
        relaxation.add_columns(np.flatnonzero(columns & model.representatives))
        if model.problem.most_touched is not None:
            cells = np.flatnonzero(model.representatives)
            left = model.problem.most_touched - int(model.problem.must_hide.sum())
            touched = -model.aggregation.sizes[cells].astype(float)
            relaxation.add([Cut(cells, touched, -float(left), "most touched")])
        return SearchContext(
            model=model,
            incumbent=self.incumbent,
            gap=self.gap,
            relaxation=relaxation,
            separation=separation,
            deadline=deadline,
            rng=self.rng,
            settings=self.settings,
            statistics=self.statistics,
            report=self.report,
            uses_scip=uses_scip(self.params),
            known_patterns=self.start.others,
        )

    def solve_root(self, search: SearchContext, improvements: Improvements) -> bool:
        """Solve the root; False when the time is up."""
        outcome = RootLoop(search, improvements, self.params.neighbourhoods).run()
        if outcome is Outcome.INFEASIBLE:
            raise self._infeasible()
        if outcome is Outcome.FAILED:  # branch and cut goes on from the bound there is
            self.statistics.numerical_failures += 1
            self.gap.raise_bound(search.relaxation.bound)
        return outcome in (Outcome.OPTIMAL, Outcome.FAILED)

    def gap_limits(self, search: SearchContext) -> GapLimits:
        """Limits from the bound of the root; on networks the first is as large as leaves few cells."""
        model, settings, bound = self.model, self.settings, search.relaxation.bound
        if model.has_tied_weights:
            return GapLimits(bound, model.unit, settings.tied_limits)
        if bound <= 1e-6 * self._total_weight:  # no scale for a gap
            bound = 1e-3 * self._total_weight
        if not model.is_network:
            return GapLimits(bound, model.unit, settings.general_limits)
        limits = GapLimits(bound, model.unit, settings.network_limits)
        limits.enlarge_first(lambda limit: search.cells_within(limit).size <= settings.first_limit_cells)
        return limits

    def solve_below(self, search: SearchContext, limit: float, improvements: Improvements) -> bool:
        """True: the optimum is found, or proven to be above the limit; False when a limit of work or time ends it."""
        if not search.uses_scip:
            return resolve_below(search, limit)
        most = math.inf if self.params.nodes is None else self.params.nodes
        return branch_below(search, limit, improvements.neighbourhoods, most)

    def report(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        """Report progress with the incumbent's cost and the bound; those of a heuristic are not feasible yet."""
        cost = self.incumbent.cost
        self.progress(phase, done, total, cost if math.isfinite(cost) else None, self.gap.bound)

    def _begin_with(self, pattern: Bools) -> None:
        """Offer a pattern that has witnesses; unaudited if the run is stopped meanwhile: `protect` audits it anyway."""
        audited: list[list[Requirement]] = []
        with self.limits.stoppable():
            audited.append(self.incumbent.offer(pattern))
        if not audited:
            self.incumbent.offer(pattern, sure=True)

    # ------------------------------------------------------------------ the end

    @property
    def _total_weight(self) -> float:
        return float(self.model.problem.weights[self.model.free].sum())

    def _check_feasible(self) -> None:
        """Raise an error if the bound exceeds the cost of every pattern."""
        if self.incumbent.pattern is None and self.gap.bound > self._total_weight * (1 + OPTIMALITY):
            raise self._infeasible()

    def _infeasible(self) -> InfeasibleProblem:
        most = counted(self.model.problem.most_touched or 0, "cell")
        return InfeasibleProblem(
            f"No suppression pattern meets all levels with at most {most} touched.\n"
            "Allow more cells to be touched, or lower the levels."
        )

    def _status(self) -> tuple[Status, str]:
        """Status, and what ended the run: optimal only if nothing is left between cost and bound."""
        if self.gap.relative <= OPTIMALITY:
            return Status.OPTIMAL, ""
        if self.gap.is_closed:
            return Status.FEASIBLE, "gap"
        status = self.limits.status(Status.FEASIBLE, complete=self.params.nodes is not None)
        return status, "work limit" if status is Status.FEASIBLE else ""

    @property
    def _engine(self) -> str:
        """What solved the programs of the last step."""
        if self.dense_cuts and not self.pool:
            return "dense simplex"
        return "SCIP" if uses_scip(self.params) else "HiGHS"

    def proposal(self) -> Proposal:
        """The incumbent with the bound."""
        status, stopped_by = self._status()
        pattern, model = self.incumbent.pattern, self.model
        if pattern is None:
            if self.limits.deadline.interrupted:
                raise KeyboardInterrupt
            raise SolverError(
                "the time was up before any pattern within the bound on touched cells was found"
            )
        self.statistics.cuts_against_safe_patterns = self.incumbent.safe_patterns.excluded
        self.statistics.active_levels = len(self.active)
        early, cuts = status is not Status.OPTIMAL, Counter(cut.kind for cut in self.pool)
        if self.dense_cuts:
            cuts["dense"] = self.dense_cuts
        return Proposal(
            Suppression.copy_of(pattern),
            status,
            f"branch and cut ({self._engine}) on {structure_of(model.problem.table).description}",
            bound=self.gap.bound if early else self.incumbent.cost,
            counters=self.statistics.counters(len(model.requirements), cuts),
            notes=(HIDES_EVERYTHING,) if early and (pattern == model.allowed).all() else (),
            stopped_by=stopped_by,
        )


def check_parameters(params: ExactParams) -> None:
    """Raise an error that lists parameters that do not fit; SCIP is one if it is not installed."""
    faults = {
        f"engine {params.engine!r} is not auto, scip or highs": params.engine
        not in ("auto", "scip", "highs"),
        "gap must be a number from 0 on": not params.gap >= 0,
        "nodes must not be negative": params.nodes is not None and params.nodes < 0,
        "rows_a_round must be at least 1": params.rows_a_round < 1,
        "neighbourhoods must be a number from 0 on": not params.neighbourhoods >= 0,
    }
    if any(faults.values()):
        raise InputError("Exact suppression", [fault for fault, holds in faults.items() if holds])
    if params.engine == "scip" and not scip.is_there():
        raise InputError(
            "Exact suppression",
            ["SCIP is not installed"],
            advice="pip install tablecloak[scip], or engine='auto'.",
        )


def uses_scip(params: ExactParams) -> bool:
    """Whether SCIP is to be used."""
    return params.engine != "highs" and scip.is_there()
