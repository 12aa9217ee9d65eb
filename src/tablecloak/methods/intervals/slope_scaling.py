"""Good safe intervals under a price for touching a cell at all: the starts of `interval_combined`.

    min  sum_i w_i (t [z_i > 0] + z_i)   is approached by linear programs   min  sum_i s_i z_i

over the same levels (*slope scaling*): a cell that was z long costs s_i = w_i (1 + t / z) a unit next time, so that the
price is right if it stays as long; others keep their last slope. In the end the narrowest intervals on the cells that
are touched. Cells to start from are those of a cheap suppression pattern, or of a point of the relaxation.

Reference: Kim & Pardalos (1999), A solution approach to the fixed charge network flow problem using a dynamic slope
scaling procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.intervals.attainable import cheap_pattern, columns_of, hidden_by_mark
from tablecloak.methods.unified import CuttingPlaneModel, Formulation, ProtectionCut, interval_formulation
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import Outcome

SCALED = 6
"""At most so many linear programs with slopes that follow the last lengths."""
MOST_CELLS = 5000
"""Slopes are tried on all cells of tables no larger than this."""


def with_switches(formulation: Formulation, below: Floats, above: Floats) -> Floats | None:
    """Columns of a combined form that leave this room; None if it does not allow so much."""
    lengths, linked = columns_of(formulation, below, above), formulation.switch >= 0
    x = np.where(linked, np.minimum(lengths, formulation.high), 0.0)
    if (x[linked] < lengths[linked] * (1 - 1e-9)).any():
        return None
    np.maximum.at(x, formulation.switch[linked], (x[linked] > 0).astype(float))
    return x


class Touching:
    """Safe points of a combined form; the levels are those of sensitive cells (no conditional widths)."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        touch: float,
        far: float,
        requirements: Sequence[Requirement],
        deadline: Deadline,
    ) -> None:
        self.problem, self.formulation, self.requirements, self.deadline = (
            problem,
            formulation,
            requirements,
            deadline,
        )
        self.far, self.hidden = far, hidden_by_mark(problem)
        self.fixed = np.where(problem.must_hide, 0.0, touch) * problem.weights
        self.cuts: list[ProtectionCut] = []
        self._seen: set[bytes] = set()

    def start(self, allowed: Bools) -> list[Floats]:
        """Points from a cheap suppression pattern, and from slopes on all cells of tables that are not large."""
        pattern = cheap_pattern(self.problem, allowed, silent, self.deadline)
        found = [] if pattern is None else self.points(pattern)
        return found + (self.points(allowed) if allowed.size <= MOST_CELLS else [])

    def points(self, cells: Bools, like: Floats | None = None) -> list[Floats]:
        """Safe points on some cells, where there are any; lengths `like` those of a cell give the first slopes."""
        levels = self.problem.levels
        wide = np.maximum(levels.lower + levels.upper, levels.sliding)[self.problem.sensitive]
        typical = float(np.median(wide)) if wide.size and np.median(wide) > 0 else self.problem.table.unit
        length = np.full(cells.size, typical) if like is None else np.where(like > 0, like, typical)
        found: list[Floats] = []
        for _ in range(SCALED):
            room = self._narrowest(cells, self.problem.weights + self.fixed / length)
            if room is None:
                break
            cells = ((room[0] > 0) | (room[1] > 0)) & cells
            if cells.tobytes() in self._seen:
                break
            self._seen.add(cells.tobytes())
            narrow = self._narrowest(cells, self.problem.weights)
            if narrow is not None:
                x = with_switches(self.formulation, *narrow)
                found += [] if x is None else [x]
            total = room[0] + room[1]
            length = np.where(total > 0, total, length)
        return found

    def _narrowest(self, cells: Bools, price: Floats) -> tuple[Floats, Floats] | None:
        """The cheapest room on some cells at these prices; None if there is none, or no time."""
        formulation = interval_formulation(
            self.problem, cells | self.problem.must_hide, self.hidden, price, price
        )
        unit = float(abs(formulation.above.matrix).max()) if formulation.size else 1.0
        formulation = replace(formulation, high=np.minimum(formulation.high, self.far / unit))
        model = CuttingPlaneModel(
            self.problem, formulation, self.requirements, [], self.deadline, silent, self.cuts
        )
        answer = model.solve()
        if answer.outcome is not Outcome.OPTIMAL or not answer.safe:
            return None
        self.cuts = model.tight_cuts()
        below, above = formulation.below.at(answer.values), formulation.above.at(answer.values)
        small = (
            1e-7 * max(requirement.level for requirement in self.requirements) if self.requirements else 0.0
        )
        return np.where(below > small, below, 0.0), np.where(above > small, above, 0.0)
