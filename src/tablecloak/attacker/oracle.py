"""The attacker's oracle: is a requirement met within given deviation bounds? A witness deviation or a valid inequality.

For a requirement of level L on cell p (upper side) and deviation bounds, D_i below and U_i above the true values,

    max d_p   subject to   M d = 0,  -D <= d <= U.

Where the maximum meets the requirement, d is a *witness*. Where it does not, the optimal multipliers y of the equations
prove it: for  rho_i = [i = p] - (M'y)_i  and every deviation within any bounds

    d_p = sum_i rho_i d_i <= sum_i rho_i^+ U_i + rho_i^- D_i,

so whatever is published must satisfy  sum_i rho_i^+ U_i + rho_i^- D_i >= L  (`ProtectionCut`). Downward -d_p takes the
place of d_p; a sliding requirement takes the sum of both directions.

`NetworkOracle`: minimum cuts, where every cell is an arc between two equations; rho_i is 1 for cells that leave the
source side and -1 for cells that enter it. `LinearOracle`: linear programs over the cells of a support, in the null
space of the equations or warm from one to the next (`null_space`); multipliers become fractions of small numbers
(below). Bounds come in by the caller: a publication's own for any pattern, those of hidden cells times x_i for
the separation of a fractional point x.

Any multipliers y prove the inequality, so those of a solver are first replaced by simple ones nearby:  y = k / q  with
integers k and one denominator q. Where
the coefficients of the equations are integers, q rho = +-q [i = p] - M'k is a sum of integers and exact in floats; what
cancels is zero. Elsewhere the rounding error of the sum is added to |rho|.

References: Ford & Fulkerson (1956), Maximal flow through a network, Canadian Journal of Mathematics 8; Neumaier &
Shcherbina (2004), Safe bounds in linear and mixed-integer linear programming; Fischetti & Salazar (2001);
Salazar-Gonzalez (2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints, ranges
from tablecloak.attacker.null_space import NullSpaceSettings, deviation_program
from tablecloak.attacker.presolve import without_empty_rows, working_columns, working_equations
from tablecloak.attacker.system import CellNetwork
from tablecloak.attacker.tolerances import FLOW_NOISE, MACHINE_EPSILON, MULTIPLIER_NEAR_FRACTION
from tablecloak.model import Problem, Requirement, Table
from tablecloak.progress import Deadline
from tablecloak.solvers.graphs import Network


@dataclass(frozen=True)
class MultiplierSettings:
    """Denominators of multipliers: small ones make short and exact coefficients."""

    common: int = 840
    """The denominator that is tried first: the least common multiple of the numbers up to 8. Untested default."""
    max_denominator: int = 1000
    """Maximum denominator of one multiplier. Untested default."""
    max_common: int = 10**7
    """Maximum common denominator of all multipliers. Untested default."""
    grid: float = 2.0**30
    """The denominator where there are no simple fractions: sums of some thousand multipliers stay exact."""


class Fractions(NamedTuple):
    """numerators / denominator, both integers in floats."""

    numerators: Floats
    denominator: float


@dataclass(frozen=True)
class OracleSettings:
    """Sizes of the attackers' programs and flows, and the multipliers of their cuts."""

    null_space: NullSpaceSettings = NullSpaceSettings()
    multipliers: MultiplierSettings = MultiplierSettings()
    cuts_per_batch: int = 500
    """Maximum number of minimum cuts that become protection cuts at once: memory against calls. Untested default."""
    flows_per_check: int = 4096
    """Maximum number of flows between two deadline checks. Untested default."""


def simplified(multipliers: Floats, settings: MultiplierSettings = MultiplierSettings()) -> Fractions:
    """Fractions of small numbers near these multipliers, with one denominator."""
    common = settings.common
    scaled = multipliers * common
    whole = np.rint(scaled)
    far = np.abs(scaled - whole) >= MULTIPLIER_NEAR_FRACTION * common
    if not far.any():
        return Fractions(whole, float(common))
    most = settings.max_denominator
    near = [Fraction(value).limit_denominator(most) for value in multipliers[far].tolist()]
    larger = lcm(common, *(value.denominator for value in near))
    if larger > settings.max_common:
        return Fractions(np.rint(multipliers * settings.grid), settings.grid)
    numerators = whole * (larger // common)
    numerators[far] = [float(value * larger) for value in near]
    return Fractions(numerators, float(larger))


class Combination(NamedTuple):
    """A deviation as a combination of others: +-d_p = sum of rho[i] * d[cells[i]], cells sorted, rho not zero."""

    cells: Ints
    rho: Floats


def combination(equations: csr_array, which: Ints, y: Fractions, cell: int, upward: bool) -> Combination:
    """rho = +-[i = p] - M'y for multipliers of some equations, safe to use.

    Exact where the coefficients are integers; elsewhere not smaller in size than it is without rounding errors.
    """
    used = y.numerators != 0.0
    start = equations.indptr[which[used]]
    count = equations.indptr[which[used] + 1] - start
    place = ranges(start, start + count)
    coefficients = equations.data[place]
    cells = np.append(equations.indices[place].astype(np.int64), cell)
    terms = np.append(
        -coefficients * np.repeat(y.numerators[used], count), y.denominator if upward else -y.denominator
    )
    every, at = np.unique(cells, return_inverse=True)
    rho = np.bincount(at, weights=terms, minlength=every.size)
    if not (coefficients == np.rint(coefficients)).all():
        size = np.bincount(at, weights=np.abs(terms), minlength=every.size)
        error = np.bincount(at, minlength=every.size) * MACHINE_EPSILON * size
        rho = np.where(rho < 0, rho - error, rho + error)
    kept = rho != 0.0
    return Combination(every[kept], rho[kept] / y.denominator)


@dataclass(frozen=True, eq=False)
class ProtectionCut:
    """sum of above[i] * U[cells[i]] + below[i] * D[cells[i]] >= level, in every safe publication."""

    requirement: Requirement
    cells: Ints
    above: Floats
    below: Floats

    @classmethod
    def of(cls, requirement: Requirement, directions: Sequence[Combination]) -> ProtectionCut:
        """The sum over the directions of the requirement: above = rho^+, below = rho^-."""
        cells = np.unique(np.concatenate([one.cells for one in directions]))
        above, below = np.zeros((2, cells.size))
        for one in directions:
            at = np.searchsorted(cells, one.cells)
            above[at] += np.maximum(one.rho, 0.0)
            below[at] += np.maximum(-one.rho, 0.0)
        return cls(requirement, cells, above, below)

    def capacities(self, bounds: tuple[Floats, Floats]) -> Floats:
        """By cell of the table: its share of the left-hand side where it may deviate as far as these bounds allow."""
        down, up = bounds
        found = np.zeros(up.size)
        for weights, bound in ((self.above, up), (self.below, down)):
            used = weights > 0
            found[self.cells[used]] += weights[used] * bound[self.cells[used]]
        return found

    def says_the_same(self, other: ProtectionCut) -> bool:
        """Whether the coefficients are those of the other one."""
        mine, its = ((one.cells, one.above, one.below) for one in (self, other))
        return all(map(np.array_equal, mine, its))


class WitnessDeviation(NamedTuple):
    """Deviations that meet a requirement, one for each of its directions: of these cells, by these amounts."""

    directions: tuple[tuple[Ints, Floats], ...]


# ---------------------------------------------------------------------- any table


class LinearOracle:
    """Linear programs over the cells of a support, in units that the caller chooses."""

    def __init__(self, table: Table, settings: OracleSettings = OracleSettings()) -> None:
        self._columns, self._rows = working_columns(table), csr_array(working_equations(table))
        self._settings = settings
        self._last_violated: dict[Requirement, int] = {}
        self._supports = 0

    def restrict(self, cells: Ints) -> None:
        """Only these cells deviate from now on (sorted)."""
        matrix = self._columns[:, cells]
        self._cells, self._equations = cells, np.unique(matrix.indices).astype(np.int64)
        self._program = deviation_program(without_empty_rows(csc_array(matrix)), self._settings.null_space)
        self._supports += 1

    def set_bounds(self, down: Floats, up: Floats) -> None:
        """The deviation bounds of the cells of the support."""
        self._program.set_bounds(-down, up)
        self._most_up, self._most_down = np.zeros((2, self._cells.size))

    def recently_violated_first(self, requirements: Sequence[Requirement]) -> list[int]:
        """The order in which requirements are best settled where only some violated ones are looked for."""
        recent = [self._last_violated.get(requirement, 0) for requirement in requirements]
        return sorted(range(len(requirements)), key=lambda t: -recent[t])

    def is_known_to_meet(self, requirement: Requirement, need: float) -> bool:
        """Whether the deviations found within these bounds so far meet the need."""
        place = int(np.searchsorted(self._cells, requirement.cell))
        known = {True: float(self._most_up[place]), False: float(self._most_down[place])}
        return sum(known[upward] for upward in requirement.directions) >= need

    def tied(self, cells: Ints) -> Ints:
        """The cells of the support that are known to move in proportion with one of these in every deviation."""
        return np.asarray(self._cells[self._program.tied(np.searchsorted(self._cells, cells))])

    def settle(self, requirement: Requirement, need: float) -> WitnessDeviation | ProtectionCut:
        """Deviations of the requirement's cell that add up to `need`, or a cut that the bounds violate."""
        multipliers = list[tuple[bool, Floats]]()
        if found := self.witness(requirement, need, multipliers):
            return found
        self._last_violated[requirement] = self._supports
        return cut_of_multipliers(
            self._rows,
            requirement,
            [(upward, self._equations, y) for upward, y in multipliers],
            self._settings.multipliers,
        )

    def witness(
        self, requirement: Requirement, need: float, multipliers: list[tuple[bool, Floats]] | None = None
    ) -> WitnessDeviation | None:
        """Deviations of the requirement's cell that add up to `need`; None: there are none.

        `multipliers`: takes those of the equations, by direction, where a deviation falls short.
        """
        place, got = int(np.searchsorted(self._cells, requirement.cell)), 0.0
        deviations = list[tuple[Ints, Floats]]()
        for upward in requirement.directions:
            missing = need - got
            reached = self._program.reach(place, upward, missing)
            deviation = self._program.value
            self._most_up = np.maximum(self._most_up, deviation)
            self._most_down = np.maximum(self._most_down, -deviation)
            deviations.append((self._cells, deviation))
            got = need if reached >= missing else got + reached
            if got >= need:
                return WitnessDeviation(tuple(deviations))
            if multipliers is not None:
                multipliers.append((upward, self._program.multipliers(place, upward)))
        return None


def cut_of_multipliers(
    rows: csr_array,
    requirement: Requirement,
    directions: Sequence[tuple[bool, Ints, Floats]],
    settings: MultiplierSettings = MultiplierSettings(),
) -> ProtectionCut:
    """The cut of multipliers of some equations for each direction; any are valid, so simple ones nearby are taken."""
    parts = [
        combination(rows, equations, simplified(y, settings), requirement.cell, upward)
        for upward, equations, y in directions
    ]
    return ProtectionCut.of(requirement, parts)


# ---------------------------------------------------------------------- networks


class NetworkBounds(NamedTuple):
    """Deviation bounds on a network: min(bound, level) * share, where the bound is in some row of `down` and `up`."""

    cells: Ints
    """The support, sorted: all other cells do not deviate."""
    down: Floats
    up: Floats
    share: Floats
    """To what extent each cell of the support may deviate, from 0 to 1."""


class NetworkOracle:
    """Maximum flows through the network of the cells, and the minimum cuts nearest to source and sink."""

    def __init__(self, problem: Problem, settings: OracleSettings = OracleSettings()) -> None:
        self.graph, self.settings = CellNetwork(problem), settings
        graph = self.graph
        cells = np.arange(graph.tail.size)
        ends = np.concatenate([graph.tail, graph.head])
        signs = np.repeat([1.0, -1.0], cells.size)
        self._incidence = csr_array((signs, (ends, np.tile(cells, 2))), shape=(graph.nodes, cells.size))

    def settle(
        self,
        requirements: Sequence[Requirement],
        needs: Floats,
        bounds: NetworkBounds,
        rows: Codes,
        partial: Floats | None = None,
        *,
        noise: float = FLOW_NOISE,
    ) -> MinimumCuts:
        """How far the cell of each requirement deviates, up to its need, and what limits it.

        `rows`: for each requirement the row of the bounds. `partial`: for each requirement what takes the place of the
        level in the bounds of cells whose share is less than 1. `noise` as in `Network.least_cuts`.
        """
        of, upward, arc = _flows(requirements, bounds.cells)
        level, row = np.array([requirements[t].level for t in of.tolist()]), rows[of]
        own = np.where(upward, bounds.up[row, arc], bounds.down[row, arc])
        limit = np.minimum(needs[of], np.minimum(own, level) * bounds.share[arc])
        graph, ones = self.graph, np.ones(bounds.cells.size)
        network = Network(graph.nodes, graph.tail[bounds.cells], graph.head[bounds.cells], ones, ones)
        flows, *source_sides = network.least_cuts(
            arc,
            upward,
            limit,
            level,
            row,
            (bounds.up, bounds.down),
            bounds.share,
            level if partial is None else partial[of],
            noise=noise,
        )
        reach = np.zeros(len(requirements))
        np.add.at(reach, of, flows)
        binding = flows >= limit * (1 - noise)
        return MinimumCuts(self, requirements, reach, of, upward, binding, source_sides)

    def reach(
        self,
        requirements: Sequence[Requirement],
        needs: Floats,
        bounds: NetworkBounds,
        rows: Codes,
        deadline: Deadline,
    ) -> Floats:
        """How far the cell of each requirement deviates, up to its need, where every share is 1: faster than `settle`.

        Infinite for requirements that the deadline leaves unsettled.
        """
        of, upward, arc = _flows(requirements, bounds.cells)
        reach, row, graph = np.zeros(len(requirements)), rows[of], self.graph
        tail, head, size = graph.tail[bounds.cells], graph.head[bounds.cells], self.settings.flows_per_check
        for which in np.unique(row):
            network = Network(graph.nodes, tail, head, bounds.up[which], bounds.down[which])
            mine = np.flatnonzero(row == which)
            for some in (mine[k : k + size] for k in range(0, mine.size, size)):
                if deadline.passed():
                    reach[of[some]] = np.inf
                    continue
                up, need = upward[some], needs[of[some]]
                high, low, _ = network.settle(arc[some], np.where(up, need, 0.0), np.where(up, 0.0, need))
                np.add.at(reach, of[some], np.where(up, high, low))
        return reach

    def crossing(self, source_sides: Bools) -> csr_array:
        """For each source side the cells that leave it (1) and that enter it (-1), from the smaller side of the two."""
        large = 2 * source_sides.sum(axis=1) > source_sides.shape[1]
        smaller = csr_array(np.where(large[:, None], ~source_sides, source_sides).astype(float))
        smaller.data *= np.repeat(np.where(large, -1.0, 1.0), np.diff(smaller.indptr))
        return csr_array(smaller @ self._incidence)


def _flows(requirements: Sequence[Requirement], cells: Ints) -> tuple[Ints, Bools, Codes]:
    """For each direction of each requirement: the requirement, whether it is upward, and the arc."""
    pairs = [(t, upward) for t, one in enumerate(requirements) for upward in one.directions]
    arcs = np.searchsorted(cells, [requirements[t].cell for t, _ in pairs]).astype(np.int32)
    of, upward = (
        np.array([t for t, _ in pairs], dtype=np.int64),
        np.array([up for _, up in pairs], dtype=bool),
    )
    return of, upward, arcs


@dataclass(frozen=True, eq=False)
class MinimumCuts:
    """Maximum deviations of the cells of some requirements, and the minimum cuts of each of their directions."""

    oracle: NetworkOracle
    requirements: Sequence[Requirement]
    reach: Floats
    """By requirement: the sum over its directions."""
    requirement: Ints
    """By flow: its requirement."""
    upward: Bools
    binding: Bools
    """By flow: whether the cell's own bound is what limits it."""
    source_sides: list[Bools]
    """By flow: the source sides of the minimum cuts nearest to the source, and of those nearest to the sink."""

    def violated(self, least: Floats) -> Ints:
        """The requirements whose reach is less than this, by increasing reach in units of the level."""
        found = np.flatnonzero(self.reach < least)
        level = np.array([self.requirements[t].level for t in found.tolist()])
        return found[np.argsort(self.reach[found] / level, kind="stable")]

    def protection_cuts(self, chosen: Ints) -> Iterator[tuple[int, list[ProtectionCut]]]:
        """For each of these requirements the cut nearest to the source and the one nearest to the sink."""
        first = np.searchsorted(self.requirement, np.arange(len(self.requirements) + 1))
        size = self.oracle.settings.cuts_per_batch // 4  # two directions and two cuts for each
        for some in (chosen[k : k + size].tolist() for k in range(0, chosen.size, size)):
            flows = np.concatenate([np.arange(first[t], first[t + 1]) for t in some])
            moves = [self.oracle.crossing(one[flows]) for one in self.source_sides]
            at = 0
            for t in some:
                count = int(first[t + 1] - first[t])
                directions = list(zip(range(at, at + count), flows[at : at + count].tolist(), strict=True))
                yield t, [self._cut(t, directions, each) for each in moves]
                at += count

    def _cut(self, t: int, directions: list[tuple[int, int]], moves: csr_array) -> ProtectionCut:
        """The cut of one requirement from its rows of the crossing cells."""
        parts = [self._combination(self.requirements[t].cell, row, flow, moves) for row, flow in directions]
        if len(parts) > 1:
            return ProtectionCut.of(self.requirements[t], parts)
        cells, sign = parts[0]
        return ProtectionCut(self.requirements[t], cells, np.maximum(sign, 0.0), np.maximum(-sign, 0.0))

    def _combination(self, cell: int, row: int, flow: int, moves: csr_array) -> Combination:
        if self.binding[flow]:
            return Combination(np.array([cell]), np.array([1.0 if self.upward[flow] else -1.0]))
        part = slice(moves.indptr[row], moves.indptr[row + 1])
        cells, sign = moves.indices[part].astype(np.int64), moves.data[part]
        kept = (sign != 0.0) & (cells != cell)
        return Combination(cells[kept], sign[kept])
