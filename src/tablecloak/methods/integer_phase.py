"""The integer phase: suppose that the optimum costs at most so much, then find it or prove that there is none.

Cells whose reduced cost exceeds what the guess leaves are published, so the program is small. Two engines: SCIP, branch
and cut with our rows at every node; or HiGHS, solved again and again while its optimum misses rows (Salazar 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.engines.branching import Callbacks, Cut, branch_and_cut
from tablecloak.engines.lp import Outcome
from tablecloak.engines.mip import GrowingProgram
from tablecloak.methods.neighbourhoods import Neighbourhoods, Occasions
from tablecloak.methods.programs import next_multiple
from tablecloak.methods.rows import Row
from tablecloak.methods.run_state import LAST, Exact, Stage

NEAR = 0.01
"""HiGHS solves up to this gap until its points are safe, then to the end."""
WORTH = 0.02
"""In the tree a row is worth adding if it is missed by more than this."""


class Effort(NamedTuple):
    """How hard rows are looked for at a node: where, at most how many a round, in at most how many rounds."""

    stages: Sequence[Stage]
    rows: int
    rounds: int


ON_NETWORKS, ON_GENERAL_TABLES = Effort((Stage(0.01, 100), LAST), 60, 5), Effort((LAST,), 20, 2)
"""On general tables rows take longer to find than nodes to solve."""


class Guess:
    """The patterns that cost at most so much, and the cells they may hide."""

    def __init__(self, state: Exact, highest: float) -> None:
        least, unit = state.bound, state.unit
        step = unit if unit > 0 else 1e-9 * max(1.0, abs(least))
        state.counters["guesses"] += 1
        self.highest = max(highest, least + (2 + state.counters["guesses"]) * step)
        self.beyond = next_multiple(self.highest, unit)
        """The least that a pattern with other cells can cost."""
        self.cells = state.cells_within(self.highest)
        self._spread = state.twins.spread
        self.place = np.full(state.free.size, -1, dtype=np.int64)
        self.place[self.cells] = np.arange(self.cells.size)

    def point(self, values: Floats) -> Floats:
        """Values of the columns as a point over all cells."""
        x = np.zeros(self.place.size)
        x[self.cells] = values
        return self._spread(x)


def branch(state: Exact, highest: float, near: Neighbourhoods, nodes: float) -> bool:
    """With SCIP. True: the optimum is found, or proven to cost more than the guess."""
    guess, before = Guess(state, highest), state.counters["nodes"]
    effort = ON_NETWORKS if state.is_network else ON_GENERAL_TABLES
    repairs, searches = Occasions(state, 4 if state.is_network else 1), Occasions(state)

    def cut(row: Row) -> Cut:
        columns = guess.place[row.cells]
        inside = columns >= 0
        return Cut(columns[inside], row.coefficients[inside], row.rhs)

    def separate(values: Floats, whole: bool) -> list[Cut]:
        x = guess.point(values)
        if whole:
            rows = state.check(x)
        else:
            found, _ = state.missed(x, effort.stages, effort.rows)
            rows = [row for row in found if row.shortfall(x) > WORTH]
        state.relaxation.collect(rows)
        return [cut(row) for row in rows]

    def accept(values: Floats) -> bool:
        x = guess.point(values)
        safe = state.is_safe(x)
        if not safe and state.cost_of(x > 0.5) < state.cost:
            repairs.take(lambda: state.repair(x))
        return safe

    best = state.cost

    def propose(values: Floats) -> Floats | None:
        nonlocal best
        searches.take(lambda: state.search_near(guess.point(values)))
        near.occasions.take(lambda: near.improve(2))
        hidden = state.hidden
        if hidden is None or state.cost >= best or (hidden & state.leads & (guess.place < 0)).any():
            return None
        best = state.cost
        return hidden[guess.cells].astype(float)

    def tell(nodes: int, bound: float) -> bool:
        state.counters["nodes"] = before + nodes
        if math.isfinite(bound):
            state.raise_bound(min(bound, guess.beyond))
        state.tell("branch and cut", nodes, nodes)
        return state.proven() or state.deadline.passed()

    pool = state.relaxation.live()
    rows = np.array([row.rhs for row in pool]), state.relaxation.matrix(pool)[:, guess.cells]
    state.counters["integer programs"] += 1
    solution = branch_and_cut(
        state.prices[guess.cells],
        rows,
        Callbacks(separate, accept, propose, tell),
        cutoff=min(guess.highest, state.cost - state.unit),
        step=state.unit,
        seconds=state.deadline.left,
        nodes=nodes,
        eager=state.is_network,
        rounds=effort.rounds,
    )
    if solution.outcome is Outcome.TIME_LIMIT:
        state.raise_bound(min(solution.bound, guess.beyond))
        return False
    state.raise_bound(min(guess.beyond, state.cost))
    return True


def resolve(state: Exact, highest: float) -> bool:
    """With HiGHS. True: the optimum is found, or proven to cost more than the guess."""
    guess, relaxation = Guess(state, highest), state.relaxation
    program = GrowingProgram(state.prices[guess.cells])
    sent, near = 0, NEAR
    while True:
        state.tell("integer program", state.counters["integer programs"], state.counters["integer programs"])
        rows = relaxation.pool[sent:]
        program.add_rows(np.array([row.rhs for row in rows]), relaxation.matrix(rows)[:, guess.cells])
        sent += len(rows)
        solution = program.solve(state.deadline.left, gap=near, step=state.unit)
        state.counters["integer programs"] += 1
        state.raise_bound(min(solution.bound, guess.beyond))
        if solution.outcome is Outcome.TIME_LIMIT:
            return False
        if solution.outcome is Outcome.INFEASIBLE or solution.bound > guess.highest * (1 + 1e-9):
            return True
        x = guess.point(np.rint(solution.values))
        missed = state.check(x)
        if missed:
            relaxation.collect(missed)
            state.repair(x)
        else:
            if near == 0.0:
                state.raise_bound(state.cost)
            near = 0.0
        if state.proven():
            return True
