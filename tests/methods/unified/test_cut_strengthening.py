"""Protection cuts: strengthening cuts off no integral point that the cut allows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.methods.unified import Affine, Formulation, LinearConstraints
from tablecloak.methods.unified.protection_cuts import CutBuilder


def form_of(low, high, whole, switches=None):
    count = len(low)
    none = Affine(np.zeros(1), csr_array((1, count)))
    return Formulation(
        np.ones(count), np.array(low, float), np.array(high, float), np.array(whole), LinearConstraints.none(count),
        none, none, none, switches=None if switches is None else np.array(switches),
    )  # fmt: skip


def strengthened(formulation, entries, need, x):
    matrix, right = CutBuilder(formulation, None).strengthened(
        csr_array(np.array([entries], float)), np.array([float(need)]), np.array(x, float)
    )
    return matrix.toarray()[0], float(right[0])


def test_a_whole_column_below_zero_does_not_shorten_the_row():
    formulation = form_of([0, -1], [1, 2], [True, True])
    entries, need = strengthened(formulation, [5, 1], 3, [0.4, 0.5])
    assert entries @ [1, -1] >= need  # 5 - 1 >= 3


@pytest.mark.parametrize("seed", range(60))
def test_no_point_that_meets_the_row_is_cut_off(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["binary", "whole", "length"], size=5)
    low = np.where(kinds == "whole", rng.integers(-2, 2, 5), 0)
    high = np.where(kinds == "whole", low + rng.integers(1, 4, 5), np.where(kinds == "length", 4, 1))
    binaries = np.flatnonzero(kinds == "binary")
    switches = np.where(
        (kinds == "length") & bool(binaries.size), rng.choice(binaries) if binaries.size else -1, -1
    )
    formulation = form_of(low, high, kinds != "length", switches)
    entries = np.where(kinds == "binary", rng.integers(-6, 9, 5), rng.integers(0, 4, 5))
    need = int(rng.integers(1, 9))
    at = low + rng.random(5) * (high - low)
    sharp, right = strengthened(formulation, entries, need, at)
    changed = not (np.allclose(sharp, entries) and right == need)
    met = 0
    for point in product(*(range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True))):
        x = np.array(point, float)
        off = (switches >= 0) & (x[switches] == 0) & (x > 0)
        if off.any() or entries @ x < need:
            continue
        met += 1
        assert sharp @ x >= right - 1e-9, (kinds, low, high, entries, need, x)
    assert met or not changed or need > 0
