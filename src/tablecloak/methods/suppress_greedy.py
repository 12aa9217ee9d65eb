"""suppress-greedy: protect each exposed level by its cheapest deviation, then clean up.

1. Hide everything that may be hidden. If a level is still not met, no pattern can meet it: `InfeasibleProblem`.
   Cells whose *conditional* width cannot be met even then can never be hidden; dropping them and repeating ends
   in the largest feasible pattern, because adding hidden cells only widens intervals.
2. Hide only what must be hidden and audit. What is not met are the requirements, largest first, the outsider's first.
3. For each requirement hide the cells of its cheapest deviation (`heuristics.deviation`). A deviation often meets other
   requirements too. A run that is stopped before all are met ends with the initial pattern
   (`heuristics.initial_pattern`).
4. Eliminate redundant suppressions: in order of decreasing weight, try to publish each complementary cell. Only
   requirements whose witness moves that cell need another deviation without it.

Reference: Kelly, Golden & Assad (1992); the clean-up follows Fischetti & Salazar (2001) with stored witnesses.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from tablecloak.attacker import structure_of
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, Run
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import (
    FIRST_KEPT,
    WITNESS_SETTINGS,
    LpConstruction,
    WitnessSettings,
    first_pattern,
)
from tablecloak.model import Problem, Status, Suppression, unmet_requirements
from tablecloak.progress import Progress


@dataclass(frozen=True)
class GreedyParams:
    """Parameters of suppress-greedy."""

    seconds: float | None = None
    """Stop after so long with the best pattern so far."""
    clean_up: bool = True
    """Try to publish complementary cells again at the end."""
    reweight: int = 2
    """Solve each step again so many times with prices w / |d|, which concentrates the deviation on fewer cells."""


def suppress_greedy(
    problem: Problem,
    *,
    params: GreedyParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
    settings: WitnessSettings = WITNESS_SETTINGS,
) -> Proposal:
    """An audited suppression on every feasible problem without a bound on the number of touched cells."""
    if problem.most_touched is not None:
        raise NotApplicable(
            "suppress-greedy cannot honour a bound on the number of touched cells.",
            needs="a problem without most_touched",
            instead=["suppress-compact"],
        )
    run = Run(params.seconds)
    allowed = hide_everything(problem, progress)
    search = LpConstruction(problem, allowed, progress, run.deadline, reweight=params.reweight)
    hidden, notes = allowed, (HIDES_EVERYTHING,)
    with run.stoppable():
        requirements = unmet_requirements(
            problem, audit(problem, Suppression.copy_of(problem.must_hide), progress=progress)
        )
        first = first_pattern(problem, allowed, requirements, progress, run.deadline)
        if first is not None:
            hidden, notes = first, (FIRST_KEPT,)
        search.construct()
        if params.clean_up and not run.deadline.passed():
            search.eliminate_redundant(settings)
    return Proposal(
        Suppression.copy_of(search.hidden if search.complete else hidden),
        run.status(Status.FEASIBLE, complete=search.complete),
        f"linear programs on {structure_of(problem.table).description}",
        counters={
            "requirements": search.requirements_seen,
            "deviations": search.solves,
            "published again": search.published_again,
            "rounds": search.rounds,
        },
        notes=() if search.complete else notes,
    )
