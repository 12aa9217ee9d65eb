"""suppress-auto: a good pattern soon, a better one with every second, and the proof where there is time for it.

Small tables are solved by branch and cut with dense rows (`branch_and_cut.small`), most of them in milliseconds.
What that does not prove with a fixed amount of work has these steps:

1. *Fast methods* that fit the table, one after the other: on networks shortest paths, by weight and by strata; on other
   tables linear programs in several ways. The first gets all the time if it needs it: a pattern comes before everything
   else. The others follow only if little time has passed. The cheapest pattern is kept.
   Other grids where linear programs, one for each level, would take most of the time have a pattern of hypercubes first
   (`heuristics.hypercubes`), and tables of any equations one by strata (`heuristics.strata`), within seconds; where
   programs would take all of the time, the search over orders of the strata has it. With a time limit all other
   non-network tables then get a pattern of few deviations (`heuristics.initial_pattern`); if that shows that there is
   no time for the fast methods, they are left out, and the strata or hypercubes are improved where they are cheaper.
2. *Bound by subtables* (`subtables.additive_bound`), with a time limit on non-network tables, for a share of the time
   that the fast methods leave alone: it is proven long before the relaxation of a large table. The result states the
   better one of this bound and that of branch and cut.
3. *Branch and cut* (`branch_and_cut.solver`) starts from it: the relaxation gives a bound and guides construction,
   large neighbourhoods of the incumbent are searched, with a time limit on non-network tables as long as the relaxation
   takes, and the tree ends it where it can.

All choices by size are made by `choose_strategy`. With a time limit the method works until then, or until the optimum
is proven. Without one it does a fixed amount of work, so that the same seed gives the same pattern: tables with many
cells get the first fast method only, problems with many levels no branch and cut, others `nodes` nodes of it. The
result says how good it is proven to be.

Reference: Rice (1976), The algorithm selection problem; the papers of the methods it uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import is_network, structure_of
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import HIDES_EVERYTHING, MethodFunction, Proposal, Run, complementary_cost
from tablecloak.methods.branch_and_cut import (
    BranchAndCut,
    ExactParams,
    ExactSettings,
    Start,
    check_parameters,
)
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import (
    CubeSearch,
    FirstPatternSettings,
    LpConstruction,
    OneByOneParams,
    QuickPattern,
    StrataSearch,
    StrataSettings,
)
from tablecloak.methods.subtables import AdditiveBound, SubtableSettings
from tablecloak.methods.suppress_greedy import GreedyParams, suppress_greedy
from tablecloak.methods.suppress_kelly_lp import KellyLpParams, suppress_kelly_lp
from tablecloak.methods.suppress_network_flow import NetworkFlowParams, suppress_network_flow
from tablecloak.methods.suppress_shortest_path import ShortestPathParams, suppress_shortest_path
from tablecloak.model import Problem, Requirement, Status, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import OPTIMALITY

WORK = "work limit"
"""What ended a run without a time limit."""


@dataclass(frozen=True)
class AutoSettings:
    """The work that is done: without a time limit counted, so that the same seed gives the same pattern anywhere.

    Meant to end within about a minute on 30,000 cells (`benchmarks/run.py methods`, tau_testW).
    """

    small_cells: int = 600
    """Tables with no more cells are solved with dense rows first, if these fit. Untested default."""
    small_share: float = 0.3
    """Their share of the time, if there is a limit. Untested default."""
    first_method_cells: int = 5_000
    """Non-network tables with more cells get the first fast method only. Supported by benchmark part methods."""
    exact_levels: int = 300
    """Non-network tables with more sensitive cells times attackers get no branch and cut. Supported by benchmark part
    methods."""
    exact_levels_on_networks: int = 3_000
    """Networks with more sensitive cells times attackers get no branch and cut. Supported by benchmark part methods."""
    exact_work: int = 2_000_000
    """Non-network tables with more such levels times cells get no branch and cut. Untested default."""
    exact_work_on_networks: int = 50_000_000
    """Networks with more such levels times cells get no branch and cut. Untested default."""
    exchange_searches: int = 30_000
    """Maximum number of hypercubes sought by exchanges (15 s on 30,886 cells; all exchanges gain 0.3% more in 40 s)."""
    quick_exchanges: int = 1_000
    """Maximum number of hypercubes sought by exchanges with a time limit, before deviations are tried. Untested
    default."""
    strata_from: float = 0.05
    """With a time limit, patterns by strata are sought if programs take more than this share of it; without one as
    hypercubes. Untested default."""
    strata_share: float = 0.25
    """With a time limit: the share of the time left for a pattern by strata, and for the search from it if it is the
    cheapest; all of it where programs for each level would take longer. Untested default."""
    strata_steps: int = 12
    """Without one: the number of steps of the search by strata. Untested default."""
    deviation_share: float = 0.5
    """With a time limit: the share of the time left for a pattern of few deviations, if there is another already.
    Untested default."""
    program_factor: float = 3.0
    """Linear programs for each level take about this many times as long as a pattern of few deviations took. Untested
    default."""
    later_share: float = 0.3
    """Maximum share of the time left for each fast method after the first. Untested default."""
    quick_share: float = 0.1
    """Fast methods after the first follow while no more than this share of the time has passed. Untested default."""
    neighbourhoods: float = 1.0
    """On non-network tables, seconds of neighbourhood search for each second of the root of branch and cut. Untested
    default."""
    program_seconds: float = 2e-6
    """Seconds that linear programs for all levels of a table take, for each exposed level and each cell. Untested
    default."""
    bounded_share: float = 0.05
    """Flows start from a lower bound if programs take up to this share of the time. Untested default."""
    flow_share: float = 0.2
    """Flows, which take some times as long, are tried if programs take up to this share. Untested default."""
    program_share: float = 0.5
    """Hypercubes come first if programs take more than this share of `unlimited_seconds`. Untested default."""
    limited_program_share: float = 0.02
    """With a time limit, hypercubes come first if programs take more than this share of it: on a busy machine linear
    programs take several times as long, and a pattern comes before everything else. Untested default."""
    bound_share: float = 0.25
    """With a time limit on non-network tables: the share of the time for the bound by subtables. Benchmark part:
    subtables."""
    unlimited_seconds: float = 600.0
    """What counts as the time if there is no limit. Untested default."""
    first: FirstPatternSettings = FirstPatternSettings()
    """Hypercubes, deviations, and the construction that adds to them."""
    strata: StrataSettings = StrataSettings()
    subtables: SubtableSettings = SubtableSettings()
    exact: ExactSettings = ExactSettings()


@dataclass(frozen=True)
class FastMethod:
    """A recipe that the portfolio runs, with parameters; the problem is in whole data units already."""

    name: str
    """The name in the report: the method's, and what tells its runs apart."""
    function: MethodFunction
    params: GreedyParams | OneByOneParams

    def __str__(self) -> str:
        return self.name


SHORTEST_PATHS = (
    FastMethod("suppress-shortest-path weight", suppress_shortest_path, ShortestPathParams(costs="weight")),
    FastMethod("suppress-shortest-path strata", suppress_shortest_path, ShortestPathParams(costs="strata")),
)
FLOWS = FastMethod("suppress-network-flow none", suppress_network_flow, NetworkFlowParams(initial="none"))
FLOWS_FROM_BOUND = FastMethod(
    "suppress-network-flow bound", suppress_network_flow, NetworkFlowParams(initial="bound")
)
PROGRAMS = (
    FastMethod("suppress-greedy", suppress_greedy, GreedyParams()),
    FastMethod("suppress-kelly-lp", suppress_kelly_lp, KellyLpParams()),
)


@dataclass(frozen=True)
class Strategy:
    """What is tried on a problem, in this order."""

    hypercubes: bool
    """Whether a pattern of hypercubes comes first, unless few requirements are unmet."""
    strata: bool
    """Whether a pattern by strata comes next."""
    deviations: bool
    """Whether a pattern of few deviations comes next."""
    fast_methods: tuple[FastMethod, ...]
    only_first: bool
    """Whether the first of them is the only one."""
    subtables: bool
    """Whether a bound by subtables follows."""
    exact: bool
    """Whether branch and cut follows."""

    def __str__(self) -> str:
        fast = self.fast_methods[:1] if self.only_first else self.fast_methods
        steps = {
            "hypercubes": self.hypercubes,
            "strata": self.strata,
            "few deviations": self.deviations,
        }
        chosen = [name for name, holds in steps.items() if holds] + [str(method) for method in fast]
        last = {"bound by subtables": self.subtables, "branch and cut": self.exact}
        return ", ".join([*chosen, *(name for name, holds in last.items() if holds)])


def choose_strategy(
    problem: Problem, seconds: float | None = None, settings: AutoSettings = AutoSettings()
) -> Strategy:
    """All choices by size, for the time there is (None: no limit)."""
    network, cells, levels = is_network(problem), len(problem.table), _levels(problem)
    limited = seconds is not None
    share = _program_share(problem, 2 * levels, seconds, settings)
    most_levels, most_work = settings.exact_levels, settings.exact_work
    if network:
        most_levels, most_work = settings.exact_levels_on_networks, settings.exact_work_on_networks
    return Strategy(
        hypercubes=not network and share > _hypercube_share(seconds, settings) and CubeSearch.fits(problem),
        strata=not network
        and share > _strata_share(seconds, settings)
        and StrataSearch.fits(problem, settings.strata),
        deviations=limited and not network and problem.is_monotone,
        fast_methods=_fast_methods(problem, share, settings),
        only_first=not limited and cells > settings.first_method_cells and not network,
        subtables=limited and not network,
        exact=limited or (levels <= most_levels and levels * cells <= most_work),
    )


def _fast_methods(problem: Problem, share: float, settings: AutoSettings) -> tuple[FastMethod, ...]:
    """Heuristics that fit the equations; branch and cut has one more of its own on networks."""
    if is_network(problem):
        if (problem.table.values < 0).any():
            return ()
        return SHORTEST_PATHS
    flows = (FLOWS_FROM_BOUND, FLOWS) if share <= settings.bounded_share else (FLOWS, FLOWS_FROM_BOUND)
    return (*flows, *PROGRAMS) if share <= settings.flow_share else PROGRAMS


def _program_share(problem: Problem, levels: int, seconds: float | None, settings: AutoSettings) -> float:
    """About what share of the time linear programs for this number of levels would take."""
    whole = settings.unlimited_seconds if seconds is None else max(seconds, 1e-9)
    return settings.program_seconds * levels * len(problem.table) / whole


def _hypercube_share(seconds: float | None, settings: AutoSettings) -> float:
    """The share of the time from which on hypercubes come before linear programs."""
    return settings.program_share if seconds is None else settings.limited_program_share


def _strata_share(seconds: float | None, settings: AutoSettings) -> float:
    """The share of the time from which on patterns by strata come before linear programs."""
    return settings.program_share if seconds is None else settings.strata_from


def _levels(problem: Problem) -> int:
    """Cells that are hidden anyway times attackers."""
    return int(problem.must_hide.sum()) * len(problem.attacker_names)


@dataclass(frozen=True)
class AutoParams:
    """Parameters of suppress-auto."""

    seconds: float | None = None
    """Work for this number of seconds, unless the optimum is proven before."""
    gap: float = 0.0
    """Stop when cost and bound differ by no more than this share of the cost."""
    nodes: int = 200
    """Without a time limit: stop after this number of nodes of branch and cut."""


def suppress_auto(
    problem: Problem,
    *,
    params: AutoParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: AutoSettings = AutoSettings(),
) -> Proposal:
    """The best safe pattern that was found, with a proven bound on the cost of every safe pattern."""
    exact = ExactParams(
        gap=params.gap,
        nodes=params.nodes if params.seconds is None else None,
        neighbourhoods=settings.neighbourhoods,
    )
    check_parameters(exact)  # wrong parameters are an error at once
    report, run = BestReport(progress), Run(params.seconds)
    small = _small(problem, exact, rng, report, run, settings)
    if small is not None and small.run_small(settings.small_share):
        return small.proposal()
    reserved = settings.bound_share * run.deadline.left if _has_subtables(problem, run, settings) else 0.0
    fast = FastMethods(problem, run.deadline.earlier(reserved), rng, report, settings)
    with run.stoppable():
        fast.run()
    if small is not None:
        fast.adopt_small(small)
    bound = 0.0 if small is None else small.gap.bound
    if reserved > 0.0 and fast.best is not None and not run.deadline.passed():
        by_parts = _bound_by_subtables(problem, fast, run.deadline, reserved, report, settings.subtables)
        bound = max(bound, by_parts)
    late = run.deadline.passed()
    if fast.best is not None and (late or not choose_strategy(problem, fast.seconds_left, settings).exact):
        status = run.status(fast.best.status)
        counters = {**fast.tried, **fast.best.counters}
        best = replace(fast.best, status=status, counters=counters, stopped_by=WORK)
        return _with_advice(_with_bound(best, problem, bound))
    if fast.best is None and late and problem.is_monotone:
        return Proposal(
            Suppression.copy_of(fast.allowed),
            run.status(Status.FEASIBLE),
            "none",
            counters=fast.tried,
            notes=(HIDES_EVERYTHING,),
        )
    hidden = None if fast.best is None else fast.best.pattern.touched(problem)
    found = BranchAndCut(problem, exact, rng, report, Start(hidden, fast.others, run), settings.exact).run()
    found = replace(found, counters={**fast.tried, **found.counters})
    return _with_advice(_with_bound(found, problem, bound))


def _small(
    problem: Problem,
    params: ExactParams,
    rng: np.random.Generator,
    report: Progress,
    run: Run,
    settings: AutoSettings,
) -> BranchAndCut | None:
    """Branch and cut for a problem that dense rows may solve; None if it is not small."""
    if len(problem.table) > settings.small_cells or run.deadline.passed():
        return None
    own = replace(params, nodes=None, neighbourhoods=0.0)
    solver = BranchAndCut(problem, own, rng, report, Start(run=run), settings.exact)
    return solver if solver.is_small or solver.model.is_trivial else None


def _has_subtables(problem: Problem, run: Run, settings: AutoSettings) -> bool:
    """Whether a bound by subtables has a share of the time."""
    seconds = None if run.deadline.moment is None else run.deadline.left
    return choose_strategy(problem, seconds, settings).subtables and not run.deadline.passed()


def _bound_by_subtables(
    problem: Problem,
    fast: FastMethods,
    deadline: Deadline,
    seconds: float,
    report: Progress,
    settings: SubtableSettings,
) -> float:
    """What subtables prove in this number of seconds, at most until the deadline."""
    within = deadline.share(min(1.0, seconds / deadline.left))
    bound = AdditiveBound(replace(problem, most_touched=None), fast.allowed, within, report, settings)
    bound.solve()
    fast.tried["bound by subtables"] = bound.value
    return bound.value


def _with_bound(found: Proposal, problem: Problem, bound: float) -> Proposal:
    """With the better bound; a pattern that costs no more is optimal."""
    if found.status is Status.OPTIMAL or bound <= (found.bound or 0.0):
        return found
    cost = found.pattern.loss(problem)
    closed = cost - bound <= OPTIMALITY * abs(cost)
    return replace(
        found,
        bound=min(bound, cost),
        status=Status.OPTIMAL if closed else found.status,
        stopped_by="" if closed else found.stopped_by,
    )


def _with_advice(found: Proposal) -> Proposal:
    """With one note on what more time would buy, where a fixed amount of work ended the run."""
    if found.status is not Status.FEASIBLE or found.stopped_by != WORK:
        return replace(found, stopped_by="" if found.status is not Status.FEASIBLE else found.stopped_by)
    gain = "a bound and perhaps a cheaper pattern" if found.bound is None else "a smaller gap"
    return replace(
        found,
        notes=(*found.notes, f"ended after a fixed amount of work: `seconds` would buy {gain}"),
    )


class FastMethods:
    """The steps before branch and cut, and the best of their patterns."""

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline,
        rng: np.random.Generator,
        progress: Progress,
        settings: AutoSettings = AutoSettings(),
    ) -> None:
        self.problem, self.deadline, self.rng = problem, deadline, rng
        self.progress, self.settings = progress, settings
        self.best: Proposal | None = None
        self.tried: dict[str, float] = {}
        self.cubes: CubeSearch | None = None
        """Hypercubes that meet all levels."""
        self.strata: StrataSearch | None = None
        """Patterns by strata."""
        self.others: list[Bools] = []
        """The patterns of all methods that came to their end."""

    @property
    def seconds_left(self) -> float | None:
        """Seconds left; None without a time limit."""
        return None if self.deadline.moment is None else self.deadline.left

    @property
    def _strategy(self) -> Strategy:
        """The strategy for the time that is left."""
        return choose_strategy(self.problem, self.seconds_left, self.settings)

    def run(self) -> None:
        """Run the steps one after the other, later methods only if the first was quick."""
        whole, strategy = self.deadline.left, self._strategy
        if strategy.hypercubes and self._hypercubes():
            return
        if strategy.strata and self._strata():
            return
        if strategy.deviations and self._deviations():
            self._search_strata(1.0)
            return
        self._search_strata(self.settings.strata_share)
        strategy = self._strategy
        for number, method in enumerate(strategy.fast_methods):
            self._try(method, self.settings.later_share if number else 1.0)
            slow = strategy.only_first or self.deadline.left < (1 - self.settings.quick_share) * whole
            if slow or self.deadline.passed():
                return

    def adopt_small(self, solver: BranchAndCut) -> None:
        """Keep the pattern that dense rows ended with, if it is one that they found."""
        hidden = solver.incumbent.pattern
        if hidden is not None and solver.incumbent.changes:
            self._adopt("dense rows", hidden, self.deadline, {})

    def _hypercubes(self) -> bool:
        """A pattern of hypercubes; True if that is all there is time for."""
        problem, settings, seconds = self.problem, self.settings, self.seconds_left
        if self.allowed.any() and self.deadline.passed():
            return True
        expected = _program_share(problem, len(self.requirements), seconds, settings)
        if expected <= _hypercube_share(seconds, settings):
            return False
        limited, too_long = self.deadline.moment is not None, expected > 1.0
        within = self.deadline.share(settings.later_share)
        rng = self.rng.spawn(1)[0]  # other methods find the same as without this one
        search = CubeSearch(
            problem, self.allowed, self.requirements, rng, self.progress, within, settings.first.cubes
        )
        hidden: Bools | None = None
        with self.deadline.stoppable():
            search.build()
            hidden = self._completed(search, within)
            if hidden is not None and too_long and not search.unmet and not self._strategy.strata:
                most = self.settings.quick_exchanges if limited else self.settings.exchange_searches
                search.exchange(most)
        if not search.unmet:  # else it was stopped within an exchange, or linear programs have added to it
            self.cubes, hidden = search, search.hidden
        if hidden is not None:
            self._adopt("hypercubes", hidden, within, {"exchanges": search.exchanged})
        done = too_long and not limited and hidden is not None and not self._strategy.strata
        return done or self.deadline.interrupted

    def _strata(self) -> bool:
        """A pattern by strata; True if programs for each level would take too long, and all the time went to it."""
        if self.allowed.any() and self.deadline.passed():
            return True
        expected = _program_share(self.problem, len(self.requirements), self.seconds_left, self.settings)
        rng = self.rng.spawn(1)[0]
        within = self.deadline if expected > 1.0 else self.deadline.share(self.settings.strata_share)
        given = self.problem, self.allowed, self.requirements, rng, self.progress, within
        self.strata = StrataSearch(*given, self.settings.strata)
        self.strata.build()
        if self.strata.best is None:
            return self.deadline.passed()
        self._adopt("strata", self.strata.best, within, {})
        if expected > 1.0:
            self._search_strata(1.0)
        return expected > 1.0 or self.deadline.passed()

    def _search_strata(self, share: float) -> None:
        """Search on for a share of the time left, if no other pattern is cheaper than that by strata."""
        search = self.strata
        if search is None or self.best is None or search.cost > self.best.pattern.loss(self.problem):
            return
        search.deadline = self.deadline.share(share)
        search.improve(np.inf if self.deadline.moment is not None else self.settings.strata_steps)
        assert search.best is not None
        self._adopt("strata", search.best, search.deadline, {"strata steps": search.steps})

    def _deviations(self) -> bool:
        """A pattern of few deviations; True if programs for each level would take too long.

        How long they would take follows from how long the deviations took, on this machine and with its present load.
        """
        if self.allowed.any() and self.deadline.passed():
            return True
        before, within = self.deadline.left, self.deadline
        if self.best is not None:
            within = within.share(self.settings.deviation_share)
        hidden: Bools | None = None
        with self.deadline.stoppable():
            hidden = self._quick(within).by_deviations()
        if hidden is not None:
            self._adopt("deviations", hidden, within, {})
        cheapest = math.inf if self.best is None else self.best.pattern.loss(self.problem)
        if self.cubes is not None and self.cubes.cost <= cheapest:
            self._improve(self.cubes, to_the_end=hidden is None)
        took = before - self.deadline.left
        return self.deadline.passed() or (
            self.best is not None and self.settings.program_factor * took > self.deadline.left
        )

    def _improve(self, search: CubeSearch, *, to_the_end: bool) -> None:
        """Hypercubes without redundant suppressions; `to_the_end`: then exchanges until the time is up."""
        start = search.hidden
        hidden = self._quick(self.deadline).eliminated(start)
        if to_the_end and np.array_equal(hidden, start):
            search.deadline = self.deadline
            with self.deadline.stoppable():
                search.exchange()
            hidden = start if search.unmet else search.hidden
        self._adopt("hypercubes", hidden, self.deadline, {"exchanges": search.exchanged})

    def _quick(self, within: Deadline) -> QuickPattern:
        given = self.problem, self.allowed, self.requirements, self.progress, within
        return QuickPattern(*given, self.settings.first)

    def _adopt(self, name: str, hidden: Bools, within: Deadline, counters: Mapping[str, float]) -> None:
        """Report a pattern, and keep it if it is the cheapest so far."""
        cost = complementary_cost(self.problem, hidden)
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
        bare = Suppression.copy_of(self.problem.must_hide)
        return unmet_requirements(self.problem, audit(self.problem, bare, progress=self.progress))

    def _completed(self, search: CubeSearch, within: Deadline) -> Bools | None:
        """What hypercubes hide, and what linear programs add for levels that have none. None: not in time."""
        if not search.unmet:
            return search.hidden
        if within.moment is not None:
            return self._quick(self.deadline).by_deviations((search.hidden, search.unmet))
        given, tuned = (self.problem, self.allowed, self.progress, within), self.settings.first.construction
        rest = LpConstruction(*given, start=search.hidden, met=self.requirements, settings=tuned)
        rest.construct()
        return rest.hidden if rest.complete else None

    def _try(self, chosen: FastMethod, share: float) -> None:
        """Run a method for at most this share of the time that is left, if it applies."""
        left = self.deadline.left
        params = replace(chosen.params, seconds=None if left == math.inf else share * left)
        try:
            found = chosen.function(self.problem, params=params, rng=self.rng, progress=self.progress)
        except NotApplicable:
            return
        if found.status is Status.INTERRUPTED and self.deadline.interrupt is not None:
            self.deadline.interrupt.raised = True
        cost = found.pattern.loss(self.problem)
        if found.status is Status.FEASIBLE:
            self.others.append(found.pattern.touched(self.problem))
        self.tried[f"cost by {chosen}"] = cost
        if self.best is None or cost < self.best.pattern.loss(self.problem):
            self.best = found


class BestReport:
    """Progress whose incumbent and bound are the best of all that were reported."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._best, self._bound = progress, math.inf, -math.inf

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        if incumbent is not None:
            self._best = min(self._best, incumbent)
        if bound is not None:
            self._bound = max(self._bound, bound)
        best, proven = (end if math.isfinite(end) else None for end in (self._best, self._bound))
        self._progress(phase, done, total, best, proven)
