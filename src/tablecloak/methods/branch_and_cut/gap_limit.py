"""The integer phase: suppose that the optimum costs at most so much, then find it or prove that there is none.

Cells whose reduced cost exceeds what the guess leaves are published, so the program is small. Two engines: SCIP, branch
and cut with our rows at every node; or HiGHS, solved again and again while its optimum misses rows (Salazar 2010).
"""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.branch_and_cut.improvement import Neighbourhoods, Occasions
from tablecloak.methods.branch_and_cut.state import Exact
from tablecloak.methods.branch_and_cut.tree import Columns, Watcher, decide
from tablecloak.methods.cuts import next_multiple
from tablecloak.solvers import GrowingProgram, Outcome

NEAR = 0.01
"""HiGHS solves up to this gap until its points are safe, then to the end."""


class Guess:
    """The patterns that cost at most so much, and the cells they may hide."""

    def __init__(self, state: Exact, highest: float) -> None:
        least, unit = state.bound, state.unit
        step = unit if unit > 0 else 1e-9 * max(1.0, abs(least))
        state.counters["guesses"] += 1
        more = 0 if state.alike else 2 + state.counters["guesses"]  # equal weights: one unit leaves all cells
        self.highest = max(highest, least + more * step)
        self.beyond = next_multiple(self.highest, unit)
        """The least that a pattern with other cells can cost."""
        self.columns = Columns(state, state.cells_within(self.highest))


def branch(state: Exact, highest: float, near: Neighbourhoods, nodes: float) -> bool:
    """With SCIP. True: the optimum is found, or proven to cost more than the guess."""
    guess, before = Guess(state, highest), state.counters["nodes"]
    repairs, searches = Occasions(state, 4 if state.is_network else 1), Occasions(state)
    columns, best = guess.columns, state.cost
    last_unit = state.alike and state.cost - state.bound < 1.5 * state.unit

    def propose(x: Floats) -> Floats | None:
        nonlocal best
        searches.take(lambda: state.search_near(x))
        if not last_unit:
            near.occasions.take(lambda: near.improve(2))
        hidden = state.hidden
        if hidden is None or state.cost >= best or (hidden & state.leads & (columns.place < 0)).any():
            return None
        best = state.cost
        return hidden[columns.cells].astype(float)

    def tell(nodes: int, bound: float) -> bool:
        state.counters["nodes"] = before + nodes
        if math.isfinite(bound):
            state.raise_bound(min(bound, guess.beyond))
        state.tell("branch and cut", nodes, nodes)
        return state.proven() or state.deadline.passed()

    watcher = Watcher(lambda x: repairs.take(lambda: state.repair(x)), propose, tell)
    solution = decide(state, columns, watcher, min(guess.highest, state.cost - state.unit), nodes)
    if solution.outcome is Outcome.TIME_LIMIT:
        state.raise_bound(min(solution.bound, guess.beyond))
        return False
    state.raise_bound(min(guess.beyond, state.cost))
    return True


def resolve(state: Exact, highest: float) -> bool:
    """With HiGHS. True: the optimum is found, or proven to cost more than the guess."""
    guess, relaxation = Guess(state, highest), state.relaxation
    cells = guess.columns.cells
    program = GrowingProgram(state.prices[cells])
    sent, near = 0, NEAR
    while True:
        state.tell("integer program", state.counters["integer programs"], state.counters["integer programs"])
        rows = relaxation.pool[sent:]
        program.add_rows(np.array([row.rhs for row in rows]), relaxation.matrix(rows)[:, cells])
        sent += len(rows)
        solution = program.solve(state.deadline.left, gap=near, step=state.unit).checked()
        state.counters["integer programs"] += 1
        state.raise_bound(min(solution.bound, guess.beyond))
        if solution.outcome is Outcome.TIME_LIMIT:
            return False
        if solution.outcome is Outcome.INFEASIBLE or solution.bound > guess.highest * (1 + 1e-9):
            return True
        x = guess.columns.point(np.rint(solution.values))
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
