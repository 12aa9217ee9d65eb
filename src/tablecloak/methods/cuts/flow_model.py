"""Integer programs with flows: cuts over the cells, and for some requirements the flow that meets each of them.

For level f of cell p on a network (Carvalho & Almeida 2008, (11) to (13)), over all other cells that may be hidden:

    sum_{arcs out of v} z - sum_{arcs into v} z = what cell p takes away at v when it deviates by f
    -min(down_i, f) x_i <= z_i <= min(up_i, f) x_i        x_i = 1 for cells that must be hidden

z is the net flow along a cell (the paper has one variable for each direction), here in units of f. On a network no cell
needs to move further than p, so truncating the deviation bounds at f loses nothing.

Reference: Carvalho & Almeida (2008), A three-phase algorithm for the cell suppression problem, JORS 59.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack, vstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import CellNetwork
from tablecloak.model import Requirement, Side
from tablecloak.solvers import MipOptions, Solution, solve_mip


class FlowProgram:
    """min w x over cuts A x >= b, x binary, and the flows of some requirements.

    `cells` are the columns x, `hidden` have flow anyway; `bounds` are the deviation bounds (down, up) of each cell.
    """

    def __init__(self, graph: CellNetwork, bounds: tuple[Floats, Floats], hidden: Bools, cells: Ints) -> None:
        self.graph, self.cells = graph, cells
        self.down, self.up = bounds
        self.arcs = np.union1d(cells, np.flatnonzero(hidden))
        """All cells that may have flow."""
        self.column = np.full(hidden.size, -1, dtype=np.int64)
        self.column[cells] = np.arange(cells.size)

    def solve(
        self,
        weights: Floats,
        cuts: tuple[csr_array, Floats],
        requirements: Sequence[Requirement],
        seconds: float,
    ) -> Solution:
        """The best binary point, its flows behind it; `cuts` are A over all cells, and b."""
        matrix, right = cuts
        blocks = [self._block(requirement) for requirement in requirements]
        size, width = self.cells.size, sum(block.low.size for block in blocks)
        parts = [hstack([matrix[:, self.cells], csr_array((matrix.shape[0], width))], format="csr")]
        low, high = [right], [np.full(right.size, np.inf)]
        before = 0
        for block in blocks:
            own = block.low.size
            left = csr_array((block.z.shape[0], before))
            rest = csr_array((block.z.shape[0], width - before - own))
            parts.append(hstack([block.x, left, block.z, rest], format="csr"))
            low.append(block.row_low)
            high.append(block.row_high)
            before += own
        columns = (
            np.concatenate([np.zeros(size), *(block.low for block in blocks)]),
            np.concatenate([np.ones(size), *(block.high for block in blocks)]),
        )
        cost = np.concatenate([weights[self.cells], np.zeros(width)])
        integral = np.arange(size + width) < size
        limits = (np.concatenate(low), np.concatenate(high))
        program = vstack(parts, format="csr")
        return solve_mip(program, columns, limits, cost, integral, MipOptions(seconds=seconds)).checked()

    def _block(self, requirement: Requirement) -> _FlowBlock:
        arcs = self.arcs[self.arcs != requirement.cell]
        tail, head = self.graph.tail, self.graph.head
        arcs = arcs[tail[arcs] != head[arcs]]
        up = np.minimum(self.up[arcs] / requirement.level, 1.0)
        down = np.minimum(self.down[arcs] / requirement.level, 1.0)
        place, one = np.arange(arcs.size), np.ones(arcs.size)
        nodes, shape = self.graph.nodes, (self.graph.nodes, arcs.size)
        ends = np.concatenate([tail[arcs], head[arcs]])
        balance = coo_array((np.concatenate([one, -one]), (ends, np.tile(place, 2))), shape=shape)
        sign = 1.0 if requirement.side is Side.UP else -1.0
        taken = np.zeros(nodes)
        taken[tail[requirement.cell]] -= sign
        taken[head[requirement.cell]] += sign
        optional = np.flatnonzero(self.column[arcs] >= 0)
        above, below = optional[up[optional] > 0], optional[down[optional] > 0]
        bound = np.concatenate([above, below])
        limit = np.concatenate([-up[above], down[below]])
        count = np.arange(bound.size)
        size = self.cells.size
        x = coo_array((limit, (count, self.column[arcs[bound]])), shape=(bound.size, size))
        z = coo_array((np.ones(bound.size), (count, bound)), shape=(bound.size, arcs.size))
        infinite = np.full(bound.size, np.inf)
        is_above = count < above.size
        return _FlowBlock(
            vstack([csr_array((nodes, size)), x], format="csr"),
            vstack([balance, z], format="csr"),
            -down,
            up,
            np.concatenate([taken, np.where(is_above, -infinite, 0.0)]),
            np.concatenate([taken, np.where(is_above, 0.0, infinite)]),
        )


@dataclass(frozen=True, eq=False)
class _FlowBlock:
    """The constraints of one requirement over x and its own z, with the bounds of z."""

    x: csr_array
    z: csr_array
    low: Floats
    high: Floats
    row_low: Floats
    row_high: Floats
