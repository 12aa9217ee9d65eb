"""The nearest additive table by weighted absolute distances: bounds, starts, the integer program, block descent.

A start from senses that nearly balance every equation (`reweighted_start`), or from those of the linear relaxation;
infeasible senses are repaired by a feasibility pump, also slowly, which gives better ones. Then the integer program
over the whole table from the incumbent, on all but large tables, and block coordinate descent. The bound is the best of
the relaxation's, of `distance_bound`, and of the integer program.

References: Castro (2006), Minimum-distance controlled perturbation methods for large-scale tabular data protection;
Gonzalez & Castro (2011), A heuristic block coordinate descent approach for controlled tabular adjustment.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.methods.adjustment.block_descent import Descent
from tablecloak.methods.adjustment.distance_bound import distance_bound
from tablecloak.methods.adjustment.feasibility_pump import pump_senses
from tablecloak.methods.adjustment.model import Move, is_closed
from tablecloak.methods.adjustment.programs import Adjustment, ProgramLimits
from tablecloak.methods.adjustment.protected import out_of_reach
from tablecloak.methods.adjustment.reweighted_start import quick_move
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import GAP_CLOSED, Outcome


class AdjustmentSearch:
    """The incumbent, the bound, and how they were found. Confidential."""

    def __init__(
        self, adjustment: Adjustment, rng: np.random.Generator, progress: Progress, *, limited: bool
    ) -> None:
        """`limited`: there is a time limit."""
        self.adjustment, self.rng, self.progress, self.limited = adjustment, rng, progress, limited
        self.settings, self.deadline = adjustment.settings.search, adjustment.deadline
        self.best: Move | None = None
        self.bound = 0.0
        self.finished = True
        self.shares = np.zeros(0)
        """The senses of the relaxation, between 0 and 1."""
        self.counters: dict[str, float] = {}

    @property
    def closed(self) -> bool:
        """Whether the incumbent is proven to be optimal."""
        return self.best is not None and is_closed(self.best.cost, self.bound)

    def run(self) -> None:
        """Bounds, a start, the integer program, block descent."""
        adjustment, settings = self.adjustment, self.settings
        self.best = quick_move(adjustment, self.rng, self.progress)
        self.bound = distance_bound(adjustment, self.deadline.left)
        self.progress("bound", 1, 1, None if self.best is None else self.best.cost, self.bound)
        self._relax()
        assert self.best is not None
        self.counters["start"] = self.best.cost
        self.progress("senses", 1, 1, self.best.cost, self.bound)
        cells, choices = adjustment.size, adjustment.choice.size
        small = cells <= settings.small_cells and choices <= settings.small_choices
        if choices and not adjustment.sifts:
            self._pump_slowly(small)
        medium = self.limited and cells <= settings.medium_cells and choices <= settings.medium_choices
        if medium and not small and not self.closed:
            self._descend(self.deadline.share(settings.first_descent_share))
        if (small or medium) and not self.closed:
            self._solve_integer(settings.integer_share * self.deadline.left)
        if not self.closed:
            self.finished = self._descend(self.deadline)

    def _offer(self, move: Move | None) -> None:
        """Replace the incumbent by a better move."""
        if move is not None and (self.best is None or move.cost < self.best.cost):
            self.best = move

    def _relax(self) -> None:
        """The relaxation: another bound, and a start from its senses if there is none yet or the table is not large."""
        adjustment = self.adjustment
        self.progress("relaxation", 0, 1, None if self.best is None else self.best.cost, self.bound)
        seconds = self.deadline.left if self.best is not None else adjustment.least_seconds
        outcome, relaxed, share = adjustment.solve(None, seconds)
        if outcome is Outcome.INFEASIBLE:
            raise out_of_reach(adjustment.problem)
        self.bound = max(self.bound, relaxed.bound)
        self.shares = np.full(adjustment.choice.size, 0.5)
        if outcome.undecided:
            self.finished = False
            if self.best is None:
                raise SolverError(adjustment.too_late())
            return
        self.shares = share
        if outcome is not Outcome.OPTIMAL:
            raise SolverError(f"the relaxation ended as {outcome.value}")
        if self.best is not None and (adjustment.sifts or self.deadline.passed()):
            return
        found = self._dive(share)
        if found is None and self.best is None:
            raise out_of_reach(adjustment.problem)
        self._offer(found)

    def _dive(self, share: Floats) -> Move | None:
        """A start from the relaxation; with an incumbent it has a share of the time only."""
        adjustment = self.adjustment
        known = self.best is not None and self.limited
        within = self.deadline.share(self.settings.dive_share) if known else self.deadline

        def repair(senses: Ints) -> Move | None:
            found = pump_senses(adjustment, senses, self.rng, self.progress, within)
            return found if found is not None or self.best is not None else adjustment.decided()

        try:
            return adjustment.dive(share, repair, within)
        except SolverError:
            if self.best is None:
                raise
            self.finished = False
            return None

    def _pump_slowly(self, small: bool) -> None:
        """Better senses by slow feasibility pumps, from the senses that the relaxation is nearer to."""
        settings, pump = self.settings, self.adjustment.settings.pump
        rounds = settings.slow_rounds if self.limited else pump.rounds
        for fading in settings.slow_fading if self.limited and not small else settings.slow_fading[:1]:
            if self.closed or self.deadline.passed():
                return
            senses: Ints = (self.shares > 0.5).astype(np.int64)
            within = self.deadline.share(settings.slow_share / 2 if small else settings.slow_share)
            slow = replace(pump, fading=fading, rounds=rounds)
            self._offer(pump_senses(self.adjustment, senses, self.rng, self.progress, within, slow))

    def _descend(self, deadline: Deadline) -> bool:
        """Block descent until nothing improves (True) or the time is up (False)."""
        assert self.best is not None
        descent = Descent(self.adjustment, self.best, self.bound, self.rng, deadline, self.progress)
        try:
            return descent.run()
        finally:
            self.best = descent.best
            for name, count in (("blocks", descent.blocks), ("improvements", descent.improved)):
                self.counters[name] = self.counters.get(name, 0) + count

    def _solve_integer(self, seconds: float) -> None:
        """The integer program over the whole table, from the incumbent.

        A bound above a known move is a numerical failure and is dropped.
        """
        if self.deadline.passed():
            return
        assert self.best is not None
        self.progress("integer program", 0, 1, self.best.cost, self.bound)
        nodes = None if self.limited else self.settings.max_nodes
        limits = ProgramLimits(seconds, nodes, GAP_CLOSED / 2, presolve=True)
        found, bound, _ = self.adjustment.integer(limits, start=self.best.moved)
        self._offer(found)
        self.raise_bound(bound, self.best.cost)

    def raise_bound(self, bound: float, cost: float) -> None:
        """Raise the bound to one that is proven, unless a known cost contradicts it."""
        if bound <= cost * (1 + GAP_CLOSED):
            self.bound = max(self.bound, bound)
