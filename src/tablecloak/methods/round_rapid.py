"""round-rapid: every leaf cell to the nearest multiple of the base, totals added up anew; any size, seconds.

Let B be the base and u the data unit. A leaf is off by at most r = B/2, rounded down to the unit; values halfway go up
or down at random. A total over n leaves is then off by at most n r: far more than a base, for many leaves. That is what
the pattern states, cell by cell, and it follows from the structure of the table alone, not from its values.

Totals are found level by level: an equation whose cells are all known but one gives that one. Where several do, the one
with the fewest leaves counts.

Reference: the manual of tau-ARGUS 4.1, where the fall-back of controlled rounding is called RAPID.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Ints
from tablecloak.attacker import structure_of
from tablecloak.errors import NotApplicable, SolverError, listed
from tablecloak.methods.base import Proposal
from tablecloak.methods.rounding import IntegerTable, Totals, adds_up, check_marks, integer_table, true_leaves
from tablecloak.model import Problem, Rounding, Status
from tablecloak.progress import Progress

NAME = "round-rapid"
INSTEAD = ("round-controlled",)


@dataclass(frozen=True)
class RapidParams:
    """Parameters of round-rapid."""

    base: float = 5.0
    """Every leaf cell becomes a multiple of it."""


def round_rapid(
    problem: Problem,
    *,
    params: RapidParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """Leaves to the nearest multiple of the base, totals added up."""
    check_marks(NAME, problem, INSTEAD)
    units = integer_table(NAME, problem, params.base)
    leaf = true_leaves(problem.table)
    progress("adding up", 0, 1)
    totals = Totals.of(units.equations, leaf)
    if totals is None:
        raise NotApplicable(
            f"{NAME} cannot take this table.",
            needs="leaf cells that are free of each other and make up all other cells (linked tables have none)",
            instead=INSTEAD,
        )
    jump = totals.add_up(_nearest(units, leaf, rng))
    _check(problem, units, jump)
    reach = totals.leaves * (units.base // 2)
    pattern = Rounding.of(units.amounts(units.values + jump), units.amounts(reach))
    counters = {
        "cells changed": float(np.count_nonzero(jump)),
        "largest jump": float(units.amounts(np.abs(jump)).max()),
        "largest stated distance": float(units.amounts(reach).max()),
    }
    notes = ("totals are sums of rounded leaves: they may be off by more than a base, as far as stated",)
    engine = f"sums of rounded leaves on {structure_of(problem.table).description}"
    return Proposal(pattern, Status.FEASIBLE, engine, None, counters, notes, may_leave_open=True)


def _nearest(units: IntegerTable, leaf: Bools, rng: np.random.Generator) -> Ints:
    """The move of each leaf to the nearest multiple, halfway up or down with equal odds; zero for totals."""
    residue = np.where(leaf, units.values % units.base, 0)
    halfway = 2 * residue == units.base
    up = 2 * residue > units.base
    up[halfway] = rng.random(np.count_nonzero(halfway)) < 0.5
    return np.where(up, units.base - residue, -residue)


def _check(problem: Problem, units: IntegerTable, jump: Ints) -> None:
    """Refuse what does not add up or moves forced cells."""
    if not adds_up(units.equations, jump).all():
        raise SolverError(f"{NAME}: the rounded table does not add up")
    moved = np.flatnonzero(problem.forced & (jump != 0))
    if moved.size:
        cells = listed([f"cell {label}" for label in problem.table.labels(moved)])
        raise NotApplicable(
            f"{NAME} adds up totals anew, which moves cells that must be published as they are:\n{cells}\n",
            needs="no forced totals",
            instead=INSTEAD,
        )
