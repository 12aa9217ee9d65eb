"""The construction on networks: remembered minimum cuts, and large levels."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import flat, from_leaves, leaf_values, with_levels
from tablecloak import Problem, audit, protect
from tablecloak.methods import largest_pattern
from tablecloak.methods.heuristics import (
    FlowWitnesses,
    NetworkConstruction,
    WitnessSettings,
)
from tablecloak.model import Requirement, Suppression, unmet_requirements
from tablecloak.model.requirement import undominated
from tablecloak.progress import NEVER, silent
from tablecloak.solvers.graphs import PathOpeningNetwork


def problem_with_total(rows: int, columns: int, seed: int) -> Problem:
    """The grand total is sensitive and so are some cells: a level far above every inner cell."""
    table = from_leaves(
        [flat("row", rows), flat("column", columns)], leaf_values(rows, columns, seed=seed, low=1)
    )
    some = np.random.default_rng(seed).choice(len(table), size=rows, replace=False)
    grand = int(np.argmax(table.values))
    return with_levels(table, sorted({grand, *some.tolist()}), share=0.15)


def searched(problem: Problem, settings: WitnessSettings = WitnessSettings()) -> NetworkConstruction:
    first = audit(problem, Suppression.copy_of(problem.must_hide))
    requirements = undominated(problem, unmet_requirements(problem, first))
    search = NetworkConstruction(problem, largest_pattern(problem, silent), silent, NEVER, requirements)
    search.construct()
    search.eliminate_redundant(settings)
    return search


@pytest.mark.parametrize("seed", range(6))
def test_cuts_change_no_pattern(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_with_total(9, 8, seed)
    with_cuts = searched(problem).hidden
    said = []
    monkeypatch.setattr(FlowWitnesses, "_is_cut_off", lambda self, t: said.append(t))
    assert np.array_equal(with_cuts, searched(problem).hidden)
    assert said
    assert audit(problem, Suppression.copy_of(with_cuts)).safe


def test_few_cuts_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    most, real = [0], FlowWitnesses._remember

    def remember(self: FlowWitnesses, t: Requirement, side: np.ndarray) -> None:
        real(self, t, side)
        most[0] = max(most[0], len(self.cuts))

    monkeypatch.setattr(FlowWitnesses, "_remember", remember)
    problem = problem_with_total(9, 8, 1)
    before = searched(problem).hidden
    assert most[0] > 1
    forgetful = WitnessSettings(max_cut_bytes=0)
    most[0] = 0
    assert np.array_equal(searched(problem, forgetful).hidden, before)
    assert most[0] == 1


def test_cuts_save_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, real = [0], FlowWitnesses.find

    def counting(self: FlowWitnesses, t: Requirement, *, limited: bool) -> np.ndarray | None:
        counted[0] += 1
        return real(self, t, limited=limited)

    monkeypatch.setattr(FlowWitnesses, "find", counting)
    searched(problem_with_total(20, 20, 1))
    with_cuts, counted[0] = counted[0], 0
    monkeypatch.setattr(FlowWitnesses, "_is_cut_off", lambda self, t: False)
    searched(problem_with_total(20, 20, 1))
    assert with_cuts < counted[0]


@pytest.mark.parametrize("method", ["suppress-optimal", "suppress-three-phase"])
def test_no_time_is_a_time_limit(method: str) -> None:
    result = protect(problem_with_total(30, 30, 2), method, params={"seconds": 0.0})
    assert result.status.value == "time-limit"
    assert result.audit.safe


def test_levels_that_are_lost_in_rounding_cost_cells_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problem_with_total(5, 4, 2)
    usual = searched(problem).hidden
    monkeypatch.setattr(NetworkConstruction, "_open_flow", lambda *_: False)
    lost = searched(problem).hidden
    assert audit(problem, Suppression.copy_of(lost)).safe
    assert (lost < largest_pattern(problem, silent)).any(), "the elimination publishes what is not needed"
    monkeypatch.undo()
    monkeypatch.setattr(FlowWitnesses, "find", lambda *_, **__: None)
    kept = searched(problem).hidden
    assert (kept >= usual).all() and audit(problem, Suppression.copy_of(kept)).safe


@pytest.mark.parametrize("method", ["suppress-three-phase", "suppress-elimination"])
def test_methods_do_not_give_up_where_routes_and_witnesses_are_lost(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_with_total(5, 4, 2)
    monkeypatch.setattr(PathOpeningNetwork, "route", lambda *_: False)
    monkeypatch.setattr(FlowWitnesses, "find", lambda *_, **__: None)
    assert protect(problem, method).audit.safe
