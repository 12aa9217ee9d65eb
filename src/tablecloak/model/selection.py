"""Selections of cells by codes, by their depth in hierarchies, or because they are totals; all conditions together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Bools, Ints, mask
from tablecloak.errors import InputError, near
from tablecloak.model.dimension import Dimension
from tablecloak.model.table import Table


def select_cells(
    table: Table,
    *,
    codes: Mapping[str, str | Iterable[str]] | None = None,
    depth: Mapping[str, int | Iterable[int]] | None = None,
    totals: bool | None = None,
    cells: ArrayLike | None = None,
) -> Bools:
    """The cells that meet every condition that is given, as a mask; without any condition all of them.

    `codes`: dimensions with the codes that count. `depth`: dimensions with the depths that count in their hierarchies:
    0 is the total, 1 what lies right below it. `totals`: cells that are totals in some dimension, or those that are
    not. `cells`: a mask, or a list of cells.
    """
    faults = list[str]()
    chosen = np.ones(len(table), dtype=bool)
    for name, wanted in (codes or {}).items():
        if (found := _dimension(table, name, faults)) is not None:
            known = table.dimensions[found].codes
            some = [wanted] if isinstance(wanted, str) else list(wanted)
            faults += [_no_code(name, code, known) for code in some if code not in known]
            chosen &= np.isin(table.codes[:, found], [known.index(code) for code in some if code in known])
    for name, given in (depth or {}).items():
        if (found := _dimension(table, name, faults)) is not None:
            depths = depths_of(table.dimensions[found])
            levels, wrong = _levels(given)
            faults += wrong
            faults += [
                f"dimension {name!r} has no depth {level}; there are 0 to {depths.max(initial=0)}"
                for level in levels
                if not 0 <= level <= depths.max(initial=0)
            ]
            chosen &= np.isin(depths[table.codes[:, found]], levels)
    if totals is not None:
        chosen &= table.is_leaf ^ bool(totals)
    if cells is not None:
        chosen &= mask(cells, len(table))
    if faults:
        raise InputError("Selection of cells", faults)
    return chosen


def depths_of(dimension: Dimension) -> Ints:
    """The depth of each code in the first hierarchy that has it; codes of a dimension without hierarchies have 0."""
    depths = np.full(len(dimension.codes), -1, dtype=np.int64)
    for hierarchy in reversed(dimension.hierarchies):
        depths[[dimension.index[code] for code in hierarchy.codes]] = hierarchy.depth
    return np.maximum(depths, 0)


def _dimension(table: Table, name: str, faults: list[str]) -> int | None:
    names = [dimension.name for dimension in table.dimensions]
    if name in names:
        return names.index(name)
    listing = f"; there are: {', '.join(names)}"
    faults.append(f"there is no dimension {name!r}{near(name, names) or listing}")
    return None


def _no_code(name: str, code: Any, known: Sequence[str]) -> str:
    return f"dimension {name!r} has no code {code!r}{near(str(code), known)}"


def _levels(given: Any) -> tuple[list[int], list[str]]:
    """Depths as whole numbers, and what is wrong with them."""
    several: Iterator[Any] = iter(
        given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    )
    found, faults = list[int](), list[str]()
    for each in several:
        if isinstance(each, int | np.integer) and not isinstance(each, bool):
            found.append(int(each))
        else:
            faults.append(f"a depth is a whole number, not {each!r}")
    return found, faults
