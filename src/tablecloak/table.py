"""Table: cells in columns and the sparse equations that tie them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.cells import MOST_DECIMALS, Cells, leaf_cells, read_cells, recomputed, value_faults
from tablecloak.cells import infer_decimals as infer_decimals
from tablecloak.contributions import Contributions
from tablecloak.dimension import Dimension, check_dimensions
from tablecloak.dimension import label_of as label_of
from tablecloak.equations import Packing, additive, summation_equations
from tablecloak.errors import InputError, near

EXACT_POWERS = 22
"""Powers of ten up to this one are exact floats."""


@dataclass(frozen=True, eq=False)
class Table:
    """Cells with values a_i, and equations: `equations` @ values = rhs.

    Confidential: it carries true values. Cells are numbered 0..n-1 and named by their codes, one a dimension.
    `columns` holds further numbers a cell (contributors, another variable, the largest contribution).
    """

    dimensions: tuple[Dimension, ...]
    codes: Codes
    values: Floats
    equations: csr_array
    rhs: Floats
    decimals: int = 0
    columns: Mapping[str, Floats] = field(default_factory=dict)
    complete: bool = False
    """Whether combinations of codes without a cell are zero (a table from cells), or just not shown."""
    response: str = "value"
    """What the values measure, for headings."""
    respondents: Contributions | None = None
    """Who contributes to each cell, where that is known."""
    holdings: Contributions | None = None
    """The same by holding: respondents that belong together count as one."""
    frame_kind: str | None = None
    """The dataframe library the data came from; frames made of the table are of the same kind."""
    virtual: int = 0
    """The last so many cells are sums that no publication shows: unions of cells that must be protected."""

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
    ) -> Table:
        """A table from a column of codes for each dimension and a column of values (a dict or a dataframe).

        Cells that are not listed are structural zeros. Every total must be listed and add up, within
        `tolerance` (an absolute amount; by default rounding noise only); `recompute=True` builds all totals
        from the leaves instead and ignores the totals given. Further numeric columns are kept in `columns`.
        """
        check_dimensions(dimensions)
        read = read_cells(dimensions, cells, value, leaves_only=recompute)
        if recompute:
            read = recomputed(dimensions, read)
        return cls._checked(tuple(dimensions), read, decimals, tolerance, value)

    @classmethod
    def _checked(
        cls,
        dimensions: tuple[Dimension, ...],
        cells: Cells,
        decimals: int | None,
        tolerance: float | None,
        response: str,
    ) -> Table:
        sums = summation_equations(dimensions, cells.codes)
        table = cls(
            dimensions,
            frozen(cells.codes),
            floats(cells.values),
            frozen_matrix(sums.matrix),
            floats(0.0, sums.matrix.shape[0]),
            _decimals(cells.values, decimals),
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
        """A table straight from any linear equations: `equations` @ values = rhs."""
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
        table = cls((dimension,), codes, numbers, matrix, right, _decimals(numbers, decimals), further)
        table.check_additive(tolerance)
        return table

    # ------------------------------------------------------------------ looking at it

    def __len__(self) -> int:
        return self.values.size

    @cached_property
    def is_virtual(self) -> Bools:
        """Cells that are not part of the table as printed, only sums of some of its cells."""
        return frozen(np.arange(len(self)) >= len(self) - self.virtual)

    @property
    def unit(self) -> float:
        """The data unit: the smallest difference between two values, 10^-decimals."""
        return float(10.0**-self.decimals)

    def amounts(self, units: Floats) -> Floats:
        """Numbers of data units as amounts: the floats next to these decimals."""
        if self.decimals <= EXACT_POWERS:
            return np.asarray(units / 10.0**self.decimals)
        return np.asarray(units * self.unit)

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

    def check_additive(self, tolerance: float | None = None) -> None:
        """Raise an `InputError` that lists every equation that does not hold."""
        self._check_sums([], tolerance)

    def _check_sums(self, faults: Sequence[str], tolerance: float | None) -> None:
        """Raise if there are faults already or equations that do not hold."""
        if tolerance is not None and not (_is_number(tolerance) and 0 <= tolerance < np.inf):
            raise InputError("Table", ["the tolerance must be a finite number that is not negative"])
        holds = additive(self.equations, self.rhs, self.values, tolerance, self.unit)
        broken: Ints = np.flatnonzero(~holds)
        faults = [*faults, *(f"equation {row}: {self._equation_fault(int(row))}" for row in broken)]
        if not faults:
            return
        residual = self.equations @ self.values - self.rhs
        raise InputError(
            "The table does not add up",
            faults,
            advice="Correct the values, list all totals and their parts (absent cells count as zero), "
            "pass recompute=True to rebuild totals from leaves, or a tolerance.",
            confidential={"equations": broken, "differences": residual[broken]},
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
        return f"<confidential Table: {dims}, {len(self)} cells, {self.equations.shape[0]} equations>"


# ---------------------------------------------------------------------- reading


def _decimals(values: Floats, given: int | None) -> int:
    if given is None:
        return infer_decimals(values)
    if not _is_number(given) or not 0 <= given <= MOST_DECIMALS or given != int(given):
        fault = f"decimals must be a whole number that is not negative, {MOST_DECIMALS} at most"
        raise InputError("Table", [fault])
    return int(given)


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
