"""The recipe of exact suppression: rows on demand, patterns on the way, guesses of the gap, branch and cut.

    min  sum_i w_i x_i   over all capacity rows of all levels (`cuts.capacity`),   x binary

1. *Levels*: those that the cells hidden anyway meet are dropped (hiding more never narrows an interval). Cells that are
   hidden together or not at all are one decision (`cuts.aggregation`).
2. *Incumbent*: a pattern that is given, or greedy deviations and clean-up (`heuristics.lp_construction`,
   `heuristics.network_construction`, `heuristics.redundancy`).
3. *Root*: the linear relaxation with rows on demand and columns priced in (`cuts.relaxation`): capacity rows, always
   sharpened by residual, truncation, covers and rounding; pattern rows; on networks covers by cuts of their own. Every
   few rounds its point guides a new search.
   Where most weights are equal, central duals tell which cells the patterns of the cost of the bound may hide, and
   such patterns are rewired until one is safe (`improvement.edge_exchange`).
4. *Parts*: where the rows split, each part is solved by itself (`decomposition`).
5. *Neighbourhoods* of the best pattern are searched during the next step, and before it where its nodes take long; on
   large networks after programs restricted to few cells.
6. *Guess a gap*: suppose that the optimum is at most a little above the bound. Then cells whose reduced cost exceeds
   the gap are published, which leaves few; branch and cut over them either finds the optimum or proves that the guess
   was too low (`gap_limit`): then the relaxation is solved again with all rows found, and the guess enlarged.
   Where most weights are equal the guess is the bound itself, for a unit more would leave all cells.

References: Fischetti & Salazar (2001), Solving the cell suppression problem on tabular data with linear constraints;
Salazar (2010) for cutting at the root and then handing over to an integer program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import structure_of
from tablecloak.errors import InfeasibleProblem, InputError, SolverError, counted
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, Run
from tablecloak.methods.branch_and_cut.decomposition import in_parts
from tablecloak.methods.branch_and_cut.gap_limit import branch, resolve
from tablecloak.methods.branch_and_cut.improvement import Exchanges, Neighbourhoods, Occasions
from tablecloak.methods.branch_and_cut.state import ROOT_STAGES, Exact, Stage
from tablecloak.methods.cuts import NetworkSeparator
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import first_pattern
from tablecloak.model import Problem, Requirement, Status, Suppression
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome, scip


class Guesses(NamedTuple):
    """The first guess of the gap, as a share of the bound at the root; the next is `larger` times it plus `more`."""

    first: float
    larger: float
    more: float


ON_NETWORKS, ON_GENERAL_TABLES = Guesses(0.02, 2.5, 0.0), Guesses(0.05, 1.0, 0.05)
"""On general tables the time to settle a guess grows so fast with it that many small steps are better."""
FEW = 1000
"""On networks the first guess is as large as it can be with no more cells to decide on than this."""
MANY = 100_000
"""On networks with more cells to decide on a pattern that is given is not searched for again before the root."""
GRACE = 0.3
"""When the root has taken this share of the time, covers are not looked for any more, and on general tables
neighbourhoods begin while it is solved: not before, for they need its prices."""
DENSE = 50_000_000
"""On networks with more levels times cells, where minimum cuts make long rows, the root begins with short ones."""
TAILING, STALLED = 1e-4, 10
"""The root ends after so many rounds that raise the bound by less than this share."""
CIRCLES = 5
"""With equal weights, not later than so many rounds after that: rows that retire and come back can go on for ever."""
PATIENCE = 3
"""A stage of the root ends after so many of them."""
GUIDED, FEW_LEVELS = 6, 300
"""Every so many rounds the relaxation may guide a search, and on general tables with no more levels than this also the
building of a pattern."""


@dataclass(frozen=True)
class ExactParams:
    """What the recipe can be told."""

    seconds: float | None = None
    """Stop after so long with the best pattern so far and its proven bound."""
    gap: float = 0.0
    """Stop when cost and bound differ by no more than this share of the cost."""
    nodes: int | None = None
    """Stop after so many nodes of a branch-and-cut tree (SCIP only)."""
    engine: Literal["auto", "scip", "highs"] = "auto"
    """The engine of the integer phase; auto: SCIP if it is installed (`pip install tablecloak[scip]`), else HiGHS."""
    rows_a_round: int = 400
    """At most so many levels get new rows in one round."""
    neighbourhoods: float = 0.0
    """With a time limit, on general tables: so many seconds of neighbourhoods for each second of the root."""


class ExactRun:
    """A run from the start to a proposal.

    `start`: a safe pattern to begin with; without one it is searched for. `others`: more of them, not as cheap.
    """

    def __init__(
        self,
        problem: Problem,
        params: ExactParams,
        rng: np.random.Generator,
        progress: Progress,
        start: Bools | None = None,
        others: Sequence[Bools] = (),
        run: Run | None = None,
    ) -> None:
        self.problem, self.params, self.start, self.rng = problem, params, start, rng
        self.scip = uses_scip(params)
        self.limits = run or Run(params.seconds)
        allowed = hide_everything(problem, progress)
        self.state = Exact(problem, allowed, self.limits.deadline, progress, params.gap, params.rows_a_round)
        self.near = Neighbourhoods(self.state, rng, self.scip)
        self.near.walk.remember(others)
        self.improving = 0.0
        """Seconds of neighbourhoods while the root was solved."""

    def run(self) -> Proposal:
        """Solve to optimality, a limit or an interrupt; return the incumbent and the bound."""
        with self.limits.stoppable():
            self.solve()
        return self.proposal()

    def solve(self) -> None:
        """The steps of the recipe, until the optimum is proven or a limit is reached."""
        state = self.state
        if not state.requirements and self.problem.most_touched is None:
            state.hidden = self.problem.must_hide.copy()
            state.raise_bound(state.cost)
            return
        if self.start is None and not state.is_network:  # there the search is as quick
            first = first_pattern(
                self.problem, state.allowed, state.requirements, state.quietly, state.deadline
            )
            if first is not None:
                self._begin_with(first)
        if self.start is not None:
            self._begin_with(self.start)
        if self.start is None or (state.is_network and state.leads.sum() <= MANY):  # there searches are fast
            state.search(self.problem.weights)
        state.prepare()
        if not self._root():
            return
        if state.alike:
            state.relaxation.centre(state.deadline.left)
            Exchanges(state, self.rng).run()
        in_parts(state)
        self.near.early()
        everything = float(self.problem.weights[state.free].sum())
        guesses, least = ON_NETWORKS if state.is_network else ON_GENERAL_TABLES, state.relaxation.bound
        share = guesses.first
        if least <= 1e-6 * everything:  # no scale for a guess
            least = 1e-3 * everything
        while share < 10.0 and self._is_small(least * (1 + guesses.larger * share)):
            share *= guesses.larger
        while not state.proven():
            if state.deadline.passed() or not self._within(
                state.bound if state.alike else least * (1 + share)
            ):
                return
            if state.hidden is None and state.bound > everything * (1 + 1e-9):
                raise self._infeasible()
            if not state.proven():
                state.polish()
            share = guesses.larger * share + guesses.more

    def _begin_with(self, hidden: Bools) -> None:
        """Adopt a pattern that has witnesses; unaudited if the run is stopped meanwhile: `protect` audits it anyway."""
        judged: list[list[Requirement]] = []
        with self.limits.stoppable():
            judged.append(self.state.adopt(hidden))
        if not judged:
            self.state.adopt(hidden, sure=True)

    def _within(self, highest: float) -> bool:
        if not self.scip:
            return resolve(self.state, highest)
        nodes = math.inf if self.params.nodes is None else self.params.nodes - self.state.counters["nodes"]
        return nodes > 0 and branch(self.state, highest, self.near, nodes)

    def _is_small(self, highest: float) -> bool:
        """Whether a guess leaves few cells to decide on, and nodes are fast."""
        return self.state.is_network and self.state.cells_within(highest).size <= FEW

    def _root(self) -> bool:
        """Rows and columns until nothing is missed, or the bound stalls; False when the time is up."""
        state, relaxation = self.state, self.state.relaxation
        stalled, before, rounds = 0, 0.0, 0
        guiding, building = Occasions(state), Occasions(state)
        stages: Sequence[Stage] = ROOT_STAGES
        early = state.deadline.share(GRACE)
        if (
            isinstance(state.separator, NetworkSeparator)
            and len(state.requirements) * state.leads.sum() > DENSE
        ):
            relaxation.add(state.separator.star_cuts(state.requirements))
        while not state.deadline.passed():
            outcome = relaxation.solve(state.deadline.left)
            if outcome is Outcome.INFEASIBLE:
                raise self._infeasible()
            if outcome is Outcome.FAILED:  # branch and cut goes on from the bound there is
                state.counters["numerical failures"] += 1
                state.raise_bound(relaxation.bound)
                return True
            if outcome is not Outcome.OPTIMAL:
                return False
            rounds = state.counters["rounds"] = rounds + 1
            new = len(relaxation.violated_in_pool(relaxation.x))
            if stalled < STALLED:
                rows, stages = state.missed(state.point, stages)
                new += relaxation.add(rows)
            circles = state.alike and stalled >= STALLED + CIRCLES
            if new == 0 or circles:
                if relaxation.price() and not circles:
                    stalled = 0
                    continue
                state.raise_bound(relaxation.bound)
                if stalled < STALLED and not early.passed() and not state.proven():
                    new = relaxation.add(state.covers(state.point))
            if new == 0 or circles:
                state.tell("root", rounds, rounds)
                if state.is_network and not state.proven():  # there searches are fast
                    state.search_near(state.point)
                return True
            if rounds % GUIDED == 0:
                relaxation.price()
                state.raise_bound(relaxation.bound)
                guiding.take(lambda: state.search_near(state.point))
                if not state.is_network and len(state.requirements) <= FEW_LEVELS:
                    building.take(lambda: state.build_near(state.point))
                if state.proven():
                    return True
            self._improve_meanwhile(early)
            state.tell("root", rounds, rounds)
            stalled = stalled + 1 if relaxation.value < before + TAILING * abs(before) else 0
            before = relaxation.value
            if stalled == PATIENCE and len(stages) > 1:
                stages, stalled = stages[1:], 0
        return False

    def _improve_meanwhile(self, early: Deadline) -> None:
        """Neighbourhoods, until they have had their share of the seconds that the root takes too long."""
        share, state = self.params.neighbourhoods, self.state
        if early.moment is None or share <= 0.0 or state.is_network or not early.passed():
            return
        left, before = state.deadline.left, self.improving
        due = share * (early.since - before)
        if before < due:
            state.build_near(state.point)
            self.improving = before + left - state.deadline.left
        while self.improving < due and not (state.proven() or state.deadline.passed()):
            self.near.improve(1)
            self.improving = before + left - state.deadline.left

    def _infeasible(self) -> InfeasibleProblem:
        most = counted(self.problem.most_touched or 0, "cell")
        return InfeasibleProblem(
            f"No suppression pattern meets all levels with at most {most} touched.\n"
            "Allow more cells to be touched, or lower the levels."
        )

    def _ended(self) -> tuple[Status, str]:
        """Status, and what ended the run: optimal only if nothing is left between cost and bound."""
        if self.state.gap() <= 1e-9:
            return Status.OPTIMAL, ""
        if self.state.proven():
            return Status.FEASIBLE, "gap"
        counted = self.params.nodes is not None
        status = self.limits.status(Status.FEASIBLE, complete=counted)
        return status, "work limit" if status is Status.FEASIBLE else ""

    def proposal(self) -> Proposal:
        """What was found, with the bound."""
        state, (status, stopped_by) = self.state, self._ended()
        if state.hidden is None:
            if self.limits.deadline.interrupted:
                raise KeyboardInterrupt
            raise SolverError(
                "the time was up before any pattern within the bound on touched cells was found"
            )
        pool, early = state.relaxation.pool, status is not Status.OPTIMAL
        kinds = sorted({row.kind for row in pool})
        engine = "SCIP" if self.scip else "HiGHS"
        return Proposal(
            Suppression.copy_of(state.hidden),
            status,
            f"branch and cut ({engine}) on {structure_of(self.problem.table).description}",
            bound=state.cost if status is Status.OPTIMAL else state.bound,
            counters={
                "levels": len(state.requirements),
                **state.counters,
                **{f"{kind} rows": sum(row.kind == kind for row in pool) for kind in kinds},
            },
            notes=(HIDES_EVERYTHING,) if early and (state.hidden == state.allowed).all() else (),
            stopped_by=stopped_by,
        )


def uses_scip(params: ExactParams) -> bool:
    """Whether SCIP is to be used; asking for it when it is not there is an error, like every other parameter."""
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
    return params.engine != "highs" and scip.is_there()
