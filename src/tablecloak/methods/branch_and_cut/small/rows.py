"""Cuts of small problems as dense rows: one compiled call separates all requirements at a point.

The cuts are those of `cuts.capacity` and `cuts.cut`. `NetworkRows` has minimum cuts (kernel `capacity_rows`): an
integral point is safe if maximum flows in whole data units meet every level, as in `NetworkSeparator`.
`GeneralRows` has multipliers of any whole equations (kernel `combination_rows`) and bridgeless inequalities: that an
integral point is not safe is proven by a row, that it is safe is for the audit to say.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker import REQUIREMENT_MET_BY_PATTERN, CellNetwork, working_columns
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.solvers.kernels import CapacityArrays, CombinationArrays, FlowArrays


class Rows(NamedTuple):
    """Inequalities left x >= right over the variables, and by how much a point violates them."""

    left: Floats
    right: Floats
    violation: Floats

    @classmethod
    def of(cls, found: tuple[Floats, Floats]) -> Rows:
        """Rows of right-hand side 1."""
        left, violation = found
        return cls(left, np.ones(violation.size), violation)

    def and_(self, other: Rows) -> Rows:
        """These and others."""
        return Rows(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


class Verdict(NamedTuple):
    """What is known of an integral point."""

    is_safe: bool
    rows: Rows
    """Rows that it violates; without any a point that is not safe cannot be excluded."""


class DenseRows(Protocol):
    """Violated rows of points, and whether an integral point is safe."""

    variables: Ints

    def at_root(self, x: Floats) -> Rows:
        """Rows that a fractional point violates: shifted points first, covers where there are none."""

    def at_node(self, x: Floats) -> Rows:
        """Rows that a fractional point violates."""

    def at_pattern(self, x: Floats) -> Verdict:
        """Whether an integral point is safe, and rows that it violates."""

    def is_safe(self, x: Floats) -> bool:
        """Whether an integral point seems safe; on networks it is."""

    def without_redundant(self, x: Floats, order: Ints) -> Floats:
        """A safe integral point with these variables 0, in this order, as far as it stays safe."""


def rows_of(model: SuppressionModel, settings: SmallSettings) -> DenseRows:
    """The rows that fit the equations."""
    return (NetworkRows if model.is_network else GeneralRows)(model, settings)


class _Arrays(NamedTuple):
    """What the kernels take of a model."""

    cells: Ints
    """The cells that may be hidden; the others are left out."""
    variable: Ints
    """By cell; -1: it is hidden in every pattern."""
    boxes: tuple[Floats, Floats]
    flows: tuple[Ints, Codes, Codes, NDArray[np.uint8]]
    levels: tuple[Floats, Floats]
    limits: tuple[int, int, float]

    @classmethod
    def of(cls, model: SuppressionModel, variables: Ints, settings: SmallSettings) -> _Arrays:
        problem, cells = model.problem, np.flatnonzero(model.allowed)
        number = np.full(model.free.size, -1)
        number[variables] = np.arange(variables.size)
        variable = np.where(problem.must_hide[cells], -1, number[model.aggregation.representative[cells]])
        attackers = sorted({one.attacker for one in model.requirements})
        boxes = [model.deviation_bounds[attacker] for attacker in attackers]
        down, up = (np.array([box[side][cells] for box in boxes]) for side in (0, 1))
        pairs = [(one, upward) for one in model.requirements for upward in one.directions]
        first = np.cumsum([0, *(len(one.directions) for one in model.requirements)])
        arc = np.searchsorted(cells, [one.cell for one, _ in pairs]).astype(np.int32)
        box = np.array([attackers.index(one.attacker) for one, _ in pairs], dtype=np.int32)
        upward = np.array([up for _, up in pairs], dtype=np.uint8)
        level = np.array([one.level for one in model.requirements])
        slack = np.minimum(REQUIREMENT_MET_BY_PATTERN * level, 0.5 * problem.table.unit)
        limits = settings.max_covered, settings.max_divisors, settings.min_rest
        return cls(cells, variable, (up, down), (first, arc, box, upward), (level, slack), limits)


class _SeparatedRows:
    """What the rows of all equations have in common: the order of separation points."""

    _kernel: CapacityArrays | CombinationArrays

    def __init__(self, model: SuppressionModel, settings: SmallSettings) -> None:
        self._settings, self.variables = settings, np.flatnonzero(model.representatives)
        self._shifts = list(settings.shifts if model.is_network else settings.general_shifts)

    def at_root(self, x: Floats) -> Rows:
        """Rows that a fractional point violates: shifted points first, covers where there are none."""
        while self._shifts:
            found = self._separate(x, np.maximum(x, self._shifts[0]))
            if found.violation.size:
                return found
            self._shifts.pop(0)
        found = self.at_node(x)
        for above, rest in () if found.violation.size else self._settings.covers:
            found = self._separate(x, np.where(x > above, 1.0, x), rest, above)
            if found.violation.size:
                break
        return found

    def at_node(self, x: Floats) -> Rows:
        """Rows that a fractional point violates."""
        return self._separate(x, x)

    def is_safe(self, x: Floats) -> bool:
        """Whether an integral point seems safe; on networks it is."""
        return self._kernel.meets_all(x)

    def without_redundant(self, x: Floats, order: Ints) -> Floats:
        """A safe integral point with these variables 0, in this order, as far as it stays safe."""
        kept = x.copy()
        self._kernel.without_redundant(kept, order)
        return kept

    def _separate(self, x: Floats, point: Floats, part: float = 1.0, above: float = 1.0) -> Rows:
        return Rows.of(self._kernel.separate(x, point, part, above, self._settings.min_violation, False))


class NetworkRows(_SeparatedRows):
    """Minimum cuts of networks."""

    def __init__(self, model: SuppressionModel, settings: SmallSettings) -> None:
        super().__init__(model, settings)
        given, graph = _Arrays.of(model, self.variables, settings), CellNetwork(model.problem)
        cells, variable, boxes, flows, levels, limits = given
        tail, head = graph.tail[cells], graph.head[cells]
        net = FlowArrays(graph.nodes, tail, head, np.zeros(2 * cells.size))
        self._kernel = CapacityArrays(
            net, (tail, head), variable, self.variables.size, boxes, flows, levels, limits
        )

    def at_pattern(self, x: Floats) -> Verdict:
        """Whether an integral point is safe, and rows that it violates, one of them without fail."""
        found = Rows.of(self._kernel.separate(x, x, 1.0, 1.0, 0.0, True))
        if self.is_safe(x):
            return Verdict(True, found)
        weakest = (x < 0.5).astype(np.float64)[None, :]
        return Verdict(False, found.and_(Rows(weakest, np.ones(1), np.ones(1))))


class GeneralRows(_SeparatedRows):
    """Multipliers of any whole equations, and bridgeless inequalities."""

    _kernel: CombinationArrays

    def __init__(self, model: SuppressionModel, settings: SmallSettings) -> None:
        super().__init__(model, settings)
        given, equations = _Arrays.of(model, self.variables, settings), working_columns(model.problem.table)
        cells, variable, boxes, flows, levels, limits = given
        matrix = csc_array(equations[:, cells])
        columns = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
        rows, size = matrix.shape[0], self.variables.size
        self._kernel = CombinationArrays(columns, rows, variable, size, boxes, flows, levels, limits)
        self._in_equation, self._alone = _equations_of_variables(model, variable, self.variables.size)

    def at_node(self, x: Floats) -> Rows:
        """Rows that a fractional point violates."""
        return super().at_node(x).and_(self._bridgeless(x))

    def at_pattern(self, x: Floats) -> Verdict:
        """Whether an integral point is safe, as far as floats can say, and rows that it violates, if any is proven."""
        found = Rows.of(self._kernel.separate(x, x, 1.0, 1.0, 0.0, True))
        return Verdict(self._kernel.unmet == 0, found.and_(self._bridgeless(x)))

    def _bridgeless(self, x: Floats) -> Rows:
        """The most violated bridgeless inequality of each equation: see `cuts.bridgeless`."""
        largest = np.where(self._alone, x, -1.0)
        variable = largest.argmax(axis=1)
        most = largest[np.arange(variable.size), variable]
        violation = 2.0 * most - self._in_equation @ x
        chosen = np.flatnonzero(violation > self._settings.min_violation)
        left = self._in_equation[chosen]
        left[np.arange(chosen.size), variable[chosen]] = -1.0
        return Rows(left, np.zeros(chosen.size), violation[chosen])


def _equations_of_variables(model: SuppressionModel, variable: Ints, size: int) -> tuple[Floats, Bools]:
    """By equation without a cell that must be hidden: the variables in it, and those of a single cell in it."""
    equations = model.problem.table.equations
    of_cell = np.full(model.free.size, -2)
    of_cell[model.allowed] = variable
    row = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
    here = of_cell[equations.indices]
    times = np.zeros((equations.shape[0], size))
    np.add.at(times, (row[here >= 0], here[here >= 0]), 1.0)
    usable: Bools = times.any(axis=1)  # type: ignore[assignment]
    usable[row[here == -1]] = False
    times = times[usable]
    return (times > 0.0).astype(np.float64), times == 1.0
