"""A cheap pattern for large tables of any equations in seconds: publish by decreasing weight while levels keep room.

Let level_p be the largest level that is required of p, and share_p a number, one half to begin with. Sensitive cells
with share_p level_p in (t / 2, t] are a *stratum*. In it a cell moves only if its deviation bounds, both ways, are at
least t; all others count as known. A deviation of -1, 0 and 1 then moves its cells by t.

1. *Publishing*: everything is hidden to begin with. By decreasing weight (that of all cells tied to it by equations of
   two) each cell is published, unless that determines a sensitive cell in its stratum (`gaussian`): one elimination a
   stratum, all of them side by side.
2. *Judging*: multiples of single deviations of the basis meet nearly all levels; the audit judges the rest.
3. *Repair*: open levels get the deviations that they miss (`reversible_deviations`), and a larger share for the next
   round, which begins anew.
4. *Search*: some published cells, drawn at random, come back, and cells are published by decreasing weight again, the
   weights times random factors (iterated greedy). The cheapest pattern after repair is kept.

References: Langsrud (2024) for the elimination; Ruiz & Stuetzle (2007), A simple and effective iterated greedy
algorithm, for the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.attacker import DeviationBounds, tolerances
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.cuts import Aggregation
from tablecloak.methods.heuristics.deviation import floored_weights
from tablecloak.methods.heuristics.gaussian import GaussianEquations, reach_of
from tablecloak.methods.heuristics.reversible_deviations import QuickDeviations, QuickSettings
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Levels, Mark, Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import kernels


@dataclass(frozen=True)
class StrataSettings:
    """Shares of the levels, and the work of the search."""

    first_share: float = 0.5
    """Room that cells need, as a share of the level: less leaves more to repair, more hides more. On tau_testW 40.5
    million with 197 open levels, 38.9 with 717 at a quarter, 44.6 with none at 1."""
    growth: float = 2.0
    """Factor of the share of cells that were left open."""
    largest_share: float = 4.0
    """Maximum share. Untested default."""
    width: float = 2.0
    """Ratio of the ends of a stratum: narrower ones cost less and take longer. Untested default."""
    max_strata: int = 40
    """Maximum number of strata; smaller levels join the last one. Untested default."""
    rounds: int = 3
    """Maximum number of rounds of publishing and repair before the search. Untested default."""
    largest_residue: int = 1000
    """Deviations with larger residues are not looked at. Untested default."""
    reopened: tuple[float, ...] = (0.1, 0.3)
    """Shares of the published cells that come back, in turn. Untested default."""
    spread: tuple[float, ...] = (0.3, 0.1)
    """Standard deviation of the logarithm of the random factors of weights, in turn. Untested default."""
    steps: int = 4
    """Number of steps of the search between two repairs. Untested default."""
    deviations: QuickSettings = QuickSettings()
    """The repairs."""


class StrataSearch:
    """Patterns of a problem by strata; `requirements`: what the cells that must be hidden do not meet by themselves."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        requirements: Sequence[Requirement],
        rng: np.random.Generator,
        progress: Progress,
        deadline: Deadline,
        settings: StrataSettings = StrataSettings(),
    ) -> None:
        self.problem, self.allowed, self.requirements = problem, allowed, requirements
        self.progress, self.deadline, self.settings = progress, deadline, settings
        self.best: Bools | None = None
        """The cheapest safe pattern so far."""
        self.steps = 0
        """Number of times that all cells were published by one order."""
        self._rng, self._equations = rng, GaussianEquations(problem.table)
        self._boxes = DeviationBounds(problem)
        self._room = np.where(allowed, np.minimum(*self._boxes[0]), 0.0)
        self._level = np.zeros(allowed.size)
        for one in requirements:
            self._level[one.cell] = max(self._level[one.cell], one.level)
        self._share = np.full(allowed.size, settings.first_share)
        ties = Aggregation.of(problem, allowed)
        self._tied = ties.representative
        free = np.where(allowed & ~problem.must_hide, floored_weights(problem.weights), 0.0)
        self._weight: Floats = ties.summed(free)[self._tied]
        self._candidates: Ints = np.flatnonzero(allowed & ~problem.must_hide)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether hiding more never breaks a level, and coefficients are whole numbers."""
        return problem.is_monotone and GaussianEquations.fits(problem.table)

    @property
    def cost(self) -> float:
        """The weights of the complementary cells of the best pattern; infinite while there is none."""
        return np.inf if self.best is None else complementary_cost(self.problem, self.best)

    # ------------------------------------------------------------------ the two steps

    def build(self) -> None:
        """Rounds of publishing and repair, until nothing is open or the time is up."""
        order = self._order(np.ones(self.allowed.size), np.zeros(self.allowed.size, dtype=bool))
        for number in range(self.settings.rounds):
            with self.deadline.stoppable():
                self.progress("strata", number, self.settings.rounds)
                states, hidden = self._published(order)
                if self._adopt(states, hidden) == 0:
                    return
            if self.deadline.passed():
                return

    def improve(self, steps: float = np.inf) -> None:
        """Iterated greedy search from the best pattern, for a number of steps or until the time is up."""
        last = self.steps + steps
        while self.best is not None and self.steps < last and not self.deadline.passed():
            with self.deadline.stoppable():
                self._search(min(self.settings.steps, int(min(last - self.steps, self.settings.steps))))

    def _search(self, steps: int) -> None:
        """Some steps without a look at what they leave open, then a repair of the last one."""
        assert self.best is not None
        hidden, cost = self.best, self.cost
        found: tuple[list[kernels.Elimination], Bools] | None = None
        for _ in range(steps):
            which = self.steps % len(self.settings.reopened)
            spread = self.settings.spread[self.steps % len(self.settings.spread)]
            factor = np.exp(spread * self._rng.standard_normal(hidden.size))[self._tied]
            back = (self._rng.random(hidden.size) < self.settings.reopened[which])[self._tied]
            states, other = self._published(self._order(factor, ~hidden & ~back))
            self.progress("strata", self.steps, 0, self.cost)
            reached = complementary_cost(self.problem, other)
            if reached <= cost and not np.array_equal(other, self.best):
                hidden, cost, found = other, reached, (states, other)
        if found is not None:
            self._adopt(*found)

    # ------------------------------------------------------------------ publishing

    def _order(self, factor: Floats, first: Bools) -> Ints:
        """The candidates: some before all others, each by decreasing weight times its factor; tied cells together."""
        cells = self._candidates
        return cells[np.lexsort((self._tied[cells], -(self._weight * factor)[cells], ~first[cells]))]

    def _published(self, order: Ints) -> tuple[list[kernels.Elimination], Bools]:
        """The eliminations of all strata after publishing in this order, and what is hidden still."""
        states = self._strata()
        shown = kernels.publish_together(states, order, self.deadline.passed)
        hidden: Bools = self.problem.must_hide.copy()
        hidden[order[shown == 0]] = True
        self.steps += 1
        return states, hidden

    def _strata(self) -> list[kernels.Elimination]:
        """An elimination for each stratum that has cells."""
        need, settings = self._share * self._level, self.settings
        wanted, states = need > 0, []
        end = float(need.max(initial=0.0))
        for number in range(settings.max_strata):
            if not wanted.any():
                break
            last = number == settings.max_strata - 1
            chosen = wanted if last else wanted & (need > end / settings.width)
            cells = np.flatnonzero(chosen)
            if cells.size:
                fixed = self._room < float(need[cells].max())
                fixed[cells] = False
                fixed |= ~self.allowed
                states.append(self._equations.elimination(fixed, cells, self.deadline.passed))
            wanted = wanted & ~chosen
            end = float(need[wanted].max(initial=0.0))
        return states

    # ------------------------------------------------------------------ judging and repair

    def _adopt(self, states: Sequence[kernels.Elimination], hidden: Bools) -> int | None:
        """Repair a pattern and keep it if it is the cheapest; how much was open, None: not in time."""
        missing = self._open(self._unmet(states, hidden), hidden)
        if missing is None:
            return None
        if missing:
            cells = np.unique([one.cell for one in missing])
            grown = np.minimum(self.settings.growth * self._share[cells], self.settings.largest_share)
            self._share[cells] = grown
            given = self.problem, self.allowed, missing, self.progress, self.deadline
            quick = QuickDeviations(*given, start=hidden, settings=self.settings.deviations)
            quick.build()
            if quick.unmet:
                return None
            hidden = quick.hidden
        if complementary_cost(self.problem, hidden) < self.cost:
            self.best = hidden
            self.progress("strata", self.steps, 0, self.cost)
        return len(missing)

    def _unmet(self, states: Sequence[kernels.Elimination], hidden: Bools) -> list[Requirement]:
        """The requirements that no single deviation of a basis meets."""
        waiting = list(self.requirements)
        for state in states:
            self.deadline.check()
            basis = self._equations.basis(state, hidden, self.settings.largest_residue)
            rest = []
            for attacker in sorted({one.attacker for one in waiting}):
                fall, rise = reach_of(basis, *self._boxes[attacker])
                rest += [
                    one
                    for one in waiting
                    if one.attacker == attacker
                    and one.extent(fall[one.cell], rise[one.cell]) < one.level * (1 - tolerances.CUBE_MET)
                ]
            waiting = rest
        return waiting

    def _open(self, unmet: list[Requirement], hidden: Bools) -> list[Requirement] | None:
        """Those that the audit finds open; None: not in time."""
        if not unmet:
            return []
        problem = _about(self.problem, unmet)
        found = audit_within(problem, Suppression.copy_of(hidden), self.deadline, self.progress)
        return None if found is None else unmet_requirements(problem, found)


def _about(problem: Problem, requirements: Sequence[Requirement]) -> Problem:
    """The problem of some cells only: the others have no levels, against any attacker."""
    asked = np.zeros(problem.marks.size, dtype=bool)
    asked[[one.cell for one in requirements]] = True
    rest = problem.sensitive & ~asked
    by_outsider = all(one.attacker == 0 for one in requirements)
    sides = {side: np.zeros(asked.size, dtype=bool) for side in Side}
    for one in requirements:
        sides[one.side][one.cell] = True
    if not by_outsider:
        sides = dict.fromkeys(Side, asked)
    levels = problem.levels
    few = Levels.of(
        asked.size,
        np.where(sides[Side.DOWN], levels.lower, 0.0),
        np.where(sides[Side.UP], levels.upper, 0.0),
        np.where(sides[Side.SLIDE], levels.sliding, 0.0),
    )
    attackers = () if by_outsider else problem.attackers
    return replace(
        problem,
        marks=frozen(np.where(rest, Mark.HIDDEN, problem.marks).astype(problem.marks.dtype)),
        levels=few,
        attackers=tuple(replace(who, levels=who.levels.without(np.flatnonzero(rest))) for who in attackers),
    )
