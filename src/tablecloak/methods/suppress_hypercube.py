"""suppress-hypercube: each sensitive cell gets a hypercube of hidden cells in each subtable, until nothing changes.

GHMITER, the hypercube method of tau-ARGUS. In a table without hierarchies (`attacker.subtables`) a cell and one that
differs from it in every dimension span a hypercube: the cells that have in each dimension the code of the one or of the
other. They move together by the same amount, two parts of a line against each other, a part and its total along:

    rise = min of what each cell can move in its direction,   fall = min of what it can move against it

From the top of the hierarchies down, for each sensitive cell and each cell that another subtable hides:

1. Its hypercubes are those without forced cells and without cells that cannot move.
2. A hypercube is wide enough if rise + fall reaches the width that is asked (`protection="sliding"`), or rise and fall
   each their level ("symmetric"). Cells that another subtable hides ask for `ratio` of their value.
3. Nothing is to be done where a hypercube of hidden cells is wide enough. Else the one is hidden that comes first by:
   fewest cells of other single respondents, fewest new cells, least cost (the sum of log(1 + weight), margins dearer).
4. One that has cells of other single respondents gets a second one without them beside it.
5. Where none is wide enough the width that is asked is divided by 2, 3, ... 10, and then left out.

All subtables are visited again until nothing changes: cells in several of them carry what one hides to the others.
Each cell is protected by one hypercube in each subtable, which is a deviation of that subtable and not of the whole
table: what the whole leaves open is found by the audit and repaired (`heuristics.sequential`).

Additions: any number of dimensions, linked tables and tables of any equations that have lines, sliding levels, signs by
totals, and the deviation bounds of the outsider. Other attackers and virtual cells are left to the repair.

References: Repsilber (2002), Sicherung persoenlicher Angaben in Tabellendaten; Giessing & Repsilber (2002), Tools and
strategies to protect multiple tables with the GHQUAR cell suppression engine; tau-ARGUS user's manual 4.1, section 2.9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import DeviationBounds, HierarchicalSubtable, Subtables
from tablecloak.methods.base import Proposal, refuse_non_monotone
from tablecloak.methods.heuristics import OneByOneParams, Own, Requests, one_by_one
from tablecloak.model import Problem
from tablecloak.progress import Progress


@dataclass(frozen=True)
class HypercubeParams(OneByOneParams):
    """Parameters of suppress-hypercube."""

    protection: Literal["sliding", "symmetric"] = "sliding"
    """What a hypercube must give: the sum of both sides of a level, or each of them."""
    ratio: float = 0.2
    """The width that cells hidden by other subtables ask for, as a share of their value."""
    singletons: bool = True
    """Protect against single respondents, where respondents are known: step 4."""
    costs: Literal["log", "weight"] = "log"
    """The cost of a cell: the logarithm of its weight, or the weight itself."""
    a_priori: float | None = None
    """Everybody is taken to know all values up to this share; None: what the outsider knows."""


@dataclass(frozen=True)
class CubeChoiceSettings:
    """What the method's reports leave open."""

    margin_cost: float = 1e6
    """The cost of a margin, in multiples of the largest of another cell: margins only where nothing else does."""
    divisors: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, np.inf)
    """What the width that is asked is divided by, one after the other: those of tau-ARGUS."""


def suppress_hypercube(
    problem: Problem,
    *,
    params: HypercubeParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """An audited suppression of a table without conditional levels and bounds on the number of touched cells."""
    params.check(
        {
            "ratio must not be negative": params.ratio < 0,
            "a_priori must be positive": params.a_priori is not None and params.a_priori <= 0,
        }
    )
    refuse_non_monotone(problem, "suppress-hypercube")
    return one_by_one(problem, params, rng, progress, partial(_build, params), "hypercubes in subtables")


def _build(params: HypercubeParams, requests: Requests) -> Own:
    """Visit subtables from the top down, again and again, until no cell is hidden any more."""
    state = _State(requests, params)
    whole = requests.problem.table
    places = [place for place in Subtables(whole).hierarchical() if any(place.sizes)]
    tables = [_Product(place, whole.is_virtual) for place in _largest(places)]
    state.counts["subtables"] = len(tables)
    while not requests.deadline.passed():
        before = int(state.hidden.sum())
        state.counts["passes"] += 1
        for number, table in enumerate(tables):
            if requests.deadline.passed():
                break
            requests.progress("hypercubes", number, len(tables))
            state.visit(table, number)
        if int(state.hidden.sum()) == before:
            break
    return Own(state.hidden.copy(), state.counts)


def _largest(tables: list[HierarchicalSubtable]) -> Iterator[HierarchicalSubtable]:
    """The subtables whose cells are not all in another one."""
    if not tables:
        return iter(())
    sizes = np.array([len(table.system) for table in tables])
    cells = np.concatenate([table.system.cells for table in tables])
    row = np.repeat(np.arange(len(tables)), sizes)
    inside = csr_array((np.ones(cells.size), (row, cells)))
    shared = (inside @ inside.T).tocoo()
    contained = (shared.data == sizes[shared.row]) & (sizes[shared.col] > sizes[shared.row])
    dropped = set(shared.row[contained].tolist())
    return (table for number, table in enumerate(tables) if number not in dropped)


class _Product:
    """A subtable as an array of its cells: an axis a dimension that varies, codes in any order."""

    def __init__(self, place: HierarchicalSubtable, is_virtual: Bools) -> None:
        printed = ~is_virtual[place.system.cells]
        self.cells, total = place.system.cells[printed], place.total[printed]
        varying = [d for d, size in enumerate(place.sizes) if size > 0]
        codes = [np.unique(place.code[printed, d], return_inverse=True)[1].ravel() for d in varying]
        self.shape = tuple(int(code.max()) + 1 for code in codes)
        self.at = np.stack(codes, axis=1)
        self.place = np.full(self.shape, -1, dtype=np.int64)
        self.place[tuple(self.at.T)] = np.arange(self.cells.size)
        self.margin: Bools = np.any(total, axis=1)
        self.total = []
        """By axis whether a code is the total."""
        for axis, d in enumerate(varying):
            is_total = np.zeros(self.shape[axis], dtype=bool)
            is_total[self.at[total[:, d], axis]] = True
            self.total.append(is_total)

    def corners(self, cell: int) -> Iterator[tuple[Ints, Floats]]:
        """For each set of axes the corners of all hypercubes of a cell that differ from it there, with their signs.

        Corners are places of cells, -1 where there is none; an entry for each opposite cell.
        """
        own = self.at[cell]
        others = [np.flatnonzero(np.arange(size) != code) for size, code in zip(self.shape, own, strict=True)]
        signs = [
            np.where(total[other] | total[code], 1.0, -1.0)
            for total, other, code in zip(self.total, others, own, strict=True)
        ]
        axes = len(self.shape)
        for moved in product((False, True), repeat=axes):
            index, sign = [], np.ones((1,) * axes)
            for axis, moves in enumerate(moved):
                shape = tuple(-1 if axis == a else 1 for a in range(axes))
                index.append((others[axis] if moves else own[axis : axis + 1]).reshape(shape))
                if moves:
                    sign = sign * signs[axis].reshape(shape)
            everywhere = tuple(other.size for other in others)
            yield (
                np.broadcast_to(self.place[tuple(index)], everywhere).ravel(),
                np.broadcast_to(sign, everywhere).ravel(),
            )


@dataclass(frozen=True, eq=False)
class _Cubes:
    """The hypercubes of a cell in a subtable that can move: an entry each, corners as numbers of cells."""

    corners: Ints
    rise: Floats
    fall: Floats


class _State:
    """Hidden cells, which subtables hid them, and what each cell asks for."""

    def __init__(
        self, requests: Requests, params: HypercubeParams, settings: CubeChoiceSettings = CubeChoiceSettings()
    ):
        problem = requests.problem
        size = len(problem.table)
        self.settings, self.singletons = settings, params.singletons
        self.hidden = requests.hidden.copy()
        self.origin = np.full(size, -1, dtype=np.int64)
        """The subtable that hid a cell; -1: sensitive, or hidden from the start."""
        self.counts = Counter[str]()
        self._seen: dict[int, bytes] = {}
        value = np.abs(problem.table.values)
        self.down, self.up = (side.copy() for side in DeviationBounds(problem)[0])
        if params.a_priori is not None:
            self.down = np.minimum(self.down, params.a_priori * value)
            self.up = np.minimum(self.up, params.a_priori * value)
        self.movable = requests.allowed & ((self.down > 0) | (self.up > 0))
        lower, upper, sliding = problem.required(0, np.arange(size))
        if params.protection == "sliding":
            sliding = np.maximum(sliding, lower + upper)
            lower = upper = np.zeros(size)
        other = ~problem.must_hide
        half = np.where(other, 0.5 * params.ratio * value, 0.0)
        self.lower, self.upper = (np.where(other, 0.0, level) for level in (lower, upper))
        if params.protection == "symmetric":
            self.lower, self.upper = self.lower + half, self.upper + half
            half = np.zeros(size)
        self.sliding = np.where(other, 2.0 * half, sliding)
        self.cost = np.log1p(problem.weights) if params.costs == "log" else problem.weights.copy()
        self.dear = settings.margin_cost * float(self.cost.max(initial=1.0))
        respondents = problem.table.respondents
        alone = np.zeros(size, dtype=bool) if respondents is None else respondents.count == 1
        self.single: Bools = problem.sensitive & alone

    def visit(self, table: _Product, number: int) -> None:
        """A hypercube for each target of a subtable that has none, the largest widths first."""
        key = self.hidden[table.cells].tobytes()
        if self._seen.get(number) == key:
            return
        asked = np.maximum(self.sliding, self.lower + self.upper)[table.cells]
        targets = np.flatnonzero(self.hidden[table.cells] & (self.origin[table.cells] != number))
        for cell in targets[np.argsort(-asked[targets], kind="stable")].tolist():
            self._protect(table, cell, number)
        self._seen[number] = self.hidden[table.cells].tobytes()

    def _protect(self, table: _Product, cell: int, number: int) -> None:
        cubes = self._cubes(table, cell)
        if cubes is None:
            self.counts["cells without a hypercube"] += 1
            return
        whole = int(table.cells[cell])
        for divisor in self.settings.divisors:
            wide = (cubes.rise + cubes.fall >= self.sliding[whole] / divisor) & (
                (cubes.rise >= self.upper[whole] / divisor) & (cubes.fall >= self.lower[whole] / divisor)
            )
            if wide.any():
                break
            self.counts["widths lowered"] += 1
        alone = self.single[cubes.corners] & (cubes.corners != whole)
        first = self._hide(table, cubes, wide, alone, number)
        if self.singletons and alone[first].any():
            singles = cubes.corners[first][alone[first]]
            without = wide & ~np.isin(cubes.corners, singles).any(axis=1)
            if without.any():
                self._hide(table, cubes, without, alone, number)
                self.counts["second hypercubes"] += 1
            else:
                self.counts["cells that a single respondent may find"] += 1

    def _cubes(self, table: _Product, cell: int) -> _Cubes | None:
        corners, directions = [], []
        for place, sign in table.corners(cell):
            corners.append(np.where(place >= 0, table.cells[place], -1))
            directions.append(sign)
        cells, signs = np.stack(corners, axis=1), np.stack(directions, axis=1)
        possible = ((cells >= 0) & self.movable[cells]).all(axis=1)
        cells, signs = cells[possible], signs[possible]
        rise = np.where(signs > 0, self.up[cells], self.down[cells]).min(axis=1, initial=np.inf)
        fall = np.where(signs > 0, self.down[cells], self.up[cells]).min(axis=1, initial=np.inf)
        moving = rise + fall > 0
        return _Cubes(cells[moving], rise[moving], fall[moving]) if moving.any() else None

    def _hide(self, table: _Product, cubes: _Cubes, wide: Bools, alone: Bools, number: int) -> int:
        """Hide the first of the wide hypercubes by step 3, and say which it is."""
        new = ~self.hidden[cubes.corners]
        margin = table.margin[np.searchsorted(table.cells, cubes.corners)]
        cost = (new * (self.cost[cubes.corners] + self.dear * margin)).sum(axis=1)
        few = alone.sum(axis=1) if self.singletons else np.zeros(wide.size)
        chosen = np.flatnonzero(wide)
        free = chosen[~new[chosen].any(axis=1)]
        if free.size:
            chosen = free
        order = np.lexsort((cost[chosen], new.sum(axis=1)[chosen], few[chosen]))
        first = int(chosen[order[0]])
        cells = cubes.corners[first][new[first]]
        self.hidden[cells] = True
        self.origin[cells] = number
        self.counts["hypercubes"] += bool(cells.size)
        return first
