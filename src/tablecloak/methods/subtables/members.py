"""The subsystems that take part in a bound by subtables: those that have something to protect, and are not too large.

Per connected block of equations: a network is solved whole; with three dimensions or more, slices in which as many
dimensions vary as the limits of size allow; with two, strips along both. Sensitive cells that no equation with a
direction has are left to neighbourhoods. Subsystems without sensitive cells and conditional levels cost nothing and are
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from tablecloak.arrays import Ints
from tablecloak.attacker import Subsystem, Subtables, is_network, structure_of
from tablecloak.methods.subtables.settings import MemberSettings
from tablecloak.model import Problem


def choose_members(problem: Problem, settings: MemberSettings = MemberSettings()) -> list[Subsystem]:
    """The subsystems of a problem that have something to protect, in the order of their families."""
    table = problem.table
    if is_network(problem):
        candidates = Subtables(table).whole()
    else:
        candidates = list(_candidates(problem, Subtables(table), settings))
    return [each for each in _distinct(candidates) if _may_require(each, problem)]


def _candidates(problem: Problem, split: Subtables, settings: MemberSettings) -> Iterable[Subsystem]:
    """Subsystems of all blocks, and neighbourhoods of the sensitive cells that are in none."""
    covered = np.zeros(len(problem.table), dtype=bool)
    for subsystem in _directed(problem, split, settings):
        covered[subsystem.cells] = True
        yield subsystem
    bare = problem.must_hide | (problem.levels.conditional > 0)
    yield from split.neighbourhoods(np.flatnonzero(bare & ~covered).tolist(), settings.block_cells)


def _directed(problem: Problem, split: Subtables, settings: MemberSettings) -> Iterable[Subsystem]:
    sizes = {int(block.cells[0]): block for block in structure_of(problem.table).blocks if block.cells.size}
    for block in sizes.values():
        if block.rows.size and (block.kind == "network" or block.cells.size <= settings.whole_cells):
            yield from split.of_rows(block.rows)
    for dimensions in split.components():
        rows = np.flatnonzero(np.isin(split.directions.dimension, dimensions))
        cells = np.unique(problem.table.equations[rows].indices)
        if cells.size <= settings.whole_cells:
            continue
        yield from _of_dimensions(problem, split, _regular(split, dimensions, settings), settings)


def _regular(split: Subtables, dimensions: Ints, settings: MemberSettings) -> list[int]:
    """The dimensions without those that few equations have."""
    counts = np.bincount(split.directions.dimension + 1)[dimensions + 1]
    return [int(d) for d, n in zip(dimensions, counts, strict=True) if n >= settings.min_share * counts.sum()]


def _of_dimensions(
    problem: Problem, split: Subtables, dimensions: Sequence[int], settings: MemberSettings
) -> Iterable[Subsystem]:
    """Strips of two dimensions, or slices of more of them."""
    if len(dimensions) == 2:
        for one, other in (dimensions, dimensions[::-1]):
            yield from (each for each in split.strips(one, [other]) if _is_small(each, problem, settings))
        return
    for varying in range(len(dimensions) - 1, 1, -1):
        choices = list(combinations(dimensions, varying))
        if varying > 2 and not _all_small(split, choices, settings):
            continue
        for chosen in choices:
            yield from (each for each in split.slices(chosen) if _is_small(each, problem, settings))
        return


def _all_small(split: Subtables, choices: Sequence[tuple[int, ...]], settings: MemberSettings) -> bool:
    """Whether the slices of all these choices of dimensions, non-network tables, can be solved in good time."""
    if len(choices) > settings.max_families:
        return False
    return all(split.largest_slice(chosen) <= settings.max_general_cells for chosen in choices)


def _is_small(subsystem: Subsystem, problem: Problem, settings: MemberSettings) -> bool:
    """Whether a subsystem can be solved in good time."""
    if len(subsystem) <= settings.max_general_cells:
        return True
    return len(subsystem) <= settings.max_network_cells and is_network(subsystem.view(problem))


def _distinct(subsystems: Iterable[Subsystem]) -> list[Subsystem]:
    """Without repeated ones."""
    return list({each.rows.tobytes(): each for each in subsystems}.values())


def _may_require(subsystem: Subsystem, problem: Problem) -> bool:
    """Whether a subsystem has cells with levels."""
    cells = subsystem.cells
    return bool((problem.sensitive[cells] | (problem.levels.conditional[cells] > 0)).any())
