"""Who finds cuts (`protection_cuts`): minimum cuts on networks, elsewhere the duals of the attackers' programs.

In large tables that are no networks these programs look near the cell first (`local_separation`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker import (
    Attack,
    Boxes,
    CellNetwork,
    attack_on,
    is_network,
    residual,
    simplified,
    without_empty_rows,
    working_columns,
    working_equations,
)
from tablecloak.methods.unified.local_separation import LocalSeparator
from tablecloak.methods.unified.local_start import local_protection_cuts, separates_locally
from tablecloak.methods.unified.protection_cuts import ProtectionCut, Separator
from tablecloak.model import Problem, Requirement
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers.graphs import Network

SHORT = 1e-7
"""A level is missed if more than this share of it is missing."""
NOISE = 1e-9
"""Room and extents below this share of a level are rounding noise."""
BATCH = 500
"""Cuts that are turned into cuts at once."""
CHUNK = 4096
"""Between so many flows somebody looks at the clock."""


def protection_separator_of(problem: Problem) -> Separator:
    """The engine that fits the equations of the table and its size."""
    if is_network(problem):
        return NetworkProtectionSeparator(problem)
    whole = LinearProtectionSeparator(problem)
    return LocalSeparator(problem, whole) if separates_locally(problem) else whole


def initial_protection_cuts(
    problem: Problem, up: Floats, down: Floats, requirements: Sequence[Requirement], deadline: Deadline
) -> list[ProtectionCut]:
    """Proofs to start with where a unit of length costs so much; networks and small tables are quick without."""
    return (
        local_protection_cuts(problem, up, down, requirements, deadline) if separates_locally(problem) else []
    )


def _asked(
    below: Floats, above: Floats, requirements: Sequence[Requirement], extent: Floats
) -> tuple[list[int], Ints]:
    """The levels that are asked at all, and the cells that matter to them: those with room, and their own."""
    asked = [t for t in range(len(requirements)) if extent[t] > NOISE]
    support = (below > 0) | (above > 0)
    support[[requirements[t].cell for t in asked]] = True
    return asked, np.flatnonzero(support)


class _Queries(NamedTuple):
    """Questions to a network: requirement, direction, arc, whose room, level, and how much of it is asked."""

    requirement: Ints
    upward: Bools
    arc: Codes
    who: Codes
    level: Floats
    need: Floats

    def part(self, chosen: Ints) -> _Queries:
        """Some of them."""
        return _Queries(
            self.requirement[chosen],
            self.upward[chosen],
            self.arc[chosen],
            self.who[chosen],
            self.level[chosen],
            self.need[chosen],
        )


class NetworkProtectionSeparator:
    """Minimum cuts, the nearest to each end: rho is 1 for cells that leave the source side, -1 for cells that enter."""

    weighs_closed_cells = False

    def __init__(self, problem: Problem) -> None:
        self.boxes, self.graph = Boxes(problem), CellNetwork(problem)
        self.free = ~problem.forced
        cells = np.arange(self.free.size)
        ends = np.concatenate([self.graph.tail, self.graph.head])
        signs = np.repeat([1.0, -1.0], cells.size)
        shape = (self.graph.nodes, cells.size)
        self._incidence = csr_array((signs, (ends, np.tile(cells, 2))), shape=shape)

    def separate(
        self,
        below: Floats,
        above: Floats,
        requirements: Sequence[Requirement],
        *,
        extent: Floats,
        most: int,
        share: Floats | None = None,
        depth: int = 1,
        deadline: Deadline = NEVER,
    ) -> list[ProtectionCut]:
        asked, cells = _asked(below, above, requirements, extent)
        if not asked:
            return []
        who = sorted({requirements[t].attacker for t in asked})
        room = (
            np.array([np.minimum(self.boxes[k][1], above)[cells] for k in who]),
            np.array([np.minimum(self.boxes[k][0], below)[cells] for k in who]),
        )
        place = {t: who.index(requirements[t].attacker) for t in asked}
        if share is None or (share[cells] == 1.0).all():
            place = self._not_met(cells, room, place, requirements, extent, deadline)
        missed, found = self._pass(cells, room, place, requirements, extent, share, most)
        deeper = missed
        if depth > 1 and deeper:
            cells, room = self._room_each(below, above, [requirements[t] for t in missed], share)
        for _ in range(depth - 1):
            if not deeper or deadline.passed():
                break
            for row, t in enumerate(missed):
                self._raise(room, row, requirements[t], found[t])
            still = set(deeper)
            place = {t: row for row, t in enumerate(missed) if t in still}
            deeper, more = self._pass(cells, room, place, requirements, extent, None, most)
            for t in deeper:
                found[t] += more[t]
        return [cut for t in missed for cut in found[t]]

    def _not_met(
        self,
        cells: Ints,
        room: tuple[Floats, Floats],
        place: dict[int, int],
        requirements: Sequence[Requirement],
        extent: Floats,
        deadline: Deadline,
    ) -> dict[int, int]:
        """Without the levels that are met: where cells are touched wholly, flows for one network tell, and quickly.

        When the time is up the rest counts as met: the caller looks at the clock before it trusts this.
        """
        queries, got = self._queries(cells, place, requirements, extent), np.zeros(len(requirements))
        tail, head = self.graph.tail[cells], self.graph.head[cells]
        for attacker in np.unique(queries.who):
            network = Network(self.graph.nodes, tail, head, room[0][attacker], room[1][attacker])
            mine = np.flatnonzero(queries.who == attacker)
            for first in range(0, mine.size, CHUNK):
                part = mine[first : first + CHUNK]
                if deadline.passed():
                    got[queries.requirement[part]] = np.inf
                    continue
                up, need = queries.upward[part], queries.need[part]
                high, low, _ = network.settle(
                    queries.arc[part], np.where(up, need, 0.0), np.where(up, 0.0, need)
                )
                np.add.at(got, queries.requirement[part], np.where(up, high, low))
        return {t: row for t, row in place.items() if got[t] < requirements[t].level * (extent[t] - SHORT)}

    def _room_each(
        self, below: Floats, above: Floats, requirements: list[Requirement], share: Floats | None
    ) -> tuple[Ints, tuple[Floats, Floats]]:
        """Room of all cells, a row for each of the levels: it is raised where cuts were found."""
        touched = np.ones(below.size) if share is None else share
        up, down = (
            np.array(
                [
                    np.minimum(
                        np.minimum(self.boxes[requirement.attacker][side], room), requirement.level * touched
                    )
                    for requirement in requirements
                ]
            )
            for side, room in ((1, above), (0, below))
        )
        return np.arange(below.size), (up, down)

    def _raise(
        self, room: tuple[Floats, Floats], row: int, requirement: Requirement, cuts: list[ProtectionCut]
    ) -> None:
        down, up = self.boxes[requirement.attacker]
        for cut in cuts:
            inner = self.free[cut.cells]
            cells = cut.cells[inner]
            for side, used, box in ((room[0], cut.above, up), (room[1], cut.below, down)):
                raised = np.where(used[inner] > 0, np.minimum(box[cells], requirement.level), 0.0)
                side[row, cells] = np.maximum(side[row, cells], raised)

    def _pass(
        self,
        cells: Ints,
        room: tuple[Floats, Floats],
        place: dict[int, int],
        requirements: Sequence[Requirement],
        extent: Floats,
        share: Floats | None,
        most: int,
    ) -> tuple[list[int], dict[int, list[ProtectionCut]]]:
        """The levels that are missed, the worst first, and what proves it."""
        if not place:
            return [], {}
        queries = self._queries(cells, place, requirements, extent)
        at = np.ones(cells.size) if share is None else share[cells]
        up, down = room
        if share is not None:
            touched = np.where(at > 0, at, 1.0)
            up, down = up / touched, down / touched
        ones = np.ones(cells.size)
        own = np.where(queries.upward, up[queries.who, queries.arc], down[queries.who, queries.arc])
        limit = np.minimum(queries.need, np.minimum(own, queries.level) * at[queries.arc])
        network = Network(self.graph.nodes, self.graph.tail[cells], self.graph.head[cells], ones, ones)
        flows, near, far = network.least_cuts(
            queries.arc, queries.upward, limit, queries.level, queries.who, (up, down), at
        )
        got = np.zeros(len(requirements))
        np.add.at(got, queries.requirement, flows)
        levels = np.array([requirement.level for requirement in requirements])
        missed = [t for t in place if got[t] < levels[t] * (extent[t] - SHORT)]
        missed = sorted(missed, key=lambda t: got[t] / levels[t])[:most]
        chosen = np.flatnonzero(np.isin(queries.requirement, missed))
        binding = (flows >= limit * (1 - NOISE))[chosen]
        found: dict[int, list[ProtectionCut]] = {t: [] for t in missed}
        part = queries.part(chosen)
        for cuts in (near[chosen], far[chosen]):
            for t, cut in self._from_cuts(part, binding, cuts, requirements):
                if not any(_same(cut, other) for other in found[t]):
                    found[t].append(cut)
        return missed, found

    def _queries(
        self, cells: Ints, place: dict[int, int], requirements: Sequence[Requirement], extent: Floats
    ) -> _Queries:
        pairs = [(t, upward) for t in place for upward in requirements[t].directions]
        level = np.array([requirements[t].level for t, _ in pairs])
        return _Queries(
            np.array([t for t, _ in pairs]),
            np.array([upward for _, upward in pairs]),
            np.searchsorted(cells, [requirements[t].cell for t, _ in pairs]).astype(np.int32),
            np.array([place[t] for t, _ in pairs], dtype=np.int32),
            level,
            level * np.array([extent[t] for t, _ in pairs]),
        )

    def _from_cuts(
        self, queries: _Queries, binding: Bools, cuts: Bools, requirements: Sequence[Requirement]
    ) -> Iterator[tuple[int, ProtectionCut]]:
        """From the source sides of minimum cuts; where the cell's own room is the limit, that is the cut."""
        waiting: ProtectionCut | None = None
        for first in range(0, cuts.shape[0], BATCH):
            moves = self._crossing(cuts[first : first + BATCH])
            for q in range(moves.shape[0]):
                t = int(queries.requirement[first + q])
                cell, upward = requirements[t].cell, bool(queries.upward[first + q])
                part = slice(moves.indptr[q], moves.indptr[q + 1])
                cells, sign = moves.indices[part].astype(np.int64), moves.data[part]
                kept = (sign != 0.0) & (cells != cell)
                cells, sign = cells[kept], sign[kept]
                if binding[first + q]:
                    cells, sign = np.array([cell]), np.array([1.0 if upward else -1.0])
                cut = ProtectionCut(requirements[t], cells, np.maximum(sign, 0.0), np.maximum(-sign, 0.0))
                if len(requirements[t].directions) == 2 and waiting is None:
                    waiting = cut
                    continue
                yield t, cut if waiting is None else self._both(waiting, cut)
                waiting = None

    def _both(self, one: ProtectionCut, other: ProtectionCut) -> ProtectionCut:
        """The sum of what proves both sides of a sliding level."""
        above, below = np.zeros((2, self.free.size))
        for cut in (one, other):
            above[cut.cells] += cut.above
            below[cut.cells] += cut.below
        return _sparse(one.requirement, above, below)

    def _crossing(self, sides: Bools) -> csr_array:
        """For each source side the cells that leave it (1) and that enter it (-1): from the smaller side of the two."""
        large = 2 * sides.sum(axis=1) > sides.shape[1]
        smaller = csr_array(np.where(large[:, None], ~sides, sides).astype(float))
        smaller.data *= np.repeat(np.where(large, -1.0, 1.0), np.diff(smaller.indptr))
        return csr_array(smaller @ self._incidence)


class LinearProtectionSeparator:
    """Duals of the attackers' programs, over the cells that have any room."""

    weighs_closed_cells = False

    def __init__(self, problem: Problem) -> None:
        self.boxes = Boxes(problem)
        self.columns = working_columns(problem.table)
        self.transposed = csc_array(working_equations(problem.table)).T.tocsr()
        self._missed: dict[Requirement, int] = {}
        self._calls = 0

    def separate(
        self,
        below: Floats,
        above: Floats,
        requirements: Sequence[Requirement],
        *,
        extent: Floats,
        most: int,
        share: Floats | None = None,
        depth: int = 1,
        deadline: Deadline = NEVER,
    ) -> list[ProtectionCut]:
        order, cells = _asked(below, above, requirements, extent)
        if not order or deadline.passed():
            return []
        order.sort(key=lambda t: -self._missed.get(requirements[t], 0))
        matrix = self.columns[:, cells]
        used = np.unique(matrix.indices).astype(np.int64)
        attack = attack_on(without_empty_rows(csc_array(matrix)))
        self._calls += 1
        found: list[ProtectionCut] = []
        groups: dict[tuple[int, float], list[int]] = {}
        for t in order:
            groups.setdefault((requirements[t].attacker, _unit(requirements[t].level, share)), []).append(t)
        for (attacker, unit), group in groups.items():
            box = self.boxes[attacker]
            room = np.array([np.minimum(box[0], below)[cells], np.minimum(box[1], above)[cells]]) / unit
            if share is not None:
                room = np.minimum(room, share[cells])
            probe = _Probe(attack, cells, room)
            for t in group:
                if len(found) >= most or deadline.passed():
                    return found
                parts = probe.multipliers(requirements[t], (extent[t] - SHORT) * requirements[t].level / unit)
                if parts is not None:
                    self._missed[requirements[t]] = self._calls
                    found.append(self._cut(requirements[t], used, parts))
        return found

    def _cut(self, requirement: Requirement, used: Ints, sides: list[tuple[bool, Floats]]) -> ProtectionCut:
        """rho from multipliers; any are valid, so simple ones nearby are taken."""
        above, below = np.zeros((2, self.columns.shape[1]))
        for upward, duals in sides:
            multipliers = np.zeros(self.columns.shape[0])
            multipliers[used] = duals
            rho = residual(self.transposed, simplified(multipliers), requirement.cell, upward)
            above += np.maximum(rho, 0.0)
            below += np.maximum(-rho, 0.0)
        return _sparse(requirement, above, below)


def _unit(level: float, share: Floats | None) -> float:
    """What room is measured in: levels that are not far from each other share a program, unless room follows them."""
    return level if share is not None else 2.0 ** math.floor(math.log2(level))


class _Probe:
    """An attacker's program for some levels; deviations found for one of them may show that others are met too."""

    def __init__(self, attack: Attack, cells: Ints, room: Floats) -> None:
        self.attack, self.cells = attack, cells
        attack.set_bounds(-room[0], room[1])
        self.most_down, self.most_up = np.zeros((2, cells.size))

    def multipliers(self, requirement: Requirement, need: float) -> list[tuple[bool, Floats]] | None:
        """Multipliers for each direction if so much is missed; None if it is met."""
        place, got, parts = int(np.searchsorted(self.cells, requirement.cell)), 0.0, []
        known = {True: float(self.most_up[place]), False: float(self.most_down[place])}
        directions = requirement.directions
        if sum(known[upward] for upward in directions) >= need:
            return None
        for upward in directions:
            missing = need - got
            reached = self.attack.reach(place, upward, missing)
            self.most_up = np.maximum(self.most_up, self.attack.value)
            self.most_down = np.maximum(self.most_down, -self.attack.value)
            got = need if reached >= missing else got + reached
            if got >= need:
                return None
            parts.append((upward, self.attack.multipliers(place, upward)))
        return parts


def _same(one: ProtectionCut, other: ProtectionCut) -> bool:
    return (
        np.array_equal(one.cells, other.cells)
        and np.array_equal(one.above, other.above)
        and np.array_equal(one.below, other.below)
    )


def _sparse(requirement: Requirement, above: Floats, below: Floats) -> ProtectionCut:
    cells = np.flatnonzero((above > 0) | (below > 0))
    return ProtectionCut(requirement, cells, above[cells], below[cells])
