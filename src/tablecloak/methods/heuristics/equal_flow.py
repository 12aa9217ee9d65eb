"""Equal-flow shortest paths: deviations of grids of three or more dimensions, or of two with hierarchies in both.

Such a table is no network, but a *plane* of it is: one dimension with its whole hierarchy (*rows*) by one code of
another and its parts (*columns*), the other dimensions fixed. A table has many parallel planes, and a circulation of
one plane is a deviation of the table if the planes beside it carry equal flows:

- in a dimension outside the plane a *walk*: up from a leaf to some code and down to another leaf, or up to the root.
  The circulation runs in the plane of each code, forward on the way up and backward on the way down;
- below a column that has parts itself a *chain* of parts down to a leaf, and above the total of the columns the chain
  of totals up to the root: they carry the flow of their column.

So an arc of the plane is a *bundle* of cells, one for each code of the chain and of the walks, which all move by the
same amount, up or down. Its price is what hiding its cells costs, its capacity that of its tightest cell. The cheapest
path that closes a circulation with the bundle of cell p is a shortest path with equal flows (Ahuja et al. 1999; Calvete
2003), found by Dijkstra's algorithm. Walks come from a cheap hypercube through p, so that a path is never dearer than
the hypercube at these walks; all planes through p are tried, and the chain of the smallest and of the largest parts.

What is found is checked against the equations of the table. Where there is no path nothing follows: there may be
deviations of another form.

Reference: Castro (2007), section 7, names two hierarchies and equal-flow shortest paths as an open extension; Giessing
& Repsilber (2002) for hypercubes. Planes, bundles and walks are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Cubes, EquationBlock, structure_of, working_columns
from tablecloak.model import Problem
from tablecloak.solvers import kernels


@dataclass(frozen=True)
class EqualFlowSettings:
    """Effort of the search for equal-flow paths."""

    starts: int = 4
    """Number of orders of the dimensions in which a hypercube is sought. Untested default."""
    halvings: int = 6
    """How often the amount of a path is halved where there is no path for it, before linear programs. Untested
    default."""
    least_share: float = 1e-6
    """Share of the amount for which a hypercube must have room to lend its walks, where none has room for all of it.
    Untested default."""
    max_bundle_cells: int = 4_000_000
    """Maximum number of cells of the bundles of a plane; larger planes are left out. Untested default."""


class Circulation(NamedTuple):
    """Cells that move together by one amount: sorted, with the sign of each; that of the required cell is +1."""

    cells: Ints
    signs: Floats


class PathPrices(NamedTuple):
    """What cells cost and how far they can move; `FORBIDDEN` prices exclude cells."""

    price: Floats
    up: Floats
    down: Floats


class EqualFlowPaths:
    """Shortest equal-flow circulations through cells of one grid."""

    def __init__(self, problem: Problem, settings: EqualFlowSettings = EqualFlowSettings()) -> None:
        block = grid_block(problem)
        assert block is not None and block.grid is not None
        self.settings, self.columns = settings, csc_array(working_columns(problem.table))
        self.parents = [np.asarray(parents, dtype=np.int64) for parents in block.grid.parents]
        self.depth = [np.asarray(depth, dtype=np.int64) for depth in block.grid.depth]
        self.children = [_children(parents) for parents in self.parents]
        shape, levels = np.array(block.grid.shape), np.array(block.grid.levels) + 1
        self.stride, self.kind_stride = _strides(shape), _strides(levels)
        self.coordinates = np.full((self.columns.shape[1], shape.size), -1, dtype=np.int64)
        self.coordinates[block.cells] = block.grid.coordinates
        self.place = np.full(int(shape.prod()), -1, dtype=np.int64)
        self.place[self.coordinates[block.cells] @ self.stride] = block.cells
        self.there = np.zeros(int(levels.prod()), dtype=bool)
        kinds = np.stack([self.depth[d][self.coordinates[block.cells, d]] for d in range(shape.size)], axis=1)
        self.there[kinds @ self.kind_stride] = True
        self.cubes = Cubes(block.grid, block.cells, working_columns(problem.table))
        sizes = np.abs(problem.table.values)
        self.weight_of_code = [
            np.bincount(self.coordinates[block.cells, d], sizes[block.cells], minlength=shape[d])
            for d in range(shape.size)
        ]
        self.found = self.planes = self.better = 0
        """Number of circulations found, of planes searched, and of circulations cheaper than every hypercube."""

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the equations are those of one grid, within the limits of memory."""
        block = grid_block(problem)
        return block is not None and block.grid is not None and Cubes.fits(block.grid)

    def cheapest(self, cell: int, need: float, prices: PathPrices, seed: int) -> Circulation | None:
        """A cheap circulation in which `cell` rises by `need`; None if none was found.

        For a level below the cell exchange `up` and `down`.
        """
        if self.coordinates[cell, 0] < 0:
            return None
        best, cost, beaten = self._cube(cell, need, prices, seed), np.inf, False
        if best is not None:
            cost = float(prices.price[best.cells].sum())
        walks = self._walks(cell, best or self._cube(cell, need * self.settings.least_share, prices, seed))
        for rows, columns in permutations(range(len(self.parents)), 2) if walks is not None else ():
            if min(self.parents[rows].size, self.parents[columns].size) < 2:
                continue
            for largest in (False, True) if self.depth[columns][-1] > 1 else (False,):
                assert walks is not None
                found = self._in_plane(cell, need, prices, (rows, columns, largest), walks)
                if found is not None and float(prices.price[found.cells].sum()) < cost:
                    best, cost = found, float(prices.price[found.cells].sum())
                    beaten = True
        self.found += best is not None
        self.better += beaten
        return best

    def _cube(self, cell: int, need: float, prices: PathPrices, seed: int) -> Circulation | None:
        starts = self.settings.starts
        cube = self.cubes.cheapest(cell, need, prices.price, prices.up, prices.down, starts, seed)
        return None if cube is None else Circulation(cube.cells, cube.signs.astype(np.float64))

    # ------------------------------------------------------------------ walks and chains

    def _walks(self, cell: int, cube: Circulation | None) -> list[tuple[Ints, Floats]] | None:
        """By dimension the codes of a hypercube, with their signs; None where a marginal is missing that would tell.

        In two dimensions all of them are in the plane, and no walk is needed.
        """
        own, walks = self.coordinates[cell], list[tuple[Ints, Floats]]()
        if own.size == 2:
            return [(own[d : d + 1], np.ones(1)) for d in range(2)]
        if cube is None:
            return None
        for d in range(own.size):
            codes = np.unique(self.coordinates[cube.cells, d])
            places = self.place[own @ self.stride + (codes - own[d]) * self.stride[d]]
            at = np.searchsorted(cube.cells, places)
            if (places < 0).any() or (at == cube.cells.size).any() or (cube.cells[at] != places).any():
                return None
            walks.append((codes, cube.signs[at]))
        return walks

    def _column_codes(self, cell: int, dimension: int, largest: bool) -> tuple[list[list[int]], int]:
        """The codes of each column, the total last, and which column has the cell."""
        own, parents = int(self.coordinates[cell, dimension]), self.parents[dimension]
        above = own if parents[own] < 0 else int(parents[own])
        columns = [self._chain(child, dimension, largest) for child in self.children[dimension][above]]
        total = [above]
        while parents[total[-1]] >= 0:
            total.append(int(parents[total[-1]]))
        mine = len(columns) if own == above else self.children[dimension][above].index(own)
        return [*columns, total], mine

    def _chain(self, code: int, dimension: int, largest: bool) -> list[int]:
        """A code, one of its parts, one of the parts of that, down to a leaf."""
        chain, children, weight = [code], self.children[dimension], self.weight_of_code[dimension]
        while children[chain[-1]]:
            key = children[chain[-1]]
            positive = [one for one in key if weight[one] > 0] or key
            chain.append((max if largest else min)(positive, key=lambda one: weight[one]))
        return chain

    # ------------------------------------------------------------------ one plane

    def _in_plane(
        self,
        cell: int,
        need: float,
        prices: PathPrices,
        plane: tuple[int, int, bool],
        walks: list[tuple[Ints, Floats]],
    ) -> Circulation | None:
        """The cheapest circulation of a plane with equal flows beside it."""
        rows, columns, largest = plane
        codes, mine = self._column_codes(cell, columns, largest)
        bundles = self._bundles(cell, plane, [np.array(one) for one in codes], walks)
        if bundles is None:
            return None
        self.planes += 1
        forward, backward = bundles.costs(prices, need)
        tail, head = _plane_arcs(self.parents[rows], self.children[rows], len(codes))
        own = int(self.coordinates[cell, rows]) * len(codes) + mine
        if not np.isfinite(forward[own]):
            return None
        path = _shortest(tail, head, forward, backward, own)
        if path is None:
            return None
        arcs, ways = path
        found = bundles.moved(arcs, ways)
        balance = self.columns[:, found.cells] @ found.signs
        at = np.searchsorted(found.cells, cell)
        return found if not balance.any() and found.signs[at] == 1 else None

    def _bundles(
        self, cell: int, plane: tuple[int, int, bool], codes: list[Ints], walks: list[tuple[Ints, Floats]]
    ) -> _Bundles | None:
        """The cells of each arc of a plane: rows by columns, by the codes of chains and walks."""
        rows, columns, _ = plane
        count = self.parents[rows].size
        offset, kind, sign = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones(1)
        for d, (own, signs) in enumerate(walks):
            if d in (rows, columns):
                continue
            offset = np.add.outer(offset, own * self.stride[d]).ravel()
            kind = np.add.outer(kind, self.depth[d][own] * self.kind_stride[d]).ravel()
            sign = np.multiply.outer(sign, signs).ravel()
        every = np.concatenate(codes)
        if count * every.size * offset.size > self.settings.max_bundle_cells:
            return None
        row = np.arange(count)
        places = self.place[
            (row * self.stride[rows])[:, None, None]
            + (every * self.stride[columns])[None, :, None]
            + offset[None, None, :]
        ]
        kinds = self.there[
            (self.depth[rows] * self.kind_stride[rows])[:, None, None]
            + (self.depth[columns][every] * self.kind_stride[columns])[None, :, None]
            + kind[None, None, :]
        ]
        starts = np.concatenate([[0], np.cumsum([one.size for one in codes])[:-1]])
        return _Bundles(places, kinds & (places < 0), np.broadcast_to(sign, places.shape), starts)


class _Bundles(NamedTuple):
    """Bundles of cells: rows by codes of columns by walks, of which `starts` are where columns begin."""

    places: Ints
    """The cells, -1 where there is none."""
    hole: Bools
    """Where a cell is missing though others of its kind are there: it cannot move."""
    sign: Floats
    starts: Ints

    def costs(self, prices: PathPrices, need: float) -> tuple[Floats, Floats]:
        """By arc (row by column) what it costs forward and backward; infinite where `need` is too much."""
        here = self.places >= 0
        cells = np.where(here, self.places, 0)
        price = np.where(here, prices.price[cells], 0.0)
        bad = self.hole | (here & (price >= kernels.FORBIDDEN))
        up, down = prices.up[cells], prices.down[cells]
        found = []
        for rises, falls in ((up, down), (down, up)):
            capacity = np.where(here, np.where(self.sign > 0, rises, falls), np.inf)
            worst = (bad | (capacity < need)).any(axis=2)
            total = np.add.reduceat(price.sum(axis=2), self.starts, axis=1)
            shut = np.logical_or.reduceat(worst, self.starts, axis=1)
            found.append(np.where(shut, np.inf, total).ravel())
        return found[0], found[1]

    def moved(self, arcs: Ints, ways: Floats) -> Circulation:
        """The cells of some arcs, which move forward (1) or backward (-1)."""
        columns = self.starts.size
        ends = np.append(self.starts[1:], self.places.shape[1])
        cells, signs = [], []
        for arc, way in zip(arcs.tolist(), ways.tolist(), strict=True):
            row, column = divmod(arc, columns)
            at = slice(self.starts[column], ends[column])
            cells.append(self.places[row, at].ravel())
            signs.append(way * self.sign[row, at].ravel())
        every, moves = np.concatenate(cells), np.concatenate(signs)
        every, moves = every[every >= 0], moves[every >= 0]
        order = np.argsort(every, kind="stable")
        return Circulation(every[order], moves[order])


def grid_block(problem: Problem) -> EquationBlock | None:
    """The one grid that the equations of a non-network table are those of; None for other tables."""
    blocks = [block for block in structure_of(problem.table).blocks if block.kind != "free"]
    if len(blocks) != 1 or blocks[0].grid is None or blocks[0].orientation is not None:
        return None
    return blocks[0]


def _children(parents: Ints) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in range(parents.size)]
    for code in range(1, parents.size):
        children[int(parents[code])].append(code)
    return children


def _strides(shape: Ints) -> Ints:
    stride = np.ones(shape.size, dtype=np.int64)
    stride[:-1] = np.cumprod(shape[:0:-1])[::-1]
    return stride


def _plane_arcs(parents: Ints, children: list[list[int]], columns: int) -> tuple[Ints, Ints]:
    """Tail and head of the arcs of a plane, rows by columns of which the last is the total.

    Nodes: the leaf rows and the root row, and every inner row by column: the equation of its parts in that column. The
    other row equations follow from these.
    """
    count = parents.size
    code = np.arange(count)
    leaf = np.array([not parts for parts in children])
    inner = count + code[:, None] * columns + np.arange(columns)[None, :]
    low = np.where(leaf[:, None], code[:, None], inner)
    high = np.where(parents[:, None] >= 0, inner[parents], 0)
    tail, head = low.copy(), high
    tail[:, -1], head[:, -1] = high[:, -1].copy(), low[:, -1].copy()
    return tail.ravel(), head.ravel()


def _shortest(
    tail: Ints, head: Ints, forward: Floats, backward: Floats, own: int
) -> tuple[Ints, Floats] | None:
    """The cheapest circulation with one arc forward: arcs and whether they run forward (1) or backward (-1)."""
    from scipy.sparse.csgraph import dijkstra

    arc = np.arange(tail.size)
    with_it, against = np.isfinite(forward) & (arc != own), np.isfinite(backward) & (arc != own)
    start = np.concatenate([tail[with_it], head[against]])
    end = np.concatenate([head[with_it], tail[against]])
    which = np.concatenate([arc[with_it], arc[against]])
    way = np.repeat([1.0, -1.0], [int(with_it.sum()), int(against.sum())])
    cost = np.concatenate([forward[with_it], backward[against]])
    least = cost[cost > 0].min(initial=1.0) * 1e-6 / max(tail.size, 1)
    nodes = int(max(tail.max(), head.max())) + 1
    graph = csr_array((cost + least, (start, end)), shape=(nodes, nodes))
    distance, before = dijkstra(graph, indices=[int(head[own])], return_predecessors=True)
    if not np.isfinite(distance[0, tail[own]]):
        return None
    arcs, ways, at = [own], [1.0], int(tail[own])
    while at != int(head[own]):
        edge = int(np.flatnonzero((start == before[0, at]) & (end == at))[0])
        arcs.append(int(which[edge]))
        ways.append(float(way[edge]))
        at = int(before[0, at])
    return np.array(arcs), np.array(ways)


def amounts_tried(need: float, settings: EqualFlowSettings) -> Iterator[float]:
    """The need, and halves of it."""
    for _ in range(settings.halvings + 1):
        yield need
        need /= 2
