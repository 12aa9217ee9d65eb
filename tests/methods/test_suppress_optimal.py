"""suppress-optimal beyond conformance: the same optimum as the compact model, proofs, limits, rows that hold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import highspy
import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.attacker import NullSpaceSettings, OracleSettings
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods import METHODS, largest_pattern
from tablecloak.methods.branch_and_cut import ExactSettings
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.methods.cuts import (
    BridgelessCuts,
    CapacitySettings,
    Cut,
    capacity_separator_of,
    next_multiple,
    weight_unit,
)
from tablecloak.methods.cuts.cut import capacity_cut, no_good_cut, strengthened
from tablecloak.methods.heuristics import ConstructionSettings, FirstPatternSettings
from tablecloak.methods.heuristics.witnesses import WitnessSettings
from tablecloak.model import (
    Dimension,
    Hierarchy,
    Levels,
    Problem,
    Side,
    Status,
    Suppression,
    Table,
    unmet_requirements,
)
from tablecloak.protection import protect
from tablecloak.solvers import Outcome, RestrictedMaster, Solution, kernels
from tablecloak.solvers.highs import running
from tablecloak.testing import KINDS, cheapest_by_enumeration, random_problem, safe_by_enumeration
from two_way import FIGURE_001, FIGURE_004, SENSITIVE_001, TwoWay

OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
    "negative": {"negative": True},
    "all of it": {"insiders": 1, "sliding": True, "conditional": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", list(OPTIONS))
def test_the_same_optimum_as_the_compact_model(kind, option):
    compared = 0
    for seed in range(3):
        problem = random_problem(kind, np.random.default_rng(seed + 7000), **OPTIONS[option])
        try:
            compact = protect(problem, "suppress-compact", params={"seconds": 10})
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                protect(problem, "suppress-optimal")
            continue
        result = protect(problem, "suppress-optimal")
        assert result.status is Status.OPTIMAL
        if compact.status is Status.OPTIMAL:
            assert result.cost == pytest.approx(compact.cost, rel=1e-6, abs=1e-6)
        else:  # the clock decides how far the compact model gets, not whether this test passes
            assert compact.bound - 1e-6 <= result.cost <= compact.cost + 1e-6
        compared += 1
    assert compared or option != "plain"


def test_equations_that_amplify_need_no_reach():
    """d_0 = 64 d_1 = 4096 d_2: out of reach for the compact model by default, but not for the rows."""
    matrix = np.array([[1.0, -64.0, 0.0], [0.0, 1.0, -64.0]])
    table = Table.from_equations(np.array([40960.0, 640.0, 10.0]), matrix)
    level = np.array([0.0, 0.0, 5.0])
    problem = Problem.of(table, [2], Levels.of(3, level, level))
    assert protect(problem, "suppress-optimal").cost == pytest.approx(41600)
    compact = protect(problem, "suppress-compact")
    assert (compact.status, compact.bound) == (Status.FEASIBLE, 0.0)
    assert "`reach` is too small" in compact.report.notes[0]


def test_the_bound_on_touched_cells_changes_the_optimum_or_forbids_everything():
    problem = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)
    free = protect(problem, "suppress-optimal")
    used = int(free.pattern.hidden.sum())
    assert protect(replace(problem, most_touched=used), "suppress-optimal").cost == pytest.approx(free.cost)
    with pytest.raises(InfeasibleProblem, match="at most"):
        protect(replace(problem, most_touched=used - 1), "suppress-optimal")


def test_out_of_time_it_is_safe_with_a_valid_bound():
    table = from_leaves([flat("r", 9), flat("c", 9), flat("s", 6)], leaf_values(9, 9, 6, low=1))
    problem = with_levels(table, smallest_leaves(table, 20), 0.5)
    result = protect(problem, "suppress-optimal", params={"seconds": 2.0})
    assert result.audit.safe
    assert 0 <= result.bound <= result.cost
    assert (result.status is Status.OPTIMAL) == (result.gap == 0)


def test_a_gap_that_is_good_enough_ends_the_run_with_an_honest_bound():
    problem = FIXTURES["two way several"]()
    exact = protect(problem, "suppress-optimal")
    rough = protect(problem, "suppress-optimal", params={"gap": 0.5})
    assert rough.bound <= exact.cost <= rough.cost
    assert rough.gap <= 0.5


def test_an_interrupt_returns_the_best_pattern_so_far():
    problem = FIXTURES["three way"]()
    seen = []

    def stop(phase, done, total, incumbent=None, bound=None):
        seen.append(phase)
        if phase == "root":
            raise KeyboardInterrupt

    result = protect(problem, "suppress-optimal", progress=stop)
    assert "root" in seen
    assert result.status is Status.INTERRUPTED
    assert result.audit.safe
    assert result.bound <= result.cost


# ---------------------------------------------------------------------- the rows


@pytest.mark.parametrize(
    "fixture", ["two way several", "three way", "fifty attackers", "only sliding", "conditional"]
)
def test_every_row_holds_for_every_safe_pattern(fixture):
    """Rows found at random points never cut off the patterns of other methods, nor the pattern that hides all."""
    problem = FIXTURES[fixture]()
    allowed = largest_pattern(problem)
    safe = [
        allowed,
        *(protect(problem, name).pattern.hidden for name in ("suppress-greedy", "suppress-compact")),
    ]
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    separator, patterns = capacity_separator_of(problem, allowed), BridgelessCuts(problem, allowed)
    rng, found = np.random.default_rng(1), 0
    for sparse in (0.0, 0.2, 0.5, 0.8):
        x = rng.random(allowed.size) * (rng.random(allowed.size) < sparse) * allowed
        for point in (x, np.rint(x)):
            for row in separator.separate(point, requirements, most=50):
                found += 1
                assert row.violation(point) > 0
                assert all(row.violation(hidden.astype(float)) <= 1e-7 for hidden in safe)
            assert all(row.violation(point) > 0 for row in patterns.separate(point))
    assert found or not requirements


def test_no_row_is_missed_by_a_safe_pattern_and_some_by_an_unsafe_one():
    problem = FIXTURES["two way several"]()
    allowed = largest_pattern(problem)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    separator = capacity_separator_of(problem, allowed)
    optimum = protect(problem, "suppress-optimal").pattern.hidden
    assert separator.separate(optimum.astype(float), requirements, most=100) == []
    assert separator.separate(problem.must_hide.astype(float), requirements, most=100)


def test_residual_truncation_and_infinite_capacities():
    carried = np.array([5.0, 3.0, 100.0, np.inf, 0.0, 9.0])
    hidden = np.array([True, False, False, False, False, False])
    allowed = np.array([True, True, True, True, True, False])
    row = capacity_cut(carried, 15.0, hidden, allowed)
    assert row.cells.tolist() == [1, 2, 3]
    assert row.coefficients.tolist() == pytest.approx([0.3, 1.0, 1.0])
    assert capacity_cut(carried, 5.0, hidden, allowed) is None
    assert capacity_cut(carried, 15.0, np.array([False] * 3 + [True] + [False] * 2), allowed) is None


def test_a_conditional_row_asks_only_if_the_cell_is_hidden():
    row = capacity_cut(np.array([4.0, 2.0, 6.0]), 10.0, np.zeros(3, dtype=bool), np.ones(3, dtype=bool), 0)
    assert row.rhs == 0.0
    assert row.coefficients.tolist() == pytest.approx([-1.0, 2 / 6, 1.0])


@pytest.mark.parametrize("seed", range(30))
def test_sharper_rows_hold_for_all_binary_points_of_the_row(seed):
    rng = np.random.default_rng(seed)
    size = 8
    row = Cut(np.arange(size), np.minimum(rng.integers(1, 12, size) / 10.0, 1.0), 1.0, "capacity")
    points = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    fine = points[points @ row.coefficients >= 1.0 - 1e-12].astype(float)
    for _ in range(10):
        x = rng.random(size) * (rng.random(size) < 0.7)
        for other in strengthened(row, x, 0.0):
            assert other.violation(x) > max(row.violation(x), 0.0)
            assert all(other.violation(point) <= 1e-9 for point in fine)
        whole = np.rint(x)
        if row.violation(whole) > 1e-9:
            other = no_good_cut(row.coefficients, 1.0, whole > 0.5, np.ones(size, dtype=bool))
            assert other is not None and other.violation(whole) == 1.0
            assert all(other.violation(point) <= 1e-9 for point in fine)


def test_levels_larger_than_the_box_of_a_sliding_cell_use_its_own_room():
    """The room of the cell itself counts too: 17 down is all that a cell of 17 can give."""
    problem = random_problem(
        "two-way", np.random.default_rng(100), insiders=1, sliding=True, conditional=True
    )
    assert any(
        requirement.side is Side.SLIDE
        for requirement in unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    )
    assert protect(problem, "suppress-optimal").cost == pytest.approx(
        protect(problem, "suppress-compact").cost
    )


def test_a_sliding_level_may_go_up_a_little_and_down_the_rest():
    """The box would allow the whole level upward, the network does not."""
    problem = random_problem("hierarchical", np.random.default_rng(9), sliding=True)
    assert protect(problem, "suppress-optimal").cost == pytest.approx(28)
    assert protect(problem, "suppress-compact").cost == pytest.approx(28)


def test_the_unit_of_weights_and_the_next_cost():
    assert weight_unit(np.array([20.0, 30.0, 0.0])) == 10
    assert weight_unit(np.array([0.25, 1.5])) == 0.25
    assert weight_unit(np.array([1000.0, 0.0005])) == pytest.approx(0.0005)
    assert weight_unit(np.array([1.0, np.sqrt(2)])) == 0
    assert weight_unit(np.zeros(2)) == 0
    assert [next_multiple(cost, 1.0) for cost in (103.2, 104.0)] == [104, 105]
    assert next_multiple(103.2, 0.0) == 103.2


# ---------------------------------------------------------------------- both engines


ENGINES = ("scip", "highs")
WEIGHTS = {
    "whole": None,
    "real": lambda rng, size: rng.random(size) * 30,
    "many zeros": lambda rng, size: np.where(rng.random(size) < 0.6, 0.0, rng.integers(1, 9, size)),
    "decimals": lambda rng, size: rng.integers(1, 40, size) * 0.1,
    "large": lambda rng, size: rng.integers(1, 40, size) * 1e12,
}


def optimum_of(problem, engine, settings=ExactSettings(), **more):
    """The proven optimum; None if there is no pattern."""
    method = METHODS["suppress-optimal"]
    method = replace(method, function=partial(method.function, settings=settings))
    try:
        result = protect(problem, method, params={"engine": engine, **more})
    except InfeasibleProblem:
        return None
    assert result.status is Status.OPTIMAL
    assert result.bound == pytest.approx(result.cost)
    return result.cost


@pytest.mark.parametrize(
    ("weights", "option"),
    [
        *(("whole", option) for option in OPTIONS),
        *((kind, option) for kind in list(WEIGHTS)[1:] for option in ("plain", "all of it")),
    ],
)
def test_both_engines_find_the_optimum_of_enumeration(weights, option):
    """Small enough to try all patterns; the oracle shares no code with the audit."""
    kinds = ("two-way", "three-way", "general", "linked", "non-nested", "hierarchical")
    compared = 0
    for seed in range(9):
        rng = np.random.default_rng(seed + 800)
        problem = random_problem(kinds[seed % len(kinds)], rng, **OPTIONS[option])
        if (make := WEIGHTS[weights]) is not None:
            problem = replace(problem, weights=np.asarray(make(rng, len(problem.table)), dtype=float))
        costs = [optimum_of(problem, engine) for engine in ENGINES]
        assert (costs[0] is None) == (costs[1] is None)
        assert costs[0] is None or costs[0] == pytest.approx(costs[1], rel=1e-7, abs=1e-7)
        free = int((~problem.forced & ~problem.must_hide).sum())
        if free <= 7:
            exact = cheapest_by_enumeration(problem, safe_by_enumeration)
            assert costs[0] == (None if exact is None else pytest.approx(exact, rel=1e-7, abs=1e-7))
            compared += 1
    assert compared


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("option", ["plain", "all of it"])
def test_a_bound_on_touched_cells_with_both_engines(engine, option):
    """Against the compact model for every bound, from what is impossible to what does not matter."""
    for kind in ("two-way", "three-way", "general"):
        problem = random_problem(kind, np.random.default_rng(31), **OPTIONS[option])
        least = int(problem.must_hide.sum())
        for most in range(least, min(least + 9, len(problem.table))):
            bounded = replace(problem, most_touched=most)
            try:
                wanted = protect(bounded, "suppress-compact").cost
            except InfeasibleProblem:
                wanted = None
            found = optimum_of(bounded, engine)
            assert found == (None if wanted is None else pytest.approx(wanted))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("seed", "kind", "more"),
    [(16, "two-way", 6), (17, "three-way", 6), (29, "two-way", 4), (44, "general", 2)],
)
def test_no_pattern_on_the_way_touches_too_many_cells(engine, seed, kind, more):
    """The row of the bound may be slack at the root; in the tree it holds all the same."""
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng)
    most = int(problem.must_hide.sum()) + more
    problem = replace(problem, weights=rng.random(len(problem.table)) * 50, most_touched=most)
    try:
        wanted = protect(problem, "suppress-compact").cost
    except InfeasibleProblem:
        wanted = None
    assert optimum_of(problem, engine) == (None if wanted is None else pytest.approx(wanted))


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_to_do_within_a_bound_on_touched_cells(engine):
    """What must be hidden is safe already: the relaxation proves no more than zero, and that is the optimum."""
    problem = TwoWay(FIGURE_004).problem([(1, 1), (1, 2), (2, 1), (2, 2)], 1, 1, most_touched=6)
    assert optimum_of(problem, engine) == 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_may_be_done_within_a_bound_on_touched_cells(engine):
    """No cell is free: a relaxation without columns."""
    assert optimum_of(replace(FIXTURES["one cell"](), most_touched=1), engine) == 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_dear_cells_are_taken_when_cheap_ones_are_too_many(engine):
    """With as few cells as possible the optimum is dearer than without a bound, and within it."""
    few = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.6, weights="unit")
    fewest = int(protect(few, "suppress-optimal").pattern.hidden.sum())
    problem = replace(TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.6), most_touched=fewest)
    result = protect(problem, "suppress-optimal", params={"engine": engine})
    assert int(result.pattern.hidden.sum()) <= fewest
    assert result.cost == pytest.approx(protect(problem, "suppress-compact").cost)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fixture", ["three way", "linked", "fifty attackers", "only sliding"])
def test_general_programs_prove_the_same_as_elimination(engine, fixture, monkeypatch):
    """Systems too large for elimination use a general solver; so do those on which the kernel loses its way."""
    problem = FIXTURES[fixture]()
    usual = optimum_of(problem, engine)
    none = NullSpaceSettings(max_table_entries=-1)
    construction = ConstructionSettings(witnesses=WitnessSettings(null_space=none))
    settings = ExactSettings(
        capacity=CapacitySettings(oracle=OracleSettings(none)),
        first=FirstPatternSettings(construction=construction),
    )
    assert optimum_of(problem, engine, settings) == pytest.approx(usual)
    if fixture != "fifty attackers":
        monkeypatch.setattr(kernels, "farthest_deviation", lambda *_: (kernels.Ending.LOST, 0))
        assert optimum_of(problem, engine) == pytest.approx(usual)


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_as_large_as_values_of_a_million_million(engine):
    """The relaxation must not lose its way because a cell costs 1e14."""
    rows = Dimension.of("r", Hierarchy.from_dict({"r1": ["a", "b", "c"], "r2": ["d", "e"], "r3": []}))
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(5):
        leaves = rng.integers(0, 60, size=(6, 3)) * 10.0 ** rng.integers(0, 4, size=(6, 3)) * 1e9
        table = from_leaves([rows, flat("c", 3)], leaves)
        problem = with_levels(table, smallest_leaves(table, 4), 0.5)
        cost = optimum_of(problem, engine)
        assert cost == pytest.approx(protect(problem, "suppress-compact").cost)
        compared += cost > 0
    assert compared > 2


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_level_beside_huge_values(engine):
    """One unit to be protected among values of a million million: no tolerance may swallow it."""
    rows = Dimension.of("r", Hierarchy.from_dict({"r1": ["a", "b", "c"], "r2": ["d", "e"], "r3": []}))
    rng = np.random.default_rng(5)
    for _ in range(3):
        leaves = rng.integers(1, 60, size=(6, 3)) * 10.0 ** rng.integers(0, 4, size=(6, 3)) * 1e9
        table = from_leaves([rows, flat("c", 3)], leaves)
        problem = Problem.of(table, smallest_leaves(table, 2))
        assert optimum_of(problem, engine) == pytest.approx(protect(problem, "suppress-compact").cost)


# ---------------------------------------------------------------------- limits and proofs


def tree():
    """A three-way problem that the root does not solve."""
    table = from_leaves([flat("r", 4), flat("c", 4), flat("s", 3)], leaf_values(4, 4, 3, seed=1, low=1))
    return with_levels(table, smallest_leaves(table, 5), 0.5, weights="unit")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "limits",
    [{"seconds": 0.0}, {"seconds": 1e-3}, {"seconds": 0.3}, {"nodes": 1}, {"gap": 0.3}, {"gap": 0.05}],
)
def test_stopped_anywhere_it_is_safe_and_the_bound_holds(engine, limits):
    problem = tree() if limits.get("seconds") != 1e-3 else FIXTURES["two way several"]()
    optimum = optimum_of(problem, "scip")
    result = protect(problem, "suppress-optimal", params={"engine": engine, **limits})
    assert result.audit.safe
    assert 0 <= result.bound <= optimum * (1 + 1e-9)
    assert optimum * (1 - 1e-9) <= result.cost
    assert result.gap <= limits.get("gap", 1.0)
    if result.status is Status.OPTIMAL:
        assert result.cost == pytest.approx(optimum), "optimal means that no safe pattern costs less"
        assert result.gap <= 1e-9


@pytest.mark.parametrize("engine", ENGINES)
def test_the_trace_only_gets_better(engine):
    result = protect(tree(), "suppress-optimal", params={"engine": engine, "seconds": 4.0})
    seconds, costs, bounds = zip(*result.report.trace, strict=True)
    costs, bounds = ([one for one in row if one is not None] for row in (costs, bounds))
    assert len(result.report.trace) > 2
    assert list(seconds) == sorted(seconds)
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert costs[-1] == pytest.approx(result.cost)
    assert bounds[-1] == pytest.approx(result.bound)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fixture", ["two way several", "three way", "unit weights", "conditional", "a tree"])
def test_the_same_seed_gives_the_same_pattern(engine, fixture):
    problem = tree() if fixture == "a tree" else FIXTURES[fixture]()
    one, two = (protect(problem, "suppress-optimal", params={"engine": engine}, seed=3) for _ in range(2))
    assert (one.pattern.hidden == two.pattern.hidden).all()


MOMENTS = [
    ("protecting levels", 1), ("eliminating redundant suppressions", 1), ("root", 1), ("root", 3),
    ("neighbourhoods", 1), ("branch and cut", 1), ("branch and cut", 3), ("integer program", 1), ("integer program", 2),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_an_interrupt_at_any_moment(engine):
    """Wherever it comes, once anything is known to be safe: a safe pattern and a bound that holds."""
    problem = tree()
    optimum, interrupted = optimum_of(problem, "scip"), set()
    for where, count in MOMENTS:
        seen = []

        def stop(phase, *more, where=where, count=count, seen=seen):
            seen.append(phase)
            if phase == where and seen.count(where) == count:
                interrupted.add((where, count))
                raise KeyboardInterrupt

        if (where == "branch and cut") != (engine == "scip") and where in (
            "branch and cut",
            "integer program",
        ):
            continue
        result = protect(problem, "suppress-optimal", params={"engine": engine}, progress=stop)
        assert result.audit.safe
        assert result.bound <= optimum * (1 + 1e-9)
        assert result.cost >= optimum * (1 - 1e-9)
        if (where, count) in interrupted:
            assert result.status is Status.INTERRUPTED
    assert {"root", "branch and cut" if engine == "scip" else "integer program"} <= {
        one for one, _ in interrupted
    }


# ---------------------------------------------------------------------- numbers that are too far apart for a solver


@pytest.mark.parametrize("fixture", ["two hierarchies", "three way", "fifty attackers"])
@pytest.mark.parametrize("working", [0, 2])
def test_branch_and_cut_goes_on_where_the_relaxation_fails(
    fixture: str, working: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = FIXTURES[fixture]()
    general = ExactSettings(small=SmallSettings(max_cells=0, max_general_cells=0))  # whose relaxation it is
    optimal = METHODS["suppress-optimal"]
    method = replace(optimal, function=partial(optimal.function, settings=general))
    wanted = protect(problem, method)
    solve, calls = RestrictedMaster.solve, []

    def failing(self: RestrictedMaster, seconds: float = np.inf) -> Solution:
        calls.append(seconds)
        if len(calls) > working:
            return Solution.without_point(Outcome.FAILED)
        return solve(self, seconds)

    monkeypatch.setattr(RestrictedMaster, "solve", failing)
    found = protect(problem, method)
    assert len(calls) > working
    assert (found.status, found.cost) == (wanted.status, wanted.cost)
    assert found.report.counters["numerical failures"] == 1


def test_a_relaxation_that_simplex_cannot_solve_is_solved_by_interior_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As seen on hierarchical tables with cells of 1 to 60 beside cells of 1e8 to 1e12."""
    program, asked = RestrictedMaster(), []

    def run(solver: Any, seconds: float = np.inf, **options: Any) -> Any:
        asked.append((solver.getOptionValue("presolve")[1], solver.getOptionValue("solver")[1]))
        return solve_it(solver, seconds, **options) if len(asked) > 2 else highspy.HighsModelStatus.kNotset

    solve_it = running.run
    monkeypatch.setattr(running, "run", run)
    program.add_columns(np.array([3.0, 2.0]), csc_array((0, 2)))
    program.add_rows(np.array([1.0, 1.5]), csr_array([[1.0, 0.0], [1.0, 1.0]]))
    solution = program.solve()
    assert asked == [("off", "simplex"), ("off", "simplex"), ("on", "ipm")]
    assert (solution.outcome, solution.objective) == (Outcome.OPTIMAL, pytest.approx(4.0))
    assert solution.values.tolist() == pytest.approx([1.0, 0.5])
    program.add_rows(np.array([1.8]), csr_array([[1.0, 1.0]]))
    assert program.solve().objective == pytest.approx(4.6)
    assert asked[-1] == ("off", "simplex"), "as it was before"
