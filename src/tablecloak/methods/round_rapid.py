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
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Ints
from tablecloak.audit.reduce import structure_of
from tablecloak.errors import InputError, NotApplicable, SolverError, listed
from tablecloak.methods.base import Proposal
from tablecloak.methods.rounding import LARGEST_WHOLE, WholeTable, adds_up, check_marks, whole_table
from tablecloak.pattern import Rounding
from tablecloak.problem import Problem
from tablecloak.progress import Progress
from tablecloak.result import Status

NAME = "round-rapid"
INSTEAD = ("round-controlled",)
PROBE = 2**31
"""Random numbers below this, put into the leaves, show whether totals agree however they are added up."""


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
    large = np.flatnonzero(np.abs(whole.values + jump) > LARGEST_WHOLE)
    if large.size:
        faults = [f"cell {label}: rounded, it has too many digits" for label in problem.table.labels(large)]
        raise InputError(NAME, faults, advice="Use a larger unit.")


# ---------------------------------------------------------------------- totals from leaves


@dataclass(frozen=True, eq=False)
class _Rung:
    """Totals that the cells known so far give: value[cells] = rows @ value."""

    cells: Ints
    rows: csr_array


@dataclass(frozen=True, eq=False)
class Ladder:
    """How all cells of a table follow from its leaves, level by level."""

    rungs: tuple[_Rung, ...]
    leaves: Ints
    """For each cell: over how many leaves it is added up (coefficients counted by size)."""

    @classmethod
    def of(cls, equations: csr_array, leaf: Bools) -> Ladder | None:
        """The ladder; None where leaves do not give all cells, or are tied to each other."""
        known, leaves, left = leaf.copy(), leaf.astype(np.int64), equations
        rungs = []
        while not known.all():
            unknown = (~known).astype(np.int64)
            missing = _pattern(left) @ unknown
            ready = left[missing == 1]
            left = left[missing > 1]
            rung = _rung(ready, unknown, leaves)
            if not rung.cells.size:
                return None
            leaves[rung.cells] = abs(rung.rows) @ leaves
            known[rung.cells] = True
            rungs.append(rung)
        ladder = cls(tuple(rungs), leaves)
        probe = np.where(leaf, np.random.default_rng(0).integers(PROBE, size=leaf.size), 0)
        return ladder if adds_up(equations, ladder.climbed(probe)).all() else None

    def climbed(self, leaves: Ints) -> Ints:
        """The values of all cells from those of the leaves."""
        values = leaves.copy()
        for rung in self.rungs:
            values[rung.cells] = rung.rows @ values
        return values


def _pattern(matrix: csr_array) -> csr_array:
    """Ones where the matrix has entries."""
    return csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _rung(ready: csr_array, unknown: Ints, leaves: Ints) -> _Rung:
    """What equations with one unknown each say about it; each cell once, by the equation with the fewest leaves."""
    cells = _pattern(ready) @ (unknown * np.arange(unknown.size))
    own = ready @ unknown
    plain = np.flatnonzero(np.abs(own) == 1)
    counts = abs(ready) @ leaves
    order = plain[np.lexsort((counts[plain], cells[plain]))]
    found, first = np.unique(cells[order], return_index=True)
    chosen = order[first]
    rows = ready[chosen]
    signs = np.repeat(-own[chosen], np.diff(rows.indptr))
    data = rows.data * signs * (1 - unknown[rows.indices])
    return _Rung(found, csr_array((data, rows.indices, rows.indptr), shape=rows.shape))
