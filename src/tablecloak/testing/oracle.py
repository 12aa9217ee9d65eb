"""The oracle: what each attacker can work out, in exact arithmetic, by a model of its own.

Nothing here is shared with the audit. The attacker knows the equations, what the pattern states and his box. In whole
data units u = value * 10^decimals the deviations d from the true table satisfy

    M d = 0,  low <= d <= high,  low and high whole numbers or infinite.

Every value is a whole number of units and everybody knows it, so ends of boxes and of statements are rounded inward to
units; levels are rounded up. Equations with one unknown determine it; of what is left only the connected component of
a cell matters, and `ExactSimplex` finds its exact ends there. The deviations themselves may be any real numbers.

A number that is a whole unit but for rounding noise is that unit (`NOISE`): no decimal fraction is exact in binary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model import Intervals, Mixed, Pattern, Perturbation, Problem, Rounding, Suppression, Table
from tablecloak.testing.simplex import Bound, ExactSimplex, Number

NOISE, RELATIVE_NOISE = 1e-9, 8 * float(np.finfo(np.float64).eps)
"""A number this near to a whole unit, in units or relative to itself, is meant to be whole."""
MOST_NOISE, MOST_OF_OTHERS = 0.25, 1e-3
"""Noise is never more than this share of a unit: of a number itself, and of larger ones that it was computed from."""

# ---------------------------------------------------------------------- whole units


def in_units(table: Table, numbers: Floats, size: Floats | None = None) -> Floats:
    """Numbers as multiples of the data unit; those that are whole but for noise made whole.

    `size` is the magnitude of what the numbers were computed from, where that is larger than their own.
    """
    scale = 10.0**table.decimals
    scaled = numbers * scale
    nearest = np.rint(scaled)
    finite = np.isfinite(scaled)
    with np.errstate(invalid="ignore"):
        noise = np.clip(RELATIVE_NOISE * np.abs(scaled), NOISE, MOST_NOISE)
        if size is not None:
            noise = np.maximum(noise, np.minimum(RELATIVE_NOISE * scale * size, MOST_OF_OTHERS))
        whole = finite & (np.abs(scaled - nearest) <= noise)
    return np.asarray(np.where(whole, nearest, scaled))


def true_units(table: Table) -> list[int]:
    """The true values in whole units."""
    return [int(number) for number in np.rint(table.values * 10.0**table.decimals)]


def whole_equations(table: Table) -> NDArray[Any]:
    """The equations with whole coefficients (each multiplied by what makes them so)."""
    dense: Floats = table.equations.toarray()
    whole = np.rint(dense)
    if (whole == dense).all():
        return whole.astype(np.int64)
    rows = []
    for row in dense:
        exact = [Fraction(repr(float(entry))) for entry in row]
        factor = lcm(*(entry.denominator for entry in exact))
        rows.append([int(entry * factor) for entry in exact])
    return np.array(rows, dtype=object)


# ---------------------------------------------------------------------- what is stated and known


def stated_units(problem: Problem, pattern: Pattern) -> tuple[Floats, Floats]:
    """What the pattern states about each cell, in units, before rounding inward."""
    table = problem.table
    match pattern:
        case Suppression():
            true = in_units(table, table.values)
            return np.where(pattern.hidden, -inf, true), np.where(pattern.hidden, inf, true)
        case Intervals():
            return in_units(table, pattern.low), in_units(table, pattern.high)
        case Rounding():
            return _around(table, pattern.shown, pattern.base)
        case Perturbation():
            return _around(table, pattern.shown, pattern.reach)
        case Mixed():
            low = in_units(table, table.values)
            high = low.copy()
            for where, part in pattern.parts:
                below, above = stated_units(problem, part)
                low[where], high[where] = below[where], above[where]
            return low, high
        case _:
            view = pattern.view(problem)
            return in_units(table, view.low), in_units(table, view.high)


def _around(table: Table, shown: Floats, reach: Floats) -> tuple[Floats, Floats]:
    size = np.maximum(np.abs(shown), reach)
    return in_units(table, shown - reach, size), in_units(table, shown + reach, size)


def deviation_box(problem: Problem, pattern: Pattern, attacker: int) -> tuple[list[Bound], list[Bound]]:
    """low <= 0 <= high: how far each cell may deviate by what is stated and known, in whole units or infinite."""
    stated_low, stated_high = stated_units(problem, pattern)
    known_low, known_high = (in_units(problem.table, end) for end in problem.box(attacker))
    low = np.ceil(np.maximum(stated_low, known_low))
    high = np.floor(np.minimum(stated_high, known_high))
    true = true_units(problem.table)
    below = [end if end == -inf else int(end) - a for end, a in zip(low.tolist(), true, strict=True)]
    above = [end if end == inf else int(end) - a for end, a in zip(high.tolist(), true, strict=True)]
    away = [cell for cell, (down, up) in enumerate(zip(below, above, strict=True)) if not down <= 0 <= up]
    if away:
        raise ValueError(f"the true values of cells {away} lie outside what is stated or known")
    return below, above


# ---------------------------------------------------------------------- exact ends


class ExactAttack:
    """One attacker's polytope: exact least and largest deviations of cells, in units."""

    def __init__(self, matrix: NDArray[Any], low: list[Bound], high: list[Bound]) -> None:
        self.low, self.high = low, high
        free = np.array([below < above for below, above in zip(low, high, strict=True)], dtype=bool)
        present = matrix != 0
        while True:  # an equation with one unknown determines it
            unknowns = present[:, free].sum(axis=1)
            single = present[unknowns == 1][:, free]
            if single.size == 0:
                break
            determined = np.flatnonzero(free)[single.any(axis=0)]
            free[determined] = False
        cells = np.flatnonzero(free)
        links = present[:, cells].astype(np.int32)
        count, label = connected_components(links.T @ links, directed=False)
        self.component = np.full(free.size, -1)
        self.component[cells] = label
        self.groups = [cells[label == number] for number in range(count)]
        self.matrix, self.links = matrix, present
        self.solvers: dict[int, ExactSimplex] = {}

    def ends(self, cell: int) -> tuple[Number, Number]:
        """The exact least and largest deviation of a cell."""
        number = int(self.component[cell])
        if number < 0:
            return Fraction(0), Fraction(0)
        group = self.groups[number]
        if number not in self.solvers:
            rows = self.matrix[self.links[:, group].any(axis=1)][:, group]
            low, high = ([end[i] for i in group] for end in (self.low, self.high))
            self.solvers[number] = ExactSimplex(rows, low, high)
        solver, at = self.solvers[number], int(np.searchsorted(group, cell))
        return solver.minimum(at), solver.maximum(at)


class Oracle:
    """All attackers of a problem against one pattern; what was worked out once is kept."""

    def __init__(self, problem: Problem, pattern: Pattern) -> None:
        self.problem, self.pattern = problem, pattern
        self.true = true_units(problem.table)
        self._matrix = whole_equations(problem.table)
        self._attacks: dict[int, ExactAttack] = {}
        self._ends: dict[tuple[int, int], tuple[Number, Number]] = {}

    def deviations(self, cell: int, attacker: int = 0) -> tuple[Number, Number]:
        """The exact least and largest deviation of a cell for an attacker, in units."""
        if (cell, attacker) not in self._ends:
            if attacker not in self._attacks:
                box = deviation_box(self.problem, self.pattern, attacker)
                self._attacks[attacker] = ExactAttack(self._matrix, *box)
            self._ends[cell, attacker] = self._attacks[attacker].ends(cell)
        return self._ends[cell, attacker]

    def interval(self, cell: int, attacker: int = 0) -> tuple[Number, Number]:
        """The exact feasibility interval of a cell, in units."""
        down, up = self.deviations(cell, attacker)
        return self.true[cell] + down, self.true[cell] + up


def exact_intervals(
    problem: Problem, pattern: Pattern, attacker: int = 0, cells: Iterable[int] | None = None
) -> dict[int, tuple[Number, Number]]:
    """Exact feasibility intervals in data units, of all touched cells unless cells are given."""
    oracle = Oracle(problem, pattern)
    wanted = np.flatnonzero(pattern.touched(problem)) if cells is None else cells
    return {int(cell): oracle.interval(int(cell), attacker) for cell in wanted}


# ---------------------------------------------------------------------- requirements and the verdict


@dataclass(frozen=True)
class OracleRow:
    """One cell and attacker: what is required and what the exact reach is, in units."""

    cell: int
    attacker: int
    lower: int
    upper: int
    sliding: int
    down: Number
    up: Number

    @property
    def met(self) -> bool:
        """Whether all three requirements are met exactly."""
        return self.down >= self.lower and self.up >= self.upper and self.down + self.up >= self.sliding


@dataclass(frozen=True)
class OracleVerdict:
    """The verdict on a pattern: a row a cell and attacker, and the rules that concern no single cell."""

    rows: tuple[OracleRow, ...]
    against_marks: Ints
    too_many_touched: bool
    by_place: dict[tuple[int, int], OracleRow] = field(repr=False)

    @property
    def safe(self) -> bool:
        """Whether everything that is required is met (but for how near perturbed cells are shown)."""
        return all(row.met for row in self.rows) and not self.against_marks.size and not self.too_many_touched

    def row(self, cell: int, attacker: int) -> OracleRow:
        """The row of a cell and an attacker."""
        return self.by_place[cell, attacker]


def required_cells(problem: Problem, touched: Bools) -> Ints:
    """Cells with a requirement: sensitive ones, and touched ones with a conditional level."""
    levels = problem.levels
    asked = levels.conditional + levels.conditional_lower + levels.conditional_upper > 0
    return np.flatnonzero(problem.sensitive | (touched & asked))


def required_units(problem: Problem, attacker: int, cells: Ints) -> list[tuple[int, int, int]]:
    """lower, upper and sliding levels of cells in whole units, rounded up, up to what the attacker's box allows."""
    table, levels = problem.table, problem.levels
    low, high = (in_units(table, end[cells]) for end in problem.box(attacker))
    given = _levels_against(problem, attacker)
    asked = [np.ceil(in_units(table, level[cells])) for level in given]
    conditional = (levels.conditional_lower, levels.conditional_upper, levels.conditional)
    more = [np.ceil(in_units(table, level[cells])) for level in conditional]
    true = [int(number) for number in np.rint(table.values[cells] * 10.0**table.decimals)]
    found = []
    for at, a in enumerate(true):
        pairs = zip(asked, more, strict=True)
        lower, upper, sliding = (int(level[at]) + int(other[at]) for level, other in pairs)
        down = inf if low[at] == -inf else max(a - int(np.ceil(low[at])), 0)
        up = inf if high[at] == inf else max(int(np.floor(high[at])) - a, 0)
        found.append((int(min(lower, down)), int(min(upper, up)), int(min(sliding, down + up))))
    return found


def _levels_against(problem: Problem, attacker: int) -> list[Floats]:
    """lower, upper and sliding levels of all cells against an attacker; a bare sensitive cell has a width of a unit.

    Cell by cell: his own level where he has one, else the common one.
    """
    levels = [array.copy() for array in (problem.levels.lower, problem.levels.upper, problem.levels.sliding)]
    for cell in np.flatnonzero(problem.sensitive).tolist():
        if all(level[cell] <= 0 for level in levels):
            levels[2][cell] = 1 / 10**problem.table.decimals
    if attacker > 0:
        own = problem.attackers[attacker - 1].levels
        for place, cell in enumerate(own.cells.tolist()):
            for level, new in zip(levels, (own.lower, own.upper, own.sliding), strict=True):
                if not np.isnan(new[place]):
                    level[cell] = new[place]
    return levels


def oracle_verdict(problem: Problem, pattern: Pattern, oracle: Oracle | None = None) -> OracleVerdict:
    """The exact verdict for every cell with a requirement and every attacker."""
    oracle = oracle or Oracle(problem, pattern)
    touched = pattern.touched(problem)
    cells = required_cells(problem, touched)
    rows = []
    for attacker in range(len(problem.attacker_names)):
        for cell, levels in zip(cells.tolist(), required_units(problem, attacker, cells), strict=True):
            down, up = oracle.deviations(cell, attacker) if any(levels) else (Fraction(0), Fraction(0))
            rows.append(OracleRow(cell, attacker, *levels, -down, up))
    most = problem.most_touched
    return OracleVerdict(
        tuple(rows),
        problem.against_marks(touched),
        most is not None and int(touched.sum()) > most,
        {(row.cell, row.attacker): row for row in rows},
    )
