"""Subsystems: some equations of a table and the cells in them, as a problem that is a view of its parent.

An attacker who knows fewer equations knows less, so a pattern that is safe for the whole table is safe for each of its
subsystems s. With weights w_s >= 0 whose sum is at most w in every cell,

    sum_s opt_s(w_s)  <=  opt(w)

where opt_s is the least cost of a safe pattern of s alone. This holds if the subsystem has what its parent has: boxes,
capped levels, data unit, marks and weights are copied, never derived from the few cells again. (One negative value
elsewhere in the table unties the box of every cell; a total of counts is known to be at least the number of its parts.)
Attackers that know nothing of the cells and have no levels of their own there are left out: in a subsystem they are the
outsider. The bound on touched cells is left out too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Ints, frozen, frozen_matrix, ranges
from tablecloak.model import Dimension, Levels, Problem, Table


@dataclass(frozen=True, eq=False)
class Subsystem:
    """Numbers of equations of a table, and of all the cells in them; ascending."""

    rows: Ints
    cells: Ints

    @classmethod
    def of(cls, table: Table, rows: Ints) -> Subsystem:
        """The subsystem of some equations."""
        chosen = np.unique(rows)
        return cls(frozen(chosen), frozen(np.unique(_entries(table, chosen)[0]).astype(np.int64)))

    def view(self, problem: Problem, weights: Floats | None = None) -> Problem:
        """The subsystem as a problem, with the parent's weights or others (an entry for each cell of the subsystem)."""
        cells, levels = self.cells, problem.levels
        return Problem(
            table=self._table(problem.table),
            marks=frozen(problem.marks[cells]),
            levels=Levels(*(frozen(level[cells]) for _, level in levels.named())),
            weights=frozen(problem.weights[cells] if weights is None else weights),
            outsider_low=frozen(problem.outsider_low[cells]),
            outsider_high=frozen(problem.outsider_high[cells]),
            attackers=tuple(
                attacker.at_cells(cells)
                for attacker in problem.attackers
                if np.isin(attacker.cells, cells).any() or np.isin(attacker.levels.cells, cells).any()
            ),
        )

    def _table(self, table: Table) -> Table:
        """The cells with their units and the equations between them; cells are named by their numbers in the parent."""
        rows, cells = self.rows, self.cells
        inside, values = _entries(table, rows)
        ends = np.concatenate([[0], np.cumsum(np.diff(table.equations.indptr)[rows])])
        matrix = csr_array((values, np.searchsorted(cells, inside), ends), shape=(rows.size, cells.size))
        steps = table.cell_decimals
        return Table(
            dimensions=(Dimension.names("cell", map(str, cells.tolist())),),
            codes=frozen(np.arange(cells.size, dtype=np.int32)[:, None]),
            units=frozen(table.units[cells]),
            equations=frozen_matrix(matrix),
            rhs=frozen(table.rhs[rows]),
            decimals=table.decimals,
            virtual=int(table.is_virtual[cells].sum()),
            cell_decimals=None if steps is None else frozen(steps[cells]),
        )

    def __len__(self) -> int:
        return self.cells.size


def _entries(table: Table, rows: Ints) -> tuple[Ints, Floats]:
    """The cells and coefficients of some equations, one after the other."""
    matrix = table.equations
    place = ranges(matrix.indptr[rows], matrix.indptr[rows + 1])
    return matrix.indices[place], matrix.data[place]
