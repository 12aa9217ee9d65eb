"""Minimum cuts of all requirements of a small network at once, as rows over the variables.

One network serves all points: cells that a point publishes have no capacity. See `cuts.capacity` for the inequalities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker import FLOW_NOISE, REQUIREMENT_MET_BY_PATTERN, CellNetwork, entry_ranges
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.methods.branch_and_cut.small.cut_rows import (
    capacity_rows,
    covers_of,
    no_good_rows,
    strengthened_rows,
)
from tablecloak.solvers.graphs import Network


class _RequirementFlows(NamedTuple):
    """The flows that decide the requirements, in their order: one for each direction of each requirement."""

    of: Ints
    """The requirement of each flow."""
    upward: Bools
    arc: Codes
    level: Floats
    row: Codes
    """The row of the attacker in the bounds."""
    limit: Floats
    """The level, or the bound of the cell itself if that is less."""


class SmallSeparation:
    """Violated cuts of a point over the variables, and whether an integral point is safe."""

    def __init__(self, model: SuppressionModel, settings: SmallSettings) -> None:
        self._settings, self.variables = settings, np.flatnonzero(model.representatives)
        problem, size = model.problem, model.free.size
        cells = np.flatnonzero(model.allowed)
        self._hidden: Bools = problem.must_hide[cells]
        number = np.full(size, -1)
        number[self.variables] = np.arange(self.variables.size)
        self._variable = number[model.aggregation.representative[cells]]
        """By cell its variable; that of a cell that must be hidden means nothing."""
        self._loose = np.flatnonzero(~self._hidden)
        own = self._variable[self._loose]
        self._is_aggregated = own.size != self.variables.size or bool((np.diff(own) < 0).any())
        graph = CellNetwork(problem)
        self._tail, self._head = graph.tail[cells], graph.head[cells]
        ones = np.ones(cells.size)
        self._network = Network(graph.nodes, self._tail, self._head, ones, ones)
        attackers = sorted({one.attacker for one in model.requirements})
        boxes = [model.deviation_bounds[attacker] for attacker in attackers]
        self._down, self._up = (np.array([box[side][cells] for box in boxes]) for side in (0, 1))
        self._level = np.array([one.level for one in model.requirements])
        self._slack = np.minimum(REQUIREMENT_MET_BY_PATTERN * self._level, 0.5 * problem.table.unit)
        self._flows = self._flows_of(model, cells, attackers)

    def _flows_of(self, model: SuppressionModel, cells: Ints, attackers: list[int]) -> _RequirementFlows:
        pairs = [(t, upward) for t, one in enumerate(model.requirements) for upward in one.directions]
        of = np.array([t for t, _ in pairs])
        upward = np.array([up for _, up in pairs])
        arc = np.searchsorted(cells, [model.requirements[t].cell for t, _ in pairs]).astype(np.int32)
        row = np.array([attackers.index(model.requirements[t].attacker) for t, _ in pairs], dtype=np.int32)
        own, level = np.where(upward, self._up[row, arc], self._down[row, arc]), self._level[of]
        return _RequirementFlows(of, upward, arc, level, row, np.minimum(own, level))

    def unsafe(self, x: Floats) -> Bools:
        """The requirements that an integral point does not meet; none: it is a safe pattern."""
        reach, _ = self._settled(self._shares(x), None, 0.0)
        return reach < self._level - self._slack

    def separate(self, x: Floats, integral: bool) -> Floats:
        """Capacity cuts, covers and roundings that a point violates, a row each; an integral point without is safe."""
        least, settings = self._settings.min_violation, self._settings
        shares = self._shares(x)
        slack = self._slack if integral else least * self._level
        rows = self._rows(shares, slack, noise=0.0 if integral else FLOW_NOISE)
        if integral:  # a capacity cut may be violated by next to nothing, its no-good cut is by 1
            return np.concatenate([rows, no_good_rows(rows, x > 0.5)])
        return strengthened_rows(rows, x, least, settings)

    def separate_shifted(self, x: Floats, shift: float) -> Floats:
        """The same for the point with all published cells hidden to a small extent: sparser and deeper cuts."""
        least, shifted = self._settings.min_violation, np.maximum(x, shift)
        rows = self._rows(self._shares(shifted), least * self._level)
        return strengthened_rows(rows, x, least, self._settings)

    def separate_covers(self, x: Floats, above: float, rest: float) -> Floats:
        """Covers with the cells hidden to more than `above`, by minimum cuts of their own: see `cuts.capacity`."""
        least, settings, taken = self._settings.min_violation, self._settings, x > above
        moved = np.where(taken, 1.0, x)
        part = rest * self._flows.level
        rows = self._rows(self._shares(moved), least * self._level, part)
        covers = covers_of(rows, taken, settings)
        return strengthened_rows(np.concatenate([rows, covers]), x, least, settings)

    # ------------------------------------------------------------------ minimum cuts

    def _shares(self, x: Floats) -> Floats:
        """To what extent each cell may deviate."""
        if x.size == 0:
            return np.ones(self._hidden.size)
        return np.where(self._hidden, 1.0, np.clip(x[self._variable], 0.0, 1.0))

    def _settled(
        self, shares: Floats, part: Floats | None, noise: float
    ) -> tuple[Floats, tuple[Floats, Bools, Bools]]:
        """By requirement how far its cell deviates; by flow its amount and the source sides of its two cuts."""
        flows = self._flows
        cuts = self._network.least_cuts(
            flows.arc,
            flows.upward,
            flows.limit,
            flows.level,
            flows.row,
            (self._up, self._down),
            shares,
            part,
            noise=noise,
        )
        reach = np.zeros(self._level.size)
        np.add.at(reach, flows.of, cuts[0])
        return reach, cuts

    def _rows(
        self, shares: Floats, slack: Floats, part: Floats | None = None, noise: float = FLOW_NOISE
    ) -> Floats:
        """The capacity cuts of the requirements that miss their level by more than the slack, most violated first."""
        reach, (amount, *sides) = self._settled(shares, part, noise)
        violated = np.flatnonzero(reach < self._level - slack)
        if violated.size == 0:
            return np.zeros((0, self.variables.size))
        violated = violated[np.argsort(reach[violated] / self._level[violated], kind="stable")]
        violated = violated[: self._settings.max_requirements]
        first = np.searchsorted(self._flows.of, violated)
        count = np.searchsorted(self._flows.of, violated, side="right") - first
        chosen = first if (count == 1).all() else entry_ranges(first, count)
        capacities = np.concatenate([self._capacities(side[chosen], chosen, amount, noise) for side in sides])
        if chosen is not first:
            starts = np.concatenate([[0], np.cumsum(count)[:-1]])
            starts = np.concatenate([starts, starts + chosen.size])
            capacities = np.add.reduceat(capacities, starts, axis=0)
        level = np.tile(self._level[violated], 2)
        capacities = np.minimum(capacities, level[:, None])
        fixed = capacities[:, self._hidden].sum(axis=1)
        rows, valid = capacity_rows(self._of_variables(capacities), fixed, int(self._hidden.sum()), level)
        return rows[valid]

    def _capacities(self, source_sides: Bools, flows: Ints, amount: Floats, noise: float) -> Floats:
        """By flow: what each cell contributes across the cut; where its own bound is what limits it, that alone."""
        leaves, arrives = source_sides[:, self._tail], source_sides[:, self._head]
        row, arc, limit = self._flows.row[flows], self._flows.arc[flows], self._flows.limit[flows]
        found = np.where(leaves & ~arrives, self._up[row], np.where(arrives & ~leaves, self._down[row], 0.0))
        every = np.arange(flows.size)
        found[every, arc] = 0.0
        binding = np.flatnonzero(amount[flows] >= limit * (1 - noise))
        if binding.size:
            found[binding] = 0.0
            found[binding, arc[binding]] = limit[binding]
        return found

    def _of_variables(self, capacities: Floats) -> Floats:
        """The sums of aggregated cells."""
        loose = capacities[:, self._loose]
        if not self._is_aggregated:
            return loose
        sums = np.zeros((len(capacities), self.variables.size))
        np.add.at(sums.T, self._variable[self._loose], loose.T)
        return sums
