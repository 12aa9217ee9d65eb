"""Contributions: the contributors of each cell, as far as rules and attackers need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.errors import InputError
from tablecloak.model.settings import NO_UNIT


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributors ("units") of each cell at one level: respondents, or holdings. Confidential.

    Contributions are those of the *shadow* variable (the response itself unless another one was named): the
    variable that rules look at. x_1, x_2, ... are the contributions to a cell by absolute value, largest
    first, ties in the order of the data. With sampling weights x_i stands for w_i copies of itself.
    A holding is one unit of weight 1: its contribution is the weighted sum over its respondents. A respondent
    without a holding is a unit of its own among the holdings, with its own weight.
    """

    level: str
    """"respondents" or "holdings"."""
    count: Ints
    """f: how many units contribute to each cell."""
    weight: Floats
    """Sum of the weights of these units; the count where there are no weights."""
    total: Floats
    """X: the (weighted) total of the shadow variable."""
    top: Floats
    """(cells, n): x_1 ... x_n with their signs, zero where there is no such unit."""
    top_weight: Floats
    """(cells, n): their weights, zero where there is no such unit."""
    top_unit: Ints
    """(cells, n): their numbers, `NO_UNIT` where there is none or none is known."""
    unwaived: Ints
    """Number of units of each cell that have not waived their protection."""
    largest_unwaived: Floats
    """The largest contribution of a unit that has not waived its protection, zero where there is none."""
    largest_unwaived_unit: Ints
    """The number of that unit."""
    requesters: Ints
    """Number of units of each cell that request protection."""
    requested: Floats
    """(cells, 2): the largest contribution that carries request code 1, and code 2; zero where none does."""
    units: NDArray[np.str_]
    """Names of the units that are known by number: all that are among the largest of some cell."""
    unit_weight: Floats
    """Weights of these units."""
    unit_waived: Bools
    """Whether they have waived their protection."""
    shares: csr_array
    """(units, cells): what each of them contributes to the response, before weighting."""
    shadow_shares: csr_array
    """(units, cells): what each of them contributes to the shadow variable, before weighting."""

    @classmethod
    def of_cells(
        cls, count: ArrayLike, top: ArrayLike, total: ArrayLike, *, level: str = "respondents"
    ) -> Contributions:
        """Contributions from figures by cell: counts, the largest ones (cells, n), totals. Units stay unknown."""
        sizes, totals, number = floats(top), floats(total), np.asarray(count, dtype=np.int64)
        cells, n = sizes.shape if sizes.ndim == 2 else (-1, 0)
        if number.shape != (cells,) or totals.shape != (cells,):
            shapes = f"{number.shape}, {sizes.shape} and {totals.shape}"
            expected = "expected one count, n largest contributions and one total for each cell"
            raise InputError("Contributions", [f"{expected}, got arrays of shape {shapes}"])
        present = np.arange(n) < number[:, None]
        none = np.full(cells, NO_UNIT)
        first = sizes[:, 0] if n else np.zeros(cells)
        nothing = csr_array((0, cells), dtype=np.float64)
        return cls(
            level,
            frozen(number),
            floats(number),
            totals,
            floats(np.where(present, sizes, 0.0)),
            floats(present),
            frozen(np.full((cells, n), NO_UNIT)),
            frozen(number.copy()),
            floats(first),
            frozen(none),
            frozen(np.zeros(cells, dtype=np.int64)),
            floats(np.zeros((cells, 2))),
            frozen(np.zeros(0, dtype=np.str_)),
            floats(np.zeros(0)),
            frozen(np.zeros(0, dtype=bool)),
            frozen_matrix(nothing),
            frozen_matrix(nothing),
        )

    def __len__(self) -> int:
        """Cells."""
        return self.count.size

    @property
    def depth(self) -> int:
        """n: how many of the largest contributions are known."""
        return int(self.top.shape[1])

    @property
    def knows_units(self) -> bool:
        """Whether contributors are known one by one, and not only by what they sum up to."""
        return bool(self.units.size)

    def contributions_of(self, units: Ints) -> tuple[Ints, Floats]:
        """Cells that some of the units contribute to, and their (weighted) sum there, in the response."""
        rows = self.shares[units]
        rows = csr_array(rows.multiply(self.unit_weight[units][:, None]))
        sums = np.asarray(rows.sum(axis=0), dtype=np.float64).ravel()
        cells = np.unique(rows.indices).astype(np.int64)
        return cells, sums[cells]

    def __repr__(self) -> str:
        return (
            f"<confidential Contributions of {self.level}: {len(self)} cells, {self.units.size} units known>"
        )


def placed(parts: Sequence[Contributions], places: Sequence[Ints], size: int) -> Contributions | None:
    """The contributions of several tables in one of `size` cells, where cell i of part t is places[t][i].

    A cell that several tables have keeps what the first of them says; a cell that none has, has no contributors.
    Units of the same name are the same.
    """
    if not parts:
        return None
    depth = max(part.depth for part in parts)
    units, numbers = np.unique(np.concatenate([part.units for part in parts]), return_inverse=True)
    starts = np.cumsum([0, *(part.units.size for part in parts)])
    renumber = [numbers[starts[t] : starts[t + 1]] for t in range(len(parts))]
    arrays: dict[str, Any] = {
        name: _spread(
            [_column(part, name, depth, new) for part, new in zip(parts, renumber, strict=True)],
            places,
            size,
            NO_UNIT if name in _UNIT_NUMBERS else 0,
        )
        for name in _BY_CELL
    }
    facts: dict[str, Any] = {
        name: _by_unit(parts, renumber, units.size, name) for name in ("unit_weight", "unit_waived")
    }
    shares: dict[str, Any] = {
        name: _placed_shares([getattr(part, name) for part in parts], renumber, places, (units.size, size))
        for name in ("shares", "shadow_shares")
    }
    return Contributions(level=parts[0].level, units=frozen(units), **arrays, **facts, **shares)


_UNIT_NUMBERS = ("top_unit", "largest_unwaived_unit")
_BY_UNIT = {"units", "unit_weight", "unit_waived"}
_MATRICES = {"shares", "shadow_shares"}
_BY_CELL = tuple(f.name for f in fields(Contributions) if f.name not in _BY_UNIT | _MATRICES | {"level"})


def _column(part: Contributions, name: str, depth: int, renumber: Ints) -> NDArray[Any]:
    """One array by cell, to the depth required, with the new numbers of units."""
    array = getattr(part, name)
    if name in _UNIT_NUMBERS:
        array = np.where(array >= 0, np.append(renumber, NO_UNIT)[array], NO_UNIT)
    if array.ndim == 2 and name != "requested":
        filler = NO_UNIT if name == "top_unit" else 0
        array = np.pad(array, ((0, 0), (0, depth - array.shape[1])), constant_values=filler)
    return np.asarray(array)


def _spread(columns: Sequence[NDArray[Any]], places: Sequence[Ints], size: int, filler: int) -> NDArray[Any]:
    result = np.full((size, *columns[0].shape[1:]), filler, dtype=columns[0].dtype)
    for column, at in reversed(list(zip(columns, places, strict=True))):
        result[at] = column
    return frozen(result)


def _by_unit(parts: Sequence[Contributions], renumber: Sequence[Ints], size: int, name: str) -> NDArray[Any]:
    result = np.zeros(size, dtype=getattr(parts[0], name).dtype)
    for part, new in zip(parts, renumber, strict=True):
        result[new] = getattr(part, name)
    return frozen(result)


def _placed_shares(
    shares: Sequence[csr_array], renumber: Sequence[Ints], places: Sequence[Ints], shape: tuple[int, int]
) -> csr_array:
    """Entries that several tables have are taken from the first of them."""
    coordinates = [coo_array(each) for each in shares]
    rows = np.concatenate([new[each.row] for each, new in zip(coordinates, renumber, strict=True)])
    columns = np.concatenate([at[each.col] for each, at in zip(coordinates, places, strict=True)])
    data = np.concatenate([each.data for each in coordinates])
    keys, first = np.unique(rows.astype(np.int64) * shape[1] + columns, return_index=True)
    return frozen_matrix(csr_array((data[first], (keys // shape[1], keys % shape[1])), shape=shape))
