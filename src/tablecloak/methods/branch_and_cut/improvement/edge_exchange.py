"""Exchanges: where most cells cost the same, a pattern of the least cost that is not safe yet is rewired until it is.

With equal weights very many patterns cost as little as the rows found so far allow. Such a pattern, the optimum of an
integer program over these rows, has enough hidden cells in every line; what it lacks is connections. A level that is
missed has a minimum cut: too little leaves the set S of equations. As a cell is an arc between two equations,

    cells (a, b) inside S and (c, d) outside   ->   (a, d) and (c, b), which both lead out of S,

costs the same and hides as many cells of every line as before; or one end of a cell moves to the other side of the cut.
Of a few such exchanges the one is made after which the levels miss least in all, sometimes also one that makes it
worse. What the best pattern still misses becomes rows, and an integer program proposes the next start.

References: min-conflicts search, Minton et al. (1992); tabu search, Glover (1989). The exchange is the one that makes
graphs with given degrees, Ryser (1957).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Boxes, CellNetwork
from tablecloak.methods.branch_and_cut.state import SUPPORT, Exact
from tablecloak.model import Problem, Requirement, Side
from tablecloak.solvers import GrowingProgram
from tablecloak.solvers.graphs import Network

OFFERED, NODES = 2000, 50
"""The program that proposes starts has so many cells beside those of the relaxation, and so many nodes at most."""
STEPS, LONGEST, PROPOSED = 8, 200, 12
"""A start is given up after so many steps a hidden cell, and in all; each is the best of so many exchanges."""
FAILED = 2
"""So many starts in a row may fail before a higher cost is tried."""
TABU = 10
"""A cell that left does not come back for so many steps, unless that makes the best pattern so far."""
WARM = 0.3
"""An exchange after which levels miss more, by d in all, is made with probability exp(-d / WARM)."""
SWAPS, ROOMY = 0.8, 0.8
"""The share of exchanges that swap the ends of two cells, and how often cells of little room are refused."""


class _Asked(NamedTuple):
    """The levels of one attacker: their numbers, cells and amounts; how far up and down they go (0: not asked)."""

    numbers: Ints
    cells: Ints
    level: Floats
    up: Floats
    down: Floats


class Judge:
    """To what share each level is missed when some cells are hidden."""

    def __init__(self, problem: Problem, requirements: Sequence[Requirement]) -> None:
        self.graph, self.boxes, self.requirements = CellNetwork(problem), Boxes(problem), requirements
        self._asked: dict[int, _Asked] = {}
        for attacker in sorted({requirement.attacker for requirement in requirements}):
            numbers = np.array(
                [k for k, requirement in enumerate(requirements) if requirement.attacker == attacker]
            )
            level = np.array([requirements[k].level for k in numbers])
            rises = np.array([requirements[k].side is not Side.DOWN for k in numbers])
            falls = np.array([requirements[k].side is not Side.UP for k in numbers])
            cells = np.array([requirements[k].cell for k in numbers], dtype=np.int64)
            self._asked[attacker] = _Asked(numbers, cells, level, level * rises, level * falls)

    def network(self, cells: Ints, attacker: int) -> Network:
        """The hidden cells as an attacker sees them."""
        down, up = (side[cells] for side in self.boxes[attacker])
        return Network(self.graph.nodes, self.graph.tail[cells], self.graph.head[cells], up, down)

    def missing(self, hidden: Bools) -> Floats:
        """By level, the share that is missing."""
        cells, missing = np.flatnonzero(hidden), np.zeros(len(self.requirements))
        for attacker, asked in self._asked.items():
            arcs = np.searchsorted(cells, asked.cells).astype(np.int32)
            up, down, _ = self.network(cells, attacker).settle(arcs, asked.up, asked.down)
            missing[asked.numbers] = 1.0 - (up + down) / asked.level
        missing[missing < 1e-8] = 0.0
        return missing

    def cut(self, hidden: Bools, number: int, rng: np.random.Generator) -> Bools:
        """By equation, the source side of a minimum cut of a level that is missed."""
        cells, requirement = np.flatnonzero(hidden), self.requirements[number]
        sides = requirement.directions
        arcs, upward = (
            np.array([np.searchsorted(cells, requirement.cell)], np.int32),
            np.array([rng.choice(sides)]),
        )
        down, up = (side[None, cells] for side in self.boxes[requirement.attacker])
        level, ones = np.array([requirement.level]), np.ones(cells.size)
        flows = self.network(cells, requirement.attacker)
        _, *cuts = flows.least_cuts(arcs, upward, level, level, np.zeros(1, np.int32), (up, down), ones)
        chosen: Bools = cuts[int(rng.integers(2))][0]
        return chosen


class Exchange(NamedTuple):
    """Cells that are published from now on, and those that are hidden for them."""

    old: tuple[int, ...]
    new: tuple[int, ...]


class Exchanges:
    """The search. Patterns are those of leaders of twins, with all cells that must be hidden."""

    def __init__(self, state: Exact, rng: np.random.Generator) -> None:
        self.state, self.rng = state, rng
        self.judge = Judge(state.problem, state.requirements)
        graph, cells = self.judge.graph, np.flatnonzero(state.leads)
        self.tail, self.head, self.nodes = graph.tail, graph.head, graph.nodes
        sides = [
            side for requirement in state.requirements for side in self.judge.boxes[requirement.attacker]
        ]
        self.room: Floats = np.min(sides, axis=0)
        self.enough = max(requirement.level for requirement in state.requirements)
        low, high = np.minimum(self.tail, self.head)[cells], np.maximum(self.tail, self.head)[cells]
        keys = low.astype(np.int64) * self.nodes + high
        order = np.lexsort((-self.room[cells], keys))
        self._keys, self._cells = keys[order], cells[order]

    def run(self) -> None:
        """Patterns of the cost of the bound, and a little more if there seem to be none."""
        state, unit, failed = self.state, self.state.unit, 0
        above = 0.0
        while not state.proven() and not state.deadline.passed():
            target = state.bound + above
            if target > state.cost - 0.5 * unit:
                return
            if self._attempt(target):
                failed = 0
                continue
            failed += 1
            if failed > FAILED:
                above, failed = above + unit, 0

    def _attempt(self, target: float) -> bool:
        """One start at most this dear, rewired; whether a better pattern was found. What is missed becomes rows."""
        state, before = self.state, self.state.changed
        start = self._start(target)
        if start is None:
            return False
        x = self._whole(self._rewired(start)).astype(float)
        missed = state.check(x)
        if missed:
            state.relaxation.collect(missed)
            state.repair(x)
        state.tell("exchanges", state.changed, state.changed)
        return state.changed > before

    # ------------------------------------------------------------------ starts

    def _start(self, target: float) -> Bools | None:
        """A pattern that meets the rows found so far and costs at most this much; ties are broken by chance."""
        state, relaxation = self.state, self.state.relaxation
        within = np.flatnonzero(relaxation.within(target))
        roomy = within[self.room[within] >= self.enough]
        some = self.rng.choice(roomy, min(OFFERED, roomy.size), replace=False)
        cells = np.union1d(some, np.flatnonzero(state.leads & (relaxation.x > SUPPORT)))
        rows = relaxation.live()
        noise = 0.4 * state.unit / (1.0 + target / state.unit)  # less than a unit over all cells of a pattern
        program = GrowingProgram(state.prices[cells] + noise * self.rng.random(cells.size))
        program.add_rows(np.array([row.rhs for row in rows]), relaxation.matrix(rows)[:, cells])
        solution = program.solve(state.deadline.left, nodes=NODES)
        chosen = cells[solution.values > 0.5] if solution.values.size else cells[:0]
        if not chosen.size or float(state.prices[chosen].sum()) > target + 0.5 * state.unit:
            return None
        hidden = state.problem.must_hide.copy()
        hidden[chosen] = True
        return self._filled(hidden, roomy, target)

    def _filled(self, hidden: Bools, cells: Ints, target: float) -> Bools:
        """A pattern with more cells, any, as far as it may cost more."""
        state = self.state
        left = target - state.cost_of(self._whole(hidden))
        for cell in self.rng.permutation(cells[~hidden[cells]]).tolist():
            if left < 0.5 * state.unit:
                break
            if state.prices[cell] <= left + 1e-9 * state.unit:
                hidden[cell] = True
                left -= float(state.prices[cell])
        return hidden

    # ------------------------------------------------------------------ steps

    def _rewired(self, hidden: Bools) -> Bools:
        """The best pattern on the way from this one, safe or not."""
        state, rng = self.state, self.rng
        missing = self._missing(hidden)
        best, least = hidden, float(missing.sum())
        until: dict[int, int] = {}
        for step in range(min(STEPS * int((hidden & state.leads).sum()), LONGEST)):
            if least == 0.0 or state.deadline.passed():
                break
            level = int(rng.choice(np.flatnonzero(missing)))
            found, lowest, now = None, math.inf, float(missing.sum())
            for exchange in self._proposals(hidden, self.judge.cut(self._whole(hidden), level, rng)):
                after = hidden.copy()
                after[list(exchange.old)], after[list(exchange.new)] = False, True
                rest = self._missing(after)
                tabu = any(until.get(cell, 0) > step for cell in exchange.new)
                if rest.sum() < lowest and (not tabu or rest.sum() < least):
                    found, lowest = (exchange, after, rest), rest.sum()
                if lowest < now - 1e-9:
                    break
            if found is not None and (lowest <= now or rng.random() < math.exp((now - lowest) / WARM)):
                exchange, hidden, missing = found
                until.update(dict.fromkeys(exchange.old, step + TABU))
                if lowest < least:
                    best, least = hidden, lowest
        return best

    def _whole(self, hidden: Bools) -> Bools:
        """A pattern of leaders with their twins."""
        spread: Floats = self.state.aggregation.expanded(hidden.astype(float))
        return (spread > 0.5) | self.state.problem.must_hide

    def _missing(self, hidden: Bools) -> Floats:
        return self.judge.missing(self._whole(hidden))

    def _proposals(self, hidden: Bools, inside: Bools) -> list[Exchange]:
        """Exchanges by which more leads out of the set of equations that are `inside`."""
        links = np.flatnonzero(hidden & self.state.leads)
        ends = inside[self.tail[links]].astype(int) + inside[self.head[links]]
        within, without = links[ends == 2].tolist(), links[ends == 0].tolist()
        found: dict[Exchange, None] = {}
        for _ in range(3 * PROPOSED):
            if len(found) == PROPOSED or not links.size:
                break
            if within and without and self.rng.random() < SWAPS:
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
        """Whether an exchange is no dearer, and its cells have room enough (by chance also others)."""
        old, new, prices = list(exchange.old), list(exchange.new), self.state.prices
        if hidden[new].any() or prices[new].sum() > prices[old].sum() + 1e-9 * self.state.unit:
            return False
        return bool(self.room[new].min() >= self.enough or self.rng.random() >= ROOMY)

    def _between(self, one: int, other: int) -> int:
        """The cell of most room between two equations that may be hidden; -1 if there is none."""
        key = min(one, other) * self.nodes + max(one, other)
        place = int(np.searchsorted(self._keys, key))
        return int(self._cells[place]) if place < self._keys.size and self._keys[place] == key else -1
