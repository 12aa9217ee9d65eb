"""Feasibility intervals on other tables: linear programs that share what they find.

Every deviation found is a witness for all cells at once. Each deviation is split into a part up to the need, which is
rewarded, and a part beyond, which is not, so that the simplex method stops pushing a cell at its need. One program
pushes all cells of a chunk together; a cell that it leaves short gets one of its own, and what that leaves open goes
to the oracle, which settles a single question at its own scale. Nothing counts but exact evidence (`evidence`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.evidence import Deviation, WholeSystem, fits, stretched
from tablecloak.attacker.inference import Side, Tick
from tablecloak.attacker.oracle import AttackerOracle, Evidence
from tablecloak.attacker.presolve import Component, unfolded
from tablecloak.attacker.tolerances import CORRECTED, MARGIN, NEGLIGIBLE
from tablecloak.errors import SolverError
from tablecloak.solvers import LinearProgram, Outcome, SimplexOptions, Solution

POOL_SIZE = 400
"""Witnesses that a chunk of questions remembers."""
CHUNK = 1_000
"""Questions that share programs and witnesses; chunks share nothing, so that they can be answered in any order."""
DECADES = 2.0
"""Questions whose sizes differ by more powers of ten than this are put to different programs."""
PRESOLVED = 2000
"""Programs with more columns than this are presolved before their first solve."""
FEW = 8
"""Up to this number of questions get exact evidence one by one, even where points are no simple fractions."""
CAP = 1e4
"""Columns may move this many times as far as the largest need of a program."""
_END = {("kUpper", "kLower"): "kUpper", ("kLower", "kUpper"): "kLower"}
"""The bound at which a column lies, by those of its parts up and down, both from zero."""


@dataclass(frozen=True)
class LinearSettings:
    """Benchmark part `limits`, roundings of hier13x13x13a and 30x30x10."""

    exact_columns: int = 500
    """Maximum number of columns for single exact solutions before margins are tried; more take a second each."""


SETTINGS = LinearSettings()


class LinearAttack:
    """Linear programs over the merged columns of a component that is no network."""

    engine = "linear programs"

    def __init__(self, component: Component, known: LinearAttack | None = None) -> None:
        """`known` is an attack on the same cells in another box: its equations and witnesses are taken over."""
        self.component = component
        self.system: WholeSystem = WholeSystem(component.columns) if known is None else known.system
        self.low: Floats
        self.high: Floats
        self.low, self.high = self.system.bounds(component.low, component.high)
        self.oracle = AttackerOracle(self.system, self.low, self.high)
        self.session: LinearProgram | None = None
        self.solves = 0
        self.pools: dict[int, list[Deviation]] = {}
        for chunk, pool in ({} if known is None else known.pools).items():
            self.pools[chunk] = [one for one in pool if fits(one, self.low, self.high)]

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Side, Side]:
        down, up = Side.of(cells.size), Side.of(cells.size)
        for chunk, start in enumerate(range(0, cells.size, CHUNK)):
            part = np.arange(start, min(start + CHUNK, cells.size))
            pool = self.pools.setdefault(chunk, [])
            for rows, scale in self._by_magnitude(cells[part], size[part]):
                here = part[rows]
                push = _Push(self, pool, scale, cells[here], need_down[here], need_up[here])
                push.run(tick)
                every = np.arange(here.size)
                down.copy_from(push.side[False], here, every)
                up.copy_from(push.side[True], here, every)
            tick(part.size)
        return down, up

    def _by_magnitude(self, cells: Ints, size: Floats) -> list[tuple[Ints, float]]:
        """Questions of like size with a scale for them: a solver's tolerance must stay small beside every size."""
        component, sizes = self.component, size
        if not size.all():
            for amount in (-component.low[cells], component.high[cells]):
                sizes = np.where(np.isfinite(amount) & (amount > 0) & (sizes == 0), amount, sizes)
            sizes = np.where(sizes == 0, 1.0, sizes)
        power = np.log10(sizes)
        decade = np.floor(power / DECADES)
        return [
            (rows, float(10.0 ** power[rows].mean()))
            for rows in (np.flatnonzero(decade == value) for value in sorted(set(decade.tolist())))
        ]

    def spread(self, witness: Deviation) -> Floats:
        """The deviation of every cell of the component."""
        columns = witness.numerator / float(witness.denominator)
        return np.asarray(self.system.ratio * columns[self.system.group])

    def program(self, asked: Ints, upper: Floats) -> LinearProgram:
        """The program of the columns, split and with columns of their own for those asked about; see `_Push`."""
        matrix, lower = unfolded(self.system.columns, asked), np.zeros(upper.size)
        presolve = upper.size > PRESOLVED
        if self.session is None:
            options = SimplexOptions(presolve=presolve, feasible=True)
            self.session = LinearProgram(matrix, lower, upper, options=options)
        else:
            self.session.load(matrix, lower, upper, presolve=presolve)
        return self.session


class _Push:
    """The questions of one chunk and size: the split columns, the shared program, then one program a cell."""

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
        """Room that programs leave at every bound, once their points turned out not to be simple fractions."""
        self.group, self.ratio = attack.system.group[cells], attack.system.ratio[cells]
        self.need = {False: need_down, True: need_up}
        wall = {False: -attack.component.low[cells], True: attack.component.high[cells]}
        self.side = {
            way: Side(np.zeros(cells.size), np.where(self.ratio == 0, 0.0, wall[way])) for way in wall
        }
        self.goal = {
            way: np.where(self.need[way] > 0, np.minimum(self.need[way], self.side[way].bound), -np.inf)
            for way in wall
        }
        is_asked = np.zeros(attack.system.count, dtype=bool)
        is_asked[self.group] = True
        self.asked = np.flatnonzero(is_asked)
        self.place = np.cumsum(is_asked)[self.group] - 1
        self.flip = self.ratio < 0
        for witness in pool:
            self._credit(witness)

    # ------------------------------------------------------------------ evidence

    def unmet(self, upward: bool) -> Ints:
        """Questions whose need is neither met nor proven out of reach."""
        return np.flatnonzero(self.side[upward].reach < self.goal[upward])

    def _credit(self, witness: Deviation) -> None:
        """Every cell has gone as far as a witness takes it, in whole units."""
        from tablecloak.solvers.kernels import exact_deviations

        exact_deviations.credit(
            self.group, self.ratio, *witness, self.side[False].reach, self.side[True].reach
        )

    def _remember(self, witness: Deviation) -> None:
        """Credit a witness and its mirror image, and keep them."""
        mirror = stretched(witness, self.attack.low, self.attack.high)
        for one in (witness, mirror):
            if one is not None:
                self._credit(one)
                self.pool.append(one)
        del self.pool[:-POOL_SIZE]

    def _settle(self, question: int, upward: bool, found: Evidence) -> None:
        """Keep the evidence about one question; what it leaves open the oracle settles at the question's own scale."""
        need, side = float(self.need[upward][question]), self.side[upward]
        wall = side.exact(question)[1]
        found.bound = min(found.bound, wall)
        if not found.settles(need):
            column, sign = int(self.group[question]), 1 if self.flip[question] != upward else -1
            more = self.attack.oracle.settle(column, sign, need)
            if more.deviation is not None and more.reach < math.inf:
                self._remember(more.deviation)
            found.take(more.deviation, more.reach)
            found.bound = min(found.bound, more.bound)
        reach = max(found.reach, side.exact(question)[0])
        side.set(question, reach, found.bound)
        self.goal[upward][question] = -np.inf

    # ------------------------------------------------------------------ programs

    def run(self, tick: Tick) -> None:
        """Answer all questions, unless they are answered already.

        Down first: there is less room below, and what gets far down often gets up too when it is mirrored.
        """
        self._endless()
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
        """Columns, all from zero: d+ and d- of every column up to the need, then what lies beyond for some.

        The point d = 0 is a vertex, so the simplex method starts feasible. Nothing moves further than `CAP` needs.
        """
        asked, (low_wall, high_wall) = self.asked, self._walls()
        cap = np.ceil(CAP * max(float(need.max(initial=0.0)) for need in self.need.values()))
        far_high, far_low = (self._usable(np.minimum(wall, cap)) for wall in (high_wall, low_wall))
        high, low = far_high.copy(), far_low.copy()
        high[asked] = np.minimum(high[asked], self._group_need(True))
        low[asked] = np.minimum(low[asked], self._group_need(False))
        beyond_high = _difference(far_high[asked], high[asked])
        beyond_low = _difference(far_low[asked], low[asked])
        return self.attack.program(asked, np.concatenate([high, low, beyond_high, beyond_low]) / self.scale)

    def _usable(self, wall: Floats) -> Floats:
        """Deviation bounds; in verdicts zero where they are below what a program of this scale can tell from zero."""
        if any(np.isinf(need).any() for need in self.need.values()):
            return wall
        return np.where(wall < NEGLIGIBLE * self.scale, 0.0, wall)

    def _walls(self) -> tuple[Floats, Floats]:
        """How far columns may go down and up in programs: to their bounds, less the margin or a quarter of the room."""
        low, high = -self.attack.low, self.attack.high
        if self.margin:
            low, high = (wall - np.minimum(self.margin, wall / 4) for wall in (low, high))
        return low, high

    def _group_need(self, upward: bool) -> Floats:
        """How far each column asked about must be rewarded for going up (down), over the cells in it."""
        most = np.zeros(self.asked.size)
        need = np.where(self.flip, self.need[not upward], self.need[upward])
        np.maximum.at(most, self.place, np.where(need > 0, need + 2 * self.margin, 0.0))
        return most

    def _together(self, upward: bool) -> None:
        """Push all unmet questions at once, as long as that settles many of them."""
        questions = self.unmet(upward)
        while questions.size > 1 and np.isfinite(self.need[upward][questions]).all():
            first = np.full(self.asked.size, -1)
            first[self.place[questions[::-1]]] = questions[::-1]
            solution = self._solved(first[first >= 0], upward)
            if solution is None:
                return
            if self._learn(solution) is None and not self.margin:
                return
            before, questions = questions.size, self.unmet(upward)
            if questions.size > 0.7 * before:
                return

    def _solved(self, questions: Ints, upward: bool) -> Solution | None:
        """The program that pushes some questions; None where the solver did not end well."""
        self.session.set_objective(self._rewards(questions, upward))
        return _solved(self.session)

    def _leave_margins(self) -> None:
        """From now on deviations keep away from bounds, and needs are exceeded: floats next to exact ones will do.

        What a bound below the need settles anyhow is then pushed to within one unit of that bound.
        """
        self.margin = MARGIN * self.scale
        for way, goal in self.goal.items():
            wall = self.side[way].bound
            self.goal[way] = np.where(np.isfinite(goal) & (wall < self.need[way]), wall - 1.0, goal)
        self.session = self._session()

    def _learn(self, solution: Solution) -> Deviation | None:
        """Credit what a solution shows: an exact deviation, which is returned, or one next to it."""
        from tablecloak.solvers.kernels import exact_deviations

        low, high = self.attack.low, self.attack.high
        amount = exact_deviations.folded(solution.values, self.attack.system.count, self.asked, self.scale)
        witness = self.attack.system.deviation(amount, low, high)
        if witness is not None:
            self._remember(witness)
        elif self.margin:
            amount[np.abs(amount) <= CORRECTED * self.margin] = 0.0
            if self.attack.system.has_deviation_near(amount, low, high, self.margin):
                self._credit_near(amount)
        return witness

    def _credit_near(self, amount: Floats) -> None:
        """Every cell has gone nearly as far as amounts with an exact deviation next to them, and as their mirror image.

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

    def _rewards(self, questions: Ints, upward: bool) -> Floats:
        """Costs that push the questions: reward the way up to the need, punish the way back."""
        count, place = self.attack.system.count, self.place[questions]
        rising = self.flip[questions] != upward
        costs = np.zeros(2 * (count + self.asked.size))
        costs[self.asked[place] + np.where(rising, 0, count)] = -1.0
        costs[self.asked[place] + np.where(rising, count, 0)] = 1.0
        costs[2 * count + place + np.where(rising, self.asked.size, 0)] = 1.0
        return costs

    def _alone(self, question: int, upward: bool, left: int) -> bool:
        """Push one question to its need or to its exact maximum; false where points are no simple fractions.

        Then margins are left for the questions that are left, this one included, unless they are few.
        """
        attack, found = self.attack, Evidence()
        solution = self._solved(np.array([question]), upward)
        if solution is not None and solution.outcome is Outcome.OPTIMAL:
            column, sign = int(self.group[question]), 1 if self.flip[question] != upward else -1
            witness = self._learn(solution)
            if self.side[upward].reach[question] >= self.goal[upward][question]:
                return True
            if (
                witness is None
                and not self.margin
                and (left > FEW or attack.system.count > SETTINGS.exact_columns)
                and math.isfinite(self.need[upward][question])
            ):
                return False
            if witness is not None:
                found.take(witness, sign * witness.of(column))
            found.bound = attack.system.bound(column, sign, solution.duals, attack.low, attack.high)
            extent = math.isinf(self.need[upward][question]) and not found.settles(math.inf)
            if extent and NEGLIGIBLE * self.scale < 1:  # else the basis may violate bounds by whole units
                self._exact_extent(found, column, sign)
        self._settle(question, upward, found)
        return True

    def _exact_extent(self, found: Evidence, column: int, sign: int) -> None:
        """What the basis of the last program says in fractions: a column is basic if one of its parts is."""
        count, (columns, rows) = self.attack.system.count, self.session.basis()
        status = [
            "kBasic" if "kBasic" in (rises, falls) else _END.get((rises, falls), "kZero")
            for rises, falls in zip(columns[:count], columns[count : 2 * count], strict=True)
        ]
        for asked, *beyond in zip(
            self.asked.tolist(),
            columns[2 * count : -self.asked.size],
            columns[-self.asked.size :],
            strict=True,
        ):
            status[asked] = "kBasic" if "kBasic" in beyond else status[asked]
        low, high = self.attack.low, self.attack.high  # extents have no cap, and no margin
        self.attack.oracle.take_basis(found, (status, rows), column, sign, low, high)

    # ------------------------------------------------------------------ rays

    def _endless(self) -> None:
        """Where whole extents are wanted: cells that go on for ever, by rays of columns with infinite bounds."""
        if not any(np.isinf(need).any() for need in self.need.values()):
            return
        low = np.where(np.isinf(self.attack.low), -1.0, 0.0)
        high = np.where(np.isinf(self.attack.high), 1.0, 0.0)
        for upward in (False, True):
            endless = np.isinf(self.need[upward]) & np.isinf(self.side[upward].bound)
            session: LinearProgram | None = None
            while (questions := np.flatnonzero(endless & np.isfinite(self.side[upward].reach))).size:
                if session is None:
                    options = SimplexOptions(feasible=True)
                    session = LinearProgram(self.attack.system.columns, low, high, options=options)
                costs = np.zeros(self.attack.system.count)
                costs[self.group[questions]] = np.where(self.flip[questions] != upward, -1.0, 1.0)
                session.set_objective(costs)
                solution = _solved(session)
                ray = None if solution is None else self.attack.system.deviation(solution.values, low, high)
                if ray is None:
                    break
                moved = self.ratio[questions] * ray.numerator[self.group[questions]]
                found = questions[moved > 0 if upward else moved < 0]
                if found.size == 0:
                    break
                for question in found.tolist():
                    self.side[upward].set(question, math.inf, math.inf)
                self.goal[upward][found] = -np.inf


def _solved(session: LinearProgram) -> Solution | None:
    """A solution, or None where the solver did not end well."""
    try:
        return session.solve()
    except SolverError:
        return None


def _difference(far: Floats, near: Floats) -> Floats:
    """far - near, and zero where both are infinite."""
    return np.where(far == near, 0.0, far - np.where(np.isfinite(near), near, 0.0))
