"""Formulations that show a number for every cell: controlled rounding and perturbation (see `formulation`).

What is shown adds up like the truth, M v = M a, and is stated to be within `reach` of it, so the deviation bounds are

    U = v + reach - a,    D = a - v + reach.

*Rounding* to multiples of r_i: v_i = r_i k_i, k_i integral. Zero-restricted (no steps): k_i is one of the two
neighbours of a_i / r_i, or a_i / r_i itself where that is integral; x_i = 1 rounds up. With K steps: K neighbours more
on each side, and the reach is (K + 1) r_i. Attackers are given the full reach also where a value is a multiple. A cell
is touched iff what is shown differs from the truth: all non-multiples are, and with steps a multiple where its binary
t_i is 1, low_i t_i <= k_i <= high_i t_i.

*Perturbation*: v = a + z+ - z-, 0 <= z+, z- <= reach. A sensitive cell must be shown at least a level away:
z+_p >= UPL_p y_p, z-_p >= LPL_p (1 - y_p), z+_p <= reach_p y_p, z-_p <= reach_p (1 - y_p) with its sense y_p binary.
Without the last two a linear program would cheat with z+_p = z-_p. Lengths are in units of `length_unit`.

References: Salazar-Gonzalez (2002), Figures 9 and 12; Dandekar & Cox (2002) for senses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import working_equations
from tablecloak.methods.unified.formulation import (
    Affine,
    Formulation,
    LinearConstraints,
    at_cells,
    length_unit,
    switched,
)
from tablecloak.model import Prices, Problem
from tablecloak.solvers import INTEGER_QUOTIENT


@dataclass(frozen=True, eq=False)
class ShownFormulation:
    """A formulation with the value it shows for each cell, as an affine function of the variables, and its reach."""

    formulation: Formulation
    value: Affine
    reach: Floats


def additivity(problem: Problem, shown: Affine) -> LinearConstraints:
    """Constraints M v = M a: what is shown adds up like the truth."""
    return sum_constraints(working_equations(problem.table), problem.table.values, shown)


def sum_constraints(equations: csr_array, values: Floats, shown: Affine) -> LinearConstraints:
    """Constraints: shown values have the sums of the true `values` in some equations; largest coefficients are 1."""
    right = equations @ (values - shown.constant)
    matrix = csr_array(equations @ shown.matrix)
    of = np.repeat(np.arange(right.size), np.diff(matrix.indptr))
    scale = np.zeros(right.size)
    np.maximum.at(scale, of, np.abs(matrix.data))
    scale[scale == 0] = np.maximum(abs(equations) @ np.abs(values), 1.0)[scale == 0]
    right = right / scale
    right = np.where(np.abs(right - np.rint(right)) < INTEGER_QUOTIENT, np.rint(right), right)
    return LinearConstraints(
        csr_array((matrix.data / scale[of], matrix.indices, matrix.indptr), shape=matrix.shape), right, right
    )


def rounding_formulation(
    problem: Problem, cells: Bools, base: Floats, steps: int, prices: Prices, counted: bool = False
) -> ShownFormulation:
    """Cells are rounded to multiples of their base (0: shown exactly), up to `steps` multiples further on each side.

    Without `counted` multiples that steps could move count as touched; with it, and with prices of touching, a binary
    variable says whether.
    """
    counted = counted or prices.touch is not None
    value, size = problem.table.values, cells.size
    rounded = cells & (base > 0)
    safe_base = np.where(rounded, base, 1.0)
    multiple = np.rint(value / safe_base)
    is_multiple = np.abs(value / safe_base - multiple) < INTEGER_QUOTIENT
    floor = np.where(is_multiple, multiple, np.floor(value / safe_base)) * safe_base
    if steps == 0:
        return _zero_restricted(problem, rounded, np.where(rounded, floor, value), base, is_multiple, prices)
    mine = np.flatnonzero(rounded)
    still = np.flatnonzero(is_multiple[mine] & counted)
    count, columns = mine.size, 3 * mine.size + still.size
    first = np.rint(floor[mine] / base[mine])
    low = np.full(count, -float(steps))  # variables count steps from the floor
    low = np.where(value[mine] >= 0, np.maximum(low, -np.maximum(first, 0.0)), low)
    high = steps + (~is_multiple[mine]).astype(float)
    reach = np.where(rounded, (steps + 1) * base, 0.0)
    shown = Affine(np.where(rounded, floor, value), at_cells(mine, size, 0, columns, base[mine]))
    rest = (value - floor)[mine] / base[mine]
    one, none = diags_array(np.ones(count)), csr_array((count, still.size))
    # k - z+ + z- = (a - floor) / r
    moves = LinearConstraints(csr_array(hstack([one, -one, one, none])), rest, rest)
    most, touch = np.full(count, steps + 1.0), _touching(problem, prices)
    up, down = (price[mine] * base[mine] for price in (prices.up, prices.down))
    surely = rounded & ~(is_multiple & counted)
    longer = base[mine] / length_unit(problem)
    formulation = Formulation(
        np.concatenate([np.zeros(count), up, down, touch[mine[still]]]),
        np.concatenate([low, np.zeros(2 * count + still.size)]),
        np.concatenate([high, most, most, np.ones(still.size)]),
        (np.arange(columns) < count) | (np.arange(columns) >= 3 * count),
        moves.stacked(_unless_touched(still, low[still], high[still], 3 * count)),
        *_deviation_bounds(value, shown, reach),
        Affine(surely.astype(float), at_cells(mine[still], size, 3 * count, columns)),
        constant=float(touch[surely].sum()),
        widths=np.concatenate([np.zeros(count), longer, longer, np.zeros(still.size)]),
    )
    return ShownFormulation(formulation, shown, reach)


def _touching(problem: Problem, prices: Prices) -> Floats:
    """The prices of touching the cells that need not be touched."""
    return np.where(problem.must_hide, 0.0, prices.touched)


def _unless_touched(still: Ints, low: Floats, high: Floats, first: int) -> LinearConstraints:
    """low t <= k <= high t for the steps k of multiples, variables `still`; their t are counted from `first`."""
    count = still.size
    if count == 0:
        return LinearConstraints.none(first)
    binary = first + np.arange(count)
    upper, lower = (switched(still, binary, limit, first + count) for limit in (high, low))
    zero, far = np.zeros(count), np.full(count, np.inf)
    return LinearConstraints(
        csr_array(vstack([upper, lower])), np.concatenate([-far, zero]), np.concatenate([zero, far])
    )


def _zero_restricted(
    problem: Problem, rounded: Bools, floor: Floats, base: Floats, is_multiple: Bools, prices: Prices
) -> ShownFormulation:
    """Rounding up or down: one binary variable for each cell that is no multiple of its base."""
    value, size = problem.table.values, rounded.size
    mine: Ints = np.flatnonzero(rounded & ~is_multiple)
    count = mine.size
    shown = Affine(floor, at_cells(mine, size, 0, count, base[mine]))
    rest = value[mine] - floor[mine]
    reach, further = np.where(rounded, base, 0.0), base[mine] - 2.0 * rest
    up, down = prices.up[mine], prices.down[mine]
    formulation = Formulation(
        up * further + (up - down) * rest,
        np.zeros(count),
        np.ones(count),
        np.ones(count, dtype=bool),
        LinearConstraints.none(count),
        *_deviation_bounds(value, shown, reach),
        Affine((rounded & ~is_multiple).astype(float), csr_array((size, count))),
        constant=float(down @ rest) + float(_touching(problem, prices)[mine].sum()),
        widths=further / length_unit(problem),
    )
    return ShownFormulation(formulation, shown, reach)


def _deviation_bounds(value: Floats, shown: Affine, reach: Floats) -> tuple[Affine, Affine]:
    """Above and below the true values."""
    moved = shown.constant - value
    return Affine(moved + reach, shown.matrix), Affine(reach - moved, csr_array(-shown.matrix))


def perturbation_formulation(
    problem: Problem, cells: Bools, reach: Floats, prices: Prices, counted: bool = False
) -> ShownFormulation:
    """Cells are shown within `reach` of the truth.

    With `counted`, and with prices of touching, a binary variable of each cell says whether it is changed.
    """
    counted = counted or prices.touch is not None
    value, size = problem.table.values, cells.size
    mine = np.flatnonzero(cells & (reach > 0))
    count, unit = mine.size, length_unit(problem)
    columns = (3 if counted else 2) * count
    moves = at_cells(mine, size, 0, columns, unit) - at_cells(mine, size, count, columns, unit)
    shown = Affine(value.copy(), csr_array(moves))
    limit, touch = reach[mine] / unit, _touching(problem, prices)[mine]
    constraints = LinearConstraints.none(columns)
    if counted:
        sides, binary = np.arange(2 * count), 2 * count + np.tile(np.arange(count), 2)
        links = switched(sides, binary, np.tile(limit, 2), columns)
        constraints = LinearConstraints(links, np.full(2 * count, -np.inf), np.zeros(2 * count))
    touched = at_cells(mine, size, 2 * count, columns) if counted else csr_array((size, columns))
    formulation = Formulation(
        np.concatenate([unit * prices.up[mine], unit * prices.down[mine], touch[: columns - 2 * count]]),
        np.zeros(columns),
        np.concatenate([limit, limit, np.ones(columns - 2 * count)]),
        np.arange(columns) >= 2 * count,
        constraints,
        *_deviation_bounds(value, shown, np.where(cells, reach, 0.0)),
        Affine(np.zeros(size), touched),
        widths=(np.arange(columns) < 2 * count).astype(float),
    )
    return ShownFormulation(formulation, shown, np.where(cells, reach, 0.0))


def with_senses(
    shown: ShownFormulation, problem: Problem, cells: Bools, up: Floats, down: Floats
) -> ShownFormulation:
    """A binary sense for each sensitive cell: it is shown at least `up` above its true value or `down` below it."""
    formulation = shown.formulation
    mine = np.flatnonzero(cells & (shown.reach > 0))
    sensitive = np.flatnonzero(problem.sensitive[mine])
    p, count, old = mine[sensitive], mine.size, formulation.size
    rising, falling = sensitive, count + sensitive
    number, columns = p.size, old + p.size
    senses = old + np.arange(number)
    unit, zero, far = length_unit(problem), np.zeros(number), np.full(number, np.inf)
    # the reach, or less where less is possible
    highest, deepest = formulation.high[rising], formulation.high[falling]
    least, most = up[p] / unit, down[p] / unit
    sides = ((rising, least), (rising, highest), (falling, -most), (falling, -deepest))
    constraints = LinearConstraints(
        csr_array(vstack([switched(side, senses, limit, columns) for side, limit in sides])),
        np.concatenate([zero, -far, most, -far]),
        np.concatenate([far, zero, far, deepest]),
    )
    return ShownFormulation(
        Formulation(
            np.concatenate([formulation.cost, zero]),
            np.concatenate([formulation.low, zero]),
            np.concatenate([formulation.high, np.ones(number)]),
            np.concatenate([formulation.integral, np.ones(number, dtype=bool)]),
            formulation.constraints.extended(number).stacked(constraints),
            formulation.above.extended(number),
            formulation.below.extended(number),
            formulation.touched.extended(number),
            formulation.constant,
            np.concatenate([formulation.switch, np.full(number, -1)]),
            np.concatenate([formulation.width, zero]),
        ),
        shown.value.extended(number),
        shown.reach,
    )
