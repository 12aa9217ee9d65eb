"""suppress-auto: a good pattern soon, a better one with every second, and the proof where there is time for it.

1. *Fast methods* that fit the table, one after the other: on networks shortest paths, by weight and by strata; on other
   tables linear programs in several ways. The first gets all the time if it needs it: a pattern comes before everything
   else. The others follow only if little time has passed. The cheapest pattern is kept.
   Other grids where linear programs, one for each level, would take most of the time have a pattern of hypercubes first
   (`heuristics.hypercubes`), within seconds. With a time limit all tables that are not networks then get a pattern of
   few deviations (`heuristics.initial_pattern.by_deviations`); if that shows that there is no time for the fast
   methods, they are left out, and the hypercubes are improved where they are cheaper.
2. *The exact recipe* (`branch_and_cut.solver`) starts from it: the relaxation gives a bound and guides searches, large
   neighbourhoods of the best pattern are searched, with a time limit on general tables as long as the relaxation takes,
   and branch and cut ends it where it can.

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
from functools import cached_property
from typing import Any

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import is_network, structure_of
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, Run
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams, Start, uses_scip
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import CubeSearch, Search, by_deviations, eliminated
from tablecloak.model import Problem, Requirement, Status, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress

OTHERS = 0.3
"""Fast methods after the first get at most this share of the time that is left."""
QUICK = 0.1
"""They follow while no more than this share of the time has passed."""
NEIGHBOURHOODS = 1.0
"""On general tables neighbourhoods get so many seconds for each second of the root of the exact recipe."""
PROGRAM_SECONDS = 2e-6
"""About so long, for each exposed level and each cell, linear programs took for all levels of a table."""
BOUNDED, MODERATE, MUCH = 0.05, 0.2, 0.5
"""If they would take up to this share of the time: flows that start from a bound; flows (they take some times as long);
no hypercubes."""
CUBES_FIRST = 0.02
"""With a time limit, no hypercubes only up to this share: on a busy machine linear programs take several times as long,
and a pattern comes before everything else."""
WORK = "work limit"
"""What ended a run without a time limit."""
LONG = 600.0
"""What counts as the time if there is no limit."""


@dataclass(frozen=True)
class AutoSettings:
    """The work that is done: without a time limit counted, so that the same seed gives the same pattern anywhere.

    Meant to end within about a minute on 30,000 cells (`benchmarks/run.py methods`, tau_testW).
    """

    first_method_cells: int = 5_000
    """General tables with more cells get the first fast method only."""
    exact_levels: int = 300
    """General tables with more sensitive cells times attackers get no exact recipe."""
    exact_levels_on_networks: int = 3_000
    """The same for networks."""
    exact_work: int = 2_000_000
    """General tables with more such levels times cells get no exact recipe. Untested default."""
    exact_work_on_networks: int = 50_000_000
    """The same for networks. Untested default."""
    exchange_searches: int = 30_000
    """Maximum number of hypercubes sought by exchanges (15 s on 30,886 cells; all exchanges gain 0.3% more in 40 s)."""
    quick_exchanges: int = 1_000
    """The same with a time limit, before deviations are tried."""
    deviation_share: float = 0.5
    """With a time limit: the share of the time left for a pattern of few deviations, if there is another already."""
    program_factor: float = 3.0
    """Linear programs for each level take about this many times as long as a pattern of few deviations took."""


SETTINGS = AutoSettings()


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
    settings: AutoSettings = SETTINGS,
) -> Proposal:
    """The best safe pattern that was found, with a proven bound on the cost of every safe pattern."""
    exact = ExactParams(
        gap=params.gap, nodes=params.nodes if params.seconds is None else None, neighbourhoods=NEIGHBOURHOODS
    )
    uses_scip(exact)  # wrong parameters are told at once
    told, run = _Best(progress), Run(params.seconds)
    fast = _Fast(problem, run.deadline, rng, told, executor, settings)
    with run.stoppable():
        fast.run()
    much = run.deadline.moment is None and _is_much(problem, settings)
    if fast.best is not None and (run.deadline.passed() or much):
        status = run.status(fast.best.status)
        counters = {**fast.tried, **fast.best.counters}
        return _with_advice(replace(fast.best, status=status, counters=counters, stopped_by=WORK))
    if fast.best is None and run.deadline.passed() and problem.is_monotone:
        return Proposal(
            Suppression.copy_of(fast.allowed),
            run.status(Status.FEASIBLE),
            "none",
            counters=fast.tried,
            notes=(HIDES_EVERYTHING,),
        )
    hidden = None if fast.best is None else fast.best.pattern.touched(problem)
    found = BranchAndCut(problem, exact, rng, told, Start(hidden, fast.others), run).run()
    return _with_advice(replace(found, counters={**fast.tried, **found.counters}))


def _with_advice(found: Proposal) -> Proposal:
    """With one note on what more time would buy, where counted work ended the run."""
    if found.status is not Status.FEASIBLE or found.stopped_by != WORK:
        return replace(found, stopped_by="" if found.status is not Status.FEASIBLE else found.stopped_by)
    gain = "a bound and perhaps a cheaper pattern" if found.bound is None else "a smaller gap"
    return replace(
        found,
        notes=(*found.notes, f"ended after a fixed amount of work: `seconds` would buy {gain}"),
    )


def _is_much(problem: Problem, settings: AutoSettings) -> bool:
    """Whether the exact recipe would take long."""
    levels, most = settings.exact_levels, settings.exact_work
    if is_network(problem):
        levels, most = settings.exact_levels_on_networks, settings.exact_work_on_networks
    asked = _asked(problem)
    return asked > levels or asked * len(problem.table) > most


def _asked(problem: Problem) -> int:
    """Cells that are hidden anyway times attackers."""
    return int(problem.must_hide.sum()) * len(problem.attacker_names)


class _Fast:
    """The fast methods, and the best of their patterns."""

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline,
        rng: np.random.Generator,
        progress: Progress,
        executor: Executor | None,
        settings: AutoSettings = SETTINGS,
    ) -> None:
        self.settings = settings
        self.problem, self.deadline, self.progress = problem, deadline, progress
        self.rng, self.executor = rng, executor
        self.best: Proposal | None = None
        self.tried: dict[str, float] = {}
        self.cubes: CubeSearch | None = None
        """Hypercubes that meet all levels."""
        self.others: list[Bools] = []
        """The patterns of all methods that came to their end."""

    def run(self) -> None:
        """One after the other, the others only if the first was quick."""
        whole = self.deadline.left
        if self._hypercubes() or self._deviations():
            return
        for number, (name, settings) in enumerate(self._methods()):
            self._try(name, settings, OTHERS if number else 1.0)
            slow = (
                len(self.problem.table) > self.settings.first_method_cells and not is_network(self.problem)
                if whole == math.inf
                else self.deadline.left < (1 - QUICK) * whole
            )
            if slow or self.deadline.passed():
                return

    def _methods(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Names and parameters. The exact recipe has one more search of its own on networks."""
        if not is_network(self.problem):
            expected = self._expected(2 * _asked(self.problem))
            if expected <= MODERATE:
                starts = ("bound", "none") if expected <= BOUNDED else ("none", "bound")
                yield from (("suppress-network-flow", {"initial": start}) for start in starts)
            yield "suppress-greedy", {}
            yield "suppress-kelly-lp", {}
        elif (self.problem.table.values >= 0).all():
            yield "suppress-shortest-path", {"costs": "weight"}
            yield "suppress-shortest-path", {"costs": "strata"}

    def _expected(self, levels: int) -> float:
        """About what share of the time linear programs for so many levels would take."""
        whole = LONG if self.deadline.left == math.inf else max(self.deadline.left, 1e-9)
        return PROGRAM_SECONDS * levels * len(self.problem.table) / whole

    def _hypercubes(self) -> bool:
        """A pattern of hypercubes on large grids that are not networks; True if that is all there is time for."""
        problem = self.problem
        least = MUCH if self.deadline.moment is None else CUBES_FIRST
        if (
            is_network(problem)
            or self._expected(2 * _asked(problem)) <= least
            or not CubeSearch.fits(problem)
        ):
            return False
        if self.allowed.any() and self.deadline.passed():
            return True
        expected = self._expected(len(self.requirements))
        if expected <= least:
            return False
        limited, too_long = self.deadline.moment is not None, expected > 1.0
        within = self.deadline.share(OTHERS)
        rng = self.rng.spawn(1)[0]  # other methods find the same as without this one
        search = CubeSearch(problem, self.allowed, self.requirements, rng, self.progress, within)
        hidden: Bools | None = None
        with self.deadline.stoppable():
            search.build()
            hidden = self._completed(search, within)
            if hidden is not None and too_long and not search.unmet:
                most = self.settings.quick_exchanges if limited else self.settings.exchange_searches
                search.exchange(most)
        if not search.unmet:  # else it was stopped within an exchange, or linear programs have added to it
            self.cubes, hidden = search, search.hidden
        if hidden is not None:
            self._adopt("hypercubes", hidden, within, {"exchanges": search.exchanged})
        return (too_long and not limited and hidden is not None) or self.deadline.interrupted

    def _deviations(self) -> bool:
        """With a time limit: a pattern of few deviations; True if programs for each level would take too long.

        How long they would take follows from how long the deviations took, on this machine and with its present load.
        """
        if self.deadline.moment is None or is_network(self.problem) or not self.problem.is_monotone:
            return False
        if self.allowed.any() and self.deadline.passed():
            return True
        before, within = self.deadline.left, self.deadline
        if self.best is not None:
            within = within.share(self.settings.deviation_share)
        hidden: Bools | None = None
        with self.deadline.stoppable():
            hidden = by_deviations(self.problem, self.allowed, self.requirements, self.progress, within)
        if hidden is not None:
            self._adopt("deviations", hidden, within, {})
        if self.cubes is not None and (hidden is None or self._cost(hidden) > self.cubes.cost):
            self._improve(self.cubes, to_the_end=hidden is None)
        took = before - self.deadline.left
        return self.deadline.passed() or (
            self.best is not None and self.settings.program_factor * took > self.deadline.left
        )

    def _improve(self, search: CubeSearch, *, to_the_end: bool) -> None:
        """Hypercubes without redundant suppressions; `to_the_end`: then exchanges until the time is up."""
        start = search.hidden
        hidden = eliminated(self.problem, self.requirements, start, self.progress, self.deadline)
        if to_the_end and np.array_equal(hidden, start):
            search.deadline = self.deadline
            with self.deadline.stoppable():
                search.exchange()
            hidden = start if search.unmet else search.hidden
        self._adopt("hypercubes", hidden, self.deadline, {"exchanges": search.exchanged})

    def _cost(self, hidden: Bools) -> float:
        return float(self.problem.weights[hidden & ~self.problem.must_hide].sum())

    def _adopt(self, name: str, hidden: Bools, within: Deadline, counters: Mapping[str, float]) -> None:
        """Report a pattern, and keep it if it is the cheapest so far."""
        cost = self._cost(hidden)
        self.tried[f"cost by {name}"] = cost
        self.progress(name, 1, 1, cost)
        if self.best is None or cost < self.best.pattern.loss(self.problem):
            self.best = Proposal(
                Suppression.copy_of(hidden),
                Status.TIME_LIMIT if within.passed() else Status.FEASIBLE,
                f"{name} on {structure_of(self.problem.table).description}",
                counters=counters,
            )

    @cached_property
    def allowed(self) -> Bools:
        """The cells that may be hidden."""
        return hide_everything(self.problem, self.progress)

    @cached_property
    def requirements(self) -> list[Requirement]:
        """The levels that the cells hidden anyway do not meet."""
        problem = self.problem
        return unmet_requirements(
            problem, audit(problem, Suppression.copy_of(problem.must_hide), progress=self.progress)
        )

    def _completed(self, search: CubeSearch, within: Deadline) -> Bools | None:
        """What hypercubes hide, and what linear programs add for levels that have none. None: not in time."""
        if not search.unmet:
            return search.hidden
        if within.moment is not None:
            start = (search.hidden, search.unmet)
            return by_deviations(
                self.problem, self.allowed, self.requirements, self.progress, self.deadline, start=start
            )
        rest = Search(
            self.problem, self.allowed, self.progress, within, start=search.hidden, met=self.requirements
        )
        rest.construct()
        return rest.hidden if rest.complete else None

    def _try(self, name: str, settings: Mapping[str, Any], share: float) -> None:
        """A method for at most this share of the time that is left; nothing happens if it does not fit."""
        from tablecloak.methods import METHODS

        method, left = METHODS[name], self.deadline.left
        seconds = None if left == math.inf else share * left
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
        if found.status is Status.INTERRUPTED and self.deadline.interrupt is not None:
            self.deadline.interrupt.raised = True
        cost = found.pattern.loss(self.problem)
        if found.status is Status.FEASIBLE:
            self.others.append(found.pattern.touched(self.problem))
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
