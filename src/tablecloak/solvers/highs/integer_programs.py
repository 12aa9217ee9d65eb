"""Mixed-integer programs, solved once (`solve_mip`) or again and again while rows are added (`GrowingProgram`).

Presolve of programs with continuous and integral columns is off by default: HiGHS 1.15.1 with presolve was seen to call
patterns optimal that are not (a cost of 29 was claimed where 25 is feasible). Programs of one kind of column keep it,
but never together with a point to start from: with both, an optimum of 9863 was claimed where 9862 is feasible. So a
presolved integer program that is solved again forgets the points of before.

Costs are scaled so that the largest lies between `least_cost` and `largest_cost`. HiGHS fails numerically among large
costs; small ones drown in its tolerances.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.solvers.highs import running
from tablecloak.solvers.highs.linear_programs import HighsProgram, highs_model, read_solution
from tablecloak.solvers.highs.running import (
    DEFAULTS,
    DUAL,
    EXACT_MIP,
    UNLIMITED,
    WARM_SIMPLEX,
    Abandoned,
    HighsSettings,
    Overrun,
    is_failure,
    new_highs,
    outcome_of,
    set_options,
)
from tablecloak.solvers.outcome import Outcome, Solution
from tablecloak.solvers.tolerances import MIP_ABSOLUTE_GAP


@dataclass(frozen=True)
class MipOptions:
    """Limits and start of one mixed-integer program."""

    seconds: float = math.inf
    """Time limit."""
    nodes: int | None = None
    """Maximum number of nodes: the same result on every machine, as no clock can give."""
    gap: float = 0.0
    """Relative gap at which a point counts as optimal."""
    presolve: bool = False
    """Faster, but claims of optimality cannot be relied on: for heuristics."""
    start: Floats | None = None
    """A feasible point; only better ones are searched for."""
    root_share: float | None = 0.2
    """With a time limit: share of the time that the linear relaxation may take for the integer program to follow, whose
    own root takes several times as long. None: the relaxation is not solved beforehand. Set on suppress-compact on
    tables of 500 cells (part `limits`)."""
    highs: HighsSettings = DEFAULTS


def cost_scale(cost: Floats, settings: HighsSettings) -> float:
    """The divisor of costs that brings the largest of them between `least_cost` and `largest_cost`."""
    largest = float(np.abs(cost).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    return largest / min(max(largest, settings.least_cost), settings.largest_cost)


def solve_mip(
    matrix: Any,
    bounds: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    cost: Floats,
    integral: Bools,
    options: MipOptions = MipOptions(),
    stop: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Solution:
    """Solve min cost x over row_low <= matrix x <= row_high, low <= x <= high, x integral where marked.

    `stop`: makes the context in which the program is solved. If it takes an interrupt, the best point found by then is
    returned.
    """
    scale, integer = cost_scale(cost, options.highs), bool(integral.any())
    highs = new_highs(
        **EXACT_MIP
        | {
            "presolve": "on" if options.presolve else "off",
            "mip_rel_gap": options.gap,
            "mip_max_nodes": UNLIMITED if options.nodes is None else options.nodes,
        }
    )
    highs.passModel(highs_model(matrix, bounds, rows, cost / scale, integral))
    if options.start is not None:
        _set_start(highs, options.start)
    seconds = options.seconds
    if integer and options.root_share is not None and math.isfinite(seconds):
        root, seconds = _solve_root(highs, scale, options, stop)
        if root is not None:
            return root
    abandoned, status = False, None
    with stop():
        try:
            status = running.run(highs, seconds, integer=integer, may_abandon=True, settings=options.highs)
        except Overrun:
            abandoned = True
        except Abandoned:
            abandoned = True
            raise
    if abandoned:  # the solver still works: there is nothing to be read
        return Solution.without_point(Outcome.TIME_LIMIT)
    return read_solution(
        highs, highs.getModelStatus() if status is None else status, integer=integer, scale=scale
    )


def _set_start(highs: Any, values: Floats) -> None:
    import highspy

    point = highspy.HighsSolution()
    point.col_value = values.tolist()
    highs.setSolution(point)


def _solve_root(
    highs: Any, scale: float, options: MipOptions, stop: Callable[[], AbstractContextManager[None]]
) -> tuple[Solution | None, float]:
    """Solve the linear relaxation, to see whether there is time for more (None); then the seconds left.

    HiGHS 1.15.1 does not look at the clock for the first 10,000 iterations at the root of an integer program. Where
    these could go beyond the limit, the bound of the relaxation is all there is.
    """
    root, outcome, seconds = new_highs(), Outcome.TIME_LIMIT, options.seconds
    program = highs.getLp()
    program.integrality_ = []
    root.passModel(program)
    with stop():
        wrong = frozenset({Outcome.UNBOUNDED})
        outcome = outcome_of(running.run_linear(root, seconds, wrong=wrong, settings=options.highs))
    left = seconds - root.getRunTime()
    if outcome is Outcome.INFEASIBLE:
        return Solution.without_point(outcome), left
    if outcome is not Outcome.OPTIMAL:
        return Solution.without_point(Outcome.TIME_LIMIT), left
    if options.root_share is not None and root.getRunTime() < options.root_share * left:
        return None, left
    bound = float(root.getInfo().objective_function_value) * scale
    return Solution.without_point(Outcome.TIME_LIMIT, bound), left


class GrowingProgram(HighsProgram):
    """min cost x over low <= x <= high, integral where marked, and the rows added so far; binary by default.

    A linear program (no integral columns) is solved from the last basis. A row that limits the cost of an integer
    program would be welcome, but it makes HiGHS five times slower (measured): the caller compares.

    `abandonable`: a solve that does not end with its time limit or after an interrupt is abandoned (see `running`), and
    the program has no further result.
    """

    def __init__(
        self,
        cost: Floats,
        low: Floats | None = None,
        high: Floats | None = None,
        integral: Bools | None = None,
        *,
        abandonable: bool = False,
        settings: HighsSettings = DEFAULTS,
    ) -> None:
        integral = np.ones(cost.size, dtype=bool) if integral is None else integral
        self._integer, self._columns = bool(integral.any()), cost.size
        presolve = "on" if not self._integer or integral.all() else "off"  # see the top of the file
        self._forgets = self._integer and presolve == "on"
        super().__init__(cost_scale(cost, settings), settings, **EXACT_MIP, presolve=presolve)
        bounds = (np.zeros(cost.size) if low is None else low, np.ones(cost.size) if high is None else high)
        none = np.zeros(0)
        model = highs_model(csr_array((0, cost.size)), bounds, (none, none), cost / self._scale, integral)
        self._check(self._highs.passModel(model))
        self._abandonable, self._abandoned = abandonable, False
        self.reduced: Floats = cost.copy()
        """Reduced costs of the last linear program."""

    def add_rows(self, low: Floats, matrix: Any, high: Floats | None = None) -> None:
        """Add the rows low <= matrix x <= high, scaled; `high` is infinite by default."""
        if low.size and not self._abandoned:
            rows, scale = _balanced(csr_array(matrix), self._settings.far)
            super().add_rows(low / scale, rows, None if high is None else high / scale)

    def solve(
        self, seconds: float = math.inf, *, gap: float = 0.0, step: float = 0.0, nodes: int | None = None
    ) -> Solution:
        """Solve up to a relative gap and a number of nodes; costs are known to be multiples of `step`."""
        if self._columns == 0:
            return self._without_columns()
        if self._abandoned:
            return Solution.without_point(Outcome.TIME_LIMIT)
        if self._integer:
            least = MIP_ABSOLUTE_GAP if step <= 0 else 0.999 * step / self._scale
            most = UNLIMITED if nodes is None else nodes
            set_options(self._highs, mip_rel_gap=gap, mip_abs_gap=least, mip_max_nodes=most)
        self._abandoned = self._abandonable  # also after an interrupt, after which the solver may still work
        try:
            status = self._run(seconds)
        except Overrun:
            return Solution.without_point(Outcome.TIME_LIMIT)
        self._abandoned = False
        solution = read_solution(self._highs, status, integer=self._integer, scale=self._scale)
        if solution.outcome is Outcome.OPTIMAL and not self._integer:
            self.reduced = np.asarray(self._highs.getSolution().col_dual, dtype=np.float64) * self._scale
            set_options(self._highs, **WARM_SIMPLEX, simplex_strategy=DUAL.value)
        return solution

    def _run(self, seconds: float) -> Any:
        """Solve; an integer program is retried once from scratch after a numerical failure."""
        options: dict[str, Any] = {"settings": self._settings}
        if self._abandonable:
            options |= {"may_abandon": True, "patience": self._settings.short_patience}
        if not self._integer:
            return running.run_linear(self._highs, seconds, **options)
        if self._forgets:
            self._highs.clearSolver()
        status = running.run(self._highs, seconds, integer=True, **options)
        if is_failure(status, frozenset()):
            self._highs.clearSolver()
            status = running.run(self._highs, seconds, integer=True, **options)
        return status


def _balanced(rows: csr_array, most_far: float) -> tuple[csr_array, Floats]:
    """Rows whose coefficients are all large or all small, divided by powers of two; and these, 1 for all others."""
    of, size = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), np.abs(rows.data)
    most, least = np.zeros(rows.shape[0]), np.full(rows.shape[0], np.inf)
    np.maximum.at(most, of, size)
    np.minimum.at(least, of, np.where(size > 0, size, np.inf))
    with np.errstate(all="ignore"):
        middle = np.sqrt(most) * np.sqrt(least)
        far = np.isfinite(middle) & ((middle < 1 / most_far) | (middle > most_far))
        scale = np.where(far, 2.0 ** np.rint(np.log2(np.where(far, middle, 1.0))), 1.0)
    if not far.any():
        return rows, scale
    return csr_array((rows.data / scale[of], rows.indices, rows.indptr), shape=rows.shape), scale
