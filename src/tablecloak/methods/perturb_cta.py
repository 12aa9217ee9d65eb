"""perturb-cta: controlled tabular adjustment, the nearest additive table with sensitive cells shown a level away.

    min  sum_i w_i |v_i - a_i|   or   sum_i w_i (v_i - a_i)^2
    M v = M a,   |v_i - a_i| <= f_i(v_i),   every sensitive cell p:  v_p >= a_p + up_p  or  v_p <= a_p - down_p

with a binary sense for each sensitive cell (`adjustment.model`). A start from senses that nearly balance every
equation, or from those of the linear relaxation; senses that cannot be together are mended
(`adjustment.reweighted_start`), also slowly, which gives better ones. Then the integer program over the whole table
from the best move, on all but large tables, and block coordinate descent. The bound is the best of the relaxation's, of
what cells must make up for (`adjustment.reweighted_start`), and of the integer program.
The least sum of squares: quadratic programs over senses (`adjustment.least_squares`). What is shown is in whole data
units.

Attackers are not in this model. What they can work out from the stated reach the audit tells; on small tables rows
against them are added (`adjustment.protected`) where cells are open.

References: Dandekar & Cox (2002), Synthetic tabular data; Castro (2006), Minimum-distance controlled perturbation
methods for large-scale tabular data protection; Gonzalez & Castro (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.errors import InputError, NotApplicable, SolverError
from tablecloak.methods.adjustment import (
    CLOSE,
    COUNTED_ON,
    FRACTIONS,
    MENDED,
    Adjustment,
    Attempt,
    Descent,
    Move,
    Ranges,
    ReachRule,
    WholeSettings,
    adds_up,
    against_attackers,
    by_leaves,
    check_shown,
    cost_of,
    distance_bound,
    fewest_digits_until,
    least_squares_move,
    made,
    mended,
    opened,
    out_of_reach,
    pattern_of,
    quick_move,
    square_sum,
    towards_squares,
)
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome

NAME = "perturb-cta"
SMALL_CELLS, SMALL_CHOICES = 3000, 150
"""Up to this size the integer program is tried over the whole table."""
MEDIUM_CELLS, MEDIUM_CHOICES = 20_000, 3000
"""Up to this size too, if there is a time limit, after some block descent."""
SHARES_SHARE, FIRST_SHARE, WHOLE_SHARE = 0.1, 0.2, 0.8
"""The shares of the time left that a second start, this descent, and then the integer program have."""
SLOW, SLOW_SHARE, SLOW_ROUNDS = (0.985, 0.997), 0.2, 1500
"""Slow mending: how the distance fades, the share of the time left (half of it for small tables), and rounds."""
SEARCH_SHARE = 0.9
"""The share of the time for all this: whole units take time too."""
SQUARES_SHARE = 0.4
"""The share of the time for absolute distances where squares are asked for: they are only a start."""
NODES = 20_000
"""Nodes of that program when there is no time limit."""
ATTACKED_CELLS, ATTACKED_LEVELS = 5000, 2000
"""Up to this size rows against attackers are added."""

OPEN = "some cells are open to attackers: the audit names them"
NEAR_LEAST = "rows against attackers: near the least sum of squares, not the least itself"
UNJUDGED = "the time was up before attackers were considered: cells that are open to them the audit names"

Distance = Literal["L1", "L2"]


@dataclass(frozen=True)
class PerturbCtaParams:
    """Parameters of perturb-cta."""

    seconds: float | None = None
    """Time limit; then the best found is returned with its bound."""
    share: float = 0.5
    """The stated reach is at least this share of what is shown (below 1)."""
    least: float = 0.0
    """The stated reach is at least this much."""
    distance: Distance = "L1"
    """Weighted absolute or squared distances."""
    protect_attackers: bool = True
    """Whether rows against attackers are added where the audit finds cells open (small tables)."""


@dataclass
class _Run:
    """What is known so far."""

    problem: Problem
    ranges: Ranges
    params: PerturbCtaParams
    rng: np.random.Generator
    limits: Run
    deadline: Deadline
    progress: Progress
    took: float
    """Seconds of an audit."""
    best: Move | None = None
    first: Attempt | None = None
    protected: Floats | None = None
    """A move that attackers cannot undo, where rows against them were needed."""
    bound: float = 0.0
    finished: bool = True
    shares: Floats = field(default_factory=lambda: np.zeros(0))
    """Of rising senses, in the relaxation."""
    counters: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def perturb_cta(
    problem: Problem,
    *,
    params: PerturbCtaParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The nearest table with all sensitive cells shown a level away, proven or the best found."""
    _check(problem, params)
    rule = ReachRule.checked(NAME, params.share, params.least)
    limits = Run(params.seconds)
    deadline, before = limits.deadline, limits.deadline.left
    ranges, quick = opened(NAME, problem, rule, limits, progress)
    took = before - deadline.left if deadline.moment is not None else 0.0
    squares = params.distance == "L2"
    work = deadline.earlier(min(took + WholeSettings.least_seconds, (1 - SEARCH_SHARE) * before))
    search = work.share(SQUARES_SHARE if squares else 1.0)
    run = _Run(problem, ranges, params, rng, limits, search, progress, took, first=quick)
    adjustment = made(limits, lambda: Adjustment(problem, ranges, search, fallback=quick is not None))
    late = _searched(run, adjustment)
    if deadline.stops and (run.best is None or run.first is not None):
        quick = _first(run)  # also where programs were stopped at a move that costs more
        if quick is not None and (run.best is None or run.best.cost > quick.cost):
            run.best, run.finished = Move(quick.moved, quick.cost, np.zeros(0)), False
    if run.best is None:
        if deadline.interrupted:
            raise KeyboardInterrupt
        raise late or SolverError(adjustment.too_late())
    moved, run.deadline = run.best.moved, deadline
    if squares:
        run.finished = not deadline.interrupted
        moved = _squared(run, adjustment, moved)
    return _proposal(run, adjustment, moved)


def _first(run: _Run) -> Attempt | None:
    """The first perturbation, made if it is not there; None where there is none."""
    run.first = run.first or by_leaves(run.problem, run.ranges)
    return run.first


def _searched(run: _Run, adjustment: Adjustment) -> SolverError | None:
    """Search until the time is up or the user interrupts; the error of a search that has found nothing by then."""
    if run.limits.deadline.interrupted or adjustment.gives_up():
        run.finished = False
        return None
    try:
        _until_interrupted(run, lambda: _search(run, adjustment))
    except SolverError as error:
        if not run.limits.deadline.stops:
            raise
        run.finished = False
        return error
    return None


def _check(problem: Problem, params: PerturbCtaParams) -> None:
    if params.distance not in get_args(Distance):
        raise InputError(f"Parameters of {NAME}", ["parameter 'distance' must be 'L1' or 'L2'"])
    check_shown(NAME, problem)
    if problem.most_touched is not None or (problem.levels.conditional > 0).any():
        raise NotApplicable(
            f"{NAME} does not count which cells change.",
            needs="no bound on touched cells and no conditional levels",
            instead=["perturb-cell", "suppress-optimal", "suppress-compact"],
        )


def _until_interrupted(run: _Run, work: Callable[[], None]) -> None:
    """Work that the user may stop: what is best by then remains."""
    with run.limits.stoppable():
        work()
    if run.limits.deadline.interrupted:
        run.finished = False
        run.notes += ["stopped by the user"] * ("stopped by the user" not in run.notes)


# ---------------------------------------------------------------------- absolute distances


def _search(run: _Run, adjustment: Adjustment) -> None:
    """Bounds, a start, the integer program, block descent."""
    run.best = quick_move(adjustment, run.rng, run.progress)
    run.bound = distance_bound(adjustment, run.deadline.left)
    run.progress("bound", 1, 1, None if run.best is None else run.best.cost, run.bound)
    _relax(run, adjustment)
    assert run.best is not None
    run.counters["start"] = run.best.cost
    run.progress("senses", 1, 1, run.best.cost, run.bound)
    cells, choices = len(run.problem.table), adjustment.choice.size
    small = cells <= SMALL_CELLS and choices <= SMALL_CHOICES
    if choices and not adjustment.sifts:
        _slowly(run, adjustment, small)
    medium = run.params.seconds is not None and cells <= MEDIUM_CELLS and choices <= MEDIUM_CHOICES
    if medium and not small and not _closed(run):
        _descend(run, adjustment, run.deadline.share(FIRST_SHARE))
    if (small or medium) and not _closed(run):
        _exactly(run, adjustment, WHOLE_SHARE * run.deadline.left)
    if not _closed(run):
        run.finished = _descend(run, adjustment, run.deadline)


def _slowly(run: _Run, adjustment: Adjustment, small: bool) -> None:
    """Better senses by slow mending, from those that the relaxation is nearer to."""
    limited = run.params.seconds is not None
    for fading in SLOW if limited and not small else SLOW[:1]:
        if _closed(run) or run.deadline.passed():
            return
        assert run.best is not None
        senses: Ints = (run.shares > 0.5).astype(np.int64)
        share = SLOW_SHARE / 2 if small else SLOW_SHARE
        within = run.deadline.share(share)
        rounds = SLOW_ROUNDS if limited else MENDED
        found = mended(adjustment, senses, run.rng, run.progress, within, fading=fading, rounds=rounds)
        if found is not None and found.cost < run.best.cost:
            run.best = found


def _descend(run: _Run, adjustment: Adjustment, deadline: Deadline) -> bool:
    """Block descent until nothing improves (True) or the time is up (False)."""
    assert run.best is not None
    descent = Descent(adjustment, run.best, run.bound, run.rng, deadline, run.progress)
    try:
        return descent.run()
    finally:
        run.best = descent.best
        for name, count in (("blocks", descent.blocks), ("improvements", descent.improved)):
            run.counters[name] = run.counters.get(name, 0) + count


def _relax(run: _Run, adjustment: Adjustment) -> None:
    """The relaxation: another bound, and a start from its shares where there is none yet or the table is not large."""
    run.progress("relaxation", 0, 1, None if run.best is None else run.best.cost, run.bound)
    seconds = run.deadline.left if run.best is not None else adjustment.least_seconds
    outcome, relaxed, share = adjustment.solve(None, seconds)
    if outcome is Outcome.INFEASIBLE:
        raise out_of_reach(run.problem)
    run.bound = max(run.bound, relaxed.bound)
    run.shares = np.full(adjustment.choice.size, 0.5)
    if outcome.undecided:
        run.finished = False
        if run.best is None:
            raise SolverError(adjustment.too_late())
        return
    run.shares = share
    if outcome is not Outcome.OPTIMAL:
        raise SolverError(f"the relaxation ended as {outcome.value}")
    if run.best is not None and (adjustment.sifts or run.deadline.passed()):
        return
    found = _from_shares(run, adjustment, share)
    if found is None and run.best is None:
        raise out_of_reach(run.problem)
    if found is not None and (run.best is None or found.cost < run.best.cost):
        run.best = found


def _from_shares(run: _Run, adjustment: Adjustment, share: Floats) -> Move | None:
    """A start from the relaxation. Where there is none yet nothing is left untried, else it has a share of the time."""
    known = run.best is not None and run.params.seconds is not None
    within = run.deadline.share(SHARES_SHARE) if known else run.deadline

    def mend(senses: Ints) -> Move | None:
        found = mended(adjustment, senses, run.rng, run.progress, within)
        return found if found is not None or run.best is not None else adjustment.decided()

    try:
        return adjustment.start(share, mend, within)
    except SolverError:
        if run.best is None:
            raise
        run.finished = False
        return None


def _exactly(run: _Run, adjustment: Adjustment, seconds: float) -> None:
    """The integer program over the whole table, from the best move.

    A bound above a move that is known is none: the solver has lost its way.
    """
    if run.deadline.passed():
        return
    assert run.best is not None
    run.progress("integer program", 0, 1, run.best.cost, run.bound)
    every = np.full(adjustment.choice.size, -1)
    nodes = NODES if run.params.seconds is None else None
    found, bound, _ = adjustment.integer(
        every, seconds, nodes, CLOSE / 2, presolve=True, start=run.best.moved
    )
    if found is not None and found.cost < run.best.cost:
        run.best = found
    if bound <= run.best.cost * (1 + CLOSE):
        run.bound = max(run.bound, bound)


def _closed(run: _Run) -> bool:
    return run.best is not None and run.best.cost - run.bound <= CLOSE * max(run.best.cost, 1e-300)


# ---------------------------------------------------------------------- squares


def _squared(run: _Run, adjustment: Adjustment, moved: Floats) -> Floats:
    """The least sum of squares from the senses of a move."""
    found = [moved]

    def work() -> None:
        squares = least_squares_move(adjustment, moved, run.deadline, run.progress)
        run.finished = run.finished and squares.finished
        run.counters |= {
            "sum of squares bound": squares.bound,
            "quadratic programs": squares.programs,
        }
        found[0] = squares.moved

    _until_interrupted(run, work)
    return found[0]


# ---------------------------------------------------------------------- what comes out


def _proposal(run: _Run, adjustment: Adjustment, moved: Floats) -> Proposal:
    problem, squares = run.problem, run.params.distance == "L2"
    moved = _whole(run, adjustment, moved)
    pattern = pattern_of(problem, run.ranges, moved)
    verdict = run.limits.until_stopped(
        lambda: audit_within(problem, pattern, run.limits.deadline, run.progress, takes=run.took)
    )
    safe = verdict is not None and verdict.safe
    if not safe:
        _until_interrupted(run, lambda: _attacked(run, adjustment))
        if run.protected is None:
            run.notes.append(UNJUDGED if verdict is None else OPEN)
        else:
            moved, safe = run.protected, True
            pattern = pattern_of(problem, run.ranges, moved)
    cost = cost_of(problem, moved)
    bound = None if squares else min(run.bound, cost)
    if squares:
        run.counters["sum of squares"] = square_sum(problem, moved)
        run.notes.append("the bound is on the sum of squares: see the counters")
    closed = bound is not None and cost - bound <= CLOSE * max(cost, 1e-300)
    proven = Status.OPTIMAL if closed and safe else Status.FEASIBLE
    status = run.limits.status(proven, complete=run.finished)
    engine = "HiGHS" if run.protected is None else "HiGHS, rows on demand"
    return Proposal(pattern, status, engine, bound, run.counters, tuple(run.notes), may_leave_open=not safe)


def _whole(run: _Run, adjustment: Adjustment, moved: Floats) -> Floats:
    """In whole units if that can be."""
    if run.first is not None and moved is run.first.moved:
        return moved
    low, high = adjustment.ends(adjustment.senses(moved))
    squares, deadline = run.params.distance == "L2", run.limits.deadline
    found, whole = fewest_digits_until(run.problem, moved, low, high, deadline, squares=squares)
    first = _first(run) if deadline.stops and not adds_up(run.problem, found) else None
    if first is not None:
        return first.moved
    if not whole:
        run.notes.append(FRACTIONS)
    return found


def _attacked(run: _Run, adjustment: Adjustment) -> None:
    """Rows against attackers: what they leave is `protected`, if it is safe."""
    problem = run.problem
    levels = int(problem.sensitive.sum()) * len(problem.attacker_names)
    small = len(problem.table) <= ATTACKED_CELLS and levels <= ATTACKED_LEVELS
    if not (run.params.protect_attackers and small) or run.deadline.passed():
        return
    found = against_attackers(problem, run.ranges, first=False, deadline=run.deadline, progress=run.progress)
    if not found.safe:
        return
    run.bound = max(run.bound, found.bound) if found.bound <= found.cost * (1 + CLOSE) else run.bound
    run.notes += [FRACTIONS] * (not found.whole and FRACTIONS not in run.notes)
    run.protected, run.counters["rows"] = found.moved, found.rows
    squares = run.params.distance == "L2"
    run.notes += [NEAR_LEAST] * squares + [COUNTED_ON]
    if squares:
        run.protected = towards_squares(adjustment, found.moved, run.deadline, run.progress)
