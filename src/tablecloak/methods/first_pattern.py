"""A first safe pattern, made in a moment: what a method falls back on when it is stopped before it has its own.

Networks get the cheapest routes, one for each level (`network_search`); other tables that are one grid get hypercubes
(`cube_search`), and linear programs for the few levels that no hypercube meets (`search`). Tables of other kinds have
no first pattern: there linear programs for all levels would take as long as the method itself.

Reference: see these modules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.methods.cube_search import CubeSearch
from tablecloak.methods.deviations import Task
from tablecloak.methods.network_search import NetworkSearch, is_network
from tablecloak.methods.search import Search
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress

SEED = 0
"""Hypercubes are sought in an order that chance makes, the same for every run."""
FEW_UNMET = 20
"""Maximum number of levels without a hypercube that linear programs complete."""
EXCHANGES = 1000
"""Hypercubes sought by exchanges: a tenth of the cost in 0.2 s on 10,571 cells."""
FIRST_KEPT = "stopped before the method had a pattern of its own: this is the quick one that it began with"
"""The note of a first pattern that came to be the last."""


def first_pattern(
    problem: Problem, allowed: Bools, tasks: Sequence[Task], progress: Progress, deadline: Deadline
) -> Bools | None:
    """The cells hidden by a safe pattern; None where there is no quick one, or not in time.

    `tasks`: the levels that the cells which must be hidden do not meet by themselves. The cost is told to `progress`.
    """
    hidden = _found(problem, allowed, tasks, progress, deadline)
    if hidden is not None:
        progress("first pattern", 1, 1, float(problem.weights[hidden & ~problem.must_hide].sum()))
    return hidden


def _found(
    problem: Problem, allowed: Bools, tasks: Sequence[Task], progress: Progress, deadline: Deadline
) -> Bools | None:
    if problem.most_touched is not None or problem.levels.conditional.any():
        return None
    if is_network(problem):
        routes = NetworkSearch(problem, allowed, tasks, progress, deadline)
        routes.construct()
        return routes.hidden if routes.complete else None
    if not CubeSearch.fits(problem):
        return None
    cubes = CubeSearch(problem, allowed, tasks, np.random.default_rng(SEED), progress, deadline)
    cubes.build()
    if not cubes.unmet:
        built = cubes.hidden
        with deadline.stoppable():
            cubes.exchange(EXCHANGES)
        return built if cubes.unmet else cubes.hidden  # an interrupt may come within an exchange
    if len(cubes.unmet) > FEW_UNMET or deadline.passed():
        return None
    rest = Search(problem, allowed, progress, deadline, start=cubes.hidden)
    rest.construct()
    return rest.hidden if rest.complete else None
