"""What WRITETABLE writes: crosstabs (1), lists of cells (2, 3), SBS (4), intermediate files (5), beside JJ (6).

The writers lay out texts; which texts may be in a public file is decided before. Cells go through all combinations of
codes, totals first, the last variable fastest; a quote inside a code becomes an apostrophe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.errors import InputError
from tablecloak.formats.argus.metadata import ArgusVariable
from tablecloak.model import Packing, Table

EMPTY_TEXT, HIDDEN_TEXT = "-", "x"
MOST_ROWS = 20_000_000
"""The most rows of a file, empty cells included."""


@dataclass(frozen=True, eq=False)
class CellGrid:
    """All combinations of the codes of a table in the order of the files, -1 for those without a cell."""

    names: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    depths: tuple[Ints, ...]
    cells: Ints

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> CellGrid:
        """The grid of a table whose variables are called like this in the file."""
        sizes = [len(dimension.codes) for dimension in table.dimensions]
        if prod(sizes) > MOST_ROWS:
            fault = f"its codes span {prod(sizes)} combinations, {MOST_ROWS} at most can be written"
            raise InputError("Output files", [fault], advice="Recode a variable.")
        cells = np.full(prod(sizes), -1, dtype=np.int64)
        cells[Packing.of(table.dimensions).keys(table.codes)] = np.arange(len(table))
        depths = tuple(each.hierarchies[0].depth.astype(np.int64) for each in table.dimensions)
        codes = tuple(tuple(code.replace('"', "'") for code in each.codes) for each in table.dimensions)
        return cls(tuple(names), codes, depths, cells)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of codes."""
        return tuple(len(codes) for codes in self.codes)

    def placed(self, texts: Sequence[str], empty: str = EMPTY_TEXT) -> list[str]:
        """A text for each place of the grid from one for each cell."""
        return [texts[cell] if cell >= 0 else empty for cell in self.cells.tolist()]

    def quoted_codes(self, quote: bool, levels: bool = False) -> list[list[str]]:
        """Columns of codes, with a column of levels behind each if wanted."""
        places = np.indices(self.sizes).reshape(len(self.sizes), -1)
        columns = list[list[str]]()
        for d, codes in enumerate(self.codes):
            words = [f'"{code}"' if quote else code for code in codes]
            columns.append([words[at] for at in places[d].tolist()])
            if levels:
                columns.append([str(self.depths[d][at]) for at in places[d].tolist()])
        return columns


def number_texts_with(values: Floats, decimals: int) -> list[str]:
    """Numbers with a point and this number of decimals."""
    return [f"{value:.{decimals}f}" for value in values.tolist()]


def write_crosstab(grid: CellGrid, texts: Sequence[str], *, quote: bool = True) -> str:
    """Type 1: the last variable across, the one before it down, a layer for each code of the others."""
    shown = grid.placed(texts)
    words = [[f'"{code}"' if quote else code for code in codes] for codes in grid.codes]
    if len(words) == 1:
        return "".join(f"{code},{text}\n" for code, text in zip(words[0], shown, strict=True))
    *layers, rows, columns = words
    lines, at = list[str](), 0
    for layer in np.ndindex(*(len(each) for each in layers)):
        if layers:
            parts = [f"{grid.names[d]},{layers[d][code]}" for d, code in enumerate(layer)]
            lines.append(", ".join(parts))
        lines.append(",".join(["", *columns]))
        for row in rows:
            lines.append(",".join([row, *shown[at : at + len(columns)]]))
            at += len(columns)
        lines.append("")
    return "\n".join(lines) + "\n"


def write_cells(
    grid: CellGrid,
    columns: Mapping[str, Sequence[str]],
    empty: Sequence[str],
    options: frozenset[str],
    *,
    header: bool,
) -> str:
    """Types 2 and 3: codes and further columns; `empty`: what stands in these for empty cells."""
    rows = [
        *grid.quoted_codes("QU" in options, "HL" in options),
        *(grid.placed(texts, none) for texts, none in zip(columns.values(), empty, strict=True)),
    ]
    lines = [",".join(f'"{name}"' for name in [*_code_names(grid, options), *columns])] if header else []
    skip = "SE" in options
    lines += [
        ",".join(row)
        for cell, row in zip(grid.cells.tolist(), zip(*rows, strict=True), strict=True)
        if cell >= 0 or not skip
    ]
    return "".join(f"{line}\n" for line in lines)


def _code_names(grid: CellGrid, options: frozenset[str]) -> list[str]:
    names = list[str]()
    for name in grid.names:
        names += [name, f"{name}_level"] if "HL" in options else [name]
    return names


def write_sbs(grid: CellGrid, cells: Sequence[Sequence[str]], options: frozenset[str]) -> str:
    """Type 4: codes, value, frequency, flag and dominance; empty cells are left out, rows differ in length."""
    codes = grid.quoted_codes("QU" in options, "HL" in options)
    return "".join(
        ",".join([*row, *cells[cell]]) + "\n"
        for cell, row in zip(grid.cells.tolist(), zip(*codes, strict=True), strict=True)
        if cell >= 0
    )


def write_intermediate(grid: CellGrid, columns: Sequence[Sequence[str]], options: frozenset[str]) -> str:
    """Type 5: codes and columns, separated by semicolons; empty cells are left out."""
    codes = grid.quoted_codes("QU" in options)
    return "".join(
        ";".join([*row, *(column[cell] for column in columns)]) + "\n"
        for cell, row in zip(grid.cells.tolist(), zip(*codes, strict=True), strict=True)
        if cell >= 0
    )


def write_table_metadata(
    spanning: Sequence[tuple[str, ArgusVariable, str]], numeric: Sequence[tuple[str, str, int]]
) -> str:
    """The metadata of an intermediate file: spanning variables with their hierarchy files, then columns and roles."""
    lines = ['<SEPARATOR> ";"', '<SAFE> "S"', '<UNSAFE> "U"', '<PROTECT> "P"']
    for name, variable, hierarchy in spanning:
        lines += [name, "  <RECODEABLE>", f'  <TOTCODE> "{variable.total or "Total"}"']
        if hierarchy:
            lines += ["  <HIERARCHICAL>", f'  <HIERCODELIST> "{hierarchy}"', '  <HIERLEADSTRING> "@"']
    for name, role, decimals in numeric:
        lines.append(name)
        lines += [f"  {part}" for part in role.split("\n")]
        lines += [f"  <DECIMALS> {decimals}"] if decimals else []
    return "".join(f"{line}\n" for line in lines)
