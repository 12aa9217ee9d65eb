"""A program whose rows are added between solves: linear, warm from the last basis, or mixed-integer (HiGHS).

HiGHS looks for an interrupt and at the clock only now and then, seconds apart within heuristics of integer programs. A
solve that does not end in time is left to itself (`highs`); the program has no further result then.
"""

from __future__ import annotations

import math
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.errors import SolverError
from tablecloak.solvers.highs import SETTINGS, LeftAlone, quiet_highs, run
from tablecloak.solvers.linear_program import UNLIMITED, model
from tablecloak.solvers.outcome import MixedSolution, Outcome

_OUTCOMES = {
    highspy.HighsModelStatus.kOptimal: Outcome.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Outcome.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Outcome.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: Outcome.TIME_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Outcome.TIME_LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: Outcome.TIME_LIMIT,
}


FAR = 1e3
"""Rows whose typical coefficient is further from 1 than this factor are scaled: others make duals excessive."""
LARGEST_COST, LEAST_COST = 1e6, 1.0
"""The largest cost is scaled to lie between these: HiGHS loses its way among large ones, small ones drown."""


def cost_scale(cost: Floats) -> float:
    """What costs are divided by."""
    largest = float(np.abs(cost).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    return largest / min(max(largest, LEAST_COST), LARGEST_COST)


def _balanced(rows: csr_array) -> tuple[csr_array, Floats]:
    """Rows whose coefficients are all large or all small, divided by powers of two; and these, 1 for all others."""
    of, size = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), np.abs(rows.data)
    most, least = np.zeros(rows.shape[0]), np.full(rows.shape[0], np.inf)
    np.maximum.at(most, of, size)
    np.minimum.at(least, of, np.where(size > 0, size, np.inf))
    with np.errstate(all="ignore"):
        middle = np.sqrt(most) * np.sqrt(least)
        far = np.isfinite(middle) & ((middle < 1 / FAR) | (middle > FAR))
        scale = np.where(far, 2.0 ** np.rint(np.log2(np.where(far, middle, 1.0))), 1.0)
    if not far.any():
        return rows, scale
    return csr_array((rows.data / scale[of], rows.indices, rows.indptr), shape=rows.shape), scale


class Program:
    """min cost x over low <= x <= high, whole where marked, and the rows added so far."""

    def __init__(self, cost: Floats, low: Floats, high: Floats, whole: Bools) -> None:
        self._whole, self._columns = bool(whole.any()), cost.size
        self._scale = cost_scale(cost)
        # presolve off with continuous columns: HiGHS 1.15.1 was seen to call points optimal that are not
        presolve = "on" if not self._whole or whole.all() else "off"
        self._highs = quiet_highs(presolve=presolve, mip_feasibility_tolerance=1e-9)
        none = np.zeros(0)
        lp = model(csr_array((0, cost.size)), low, high, none, none, cost / self._scale)
        if self._whole:
            kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
            lp.integrality_ = [kinds[int(flag)] for flag in whole]
        self._highs.passModel(lp)
        self._solved = self._left = False
        self.reduced: Floats = cost.copy()
        """Reduced costs of the last linear program."""

    def add_rows(self, matrix: Any, low: Floats, high: Floats) -> None:
        """low <= matrix x <= high."""
        rows = csr_array(matrix)
        if low.size == 0 or self._left:
            return
        rows, scale = _balanced(rows)
        low, high = low / scale, high / scale
        status = self._highs.addRows(
            low.size,
            np.asarray(low, dtype=np.float64),
            np.asarray(high, dtype=np.float64),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data.astype(np.float64),
        )
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused rows of a program")

    def relax(self, seconds: float = math.inf) -> MixedSolution:
        """The linear program, from the last basis if there is one."""
        if self._solved:
            for name, value in (("presolve", "off"), ("solver", "simplex"), ("simplex_strategy", 1)):
                self._highs.setOptionValue(name, value)
        solution = self._run(seconds)
        self._solved = solution.outcome is Outcome.OPTIMAL
        if self._solved and self._columns:
            self.reduced = np.asarray(self._highs.getSolution().col_dual, dtype=np.float64) * self._scale
        return solution

    def solve(
        self, seconds: float = math.inf, *, gap: float = 0.0, nodes: int | None = None
    ) -> MixedSolution:
        """The mixed-integer program, up to a relative gap and a number of nodes."""
        self._highs.setOptionValue("mip_max_nodes", UNLIMITED if nodes is None else nodes)
        self._highs.setOptionValue("mip_rel_gap", gap)
        self._highs.setOptionValue("mip_abs_gap", 1e-9)
        return self._run(seconds)

    def _run(self, seconds: float) -> MixedSolution:
        if self._columns == 0:
            return self._without_columns()
        status = self._status(seconds)
        if status is not None and status not in _OUTCOMES:
            self._highs.clearSolver()
            status = self._status(seconds)
        if status is None:
            return MixedSolution(Outcome.TIME_LIMIT, math.inf, -math.inf, np.zeros(0))
        info = self._highs.getInfo()
        outcome = _OUTCOMES.get(status, Outcome.FAILED)
        if outcome is Outcome.INFEASIBLE:
            return MixedSolution(outcome, math.inf, math.inf, np.zeros(0))
        has_point = info.primal_solution_status == 2
        if not has_point and (
            outcome is Outcome.OPTIMAL or status not in _OUTCOMES
        ):  # a failure of the solver
            return MixedSolution(Outcome.FAILED, math.inf, -math.inf, np.zeros(0))
        values = (
            np.asarray(self._highs.getSolution().col_value, dtype=np.float64) if has_point else np.zeros(0)
        )
        objective = float(info.objective_function_value) * self._scale
        linear = objective if outcome is Outcome.OPTIMAL else -math.inf
        bound = float(info.mip_dual_bound) * self._scale if self._whole else linear
        return MixedSolution(outcome, objective, bound, values)

    def _status(self, seconds: float) -> Any:
        """How a solve ends; None: this one or one before it did not end, and the solver must not be touched."""
        if self._left:
            return None
        self._left = True  # also after an interrupt, which may have left the solver at work
        try:
            status = run(
                self._highs, seconds, integer=self._whole, may_leave=True, patience=SETTINGS.short_patience
            )
        except LeftAlone:
            return None
        self._left = False
        return status

    def _without_columns(self) -> MixedSolution:
        lp = self._highs.getLp()
        low, high = np.asarray(lp.row_lower_), np.asarray(lp.row_upper_)
        if (low > 1e-9).any() or (high < -1e-9).any():
            return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, np.zeros(0))
        return MixedSolution(Outcome.OPTIMAL, 0.0, 0.0, np.zeros(0))
