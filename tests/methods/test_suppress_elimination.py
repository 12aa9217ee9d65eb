"""suppress-elimination and its engines beyond conformance: the same as asking the audit, with far fewer questions."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import largest_pattern
from tablecloak.methods.heuristics import (
    FIRST_KEPT,
    ConstructionSettings,
    FirstPatternSettings,
    FlowWitnesses,
    NullSpaceWitnesses,
)
from tablecloak.methods.heuristics.witnesses import ProgramWitnesses, WitnessSettings
from tablecloak.model import Status, Suppression, unmet_requirements
from tablecloak.progress import NEVER, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem

METHOD = "suppress-elimination"
MODULE = import_module("tablecloak.methods.suppress_elimination")
KINDS = ["two-way", "hierarchical", "three-way", "linked", "general"]
OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
    "negative": {"negative": True},
}
ENGINES = {
    "flow": lambda problem, requirements, hidden, *_: FlowWitnesses(problem, requirements, hidden),
    "null space": lambda problem, requirements, hidden, *_: NullSpaceWitnesses(problem, requirements, hidden),
    "programs": lambda problem, requirements, hidden, deadline, *_: ProgramWitnesses(
        problem, hidden, deadline
    ),
}


def three_way(count=6):
    table = from_leaves([flat("r", 5), flat("c", 4), flat("s", 3)], leaf_values(5, 4, 3, low=1))
    return with_levels(table, smallest_leaves(table, count))


def is_safe(problem, hidden):
    return audit(problem, Suppression.copy_of(hidden)).safe


def feasible_problems(kind, options, count):
    """The first random problems that can be solved, at most this number."""
    for seed in range(60):
        problem = random_problem(kind, np.random.default_rng(seed), **options)
        try:
            largest_pattern(problem)
        except InfeasibleProblem:
            continue
        yield problem
        count -= 1
        if count == 0:
            return
    raise AssertionError("too few random problems can be solved")


def asking_the_audit(problem):
    """The elimination as the paper has it: an audit of everything for each cell."""
    hidden = largest_pattern(problem).copy()
    free = np.flatnonzero(hidden & ~problem.must_hide)
    for cell in free[np.argsort(-problem.weights[free], kind="stable")]:
        hidden[cell] = False
        if not is_safe(problem, hidden):
            hidden[cell] = True
    return hidden


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", ["plain", "insiders", "sliding", "negative"])
def test_witnesses_change_nothing_but_the_number_of_questions(kind, options):
    """Which cells are published depends on their order only, so it is the pattern of asking the audit every time."""
    for problem in feasible_problems(kind, OPTIONS[options], 3):
        result = protect(problem, METHOD)
        assert np.array_equal(result.pattern.hidden, asking_the_audit(problem))


@pytest.mark.parametrize("engine", ["null space", "programs"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_engines_publish_the_same(monkeypatch, kind, engine):
    asked = 0
    for problem in feasible_problems(kind, OPTIONS["insiders"], 4):
        usual = protect(problem, METHOD)
        with monkeypatch.context() as patch:
            patch.setattr(MODULE, "engine_of", ENGINES[engine])
            other = protect(problem, METHOD)
        assert np.array_equal(usual.pattern.hidden, other.pattern.hidden)
        asked += other.report.counters["levels asked"]
    assert asked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", sorted(OPTIONS))
@pytest.mark.parametrize("order", ["weight", "guided", "value", "given", "random"])
def test_it_is_safe_minimal_and_never_beats_the_optimum(kind, options, order):
    for problem in feasible_problems(kind, OPTIONS[options], 2):
        result = protect(problem, METHOD, params={"order": order}, seed=2)
        assert_protected(problem, result.pattern)
        optimum = protect(problem, "suppress-optimal")
        assert result.cost >= optimum.cost * (1 - 1e-6) - 1e-9
        assert (result.bound is not None) == (order == "guided")
        assert result.bound is None or result.bound <= optimum.cost * (1 + 1e-6) + 1e-9
        for cell in np.flatnonzero(result.pattern.complementary(problem)):
            hidden = result.pattern.hidden.copy()
            hidden[cell] = False
            assert not is_safe(problem, hidden)


def test_questions_and_savings_add_up():
    problem = three_way()
    result = protect(problem, METHOD)
    told = result.report.counters
    tried = int((largest_pattern(problem) & ~problem.must_hide).sum())
    published = told["published at once"] + told["published after asking"]
    assert published == tried - int(result.pattern.complementary(problem).sum())
    assert told["published at once"] > 0 and told["published after asking"] > 0
    assert told["saved by witnesses"] > told["levels"] * told["published at once"]
    assert told["levels asked"] < told["levels"] * tried / 3
    assert told["levels asked"] - told["levels"] <= told["levels"] * tried - told["saved by witnesses"]
    assert told["own cost"] == result.cost
    assert told["own open cells"] == told["added by repair"] == 0


@pytest.mark.parametrize("fixture", ["two way several", "three way", "conditional"])
def test_it_can_be_stopped_anywhere(fixture):
    problem = FIXTURES[fixture]()
    whole = largest_pattern(problem)
    for stop in (1, 3, 8):
        tried = iter(range(stop))

        class Watched(MODULE.Elimination):
            def _try(self, cell, tried=tried):
                if next(tried, None) is None:
                    raise KeyboardInterrupt
                super()._try(cell)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(MODULE, "Elimination", Watched)
            result = protect(problem, METHOD)
        assert result.status is Status.INTERRUPTED
        assert_protected(problem, result.pattern)
        if FIRST_KEPT in result.report.notes:  # cheaper than what the elimination came to
            assert result.cost < problem.weights[whole & ~problem.must_hide].sum()
        else:
            assert int(whole.sum()) - stop <= int(result.pattern.hidden.sum())


def test_without_time_everything_stays_hidden_and_the_note_says_so():
    problem = three_way()
    result = protect(problem, METHOD, params={"seconds": 0.0})
    assert result.status is Status.TIME_LIMIT
    assert np.array_equal(result.pattern.hidden, largest_pattern(problem))
    assert "stopped before anything was published" in result.report.notes[0]


def test_what_a_set_of_exposure_leaves_out_is_told_and_repaired():
    left_open = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = from_leaves([flat("r", 4), flat("c", 4)], leaf_values(4, 4, seed=seed, low=1))
        cells = rng.choice(np.flatnonzero(table.is_leaf), size=7, replace=False).tolist()
        problem = with_levels(table, cells, share=0.3)
        result = protect(problem, METHOD, params={"levels": "K1"})
        assert_protected(problem, result.pattern)
        told = result.report.counters
        left_open += told["own open cells"] > 0
        assert (told["own open cells"] > 0) <= (told["added by repair"] > 0)
    assert left_open


def test_several_starts_keep_the_cheapest():
    problem = three_way()
    one, many = (protect(problem, METHOD, params={"starts": n}, seed=3) for n in (1, 8))
    assert many.cost <= one.cost
    assert_protected(problem, many.pattern)


def test_wrong_parameters_are_told_together_and_touched_cells_refused():
    with pytest.raises(InputError) as caught:
        protect(FIXTURES["two way"](), METHOD, params={"order": "x", "levels": "y", "starts": 0})
    assert len(caught.value.faults) == 3
    with pytest.raises(NotApplicable, match="touched"):
        protect(replace(FIXTURES["two way"](), most_touched=6), METHOD)


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_a_closed_cell_moves_no_more_until_it_is_opened(name):
    problem = FIXTURES["two way several"]()
    allowed = largest_pattern(problem)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    engine = ENGINES[name](problem, requirements, allowed, NEVER)
    requirement = requirements[0]
    moved = engine.find(requirement, limited=False)
    assert requirement.cell in moved
    other = int(moved[moved != requirement.cell][0])
    engine.close(other)
    assert other not in engine.find(requirement, limited=False)
    alone = [cell for cell in np.flatnonzero(allowed).tolist() if cell not in (requirement.cell, other)]
    for cell in alone:
        engine.close(cell)
    assert engine.find(requirement, limited=False) is None


def test_systems_too_large_for_the_time_left_are_not_eliminated():
    """No deadline is checked in an elimination of equations; linear programs check it."""
    problem = FIXTURES["three way"]()

    def run(seconds, settings):
        params = MODULE.EliminationParams(seconds=seconds)
        rng = np.random.default_rng(0)
        return MODULE.suppress_elimination(
            problem, params=params, rng=rng, progress=silent, settings=settings
        )

    construction = ConstructionSettings(witnesses=WitnessSettings(entries_per_second=1e-3))
    slow = MODULE.EliminationRunSettings(first=FirstPatternSettings(construction=construction))
    assert "tableaus" in run(1000.0, MODULE.EliminationRunSettings()).engine
    result = run(1000.0, slow)
    assert "linear programs" in result.engine
    assert_protected(problem, result.pattern)
    assert "tableaus" in run(None, slow).engine
