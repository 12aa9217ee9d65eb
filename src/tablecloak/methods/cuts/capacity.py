"""Separation of capacity cuts: what attackers could still exclude if cells were hidden to the extent x.

For a requirement of level L on cell p (upper side) and any multipliers y of the equations M d = 0

    d_p = d_p - y'M d = sum_i rho_i d_i <= sum_i (rho_i^+ UB_i + rho_i^- LB_i) x_i,    rho_i = [i = p] - (M'y)_i,

so a safe pattern has  sum_i c_i x_i >= L  with c_i = rho_i^+ UB_i + rho_i^- LB_i  (LB_i, UB_i: how far below and above
its true value the attacker's box lets cell i be). The best y at a point x comes from the attacker's linear program with
deviation bounds min(LB_i, L) x_i and min(UB_i, L) x_i (`attacker.oracle`): on networks a minimum cut, elsewhere the
duals of a program over the support of x. A sliding requirement takes the sum of both directions.

The cover of a capacity cut with cells C requires r = L - c(C) of the others, min(c_i, r) each. The cut with the best
cover is seldom the most violated one, so on networks covers are separated by minimum cuts of their own: capacities c_i
for the cells C, those above some x, and min(c_i, r) x_i for the others. The rest r is estimated first and then taken
from the cut found.

References: Fischetti & Salazar (2001), Salazar (2002) section 5; Carr, Fleischer, Leung & Phillips (2000) for knapsack
covers and their separation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import (
    FLOW_NOISE,
    INTEGRALITY,
    REQUIREMENT_MET_BY_PATTERN,
    DeviationBounds,
    LinearOracle,
    NetworkBounds,
    NetworkOracle,
    OracleSettings,
    ProtectionCut,
    WitnessDeviation,
    is_network,
)
from tablecloak.methods.cuts.aggregation import Aggregation
from tablecloak.methods.cuts.cut import (
    Cut,
    StrengtheningSettings,
    capacity_cut,
    covered,
    no_good_cut,
    strengthened,
)
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import NEVER, Deadline


class CoverKind(NamedTuple):
    """A kind of covers: C, the cells hidden to more than this extent; the first estimate of r, in levels."""

    above: float
    rest: float


@dataclass(frozen=True)
class CapacitySettings:
    """What is separated, and how much of it at a time."""

    min_violation: float = 1e-4
    """Violation from which a cut of right-hand side 1 is added, at fractional points: progress of the bound against
    the size of the relaxation. Untested default."""
    max_cut_entries: int = 200_000_000
    """Maximum number of requirements times nodes whose minimum cuts are computed at a time: two bytes each. More are
    separated in portions, and their covers not at all. Untested default."""
    cover_passes: int = 3
    """Maximum number of minimum cuts for a cover: the rest is estimated for the first one and taken from the last cut
    for the others. Untested default."""
    cover_kinds: tuple[CoverKind, ...] = tuple(
        CoverKind(above, rest) for rest in (0.7, 0.4, 0.2, 0.1) for above in (0.95, 0.7, 0.5)
    )
    """The kinds of covers, in the order in which they are tried. Benchmark part `study`, "no separated covers"."""
    strengthening: StrengtheningSettings = StrengtheningSettings()
    oracle: OracleSettings = OracleSettings()


class CapacitySeparator(Protocol):
    """Finds capacity cuts that a point violates."""

    boxes: DeviationBounds
    worst: Requirement | None
    """A requirement that the last point violated, if there was one."""

    def separate(
        self, x: Floats, requirements: Sequence[Requirement], *, most: int, deadline: Deadline = NEVER
    ) -> list[Cut]:
        """Cuts violated at x, for at most `most` of the requirements.

        An integral point without any meets them all: exactly on networks in integral data units, elsewhere within
        the tolerances of floats.
        """

    def weakest_no_good(self, requirement: Requirement, x: Floats) -> Cut:
        """A cut that an integral point violates which is known not to meet a requirement."""


def capacity_separator_of(
    problem: Problem,
    allowed: Bools,
    aggregation: Aggregation | None = None,
    settings: CapacitySettings = CapacitySettings(),
) -> CapacitySeparator:
    """The separator for the equations of the table. Cuts are over representatives, points over all cells."""
    engine = NetworkSeparator if is_network(problem) else LinearSeparator
    return engine(problem, allowed, aggregation, settings)


class _Support:
    """The cells of a point that are hidden to any extent; those in `hidden` are hidden in every pattern."""

    def __init__(self, x: Floats, hidden: Bools) -> None:
        self.x, self.hidden = x, hidden
        self.cells: Ints = np.flatnonzero((x > INTEGRALITY) | hidden)
        self.at: Floats = np.where(hidden[self.cells], 1.0, np.minimum(x[self.cells], 1.0))
        self.is_integral = _is_integral(self.at)

    def required(self, requirements: Sequence[Requirement]) -> list[int]:
        """The requirements that hold at the point: conditional ones only where their cell is hidden to any extent."""
        in_support = (self.x > INTEGRALITY) | self.hidden
        return [t for t, one in enumerate(requirements) if in_support[one.cell]]

    def extents(self, requirements: Sequence[Requirement]) -> Floats:
        """To what extent each requirement holds at the point."""
        cells = np.array([one.cell for one in requirements], dtype=np.int64)
        return np.where(self.hidden[cells], 1.0, self.x[cells])


def _is_integral(at: Floats) -> bool:
    return bool((np.abs(at - np.rint(at)) < INTEGRALITY).all())


def _snapped(x: Floats) -> Floats:
    """The integral point that a point is up to the tolerance of solvers, else the point itself.

    What is proven of a pattern must be separated at the pattern: a point beside it violates all cuts a little.
    """
    return np.rint(x) if _is_integral(x) else x


class _CapacityCuts(ABC):
    """Capacity cuts over representatives, from protection cuts."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        aggregation: Aggregation | None = None,
        settings: CapacitySettings = CapacitySettings(),
    ) -> None:
        self.problem, self.hidden, self.settings = problem, problem.must_hide, settings
        self.aggregation = Aggregation.identity(allowed.size) if aggregation is None else aggregation
        self.allowed: Bools = allowed & self.aggregation.represents
        self.boxes = DeviationBounds(problem)
        self.worst: Requirement | None = None
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Make the oracle."""

    def _capacities(self, cut: ProtectionCut) -> Floats:
        """c_i: what each cell contributes to the requirement when it is hidden."""
        return cut.capacities(self.boxes[cut.requirement.attacker])

    def _cut(self, requirement: Requirement, capacities: Floats) -> Cut | None:
        """The capacity cut over representatives; None if the cells that are hidden anyway satisfy it."""
        return capacity_cut(
            self.aggregation.summed(capacities),
            requirement.level,
            self.hidden,
            self.allowed,
            self._only_if(requirement),
        )

    def _only_if(self, requirement: Requirement) -> int | None:
        """The requirement of a cell that need not be hidden holds only if it is."""
        return (
            None if self.hidden[requirement.cell] else int(self.aggregation.representative[requirement.cell])
        )

    def _violated(self, cut: ProtectionCut, point: _Support) -> list[Cut]:
        """A capacity cut and its strengthenings, as far as violated; at an integral point also its no-good cut."""
        requirement, capacities, least = cut.requirement, self._capacities(cut), self.settings.min_violation
        found = self._cut(requirement, capacities)
        if point.is_integral:
            hidden, only_if = self.hidden | (point.x > 0.5), self._only_if(requirement)
            no_good = no_good_cut(
                self.aggregation.summed(capacities), requirement.level, hidden, self.allowed, only_if
            )
            return [] if no_good is None else [no_good] if found is None else [found, no_good]
        if found is None or found.violation(point.x) <= least:
            return []
        return [found, *strengthened(found, point.x, least, self.settings.strengthening)]

    def weakest_no_good(self, requirement: Requirement, x: Floats) -> Cut:
        """Where an integral point does not meet a requirement, though no cut shows it: one cell more must be hidden."""
        cells, only_if = np.flatnonzero(self.allowed & ~self.hidden & (x < 0.5)), self._only_if(requirement)
        if only_if is None:
            return Cut(cells, np.ones(cells.size), 1.0, "no good")
        both = np.union1d(cells, [only_if])
        return Cut(both, np.where(both == only_if, -1.0, 1.0), 0.0, "no good")


# ---------------------------------------------------------------------- networks


class NetworkSeparator(_CapacityCuts):
    """Minimum cuts. Both the one nearest to the source and the one nearest to the sink become capacity cuts."""

    _from = 0
    """The portion of the requirements at which the next separation begins."""

    def _prepare(self) -> None:
        self.oracle = NetworkOracle(self.problem, self.settings.oracle)
        self.tail, self.head, self.nodes = (graph := self.oracle.graph).tail, graph.head, graph.nodes

    def separate(
        self, x: Floats, requirements: Sequence[Requirement], *, most: int, deadline: Deadline = NEVER
    ) -> list[Cut]:
        """In portions that fit into memory, until enough requirements are violated; the next call continues there."""
        x = _snapped(x)
        size = max(1, self.settings.max_cut_entries // self.nodes)
        if size >= len(requirements):
            return self._separate(x, requirements, most, deadline)[0]
        found: list[Cut] = []
        violated = 0
        starts = range(0, len(requirements), size)
        first, worst = self._from % len(starts), None
        for k in (*starts[first:], *starts[:first]):
            cuts, count = self._separate(x, requirements[k : k + size], most - violated, deadline)
            found, violated, worst = found + cuts, violated + count, worst or self.worst
            self._from = k // size
            if violated >= most or (found and deadline.passed()):
                break
        self.worst = worst
        return found

    def _separate(
        self, x: Floats, requirements: Sequence[Requirement], most: int, deadline: Deadline
    ) -> tuple[list[Cut], int]:
        """Cuts, and the number of requirements that are violated."""
        point = _Support(x, self.hidden)
        found: list[Cut] = []
        violated = self._by_minimum_cuts(point, requirements, most)
        self.worst = violated[0][0] if violated else None
        for _, cuts in violated:
            if found and deadline.passed():
                break
            found += [cut for each in cuts for cut in self._violated(each, point)]
        return found, len(violated)

    def _by_minimum_cuts(
        self,
        point: _Support,
        requirements: Sequence[Requirement],
        most: int,
        rest: Sequence[float] | None = None,
    ) -> list[tuple[Requirement, list[ProtectionCut]]]:
        """The most violated requirements with their minimum cuts.

        `rest`, by requirement: what a cell hidden in part contributes at most, times x, in place of the level.
        """
        kept = point.required(requirements)
        if not kept:
            return []
        some = [requirements[k] for k in kept]
        attackers = sorted({one.attacker for one in some})
        down, up = (np.array([self.boxes[k][side][point.cells] for k in attackers]) for side in (0, 1))
        level = np.array([one.level for one in some])
        needs = level * point.extents(some)
        found = self.oracle.settle(
            some,
            needs,
            NetworkBounds(point.cells, down, up, point.at),
            np.array([attackers.index(one.attacker) for one in some], dtype=np.int32),
            None if rest is None else np.asarray(rest)[kept],
            noise=0.0 if point.is_integral else FLOW_NOISE,
        )
        violated = found.violated(needs - self._slack(level, point.is_integral))[:most]
        return [(some[t], cuts) for t, cuts in found.protection_cuts(violated)]

    def _slack(self, level: Floats, is_integral: bool) -> Floats:
        """By how much a requirement may be missed."""
        if not is_integral:
            return self.settings.min_violation * level
        return np.minimum(REQUIREMENT_MET_BY_PATTERN * level, 0.5 * self.problem.table.unit)

    def covers(
        self,
        x: Floats,
        requirements: Sequence[Requirement],
        kind: CoverKind,
        *,
        most: int,
        deadline: Deadline = NEVER,
    ) -> list[Cut]:
        """Covers that a fractional point violates, of at most `most` requirements; none if there are too many."""
        found: list[Cut] = []
        if len(requirements) * self.nodes > self.settings.max_cut_entries:
            return found
        requirements = [one for one in requirements if self.hidden[one.cell]]
        moved = (x > kind.above) | self.hidden
        point = _Support(_snapped(np.where(moved, 1.0, x)), self.hidden)
        rest = {one: kind.rest * one.level for one in requirements}
        for _ in range(self.settings.cover_passes):
            again = []
            for requirement, cuts in self._by_minimum_cuts(
                point, requirements, most, [rest[one] for one in requirements]
            ):
                if deadline.passed():
                    return found
                left = rest[requirement]
                for each in cuts:
                    capacities = self._capacities(each)
                    violated = self._covers_of(requirement, capacities, x, kind)
                    if violated is not None:
                        found += violated
                        left = min(left, requirement.level - float(capacities[moved].sum()))
                if left < rest[requirement] * (1 - FLOW_NOISE):
                    rest[requirement] = left
                    again.append(requirement)
            if not again:
                break
            requirements = again
        return found

    def _covers_of(
        self, requirement: Requirement, capacities: Floats, x: Floats, kind: CoverKind
    ) -> list[Cut] | None:
        """A capacity cut, its cover and what strengthens them, as far as violated; None if there is no cover."""
        cut, least, tuned = (
            self._cut(requirement, capacities),
            self.settings.min_violation,
            self.settings.strengthening,
        )
        cover = None if cut is None else covered(cut, x[cut.cells] > kind.above, tuned)
        if cut is None or cover is None:
            return None
        every = [cut, cover, *(one for each in (cut, cover) for one in strengthened(each, x, least, tuned))]
        return [each for each in every if each.violation(x) > least]

    def star_cuts(self, requirements: Sequence[Requirement]) -> list[Cut]:
        """The cuts around both ends of each requirement's cell, that is of its equations: short ones to begin with.

        Of upper and lower requirements; none where variables are aggregated.
        """
        if not self.aggregation.represents.all():
            return []
        leaving, entering = (_grouped(ends, self.nodes) for ends in (self.tail, self.head))
        found = []
        for requirement in requirements:
            if requirement.side is Side.SLIDE or not self.hidden[requirement.cell]:
                continue
            down, up = self.boxes[requirement.attacker]
            first, second = (up, down) if requirement.side is Side.UP else (down, up)
            for node, (out, back) in {
                int(self.head[requirement.cell]): (first, second),
                int(self.tail[requirement.cell]): (second, first),
            }.items():
                cells = np.concatenate([leaving[node], entering[node]])
                capacities = np.concatenate([out[leaving[node]], back[entering[node]]])
                capacities[cells == requirement.cell] = 0.0
                order = np.argsort(cells, kind="stable")
                cells, capacities = cells[order], capacities[order]
                cut = capacity_cut(capacities, requirement.level, self.hidden[cells], self.allowed[cells])
                if cut is not None:
                    found.append(replace(cut, cells=cells[cut.cells]))
        return found


def _grouped(ends: NDArray[np.int32], nodes: int) -> list[Ints]:
    """The arcs of each node."""
    order = np.argsort(ends, kind="stable")
    return np.split(order, np.searchsorted(ends[order], np.arange(1, nodes)))


class CoverSeparator:
    """Covers of one kind after the other. Requirements that any single cell could meet have none."""

    def __init__(self, separator: NetworkSeparator, requirements: Sequence[Requirement]) -> None:
        self.separator, self._turn = separator, 0
        free = separator.allowed & ~separator.hidden
        least = {
            attacker: min(float(side[free].min(initial=np.inf)) for side in separator.boxes[attacker])
            for attacker in {requirement.attacker for requirement in requirements}
        }
        self.requirements = [
            requirement for requirement in requirements if requirement.level > least[requirement.attacker]
        ]

    def separate(
        self, x: Floats, *, most: int, kinds: int | None = None, deadline: Deadline = NEVER
    ) -> list[Cut]:
        """Violated covers of the first kind that has any; at most this number of `kinds` is tried, all by default."""
        cuts: list[Cut] = []
        if not self.requirements:
            return cuts
        every = self.separator.settings.cover_kinds
        for _ in range(len(every) if kinds is None else kinds):
            kind = every[self._turn % len(every)]
            self._turn += 1
            cuts = self.separator.covers(x, self.requirements, kind, most=most, deadline=deadline)
            if cuts or deadline.passed():
                break
        return cuts


# ---------------------------------------------------------------------- any table


class LinearSeparator(_CapacityCuts):
    """Multipliers from the attackers' programs, over the support of the point only.

    Requirements are settled lazily: those violated lately first, and no more once enough are violated.
    """

    def _prepare(self) -> None:
        self.oracle = LinearOracle(self.problem.table, self.settings.oracle)

    def separate(
        self, x: Floats, requirements: Sequence[Requirement], *, most: int, deadline: Deadline = NEVER
    ) -> list[Cut]:
        point = _Support(_snapped(x), self.hidden)
        required = [requirements[t] for t in point.required(requirements)]
        required = [required[t] for t in self.oracle.recently_violated_first(required)]
        self.oracle.restrict(point.cells)
        slack = REQUIREMENT_MET_BY_PATTERN if point.is_integral else self.settings.min_violation
        found: list[Cut] = []
        for group in _by_attacker_and_level(required):
            self._set_bounds(point, group[0])
            for requirement, extent in zip(group, point.extents(group).tolist(), strict=True):
                if len(found) >= most or deadline.passed():
                    return found
                if self.oracle.is_known_to_meet(requirement, extent - slack):
                    continue
                answer = self.oracle.settle(requirement, extent - slack)
                if not isinstance(answer, WitnessDeviation):
                    self.worst = requirement
                    found += self._violated(answer, point)
        return found

    def _set_bounds(self, point: _Support, requirement: Requirement) -> None:
        """Deviation bounds in units of the level, so that numbers stay near 1."""
        down, up = (side[point.cells] / requirement.level for side in self.boxes[requirement.attacker])
        if not point.is_integral:
            down, up = np.minimum(down, 1.0) * point.at, np.minimum(up, 1.0) * point.at
        self.oracle.set_bounds(down, up)


def _by_attacker_and_level(requirements: Sequence[Requirement]) -> list[list[Requirement]]:
    """Requirements that can share one program, in units of the level."""
    groups: dict[tuple[int, float], list[Requirement]] = {}
    for requirement in requirements:
        groups.setdefault((requirement.attacker, requirement.level), []).append(requirement)
    return list(groups.values())
