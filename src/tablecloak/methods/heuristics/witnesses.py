"""Witnesses of levels among the cells that are still hidden, by the engine that fits the table.

A witness of a level is a deviation of hidden cells, M d = 0 within an attacker's box, that takes the sensitive cell as
far as the level asks; for a sliding level two deviations, one up and one down, as far apart as it asks. Cells are
closed (published) one after the other; the one closed last may be opened again.

Engines: maximum flows on networks; elimination of small systems (`redundancy`); else linear programs that look near the
cell first (`deviation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Boxes, CellNetwork, is_network, unpicked, working_equations
from tablecloak.methods.heuristics.deviation import Router, Witness, met_by, negligible
from tablecloak.methods.heuristics.lp_construction import CLEAN_UP_WIDTH
from tablecloak.methods.heuristics.redundancy import SHRUNK, Thinner, elimination_seconds
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline
from tablecloak.solvers.graphs import Network


class Finder(Protocol):
    """Finds witnesses among the cells that are not closed."""

    engine: str

    def close(self, cell: int) -> None:
        """From now on the cell is published."""

    def open(self, cell: int) -> None:
        """The cell closed last is hidden after all."""

    def find(self, requirement: Requirement, *, far: bool) -> Ints | None:
        """The cells that a witness of the level moves; None if there is none.

        Without `far` an engine may give up before it has looked at the whole table.
        """

    def also(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        """Which of these levels the last witness meets too, as far as that can be told without work."""

    def gives_away(self, cells: Ints) -> bool:
        """Whether single equations determine one of the cells now: no need to ask for witnesses then."""


def finder_of(
    problem: Problem, requirements: Sequence[Requirement], allowed: Bools, deadline: Deadline
) -> Finder:
    """The engine that fits the table and the number of levels; `allowed` are the cells hidden to begin with."""
    if is_network(problem):
        return FlowFinder(problem, requirements, allowed)
    if Thinner.fits(problem, requirements, allowed) and deadline.left >= elimination_seconds(
        problem, allowed
    ):
        return TableauFinder(problem, requirements, allowed, deadline)
    return ProgramFinder(problem, working_equations(problem.table), allowed, deadline)


class FlowFinder:
    """Maximum flows, one network an attacker."""

    engine = "network flow"

    def __init__(self, problem: Problem, requirements: Sequence[Requirement], allowed: Bools) -> None:
        self.cells = np.flatnonzero(allowed)
        self.place = np.full(allowed.size, -1, dtype=np.int64)
        self.place[self.cells] = np.arange(self.cells.size)
        graph, boxes = CellNetwork(problem), Boxes(problem)
        self.rooms: dict[int, tuple[Floats, Floats]] = {}
        self.networks: dict[int, Network] = {}
        for attacker in sorted({requirement.attacker for requirement in requirements}):
            down, up = (side[self.cells] for side in boxes[attacker])
            ends = graph.tail[self.cells], graph.head[self.cells]
            self.rooms[attacker] = (up, down)
            self.networks[attacker] = Network(graph.nodes, *ends, up, down)

    def close(self, cell: int) -> None:
        for network in self.networks.values():
            network.set_capacity(int(self.place[cell]), 0.0, 0.0)

    def open(self, cell: int) -> None:
        arc = int(self.place[cell])
        for attacker, network in self.networks.items():
            up, down = self.rooms[attacker]
            network.set_capacity(arc, float(up[arc]), float(down[arc]))

    def find(self, requirement: Requirement, *, far: bool) -> Ints | None:
        moves = self.deviations(requirement)
        if moves is None:
            return None
        places: Ints = np.flatnonzero(np.logical_or.reduce([move != 0.0 for move in moves]))
        return np.asarray(self.cells[places])

    def deviations(self, requirement: Requirement) -> list[Floats] | None:
        """The flows that meet a level, over `cells`; None if it is not met."""
        arc, missing = int(self.place[requirement.cell]), requirement.level
        moves = []
        for upward in requirement.directions:
            if missing > 0:
                found = self.networks[requirement.attacker].route(arc, upward, missing)
                moves.append(found.deviation)
                missing -= min(found.value, missing)
        return None if missing > negligible(requirement) else moves

    def also(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        return []  # a flow of its own is as quick

    def gives_away(self, cells: Ints) -> bool:
        return False  # so is a flow that fails


class TableauFinder(Thinner):
    """Elimination of a small system; warm linear programs while too much of it is hidden."""

    engine = "compiled tableaus"

    def close(self, cell: int) -> None:
        if self.hidden[self.cells].sum() < SHRUNK * self.cells.size:
            self._eliminate()  # with the cell, which may be opened again
        self.hidden[cell] = False

    def open(self, cell: int) -> None:
        self.hidden[cell] = True

    def find(self, requirement: Requirement, *, far: bool) -> Ints | None:
        self.requirements = [requirement]
        moved = self._witness(0)
        return None if moved is None else np.flatnonzero(moved)

    def also(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        return []

    def gives_away(self, cells: Ints) -> bool:
        return False


class ProgramFinder(Router):
    """Linear programs that look near the cell first.

    Cells that some witness has moved are free, others cost their weight: so witnesses have many cells in common, and
    one often meets other levels too.
    """

    engine = "linear programs"

    def __init__(self, problem: Problem, equations: csr_array, allowed: Bools, deadline: Deadline) -> None:
        super().__init__(problem, equations, allowed, deadline)
        self._price: Floats = np.where(problem.must_hide, 0.0, problem.weights)
        self._last: tuple[Requirement, Witness] | None = None

    def close(self, cell: int) -> None:
        self.allowed[cell] = False

    def open(self, cell: int) -> None:
        self.allowed[cell] = True

    def find(self, requirement: Requirement, *, far: bool) -> Ints | None:
        witness = self.cheapest(requirement, self._price, widest=None if far else CLEAN_UP_WIDTH)
        if witness is None:
            return None
        self._last = (requirement, witness)
        self._price[witness.cells] = 0.0
        return witness.cells

    def also(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        if self._last is None:
            return []
        requirement, witness = self._last
        return met_by(self.problem, witness, requirement.attacker, list(requirements))

    def gives_away(self, cells: Ints) -> bool:
        hidden = np.flatnonzero(self.allowed)
        gone = hidden[~unpicked(self.columns[:, hidden])]
        return bool(np.isin(cells, gone).any())
