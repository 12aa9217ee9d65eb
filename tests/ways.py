"""Simple methods of every kind of pattern, for tests of what compares them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, SolverError
from tablecloak.methods.base import Method, Proposal
from tablecloak.pattern import Intervals, Pattern, Perturbation, Rounding
from tablecloak.problem import Problem
from tablecloak.progress import Progress
from tablecloak.result import Status


@dataclass(frozen=True)
class Steps:
    """The base of a rounding, the reach of a perturbation, half the width of intervals."""

    step: float = 10.0


def rounded(problem: Problem, step: float) -> Pattern:
    return Rounding.of(step * np.round(problem.table.values / step), step)


def perturbed(problem: Problem, step: float) -> Pattern:
    return Perturbation.of(problem.table.values + np.where(problem.sensitive, step, 0.0), 2 * step)


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
        executor: Executor | None,
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
