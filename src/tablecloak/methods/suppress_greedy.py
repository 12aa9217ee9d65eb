"""suppress-greedy: protect each exposed level by its cheapest deviation, then eliminate redundant suppressions.

1. Hide everything that may be hidden. If a level is still not met, no pattern can meet it: `InfeasibleProblem`.
   Cells whose *conditional* width cannot be met even then can never be hidden; dropping them and repeating ends
   in the largest feasible pattern, because adding hidden cells only widens intervals.
2. Hide only what must be hidden and audit. What is not met are the requirements, largest first, the outsider's first.
3. For each requirement hide the cells of its cheapest deviation (`heuristics.deviation`). A deviation often meets other
   requirements too. A run that is stopped before all are met ends with the initial pattern
   (`heuristics.initial_pattern`).
4. Eliminate redundant suppressions: in order of decreasing weight, try to publish each complementary cell. Only
   requirements whose witness moves that cell need another deviation without it.

Reference: Kelly, Golden & Assad (1992); the elimination follows Fischetti & Salazar-Gonzalez (2001),
with stored witnesses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.attacker import structure_of
from tablecloak.methods.base import Proposal, refuse_touched_bound
from tablecloak.methods.heuristics import (
    FirstPatternSettings,
    LpConstruction,
    SuppressionRun,
)
from tablecloak.model import Problem, Status, Suppression
from tablecloak.progress import Progress


@dataclass(frozen=True)
class GreedyParams:
    """Parameters of suppress-greedy."""

    seconds: float | None = None
    """Stop after so long with the best pattern so far."""
    clean_up: bool = True
    """Try to publish complementary cells again at the end."""
    reweight: int = 2
    """Maximum number of times that each step is solved again at prices w / |d|, which concentrates the deviation on
    fewer cells."""


def suppress_greedy(
    problem: Problem,
    *,
    params: GreedyParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: FirstPatternSettings = FirstPatternSettings(),
) -> Proposal:
    """An audited suppression on every feasible problem without a bound on the number of touched cells."""
    refuse_touched_bound(problem, "suppress-greedy", ["suppress-compact"])
    run = SuppressionRun(problem, params.seconds, progress, settings)
    given, tuned = (problem, run.allowed, progress, run.deadline), settings.construction
    search = LpConstruction(*given, reweight=params.reweight, settings=tuned)
    with run.stoppable():
        run.prepare()
        search.construct()
        if params.clean_up and not run.deadline.passed():
            search.eliminate_redundant()
    hidden, note = run.fallback
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
        notes=() if search.complete else (note,),
    )
