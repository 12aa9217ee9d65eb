"""Random cases for fuzzing: a problem with attackers and boxes, and a pattern of any kind.

`random_case` draws everything but the levels; `near_threshold` sets levels at the exact reach that the pattern leaves
to an attacker, one unit above or below it, or next to it; `random_levels` sets shares of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.model import (
    Attacker,
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)
from tablecloak.testing.oracle import Oracle, deviation_box
from tablecloak.testing.random_tables import SCALES, SHAPES, Size, random_scaled_table
from tablecloak.testing.simplex import Number

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
    room = np.abs(a) * share
    if draw < 0.85:
        return a - room, a + room
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
    room = np.where(
        rng.random(cells.size) < 0.5, np.abs(a) * 0.15, rng.integers(0, 12, cells.size) * unit / 2
    )
    low = np.where(exact, a, a - room)
    return Attacker.knowing(name, cells, low, np.where(exact, a, a + room))


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
        room = np.maximum(few, np.where(rng.random(size) < 0.8, units, 0.0)) * unit
        return np.where(touched, np.where(rng.random(size) < 0.08, inf, room), 0.0)

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

    def put(row: int, cell: int, reach: Number, room: Number) -> None:
        levels[row, cell] = float(min(_near(reach, rng), room)) / scale

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


def _with_levels(problem: Problem, levels: Floats) -> Problem:
    return Problem.of(
        problem.table,
        problem.sensitive,
        Levels.of(len(problem.table), *levels),
        forced=problem.forced,
        hidden=problem.must_hide & ~problem.sensitive,
        known=(problem.outsider_low, problem.outsider_high),
        attackers=problem.attackers,
        weights=problem.weights,
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
