"""How far an attacker can move a cell: the two engines, behind one face.

`reach(cells, need_down, need_up)` pushes each cell down and up in turn, other cells free to follow, and stops at the
amount asked for: what it returns is either at least the need (met) or the exact maximum (not met).
An infinite need gives the exact extent; a need of zero is not pushed at all. `size` says which amounts matter for a
cell (0: none in particular), so that solvers can be as precise as that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.presolve import Component, Merged, group_bounds, merged, spread, unfolded
from tablecloak.engines.flow import Network
from tablecloak.engines.lp import Columns, Outcome, Session
from tablecloak.errors import SolverError

Tick = Callable[[int], None]
LARGEST_EXACT = 2.0**52
POOL_SIZE = 400
"""How many witnesses a linear attack remembers."""
DECADES = 2.0
"""Questions whose sizes differ by more powers of ten than this are put to different programs."""
PRESOLVED = 2000
"""Programs with more columns than this are presolved before their first solve."""
NOISE = 1e-9
"""A deviation smaller than this, in units of the program's scale, is rounding noise."""
RESIDUAL = 1e-6
"""How far a witness may miss an equation, in units of the program's scale."""
RELATIVE_SLACK = 1e-7
"""A linear program's answer within this of the need counts as the need."""


class Attack(Protocol):
    """An attacker at work on one component; cells are positions in the component."""

    engine: str
    exact: bool
    """Whether answers are exact, not only up to a solver's tolerance."""
    solves: int

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Floats, Floats]: ...


def attack_on(component: Component) -> Attack:
    """The engine that fits: flows on a network, linear programs elsewhere."""
    return LinearAttack(component) if component.orientation is None else NetworkAttack(component)


class Scale:
    """Amounts in data units when all of them are whole numbers of units (then flows are exact), else as they are."""

    def __init__(self, component: Component) -> None:
        bounds = np.concatenate([-component.low, component.high])  # none is negative
        finite = bounds[bounds < np.inf]
        units = finite / component.unit
        largest = float(finite.max(initial=0.0))
        self.exact = largest / component.unit < LARGEST_EXACT and bool(
            (np.abs(units - np.rint(units)) <= 1e-6 * np.maximum(1.0, units * 1e-6)).all()
        )
        self.unit = component.unit if self.exact else 1.0
        self.eps = 0.0 if self.exact else 1e-12 * largest

    def inward(self, amounts: Floats) -> Floats:
        scaled = amounts / self.unit
        return np.rint(scaled) if self.exact else scaled

    def need(self, amounts: Floats) -> Floats:
        """A need in whole units, rounded up: with whole data a range of at least 2.3 is one of at least 3."""
        scaled = amounts / self.unit
        noise = 1e-9 * np.minimum(np.maximum(1.0, scaled), LARGEST_EXACT)
        return np.ceil(scaled - noise) if self.exact else scaled

    def outward(self, amounts: Floats) -> Floats:
        return amounts * self.unit


class NetworkAttack:
    """Maximum flows. Cells that no cycle passes and cells with a short enough cycle need no flow at all."""

    engine = "network flow"

    def __init__(self, component: Component) -> None:
        assert component.orientation is not None
        self.scale = Scale(component)
        self.exact = self.scale.exact
        self.network = Network(
            component.orientation.nodes,
            component.orientation.tail,
            component.orientation.head,
            self.scale.inward(component.high),
            self.scale.inward(-component.low),
            eps=self.scale.eps,
        )
        self.solves = 0
        self._movable: Bools | None = None

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Floats, Floats]:
        if self._movable is None:
            self._movable = self.network.undetermined()
        movable, need = self._movable[cells], np.array([need_down, need_up])
        want = np.where(movable, self.scale.need(need), 0.0)
        up, down, flows = self.network.settle(cells, want[1], want[0], on_chunk=tick)
        self.solves += flows
        got = np.array([down, up])
        met = (got >= want) & movable
        amount = self.scale.outward(got)
        # a met need is at least the need: rounding back from units must not turn it into a near miss
        far_down, far_up = np.where(met, np.maximum(amount, need), amount)
        return far_down, far_up


class LinearAttack:
    """Linear programs that share what they find: every deviation found is a witness for all cells at once.

    Each deviation is split into a part up to the need, which is rewarded, and a part beyond, which is not, so that the
    simplex method stops pushing a cell at its need. One program pushes all cells together; a cell that it leaves short
    gets one of its own.
    """

    engine = "linear programs"
    exact = False

    def __init__(self, component: Component, known: LinearAttack | None = None) -> None:
        """`known` is an attack on the same cells in another box: its equations and witnesses are taken over."""
        self.component = component
        self.solves = 0
        self.equations: Columns = component.columns if known is None else known.equations
        self.merged: Merged = merged(self.equations) if known is None else known.merged
        self.group, self.ratio, self.columns = self.merged
        self.groups = self.columns.shape[1]
        self.low, self.high = group_bounds(self.merged, component.low, component.high)
        self.session: Session | None = None
        self.pool: list[Floats] = []
        for witness in known.pool if known is not None else []:
            if np.all((witness >= component.low) & (witness <= component.high)):
                self.pool.append(witness)

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Floats, Floats]:
        got_down, got_up = np.zeros(cells.size), np.zeros(cells.size)
        for witness in self.pool:
            self._credit(witness, cells, got_down, got_up)
        for rows, scale in self._by_magnitude(cells, size):
            down, up = got_down[rows], got_up[rows]
            _Push(self, scale, cells[rows], need_down[rows], need_up[rows], down, up).run(tick)
            got_down[rows], got_up[rows] = down, up
        tick(cells.size)
        return np.where(need_down > 0, got_down, 0.0), np.where(need_up > 0, got_up, 0.0)

    def _by_magnitude(self, cells: Ints, size: Floats) -> list[tuple[Ints, float]]:
        """Questions of like size with a scale for them: a solver's tolerance must stay small beside every size."""
        component, sizes = self.component, size
        if not size.all():
            for amount in (-component.low[cells], component.high[cells]):
                sizes = np.where(np.isfinite(amount) & (amount > 0) & (sizes == 0), amount, sizes)
            sizes = np.where(sizes == 0, component.unit, sizes)
        power = np.log10(sizes)
        decade = np.floor(power / DECADES)
        return [
            (rows, float(10.0 ** power[rows].mean()))
            for rows in (np.flatnonzero(decade == value) for value in sorted(set(decade.tolist())))
        ]

    def remember(self, groups: Floats, scale: float) -> list[Floats]:
        """Store a deviation found (in units of `scale`) and its mirror image, stretched or shrunk to fit.

        Both must keep the equations: noise that the mirror blows up does not.
        """
        amount = np.where(np.abs(groups) > NOISE, groups, 0.0) * scale
        forward, stretch, error = spread(
            self.equations, self.merged, amount, self.component.low, self.component.high
        )
        found = [forward] if stretch < np.inf and error <= RESIDUAL * scale else []
        if 0 < stretch < 1e300 and stretch * error <= RESIDUAL * scale:
            found.append(-stretch * forward)
        self.pool.extend(found)
        del self.pool[:-POOL_SIZE]
        return found

    def program(self, asked: Ints, upper: Floats) -> Session:
        """The program of the groups, split and with columns of their own for those asked about; see `_Push`."""
        matrix, lower, presolve = unfolded(self.columns, asked), np.zeros(upper.size), upper.size > PRESOLVED
        if self.session is None:
            self.session = Session(matrix, lower, upper, presolve=presolve, feasible=True)
        else:
            self.session.load(matrix, lower, upper, presolve=presolve)
        return self.session

    @staticmethod
    def _credit(witness: Floats, cells: Ints, got_down: Floats, got_up: Floats) -> None:
        np.maximum(got_up, witness[cells], out=got_up)
        np.maximum(got_down, -witness[cells], out=got_down)


class _Push:
    """One call of `LinearAttack.reach`: the split columns, the shared program, then one program a cell."""

    def __init__(
        self,
        attack: LinearAttack,
        scale: float,
        cells: Ints,
        need_down: Floats,
        need_up: Floats,
        got_down: Floats,
        got_up: Floats,
    ) -> None:
        self.attack, self.cells, self.scale = attack, cells, scale
        self.need = {False: need_down, True: need_up}
        self.got = {False: got_down, True: got_up}
        self.goal = {
            False: _goal(need_down, -attack.component.low[cells]),
            True: _goal(need_up, attack.component.high[cells]),
        }
        group, is_asked = attack.group[cells], np.zeros(attack.groups, dtype=bool)
        is_asked[group] = True
        self.asked = np.flatnonzero(is_asked)
        self.column = np.cumsum(is_asked)[group] - 1
        self.flip = attack.ratio[cells] < 0

    def unmet(self, upward: bool) -> Ints:
        """Questions whose need is neither met nor proven out of reach."""
        return np.flatnonzero(self.got[upward] < self.goal[upward])

    def _session(self) -> Session:
        """Columns, all from zero: d+ and d- of every group up to the need, then what lies beyond for those asked about.

        The point d = 0 is a vertex, so the simplex method starts feasible.
        """
        attack, asked = self.attack, self.asked
        high, low = attack.high.copy(), -attack.low
        high[asked] = np.minimum(high[asked], self._group_need(True))
        low[asked] = np.minimum(low[asked], self._group_need(False))
        beyond_high = _difference(attack.high[asked], high[asked])
        beyond_low = _difference(-attack.low[asked], low[asked])
        return attack.program(asked, np.concatenate([high, low, beyond_high, beyond_low]) / self.scale)

    def _group_need(self, upward: bool) -> Floats:
        """How far each group asked about must be rewarded for going up (down), over the cells in it."""
        most, share = np.zeros(self.asked.size), np.abs(self.attack.ratio[self.cells])
        need = np.where(self.flip, self.need[not upward], self.need[upward])
        np.maximum.at(most, self.column, np.divide(need, share, out=np.zeros_like(need), where=share > 0))
        return most

    def run(self, tick: Tick) -> None:
        """Answer all questions, unless they are answered already.

        Down first: there is less room below, and what gets far down often gets up too when it is mirrored.
        """
        if self.unmet(True).size == self.unmet(False).size == 0:
            return
        session = self._session()
        for upward in (False, True):
            self._together(session, upward)
            while (left := self.unmet(upward)).size:
                self._alone(session, int(left[0]), upward)
                tick(0)
        self.attack.solves = session.solves

    def _together(self, session: Session, upward: bool) -> None:
        """Push all unmet questions at once, as long as that settles many of them."""
        questions = self.unmet(upward)
        while questions.size > 1 and np.isfinite(self.need[upward][questions]).all():
            first = np.full(self.asked.size, -1)
            first[self.column[questions[::-1]]] = questions[::-1]
            session.set_objective(self._rewards(first[first >= 0], upward))
            self._learn(session.solve().values)
            before, questions = questions.size, self.unmet(upward)
            if questions.size > 0.7 * before:
                return

    def _rewards(self, questions: Ints, upward: bool) -> Floats:
        """Costs that push the questions: reward the way up to the need, punish the way back."""
        count, place = self.attack.groups, self.column[questions]
        rising = self.flip[questions] != upward
        costs = np.zeros(2 * (count + self.asked.size))
        costs[self.asked[place] + np.where(rising, 0, count)] = -1.0
        costs[self.asked[place] + np.where(rising, count, 0)] = 1.0
        costs[2 * count + place + np.where(rising, self.asked.size, 0)] = 1.0
        return costs

    def _alone(self, session: Session, question: int, upward: bool) -> None:
        """Push one question to its need or to its exact maximum."""
        session.set_objective(self._rewards(np.array([question]), upward))
        solution = session.solve()
        self.goal[upward][question] = -np.inf
        if solution.outcome is Outcome.UNBOUNDED:
            self.got[upward][question] = np.inf
        elif solution.outcome is Outcome.OPTIMAL:
            self._learn(solution.values)
            far = -solution.objective * abs(self.attack.ratio[self.cells[question]]) * self.scale
            self.got[upward][question] = max(
                self.got[upward][question], far if far > NOISE * self.scale else 0.0
            )
        else:
            raise SolverError(f"an attacker program ended as {solution.outcome.value}")

    def _learn(self, values: Floats) -> None:
        count, asked = self.attack.groups, self.asked
        groups = values[:count] - values[count : 2 * count]
        groups[asked] += values[2 * count : 2 * count + asked.size] - values[2 * count + asked.size :]
        for witness in self.attack.remember(groups, self.scale):
            LinearAttack._credit(witness, self.cells, self.got[False], self.got[True])


def _difference(far: Floats, near: Floats) -> Floats:
    """far - near, and zero where both are infinite."""
    return np.where(far == near, 0.0, far - np.where(np.isfinite(near), near, 0.0))


def _goal(need: Floats, wall: Floats) -> Floats:
    """What must be reached for a question to be answered: the need or the wall, nearly; -inf where nothing is asked."""
    return np.where(need > 0, np.minimum(need, wall) * (1.0 - RELATIVE_SLACK), -np.inf)
