"""The plain way to audit: one warm primal simplex, two objectives a cell, no witness sharing, no reductions."""

from __future__ import annotations

import time

import highspy
import numpy as np

from tablecloak import Problem
from tablecloak.model import Pattern
from tablecloak.solvers import LinearProgram


def warm_primal_seconds(
    problem: Problem, pattern: Pattern, most_cells: int, most_seconds: float
) -> tuple[float, int]:
    """Seconds for all sensitive cells (model, first basis, two solves a cell), and how many cells were really done.

    Beyond the first cells of a fixed shuffle the time is extrapolated.
    """
    begin = time.perf_counter()
    hidden = np.flatnonzero(pattern.touched(problem))
    place = {int(cell): position for position, cell in enumerate(hidden)}
    low, high = problem.box(0)
    value = problem.table.values
    scale = float(np.median(np.abs(value[hidden]))) or 1.0
    infinity = highspy.kHighsInf
    session = LinearProgram(
        problem.table.equations[:, hidden],
        np.maximum((low - value)[hidden] / scale, -infinity),
        np.minimum((high - value)[hidden] / scale, infinity),
    )
    cells = np.random.default_rng(0).permutation(np.flatnonzero(problem.sensitive))[:most_cells]
    session.solve()
    start = time.perf_counter()
    done = 0
    for cell in cells:
        for sign in (1.0, -1.0):
            session.set_cost(place[int(cell)], sign)
            session.solve()
        session.set_cost(place[int(cell)], 0.0)
        done += 1
        if time.perf_counter() - start > most_seconds:
            break
    rate = (time.perf_counter() - start) / done
    return start - begin + rate * int(problem.sensitive.sum()), done
