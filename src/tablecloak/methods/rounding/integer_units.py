"""Tables and bases in integer data units, so that every sum is exact, and the checks of rounding methods.

With decimals t the data unit is 10^-t; a table holds integer multiples of it. With the base added all of them must stay
below 2^53 in absolute value: up to there float64 is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.rounding.tolerances import LARGEST_INTEGER
from tablecloak.methods.unified import Affine, LinearConstraints, ShownFormulation, additivity, at_cells
from tablecloak.model import Mark, Problem, Table, amounts
from tablecloak.solvers import (
    ADDITIVE_ABSOLUTE,
    ADDITIVE_RELATIVE,
    DECIMAL_NOISE,
    INTEGER_QUOTIENT,
    UNIT_NOISE,
    GrowingProgram,
)

SUPPRESSING = ("suppress-greedy", "suppress-optimal")
"""Methods that hide cells, and take any equations."""


@dataclass(frozen=True, eq=False)
class IntegerTable:
    """A table in integer data units: `equations` @ values = rhs, exactly. Confidential."""

    values: Ints
    equations: csr_array
    """Integer coefficients."""
    base: int
    decimals: int

    def amounts(self, units: Ints) -> Floats:
        """Integer units as numbers of the table."""
        return amounts(units, self.decimals)

    def distances(self) -> Ints:
        """The distance of each cell to the nearest multiple of the base."""
        return np.asarray(np.minimum(self.values % self.base, -self.values % self.base))

    def __repr__(self) -> str:
        return f"<confidential IntegerTable: {self.values.size} cells, base {self.base} units>"


def least_change(problem: Problem, units: IntegerTable, cells: Bools) -> float:
    """A lower bound on the cost of rounding some cells: each of them goes to a next multiple."""
    if problem.prices is None:
        return float(problem.weights @ units.amounts(np.where(cells, units.distances(), 0)))
    prices, rest = problem.prices.only(cells), units.values % units.base
    down, up = units.amounts(rest), units.amounts(-units.values % units.base)
    least = np.minimum(prices.down * down, prices.up * up)
    return float(least.sum()) + prices.touching((rest > 0) & ~problem.must_hide)


def true_leaves(table: Table) -> Bools:
    """Leaves that are no sums of a linked table."""
    return np.asarray(table.is_leaf & ~table.is_virtual)


def integer_matrix(matrix: csr_array) -> csr_array | None:
    """The matrix in 64-bit integers; None where a coefficient is no integer."""
    if (matrix.data != np.rint(matrix.data)).any():
        return None
    return csr_array((matrix.data.astype(np.int64), matrix.indices, matrix.indptr), shape=matrix.shape)


def in_data_units(table: Table, values: Floats) -> Floats:
    """Numbers in integer data units, without floating-point noise."""
    return amounts(np.rint(values / table.unit), table.decimals)


def count_changes(table: Table, shown: Floats) -> dict[str, float]:
    """Counters of a rounding: changed cells and the largest change."""
    moved = np.abs(shown - table.values)
    return {"cells changed": int((moved > 0).sum()), "largest change": float(moved.max(initial=0.0))}


def is_noise(residual: Floats, size: Floats, unit: float = 1.0) -> bool:
    """Whether what is left of equations is floating-point noise; `size` is the sum of the absolute terms of each."""
    return bool((np.abs(residual) <= ADDITIVE_ABSOLUTE * unit + ADDITIVE_RELATIVE * size).all())


def are_multiples_of_unit(base: Floats, table: Table) -> bool:
    """Whether all bases are multiples of the data unit, up to noise."""
    units = base / table.unit
    return not (np.abs(units - np.rint(units)) > INTEGER_QUOTIENT * np.maximum(units, 1.0)).any()


def integer_table(method: str, problem: Problem, base: float) -> IntegerTable:
    """The table and the base in data units; one `InputError` lists all conflicting cells.

    Forced cells must be multiples of the base, for they keep their values. Coefficients that are no integers make the
    method not applicable.
    """
    table = problem.table
    integer_base = _integer_base(method, table, base)
    values = table.units
    large = np.abs(values) > LARGEST_INTEGER - integer_base
    unkept = problem.forced & ~large & (values % integer_base != 0)
    faults = [
        f"cell {label}: {what}"
        for cells, what in (
            (large, "it has too many digits to be rounded to this base: use a larger unit"),
            (unkept, f"it must be published as it is, but is no multiple of the base {base:g}"),
        )
        for label in table.labels(np.flatnonzero(cells))
    ]
    matrix = integer_matrix(table.equations)
    if matrix is None:
        raise NotApplicable(
            f"{method} adds up in whole data units.",
            needs="equations with whole coefficients",
            instead=SUPPRESSING,
        )
    if faults:
        advice = "Give forced cells as multiples of the base (or take the force away: zeros are kept anyway)."
        raise InputError(method, faults, advice=advice)
    return IntegerTable(values, matrix, integer_base, table.decimals)


def check_none_hidden(method: str, problem: Problem, instead: Sequence[str] = SUPPRESSING) -> None:
    """Raise `NotApplicable` where cells must be hidden: a number is shown for every cell."""
    if (problem.marks == Mark.HIDDEN).any():
        raise NotApplicable(
            f"{method} shows a number for every cell.", needs="no cells that must be hidden", instead=instead
        )


def check_marks(method: str, problem: Problem, instead: Sequence[str]) -> None:
    """Raise `NotApplicable` where cells must be hidden or the number of changes is bounded."""
    check_none_hidden(method, problem)
    if problem.most_touched is not None:
        raise NotApplicable(
            f"{method} does not choose how many cells change.",
            needs="no bound on touched cells",
            instead=[*instead, "suppress-optimal", "suppress-compact"],
        )


def indivisible_cells(table: Table, base: Floats) -> Ints:
    """Cells with base 0 (they keep their values) of equations that no multiples of the other bases can balance.

    In an equation  sum_i m_i v_i = rhs  let g be the greatest common divisor of m_i r_i over the cells with a base,
    all in data units. What the other cells leave of the right-hand side must be a multiple of g; where it is not, those
    of them are named that are no multiples themselves. Quick and sufficient, not necessary.
    """
    matrix = csr_array(table.equations)
    units, bases, rhs = table.units, *(np.rint(each * 10.0**table.decimals) for each in (base, table.rhs))
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = base[matrix.indices] == 0
    fine = np.ones(matrix.shape[0], dtype=bool)
    large = np.abs(matrix.data) * np.maximum(np.abs(units), bases)[matrix.indices] * matrix.shape[1]
    fine[of[(matrix.data != np.rint(matrix.data)) | (large > LARGEST_INTEGER)]] = False
    fine[np.diff(matrix.indptr) == 0] = False
    step = np.where(kept | ~fine[of], 0.0, np.abs(matrix.data) * bases[matrix.indices]).astype(np.int64)
    divisor = np.zeros(matrix.shape[0], dtype=np.int64)
    np.gcd.at(divisor, of, step)
    amount = np.where(kept & fine[of], matrix.data * units[matrix.indices], 0.0).astype(np.int64)
    left = np.where(fine, rhs, 0.0).astype(np.int64)
    np.subtract.at(left, of, amount)
    by = np.maximum(divisor, 1)
    wrong = (divisor > 0) & (left % by != 0)
    return np.unique(matrix.indices[wrong[of] & kept & (amount % by[of] != 0)])


def conflicting_cells(
    problem: Problem, shown: ShownFormulation, kept: Ints, seconds: float, nodes: int
) -> Ints | None:
    """Cells that keep their values but would have to change so that a rounding adds up; None: not known.

    The program of the rounding in which these cells may change too, with the least sum of their changes. No cell at
    all: the conflict lies elsewhere.
    """
    size, form = len(problem.table), shown.formulation
    free = at_cells(kept, size, 0, kept.size, max(float(shown.reach.max(initial=0.0)), problem.table.unit))
    value = Affine(shown.value.constant, csr_array(hstack([shown.value.matrix, free, -free])))
    columns = form.size + 2 * kept.size
    program = GrowingProgram(
        np.concatenate([np.zeros(form.size), np.ones(2 * kept.size)]),
        np.concatenate([form.low, np.zeros(2 * kept.size)]),
        np.concatenate([form.high, np.full(2 * kept.size, np.inf)]),
        np.concatenate([form.integral, np.zeros(2 * kept.size, dtype=bool)]),
        abandonable=True,
    )
    own, sums = form.constraints, additivity(problem, value)
    wider = csr_array(hstack([own.matrix, csr_array((own.matrix.shape[0], columns - form.size))]))
    for rows in (LinearConstraints(wider, own.low, own.high), sums):
        program.add_rows(rows.low, rows.matrix, rows.high)
    solution = program.solve(seconds, nodes=nodes)
    if solution.values.size < columns:
        return None
    up, down = solution.values[form.size :].reshape(2, -1)
    return kept[np.abs(up - down) > UNIT_NOISE]


def adds_up(matrix: csr_array, deviation: Ints) -> Bools:
    """Which equations a deviation keeps, exactly."""
    return np.asarray(matrix @ deviation == 0)


def _integer_base(method: str, table: Table, base: float) -> int:
    """The base in data units."""
    fault = ""
    if not (np.isfinite(base) and base > 0):
        fault = "the base must be a finite number above zero"
    elif base * 10.0**table.decimals >= LARGEST_INTEGER / 2:
        fault = "the base is too large for a table with this number of decimals"
    else:
        units = round(base * 10.0**table.decimals)
        if units < 1 or abs(units / 10.0**table.decimals - base) > DECIMAL_NOISE * base:
            fault = f"the base must be a multiple of the data unit of the table, {table.unit:g}"
    if fault:
        advice = (
            "Give a base such as 3, 5 or 10, in the unit of the values; decimals= of the table sets its unit."
        )
        raise InputError(method, [fault], advice=advice)
    return units
