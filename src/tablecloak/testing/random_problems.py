"""Small random tables, problems and suppressions with whole values, for tests."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.model import Attacker, Dimension, Hierarchy, Levels, Problem, Suppression, Table, link
from tablecloak.testing.random_cases import flat, table_of_leaves

KINDS = ("two-way", "three-way", "hierarchical", "linked", "non-nested", "general")


def random_table(kind: str, rng: np.random.Generator, *, largest: int = 30, negative: bool = False) -> Table:
    """A small random table of a kind, with whole values."""
    smallest = -largest if negative else 0
    if kind == "general":
        return _random_equations(rng, smallest, largest)
    if kind == "linked":
        cube = rng.integers(smallest, largest, size=(2, 2, 2))
        a, b, c = (Dimension.flat(name, [f"{name}1", f"{name}2"]) for name in "abc")
        return link([table_of_leaves([a, b], cube.sum(axis=2)), table_of_leaves([a, c], cube.sum(axis=1))])
    dimensions = {
        "two-way": [flat("r", int(rng.integers(2, 4))), flat("c", int(rng.integers(2, 4)))],
        "three-way": [flat("r", 2), flat("c", 2), flat("s", 2)],
        "hierarchical": [
            Dimension.of("r", Hierarchy.from_dict({"r1": ["r11", "r12"], "r2": ["r21"], "r3": []})),
            flat("c", 2),
        ],
        "non-nested": [
            Dimension.of(
                "r",
                Hierarchy.from_dict({"north": ["n1", "n2"], "south": ["s1"]}),
                Hierarchy.from_dict({"coast": ["n1", "s1"], "inland": ["n2"]}),
            ),
            flat("c", 2),
        ],
    }[kind]
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    return table_of_leaves(dimensions, rng.integers(smallest, largest, size=shape))


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


def _random_equations(rng: np.random.Generator, smallest: int, largest: int) -> Table:
    """Arbitrary equations with coefficients up to 2 in size, around a random table."""
    size = int(rng.integers(4, 8))
    values = rng.integers(smallest, largest, size=size)
    matrix = rng.integers(-2, 3, size=(int(rng.integers(1, 4)), size))
    return Table.from_equations(values, matrix, matrix @ values)
