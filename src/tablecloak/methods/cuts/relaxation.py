"""The linear relaxation of cell suppression: a pool of cuts, of which some are in the program, and columns priced in.

    min sum_i w_i x_i    over the cuts found so far,  0 <= x <= 1,  x = 1 where a cell must be hidden.

Only cheap or useful cells are columns at first. For any duals u >= 0 of the cuts A x >= b

    bound(u) = b'u + sum_i min(0, w_i - (A'u)_i)      over ALL cells that may be hidden

is a valid lower bound on the cost of every safe pattern, whatever the tolerances of the solver: it is what is reported.
A pattern that hides cell i costs at least bound(u) + w_i - (A'u)_i, so cells of large reduced cost are in no pattern
below a limit (reduced-cost fixing, `within`). One vertex of the optimal duals fixes few of them where weights are equal
and nearly all patterns tie; duals in the relative interior of the optimal face fix all that any of them fixes
(`compute_central_duals`; Goldman & Tucker 1956).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.cuts.cut import Cut, matrix_of
from tablecloak.progress import Deadline
from tablecloak.solvers import (
    ACTIVE_DUAL,
    CUT_VIOLATION,
    OPTIMALITY,
    HighsSettings,
    Outcome,
    RestrictedMaster,
)


@dataclass(frozen=True)
class RelaxationSettings:
    """The size of the program: fewer cuts and columns are solved faster, in more rounds."""

    priced_columns: int = 2000
    """Maximum number of columns that enter at once. Untested default."""
    largest_cost: float = 1e7
    """Costs above this are scaled down: with larger ones HiGHS fails, and small ones vanish in its tolerance. Untested
    default."""
    newest_cuts: int = 400
    """Number of the newest cuts that count as active, in the program or not. Untested default."""
    slack_rounds: int = 8
    """A cut that was slack in more rounds in a row leaves the program (and stays in the pool). Untested default."""
    slack_share: float = 0.2
    """Slack cuts leave the program when they are more than this share of its cuts. Untested default."""
    central_rounds: int = 5
    """Maximum number of computations of central duals, while columns are priced in. Untested default."""
    highs: HighsSettings = HighsSettings()


class Relaxation:
    """The pool of cuts, the columns in the program, and the last solution."""

    def __init__(
        self,
        weights: Floats,
        free: Bools,
        start: Bools,
        settings: RelaxationSettings = RelaxationSettings(),
    ) -> None:
        self.weights, self.free, self.settings = weights, free, settings
        self.columns: Ints = np.zeros(0, dtype=np.int64)
        self.place = np.full(weights.size, -1, dtype=np.int64)
        self.pool: list[Cut] = []
        self._seen: set[tuple[bytes, bytes, float]] = set()
        self._slack_rounds: dict[int, int] = {}
        """The cuts in the program, in its order: number in the pool, and rounds in a row in which it was slack."""
        self.master = RestrictedMaster(
            max(float(weights[free].max(initial=0.0)) / settings.largest_cost, 1.0), settings.highs
        )
        self.x: Floats = np.zeros(weights.size)
        self.value = 0.0
        self._duals: Floats = np.zeros(0)
        self.bound = 0.0
        self.reduced: Floats = weights.copy()
        """Reduced costs at the best bound."""
        self._central: tuple[float, Floats] = (0.0, self.reduced)
        """The bound and the reduced costs at the last central duals."""
        self.add_columns(np.flatnonzero(free & start))

    # ------------------------------------------------------------------ pool and columns

    def add_columns(self, cells: Ints) -> None:
        """Add cells as columns, with their coefficients in the cuts of the program."""
        cells = cells[self.place[cells] < 0]
        if cells.size == 0:
            return
        self.place[cells] = self.columns.size + np.arange(cells.size)
        self.columns = np.concatenate([self.columns, cells])
        inside = self.matrix([self.pool[k] for k in self._slack_rounds])
        self.master.add_columns(self.weights[cells], csc_array(inside[:, cells]))

    def add(self, cuts: Iterable[Cut]) -> int:
        """Add cuts to the pool and to the program; return the number of new ones."""
        first = len(self.pool)
        self.add_to_pool(cuts)
        self._enter(list(range(first, len(self.pool))))
        return len(self.pool) - first

    def add_to_pool(self, cuts: Iterable[Cut]) -> None:
        """Add cuts found elsewhere: they enter the program when a solution of it violates them."""
        for cut in cuts:
            if cut.key not in self._seen:
                self._seen.add(cut.key)
                self.pool.append(cut)

    def _enter(self, numbers: list[int]) -> None:
        """Cuts of the pool enter the program."""
        if numbers:
            self._slack_rounds |= dict.fromkeys(numbers, 0)
            right, matrix = self.system([self.pool[k] for k in numbers], self.columns)
            self.master.add_rows(right, csr_array(matrix))

    def active_cuts(self) -> list[Cut]:
        """The cuts that matter at the last solution: those in the program, and the newest of the pool."""
        newest = max(len(self.pool) - self.settings.newest_cuts, 0)
        return [
            cut
            for k, cut in enumerate(self.pool)
            if k in self._slack_rounds
            or k >= newest
            or cut.kind == "most touched"  # no separator would find that again
        ]

    def priced_cuts(self) -> list[tuple[Cut, float]]:
        """The cuts with a positive dual at the last solution, with their duals."""
        duals = zip(self._slack_rounds, self._duals.tolist(), strict=True)
        return [(self.pool[number], dual) for number, dual in duals if dual > 0.0]

    def matrix(self, cuts: Sequence[Cut]) -> csr_array:
        """Coefficients of cuts over all cells."""
        return matrix_of(cuts, self.weights.size)

    def system(self, cuts: Sequence[Cut], cells: Ints) -> tuple[Floats, csr_array]:
        """Right sides of cuts, and their coefficients over some cells."""
        return np.array([cut.rhs for cut in cuts]), self.matrix(cuts)[:, cells]

    # ------------------------------------------------------------------ solving

    def solve(self, seconds: float = math.inf) -> Outcome:
        """Solve over the columns in the program (over all free cells if these do not suffice); old slack cuts leave."""
        solution = self.master.solve(seconds)
        while solution.outcome is Outcome.INFEASIBLE and self._add_all_columns():
            solution = self.master.solve(seconds)
        if solution.outcome is not Outcome.OPTIMAL:
            return solution.outcome
        self.value = solution.objective
        self.x = np.zeros(self.weights.size)
        self.x[self.columns] = np.clip(solution.values, 0.0, 1.0)
        self._duals = np.maximum(solution.duals, 0.0)
        self._drop_slack_cuts()
        return Outcome.OPTIMAL

    def _add_all_columns(self) -> bool:
        """Make all free cells columns; False if they are already."""
        before = self.columns.size
        self.add_columns(np.flatnonzero(self.free))
        return self.columns.size > before

    def _drop_slack_cuts(self) -> None:
        slack = (self._duals <= ACTIVE_DUAL).tolist()
        rounds = [
            before + 1 if is_slack else 0
            for before, is_slack in zip(self._slack_rounds.values(), slack, strict=True)
        ]
        self._slack_rounds = dict(zip(self._slack_rounds, rounds, strict=True))
        old = np.flatnonzero(np.array(rounds) > self.settings.slack_rounds)
        if old.size > self.settings.slack_share * len(rounds):
            self.master.drop_rows(old)
            for number in np.array(list(self._slack_rounds))[old].tolist():
                del self._slack_rounds[number]
            self._duals = np.delete(self._duals, old)

    def price(self) -> bool:
        """Prove a bound from the duals, and price in columns that could lower the value; False if there are none."""
        bound, reduced = self._bound_by(self._duals)
        if bound > self.bound or not self.pool:
            self.bound, self.reduced = bound, reduced
        return self._price_in(reduced)

    def compute_central_duals(self, seconds: float = math.inf) -> None:
        """Fix variables by the reduced costs of central duals too (see `within`)."""
        for _ in range(self.settings.central_rounds):
            duals = self.master.central_duals(seconds)
            if duals is None:
                return
            bound, reduced = self._bound_by(np.maximum(duals, 0.0))
            if not self._price_in(reduced):
                self._central = bound, reduced
                return

    def _bound_by(self, duals: Floats) -> tuple[float, Floats]:
        """The bound that duals of the cuts in the program prove, and the reduced costs."""
        used = np.flatnonzero(duals > 0)
        inside = list(self._slack_rounds)
        cuts = [self.pool[inside[k]] for k in used]
        reduced = self.weights - self.matrix(cuts).T @ duals[used]
        right = float(np.array([cut.rhs for cut in cuts]) @ duals[used])
        bound = right + float(np.minimum(reduced[self.free], 0.0).sum())
        return bound, np.where(self.free, reduced, np.inf)

    def _price_in(self, reduced: Floats) -> bool:
        """Add the columns that could lower the value; False if there are none."""
        scale = max(1.0, float(np.abs(self.weights[self.free]).max(initial=0.0)))
        wanted = np.flatnonzero(self.free & (self.place < 0) & (reduced < -OPTIMALITY * scale))
        if wanted.size == 0:
            return False
        self.add_columns(wanted[np.argsort(reduced[wanted], kind="stable")[: self.settings.priced_columns]])
        return True

    def within(self, cost: float) -> Bools:
        """The cells that a pattern of at most this cost may hide; the others are fixed by their reduced costs."""
        noise = OPTIMALITY * max(1.0, abs(cost))
        (central, by_centre), by_vertex = self._central, self.reduced
        mask: Bools = (by_vertex <= cost - self.bound + noise) & (by_centre <= cost - central + noise)
        return self.free & mask

    def violated_in_pool(self, x: Floats) -> list[Cut]:
        """Cuts of the pool that are not in the program and violated at x: they enter the program again."""
        outside = [k for k in range(len(self.pool)) if k not in self._slack_rounds]
        if not outside:
            return []
        cuts = [self.pool[k] for k in outside]
        violated = np.array([cut.rhs for cut in cuts]) - self.matrix(cuts) @ x > CUT_VIOLATION
        back = [k for k, is_violated in zip(outside, violated.tolist(), strict=True) if is_violated]
        self._enter(back)
        return [self.pool[k] for k in back]

    def reoptimise(self, deadline: Deadline, rounds: int) -> None:
        """Solve again with the cuts found since, in at most this number of rounds: cuts may leave and come back."""
        for _ in range(rounds):
            if self.solve(deadline.left) is not Outcome.OPTIMAL:
                return
            if not self.violated_in_pool(self.x) and not self.price():
                return
