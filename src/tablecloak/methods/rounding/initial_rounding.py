"""A rounding that needs no program, for when a limit or an interrupt ends programs before they have one.

It is annealed (`annealing`). With a limit that is done first, with few steps, and reported; if more steps are usual it
is repeated in the time that programs leave, and the better rounding counts. Without a limit it is prepared for large
tables whose programs may take long, and is used only after an interrupt.

The stated reach is the number of bases that the furthest cell needs, K + 1. On linked tables the audit of so narrow a
reach may take much longer than the whole run (on ninenew it had not ended after 90 s, where one of suppressions takes
a second or two). There all cells state a reach that is as good as hiding them, `reach_of_hiding`, unless the steps are
given.
"""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.attacker import is_network, structure_of
from tablecloak.errors import SolverError, counted
from tablecloak.methods.base import Proposal, Run, RunSettings
from tablecloak.methods.rounding.annealing import AnnealedRounding, anneal
from tablecloak.methods.rounding.integer_units import count_changes
from tablecloak.methods.rounding.settings import AnnealingSettings, RoundingSettings
from tablecloak.methods.timed_audit import audited_first
from tablecloak.methods.unified import sufficient_deviation
from tablecloak.model import Problem, Rounding, Status
from tablecloak.progress import Deadline, Progress


def takes_long(problem: Problem, settings: RoundingSettings) -> bool:
    """Whether programs may take all the time there is: in large non-network tables."""
    return len(problem.table) > settings.initial.large and not is_network(problem)


def reach_of_hiding(problem: Problem, bases: Floats) -> int:
    """The stated reach, in bases, from which on a rounding protects as well as hiding all its cells."""
    return math.ceil(sufficient_deviation(problem) / float(bases[bases > 0].min()))


class InitialRounding:
    """The rounding of one run. Confidential."""

    def __init__(
        self,
        problem: Problem,
        base: Floats,
        steps: int | None,
        rng: np.random.Generator,
        progress: Progress,
        run: Run,
        settings: RoundingSettings = RoundingSettings(),
    ) -> None:
        """`base` of every cell, zero where it keeps its value; `steps` as given by the user."""
        self.problem, self.base, self.steps = problem, base, steps
        self.rng, self.progress, self.run, self.settings = rng, progress, run, settings
        self.large = takes_long(problem, settings)
        self.found: AnnealedRounding | None = None
        self.complete = False
        """Whether more time would not change it."""

    def prepare(self) -> None:
        """Anneal a first rounding if there is a limit or programs may take long."""
        deadline, settings, usual = self.run.deadline, self.settings, self.settings.annealing
        limited = deadline.moment is not None
        if not limited and not self.large:
            return
        with self.run.stoppable():
            part, first = deadline.share(settings.initial.share), settings.initial_annealing(limited)
            self.found = self._anneal(part, first)
            wanted = min(usual.most_steps, usual.steps_a_cell * int(self.problem.table.is_leaf.sum()))
            self.complete = first.most_steps >= wanted and not part.passed()
            if self.found is None or not limited:
                return
            self.progress("annealing", 1, 1, self._pattern(self.found, self.found.reach).loss(self.problem))

    def programs_until(self) -> Deadline:
        """The deadline of programs: in large tables some time is kept after it."""
        deadline = self.run.deadline
        if deadline.moment is None or not self.large:
            return deadline
        initial = self.settings.initial
        share, most = initial.kept if self.complete else initial.kept_to_anneal
        return deadline.earlier(min(share * deadline.left, most))

    def audited(self) -> Proposal | None:
        """The annealed rounding, audited before programs start; None with a limit and where there is none."""
        if self.found is None or not self._within_steps(self.found):
            return None
        found = self.found
        return audited_first(self.problem, self.run, self.progress, lambda: self._proposed(found, []))

    def _within_steps(self, found: AnnealedRounding) -> bool:
        return self.steps is None or found.reach <= self.steps + 1

    def proposal(self, notes: list[str]) -> Proposal:
        """The annealed rounding, when there is no time for programs; an error where there is none."""
        if not self.complete:
            again = self._anneal(self.run.deadline.at_least(RunSettings.grace), self.settings.annealing)
            if self.found is None or (again is not None and self._rank(again) < self._rank(self.found)):
                self.found = again
        if self.found is None or not self._within_steps(self.found):
            if self.run.deadline.interrupted:
                raise KeyboardInterrupt
            raise SolverError("the time was up before a rounding that adds up was found; see round-rapid")
        return self._proposed(self.found, notes)

    def _proposed(self, found: AnnealedRounding, notes: list[str]) -> Proposal:
        notes = [*notes, "no program found a rounding (in time): this one was made by annealing"]
        reach = found.reach
        if found.tied and self.steps is None:
            reach = max(reach, reach_of_hiding(self.problem, self.base))
            notes.append(
                f"numbers are within {counted(found.reach, 'base')} of the truth; the reach that is stated is as good "
                "as hiding the cells, for a verdict on a narrow one takes long on linked tables (`steps` limits it)"
            )
        notes.append(f"cells may be {counted(reach, 'base')} away from the truth: that is the stated reach")
        return Proposal(
            self._pattern(found, reach),
            self.run.status(Status.FEASIBLE, complete=False),
            f"simulated annealing on {structure_of(self.problem.table).description}",
            bound=found.bound,
            counters={"steps": reach - 1} | count_changes(self.problem.table, found.shown),
            notes=tuple(notes),
            may_leave_open=True,
        )

    def _anneal(self, deadline: Deadline, settings: AnnealingSettings) -> AnnealedRounding | None:
        bases = self.base[~self.problem.forced]
        return anneal(self.problem, bases, self.rng, self.progress, deadline, settings)

    def _pattern(self, found: AnnealedRounding, reach: int) -> Rounding:
        return Rounding.of(found.shown, np.where(self.problem.forced, 0.0, reach * self.base))

    def _rank(self, found: AnnealedRounding) -> tuple[int, float]:
        return found.reach, self._pattern(found, found.reach).loss(self.problem)
