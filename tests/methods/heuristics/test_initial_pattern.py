"""First patterns: safe, quick, and what stopped runs fall back on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.auditing import audit
from tablecloak.methods import METHODS, largest_pattern
from tablecloak.methods.branch_and_cut.settings import ExactSettings, SmallSettings
from tablecloak.methods.heuristics import FIRST_KEPT, CubeSearch, first_pattern
from tablecloak.methods.suppress_optimal import suppress_optimal
from tablecloak.model import Status, Suppression, unmet_requirements
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.protection import protect
from tablecloak.solvers.highs.running import Abandoned
from tablecloak.testing import assert_protected

STOPPED = [
    "suppress-greedy",
    "suppress-kelly-lp",
    "suppress-network-flow",
    "suppress-elimination",
    "suppress-compact",
]


def found(problem, deadline=NEVER, progress=silent):
    """The first pattern of a problem."""
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    return first_pattern(problem, largest_pattern(problem), requirements, progress, deadline)


@pytest.mark.parametrize(
    "fixture",
    ["two way", "two way several", "three way", "one hierarchy", "two hierarchies", "any equations"],
)
def test_it_is_safe_and_its_cost_is_told(fixture):
    problem, told = FIXTURES[fixture](), []
    hidden = found(
        problem, progress=lambda phase, done, total, cost=None, bound=None: told.append((phase, cost))
    )
    assert hidden is not None
    assert_protected(problem, Suppression.copy_of(hidden))
    assert told[-1] == ("first pattern", float(problem.weights[hidden & ~problem.must_hide].sum()))
    assert np.array_equal(hidden, found(problem))


def test_where_there_is_none():
    problem = FIXTURES["three way"]()
    assert found(problem, Deadline.after(0.0)) is None
    assert found(replace(problem, most_touched=len(problem.table))) is None
    assert found(FIXTURES["conditional"]()) is None
    assert found(FIXTURES["any equations"](), Deadline.after(0.0)) is None


def test_grids_that_hypercubes_do_not_settle_get_deviations(monkeypatch):
    """Requirements without a hypercube keep those that were found, and get deviations."""
    problem = FIXTURES["three way"]()
    search = CubeSearch._found
    monkeypatch.setattr(
        CubeSearch,
        "_found",
        lambda self, requirement, price: search(self, requirement, price) if self._asked % 2 else None,
    )
    hidden = found(problem)
    assert hidden is not None
    assert_protected(problem, Suppression.copy_of(hidden))


@pytest.mark.parametrize("count", range(1, 12))
def test_an_interrupt_within_it_leaves_a_safe_pattern_or_none(count):
    problem, reports, deadline = FIXTURES["any equations"](), [], Deadline.after(None)

    def once(phase, done, total, incumbent=None, bound=None):
        reports.append(phase)
        if len(reports) == count:
            raise KeyboardInterrupt

    hidden = None
    with deadline.stoppable():
        hidden = found(problem, deadline, once)
    assert deadline.interrupted == (len(reports) >= count)
    if hidden is not None:
        assert_protected(problem, Suppression.copy_of(hidden))


@pytest.mark.parametrize("method", STOPPED)
def test_an_interrupted_run_falls_back_on_it(method):
    """The interrupt comes at the first report after the one that told the first pattern."""
    problem, first = FIXTURES["three way"](), []

    def once(phase, done, total, incumbent=None, bound=None):
        if phase == "audit" or (first and first[-1] is None):
            return
        if first:
            first.append(None)
            raise KeyboardInterrupt
        if phase == "first pattern":
            first.append(incumbent)

    result = protect(problem, method, progress=once)
    if first[-1] is None:
        assert result.status is Status.INTERRUPTED
        assert FIRST_KEPT in result.report.notes
        assert result.cost == first[0] < problem.weights[largest_pattern(problem) & ~problem.must_hide].sum()
    assert_protected(problem, result.pattern)


def test_compact_keeps_what_its_program_has_found(monkeypatch):
    """An interrupt within the integer program leaves its best point, if it has one."""
    module = import_module("tablecloak.solvers.highs.integer_programs")
    solved = module.running.run

    def interrupted(highs, seconds, **named):
        solved(highs, seconds, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(
        module, "running", SimpleNamespace(run=interrupted, run_linear=module.running.run_linear)
    )
    problem = FIXTURES["three way"]()
    result = protect(problem, "suppress-compact")
    monkeypatch.undo()
    assert FIRST_KEPT not in result.report.notes
    assert result.cost == protect(problem, "suppress-compact").cost


def test_compact_falls_back_on_it_when_its_program_is_abandoned(monkeypatch):
    """A solver that does not react to an interrupt still works: nothing of it is read."""
    module = import_module("tablecloak.solvers.highs.integer_programs")

    def abandoned(highs, seconds, **named):
        assert named["may_abandon"]
        monkeypatch.setattr(highs, "getModelStatus", None)
        raise Abandoned

    monkeypatch.setattr(module, "running", SimpleNamespace(run=abandoned))
    problem = FIXTURES["three way"]()
    result = protect(problem, "suppress-compact")
    assert result.status is Status.INTERRUPTED and FIRST_KEPT in result.report.notes
    assert_protected(problem, result.pattern)


def test_optimal_keeps_it_when_interrupted_in_its_audit(monkeypatch):
    """It has witnesses, and `protect` audits it anyway: better than everything hidden."""
    problem, costs, judge = (
        FIXTURES["three way"](),
        [],
        import_module("tablecloak.methods.branch_and_cut.incumbent").audit,
    )

    def interrupted(*given, **named):
        cost = problem.weights[given[1].touched(problem) & ~problem.must_hide].sum()
        if cost > 0 and not costs:
            costs.append(cost)
            raise KeyboardInterrupt
        return judge(*given, **named)

    monkeypatch.setattr("tablecloak.methods.branch_and_cut.incumbent.audit", interrupted)
    general = ExactSettings(small=SmallSettings(max_general_cells=0))
    optimal = replace(METHODS["suppress-optimal"], function=partial(suppress_optimal, settings=general))
    result = protect(problem, optimal)
    assert result.status is Status.INTERRUPTED
    assert result.cost == costs[0] < problem.weights[~problem.forced & ~problem.must_hide].sum()
    assert_protected(problem, result.pattern)
