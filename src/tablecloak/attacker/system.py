"""The attacker's system: deviation bounds by an attacker's box, the network of the cells, access to few equations."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.attacker.presolve import structure_of
from tablecloak.model import Problem, box_deviation_bounds


class DeviationBounds:
    """Deviation bounds (down, up) of all cells by each attacker's box, computed once for each attacker."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[int, tuple[Floats, Floats]] = {}

    def __getitem__(self, attacker: int) -> tuple[Floats, Floats]:
        if attacker not in self._known:
            self._known[attacker] = box_deviation_bounds(self.problem, attacker)
        return self._known[attacker]


class CellNetwork:
    """The cells of a table as arcs between its equations."""

    def __init__(self, problem: Problem) -> None:
        size = len(problem.table)
        self.tail, self.head = np.zeros((2, size), dtype=np.int32)
        self.nodes = 0
        for block in structure_of(problem.table).blocks:
            if block.orientation is not None:
                self.tail[block.cells] = block.orientation.tail + self.nodes
                self.head[block.cells] = block.orientation.head + self.nodes
                self.nodes += block.orientation.nodes
        self.nodes = max(self.nodes, 1)


def is_network(problem: Problem) -> bool:
    """Whether all equations of the table are those of networks."""
    return all(block.kind in ("network", "free") for block in structure_of(problem.table).blocks)
