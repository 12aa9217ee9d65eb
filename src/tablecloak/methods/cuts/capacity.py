"""Capacity rows that a point misses: what attackers could still exclude if cells were hidden to the extent x.

For level L of cell p (upper side) and any multipliers y of the equations M d = 0

    d_p = d_p - y'M d = sum_i rho_i d_i <= sum_i (rho_i^+ UB_i + rho_i^- LB_i) x_i,    rho_i = [i = p] - (M'y)_i,

so a safe pattern has  sum_i c_i x_i >= L  with c_i = rho_i^+ UB_i + rho_i^- LB_i  (LB_i, UB_i: how far below and above
its true value the attacker's box lets cell i be). The best y at a point x comes from the attacker's linear program with
bounds min(LB_i, L) x_i and min(UB_i, L) x_i: on networks a minimum cut (y is the indicator of its source side),
elsewhere the duals of a warm program. A sliding level takes the sum of the rows of both sides.

The cover of a row with cells U asks r = L - c(U) of the others, min(c_i, r) each. The row with the best cover is seldom
the one that is missed most, so on networks covers are looked for by minimum cuts of their own: capacities c_i for the
cells U, those above some x, and min(c_i, r) x_i for the others. The rest r is guessed, then taken from the cut found.

References: Fischetti & Salazar (2001), Salazar (2002) section 5; design semantics 6 for pattern rows; Carr, Fleischer,
Leung & Phillips (2000) for knapsack covers and their separation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Floats, Ints
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
from tablecloak.methods.cuts.aggregation import Aggregation
from tablecloak.methods.cuts.cut import Cut, capacity_cut, covered, no_good_cut, strengthened
from tablecloak.methods.cuts.minimum_cuts import LEAST, SUPPORT, WHOLE, LevelCuts, is_whole, snapped
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import NEVER, Deadline

CUT_ENTRIES = 200_000_000
"""So many levels times nodes are asked at a time: each takes two bytes."""
PASSES = 3
"""The rest of a cover is guessed once and taken from the last cut after that, with so many cuts in all."""


class Cover(NamedTuple):
    """Which covers are looked for: U, the cells hidden to more than this extent; the first guess of r, in levels."""

    above: float
    rest: float


COVERS = tuple(Cover(above, rest) for rest in (0.7, 0.4, 0.2, 0.1) for above in (0.95, 0.7, 0.5))
"""The kinds of covers that are looked for."""


class CapacitySeparator(Protocol):
    """Finds rows that a point misses."""

    boxes: Boxes
    worst: Requirement | None
    """A level that the last point missed, if there was one."""

    def separate(
        self, x: Floats, requirements: Sequence[Requirement], *, most: int, deadline: Deadline = NEVER
    ) -> list[Cut]:
        """Rows missed at x, for at most `most` of the requirements.

        None at a whole point: it meets them all on networks in whole data units, elsewhere as far as floats tell.
        """

    def weakest_no_good(self, requirement: Requirement, x: Floats) -> Cut:
        """A row that a whole point misses which is known not to meet a level."""


def capacity_separator_of(
    problem: Problem, allowed: Bools, aggregation: Aggregation | None = None
) -> CapacitySeparator:
    """The engine that fits the equations of the table. Rows are over the leaders of twins, points over all cells."""
    engine = NetworkSeparator if is_network(problem) else LinearSeparator
    return engine(problem, allowed, aggregation)


class _Base:
    """What both engines know."""

    def __init__(self, problem: Problem, allowed: Bools, aggregation: Aggregation | None = None) -> None:
        self.problem, self.hidden = problem, problem.must_hide
        self.aggregation = Aggregation.identity(allowed.size) if aggregation is None else aggregation
        self.allowed: Bools = allowed & self.aggregation.represents
        self.boxes = Boxes(problem)
        self.worst: Requirement | None = None

    def _row(self, requirement: Requirement, carried: Floats) -> Cut | None:
        """The capacity row over leaders; None if the cells that are hidden anyway meet it."""
        together = self.aggregation.summed(carried)
        return capacity_cut(
            together, requirement.level, self.hidden, self.allowed, self._only_if(requirement)
        )

    def _only_if(self, requirement: Requirement) -> int | None:
        """The level of a cell that need not be hidden is asked only if it is."""
        return (
            None if self.hidden[requirement.cell] else int(self.aggregation.representative[requirement.cell])
        )

    def _asked(self, requirements: Sequence[Requirement], x: Floats) -> Floats:
        """To what extent each level is asked at x."""
        cells = np.array([requirement.cell for requirement in requirements], dtype=np.int64)
        return np.where(self.hidden[cells], 1.0, x[cells])

    def _worth_adding(self, requirement: Requirement, carried: Floats, x: Floats, whole: bool) -> list[Cut]:
        """A row and what sharpens it, as far as the point misses them; at a whole point what proves that it does."""
        row = self._row(requirement, carried)
        if whole:
            together = self.aggregation.summed(carried)
            proof = no_good_cut(
                together, requirement.level, self.hidden | (x > 0.5), self.allowed, self._only_if(requirement)
            )
            return [] if proof is None else [proof] if row is None else [row, proof]
        return [row, *strengthened(row, x, LEAST)] if row is not None and row.violation(x) > LEAST else []

    def weakest_no_good(self, requirement: Requirement, x: Floats) -> Cut:
        """Where a level is missed at a whole point, though no row shows it: one cell more must be hidden."""
        cells, only_if = np.flatnonzero(self.allowed & ~self.hidden & (x < 0.5)), self._only_if(requirement)
        if only_if is None:
            return Cut(cells, np.ones(cells.size), 1.0, "no good")
        both = np.union1d(cells, [only_if])
        return Cut(both, np.where(both == only_if, -1.0, 1.0), 0.0, "no good")


class NetworkSeparator(_Base):
    """Minimum cuts. Both the one nearest to the source and the one nearest to the sink become rows."""

    def __init__(self, problem: Problem, allowed: Bools, aggregation: Aggregation | None = None) -> None:
        super().__init__(problem, allowed, aggregation)
        self.graph = graph = CellNetwork(problem)
        self.tail, self.head, self.nodes = graph.tail, graph.head, graph.nodes
        self._from = 0

    def separate(
        self, x: Floats, requirements: Sequence[Requirement], *, most: int, deadline: Deadline = NEVER
    ) -> list[Cut]:
        """In portions whose cuts fit into memory, until enough levels are missed; the next call goes on from there."""
        x = snapped(x)
        size = max(1, CUT_ENTRIES // self.nodes)
        if size >= len(requirements):
            return self._rows(x, requirements, most, deadline)[0]
        found: list[Cut] = []
        missed = 0
        starts = range(0, len(requirements), size)
        first, worst = self._from % len(starts), None
        for k in (*starts[first:], *starts[:first]):
            rows, count = self._rows(x, requirements[k : k + size], most - missed, deadline)
            found, missed, worst = found + rows, missed + count, worst or self.worst
            self._from = k // size
            if missed >= most or (found and deadline.passed()):
                break
        self.worst = worst
        return found

    def _rows(
        self, x: Floats, requirements: Sequence[Requirement], most: int, deadline: Deadline
    ) -> tuple[list[Cut], int]:
        """Rows, and of how many levels."""
        cuts = self._cuts(x, requirements)
        found: list[Cut] = []
        order = cuts.missed()[:most]
        self.worst = cuts.requirements[order[0]] if order.size else None
        for t in order.tolist():
            if found and deadline.passed():
                break
            for carried in cuts.carried(t):
                found += self._worth_adding(cuts.requirements[t], carried, x, cuts.whole)
        return found, order.size

    def _cuts(
        self, x: Floats, requirements: Sequence[Requirement], rest: Sequence[float] | None = None
    ) -> LevelCuts:
        return LevelCuts(self.graph, self.boxes, self.hidden, x, requirements, rest)

    def covers(
        self,
        x: Floats,
        requirements: Sequence[Requirement],
        cover: Cover,
        *,
        most: int,
        deadline: Deadline = NEVER,
    ) -> list[Cut]:
        """Covers that a fractional point misses, of at most `most` levels; none if there are too many levels."""
        found: list[Cut] = []
        if len(requirements) * self.nodes > CUT_ENTRIES:
            return found
        requirements, moved = (
            [requirement for requirement in requirements if self.hidden[requirement.cell]],
            (x > cover.above) | self.hidden,
        )
        rest = {requirement: cover.rest * requirement.level for requirement in requirements}
        for _ in range(PASSES):
            cuts = self._cuts(
                np.where(moved, 1.0, x), requirements, [rest[requirement] for requirement in requirements]
            )
            again = []
            for t in cuts.missed()[:most].tolist():
                if deadline.passed():
                    return found
                requirement = cuts.requirements[t]
                left = rest[requirement]
                for carried in cuts.carried(t):
                    row = self._row(requirement, carried)
                    cover_of = None if row is None else covered(row, x[row.cells] > cover.above)
                    if row is None or cover_of is None:
                        continue
                    rows = [row, cover_of, *strengthened(row, x, LEAST), *strengthened(cover_of, x, LEAST)]
                    found += [row for row in rows if row.violation(x) > LEAST]
                    left = min(left, requirement.level - float(carried[moved].sum()))
                if left < rest[requirement] * (1 - 1e-9):
                    rest[requirement] = left
                    again.append(requirement)
            if not again:
                break
            requirements = again
        return found

    def star_cuts(self, requirements: Sequence[Requirement]) -> list[Cut]:
        """The cuts around both ends of each level's cell, that is the rows of its equations: short ones to begin with.

        Of upper and lower levels; none where cells are twins.
        """
        if not self.aggregation.represents.all():
            return []
        leaving, entering = (_grouped(ends, self.nodes) for ends in (self.tail, self.head))
        found = []
        for requirement in requirements:
            if requirement.side is Side.SLIDE or not self.hidden[requirement.cell]:
                continue
            down, up = self.boxes[requirement.attacker]
            first, second = (up, down) if requirement.side is Side.UP else (down, up)
            for node, (out, back) in {
                int(self.head[requirement.cell]): (first, second),
                int(self.tail[requirement.cell]): (second, first),
            }.items():
                cells = np.concatenate([leaving[node], entering[node]])
                carried = np.concatenate([out[leaving[node]], back[entering[node]]])
                carried[cells == requirement.cell] = 0.0
                order = np.argsort(cells, kind="stable")
                cells, carried = cells[order], carried[order]
                row = capacity_cut(carried, requirement.level, self.hidden[cells], self.allowed[cells])
                if row is not None:
                    found.append(replace(row, cells=cells[row.cells]))
        return found


def _grouped(ends: NDArray[np.int32], nodes: int) -> list[Ints]:
    """The arcs of each node."""
    order = np.argsort(ends, kind="stable")
    return np.split(order, np.searchsorted(ends[order], np.arange(1, nodes)))


class CoverSeparator:
    """Covers of one kind after the other. Levels that any single cell could meet have none."""

    def __init__(self, separator: NetworkSeparator, requirements: Sequence[Requirement]) -> None:
        self.separator, self._turn = separator, 0
        free = separator.allowed & ~separator.hidden
        boxes = {
            attacker: separator.boxes[attacker]
            for attacker in {requirement.attacker for requirement in requirements}
        }
        least = {
            attacker: min(float(side[free].min(initial=np.inf)) for side in box)
            for attacker, box in boxes.items()
        }
        self.requirements = [
            requirement for requirement in requirements if requirement.level > least[requirement.attacker]
        ]

    def separate(
        self, x: Floats, *, most: int, kinds: int | None = None, deadline: Deadline = NEVER
    ) -> list[Cut]:
        """Those of the first kind of which some are missed; at most so many `kinds` are tried, all if not said."""
        rows: list[Cut] = []
        if not self.requirements:
            return rows
        for _ in range(len(COVERS) if kinds is None else kinds):
            cover = COVERS[self._turn % len(COVERS)]
            self._turn += 1
            rows = self.separator.covers(x, self.requirements, cover, most=most, deadline=deadline)
            if rows or deadline.passed():
                break
        return rows


class LinearSeparator(_Base):
    """Multipliers from the attackers' programs, over the support of the point only.

    Levels are asked lazily: those missed lately first, and no more once enough are missed.
    """

    def __init__(self, problem: Problem, allowed: Bools, aggregation: Aggregation | None = None) -> None:
        super().__init__(problem, allowed, aggregation)
        self.columns = working_columns(problem.table)
        self.transposed = csc_array(working_equations(problem.table)).T.tocsr()
        self._missed: dict[Requirement, int] = {}
        self._calls = 0

    def separate(
        self, x: Floats, requirements: Sequence[Requirement], *, most: int, deadline: Deadline = NEVER
    ) -> list[Cut]:
        x = snapped(x)
        cells = np.flatnonzero((x > SUPPORT) | self.hidden)
        at = np.where(self.hidden[cells], 1.0, np.minimum(x[cells], 1.0))
        whole = is_whole(at)
        matrix = self.columns[:, cells]
        used = np.unique(matrix.indices).astype(np.int64)
        attack = attack_on(without_empty_rows(csc_array(matrix)))
        found: list[Cut] = []
        asked = [
            requirement
            for requirement in requirements
            if self.hidden[requirement.cell] or x[requirement.cell] > SUPPORT
        ]
        asked.sort(key=lambda requirement: -self._missed.get(requirement, 0))
        self._calls += 1
        for group in _by_attacker_and_level(asked):
            probe = _Probe(attack, cells, at, self.boxes[group[0].attacker], group[0].level, whole)
            for requirement in group:
                if len(found) >= most or deadline.passed():
                    break
                extent = 1.0 if self.hidden[requirement.cell] else float(x[requirement.cell])
                multipliers = probe.multipliers(requirement, extent)
                if multipliers is None:
                    continue
                self.worst, self._missed[requirement] = requirement, self._calls
                carried = np.zeros(x.size)
                for upward, duals in zip(requirement.directions, multipliers, strict=True):
                    carried += self._carried(requirement, used, duals, upward)
                found += self._worth_adding(requirement, carried, x, whole)
        return found

    def _carried(self, requirement: Requirement, used: Ints, duals: Floats, upward: bool) -> Floats:
        """c_i from multipliers of the equations; any multipliers are valid, so simple ones nearby are taken."""
        multipliers = np.zeros(self.columns.shape[0])
        multipliers[used] = duals
        rho = residual(self.transposed, simplified(multipliers), requirement.cell, upward)
        down, up = self.boxes[requirement.attacker]
        carried = np.zeros(rho.size)
        rising, falling = rho > 0, rho < 0
        carried[rising] = rho[rising] * up[rising]
        carried[falling] = -rho[falling] * down[falling]
        return carried


def _by_attacker_and_level(requirements: Sequence[Requirement]) -> list[list[Requirement]]:
    """Requirements that can share one program, in units of the level."""
    groups: dict[tuple[int, float], list[Requirement]] = {}
    for requirement in requirements:
        groups.setdefault((requirement.attacker, requirement.level), []).append(requirement)
    return list(groups.values())


class _Probe:
    """An attacker's program over the support of a point, in units of a level so that numbers stay near 1."""

    def __init__(
        self, attack: Attack, cells: Ints, at: Floats, box: tuple[Floats, Floats], level: float, whole: bool
    ) -> None:
        self.attack, self.cells = attack, cells
        self.slack = WHOLE if whole else LEAST
        down, up = (side[cells] / level for side in box)
        if not whole:
            down, up = np.minimum(down, 1.0) * at, np.minimum(up, 1.0) * at
        attack.set_bounds(-down, up)
        self.most_up, self.most_down = np.zeros((2, cells.size))

    def multipliers(self, requirement: Requirement, extent: float) -> list[Floats] | None:
        """Multipliers for each direction if the level (times `extent`) is missed; None if it is met."""
        place = int(np.searchsorted(self.cells, requirement.cell))
        need = extent - self.slack
        if self._known(requirement, place) >= need:
            return None
        got, duals = 0.0, []
        for upward in requirement.directions:
            missing = need - got
            reached = self.attack.reach(place, upward, missing)
            got = need if reached >= missing else got + reached
            self.most_up = np.maximum(self.most_up, self.attack.value)
            self.most_down = np.maximum(self.most_down, -self.attack.value)
            if got >= need:
                return None
            duals.append(self.attack.multipliers(place, upward))
        return duals

    def _known(self, requirement: Requirement, place: int) -> float:
        """What deviations found so far give the level."""
        up, down = float(self.most_up[place]), float(self.most_down[place])
        return {Side.UP: up, Side.DOWN: down, Side.SLIDE: up + down}[requirement.side]
