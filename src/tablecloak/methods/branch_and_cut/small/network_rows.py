"""Capacity cuts of small networks as dense rows: one compiled call separates all requirements at a point.

The cuts are those of `cuts.capacity` and `cuts.cut`; the kernel is `capacity_rows`. An integral point is safe if
maximum flows in whole data units meet every level, as in `NetworkSeparator`.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import REQUIREMENT_MET_BY_PATTERN, CellNetwork
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.solvers.kernels import CapacityArrays, FlowArrays


class NetworkRows:
    """Violated cuts of points over the variables of a model, and whether an integral point is safe."""

    def __init__(self, model: SuppressionModel, settings: SmallSettings) -> None:
        self._settings, self.variables = settings, np.flatnonzero(model.representatives)
        self._shifts = list(settings.shifts)
        problem, cells = model.problem, np.flatnonzero(model.allowed)
        number = np.full(model.free.size, -1)
        number[self.variables] = np.arange(self.variables.size)
        variable = np.where(problem.must_hide[cells], -1, number[model.aggregation.representative[cells]])
        graph = CellNetwork(problem)
        tail, head = graph.tail[cells], graph.head[cells]
        net = FlowArrays(graph.nodes, tail, head, np.zeros(2 * cells.size))
        attackers = sorted({one.attacker for one in model.requirements})
        boxes = [model.deviation_bounds[attacker] for attacker in attackers]
        down, up = (np.array([box[side][cells] for box in boxes]) for side in (0, 1))
        pairs = [(one, upward) for one in model.requirements for upward in one.directions]
        first = np.cumsum([0, *(len(one.directions) for one in model.requirements)])
        arc = np.searchsorted(cells, [one.cell for one, _ in pairs]).astype(np.int32)
        box = np.array([attackers.index(one.attacker) for one, _ in pairs], dtype=np.int32)
        upward = np.array([up for _, up in pairs], dtype=np.uint8)
        level = np.array([one.level for one in model.requirements])
        self._cuts = CapacityArrays(
            net,
            (tail, head),
            variable,
            self.variables.size,
            (up, down),
            (first, arc, box, upward),
            (level, np.minimum(REQUIREMENT_MET_BY_PATTERN * level, 0.5 * problem.table.unit)),
            (settings.max_covered, settings.max_divisors, settings.min_rest),
        )

    def at_root(self, x: Floats) -> tuple[Floats, Floats]:
        """Cuts that a fractional point violates and by how much: shifted points first, covers where there are none."""
        while self._shifts:
            found = self._separate(x, np.maximum(x, self._shifts[0]))
            if len(found[0]):
                return found
            self._shifts.pop(0)
        found = self._separate(x, x)
        for above, rest in () if len(found[0]) else self._settings.covers:
            found = self._separate(x, np.where(x > above, 1.0, x), rest, above)
            if len(found[0]):
                break
        return found

    def at_node(self, x: Floats) -> tuple[Floats, Floats]:
        """Cuts that a fractional point violates, and by how much."""
        return self._separate(x, x)

    def at_pattern(self, x: Floats) -> tuple[Floats, Floats]:
        """Cuts that an integral point violates, and by how much; none: it is a safe pattern."""
        return self._cuts.separate(x, x, 1.0, 1.0, 0.0, True)

    def is_safe(self, x: Floats) -> bool:
        """Whether an integral point is a safe pattern."""
        return self._cuts.meets_all(x)

    def without_redundant(self, x: Floats, order: Ints) -> Floats:
        """A safe integral point with these variables 0, in this order, as far as it stays safe."""
        kept = x.copy()
        self._cuts.without_redundant(kept, order)
        return kept

    def _separate(
        self, x: Floats, point: Floats, part: float = 1.0, above: float = 1.0
    ) -> tuple[Floats, Floats]:
        return self._cuts.separate(x, point, part, above, self._settings.min_violation, False)
