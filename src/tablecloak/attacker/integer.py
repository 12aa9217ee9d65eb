"""The attacker who knows that every value is a whole number of data units.

On networks the linear attacker is already that strong (integrality is free). Elsewhere each question is an integer
program, so tables must be small. "Possible" rests on a deviation checked in whole numbers; "impossible" on the solver,
and counts as open.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.evidence import WholeSystem
from tablecloak.attacker.inference import Extents, Tick
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.presolve import Component
from tablecloak.errors import NotApplicable
from tablecloak.solvers import IntegerProgram

MOST_CELLS = 2000
"""The largest component (in cells) that an integer attacker is asked about."""


class IntegerAttack:
    """Integer programs max / min d_p over whole deviations, or flows where the component is a network."""

    engine = "integer programs"

    def __init__(self, component: Component) -> None:
        self.solves = 0
        self.flow = NetworkAttack(component) if component.orientation is not None else None
        if self.flow is not None:
            self.engine = f"{NetworkAttack.engine} (integral)"
        elif component.cells.size > MOST_CELLS:
            raise NotApplicable(
                f"The integer attacker would face {component.cells.size} hidden cells that depend on each other.",
                needs=f"at most {MOST_CELLS} of them, or a table that is a network",
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
        system = WholeSystem(component.columns)
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
