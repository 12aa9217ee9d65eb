"""Linear and integer programs of controlled tabular adjustment: relaxation, given senses, blocks of cells (`model`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, vstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.methods.adjustment.model import AdjustmentModel, Move, is_closed
from tablecloak.methods.adjustment.reach import Ranges, cost_of
from tablecloak.methods.adjustment.settings import AdjustmentSettings
from tablecloak.model import Problem
from tablecloak.progress import Deadline
from tablecloak.solvers import (
    DUAL,
    LinearProgram,
    MipOptions,
    Outcome,
    SimplexOptions,
    Solution,
    sift,
    solve_mip,
)


@dataclass(frozen=True)
class ProgramLimits:
    """Limits of an integer program."""

    seconds: float
    nodes: int | None
    gap: float = 0.0
    presolve: bool = False


class Adjustment(AdjustmentModel):
    """The programs of one problem; senses are given by bounds, so that the linear program stays warm."""

    def __init__(
        self,
        problem: Problem,
        ranges: Ranges,
        deadline: Deadline,
        *,
        fallback: bool = False,
        settings: AdjustmentSettings = AdjustmentSettings(),
    ) -> None:
        """`fallback`: a move exists already, so that no program needs time beyond the deadline."""
        super().__init__(problem, ranges, settings)
        self.deadline, self.fallback, self.seconds = deadline, fallback, deadline.left
        program = settings.program
        self.sifts = self.cost.size > max(program.sifted_columns, program.sifted_shape * self.right.size)
        """Whether linear programs are solved over a growing subset of their columns."""
        self._program: LinearProgram | None = None
        self._warm: Ints | None = None  # senses of its last solution, if it has one
        self._used = np.zeros(self.cost.size, dtype=bool)
        self._used[2 * self.size :] = True

    # ------------------------------------------------------------------ linear programs

    def program(self, strategy: int) -> LinearProgram:
        """The linear program of all columns, with senses relaxed."""
        return LinearProgram(
            self.matrix,
            np.zeros(self.cost.size),
            self.highest,
            cost=self.cost,
            rows=(self.right, self.right),
            options=SimplexOptions(strategy=strategy, presolve=True),
            settings=self.settings.program.highs,
        )

    def solve(
        self, given: Ints | None = None, seconds: float = math.inf, *, near: Floats | None = None
    ) -> tuple[Outcome, Move, Floats]:
        """Solve with senses 1 (up), 0 (down) or -1 (relaxed) of the cells with a choice; also y of these cells.

        When the time is up the move is empty, or feasible but not the nearest. `near`: a move that shows which cells
        may be worth moving.
        """
        low, high = self._bounds(given)
        solution = self._sifted(low, high, seconds, near) if self.sifts else None
        if solution is None:
            senses = np.full(self.choice.size, -1) if given is None else given
            solution = self._solved(senses, low, high, seconds)
        bound = self.cost_of_objective(solution.bound)
        if solution.values.size == 0:  # all columns are bounded: never unbounded
            outcome = Outcome.INFEASIBLE if solution.outcome is Outcome.UNBOUNDED else solution.outcome
            return outcome, Move(np.zeros(0), math.inf, np.zeros(0), bound), np.zeros(0)
        moved, cost = self.moved(solution.values), self.cost_of_objective(solution.objective)
        share = solution.values[2 * self.size :] * self.scale / self.middle
        return solution.outcome, Move(moved, cost, solution.duals, bound), share

    def _bounds(self, given: Ints | None) -> tuple[Floats, Floats]:
        """Bounds of the columns with given senses."""
        low, high = np.zeros(self.cost.size), self.highest
        if given is not None:
            up, down = given == 1, given == 0
            last = 2 * self.size
            high[self.choice[down]] = 0.0
            high[self.size + self.choice[up]] = 0.0
            low[last:][up] = high[last:][up]
            high[last:][down] = 0.0
        return low, high

    def _solved(self, senses: Ints, low: Floats, high: Floats, seconds: float) -> Solution:
        """The program of all columns: warm, or afresh where too many senses have changed since it was solved."""
        most = self.settings.program.restart_share * senses.size
        if self._program is None or self._warm is None or np.count_nonzero(senses != self._warm) > most:
            self._program = self.program(DUAL)
        self._program.set_many_bounds(np.arange(self.cost.size), low, high)
        found = self._program.solve(seconds)
        optimal = found.outcome is Outcome.OPTIMAL
        self._warm = senses.copy() if optimal else None
        return found if optimal else Solution.without_point(found.outcome)

    def _sifted(self, low: Floats, high: Floats, seconds: float, near: Floats | None) -> Solution | None:
        """The program over columns used before, and those of cells that a given move moves.

        None where it seems infeasible: only the program of all columns can tell.
        """
        if near is not None:
            extra = np.abs(near) - np.abs(np.clip(0.0, *self.ends(self.senses(near))))
            most = min(extra.size, self.settings.program.sifted_shape // 2 * self.right.size)
            cells: Ints = np.argpartition(-extra, most - 1)[:most]
            cells = cells[extra[cells] > 0]
            self._used[cells] = self._used[cells + self.size] = True
        first = np.flatnonzero(self._used)
        given, tuned = (self.matrix, self.right, self.cost, (low, high), first), self.settings.program
        found = sift(*given, seconds=seconds, settings=tuned.sifting)
        if found.values.size:
            self._used |= (found.values > 0) & (high > low)
        return None if found.outcome is Outcome.INFEASIBLE else found

    def narrowest(self, move: Move, deadline: Deadline) -> Move:
        """A move with the same senses that moves no cell further where that costs, and all together least.

        The move itself where no side is free of charge, and where the time is up.
        """
        prices = self.problem.prices
        if prices is None or not prices.free_sides.any() or deadline.passed():
            return move
        senses = self.senses(move.moved)
        low, high = self._bounds(senses)
        way = move.moved - self.offset
        way[self.choice] -= self.middle * senses
        now = np.concatenate([np.maximum(way, 0.0), np.maximum(-way, 0.0)]) / self.scale
        own = np.arange(2 * self.size)
        high[own] = np.where(self.cost[own] > 0, np.minimum(now, high[own]), high[own])
        found = solve_mip(
            self.matrix,
            (low, high),
            (self.right, self.right),
            (np.arange(self.cost.size) < 2 * self.size).astype(float),
            np.zeros(self.cost.size, dtype=bool),
            MipOptions(seconds=deadline.left, highs=self.settings.program.highs),
        )
        if found.outcome is not Outcome.OPTIMAL:
            return move
        moved = self.moved(found.values)
        cost = cost_of(self.problem, moved)
        return Move(moved, cost, np.zeros(0)) if is_closed(cost, move.cost) else move

    # ------------------------------------------------------------------ a start

    def dive(
        self,
        share: Floats,
        repair: Callable[[Ints], Move | None] | None = None,
        within: Deadline | None = None,
    ) -> Move | None:
        """A move from the relaxed senses y: fix the clearest of the undecided senses, and solve again.

        Senses that the relaxation decides by itself stay free meanwhile. Where the linear program is infeasible,
        `repair` makes a move from these senses, or an integer program decides all of them (`decided`).
        """
        deadline, settings = within or self.deadline, self.settings.program
        given = np.full(self.choice.size, -1, dtype=np.int64)
        while True:
            unclear = np.minimum(share, 1 - share)
            left: Ints = np.flatnonzero((given < 0) & (unclear > settings.undecided))
            tried = np.where(given < 0, (share > 0.5).astype(np.int64), given)
            last = left.size <= settings.few_senses or deadline.passed()
            if last:
                given = tried
            else:
                count = max(settings.few_senses, int(settings.share_at_once * left.size))
                taken = left[np.argsort(unclear[left], kind="stable")[:count]]
                given[taken] = share[taken] > 0.5
            outcome, move, share = self.solve(given, self.seconds_until(deadline))
            if outcome.undecided:
                if last and move.moved.size:
                    return move
                raise SolverError(self.too_late())
            if outcome is not Outcome.OPTIMAL:
                return self.decided() if repair is None else repair(tried)
            if last:
                return move

    def decided(self) -> Move | None:
        """All senses by an integer program, until it has a solution. None: there is no solution."""
        limits = ProgramLimits(self.least_seconds, None, self.settings.program.any_move_gap)
        found, _, finished = self.integer(limits)
        if found is None and not finished:
            raise SolverError(self.too_late())
        return found

    @property
    def least_seconds(self) -> float:
        """Seconds of a program without which there would be no result."""
        return self.seconds_until(self.deadline)

    def seconds_until(self, deadline: Deadline) -> float:
        """Seconds of such a program within another deadline: a moment at least where there is no move yet."""
        return deadline.left if self.fallback else max(deadline.left, self.settings.program.least_seconds)

    def gives_up(self, deadline: Deadline | None = None) -> bool:
        """Whether the time is up and a move exists already."""
        return self.fallback and (deadline or self.deadline).passed()

    def too_late(self) -> str:
        """The error message when nothing was found in time."""
        given = self.seconds if math.isfinite(self.seconds) else 0.0
        enough = max(10.0, self.size / self.settings.program.cells_a_second, 2 * given)
        return (
            "The time was up before any perturbation was found. "
            f"For a table of {self.size:,} cells about {enough:,.0f} seconds or more might do."
        )

    # ------------------------------------------------------------------ integer programs

    def integer(
        self, limits: ProgramLimits, *, start: Floats | None = None
    ) -> tuple[Move | None, float, bool]:
        """The best move over all cells and senses, the proven bound, and whether the program ran to its end.

        `start`: a known move.
        """
        free = np.full(self.choice.size, -1)
        return self.block(np.arange(self.size), free, np.zeros(self.size), limits, start=start)

    def block(
        self, cells: Ints, given: Ints, moved: Floats, limits: ProgramLimits, *, start: Floats | None = None
    ) -> tuple[Move | None, float, bool]:
        """The best move of some cells, all others and all sums as they are; bound and whether it ran to its end.

        `given` are senses of the cells with a choice, -1 where a binary column decides. A move that is not additive, or
        with a cell that rises and falls, is dropped (see `holds`).
        """
        block = _SenseBlock(self, cells, given)
        solution = block.solve(moved, limits, start)
        bound = self.cost_of_objective(solution.bound, cells)
        finished = not solution.outcome.undecided
        if solution.values.size == 0:
            return None, bound, finished
        new = block.moved(solution.values, moved)
        if not self.holds(new):
            return None, bound, finished
        return Move(new, cost_of(self.problem, new), np.zeros(0)), bound, finished


class _SenseBlock:
    """The integer program over some cells: columns r, f (in units of the scale) and y of the choices among them."""

    def __init__(self, adjustment: Adjustment, cells: Ints, given: Ints) -> None:
        self.adjustment, self.cells = adjustment, cells
        inside = np.zeros(adjustment.size, dtype=bool)
        inside[cells] = True
        self.mine: Ints = np.flatnonzero(inside[adjustment.choice])
        """Choices inside the block."""
        self.given = given[self.mine]
        self.binary: Bools = self.given < 0

    def solve(self, moved: Floats, limits: ProgramLimits, start: Floats | None) -> Solution:
        """Solve from a move whose other cells stay; `start` is a known move."""
        whole, cells, mine, size = self.adjustment, self.cells, self.mine, self.cells.size
        place = np.searchsorted(cells, whole.choice[mine])
        part = csc_array(whole.columns[:, cells])
        part = csc_array(part.tocsr()[np.unique(part.indices)])
        right = part @ (moved[cells] - whole.offset[cells]) / whole.scale
        middle = whole.middle[mine] / whole.scale
        matrix = hstack([part, -part, csc_array(part[:, place] * middle[None, :])])
        rise, fall = whole.rise[cells] / whole.scale, whole.fall[cells] / whole.scale
        up, down = self.given == 1, self.given == 0
        low, high = np.zeros(2 * size + mine.size), np.concatenate([rise, fall, np.ones(mine.size)])
        high[place[down]] = 0.0
        high[size + place[up]] = 0.0
        low[2 * size :][up] = 1.0
        high[2 * size :][down] = 0.0
        links, link_high = _couplings(place[self.binary], np.flatnonzero(self.binary), rise, fall, mine.size)
        cost = whole.cost
        return solve_mip(
            vstack([matrix, links]),
            (low, high),
            (np.concatenate([right, np.full(link_high.size, -np.inf)]), np.concatenate([right, link_high])),
            np.concatenate([cost[cells], cost[whole.size + cells], cost[2 * whole.size :][mine] * middle]),
            np.concatenate([np.zeros(2 * size, dtype=bool), self.binary]),
            MipOptions(
                seconds=limits.seconds,
                nodes=limits.nodes,
                gap=limits.gap,
                presolve=limits.presolve,
                start=None if start is None else self._point(start),
                root_share=None,
                highs=whole.settings.program.highs,
            ),
        )

    def moved(self, x: Floats, before: Floats) -> Floats:
        """The moves of all cells from the columns of the block."""
        whole, cells, size = self.adjustment, self.cells, self.cells.size
        sense = np.where(self.binary, np.rint(x[2 * size :]), x[2 * size :])
        new = before.copy()
        new[cells] = whole.offset[cells] + whole.scale * (x[:size] - x[size : 2 * size])
        new[whole.choice[self.mine]] += whole.middle[self.mine] * sense
        return new

    def _point(self, moved: Floats) -> Floats:
        """The columns of the block for a move."""
        whole = self.adjustment
        senses = whole.senses(moved)
        way = moved - whole.offset
        way[whole.choice] -= whole.middle * senses
        way = way[self.cells] / whole.scale
        sense = senses[self.mine].astype(np.float64)
        return np.concatenate([np.maximum(way, 0.0), np.maximum(-way, 0.0), sense])


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
