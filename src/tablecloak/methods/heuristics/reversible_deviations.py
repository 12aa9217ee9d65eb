"""A safe pattern for any table from few linear programs: deviations that can be reversed, credited in multiples.

For the sensitive cell with the largest unmet requirement L, the cheapest deviation that is possible in both directions:

    min  sum_i c_i |d_i|    s.t.  M d = 0,   |d_i| <= min(up_i, down_i),   d_p = L

c_i = 0 where i is hidden, else w_i / min(L, up_i, down_i). The cells that move are hidden. The deviation is a witness
of every requirement that one of its multiples meets, in its direction up to t and in the opposite one up to t':

    t = min_i bound_i(sign d_i) / |d_i|,    t' = min_i bound_i(-sign d_i) / |d_i|

so that a dozen programs often settle hundreds of requirements. Where no such deviation exists, each requirement of the
cell gets one of its own. Multiples that are in use also give safe *intervals* (`spans`): cell i may be published as
everything that the multiples in use move it to, since every witness stays possible.

Reference: Castro (2002), Network flows heuristics for complementary cell suppression, for one flow for both sides and
for crediting multiples; Kelly, Golden & Assad (1992) for the programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import working_equations
from tablecloak.methods.heuristics.deviation import (
    DeviationFinder,
    DeviationSettings,
    RequirementQueue,
    Witness,
    floored_weights,
    outsider_first,
)
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Deadline, Progress


@dataclass(frozen=True)
class QuickSettings:
    """Sizes and tolerances of the construction."""

    enough: float = 1 - 1e-9
    """A requirement is met from this share of it on; the audit has the last word."""
    least_move: float = 1e-4
    """Cells that move by less than this share of the furthest one are not credited: solvers' tolerances are relative
    to the largest numbers of a program."""
    hidden_price: float = 0.0
    """Price of complementary cells that are hidden already, as a share of their weights: deviations of fewer cells."""
    single: DeviationSettings = DeviationSettings()
    """Programs of deviations whose reverse is not possible."""
    reversible: DeviationSettings = DeviationSettings(first_cells=200)
    """Programs of deviations whose reverse is possible too; later ones begin one step below the size that sufficed
    before. Untested default."""


@dataclass(eq=False)
class HeldDeviation:
    """A deviation of hidden cells, and the largest multiples of it that requirements use."""

    cells: Ints
    moves: Floats
    along: float = 0.0
    against: float = 0.0
    serves: list[Requirement] = field(default_factory=list)
    """The requirements that it meets, alone or with others."""


def spanned(count: int, held: Iterable[HeldDeviation]) -> tuple[Floats, Floats]:
    """How far below and above its value each of `count` cells is moved by the multiples in use."""
    below, above = np.zeros((2, count))
    for one in held:
        rise, fall = np.maximum(one.moves, 0.0), np.maximum(-one.moves, 0.0)
        above[one.cells] = np.maximum(above[one.cells], np.maximum(one.along * rise, one.against * fall))
        below[one.cells] = np.maximum(below[one.cells], np.maximum(one.along * fall, one.against * rise))
    return below, above


class _ReversibleFinder(DeviationFinder):
    """Cheapest deviations whose reverse is possible too."""

    def __init__(
        self,
        problem: Problem,
        equations: csr_array,
        allowed: Bools,
        deadline: Deadline,
        settings: DeviationSettings,
    ) -> None:
        super().__init__(problem, equations, allowed, deadline, settings)
        self._both: dict[int, tuple[Floats, Floats]] = {}

    def capacity(self, attacker: int) -> tuple[Floats, Floats]:
        """How far each cell may deviate in both directions."""
        if attacker not in self._both:
            least = np.minimum(*super().capacity(attacker))
            self._both[attacker] = (least, least)
        return self._both[attacker]


class QuickDeviations:
    """The cells hidden so far, the deviations held, and the requirements that none of them meets.

    `requirements`: the requirements; `start`: cells hidden to begin with (those that must be, unless given).
    """

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        requirements: Sequence[Requirement],
        progress: Progress,
        deadline: Deadline,
        *,
        start: Bools | None = None,
        settings: QuickSettings = QuickSettings(),
    ) -> None:
        self.problem, self.progress, self.deadline, self.settings = problem, progress, deadline, settings
        self.hidden: Bools = problem.must_hide.copy() if start is None else start.copy()
        self.held: list[HeldDeviation] = []
        equations = working_equations(problem.table)
        self._single = DeviationFinder(problem, equations, allowed, deadline, settings.single)
        self._reversible = _ReversibleFinder(problem, equations, allowed, deadline, settings.reversible)
        self._queue = RequirementQueue(outsider_first(requirements))
        self._weights = floored_weights(problem.weights)

    @property
    def unmet(self) -> list[Requirement]:
        """Requirements without a witness."""
        return self._queue.unmet

    @property
    def programs(self) -> int:
        """Number of linear programs solved."""
        return self._single.solves + self._reversible.solves

    def spans(self) -> tuple[Floats, Floats]:
        """How far below and above its value each cell is moved by the multiples in use."""
        return spanned(self.hidden.size, self.held)

    def build(self) -> None:
        """Deviations until every requirement is met, one has none, or the time is up."""
        for number, requirement in self._queue:
            if self.deadline.passed():
                return
            self.progress("deviations", number, len(self._queue))
            self._reverse(requirement)
            if requirement in self._queue and not self._alone(requirement):
                return

    def _price(self) -> Floats:
        again = np.where(self.problem.must_hide, 0.0, self.settings.hidden_price * self._weights)
        return np.where(self.hidden, again, self._weights)

    def _reverse(self, requirement: Requirement) -> None:
        """One deviation for all requirements of a cell against one attacker, where there is one."""
        waiting = self._queue.of([requirement.cell])
        rivals = [other for other in waiting if other.attacker == requirement.attacker]
        level = max(other.level / (2.0 if other.side is Side.SLIDE else 1.0) for other in rivals)
        finder = self._reversible
        if finder.capacity(requirement.attacker)[0][requirement.cell] < level:
            return
        widest = self.hidden.size  # no exact deviation at any price: each requirement has one of its own then
        found = finder.cheapest(
            Requirement(requirement.cell, requirement.attacker, Side.UP, level), self._price(), widest=widest
        )
        finder.first_size = max(finder.settings.first_cells, finder.last_size // finder.settings.growth)
        if found is not None:
            self._hold(found.cells, found.forward)

    def _alone(self, requirement: Requirement) -> bool:
        """A deviation for one requirement; False if there is none, or not in time."""
        found = self._single.cheapest(requirement, self._price())
        if found is None:
            return False
        self._hold(found.cells, found.forward)
        if requirement in self._queue:
            self._hold_pair(requirement, found)
        return True

    def _hold_pair(self, requirement: Requirement, found: Witness) -> None:
        """A sliding requirement met by two deviations, or one met up to tolerances."""
        for moves in (found.forward, found.backward):
            if moves is not None:
                self.hidden[found.cells] = True
                self.held.append(HeldDeviation(found.cells, moves, along=1.0, serves=[requirement]))
        self._queue.settle(requirement)

    def _hold(self, cells: Ints, moves: Floats) -> None:
        """Hide the cells that a deviation moves, and credit it to all requirements that its multiples meet."""
        moving = moves != 0  # a width may be met by the other deviation of a pair alone
        cells, moves = cells[moving], moves[moving]
        self.hidden[cells] = True
        held = HeldDeviation(cells, moves)
        least = self.settings.least_move * float(np.abs(moves).max(initial=0.0))
        multiples: dict[int, tuple[float, float]] = {}
        for cell, move in zip(cells.tolist(), moves.tolist(), strict=True):
            for requirement in self._queue.of([cell]) if abs(move) >= least else ():
                if requirement.attacker not in multiples:
                    multiples[requirement.attacker] = self._multiples(cells, moves, requirement.attacker)
                used = self._used(requirement, move, multiples[requirement.attacker])
                if used is not None:
                    held.along, held.against = max(held.along, used[0]), max(held.against, used[1])
                    held.serves.append(requirement)
                    self._queue.settle(requirement)
        if held.along or held.against:
            self.held.append(held)

    def _multiples(self, cells: Ints, moves: Floats, attacker: int) -> tuple[float, float]:
        """The largest multiples of a deviation, and of its reverse, in an attacker's box."""
        down, up = (side[cells] for side in self._single.capacity(attacker))
        rises, size = moves > 0, np.abs(moves)
        along, against = np.where(rises, up, down) / size, np.where(rises, down, up) / size
        return float(along.min()), float(against.min())

    def _used(
        self, requirement: Requirement, move: float, most: tuple[float, float]
    ) -> tuple[float, float] | None:
        """The multiples along and against that a requirement uses; None if the largest ones do not meet it."""
        need = requirement.level / abs(move)
        up, down = most if move > 0 else most[::-1]
        if requirement.side is Side.UP:
            rise, fall = min(need, up), 0.0
        elif requirement.side is Side.DOWN:
            rise, fall = 0.0, min(need, down)
        else:
            rise = min(need, up)
            fall = min(need - rise, down)
        if rise + fall < need * self.settings.enough:
            return None
        return (rise, fall) if move > 0 else (fall, rise)
