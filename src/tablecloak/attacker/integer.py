"""Feasibility intervals for an attacker with the knowledge that every value is an integral number of data units.

On networks the linear attacker is as strong (vertices are integral). On non-network tables each extent is an integer
program, so tables must be small. "Possible" rests on a deviation checked in integers; "impossible" on the solver, and
counts as open.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.evidence import EvidenceSettings, IntegralSystem
from tablecloak.attacker.inference import Extents
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.presolve import Component
from tablecloak.errors import NotApplicable
from tablecloak.solvers import HighsSettings, MipOptions, Tick, solve_mip


@dataclass(frozen=True)
class IntegerAttackSettings:
    """Limits of the integer attacker."""

    max_cells: int = 2000
    """Maximum number of cells of a non-network component: more are refused, for each takes an integer program.
    Untested default."""
    part_size: int = 10
    """Number of cells of one part: each has up to two integer programs. Untested default."""
    evidence: EvidenceSettings = EvidenceSettings()
    highs: HighsSettings = HighsSettings()


SETTINGS = IntegerAttackSettings()


class IntegerAttack:
    """Integer programs max / min d_p over integral deviations, or flows where the component is a network."""

    engine = "integer programs"

    def __init__(self, component: Component, settings: IntegerAttackSettings = SETTINGS) -> None:
        self.solves, self.settings = 0, settings
        self.flow = NetworkAttack(component) if component.orientation is not None else None
        if self.flow is not None:
            self.engine = f"{NetworkAttack.engine} (integral)"
        elif component.cells.size > settings.max_cells:
            raise NotApplicable(
                f"The integer attacker would face {component.cells.size} hidden cells that depend on each other.",
                needs=f"at most {settings.max_cells} of them, or a table that is a network",
                instead=[
                    "the audit without integer=True (it proves less: intervals can only be narrower for integers)"
                ],
            )
        self.component = component

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Extents, Extents]:
        if self.flow is not None:
            found = self.flow.reach(cells, need_down, need_up, tick, size)
            self.solves = self.flow.solves
            return found
        component, down, up = self.component, Extents.of(cells.size), Extents.of(cells.size)
        for row, cell in enumerate(cells):
            for side, need, upward in ((up, need_up[row], True), (down, need_down[row], False)):
                if need > 0:
                    self.solves += 1
                    far, deviation = _farthest(component, int(cell), upward, need, self.settings.highs)
                    possible = np.isinf(far) or self._system.keeps_cells(
                        deviation.astype(np.int64), component.low, component.high
                    )
                    side.reach[row] = far if possible else 0.0
                    side.bound[row] = np.inf if far >= need else far
            tick(1)
        return down, up

    def parts(self, cells: Ints, size: Floats) -> list[Ints]:
        """A few integer programs each."""
        if self.flow is not None:
            return self.flow.parts(cells, size)
        chunk = self.settings.part_size
        return [np.arange(start, min(start + chunk, cells.size)) for start in range(0, cells.size, chunk)]

    def alone(self, number: int) -> Self:
        """An attack on the same component with its own count of programs."""
        part = copy(self)
        part.solves, part.flow = 0, None if self.flow is None else self.flow.alone(number)
        return part

    def work(self, questions: int) -> int:
        """The programs are as large as the component."""
        return questions if self.flow is not None else self.component.cells.size

    def learn(self, number: int, part: Self) -> None:
        """Count its programs."""
        self.solves += part.solves

    @cached_property
    def _system(self) -> IntegralSystem:
        return IntegralSystem(self.component.columns, self.settings.evidence)


def _farthest(
    component: Component, cell: int, upward: bool, enough: float, highs: HighsSettings
) -> tuple[float, Floats]:
    """The largest deviation of a cell in a direction, at most `enough` rounded up, and the deviations of all cells."""
    low, high = np.ceil(component.low - 1e-6), np.floor(component.high + 1e-6)
    cost, cap = np.zeros(low.size), math.ceil(enough - 1e-9) if math.isfinite(enough) else math.inf
    if upward:
        high[cell], cost[cell] = min(high[cell], cap), -1.0
    else:
        low[cell], cost[cell] = max(low[cell], -cap), 1.0
    zero, integral = np.zeros(component.matrix.shape[0]), np.ones(low.size, dtype=bool)
    given = component.matrix, (low, high), (zero, zero), cost, integral
    solution = solve_mip(*given, MipOptions(highs=highs)).checked()
    far = -solution.objective if math.isinf(solution.objective) else round(-solution.objective)
    return float(far), np.rint(solution.values)
