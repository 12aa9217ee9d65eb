"""What each step of suppress-optimal brings: the method without one of its steps, on a few instances.

A variant has other settings.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from cases.base import Make, Part, exact_row, sizes
from cases.real_data import csplib_problem
from runner import Case, Row
from tablecloak import METHODS, Problem, Result, protect
from tablecloak.attacker import NullSpaceSettings, OracleSettings
from tablecloak.methods.branch_and_cut import ExactSettings
from tablecloak.methods.branch_and_cut.settings import (
    NO_SHIFT,
    DecompositionSettings,
    IteratedGreedySettings,
    NeighbourhoodSettings,
    RootSettings,
    TreeSettings,
)
from tablecloak.methods.cuts import BridgelessSettings, CapacitySettings, GapLimitSettings
from tablecloak.methods.cuts.cut import StrengtheningSettings
from tablecloak.methods.heuristics import ConstructionSettings, FirstPatternSettings
from tablecloak.methods.heuristics.witnesses import WitnessSettings
from tablecloak.methods.suppress_optimal import suppress_optimal
from tablecloak.testing.instances import class_problem, generator_one, three_way_class_one

SECONDS = 120.0
AT_ONCE = GapLimitSettings(1e6, 2.0)
"""A gap so large that the incumbent's cost is the limit."""
DOUBLING = GapLimitSettings(0.05, 2.0)
UNSHIFTED = replace(TreeSettings().thorough, shifts=(NO_SHIFT,))
NO_TABLES = NullSpaceSettings(max_table_entries=-1)
"""Warm linear programs, whatever the size of the null space, also where nothing is free."""
ALL = "all of it"


def first_with(null_space: NullSpaceSettings) -> FirstPatternSettings:
    """Constructions whose witnesses come from null spaces of these sizes."""
    return FirstPatternSettings(
        construction=ConstructionSettings(witnesses=WitnessSettings(null_space=null_space))
    )


# ---------------------------------------------------------------------- variants


@dataclass(frozen=True)
class Variant:
    """What is different from the method as it is."""

    settings: ExactSettings = field(default_factory=ExactSettings)
    engine: str = "scip"
    on_networks: bool = True
    """Whether it changes anything where the equations are those of a network."""
    elsewhere: bool = True
    """Whether it changes anything where they are not."""


VARIANTS: dict[str, Variant] = {
    ALL: Variant(),
    "HiGHS instead of SCIP": Variant(engine="highs"),
    "no shifted separation points": Variant(
        settings=ExactSettings(root=RootSettings(shifts=(NO_SHIFT,)), tree=TreeSettings(thorough=UNSHIFTED))
    ),
    "no covers and roundings": Variant(
        settings=ExactSettings(
            covers=False, capacity=CapacitySettings(strengthening=StrengtheningSettings(0.0, 0, 0))
        )
    ),
    "no separated covers": Variant(settings=ExactSettings(covers=False), elsewhere=False),
    "no bridgeless inequalities": Variant(
        settings=ExactSettings(bridgeless=BridgelessSettings(min_violation=math.inf))
    ),
    "no aggregated variables": Variant(settings=ExactSettings(aggregate=False), on_networks=False),
    "no decomposition": Variant(settings=ExactSettings(decomposition=DecompositionSettings(max_rounds=0))),
    "no neighbourhoods": Variant(
        settings=ExactSettings(
            neighbourhoods=NeighbourhoodSettings(early_per_percent=0.0, early_per_percent_on_networks=0.0),
            tree=TreeSettings(neighbourhoods=0),
        )
    ),
    "no CMSA": Variant(
        settings=ExactSettings(iterated_greedy=IteratedGreedySettings(merge_period=0)), on_networks=False
    ),
    "no heuristics in the tree": Variant(settings=ExactSettings(tree=TreeSettings(guided=False))),
    "linear programs instead of elimination": Variant(
        settings=ExactSettings(
            capacity=CapacitySettings(oracle=OracleSettings(NO_TABLES)), first=first_with(NO_TABLES)
        ),
        on_networks=False,
    ),
    "no elimination by null spaces": Variant(
        settings=ExactSettings(first=first_with(NullSpaceSettings(max_entries=0))), on_networks=False
    ),
    "no gap limits": Variant(settings=ExactSettings(network_limits=AT_ONCE, general_limits=AT_ONCE)),
    "doubling gap limits": Variant(settings=ExactSettings(general_limits=DOUBLING), on_networks=False),
    "cuts only at integral points": Variant(settings=ExactSettings(tree=TreeSettings(fractional=False))),
}
"""By name, in the order of the page; the names are keys of `results/study.csv`."""


# ---------------------------------------------------------------------- measuring


class RootWatch:
    """Progress that keeps what the root came to."""

    def __init__(self) -> None:
        self._start, self._left = time.perf_counter(), False
        self._bound: float | None = None
        self._seconds = 0.0

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        self._left |= phase == "neighbourhoods"
        if phase == "root":
            self._bound, self._seconds = bound, time.perf_counter() - self._start

    def row(self, result: Result) -> Row:
        """The bound when the root ended, and whether it did; a run that ended at the root ended with its bound."""
        counters, whole = result.report.counters, result.report.seconds
        left = self._left or counters.get("gap limits", 0) > 0
        return {
            "root_bound": self._bound if left else result.bound,
            "root_done": left or result.status.value == "optimal",
            "root_rounds": counters.get("rounds", 0),
            "root_s": round(self._seconds if left else whole, 3),
            "nodes": counters.get("nodes", 0),
        }


def solve(problem: Problem, variant: str, seconds: float) -> tuple[Result, RootWatch]:
    """A variant of suppress-optimal on a problem."""
    chosen, watch = VARIANTS[variant], RootWatch()
    params = {"seconds": seconds, "engine": chosen.engine}
    function = partial(suppress_optimal, settings=chosen.settings)
    method = replace(METHODS["suppress-optimal"], function=function)
    return protect(problem, method, params=params, progress=watch), watch


def measured(make: Make, variant: str, seconds: float) -> Row:
    """The row of a variant on an instance."""
    problem = make()
    result, watch = solve(problem, variant, seconds)
    return {**sizes(problem), **exact_row(result), **watch.row(result)}


INSTANCES: dict[str, tuple[bool, Make]] = {
    "generator 1 50x50, 25 sensitive #0": (True, partial(generator_one, 50, 50, 25, 0)),
    "generator 1 100x100, 100 sensitive #0": (True, partial(generator_one, 100, 100, 100, 0)),
    "like Class I 10x10x10 #0": (False, partial(three_way_class_one, 10, 10, 10, 0)),
    "table7": (False, partial(csplib_problem, "table7")),
    "hier13x7x7d": (False, partial(csplib_problem, "hier13x7x7d")),
    "Class I 100x100 #0": (True, partial(class_problem, "I", 100, 100, 0)),
    "Class II 400x50 #6": (True, partial(class_problem, "II", 400, 50, 6)),
}
"""By name: whether the equations are those of a network, and how the instance is made."""


def cases(seconds: float | None) -> Iterator[Case]:
    """Every instance with every variant that is another method on it."""
    limit = seconds or SECONDS
    for name, (network, make) in INSTANCES.items():
        for variant, what in VARIANTS.items():
            if what.on_networks if network else what.elsewhere:
                facts = {"name": name, "variant": variant, "limit_s": f"{limit:g}"}
                measure = partial(measured, make, variant, limit)
                yield Case(f"{name}, {variant}", measure, limit, (), facts, name)


PARTS = (Part("study", "suppress-optimal without one of its steps, a variant each", cases, True),)
