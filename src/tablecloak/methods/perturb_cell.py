"""perturb-cell: every cell is shown near the truth, sensitive ones far enough from it, protected against all attackers.

    min  sum_i w_i |v_i - a_i|    M v = M a,   |v_i - a_i| <= f_i(v_i),
    every sensitive cell p:  v_p >= a_p + up_p  or  v_p <= a_p - down_p          (verdict 1: shown a level away)
    every level, attacker:   the widest deviation within v +- f(v) and a priori bounds reaches it  (verdict 2)
    at most q cells with v_i != a_i;   conditional widths of cells that are changed

with prices w_i+ above, w_i- below and w_i for changing a cell at all. Senses given in advance (up, down, random) make
it a linear program, unless changed cells are counted or priced; "best" makes the sense of every sensitive cell a binary
column. The stated reach is a function of what is shown (`adjustment.reach`).

*As printed*: with a floor and a ceiling for every cell, floor_i <= v_i <= ceiling_i, sensitive cells are at an end,
v_p = ceiling_p (senses "up") or v_p = floor_p, and the reach is known beforehand (`adjustment.given_ranges`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, cell perturbation (Figures 11 to 13).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tablecloak.errors import InfeasibleProblem, InputError, SolverError
from tablecloak.methods.adjustment import (
    COUNTED_ON,
    FIRST,
    FRACTIONS,
    AdjustmentSettings,
    Attempt,
    CellNumbers,
    Perturber,
    Ranges,
    ReachRule,
    check_shown,
    given_ranges,
    open_perturbation,
    out_of_reach,
    ranges_of,
)
from tablecloak.methods.base import Proposal, Run, RunSettings
from tablecloak.methods.parameters import wrong_words
from tablecloak.model import Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import GAP_CLOSED, Outcome

NAME = "perturb-cell"
AT_ENDS = "sensitive cells are shown at given ends: who knows which end learns on which side the truth lies"

Senses = Literal["up", "down", "random", "best"]


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
    model: Literal["second", "first"] = "second"
    """Proofs on demand, or the compact model with every deviation in it (small tables)."""
    floor: CellNumbers | None = None
    """As printed: the least that each cell may be shown as (a list, a column, a number); not by `share`, `least`."""
    ceiling: CellNumbers | None = None
    """As printed: the most; sensitive cells are shown at the ceiling (senses up), the floor (down), or either."""
    known: CellNumbers | None = None
    """As printed: the reach that is stated of each cell; None: ceiling - floor."""


def perturb_cell(
    problem: Problem,
    *,
    params: PerturbCellParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: AdjustmentSettings = AdjustmentSettings(),
) -> Proposal:
    """The cheapest perturbation that is far enough from the truth and that no attacker can undo."""
    _check(params)
    check_shown(NAME, problem)
    run = Run(params.seconds)
    deadline, before = run.deadline, run.deadline.left
    perturber, quick, first = open_perturbation(
        problem, lambda: _with_senses(_ranges(problem, params), params.senses, rng), run, progress, settings
    )
    if deadline.moment is not None:
        kept = settings.protection.reserved_share * before
        deadline = deadline.earlier(min(before - deadline.left, kept))
    search = _CellSearch(perturber, run, deadline, rng, quick)
    found = search.against_attackers(compact=params.model == "first")
    stopped = deadline.passed()
    if found is not None and found.safe:
        return replace(_proposal(found, (), run, given=params.floor is not None), earlier=first)
    rest = search.fallback(found)
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
    notes = (f"{why}: the audit names the cells left open",)
    complete, given = not (late and stopped), params.floor is not None
    return replace(_proposal(rest, notes, run, complete=complete, given=given), earlier=first)


def _ranges(problem: Problem, params: PerturbCellParams) -> Ranges:
    """Where each cell may be shown: by a reach that follows what is shown, or between ends that are given."""
    rule = ReachRule.checked(NAME, params.share, params.least)
    if params.floor is None or params.ceiling is None:
        return ranges_of(NAME, problem, rule)
    return given_ranges(NAME, problem, params.floor, params.ceiling, params.known)


@dataclass(eq=False)
class _CellSearch:
    """Perturbations against attackers, and those to fall back on. Confidential."""

    perturber: Perturber
    run: Run
    deadline: Deadline
    rng: np.random.Generator
    quick: Attempt | None
    """The first perturbation, of leaves."""
    start: Attempt | None = None
    """A better one to fall back on."""

    def against_attackers(self, *, compact: bool) -> Attempt | None:
        """The best perturbation against attackers, after one to fall back on; None: stopped before."""
        found, deadline, perturber = None, self.deadline, self.perturber
        settings = perturber.settings.protection
        with self.run.stoppable():
            wanted = perturber.problem.is_monotone and perturber.needs_fallback(deadline)
            if wanted and not deadline.passed():
                chance, soon = self.rng.spawn(1)[0], deadline.share(settings.start_share)
                fallback = self.quick is not None
                self.start = perturber.by_sign_annealing(0.0, chance, soon, fallback=fallback)
                perturber.progress(FIRST, 1, 1, None if self.start is None else self.start.cost)
            if not deadline.passed():
                found = perturber.against_attackers(deadline, compact=compact)
        return found

    def fallback(self, found: Attempt | None) -> Attempt | None:
        """The best perturbation with attackers left out; `found` is one that programs have left open."""
        start, quick, deadline = self.start, self.quick, self.deadline
        if not deadline.stops:  # then programs have the last word
            quick = None
        elif start is not None and quick is not None and not start.safe and quick.cost < start.cost:
            self.start = start = quick  # programs were stopped at a move that costs more
        rest = found if found is not None and found.pattern is not None else start
        if rest is quick is None and deadline.stops:
            quick = self.perturber.by_leaves()
        if rest is quick is None or not deadline.passed():
            limit = deadline if quick is not None else deadline.at_least(RunSettings.grace)
            other = self.run.until_stopped(lambda: self._without_attackers(limit))
            rest = other if other is not None and other.pattern is not None else rest or quick or other
        return rest or quick

    def _without_attackers(self, deadline: Deadline) -> Attempt | None:
        """The best perturbation of programs without attackers, or one by sign annealing where they do not decide."""
        rest = self.perturber.without_attackers(deadline)
        undecided = rest.pattern is None and rest.outcome.undecided
        if undecided and self.perturber.problem.most_touched is None:
            annealed = self.start or self.perturber.by_sign_annealing(rest.bound, self.rng, deadline)
            rest = annealed or rest
        return rest


def _what_ended(run: Run, stopped: bool) -> str:
    if run.deadline.interrupted:
        return "the run was interrupted"
    return "the time was up" if stopped else "programs failed"


def _check(params: PerturbCellParams) -> None:
    faults = wrong_words(params)
    if (params.floor is None) != (params.ceiling is None):
        faults.append("parameters 'floor' and 'ceiling' must be given together")
    if params.known is not None and params.floor is None:
        faults.append("parameter 'known' is the reach of given ends: it needs 'floor' and 'ceiling'")
    if faults:
        raise InputError(f"Parameters of {NAME}", faults)


def _with_senses(ranges: Ranges, senses: Senses, rng: np.random.Generator) -> Ranges:
    """Senses given in advance; a cell that is infeasible there takes the other one."""
    size = ranges.low.size
    if senses == "best":
        return ranges
    up = rng.random(size) < 0.5 if senses == "random" else np.full(size, senses == "up")
    return ranges.with_senses(up)


def _proposal(
    found: Attempt, notes: tuple[str, ...], run: Run, *, complete: bool = True, given: bool = False
) -> Proposal:
    assert found.pattern is not None
    closed = abs(found.cost - found.bound) <= GAP_CLOSED * found.cost
    lower = found.bound > found.cost and not closed  # integer units and the stated reach: outside the model
    complete = complete and not found.outcome.undecided
    status = run.status(
        Status.OPTIMAL if complete and closed and not notes else Status.FEASIBLE, complete=complete
    )
    if found.margin:
        notes += (f"levels were raised by {found.margin:g} data units to make up for whole units",)
    if not found.whole:
        notes += (FRACTIONS,)
    if given:
        notes += (AT_ENDS,)
    elif found.rows:
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
    widen = "Raise `share` or `least`" if params.floor is None else "Lower floors, raise ceilings"
    return out_of_reach(problem, within + senses, widen)
