"""Table: cells in columns and the sparse equations that tie them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.errors import InputError, near
from tablecloak.model.cells import (
    Cells,
    infer_decimals,
    leaf_cells,
    read_cells,
    rebuilt_units,
    recomputed,
    value_faults,
)
from tablecloak.model.contributions import Contributions
from tablecloak.model.dimension import Dimension, check_dimensions, label_of
from tablecloak.model.emptiness import KNOWN, Emptiness, EmptyCells, Impossible, of_kind
from tablecloak.model.equations import Packing, summation_equations
from tablecloak.model.settings import MOST_CELLS
from tablecloak.model.tolerances import FLOAT_NOISE, MOST_DECIMALS
from tablecloak.model.units import amounts, checked_units, residuals, unit_of


@dataclass(frozen=True, eq=False)
class Table:
    """Cells with values a_i, and equations: `equations` @ values = rhs.

    Confidential: it carries true values. Cells are numbered 0..n-1 and named by their codes, one for each dimension.
    `columns` holds further numbers a cell (contributors, another variable, the largest contribution).
    """

    dimensions: tuple[Dimension, ...]
    codes: Codes
    units: Ints
    """The values as whole numbers of the data unit, fewer than 2^52 in size: all sums of them are exact."""
    equations: csr_array
    rhs: Floats
    decimals: int = 0
    columns: Mapping[str, Floats] = field(default_factory=dict)
    complete: bool = False
    """Whether combinations of codes without a cell are zero (a table from cells), or just not shown."""
    response: str = "value"
    """The name of what the values measure, for headings."""
    respondents: Contributions | None = None
    """Contributors of each cell, where they are known."""
    holdings: Contributions | None = None
    """Contributors by holding: respondents that belong together count as one."""
    frame_kind: str | None = None
    """The dataframe library the data came from; frames made of the table are of the same kind."""
    virtual: int = 0
    """Number of cells at the end that no publication shows: sums of cells that must be protected together."""
    cell_decimals: NDArray[np.int8] | None = None
    """The decimals of the table that each cell is from, where linked tables differ in them."""
    rounding: float = 0.0
    """The largest change of a cell when leaves were rounded to the data unit and totals added up from them."""
    counts: bool = False
    """Whether the values are numbers of units (persons, firms)."""
    weighted: bool = False
    """Whether sampling weights are in the values, so that an empty combination only has no respondent."""
    empty: str = KNOWN
    """The meaning of empty combinations: "known" (printed as empty), or "cells" of value zero that may be hidden."""
    emptiness: Emptiness | None = None
    """Knowledge of linked tables about each other's cells; None: it follows from the fields above."""

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_cells(
        cls,
        dimensions: Sequence[Dimension],
        cells: Mapping[str, Any],
        *,
        value: str = "value",
        decimals: int | None = None,
        recompute: bool = False,
        tolerance: float | None = None,
        round: bool = True,
        counts: bool = False,
        weighted: bool = False,
        empty: str = KNOWN,
        impossible: Impossible = None,
        most_cells: int = MOST_CELLS,
    ) -> Table:
        """A table from a column of codes for each dimension and a column of values (a dict or a dataframe).

        Cells that are not listed are structural zeros. Every total must be listed and add up exactly, and every
        value must be a whole multiple of the data unit; `decimals` sets it. With a `tolerance` totals that miss
        their parts by no more than this absolute amount are added up again. `recompute=True` ignores the totals
        given: leaves are rounded to the data unit (`round=False` refuses what would have to be) and all totals are
        added up from them. `Table.rounding` is the largest change. Further numeric columns are kept in `columns`.

        `counts` says that the values are numbers of units, `weighted` that they are weighted. With
        ``empty="cells"`` combinations that are not listed become cells of value zero, up to `most_cells` cells,
        unless they are `impossible` (`tablecloak.model.emptiness.with_empty_cells`). See docs/counts.md.
        """
        check_dimensions(dimensions)
        if tolerance is not None and not (_is_number(tolerance) and 0 <= tolerance < np.inf):
            raise InputError("Table", ["the tolerance must be a finite number that is not negative"])
        read = read_cells(dimensions, cells, value, leaves_only=recompute)
        if recompute:
            read = recomputed(dimensions, read)
        unit = _decimals(read.values, decimals)
        if recompute:
            units, change = rebuilt_units(dimensions, read.codes, read.values, unit, exact=not round)
        else:
            units, change = _kept(dimensions, read, unit), 0.0
        table = cls._of_cells(tuple(dimensions), read, units, unit, value, tolerance or 0.0)
        if tolerance and not recompute:
            units, change = rebuilt_units(dimensions, read.codes, read.values, unit, exact=True)
            change = float(np.abs(amounts(units - table.units, unit)).max())
        table = replace(table, units=frozen(units), rounding=change)
        return of_kind(table, EmptyCells(empty, impossible, most_cells), counts=counts, weighted=weighted)

    @classmethod
    def _of_cells(
        cls,
        dimensions: tuple[Dimension, ...],
        cells: Cells,
        units: Ints,
        decimals: int,
        response: str,
        tolerance: float,
    ) -> Table:
        sums = summation_equations(dimensions, cells.codes)
        table = cls(
            dimensions,
            frozen(cells.codes),
            frozen(units),
            frozen_matrix(sums.matrix),
            floats(0.0, sums.matrix.shape[0]),
            decimals,
            {name: floats(column) for name, column in cells.columns.items()},
            complete=all(dimension.hierarchies for dimension in dimensions),
            response=response,
        )
        absent = [
            f"total {label_of(dimensions, row)} is absent although parts of it are present"
            for row in Packing.of(dimensions).codes(sums.orphans)
        ]
        table._check_sums(absent, tolerance)
        return table

    @classmethod
    def from_equations(
        cls,
        values: ArrayLike,
        equations: Any,
        rhs: ArrayLike = 0.0,
        *,
        names: Iterable[str] | None = None,
        decimals: int | None = None,
        tolerance: float | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
    ) -> Table:
        """A table straight from any linear equations: `equations` @ values = rhs, exactly, in whole data units.

        Nothing is rounded or added up here: which cells are totals is not known. A `tolerance` is refused for the
        same reason; correct the values instead.
        """
        if tolerance is not None:
            fault = "equations must hold exactly: there is no tolerance, for no cell is known to be a total"
            raise InputError("Table", [fault], advice="Correct the values, or use Table.from_cells.")
        numbers = floats(np.atleast_1d(floats(values)))
        count = numbers.size
        matrix = _read_matrix(equations, count)
        right = floats(rhs, matrix.shape[0])
        further = {name: floats(column) for name, column in (columns or {}).items()}
        _check_shapes(numbers, matrix, right, further)
        dimension = Dimension.names("cell", map(str, range(count) if names is None else names))
        codes = frozen(np.arange(len(dimension.codes), dtype=np.int32)[:, None])
        if len(dimension.codes) != count:
            raise InputError("Table", [f"{count} values need {count} names, got {len(dimension.codes)}"])
        if faults := list(value_faults([dimension], codes, numbers)):
            raise InputError("Cells", faults)
        unit = _decimals(numbers, decimals)
        units = _kept([dimension], Cells(codes, numbers, {}), unit)
        table = cls((dimension,), codes, frozen(units), matrix, right, unit, further)
        table.check_additive()
        return table

    # ------------------------------------------------------------------ looking at it

    def __len__(self) -> int:
        return self.units.size

    @cached_property
    def values(self) -> Floats:
        """The values of the cells: the floats next to units / 10^decimals."""
        return frozen(amounts(self.units, self.decimals))

    @cached_property
    def is_virtual(self) -> Bools:
        """Cells that are not part of the table as printed, only sums of some of its cells."""
        return frozen(np.arange(len(self)) >= len(self) - self.virtual)

    @property
    def unit(self) -> float:
        """The data unit: the smallest difference between two values, 10^-decimals."""
        return unit_of(self.decimals)

    @cached_property
    def cell_steps(self) -> Ints:
        """Number of units in the data unit of each cell's own table: 1 unless linked tables differ in theirs."""
        if self.cell_decimals is None:
            return frozen(np.ones(len(self), dtype=np.int64))
        return frozen(10 ** (self.decimals - self.cell_decimals.astype(np.int64)))

    def amounts(self, units: Floats | Ints) -> Floats:
        """Numbers of data units as amounts: the floats next to these decimals."""
        return amounts(units, self.decimals)

    @cached_property
    def is_leaf(self) -> Bools:
        """Cells that are no total; with mere names as dimensions, those with the minority sign of no row."""
        if any(dimension.hierarchies for dimension in self.dimensions):
            return frozen(leaf_cells(self.dimensions, self.codes))
        positive, count = self.equations.data > 0, self.equations.shape[0]
        row = np.repeat(np.arange(count), np.diff(self.equations.indptr))
        plus, minus = (
            np.bincount(row[positive], minlength=count),
            np.bincount(row[~positive], minlength=count),
        )
        total = np.where(positive, (plus < minus)[row], ((minus <= plus) & (plus > 0))[row])
        leaf = np.ones(len(self), dtype=bool)
        leaf[self.equations.indices[total]] = False
        return frozen(leaf)

    def label(self, cell: SupportsIndex) -> str:
        """The codes of a cell, for messages."""
        return label_of(self.dimensions, self.codes[int(cell)])

    def labels(self, cells: Iterable[SupportsIndex]) -> list[str]:
        """The labels of several cells."""
        return [self.label(cell) for cell in cells]

    def find(self, **codes: str) -> int:
        """The number of the cell with these codes; a dimension left out means its total."""
        names = [dimension.name for dimension in self.dimensions]
        listing = f"; there are {', '.join(names)}"
        faults = [
            f"no dimension called {name!r}{near(name, names) or listing}"
            for name in codes
            if name not in names
        ]
        wanted = []
        for dimension in self.dimensions:
            code = codes.get(dimension.name, dimension.total)
            if code is None:
                faults.append(f"dimension {dimension.name!r} has no total: name a code of it")
            elif code not in dimension.index:
                some = ", ".join(dimension.codes[:8]) + (", ..." if len(dimension.codes) > 8 else "")
                hint = near(code, dimension.codes) or f"; it has {some}"
                faults.append(f"dimension {dimension.name!r} has no code {code!r}{hint}")
            else:
                wanted.append(dimension.index[code])
        if faults:
            raise InputError("Cell", faults, advice="Write it like find(region='North'); codes are text.")
        hits = np.flatnonzero((self.codes == np.array(wanted, dtype=np.int32)).all(axis=1))
        if hits.size == 0:
            fault = f"there is no such cell in the table: {label_of(self.dimensions, np.array(wanted))}"
            raise InputError("Cell", [fault], advice="Combinations of codes without records have no cell.")
        return int(hits[0])

    def column(self, name: str) -> Floats:
        """A further column by name; a clear error names those there are."""
        if name not in self.columns:
            raise InputError(
                "Table",
                [f"there is no column {name!r}"],
                advice=f"Columns: {', '.join(self.columns) or 'none'}.",
            )
        return self.columns[name]

    def check_additive(self) -> None:
        """Raise an `InputError` that lists every equation that does not hold, exactly."""
        self._check_sums([], 0.0)

    def _check_sums(self, faults: Sequence[str], tolerance: float) -> None:
        """Raise if there are faults already or equations that do not hold."""
        off = amounts(residuals(self.equations, self.rhs, self.units, self.decimals), self.decimals)
        broken: Ints = np.flatnonzero(np.abs(off) > tolerance * (1 + FLOAT_NOISE))
        faults = [*faults, *(f"equation {row}: {self._equation_fault(int(row))}" for row in broken)]
        if not faults:
            return
        raise InputError(
            "The table does not add up",
            faults,
            advice="Correct the values, list all totals and their parts (absent cells count as zero), "
            "pass recompute=True to rebuild totals from leaves, or a tolerance.",
            confidential={"equations": broken, "differences": off[broken]},
        )

    def _equation_fault(self, row: int) -> str:
        start, stop = self.equations.indptr[row : row + 2]
        cells, signs = self.equations.indices[start:stop], self.equations.data[start:stop]
        totals = cells[signs < 0]
        if totals.size != 1 or self.rhs[row] != 0:
            some = "; ".join(self.labels(cells[:3])) + ("; ..." if cells.size > 3 else "")
            return f"it does not hold for its {cells.size} cells ({some})"
        head = f"the total {self.label(int(totals[0]))}"
        if cells.size == 1:
            return f"{head} is not zero although it has no parts"
        return f"{head} is not the sum of its {cells.size - 1} parts"

    def __repr__(self) -> str:
        dims = " x ".join(f"{dimension.name}({len(dimension.codes)})" for dimension in self.dimensions)
        how = f", rounded to {self.unit:g}" if self.rounding else ""
        return f"<confidential Table: {dims}, {len(self)} cells, {self.equations.shape[0]} equations{how}>"


# ---------------------------------------------------------------------- reading


def _decimals(values: Floats, given: int | None) -> int:
    if given is None:
        return infer_decimals(values)
    if not _is_number(given) or not 0 <= given <= MOST_DECIMALS or given != int(given):
        fault = f"decimals must be a whole number that is not negative, {MOST_DECIMALS} at most"
        raise InputError("Table", [fault])
    return int(given)


def _kept(dimensions: Sequence[Dimension], cells: Cells, decimals: int) -> Ints:
    """The values as they are, in whole units; those that are not whole multiples are listed."""
    advice = (
        "decimals= sets the data unit; round the values, or for cells with codes pass recompute=True: leaves are "
        "rounded and totals added up from them."
    )
    return checked_units(
        cells.values, decimals, lambda cell: label_of(dimensions, cells.codes[cell]), advice=advice
    )


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)


def _read_matrix(equations: Any, count: int) -> csr_array:
    """Equations over `count` cells as a sparse matrix; an empty list is no equations."""
    if not issparse(equations):
        equations = np.atleast_2d(floats(equations))
        if equations.size == 0:
            equations = np.zeros((0, count))
    if equations.ndim != 2:
        raise InputError("Table", ["the equations must be a matrix, one row an equation"])
    return frozen_matrix(equations)


def _check_shapes(values: Floats, matrix: csr_array, rhs: Floats, columns: Mapping[str, Floats]) -> None:
    count, rows = values.size, matrix.shape[0]
    faults = []
    if values.ndim != 1 or count == 0:
        faults.append("the table has no cells" if count == 0 else "the values must be a plain list")
    if matrix.shape[1] != count:
        faults.append(f"{count} values, but equations over {matrix.shape[1]} cells")
    if rhs.shape != (rows,):
        faults.append(f"{rows} equations, but a right-hand side of shape {rhs.shape}")
    elif not np.isfinite(rhs).all():
        faults += [
            f"equation {row}: the right-hand side is not a finite number"
            for row in np.flatnonzero(~np.isfinite(rhs))
        ]
    strange = np.searchsorted(matrix.indptr, np.flatnonzero(~np.isfinite(matrix.data)), side="right") - 1
    faults += [f"equation {row}: a coefficient is not a finite number" for row in np.unique(strange)]
    faults += [
        f"column {name!r}: {count} values, but shape {column.shape}"
        for name, column in columns.items()
        if column.shape != (count,)
    ]
    if faults:
        raise InputError("Table", faults)
