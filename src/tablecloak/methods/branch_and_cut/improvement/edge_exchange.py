"""Edge exchange: where most weights are tied, a pattern of least cost that is not safe yet is rewired until it is.

With tied weights very many patterns cost as little as the cuts found so far allow. Such a pattern, the optimum of an
integer program over these cuts, has enough hidden cells in every equation; what it lacks is connections. A requirement
that is not met has a minimum cut: too little leaves the set S of equations. As a cell is an arc between two equations,

    cells (a, b) inside S and (c, d) outside   ->   (a, d) and (c, b), which both lead out of S,

costs the same and hides as many cells of every equation as before; or one end of a cell moves to the other side of the
minimum cut. Of a few such exchanges the one is made after which the total shortfall is least, sometimes also one that
increases it. The cuts that the best pattern still violates are added, and an integer program proposes the next start.

References: min-conflicts search, Minton et al. (1992); tabu search, Glover (1989). The exchange is the one that makes
graphs with given degrees, Ryser (1957).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import CellNetwork, DeviationBounds
from tablecloak.methods.branch_and_cut.improvement.base import Stage
from tablecloak.methods.branch_and_cut.improvement.guided_construction import repair
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.model import Problem, Requirement, Side
from tablecloak.solvers import FRACTIONAL_SUPPORT, OPTIMALITY, GrowingProgram
from tablecloak.solvers.graphs import Network


class _AttackerRequirements(NamedTuple):
    """The requirements of one attacker: numbers, cells and levels; the required deviations up and down (0: none)."""

    numbers: Ints
    cells: Ints
    level: Floats
    up: Floats
    down: Floats


class Shortfalls:
    """The unmet share of each requirement when some cells are hidden."""

    def __init__(self, problem: Problem, requirements: Sequence[Requirement]) -> None:
        self.graph, self.bounds, self.requirements = (
            CellNetwork(problem),
            DeviationBounds(problem),
            requirements,
        )
        self._by_attacker: dict[int, _AttackerRequirements] = {}
        for attacker in sorted({requirement.attacker for requirement in requirements}):
            numbers = np.array(
                [k for k, requirement in enumerate(requirements) if requirement.attacker == attacker]
            )
            level = np.array([requirements[k].level for k in numbers])
            rises = np.array([requirements[k].side is not Side.DOWN for k in numbers])
            falls = np.array([requirements[k].side is not Side.UP for k in numbers])
            cells = np.array([requirements[k].cell for k in numbers], dtype=np.int64)
            self._by_attacker[attacker] = _AttackerRequirements(
                numbers, cells, level, level * rises, level * falls
            )

    def network(self, cells: Ints, attacker: int) -> Network:
        """The hidden cells as an attacker sees them."""
        down, up = (side[cells] for side in self.bounds[attacker])
        return Network(self.graph.nodes, self.graph.tail[cells], self.graph.head[cells], up, down)

    def of(self, hidden: Bools) -> Floats:
        """By requirement, the share that is not met."""
        cells, shortfall = np.flatnonzero(hidden), np.zeros(len(self.requirements))
        for attacker, own in self._by_attacker.items():
            arcs = np.searchsorted(cells, own.cells).astype(np.int32)
            up, down, _ = self.network(cells, attacker).settle(arcs, own.up, own.down)
            shortfall[own.numbers] = 1.0 - (up + down) / own.level
        shortfall[shortfall < 1e-8] = 0.0
        return shortfall

    def cut(self, hidden: Bools, number: int, rng: np.random.Generator) -> Bools:
        """By equation, the source side of a minimum cut of a requirement that is not met."""
        cells, requirement = np.flatnonzero(hidden), self.requirements[number]
        sides = requirement.directions
        arcs, upward = (
            np.array([np.searchsorted(cells, requirement.cell)], np.int32),
            np.array([rng.choice(sides)]),
        )
        down, up = (side[None, cells] for side in self.bounds[requirement.attacker])
        level, ones = np.array([requirement.level]), np.ones(cells.size)
        flows = self.network(cells, requirement.attacker)
        _, *cuts = flows.least_cuts(arcs, upward, level, level, np.zeros(1, np.int32), (up, down), ones)
        chosen: Bools = cuts[int(rng.integers(2))][0]
        return chosen


class Exchange(NamedTuple):
    """Cells that are published from now on, and those that are hidden for them."""

    old: tuple[int, ...]
    new: tuple[int, ...]


class EdgeExchange:
    """The search. Patterns are those of representatives, with all cells that must be hidden."""

    stage: ClassVar[Stage] = "root"

    def __init__(self, search: SearchContext) -> None:
        self.search, self.model, self.rng = search, search.model, search.rng
        self.settings = search.settings.edge_exchange
        self.shortfalls = Shortfalls(self.model.problem, self.model.requirements)
        graph, cells = self.shortfalls.graph, np.flatnonzero(self.model.representatives)
        self.tail, self.head, self.nodes = graph.tail, graph.head, graph.nodes
        sides = [side for each in self.model.requirements for side in self.shortfalls.bounds[each.attacker]]
        self.deviation: Floats = np.min(sides, axis=0)
        """By cell, the least of its deviation bounds."""
        self.largest_level = max(requirement.level for requirement in self.model.requirements)
        low, high = np.minimum(self.tail, self.head)[cells], np.maximum(self.tail, self.head)[cells]
        keys = low.astype(np.int64) * self.nodes + high
        order = np.lexsort((-self.deviation[cells], keys))
        self._keys, self._cells = keys[order], cells[order]

    @staticmethod
    def supports(model: SuppressionModel) -> bool:
        """Networks with tied weights."""
        return model.has_tied_weights

    def is_due(self, search: SearchContext) -> bool:
        """Always: it ends by itself where the bound is not attained."""
        return True

    def run(self, search: SearchContext) -> None:
        """Find patterns of the cost of the bound, and a little more if there seem to be none."""
        search.relaxation.compute_central_duals(search.deadline.left)
        unit, failed, above = self.model.unit, 0, 0.0
        while not search.is_over:
            target = search.gap.bound + above
            if target > search.incumbent.cost - 0.5 * unit:
                return
            if self._attempt(target):
                failed = 0
                continue
            failed += 1
            if failed > self.settings.failures:
                above, failed = above + unit, 0

    def _attempt(self, target: float) -> bool:
        """Rewire one start of at most this cost; whether a better pattern was found. Violated cuts are kept."""
        search, before = self.search, self.search.incumbent.changes
        start = self._start(target)
        if start is None:
            return False
        x = self._expanded(self._rewired(start)).astype(float)
        violated = search.separation.violated(x)
        if violated:
            search.relaxation.add_to_pool(violated)
            repair(search, x)
        changes = search.incumbent.changes
        search.report("edge exchange", changes, changes)
        return changes > before

    # ------------------------------------------------------------------ starts

    def _start(self, target: float) -> Bools | None:
        """A pattern that satisfies the cuts found so far and costs at most this much; ties are broken at random."""
        model, relaxation, unit = self.model, self.search.relaxation, self.model.unit
        within = np.flatnonzero(relaxation.within(target))
        wide = within[self.deviation[within] >= self.largest_level]
        some = self.rng.choice(wide, min(self.settings.offered, wide.size), replace=False)
        support = model.representatives & (relaxation.x > FRACTIONAL_SUPPORT)
        cells = np.union1d(some, np.flatnonzero(support))
        noise = 0.4 * unit / (1.0 + target / unit)  # less than a unit over all cells of a pattern
        prices = model.prices[cells] + noise * self.rng.random(cells.size)
        program = GrowingProgram(prices, settings=relaxation.settings.highs)
        program.add_rows(*relaxation.system(relaxation.active_cuts(), cells))
        solution = program.solve(self.search.deadline.left, nodes=self.settings.nodes)
        chosen = cells[solution.values > 0.5] if solution.values.size else cells[:0]
        if not chosen.size or float(model.prices[chosen].sum()) > target + 0.5 * unit:
            return None
        hidden = model.problem.must_hide.copy()
        hidden[chosen] = True
        return self._filled(hidden, wide, target)

    def _filled(self, hidden: Bools, cells: Ints, target: float) -> Bools:
        """A pattern with random cells more, up to the target cost."""
        model = self.model
        left = target - model.cost(self._expanded(hidden))
        for cell in self.rng.permutation(cells[~hidden[cells]]).tolist():
            if left < 0.5 * model.unit:
                break
            if model.prices[cell] <= left + OPTIMALITY * model.unit:
                hidden[cell] = True
                left -= float(model.prices[cell])
        return hidden

    # ------------------------------------------------------------------ steps

    def _rewired(self, hidden: Bools) -> Bools:
        """The pattern of least shortfall on the way from this one, safe or not."""
        settings, rng = self.settings, self.rng
        shortfall = self._shortfall(hidden)
        best, least = hidden, float(shortfall.sum())
        tabu_until: dict[int, int] = {}
        steps = settings.steps_per_cell * int((hidden & self.model.representatives).sum())
        for step in range(min(steps, settings.max_steps)):
            if least == 0.0 or self.search.deadline.passed():
                break
            requirement = int(rng.choice(np.flatnonzero(shortfall)))
            found, lowest, now = None, math.inf, float(shortfall.sum())
            inside = self.shortfalls.cut(self._expanded(hidden), requirement, rng)
            for exchange in self.proposals(hidden, inside):
                after = hidden.copy()
                after[list(exchange.old)], after[list(exchange.new)] = False, True
                rest = self._shortfall(after)
                tabu = any(tabu_until.get(cell, 0) > step for cell in exchange.new)
                if rest.sum() < lowest and (not tabu or rest.sum() < least):
                    found, lowest = (exchange, after, rest), rest.sum()
                if lowest < now - 1e-9:
                    break
            if found is not None and self._accepts(lowest - now):
                exchange, hidden, shortfall = found
                tabu_until.update(dict.fromkeys(exchange.old, step + settings.tabu))
                if lowest < least:
                    best, least = hidden, lowest
        return best

    def _accepts(self, increase: float) -> bool:
        """Whether an exchange that increases the shortfall is made: always if it does not, else at random."""
        return increase <= 0 or self.rng.random() < math.exp(-increase / self.settings.temperature)

    def _expanded(self, hidden: Bools) -> Bools:
        """A pattern of representatives with their aggregated cells."""
        x: Floats = self.model.expanded(hidden.astype(float))
        return (x > 0.5) | self.model.problem.must_hide

    def _shortfall(self, hidden: Bools) -> Floats:
        return self.shortfalls.of(self._expanded(hidden))

    def proposals(self, hidden: Bools, inside: Bools) -> list[Exchange]:
        """Exchanges by which more leads out of the set of equations that are `inside`."""
        links = np.flatnonzero(hidden & self.model.representatives)
        ends = inside[self.tail[links]].astype(int) + inside[self.head[links]]
        within, without = links[ends == 2].tolist(), links[ends == 0].tolist()
        found: dict[Exchange, None] = {}
        for _ in range(3 * self.settings.proposals):
            if len(found) == self.settings.proposals or not links.size:
                break
            if within and without and self.rng.random() < self.settings.swaps:
                one, other = (side[int(self.rng.integers(len(side)))] for side in (within, without))
                proposed = self._swap(one, other)
            else:
                proposed = self._moved(int(links[self.rng.integers(links.size)]), inside)
            if proposed is not None and self._is_worth(proposed, hidden):
                found[proposed] = None
        return list(found)

    def _swap(self, one: int, other: int) -> Exchange | None:
        """Two cells with their ends swapped, in the one of two ways in which there are such cells."""
        a, b, c, d = (int(side[cell]) for cell in (one, other) for side in (self.tail, self.head))
        for pairs in (((a, d), (c, b)), ((a, c), (b, d))):
            new = tuple(self._between(*pair) for pair in pairs)
            if min(new) >= 0:
                return Exchange((one, other), new)
        return None

    def _moved(self, cell: int, inside: Bools) -> Exchange | None:
        """A cell with one end kept and the other moved to somewhere on the other side of the cut."""
        kept = int((self.tail, self.head)[int(self.rng.integers(2))][cell])
        others = np.flatnonzero(inside != inside[kept])
        new = self._between(kept, int(self.rng.choice(others))) if others.size else -1
        return Exchange((cell,), (new,)) if new >= 0 else None

    def _is_worth(self, exchange: Exchange, hidden: Bools) -> bool:
        """Whether an exchange costs no more, and its cells can deviate by any level (at random also others)."""
        old, new, prices = list(exchange.old), list(exchange.new), self.model.prices
        if hidden[new].any() or prices[new].sum() > prices[old].sum() + OPTIMALITY * self.model.unit:
            return False
        wide = self.deviation[new].min() >= self.largest_level
        return bool(wide or self.rng.random() >= self.settings.refusal)

    def _between(self, one: int, other: int) -> int:
        """The cell between two equations with the widest deviation bounds; -1 if there is none that may be hidden."""
        key = min(one, other) * self.nodes + max(one, other)
        place = int(np.searchsorted(self._keys, key))
        return int(self._cells[place]) if place < self._keys.size and self._keys[place] == key else -1
