"""A rounding at hand for the time when programs are ended: made first, reported, audited, stated honestly."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tablecloak.methods.base import Run
from tablecloak.methods.mixed import MixedParams, check_in_time, plan_of
from tablecloak.methods.rounding import InitialRounding, RoundingSettings, annealing
from tablecloak.methods.rounding.settings import InitialRoundingSettings
from tablecloak.methods.unified import CuttingPlaneModel
from tablecloak.model import Levels, Problem, Status
from tablecloak.progress import Deadline, TimeUp, silent
from tablecloak.protection import protect
from tablecloak.solvers import GrowingProgram, Outcome
from tablecloak.solvers.highs import HighsSettings
from tablecloak.solvers.highs import running as highs
from tests.methods.rounding.test_annealing import counts
from tests.methods.rounding.test_integral_basis import tied

NAME = "round-controlled"


def linked(seed: int = 0) -> Problem:
    """Linked tables with some sensitive cells."""
    table = tied(seed, size=5)
    small = (table.values > 0) & (table.values < 12)
    return Problem.of(table, small, Levels.at(len(table), small, sliding=2), weights="unit")


def first_of(problem: Problem, seconds: float | None, **more: Any) -> InitialRounding:
    base = np.full(len(problem.table), 3.0)
    settings = RoundingSettings(initial=InitialRoundingSettings(**more))
    return InitialRounding(problem, base, None, np.random.default_rng(1), silent, Run(seconds), settings)


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are interrupted before they have anything."""

    def interrupted(self: CuttingPlaneModel, known: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(CuttingPlaneModel, "_relax", interrupted)


def test_linked_tables_are_rounded_after_an_interrupt(no_programs: None) -> None:
    """It was an error: leaves that are tied to each other had no rounding without a program."""
    problem = linked()
    result = protect(problem, NAME, params={"base": 3})
    assert result.status is Status.INTERRUPTED and result.audit.safe
    table, shown = problem.table, result.pattern.shown
    assert not (table.equations @ shown - table.rhs).any() and not (shown % 3).any()
    assert any("as good as hiding" in note for note in result.report.notes)
    assert result.bound is not None and result.bound <= result.cost


def test_linked_tables_are_rounded_when_the_time_is_up() -> None:
    problem = linked(1)
    result = protect(problem, NAME, params={"base": 3, "seconds": 0.0})
    assert result.status is Status.TIME_LIMIT and result.audit.safe
    near = protect(problem, NAME, params={"base": 3, "seconds": 0.0, "steps": 3})
    assert near.report.counters["steps"] <= 3
    off = np.abs(near.pattern.shown - problem.table.values).max()
    assert off <= 3 * (near.report.counters["steps"] + 1)
    assert near.pattern.base.max() < result.pattern.base.max()


def test_with_a_limit_it_is_reported_before_any_program(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[str, float | None]] = []

    def listen(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        reports.append((phase, incumbent))

    problem = counts(3)
    protect(problem, NAME, params={"base": 3, "seconds": 1e3}, progress=listen)
    first = next(place for place, (_, incumbent) in enumerate(reports) if incumbent is not None)
    assert reports[first][0] == "annealing"
    assert "relaxation" not in [phase for phase, _ in reports[:first]]
    reports.clear()
    protect(problem, NAME, params={"base": 3}, progress=listen)
    assert "annealing" not in [phase for phase, _ in reports], "a small table without a limit needs none"


def test_large_tables_have_it_at_hand_without_a_limit() -> None:
    """Their programs may take long, and after an interrupt there is time for an audit only."""
    problem = counts(3)
    small, large = first_of(problem, None), first_of(problem, None, large=10)
    for first in (small, large):
        first.prepare()
    assert small.found is None and large.found is not None and large.complete
    assert large.programs_until() is large.run.deadline
    before = large.found
    large.proposal([])
    assert large.found is before, "it is not made again"


def test_what_was_cut_short_is_made_again_and_the_better_one_counts() -> None:
    problem = counts(3)
    first = first_of(problem, 1e3, large=10, steps=50)
    first.prepare()
    assert first.found is not None and not first.complete
    quick = first._rank(first.found)
    assert first.programs_until().left < first.run.deadline.left - 1.0
    first.proposal([])
    assert first._rank(first.found) < quick
    whole = first_of(problem, 1e3, large=10)
    whole.prepare()
    assert whole.complete
    assert whole.run.deadline.left - 1.0 < whole.programs_until().left < whole.run.deadline.left


def test_an_interrupt_while_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, annealed = [], annealing.annealed_rounding

    def once(*given: Any) -> Any:
        asked.append(given)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return annealed(*given)

    monkeypatch.setattr(annealing, "annealed_rounding", once)
    result = protect(counts(3), NAME, params={"base": 3, "seconds": 1e3})
    assert result.status is Status.INTERRUPTED and len(asked) == 2


# ---------------------------------------------------------------------- mixed-joint


@pytest.mark.parametrize("seed", range(3))
def test_mixed_joint_has_numbers_on_linked_tables_after_an_interrupt(no_programs: None, seed: int) -> None:
    problem = linked(seed)
    result = protect(problem, "mixed-joint", params={"base": 3})
    assert result.status is Status.INTERRUPTED and result.audit.safe
    assert result.bound is not None and result.bound <= result.cost


def test_mixed_joint_reports_numbers_at_hand_before_any_audit() -> None:
    """With a limit; an interrupt at that report, or at any soon after it, leaves them."""
    problem, phases, stops = linked(), list[str](), list[int]()

    def listen(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        phases.append(phase if incumbent is None else f"{phase}: first")
        if len(phases) == stops[-1]:
            raise KeyboardInterrupt

    for stop in range(1, 8):
        stops.append(stop)
        phases.clear()
        result = protect(problem, "mixed-joint", params={"base": 3, "seconds": 1e3}, progress=listen)
        assert result.status is Status.INTERRUPTED and result.audit.safe
    first = phases.index("annealing: first")
    assert "audit" not in phases[:first] and phases[first + 1] == "is it feasible at all"


def test_an_audit_of_the_widest_publication_is_cut_where_numbers_are_at_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was awaited whatever the limit; then nothing that programs find could be judged."""
    asked = []

    def cut(plan: Any, deadline: Any, progress: Any) -> None:
        asked.append(deadline)
        raise TimeUp

    monkeypatch.setattr(import_module("tablecloak.methods.mixed_joint"), "check_in_time", cut)
    problem = linked()
    result = protect(problem, "mixed-joint", params={"base": 3, "seconds": 1e3})
    assert result.audit.safe and asked[0].moment is not None
    asked.clear()
    protect(problem, "mixed-joint", params={"base": 3})
    assert asked[0].moment is None
    with pytest.raises(TimeUp):
        check_in_time(_plan(problem), Deadline.after(0.0), silent)


def _plan(problem: Problem) -> Any:
    return plan_of("mixed-joint", problem, MixedParams(base=3))


# ---------------------------------------------------------------------- solvers


def test_a_growing_program_that_does_not_end_is_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither Ctrl-C nor a limit waits for a solver that looks for them seconds later."""
    begun, go_on = threading.Event(), threading.Event()

    class Deaf:
        def run(self) -> None:
            begun.set()
            go_on.wait(60)

        def setOptionValue(self, *given: object) -> None: ...

        setCallback = startCallback = stopCallback = clearSolver = setOptionValue

    def look() -> None:
        begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(highs, "_ABANDONED", [])
    monkeypatch.setattr(highs.atexit, "register", lambda work: None)
    settings = HighsSettings(patience=0.0)
    programs = [GrowingProgram(np.ones(1), abandonable=True, settings=settings) for _ in range(2)]
    for program in programs:
        program._highs = Deaf()
    with highs.watched(look), pytest.raises(KeyboardInterrupt):
        programs[0].solve()
    assert programs[1].solve(0.0).outcome is Outcome.TIME_LIMIT
    for program in programs:  # nothing touches the solver any more
        program.add_rows(np.zeros(1), np.ones((1, 1)), np.ones(1))
        assert program.solve().outcome is Outcome.TIME_LIMIT and program.solve().values.size == 0
    assert len(highs._ABANDONED) == 2
    go_on.set()
    highs._join_abandoned(1.0)
