"""One run of a method that hides cells: candidate cells, unmet requirements, and the initial pattern."""

from __future__ import annotations

from tablecloak.arrays import Bools
from tablecloak.auditing import audit
from tablecloak.methods.base import HIDES_EVERYTHING, Run, complementary_cost
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics.initial_pattern import FIRST_KEPT, first_pattern
from tablecloak.model import Problem, Requirement, Suppression, unmet_requirements
from tablecloak.progress import Progress


class SuppressionRun(Run):
    """A run on one problem. `prepare` comes first and may be interrupted; a pattern to fall back on exists before."""

    def __init__(self, problem: Problem, seconds: float | None, progress: Progress) -> None:
        super().__init__(seconds)
        self.problem, self.progress = problem, progress
        self.allowed = hide_everything(problem, progress)
        """The candidate cells; hiding them all meets every requirement."""
        self.requirements: list[Requirement] = []
        """The requirements of all attackers that the cells hidden in any case do not meet."""
        self.first: Bools | None = None
        """The initial pattern, which is safe; None where there is none, or not in time."""

    def prepare(self, *, first: bool = True) -> None:
        """Find the unmet requirements, and with `first` the initial pattern."""
        problem = self.problem
        found = audit(problem, Suppression.copy_of(problem.must_hide), progress=self.progress)
        self.requirements = unmet_requirements(problem, found)
        if first:
            self.first = first_pattern(problem, self.allowed, self.requirements, self.progress, self.deadline)

    def cost(self, hidden: Bools) -> float:
        """The weights of the complementary cells among the hidden ones."""
        return complementary_cost(self.problem, hidden)

    def has_cheaper_first(self, cost: float) -> bool:
        """Whether the initial pattern costs less."""
        return self.first is not None and self.cost(self.first) < cost

    @property
    def fallback(self) -> tuple[Bools, str]:
        """The safe pattern of a run that is stopped before it has its own, and the note that says so."""
        return (self.allowed, HIDES_EVERYTHING) if self.first is None else (self.first, FIRST_KEPT)
