"""A cheap pattern for large tables of any equations in seconds: publish by decreasing weight while levels keep room.

Let level_p be the largest level that is required of p, and share a number: 1, and then 1/2. Sensitive cells with
share x level_p in (t / 2, t] are a *stratum*. In it a cell moves only if its deviation bounds, both ways, are at
least t; all others count as known. A deviation of -1, 0 and 1 then moves its cells by t.

1. *Publishing*: everything is hidden to begin with. By decreasing weight (that of all cells tied to it by equations of
   two) each cell is published, unless that determines a sensitive cell in its stratum (`gaussian`): one elimination a
   stratum, all of them side by side.
2. *Judging*: multiples of single deviations of the basis meet nearly all levels; the audit judges the rest.
3. *Repair*: open levels get the deviations that they miss (`reversible_deviations`).
4. *Search* over orders: the weights of some cells, drawn at random, get random factors in the order of publishing, and
   all is published anew, but for deviations of repairs, which stay. An order that costs no more is kept. Every few
   orders what is open is repaired, and if the pattern costs no more than the best, the search goes on from there.

References: Langsrud (2024) for the elimination; Storer, Wu & Vaccari (1992), New search spaces for sequencing problems,
for a search over the data of a greedy method.
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
from tablecloak.methods.heuristics.reversible_deviations import HeldDeviation, QuickDeviations, QuickSettings
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Levels, Mark, Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import kernels


@dataclass(frozen=True)
class StrataSettings:
    """Shares of the levels, and the work of the search."""

    shares: tuple[float, ...] = (1.0, 0.5)
    """Room that cells need, as shares of the level, one after the other: less leaves more to repair, more hides more.
    Before repairs tau_testW costs 38.9 million at a quarter with 717 open levels, 40.5 with 197 at a half, 44.6 with
    none at 1."""
    max_cells: int = 100_000
    """Maximum number of cells of a table: eliminations grow faster than it. Tested with 30,886 cells."""
    width: float = 2.0
    """Ratio of the ends of a stratum: narrower ones cost less and take longer. Untested default."""
    largest_residue: int = 1000
    """Deviations with larger residues are not looked at. Untested default."""
    changed: tuple[float, ...] = (0.01, 0.1)
    """Shares of the cells whose factors change, in turn: on 2,925 cells a hundred orders at 0.01 gain 6.5%."""
    spread: tuple[float, ...] = (2.0, 0.3)
    """Standard deviation of the logarithm of the changes, in turn."""
    released: float = 0.1
    """Share of the levels met by repairs that are to be met otherwise. Untested default."""
    same_room: float = 0.02
    """Strata whose moving cells differ by no more than this share of the cells are one. Untested default."""
    steps: int = 8
    """Number of orders before the first repair of the search; twice as many after one that did not make the pattern
    cheaper. Untested default."""
    deviations: QuickSettings = QuickSettings(hidden_price=0.05)
    """The repairs: at this price of hidden cells what they move stays hidden. Untested default."""


@dataclass(frozen=True, eq=False)
class _Plan:
    """An order of publishing, and what is kept hidden in it."""

    share: Floats
    """By cell: the share of its level that cells need room for."""
    factor: Floats
    """By cell: the factor of its weight in the order."""
    held: Sequence[HeldDeviation] = ()
    """The deviations by which repairs meet levels."""


@dataclass(frozen=True, eq=False)
class _CellFacts:
    """What is known of each cell."""

    level: Floats
    """The largest level that is required of it."""
    room: Floats
    """How far it can move both ways."""
    tied: Ints
    """The cell that stands for those tied to it,"""
    weight: Floats
    """and the weight of all of them."""


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
        level = np.zeros(allowed.size)
        for one in requirements:
            level[one.cell] = max(level[one.cell], one.level)
        ties = Aggregation.of(problem, allowed)
        free = np.where(allowed & ~problem.must_hide, floored_weights(problem.weights), 0.0)
        weight: Floats = ties.summed(free)[ties.representative]
        room = np.where(allowed, np.minimum(*self._boxes[0]), 0.0)
        self._cells = _CellFacts(level, room, ties.representative, weight)
        self._plan = _Plan(np.full(allowed.size, settings.shares[0]), np.ones(allowed.size))
        """The plan of the best pattern."""
        self._batch = settings.steps
        """Number of orders before the next repair."""

    @staticmethod
    def fits(problem: Problem, settings: StrataSettings = StrataSettings()) -> bool:
        """Whether hiding more never breaks a level, coefficients are whole numbers, and the table is not too large."""
        few = len(problem.table) <= settings.max_cells
        return few and problem.is_monotone and GaussianEquations.fits(problem.table)

    @property
    def cost(self) -> float:
        """The weights of the complementary cells of the best pattern; infinite while there is none."""
        return np.inf if self.best is None else self._cost(self.best)

    # ------------------------------------------------------------------ the two steps

    def build(self) -> None:
        """Repaired patterns, of which the cheapest is kept; none if the time is up before the first.

        One for each share, and one for the last in which cells that it left open have the first.
        """
        settings, size = self.settings, self.allowed.size
        left_open = np.zeros(0, dtype=np.int64)
        for share in settings.shares:
            left_open = self._build_with(np.full(size, share))
        if left_open.size:
            mixed = np.full(size, settings.shares[-1])
            mixed[left_open] = settings.shares[0]
            self._build_with(mixed)

    def _build_with(self, share: Floats) -> Ints:
        """Publish and repair with these shares; the cells that were open."""
        found = np.zeros(0, dtype=np.int64)
        if not self.deadline.passed():
            with self.deadline.stoppable():
                self.progress("strata", self.steps, 0)
                plan = _Plan(share, np.ones(share.size))
                found = self._adopt(*self._published(plan), plan)
        return found

    def improve(self, steps: float = np.inf) -> None:
        """Search from the best pattern, for a number of orders or until the time is up."""
        last = self.steps + steps
        while self.best is not None and self.steps < last and not self.deadline.passed():
            before = self.cost
            with self.deadline.stoppable():
                self._search(int(min(last - self.steps, self._batch)))
            self._batch = self.settings.steps if self.cost < before else 2 * self._batch

    def _search(self, steps: int) -> None:
        """Some orders without a look at what they leave open, then a repair of the cheapest."""
        plan, settings = replace(self._plan, held=self._kept()), self.settings
        found = self._published(plan)
        for _ in range(steps - 1):
            turn = self.steps % len(settings.changed)
            changed = self._rng.random(plan.factor.size) < settings.changed[turn]
            change = np.exp(settings.spread[turn] * self._rng.standard_normal(plan.factor.size))
            trial = replace(plan, factor=plan.factor * np.where(changed, change, 1.0)[self._cells.tied])
            other = self._published(trial)
            self.progress("strata", self.steps, 0, self.cost)
            if self._cost(other[1]) <= self._cost(found[1]):
                plan, found = trial, other
        self._adopt(*found, plan)

    def _cost(self, hidden: Bools) -> float:
        return complementary_cost(self.problem, hidden)

    def _kept(self) -> list[HeldDeviation]:
        """The deviations that meet some level which is not drawn to be met otherwise."""
        held = self._plan.held
        levels = list(dict.fromkeys(one for each in held for one in each.serves))
        drawn = self._rng.random(len(levels)) < self.settings.released
        released = {one for one, out in zip(levels, drawn.tolist(), strict=True) if out}
        return [each for each in held if not released.issuperset(each.serves)]

    # ------------------------------------------------------------------ publishing

    def _published(self, plan: _Plan) -> tuple[list[kernels.Elimination], Bools]:
        """The eliminations of all strata after publishing in an order, and what is hidden still.

        Cells are published by decreasing weight times their factor, tied ones together; those that held deviations
        move stay hidden.
        """
        hidden: Bools = self.problem.must_hide.copy()
        for each in plan.held:
            hidden[each.cells] = True
        cells = np.flatnonzero(self.allowed & ~hidden)
        key = -(self._cells.weight * plan.factor)[cells]
        order = cells[np.lexsort((self._cells.tied[cells], key))]
        states = self._strata(plan.share)
        published = kernels.publish_together(states, order, self.deadline.passed)
        hidden[order[published == 0]] = True
        self.steps += 1
        return states, hidden

    def _strata(self, share: Floats) -> list[kernels.Elimination]:
        """An elimination for each stratum that has cells."""
        need, room, settings, states = share * self._cells.level, self._cells.room, self.settings, []
        wanted, end = need > 0, float(need.max(initial=0.0))
        rooms = np.sort(room)
        places = np.searchsorted(rooms, need)
        while wanted.any():
            few = np.searchsorted(rooms, end) - places <= settings.same_room * need.size
            cells = np.flatnonzero(wanted & (few | (need > end / settings.width)))
            fixed = room < end
            fixed[cells] = False
            fixed |= ~self.allowed
            states.append(self._equations.elimination(fixed, cells, self.deadline.passed))
            wanted[cells] = False
            end = float(need[wanted].max(initial=0.0))
        return states

    # ------------------------------------------------------------------ judging and repair

    def _adopt(self, states: Sequence[kernels.Elimination], hidden: Bools, plan: _Plan) -> Ints:
        """Repair a pattern, and keep it if it costs no more than the best; the cells that were open, if known."""
        met = {one for each in plan.held for one in each.serves}
        missing = self._open(self._unmet(states, hidden, met), hidden)
        if missing is None:
            return np.zeros(0, dtype=np.int64)
        left_open = np.unique([one.cell for one in missing]).astype(np.int64)
        if missing:
            given = self.problem, self.allowed, missing, self.progress, self.deadline
            quick = QuickDeviations(*given, start=hidden, settings=self.settings.deviations)
            quick.build()
            if quick.unmet:
                return left_open
            hidden, plan = quick.hidden, replace(plan, held=[*plan.held, *quick.held])
        if self._cost(hidden) <= self.cost:
            self.best, self._plan = hidden, plan
            self.progress("strata", self.steps, 0, self.cost)
        return left_open

    def _unmet(
        self, states: Sequence[kernels.Elimination], hidden: Bools, met: set[Requirement]
    ) -> list[Requirement]:
        """The requirements that no single deviation of a basis meets, and that are not known to be met."""
        waiting = [one for one in self.requirements if one not in met]
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
