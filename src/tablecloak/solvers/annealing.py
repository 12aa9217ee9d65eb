"""Signs of amounts so that sums come near zero: simulated annealing, by the kernel of `sign_annealing`.

Reference: Kirkpatrick, Gelatt & Vecchi (1983), Optimization by simulated annealing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.solvers import kernels


@dataclass(frozen=True)
class BalancingSettings:
    """How the steps of annealing are divided."""

    chunk: int = 500_000
    """Number of steps between two checks whether to stop, at each of which the temperature is set anew. Untested
    default."""


def balanced_senses(
    columns: csc_array,
    step: Floats,
    own: Floats,
    price: Floats,
    rest: Floats,
    senses: Ints,
    *,
    heat: tuple[float, float],
    steps: int,
    seed: int,
    stop: Callable[[], bool] = lambda: False,
    settings: BalancingSettings = BalancingSettings(),
) -> Ints:
    """Better senses (1 up, 0 down) than those given.

    `step` is a + b of each amount, `own` what it costs more to be up, `price` that of a row, `rest` the rows r with the
    senses given. `heat`: T at first and in the end. The same seed and number of steps give the same senses.
    """
    by_column, by_row = csc_array(columns), csr_array(columns)
    state = kernels.AnnealingState(senses, rest, float(price @ np.abs(rest)), seed % 2**62)
    matrix = (
        by_column.indptr.astype(np.int32),
        by_column.indices.astype(np.int32),
        by_column.data.astype(np.float64),
        by_row.indptr.astype(np.int32),
        by_row.indices.astype(np.int32),
    )
    prices = (
        np.ascontiguousarray(step, dtype=np.float64),
        np.ascontiguousarray(own, dtype=np.float64),
        np.ascontiguousarray(price, dtype=np.float64),
    )
    hot, cold = heat
    done = 0
    while step.size and by_column.nnz and done < steps and not stop():
        more = min(settings.chunk, steps - done)
        now, then = (hot * (cold / hot) ** (at / steps) for at in (done, done + more))
        kernels.anneal(state, *matrix, *prices, now, then, more)
        done += more
    return state.best_array.astype(np.int64)
