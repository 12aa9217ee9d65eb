"""A safe pattern for large grids in seconds: a hypercube for each exposed level, then exchanges.

1. *Building*, the largest levels first: a level that no hypercube meets yet gets a cheap one (`attacker.hypercube`),
   and its cells are hidden. A hypercube moves all its cells both ways, as far as its least deviation bound allows, so
   it meets most levels among its cells too. Levels for which there is no hypercube are left to the caller (`unmet`).
2. *Exchanges*, by decreasing weight: all hypercubes with the cell are removed and the levels that rely on them
   get others without it. If that costs less it stays, else everything is as before. Again until nothing is won.

Every level that is met has a witness, a hypercube whose cells are all hidden: the pattern is safe for these levels.
Linear programs find cheaper patterns where there is time for them; a hypercube takes about a millisecond.

Reference: Giessing & Repsilber (2002) for hypercubes; see `attacker.hypercube`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import (
    Cubes,
    DeviationBounds,
    EquationBlock,
    structure_of,
    tolerances,
    working_columns,
)
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.heuristics.deviation import by_decreasing_weight, floored_weights, outsider_first
from tablecloak.methods.heuristics.reversible_deviations import HeldDeviation, spanned
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import kernels


@dataclass(frozen=True)
class CubeSearchSettings:
    """Work of the construction."""

    starts: int = 4
    """Number of orders of the dimensions in which a hypercube is sought. Untested default."""
    max_passes: int = 10
    """Maximum number of passes of exchanges over the hidden cells. Untested default."""


@dataclass(eq=False)
class _Held:
    """A hypercube whose cells are hidden, and the levels that lean on it."""

    cells: Ints
    signs: Floats
    serves: set[Requirement] = field(default_factory=set)


class CubeSearch:
    """Hypercubes for levels of one problem. `requirements`: the levels that the cells hidden anyway do not meet."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        requirements: Sequence[Requirement],
        rng: np.random.Generator,
        progress: Progress,
        deadline: Deadline,
        settings: CubeSearchSettings = CubeSearchSettings(),
    ) -> None:
        block = _block(problem)
        assert block is not None and block.grid is not None
        self.problem, self.progress, self.deadline, self.settings = problem, progress, deadline, settings
        self._cubes = Cubes(block.grid, block.cells, working_columns(problem.table))
        self._seed = int(rng.integers(2**31))
        self._asked, self._forbidden, weights = 0, kernels.FORBIDDEN, problem.weights
        self._price = np.where(allowed, floored_weights(weights), kernels.FORBIDDEN)
        self._price[problem.must_hide] = 0.0
        self._queue = outsider_first(requirements)
        self._requirements_of: dict[int, list[Requirement]] = {}
        for requirement in self._queue:
            self._requirements_of.setdefault(requirement.cell, []).append(requirement)
        boxes = DeviationBounds(problem)
        self._bounds = {
            attacker: tuple(np.ascontiguousarray(side, dtype=np.float64) for side in boxes[attacker])
            for attacker in {requirement.attacker for requirement in requirements}
        }
        """How far down and up every cell can go, for each attacker."""
        self._count = np.zeros(weights.size, dtype=np.int64)
        self._held_at: dict[int, set[_Held]] = {}
        self._witness: dict[Requirement, _Held] = {}
        self.exchanged = 0

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the table is one grid, with levels that do not depend on what is hidden."""
        free = problem.most_touched is None and not problem.has_conditional
        return free and _block(problem) is not None

    @property
    def hidden(self) -> Bools:
        """The cells hidden now."""
        return np.asarray((self._count > 0) | self.problem.must_hide)

    @property
    def cost(self) -> float:
        """The weights of the complementary cells hidden now."""
        return complementary_cost(self.problem, self.hidden)

    @property
    def unmet(self) -> list[Requirement]:
        """Levels that have no hypercube."""
        return [requirement for requirement in self._queue if requirement not in self._witness]

    def spans(self) -> tuple[Floats, Floats]:
        """How far below and above its value each cell is moved by the hypercubes, as far as levels lean on them."""
        held = []
        for cube in {id(cube): cube for cube in self._witness.values()}.values():
            one = HeldDeviation(cube.cells, cube.signs)
            for requirement in cube.serves:
                ways = self._both_ways(cube, requirement.attacker)
                along, against = _multiples(cube, ways, requirement)
                one.along, one.against = max(one.along, along), max(one.against, against)
            held.append(one)
        return spanned(self._count.size, held)

    # ------------------------------------------------------------------ building

    def build(self) -> None:
        """A hypercube for every level that has one, until the time is up."""
        price = self._prices()
        for number, requirement in enumerate(self._queue):
            if requirement in self._witness:
                continue
            if self.deadline.passed():
                return
            found = self._found(requirement, price)
            if found is not None:
                self._hold(found)
                price[found.cells] = 0.0
                near = [self._requirements_of.get(cell, ()) for cell in found.cells.tolist()]
                self._assign(found, chain.from_iterable(near))
            if number % 64 == 0:
                self.progress("hypercubes", number, len(self._queue))

    def _prices(self) -> Floats:
        return np.where(self._count > 0, 0.0, self._price)

    def _found(self, requirement: Requirement, price: Floats) -> _Held | None:
        """A hypercube for a level at these prices."""
        self._asked += 1
        down, up = self._bounds[requirement.attacker]
        if requirement.side is Side.DOWN:
            down, up = up, down
        level = requirement.level * (1 - tolerances.CUBE_MET)
        cube = self._cubes.cheapest(
            requirement.cell, level, price, up, down, self.settings.starts, self._seed + self._asked
        )
        return None if cube is None else _Held(cube.cells, cube.signs.astype(np.float64))

    def _hold(self, cube: _Held) -> None:
        self._count[cube.cells] += 1
        for cell in cube.cells.tolist():
            self._held_at.setdefault(cell, set()).add(cube)

    def _release(self, cube: _Held) -> None:
        self._count[cube.cells] -= 1
        for cell in cube.cells.tolist():
            self._held_at[cell].discard(cube)

    def _assign(self, cube: _Held, requirements: Iterable[Requirement]) -> None:
        """Levels without a witness that a hypercube meets lean on it from now on."""
        ways: dict[int, tuple[float, float]] = {}
        for requirement in requirements:
            if requirement in self._witness:
                continue
            if requirement.attacker not in ways:
                ways[requirement.attacker] = self._both_ways(cube, requirement.attacker)
            given = _gives(cube, ways[requirement.attacker], requirement)
            if given >= requirement.level * (1 - tolerances.CUBE_MET):
                self._witness[requirement] = cube
                cube.serves.add(requirement)

    def _both_ways(self, cube: _Held, attacker: int) -> tuple[float, float]:
        """How far a hypercube can go by its signs and against them, in the attacker's box."""
        down, up = (side[cube.cells] for side in self._bounds[attacker])
        with_it, against = np.where(cube.signs > 0, up, down), np.where(cube.signs > 0, down, up)
        return float(with_it.min()), float(against.min())

    # ------------------------------------------------------------------ exchanges

    def exchange(self, searches: float = np.inf) -> None:
        """Until nothing is gained, the time is up, or the maximum number of hypercubes was sought."""
        last = self._asked + searches
        for _ in range(self.settings.max_passes):
            order = by_decreasing_weight(self.hidden & ~self.problem.must_hide, self.problem.weights)
            before = self.exchanged
            for number, cell in enumerate(order.tolist()):
                if self.deadline.passed() or self._asked >= last:
                    return
                if self._count[cell]:
                    self._without(cell)
                if number % 64 == 0:
                    self.progress("exchanges", number, order.size, None if self.unmet else self.cost)
            if self.exchanged == before:
                return

    def _without(self, cell: int) -> None:
        """Publish a cell if the levels that lean on it get along with less."""
        old = sorted(self._held_at[cell], key=lambda cube: cube.cells.tolist())
        affected = sorted(
            {requirement for cube in old for requirement in cube.serves},
            key=lambda one: (-one.level, one.attacker, one.cell, one.side.value),
        )
        for cube in old:
            self._release(cube)
        for requirement in affected:
            del self._witness[requirement]
        touched = np.unique(np.concatenate([cube.cells for cube in old]))
        freed = float(self._price[touched[self._count[touched] == 0]].sum())
        new, spent = self._routed(affected, cell, freed)
        if spent < freed * (1 - 1e-9):
            self.exchanged += 1
            return
        for cube in new:
            self._release(cube)
        for cube in old:
            self._hold(cube)
            for requirement in cube.serves:
                self._witness[requirement] = cube

    def _routed(
        self, requirements: list[Requirement], left_out: int, most: float
    ) -> tuple[list[_Held], float]:
        """Hypercubes without a cell for these levels, and what they cost; infinite if there are none below `most`."""
        price, new, spent = self._prices(), list[_Held](), 0.0
        price[left_out] = self._forbidden
        for requirement in requirements:
            if requirement in self._witness:
                continue
            cube = self._found(requirement, price)
            if cube is None:
                return new, np.inf
            spent += float(price[cube.cells].sum())
            if spent >= most:
                return new, np.inf
            price[cube.cells] = 0.0
            self._hold(cube)
            new.append(cube)
            self._assign(cube, requirements)
        return new, spent


def _gives(cube: _Held, ways: tuple[float, float], requirement: Requirement) -> float:
    """How much of a level a hypercube gives."""
    if requirement.cell not in cube.cells:
        return 0.0
    sign = cube.signs[np.searchsorted(cube.cells, requirement.cell)]
    up, down = ways if sign > 0 else ways[::-1]
    return {Side.UP: up, Side.DOWN: down, Side.SLIDE: up + down}[requirement.side]


def _multiples(cube: _Held, ways: tuple[float, float], requirement: Requirement) -> tuple[float, float]:
    """The multiples of a hypercube, by its signs and against them, that a level which leans on it uses."""
    sign = cube.signs[np.searchsorted(cube.cells, requirement.cell)]
    up, down = ways if sign > 0 else ways[::-1]
    rise = 0.0 if requirement.side is Side.DOWN else min(requirement.level, up)
    fall = 0.0 if requirement.side is Side.UP else min(requirement.level - rise, down)
    return (rise, fall) if sign > 0 else (fall, rise)


def _block(problem: Problem) -> EquationBlock | None:
    """The grid that is the whole table, if it is one; cells in no equation are no part of it."""
    blocks = [block for block in structure_of(problem.table).blocks if block.kind != "free"]
    if len(blocks) != 1 or blocks[0].grid is None or not Cubes.fits(blocks[0].grid):
        return None
    return blocks[0]
