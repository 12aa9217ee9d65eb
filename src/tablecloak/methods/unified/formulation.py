"""Ways to publish as one kind of mixed program: what is decided, what it costs, and the room it leaves each cell.

A *form* has columns x (low <= x <= high, some of them whole), rows  row_low <= A x <= row_high, a cost  c x + constant,
and says for every cell i how far the publication lets it be above and below its true value a_i:

    U(x) = u + U x,    D(x) = d + D x        (affine; infinite constants: nothing is stated)

| form | columns | room above, below | cost |
|---|---|---|---|
| suppression | x binary | UB x, LB x | w x |
| intervals | z+, z- >= 0 | z+, z- | w (z+ + z-) |
| combined | and x binary, z <= bounds times x | z+, z- | v x + w (z+ + z-) |
| rounding | x binary, v = floor + r x, additive | v + r - a, a - v + r | w \\|v - a\\| |
| perturbation | z+, z- >= 0, v = a + z+ - z-, additive | v +- reach | w \\|v - a\\| |

Attackers add their boxes: their room is min(U, UB^k), min(D, LB^k). Two models decide x for every form: the *first*
with a deviation for every level and attacker (`compact_model`), the *second* with proofs on demand
(`cutting_plane_model`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework for statistical disclosure limitation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import block_diag, coo_array, csr_array, hstack, vstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network
from tablecloak.model import Problem, box_deviation_bounds

FAR = 32.0
"""On tables that are no networks no hidden cell is counted on for more than so many times the largest level."""


@dataclass(frozen=True, eq=False)
class Affine:
    """constant + matrix x, an entry a cell."""

    constant: Floats
    matrix: csr_array

    def at(self, x: Floats) -> Floats:
        """The value at a point."""
        return np.asarray(self.constant + self.matrix @ x)


@dataclass(frozen=True, eq=False)
class Rows:
    """row_low <= matrix x <= row_high."""

    matrix: csr_array
    low: Floats
    high: Floats

    @classmethod
    def none(cls, columns: int) -> Rows:
        return cls(csr_array((0, columns)), np.zeros(0), np.zeros(0))

    def and_(self, other: Rows) -> Rows:
        """Both."""
        return Rows(
            csr_array(vstack([self.matrix, other.matrix])),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
        )


@dataclass(frozen=True, eq=False)
class Form:
    """What is decided, and what it means for each cell."""

    cost: Floats
    low: Floats
    high: Floats
    whole: Bools
    rows: Rows
    above: Affine
    below: Affine
    touched: Affine
    """To what extent a cell is touched: asked for conditional widths and for the number of touched cells."""
    constant: float = 0.0
    switches: Ints | None = None
    """For each column the binary one without which it is 0 (-1: none)."""

    @property
    def switch(self) -> Ints:
        """`switches`, also where there are none."""
        return np.full(self.size, -1) if self.switches is None else self.switches

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.cost.size

    def with_rows(self, rows: Rows) -> Form:
        """The same with more rows."""
        return replace(self, rows=self.rows.and_(rows))

    def at_most_touched(self, most: int | None) -> Form:
        """With at most so many cells touched (None: any number)."""
        if most is None:
            return self
        count = csr_array(self.touched.matrix.sum(axis=0).reshape(1, -1))
        room = most - float(self.touched.constant.sum())
        return self.with_rows(Rows(count, np.array([-np.inf]), np.array([room])))


def joined(parts: list[tuple[Bools, Form]], additive: Rows | None = None) -> Form:
    """Different forms for different cells: each speaks for its cells only. `additive` ties shown values together."""
    size = parts[0][0].size

    def together(which: str) -> Affine:
        chosen = [getattr(form, which) for _, form in parts]
        constant = np.zeros(size)
        for (cells, _), affine in zip(parts, chosen, strict=True):
            constant[cells] = affine.constant[cells]
        kept = [_only(affine.matrix, cells) for (cells, _), affine in zip(parts, chosen, strict=True)]
        return Affine(constant, csr_array(hstack(kept)))

    forms = [form for _, form in parts]
    rows = Rows(
        csr_array(block_diag([form.rows.matrix for form in forms])),
        np.concatenate([form.rows.low for form in forms]),
        np.concatenate([form.rows.high for form in forms]),
    )
    whole = Form(
        np.concatenate([form.cost for form in forms]),
        np.concatenate([form.low for form in forms]),
        np.concatenate([form.high for form in forms]),
        np.concatenate([form.whole for form in forms]),
        rows,
        together("above"),
        together("below"),
        together("touched"),
        sum(form.constant for form in forms),
        _shifted([form.switch for form in forms]),
    )
    return whole if additive is None else whole.with_rows(additive)


def _shifted(switches: list[Ints]) -> Ints:
    """Columns of forms side by side."""
    starts = np.cumsum([0, *(part.size for part in switches)])
    return np.concatenate(
        [np.where(part >= 0, part + start, -1) for part, start in zip(switches, starts, strict=False)]
    )


def _only(matrix: csr_array, cells: Bools) -> csr_array:
    """The rows of some cells, the others empty."""
    entries = matrix.tocoo()
    kept = cells[entries.row]
    return csr_array(
        coo_array((entries.data[kept], (entries.row[kept], entries.col[kept])), shape=matrix.shape)
    )


# ---------------------------------------------------------------------- the forms


def at_cells(cells: Ints, size: int, first: int, columns: int, entries: Floats | float = 1.0) -> csr_array:
    """A matrix with an entry for each of the cells: its own column, counted from `first`."""
    data = np.broadcast_to(np.asarray(entries, dtype=np.float64), cells.shape)
    return csr_array((data, (cells, first + np.arange(cells.size))), shape=(size, columns))


def suppression_form(problem: Problem, cells: Bools) -> Form:
    """Cells are hidden or published exactly. Cells that must be hidden are. Boxes must be finite for the others."""
    size, mine = cells.size, np.flatnonzero(cells & ~problem.must_hide)
    hidden = cells & problem.must_hide
    below, above = box_deviation_bounds(problem)
    count = mine.size
    endless = np.where(hidden, np.inf, 0.0)
    return Form(
        problem.weights[mine],
        np.zeros(count),
        np.ones(count),
        np.ones(count, dtype=bool),
        Rows.none(count),
        Affine(endless, at_cells(mine, size, 0, count, above[mine])),
        Affine(endless, at_cells(mine, size, 0, count, below[mine])),
        Affine(hidden.astype(float), at_cells(mine, size, 0, count)),
    )


def length_unit(problem: Problem) -> float:
    """What lengths are measured in so that programs stay well scaled: the median of the levels."""
    levels = np.concatenate([level for _, level in problem.levels.named()])
    return float(np.median(levels[levels > 0])) if (levels > 0).any() else problem.table.unit


def interval_form(problem: Problem, cells: Bools, hidden: Bools, up: Floats, down: Floats) -> Form:
    """Cells are published as [a - z-, a + z+] at prices `up` and `down` a unit of length; `hidden` ones not at all.

    Columns are lengths in units of `length_unit`.
    """
    size, mine = cells.size, np.flatnonzero(cells & ~hidden)
    count, unit = mine.size, length_unit(problem)
    below, above = box_deviation_bounds(problem)
    endless = np.where(cells & hidden, np.inf, 0.0)
    columns = 2 * count
    return Form(
        unit * np.concatenate([up[mine], down[mine]]),
        np.zeros(columns),
        np.concatenate([above[mine], below[mine]]) / unit,
        np.zeros(columns, dtype=bool),
        Rows.none(columns),
        Affine(endless, at_cells(mine, size, 0, columns, unit)),
        Affine(endless, at_cells(mine, size, count, columns, unit)),
        Affine((cells & hidden).astype(float), csr_array((size, columns))),
    )


def combined_form(
    problem: Problem, cells: Bools, hidden: Bools, up: Floats, down: Floats, fixed: Floats, most: float
) -> Form:
    """The same with a price `fixed` for touching a cell at all (x = 1); no interval is longer than `most` on a side."""
    size, mine = cells.size, np.flatnonzero(cells & ~hidden)
    count, unit = mine.size, length_unit(problem)
    below, above = (np.minimum(room, most) / unit for room in box_deviation_bounds(problem))
    endless = np.where(cells & hidden, np.inf, 0.0)
    columns = 3 * count
    eye = np.arange(count)
    links = [
        csr_array(
            (
                np.concatenate([np.ones(count), -room[mine]]),
                (np.concatenate([eye, eye]), np.concatenate([k * count + eye, eye])),
            ),
            shape=(count, columns),
        )
        for k, room in ((1, above), (2, below))
    ]
    rows = Rows(csr_array(vstack(links)), np.full(2 * count, -np.inf), np.zeros(2 * count))
    return Form(
        np.concatenate([fixed[mine], unit * up[mine], unit * down[mine]]),
        np.zeros(columns),
        np.concatenate([np.ones(count), above[mine], below[mine]]),
        np.arange(columns) < count,
        rows,
        Affine(endless, at_cells(mine, size, count, columns, unit)),
        Affine(endless, at_cells(mine, size, 2 * count, columns, unit)),
        Affine((cells & hidden).astype(float), at_cells(mine, size, 0, columns)),
        switches=np.concatenate([np.full(count, -1), eye, eye]),
    )


def furthest(problem: Problem) -> float:
    """So much room is as good as any."""
    largest = max((float(level.max(initial=0.0)) for _, level in problem.levels.named()), default=0.0)
    return (1.0 if is_network(problem) else FAR) * max(largest, problem.table.unit)
