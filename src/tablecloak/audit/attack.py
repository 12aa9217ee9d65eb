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
from scipy.sparse import csc_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.audit.reduce import Component, merged
from tablecloak.engines.flow import Network
from tablecloak.engines.lp import Outcome, Session
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
        bounds = np.concatenate([-component.low, component.high])
        finite = bounds[np.isfinite(bounds)] / component.unit
        whole = np.rint(finite)
        fits = finite.size == 0 or np.abs(finite).max() < LARGEST_EXACT
        self.exact = bool(
            fits and np.all(np.abs(finite - whole) <= 1e-6 * np.maximum(1.0, np.abs(finite) * 1e-6))
        )
        self.unit = component.unit if self.exact else 1.0
        largest = float(np.abs(bounds[np.isfinite(bounds)]).max(initial=0.0))
        self.eps = 0.0 if self.exact else 1e-12 * largest

    def inward(self, amounts: Floats) -> Floats:
        scaled = amounts / self.unit
        return np.where(np.isfinite(scaled), np.rint(scaled), scaled) if self.exact else scaled

    def need(self, amounts: Floats) -> Floats:
        """A need in whole units, rounded up: with whole data a range of at least 2.3 is one of at least 3."""
        scaled = amounts / self.unit
        finite = np.where(np.isfinite(scaled), scaled, 0.0)
        whole = np.ceil(finite - 1e-9 * np.maximum(1.0, finite))
        return np.where(np.isfinite(scaled), whole, scaled) if self.exact else scaled

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
        want_down, want_up = self.scale.need(need_down), self.scale.need(need_up)
        if self._movable is None:
            self._movable = self.network.undetermined()
        movable = self._movable[cells]
        want_down, want_up = np.where(movable, want_down, 0.0), np.where(movable, want_up, 0.0)
        near_up, near_down = self.network.probe(cells, want_up, want_down)
        left_down = np.where(near_down, 0.0, want_down)
        left_up = np.where(near_up, 0.0, want_up)
        far = np.flatnonzero((left_down > 0) | (left_up > 0))
        got_down, got_up = np.where(near_down, want_down, 0.0), np.where(near_up, want_up, 0.0)
        if far.size:
            up, down = self.network.reach(cells[far], left_up[far], left_down[far], on_chunk=tick)
            got_up[far] = np.where(near_up[far], got_up[far], up)
            got_down[far] = np.where(near_down[far], got_down[far], down)
            self.solves += int((left_down > 0).sum() + (left_up > 0).sum())
        tick(cells.size - far.size)
        return (
            _settled(self.scale.outward(got_down), need_down, got_down >= want_down, movable),
            _settled(self.scale.outward(got_up), need_up, got_up >= want_up, movable),
        )


def _settled(got: Floats, need: Floats, met: Bools, movable: Bools) -> Floats:
    """A met need is at least the need: rounding back from units must not turn it into a near miss."""
    return np.where(met & movable & np.isfinite(need), np.maximum(got, need), got)


class LinearAttack:
    """Linear programs that share what they find: every deviation found is a witness for all cells at once.

    Each deviation is split into a part up to the need, which is rewarded, and a part beyond, which is not, so that the
    simplex method stops pushing a cell at its need. One program pushes all cells together; a cell that it leaves short
    gets one of its own.
    """

    engine = "linear programs"
    exact = False

    def __init__(self, component: Component, pool: list[Floats] | None = None) -> None:
        self.component = component
        self.solves = 0
        self.group, self.ratio = merged(component.matrix)
        self.groups = int(self.group.max(initial=-1)) + 1
        self.matrix = _merge_columns(component.matrix, self.group, self.ratio, self.groups)
        self.low, self.high = self._group_bounds(component.low, component.high)
        self.pool: list[Floats] = []
        for witness in pool or []:
            if np.all((witness >= component.low) & (witness <= component.high)):
                self.pool.append(witness)

    def _group_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.stack([low / self.ratio, high / self.ratio])
        ends[:, self.ratio == 0] = 0.0
        group_low, group_high = np.full(self.groups, -np.inf), np.full(self.groups, np.inf)
        np.maximum.at(group_low, self.group, ends.min(axis=0))
        np.minimum.at(group_high, self.group, ends.max(axis=0))
        return group_low, group_high

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Floats, Floats]:
        got_down, got_up = np.zeros(cells.size), np.zeros(cells.size)
        for witness in self.pool:
            self._credit(witness, cells, got_down, got_up)
        for rows, scale in self._by_magnitude(cells, size):
            down, up = got_down[rows], got_up[rows]
            push = _Push(self, scale, cells[rows], need_down[rows], need_up[rows], down, up)
            if push.unmet(True).size or push.unmet(False).size:
                push.run(tick)
            got_down[rows], got_up[rows] = down, up
        tick(cells.size)
        return np.where(need_down > 0, got_down, 0.0), np.where(need_up > 0, got_up, 0.0)

    def _by_magnitude(self, cells: Ints, size: Floats) -> list[tuple[Ints, float]]:
        """Questions of like size with a scale for them: a solver's tolerance must stay small beside every size."""
        component = self.component
        sizes = size.copy()
        for amount in (-component.low[cells], component.high[cells]):
            sizes = np.where(np.isfinite(amount) & (amount > 0) & (sizes == 0), amount, sizes)
        sizes[sizes == 0] = component.unit
        decade = np.floor(np.log10(sizes) / DECADES)
        return [
            (rows, float(np.exp(np.log(sizes[rows]).mean())))
            for rows in (np.flatnonzero(decade == value) for value in np.unique(decade))
        ]

    def remember(self, groups: Floats, scale: float) -> list[Floats]:
        """Store a deviation found (in units of `scale`) and its mirror image, stretched or shrunk to fit.

        Both must keep the equations: noise that the mirror blows up does not.
        """
        quiet = np.where(np.abs(groups) > NOISE, groups, 0.0)
        forward = self.ratio * quiet[self.group] * scale
        forward = np.clip(forward, self.component.low, self.component.high)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(forward > 0, self.component.low / -forward, self.component.high / -forward)
        room[forward == 0] = np.inf
        shrink = float(np.minimum(room, 1e300).min(initial=1e300))
        candidates = [forward, -shrink * forward] if 0 < shrink < 1e300 else [forward]
        found = [
            d for d in candidates if d.any() and np.abs(self.component.matrix @ d).max() <= RESIDUAL * scale
        ]
        self.pool.extend(found)
        del self.pool[:-POOL_SIZE]
        return found

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
        self.attack, self.cells = attack, cells
        self.need = {False: need_down, True: need_up}
        self.got = {False: got_down, True: got_up}
        self.proven = {False: np.zeros(cells.size, dtype=bool), True: np.zeros(cells.size, dtype=bool)}
        self.scale = scale
        self.asked, self.column = np.unique(attack.group[cells], return_inverse=True)
        self.flip = attack.ratio[cells] < 0

    def unmet(self, upward: bool) -> Ints:
        """Questions whose need is neither met nor proven out of reach."""
        need, got = self.need[upward], self.got[upward]
        wall = self.attack.component.high[self.cells] if upward else -self.attack.component.low[self.cells]
        enough = np.minimum(need, wall)
        slack = np.where(np.isfinite(enough), RELATIVE_SLACK * np.abs(enough), 0.0)
        return np.flatnonzero((need > 0) & ~self.proven[upward] & (got < enough - slack))

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
        extra = attack.matrix[:, asked]
        upper = np.concatenate([high, low, beyond_high, beyond_low]) / self.scale
        matrix = hstack([attack.matrix, -attack.matrix, extra, -extra], format="csc")
        presolve = upper.size > PRESOLVED
        return Session(matrix, np.zeros(upper.size), upper, presolve=presolve, feasible=True)

    def _group_need(self, upward: bool) -> Floats:
        """How far each group asked about must be rewarded for going up (down), over the cells in it."""
        most = np.zeros(self.asked.size)
        ratio = np.abs(self.attack.ratio[self.cells])
        for side in (False, True):
            need = np.where(self.flip == (side != upward), self.need[side], 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                np.maximum.at(most, self.column, np.where(need > 0, need / ratio, 0.0))
        return most

    def run(self, tick: Tick) -> None:
        session = self._session()
        for upward in (True, False):
            self._together(session, upward)
            for question in self.unmet(upward):
                if question in self.unmet(upward):
                    self._alone(session, int(question), upward)
                    tick(0)
        self.attack.solves += session.solves

    def _together(self, session: Session, upward: bool) -> None:
        """Push all unmet questions at once, as long as that settles many of them."""
        while True:
            questions = self.unmet(upward)
            if questions.size < 3 or not np.isfinite(self.need[upward][questions]).all():
                return
            one_a_group = questions[np.unique(self.column[questions], return_index=True)[1]]
            columns, rewards = self._rewards(one_a_group, upward)
            session.set_costs(columns, rewards)
            solution = session.solve()
            session.set_costs(columns, np.zeros(columns.size))
            self._learn(solution.values)
            if self.unmet(upward).size > 0.7 * questions.size:
                return

    def _rewards(self, questions: Ints, upward: bool) -> tuple[Ints, Floats]:
        """Columns and costs that push the questions: reward the way up to the need, punish the way back."""
        count, place = self.attack.groups, self.column[questions]
        rising = self.flip[questions] != upward
        ahead = self.asked[place] + np.where(rising, 0, count)
        back = self.asked[place] + np.where(rising, count, 0)
        far_back = 2 * count + place + np.where(rising, self.asked.size, 0)
        ones = np.ones(questions.size)
        return np.concatenate([ahead, back, far_back]), np.concatenate([-ones, ones, ones])

    def _alone(self, session: Session, question: int, upward: bool) -> None:
        """Push one question to its need or to its exact maximum."""
        columns, rewards = self._rewards(np.array([question]), upward)
        session.set_costs(columns, rewards)
        solution = session.solve()
        session.set_costs(columns, np.zeros(columns.size))
        self.proven[upward][question] = True
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


def _merge_columns(matrix: csc_array, group: Ints, ratio: Floats, groups: int) -> csc_array:
    """The equations over groups; equations that vanish are dropped."""
    spread = csc_array((ratio, (np.arange(group.size), group)), shape=(group.size, groups))
    result = csc_array(matrix @ spread)
    result.data[np.abs(result.data) < 1e-12] = 0.0
    result.eliminate_zeros()
    used, compact = np.unique(result.indices, return_inverse=True)
    return csc_array((result.data, compact.astype(np.int32), result.indptr), shape=(used.size, groups))
