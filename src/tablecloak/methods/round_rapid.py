"""round-rapid: every leaf cell to the nearest multiple of the base, totals added up anew; any size, seconds.

Let B be the base and u the data unit. A leaf is off by at most r = B/2, rounded down to the unit; values halfway go up
or down at random. A total over n leaves is then off by at most n r: far more than a base, for many leaves. That is what
the pattern states, cell by cell, and it follows from the structure of the table alone, not from its values.

Totals are found level by level: an equation whose cells are all known but one gives that one. Where several do, the one
with the fewest leaves counts.

Reference: the manual of tau-ARGUS 4.1, where the fall-back of controlled rounding is called RAPID.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Ints
from tablecloak.attacker import structure_of
from tablecloak.errors import NotApplicable, SolverError, listed
from tablecloak.methods.base import Proposal
from tablecloak.methods.rounding import Ladder, WholeTable, adds_up, check_marks, whole_table
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
    executor: Executor | None,
) -> Proposal:
    """Leaves to the nearest multiple of the base, totals added up."""
    check_marks(NAME, problem, INSTEAD)
    whole = whole_table(NAME, problem, params.base)
    leaf = problem.table.is_leaf & ~problem.table.is_virtual
    progress("adding up", 0, 1)
    ladder = Ladder.of(whole.equations, leaf)
    if ladder is None:
        raise NotApplicable(
            f"{NAME} cannot take this table.",
            needs="leaf cells that are free of each other and make up all other cells (linked tables have none)",
            instead=INSTEAD,
        )
    jump = ladder.climbed(_nearest(whole, leaf, rng))
    _check(problem, whole, jump)
    reach = ladder.leaves * (whole.base // 2)
    pattern = Rounding.of(whole.amounts(whole.values + jump), whole.amounts(reach))
    counters = {
        "cells changed": float(np.count_nonzero(jump)),
        "largest jump": float(whole.amounts(np.abs(jump)).max()),
        "largest stated distance": float(whole.amounts(reach).max()),
    }
    notes = ("totals are sums of rounded leaves: they may be off by more than a base, as far as stated",)
    engine = f"sums of rounded leaves on {structure_of(problem.table).description}"
    return Proposal(pattern, Status.FEASIBLE, engine, None, counters, notes, may_leave_open=True)


def _nearest(whole: WholeTable, leaf: Bools, rng: np.random.Generator) -> Ints:
    """How far each leaf moves to the nearest multiple; halfway up or down with equal chances. Totals: not yet."""
    residue = np.where(leaf, whole.values % whole.base, 0)
    halfway = 2 * residue == whole.base
    up = 2 * residue > whole.base
    up[halfway] = rng.random(np.count_nonzero(halfway)) < 0.5
    return np.where(up, whole.base - residue, -residue)


def _check(problem: Problem, whole: WholeTable, jump: Ints) -> None:
    """All equations hold, forced cells stay, numbers are not too large."""
    if not adds_up(whole.equations, jump).all():
        raise SolverError(f"{NAME}: the rounded table does not add up")
    moved = np.flatnonzero(problem.forced & (jump != 0))
    if moved.size:
        cells = listed([f"cell {label}" for label in problem.table.labels(moved)])
        raise NotApplicable(
            f"{NAME} adds up totals anew, which moves cells that must be published as they are:\n{cells}\n",
            needs="no forced totals",
            instead=INSTEAD,
        )
