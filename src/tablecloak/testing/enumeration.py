"""Enumeration on tiny tables: all vertices of the attacker's polytope, all suppressions by cost.

Nothing is shared with the audit; the bounds of the polytope, and the verdict on a suppression, are those of the oracle.
If hiding more never hurts, a set of hidden cells needs a look only if no further cell fits below the cost, which leaves
few sets of the 2^n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats
from tablecloak.model import Pattern, Problem, Suppression
from tablecloak.testing.oracle import deviation_box, oracle_verdict
from tablecloak.testing.simplex import Bound

FAR = 10**9
"""Stands for infinity in the enumeration: far beyond any vertex of the small tables it is meant for."""


def feasible_intervals(problem: Problem, pattern: Pattern, attacker: int = 0) -> tuple[Floats, Floats]:
    """Exact low and high of every cell for one attacker, by enumerating vertices."""
    lows, highs = _far(*deviation_box(problem, pattern, attacker))
    free = np.flatnonzero(lows < highs)
    value, unit = problem.table.values, problem.table.unit
    down, up = np.zeros(value.size), np.zeros(value.size)
    basis = _null_space(problem.table.equations[:, free].toarray())
    if basis.shape[1] == 0:
        return value.copy(), value.copy()
    vertices = _vertices(basis, lows[free], highs[free])
    down[free], up[free] = vertices.min(axis=0), vertices.max(axis=0)
    return (
        value + np.where(down <= -FAR / 1000, -np.inf, down * unit),
        value + np.where(up >= FAR / 1000, np.inf, up * unit),
    )


def enumeration_work(problem: Problem, pattern: Pattern) -> int:
    """How many candidate vertices `feasible_intervals` would have to try."""
    low, high = _far(*deviation_box(problem, pattern, 0))
    free = np.flatnonzero(low < high)
    dimension = _null_space(problem.table.equations[:, free].toarray()).shape[1]
    work: int = comb(int(free.size), int(dimension)) * 2 ** int(dimension)
    return work


def safe_by_enumeration(problem: Problem, pattern: Pattern) -> bool:
    """The verdict of the oracle on all requirements of all attackers."""
    touched = pattern.touched(problem)
    if problem.against_marks(touched).size:
        return False
    asked = np.flatnonzero(problem.sensitive | (touched & problem.levels.is_conditional))
    value = problem.table.values[asked]
    for attacker in range(len(problem.attacker_names)):
        low, high = (end[asked] for end in feasible_intervals(problem, pattern, attacker))
        lower, upper, sliding = problem.required(attacker, asked)
        if (value - low < lower).any() or (high - value < upper).any() or (high - low < sliding).any():
            return False
    return problem.most_touched is None or int(touched.sum()) <= problem.most_touched


def cheapest_by_enumeration(problem: Problem, safe: Callable[[Problem, Pattern], bool]) -> float | None:
    """The cost of the cheapest safe suppression over all patterns (None: there is none)."""
    free = np.flatnonzero(~problem.forced & ~problem.must_hide)
    subsets = [subset for size in range(free.size + 1) for subset in combinations(free, size)]
    for subset in sorted(subsets, key=lambda chosen: float(problem.weights[list(chosen)].sum())):
        hidden = problem.must_hide.copy()
        hidden[list(subset)] = True
        if safe(problem, Suppression.of(problem.table, hidden)):
            return float(problem.weights[list(subset)].sum())
    return None


def _far(low: list[Bound], high: list[Bound]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Deviation bounds as machine integers, infinite ones at FAR."""
    ends = [[int(min(max(end, -FAR), FAR)) for end in side] for side in (low, high)]
    return np.array(ends[0], dtype=np.int64), np.array(ends[1], dtype=np.int64)


def _null_space(matrix: NDArray[Any]) -> NDArray[np.int64]:
    """An integer basis (columns) of the solutions of matrix @ d = 0, by exact elimination."""
    rows = [[Fraction(int(x)) for x in row] for row in matrix]
    width = matrix.shape[1]
    pivots: list[int] = []
    for column in range(width):
        pivot = next((r for r in range(len(pivots), len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            continue
        at = len(pivots)
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [x / rows[at][column] for x in rows[at]]
        for other in range(len(rows)):
            if other != at and rows[other][column] != 0:
                factor = rows[other][column]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[at], strict=True)]
        pivots.append(column)
    loose = [column for column in range(width) if column not in pivots]
    basis = np.zeros((width, len(loose)), dtype=np.int64)
    for k, column in enumerate(loose):
        vector = [Fraction(0)] * width
        vector[column] = Fraction(1)
        for r, pivot in enumerate(pivots):
            vector[pivot] = -rows[r][column]
        scale = int(np.lcm.reduce([x.denominator for x in vector]))
        basis[:, k] = [int(x * scale) for x in vector]
    return basis


def _vertices(basis: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> Floats:
    """All vertices of {d = basis t, low <= d <= high}: each fixes as many cells at a bound as t has entries."""
    dimension = basis.shape[1]
    ends = np.array(list(product((0, 1), repeat=dimension)), dtype=np.int64)
    found = [np.zeros((1, basis.shape[0]))]
    for rows in combinations(range(basis.shape[0]), dimension):
        square = basis[list(rows)]
        determinant = round(float(np.linalg.det(square)))
        if determinant == 0:
            continue
        adjugate = np.rint(np.linalg.inv(square) * determinant).astype(np.int64)
        fixed = np.where(ends == 0, low[list(rows)], high[list(rows)])
        scaled = fixed @ adjugate.T @ basis.T * (1 if determinant > 0 else -1)
        size = abs(determinant)
        inside = ((scaled >= size * low) & (scaled <= size * high)).all(axis=1)
        found.append(scaled[inside] / size)
    return np.concatenate(found)


def safe_suppression_below(problem: Problem, cost: float) -> Suppression | None:
    """A suppression that the oracle finds safe and whose complementary cells weigh less than `cost`; None: none."""
    free = np.flatnonzero(~problem.forced & ~problem.must_hide)
    order = free[np.argsort(-problem.weights[free], kind="stable")]
    weights = problem.weights[order].tolist()
    for chosen in _sets_below(weights, cost, maximal=problem.is_monotone):
        hidden = problem.must_hide.copy()
        hidden[order[chosen]] = True
        pattern = Suppression.of(problem.table, hidden)
        if oracle_verdict(problem, pattern).safe:
            return pattern
    return None


def _sets_below(weights: list[float], cost: float, *, maximal: bool) -> Iterator[Bools]:
    """Sets that weigh less than `cost`; only those to which nothing can be added, if `maximal`."""
    count = len(weights)
    numbers = np.arange(2**count, dtype=np.int64)
    inside = (numbers[:, None] >> np.arange(count)) & 1 == 1
    total = inside @ np.array(weights)
    wanted = total < cost
    if maximal:
        lightest = np.where(inside, np.inf, np.array(weights)[None, :]).min(axis=1, initial=np.inf)
        wanted &= total + lightest >= cost
    yield from inside[wanted]
