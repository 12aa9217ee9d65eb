"""suppress-hypercube: each sensitive cell gets a hypercube of hidden cells in each subtable, until nothing changes.

GHMITER, the hypercube method of tau-ARGUS. In a table without hierarchies (`attacker.subtables`) a cell and one that
differs from it in every dimension span a hypercube: the cells that have in each dimension the code of the one or of the
other. They move together by the same amount, two parts of a line against each other, a part and its total along:

    rise = min of what each cell can move in its direction,   fall = min of what it can move against it

From the top of the hierarchies down, for each sensitive cell and each cell that another subtable hides:

1. Its hypercubes are those without forced cells and without cells that cannot move.
2. A hypercube is wide enough if rise + fall reaches the required width (`protection="sliding"`), or rise and fall
   each their level ("symmetric"). Cells that another subtable hides ask for `ratio` of their value.
3. Nothing is to be done where a hypercube of hidden cells is wide enough. Else the one is hidden that comes first by:
   fewest cells of other single respondents, fewest new cells, least cost (the sum of log(1 + weight), margins dearer).
4. One that has cells of other single respondents gets a second one without them beside it.
5. Where none is wide enough the required width is divided by 2, 3, ... 10, and then left out.

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
from math import prod
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools
from tablecloak.attacker import DeviationBounds, HierarchicalSubtable, Subtables
from tablecloak.methods.base import Proposal, refuse_non_monotone
from tablecloak.methods.heuristics import OneByOneParams, Own, Requests, one_by_one
from tablecloak.model import Problem
from tablecloak.progress import Progress, TimeUp
from tablecloak.solvers import kernels


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
    """Divisors of the required width, one after the other: those of tau-ARGUS."""
    max_places: int = 50_000_000
    """Maximum number of combinations of codes in a subtable, four bytes each; larger ones are left to the repair."""


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
    state.prepare()
    try:
        while not requests.deadline.passed():
            before = int(state.hidden.sum())
            state.counts["passes"] += 1
            for number in range(len(state.tables)):
                requests.progress("hypercubes", number, len(state.tables))
                state.visit(number)
            if int(state.hidden.sum()) == before:
                break
    except TimeUp:
        pass
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
        self.margin: Bools = np.any(total, axis=1)
        self.total = []
        """By axis whether a code is the total."""
        for axis, d in enumerate(varying):
            is_total = np.zeros(self.shape[axis], dtype=bool)
            is_total[self.at[total[:, d], axis]] = True
            self.total.append(is_total)

    def search(self, targets: kernels.HypercubeTargets) -> kernels.OppositeCells:
        """The search for hypercubes in it."""
        place = np.full(self.shape, -1, dtype=np.int32)
        place[tuple(self.at.T)] = np.arange(self.cells.size)
        return kernels.OppositeCells(
            targets,
            np.array(self.shape),
            place.ravel(),
            np.ascontiguousarray(self.at, dtype=np.int64),
            np.concatenate(self.total).view(np.uint8),
            self.cells.astype(np.int64),
            self.margin.view(np.uint8),
        )


COUNTED = (
    "hypercubes",
    "cells without a hypercube",
    "widths lowered",
    "second hypercubes",
    "cells that a single respondent may find",
)
"""What the kernel counts."""


class _State:
    """Hidden cells, which subtables hid them, and what each cell asks for."""

    def __init__(
        self, requests: Requests, params: HypercubeParams, settings: CubeChoiceSettings = CubeChoiceSettings()
    ):
        problem = requests.problem
        size = len(problem.table)
        self.requests, self.settings = requests, settings
        self.hidden = requests.hidden.copy()
        self.origin = np.full(size, -1, dtype=np.int64)
        """The subtable that hid a cell; -1: sensitive, or hidden from the start."""
        self.counts = Counter[str](dict.fromkeys(COUNTED, 0))
        self.tables: list[_Product] = []
        self._seen: dict[int, bytes] = {}
        value = np.abs(problem.table.values)
        down, up = (side.copy() for side in DeviationBounds(problem)[0])
        if params.a_priori is not None:
            down = np.minimum(down, params.a_priori * value)
            up = np.minimum(up, params.a_priori * value)
        movable: Bools = requests.allowed & ((down > 0) | (up > 0))
        lower, upper, sliding = problem.required(0, np.arange(size))
        if params.protection == "sliding":
            sliding = np.maximum(sliding, lower + upper)
            lower = upper = np.zeros(size)
        other = ~problem.must_hide
        inherited = np.where(other, params.ratio * value, 0.0)
        lower, upper, sliding = (np.where(other, 0.0, level) for level in (lower, upper, sliding))
        if params.protection == "symmetric":
            lower, upper = lower + 0.5 * inherited, upper + 0.5 * inherited
        else:
            sliding = sliding + inherited
        self.asked = np.maximum(sliding, lower + upper)
        cost = np.log1p(problem.weights) if params.costs == "log" else problem.weights.copy()
        respondents = problem.table.respondents
        alone = np.zeros(size, dtype=bool) if respondents is None else respondents.count == 1
        single: Bools = problem.sensitive & alone
        self.targets = kernels.HypercubeTargets(
            (self.hidden.view(np.uint8), movable.view(np.uint8), single.view(np.uint8)),
            (up, down),
            (lower, upper, sliding),
            cost,
            np.array(settings.divisors),
            settings.margin_cost * float(cost.max(initial=1.0)),
            params.singletons,
        )

    def prepare(self) -> None:
        """Find the subtables."""
        whole = self.requests.problem.table
        places = [place for place in Subtables(whole).hierarchical() if any(place.sizes)]
        for place in _largest(places):
            if self.requests.deadline.passed():
                return
            product = _Product(place, whole.is_virtual)
            if len(product.shape) > kernels.LARGEST_PRODUCT or prod(product.shape) > self.settings.max_places:
                self.counts["subtables that are too large"] += 1
            else:
                self.tables.append(product)
        self.counts["subtables"] = len(self.tables)

    def visit(self, number: int) -> None:
        """A hypercube for each target of a subtable that has none, the largest widths first."""
        table = self.tables[number]
        before = self.hidden[table.cells]
        key = before.tobytes()
        if self._seen.get(number) == key:
            return
        asked = self.asked[table.cells]
        targets = np.flatnonzero(before & (self.origin[table.cells] != number))
        if targets.size:
            order = np.argsort(-asked[targets], kind="stable")
            search = table.search(self.targets)
            done = kernels.hide_hypercubes(
                search, targets[order].astype(np.int64), self.requests.deadline.passed
            )
            for name, count in zip(COUNTED, done.tolist(), strict=True):
                self.counts[name] += count
        after = self.hidden[table.cells]
        self.origin[table.cells[after & ~before]] = number
        self._seen[number] = after.tobytes()
