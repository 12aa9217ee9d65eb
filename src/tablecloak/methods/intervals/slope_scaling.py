"""Slope scaling: good safe intervals under a price for touching a cell at all, the starts of `interval_combined`.

    min  sum_i w_i [z_i > 0] + w_i+ z_i+ + w_i- z_i-   by   min  sum_i (w_i+ + s_i) z_i+ + (w_i- + s_i) z_i-

over the same requirements: a cell that was z = z+ + z- long has the slope s_i = w_i / z next time, so that the price is
right if it stays as long; others keep their last slope. In the end the narrowest intervals on the cells that are
touched. Cells to start from are those of a cheap suppression pattern, or of a point of the relaxation.

Reference: Kim & Pardalos (1999), A solution approach to the fixed charge network flow problem using a dynamic slope
scaling procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.data_units import in_data_units
from tablecloak.methods.heuristics import ConstructionSettings, construct_pattern
from tablecloak.methods.intervals.attainable import SideBounds, hidden_by_mark
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    CuttingPlaneSettings,
    Formulation,
    ProtectionCut,
    interval_formulation,
    length_unit,
)
from tablecloak.model import Prices, Problem, Requirement
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import NEGLIGIBLE_LENGTH, OPTIMALITY, Outcome


@dataclass(frozen=True)
class SlopeScalingSettings:
    """Effort of slope scaling."""

    max_programs: int = 6
    """Maximum number of linear programs with slopes that follow the last lengths, from one set of cells. More: better
    starts, against time. Untested default."""
    max_cells: int = 5000
    """Maximum number of cells of tables on all cells of which slope scaling is run. More: better starts, against the
    time of programs over all cells. Untested default."""
    construction: ConstructionSettings = ConstructionSettings()
    """Construction of the suppression pattern to begin with."""


def point_of(formulation: Formulation, below: Floats, above: Floats) -> Floats | None:
    """The point of a combined formulation with these deviation bounds; None if they exceed its limits."""
    both = formulation.above.matrix.T @ above + formulation.below.matrix.T @ below
    sides = (abs(side.matrix).sum(axis=0) for side in (formulation.above, formulation.below))
    unit = np.asarray(sum(sides)).ravel()
    lengths = np.asarray(both / np.where(unit > 0, unit, 1.0) ** 2)
    switch = formulation.switch
    linked = switch >= 0
    x = np.where(linked, np.minimum(lengths, formulation.high), 0.0)
    if (x[linked] < lengths[linked] * (1 - OPTIMALITY)).any():
        return None
    np.maximum.at(x, switch[linked], (x[linked] > 0).astype(float))
    return x


class SlopeScaling:
    """Safe points of a combined formulation; requirements are those of sensitive cells (no conditional widths)."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        prices: tuple[Prices, float],
        requirements: Sequence[Requirement],
        deadline: Deadline,
        settings: SlopeScalingSettings = SlopeScalingSettings(),
        model: CuttingPlaneSettings = CuttingPlaneSettings(),
    ) -> None:
        """`prices`: those of both sides and of touching, and the largest length of a side."""
        self.problem, self.formulation, self.requirements = problem, formulation, requirements
        self.deadline, self.settings, self._model = deadline, settings, model
        self._prices, self._max_length = prices
        self._fixed = np.where(problem.must_hide, 0.0, self._prices.touched)
        self._cuts: list[ProtectionCut] = []
        self._seen: set[bytes] = set()

    def start(self, allowed: Bools, *, all_cells: bool) -> list[Floats]:
        """Points from the cells of a cheap suppression pattern, and from all cells."""
        given = in_data_units(self.problem), allowed, silent, self.deadline
        pattern = construct_pattern(*given, settings=self.settings.construction)
        found = [] if pattern is None else self.points(pattern)
        return found + (self.points(allowed) if all_cells else [])

    def points(self, cells: Bools, like: Floats | None = None) -> list[Floats]:
        """Safe points on some cells, where there are any; first slopes are those of lengths `like` these."""
        levels = self.problem.largest_levels
        widths = np.maximum(levels.lower + levels.upper, levels.sliding)[self.problem.sensitive]
        typical = (
            float(np.median(widths)) if widths.size and np.median(widths) > 0 else self.problem.table.unit
        )
        length = np.full(cells.size, typical) if like is None else np.where(like > 0, like, typical)
        found: list[Floats] = []
        for _ in range(self.settings.max_programs):
            bounds = self._narrowest(cells, self._fixed / length)
            if bounds is None:
                break
            cells = ((bounds[0] > 0) | (bounds[1] > 0)) & cells
            if cells.tobytes() in self._seen:
                break
            self._seen.add(cells.tobytes())
            narrow = self._narrowest(cells, 0.0)
            if narrow is not None:
                x = point_of(self.formulation, *narrow)
                found += [] if x is None else [x]
            total = bounds[0] + bounds[1]
            length = np.where(total > 0, total, length)
        return found

    def _narrowest(self, cells: Bools, slope: Floats | float) -> SideBounds | None:
        """The cheapest deviation bounds on some cells, with a slope for both sides; None if not in time."""
        problem, prices = self.problem, Prices(self._prices.up + slope, self._prices.down + slope)
        touchable = cells | problem.must_hide
        formulation = interval_formulation(problem, touchable, hidden_by_mark(problem), prices)
        longest = self._max_length / length_unit(problem)
        formulation = replace(formulation, high=np.minimum(formulation.high, longest))
        model = CuttingPlaneModel(
            problem, formulation, self.requirements, [], self.deadline, silent, self._model
        )
        solution = model.solve(self._cuts)
        if solution.outcome is not Outcome.OPTIMAL or not solution.safe:
            return None
        self._cuts = model.tight_cuts()
        largest = max((requirement.level for requirement in self.requirements), default=0.0)
        below, above = formulation.below.at(solution.values), formulation.above.at(solution.values)
        noise = NEGLIGIBLE_LENGTH * largest
        return np.where(below > noise, below, 0.0), np.where(above > noise, above, 0.0)
