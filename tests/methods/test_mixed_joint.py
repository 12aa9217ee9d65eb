"""mixed-joint: several ways in one table, decided together, beside what was published before."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack, vstack

from fixtures import FIXTURES, flat, from_leaves, smallest_leaves, two_way_several, with_levels
from tablecloak.analysis import compare
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, SolverError, UnsafePublication
from tablecloak.formats import write_pattern
from tablecloak.formats.pattern_csv import parse_pattern
from tablecloak.methods.mixed import MixedModel, MixedParams, joint_formulation, plan_of
from tablecloak.methods.mixed.initial_solution import annealed_numbers
from tablecloak.methods.mixed.plan import WAYS
from tablecloak.methods.rounding import AnnealingSettings
from tablecloak.model import (
    Attacker,
    Intervals,
    Levels,
    Mixed,
    Problem,
    Result,
    Rounding,
    Status,
    Table,
    box_deviation_bounds,
)
from tablecloak.progress import Deadline, TimeUp, silent
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.solvers import Outcome
from tablecloak.testing import (
    KINDS,
    assert_protected,
    feasible_intervals,
    random_case,
    random_levels,
    random_problem,
)
from two_way import FIGURE_004, T, TwoWay

NAME = "mixed-joint"
PLAIN: dict[str, Any] = {"grid": 0.0, "asymmetry": 0.0}
REACH = {"share": 0.9, "least": 30.0}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
}


def figure(**options: Any) -> tuple[TwoWay, Problem]:
    grid = TwoWay(FIGURE_004)
    return grid, grid.problem([(2, 3)], 10, 12, **{"weights": np.ones(16), **options})


def outcome(problem: Problem, method: str, params: dict[str, Any]) -> tuple[str, float]:
    """Whether there is something safe, and the proven bound on its cost; the cost itself where nothing is proven.

    Intervals are whole data units, and an optimum in fractions is rounded up: alternative ones by different amounts.
    """
    try:
        result = protect(problem, method, params=params)
    except (InfeasibleProblem, InputError) as error:
        return type(error).__name__, np.nan
    return ("safe" if result.audit.safe else "open"), result.cost if result.bound is None else result.bound


# ---------------------------------------------------------------------- the optimum


@pytest.mark.parametrize("model", ["second", "first"])
def test_intervals_inside_and_rounded_totals_in_one_program(model: str) -> None:
    """Intervals alone cost 88, rounding the totals 4; together less, for rounded totals leave room."""
    _, problem = figure()
    result = protect(problem, NAME, params={**PLAIN, "model": model})
    assert (result.status, result.cost, result.bound) == (Status.OPTIMAL, 50.0, 50.0)
    assert_protected(problem, result.pattern)


ALONE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "interval": ("interval-partial", PLAIN, PLAIN),
    "suppress": ("suppress-compact", {}, {}),
    "round": ("round-controlled", {"base": 10.0}, {"base": 10.0}),
    "perturb": ("perturb-cell", REACH, REACH),
}


@pytest.mark.parametrize("way", ALONE)
@pytest.mark.parametrize("kind", KINDS)
def test_one_way_for_all_cells_is_the_method_of_that_way(kind: str, way: str) -> None:
    method, params, own = ALONE[way]
    compared = 0
    for seed in range(5):
        option = ("plain", "insiders", "sliding")[seed % 3]
        problem = random_problem(kind, np.random.default_rng([seed, 78]), **OPTIONS[option])
        if way in ("round", "perturb") and (problem.marks == 3).any():
            continue  # those methods show a number for every cell
        found = outcome(problem, NAME, {"inner": way, "totals": way, **params})
        other = outcome(problem, method, own)
        if found[0] == "InfeasibleProblem" and other[0] == "open":
            continue  # hiding would not protect it either: that is said before anything is rounded
        assert found[0] == other[0]
        assert found[1] == pytest.approx(other[1], rel=1e-5, abs=1e-5, nan_ok=True)
        compared += 1
    assert compared >= 2


def random_ways(problem: Problem, rng: np.random.Generator) -> list[str]:
    ways = rng.choice(WAYS, len(problem.table), p=[0.1, 0.25, 0.3, 0.25, 0.1])
    ways[problem.sensitive & (ways == "exact")] = "interval"
    return ways.tolist()


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_first_and_second_models_agree(kind: str, option: str) -> None:
    done = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 31])
        problem = random_problem(kind, rng, **OPTIONS[option])
        marks = np.where(problem.table.is_leaf | ~problem.forced, problem.marks, 0)  # they would not add up
        problem = replace(problem, marks=marks.astype(np.int8))
        free = (problem.marks == 0) & (rng.random(len(problem.table)) < 0.15)
        wide = rng.integers(0, 8, (2, free.size))
        params = {
            **PLAIN,
            **REACH,
            "ways": random_ways(problem, rng) if seed % 2 else None,
            "base": float(rng.choice([2, 5, 10])),
            "published_low": np.where(free, problem.table.values - wide[0], np.nan),
            "published_high": np.where(free, problem.table.values + wide[1], np.nan),
        }
        one, other = (outcome(problem, NAME, {**params, "model": model}) for model in ("first", "second"))
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], rel=1e-5, abs=1e-5, nan_ok=True)
        done += one[0] != "InfeasibleProblem"
    assert done or option in ("insiders", "conditional"), "insiders and widths can make most of it impossible"


def test_it_agrees_with_everything_that_there_is() -> None:
    """Every rounding of two totals, every suppression of the inner cells, on a tiny table."""
    table = from_leaves([flat("r", 2), flat("c", 2)], np.array([[3, 8], [9, 6]]))
    cell, size = table.find(r="r1", c="c1"), len(table)
    problem = Problem.of(table, [cell], Levels.at(size, [cell], 2, 2), weights=np.arange(1.0, size + 1))
    rounded, inner = np.flatnonzero(~table.is_leaf), np.flatnonzero(table.is_leaf)
    free = inner[inner != cell]
    value, base, best = table.values, 5.0, np.inf
    for ups in product((0, 1), repeat=rounded.size):
        shown = value.copy()
        part = np.floor(value[rounded] / base) * base
        shown[rounded] = np.where(value[rounded] % base == 0, value[rounded], part + base * np.array(ups))
        totals = table.equations[np.flatnonzero(~(abs(table.equations) @ table.is_leaf.astype(float) > 0))]
        if np.abs(totals @ shown).max() > 1e-9:
            continue
        for hide in product((False, True), repeat=free.size):
            hidden = np.zeros(size, dtype=bool)
            hidden[free], hidden[cell] = hide, True
            low, high = np.where(hidden, -np.inf, value), np.where(hidden, np.inf, value)
            parts = [(inner, Intervals.of(low, high)), (rounded, Rounding.of(shown, base))]
            if audit(problem, Mixed.of(table, parts)).safe:
                moved = float(problem.weights @ np.abs(shown - value))
                best = min(best, moved + float(problem.weights[hidden & ~problem.sensitive].sum()))
    assert np.isfinite(best)
    result = protect(problem, NAME, params={"inner": "suppress", "base": base})
    assert (result.status, result.cost) == (Status.OPTIMAL, pytest.approx(best))


def test_the_cost_of_the_pattern_is_the_objective_of_the_program() -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, 41])
        problem = random_problem("hierarchical", rng)
        params = MixedParams(ways=random_ways(problem, rng), base=5.0, share=0.9, least=500.0)
        joint = joint_formulation(plan_of(NAME, problem, params), 0)
        x = np.minimum(joint.formulation.high, rng.integers(0, 2, joint.formulation.size))
        value = joint.value.at(x)
        cells = joint.plan.rounded
        shown = Rounding.of(np.where(cells, value, problem.table.values), np.where(cells, joint.reach, 0.0))
        below, above = joint.deviation_bounds(x)
        interval = joint.plan.interval
        low = np.where(interval, problem.table.values - below, problem.table.values)
        high = np.where(interval, problem.table.values + above, problem.table.values)
        hidden = joint.plan.suppress & (joint.formulation.touched.at(x) > 0.5)
        near = problem.weights @ np.where(joint.plan.perturbed, np.abs(value - problem.table.values), 0.0)
        parts = shown.loss(problem) + Intervals.of(low, high).loss(problem) + problem.weights[hidden].sum()
        cost = joint.formulation.cost @ x + joint.formulation.constant
        assert cost >= parts + near - 1e-6  # z+ and z- of a perturbed cell may both be one
        if not joint.plan.perturbed.any():
            assert cost == pytest.approx(parts)


# ---------------------------------------------------------------------- what is printed


def test_printed_numbers_add_up_where_all_cells_show_one() -> None:
    for name in ("two hierarchies", "three way", "five way", "decimals"):
        problem = FIXTURES[name]()
        table = problem.table
        shown = protect(problem, NAME, params={"base": 10.0}).pattern.view(problem).shown
        inside = abs(table.equations) @ table.is_leaf.astype(float)
        totals = table.equations[np.flatnonzero(inside == 0)]
        assert totals.shape[0]
        assert np.abs(totals @ np.where(table.is_leaf, 0.0, shown)).max() < 1e-9
        assert np.abs(shown[~table.is_leaf] / 10.0 - np.rint(shown[~table.is_leaf] / 10.0)).max() < 1e-9


def test_a_cell_that_keeps_its_value_among_multiples_is_named() -> None:
    grid, problem = figure(forced=[11])
    with pytest.raises(InfeasibleProblem, match="adds up") as caught:
        protect(problem, NAME)
    assert caught.value.forced == (grid.table.label(11),)
    assert "61" not in str(caught.value)
    assert protect(problem, NAME, params={"totals": "interval"}).audit.safe


def test_steps_where_the_next_multiples_do_not_add_up() -> None:
    sides = [flat(name, 2) for name in "xyz"]
    cube = from_leaves(sides, np.where(np.indices((2, 2, 2)).sum(axis=0) % 2, 0, 5))
    problem = Problem.of(cube, [])
    result = protect(problem, NAME, params={"inner": "round", "base": 10.0})
    assert (result.cost, result.report.counters["steps"]) == (
        protect(problem, "round-controlled", params={"base": 10.0}).cost,
        1,
    )
    with pytest.raises(InfeasibleProblem, match="next multiple up or down"):
        protect(problem, NAME, params={"inner": "round", "base": 10.0, "steps": 0})


def test_the_midpoint_attack_works_without_asymmetry_and_fails_with_the_default() -> None:
    grid = TwoWay([[200, 500, 100], [80, 190, 220], [170, 320, 120]])
    problem, cell = grid.problem([(2, 3)], 60, 60, weights=np.ones(16)), grid.cell((2, 3))

    def off(params: dict[str, Any], seed: int) -> float:
        pattern = protect(problem, NAME, params={"base": 10.0, **params}, seed=seed).pattern
        low, high = feasible_intervals(problem, pattern)
        return float(abs((low[cell] + high[cell]) / 2 - 220) / 60)

    assert off(PLAIN, 0) < 1e-6
    found = [off({}, seed) for seed in range(20)]
    assert sum(share < 0.05 for share in found) <= 4
    assert np.median(found) > 0.2


def test_same_seed_same_bytes_and_another_seed_other_intervals() -> None:
    _, problem = figure()
    first, again, other = (protect(problem, NAME, seed=seed).pattern.view(problem) for seed in (4, 4, 5))
    assert first.low.tobytes() == again.low.tobytes() and first.high.tobytes() == again.high.tobytes()
    assert first.high.tobytes() != other.high.tobytes()


def test_publication_compare_and_files() -> None:
    table = from_leaves(
        [flat("r", 3), flat("c", 3)], np.array([[2011, 503, 1007], [811, 1901, 2203], [1709, 3203, 1217]])
    )
    cell, hidden = table.find(r="r2", c="c3"), table.find(r="r1", c="c1")
    levels = Levels.at(len(table), [cell], 300, 300)
    problem = Problem.of(table, [cell], levels, hidden=[hidden], weights="unit")
    result = protect(problem, NAME, params={"base": 100.0, "ways": None}, seed=3)
    view = result.pattern.view(problem)
    assert np.isneginf(view.low[hidden])
    text = publish(problem, result).render("table.csv")
    assert isinstance(text, str)
    true = [
        f"{table.values[i]:g}"
        for i in np.flatnonzero(result.pattern.touched(problem) & (view.shown != table.values))
    ]
    assert "2203" in true and "2011" in true
    assert not [number for number in true if number in text]
    read = parse_pattern(write_pattern(problem, result.pattern), problem)
    assert read.view(problem).low.tobytes() == view.low.tobytes()
    found = compare(problem, ["interval-partial", NAME], seed=3)
    assert found[NAME].kind == "mixed" and found[NAME].open_cells == 0


# ---------------------------------------------------------------------- published before


def before(problem: Problem, stated: dict[int, tuple[float, float]]) -> dict[str, Any]:
    low, high = np.full((2, len(problem.table)), np.nan)
    for cell, ends in stated.items():
        low[cell], high[cell] = ends
    return {**PLAIN, "totals": "interval", "published_low": low, "published_high": high}


def test_a_figure_published_before_forces_more_width_elsewhere() -> None:
    """The cheap neighbour is out already, so the dear one must move: 22 (1 + 5 + 1 + 1) instead of 22 * 4."""
    grid = TwoWay([[20, 50, 10], [30, 19, 22], [17, 32, 12]])
    weights = np.where(grid.table.is_leaf, 1.0, 10.0)
    weights[grid.cell((2, 1))] = 5.0
    problem = grid.problem([(2, 3)], 10, 12, weights=weights)
    assert protect(problem, NAME, params=before(problem, {})).cost == 88.0
    result = protect(problem, NAME, params=before(problem, {grid.cell((2, 2)): (19, 19)}))
    assert (result.status, result.cost) == (Status.OPTIMAL, 176.0)
    assert_protected(problem, result.pattern)
    assert not result.pattern.touched(problem)[grid.cell((2, 2))]


def test_an_interval_published_before_stays_and_costs_what_it_costs() -> None:
    grid, problem = figure()
    cell = grid.cell((2, 2))
    result = protect(problem, NAME, params=before(problem, {cell: (7.0, 29.0)}))
    view = result.pattern.view(problem)
    assert (view.low[cell], view.high[cell]) == (7.0, 29.0)
    assert (result.cost, result.bound) == (88.0, 88.0), "22 of it is spent already, and is of use"
    assert result.report.counters["published before"] == 1
    blurred = protect(
        problem, NAME, params={**before(problem, {cell: (7.0, 29.0)}), "grid": None, "asymmetry": 1.0}
    )
    assert blurred.pattern.view(problem).low[cell] == 7.0


def test_a_view_of_last_year_can_be_given_as_it_is() -> None:
    _, problem = figure()
    last = protect(problem, "interval-partial", seed=1).pattern.view(problem)
    stated = {"published_low": last.low, "published_high": last.high}
    result = protect(problem, NAME, params=stated)
    view = result.pattern.view(problem)
    assert np.array_equal(view.low, last.low) and np.array_equal(view.high, last.high)
    hidden = protect(problem, "suppress-optimal").pattern.view(problem)  # -inf..inf: nothing was published
    stated = {"published_low": hidden.low, "published_high": hidden.high, "totals": "interval"}
    result = protect(problem, NAME, params=stated)
    assert_protected(problem, result.pattern)


def test_a_table_revised_since_is_named_without_values() -> None:
    grid, problem = figure(hidden=[0])
    stated = before(problem, {5: (20.0, 25.0), 6: (30.0, 25.0), 0: (20.0, 20.0), 9: (30.0, np.inf)})
    with pytest.raises(InputError) as caught:
        protect(problem, NAME, params=stated)
    faults = " ".join(caught.value.faults)
    assert len(caught.value.faults) == 4
    for cell, words in ((5, "revised"), (6, "above the upper end"), (0, "must be hidden"), (9, "both ends")):
        assert any(grid.table.label(cell) in fault and words in fault for fault in caught.value.faults)
    assert "19" not in faults and "25" not in faults


def test_what_was_published_before_can_make_it_impossible() -> None:
    grid, problem = figure()
    cells = grid.cells([(2, 1), (2, 2), (2, T)])
    stated = {cell: (problem.table.values[cell],) * 2 for cell in cells}
    with pytest.raises(InfeasibleProblem, match="published before") as caught:
        protect(problem, NAME, params=before(problem, stated))
    assert caught.value.cells == (grid.table.label(grid.cell((2, 3))),)
    assert set(caught.value.forced) == set(grid.table.labels(cells))
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, NAME, params=before(problem, {grid.cell((2, 3)): (20.0, 24.0)}))
    assert caught.value.forced == (grid.table.label(grid.cell((2, 3))),)


# ---------------------------------------------------------------------- attackers, limits, refusals


def test_attackers_who_know_cells_ask_for_more() -> None:
    grid, problem = figure()
    cell = grid.cell((2, 2))
    attacker = Attacker.contributing("sole", grid.table, [cell], [19.0])
    known = grid.problem([(2, 3)], 10, 12, weights=np.ones(16), attackers=[attacker])
    assert protect(known, NAME, params=PLAIN).cost > protect(problem, NAME, params=PLAIN).cost


def test_a_base_too_small_for_a_sensitive_total_is_said_and_not_published() -> None:
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, T), (2, 3)], 10, 12, weights=np.ones(16))
    result = protect(problem, NAME)
    assert grid.table.labels(result.audit.open_cells) == [grid.table.label(grid.cell((2, T)))]
    assert result.status is Status.FEASIBLE
    assert any("left open" in note for note in result.report.notes)
    with pytest.raises(UnsafePublication):
        publish(problem, result)
    assert publish(problem, result, despite="agreed in writing")
    assert protect(problem, NAME, params={"base": 24.0}).audit.safe


def test_levels_that_no_rounding_leaves_room_for() -> None:
    """The row is exact but for the cell and its rounded total: five more or less, and no rounding can do better."""
    grid, problem = figure()
    ways = ["interval"] * 16
    for position in ((2, 1), (2, 2)):
        ways[grid.cell(position)] = "exact"
    ways[grid.cell((2, T))] = "round"
    with pytest.raises(InfeasibleProblem, match="meets all levels") as caught:
        protect(problem, NAME, params={"ways": ways})
    assert caught.value.cells == (grid.table.label(grid.cell((2, 3))),)
    assert protect(problem, NAME, params={"ways": ways, "base": 24.0}).audit.safe


def test_conditional_widths_and_a_bound_on_touched_cells() -> None:
    problem = FIXTURES["conditional"]()
    result = protect(problem, NAME, params={"base": 20.0})
    assert result.audit.safe
    _, few = figure(most_touched=8)
    result = protect(few, NAME, params={"base": 5.0})
    assert int(result.pattern.touched(few).sum()) <= 8
    _, fewer = figure(most_touched=5)
    with pytest.raises(InfeasibleProblem, match="at most 5"):
        protect(fewer, NAME)


def test_a_time_limit_of_nothing_still_gives_something_safe() -> None:
    table = from_leaves(
        [flat("r", 6), flat("c", 5), flat("s", 3)], np.random.default_rng(1).integers(1, 90, (6, 5, 3))
    )
    problem = with_levels(table, smallest_leaves(table, 6))
    result = protect(problem, NAME, params={"seconds": 0.0, "base": 10.0})
    assert result.status is Status.TIME_LIMIT
    assert_protected(problem, result.pattern)
    best = protect(problem, NAME, params={"base": 10.0})
    assert result.bound is not None and best.bound is not None
    assert 0 < result.bound <= best.bound + 1e-6
    assert best.cost <= result.cost


def test_an_interruption_returns_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    from tablecloak.methods.unified import cutting_plane_model

    _, problem = figure()
    asked = cutting_plane_model.CuttingPlaneModel._relax

    def interrupted(self: Any, known: Any) -> Any:
        if self.requirements:
            raise KeyboardInterrupt
        return asked(self, known)

    monkeypatch.setattr(cutting_plane_model.CuttingPlaneModel, "_relax", interrupted)
    result = protect(problem, NAME)
    assert result.status is Status.INTERRUPTED
    assert_protected(problem, result.pattern)


def test_all_faults_of_parameters_at_once() -> None:
    _, problem = figure()
    wrong: dict[str, Any] = {
        "inner": "intervall", "totals": "hide", "base": 0.3, "steps": -1, "share": 1.0, "least": -1.0, "grid": -1.0,
        "asymmetry": -1.0, "model": "third", "published_low": [1.0],
    }  # fmt: skip
    with pytest.raises(InputError) as caught:
        protect(problem, NAME, params=wrong)
    assert len(caught.value.faults) == 9
    assert "did you mean 'interval'?" in str(caught.value)
    wrong = {"ways": "interval,round", "bases": "5,x", "published_low": "1,2", "published_high": ""}
    with pytest.raises(InputError) as caught:
        protect(problem, NAME, params=wrong)
    assert len(caught.value.faults) == 4
    with pytest.raises(InputError, match="data unit"):
        protect(problem, NAME, params={"base": 0.5})


def test_texts_from_the_command_line_say_the_same() -> None:
    grid, problem = figure()
    ways = np.where(grid.table.is_leaf, "interval", "round")
    low = ["" if cell != 5 else "12" for cell in range(16)]
    high = ["" if cell != 5 else "21" for cell in range(16)]
    texts = {
        "ways": ", ".join(ways),
        "bases": ",".join(["5"] * 16),
        "published_low": ",".join(low),
        "published_high": ",".join(high),
    }
    numbers = {"published_low": [np.nan] * 16, "published_high": [np.nan] * 16}
    numbers["published_low"][5], numbers["published_high"][5] = 12.0, 21.0
    one, other = (protect(problem, NAME, params={**PLAIN, **params}) for params in (texts, numbers))
    assert one.cost == other.cost
    assert one.pattern.view(problem).low.tobytes() == other.pattern.view(problem).low.tobytes()


def test_unions_of_cells_are_not_printed() -> None:
    """A sum that no publication shows is stated nowhere."""
    table = from_leaves([flat("r", 3), flat("c", 3)], np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]]))
    size = len(table)
    pair = np.zeros((1, size + 1))
    pair[0, [table.find(r="r1", c="c1"), table.find(r="r1", c="c2"), size]] = 1, 1, -1
    equations = csr_array(vstack([hstack([table.equations, csr_array((table.equations.shape[0], 1))]), pair]))
    wider = replace(
        table,
        codes=np.vstack([table.codes, table.codes[-1:]]),
        units=np.append(table.units, 70),
        equations=equations,
        rhs=np.append(table.rhs, 0.0),
        virtual=1,
    )
    problem = Problem.of(wider, [size], Levels.at(size + 1, [size], 5, 5), weights=np.ones(size + 1))
    result = protect(problem, NAME, params=PLAIN)
    assert np.isneginf(result.pattern.view(problem).low[size])
    assert result.audit.safe and isinstance(result, Result)


def test_what_stays_open_for_want_of_time_states_no_more_than_the_box(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from importlib import import_module

    module = import_module("tablecloak.methods.mixed.model")
    _, problem = figure()
    monkeypatch.setattr(module, "audit_within", lambda *given: None)
    result = protect(problem, NAME, params={"seconds": 0.0, **PLAIN})
    assert result.status is Status.TIME_LIMIT and result.audit.safe
    below, above = box_deviation_bounds(problem)
    view = result.pattern.view(problem)
    interval = (view.low < view.high) & problem.table.is_leaf
    assert interval.any()
    assert (view.low == problem.table.values - below)[interval].all()
    assert (view.high == problem.table.values + above)[interval].all()


# ---------------------------------------------------------------------- what programs do not settle


def test_what_the_audit_refuses_is_lengthened_by_deviations(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_way_several()
    monkeypatch.setattr(MixedModel, "accepted", lambda self, x: None)
    found = protect(problem, "mixed-joint", params={"base": 5.0, "asymmetry": 0.0, "grid": 0.0})
    assert found.audit.safe and found.status is Status.FEASIBLE
    view, plan = found.pattern.view(problem), problem.table.is_leaf
    assert np.isfinite(view.high[plan]).any(), "not as vague as it could be"


def test_nothing_is_called_impossible_that_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_way_several()
    monkeypatch.setattr(MixedModel, "accepted", lambda self, x: None)
    monkeypatch.setattr(MixedModel, "_lengthened", lambda self, x: None)
    result = protect(problem, "mixed-joint", params={"base": 5.0})
    assert result.audit.safe and result.status is Status.FEASIBLE
    assert "the solver failed" in result.report.notes[0]
    exact = Intervals.of(problem.table.values, problem.table.values)
    monkeypatch.setattr(MixedModel, "stated", lambda self, below, above: exact)
    with pytest.raises(SolverError, match="none is proven to be impossible"):
        protect(problem, "mixed-joint", params={"base": 5.0})


def test_a_publication_that_is_vague_is_not_solved_again_for_larger_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its stated reach is as good as hiding cells: integer columns of 1e14 steps, on which HiGHS does not end."""
    from importlib import import_module

    module = import_module("tablecloak.methods.mixed_joint")

    def unsettled(*given: object) -> None:
        raise module.Unsettled("not settled")

    def solved_again(*given: object) -> None:
        raise AssertionError

    monkeypatch.setattr(module._MixedSearch, "cheapest", unsettled)
    monkeypatch.setattr(module._MixedSearch, "of_same_kind", solved_again)
    problem = two_way_several()
    result = protect(problem, NAME, params={"base": 5.0})
    assert result.audit.safe and result.status is Status.FEASIBLE


def test_a_program_that_ends_with_its_limit_is_not_called_unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs end a little before the method's own limit: found by journeys, an insider and values of 1e14."""
    problem = two_way_several()
    monkeypatch.setattr(MixedModel, "solve", lambda self, start, least, last: Outcome.TIME_LIMIT)
    result = protect(problem, NAME, params={"base": 5.0, "seconds": 1000.0})
    assert result.audit.safe and result.status is Status.TIME_LIMIT
    assert "the time was up" in result.report.notes[0]


def test_a_refusal_says_how_far_rounded_cells_may_be_and_more_steps_can_help() -> None:
    rng = np.random.default_rng([4, 124])
    case = random_case(rng, size="tiny" if rng.random() < 0.3 else "usual")
    problem = random_levels(case.problem, rng, conditional=bool(rng.random() < 0.15))
    params = {"base": 5 * problem.table.unit}
    with pytest.raises(InfeasibleProblem, match="within 2 bases of the truth"):
        protect(problem, "mixed-joint", params={**params, "steps": 1})
    assert protect(problem, "mixed-joint", params={**params, "steps": 2}).audit.safe


def test_numbers_by_annealing_where_programs_are_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that find nothing in time leave numbers that add up all the same."""
    from importlib import import_module

    module = import_module("tablecloak.methods.mixed_joint")
    table = from_leaves(
        [flat("r", 6), flat("c", 5), flat("s", 3)], np.random.default_rng(1).integers(1, 90, (6, 5, 3))
    )
    problem = with_levels(table, smallest_leaves(table, 6))

    class Late(module.CuttingPlaneModel):  # type: ignore[name-defined,misc]
        def solve(self) -> Any:
            return replace(super().solve(), outcome=module.Outcome.TIME_LIMIT, safe=False)

    monkeypatch.setattr(module, "CuttingPlaneModel", Late)
    monkeypatch.setattr("tablecloak.methods.mixed.model.CuttingPlaneModel", Late)
    result = protect(problem, NAME, params={"base": 10.0, "seconds": 1000.0, **PLAIN})
    assert_protected(problem, result.pattern)
    assert result.status is Status.TIME_LIMIT, "as the programs say"
    with pytest.raises(SolverError, match="the time was up before numbers that add up"):
        protect(
            problem, NAME, params={"base": 10.0, "seconds": 1000.0, "steps": 0, "bases": _two_bases(problem)}
        )


def test_a_multiple_that_annealing_moves_needs_a_step() -> None:
    """4 + 4 + 4 + 3 = 15 by leaves to the nearest multiple of 5 is 20: within one base, but 15 has no step without."""
    table = from_leaves([flat("r", 4)], np.array([4, 4, 4, 3]))
    problem = with_levels(table, smallest_leaves(table, 1))
    plan = plan_of(NAME, problem, MixedParams(ways=["round"] * len(table)))
    never, nearest = Deadline.after(None), AnnealingSettings(steps_a_cell=0)
    rng = np.random.default_rng(0)
    found = annealed_numbers(plan, None, rng, never, silent, nearest)
    assert found is not None and found.joint.steps == 1
    shown = found.joint.value.at(found.x)
    assert sorted(shown) == [5, 5, 5, 5, 20] and not (table.equations @ shown).any()
    assert annealed_numbers(plan, 0, rng, never, silent, nearest) is None


def test_a_table_that_nothing_protects_is_refused_also_where_the_check_was_cut_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from importlib import import_module

    module = import_module("tablecloak.methods.mixed_joint")

    def cut_short(*given: object) -> None:
        raise TimeUp

    monkeypatch.setattr(module, "check_in_time", cut_short)
    monkeypatch.setattr(module._MixedSearch, "cheapest", cut_short)
    table = from_leaves([flat("r", 3)], np.array([50, 20, 30]))
    forced = np.isin(table.values, [100, 20, 30])
    cell = int(np.flatnonzero(table.values == 50)[0])
    problem = Problem.of(table, [cell], Levels.at(4, [cell], 5, 5), forced=forced)
    with pytest.raises(InfeasibleProblem, match="stand in the way"):
        protect(problem, NAME, params={"base": 10.0, "seconds": 1000.0, **PLAIN})


def _two_bases(problem: Problem) -> list[float]:
    """Bases of which annealing knows nothing."""
    return [5.0 if odd else 10.0 for odd in np.arange(len(problem.table)) % 2]


def test_an_audit_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The method does not wait for a judgement longer than its limit, and ends with what needs none."""
    from importlib import import_module

    module = import_module("tablecloak.methods.timed_audit")

    def endless(problem: Problem, pattern: Any, *, progress: Any, **_: Any) -> Any:
        for _ in range(1000):
            progress("audit", 0, 1)  # raises where a deadline is watched; the last audit has none
        return audit(problem, pattern)

    _, problem = figure()
    monkeypatch.setattr(module, "audit", endless)
    result = protect(problem, NAME, params={"seconds": 0.0, **PLAIN})
    assert result.status is Status.TIME_LIMIT and result.audit.safe


def test_conditional_widths_that_nothing_can_meet_are_proven_impossible():
    """Values of 1e14, beyond the tolerance of programs: found by the fuzzer (methods, seed 1072).

    An insider knows cell 1, and cell 3 within 3: the width of cell 3 is out of reach, so that it is published, and with
    it the rounded cell 1, of which a width of 11 is asked.
    """
    values = [125_630_901_194_305, 598_976_003_117_461, 680_987_507_925_604]
    table = Table.from_equations(values, [[0, -1, 1]], [values[2] - values[1]])
    levels = Levels.of(3, [1e13, 0, 0], [1e13, 0, 0], conditional=[0, 11, 6])
    known = [values[1], values[2] - 3], [values[1], values[2] + 3]
    insider = Attacker.knowing("insider", [1, 2], *known)
    problem = Problem.of(table, [0], levels, attackers=[insider])
    ways = ["interval", "round", "interval"]
    with pytest.raises(InfeasibleProblem, match="cell=1"):
        protect(problem, "mixed-joint", params={"base": 5.0, "ways": ways})
