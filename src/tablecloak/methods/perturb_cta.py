"""perturb-cta: controlled tabular adjustment, the nearest additive table with sensitive cells shown a level away.

    min  sum_i w_i |v_i - a_i|   or   sum_i w_i (v_i - a_i)^2
    with prices  w_i+ (v_i - a_i)+ + w_i- (a_i - v_i)+
    M v = M a,   |v_i - a_i| <= f_i(v_i),   every sensitive cell p:  v_p >= a_p + up_p  or  v_p <= a_p - down_p

with a binary sense for each sensitive cell (`adjustment.model`). Absolute distances: relaxation, feasibility pump,
integer program and block coordinate descent (`adjustment.search`). Squares: quadratic programs over senses, from those
of the least absolute distance (`adjustment.least_squares`). What is shown is in integer data units.

Attackers are not in this model. What they can infer from the stated reach the audit reports; on small tables cuts
against them are added (`adjustment.protected`) where cells are open.

References: Dandekar & Cox (2002), Synthetic tabular data; Castro (2006), Minimum-distance controlled perturbation
methods for large-scale tabular data protection; Gonzalez & Castro (2011), A heuristic block coordinate descent approach
for controlled tabular adjustment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, NotApplicable, SolverError
from tablecloak.methods.adjustment import (
    COUNTED_ON,
    FRACTIONS,
    Adjustment,
    AdjustmentSearch,
    AdjustmentSettings,
    Attempt,
    IntegerUnits,
    Move,
    Perturber,
    ReachRule,
    check_shown,
    cost_of,
    is_additive,
    is_closed,
    least_squares_move,
    made,
    open_perturbation,
    pattern_of,
    ranges_of,
    square_sum,
    towards_least_squares,
)
from tablecloak.methods.base import Proposal, Run, refuse_touch_prices
from tablecloak.methods.parameters import wrong_words
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import load_libraries

NAME = "perturb-cta"
OPEN = "some cells are open to attackers: the audit names them"
NEAR_LEAST = "rows against attackers: near the least sum of squares, not the least itself"
UNJUDGED = "the time was up before attackers were considered: cells that are open to them the audit names"
STOPPED = "stopped by the user"


@dataclass(frozen=True)
class PerturbCtaParams:
    """Parameters of perturb-cta."""

    seconds: float | None = None
    """Time limit; then the best found is returned with its bound."""
    share: float = 0.5
    """The stated reach is at least this share of what is shown (below 1)."""
    least: float = 0.0
    """The stated reach is at least this much."""
    distance: Literal["L1", "L2"] = "L1"
    """Weighted absolute or squared distances."""
    protect_attackers: bool = True
    """Whether cuts against attackers are added where the audit finds cells open (small tables)."""


def perturb_cta(
    problem: Problem,
    *,
    params: PerturbCtaParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: AdjustmentSettings = AdjustmentSettings(),
) -> Proposal:
    """The nearest table with all sensitive cells shown a level away, proven or the best found."""
    if faults := wrong_words(params):
        raise InputError(f"Parameters of {NAME}", faults)
    _check(problem, params.distance)
    rule = ReachRule.checked(NAME, params.share, params.least)
    if params.distance == "L2":
        load_libraries("scipy.optimize")
    run = Run(params.seconds)
    before = run.deadline.left
    perturber, quick, first = open_perturbation(
        problem, lambda: ranges_of(NAME, problem, rule), run, progress, settings
    )
    took = before - run.deadline.left if run.deadline.moment is not None else 0.0
    deadline = _search_deadline(run.deadline, before, took, params, settings)
    adjustment = made(
        run,
        lambda: Adjustment(
            problem, perturber.ranges, deadline, fallback=quick is not None, settings=settings
        ),
    )
    search = AdjustmentSearch(adjustment, rng, progress, limited=params.seconds is not None)
    cta = _Adjusting(perturber, search, params, run, took, first=quick)
    moved = cta.nearest()
    if params.distance == "L2":
        moved = cta.least_squares(moved)
    return replace(cta.proposal(cta.in_integer_units(moved)), earlier=first)


def _check(problem: Problem, distance: str) -> None:
    check_shown(NAME, problem)
    if not problem.is_monotone:
        raise NotApplicable(
            f"{NAME} does not count which cells change.",
            needs="no bound on touched cells and no conditional levels",
            instead=["perturb-cell", "suppress-optimal", "suppress-compact"],
        )
    refuse_touch_prices(problem, NAME, ["perturb-cell"])
    prices = problem.applied_prices
    if distance == "L2" and (prices.up != prices.down).any():
        raise NotApplicable(
            f"{NAME} with distance='L2' has one weight for both sides of a cell.",
            needs="the same prices upward and downward, or distance='L1'",
            instead=["perturb-cell"],
        )


def _search_deadline(
    deadline: Deadline, before: float, took: float, params: PerturbCtaParams, settings: AdjustmentSettings
) -> Deadline:
    """The deadline of absolute distances: time is kept for integer units, an audit and least squares."""
    search = settings.search
    kept = min(took + settings.integer_units.least_seconds, (1 - search.search_share) * before)
    return deadline.earlier(kept).share(search.least_squares_share if params.distance == "L2" else 1.0)


@dataclass(eq=False)
class _Adjusting:
    """The steps of the recipe, each of which an interrupt may end. Confidential."""

    perturber: Perturber
    search: AdjustmentSearch
    params: PerturbCtaParams
    run: Run
    took: float
    """Seconds of an audit."""
    first: Attempt | None
    """A perturbation to fall back on."""
    protected: Floats | None = None
    """A move that attackers cannot undo, where cuts against them were needed."""
    notes: list[str] = field(default_factory=list)

    def until_interrupted(self, work: Callable[[], None]) -> None:
        """Work that the user may stop: what is best by then remains."""
        with self.run.stoppable():
            work()
        if self.run.deadline.interrupted:
            self.search.finished = False
            self._note(STOPPED)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    # ------------------------------------------------------------------ the search

    def nearest(self) -> Floats:
        """The move of least absolute distance that was found, or the first perturbation if that is nearer."""
        search, deadline = self.search, self.run.deadline
        late = self._searched()
        if deadline.stops and (search.best is None or self.first is not None):
            quick = self._fallback()  # also where programs were stopped at a move that costs more
            if quick is not None and (search.best is None or search.best.cost > quick.cost):
                search.best, search.finished = Move(quick.moved, quick.cost, np.zeros(0)), False
        if search.best is None:
            if deadline.interrupted:
                raise KeyboardInterrupt
            raise late or SolverError(search.adjustment.too_late())
        if not search.adjustment.sifts:
            search.best = search.adjustment.narrowest(search.best, deadline)
        return search.best.moved

    def _searched(self) -> SolverError | None:
        """Search until the time is up or the user interrupts; the error of a search that has found nothing by then."""
        search, deadline = self.search, self.run.deadline
        if deadline.interrupted or search.adjustment.gives_up():
            search.finished = False
            return None
        try:
            self.until_interrupted(search.run)
        except SolverError as error:
            if not deadline.stops:
                raise
            search.finished = False
            return error
        return None

    def _fallback(self) -> Attempt | None:
        """The first perturbation, made if it does not exist; None where there is none."""
        self.first = self.first or self.perturber.by_leaves()
        return self.first

    def least_squares(self, moved: Floats) -> Floats:
        """The least sum of squares from the senses of a move."""
        found, search, deadline = [moved], self.search, self.run.deadline
        search.finished = not deadline.interrupted

        def work() -> None:
            squares = least_squares_move(search.adjustment, moved, deadline, self.perturber.progress)
            search.finished = search.finished and squares.finished
            search.counters |= {
                "sum of squares bound": squares.bound,
                "quadratic programs": squares.programs,
            }
            found[0] = squares.moved

        self.until_interrupted(work)
        return found[0]

    # ------------------------------------------------------------------ the result

    def in_integer_units(self, moved: Floats) -> Floats:
        """A move in integer units if possible; the first perturbation where a stopped one is not additive."""
        if self.first is not None and moved is self.first.moved:
            return moved
        adjustment, deadline = self.search.adjustment, self.run.deadline
        settings, squares = adjustment.settings.integer_units, self.params.distance == "L2"
        units = IntegerUnits(adjustment.problem, settings, squares)
        ends = adjustment.ends(adjustment.senses(moved))
        found, whole = units.fewest_digits_until(moved, ends, deadline)
        stopped = deadline.stops and not is_additive(adjustment.problem, found)
        first = self._fallback() if stopped else None
        if first is not None:
            return first.moved
        if not whole:
            self._note(FRACTIONS)
        return found

    def proposal(self, moved: Floats) -> Proposal:
        """The proposal of a move, or of one that attackers cannot undo where it is open to them."""
        problem, search, squares = self.perturber.problem, self.search, self.params.distance == "L2"
        pattern = pattern_of(problem, self.perturber.ranges, moved)
        deadline, progress = self.run.deadline, self.perturber.progress
        verdict = self.run.until_stopped(
            lambda: audit_within(problem, pattern, deadline, progress, takes=self.took)
        )
        safe = verdict is not None and verdict.safe
        if not safe:
            self.until_interrupted(self._protect)
            if self.protected is None:
                self._note(UNJUDGED if verdict is None else OPEN)
            else:
                moved, safe = self.protected, True
                pattern = pattern_of(problem, self.perturber.ranges, moved)
        cost = cost_of(problem, moved)
        bound = None if squares else min(search.bound, cost)
        if squares:
            search.counters["sum of squares"] = square_sum(problem, moved)
            self._note("the bound is on the sum of squares: see the counters")
        closed = bound is not None and is_closed(cost, bound)
        proven = Status.OPTIMAL if closed and safe else Status.FEASIBLE
        status = self.run.status(proven, complete=search.finished)
        engine = "HiGHS" if self.protected is None else "HiGHS, rows on demand"
        return Proposal(
            pattern, status, engine, bound, search.counters, tuple(self.notes), may_leave_open=not safe
        )

    def _protect(self) -> None:
        """Add cuts against attackers: a safe result is `protected`."""
        perturber, search, deadline = self.perturber, self.search, self.run.deadline
        problem, settings = perturber.problem, perturber.settings.protection
        levels = int(problem.sensitive.sum()) * len(problem.attacker_names)
        small = len(problem.table) <= settings.attacked_cells and levels <= settings.attacked_levels
        if not (self.params.protect_attackers and small) or deadline.passed():
            return
        found = perturber.against_attackers(deadline)
        if not found.safe:
            return
        search.raise_bound(found.bound, found.cost)
        if not found.whole:
            self._note(FRACTIONS)
        self.protected, search.counters["rows"] = found.moved, found.rows
        squares = self.params.distance == "L2"
        for note in [NEAR_LEAST] * squares + [COUNTED_ON]:
            self._note(note)
        if squares:
            self.protected = towards_least_squares(
                search.adjustment, found.moved, deadline, perturber.progress
            )
