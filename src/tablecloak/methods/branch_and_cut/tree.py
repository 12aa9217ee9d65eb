"""Branch and cut over some of the variables, the others fixed to 0: SCIP branches, the separators say what is safe."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.separation import SeparatorLists
from tablecloak.methods.branch_and_cut.settings import SeparationEffort
from tablecloak.methods.cuts import Cut
from tablecloak.solvers import Callbacks, Solution, SolverCut, TreeOptions, branch_and_cut


class TreeHooks(NamedTuple):
    """What the caller of a tree does on the way, see `solvers.scip.Callbacks`. Points are over all cells."""

    on_unsafe: Callable[[Floats], None]
    """Called at integral points that are not safe and cheaper than the incumbent."""
    propose: Callable[[Floats], Floats | None]
    """From the point of a node to values of the variables of a better pattern; None: there is none."""
    should_stop: Callable[[int, float], bool]
    """From the number of nodes and the bound to whether the tree is to end."""


class Variables:
    """The cells that a tree decides on (representatives)."""

    def __init__(self, search: SearchContext, cells: Ints) -> None:
        self.cells, self._model = cells, search.model
        self.position = np.full(search.model.free.size, -1, dtype=np.int64)
        """By cell, its number among the variables; -1: it is fixed to 0."""
        self.position[cells] = np.arange(cells.size)

    def point(self, values: Floats) -> Floats:
        """Values of the variables as a point over all cells."""
        return self._model.point(self.cells, values)

    def restricted(self, cut: Cut) -> SolverCut:
        """A cut over the variables."""
        columns = self.position[cut.cells]
        inside = columns >= 0
        return SolverCut(columns[inside], cut.coefficients[inside], cut.rhs)


def solve_over(
    search: SearchContext,
    cells: Ints,
    hooks: TreeHooks | None = None,
    *,
    limit: float | None = None,
    nodes: float = math.inf,
    seconds: float = math.inf,
) -> Solution:
    """The cheapest safe pattern over these cells that costs at most `limit` (None: less than the incumbent).

    Safe patterns on the way are offered as incumbents, violated cuts are added to the pool.
    """
    deadline, model = search.deadline, search.model
    hooks = hooks or TreeHooks(lambda x: None, lambda x: None, lambda nodes, bound: deadline.passed())
    variables, cutoff = (
        Variables(search, cells),
        search.incumbent.cost - model.unit if limit is None else limit,
    )
    only_connectivity = model.has_tied_weights and _suffices_alone(search, cells)
    effort = _effort(search, only_connectivity)
    separators = search.separation.in_tree(
        variables.position >= 0, effort.shifts, effort.covers if search.settings.covers else 0
    )

    def separate(values: Floats, integral: bool) -> list[SolverCut]:
        deadline.check()  # SCIP separates many points without a look at its own limit
        x = variables.point(values)
        cuts = search.separation.violated(x) if integral else _separate(search, x, effort.levels, separators)
        search.relaxation.add_to_pool(cuts)
        return [variables.restricted(cut) for cut in cuts]

    def accept(values: Floats) -> bool:
        deadline.check()
        x = variables.point(values)
        safe = search.separation.is_safe(x)
        if not safe and model.cost(x > 0.5) < search.incumbent.cost:
            hooks.on_unsafe(x)
        return safe

    search.statistics.integer_programs += 1
    return branch_and_cut(
        model.prices[cells],
        search.relaxation.system(search.relaxation.active_cuts(), cells),
        Callbacks(separate, accept, lambda values: hooks.propose(variables.point(values)), hooks.should_stop),
        TreeOptions(
            cutoff=cutoff,
            step=model.unit,
            seconds=min(seconds, deadline.left),
            nodes=nodes,
            own_cuts=not only_connectivity,
            rounds=effort.rounds,
        ),
    )


def _effort(search: SearchContext, only_connectivity: bool) -> SeparationEffort:
    """The effort of separation at nodes."""
    settings, model = search.settings.tree, search.model
    if only_connectivity:
        return settings.plain
    many = model.is_network or len(model.requirements) > settings.max_light_levels
    return settings.thorough if many else settings.light


def _separate(search: SearchContext, x: Floats, limit: int, separators: SeparatorLists) -> list[Cut]:
    """Cuts that a fractional point violates by enough; fallbacks are called where the others find none."""
    settings = search.settings.tree
    if not settings.fractional:
        return []
    for listed in (separators.first, separators.fallback):
        found = [cut for separator in listed for cut in separator.separate(x, limit)]
        cuts = [cut for cut in found if cut.violation(x) > settings.worthwhile]
        if cuts:
            return cuts
    return []


def _suffices_alone(search: SearchContext, cells: Ints) -> bool:
    """Whether each of these cells could meet any requirement by itself: then only connectivity matters."""
    requirements, bounds = search.model.requirements, search.model.deviation_bounds
    most = max(requirement.level for requirement in requirements)
    attackers = {requirement.attacker for requirement in requirements}
    return all(
        float(side[cells].min(initial=np.inf)) >= most for attacker in attackers for side in bounds[attacker]
    )
