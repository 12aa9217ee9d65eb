"""A program inside HiGHS, and linear programs that stay warm between solves.

Traps this file takes care of: a change of model invalidates the solution in HiGHS, so everything is read right after
a solve; primal simplex is the right choice when only costs change, dual simplex when bounds change; an unbounded
problem is an answer here, not a failure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.solvers.highs import running
from tablecloak.solvers.highs.running import (
    DEFAULTS,
    DUAL,
    OUTCOMES,
    PRIMAL,
    WARM_SIMPLEX,
    HighsSettings,
    new_highs,
    outcome_of,
    set_options,
)
from tablecloak.solvers.outcome import Outcome, Solution


class Columns(NamedTuple):
    """A matrix by columns with the names of scipy, for many small programs: making one costs nothing."""

    data: Floats
    indices: Codes
    indptr: Codes
    shape: tuple[int, int]


def by_columns(matrix: Any) -> Any:
    """Any matrix by columns: unchanged, if it is by columns already."""
    return matrix if isinstance(matrix, Columns | csc_array) else csc_array(matrix)


def highs_model(
    matrix: Any,
    bounds: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    cost: Floats,
    integral: Bools | None = None,
) -> Any:
    """The HiGHS model min cost x, row_low <= matrix x <= row_high, low <= x <= high, x integral where marked."""
    import highspy

    columns = by_columns(matrix)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns.shape[1], columns.shape[0]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, *bounds
    lp.row_lower_, lp.row_upper_ = rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = columns.indptr.astype(np.int32)
    lp.a_matrix_.index_ = columns.indices.astype(np.int32)
    lp.a_matrix_.value_ = columns.data.astype(np.float64)
    if integral is not None and integral.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in integral]
    return lp


def read_solution(
    highs: Any,
    status: Any,
    *,
    integer: bool,
    scale: float = 1.0,
    wrong: frozenset[Outcome] = frozenset(),
) -> Solution:
    """The solution after a run that ended with a status; `scale` is the unit of the costs.

    Numerical failures are also `wrong` outcomes and an integer optimum without a point. The point of a failed run is
    kept, for it can be checked; its bound is not.
    """
    import highspy

    outcome, info = outcome_of(status), highs.getInfo()
    linear_optimum = outcome is Outcome.OPTIMAL and not integer
    has_point = linear_optimum or info.primal_solution_status == int(
        highspy.SolutionStatus.kSolutionStatusFeasible
    )
    if outcome in wrong or (outcome is Outcome.OPTIMAL and not has_point):
        outcome = Outcome.FAILED
    objective, bound = float(info.objective_function_value) * scale, -math.inf
    if linear_optimum:
        bound = objective
    elif integer and outcome in (Outcome.OPTIMAL, Outcome.TIME_LIMIT):
        bound = float(info.mip_dual_bound) * scale
    if not has_point or outcome in (Outcome.INFEASIBLE, Outcome.UNBOUNDED):
        return Solution.without_point(outcome, bound)
    solution = highs.getSolution()
    duals = np.zeros(0) if integer else np.asarray(solution.row_dual, dtype=np.float64) * scale
    return Solution(outcome, objective, bound, np.asarray(solution.col_value, dtype=np.float64), duals)


class HighsProgram:
    """A program that is changed between solves. Costs are passed to HiGHS in units of `scale`."""

    def __init__(self, scale: float, settings: HighsSettings, **options: Any) -> None:
        self._highs = new_highs(**options)
        self._scale, self._settings = scale, settings

    def add_rows(self, low: Floats, matrix: Any, high: Floats | None = None) -> None:
        """Add the rows low <= matrix x <= high over the present columns; `high` is infinite by default."""
        rows = csr_array(matrix)
        self._check(
            self._highs.addRows(
                low.size,
                np.asarray(low, dtype=np.float64),
                np.full(low.size, math.inf) if high is None else np.asarray(high, dtype=np.float64),
                rows.nnz,
                rows.indptr[:-1].astype(np.int32),
                rows.indices.astype(np.int32),
                rows.data.astype(np.float64),
            )
        )

    def add_columns(self, cost: Floats, matrix: Any, high: Floats | None = None) -> None:
        """Add columns 0 <= x <= high with their coefficients in the present rows; `high` is 1 by default."""
        columns = csc_array(matrix)
        self._check(
            self._highs.addCols(
                cost.size,
                np.asarray(cost, dtype=np.float64) / self._scale,
                np.zeros(cost.size),
                np.ones(cost.size) if high is None else high,
                columns.nnz,
                columns.indptr[:-1].astype(np.int32),
                columns.indices.astype(np.int32),
                columns.data.astype(np.float64),
            )
        )

    def _without_columns(self) -> Solution:
        """The solution while there are no columns."""
        lp = self._highs.getLp()
        return Solution.without_columns(np.asarray(lp.row_lower_), np.asarray(lp.row_upper_))

    @staticmethod
    def _check(status: Any) -> None:
        import highspy

        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused a change of a program")


@dataclass(frozen=True)
class SimplexOptions:
    """How a linear program is solved."""

    strategy: int = PRIMAL
    """`PRIMAL` where costs change between solves, `DUAL` where bounds do."""
    presolve: bool = False
    """Whether the first solve uses presolve; later ones start from the last basis."""
    feasible: bool = False
    """Whether the program is known to be feasible: an infeasible status is then a numerical failure."""
    tolerance: float | None = None
    """Primal and dual feasibility tolerance, if not that of HiGHS (1e-7)."""
    interior: bool = False
    """Whether the interior-point method solves instead of the simplex method: always from scratch."""
    crossover: bool = True
    """Whether it goes on to a vertex."""


class LinearProgram(HighsProgram):
    """One linear program min cost x over row_low <= matrix x <= row_high, changed and solved again many times."""

    def __init__(
        self,
        matrix: Any,
        low: Floats,
        high: Floats,
        *,
        cost: Floats | None = None,
        rows: tuple[Floats, Floats] | None = None,
        options: SimplexOptions = SimplexOptions(),
        settings: HighsSettings = DEFAULTS,
    ) -> None:
        super().__init__(1.0, settings, **WARM_SIMPLEX, simplex_strategy=int(options.strategy))
        if options.interior:
            set_options(self._highs, solver="ipm", run_crossover="on" if options.crossover else "off")
        if (tolerance := options.tolerance) is not None:
            set_options(
                self._highs, primal_feasibility_tolerance=tolerance, dual_feasibility_tolerance=tolerance
            )
        self.solves = 0
        self._wrong = frozenset({Outcome.INFEASIBLE}) if options.feasible else frozenset[Outcome]()
        self.load(matrix, low, high, cost=cost, rows=rows, presolve=options.presolve)

    def load(
        self,
        matrix: Any,
        low: Floats,
        high: Floats,
        *,
        cost: Floats | None = None,
        rows: tuple[Floats, Floats] | None = None,
        presolve: bool = False,
    ) -> None:
        """Replace the program: making a solver takes longer than many a solve. The rows are matrix x = 0 by default."""
        import highspy

        columns = by_columns(matrix)
        count, self.columns = columns.shape
        self._every = np.arange(self.columns, dtype=np.int32)
        row_low, row_high = rows or (np.zeros(count), np.zeros(count))
        self._check(
            self._highs.passModel(
                self.columns,
                count,
                columns.data.size,
                int(highspy.MatrixFormat.kColwise),
                int(highspy.ObjSense.kMinimize),
                0.0,
                np.zeros(self.columns) if cost is None else cost,
                low,
                high,
                row_low,
                row_high,
                columns.indptr,
                columns.indices,
                columns.data,
                np.zeros(self.columns, dtype=np.int32),  # no column is integral
            )
        )
        self._presolve = presolve
        self._costs: Floats | None = np.zeros(self.columns) if cost is None else np.array(cost, dtype=float)

    def set_cost(self, column: int, cost: float) -> None:
        """Change the cost of one column."""
        self._costs = None
        self._highs.changeColCost(int(column), float(cost))

    def set_costs(self, columns: Ints, costs: Floats) -> None:
        """Change the costs of distinct columns."""
        self._costs = None
        order = np.argsort(columns)  # HiGHS refuses a set that is not increasing
        self._check(
            self._highs.changeColsCost(
                len(order), np.asarray(columns, dtype=np.int32)[order], np.asarray(costs, dtype=float)[order]
            )
        )

    def set_objective(self, costs: Floats) -> None:
        """Change the costs of all columns; only those that differ are passed to HiGHS."""
        if self._costs is None:
            self._check(self._highs.changeColsCost(self.columns, self._every, costs))
        else:
            changed = (costs != self._costs).nonzero()[0]
            self._check(self._highs.changeColsCost(changed.size, changed.astype(np.int32), costs[changed]))
        self._costs = costs.copy()

    def set_bounds(self, column: int, low: float, high: float) -> None:
        """Change the bounds of one column."""
        self._check(self._highs.changeColBounds(int(column), float(low), float(high)))

    def set_many_bounds(self, columns: Ints, low: Floats, high: Floats) -> None:
        """Change the bounds of distinct columns."""
        order = np.argsort(columns)
        arrays = (np.asarray(array, dtype=float)[order] for array in (low, high))
        self._check(
            self._highs.changeColsBounds(len(order), np.asarray(columns, dtype=np.int32)[order], *arrays)
        )

    def add_row(self, low: float, high: float, columns: Ints, coefficients: Floats) -> None:
        """Add one row, the last."""
        indices = np.asarray(columns, dtype=np.int32)
        self._check(
            self._highs.addRow(low, high, len(indices), indices, np.asarray(coefficients, dtype=float))
        )

    def use(self, strategy: int) -> None:
        """Solve by another simplex method from now on: `PRIMAL` or `DUAL`."""
        set_options(self._highs, simplex_strategy=int(strategy))

    def solve(self, seconds: float = math.inf) -> Solution:
        """Solve from the present basis; numerical failures are retried from scratch, then with presolve.

        A program that cycles in every attempt is `FAILED`; any other failure raises `SolverError`.
        """
        self.solves += 1
        status = running.run_linear(
            self._highs,
            seconds,
            wrong=self._wrong,
            presolved=self._presolve,
            simplex_first=True,
            settings=self._settings,
        )
        self._presolve = False
        if int(status) not in OUTCOMES:
            raise SolverError(
                f"HiGHS ended with status {status} on a linear program of {self.columns} columns"
            )
        outcome, solution = outcome_of(status), self._highs.getSolution()
        objective = float(self._highs.getObjectiveValue())
        return Solution(
            outcome,
            objective,
            objective if outcome is Outcome.OPTIMAL else -math.inf,
            np.asarray(solution.col_value, dtype=np.float64),
            np.asarray(solution.row_dual, dtype=np.float64),
        )

    def basis(self) -> tuple[list[str], list[str]]:
        """The status names of columns and rows after a solve: kBasic, kLower, kUpper, ..."""
        found = self._highs.getBasis()
        return [status.name for status in found.col_status], [status.name for status in found.row_status]

    def forget_basis(self) -> None:
        """Start the next solve from scratch (after many changes a warm start is a burden)."""
        self._highs.clearSolver()


class RestrictedMaster(HighsProgram):
    """The restricted master problem of column generation: min cost x over rows A x >= low and 0 <= x <= 1.

    Rows and columns are added and dropped between warm solves by the dual simplex method.
    """

    def __init__(self, scale: float = 1.0, settings: HighsSettings = DEFAULTS) -> None:
        super().__init__(scale, settings, **WARM_SIMPLEX, simplex_strategy=DUAL.value)

    def drop_rows(self, rows: Ints) -> None:
        """Remove some rows; those after them move up."""
        if rows.size:
            self._check(self._highs.deleteRows(rows.size, np.sort(rows).astype(np.int32)))

    def solve(self, seconds: float = math.inf) -> Solution:
        """Solve from the last basis; numerical failures are retried from scratch, then by interior point."""
        if self._highs.getNumCol() == 0:
            return self._without_columns()
        wrong = frozenset({Outcome.UNBOUNDED})
        status = running.run_linear(self._highs, seconds, wrong=wrong, settings=self._settings)
        return read_solution(self._highs, status, integer=False, scale=self._scale, wrong=wrong)

    def central_duals(self, seconds: float = math.inf) -> Floats | None:
        """Duals amid all optimal ones (interior point, no crossover), up to tolerances; None when the time is up.

        There a column has a positive reduced cost whenever it has one at any optimal duals.
        """
        if self._highs.getNumCol() == 0:
            return None
        highs = new_highs(presolve="off", solver="ipm", run_crossover="off")
        highs.passModel(self._highs.getLp())
        if outcome_of(running.run(highs, seconds, settings=self._settings)) is not Outcome.OPTIMAL:
            return None
        return np.asarray(highs.getSolution().row_dual, dtype=np.float64) * self._scale
