"""The layout of print: cells of a publication as sheets, for the formats that people read. Public."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tablecloak.arrays import Codes, Ints
from tablecloak.publication.publication import Publication


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells laid out as a sheet: a row for each combination of codes of some dimensions, one across."""

    rows: Codes
    """(rows, dimensions): the codes of each row."""
    cells: Ints
    """(rows, columns): the cell at each place, -1 where there is none."""


def grid(publication: Publication, cells: Ints | None = None) -> Grid:
    """All cells (or some, in their order) with the last dimension across; a single dimension goes down."""
    chosen = np.arange(len(publication)) if cells is None else cells
    codes = publication.codes[chosen]
    down = codes[:, :-1] if codes.shape[1] > 1 else codes
    across = codes[:, -1] if codes.shape[1] > 1 else np.zeros(chosen.size, dtype=np.int32)
    width = len(publication.dimensions[-1].codes) if codes.shape[1] > 1 else 1
    starts = np.ones(chosen.size, dtype=bool)
    starts[1:] = (down[1:] != down[:-1]).any(axis=1)
    places = np.full((int(starts.sum()), width), -1, dtype=np.int64)
    places[np.cumsum(starts) - 1, across] = chosen
    return Grid(down[starts], places)


def sections(publication: Publication) -> list[tuple[tuple[int, ...], Ints]]:
    """Cells by the codes of all dimensions but the first and the last, in the order of print."""
    middle = publication.codes[:, 1:-1]
    if middle.shape[1] == 0:
        return [((), np.arange(len(publication)))]
    order = np.lexsort(publication.codes[:, [-1, 0, *range(middle.shape[1], 0, -1)]].T)
    sorted_codes = middle[order]
    cuts = np.flatnonzero((sorted_codes[1:] != sorted_codes[:-1]).any(axis=1)) + 1
    bounds = [0, *cuts.tolist(), order.size]
    return [(tuple(sorted_codes[start].tolist()), order[start:stop]) for start, stop in pairwise(bounds)]
