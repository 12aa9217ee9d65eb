"""Protection cuts: valid inequalities for the deviation bounds that a publication leaves.

A publication states an interval for every cell: its deviation bounds are U_i above the true value and D_i below it.
For a requirement of level L on cell p (upper side), an attacker k and any multipliers y of the equations M d = 0

    d_p = sum_i rho_i d_i <= sum_i rho_i^+ min(U_i, UB_i^k) + rho_i^- min(D_i, LB_i^k),    rho_i = [i = p] - (M'y)_i,

so a safe publication leaves at least L on the right. Where it leaves less, the attacker's own program gives y
(`attacker.oracle`). A sliding requirement takes the sum of both directions. Suppression, intervals, rounding and
perturbation differ only in how U and D depend on the decisions (`formulation`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, second models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.attacker import ProtectionCut
from tablecloak.model import Requirement, Side
from tablecloak.progress import NEVER, Deadline

__all__ = ["ProtectionCut", "Separator", "own_bound_cuts"]


class Separator(Protocol):
    """Finds requirements that a publication violates, and the cuts that prove it."""

    weighs_closed_cells: bool
    """Whether its cuts weigh cells that cannot deviate as well: then no shifted separation points are needed."""

    def separate(
        self,
        below: Floats,
        above: Floats,
        requirements: Sequence[Requirement],
        *,
        extent: Floats,
        most: int,
        share: Floats | None = None,
        depth: int = 1,
        deadline: Deadline = NEVER,
    ) -> list[ProtectionCut]:
        """Cuts for at most `most` of the requirements that these deviation bounds violate.

        `extent`: to what extent each requirement holds. `share`: to what extent each cell is touched; for level L its
        bound is then no more than L times that, which is enough where cells that are touched can deviate by L (any cut
        is valid, wherever it was found). `depth`: maximum number of cuts behind each other, each as if the cells of
        those before it could deviate.
        """


def own_bound_cuts(requirements: Sequence[Requirement]) -> list[ProtectionCut]:
    """The cuts with multipliers zero: a cell's own deviation bounds must allow what is required of it."""
    one, none = np.ones(1), np.zeros(1)
    return [
        ProtectionCut(
            requirement,
            np.array([requirement.cell]),
            none if requirement.side is Side.DOWN else one,
            none if requirement.side is Side.UP else one,
        )
        for requirement in requirements
    ]
