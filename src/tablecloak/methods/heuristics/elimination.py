"""Publishing hidden cells one by one as long as every level keeps a witness.

Every level has a witness: deviations of hidden cells that give the sensitive cell its room. Each cell in turn: a level
whose witness does not move it is met without it, nobody need ask. The others are asked for another witness without the
cell. If all have one, the cell is published.

Hiding less never widens an interval, so a cell that must stay now must stay for good: one pass ends in a pattern of
which no cell can be published. It is safe at any time, so the clock may stop it anywhere.

Reference: Serpell, Smith, Clark & Staggemeier (2013), "Elimination LP"; the witnesses are ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Bools, Ints
from tablecloak.methods.heuristics.deviation import exact_witness
from tablecloak.methods.heuristics.witnesses import finder_of
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress


class Elimination:
    """The cells hidden still, and the witnesses of all levels: the cells that move in each.

    `hidden`: the cells hidden to begin with; no witness moves another one. `tell`: whether the cost of what is hidden
    may be told as that of a safe pattern.
    """

    def __init__(
        self,
        problem: Problem,
        requirements: Sequence[Requirement],
        hidden: Bools,
        deadline: Deadline,
        progress: Progress,
        *,
        tell: bool = False,
    ) -> None:
        self.problem, self.deadline, self.progress, self.tell = problem, deadline, progress, tell
        self.requirements = sorted(
            requirements, key=lambda requirement: (-requirement.level, requirement.attacker, requirement.cell)
        )
        self.hidden: Bools = hidden.copy()
        self.finder = finder_of(problem, self.requirements, hidden, deadline)
        self.asked = self.saved = self.at_once = self.after_asking = 0
        self._by_cell: dict[int, list[Requirement]] = {}
        for requirement in self.requirements:
            self._by_cell.setdefault(requirement.cell, []).append(requirement)
        self.moved: dict[Requirement, Ints] = {}
        self._leaning: dict[int, dict[Requirement, None]] = {}
        self._failed: dict[Requirement, int] = {}

    @property
    def cost(self) -> float:
        """The weights of the complementary cells hidden now."""
        return float(self.problem.weights[self.hidden & ~self.problem.must_hide].sum())

    @property
    def counters(self) -> dict[str, float]:
        return {
            "levels": len(self.requirements),
            "levels asked": self.asked,
            "saved by witnesses": self.saved,
            "published at once": self.at_once,
            "published after asking": self.after_asking,
        }

    def publish(self, order: Ints) -> None:
        """Publish the cells that no level needs, in this order.

        A conditional width goes with its cell, and then a cell tried before may be free: where there are such widths
        the rest is tried again until nothing changes.
        """
        if not self._witnessed():
            return
        conditional = bool(self.problem.levels.conditional.any())
        while order.size and not self.deadline.passed():
            self._pass(order)
            rest = order[self.hidden[order]]
            if not conditional or rest.size == order.size:
                return
            order = rest

    def _pass(self, order: Ints) -> None:
        """Try each cell once."""
        for number, cell in enumerate(order.tolist()):
            if self.deadline.passed():
                return
            self._try(cell)
            if number % 64 == 0:
                self.progress("publishing", number, order.size, self.cost if self.tell else None)

    def _witnessed(self) -> bool:
        """A witness for every level; False if the time is up before, or one is lost in rounding."""
        for number, requirement in enumerate(self.requirements):
            if number % 64 == 0:
                self.progress("witnesses", number, len(self.requirements))
            if requirement in self.moved:
                continue
            moved = None if self.deadline.passed() else self._found(requirement, far=True)
            if moved is None:
                exact = (
                    None if self.deadline.passed() else exact_witness(self.problem, self.hidden, requirement)
                )
                if exact is None:
                    return False
                self._keep({requirement: exact.cells})
                continue
            near = [other for cell in moved.tolist() for other in self._by_cell.get(cell, ())]
            met = self.finder.also([other for other in near if other not in self.moved])
            self._keep(dict.fromkeys([requirement, *met], moved))
        return True

    def _found(self, requirement: Requirement, *, far: bool) -> Ints | None:
        self.asked += 1
        return self.finder.find(requirement, far=far)

    def _try(self, cell: int) -> None:
        """Publish a cell if every level can do without it."""
        leaning = self._leaning.get(cell, {})
        self.saved += len(self.moved) - len(leaning)
        self.finder.close(cell)
        if not leaning:
            self.hidden[cell] = False
            self.at_once += 1
            return
        found = self._others([requirement for requirement in leaning if requirement.cell != cell])
        if found is None:
            self.finder.open(cell)
            return
        self._keep(found)
        for requirement in [
            requirement for requirement in leaning if requirement.cell == cell
        ]:  # asked only while the cell is hidden
            self._forget(requirement)
        self.hidden[cell] = False
        self.after_asking += 1

    def _others(self, leaning: list[Requirement]) -> dict[Requirement, Ints] | None:
        """Other witnesses of these levels without the cell just closed; None if one of them has none."""
        watched = np.array([requirement.cell for requirement in leaning], dtype=np.int64)
        if self.finder.gives_away(watched):
            return None
        found: dict[Requirement, Ints] = {}
        for requirement in sorted(leaning, key=lambda requirement: -self._failed.get(requirement, 0)):
            if requirement in found:
                continue
            moved = self._found(requirement, far=False)
            if moved is None:
                self._failed[requirement] = self._failed.get(requirement, 0) + 1
                return None
            met = self.finder.also([other for other in leaning if other not in found])
            found |= dict.fromkeys([requirement, *met], moved)
        return found

    def _keep(self, found: dict[Requirement, Ints]) -> None:
        for requirement, cells in found.items():
            self.deadline.check()  # witnesses of large tables move thousands of cells; the cell is still hidden here
            self._forget(requirement)
            self.moved[requirement] = cells
            for cell in cells.tolist():
                self._leaning.setdefault(cell, {})[requirement] = None

    def _forget(self, requirement: Requirement) -> None:
        for cell in self.moved.pop(requirement, np.zeros(0, dtype=np.int64)).tolist():
            del self._leaning[cell][requirement]
