"""A rounding that needs no program, for the time when a limit or an interrupt ends programs before they have one.

It is annealed (`annealing`). With a limit that is done first, with few steps, and reported; where more steps
are usual it is done once more in the time that programs leave, and the better one counts. Without a limit it is at hand
for large tables whose programs may take long, and is of use only after an interrupt.

The stated reach is as many bases as the cell furthest away needs, K + 1. On linked tables the verdict on so narrow a
reach may take an audit much longer than the whole run (on ninenew it had not ended after 90 s, where one on
suppressions takes a second or two). There all cells state a reach that is as good as hiding them,
`unified.formulation.furthest`, unless the steps are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.attacker import is_network, structure_of
from tablecloak.errors import InputError, NotApplicable, SolverError, counted
from tablecloak.methods.base import GRACE, Proposal, Run
from tablecloak.methods.rounding.annealing import AnnealedRounding, AnnealingSettings, annealed_rounding
from tablecloak.methods.rounding.integer_units import whole_table
from tablecloak.methods.unified import sufficient_deviation
from tablecloak.model import Problem, Rounding, Status
from tablecloak.progress import Deadline, Progress


@dataclass(frozen=True)
class FirstSettings:
    """Steps, and what of the time is whose; benchmark part `limits`."""

    steps: int = 1_500_000
    """Maximum number of steps of the first annealing, which is due within a tenth of the limit: 0.1 to 0.2 s."""
    share: float = 0.08
    """Maximum share of the time for it."""
    large: int = 1_000
    """In tables of more cells that are no networks programs may take all the time there is."""
    kept: tuple[float, float] = (0.1, 0.25)
    """Share and maximum number of seconds that programs leave there: some end a moment after their limit."""
    kept_to_anneal: tuple[float, float] = (0.3, 2.0)
    """The same where annealing is to be done once more."""


class FirstRounding:
    """The rounding of one run. Confidential."""

    def __init__(
        self,
        method: str,
        problem: Problem,
        base: Floats,
        steps: int | None,
        rng: np.random.Generator,
        progress: Progress,
        run: Run,
        settings: FirstSettings = FirstSettings(),
    ) -> None:
        """`base` of every cell, zero where it keeps its value; `steps` as given by the user."""
        self.method, self.problem, self.base, self.steps = method, problem, base, steps
        self.rng, self.progress, self.run, self.settings = rng, progress, run, settings
        self.large = len(problem.table) > settings.large and not is_network(problem)
        self.found: AnnealedRounding | None = None
        self.complete = False
        """Whether more time would not change it."""

    def prepare(self) -> None:
        """Have it at hand, if there is a limit or programs may take long."""
        deadline, settings, usual = self.run.deadline, self.settings, AnnealingSettings()
        limited = deadline.moment is not None
        if not limited and not self.large:
            return
        with self.run.stoppable():
            part = deadline.share(settings.share)
            steps = min(usual.most_steps, settings.steps) if limited else usual.most_steps
            self.found = self._annealed(part, replace(usual, most_steps=steps))
            leaves = int(self.problem.table.is_leaf.sum())
            self.complete = steps >= min(usual.most_steps, usual.steps_a_cell * leaves) and not part.passed()
            if self.found is None or not limited:
                return
            self.progress("annealing", 1, 1, self._pattern(self.found, self.found.reach).loss(self.problem))

    def programs_until(self) -> Deadline:
        """The deadline of programs: in large tables something is left after it."""
        deadline = self.run.deadline
        if deadline.moment is None or not self.large:
            return deadline
        share, most = self.settings.kept if self.complete else self.settings.kept_to_anneal
        return deadline.earlier(min(share * deadline.left, most))

    def proposal(self, notes: list[str]) -> Proposal:
        """What adds up when there is no time for programs; an error where nothing does."""
        if not self.complete:
            again = self._annealed(self.run.deadline.at_least(GRACE), AnnealingSettings())
            if self.found is None or (again is not None and self._worth(again) < self._worth(self.found)):
                self.found = again
        found = self.found
        if found is None or (self.steps is not None and found.reach > self.steps + 1):
            if self.run.deadline.interrupted:
                raise KeyboardInterrupt
            raise SolverError("the time was up before a rounding that adds up was found; see round-rapid")
        notes = [*notes, "no program found a rounding (in time): this one was made by annealing"]
        reach = found.reach
        if found.tied and self.steps is None:
            least = float(self.base[self.base > 0].min())
            reach = max(reach, math.ceil(sufficient_deviation(self.problem) / least))
            notes.append(
                f"numbers are within {counted(found.reach, 'base')} of the truth; the reach that is stated is as good "
                "as hiding the cells, for a verdict on a narrow one takes long on linked tables (`steps` limits it)"
            )
        notes.append(f"cells may be {counted(reach, 'base')} away from the truth: that is the stated reach")
        moved = np.abs(found.shown - self.problem.table.values)
        return Proposal(
            self._pattern(found, reach),
            self.run.status(Status.FEASIBLE, complete=False),
            f"simulated annealing on {structure_of(self.problem.table).description}",
            bound=found.bound,
            counters={
                "steps": reach - 1,
                "cells changed": int((moved > 0).sum()),
                "largest change": float(moved.max(initial=0.0)),
            },
            notes=tuple(notes),
            may_leave_open=True,
        )

    def _annealed(self, deadline: Deadline, settings: AnnealingSettings) -> AnnealedRounding | None:
        """With one base for all cells that move, where it does not matter which cells are touched."""
        bases = np.unique(self.base[~self.problem.forced])
        if bases.size != 1 or bases[0] == 0 or not self.problem.is_monotone:
            return None
        try:
            whole = whole_table(self.method, self.problem, float(bases[0]))
        except (InputError, NotApplicable):  # forced cells that are no multiples, or fractions in equations
            return None
        return annealed_rounding(self.problem, whole, self.rng, self.progress, deadline, settings)

    def _pattern(self, found: AnnealedRounding, reach: int) -> Rounding:
        return Rounding.of(found.shown, np.where(self.problem.forced, 0.0, reach * self.base))

    def _worth(self, found: AnnealedRounding) -> tuple[int, float]:
        return found.reach, self._pattern(found, found.reach).loss(self.problem)
