"""Simple methods of every kind of pattern, for tests of what compares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, SolverError
from tablecloak.methods import Method, Proposal
from tablecloak.model import Intervals, Pattern, Perturbation, Problem, Rounding, Status
from tablecloak.progress import Progress


@dataclass(frozen=True)
class Steps:
    """The base of a rounding, the reach of a perturbation, half the width of intervals."""

    step: float = 10.0


def moved(problem: Problem, move: Floats) -> Floats:
    """The table with its inner cells moved, added up again: totals follow from the equations."""
    table = problem.table
    inner, matrix = table.is_leaf, table.equations.toarray()
    totals = np.linalg.lstsq(matrix[:, ~inner], -matrix[:, inner] @ move[inner])[0]
    change = np.where(inner, move, 0.0)
    change[~inner] = np.rint(totals / table.unit) * table.unit
    return np.asarray(table.values + change)


def rounded(problem: Problem, step: float) -> Pattern:
    value = problem.table.values
    shown = moved(problem, step * np.round(value / step) - value)
    return Rounding.of(shown, np.maximum(step, np.abs(shown - value)))


def perturbed(problem: Problem, step: float) -> Pattern:
    shown = moved(problem, np.where(problem.sensitive, step, 0.0))
    return Perturbation.of(shown, np.maximum(2 * step, np.abs(shown - problem.table.values)))


def stated(problem: Problem, step: float) -> Pattern:
    value = problem.table.values
    return Intervals.of(value - step, value + step)


def way(make: Callable[[Problem, float], Pattern]) -> Method:
    """A method that makes such a pattern; it may leave cells open."""

    def function(
        problem: Problem,
        *,
        params: Any,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Proposal:
        progress("making", 1, 2, incumbent=3.0)
        return Proposal(make(problem, params.step), Status.FEASIBLE, "none", may_leave_open=True)

    return Method(function, Steps, "for tests", "none")


def failing(error: BaseException) -> Method:
    """A method that ends in an error."""

    def make(problem: Problem, step: float) -> Pattern:
        raise error

    return way(make)


WAYS = {"round-test": way(rounded), "perturb-test": way(perturbed), "interval-test": way(stated)}
FAILURES = {
    "no-place": failing(NotApplicable("Not this table.", needs="another one", instead=("something",))),
    "no-way": failing(
        InfeasibleProblem("Nothing protects it.\nlook here", cells=("r=1",), confidential={"short": 4077})
    ),
    "no-sense": failing(InputError("Steps", ["too small", "too odd"], confidential={"value": 4077})),
    "no-luck": failing(SolverError("The engine broke.", confidential={"value": 4077})),
}
