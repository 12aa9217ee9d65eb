"""Selections of cells: codes, depths, totals and masks, one by one and together."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import from_leaves
from tablecloak.errors import InputError
from tablecloak.model import Dimension, Hierarchy, Table, select_cells


def table() -> Table:
    """Regions by province and by river basin, and a flat dimension."""
    main = Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2"]})
    basin = Hierarchy.from_dict({"east": ["N1", "S1"], "west": ["N2", "S2"]})
    dimensions = [Dimension.of("region", main, basin), Dimension.flat("size", ["a", "b"])]
    return from_leaves(dimensions, np.arange(1, 9).reshape(4, 2))


def slow(where: Table, fits) -> list[int]:
    names = [dimension.codes for dimension in where.dimensions]
    return [cell for cell, (r, s) in enumerate(where.codes) if fits(names[0][r], names[1][s], cell)]


def test_every_condition_alone_and_all_together() -> None:
    cells = table()
    high = ("N", "S", "east", "west")

    def found(**given) -> list[int]:
        return np.flatnonzero(select_cells(cells, **given)).tolist()

    assert found() == list(range(len(cells)))
    assert found(codes={"region": "N1"}) == slow(cells, lambda r, s, c: r == "N1")
    assert found(codes={"region": ["N1", "S"], "size": "a"}) == slow(
        cells, lambda r, s, c: r in ("N1", "S") and s == "a"
    )
    assert found(depth={"region": 1}) == slow(cells, lambda r, s, c: r in high)
    assert found(depth={"region": [0, 2], "size": 0}) == slow(
        cells, lambda r, s, c: r not in high and s == "Total"
    )
    assert found(totals=True) == slow(cells, lambda r, s, c: not cells.is_leaf[c])
    assert found(totals=False) == np.flatnonzero(cells.is_leaf).tolist()
    mask = np.arange(len(cells)) % 2 == 0
    assert found(cells=mask) == found(cells=np.flatnonzero(mask)) == np.flatnonzero(mask).tolist()
    every = found(codes={"size": ["a", "b"]}, depth={"region": 2}, totals=False, cells=mask)
    assert every == slow(cells, lambda r, s, c: s != "Total" and len(r) == 2 and mask[c])


def test_all_faults_are_one_error() -> None:
    with pytest.raises(InputError) as caught:
        select_cells(
            table(), codes={"regio": "N", "size": ["a", "c"]}, depth={"region": [3, "x"], "sizes": 0}
        )
    told = caught.value.faults
    assert len(told) == 5 and "did you mean 'region'?" in told[0]
    with pytest.raises(InputError, match="no cell number 99"):
        select_cells(table(), cells=[99])
