"""`compare`: several methods on one problem, side by side, for a choice between the ways to publish.

Each method runs as `protect` would run it, one after the other, so that their seconds are comparable; or all of them
on the workers of an executor, where they share the machine. A method that refuses the problem is an outcome too, with
its message. Costs are in the unit of a pattern's own loss (weights of hidden cells; weights times widths; weights times
changes): compare them between patterns of one kind only. The `measures` are the same for all kinds. `summary` prints
how methods did, what readers lose and what is proven. Everything here is confidential.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from tablecloak.analysis.loss import Distances, Measures, Quantiles, measures
from tablecloak.auditing import audit
from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    TablecloakError,
    check_kind,
    counted,
    near,
)
from tablecloak.methods import METHODS
from tablecloak.model import Problem, Result, Status, Suppression
from tablecloak.progress import Progress, silent
from tablecloak.protection import protect
from tablecloak.solvers import InterruptibleProcesses, Stop, watched

NOT_APPLICABLE, INFEASIBLE, WRONG_INPUT, FAILED = "not-applicable", "infeasible", "wrong-input", "failed"
NOT_RUN = "not-run"
"""The status of an outcome without a result; else it is the status of the result."""
QUANTILES = ("vagueness", "relative_vagueness", "width", "relative_width", "change", "relative_change")
"""The measures of which a row has mean and quantiles: ``vagueness_mean``, ``vagueness_50``, ``_90``, ``_100``."""


@dataclass(frozen=True)
class ComparisonSettings:
    """Contents of the report of a comparison."""

    moments: tuple[float, ...] = (0.1, 1.0, 10.0, 60.0, 600.0, 3600.0)
    """Seconds after which cost and bound are reported."""
    longest_message: int = 300
    """Maximum number of characters of a message."""
    same_cost: float = 1e-9
    """Costs that differ by this share are the same."""
    wait: float = 0.1
    """Seconds between two reports while workers run the methods; signals are noticed between them."""


SETTINGS = ComparisonSettings()


@dataclass(frozen=True, eq=False)
class MethodOutcome:
    """The outcome of one method: its result and the measures of its pattern, or why there is none. Confidential."""

    name: str
    """Name in the comparison: the method, unless another name was given."""
    method: str
    params: Mapping[str, Any]
    """The parameters that were given; a result's report has all of them."""
    status: str
    seconds: float
    message: str = ""
    """Why there is no result, in one line without figures."""
    result: Result | None = None
    measures: Measures | None = None

    @property
    def kind(self) -> str | None:
        """The kind of pattern: suppression, intervals, rounding, perturbation, mixed."""
        return None if self.result is None else type(self.result.pattern).__name__.lower()

    @property
    def hides(self) -> bool:
        """Whether cells are hidden, and all others published as they are."""
        return self.kind == Suppression.__name__.lower()

    @property
    def cost(self) -> float | None:
        return None if self.result is None else self.result.cost

    @property
    def bound(self) -> float | None:
        """Proven lower bound on the cost; None when nothing is proven."""
        return None if self.result is None else self.result.bound

    @property
    def gap(self) -> float | None:
        """(cost - bound) / cost; None when nothing is proven."""
        return None if self.result is None else self.result.gap

    @property
    def touched(self) -> int | None:
        """Cells that are published otherwise than by their exact value."""
        return None if self.measures is None else self.measures.touched

    @property
    def open_cells(self) -> int | None:
        """Number of cells that the audit found not protected against some attacker."""
        return None if self.result is None else int(self.result.audit.open_cells.size)

    @property
    def trace(self) -> tuple[tuple[float, float | None, float | None], ...]:
        """Cost and bound over time: (seconds, cost so far, bound so far)."""
        return () if self.result is None else self.result.report.trace

    @property
    def history(self) -> tuple[tuple[float, float | None, float | None], ...]:
        """(seconds, cost of the best pattern so far, best bound so far).

        Searches also report the costs of unfinished patterns. A cost below the final one is such, and left out.
        """
        final = self.cost
        if final is None:
            return ()
        least = final * (1 - SETTINGS.same_cost) if np.isfinite(final) else -np.inf
        best, proven = np.inf, -np.inf
        rows: list[tuple[float, float | None, float | None]] = []
        for seconds, cost, bound in self.trace:
            best = min(best, cost) if cost is not None and cost >= least else best
            proven = max(proven, bound) if bound is not None else proven
            known = min(proven, final) if proven > -np.inf else None
            rows.append((seconds, best if best < np.inf else None, known))
        return tuple(rows)

    def row(self) -> dict[str, Any]:
        """Everything in plain values; None for what there is not."""
        found = self.measures
        every, leaves = (None, None) if found is None else (found.losses.every, found.losses.leaves)
        distances = None if found is None else found.distances
        return {
            "name": self.name,
            "method": self.method,
            "kind": self.kind,
            "status": self.status,
            "cost": self.cost,
            "bound": self.bound,
            "gap": self.gap,
            "seconds": self.seconds,
            "safe": None if self.result is None else self.result.audit.safe,
            "open_cells": self.open_cells,
            "cells": None if found is None else found.cells,
            "touched": self.touched,
            "complementary": None if every is None or not self.hides else int(every.complementary[0]),
            "touched_share": None if every is None else _known(every.share[0]),
            "value_share": None if leaves is None else _known(leaves.value_share[0]),
            "vague": None if found is None else found.vague,
            "unbounded": None if found is None else found.unbounded,
            **{key: amount for name in QUANTILES for key, amount in _quantiles(name, found)},
            **{
                f"distance_{item.name}": None if distances is None else getattr(distances, item.name)
                for item in fields(Distances)
            },
            "message": self.message,
        }

    def __repr__(self) -> str:
        return f"<confidential MethodOutcome: {self.name}, {self.status}>"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcomes of several methods on one problem, in the order they were given. Confidential."""

    problem: Problem
    outcomes: tuple[MethodOutcome, ...]
    seed: int
    seconds: float | None = None
    """The time limit of each method."""

    def __getitem__(self, name: str) -> MethodOutcome:
        """The outcome of that name."""
        for outcome in self.outcomes:
            if outcome.name == name:
                return outcome
        known = [outcome.name for outcome in self.outcomes]
        fault = f"there is no outcome {name!r}{near(name, known)}"
        raise InputError("Comparison", [fault], advice=f"Outcomes: {', '.join(known)}.")

    @property
    def best_bound(self) -> float | None:
        """The highest bound that a method proved about suppressions: no safe pattern of hidden cells costs less."""
        proven = [each.bound for each in self.outcomes if each.hides and each.bound is not None]
        return max(proven, default=None)

    def table(self) -> list[dict[str, Any]]:
        """One row a method, of plain values: numbers, texts, None for what there is not."""
        return [{**outcome.row(), **self._beside(outcome)} for outcome in self.outcomes]

    def _beside(self, outcome: MethodOutcome) -> dict[str, float | None]:
        """The best bound of all methods beside the cost of a suppression."""
        bound, cost = self.best_bound, outcome.cost
        if not outcome.hides or bound is None or cost is None:
            return {"best_bound": None, "best_gap": None}
        return {"best_bound": bound, "best_gap": max(0.0, (cost - bound) / cost) if cost > 0 else 0.0}

    def over_time(self, moments: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """Cost and bound of each method over time: a row for each method and moment; None where it had none yet.

        By default at 0.1, 1, 10, 60, ... seconds, as far as they went, and at the end of the slowest method.
        """
        done = [outcome for outcome in self.outcomes if outcome.result is not None]
        last = max((outcome.seconds for outcome in done), default=0.0)
        defaults = [*(when for when in SETTINGS.moments if when < last), last]
        return [
            {"name": outcome.name, "seconds": float(when), **_at(outcome, when)}
            for outcome in done
            for when in (defaults if moments is None else moments)
        ]

    def record(self) -> dict[str, Any]:
        """Everything for a JSON record: the rows with parameters and traces."""
        rows = [
            {**row, "params": dict(outcome.params), "trace": [list(point) for point in outcome.trace]}
            for outcome, row in zip(self.outcomes, self.table(), strict=True)
        ]
        return {"confidential": True, "seed": self.seed, "seconds": self.seconds, "outcomes": rows}

    def summary(self) -> str:
        """Two tables as text: how the methods did, and what readers lose; then why methods gave no result."""
        return summary_text(self)

    def __repr__(self) -> str:
        names = ", ".join(f"{outcome.name} {outcome.status}" for outcome in self.outcomes)
        return f"<confidential Comparison: {names}>"


def compare(
    problem: Problem,
    methods: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]],
    *,
    seconds: float | None = None,
    seed: int = 0,
    intervals: bool = False,
    progress: Progress = silent,
    executor: Executor | None = None,
) -> Comparison:
    """Run several methods on one problem and measure what each of them costs the reader.

    `methods` are names in `METHODS`, or a mapping from names of your own to (method, parameters), so that one method
    can be tried with several settings. `seconds` is a limit for each method that has such a parameter and is not given
    one of its own. `intervals=True` also computes the outsider's exact interval of every touched cell
    (`Measures.width`), which takes long on large tables. All faults in the names and the parameters are reported
    before anything runs; a method that cannot take the problem is an outcome with its message. `executor`: its workers
    run the methods side by side; processes suit them (a method holds Python's lock), and all that is sent can be
    pickled. Without limits the results are the same as without it; with limits the methods share the machine.
    """
    check_kind("Comparison", "problem", problem, Problem, "Make one with assess(table, rules).")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError("Seed", ["a seed is a whole number that is not negative"])
    plan = _plan(methods, seconds)
    runs = [_Run(name, *given, problem, int(seed), intervals) for name, given in plan.items()]
    outcomes = _one_by_one(runs, progress) if executor is None else _side_by_side(runs, progress, executor)
    return Comparison(problem, tuple(outcomes), int(seed), seconds)


# ---------------------------------------------------------------------- what to run


def _plan(
    methods: Sequence[str] | Mapping[str, tuple[str, Mapping[str, Any]]], seconds: float | None
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Methods and parameters by name; one error lists all faults."""
    requested = _requested(methods)
    names = [name for name, _, _ in requested]
    faults = [f"{name} is asked for twice" for place, name in enumerate(names) if name in names[:place]]
    plan: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, method, given in requested:
        if method not in METHODS:
            faults.append(f"there is no method {method!r}{near(method, list(METHODS))}")
            continue
        params = dict(given)
        known = {item.name for item in fields(METHODS[method].params)}
        if seconds is not None and "seconds" in known:
            params.setdefault("seconds", seconds)
        try:
            METHODS[method].make_params(params)
        except InputError as error:
            faults += [f"{name}: {fault}" for fault in error.faults]
        plan[name] = (method, params)
    if not requested:
        faults.append("no method is named")
    if faults:
        raise InputError("Comparison", faults, advice=f"Methods: {', '.join(METHODS)}.")
    return plan


def _requested(methods: object) -> list[tuple[str, str, Mapping[str, Any]]]:
    """(name, method, parameters) of each requested method."""
    advice = 'Give a list of names, or a mapping like {"quick": ("suppress-greedy", {"seconds": 5})}.'
    if isinstance(methods, Mapping):
        faults = []
        for name, entry in methods.items():
            match entry:
                case [str(), Mapping()]:
                    continue
            faults.append(f"{name}: expected (method, parameters)")
        if faults:
            raise InputError("Comparison", faults, advice=advice)
        return [(str(name), method, given) for name, (method, given) in methods.items()]
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        raise InputError("Comparison", [f"methods: got {type(methods).__name__}"], advice=advice)
    return [(str(method), str(method), {}) for method in methods]


# ---------------------------------------------------------------------- running it


@dataclass(frozen=True)
class _Named:
    """Progress with the name of the method."""

    name: str
    progress: Progress

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        self.progress(f"{self.name}: {phase}", done, total, incumbent, bound)


class _Run(NamedTuple):
    """One method to be run, and all that it needs."""

    name: str
    method: str
    params: dict[str, Any]
    problem: Problem
    seed: int
    intervals: bool

    def not_run(self) -> MethodOutcome:
        """The outcome where the user interrupts before there is any."""
        return MethodOutcome(self.name, self.method, self.params, NOT_RUN, 0.0, "interrupted before it")


def _one_by_one(runs: list[_Run], progress: Progress) -> list[MethodOutcome]:
    """The outcomes of all methods; after an interrupt the others are not run."""
    outcomes = list[MethodOutcome]()
    for run in runs:
        outcomes.append(_outcome(run, progress))
        if outcomes[-1].status == Status.INTERRUPTED:
            return outcomes + [other.not_run() for other in runs[len(outcomes) :]]
    return outcomes


def _side_by_side(runs: list[_Run], progress: Progress, executor: Executor) -> list[MethodOutcome]:
    """The outcomes of all methods, run by workers.

    After an interrupt those under way end with what they have; the others are not run.
    """
    stop, futures = Stop(), list[Future[MethodOutcome]]()
    try:
        futures += [executor.submit(_in_worker, run, stop) for run in runs]
        _await_all(futures, progress)
    except KeyboardInterrupt:
        _end(futures, stop, executor)
        outcomes = [_ended(run, future) for run, future in zip(runs, futures, strict=False)]
        outcomes += [run.not_run() for run in runs[len(futures) :]]
        if all(outcome.result is None for outcome in outcomes):
            raise
    except BaseException:
        _end(futures, stop, executor)
        raise
    else:
        outcomes = [future.result() for future in futures]
    return [_received(run, outcome) for run, outcome in zip(runs, outcomes, strict=True)]


def _await_all(futures: list[Future[MethodOutcome]], progress: Progress) -> None:
    """Wait until all are done, in short steps: a signal is noticed between them on every system."""
    left = set(futures)
    while left:
        progress("methods side by side", len(futures) - len(left), len(futures))
        done, left = wait(left, SETTINGS.wait, FIRST_COMPLETED)
        for future in done:
            future.result()


def _end(futures: list[Future[MethodOutcome]], stop: Stop, executor: Executor) -> None:
    """End all methods; those that wait do not begin."""
    stop.set()
    if isinstance(executor, InterruptibleProcesses):
        executor.interrupt()
    for future in futures:
        future.cancel()


def _ended(run: _Run, future: Future[MethodOutcome]) -> MethodOutcome:
    """What a method had when it was interrupted."""
    try:
        return future.result()
    except (CancelledError, KeyboardInterrupt):
        return run.not_run()


def _in_worker(run: _Run, stop: Stop) -> MethodOutcome:
    """Run one method in a worker; what would send the problem back is left out."""
    interrupts = _InterruptOnce(stop)
    with watched(interrupts.check):
        outcome = _outcome(run, interrupts)
    result = outcome.result
    if result is None:
        return outcome
    return replace(outcome, result=replace(result, audit=replace(result.audit, subject=None)))


def _received(run: _Run, outcome: MethodOutcome) -> MethodOutcome:
    """The outcome of a worker, about the caller's own problem."""
    result = outcome.result
    if result is None or result.audit.subject is not None:
        return outcome
    verdict = replace(result.audit, subject=(run.problem, result.pattern))
    return replace(outcome, result=replace(result, audit=verdict))


class _InterruptOnce:
    """Progress that tells nothing, and is interrupted once: methods then end with what they have."""

    def __init__(self, stop: Stop) -> None:
        self._stop, self._raised = stop, False

    def check(self) -> None:
        """Raise KeyboardInterrupt, as Ctrl-C does in the main thread, if the methods should end."""
        if not self._raised and self._stop.is_set():
            self._raised = True
            raise KeyboardInterrupt

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        self.check()


def _outcome(run: _Run, progress: Progress) -> MethodOutcome:
    """Run one method and measure what it gave; a refusal or failure is an outcome, not raised."""
    start, named = time.perf_counter(), _Named(run.name, progress)
    told = run.name, run.method, run.params
    try:
        result = protect(run.problem, run.method, params=run.params, seed=run.seed, progress=named)
    except TablecloakError as error:
        return MethodOutcome(*told, _status(error), time.perf_counter() - start, _message(error))
    exact = None
    if run.intervals:  # those of the outsider
        alone = replace(run.problem, attackers=())
        exact = audit(alone, result.pattern, intervals=True, every_hidden=True, progress=named)
    found = measures(run.problem, result.pattern, exact)
    return MethodOutcome(*told, result.status.value, result.report.seconds, result=result, measures=found)


def _status(error: TablecloakError) -> str:
    kinds = ((NotApplicable, NOT_APPLICABLE), (InfeasibleProblem, INFEASIBLE), (InputError, WRONG_INPUT))
    return next((status for kind, status in kinds if isinstance(error, kind)), FAILED)


def _message(error: TablecloakError) -> str:
    """The error in one line; messages hold no figures, and confidential details stay in the error."""
    if isinstance(error, InputError):
        return _cut(f"{error.what}: {'; '.join(error.faults)}")
    return _cut(next((line for line in str(error).splitlines() if line.strip()), type(error).__name__))


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SETTINGS.longest_message else plain[: SETTINGS.longest_message - 1] + "…"


# ---------------------------------------------------------------------- plain values


def _quantiles(name: str, found: Measures | None) -> list[tuple[str, float | None]]:
    parts = (("mean", "mean"), ("50", "median"), ("90", "ninety"), ("100", "largest"))
    amounts: Quantiles | None = getattr(found, name, None)
    return [(f"{name}_{end}", None if amounts is None else getattr(amounts, part)) for end, part in parts]


def _at(outcome: MethodOutcome, moment: float) -> dict[str, float | None]:
    """Cost and bound of a method at a moment; its result counts from its end."""
    if moment >= outcome.seconds:
        return {"cost": outcome.cost, "bound": outcome.bound}
    before = [row for row in outcome.history if row[0] <= moment]
    return {"cost": before[-1][1] if before else None, "bound": before[-1][2] if before else None}


def _known(share: float) -> float | None:
    return None if np.isnan(share) else float(share)


def summary_text(comparison: Comparison, narrowest: int = 18) -> str:
    """Two tables, the best proven bound of suppressions, why methods gave no result, and the notes of the others.

    `narrowest`: minimum width of the column of names.
    """
    rows = comparison.table()
    wide = max(narrowest, *(len(row["name"]) for row in rows)) + 2
    lines = [
        f"Confidential: {counted(len(rows), 'method')} compared, seed {comparison.seed}",
        f"{'method':{wide}}{'status':16}{'pattern':14}{'cost':>12}{'bound':>12}{'gap':>9}{'seconds':>10}{'open':>6}",
    ]
    for row in rows:
        figures = f"{_figure(row['cost']):>12}{_figure(row['bound']):>12}{_percent(row['gap']):>9}"
        words = f"{row['name']:{wide}}{row['status']:16}{row['kind'] or '-':14}"
        lines.append(f"{words}{figures}{row['seconds']:>8.2f} s{_figure(row['open_cells']):>6}")
    lines += _lost([row for row in rows if row["touched"] is not None], wide)
    lines += _proven(comparison, rows)
    lines += [f"{row['name']}: {row['message']}" for row in rows if row["message"]]
    done = [(outcome.name, outcome.result) for outcome in comparison.outcomes]
    lines += [f"{name}: {note}" for name, result in done if result for note in result.report.notes]
    return "\n".join(lines)


def _proven(comparison: Comparison, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The gap of each suppression to the best bound of all methods, if there are several."""
    hiding = [row for row in rows if row["best_gap"] is not None]
    if len(hiding) < 2:
        return []
    above = ", ".join(f"{row['name']} {_percent(row['best_gap'])}" for row in hiding)
    return [f"No safe suppression costs less than {_figure(comparison.best_bound)}. Gaps to that: {above}"]


def _lost(rows: Sequence[Mapping[str, Any]], wide: int) -> list[str]:
    """Information loss, a line for each method: relative figures, those of exact intervals only where there are any."""
    if not rows:
        return []
    exact = any(row["relative_width_50"] is not None for row in rows)
    heads_used = ("vagueness", "width", "change") if exact else ("vagueness", "change")
    used = [(head, f"relative_{head}") for head in heads_used]
    heads = "".join(f"{f'{head} 50, 90, 100%':>30}" for head, _ in used)
    first = f"{'lost to readers':{wide}}{'touched':>9}{'extra':>7}"
    lines = [f"{first}{'cells':>8}{'value':>8}{'unbounded':>11}{heads}"]
    for row in rows:
        counts = f"{row['touched']:>9}{_figure(row['complementary']):>7}"
        shares = f"{_percent(row['touched_share']):>8}{_percent(row['value_share']):>8}{row['unbounded']:>11}"
        amounts = "".join(f"{_three(row, name):>30}" for _, name in used)
        lines.append(f"{row['name']:{wide}}{counts}{shares}{amounts}")
    return lines


def _figure(number: float | None) -> str:
    return "-" if number is None else f"{number:.6g}"


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    size = 100 * abs(share)
    if size < 100:
        return f"{100 * share:.3g}%"
    return f"{100 * share:.0f}%" if size < 1e5 else f"{100 * share:.1e}%"


def _three(row: Mapping[str, Any], name: str) -> str:
    found = [row[f"{name}_{part}"] for part in ("50", "90", "100")]
    return "-" if found[0] is None else "  ".join(_percent(share) for share in found)
