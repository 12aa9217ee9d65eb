"""What a publication leaves open, and cuts that it is too little: the second model of all ways to publish.

A publication states an interval for every cell: it leaves cell i the room U_i above its true value and D_i below it.
For level L of cell p (upper side), an attacker k and any multipliers y of the equations M d = 0

    d_p = sum_i rho_i d_i <= sum_i rho_i^+ min(U_i, UB_i^k) + rho_i^- min(D_i, LB_i^k),    rho_i = [i = p] - (M'y)_i,

so a safe publication leaves at least L on the right. Where it leaves less, the attacker's own program gives y: on
networks a minimum cut, elsewhere the duals. A sliding level takes the sum of both sides. Suppression, intervals,
rounding and perturbation differ only in how U and D depend on what is decided (`formulation`).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, second models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.model import Requirement, Side
from tablecloak.progress import NEVER, Deadline


@dataclass(frozen=True, eq=False)
class ProtectionCut:
    """sum of above[i] * U[cells[i]] + below[i] * D[cells[i]] >= level, in every safe publication."""

    requirement: Requirement
    cells: Ints
    above: Floats
    below: Floats


class Separator(Protocol):
    """Finds levels that a publication misses."""

    weighs_closed_cells: bool
    """Whether its cuts weigh cells without room as well: then points further inside need not be asked about."""

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
        """Proofs for at most `most` of the levels, asked to some extent each, that this room misses.

        `share`: to what extent each cell is touched; for level L a cell then counts with no more room than L times it,
        which is enough where cells that are touched have room L (any cut is valid, whatever it was found with).
        `depth`: so many cuts are looked for behind each other, each as if the cells of those before it had room.
        """


def own_bound_cuts(requirements: Sequence[Requirement]) -> list[ProtectionCut]:
    """What needs no multipliers: a cell's own room must hold its levels."""
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
