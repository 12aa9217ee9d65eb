"""suppress-shortest-path: every level of a sensitive cell gets the cells of a few shortest paths.

On non-network grids (three dimensions, two hierarchies) paths carry equal flows in parallel planes: see
`heuristics.equal_flow`. What follows is about networks.

The table is a network: equations are nodes, cells are arcs. Cell p is the arc s -> t with value a_p. A path SP from t
to s closes a cycle with p. Cells walked with their arc rise when p rises, the others fall. So the path gives p

  upper protection   gamma- = min {a_i : i in SP walked against its arc}           (infinite if there is none)
  lower protection   gamma+ = min {a_p, a_i : i in SP walked with its arc}

and each other sensitive cell on it the same two amounts, swapped if it is walked against its arc. Steps (Figure 9):

  S = {};  Clpl = Cupl = 0
  for each sensitive p, for each side (lower, upper) with level L, while the side's C of p is less than L:
    shortest path from t to s without p and without the cells TT of earlier paths for this p and side
    found:     hide its cells; Clpl and Cupl of all sensitive cells on it rise to what it gives, those of p add up
    not found: show again what was hidden for this p and side; hide the cells of two minimum cost flows through p

Which path is shortest: first as few cells as possible that are narrow (have no capacity for L) and not hidden yet, then
as few narrow hidden ones, then (costs="strata", the paper) the least  C k + sum w  over the k cells not hidden yet,
C hidden in all, plus the number of hidden ones; or (costs="weight") the least weight. By strata a cell is narrow if it
is so in either direction, by weight only if it is so in the direction in which it is walked.

Corrected against the paper:
- Its costs (11) reach 2^53 on large tables. The strata are compared one after the other, which orders paths alike.
- Line 33 adds to what p has from earlier cells' paths, which may share cells with the new ones. Here only paths that
  share no cell add up, others count with their maximum.
- Line 13 shows cells again, but leaves the protection that other cells had from them. Here it is taken back too.
- Lines 16 to 19 name the levels the wrong way round.
- Capacities are those of the outsider's box, a_i down and infinite up only where nothing but a_i >= 0 is known.

The paper's two wishes are here: cells of single contributors that do not protect each other (`singletons`), and an
elimination by shortest paths only (`trim`).

Reference: Castro (2007), A shortest-paths heuristic for statistical data protection in positive tables, INFORMS Journal
on Computing 19(4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, places_of
from tablecloak.attacker import CellNetwork, DeviationBounds, tolerances, working_equations
from tablecloak.errors import NotApplicable, counted
from tablecloak.methods.base import Proposal, complementary_cost, refuse_non_network, without_incumbent
from tablecloak.methods.heuristics import (
    Circulation,
    DeviationFinder,
    DeviationSettings,
    Elimination,
    EqualFlowPaths,
    EqualFlowSettings,
    OneByOneParams,
    Own,
    PathPrices,
    Requests,
    SequentialSettings,
    WitnessEngine,
    amounts_tried,
    floored_weights,
    one_by_one,
)
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Progress
from tablecloak.solvers import kernels
from tablecloak.solvers.graphs import StratifiedNetwork


@dataclass(frozen=True)
class ShortestPathSettings:
    """The frame around the paths."""

    sequential: SequentialSettings = SequentialSettings(quick_first=False)
    """The steps around the paper's algorithm; it is as quick as an initial pattern."""
    equal_flow: EqualFlowSettings = EqualFlowSettings()


@dataclass(frozen=True)
class ShortestPathParams(OneByOneParams):
    """Parameters of suppress-shortest-path."""

    costs: Literal["strata", "weight"] = "strata"
    """What makes a path short: few new cells and then little weight (the paper), or little weight alone."""
    singletons: bool = True
    """Protect the cell of a single contributor without cells of other single contributors, where paths allow it."""
    trim: bool = False
    """After the last path, publish again what paths over the other hidden cells can replace."""


def suppress_shortest_path(
    problem: Problem,
    *,
    params: ShortestPathParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: ShortestPathSettings = ShortestPathSettings(),
) -> Proposal:
    """An audited suppression of a positive table that is a network."""
    params.check()
    equal_flows = EqualFlowPaths.fits(problem)
    if not equal_flows:
        refuse_non_network(
            problem,
            "suppress-shortest-path follows the arcs of a network, or equal flows in the planes of a grid",
            ["suppress-greedy", "suppress-optimal"],
            needs="a grid of dimensions, flat or with a hierarchy each",
        )
    if (problem.table.values < 0).any():
        raise NotApplicable(
            "suppress-shortest-path is for positive tables; this one has negative values.",
            needs="a table without negative values",
            instead=["suppress-greedy", "suppress-optimal"],
        )

    if equal_flows and params.trim:
        raise NotApplicable(
            "suppress-shortest-path trims by the paths of a network.",
            needs="trim=False, or one dimension or two, of which at most one has a hierarchy",
            instead=["suppress-greedy", "suppress-elimination"],
        )

    def build(requests: Requests) -> Own:
        if equal_flows:
            return _EqualFlows(requests, params, settings).run()
        return _Heuristic(requests, params, settings.sequential.first.construction.deviation).run()

    engine = f"{'equal-flow ' if equal_flows else ''}shortest paths by {params.costs}"
    return one_by_one(problem, params, rng, progress, build, engine, settings.sequential)


class _Heuristic:
    """Castro's heuristic, once."""

    def __init__(
        self,
        requests: Requests,
        params: ShortestPathParams,
        settings: DeviationSettings = DeviationSettings(),
    ) -> None:
        self.requests, self.params, self.left = requests, params, requests.deadline.left
        self.settings = settings
        problem = self.problem = requests.problem
        self.cells = np.flatnonzero(requests.allowed)
        self.place = places_of(self.cells, requests.allowed.size)
        self.alone = (
            _known_exactly(problem)[self.cells]
            if params.singletons
            else np.zeros(self.cells.size, dtype=bool)
        )
        graph = CellNetwork(problem)
        down, up = DeviationBounds(problem)[0]
        self.stratified = StratifiedNetwork(
            (graph.nodes, graph.tail[self.cells], graph.head[self.cells]),
            problem.weights[self.cells],
            (down[self.cells], up[self.cells]),
            requests.hidden[self.cells],
            self.alone,
            by_weight=params.costs == "weight",
        )
        self.finder: DeviationFinder | None = None
        self.flows = self.failures = self.through_alone = 0

    def run(self) -> Own:
        """Figure 9 of the paper; afterwards, with `trim`, the elimination by paths."""
        requests, total = self.requests, self.requests.cells.size
        for cell, lower, upper, _ in requests.in_turn(requests.levels, "shortest paths"):
            arc = int(self.place[cell])
            if not (self._protected(arc, False, lower) and self._protected(arc, True, upper)):
                self._recover(cell, {Side.DOWN: lower, Side.UP: upper})
        counters = {
            "paths": self.stratified.found,
            "paths a sensitive cell": self.stratified.found / max(total, 1),
            "cells recovered by flows": self.flows,
            "own value": float(self.problem.table.values[self._hidden() & ~self.problem.must_hide].sum()),
        }
        if self.alone.any():
            counters["levels through single contributors"] = self.through_alone
        if self.failures:
            counters["cells without a flow"] = self.failures
        if self.params.trim:
            before = self._hidden()
            self._trim()
            counters["cells before trimming"] = int(before.sum())
            counters["cost before trimming"] = complementary_cost(self.problem, before)
        if requests.deadline.moment is not None:  # else no clock is read
            counters["own seconds"] = self.left - requests.deadline.left
        sliding = int((requests.sliding > requests.lower + requests.upper).sum())
        note = (
            f"the paper knows no sliding levels: those of {counted(sliding, 'cell')} are left to the repair"
        )
        return Own(self._hidden(), counters, (note,) if sliding else ())

    def _protected(self, arc: int, rising: bool, level: float) -> bool:
        """Whether paths meet a level; first without cells of single contributors, if the cell is one of them."""
        if self.stratified.reached(arc, rising) >= level * (1 - tolerances.WITNESS_MET):
            return True
        if self.alone[arc]:
            if self.stratified.protect(arc, rising, level, avoid=True):
                return True
            self.through_alone += 1
        return self.stratified.protect(arc, rising, level)

    def _recover(self, cell: int, levels: dict[Side, float]) -> None:
        """Paths have not met a level of the cell: hide the cells of two minimum cost flows, whole levels."""
        requests, problem = self.requests, self.problem
        if self.finder is None:
            equations = working_equations(problem.table)
            given = problem, equations, requests.allowed, requests.deadline
            self.finder = DeviationFinder(*given, self.settings)
        self.flows += 1
        for side, level in levels.items():
            if level <= 0:
                continue
            price = np.where(self._hidden(), 0.0, problem.weights)
            flow = self.finder.cheapest(Requirement(cell, 0, side, level), price)
            if flow is None:
                self.failures += 1
                return
            arcs = self.place[flow.cells].astype(np.int32)
            self.stratified.shift(arcs, flow.forward)

    def _trim(self) -> None:
        """Publish cells again, by decreasing weight, where paths over hidden cells replace those that use them."""
        requests, found = self.requests, dict[Requirement, Ints]()
        for side, levels in ((Side.DOWN, requests.lower), (Side.UP, requests.upper)):
            rising = side is Side.UP
            for cell, level in zip(requests.cells.tolist(), levels.tolist(), strict=True):
                arc = int(self.place[cell])
                if level > 0 and self.stratified.reached(arc, rising) >= level * (1 - tolerances.WITNESS_MET):
                    proof = self.stratified.proof(arc, rising)
                    found[Requirement(cell, 0, side, level)] = self.cells[proof]
        report, engine = without_incumbent(requests.progress, "trimming"), _PathWitnesses(self)
        elimination = Elimination(
            self.problem, list(found), self._hidden(), engine, requests.deadline, report
        )
        elimination.adopt(found)
        elimination.run()

    def _hidden(self) -> Bools:
        hidden = np.zeros(self.place.size, dtype=bool)
        hidden[self.cells[self.stratified.is_open]] = True
        return hidden


class _EqualFlows:
    """The heuristic on a grid that is no network: equal-flow paths, and near the cell a linear program where none is.

    As on networks: paths until the level is met, what they give is noted for all cells on them, and a level that they
    cannot meet is taken back and met by one deviation.
    """

    def __init__(
        self, requests: Requests, params: ShortestPathParams, settings: ShortestPathSettings
    ) -> None:
        self.requests, self.params, self.settings = requests, params, settings
        problem = self.problem = requests.problem
        self.paths, self.hidden = EqualFlowPaths(problem, settings.equal_flow), requests.hidden.copy()
        self.bounds = DeviationBounds(problem)[0]
        self.weights = floored_weights(problem.weights)
        self.reached = np.zeros((2, self.hidden.size))
        """How far down and up each cell is known to move."""
        self.alone = _known_exactly(problem) if params.singletons else np.zeros_like(self.hidden)
        self.finder: DeviationFinder | None = None
        self.programs = self.failures = self.through_alone = self.seed = 0

    def run(self) -> Own:
        """The levels of every cell in its turn."""
        requests, left = self.requests, self.requests.deadline.left
        for cell, lower, upper, _ in requests.in_turn(requests.levels, "equal-flow paths", every=16):
            for rising, level in ((False, lower), (True, upper)):
                if not self._is_met(cell, rising, level) and not self._protected(cell, rising, level):
                    self._recover(cell, rising, level)
        problem, hidden = self.problem, self.hidden
        counters = {
            "paths": self.paths.found,
            "planes": self.paths.planes,
            "paths cheaper than a hypercube": self.paths.better,
            "paths a sensitive cell": self.paths.found / max(requests.cells.size, 1),
            "levels met by linear programs": self.programs,
            "own value": float(problem.table.values[hidden & ~problem.must_hide].sum()),
        }
        if self.alone.any():
            counters["levels through single contributors"] = self.through_alone
        if self.failures:
            counters["levels without a deviation"] = self.failures
        if requests.deadline.moment is not None:  # else no clock is read
            counters["own seconds"] = left - requests.deadline.left
        return Own(hidden, counters)

    def _is_met(self, cell: int, rising: bool, level: float) -> bool:
        return bool(self.reached[int(rising), cell] >= level * (1 - tolerances.WITNESS_MET))

    def _protected(self, cell: int, rising: bool, level: float) -> bool:
        """Whether paths meet a level; first without cells of single contributors, if the cell is one of them."""
        if self.alone[cell]:
            others = self.alone.copy()
            others[cell] = False
            if self._by_paths(cell, rising, level, others):
                return True
            self.through_alone += 1
        return self._by_paths(cell, rising, level, None)

    def _by_paths(self, cell: int, rising: bool, level: float, avoided: Bools | None) -> bool:
        """Paths until the level is met, each within what those before it have left of the bounds."""
        price, left, got = self._prices(avoided), list(self.bounds), 0.0
        taken: list[tuple[Ints, Bools]] = []
        while got < level * (1 - tolerances.WITNESS_MET):
            if self.requests.deadline.passed():
                return False
            found = self._next(cell, rising, level - got, price, left)
            if found is None:
                return False
            rises = found.signs > 0 if rising else found.signs < 0
            down, up = (side[found.cells] for side in left)
            amount = min(float(np.where(rises, up, down).min()), level - got)
            taken.append((found.cells, rises))
            got += amount
            if got < level * (1 - tolerances.WITNESS_MET):
                left = [side.copy() for side in left] if len(taken) == 1 else left
                left[1][found.cells] -= np.where(rises, amount, 0.0)
                left[0][found.cells] -= np.where(rises, 0.0, amount)
                price[found.cells] = 0.0
        for cells, rises in taken:
            self.hidden[cells] = True
            self._note(cells, np.where(rises, 1.0, -1.0))
        self.reached[int(rising), cell] = max(self.reached[int(rising), cell], got)
        return True

    def _next(
        self, cell: int, rising: bool, need: float, price: Floats, left: list[Floats]
    ) -> Circulation | None:
        """The next path: for all that is missing, or for half of it, and so on."""
        down, up = left
        for amount in amounts_tried(need, self.paths.settings):
            self.seed += 1
            ends = (up, down) if rising else (down, up)
            found = self.paths.cheapest(cell, amount, PathPrices(price, *ends), self.seed)
            if found is not None:
                return found
        return None

    def _prices(self, avoided: Bools | None) -> Floats:
        """What a cell on a path costs: its weight, and by strata the number of hidden cells on top."""
        more = float(self.hidden.sum()) if self.params.costs == "strata" else 0.0
        price = np.where(self.hidden, 0.0, self.weights + more)
        price[~self.requests.allowed] = kernels.FORBIDDEN
        if avoided is not None:
            price[avoided] = kernels.FORBIDDEN
        return price

    def _recover(self, cell: int, rising: bool, level: float) -> None:
        """Paths have not met a level: hide the cells of the cheapest deviation by linear programs near the cell."""
        requests, problem = self.requests, self.problem
        if level <= 0 or requests.deadline.passed():
            return
        if self.finder is None:
            equations = working_equations(problem.table)
            chosen = self.settings.sequential.first.construction.deviation
            self.finder = DeviationFinder(problem, equations, requests.allowed, requests.deadline, chosen)
        self.programs += 1
        side = Side.UP if rising else Side.DOWN
        price = np.where(self.hidden, 0.0, problem.weights)
        found = self.finder.cheapest(Requirement(cell, 0, side, level), price)
        if found is None:
            self.failures += 1
            return
        self.hidden[found.cells] = True
        self._note(found.cells, found.forward)

    def _note(self, cells: Ints, moves: Floats) -> None:
        """What the multiples of a deviation prove for its cells."""
        down, up = (side[cells] for side in self.bounds)
        size, rises = np.abs(moves), moves > 0
        along = size * (np.where(rises, up, down) / size).min()
        against = size * (np.where(rises, down, up) / size).min()
        for way, most in ((1, np.where(rises, along, against)), (0, np.where(rises, against, along))):
            self.reached[way, cells] = np.maximum(self.reached[way, cells], most)


class _PathWitnesses(WitnessEngine):
    """The engine of the elimination: paths over hidden cells, as the heuristic finds them."""

    name = "shortest paths"

    def __init__(self, heuristic: _Heuristic) -> None:
        self._heuristic, self._stratified = heuristic, heuristic.stratified

    def close(self, cell: int) -> None:
        self._stratified.set_open(int(self._heuristic.place[cell]), False)

    def open(self, cell: int) -> None:
        self._stratified.set_open(int(self._heuristic.place[cell]), True)

    def find(self, requirement: Requirement, *, limited: bool) -> Ints | None:
        arc = int(self._heuristic.place[requirement.cell])
        rising, avoid = requirement.side is Side.UP, bool(self._heuristic.alone[arc])
        found = self._stratified.prove(arc, rising, requirement.level, avoid=avoid)
        return None if found is None else self._heuristic.cells[found]


def _known_exactly(problem: Problem) -> Bools:
    """The cells that some attacker knows exactly: those of single contributors."""
    known = np.zeros(len(problem.table), dtype=bool)
    for who in problem.attackers:
        known[who.cells[who.high <= who.low]] = True
    return known
