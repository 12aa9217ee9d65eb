"""Publish again what no level needs, dearest cells first: the clean-up of a safe pattern on any table.

Every level keeps a witness, deviations of hidden cells that meet it. A cell that no witness moves can be published; any
other only if every level that leans on it has another witness without it. Rows that every safe pattern satisfies
(`cuts`), if there are any yet, tell without looking that a cell is needed; so does the elimination of the equations if
a cell moves in proportion with one that has a level.

Reference: Kelly (1990); the witnesses come from `attacker.null_space`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker import MOST_ENTRIES, Attack, Boxes, attack_on, without_empty_rows, working_columns
from tablecloak.methods.cuts import Cut, matrix_of
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress

MOVED = 1e-11
"""A cell takes part in a witness if it moves by more than this share of the level."""
SHORT = 1e-9
"""A level is met if no more than this share of it is missing."""
SHRUNK = 0.8
"""The equations are eliminated anew when so few of the cells are left."""
ENTRIES_A_SECOND = 1e7
"""Entries of a dense system that are eliminated in a second, on a busy machine."""


def elimination_seconds(problem: Problem, allowed: Bools) -> float:
    """About how long it takes to eliminate the equations of these cells: nothing looks at the clock meanwhile."""
    part = working_columns(problem.table)[:, np.flatnonzero(allowed)]
    return np.unique(part.indices).size * part.shape[1] / ENTRIES_A_SECOND


class Thinner:
    """The cells hidden so far and a witness for every level."""

    def __init__(
        self,
        problem: Problem,
        requirements: Sequence[Requirement],
        hidden: Bools,
        deadline: Deadline,
        rows: Sequence[Cut] = (),
    ) -> None:
        self.problem, self.deadline, self.hidden = problem, deadline, hidden.copy()
        self.requirements = [requirement for requirement in requirements if hidden[requirement.cell]]
        self.boxes = Boxes(problem)
        self.published = 0
        self._needed = _Needed(rows, hidden)
        self._columns = working_columns(problem.table)
        self._eliminate()
        self._used = np.zeros((len(self.requirements), hidden.size), dtype=bool)
        self._failed = np.zeros(len(self.requirements))

    @staticmethod
    def fits(problem: Problem, requirements: Sequence[Requirement], hidden: Bools) -> bool:
        """Whether the problem is small enough for this method."""
        part = working_columns(problem.table)[:, np.flatnonzero(hidden)]
        equations = np.unique(part.indices).size
        return (
            len(requirements) * hidden.size <= 4 * MOST_ENTRIES and part.shape[1] * equations <= MOST_ENTRIES
        )

    def _eliminate(self) -> None:
        self.cells: Ints = np.flatnonzero(self.hidden)
        self._attack: Attack = attack_on(without_empty_rows(csc_array(self._columns[:, self.cells])))
        asked = np.unique(
            [
                requirement.cell
                for requirement in self.requirements
                if self.problem.must_hide[requirement.cell]
            ]
        )
        self._tied = np.zeros(self.hidden.size, dtype=bool)
        if asked.size:
            self._tied[self.cells] = self._attack.tied(np.searchsorted(self.cells, asked))

    def run(self, progress: Progress, price: Floats | None = None) -> bool:
        """Thin the pattern, dearest cells first, by `price` if given.

        False if it is not safe to begin with, or the time is up before that is known: then it stays as it was.
        """
        for t in range(len(self.requirements)):
            witness = None if self.deadline.passed() else self._witness(t)
            if witness is None:
                return False
            self._used[t] = witness
        free = np.flatnonzero(self.hidden & ~self.problem.must_hide)
        price = self.problem.weights if price is None else price
        order = free[np.argsort(-price[free], kind="stable")]
        for number, cell in enumerate(order.tolist()):
            if self.deadline.passed():
                break
            if not (self._tied[cell] or self._needed.is_needed(cell)):
                self._try(cell)
            if number % 32 == 0:
                progress("cleaning up", number, order.size)
        return True

    def _try(self, cell: int) -> None:
        """Publish a cell if every level can do without it."""
        self.hidden[cell] = False
        leaning = np.flatnonzero(self._used[:, cell])
        replaced: dict[int, Bools] = {}
        for t in leaning[np.argsort(-self._failed[leaning], kind="stable")].tolist():
            if self.requirements[t].cell == cell:  # a conditional width, asked only while the cell is hidden
                replaced[t] = np.zeros(self.hidden.size, dtype=bool)
                continue
            witness = self._witness(t)
            if witness is None:
                self._failed[t] += 1.0
                self.hidden[cell] = True
                return
            replaced[t] = witness
        for t, witness in replaced.items():
            self._used[t] = witness
        self.published += 1
        self._needed.publish(cell)
        if self.hidden[self.cells].sum() < SHRUNK * self.cells.size:
            self._eliminate()

    def _witness(self, t: int) -> Bools | None:
        """The cells that move when a level is met; None if it is not met."""
        requirement = self.requirements[t]
        place, shown = int(np.searchsorted(self.cells, requirement.cell)), ~self.hidden[self.cells]
        down, up = (side[self.cells] / requirement.level for side in self.boxes[requirement.attacker])
        down[shown] = up[shown] = 0.0
        self._attack.set_bounds(-down, up)
        moved, missing = np.zeros(self.cells.size, dtype=bool), 1.0
        for upward in requirement.directions:
            if missing > SHORT:
                missing -= self._attack.reach(place, upward, missing)
                moved |= np.abs(self._attack.value) > MOVED
        if missing > SHORT:
            return None
        witness = np.zeros(self.hidden.size, dtype=bool)
        witness[self.cells[moved]] = True
        return witness


class _Needed:
    """Which cells known rows need: those without which a row would fall short."""

    def __init__(self, rows: Sequence[Cut], hidden: Bools) -> None:
        self._by_cell = csr_array(matrix_of(rows, hidden.size).T)
        right: Floats = np.array([row.rhs for row in rows])
        self._slack = self._by_cell.T @ hidden.astype(float) - right + 1e-9

    def _column(self, cell: int) -> tuple[Codes, Floats]:
        part = slice(self._by_cell.indptr[cell], self._by_cell.indptr[cell + 1])
        return self._by_cell.indices[part], self._by_cell.data[part]

    def is_needed(self, cell: int) -> bool:
        rows, coefficients = self._column(cell)
        return bool((coefficients > self._slack[rows]).any())

    def publish(self, cell: int) -> None:
        rows, coefficients = self._column(cell)
        self._slack[rows] -= coefficients
