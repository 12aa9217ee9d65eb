"""Primal heuristics and separators from outside: they are called, and the optimum stays the same."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import ClassVar

import pytest

from fixtures import FIXTURES
from searches import run_of
from tablecloak import Status
from tablecloak.arrays import Floats
from tablecloak.methods.branch_and_cut import IMPROVEMENTS, SEPARATORS, ExactParams, Plugins, PointSeparator
from tablecloak.methods.branch_and_cut.improvement.base import Stage
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.separation import SeparationScope
from tablecloak.methods.branch_and_cut.settings import ExactSettings, SmallSettings
from tablecloak.methods.cuts import Cut
from tablecloak.solvers import scip
from tablecloak.testing import instances

needs_scip = pytest.mark.skipif(not scip.is_there(), reason="SCIP is not installed")


def heuristic(at: Stage, calls: list[SearchContext], fits: bool = True) -> type:
    """A class of heuristics that only note their calls."""

    class Watching:
        stage: ClassVar[Stage] = at

        def __init__(self, search: SearchContext) -> None:
            self.made_from = search

        @staticmethod
        def supports(model: SuppressionModel) -> bool:
            return fits

        def is_due(self, search: SearchContext) -> bool:
            return True

        def run(self, search: SearchContext) -> None:
            assert search is self.made_from
            calls.append(search)

    return Watching


def separator(
    calls: list[SeparationScope], fits: bool = True, fallback: bool = False
) -> type[PointSeparator]:
    """A class of separators that find nothing and note their calls."""

    class Noting(PointSeparator):
        is_fallback = fallback

        @staticmethod
        def supports(scope: SeparationScope) -> bool:
            return fits

        def separate(self, x: Floats, limit: int) -> list[Cut]:
            assert x.size == self.scope.model.free.size and limit > 0
            calls.append(self.scope)
            return []

    return Noting


def test_the_default_lists_cannot_be_changed() -> None:
    assert isinstance(IMPROVEMENTS, tuple) and isinstance(SEPARATORS, tuple)
    assert Plugins() == Plugins(IMPROVEMENTS, SEPARATORS)
    with pytest.raises(FrozenInstanceError):
        Plugins().separators = ()  # type: ignore[misc]


@pytest.mark.parametrize("stage", ["root rounds", "root", "tree"])
def test_a_heuristic_from_outside_runs_at_its_stage(stage: Stage) -> None:
    problem = instances.three_way_generator_one(4, 4, 4, 4, 2)
    calls: list[SearchContext] = []
    refused: list[SearchContext] = []
    chosen = (*IMPROVEMENTS, heuristic(stage, calls), heuristic(stage, refused, fits=False))
    found = run_of(problem, plugins=Plugins(improvements=chosen)).run()
    plain = run_of(problem, settings=ExactSettings(small=SmallSettings(max_general_cells=0))).run()
    assert calls and not refused
    assert (found.status, found.bound, found.counters) == (plain.status, plain.bound, plain.counters)
    assert (found.pattern.touched(problem) == plain.pattern.touched(problem)).all()


@needs_scip
def test_a_separator_from_outside_separates_at_the_root_and_in_trees() -> None:
    problem = instances.three_way_generator_one(4, 4, 4, 4, 2)
    calls: list[SeparationScope] = []
    refused: list[SeparationScope] = []
    late: list[SeparationScope] = []
    chosen = (*SEPARATORS, separator(calls), separator(refused, fits=False), separator(late, fallback=True))
    found = run_of(problem, ExactParams(engine="scip"), plugins=Plugins(separators=chosen)).run()
    plain = run_of(problem, ExactParams(engine="scip")).run()
    assert not refused
    assert 0 < len(late) < len(calls)
    assert {scope.keeps_shift for scope in calls} == {True, False}
    assert (found.status, found.bound, found.counters) == (plain.status, plain.bound, plain.counters)


@pytest.mark.parametrize("fixture", ["two way several", "three way", "linked"])
@pytest.mark.parametrize("engine", [pytest.param("scip", marks=needs_scip), "highs"])
def test_without_separators_and_heuristics_the_optimum_is_the_same(fixture: str, engine: str) -> None:
    """What is safe is decided at integral points, whatever the lists are."""
    problem, params = FIXTURES[fixture](), ExactParams(engine=engine)  # type: ignore[arg-type]
    bare = run_of(problem, params, plugins=Plugins((), ())).run()
    assert bare.status is Status.OPTIMAL
    assert bare.bound == pytest.approx(run_of(problem, params).run().bound)
