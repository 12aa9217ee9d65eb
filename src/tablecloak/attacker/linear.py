"""Feasibility intervals on non-network tables: linear programs that share their witnesses.

Every deviation found is a witness for all cells at once. Each deviation is split into a part up to the need, which is
rewarded, and a part beyond, which is not, so that the simplex method stops at the need of a cell. One program maximises
the deviations of all cells of a chunk together; a cell whose need it leaves unmet gets a program of its own, and what
that leaves open goes to the oracle, which settles a single cell at its own scale. Only exact evidence counts
(`evidence`).
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.evidence import Deviation, EvidenceSettings, IntegralSystem, fits, stretched
from tablecloak.attacker.exact_oracle import Evidence, ExactOracle, ExactOracleSettings
from tablecloak.attacker.inference import Extents
from tablecloak.attacker.presolve import Component, unfolded
from tablecloak.attacker.tolerances import CORRECTED, MARGINS, NEGLIGIBLE
from tablecloak.errors import SolverError
from tablecloak.solvers import HighsSettings, LinearProgram, Outcome, SimplexOptions, Solution, Tick, kernels

_END = {("kUpper", "kLower"): "kUpper", ("kLower", "kUpper"): "kLower"}
"""The bound at which a column lies, by those of its parts up and down, both from zero."""


@dataclass(frozen=True)
class LinearAttackSettings:
    """Effort of the linear programs; where a benchmark part is named, on roundings of hier13x13x13a and 30x30x10."""

    exact_columns: int = 500
    """Maximum number of columns for single exact solutions before margins are tried; more take a second each.
    Benchmark part `limits`."""
    exact_targets: int = 8
    """Maximum number of cells that get exact evidence one by one where points are no simple fractions; where
    there are more, programs with margins come first. Untested default."""
    pool_size: int = 400
    """Maximum number of witnesses kept for a chunk: more save programs and take memory and time. Untested default."""
    chunk_size: int = 1_000
    """Maximum number of cells that share programs and witnesses. Chunks share nothing, so that their order does not
    matter. Untested default."""
    decades: float = 2.0
    """Powers of ten between the sizes of cells in one program: more share more, and lose precision for small ones.
    Untested default."""
    unsettled_share: float = 0.7
    """Programs over all unmet cells end once one of them leaves more than this share unmet. Untested default."""
    presolved_columns: int = 2000
    """Programs with more columns than this are presolved before their first solve. Untested default."""
    cap: float = 1e4
    """Maximum movement of a column, in multiples of the largest need of a program: bounds the range of its numbers,
    and what lies beyond goes to the oracle. Untested default."""
    evidence: EvidenceSettings = EvidenceSettings()
    exact: ExactOracleSettings = ExactOracleSettings()
    highs: HighsSettings = HighsSettings()


SETTINGS = LinearAttackSettings()


class LinearAttack:
    """Linear programs over the merged columns of a non-network component."""

    engine = "linear programs"

    def __init__(
        self,
        component: Component,
        known: LinearAttack | None = None,
        settings: LinearAttackSettings = SETTINGS,
    ) -> None:
        """`known` is an attack on the same cells in another box: its equations and witnesses are taken over."""
        self.component, self.settings = component, settings
        self.system: IntegralSystem = (
            IntegralSystem(component.columns, settings.evidence) if known is None else known.system
        )
        self.low: Floats
        self.high: Floats
        self.low, self.high = self.system.bounds(component.low, component.high)
        self.oracle = ExactOracle(self.system, self.low, self.high, self.settings.exact)
        self.session: LinearProgram | None = None
        self.solves = 0
        self.pools: dict[int, list[Deviation]] = {}
        for chunk, pool in ({} if known is None else known.pools).items():
            self.pools[chunk] = [one for one in pool if fits(one, self.low, self.high)]

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Extents, Extents]:
        down, up = Extents.of(cells.size), Extents.of(cells.size)
        power = self._powers(cells, size)
        for number, here in enumerate(self._divided(power)):
            pool, scale = self.pools.setdefault(number, []), float(10.0 ** power[here].mean())
            push = _Push(self, pool, scale, cells[here], need_down[here], need_up[here])
            push.run(tick)
            every = np.arange(here.size)
            down.copy_from(push.side[False], here, every)
            up.copy_from(push.side[True], here, every)
            tick(here.size)
        return down, up

    def parts(self, cells: Ints, size: Floats) -> list[Ints]:
        """Chunks of cells of similar size: a solver's tolerance must stay small beside every size."""
        return self._divided(self._powers(cells, size))

    def alone(self, number: int) -> Self:
        """An attack on the same equations with the witnesses of one part and programs of its own."""
        part = copy(self)
        part.oracle = ExactOracle(self.system, self.low, self.high, self.settings.exact)
        part.session, part.solves, part.pools = None, 0, {0: list(self.pools.get(number, []))}
        return part

    def work(self, questions: int) -> int:
        """The programs are as large as the component, however many cells share them."""
        return self.component.cells.size

    def learn(self, number: int, part: Self) -> None:
        """Keep its witnesses for later questions, and count its programs."""
        self.pools[number] = part.pools[0]
        self.solves += part.solves

    def __getstate__(self) -> dict[str, Any]:  # programs stay where they are: another process makes its own
        return self.__dict__ | {
            "session": None,
            "oracle": ExactOracle(self.system, self.low, self.high, self.settings.exact),
        }

    def _divided(self, power: Floats) -> list[Ints]:
        """The places of each part: chunks, and in a chunk a few powers of ten."""
        found, most = list[Ints](), self.settings.chunk_size
        for start in range(0, power.size, most):
            decade = np.floor(power[start : start + most] / self.settings.decades)
            found += [start + np.flatnonzero(decade == value) for value in sorted(set(decade.tolist()))]
        return found

    def _powers(self, cells: Ints, size: Floats) -> Floats:
        """The logarithm of the size of each cell; where that is unknown, of its smaller bound."""
        component, sizes = self.component, size
        if not size.all():
            for amount in (-component.low[cells], component.high[cells]):
                sizes = np.where(np.isfinite(amount) & (amount > 0) & (sizes == 0), amount, sizes)
            sizes = np.where(sizes == 0, 1.0, sizes)
        return np.asarray(np.log10(sizes))

    def spread(self, witness: Deviation) -> Floats:
        """The deviation of every cell of the component."""
        columns = witness.numerator / float(witness.denominator)
        return np.asarray(self.system.ratio * columns[self.system.group])

    def program(self, targets: Ints, upper: Floats) -> LinearProgram:
        """The program of the split columns, with further columns for the target ones beyond the need; see `_Push`."""
        matrix, lower = unfolded(self.system.columns, targets), np.zeros(upper.size)
        presolve = upper.size > self.settings.presolved_columns
        if self.session is None:
            options = SimplexOptions(presolve=presolve, feasible=True)
            self.session = LinearProgram(matrix, lower, upper, options=options, settings=self.settings.highs)
        else:
            self.session.load(matrix, lower, upper, presolve=presolve)
        return self.session


class _Push:
    """The target cells of one chunk and scale: split columns, a shared program, then one program for each cell."""

    def __init__(
        self,
        attack: LinearAttack,
        pool: list[Deviation],
        scale: float,
        cells: Ints,
        need_down: Floats,
        need_up: Floats,
    ) -> None:
        self.attack, self.pool, self.scale = attack, pool, scale
        self.margin = 0.0
        """Distance that programs keep from every bound, once their points turned out not to be simple fractions."""
        self.margins = list(MARGINS)
        """The margins that were not tried yet."""
        self.group, self.ratio = attack.system.group[cells], attack.system.ratio[cells]
        self.need = {False: need_down, True: need_up}
        wall = {False: -attack.component.low[cells], True: attack.component.high[cells]}
        self.side = {
            way: Extents(np.zeros(cells.size), np.where(self.ratio == 0, 0.0, wall[way])) for way in wall
        }
        self.goal = {
            way: np.where(self.need[way] > 0, np.minimum(self.need[way], self.side[way].bound), -np.inf)
            for way in wall
        }
        is_target = np.zeros(attack.system.count, dtype=bool)
        is_target[self.group] = True
        self.target_columns = np.flatnonzero(is_target)
        self.place = np.cumsum(is_target)[self.group] - 1
        self.flip = self.ratio < 0
        for witness in pool:
            self._credit(witness)

    # ------------------------------------------------------------------ evidence

    def unmet(self, upward: bool) -> Ints:
        """Targets whose need is neither met nor proven out of reach."""
        return np.flatnonzero(self.side[upward].reach < self.goal[upward])

    def _credit(self, witness: Deviation) -> None:
        """Raise the reach of every cell to its deviation in a witness, in integral units."""
        kernels.credit(self.group, self.ratio, *witness, self.side[False].reach, self.side[True].reach)

    def _remember(self, witness: Deviation) -> None:
        """Credit a witness and its mirror image, and keep them."""
        mirror = stretched(witness, self.attack.low, self.attack.high)
        for one in (witness, mirror):
            if one is not None:
                self._credit(one)
                self.pool.append(one)
        del self.pool[: -self.attack.settings.pool_size]

    def _settle(self, target: int, upward: bool, found: Evidence) -> None:
        """Keep the evidence about one target; what it leaves open the oracle settles at the target's own scale."""
        need, side = float(self.need[upward][target]), self.side[upward]
        wall = side.exact(target)[1]
        found.bound = min(found.bound, wall)
        if not found.settles(need):
            column, sign = int(self.group[target]), 1 if self.flip[target] != upward else -1
            more = self.attack.oracle.settle(column, sign, need)
            if more.deviation is not None and more.reach < math.inf:
                self._remember(more.deviation)
            found.take(more.deviation, more.reach)
            found.bound = min(found.bound, more.bound)
        reach = max(found.reach, side.exact(target)[0])
        side.set(target, reach, found.bound)
        self.goal[upward][target] = -np.inf

    # ------------------------------------------------------------------ programs

    def run(self, tick: Tick) -> None:
        """Settle all targets that the witnesses at hand leave open.

        Down first: deviation bounds are tighter below, and the mirror image of a deviation down often suffices up.
        """
        self._find_rays()
        if self.unmet(True).size == self.unmet(False).size == 0:
            return
        self.session, self.attack.oracle.tick = self._session(), tick
        for upward in (False, True):
            tick(0)
            self._together(upward)
            while (left := self.unmet(upward)).size:
                if not self._alone(int(left[0]), upward, left.size):
                    self._leave_margins()
                    self._together(upward)
                tick(0)
        self.attack.solves = self.session.solves + self.attack.oracle.solves

    def _session(self) -> LinearProgram:
        """Columns, all from zero: d+ and d- of every column up to the need, then d+ and d- beyond it for targets.

        The point d = 0 is a vertex, so the simplex method starts feasible. No column moves further than `cap` needs.
        """
        targets, (low_wall, high_wall) = self.target_columns, self._walls()
        largest = max(float(need.max(initial=0.0)) for need in self.need.values())
        cap = np.ceil(self.attack.settings.cap * largest)
        far_high, far_low = (self._usable(np.minimum(wall, cap)) for wall in (high_wall, low_wall))
        high, low = far_high.copy(), far_low.copy()
        high[targets] = np.minimum(high[targets], self._group_need(True))
        low[targets] = np.minimum(low[targets], self._group_need(False))
        beyond_high = _difference(far_high[targets], high[targets])
        beyond_low = _difference(far_low[targets], low[targets])
        return self.attack.program(targets, np.concatenate([high, low, beyond_high, beyond_low]) / self.scale)

    def _usable(self, wall: Floats) -> Floats:
        """Deviation bounds; in verdicts zero where a program of this scale cannot distinguish them from zero."""
        if any(np.isinf(need).any() for need in self.need.values()):
            return wall
        return np.where(wall < NEGLIGIBLE * self.scale, 0.0, wall)

    def _walls(self) -> tuple[Floats, Floats]:
        """Bounds of columns down and up in programs: less the margin, or less a quarter where that is smaller."""
        low, high = -self.attack.low, self.attack.high
        if self.margin:
            low, high = (wall - np.minimum(self.margin, wall / 4) for wall in (low, high))
        return low, high

    def _group_need(self, upward: bool) -> Floats:
        """The part of each target column that is rewarded for going up (down): the largest need of its cells."""
        most = np.zeros(self.target_columns.size)
        need = np.where(self.flip, self.need[not upward], self.need[upward])
        np.maximum.at(most, self.place, np.where(need > 0, need + 2 * self.margin, 0.0))
        return most

    def _together(self, upward: bool) -> None:
        """Maximise all unmet targets at once, as long as that settles many of them."""
        targets = self.unmet(upward)
        while targets.size > 1 and np.isfinite(self.need[upward][targets]).all():
            first = np.full(self.target_columns.size, -1)
            first[self.place[targets[::-1]]] = targets[::-1]
            solution = self._solved(first[first >= 0], upward)
            if solution is None:
                return
            if self._learn(solution) is None and not self.margin:
                return
            before, targets = targets.size, self.unmet(upward)
            if targets.size > self.attack.settings.unsettled_share * before:
                return

    def _solved(self, targets: Ints, upward: bool) -> Solution | None:
        """The solution that maximises some targets; None after a numerical failure."""
        self.session.set_objective(self._rewards(targets, upward))
        return _solved(self.session)

    def _leave_margins(self) -> None:
        """Keep deviations away from bounds and beyond needs from now on: floats next to exact ones suffice.

        Where a bound lies below the need, the goal is then within one unit of that bound.
        """
        self.margin = self.margins.pop(0) * self.scale
        for way, goal in self.goal.items():
            wall = self.side[way].bound
            self.goal[way] = np.where(np.isfinite(goal) & (wall < self.need[way]), wall - 1.0, goal)
        self.session = self._session()

    def _learn(self, solution: Solution) -> Deviation | None:
        """Credit the deviation of a solution: an exact one, which is returned, or one next to it."""
        low, high = self.attack.low, self.attack.high
        amount = kernels.folded(solution.values, self.attack.system.count, self.target_columns, self.scale)
        witness = self.attack.system.deviation(amount, low, high)
        if witness is not None:
            self._remember(witness)
        elif self.margin:
            amount[np.abs(amount) <= CORRECTED * self.margin] = 0.0
            if self.attack.system.has_deviation_near(amount, low, high, self.margin):
                self._credit_near(amount)
        return witness

    def _credit_near(self, amount: Floats) -> None:
        """Raise reaches by amounts with an exact deviation next to them, less the margin, and by their mirror image.

        The exact deviation is nearer to them than the margin by far: stretched by the share that the amounts and twice
        that distance have of the opposite bounds, its mirror image keeps these.
        """
        moved, far = np.flatnonzero(amount), self.ratio * amount[self.group]
        wall = np.where(amount > 0, -self.attack.low, self.attack.high)[moved]
        share = float((wall / (np.abs(amount[moved]) + 2 * CORRECTED * self.margin)).min(initial=np.inf))
        for way, sign in ((True, 1.0), (False, -1.0)):
            reach = self.side[way].reach
            np.maximum(reach, np.floor(sign * far - self.margin), out=reach)
            if math.isfinite(share):
                np.maximum(reach, np.floor(share * (-sign * far - self.margin)), out=reach)

    def _rewards(self, targets: Ints, upward: bool) -> Floats:
        """Costs that maximise the targets: a reward up to the need, a penalty in the opposite direction."""
        count, place = self.attack.system.count, self.place[targets]
        rising = self.flip[targets] != upward
        costs = np.zeros(2 * (count + self.target_columns.size))
        costs[self.target_columns[place] + np.where(rising, 0, count)] = -1.0
        costs[self.target_columns[place] + np.where(rising, count, 0)] = 1.0
        costs[2 * count + place + np.where(rising, self.target_columns.size, 0)] = 1.0
        return costs

    def _alone(self, target: int, upward: bool, left: int) -> bool:
        """Settle one target, at its need or its exact maximum; false where points are no simple fractions.

        The caller then introduces margins for the remaining targets, this one included, unless they are few; and wider
        ones where these leave a target unsettled.
        """
        attack, found = self.attack, Evidence()
        solution = self._solved(np.array([target]), upward)
        if solution is not None and solution.outcome is Outcome.OPTIMAL:
            column, sign = int(self.group[target]), 1 if self.flip[target] != upward else -1
            witness = self._learn(solution)
            if self.side[upward].reach[target] >= self.goal[upward][target]:
                return True
            settings, finite = attack.settings, math.isfinite(self.need[upward][target])
            many = left > settings.exact_targets or attack.system.count > settings.exact_columns
            in_margins = witness is None and many and finite and bool(self.margins)
            if in_margins and not self.margin:
                return False
            if witness is not None:
                found.take(witness, sign * witness.of(column))
            found.bound = attack.system.bound(column, sign, solution.duals, attack.low, attack.high)
            if in_margins and not found.settles(self.need[upward][target]):
                return False
            extent = math.isinf(self.need[upward][target]) and not found.settles(math.inf)
            if extent and NEGLIGIBLE * self.scale < 1:  # else the basis may violate bounds by whole units
                self._exact_extent(found, column, sign)
        self._settle(target, upward, found)
        return True

    def _exact_extent(self, found: Evidence, column: int, sign: int) -> None:
        """The point and bound of the last basis in fractions: a column is basic if one of its parts is."""
        count, (columns, rows) = self.attack.system.count, self.session.basis()
        status = [
            "kBasic" if "kBasic" in (rises, falls) else _END.get((rises, falls), "kZero")
            for rises, falls in zip(columns[:count], columns[count : 2 * count], strict=True)
        ]
        for own, *beyond in zip(
            self.target_columns.tolist(),
            columns[2 * count : -self.target_columns.size],
            columns[-self.target_columns.size :],
            strict=True,
        ):
            status[own] = "kBasic" if "kBasic" in beyond else status[own]
        low, high = self.attack.low, self.attack.high  # extents have no cap, and no margin
        self.attack.oracle.take_basis(found, (status, rows), column, sign, low, high)

    # ------------------------------------------------------------------ rays

    def _find_rays(self) -> None:
        """Unbounded extents, where extents are computed: by rays over the columns with infinite bounds."""
        if not any(np.isinf(need).any() for need in self.need.values()):
            return
        low = np.where(np.isinf(self.attack.low), -1.0, 0.0)
        high = np.where(np.isinf(self.attack.high), 1.0, 0.0)
        for upward in (False, True):
            unbounded = np.isinf(self.need[upward]) & np.isinf(self.side[upward].bound)
            session: LinearProgram | None = None
            while (targets := np.flatnonzero(unbounded & np.isfinite(self.side[upward].reach))).size:
                if session is None:
                    options = SimplexOptions(feasible=True)
                    session = LinearProgram(
                        self.attack.system.columns,
                        low,
                        high,
                        options=options,
                        settings=self.attack.settings.highs,
                    )
                costs = np.zeros(self.attack.system.count)
                costs[self.group[targets]] = np.where(self.flip[targets] != upward, -1.0, 1.0)
                session.set_objective(costs)
                solution = _solved(session)
                ray = None if solution is None else self.attack.system.deviation(solution.values, low, high)
                if ray is None:
                    break
                moved = self.ratio[targets] * ray.numerator[self.group[targets]]
                found = targets[moved > 0 if upward else moved < 0]
                if found.size == 0:
                    break
                for target in found.tolist():
                    self.side[upward].set(target, math.inf, math.inf)
                self.goal[upward][found] = -np.inf


def _solved(session: LinearProgram) -> Solution | None:
    """A solution, or None after a numerical failure."""
    try:
        return session.solve()
    except SolverError:
        return None


def _difference(far: Floats, near: Floats) -> Floats:
    """far - near, and zero where both are infinite."""
    return np.where(far == near, 0.0, far - np.where(np.isfinite(near), near, 0.0))
