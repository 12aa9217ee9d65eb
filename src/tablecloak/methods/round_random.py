"""round-random: unbiased controlled rounding of network tables, by Cox's cycles.

Every cell goes to a multiple of the base next to it (multiples stay), all sums hold, and the expectation of what is
shown is the true value, for every cell. Take a cycle of cells that are no multiples; push it up or down until one of
them is; the odds are inversely proportional to the two steps, which keeps all expectations. Repeat until none is left.

There is always a cycle. The sum of an equation is a multiple of the base, so it has no or at least two cells that are
no multiples: a graph without leaves, in which a walk that never turns straight back must come to a node twice.
It ends: each push makes a multiple of at least one cell, and multiples are never touched again.
Cycles are chosen at random, so that every controlled rounding of the table can come out: with the method and what is
shown no neighbouring table can be excluded.

Protection cannot be imposed on a draw: the audit reports what it leaves open.

Reference: Cox (1987), A constructive procedure for unbiased controlled rounding, JASA 82.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Ints
from tablecloak.attacker import CellNetwork, is_network, structure_of
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import Proposal
from tablecloak.methods.rounding import IntegerTable, check_marks, integer_table
from tablecloak.model import Problem, Rounding, Status
from tablecloak.progress import Progress
from tablecloak.solvers.graphs import round_residues

NAME = "round-random"
INSTEAD = ("round-controlled",)


@dataclass(frozen=True)
class RandomParams:
    """Parameters of round-random."""

    base: float = 5.0
    """Every cell becomes a multiple of it."""


def round_random(
    problem: Problem,
    *,
    params: RandomParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """An unbiased random rounding to multiples of the base that adds up."""
    check_marks(NAME, problem, INSTEAD)
    if not is_network(problem):
        raise NotApplicable(
            f"{NAME} cannot take this table.",
            needs="a table that is a network: two-way, with at most one hierarchical dimension",
            instead=INSTEAD,
        )
    units = integer_table(NAME, problem, params.base)
    _check_sums(units)
    progress("rounding", 0, 1)
    shown, cycles = _drawn(problem, units, rng)
    pattern = Rounding.of(units.amounts(shown), params.base)
    counters = {
        "cells changed": float(np.count_nonzero(shown != units.values)),
        "cycles": float(cycles),
    }
    notes = (
        "one draw of an unbiased rounding; protection cannot be imposed on it, the audit tells what is open",
    )
    engine = f"cycles on {structure_of(problem.table).description}"
    return Proposal(pattern, Status.FEASIBLE, engine, None, counters, notes, may_leave_open=True)


def _check_sums(units: IntegerTable) -> None:
    """Refuse right-hand sides that are no multiples of the base (they are zero but in tables made from equations)."""
    if ((units.equations @ units.values) % units.base).any():
        raise NotApplicable(
            f"{NAME} cannot take these equations.",
            needs="right-hand sides that are multiples of the base",
            instead=INSTEAD,
        )


def _drawn(problem: Problem, units: IntegerTable, rng: np.random.Generator) -> tuple[Ints, int]:
    """The shown values in data units, and the number of cycles."""
    graph = CellNetwork(problem)
    residue = units.values % units.base
    draws, seed = rng.random(np.count_nonzero(residue)), int(rng.integers(2**62))
    rounded, cycles = round_residues(graph.nodes, graph.tail, graph.head, residue, units.base, draws, seed)
    return units.values - residue + rounded, cycles
