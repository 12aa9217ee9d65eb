"""Table: cells in columns and the sparse equations that tie them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.dimension import Dimension
from tablecloak.equations import Packing, additive, aggregated, summation_equations
from tablecloak.errors import InputError

MOST_DECIMALS = 9


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

        Cells that are not listed are structural zeros. Every total must be listed and add up, within `tolerance`
        (an absolute amount; by default rounding noise only); `recompute=True` builds all totals from the leaves
        instead and ignores the totals given. Further numeric columns are kept in `columns`.
        """
        codes = _read_codes(dimensions, cells)
        values = _read_values(cells, value, codes.shape[0])
        _check_cells(dimensions, codes, values)
        extra = _read_columns(cells, [value, *(dimension.name for dimension in dimensions)])
        if recompute:
            codes, values, extra = _recomputed(dimensions, codes, values, extra)
        return cls._checked(dimensions, codes, values, extra, decimals, tolerance)

    @classmethod
    def _checked(
        cls,
        dimensions: Sequence[Dimension],
        codes: Codes,
        values: Floats,
        extra: Mapping[str, Floats],
        decimals: int | None,
        tolerance: float | None,
    ) -> Table:
        sums = summation_equations(dimensions, codes)
        table = cls(
            tuple(dimensions),
            frozen(codes),
            floats(values),
            frozen_matrix(sums.matrix),
            floats(0.0, sums.matrix.shape[0]),
            infer_decimals(values) if decimals is None else decimals,
            {name: floats(column) for name, column in extra.items()},
        )
        orphans = Packing.of(dimensions).codes(sums.orphans)
        if len(orphans):
            raise InputError(
                "Table",
                [
                    f"total {label_of(dimensions, row)} is absent although parts of it are present"
                    for row in orphans
                ],
                advice="List the totals too, or pass recompute=True to build them from the leaves.",
            )
        table.check_additive(tolerance)
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
        numbers = floats(np.atleast_1d(np.asarray(values, dtype=np.float64)))
        matrix = frozen_matrix(equations)
        count = numbers.size
        if matrix.shape[1] != count:
            raise InputError("Table", [f"{count} values, but equations over {matrix.shape[1]} cells"])
        ids = tuple(names) if names is not None else tuple(str(i) for i in range(count))
        dimension = Dimension.names("cell", ids)
        if len(dimension.index) != count:
            raise InputError(
                "Table", [f"{count} values need {count} distinct names, got {len(dimension.index)}"]
            )
        codes = frozen(np.arange(count, dtype=np.int32)[:, None])
        _check_cells([dimension], codes, numbers)
        table = cls(
            (dimension,),
            codes,
            numbers,
            matrix,
            floats(rhs, matrix.shape[0]),
            infer_decimals(numbers) if decimals is None else decimals,
            {name: floats(column) for name, column in (columns or {}).items()},
        )
        table.check_additive(tolerance)
        return table

    # ------------------------------------------------------------------ looking at it

    def __len__(self) -> int:
        return self.values.size

    @property
    def unit(self) -> float:
        """The data unit: the smallest difference between two values, 10^-decimals."""
        return float(10.0**-self.decimals)

    @cached_property
    def is_leaf(self) -> Bools:
        """Cells that are no total: for equations without dimensions, cells that are no minority sign of a row."""
        if any(dimension.hierarchies for dimension in self.dimensions):
            leaf = np.ones(len(self), dtype=bool)
            for d, dimension in enumerate(self.dimensions):
                leaf &= dimension.is_leaf[self.codes[:, d]]
            return frozen(leaf)
        negative = self.equations.data < 0
        leaf = np.ones(len(self), dtype=bool)
        leaf[self.equations.indices[negative]] = False
        return frozen(leaf)

    def label(self, cell: int) -> str:
        """The codes of a cell, for messages."""
        return label_of(self.dimensions, self.codes[cell])

    def labels(self, cells: Iterable[int]) -> list[str]:
        """The labels of several cells."""
        return [self.label(int(cell)) for cell in cells]

    def find(self, **codes: str) -> int:
        """The number of the cell with these codes; a dimension left out means its total."""
        wanted = []
        for dimension in self.dimensions:
            code = codes.pop(dimension.name, dimension.total)
            if code is None or code not in dimension.index:
                raise KeyError(f"dimension {dimension.name!r} has no code {code!r}")
            wanted.append(dimension.index[code])
        if codes:
            raise KeyError(f"no dimension called {', '.join(map(repr, codes))}")
        hits = np.flatnonzero((self.codes == np.array(wanted, dtype=np.int32)).all(axis=1))
        if hits.size == 0:
            raise KeyError("there is no such cell in the table")
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
        broken = np.flatnonzero(~additive(self.equations, self.rhs, self.values, tolerance))
        if broken.size:
            residual = self.equations @ self.values - self.rhs
            raise InputError(
                "The table does not add up",
                [f"equation {row}: {self._equation_label(int(row))}" for row in broken],
                advice="Correct the values, pass recompute=True to rebuild totals from leaves, or a tolerance.",
                confidential={"equations": broken, "differences": residual[broken]},
            )

    def _equation_label(self, row: int) -> str:
        start, stop = self.equations.indptr[row : row + 2]
        cells, signs = self.equations.indices[start:stop], self.equations.data[start:stop]
        totals = cells[signs < 0]
        head = self.label(int(totals[0])) if totals.size == 1 else f"{cells.size} cells"
        return f"the total {head} is not the sum of its {cells.size - totals.size} parts"

    def __repr__(self) -> str:
        dims = " x ".join(f"{dimension.name}({len(dimension.codes)})" for dimension in self.dimensions)
        return f"<confidential Table: {dims}, {len(self)} cells, {self.equations.shape[0]} equations>"


# ---------------------------------------------------------------------- reading


def label_of(dimensions: Sequence[Dimension], row: Codes) -> str:
    """The codes of a row as text: ``region=North, size=Total``."""
    return ", ".join(
        f"{dimension.name}={dimension.codes[code]}" for dimension, code in zip(dimensions, row, strict=True)
    )


def infer_decimals(values: Floats) -> int:
    """The fewest decimals that write all values exactly (up to rounding noise), at most nine."""
    size = np.abs(values)
    for decimals in range(MOST_DECIMALS):
        scaled = size * 10.0**decimals
        if np.all(np.abs(scaled - np.rint(scaled)) <= np.maximum(1e-9 * scaled, 1e-6)):
            return decimals
    return MOST_DECIMALS


def _read_codes(dimensions: Sequence[Dimension], cells: Mapping[str, Any]) -> Codes:
    faults, columns = [], []
    for dimension in dimensions:
        try:
            given = np.asarray(cells[dimension.name])
        except KeyError:
            faults.append(f"there is no column {dimension.name!r} for the dimension of that name")
            continue
        distinct, inverse = np.unique(given.astype(str), return_inverse=True)
        known = np.array([dimension.index.get(code, -1) for code in distinct], dtype=np.int32)
        column = known[inverse] if distinct.size else np.zeros(0, dtype=np.int32)
        faults += [
            f"row {row + 1}: unknown code {str(given[row])!r} in dimension {dimension.name!r}"
            for row in np.flatnonzero(column < 0)
        ]
        columns.append(column)
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        faults.append(f"the columns of codes have different lengths: {sorted(lengths)}")
    if faults:
        raise InputError(
            "Cells", faults, advice="Every code must be in its dimension; fix the data or the hierarchy."
        )
    if not columns:
        raise InputError("Cells", ["a table needs at least one dimension"])
    return np.stack(columns, axis=1)


def _read_values(cells: Mapping[str, Any], name: str, size: int) -> Floats:
    try:
        column = np.asarray(cells[name])
    except KeyError:
        raise InputError("Cells", [f"there is no column {name!r} with the values"]) from None
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        faults = [
            f"row {row + 1}: the value is not a number" for row, v in enumerate(column) if not _is_number(v)
        ]
        raise InputError("Cells", faults) from None
    if values.shape != (size,):
        raise InputError("Cells", [f"{size} rows of codes, but values of shape {values.shape}"])
    return values


def _read_columns(cells: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Floats]:
    columns = {}
    for name in cells:
        if name in taken:
            continue
        column = np.asarray(cells[name])
        if column.dtype.kind in "iufb":
            columns[str(name)] = column.astype(np.float64)
    return columns


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _check_cells(dimensions: Sequence[Dimension], codes: Codes, values: Floats) -> None:
    if values.size == 0:
        raise InputError("Table", ["the table has no cells"])
    faults = [
        f"row {row + 1} ({label_of(dimensions, codes[row])}): the value is not a finite number"
        for row in np.flatnonzero(~np.isfinite(values))
    ]
    keys = Packing.of(dimensions).keys(codes)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    faults += [
        f"row {row + 1}: cell {label_of(dimensions, codes[row])} is listed {count} times"
        for row, count in zip(first[counts > 1], counts[counts > 1], strict=True)
    ]
    if faults:
        raise InputError("Cells", faults, advice="Give each cell once, with a finite value.")


def _recomputed(
    dimensions: Sequence[Dimension], codes: Codes, values: Floats, extra: Mapping[str, Floats]
) -> tuple[Codes, Floats, dict[str, Floats]]:
    """Totals rebuilt from leaves; further columns stay with the cells they were given for, NaN elsewhere."""
    leaf = np.ones(codes.shape[0], dtype=bool)
    for d, dimension in enumerate(dimensions):
        leaf &= dimension.is_leaf[codes[:, d]]
    new_codes, new_values = aggregated(dimensions, codes[leaf], values[leaf])
    packing = Packing.of(dimensions)
    old_keys, new_keys = packing.keys(codes), packing.keys(new_codes)
    lost = np.flatnonzero(~np.isin(old_keys, new_keys) & (values != 0))
    if lost.size:
        raise InputError(
            "Cells",
            [
                f"row {row + 1}: total {label_of(dimensions, codes[row])} has no parts to be rebuilt from"
                for row in lost
            ],
            advice="List the leaf cells below these totals, or leave recompute off.",
        )
    at = np.searchsorted(new_keys, old_keys)
    kept: Ints = np.flatnonzero(np.isin(old_keys, new_keys))
    columns = {}
    for name, column in extra.items():
        columns[name] = np.full(new_keys.size, np.nan)
        columns[name][at[kept]] = column[kept]
    return new_codes, new_values, columns
