"""Elimination of redundant suppressions: hidden cells are published again while every requirement keeps a witness.

Every requirement has a witness: deviations of hidden cells that meet it (`witnesses`). Each cell in turn, by decreasing
weight unless an order is given: a requirement whose witness does not move the cell is met without it; each of the
others needs another witness without the cell. If all have one, the cell is published. Valid inequalities (`cuts`), if
there are any yet, show without a search that a cell is needed.

Hiding less never widens an interval, so a cell that is needed now stays needed: one pass ends in a pattern of which no
cell can be published. The pattern is safe at any time, so a deadline may end the pass anywhere.

References: Kelly (1990); Serpell, Smith, Clark & Staggemeier (2013), "Elimination LP".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints, places_of
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.cuts import Cut, matrix_of
from tablecloak.methods.heuristics.deviation import by_decreasing_weight, exact_witness
from tablecloak.methods.heuristics.witnesses import WitnessEngine
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress, silent

PHASE = "eliminating redundant suppressions"


class Elimination:
    """The cells hidden still, and a witness of every requirement: the cells that it moves.

    `hidden`: the cells hidden to begin with, which `engine` has too; `cuts`: inequalities that every safe pattern
    satisfies. Costs of what is hidden are reported as those of safe patterns.
    """

    def __init__(
        self,
        problem: Problem,
        requirements: Sequence[Requirement],
        hidden: Bools,
        engine: WitnessEngine,
        deadline: Deadline,
        progress: Progress = silent,
        cuts: Sequence[Cut] = (),
    ) -> None:
        self.problem, self.engine, self.deadline, self.progress = problem, engine, deadline, progress
        self.hidden: Bools = hidden.copy()
        self.requirements = [one for one in dict.fromkeys(requirements) if hidden[one.cell]]
        self.searched = self.spared = self.at_once = self.after_search = 0
        self._cells = np.array([one.cell for one in self.requirements], dtype=np.int64)
        self._number = {requirement: t for t, requirement in enumerate(self.requirements)}
        self._witnesses = _WitnessIndex(len(self.requirements), hidden)
        self._failures = np.zeros(len(self.requirements))
        self._slack = _CutSlack(cuts, hidden)

    @property
    def cost(self) -> float:
        """The weights of the complementary cells hidden now."""
        return complementary_cost(self.problem, self.hidden)

    @property
    def published(self) -> int:
        """Number of cells published again."""
        return self.at_once + self.after_search

    @property
    def counters(self) -> dict[str, float]:
        """Counts for the report."""
        return {
            "levels": len(self.requirements),
            "levels asked": self.searched,
            "saved by witnesses": self.spared,
            "published at once": self.at_once,
            "published after asking": self.after_search,
        }

    def adopt(self, witnesses: Mapping[Requirement, Ints]) -> None:
        """Witnesses that are known already: the cells that each moves, all of them hidden."""
        for requirement, cells in witnesses.items():
            self._witnesses.set(self._number[requirement], cells)

    def run(self, order: Ints | None = None, *, unused_first: bool = False) -> bool:
        """Publish the cells that no requirement needs, in this order (by decreasing weight unless given).

        False if a requirement is not met to begin with, or the time is up before that is known: then nothing is
        published. `unused_first` publishes what no witness moves before anything is searched for.

        A conditional width goes with its cell, and then a cell tried before may be redundant: where there are such
        widths the rest is tried again until nothing changes.
        """
        if not self._find_witnesses():
            return False
        if unused_first:
            self._publish_unused()
        if order is None:
            order = by_decreasing_weight(self.hidden & ~self.problem.must_hide, self.problem.weights)
        order = order[self.hidden[order]]
        while order.size and not self.deadline.passed():
            self._pass(order)
            rest = order[self.hidden[order]]
            if not self.problem.has_conditional or rest.size == order.size:
                break
            order = rest
        return True

    def _find_witnesses(self) -> bool:
        """A witness for every requirement; False if one has none, or the time is up before."""
        for t, requirement in enumerate(self.requirements):
            if t % 32 == 0:
                self.progress("witnesses", t, len(self.requirements))
            if self._witnesses.known[t]:
                continue
            if self.deadline.passed():
                return False
            moved = self._search(t, limited=False)
            if moved is None:
                late = self.deadline.passed()
                exact = None if late else exact_witness(self.problem, self.hidden, requirement)
                if exact is None:
                    return False
                self._witnesses.set(t, exact.cells)
                continue
            self._witnesses.set(t, moved)
            if self.engine.credits:
                near = np.isin(self._cells, moved) & ~self._witnesses.known
                for u in self._credited(np.flatnonzero(near).tolist()):
                    self._witnesses.set(u, moved)
        return True

    def _publish_unused(self) -> None:
        """Publish all complementary cells that no witness moves."""
        for cell in np.flatnonzero(self.hidden & ~self.problem.must_hide & ~self._witnesses.moved()).tolist():
            self.engine.close(cell)
            self.hidden[cell] = False
            self._slack.publish(cell)
            self.at_once += 1

    def _pass(self, order: Ints) -> None:
        """Try each cell once."""
        for number, cell in enumerate(order.tolist()):
            if self.deadline.passed():
                break
            if not self._slack.needs(cell):
                self._try(cell)
            if number % 32 == 0:
                self.progress(PHASE, number, order.size, self.cost)
        self.progress(PHASE, order.size, order.size, self.cost)

    def _try(self, cell: int) -> None:
        """Publish a cell if every requirement has a witness without it."""
        moving = self._witnesses.moving(cell)
        self.spared += int(self._witnesses.known.sum()) - moving.size
        own = self._cells[moving] == cell
        self.engine.close(cell)
        found = self._other_witnesses(cell, moving[~own])
        if found is None:
            self.engine.open(cell)
            return
        for t, moved in found.items():
            self._witnesses.set(t, moved)
        for t in moving[own].tolist():  # a conditional width, required only while the cell is hidden
            self._witnesses.drop(t)
        self.hidden[cell] = False
        self._slack.publish(cell)
        if moving.size:
            self.after_search += 1
        else:
            self.at_once += 1

    def _other_witnesses(self, closed: int, moving: Ints) -> dict[int, Ints] | None:
        """Witnesses of these requirements without the closed cell, by number; None if one of them has none.

        Those that failed most often are searched for first: they are the likeliest to fail again.
        """
        if moving.size and self.engine.excludes(closed, [self.requirements[t] for t in moving.tolist()]):
            return None
        found: dict[int, Ints] = {}
        order = moving[np.argsort(-self._failures[moving], kind="stable")].tolist()
        for t in order:
            if t in found:
                continue
            moved = self._search(t, limited=True)
            if moved is None:
                self._failures[t] += 1.0
                return None
            found[t] = moved
            if self.engine.credits:
                for u in self._credited([u for u in order if u not in found]):
                    found[u] = moved
        return found

    def _search(self, t: int, *, limited: bool) -> Ints | None:
        self.searched += 1
        return self.engine.find(self.requirements[t], limited=limited)

    def _credited(self, waiting: Sequence[int]) -> list[int]:
        """The numbers of the requirements that the last witness meets too."""
        return [self._number[one] for one in self.engine.credited([self.requirements[t] for t in waiting])]


class _WitnessIndex:
    """Which witness moves which cell: a row of bytes for each hidden cell, a bit for each requirement."""

    def __init__(self, count: int, hidden: Bools) -> None:
        self._count, self._size = count, hidden.size
        self._hidden: Ints = np.flatnonzero(hidden)
        self._place = places_of(self._hidden, hidden.size)
        self._bits = np.zeros((self._hidden.size, (count + 7) // 8), dtype=np.uint8)
        self._places: list[Ints] = [np.zeros(0, dtype=np.int64)] * count
        self.known = np.zeros(count, dtype=bool)
        """By requirement: whether it has a witness."""

    def set(self, t: int, cells: Ints) -> None:
        """The witness of requirement t moves these cells from now on."""
        self.drop(t)
        places = self._place[cells]
        self._bits[places, t // 8] |= np.uint8(128 >> t % 8)
        self._places[t], self.known[t] = places, True

    def drop(self, t: int) -> None:
        """Requirement t has no witness from now on."""
        self._bits[self._places[t], t // 8] &= np.uint8(255 - (128 >> t % 8))
        self._places[t], self.known[t] = np.zeros(0, dtype=np.int64), False

    def moving(self, cell: int) -> Ints:
        """The requirements whose witnesses move a cell, in their order."""
        return np.flatnonzero(np.unpackbits(self._bits[self._place[cell]], count=self._count))

    def moved(self) -> Bools:
        """The cells that some witness moves."""
        result = np.zeros(self._size, dtype=bool)
        result[self._hidden[self._bits.any(axis=1)]] = True
        return result


class _CutSlack:
    """By how much the hidden cells exceed what each cut requires."""

    def __init__(self, cuts: Sequence[Cut], hidden: Bools) -> None:
        self._by_cell = csr_array(matrix_of(cuts, hidden.size).T)
        right: Floats = np.array([cut.rhs for cut in cuts])
        self._slack = self._by_cell.T @ hidden.astype(float) - right + 1e-9

    def _column(self, cell: int) -> tuple[Codes, Floats]:
        part = slice(self._by_cell.indptr[cell], self._by_cell.indptr[cell + 1])
        return self._by_cell.indices[part], self._by_cell.data[part]

    def needs(self, cell: int) -> bool:
        """Whether a cut would be violated without the cell."""
        cuts, coefficients = self._column(cell)
        return bool((coefficients > self._slack[cuts]).any())

    def publish(self, cell: int) -> None:
        """Take the cell out of all cuts."""
        cuts, coefficients = self._column(cell)
        self._slack[cuts] -= coefficients
