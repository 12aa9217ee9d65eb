"""Feasibility intervals for an attacker with the knowledge that every value is an integral number of data units.

On networks the linear attacker is as strong (vertices are integral). On non-network tables each extent is an integer
program, so tables must be small. "Possible" rests on a deviation checked in integers; "impossible" on the solver, and
counts as open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.evidence import IntegralSystem
from tablecloak.attacker.inference import Extents, Tick
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.presolve import Component
from tablecloak.errors import NotApplicable
from tablecloak.solvers import IntegerProgram


@dataclass(frozen=True)
class IntegerAttackSettings:
    """Limits of the integer attacker."""

    max_cells: int = 2000
    """Maximum number of cells of a non-network component: more are refused, for each takes an integer program.
    Untested default."""


SETTINGS = IntegerAttackSettings()


class IntegerAttack:
    """Integer programs max / min d_p over integral deviations, or flows where the component is a network."""

    engine = "integer programs"

    def __init__(self, component: Component, settings: IntegerAttackSettings = SETTINGS) -> None:
        self.solves = 0
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
            return self.flow.reach(cells, need_down, need_up, tick, size)
        component, down, up = self.component, Extents.of(cells.size), Extents.of(cells.size)
        program = IntegerProgram(component.matrix, component.low, component.high)
        system = IntegralSystem(component.columns)
        for row, cell in enumerate(cells):
            for side, need, upward in ((up, need_up[row], True), (down, need_down[row], False)):
                if need > 0:
                    far, deviation = program.extreme(int(cell), upward=upward, enough=need)
                    possible = np.isinf(far) or system.keeps_cells(
                        deviation.astype(np.int64), component.low, component.high
                    )
                    side.reach[row] = far if possible else 0.0
                    side.bound[row] = np.inf if far >= need else far
            tick(1)
        self.solves = program.solves
        return down, up
