"""perturb-cell: every cell is shown near the truth, sensitive ones far enough from it, and no attacker gets behind it.

    min  sum_i w_i |v_i - a_i|    M v = M a,   |v_i - a_i| <= f_i(v_i),
    every sensitive cell p:  v_p >= a_p + up_p  or  v_p <= a_p - down_p          (verdict 1: shown a level away)
    every level, attacker:   the widest deviation within v +- f(v) and his box reaches it        (verdict 2)
    at most q cells with v_i != a_i;   conditional widths of cells that are changed

Senses given in advance (up, down, random) make it a linear program, unless changed cells are counted; "best" makes the
sense of every sensitive cell a binary column. The stated reach is a function of what is shown (`adjustment.reach`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, cell perturbation (Figures 11, 12).
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from tablecloak.errors import InfeasibleProblem, InputError, SolverError
from tablecloak.methods.adjustment import (
    COUNTED_ON,
    FIRST,
    FRACTIONS,
    Attempt,
    Ranges,
    ReachRule,
    against_attackers,
    by_balancing,
    by_leaves,
    check_shown,
    needs_first,
    opened,
    without_attackers,
)
from tablecloak.methods.base import GRACE, Proposal, Run
from tablecloak.model import Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome

NAME = "perturb-cell"
START_SHARE = 0.6
"""A better perturbation to fall back on than that of leaves is made within this share of the time."""
CLOSE = 1e-7

Senses = Literal["up", "down", "random", "best"]
Model = Literal["second", "first"]


@dataclass(frozen=True)
class CellSettings:
    """Benchmark part `limits`."""

    reserved_share: float = 0.15
    """Maximum share of the time that is kept for what programs leave to be done; less where an audit takes less."""


@dataclass(frozen=True)
class PerturbCellParams:
    """Parameters of perturb-cell."""

    seconds: float | None = None
    """Time limit; then the best found is returned with its bound."""
    share: float = 0.5
    """The stated reach is at least this share of what is shown (below 1)."""
    least: float = 0.0
    """The stated reach is at least this much."""
    senses: Senses = "best"
    """Whether sensitive cells are shown above or below the truth: all up, all down, by chance, or what costs least."""
    model: Model = "second"
    """Proofs on demand, or the compact model with every deviation in it (small tables)."""


def perturb_cell(
    problem: Problem,
    *,
    params: PerturbCellParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The cheapest perturbation that is far enough from the truth and that no attacker can undo."""
    _check(params)
    rule = ReachRule.checked(NAME, params.share, params.least)
    check_shown(NAME, problem)
    run = Run(params.seconds)
    deadline, before = run.deadline, run.deadline.left
    ranges, quick = opened(
        NAME, problem, rule, run, progress, lambda found: _with_senses(found, params.senses, rng)
    )
    if deadline.moment is not None:
        deadline = deadline.earlier(min(before - deadline.left, CellSettings.reserved_share * before))
    found = start = None
    with run.stoppable():
        if problem.is_monotone and needs_first(problem, deadline) and not deadline.passed():
            chance, soon = rng.spawn(1)[0], deadline.share(START_SHARE)
            start = by_balancing(problem, ranges, 0.0, chance, progress, soon, fallback=quick is not None)
            progress(FIRST, 1, 1, None if start is None else start.cost)
        if not deadline.passed():
            found = against_attackers(
                problem, ranges, first=params.model == "first", deadline=deadline, progress=progress
            )
    stopped = deadline.passed()
    if found is not None and found.safe:
        return _proposal(found, (), run)
    if not deadline.stops:  # then programs have the last word
        quick = None
    elif start is not None and quick is not None and not start.safe and quick.cost < start.cost:
        start = quick  # programs were stopped at a move that costs more
    rest = found if found is not None and found.pattern is not None else start
    if rest is quick is None and deadline.stops:
        quick = by_leaves(problem, ranges)
    if rest is quick is None or not deadline.passed():
        limit = deadline if quick is not None else deadline.at_least(GRACE)
        other = run.until_stopped(lambda: _without_attackers(problem, ranges, start, rng, progress, limit))
        rest = other if other is not None and other.pattern is not None else rest or quick or other
    rest = rest or quick
    if rest is None or rest.pattern is None:
        if deadline.interrupted:
            raise KeyboardInterrupt
        raise _refusal(problem, params, rest)
    late = found is None or found.outcome.undecided
    why = (
        f"{_what_ended(run, stopped)} before all attackers were answered"
        if late
        else "no perturbation with this reach keeps all attackers away from all cells"
    )
    return _proposal(
        rest, (f"{why}: the audit names the cells left open",), run, complete=not (late and stopped)
    )


def _what_ended(run: Run, stopped: bool) -> str:
    if run.deadline.interrupted:
        return "the run was interrupted"
    return "the time was up" if stopped else "programs failed"


def _without_attackers(
    problem: Problem,
    ranges: Ranges,
    start: Attempt | None,
    rng: np.random.Generator,
    progress: Progress,
    deadline: Deadline,
) -> Attempt | None:
    """The best perturbation with attackers left out, or one by balancing where programs do not decide it."""
    rest = without_attackers(problem, ranges, deadline, progress)
    if rest.pattern is None and rest.outcome.undecided and problem.most_touched is None:
        rest = start or by_balancing(problem, ranges, rest.bound, rng, progress, deadline) or rest
    return rest


def _check(params: PerturbCellParams) -> None:
    faults = [
        f"parameter {name!r} must be one of {', '.join(map(repr, get_args(kind)))}"
        for name, value, kind in (("senses", params.senses, Senses), ("model", params.model, Model))
        if value not in get_args(kind)
    ]
    if faults:
        raise InputError(f"Parameters of {NAME}", faults)


def _with_senses(ranges: Ranges, senses: Senses, rng: np.random.Generator) -> Ranges:
    """Senses given in advance; a cell that cannot go there goes the other way."""
    size = ranges.low.size
    if senses == "best":
        return ranges
    up = rng.random(size) < 0.5 if senses == "random" else np.full(size, senses == "up")
    return ranges.with_senses(up)


def _proposal(found: Attempt, notes: tuple[str, ...], run: Run, *, complete: bool = True) -> Proposal:
    assert found.pattern is not None
    closed = abs(found.cost - found.bound) <= CLOSE * found.cost
    lower = found.bound > found.cost and not closed  # whole units and the reach as stated: outside the model
    complete = complete and not found.outcome.undecided
    status = run.status(
        Status.OPTIMAL if complete and closed and not notes else Status.FEASIBLE, complete=complete
    )
    if found.margin:
        notes += (f"levels were raised by {found.margin:g} data units to make up for whole units",)
    if not found.whole:
        notes += (FRACTIONS,)
    if found.rows:
        notes += (COUNTED_ON,)
    return Proposal(
        found.pattern,
        status,
        "HiGHS, rows on demand" if found.rounds else "HiGHS",
        bound=None if lower else min(found.bound, found.cost),
        counters={"rounds": found.rounds, "rows": found.rows},
        notes=notes,
        may_leave_open=not found.safe,
    )


def _refusal(
    problem: Problem, params: PerturbCellParams, rest: Attempt | None
) -> InfeasibleProblem | SolverError:
    if rest is None or rest.outcome is not Outcome.INFEASIBLE:
        failed = rest is not None and rest.outcome is not Outcome.TIME_LIMIT
        late = "all programs failed" if failed else "the time was up"
        return SolverError(f"{late} before any perturbation was found")
    within = "" if problem.most_touched is None else f" with at most {problem.most_touched} changed cells"
    senses = "" if params.senses == "best" else f" with senses {params.senses!r} (senses='best' may find one)"
    return InfeasibleProblem(
        f"No perturbation{within}{senses} keeps all sensitive cells away from their true values. "
        "Raise `share` or `least`, or force fewer cells to be published.",
        cells=problem.table.labels(np.flatnonzero(problem.sensitive)),
        forced=problem.table.labels(np.flatnonzero(problem.forced)),
    )
