"""The attacker who knows that every value is a whole number of data units.

On networks the linear attacker is already that strong (integrality is free). Elsewhere each question is an integer
program, so tables must be small. "Possible" rests on a deviation checked in whole numbers; "impossible" on the solver,
and counts as open.
"""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.evidence import WholeSystem
from tablecloak.attacker.inference import Side, Tick
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.presolve import Component
from tablecloak.errors import NotApplicable
from tablecloak.solvers import solve_mip

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
    ) -> tuple[Side, Side]:
        if self.flow is not None:
            return self.flow.reach(cells, need_down, need_up, tick, size)
        component, down, up = self.component, Side.of(cells.size), Side.of(cells.size)
        system, self.solves = WholeSystem(component.columns), 0
        for row, cell in enumerate(cells):
            for side, need, upward in ((up, need_up[row], True), (down, need_down[row], False)):
                if need > 0:
                    self.solves += 1
                    far, deviation = _farthest(component, int(cell), upward, need)
                    possible = np.isinf(far) or system.keeps_cells(
                        deviation.astype(np.int64), component.low, component.high
                    )
                    side.reach[row] = far if possible else 0.0
                    side.bound[row] = np.inf if far >= need else far
            tick(1)
        return down, up


def _farthest(component: Component, cell: int, upward: bool, enough: float) -> tuple[float, Floats]:
    """The largest deviation of a cell in a direction, at most `enough` rounded up, and the deviations of all cells."""
    low, high = np.ceil(component.low - 1e-6), np.floor(component.high + 1e-6)
    cost, cap = np.zeros(low.size), math.ceil(enough - 1e-9) if math.isfinite(enough) else math.inf
    if upward:
        high[cell], cost[cell] = min(high[cell], cap), -1.0
    else:
        low[cell], cost[cell] = max(low[cell], -cap), 1.0
    zero, whole = np.zeros(component.matrix.shape[0]), np.ones(low.size, dtype=bool)
    solution = solve_mip(component.matrix, (low, high), (zero, zero), cost, whole).checked()
    far = -solution.objective if math.isinf(solution.objective) else round(-solution.objective)
    return float(far), np.rint(solution.values)
