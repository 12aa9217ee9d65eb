"""The construction on networks: remembered minimum cuts, and large levels."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import flat, from_leaves, leaf_values, with_levels
from tablecloak import Problem, audit, protect
from tablecloak.attacker import CellNetwork
from tablecloak.methods import largest_pattern
from tablecloak.methods.heuristics import Elimination, FlowWitnesses, NetworkConstruction, by_decreasing_level
from tablecloak.methods.heuristics.witnesses import WitnessSettings
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


def constructed(problem: Problem) -> NetworkConstruction:
    first = audit(problem, Suppression.copy_of(problem.must_hide))
    requirements = undominated(problem, unmet_requirements(problem, first))
    search = NetworkConstruction(problem, largest_pattern(problem, silent), silent, NEVER, requirements)
    search.construct()
    return search


def searched(problem: Problem) -> NetworkConstruction:
    search = constructed(problem)
    search.eliminate_redundant()
    return search


class Counted(FlowWitnesses):
    """Counts the searches, and the cuts that are remembered at a time."""

    searches = most = 0

    def find(self, requirement: Requirement, *, limited: bool) -> np.ndarray | None:
        self.searches += 1
        found = super().find(requirement, limited=limited)
        self.most = max(self.most, len(self.cuts))
        return found


def eliminated(problem: Problem, remembered: int) -> tuple[np.ndarray, Counted]:
    """A constructed pattern without redundant suppressions, with memory for this number of cuts."""
    search = constructed(problem)
    settings = WitnessSettings(max_cut_bytes=remembered * CellNetwork(problem).nodes)
    requirements = by_decreasing_level(search.requirements)
    engine = Counted(problem, requirements, search.hidden, settings=settings)
    elimination = Elimination(problem, requirements, search.hidden, engine, NEVER, silent)
    assert elimination.run()
    return elimination.hidden, engine


@pytest.mark.parametrize("seed", range(6))
def test_cuts_change_no_pattern(seed: int) -> None:
    problem = problem_with_total(9, 8, seed)
    usual = searched(problem).hidden
    for remembered in (1000, 1, 0):
        assert np.array_equal(usual, eliminated(problem, remembered)[0])
    assert audit(problem, Suppression.copy_of(usual)).safe


def test_few_cuts_are_remembered_and_each_saves_searches() -> None:
    problem = problem_with_total(20, 20, 1)
    many, one, none = (eliminated(problem, remembered)[1] for remembered in (1000, 1, 0))
    assert many.most > one.most == 1 > none.most == 0
    assert many.searches < one.searches <= none.searches


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
