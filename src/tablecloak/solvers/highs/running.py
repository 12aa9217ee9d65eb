"""HiGHS, set up and run: options, limits, interrupts, retries, and the map of its statuses to outcomes.

No time limit holds unless one is given, and Ctrl-C is honoured during a solve. Measured with highspy 1.15.1: `run` lets
other threads work but no signal reaches Python before it ends, so that long programs run in a thread of their own while
the main thread waits for signals; their callbacks end the solve. The time limit of HiGHS counts all runs of a solver
together for linear programs, each run for integer programs.

Integer programs check for interrupts and time limits seconds apart (within heuristics). One that does not end within a
moment, and whose solver is not used again, is abandoned: its thread ends at its next check, and the process waits for
that before it exits.

Work without a time limit of its own (an audit) can be watched: the function given to `watched` is called while a long
program runs, and an exception that it raises ends the solve in the same way, in any thread.
"""

from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from tablecloak.progress import Background, Deadline
from tablecloak.solvers.outcome import Outcome
from tablecloak.solvers.tolerances import MIP_ABSOLUTE_GAP, MIP_FEASIBILITY


class SimplexStrategy(IntEnum):
    """The simplex methods of HiGHS by their option value."""

    DUAL = 1
    """Where bounds or rows change between solves."""
    PRIMAL = 4
    """Where only costs change between solves."""


PRIMAL, DUAL = SimplexStrategy.PRIMAL, SimplexStrategy.DUAL
UNLIMITED = int(np.iinfo(np.int32).max)
"""The value of integer options of HiGHS that sets no limit."""
SILENT: dict[str, Any] = {"output_flag": False, "threads": 1, "random_seed": 0}
WARM_SIMPLEX: dict[str, Any] = {"presolve": "off", "solver": "simplex"}
EXACT_MIP: dict[str, Any] = {
    "mip_rel_gap": 0.0,
    "mip_abs_gap": MIP_ABSOLUTE_GAP,
    "mip_feasibility_tolerance": MIP_FEASIBILITY,
}
"""The options of HiGHS: of every solver, of warm linear programs and of integer programs."""


class ModelStatus(IntEnum):
    """The model statuses of HiGHS with an outcome, by their numbers: hashed fast, and known without importing HiGHS."""

    kOptimal = 7
    kInfeasible = 8
    kUnboundedOrInfeasible = 9
    kUnbounded = 10
    kObjectiveTarget = 12
    kTimeLimit = 13
    kIterationLimit = 14
    kSolutionLimit = 16
    kInterrupt = 17


OUTCOMES: dict[int, Outcome] = {
    ModelStatus.kOptimal: Outcome.OPTIMAL,
    ModelStatus.kInfeasible: Outcome.INFEASIBLE,
    ModelStatus.kUnboundedOrInfeasible: Outcome.UNBOUNDED,  # of programs that are feasible; see `is_failure`
    ModelStatus.kUnbounded: Outcome.UNBOUNDED,
    ModelStatus.kObjectiveTarget: Outcome.TIME_LIMIT,
    ModelStatus.kTimeLimit: Outcome.TIME_LIMIT,
    ModelStatus.kIterationLimit: Outcome.FAILED,  # the simplex method cycles
    ModelStatus.kSolutionLimit: Outcome.TIME_LIMIT,  # the limit of nodes
    ModelStatus.kInterrupt: Outcome.TIME_LIMIT,
}
"""The outcomes of the model statuses of HiGHS; all other statuses are numerical failures."""


class Overrun(Exception):
    """A program did not end with its time limit and was abandoned; it has no result."""


class Abandoned(KeyboardInterrupt):
    """An interrupted program did not end and was abandoned; it has no result."""


@dataclass(frozen=True)
class HighsSettings:
    """Tuning of all solves by HiGHS."""

    patience: float = 0.2
    """Seconds between the time limit and the moment at which a program that has not ended is abandoned: long enough for
    most programs to hand over their best point. Untested default."""
    interrupt_patience: float = 0.1
    """Seconds before abandonment after an interrupt, where the user waits for an audit as well. Benchmark part:
    interrupts (0.2 made perturb-cell on hier16 late)."""
    short_patience: float = 0.02
    """Seconds before abandonment after an interrupt of programs whose point is of no use then. Untested default."""
    exit_seconds: float = 1.0
    """Maximum number of seconds for which the exit of the process waits for abandoned programs. Untested default."""
    wait: float = 0.1
    """Seconds between two checks for signals, on systems where these do not end the wait for a lock. Untested
    default."""
    long_run: int = 10_000
    """Linear programs with more nonzeros run in a thread of their own, so that they can be interrupted; smaller ones
    end before a thread would pay. Untested default."""
    least_iterations: int = 10_000
    """Simplex iterations that every linear program may take; see `iterations_per_line`. Untested default."""
    iterations_per_line: int = 10
    """Simplex iterations per row and column after which a linear program counts as cycling (seen on mixed scales) and
    is solved in another way. Fewer lose slow programs, more lose time on those that cycle. Untested default."""
    simplex_work: int = 100_000_000
    """Rows, columns and nonzeros times simplex iterations (about a second) that a linear program may take from scratch
    before the interior-point method takes over. Untested default."""
    least_simplex_iterations: int = 1_000
    """Simplex iterations that a linear program may take from scratch whatever its size. Untested default."""
    largest_cost: float = 1e6
    """Larger costs of integer programs are scaled down to this. Untested default."""
    least_cost: float = 1.0
    """If all costs of an integer program are smaller, the largest is scaled up to this. Untested default."""
    far: float = 1e3
    """Rows whose typical coefficient differs from 1 by more than this factor are scaled: their duals would be
    excessive. Untested default."""


DEFAULTS = HighsSettings()
_ABANDONED: list[Background] = []
"""Abandoned programs, each in its thread."""
_WATCH: ContextVar[Callable[[], None] | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Callable[[], None]) -> Iterator[None]:
    """Call `watch` at intervals while long programs run, after that of whoever called; what it raises ends them."""
    outer = _WATCH.get()

    def both() -> None:
        if outer is not None:
            outer()
        watch()

    token = _WATCH.set(both)
    try:
        yield
    finally:
        _WATCH.reset(token)


def check_watch() -> None:
    """Call the function given to `watched`, if there is one: for whoever waits for programs of other threads."""
    watch = _WATCH.get()
    if watch is not None:
        watch()


def new_highs(**options: Any) -> Any:
    """A silent single-threaded HiGHS with these options."""
    import highspy

    highs = highspy.Highs()
    set_options(highs, **{**SILENT, **options})
    return highs


def set_options(highs: Any, **options: Any) -> None:
    """Set options of HiGHS by name."""
    for name, value in options.items():
        highs.setOptionValue(name, value)


def outcome_of(status: Any) -> Outcome:
    """The outcome of a model status."""
    return OUTCOMES.get(int(status), Outcome.FAILED)


# ---------------------------------------------------------------------- one run


def run(
    highs: Any,
    seconds: float = math.inf,
    *,
    integer: bool = False,
    iterations: int | None = None,
    may_abandon: bool = False,
    patience: float | None = None,
    settings: HighsSettings = DEFAULTS,
) -> Any:
    """Solve the present program within `seconds`, if they are finite; returns the model status.

    Linear programs end with status kIterationLimit after `iterations` of the simplex method, by default more than any
    program takes that does not cycle. KeyboardInterrupt ends the solve and is raised again when it has ended.
    `may_abandon`: if it does not end, `Abandoned` is raised instead, and `Overrun` where the time limit is not kept;
    the solver must not be used again then. `patience`: replaces that of the settings after an interrupt.
    """
    spent = 0.0 if integer else highs.getRunTime()
    highs.setOptionValue("time_limit", spent + max(seconds, 0.0) if math.isfinite(seconds) else math.inf)
    if not integer:
        lines = highs.getNumRow() + highs.getNumCol()
        most = max(settings.least_iterations, settings.iterations_per_line * lines)
        highs.setOptionValue("simplex_iteration_limit", most if iterations is None else iterations)
    long = integer or highs.getNumNz() > settings.long_run
    if long and (threading.current_thread() is threading.main_thread() or _WATCH.get() is not None):
        patience = settings.interrupt_patience if patience is None else patience
        _run_interruptibly(highs, seconds if may_abandon else None, patience, settings)
    else:
        highs.run()
    return highs.getModelStatus()


def _run_interruptibly(highs: Any, seconds: float | None, patience: float, settings: HighsSettings) -> None:
    """Solve in another thread; the main one waits for the end and for signals.

    `seconds`: after these the program is abandoned if it has not ended; None: it may not be. `patience`: see `run`.
    """
    from highspy import cb

    kinds = (
        cb.HighsCallbackType.kCallbackSimplexInterrupt,
        cb.HighsCallbackType.kCallbackIpmInterrupt,
        cb.HighsCallbackType.kCallbackMipInterrupt,
    )
    late = Deadline.after(None if seconds is None else seconds + settings.patience)
    solving, stop = Background(highs.run), list[BaseException]()

    def interrupt(kind: Any, message: str, state: Any, reply: Any, data: Any) -> None:
        if stop:
            reply.user_interrupt = True

    highs.setCallback(interrupt, None)
    for kind in kinds:
        highs.startCallback(kind)
    watch = _WATCH.get()
    while not solving.ended:
        try:
            solving.wait(settings.wait)
            if watch is not None and not stop:
                watch()
            if late.passed():
                raise Overrun
        except BaseException as signal:  # an interrupt, or an exception of the watch
            stop.append(signal)
            if seconds is not None and not solving.wait(patience):
                _abandon(solving, settings.exit_seconds)
                if isinstance(signal, KeyboardInterrupt):
                    raise Abandoned from signal
                raise
    for kind in kinds:
        highs.stopCallback(kind)
    if stop and not isinstance(stop[-1], Overrun):
        raise stop[-1]


def _abandon(solving: Background, exit_seconds: float) -> None:
    """Abandon a solve that was interrupted; the process waits a moment for it before it exits."""
    if not _ABANDONED:
        atexit.register(partial(_join_abandoned, exit_seconds))
    _ABANDONED[:] = [one for one in _ABANDONED if not one.ended] + [solving]


def _join_abandoned(seconds: float) -> None:
    """Wait for abandoned programs, but not for those that never end: they end with the process."""
    until = Deadline.after(seconds)
    for solving in _ABANDONED:
        solving.wait(until.left)


# ---------------------------------------------------------------------- linear programs, retried


def is_failure(status: Any, wrong: frozenset[Outcome]) -> bool:
    """Whether a status of a linear program calls for another attempt: numerical failure, ambiguous or known wrong."""
    outcome = outcome_of(status)
    return outcome is Outcome.FAILED or outcome in wrong or int(status) == ModelStatus.kUnboundedOrInfeasible


def run_linear(
    highs: Any,
    seconds: float = math.inf,
    *,
    wrong: frozenset[Outcome] = frozenset(),
    presolved: bool = False,
    simplex_first: bool = False,
    **options: Any,
) -> Any:
    """Solve a linear program; after a failure again from scratch, then with presolve. Returns the model status.

    `wrong`: outcomes that are known to be wrong. `presolved`: begin with presolve. `simplex_first`: see
    `run_presolved`. `options`: of `run`.
    """
    limit = highs.getRunTime() + seconds
    with_presolve = {"simplex_first": simplex_first, **options}
    if presolved:
        status = run_presolved(highs, seconds, **with_presolve)
    else:
        status = run(highs, seconds, **options)
    if is_failure(status, wrong):
        highs.clearSolver()
        status = run(highs, limit - highs.getRunTime(), **options)
    if is_failure(status, wrong):
        status = run_presolved(highs, limit - highs.getRunTime(), **with_presolve)
    return status


def run_presolved(
    highs: Any,
    seconds: float = math.inf,
    *,
    simplex_first: bool = False,
    settings: HighsSettings = DEFAULTS,
    **options: Any,
) -> Any:
    """Solve a linear program from scratch by presolve, interior point and crossover; keeps the solver's options.

    It solves programs of mixed scales on which the simplex method fails or cycles. `simplex_first`: the simplex method
    is tried before, for a limited number of iterations. `options`: of `run`.
    """
    limit = highs.getRunTime() + seconds
    before = {name: highs.getOptionValue(name)[1] for name in ("presolve", "solver")}
    status = None
    if simplex_first:
        highs.clearSolver()
        size = max(highs.getNumNz() + highs.getNumRow() + highs.getNumCol(), 1)
        most = max(settings.simplex_work // size, settings.least_simplex_iterations)
        set_options(highs, presolve="on", solver="choose")
        status = run(highs, seconds, iterations=min(most, UNLIMITED), settings=settings, **options)
    if status is None or int(status) == ModelStatus.kIterationLimit:
        highs.clearSolver()
        set_options(highs, presolve="on", solver="ipm")
        status = run(highs, limit - highs.getRunTime(), settings=settings, **options)
    set_options(highs, **before)
    return status
