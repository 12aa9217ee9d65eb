"""Separation of protection cuts: minimum cuts on networks, elsewhere the duals of the attackers' programs.

In large non-network tables these programs are local ones first (`local_separation`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.attacker import (
    FLOW_NOISE,
    REQUIREMENT_MET_BY_PUBLICATION,
    DeviationBounds,
    LinearOracle,
    NetworkBounds,
    NetworkOracle,
    OracleSettings,
    ProtectionCut,
    WitnessDeviation,
    is_network,
)
from tablecloak.methods.unified.local_separation import (
    LocalSeparator,
    LocalSettings,
    LocalStartSettings,
    local_protection_cuts,
    separates_locally,
)
from tablecloak.methods.unified.protection_cuts import Separator
from tablecloak.model import Problem, Requirement
from tablecloak.progress import NEVER, Deadline


@dataclass(frozen=True)
class SeparatorSettings:
    """The engines of separation."""

    oracle: OracleSettings = OracleSettings()
    local_start: LocalStartSettings = LocalStartSettings()
    local: LocalSettings = LocalSettings()


def protection_separator_of(problem: Problem, settings: SeparatorSettings = SeparatorSettings()) -> Separator:
    """The separator for the equations of the table and its size."""
    if is_network(problem):
        return NetworkProtectionSeparator(problem, settings.oracle)
    separator = LinearProtectionSeparator(problem, settings.oracle)
    if not separates_locally(problem, settings.local_start):
        return separator
    return LocalSeparator(problem, separator, settings.local)


def initial_protection_cuts(
    problem: Problem,
    up: Floats,
    down: Floats,
    requirements: Sequence[Requirement],
    deadline: Deadline,
    settings: LocalStartSettings = LocalStartSettings(),
) -> list[ProtectionCut]:
    """Initial cuts, by the cost of a unit of length; none on networks and small tables, which are quick without."""
    if not separates_locally(problem, settings):
        return []
    return local_protection_cuts(problem, up, down, requirements, deadline, settings)


def _support(
    below: Floats, above: Floats, requirements: Sequence[Requirement], extent: Floats
) -> tuple[list[int], Ints]:
    """The requirements that hold to any extent, and the support: the cells that may deviate, and theirs."""
    required = [t for t in range(len(requirements)) if extent[t] > FLOW_NOISE]
    support = (below > 0) | (above > 0)
    support[[requirements[t].cell for t in required]] = True
    return required, np.flatnonzero(support)


class NetworkProtectionSeparator:
    """Minimum cuts, the nearest to the source and the nearest to the sink."""

    weighs_closed_cells = False

    def __init__(self, problem: Problem, settings: OracleSettings = OracleSettings()) -> None:
        self.boxes, self.oracle = DeviationBounds(problem), NetworkOracle(problem, settings)
        self.free = ~problem.forced

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
        required, cells = _support(below, above, requirements, extent)
        if not required:
            return []
        search = _NetworkSearch(self, requirements, extent, most)
        attackers = sorted({requirements[t].attacker for t in required})
        row = {t: attackers.index(requirements[t].attacker) for t in required}
        down, up = (
            np.array([np.minimum(self.boxes[k][side], stated)[cells] for k in attackers])
            for side, stated in ((0, below), (1, above))
        )
        ones = np.ones(cells.size)
        if share is None or (share[cells] == 1.0).all():
            row = search.unmet(NetworkBounds(cells, down, up, ones), row, deadline)
        if share is None:
            found = search.violated(NetworkBounds(cells, down, up, ones), row)
        else:
            touched = np.where(share[cells] > 0, share[cells], 1.0)
            found = search.violated(NetworkBounds(cells, down / touched, up / touched, share[cells]), row)
        if depth > 1 and found:
            search.deepen(
                found, self._open_bounds(below, above, share, list(found), requirements), depth, deadline
            )
        return [cut for cuts in found.values() for cut in cuts]

    def _open_bounds(
        self,
        below: Floats,
        above: Floats,
        share: Floats | None,
        which: list[int],
        requirements: Sequence[Requirement],
    ) -> NetworkBounds:
        """Deviation bounds of all cells, a row for each of these requirements: they are raised where cuts are found."""
        touched = np.ones(below.size) if share is None else share
        down, up = (
            np.array(
                [
                    np.minimum(
                        np.minimum(self.boxes[requirements[t].attacker][side], stated),
                        requirements[t].level * touched,
                    )
                    for t in which
                ]
            )
            for side, stated in ((0, below), (1, above))
        )
        return NetworkBounds(np.arange(below.size), down, up, np.ones(below.size))


class _NetworkSearch:
    """One call of a separator: its requirements, and to what extent each of them holds."""

    def __init__(
        self,
        separator: NetworkProtectionSeparator,
        requirements: Sequence[Requirement],
        extent: Floats,
        most: int,
    ) -> None:
        self.oracle, self.boxes, self.free = separator.oracle, separator.boxes, separator.free
        self.requirements, self.most = requirements, most
        level = np.array([requirement.level for requirement in requirements])
        self.need, self.least = level * extent, level * (extent - REQUIREMENT_MET_BY_PUBLICATION)

    def unmet(self, bounds: NetworkBounds, row: dict[int, int], deadline: Deadline) -> dict[int, int]:
        """The requirements that are not met, by flows in one network: faster than minimum cuts.

        Past the deadline the rest counts as met: the caller checks the deadline before it relies on that.
        """
        which, some, rows = self._some(row)
        reach = self.oracle.reach(some, self.need[which], bounds, rows, deadline)
        return {t: row[t] for t in which[reach < self.least[which]].tolist()}

    def violated(self, bounds: NetworkBounds, row: dict[int, int]) -> dict[int, list[ProtectionCut]]:
        """The most violated requirements, by increasing reach, with their different cuts."""
        if not row:
            return {}
        which, some, rows = self._some(row)
        answer = self.oracle.settle(some, self.need[which], bounds, rows)
        found = dict[int, list[ProtectionCut]]()
        for t, (near, far) in answer.protection_cuts(answer.violated(self.least[which])[: self.most]):
            found[int(which[t])] = [near] if far.says_the_same(near) else [near, far]
        return found

    def _some(self, row: dict[int, int]) -> tuple[Ints, list[Requirement], Codes]:
        which = np.array(list(row), dtype=np.int64)
        return which, [self.requirements[t] for t in row], np.array(list(row.values()), dtype=np.int32)

    def deepen(
        self, found: dict[int, list[ProtectionCut]], bounds: NetworkBounds, depth: int, deadline: Deadline
    ) -> None:
        """Add cuts behind those found, as if the cells of these could deviate, up to this number behind each other."""
        place = {t: row for row, t in enumerate(found)}
        deeper = list(found)
        for _ in range(depth - 1):
            if not deeper or deadline.passed():
                break
            for t, row in place.items():
                self._raise(bounds, row, found[t])
            still = set(deeper)
            more = self.violated(bounds, {t: row for t, row in place.items() if t in still})
            for t, cuts in more.items():
                found[t] += cuts
            deeper = list(more)

    def _raise(self, bounds: NetworkBounds, row: int, cuts: list[ProtectionCut]) -> None:
        """Let the cells of some cuts deviate as far as the level."""
        for cut in cuts:
            down, up = self.boxes[cut.requirement.attacker]
            inner = self.free[cut.cells]
            cells = cut.cells[inner]
            for side, used, box in ((bounds.up, cut.above, up), (bounds.down, cut.below, down)):
                raised = np.where(used[inner] > 0, np.minimum(box[cells], cut.requirement.level), 0.0)
                side[row, cells] = np.maximum(side[row, cells], raised)


class LinearProtectionSeparator:
    """Duals of the attackers' programs, over the cells that may deviate."""

    weighs_closed_cells = False

    def __init__(self, problem: Problem, settings: OracleSettings = OracleSettings()) -> None:
        self.boxes, self.oracle = DeviationBounds(problem), LinearOracle(problem.table, settings)

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
        required, cells = _support(below, above, requirements, extent)
        if not required or deadline.passed():
            return []
        order = self.oracle.recently_violated_first([requirements[t] for t in required])
        self.oracle.restrict(cells)
        found: list[ProtectionCut] = []
        groups: dict[tuple[int, float], list[int]] = {}
        for t in (required[k] for k in order):
            groups.setdefault((requirements[t].attacker, _unit(requirements[t].level, share)), []).append(t)
        for (attacker, unit), group in groups.items():
            down, up = (
                np.minimum(box, stated)[cells] / unit
                for box, stated in zip(self.boxes[attacker], (below, above), strict=True)
            )
            if share is not None:
                down, up = np.minimum(down, share[cells]), np.minimum(up, share[cells])
            self.oracle.set_bounds(down, up)
            for t in group:
                if len(found) >= most or deadline.passed():
                    return found
                need = (extent[t] - REQUIREMENT_MET_BY_PUBLICATION) * requirements[t].level / unit
                if self.oracle.is_known_to_meet(requirements[t], need):
                    continue
                answer = self.oracle.settle(requirements[t], need)
                if not isinstance(answer, WitnessDeviation):
                    found.append(answer)
        return found


def _unit(level: float, share: Floats | None) -> float:
    """The unit of the deviation bounds: similar levels share a program, unless the bounds depend on the level."""
    return level if share is not None else 2.0 ** math.floor(math.log2(level))
