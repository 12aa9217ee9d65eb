"""`protect`: run a method, audit what it proposes, return it only if it is safe."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from tablecloak.auditing import audit
from tablecloak.errors import InputError, SolverError, check_kind, counted, near
from tablecloak.methods import METHODS, Method, Proposal, best_audited, largest_pattern
from tablecloak.methods.heuristics import repair
from tablecloak.model import (
    Audit,
    Pattern,
    Perturbation,
    Problem,
    Report,
    Result,
    Rounding,
    Status,
    Suppression,
)
from tablecloak.progress import Progress, silent
from tablecloak.solvers import ROUNDING

DEFAULT = "suppress-auto"
PACKAGES = ("tablecloak", "numpy", "scipy", "highspy", "pyscipopt")
"""What results depend on, as far as it is installed."""
_VERSIONS: dict[str, str] = {}
"""The versions of these packages, once they were looked up: that takes longer than to protect a small table."""

STOPPED_BY = {
    Status.OPTIMAL: "proven",
    Status.FEASIBLE: "finished",
    Status.TIME_LIMIT: "time limit",
    Status.INTERRUPTED: "interrupt",
}
"""What a status means for the report, where a method says nothing else."""


def protect(
    problem: Problem,
    method: str | Method = DEFAULT,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress = silent,
    executor: Executor | None = None,
) -> Result:
    """An audited pattern for the problem.

    `method` is a name in `METHODS` or a `Method`; `params` its parameters by name (``seconds`` where time matters).
    The pattern is judged by the audit, which does not trust the method. An unsafe one is never returned, but by methods
    that cannot always protect every cell (rounding, perturbation), and where `repair=False` calls for the pattern of a
    paper as it is: then the audit of the result names the cells left open, and `publish` refuses it unless told
    otherwise in writing. `executor` is handed to the audit; methods do not divide their work.
    """
    check_kind("Protection", "problem", problem, Problem, "Make one with assess(table, rules).")
    name, chosen = _chosen(method)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError("Seed", ["a seed is a whole number that is not negative"])
    settings = chosen.make_params(params or {})
    start = time.perf_counter()
    watch = _Watch(progress, start)
    proposal = chosen.function(problem, params=settings, rng=np.random.default_rng(seed), progress=watch)
    _check_sums(name, problem, proposal.pattern)
    judge = partial(audit, problem, progress=progress, executor=executor)
    proposal, verdict = best_audited(problem, proposal, progress, executor)
    if not (verdict.safe or proposal.may_leave_open):
        proposal, verdict = _repaired(problem, proposal, verdict, judge)
    only_open = not (verdict.too_many_touched or verdict.against_marks.size)
    if not (verdict.safe or (proposal.may_leave_open and only_open)):
        largest_pattern(replace(problem, most_touched=None), progress)  # refuses where nothing can protect
        raise SolverError(
            f"{name} proposed a pattern that the audit rejects ({verdict.open_cells.size} cells open); it is dropped. "
            "This is a fault of the method: please report it with the instance.",
            confidential={"shortfall": verdict.shortfalls(problem), "pattern": proposal.pattern},
        )
    touched, cost = proposal.pattern.touched(problem), proposal.pattern.loss(problem)
    bound = _without_rounding(proposal.bound, cost)
    report = Report(
        name,
        asdict(settings),
        seed,
        time.perf_counter() - start,
        proposal.engine,
        dict(proposal.counters),
        versions(),
        proposal.notes,
        watch.trace(cost, bound),
        proposal.stopped_by or STOPPED_BY[proposal.status],
    )
    alone = isinstance(proposal.pattern, Suppression)
    cost_all = cost + (float(problem.weights[touched & problem.must_hide].sum()) if alone else 0.0)
    return Result(proposal.pattern, proposal.status, cost, cost_all, bound, verdict, report)


def _without_rounding(bound: float | None, cost: float) -> float | None:
    """The bound; the cost, if it is the same number but for the rounding of sums."""
    same = bound is not None and cost < bound <= cost + ROUNDING * abs(cost)
    return cost if same else bound


def _repaired(
    problem: Problem, proposal: Proposal, verdict: Audit, judge: Callable[[Pattern], Audit]
) -> tuple[Proposal, Audit]:
    """The proposal widened where the audit found it open; a claim of optimality does not survive that."""
    pattern, verdict = repair(problem, proposal.pattern, verdict, judge)
    more = int((pattern.touched(problem) & ~proposal.pattern.touched(problem)).sum())
    note = f"the audit rejected what the method proposed; it was repaired ({counted(more, 'further cell')})"
    status = Status.FEASIBLE if proposal.status is Status.OPTIMAL else proposal.status
    return replace(proposal, pattern=pattern, status=status, notes=(*proposal.notes, note)), verdict


def _check_sums(name: str, problem: Problem, pattern: Pattern) -> None:
    """Raise if rounded or perturbed numbers do not add up like the table."""
    if not isinstance(pattern, Rounding | Perturbation):
        return
    table, shown = problem.table, pattern.shown
    noise = 1e-6 * table.unit + 1e-9 * (abs(table.equations) @ np.abs(shown))
    count = int((np.abs(table.equations @ shown - table.rhs) > noise).sum())
    if count:
        raise SolverError(
            f"{name} proposed numbers that do not add up ({counted(count, 'equation')}); they are dropped. "
            "This is a fault of the method: please report it with the instance."
        )


class _Watch:
    """Passes progress on, and keeps how cost and bound went."""

    def __init__(self, progress: Progress, start: float) -> None:
        self._progress, self._start = progress, start
        self._rows: list[tuple[float, float | None, float | None]] = []

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        self._keep(incumbent, bound)
        self._progress(phase, done, total, incumbent, bound)

    def _keep(self, incumbent: float | None, bound: float | None) -> None:
        _, before, below = self._rows[-1] if self._rows else (0.0, None, None)
        now = (before if incumbent is None else incumbent, below if bound is None else bound)
        if now != (before, below):
            self._rows.append((time.perf_counter() - self._start, *now))

    def trace(self, cost: float, bound: float | None) -> tuple[tuple[float, float | None, float | None], ...]:
        """All rows, up to the final cost and bound."""
        self._keep(cost, bound)
        return tuple(self._rows)


def versions() -> dict[str, str]:
    """What a result depends on, for its record."""
    if not _VERSIONS:
        found = {"python": platform.python_version()}
        for name in PACKAGES:
            with suppress(PackageNotFoundError):  # an extra
                found[name] = version(name)
        _VERSIONS.update(found)
    return dict(_VERSIONS)


def _chosen(method: str | Method) -> tuple[str, Method]:
    if isinstance(method, Method):
        return getattr(method.function, "__name__", "custom").replace("_", "-"), method
    if method not in METHODS:
        fault = f"there is no method {method!r}{near(method, list(METHODS))}"
        raise InputError("Method", [fault], advice=f"Methods: {', '.join(METHODS)}.")
    return method, METHODS[method]
