"""Protection cuts: valid inequalities for the deviation bounds that a publication leaves, and their strengthening.

A publication states an interval for every cell: its deviation bounds are U_i above the true value and D_i below it.
For a requirement of level L on cell p (upper side), an attacker k and any multipliers y of the equations M d = 0

    d_p = sum_i rho_i d_i <= sum_i rho_i^+ min(U_i, UB_i^k) + rho_i^- min(D_i, LB_i^k),    rho_i = [i = p] - (M'y)_i,

so a safe publication leaves at least L on the right. Where it leaves less, the attacker's own program gives y
(`attacker.oracle`). A sliding requirement takes the sum of both directions. Suppression, intervals, rounding and
perturbation differ only in how U and D depend on the decisions (`formulation`).

Of each minimum the smaller side at the point at hand is taken, which is linear in the columns x and valid; for a
conditional width the level is multiplied by t_p. Cuts over binary columns are strengthened: with negative coefficients
complemented, x = 1 - x', no coefficient need exceed the right-hand side (the two-sided form d'x + d''(1 - x)); a column
that a binary one switches off can be replaced by it, at min(coefficient times its limit, right-hand side).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, second models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import RESIDUAL_MET, DeviationBounds, ProtectionCut
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.model import Requirement, Side
from tablecloak.progress import NEVER, Deadline

__all__ = ["ProtectionCut", "Separator", "own_bound_cuts"]


class Separator(Protocol):
    """Finds requirements that a publication violates, and the cuts that prove it."""

    weighs_closed_cells: bool
    """Whether its cuts weigh cells that cannot deviate as well: then no shifted separation points are needed."""

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
        """Cuts for at most `most` of the requirements that these deviation bounds violate.

        `extent`: to what extent each requirement holds. `share`: to what extent each cell is touched; for level L its
        bound is then no more than L times that, which is enough where cells that are touched can deviate by L (any cut
        is valid, wherever it was found). `depth`: maximum number of cuts behind each other, each as if the cells of
        those before it could deviate.
        """


def own_bound_cuts(requirements: Sequence[Requirement]) -> list[ProtectionCut]:
    """The cuts with multipliers zero: a cell's own deviation bounds must allow what is required of it."""
    one, none = np.ones(1), np.zeros(1)
    return [
        ProtectionCut(
            requirement,
            np.array([requirement.cell]),
            none if requirement.side is Side.DOWN else one,
            none if requirement.side is Side.UP else one,
        )
        for requirement in requirements
    ]


class CutBuilder:
    """Expresses protection cuts over the columns of a formulation."""

    def __init__(self, form: Formulation, boxes: DeviationBounds) -> None:
        self.form, self.boxes = form, boxes
        self._seen: set[tuple[bytes, bytes, float]] = set()

    def new(self, matrix: csr_array, right: Floats, rows: Ints) -> Ints:
        """Which of some cuts are new: those that a program has it satisfies, up to its tolerance."""
        fresh = []
        for k in rows.tolist():
            part = slice(matrix.indptr[k], matrix.indptr[k + 1])
            key = matrix.indices[part].tobytes(), matrix.data[part].tobytes(), float(right[k])
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(k)
        return np.array(fresh, dtype=np.int64)

    def rows(
        self, cuts: Sequence[ProtectionCut], below: Floats, above: Floats, conditional: list[bool]
    ) -> tuple[csr_array, Floats]:
        """The cuts over the columns, in units of the level: matrix x >= right."""
        form, size = self.form, below.size
        shape = (len(cuts), size)
        right = np.ones(len(cuts))
        parts: list[csr_array] = []
        for which, bounds, affine in (("above", above, form.above), ("below", below, form.below)):
            data, rows, columns = [], [], []
            for k, cut in enumerate(cuts):
                down, up = self.boxes[cut.requirement.attacker]
                own = (up if which == "above" else down)[cut.cells]
                entries = getattr(cut, which) / cut.requirement.level
                used = entries > 0
                boxed = used & ((own <= bounds[cut.cells]) | ~np.isfinite(affine.constant[cut.cells]))
                right[k] -= float(entries[boxed] @ own[boxed])
                open_ = used & ~boxed
                data.append(entries[open_])
                rows.append(np.full(int(open_.sum()), k))
                columns.append(cut.cells[open_])
            place = np.concatenate(rows), np.concatenate(columns)
            chosen = csr_array((np.concatenate(data), place), shape=shape)
            stated = np.where(np.isfinite(affine.constant), affine.constant, 0.0)
            right -= chosen @ stated
            parts.append(csr_array(chosen @ affine.matrix))
        matrix = parts[0] + parts[1]
        asked = np.flatnonzero(conditional)
        if asked.size:
            cells = [cuts[k].requirement.cell for k in asked.tolist()]
            at = csr_array((np.ones(asked.size), (asked, cells)), shape=shape)
            matrix = matrix - at @ form.touched.matrix
            right[asked] += form.touched.constant[cells] - 1.0
        return csr_array(matrix), right

    def strengthened(self, matrix: csr_array, right: Floats, x: Floats) -> tuple[csr_array, Floats]:
        """Truncate coefficients of binary columns; replace columns by their binary switch where that cuts deeper."""
        form = self.form
        if not form.integral.any():
            return matrix, right
        binary = form.integral & (form.low == 0.0) & (form.high == 1.0)
        switch = form.switch
        rows, columns, data, rights = [], [], [], []
        for k in range(right.size):
            part = slice(matrix.indptr[k], matrix.indptr[k + 1])
            where, entries = matrix.indices[part].astype(np.int64), matrix.data[part]
            where, entries, need = _truncated(where, entries, float(right[k]), form, binary, switch, x)
            rows.append(np.full(where.size, k))
            columns.append(where)
            data.append(entries)
            rights.append(need)
        place = np.concatenate(rows), np.concatenate(columns)
        found = csr_array((np.concatenate(data), place), shape=matrix.shape)
        found.sum_duplicates()
        return found, np.array(rights)


class Switched:
    """To what extent each cell is touched, where binary columns switch its lengths off (1 elsewhere)."""

    def __init__(self, form: Formulation) -> None:
        entries = csr_array(form.above.matrix + form.below.matrix).tocoo()
        switch = form.switch[entries.col]
        stays = np.isin(np.arange(form.above.constant.size), entries.row[switch < 0])
        stays |= (form.above.constant != 0.0) | (form.below.constant != 0.0)
        used = ~stays[entries.row]
        self._cells, self._columns, self._size = entries.row[used], switch[used], stays.size

    def at(self, x: Floats) -> Floats | None:
        """The extent at a point; None if nothing is switched."""
        if self._cells.size == 0:
            return None
        share = np.ones(self._size)
        share[self._cells] = np.clip(x[self._columns], 0.0, 1.0)
        return share


def _truncated(
    where: Ints, entries: Floats, need: float, form: Formulation, binary: Bools, switch: Ints, x: Floats
) -> tuple[Ints, Floats, float]:
    """One cut  entries x >= need  over columns `where`, strengthened at the point x.

    Columns are counted from their lower bounds, binary ones with a negative entry complemented: then all entries and
    columns are at least 0, and no entry of a binary column need be larger than the right-hand side.
    """
    negative = binary[where] & (entries < 0)
    others = np.flatnonzero(~binary[where])
    moved = float(entries[negative].sum()) + float(entries[others] @ form.low[where[others]])
    total = need - moved
    if not RESIDUAL_MET < total < np.inf or (entries[others] < 0).any():
        return where, entries, need
    entries, where = entries.copy(), where.copy()
    truncated = np.minimum(np.abs(entries), total)
    entries = np.where(binary[where], np.sign(entries) * truncated, entries)
    linked = np.flatnonzero((switch[where] >= 0) & (form.low[where] == 0.0))
    full = np.minimum(entries[linked] * form.high[where[linked]], total)
    by_switch = full * x[switch[where[linked]]] < entries[linked] * x[where[linked]]
    replaced = linked[by_switch]
    kept = np.setdiff1d(others, replaced)
    moved = float(entries[negative].sum()) + float(entries[kept] @ form.low[where[kept]])
    entries[replaced], where[replaced] = full[by_switch], switch[where[replaced]]
    return where, entries, total + moved
