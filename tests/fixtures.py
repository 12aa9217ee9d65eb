"""One problem for each kind of table and requirement; every method runs on all of them (test_conformance)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from tablecloak import (
    Attacker,
    AttackerLevels,
    Dimension,
    Hierarchy,
    Levels,
    Problem,
    Table,
    link,
    link_responses,
)
from two_way import FIGURE_000, FIGURE_001, FIGURE_004, SENSITIVE_001, TwoWay


def from_leaves(dimensions: list[Dimension], leaves: np.ndarray, **options: object) -> Table:
    """A table with all totals from an array of leaf values."""
    names = [np.array(dimension.codes)[dimension.is_leaf] for dimension in dimensions]
    grid = np.meshgrid(*names, indexing="ij")
    cells = {dimension.name: part.ravel() for dimension, part in zip(dimensions, grid, strict=True)}
    return Table.from_cells(dimensions, {**cells, "value": leaves.ravel()}, recompute=True, **options)


def flat(name: str, size: int) -> Dimension:
    return Dimension.flat(name, [f"{name}{i + 1}" for i in range(size)])


def with_levels(table: Table, cells: list[int], share: float = 0.2, **options: object) -> Problem:
    """Both levels a share of the absolute value."""
    level = np.zeros(len(table))
    level[cells] = share * np.abs(table.values[cells])
    return Problem.of(table, cells, Levels.of(len(table), level, level), **options)


def smallest_leaves(table: Table, count: int) -> list[int]:
    """The smallest leaf cells that are not zero: what a rule would find sensitive."""
    leaves = np.flatnonzero(table.is_leaf & (table.values != 0))
    return leaves[np.argsort(np.abs(table.values[leaves]), kind="stable")][:count].tolist()


def leaf_values(*shape: int, seed: int = 1, low: int = 0, high: int = 60) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, size=shape)


def two_way() -> Problem:
    return TwoWay(FIGURE_004).problem([(2, 3)], 10, 12)


def two_way_several() -> Problem:
    return TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)


def unit_weights() -> Problem:
    return TwoWay(FIGURE_000).problem([(1, 1)], 15, 15, weights="unit")


def zeros_published() -> Problem:
    table = from_leaves(
        [flat("r", 4), flat("c", 4)], leaf_values(4, 4, seed=3) * (leaf_values(4, 4, seed=4) > 15)
    )
    return with_levels(table, smallest_leaves(table, 3), hide_zeros=False)


def one_hierarchy() -> Problem:
    rows = Dimension.of(
        "r", Hierarchy.from_dict({"r1": ["r11", "r12", "r13"], "r2": ["r21"], "r3": ["r31", "r32"]})
    )
    table = from_leaves([rows, flat("c", 3)], leaf_values(6, 3, low=1))
    return with_levels(table, smallest_leaves(table, 3))


def two_hierarchies() -> Problem:
    rows = Dimension.of("r", Hierarchy.from_dict({"r1": ["r11", "r12"], "r2": ["r21", "r22"]}))
    columns = Dimension.of("c", Hierarchy.from_dict({"c1": ["c11", "c12"], "c2": ["c21", "c22"]}))
    table = from_leaves([rows, columns], leaf_values(4, 4, low=1))
    return with_levels(table, smallest_leaves(table, 3))


def three_way() -> Problem:
    table = from_leaves([flat("r", 3), flat("c", 3), flat("s", 2)], leaf_values(3, 3, 2, low=1))
    return with_levels(table, smallest_leaves(table, 3))


def five_way() -> Problem:
    table = from_leaves([flat(name, 2) for name in "abcde"], leaf_values(2, 2, 2, 2, 2, low=1))
    return with_levels(table, smallest_leaves(table, 1))


def linked() -> Problem:
    cube = leaf_values(3, 3, 3, low=1)
    a, b, c = flat("a", 3), flat("b", 3), flat("c", 3)
    table = link([from_leaves([a, b], cube.sum(axis=2)), from_leaves([a, c], cube.sum(axis=1))])
    return with_levels(table, [*smallest_leaves(table, 1), 3])


def responses() -> Problem:
    dimensions = [flat("r", 3), flat("c", 2)]
    turnover, costs = leaf_values(3, 2, low=30, high=90), leaf_values(3, 2, seed=2, low=1, high=30)
    tables = {
        "turnover": from_leaves(dimensions, turnover),
        "costs": from_leaves(dimensions, costs),
        "profit": from_leaves(dimensions, turnover - costs),
    }
    table = link_responses(tables, {"profit": {"turnover": 1, "costs": -1}})
    return with_levels(table, [table.find(response="costs", r="r1", c="c1")])


def non_nested() -> Problem:
    region = Dimension.of(
        "r",
        Hierarchy.from_dict({"north": ["n1", "n2"], "south": ["s1", "s2"]}),
        Hierarchy.from_dict({"coast": ["n1", "s1"], "inland": ["n2", "s2"]}),
    )
    table = from_leaves([region, flat("c", 3)], leaf_values(4, 3, low=1))
    return with_levels(table, smallest_leaves(table, 2))


def any_equations() -> Problem:
    matrix = np.array(
        [[2, 1, -1, 0, 0, 0, 1], [0, 1, 1, -2, 0, 1, 0], [1, 0, 0, 1, -1, 0, 0], [0, 0, 1, 0, 1, -1, 1]]
    )
    values = np.array([5, 7, 11, 3, 8, 20, 6])
    table = Table.from_equations(values, matrix, matrix @ values)
    return with_levels(table, [1])


def negative_values() -> Problem:
    table = from_leaves([flat("r", 3), flat("c", 3)], leaf_values(3, 3, low=-40, high=40))
    return with_levels(table, smallest_leaves(table, 2))


def known_within_half() -> Problem:
    grid = TwoWay(FIGURE_001)
    known = (0.5 * grid.table.values, 1.5 * grid.table.values)
    return grid.percent([(1, 1), (2, 2)], 0.05, known=known)


def decimals() -> Problem:
    table = from_leaves([flat("r", 3), flat("c", 4)], leaf_values(3, 4, low=1) / 8)
    return with_levels(table, smallest_leaves(table, 2))


def tiny_decimals() -> Problem:
    table = from_leaves([flat("r", 3), flat("c", 3)], leaf_values(3, 3, low=1) * 1e-7)
    return with_levels(table, smallest_leaves(table, 2))


def huge_values() -> Problem:
    table = from_leaves([flat("r", 3), flat("c", 3)], leaf_values(3, 3, low=1) * 1e13)
    return with_levels(table, smallest_leaves(table, 2))


def mixed_sizes() -> Problem:
    values = leaf_values(3, 3, 2, low=1).astype(float)
    values[0] *= 1e9
    table = from_leaves([flat("r", 3), flat("c", 3), flat("s", 2)], values)
    return with_levels(table, smallest_leaves(table, 2))


def one_cell() -> Problem:
    return Problem.of(Table.from_equations([7.0], np.zeros((0, 1))), [0])


def one_dimension() -> Problem:
    table = from_leaves([flat("r", 5)], np.array([4, 9, 20, 31, 2]))
    return with_levels(table, [table.find(r="r5")])


def counts_without_levels() -> Problem:
    table = from_leaves([flat("r", 4), flat("c", 4)], leaf_values(4, 4, seed=5, high=9))
    return Problem.of(table, (table.values > 0) & (table.values < 3) & table.is_leaf)


def forced_hidden() -> Problem:
    grid = TwoWay(FIGURE_001)
    return grid.percent(
        [(1, 1), (2, 2)], 0.2, hidden=grid.cells([(4, 4), (4, 5)]), forced=grid.cells([(2, -1)])
    )


def only_sliding() -> Problem:
    """Sliding levels only; asking for half of each on both sides costs strictly more (test_conformance)."""
    grid = TwoWay(FIGURE_001)
    size, cells = len(grid.table), grid.cells([(1, 5), (3, 3)])
    sliding = np.zeros(size)
    sliding[cells] = [16, 20]
    return Problem.of(grid.table, cells, Levels.of(size, sliding=sliding))


def conditional() -> Problem:
    """A hidden cell must stay unknown within a width of 12, also when it is not sensitive."""
    grid = TwoWay(FIGURE_004)
    size, (cell,) = len(grid.table), grid.cells([(2, 3)])
    level, width = np.zeros(size), np.full(size, 30.0)
    level[cell], width[cell] = 8.0, 0.0
    return Problem.of(grid.table, [cell], Levels.of(size, level, level, conditional=width))


def conditional_sides() -> Problem:
    """A cell that is touched, though not sensitive, must be able to rise by 9 and to fall by a third."""
    grid = TwoWay(FIGURE_004)
    size, (cell,) = len(grid.table), grid.cells([(2, 3)])
    others = (np.arange(size) != cell).astype(float)
    lower, upper = others * np.floor(np.abs(grid.table.values) / 3), others * 9.0
    levels = Levels.at(size, [cell], 8.0, 8.0)
    levels = Levels.of(size, levels.lower, levels.upper, conditional_lower=lower, conditional_upper=upper)
    return Problem.of(grid.table, [cell], levels)


def fifty_attackers() -> Problem:
    """Sole contributors of cells, holdings over two cells, and pairs of them; the outsider's optimum fails."""
    rng = np.random.default_rng(8)
    table = from_leaves([flat("r", 5), flat("c", 5)], rng.integers(5, 80, size=(5, 5)))
    leaves = np.flatnonzero(table.is_leaf)
    alone = leaves[rng.permutation(leaves.size)[:12]]
    value = table.values
    attackers = [
        Attacker.contributing(f"sole in {table.label(cell)}", table, [cell], value[cell]) for cell in alone
    ]
    others = leaves[~np.isin(leaves, alone)]
    for number in range(20):
        cells = rng.choice(others, size=2, replace=False)
        attackers.append(
            Attacker.contributing(f"holding {number}", table, cells, np.floor(0.7 * value[cells]))
        )
    for number, (one, two) in enumerate(list(combinations(range(12), 2))[:25]):
        cells = alone[[one, two]]
        attackers.append(Attacker.contributing(f"pair {number}", table, cells, value[cells]))
    sensitive = smallest_leaves(table, 4)
    return with_levels(table, sensitive, 0.3, attackers=attackers)


def own_levels() -> Problem:
    """Levels of their own: more against one attacker, less against another, a width only against a third."""
    grid = TwoWay(FIGURE_001)
    problem = grid.percent(SENSITIVE_001, 0.1)
    table, cells = problem.table, np.flatnonzero(problem.sensitive)
    value, free = table.values, np.flatnonzero(table.is_leaf & ~problem.sensitive)
    attackers = [
        Attacker.knowing(
            "more",
            free[:3],
            0.5 * value[free[:3]],
            levels=AttackerLevels.at(cells[:2], upper=25),
        ),
        Attacker.knowing("less", [30], 0.9 * value[30], 1.1 * value[30], AttackerLevels.at(cells, 1, 1)),
        Attacker.knowing("width", [], [], levels=AttackerLevels.at(cells[2:], 0, 0, 0.4 * value[cells[2:]])),
    ]
    return Problem.of(table, cells, problem.levels, attackers=attackers)


FIXTURES: dict[str, Callable[[], Problem]] = {
    function.__name__.replace("_", " "): function
    for function in (
        two_way, two_way_several, unit_weights, zeros_published, one_hierarchy, two_hierarchies, three_way, five_way,
        linked, responses, non_nested, any_equations, negative_values, known_within_half, decimals, tiny_decimals,
        huge_values, mixed_sizes, one_cell, one_dimension, counts_without_levels, forced_hidden, only_sliding,
        conditional, conditional_sides, fifty_attackers, own_levels,
    )
}  # fmt: skip
