"""What rounding methods share: the table and the base in whole data units, so that every sum is exact, and checks.

With decimals t the data unit is 10^-t; a table holds whole numbers of it. With the base added all of them must stay
below 2^53 in size: so far numbers of this kind (float64) are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.unified import Affine, LinearConstraints, ShownFormulation, additivity, at_cells
from tablecloak.model import Mark, Problem, Table
from tablecloak.solvers import Program

LARGEST_WHOLE = 2**53
"""Up to here all whole numbers are floats."""
NOISE = 8 * float(np.finfo(np.float64).eps)
"""By how much a number may be off, relative to itself, and still be the decimal next to it."""
SUPPRESSING = ("suppress-greedy", "suppress-optimal")
"""Methods that hide cells, and take any equations."""


@dataclass(frozen=True, eq=False)
class WholeTable:
    """A table in whole data units: `equations` @ values = rhs, exactly. Confidential."""

    values: Ints
    equations: csr_array
    """Whole coefficients."""
    base: int
    decimals: int

    def amounts(self, whole: Ints) -> Floats:
        """Whole units as numbers of the table."""
        return np.asarray(whole / 10.0**self.decimals, dtype=np.float64)

    def __repr__(self) -> str:
        return f"<confidential WholeTable: {self.values.size} cells, base {self.base} units>"


def whole_table(method: str, problem: Problem, base: float) -> WholeTable:
    """The table and the base in data units; one `InputError` lists all cells in the way.

    Forced cells must be multiples of the base, for they keep their values. Coefficients that are no whole numbers make
    the method not applicable.
    """
    table = problem.table
    whole_base = _whole_base(method, table, base)
    values = table.units
    large = np.abs(values) > LARGEST_WHOLE - whole_base
    unkept = problem.forced & ~large & (values % whole_base != 0)
    faults = [
        f"cell {label}: {what}"
        for cells, what in (
            (large, "it has too many digits to be rounded to this base: use a larger unit"),
            (unkept, f"it must be published as it is, but is no multiple of the base {base:g}"),
        )
        for label in table.labels(np.flatnonzero(cells))
    ]
    matrix = _whole_matrix(method, table)
    if faults:
        advice = "Give forced cells as multiples of the base (or take the force away: zeros are kept anyway)."
        raise InputError(method, faults, advice=advice)
    return WholeTable(values, matrix, whole_base, table.decimals)


def check_marks(method: str, problem: Problem, instead: Sequence[str]) -> None:
    """Raise `NotApplicable` where cells must be hidden or only so many may change: a plain rounding cannot do that."""
    if (problem.marks == Mark.HIDDEN).any():
        raise NotApplicable(
            f"{method} shows a number for every cell.",
            needs="no cells that must be hidden",
            instead=SUPPRESSING,
        )
    if problem.most_touched is not None:
        raise NotApplicable(
            f"{method} does not choose how many cells change.",
            needs="no bound on touched cells",
            instead=[*instead, "suppress-optimal", "suppress-compact"],
        )


def indivisible_cells(table: Table, base: Floats) -> Ints:
    """Cells with base 0 (they keep their values) of equations in which no multiples can make up for them.

    In an equation  sum_i m_i v_i = rhs  let g be the greatest common divisor of m_i r_i over the cells with a base,
    all in data units. What the other cells leave of the right-hand side must be a multiple of g; where it is not, those
    of them are named that are no multiples themselves. Quick and sufficient, not necessary.
    """
    matrix = csr_array(table.equations)
    whole, bases, rhs = table.units, *(np.rint(each * 10.0**table.decimals) for each in (base, table.rhs))
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = base[matrix.indices] == 0
    fine = np.ones(matrix.shape[0], dtype=bool)
    large = np.abs(matrix.data) * np.maximum(np.abs(whole), bases)[matrix.indices] * matrix.shape[1]
    fine[of[(matrix.data != np.rint(matrix.data)) | (large > LARGEST_WHOLE)]] = False
    fine[np.diff(matrix.indptr) == 0] = False
    step = np.where(kept | ~fine[of], 0.0, np.abs(matrix.data) * bases[matrix.indices]).astype(np.int64)
    divisor = np.zeros(matrix.shape[0], dtype=np.int64)
    np.gcd.at(divisor, of, step)
    amount = np.where(kept & fine[of], matrix.data * whole[matrix.indices], 0.0).astype(np.int64)
    left = np.where(fine, rhs, 0.0).astype(np.int64)
    np.subtract.at(left, of, amount)
    by = np.maximum(divisor, 1)
    wrong = (divisor > 0) & (left % by != 0)
    return np.unique(matrix.indices[wrong[of] & kept & (amount % by[of] != 0)])


def cells_in_the_way(
    problem: Problem, shown: ShownFormulation, kept: Ints, seconds: float, nodes: int
) -> Ints | None:
    """Which of the cells that keep their values would have to change so that a rounding adds up; None: not known.

    The program of the rounding, in which these cells may change too; the least sum of their changes is sought. No cell
    at all: something else is in the way.
    """
    size, form = len(problem.table), shown.formulation
    free = at_cells(kept, size, 0, kept.size, max(float(shown.reach.max(initial=0.0)), problem.table.unit))
    value = Affine(shown.value.constant, csr_array(hstack([shown.value.matrix, free, -free])))
    columns = form.size + 2 * kept.size
    program = Program(
        np.concatenate([np.zeros(form.size), np.ones(2 * kept.size)]),
        np.concatenate([form.low, np.zeros(2 * kept.size)]),
        np.concatenate([form.high, np.full(2 * kept.size, np.inf)]),
        np.concatenate([form.integral, np.zeros(2 * kept.size, dtype=bool)]),
    )
    own, sums = form.constraints, additivity(problem, value)
    wider = csr_array(hstack([own.matrix, csr_array((own.matrix.shape[0], columns - form.size))]))
    for rows in (LinearConstraints(wider, own.low, own.high), sums):
        program.add_rows(rows.matrix, rows.low, rows.high)
    solution = program.solve(seconds, nodes=nodes)
    if solution.values.size < columns:
        return None
    up, down = solution.values[form.size :].reshape(2, -1)
    return kept[np.abs(up - down) > 1e-6]


def adds_up(matrix: csr_array, deviation: Ints) -> Bools:
    """Which equations a deviation leaves as they are, exactly."""
    return np.asarray(matrix @ deviation == 0)


def _whole_base(method: str, table: Table, base: float) -> int:
    """The base in data units."""
    fault = ""
    if not (np.isfinite(base) and base > 0):
        fault = "the base must be a finite number above zero"
    elif base * 10.0**table.decimals >= LARGEST_WHOLE / 2:
        fault = "the base is too large for a table with so many decimals"
    else:
        whole = round(base * 10.0**table.decimals)
        if whole < 1 or abs(whole / 10.0**table.decimals - base) > NOISE * base:
            fault = f"the base must be a multiple of the data unit of the table, {table.unit:g}"
    if fault:
        advice = (
            "Give a base such as 3, 5 or 10, in the unit of the values; decimals= of the table sets its unit."
        )
        raise InputError(method, [fault], advice=advice)
    return whole


def _whole_matrix(method: str, table: Table) -> csr_array:
    matrix = table.equations
    if (matrix.data != np.rint(matrix.data)).any():
        raise NotApplicable(
            f"{method} adds up in whole data units.",
            needs="equations with whole coefficients",
            instead=SUPPRESSING,
        )
    return csr_array((matrix.data.astype(np.int64), matrix.indices, matrix.indptr), shape=matrix.shape)
