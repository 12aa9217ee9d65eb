"""Controlled tabular adjustment as a linear program over senses: relaxation, given senses, and the integer program.

Cell i is moved by d_i units, M d = 0, at the cost w_i |d_i|. A sensitive cell p rises by u_p..U_p or falls by
l_p..L_p. Over both, the largest convex function below the cost is w|d| outside -l..u and the chord between: so

    d = -l + m + r - f,    0 <= m <= l + u,   0 <= r <= U - u,   0 <= f <= L - l,
    cost  w l + w (u - l) / (l + u) m + w r + w f

is the linear relaxation of the model with binary senses, without a row more than the table has (m = (l + u) y). Given
senses are bounds (down: m = r = 0; up: m = l + u, f = 0). With y binary the rows r <= (U - u) y, f <= (L - l)(1 - y)
forbid cheating: no cell rises and falls at once. Cells that are not sensitive have l = u = 0 and no m.

References: Dandekar & Cox (2002); Castro (2006), Minimum-distance controlled perturbation methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, vstack

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import working_columns
from tablecloak.errors import SolverError
from tablecloak.methods.adjustment.reach import Ranges
from tablecloak.model import Problem
from tablecloak.progress import Deadline
from tablecloak.solvers import (
    DUAL,
    LinearProgram,
    MipOptions,
    Outcome,
    SimplexOptions,
    Solution,
    independent,
    sift,
    solve_mip,
)

UNCLEAR, AT_ONCE, FEW = 1e-6, 0.3, 12
"""A sense is decided when its share is this near to 0 or 1; so many of the others are taken in one step, or a few."""
AFRESH = 0.2
"""A linear program starts afresh, with presolve, when more than this share of the senses has changed."""
NEARLY = 0.05
"""Where any move would do, an integer program ends at this gap."""
LARGEST_COST = 1e6
SIFTED_COLUMNS, SIFTED_SHAPE = 20_000, 20
"""Programs of more columns than this, and so many times more than rows, are solved over some of the columns."""
CELLS_A_SECOND = 1000
"""Roughly, for a word of advice: a first perturbation of so many cells a second was seen on slow machines."""
HOLDS = 1e-6
"""What a solver may leave of an equation or a range, as a share of what is moved."""
LEAST_SECONDS = 0.25
"""Each program without which there is no result at all has this many seconds at least."""


@dataclass(frozen=True, eq=False)
class Move:
    """How far every cell moves (units), the cost, and the prices of the equations in the program's scale."""

    moved: Floats
    cost: float
    prices: Floats
    bound: float = -math.inf
    """No move with the senses that were given costs less, where that was shown."""


class Adjustment:
    """The program of one problem; senses are given by bounds, so that it stays warm."""

    def __init__(
        self, problem: Problem, ranges: Ranges, deadline: Deadline, *, fallback: bool = False
    ) -> None:
        """`fallback`: there is a move already, so that no program needs time beyond the deadline."""
        self.problem, self.ranges, self.deadline, self.fallback = problem, ranges, deadline, fallback
        self.seconds = deadline.left
        self.columns = working_columns(problem.table)
        self.basis = independent(self.columns)
        """The equations without those that follow from others: what linear programs are made of."""
        choice = ranges.both
        self.choice: Ints = np.flatnonzero(choice)
        self.offset = np.where(
            ranges.falls, -ranges.down_low, np.where(ranges.rises, np.where(choice, 0.0, ranges.up_low), 0.0)
        )
        falls_only, rises_only = ranges.falls & ~ranges.rises, ranges.rises & ~ranges.falls
        rise = np.where(ranges.rises, ranges.up_high - ranges.up_low, ranges.high)
        fall = np.where(ranges.falls, ranges.down_high - ranges.down_low, -ranges.low)
        self.rise, self.fall = np.where(falls_only, 0.0, rise), np.where(rises_only, 0.0, fall)
        self.middle = (ranges.down_low + ranges.up_low)[self.choice]
        self.slope = (ranges.up_low - ranges.down_low)[self.choice] / self.middle
        self.scale = self._scale()
        weights = problem.weights
        self.cost_scale = max(float(weights.max(initial=0.0)) / LARGEST_COST, 1.0)
        self.cost = np.concatenate([weights, weights, weights[self.choice] * self.slope]) / self.cost_scale
        self.constant = float(weights @ np.abs(self.offset))
        self.right = -(self.basis @ self.offset) / self.scale
        self.matrix = csc_array(hstack([self.basis, -self.basis, self.basis[:, self.choice]]))
        self.size = self.offset.size
        self.sifts = self.cost.size > max(SIFTED_COLUMNS, SIFTED_SHAPE * self.right.size)
        """Whether linear programs are solved over some of their columns at a time."""
        self._program: LinearProgram | None = None
        self._warm: Ints | None = None  # senses of its last solution, if it has one
        self._used = np.zeros(self.cost.size, dtype=bool)
        self._used[2 * self.size :] = True

    def _session(self, given: Ints) -> LinearProgram:
        """The linear program of all columns: warm, or afresh where too much has changed since it was solved."""
        far = self._warm is None or np.count_nonzero(given != self._warm) > AFRESH * given.size
        if far or self._program is None:
            self._program = self.program(DUAL)
        return self._program

    def program(self, strategy: int) -> LinearProgram:
        """The linear program of all columns, with senses relaxed."""
        return LinearProgram(
            self.matrix,
            np.zeros(self.cost.size),
            self._highest(),
            cost=self.cost,
            rows=(self.right, self.right),
            options=SimplexOptions(strategy=strategy, presolve=True),
        )

    def _scale(self) -> float:
        """Units in which lengths are of the order of one: the median of what sensitive cells must move."""
        ranges = self.ranges
        least = np.concatenate([ranges.up_low[ranges.rises], ranges.down_low[ranges.falls]])
        return max(1.0, float(np.rint(np.median(least)))) if least.size else 1.0

    def _highest(self) -> Floats:
        return np.concatenate([self.rise, self.fall, self.middle]) / self.scale

    # ------------------------------------------------------------------ linear programs

    def solve(
        self, given: Ints | None = None, seconds: float = math.inf, *, near: Floats | None = None
    ) -> tuple[Outcome, Move, Floats]:
        """With senses 1 (up), 0 (down) or -1 (relaxed) for the cells with a choice; gives y of these cells too.

        When the time is up the move is empty, or one that is feasible but not the nearest. `near`: a move that shows
        which cells may be worth moving.
        """
        low, high = np.zeros(self.cost.size), self._highest()
        if given is not None:
            up, down = given == 1, given == 0
            last = 2 * self.size
            high[self.choice[down]] = 0.0
            high[self.size + self.choice[up]] = 0.0
            low[last:][up] = high[last:][up]
            high[last:][down] = 0.0
        solution = self._sifted(low, high, seconds, near) if self.sifts else None
        if solution is None:
            senses = np.full(self.choice.size, -1) if given is None else given
            session = self._session(senses)
            session.set_many_bounds(np.arange(self.cost.size), low, high)
            whole = session.solve(seconds)
            self._warm = senses.copy() if whole.outcome is Outcome.OPTIMAL else None
            solution = whole if whole.outcome is Outcome.OPTIMAL else Solution.without_point(whole.outcome)
        bound = self._cost(solution.bound)
        if solution.values.size == 0:  # all columns are bounded: never unbounded
            outcome = Outcome.INFEASIBLE if solution.outcome is Outcome.UNBOUNDED else solution.outcome
            return outcome, Move(np.zeros(0), math.inf, np.zeros(0), bound), np.zeros(0)
        moved = self.moved(solution.values)
        share = solution.values[2 * self.size :] * self.scale / self.middle
        return solution.outcome, Move(moved, self._cost(solution.objective), solution.duals, bound), share

    def _cost(self, objective: float) -> float:
        """The cost of a move from the objective of the program."""
        return (objective * self.cost_scale * self.scale + self.constant) * self.problem.table.unit

    def _sifted(self, low: Floats, high: Floats, seconds: float, near: Floats | None) -> Solution | None:
        """Over columns that were of use before, and those of cells that a move near by moves. None: it found nothing.

        That no point was found although the time is not up is left to the whole program to say.
        """
        if near is not None:
            extra = np.abs(near) - np.abs(np.clip(0.0, *self.ranges_of_cells(near)))
            most = min(extra.size, SIFTED_SHAPE // 2 * self.right.size)
            cells: Ints = np.argpartition(-extra, most - 1)[:most]
            cells = cells[extra[cells] > 0]
            self._used[cells] = self._used[cells + self.size] = True
        first = np.flatnonzero(self._used)
        found = sift(self.matrix, self.right, self.cost, (low, high), first, seconds=seconds)
        if found.values.size:
            self._used |= (found.values > 0) & (high > low)
        return None if found.outcome is Outcome.INFEASIBLE else found

    def ranges_of_cells(self, moved: Floats) -> tuple[Floats, Floats]:
        """low, high of all cells with the senses of a move."""
        return self.ends(self.senses(moved))

    def moved(self, x: Floats) -> Floats:
        """How far cells move, from the columns of the program."""
        moved = self.offset + self.scale * (x[: self.size] - x[self.size : 2 * self.size])
        moved[self.choice] += self.scale * x[2 * self.size :]
        return moved

    def senses(self, moved: Floats) -> Ints:
        """1 where a cell with a choice rises."""
        return np.asarray(moved[self.choice] > 0, dtype=np.int64)

    def ends(self, senses: Ints) -> tuple[Floats, Floats]:
        """low, high of all cells with these senses."""
        up = np.zeros(self.size, dtype=bool)
        up[self.choice[senses == 1]] = True
        return self.ranges.with_senses(up).ends()

    # ------------------------------------------------------------------ a start

    def start(
        self,
        share: Floats,
        mend: Callable[[Ints], Move | None] | None = None,
        within: Deadline | None = None,
    ) -> Move | None:
        """From the shares y of the relaxation: the clearest of the undecided senses are taken, and solved again.

        Senses that the relaxation decides by itself stay free meanwhile. Where a linear program says that this cannot
        be, `mend` makes a move from these senses, or an integer program decides all of them anew (`decided`).
        """
        deadline = within or self.deadline
        given = np.full(self.choice.size, -1, dtype=np.int64)
        while True:
            unclear = np.minimum(share, 1 - share)
            left: Ints = np.flatnonzero((given < 0) & (unclear > UNCLEAR))
            tried = np.where(given < 0, (share > 0.5).astype(np.int64), given)
            last = left.size <= FEW or deadline.passed()
            if last:
                given = tried
            else:
                count = max(FEW, int(AT_ONCE * left.size))
                taken = left[np.argsort(unclear[left], kind="stable")[:count]]
                given[taken] = share[taken] > 0.5
            outcome, move, share = self.solve(given, self.seconds_until(deadline))
            if outcome.undecided:
                if last and move.moved.size:
                    return move
                raise SolverError(self.too_late())
            if outcome is not Outcome.OPTIMAL:
                return self.decided() if mend is None else mend(tried)
            if last:
                return move

    def decided(self) -> Move | None:
        """All senses by an integer program, until it has a solution. None: there is no solution."""
        every = np.full(self.choice.size, -1)
        found, _, finished = self.integer(every, self.least_seconds, nodes=None, gap=NEARLY)
        if found is None and not finished:
            raise SolverError(self.too_late())
        return found

    @property
    def least_seconds(self) -> float:
        """What a program has without which there would be no result."""
        return self.seconds_until(self.deadline)

    def seconds_until(self, deadline: Deadline) -> float:
        """The seconds of such a program within another deadline: a moment at least where there is no move yet."""
        return deadline.left if self.fallback else max(deadline.left, LEAST_SECONDS)

    def gives_up(self, deadline: Deadline | None = None) -> bool:
        """Whether the time is up and there is a move already."""
        return self.fallback and (deadline or self.deadline).passed()

    def too_late(self) -> str:
        """What to say when there is nothing to return."""
        given = self.seconds if math.isfinite(self.seconds) else 0.0
        enough = max(10.0, self.size / CELLS_A_SECOND, 2 * given)
        return (
            "The time was up before any perturbation was found. "
            f"For a table of {self.size:,} cells about {enough:,.0f} seconds or more might do."
        )

    # ------------------------------------------------------------------ integer programs

    def integer(
        self,
        given: Ints,
        seconds: float,
        nodes: int | None,
        gap: float = 0.0,
        *,
        presolve: bool = False,
        start: Floats | None = None,
    ) -> tuple[Move | None, float, bool]:
        """The best move, the proven bound, and whether the program came to its end, over all cells.

        `start`: a move that is known.
        """
        everything = np.arange(self.size)
        still = np.zeros(self.size)
        return self.block(everything, given, still, seconds, nodes, gap, presolve=presolve, start=start)

    def block(
        self,
        cells: Ints,
        given: Ints,
        moved: Floats,
        seconds: float,
        nodes: int | None,
        gap: float = 0.0,
        presolve: bool = False,
        start: Floats | None = None,
    ) -> tuple[Move | None, float, bool]:
        """The same over some cells only: the others stay where they are, and sums too.

        `given` are senses of the cells with a choice, -1 where a binary column decides; others keep theirs. A move
        that does not add up, or with a cell that rises and falls, is none (see `holds`).
        """
        size, inside = cells.size, np.zeros(self.size, dtype=bool)
        inside[cells] = True
        mine: Ints = np.flatnonzero(inside[self.choice])
        binary = given[mine] < 0
        place = np.searchsorted(cells, self.choice[mine])
        part = csc_array(self.columns[:, cells])
        used = np.unique(part.indices)
        part = csc_array(part.tocsr()[used])
        right = part @ (moved[cells] - self.offset[cells]) / self.scale
        middle = self.middle[mine] / self.scale
        matrix = hstack([part, -part, csc_array(part[:, place] * middle[None, :])])
        rise, fall = self.rise[cells] / self.scale, self.fall[cells] / self.scale
        up, down = given[mine] == 1, given[mine] == 0
        low, high = np.zeros(2 * size + mine.size), np.concatenate([rise, fall, np.ones(mine.size)])
        high[place[down]] = 0.0
        high[size + place[up]] = 0.0
        low[2 * size :][up] = 1.0
        high[2 * size :][down] = 0.0
        links, link_high = _couplings(place[binary], np.flatnonzero(binary), rise, fall, mine.size)
        cost = np.concatenate([self.cost[cells], self.cost[cells], self.cost[2 * self.size :][mine] * middle])
        solution = solve_mip(
            vstack([matrix, links]),
            (low, high),
            (np.concatenate([right, np.full(link_high.size, -np.inf)]), np.concatenate([right, link_high])),
            cost,
            np.concatenate([np.zeros(2 * size, dtype=bool), binary]),
            MipOptions(
                seconds=seconds,
                nodes=nodes,
                gap=gap,
                presolve=presolve,
                start=None if start is None else self._point(start, cells, mine),
                root_share=None,
            ),
        )
        unit = self.problem.table.unit
        constant = float(self.problem.weights[cells] @ np.abs(self.offset[cells]))
        bound = (solution.bound * self.cost_scale * self.scale + constant) * unit
        finished = not solution.outcome.undecided
        if solution.values.size == 0:
            return None, bound, finished
        x = solution.values
        mid = np.where(binary, np.rint(x[2 * size :]), x[2 * size :])
        new = moved.copy()
        new[cells] = self.offset[cells] + self.scale * (x[:size] - x[size : 2 * size])
        new[self.choice[mine]] += self.middle[mine] * mid
        if not self.holds(new):
            return None, bound, finished
        cost_now = float(self.problem.weights @ np.abs(new)) * unit
        return Move(new, cost_now, np.zeros(0)), bound, finished

    def _point(self, moved: Floats, cells: Ints, mine: Ints) -> Floats:
        """The columns of a block for a move; `mine` are the choices inside."""
        senses = self.senses(moved)
        way = moved - self.offset
        way[self.choice] -= self.middle * senses
        way = way[cells] / self.scale
        return np.concatenate([np.maximum(way, 0.0), np.maximum(-way, 0.0), senses[mine].astype(np.float64)])

    def holds(self, moved: Floats) -> bool:
        """Whether a move adds up and every cell keeps to the range of its sense, up to the noise of solvers."""
        low, high = self.ends(self.senses(moved))
        slack = HOLDS * np.maximum(np.abs(moved), self.scale)
        missing = np.abs(self.columns @ moved) <= HOLDS * (self.scale + abs(self.columns) @ np.abs(moved))
        return bool(missing.all() and (moved >= low - slack).all() and (moved <= high + slack).all())


def _couplings(
    place: Ints, number: Ints, rise: Floats, fall: Floats, choices: int
) -> tuple[csr_array, Floats]:
    """rise - R y <= 0 and fall + F y <= F for the cells at these places; y is the column of this number."""
    count, size = place.size, rise.size
    rows, one = np.arange(count), np.ones(count)
    width = 2 * size + choices
    above = csr_array(
        (np.r_[one, -rise[place]], (np.r_[rows, rows], np.r_[place, 2 * size + number])), shape=(count, width)
    )
    below = csr_array(
        (np.r_[one, fall[place]], (np.r_[rows, rows], np.r_[size + place, 2 * size + number])),
        shape=(count, width),
    )
    return csr_array(vstack([above, below])), np.concatenate([np.zeros(count), fall[place]])
