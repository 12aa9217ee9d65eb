"""Cuts of single equations: what each equation of a table requires of every safe pattern, whatever the others do.

In equation e cell i moves by t_i = m_ei d_i, at most `down` one way and `up` the other (by an attacker's box). As the
moves of an equation cancel, a level L of cell p in one direction requires of the other hidden cells (*volume*)

    sum_{i != p} c_i x_i >= |m_ep| L,     c_i = down_i where t_p goes up, up_i where it goes down, their sum to slide.

With r = |m_ep| L - (capacities of the cells hidden anyway) this is  sum_free min(c_i, r) x_i >= r; of all cells of an
equation only the one with the largest r counts. In a table without negative cells the parts of a total have c_i = a_i
and the total has any capacity: these are (5) and (6) of Carvalho & Almeida (2008), where the total has r and not
min(a, r).

*Isolated*: where one sensitive cell is all that must be hidden of an equation, hide another:  sum_free x_i >= 1,  their
(1).

*One-way*: if no hidden cell of an equation can go down, none can go up, all are determined and should be published:

    x_s <= sum_{i: down_i > 0} x_i     where down_s = 0, and likewise for up.

With zeros in an equation of positive total this is (8), in one of total zero (9) and (10). Like the cuts of
`bridgeless`, (4) and (7), these hold for some optimal pattern, not for all safe ones (weights are not negative).

References: Kelly, Golden & Assad (1992); Carvalho & Almeida (2000, 2008); Castro (2007) for `castro_cuts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import RESIDUAL_MET
from tablecloak.methods.cuts.cut import Cut
from tablecloak.model import Problem


@dataclass(frozen=True)
class OneWaySettings:
    """When one-way cuts are added."""

    min_violation: float = 1e-3
    """Violation from which a cut is added: progress of the bound against the size of the relaxation. Untested
    default."""


@dataclass(frozen=True, eq=False)
class EquationDemand:
    """By entry: the demand of each cell on the others of its equation, and its capacity for theirs."""

    need: Floats
    capacity: Floats


class EquationCuts:
    """The equations of a problem over the cells that may be hidden. `equation` and `cell` name each entry."""

    def __init__(self, problem: Problem, allowed: Bools) -> None:
        equations = csr_array(problem.table.equations)
        self.problem = problem
        self.count = equations.shape[0]
        self.first = equations.indptr.astype(np.int64)
        self.equation = np.repeat(np.arange(self.count), np.diff(self.first))
        self.cell: Ints = equations.indices.astype(np.int64)
        self.coefficient: Floats = equations.data.astype(np.float64)
        self.bound = problem.must_hide[self.cell]
        self.free = allowed[self.cell] & ~self.bound

    # ------------------------------------------------------------------ demands and capacities

    def deviation_bounds(self, attacker: int) -> tuple[Floats, Floats]:
        """By entry, how far t may go down and up."""
        low, high = self.problem.box(attacker)
        a, sign = self.problem.table.values, self.coefficient
        below = np.maximum(a - low, 0.0)[self.cell] * np.abs(sign)
        above = np.maximum(high - a, 0.0)[self.cell] * np.abs(sign)
        return np.where(sign > 0, below, above), np.where(sign > 0, above, below)

    def demands(self, attacker: int) -> Iterator[EquationDemand]:
        """The demands of levels that make a cell go up, go down, or slide."""
        lower, upper, sliding = levels_of(self.problem, attacker)[:, self.cell] * np.abs(self.coefficient)
        positive = self.coefficient > 0
        down, up = self.deviation_bounds(attacker)
        yield EquationDemand(np.where(positive, upper, lower), down)
        yield EquationDemand(np.where(positive, lower, upper), up)
        if sliding.any():
            yield EquationDemand(sliding, down + up)

    # ------------------------------------------------------------------ volume and isolated cuts

    def volume_cuts(self, *, truncated: bool = True, classic: bool = False) -> list[Cut]:
        """The volume cuts of every equation, of all attackers.

        Not `truncated`, coefficients are those of Carvalho & Almeida (2000): the whole deviation bound of a cell, and
        of a cell without limit its value. `classic` keeps to the cuts of that paper: the outsider, and no equation
        whose total is sensitive beside other sensitive cells.
        """
        skipped = self._sensitive_totals_in_company() if classic else np.zeros(self.count, dtype=bool)
        found: dict[tuple[bytes, bytes, float], Cut] = {}
        for attacker in range(1 if classic else len(self.problem.attacker_names)):
            equations = ~skipped & self._known_to(attacker)
            for demand in self.demands(attacker):
                for cut in self._largest_cuts(demand, equations, truncated, "volume"):
                    found.setdefault(cut.key, cut)
        return list(found.values())

    def _known_to(self, attacker: int) -> Bools:
        """The equations in which an attacker's cut can differ from the outsider's."""
        if attacker == 0:
            return np.ones(self.count, dtype=bool)
        equations = np.zeros(self.count, dtype=bool)
        who = self.problem.attackers[attacker - 1]
        equations[self.equation[np.isin(self.cell, [*who.cells, *who.levels.cells])]] = True
        return equations

    def _largest_cuts(
        self, demand: EquationDemand, equations: Bools, truncated: bool, kind: str
    ) -> list[Cut]:
        """The cut of the cell with the largest residual demand in each of these equations."""
        rest, need = self._rest(demand), demand.need
        unmet = np.flatnonzero((rest > RESIDUAL_MET * need) & (need > 0) & equations[self.equation])
        order = unmet[np.lexsort((rest[unmet], self.equation[unmet]))]
        largest = order[_last_of_each(self.equation[order])]
        cuts = [self._cut_of(entry, demand, truncated, kind) for entry in largest.tolist()]
        return [cut for cut in cuts if cut is not None]

    def _rest(self, demand: EquationDemand) -> Floats:
        """By entry, its demand less the capacities of the other cells that must be hidden."""
        given = np.where(self.bound, demand.capacity, 0.0)
        endless = np.isinf(given)
        finite = np.where(endless, 0.0, given)
        total = np.bincount(self.equation, weights=finite, minlength=self.count)
        unlimited = np.bincount(self.equation[endless], minlength=self.count)
        rest = demand.need - (total[self.equation] - finite)
        return np.where(unlimited[self.equation] - endless > 0, 0.0, rest)

    def _cut_of(self, entry: int, demand: EquationDemand, truncated: bool, kind: str) -> Cut | None:
        """The cut of one cell; its rest is summed again without the rounding of a difference of large numbers."""
        entries = self._entries(entry)
        others = entries[entries != entry]
        capacity, need = demand.capacity[others], float(demand.need[entry])
        rest = need - float(capacity[self.bound[others]].sum())
        if not rest > RESIDUAL_MET * need:
            return None
        used = self.free[others] & (capacity > RESIDUAL_MET * rest)
        cells, share = self.cell[others[used]], capacity[used] / rest
        if truncated:
            share = np.minimum(share, 1.0)
        else:
            value = np.abs(self.problem.table.values[cells] * self.coefficient[others[used]])
            share = np.where(np.isinf(share), np.maximum(value / rest, 1.0), share)
        return _sorted(cells, share, 1.0, kind)

    def _entries(self, entry: int) -> Ints:
        """All entries of the equation of an entry."""
        equation = self.equation[entry]
        return np.arange(self.first[equation], self.first[equation + 1])

    def isolated_cuts(self) -> list[Cut]:
        """One cut for each equation in which one sensitive cell is all that must be hidden."""
        sensitive = levels_of(self.problem, 0).max(axis=0) > 0
        must = np.bincount(self.equation[self.bound], minlength=self.count)
        isolated = np.flatnonzero((must[self.equation] == 1) & sensitive[self.cell])
        found = []
        for entry in isolated.tolist():
            entries = self._entries(entry)
            cells = self.cell[entries[self.free[entries]]]
            found.append(_sorted(cells, np.ones(cells.size), 1.0, "alone"))
        return found

    # ------------------------------------------------------------------ equations of a total and its parts

    def totals(self) -> tuple[Bools, Bools]:
        """Which equations are a total and its parts that add up to it, and which entries are totals in them.

        The total is the only entry of its sign; in an equation of two cells the negative one.
        """
        size = np.diff(self.first)
        plus = np.bincount(self.equation[self.coefficient > 0], minlength=self.count)
        odd = np.bincount(self.equation[np.abs(self.coefficient) != 1], minlength=self.count)
        sign = np.select(
            [(size > 2) & (plus == 1), (size > 1) & (plus == size - 1)], [1.0, -1.0], default=0.0
        )
        equations = (sign != 0) & (odd == 0) & (self.problem.table.rhs == 0)
        return equations, equations[self.equation] & (self.coefficient == sign[self.equation])

    def _sensitive_totals_in_company(self) -> Bools:
        """The equations whose total is sensitive beside other sensitive cells."""
        _, total = self.totals()
        sensitive = self.problem.sensitive[self.cell]
        several = np.bincount(self.equation[sensitive], minlength=self.count) > 1
        return several & (np.bincount(self.equation[total & sensitive], minlength=self.count) > 0)

    def castro_cuts(self, *, truncated: bool = True) -> tuple[list[Cut], Ints, Ints]:
        """Castro's cuts, the sensitive cells for which one is valid, and those for which none is.

        sum_i a_i x_i >= a_p + u_p over a total and its parts, none negative. It is valid for a part if u_p <= a_p: then
        the total counts enough. A total goes up with any one of its parts, but down by l_p only as far as they go:
        its cut is valid if u_p <= l_p as well.
        """
        equations, total = self.totals()
        lower, upper, _ = levels_of(self.problem, 0)[:, self.cell]
        value = self.problem.table.values[self.cell]
        required = (upper > 0) & equations[self.equation]
        valid = required & (upper <= value) & (~total | (upper <= lower))
        demand = EquationDemand(np.where(valid, upper, 0.0), np.where(total, np.inf, value))
        cuts = self._largest_cuts(demand, equations, truncated, "castro")
        return cuts, np.unique(self.cell[valid]), np.unique(self.cell[required & ~valid])


class OneWayCuts:
    """Separation of the one-way cuts, the most violated of each equation and direction.

    Not `truncated`, a helping cell counts by its deviation bound, in units of the smallest one of its equation: (e) of
    Carvalho & Almeida (2000).
    """

    def __init__(
        self,
        equations: EquationCuts,
        *,
        truncated: bool = True,
        settings: OneWaySettings = OneWaySettings(),
    ) -> None:
        self._directions = [
            _OneWay(equations, bounds, truncated, settings.min_violation)
            for bounds in equations.deviation_bounds(0)
        ]

    def separate(self, x: Floats) -> list[Cut]:
        """The cuts that x violates."""
        return [cut for direction in self._directions for cut in direction.separate(x)]


class _OneWay:
    """One direction: in each equation the cells that cannot move that way, and those that can."""

    def __init__(
        self, equations: EquationCuts, bounds: Floats, truncated: bool, min_violation: float
    ) -> None:
        self.count, self.min_violation = equations.count, min_violation
        helped = self._count(equations.equation[equations.bound & (bounds > 0)]) > 0
        usable = equations.free & ~helped[equations.equation]
        stuck = usable & (bounds == 0)
        busy = self._count(equations.equation[stuck]) > 0
        self.stuck_equation, self.stuck_cell = equations.equation[stuck], equations.cell[stuck]
        helping = usable & (bounds > 0) & busy[equations.equation]
        self.help_equation, self.help_cell = equations.equation[helping], equations.cell[helping]
        self.help: Floats = np.ones(self.help_equation.size)
        if not truncated:
            smallest = np.full(equations.count, np.inf)
            np.minimum.at(smallest, self.help_equation, bounds[helping])
            value = np.abs(equations.problem.table.values[self.help_cell] * equations.coefficient[helping])
            size = np.where(np.isinf(bounds[helping]), value, bounds[helping])
            self.help = np.maximum(size / smallest[self.help_equation], 1.0)

    def _count(self, equations: Ints, weights: Floats | None = None) -> Floats:
        return np.bincount(equations, weights=weights, minlength=self.count).astype(np.float64)

    def separate(self, x: Floats) -> list[Cut]:
        if self.stuck_equation.size == 0:
            return []
        help_there = self._count(self.help_equation, self.help * x[self.help_cell])
        missing = x[self.stuck_cell] - help_there[self.stuck_equation]
        order = np.lexsort((missing, self.stuck_equation))
        last = _last_of_each(self.stuck_equation[order])
        found = []
        for at in order[last & (missing[order] > self.min_violation)].tolist():
            start, stop = np.searchsorted(self.help_equation, self.stuck_equation[at] + np.array([0, 1]))
            cells = np.append(self.help_cell[start:stop], self.stuck_cell[at])
            coefficients = np.append(self.help[start:stop], -1.0)
            found.append(_sorted(cells, coefficients, 0.0, "one way"))
        return found


def fixing_cuts(cuts: Sequence[Cut]) -> list[Cut]:
    """x_i >= 1 for each cell without which some cut cannot be satisfied: it is hidden in every safe pattern."""
    found = [np.zeros(0, dtype=np.int64)]
    for cut in cuts:
        short = cut.coefficients.sum() - cut.coefficients < cut.rhs * (1 - RESIDUAL_MET)
        found.append(cut.cells[short])
    return [_sorted(cell, np.ones(1), 1.0, "fixed") for cell in np.unique(np.concatenate(found))[:, None]]


def levels_of(problem: Problem, attacker: int) -> Floats:
    """Lower, upper and sliding levels of sensitive cells as the audit requires them."""
    cells = np.flatnonzero(problem.sensitive)
    levels: Floats = np.zeros((3, problem.sensitive.size))
    levels[:, cells] = problem.required(attacker, cells)
    return levels


def _last_of_each(labels: Ints) -> Bools:
    """The last one of each run of equal labels."""
    last = np.ones(labels.size, dtype=bool)
    last[:-1] = labels[1:] != labels[:-1]
    return last


def _sorted(cells: Ints, coefficients: Floats, rhs: float, kind: str) -> Cut:
    order = np.argsort(cells)
    return Cut(cells[order], coefficients[order], rhs, kind)
