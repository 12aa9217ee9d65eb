"""Leaf cells and all totals above them, in passes that fit into memory.

The codes above the leaves of a dimension are sorted into *layers*: no leaf has two of them in one layer (the levels
of a hierarchy are layers; non-nested hierarchies have layers of their own). Choosing one layer for each dimension
gives each leaf cell at most one total, and each total belongs to one choice: choices can be worked off one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

import numpy as np

from tablecloak.arrays import Codes, Ints
from tablecloak.model import Dimension, Packing, ancestors
from tablecloak.tabulation.settings import SETTINGS, TabulationSettings


def layers(dimension: Dimension) -> Codes:
    """(layers, codes): what stands above each leaf code in each layer, -1 where nothing does or for totals.

    The first layer is the leaves themselves.
    """
    size = len(dimension.codes)
    if not dimension.parents:
        return np.arange(size, dtype=np.int32)[None]
    below, above = ancestors(dimension)
    inner = dimension.is_leaf[below] & (below != above)
    below, above = below[inner], above[inner]
    order = np.argsort(above, kind="stable")
    totals, starts = np.unique(above[order], return_index=True)
    found = [np.where(dimension.is_leaf, np.arange(size), -1)]
    for total, leaves in zip(totals, np.split(below[order], starts[1:]), strict=True):
        free = next((layer for layer in found[1:] if (layer[leaves] < 0).all()), None)
        if free is None:
            free = np.full(size, -1)
            found.append(free)
        free[leaves] = total
    return np.array(found, dtype=np.int32)


class Spread:
    """The cells of a table over given leaf cells: `keys` are packed codes in order, leaves and totals alike."""

    def __init__(
        self, dimensions: Sequence[Dimension], leaves: Ints, settings: TabulationSettings = SETTINGS
    ) -> None:
        self.packing, self.settings = Packing.of(dimensions), settings
        self.leaves = leaves
        codes = self.packing.codes(leaves)
        self._above = list[Ints]()
        for d, dimension in enumerate(dimensions):
            found = layers(dimension)[:, codes[:, d]].astype(np.int64)
            found = np.where(found >= 0, found * self.packing.strides[d], -1)
            self._above.append(found[(found >= 0).any(axis=1)])
        every = [np.unique(cells) for _, cells in self._choices()]
        self.keys: Ints = np.sort(np.concatenate(every))

    def _choices(self) -> Iterator[tuple[Ints, Ints]]:
        """For each choice of layers: places of leaves that have a total there, and the keys of these totals."""
        for choice in product(*self._above):
            stacked = np.array(choice)
            present = np.flatnonzero((stacked >= 0).all(axis=0))
            yield present, stacked[:, present].sum(axis=0)

    def passes(self, rows: int = 0) -> Iterator[tuple[Ints, Ints]]:
        """Pairs (key of a leaf cell, number of a cell that it is part of), all of them in several passes.

        All leaves of a cell are in one pass. `rows` is the number of rows that the leaves stand for.
        """
        choices = self._choices()
        size = max(1, self.settings.rows_per_pass // max(self.leaves.size, rows, 1))
        while several := list(islice(choices, size)):
            places = np.concatenate([leaf for leaf, _ in several])
            cells = np.concatenate([cell for _, cell in several])
            if places.size:
                yield self.leaves[places], np.searchsorted(self.keys, cells)
