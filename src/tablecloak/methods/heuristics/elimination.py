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
from tablecloak.model import Problem, Task
from tablecloak.progress import Deadline, Progress


class Elimination:
    """The cells hidden still, and the witnesses of all levels: the cells that move in each.

    `hidden`: the cells hidden to begin with; no witness moves another one. `tell`: whether the cost of what is hidden
    may be told as that of a safe pattern.
    """

    def __init__(
        self,
        problem: Problem,
        tasks: Sequence[Task],
        hidden: Bools,
        deadline: Deadline,
        progress: Progress,
        *,
        tell: bool = False,
    ) -> None:
        self.problem, self.deadline, self.progress, self.tell = problem, deadline, progress, tell
        self.tasks = sorted(tasks, key=lambda task: (-task.level, task.attacker, task.cell))
        self.hidden: Bools = hidden.copy()
        self.finder = finder_of(problem, self.tasks, hidden, deadline)
        self.asked = self.saved = self.at_once = self.after_asking = 0
        self._by_cell: dict[int, list[Task]] = {}
        for task in self.tasks:
            self._by_cell.setdefault(task.cell, []).append(task)
        self.moved: dict[Task, Ints] = {}
        self._leaning: dict[int, dict[Task, None]] = {}
        self._failed: dict[Task, int] = {}

    @property
    def cost(self) -> float:
        """The weights of the complementary cells hidden now."""
        return float(self.problem.weights[self.hidden & ~self.problem.must_hide].sum())

    @property
    def counters(self) -> dict[str, float]:
        return {
            "levels": len(self.tasks),
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
        for number, task in enumerate(self.tasks):
            if number % 64 == 0:
                self.progress("witnesses", number, len(self.tasks))
            if task in self.moved:
                continue
            moved = None if self.deadline.passed() else self._found(task, far=True)
            if moved is None:
                exact = None if self.deadline.passed() else exact_witness(self.problem, self.hidden, task)
                if exact is None:
                    return False
                self._keep({task: exact.cells})
                continue
            near = [other for cell in moved.tolist() for other in self._by_cell.get(cell, ())]
            met = self.finder.also([other for other in near if other not in self.moved])
            self._keep(dict.fromkeys([task, *met], moved))
        return True

    def _found(self, task: Task, *, far: bool) -> Ints | None:
        self.asked += 1
        return self.finder.find(task, far=far)

    def _try(self, cell: int) -> None:
        """Publish a cell if every level can do without it."""
        leaning = self._leaning.get(cell, {})
        self.saved += len(self.moved) - len(leaning)
        self.finder.close(cell)
        if not leaning:
            self.hidden[cell] = False
            self.at_once += 1
            return
        found = self._others([task for task in leaning if task.cell != cell])
        if found is None:
            self.finder.open(cell)
            return
        self._keep(found)
        for task in [task for task in leaning if task.cell == cell]:  # asked only while the cell is hidden
            self._forget(task)
        self.hidden[cell] = False
        self.after_asking += 1

    def _others(self, leaning: list[Task]) -> dict[Task, Ints] | None:
        """Other witnesses of these levels without the cell just closed; None if one of them has none."""
        watched = np.array([task.cell for task in leaning], dtype=np.int64)
        if self.finder.gives_away(watched):
            return None
        found: dict[Task, Ints] = {}
        for task in sorted(leaning, key=lambda task: -self._failed.get(task, 0)):
            if task in found:
                continue
            moved = self._found(task, far=False)
            if moved is None:
                self._failed[task] = self._failed.get(task, 0) + 1
                return None
            met = self.finder.also([other for other in leaning if other not in found])
            found |= dict.fromkeys([task, *met], moved)
        return found

    def _keep(self, found: dict[Task, Ints]) -> None:
        for task, cells in found.items():
            self.deadline.check()  # witnesses of large tables move thousands of cells; the cell is still hidden here
            self._forget(task)
            self.moved[task] = cells
            for cell in cells.tolist():
                self._leaning.setdefault(cell, {})[task] = None

    def _forget(self, task: Task) -> None:
        for cell in self.moved.pop(task, np.zeros(0, dtype=np.int64)).tolist():
            del self._leaning[cell][task]
