"""suppress-auto: a good pattern soon, a better one with every second, and the proof where there is time for it.

1. *Fast methods* that fit the table, one after the other: on networks shortest paths, by weight and by strata; on other
   tables linear programs in several ways. The first gets most of the time if it needs it: a pattern comes before
   everything else. The others follow only if it was quick. The cheapest pattern is kept.
   Other grids with many exposed levels have a pattern of hypercubes before that (`cube_search`), within seconds. Where
   linear programs, one for each level, would take longer than there is time, it is improved by exchanges instead.
2. *The exact recipe* (`exact_run`) starts from it: the relaxation gives a bound and guides searches, large
   neighbourhoods of the best pattern are searched over the rows found so far, and branch and cut ends it where it can.

With a time limit it works until then, or until the optimum is proven. Without one it does a fixed amount of work, so
that the same seed gives the same pattern: tables with many cells get the first fast method only, problems with many
levels no exact recipe, others `nodes` nodes of it. What is returned says how good it is proven to be.

Reference: our notes, 4.11; the papers of the methods it uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.audit import audit
from tablecloak.audit.reduce import structure_of
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import Proposal, suppression
from tablecloak.methods.cube_search import CubeSearch
from tablecloak.methods.deviations import Task, open_tasks
from tablecloak.methods.exact_run import ExactParams, ExactRun, uses_scip
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.network_search import is_network
from tablecloak.methods.search import Search
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.result import Status

FIRST, OTHERS = 0.8, 0.15
"""The first fast method gets at most this share of the time that is left, each other one this."""
QUICK = 0.1
"""The others follow if the first took no more than this share of the time."""
MANY_CELLS = 5_000
"""Without a time limit, general tables with more cells get the first fast method only."""
MANY_LEVELS = 300
"""General tables with more exposed levels than this have a pattern of hypercubes first."""
PROGRAM_SECONDS = 2e-6
"""About so long, for each exposed level and each cell, linear programs took for all levels of a table."""
LONG = 600.0
"""Without a time limit linear programs that would take longer are not tried if there is a pattern of hypercubes."""
MANY, MANY_ON_NETWORKS = 300, 3_000
"""Without a time limit, problems with more sensitive cells times attackers than this get no exact recipe."""


@dataclass(frozen=True)
class AutoParams:
    """Parameters of suppress-auto."""

    seconds: float | None = None
    """Work for so long, unless the optimum is proven before."""
    gap: float = 0.0
    """Stop when cost and bound differ by no more than this share of the cost."""
    nodes: int = 200
    """Without a time limit: stop after so many nodes of branch and cut."""


def suppress_auto(
    problem: Problem,
    *,
    params: AutoParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The best safe pattern that was found, with a proven bound on the cost of every safe pattern."""
    exact = ExactParams(gap=params.gap, nodes=params.nodes if params.seconds is None else None)
    uses_scip(exact)  # wrong parameters are told at once
    told = _Best(progress)
    fast = _Fast(problem, Deadline.after(params.seconds), rng, told, executor)
    fast.run()
    left = fast.deadline.left
    ended = fast.stopped or left == 0.0
    if fast.best is not None and (ended or (left == math.inf and _is_much(problem))):
        status = Status.TIME_LIMIT if ended else fast.best.status
        return replace(fast.best, status=status, counters={**fast.tried, **fast.best.counters})
    exact = replace(exact, seconds=0.0 if fast.stopped else None if left == math.inf else left)
    hidden = None if fast.best is None else fast.best.pattern.touched(problem)
    found = ExactRun(problem, exact, rng, told, hidden).run()
    return replace(found, counters={**fast.tried, **found.counters})


def _is_much(problem: Problem) -> bool:
    """Whether the exact recipe would take long."""
    asked = int(problem.must_hide.sum()) * len(problem.attacker_names)
    return asked > (MANY_ON_NETWORKS if is_network(problem) else MANY)


class _Fast:
    """The fast methods, and the best of their patterns."""

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline,
        rng: np.random.Generator,
        progress: Progress,
        executor: Executor | None,
    ) -> None:
        self.problem, self.deadline, self.progress = problem, deadline, progress
        self.rng, self.executor = rng, executor
        self.best: Proposal | None = None
        self.stopped = False
        """Somebody pressed Ctrl-C."""
        self.tried: dict[str, float] = {}

    def run(self) -> None:
        """One after the other, the others only if the first was quick."""
        whole, share = self.deadline.left, FIRST
        if self._hypercubes():
            return
        for name, settings in self._methods():
            self._try(name, settings, share)
            slow = (
                len(self.problem.table) > MANY_CELLS and not is_network(self.problem)
                if whole == math.inf
                else self.deadline.left < (1 - QUICK) * whole and share == FIRST
            )
            if slow or self.stopped or self.deadline.passed():
                return
            share = OTHERS

    def _methods(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Names and parameters. The exact recipe has one more search of its own on networks."""
        if not is_network(self.problem):
            yield "suppress-kelly-lp", {}
            yield "suppress-elimination", {}
            yield "suppress-greedy", {}
        elif (self.problem.table.values >= 0).all():
            yield "suppress-shortest-path", {"costs": "weight"}
            yield "suppress-shortest-path", {"costs": "strata"}

    def _hypercubes(self) -> bool:
        """A pattern of hypercubes on large grids that are no networks; True if that is all there is time for."""
        problem = self.problem
        if is_network(problem) or not CubeSearch.fits(problem):
            return False
        allowed = largest_pattern(problem, self.progress)
        tasks = open_tasks(problem, audit(problem, suppression(problem.must_hide), progress=self.progress))
        if len(tasks) <= MANY_LEVELS:
            return False
        left, expected = self.deadline.left, PROGRAM_SECONDS * len(tasks) * len(problem.table)
        too_long = expected > (LONG if left == math.inf else FIRST * left)
        within = self.deadline if left == math.inf else Deadline.after((FIRST if too_long else OTHERS) * left)
        rng = self.rng.spawn(1)[0]  # other methods find the same as without this one
        search = CubeSearch(problem, allowed, tasks, rng, self.progress, within)
        hidden: Bools | None = None
        try:
            search.build()
            hidden = self._completed(search, allowed, tasks, within)
            if hidden is not None and too_long and not search.unmet:
                search.exchange()
        except KeyboardInterrupt:
            self.stopped = True
        if not search.unmet:  # else it was stopped within an exchange, or linear programs have added to it
            hidden = search.hidden
        if hidden is None:
            return self.stopped
        cost = float(problem.weights[hidden & ~problem.must_hide].sum())
        self.tried["cost by hypercubes"] = cost
        self.progress("hypercubes", 1, 1, cost)
        self.best = Proposal(
            suppression(hidden),
            Status.TIME_LIMIT if self.stopped or within.passed() else Status.FEASIBLE,
            f"hypercubes on {structure_of(problem.table).description}",
            counters={"exchanges": search.exchanged},
        )
        return too_long or self.stopped

    def _completed(
        self, search: CubeSearch, allowed: Bools, tasks: list[Task], within: Deadline
    ) -> Bools | None:
        """What hypercubes hide, and what linear programs add for levels that have none. None: not in time."""
        if not search.unmet:
            return search.hidden
        rest = Search(self.problem, allowed, self.progress, within, start=search.hidden, met=tasks)
        rest.construct()
        return rest.hidden if rest.complete else None

    def _try(self, name: str, settings: Mapping[str, Any], share: float) -> None:
        """A method for at most this share of the time that is left; nothing happens if it does not fit."""
        from tablecloak.methods import METHODS

        method, left = METHODS[name], self.deadline.left
        seconds = None if left == math.inf else share * left
        own = Deadline.after(seconds)
        try:
            found = method.function(
                self.problem,
                params=method.make_params({**settings, "seconds": seconds}),
                rng=self.rng,
                progress=self.progress,
                executor=self.executor,
            )
        except NotApplicable:
            return
        self.stopped = found.status is Status.TIME_LIMIT and not own.passed()
        cost = found.pattern.loss(self.problem)
        self.tried[" ".join(["cost by", name, *map(str, settings.values())])] = cost
        if self.best is None or cost < self.best.pattern.loss(self.problem):
            self.best = found


class _Best:
    """Passes progress on; the incumbent is the best of all that were told."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._best = progress, math.inf

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        if incumbent is not None:
            self._best = min(self._best, incumbent)
        self._progress(phase, done, total, self._best if math.isfinite(self._best) else None, bound)
