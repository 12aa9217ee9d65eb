"""Branch and cut over some of the cells, the others published: SCIP decides, our rows say what is safe."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.branch_and_cut.state import LAST, Exact, Stage
from tablecloak.methods.cuts import Cut
from tablecloak.progress import TimeUp
from tablecloak.solvers import Callbacks, MixedSolution, SolverCut, branch_and_cut

WORTH = 0.02
"""In the tree a row is worth adding if it is missed by more than this."""


class Effort(NamedTuple):
    """How hard rows are looked for at a node: where, for at most how many levels a round, in how many rounds, and for
    how many kinds of covers if there are no others."""

    stages: Sequence[Stage]
    levels: int
    rounds: int
    covers: int


HARD, PLAIN, LITTLE = (
    Effort((Stage(0.01, 100), LAST), 60, 5, 1),
    Effort((LAST,), 10, 5, 0),
    Effort((LAST,), 20, 2, 0),
)
FEW_LEVELS = 50
"""General tables with no more levels than this are asked little: the rows of the root say nearly all, and many nodes
are needed."""


class Columns:
    """The cells that are decided on (leaders of twins)."""

    def __init__(self, state: Exact, cells: Ints) -> None:
        self.cells = cells
        self.place = np.full(state.free.size, -1, dtype=np.int64)
        self.place[cells] = np.arange(cells.size)
        self._spread = state.aggregation.expanded

    def point(self, values: Floats) -> Floats:
        """Values of the columns as a point over all cells."""
        x = np.zeros(self.place.size)
        x[self.cells] = values
        return self._spread(x)

    def cut(self, row: Cut) -> SolverCut:
        """A row over the columns."""
        columns = self.place[row.cells]
        inside = columns >= 0
        return SolverCut(columns[inside], row.coefficients[inside], row.rhs)


class Watcher(NamedTuple):
    """What the caller of a tree does on the way: see `solvers.scip.Callbacks`. Points are over all cells."""

    unsafe: Callable[[Floats], None]
    """Told of whole points that are not safe and cheaper than the best pattern."""
    propose: Callable[[Floats], Floats | None]
    tell: Callable[[int, float], bool]


def decide(
    state: Exact,
    columns: Columns,
    watcher: Watcher,
    cutoff: float,
    nodes: float,
    seconds: float = math.inf,
) -> MixedSolution:
    """The cheapest safe pattern over these columns that costs at most `cutoff`; safe ones on the way are adopted."""
    effort = HARD if state.is_network or len(state.requirements) > FEW_LEVELS else LITTLE
    tied = state.alike and state.is_roomy(columns.cells)
    if tied:  # only connections matter, and very many patterns have them: nodes must be fast
        effort = PLAIN

    def look() -> None:
        """End the search when the time is up: SCIP asks about many points without a look at its own limit."""
        if state.deadline.passed():
            raise TimeUp

    def separate(values: Floats, whole: bool) -> list[SolverCut]:
        look()
        x = columns.point(values)
        if whole:
            rows = state.check(x)
        else:
            found, _ = state.missed(x, effort.stages, effort.levels, columns.place >= 0)
            rows = [row for row in found if row.violation(x) > WORTH]
            if not rows and effort.covers:
                found = state.covers(x, effort.levels, effort.covers)
                rows = [row for row in found if row.violation(x) > WORTH]
        state.relaxation.collect(rows)
        return [columns.cut(row) for row in rows]

    def accept(values: Floats) -> bool:
        look()
        x = columns.point(values)
        safe = state.is_safe(x)
        if not safe and state.cost_of(x > 0.5) < state.cost:
            watcher.unsafe(x)
        return safe

    pool = state.relaxation.live()
    state.counters["integer programs"] += 1
    return branch_and_cut(
        state.prices[columns.cells],
        (np.array([row.rhs for row in pool]), state.relaxation.matrix(pool)[:, columns.cells]),
        Callbacks(separate, accept, lambda values: watcher.propose(columns.point(values)), watcher.tell),
        cutoff=cutoff,
        step=state.unit,
        seconds=min(seconds, state.deadline.left),
        nodes=nodes,
        bare=tied,
        rounds=effort.rounds,
    )
