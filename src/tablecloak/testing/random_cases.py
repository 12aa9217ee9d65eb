"""Random cases for fuzzing: a table of any kind and scale, a problem with attackers and boxes, a pattern of any kind.

Tables mix small counts and billions, decimals, links, hierarchies that do not nest. Everything is drawn from the
generator that is handed in. Leaves are whole numbers of the data unit; a cell is below 2^52 units, so that
floating-point numbers hold all of them. `random_case` draws everything but the levels; `near_threshold` sets levels at
the exact reach that the pattern leaves to an attacker, one unit above or below it, or next to it; `random_levels` sets
shares of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats
from tablecloak.model import (
    Attacker,
    AttackerLevels,
    Dimension,
    Hierarchy,
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
    link,
)
from tablecloak.testing.oracle import Oracle, deviation_box
from tablecloak.testing.simplex import Number

SCALES = ("counts", "zeros and ones", "decimals", "mixed", "huge")
"""Scales of the values: up to 60; 0 and 1; one to six decimals; cells of 1 to 60 beside 1e8 to 1e12; up to 1e15."""
SHAPES = ("two-way", "three-way", "hierarchical", "non-nested", "linked", "equations")
MOST_UNITS = 4 * 10**15
"""No table adds up to more units than this."""

Leaves = NDArray[np.int64]
Size = Literal["tiny", "usual", "large"]


def random_scaled_table(kind: str, scale: str, rng: np.random.Generator, size: Size = "usual") -> Table:
    """A table of a kind (`SHAPES`) with values of a scale (`SCALES`); all patterns of tiny ones can be enumerated.

    Half of the tables of small whole numbers are counts: everybody knows that what is there is at least one.
    """
    table = _scaled_table(kind, scale, rng, size)
    small = scale in ("counts", "zeros and ones") and kind != "equations"
    if small and table.decimals == 0 and table.units.min() >= 0 and table.units.sum() % 2 == 0:
        return replace(table, counts=True)
    return table


def _scaled_table(kind: str, scale: str, rng: np.random.Generator, size: Size) -> Table:
    negative = bool(rng.random() < 0.15) and scale != "zeros and ones"
    decimals = _decimals(scale, rng)

    def draw(shape: tuple[int, ...]) -> Leaves:
        units = _leaves(scale, shape, rng)
        return np.where(rng.random(shape) < 0.3, -units, units) if negative else units

    if kind == "equations":
        return _equations(draw, decimals, rng, size)
    if kind == "linked":
        return _linked(draw, decimals, rng, size)
    dimensions = _dimensions(kind, rng, size)
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    return table_of_leaves(dimensions, draw(shape), decimals)


def flat(name: str, size: int) -> Dimension:
    """A dimension of a total and its parts."""
    return Dimension.flat(name, _names(name, size))


def table_of_leaves(
    dimensions: list[Dimension], leaves: NDArray[Any], decimals: int = 0, value: str = "value"
) -> Table:
    """The table with all totals of an array of leaf cells, given in data units; `value` is the name of its values."""
    names = [np.array(dimension.codes)[dimension.is_leaf] for dimension in dimensions]
    grid = np.meshgrid(*names, indexing="ij")
    cells: dict[str, Any] = {
        dimension.name: part.ravel() for dimension, part in zip(dimensions, grid, strict=True)
    }
    cells[value] = leaves.ravel() / 10**decimals
    return Table.from_cells(dimensions, cells, value=value, recompute=True, decimals=decimals)


# ---------------------------------------------------------------------- values


def _decimals(scale: str, rng: np.random.Generator) -> int:
    if scale == "decimals":
        return int(rng.integers(1, 7))
    return int(rng.integers(1, 3)) if scale == "mixed" and rng.random() < 0.2 else 0


def _leaves(scale: str, shape: tuple[int, ...], rng: np.random.Generator) -> Leaves:
    """Leaf cells in data units, not negative."""
    small = rng.integers(0, 61, shape)
    match scale:
        case "counts":
            return small
        case "zeros and ones":
            return rng.integers(0, 2, shape)
        case "decimals":
            return rng.integers(0, 10 ** int(rng.integers(2, 8)), shape)
        case "mixed":
            large = np.floor(10.0 ** rng.uniform(8, 12, shape)).astype(np.int64)
            return np.where(rng.random(shape) < rng.choice([0.15, 0.4, 0.7]), large, np.maximum(small, 1))
        case _:
            most = MOST_UNITS // max(int(np.prod(shape)), 1)
            large = rng.integers(most // 1000, most, shape)
            return np.where(rng.random(shape) < 0.2, small, large)


# ---------------------------------------------------------------------- shapes


def _codes(rng: np.random.Generator, size: Size) -> int:
    """How many codes a flat dimension has."""
    least, most = {"tiny": (2, 2), "usual": (2, 4), "large": (5, 9)}[size]
    return int(rng.integers(least, most + 1))


def _dimensions(kind: str, rng: np.random.Generator, size: Size) -> list[Dimension]:
    if kind == "two-way":
        rows = int(rng.integers(2, 4)) if size == "tiny" else _codes(rng, size)
        return [flat("r", rows), flat("c", _codes(rng, size))]
    if kind == "three-way":
        layers = 2 if size == "tiny" else int(rng.integers(2, 4))
        return [flat("r", _codes(rng, size)), flat("c", _codes(rng, size)), flat("s", layers)]
    if kind == "hierarchical":
        return [_random_hierarchy(rng, _codes(rng, size)), flat("c", _codes(rng, size))]
    pairs = {"tiny": 1, "usual": 2, "large": 6}[size]
    north, south = (["n1", "n2"], ["s1"]) if size == "tiny" else (_names("n", pairs), _names("s", pairs))
    both = [*north, *south]
    first = Hierarchy.from_dict({"north": north, "south": south})
    second = Hierarchy.from_dict({"coast": both[::2], "inland": both[1::2]})
    return [Dimension.of("r", first, second), flat("c", 1 if size == "tiny" else _codes(rng, size))]


def _names(name: str, count: int) -> list[str]:
    return [f"{name}{i + 1}" for i in range(count)]


def _random_hierarchy(rng: np.random.Generator, groups: int) -> Dimension:
    """A dimension with groups of up to three leaves; a group without parts is a leaf."""
    parts = {f"r{g}": _names(f"r{g}", int(rng.integers(0, 3 if groups == 2 else 4))) for g in range(groups)}
    return Dimension.of("r", Hierarchy.from_dict(parts))


def _linked(
    draw: Callable[[tuple[int, ...]], Leaves], decimals: int, rng: np.random.Generator, size: Size
) -> Table:
    """Two or three margins of one cube, with their common cells."""
    sizes = tuple(min(_codes(rng, size), 3 if size == "usual" else 9) for _ in range(3))
    cube = draw(sizes)
    a, b, c = (flat(name, count) for name, count in zip("abc", sizes, strict=True))
    margins = [
        table_of_leaves([a, b], cube.sum(axis=2), decimals),
        table_of_leaves([a, c], cube.sum(axis=1), decimals),
        table_of_leaves([b, c], cube.sum(axis=0), decimals),
    ]
    return link(margins[: 2 if size == "tiny" else int(rng.integers(2, 4))])


def _equations(
    draw: Callable[[tuple[int, ...]], Leaves], decimals: int, rng: np.random.Generator, size: Size
) -> Table:
    """Arbitrary equations with coefficients up to 3 in size, around random values."""
    count = int(rng.integers(4, {"tiny": 8, "usual": 14, "large": 60}[size]))
    units = draw((count,))
    most = int(rng.integers(1, 4))
    matrix = rng.integers(-most, most + 1, size=(int(rng.integers(1, max(2, count // 2))), count))
    matrix[rng.random(matrix.shape) < (0.8 if size == "large" else 0.4)] = 0
    scale = 10**decimals
    return Table.from_equations(units / scale, matrix, (matrix @ units) / scale, decimals=decimals)


PATTERNS = ("suppression", "intervals", "rounding", "perturbation", "mixed")
RELATIVE_STEP, FEWEST_FOR_RELATIVE = 1e-9, 1e6
"""Levels are set this share off the reach where that is at least a thousandth of a unit."""


@dataclass(frozen=True)
class Case:
    """A problem and a pattern to be judged, with how they were drawn."""

    kind: str
    scale: str
    publishing: str
    problem: Problem
    pattern: Pattern


def random_case(
    rng: np.random.Generator,
    *,
    kind: str | None = None,
    scale: str | None = None,
    publishing: str | None = None,
    size: Size = "usual",
) -> Case:
    """A case without levels; what is not given is drawn. Half of all cases have mixed scales."""
    kind = kind or str(rng.choice(SHAPES))
    scale = scale or ("mixed" if rng.random() < 0.5 else str(rng.choice([s for s in SCALES if s != "mixed"])))
    publishing = publishing or str(rng.choice(PATTERNS, p=[0.45, 0.3, 0.08, 0.07, 0.1]))
    problem = random_bare_problem(random_scaled_table(kind, scale, rng, size), rng)
    return Case(kind, scale, publishing, problem, random_pattern(problem, publishing, rng))


# ---------------------------------------------------------------------- problems


def random_bare_problem(table: Table, rng: np.random.Generator, *, share: float = 0.0) -> Problem:
    """One to four sensitive cells (or a share of all) without levels, forced and hidden cells, boxes and insiders."""
    size = len(table)
    sensitive = np.zeros(size, dtype=bool)
    count = min(size, max(int(rng.integers(1, 5)), round(share * size)))
    sensitive[rng.choice(size, size=count, replace=False)] = True
    forced = ~sensitive & (rng.random(size) < rng.choice([0.0, 0.1]))
    hidden = ~sensitive & ~forced & (rng.random(size) < 0.03)
    return Problem.of(
        table,
        sensitive,
        forced=forced,
        hidden=hidden,
        known=_random_box(table, rng),
        attackers=[
            _random_attacker(f"insider {k}", table, rng) for k in range(int(rng.choice([0, 0, 1, 2])))
        ],
        weights=rng.integers(0, 20, size).astype(float),
        widen=True,
    )


def _random_box(table: Table, rng: np.random.Generator) -> tuple[Floats, Floats] | None:
    """What everybody knows: the usual, nothing, a percentage window, or a window of some cells."""
    draw, a = rng.random(), table.values
    if draw < 0.55:
        return None
    low = np.zeros(a.size) if (a >= 0).all() else np.full(a.size, -inf)
    high = np.full(a.size, inf)
    if draw < 0.65:
        return np.full(a.size, -inf), high
    share = float(rng.choice([0.1, 0.25, 0.5, 1.0]))
    extent = np.abs(a) * share
    if draw < 0.85:
        return a - extent, a + extent
    some = rng.random(a.size) < 0.4
    reach = rng.choice([0.5, 1.5, 2.0, 7.0, 20.5], size=a.size) * table.unit
    return np.where(some, a - reach, low), np.where(some, a + reach, high)


def _random_attacker(name: str, table: Table, rng: np.random.Generator) -> Attacker:
    """A respondent with contributions, or an attacker who knows some cells exactly or to within a window."""
    cells = np.sort(rng.choice(len(table), size=min(len(table), int(rng.integers(1, 5))), replace=False))
    a, unit = table.values[cells], table.unit
    if rng.random() < 0.4:
        own = np.where(rng.random(cells.size) < 0.3, a, np.floor(a / unit * rng.random(cells.size)) * unit)
        return Attacker.contributing(name, table, cells, own)
    exact = rng.random(cells.size) < 0.5
    extent = np.where(
        rng.random(cells.size) < 0.5, np.abs(a) * 0.15, rng.integers(0, 12, cells.size) * unit / 2
    )
    low = np.where(exact, a, a - extent)
    return Attacker.knowing(name, cells, low, np.where(exact, a, a + extent))


# ---------------------------------------------------------------------- patterns


def random_pattern(problem: Problem, publishing: str, rng: np.random.Generator) -> Pattern:
    """A pattern of a kind that states nothing false and keeps to the marks, mostly."""
    table = problem.table
    share = float(rng.choice([0.3, 0.5, 0.7, 0.95]))
    touched = problem.must_hide | ((rng.random(len(table)) < share) & ~problem.forced)
    match publishing:
        case "suppression":
            return Suppression.of(table, touched)
        case "intervals":
            return random_bands(table, touched, rng)
        case "rounding":
            return _random_rounding(table, touched, rng)
        case "perturbation":
            return _random_perturbation(table, touched, rng)
        case _:
            return _random_mixture(problem, touched, rng)


def random_bands(table: Table, touched: Bools, rng: np.random.Generator) -> Intervals:
    """Intervals around the truth: shares of the value or a few units, whole or with halves, some without an end."""
    a, unit, size = table.values, table.unit, len(table)

    def width() -> Floats:
        units = np.floor(np.abs(a) / unit * rng.choice([0.05, 0.2, 0.6]))
        few = rng.integers(0, 9, size) + np.where(rng.random(size) < 0.2, 0.5, 0.0)
        extent = np.maximum(few, np.where(rng.random(size) < 0.8, units, 0.0)) * unit
        return np.where(touched, np.where(rng.random(size) < 0.08, inf, extent), 0.0)

    return Intervals.of(a - width(), a + width())


def _random_rounding(table: Table, touched: Bools, rng: np.random.Generator) -> Rounding:
    """Multiples of a base, up or down; larger bases for larger cells where scales are mixed."""
    a, unit = table.values, table.unit
    units = np.rint(a / unit)
    base = np.full(a.size, float(rng.choice([3, 5, 10, 100])))
    if rng.random() < 0.5:
        base = np.where(np.abs(units) > 1e6, 1e7, base)
    shown = base * np.where(rng.random(a.size) < 0.5, np.floor(units / base), np.ceil(units / base))
    return Rounding.of(np.where(touched, shown, units) * unit, np.where(touched, base, 0.0) * unit)


def _random_perturbation(table: Table, touched: Bools, rng: np.random.Generator) -> Perturbation:
    a, unit = table.values, table.unit
    reach = np.where(touched, np.maximum(2.0, np.floor(np.abs(a) / unit * rng.choice([0.0, 0.1, 0.4]))), 0.0)
    shift = np.rint(reach * rng.uniform(-1, 1, a.size))
    return Perturbation.of((np.rint(a / unit) + shift) * unit, reach * unit)


def _random_mixture(problem: Problem, touched: Bools, rng: np.random.Generator) -> Mixed:
    table = problem.table
    draw = rng.integers(0, 3, len(table))
    parts: list[tuple[Bools, Pattern]] = [
        (touched & (draw == 0), Suppression.of(table, touched & (draw == 0))),
        (touched & (draw == 1), random_bands(table, touched, rng)),
        (touched & (draw == 2), _random_rounding(table, touched, rng)),
    ]
    return Mixed.of(table, parts)


# ---------------------------------------------------------------------- levels near the threshold


def near_threshold(case: Case, rng: np.random.Generator, *, conditional: bool | None = None) -> Problem:
    """The problem of a case with levels at, just above or just below what its pattern protects."""
    problem = case.problem
    size, scale = len(problem.table), 10**problem.table.decimals
    oracle = Oracle(problem, case.pattern)
    nothing = Suppression(np.ones(size, dtype=bool))
    low, high = deviation_box(problem, nothing, 0)  # what the outsider's box allows
    levels = np.zeros((4, size))

    def put(row: int, cell: int, reach: Number, extent: Number) -> None:
        levels[row, cell] = float(min(_near(reach, rng), extent)) / scale

    for cell in np.flatnonzero(problem.sensitive).tolist():
        attacker = int(rng.integers(len(problem.attacker_names)))
        down, up = oracle.deviations(cell, attacker)
        sides = rng.choice(
            ["both", "lower", "upper", "sliding", "all", "none"], p=[0.3, 0.12, 0.13, 0.25, 0.15, 0.05]
        )
        if sides in ("both", "lower", "all"):
            put(0, cell, -down, -low[cell])
        if sides in ("both", "upper", "all"):
            put(1, cell, up, high[cell])
        if sides in ("sliding", "all"):
            put(2, cell, up - down, high[cell] - low[cell])
    if rng.random() < 0.15 if conditional is None else conditional:
        touched = case.pattern.touched(problem) & ~problem.sensitive & ~problem.forced
        for cell in np.flatnonzero(touched & (rng.random(size) < 0.3)).tolist():
            down, up = oracle.deviations(cell, 0)
            put(3, cell, up - down, high[cell] - low[cell])
    return _with_levels(problem, levels)


def with_conditional_sides(
    problem: Problem, rng: np.random.Generator, pattern: Pattern | None = None
) -> Problem:
    """The problem with conditional lower and upper levels of some cells, within what the outsider's box allows.

    With a pattern they are near the exact reach that it leaves to an attacker, else a few units.
    """
    size, scale = len(problem.table), 10**problem.table.decimals
    low, high = deviation_box(problem, Suppression(np.ones(size, dtype=bool)), 0)
    oracle = None if pattern is None else Oracle(problem, pattern)
    levels = np.array([level for _, level in problem.levels.named()])
    some = ~problem.sensitive & ~problem.forced & (rng.random(size) < 0.4)
    for cell in np.flatnonzero(some if pattern is None else some & pattern.touched(problem)).tolist():
        attacker = int(rng.integers(len(problem.attacker_names)))
        few = int(rng.integers(0, 12))
        down, up = (-few, few) if oracle is None else oracle.deviations(cell, attacker)
        for row, reach, room in ((4, -down, -low[cell]), (5, up, high[cell])):
            if rng.random() < 0.7:
                level = float(few) if oracle is None else _near(reach, rng)
                levels[row, cell] = float(min(level, room)) / scale
    return _with_levels(problem, levels)


def with_own_levels(problem: Problem, rng: np.random.Generator, pattern: Pattern | None = None) -> Problem:
    """The problem with levels against most of its attackers, larger and smaller than the common ones.

    With a pattern they are near the exact reach that it leaves to the attacker, else shares of the values. They stay
    within his box.
    """
    nothing, scale = Suppression(np.ones(len(problem.table), dtype=bool)), 10**problem.table.decimals
    oracle = None if pattern is None else Oracle(problem, pattern)
    attackers = []
    for number, who in enumerate(problem.attackers, 1):
        low, high = deviation_box(problem, nothing, number)
        cells = np.flatnonzero(problem.sensitive & (rng.random(len(problem.table)) < 0.7))
        levels = np.full((3, cells.size), np.nan)
        for place, cell in enumerate(cells.tolist()):
            share = float(np.ceil(abs(problem.table.values[cell]) * scale * rng.choice([0.0, 0.1, 0.3, 0.8])))
            down, up = (-share, share) if oracle is None else oracle.deviations(cell, number)
            widths = ((-down, -low[cell]), (up, high[cell]), (up - down, high[cell] - low[cell]))
            for kind, (reach, room) in enumerate(widths):
                level = float(reach) if oracle is None else _near(reach, rng)
                if rng.random() < (0.2 if kind == 2 else 0.75):
                    levels[kind, place] = float(min(level, room)) / scale
        attackers.append(replace(who, levels=AttackerLevels.at(cells, *levels)))
    return _with_levels(problem, np.array([level for _, level in problem.levels.named()]), attackers)


def _with_levels(problem: Problem, levels: Floats, attackers: Sequence[Attacker] | None = None) -> Problem:
    return Problem.of(
        problem.table,
        problem.sensitive,
        Levels.of(len(problem.table), *levels),
        forced=problem.forced,
        hidden=problem.must_hide & ~problem.sensitive,
        known=(problem.outsider_low, problem.outsider_high),
        attackers=problem.attackers if attackers is None else attackers,
        weights=problem.weights,
        prices=problem.prices,
        widen=True,
    )


def _near(reach: Number, rng: np.random.Generator) -> float:
    """A level in units near an exact reach: met, missed by a unit or by less, or comfortably met."""
    if reach == inf:
        return float(floor(10.0 ** rng.uniform(0, 9)))
    whole = floor(reach)
    choices: list[float] = [
        whole,
        whole,
        whole + 1,
        whole + 1,
        whole - 1,
        whole + 0.5,
        whole - 0.5,
        whole // 2,
    ]
    if reach != whole:
        choices += [whole + 1, whole]
    if whole >= FEWEST_FOR_RELATIVE:
        choices += [whole * (1 + RELATIVE_STEP), whole * (1 - RELATIVE_STEP)]
    return max(float(choices[int(rng.integers(len(choices)))]), 0.0)


def random_levels(problem: Problem, rng: np.random.Generator, *, conditional: bool = False) -> Problem:
    """The problem with levels as shares of the values, of all kinds, within what the outsider's box allows."""
    size, scale = len(problem.table), 10**problem.table.decimals
    low, high = deviation_box(problem, Suppression(np.ones(size, dtype=bool)), 0)
    levels = np.zeros((4, size))
    for cell in np.flatnonzero(problem.sensitive).tolist():
        level = np.ceil(abs(problem.table.values[cell]) * scale * rng.choice([0.0, 0.05, 0.15, 0.5]))
        level -= 0.5 if level and rng.random() < 0.1 else 0.0
        sides = rng.choice(["both", "lower", "upper", "sliding", "none"], p=[0.5, 0.1, 0.1, 0.2, 0.1])
        if sides in ("both", "lower"):
            levels[0, cell] = float(min(level, -low[cell])) / scale
        if sides in ("both", "upper"):
            levels[1, cell] = float(min(level, high[cell])) / scale
        if sides == "sliding":
            levels[2, cell] = float(min(2 * level, high[cell] - low[cell])) / scale
    if conditional:
        for cell in np.flatnonzero(~problem.sensitive & ~problem.forced & (rng.random(size) < 0.3)).tolist():
            levels[3, cell] = float(min(int(rng.integers(1, 12)), high[cell] - low[cell])) / scale
    return _with_levels(problem, levels)
