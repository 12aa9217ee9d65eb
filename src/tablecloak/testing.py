"""Checks and random instances, for our tests and for users who extend tablecloak.

`feasible_intervals` is an oracle that shares no code with the audit: it enumerates the vertices of the attacker's
polytope in exact integer arithmetic. Small tables only.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats
from tablecloak.audit import audit, checked_view, deviation_bounds
from tablecloak.dimension import Dimension
from tablecloak.equations import additive
from tablecloak.hierarchy import Hierarchy
from tablecloak.links import link
from tablecloak.pattern import Pattern, Suppression
from tablecloak.problem import Attacker, Levels, Problem
from tablecloak.table import Table

FAR = 10**9
"""Stands for infinity in the enumeration: far beyond any vertex of the small tables it is meant for."""


def assert_additive(table: Table) -> None:
    """Every equation of the table holds."""
    broken = np.flatnonzero(~additive(table.equations, table.rhs, table.values))
    assert broken.size == 0, f"equations {broken.tolist()} do not hold"


def assert_protected(problem: Problem, pattern: Pattern) -> None:
    """The pattern passes the audit, publishes forced cells and hides what must be hidden."""
    verdict = audit(problem, pattern)
    assert verdict.safe, verdict.summary(problem)
    touched = pattern.touched(problem)
    assert not (touched & problem.forced).any(), "a forced cell is not published"
    if isinstance(pattern, Suppression):
        assert pattern.hidden[problem.must_hide].all(), "a cell that must be hidden is published"


# ---------------------------------------------------------------------- the oracle


def feasible_intervals(problem: Problem, pattern: Pattern, attacker: int = 0) -> tuple[Floats, Floats]:
    """Exact low and high of every cell for one attacker, by enumerating vertices. Whole-number data only."""
    low, high = deviation_bounds(problem, checked_view(problem, pattern), attacker)
    lows, highs = _whole(low), _whole(high)
    free = np.flatnonzero(lows < highs)
    value = problem.table.values
    down, up = np.zeros(value.size), np.zeros(value.size)
    basis = _null_space(problem.table.equations[:, free].toarray())
    if basis.shape[1] == 0:
        return value.copy(), value.copy()
    vertices = _vertices(basis, lows[free], highs[free])
    down[free], up[free] = vertices.min(axis=0), vertices.max(axis=0)
    return (
        value + np.where(down <= -FAR / 1000, -np.inf, down),
        value + np.where(up >= FAR / 1000, np.inf, up),
    )


def enumeration_work(problem: Problem, pattern: Pattern) -> int:
    """How many candidate vertices `feasible_intervals` would have to try."""
    low, high = deviation_bounds(problem, checked_view(problem, pattern), 0)
    free = np.flatnonzero(low < high)
    dimension = _null_space(problem.table.equations[:, free].toarray()).shape[1]
    work: int = comb(int(free.size), int(dimension)) * 2 ** int(dimension)
    return work


def safe_by_enumeration(problem: Problem, pattern: Pattern) -> bool:
    """The verdict of the oracle on all requirements of all attackers."""
    touched = pattern.touched(problem)
    if problem.against_marks(touched).size:
        return False
    asked = np.flatnonzero(problem.sensitive | (touched & (problem.levels.conditional > 0)))
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


def _whole(bounds: Floats) -> NDArray[np.int64]:
    finite = np.clip(bounds, -FAR, FAR)
    assert np.all(finite == np.rint(finite)), "the enumeration needs whole numbers"
    return finite.astype(np.int64)


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


# ---------------------------------------------------------------------- random instances

KINDS = ("two-way", "three-way", "hierarchical", "linked", "non-nested", "general")


def random_table(kind: str, rng: np.random.Generator, *, largest: int = 30, negative: bool = False) -> Table:
    """A small random table of a kind, with whole values."""
    smallest = -largest if negative else 0
    if kind == "general":
        return _random_equations(rng, smallest, largest)
    if kind == "linked":
        cube = rng.integers(smallest, largest, size=(2, 2, 2))
        a, b, c = (Dimension.flat(name, [f"{name}1", f"{name}2"]) for name in "abc")
        return link([_from_leaves([a, b], cube.sum(axis=2)), _from_leaves([a, c], cube.sum(axis=1))])
    dimensions = {
        "two-way": [_flat("r", int(rng.integers(2, 4))), _flat("c", int(rng.integers(2, 4)))],
        "three-way": [_flat("r", 2), _flat("c", 2), _flat("s", 2)],
        "hierarchical": [
            Dimension.of("r", Hierarchy.from_dict({"r1": ["r11", "r12"], "r2": ["r21"], "r3": []})),
            _flat("c", 2),
        ],
        "non-nested": [
            Dimension.of(
                "r",
                Hierarchy.from_dict({"north": ["n1", "n2"], "south": ["s1"]}),
                Hierarchy.from_dict({"coast": ["n1", "s1"], "inland": ["n2"]}),
            ),
            _flat("c", 2),
        ],
    }[kind]
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    return _from_leaves(dimensions, rng.integers(smallest, largest, size=shape))


def random_problem(
    kind: str,
    rng: np.random.Generator,
    *,
    negative: bool = False,
    insiders: int = 0,
    sliding: bool = False,
    conditional: bool = False,
) -> Problem:
    """A small random problem: a few sensitive cells with levels within their boxes, some forced cells."""
    table = random_table(kind, rng, negative=negative)
    size, a = len(table), table.values
    eligible = np.flatnonzero(a != 0)
    sensitive: Bools = np.zeros(size, dtype=bool)
    if eligible.size:
        sensitive[rng.choice(eligible, size=min(eligible.size, int(rng.integers(1, 4))), replace=False)] = (
            True
        )
    forced = (rng.random(size) < 0.1) & ~sensitive
    level = np.where(sensitive, np.ceil(np.abs(a) * rng.choice([0.1, 0.3, 0.8])), 0.0)
    hidden = (rng.random(size) < 0.04) & ~sensitive & ~forced
    widths = (
        np.where(~sensitive & (rng.random(size) < 0.3), rng.integers(1, 12, size), 0) if conditional else 0.0
    )
    levels = (
        Levels.of(size, sliding=2 * level, conditional=widths)
        if sliding
        else Levels.of(size, level, level, conditional=widths)
    )
    attackers = [_random_insider(f"insider {k}", table, rng) for k in range(insiders)]
    return Problem.of(
        table,
        sensitive,
        levels,
        forced=forced,
        hidden=hidden,
        attackers=attackers,
        widen=True,
        weights=rng.integers(0, 20, size).astype(float),
    )


def random_suppression(problem: Problem, rng: np.random.Generator, share: float = 0.5) -> Suppression:
    """A random pattern that respects forced cells."""
    hidden = problem.must_hide | ((rng.random(len(problem.table)) < share) & ~problem.forced)
    return Suppression.of(problem.table, hidden)


def _random_insider(name: str, table: Table, rng: np.random.Generator) -> Attacker:
    cells = rng.choice(len(table), size=min(len(table), 3), replace=False)
    a = table.values[cells]
    low = np.where(rng.random(cells.size) < 0.4, a, a - rng.integers(0, 6, cells.size))
    high = np.where(low == a, a, np.inf)
    return Attacker.knowing(name, cells, low, high)


def _flat(name: str, size: int) -> Dimension:
    return Dimension.flat(name, [f"{name}{i + 1}" for i in range(size)])


def _from_leaves(dimensions: list[Dimension], leaves: NDArray[Any]) -> Table:
    """The table with all totals of an array of leaf cells."""
    names = [np.array(dimension.codes)[dimension.is_leaf] for dimension in dimensions]
    grid = np.meshgrid(*names, indexing="ij")
    cells: dict[str, Any] = {
        dimension.name: part.ravel() for dimension, part in zip(dimensions, grid, strict=True)
    }
    return Table.from_cells(dimensions, {**cells, "value": leaves.ravel()}, recompute=True)


def _random_equations(rng: np.random.Generator, smallest: int, largest: int) -> Table:
    """Arbitrary equations with coefficients up to 2 in size, around a random table."""
    size = int(rng.integers(4, 8))
    values = rng.integers(smallest, largest, size=size)
    matrix = rng.integers(-2, 3, size=(int(rng.integers(1, 4)), size))
    return Table.from_equations(values, matrix, matrix @ values)
