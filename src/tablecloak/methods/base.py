"""What a method is: a function from a problem to a proposal, with a frozen dataclass of parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import is_network
from tablecloak.errors import NotApplicable
from tablecloak.methods.parameters import parameters_from
from tablecloak.model import EVERYTHING, Pattern, Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import load_libraries

Found = TypeVar("Found")
HIDES_EVERYTHING = f"stopped before a pattern was built: {EVERYTHING}"
"""The note of a pattern that is safe and no more."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """What a method hands to `protect`, which audits it before it is returned."""

    pattern: Pattern
    status: Status
    engine: str
    bound: float | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    may_leave_open: bool = False
    """Rounding and perturbation cannot always protect every cell, and the pattern of a paper without repair need not;
    what they leave open the audit names."""
    stopped_by: str = ""
    """What ended the run, where the status does not say it."""
    earlier: Proposal | None = None
    """A first proposal that was audited when it was found (`timed_audit.audited_first`)."""


@dataclass(frozen=True)
class RunSettings:
    """What of a time limit is kept for steps that are under way when it passes."""

    reserve: float = 0.04
    """The share of the limit: after it only the audit remains, which may itself take all that is allowed beyond it."""
    reserve_seconds: float = 0.5
    """The maximum of that in seconds."""
    grace: float = 0.5
    """Seconds of a step without which there is no result at all, also when the time is up or the user interrupts."""
    last_audit: float = 0.9
    """Share of the seconds of an earlier audit that the last one may take after an interrupt: with what else remains to
    be done the run ends within the time of one audit. Benchmark part: interrupts."""


class Run:
    """One run of a method: its deadline, and the status that an interrupt or a passed deadline means.

    The deadline also passes with an interrupt, so that what remains to be done is cut short in the same way.
    """

    def __init__(self, seconds: float | None, settings: RunSettings = RunSettings()) -> None:
        if seconds is not None:
            load_libraries()  # the limit begins after it
            seconds -= min(settings.reserve * seconds, settings.reserve_seconds)
        self.deadline = Deadline.after(seconds)
        self.stoppable = self.deadline.stoppable

    def interrupt(self) -> None:
        """End what remains to be done as an interrupt does."""
        if self.deadline.interrupt is not None:
            self.deadline.interrupt.raised = True

    def until_stopped(self, work: Callable[[], Found]) -> Found | None:
        """What work gives; None if an interrupt or a passed deadline ended it."""
        found: list[Found] = []
        with self.stoppable():
            found.append(work())
        return found[0] if found else None

    def status(self, finished: Status, *, complete: bool = True) -> Status:
        """`finished` if that is proven or the work is complete in time, else what stopped it.

        Without a limit no work is stopped by one: what is not complete then, a solver failed at.
        """
        if finished is Status.OPTIMAL:
            return finished
        if self.deadline.interrupted:
            return Status.INTERRUPTED
        late = self.deadline.passed() or (not complete and self.deadline.moment is not None)
        return Status.TIME_LIMIT if late else finished


def without_incumbent(progress: Progress, name: str = "") -> Progress:
    """Progress without the cost of a pattern that is not known to be safe; with a name all phases are called so."""

    def report(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        progress(name or phase, done, total, None, bound)

    return report


def complementary_cost(problem: Problem, hidden: Bools) -> float:
    """The weights of the complementary cells among the hidden ones."""
    return float(problem.weights[hidden & ~problem.must_hide].sum())


def refuse_touched_bound(
    problem: Problem, method: str, instead: Sequence[str] = ("suppress-optimal", "suppress-compact")
) -> None:
    """Raise `NotApplicable` where the number of touched cells is bounded."""
    if problem.most_touched is not None:
        raise NotApplicable(
            f"{method} cannot honour a bound on the number of touched cells.",
            needs="a problem without most_touched",
            instead=instead,
        )


def refuse_non_monotone(problem: Problem, method: str) -> None:
    """Raise `NotApplicable` where hiding more can break a requirement."""
    if not problem.is_monotone:
        raise NotApplicable(
            f"{method} decides one part of the table after the other, which conditional levels and a bound on the "
            "number of touched cells do not allow.",
            needs="a problem without conditional levels and without most_touched",
            instead=["suppress-optimal", "suppress-compact"],
        )


def refuse_touch_prices(problem: Problem, method: str, instead: Sequence[str]) -> None:
    """Raise `NotApplicable` where touching a cell at all has a price."""
    touch = problem.applied_prices.touch
    if touch is not None and touch[~problem.must_hide].any():
        raise NotApplicable(
            f"{method} has no price of touching a cell: it does not count which cells are touched.",
            needs="prices of both sides only",
            instead=instead,
        )


def refuse_non_network(
    problem: Problem, use: str, instead: Sequence[str], needs: str = "a network table"
) -> None:
    """Raise `NotApplicable` for non-network tables; `use`: for what the method needs a network."""
    if not is_network(problem):
        raise NotApplicable(
            f"{use}, and the equations of this table are not those of a network.",
            needs=f"{needs}: one dimension or two, of which at most one has a hierarchy",
            instead=instead,
        )


class MethodFunction(Protocol):
    """The signature of every method."""

    def __call__(
        self,
        problem: Problem,
        *,
        params: Any,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Proposal: ...


@dataclass(frozen=True)
class Method:
    """A method in the catalogue: its function, its parameters, and one line on what it is."""

    function: MethodFunction
    params: type[Any]
    summary: str
    reference: str

    def make_params(self, given: Mapping[str, Any]) -> Any:
        """The parameters from a mapping; unknown names and wrong kinds are one clear error."""
        return parameters_from(self.params, given)
