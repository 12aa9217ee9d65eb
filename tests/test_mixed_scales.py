"""Methods on tables with small cells beside huge ones, decimals and values from 1e9 on: no errors, right optima."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
import pytest
from scipy.sparse import csr_array

from searches import run_of
from tablecloak import (
    Attacker,
    Dimension,
    InfeasibleProblem,
    InputError,
    Levels,
    NotApplicable,
    Perturbation,
    Problem,
    Status,
    Table,
    audit,
    certify,
    protect,
    verify,
)
from tablecloak.attacker import working_equations
from tablecloak.auditing.exact import ExactProblem
from tablecloak.methods.cuts import Cut, capacity_separator_of
from tablecloak.methods.cuts.cut import capacity_cut, no_good_cut, strengthened
from tablecloak.methods.heuristics import DeviationFinder
from tablecloak.model import Requirement, Side, all_requirements
from tablecloak.solvers import GrowingProgram, Outcome
from tablecloak.testing import SHAPES, exact_intervals, oracle_verdict, random_case, random_levels
from tablecloak.testing.enumeration import safe_suppression_below

ROWS, COLUMNS = ["r0", "r1", "r2"], ["c0", "c1"]


def three_by_two(values: Any, decimals: int | None = None) -> Table:
    cells = {"r": np.repeat(ROWS, 2), "c": np.tile(COLUMNS, 3), "value": values}
    dimensions = [Dimension.flat("r", ROWS), Dimension.flat("c", COLUMNS)]
    return Table.from_cells(dimensions, cells, recompute=True, decimals=decimals)


def cube(values: Any) -> Table:
    """A table of 2 x 2 x 2 leaves."""
    names = [[f"{d}0", f"{d}1"] for d in "rcs"]
    grid = np.meshgrid(*names, indexing="ij")
    cells = {d: part.ravel() for d, part in zip("rcs", grid, strict=True)}
    dimensions = [Dimension.flat(d, codes) for d, codes in zip("rcs", names, strict=True)]
    return Table.from_cells(dimensions, {**cells, "value": np.asarray(values).ravel()}, recompute=True)


def small_beside_huge() -> Problem:
    """The optimum of 49 was cut off by a row that a point 7e-8 beside a pattern seemed to miss."""
    table = three_by_two([27, 1273253058, 40, 7, 1487473103, 58])
    sensitive, value = [0, 3, 6], table.values
    levels = Levels.at(
        len(table),
        sensitive,
        lower=[207054472, 95493982, 4],
        upper=[207054472, 95493982, 4],
        sliding=[621163416, 286481945, 11],
    )
    insider = Attacker.knowing("i1", [3, 5], [value[3], 891277141], [value[3], np.inf])
    weights = [6, 0, 5, 5, 9, 7, 8, 3, 0, 18, 19, 14]
    return Problem.of(table, sensitive, levels, attackers=[insider], weights=weights)


def test_the_optimum_of_small_cells_beside_huge_ones():
    problem = small_beside_huge()
    best = protect(problem, "suppress-optimal")
    assert (best.cost, best.bound) == (49.0, 49.0)
    assert protect(problem, "suppress-compact").cost == 49.0
    assert best.report.counters["cuts against safe patterns"] == 0


def test_a_point_beside_a_safe_pattern_misses_nothing():
    """What solvers call integral is separated at the integral point: beside it every level is violated a little."""
    problem = small_beside_huge()
    safe = protect(problem, "suppress-compact").pattern.hidden
    separator, requirements = capacity_separator_of(problem, ~problem.forced), all_requirements(problem)
    beside = np.where(safe, 1.0 - 7e-8, 3e-8)
    assert separator.separate(beside, requirements, most=100) == []


METHODS = (
    "suppress-optimal",
    "suppress-greedy",
    "suppress-kelly-lp",
    "interval-partial",
    "interval-combined",
)


@pytest.mark.parametrize("scale", ["mixed", "decimals", "huge"])
@pytest.mark.parametrize("kind", SHAPES)
def test_every_method_ends_with_something_safe_or_says_that_there_is_nothing(kind: str, scale: str):
    for seed in range(2):
        rng = np.random.default_rng([seed, 19])
        case = random_case(rng, kind=kind, scale=scale, publishing="suppression", size="tiny")
        problem = random_levels(case.problem, rng, conditional=seed == 1)
        refused = []
        for method in METHODS:
            try:
                result = protect(problem, method)
            except NotApplicable:
                continue
            except InfeasibleProblem:
                refused.append(method)
                continue
            assert oracle_verdict(problem, result.pattern).safe, method
            if method == "suppress-optimal" and kind == "two-way":
                assert result.status is Status.OPTIMAL
                assert safe_suppression_below(problem, result.cost - 1e-9) is None
        assert "suppress-optimal" not in refused or "suppress-greedy" in refused


def test_a_cell_that_moves_little_is_not_lost_beside_huge_levels():
    """Of a level of 2e9 a cell of 3 carries what the huge ones lack; its move is 1.5e-9 of the level."""
    table = cube([[[2_000_000_000, 3], [2_000_000_003, 1_999_999_997]], [[5, 2_000_000_000], [7, 11]]])
    cell = table.find(r="r0", c="c0", s="s0")
    levels = Levels.at(len(table), [cell], lower=2_000_000_000, upper=2_000_000_000)
    problem = Problem.of(table, [cell], levels)
    for method in ("suppress-greedy", "suppress-optimal", "suppress-network-flow", "suppress-auto"):
        assert oracle_verdict(problem, protect(problem, method).pattern).safe


@pytest.mark.parametrize("method", ["interval-partial", "interval-combined"])
def test_intervals_of_ordinary_decimals(method: str):
    table = three_by_two([12.62, 22.39, 30.82, 0.65, 21.58, 35.36])
    levels = Levels.at(len(table), [1, 3], lower=[58.52, 31.51], upper=[58.52, 31.51])
    problem = Problem.of(table, [1, 3], levels)
    result = protect(problem, method, seed=6)
    assert oracle_verdict(problem, result.pattern).safe
    ends = np.concatenate([result.pattern.low, result.pattern.high])
    assert (ends == np.round(ends, 2)).all(), "whole data units"


@pytest.mark.parametrize("method", ["interval-partial", "interval-combined", "mixed-joint"])
def test_a_sensitive_cell_without_a_level_among_billions(method: str):
    values = np.floor(np.random.default_rng(0).random(8) * 1e9) + 1
    table = cube(values)
    problem = Problem.of(table, [int(np.flatnonzero(table.is_leaf)[0])])
    assert oracle_verdict(problem, protect(problem, method).pattern).safe


def test_any_deviation_is_exact():
    """What is rounded from a program would miss an equation of huge cells by many units."""
    table = cube([[[10**12 + 7, 3], [17, 10**11]], [[59, 10**12], [10**9, 11]]])
    cell = table.find(r="r0", c="c0", s="s1")
    problem = Problem.of(table, [cell], Levels.at(len(table), [cell], lower=3, upper=3))
    finder = DeviationFinder(problem, working_equations(table), np.ones(len(table), dtype=bool))
    for side in Side:
        witness = finder.any_deviation(Requirement(cell, 0, side, 3.0))
        assert witness is not None
        moves = [part for part in (witness.forward, witness.backward) if part is not None]
        assert sum(abs(part[np.searchsorted(witness.cells, cell)]) for part in moves) >= 3.0
        for part in moves:
            deviation = np.zeros(len(table))
            deviation[witness.cells] = part
            assert not (table.equations @ deviation).any()
            assert (deviation >= -table.values).all()


def test_rows_of_small_beside_huge_capacities_hold_for_every_pattern():
    rng = np.random.default_rng(3)
    points = ((np.arange(2**8)[:, None] >> np.arange(8)) & 1).astype(float)
    for _ in range(60):
        carried = np.where(
            rng.random(8) < 0.5, rng.integers(1, 60, 8), rng.integers(10**8, 10**12, 8)
        ).astype(float)
        level = float(rng.choice([carried[:4].sum(), carried.sum() - 3, carried.max() + 5, 4]))
        meets = points[points @ carried >= level]
        row = capacity_cut(carried, level, np.zeros(8, dtype=bool), np.ones(8, dtype=bool))
        if row is None:
            continue
        for x in rng.random((5, 8)):
            for other in [row, *strengthened(row, x, 0.0)]:
                assert all(other.violation(point) <= 1e-9 for point in meets)
        for point in points[points @ carried < level]:
            other = no_good_cut(carried, level, point > 0.5, np.ones(8, dtype=bool))
            assert other is not None and all(other.violation(good) <= 0.0 for good in meets)
        assert all(
            no_good_cut(carried, level, point > 0.5, np.ones(8, dtype=bool)) is None for point in meets
        )


def test_a_cut_against_a_safe_pattern_is_dropped_and_counted():
    problem = small_beside_huge()
    run = run_of(problem)
    safe = protect(problem, "suppress-compact").pattern.hidden
    assert run.incumbent.offer(safe) == []
    wrong, right = np.flatnonzero(~safe), np.flatnonzero(safe & run.model.representatives)
    cuts = [Cut(cells, np.ones(cells.size), 1.0, "no good") for cells in (wrong, right)]
    assert [cut.cells.tolist() for cut in run.incumbent.safe_patterns.valid(cuts)] == [right.tolist()]
    assert run.proposal().counters["cuts against safe patterns"] == 1


def test_programs_with_rows_of_extreme_size_are_solved():
    """Coefficients of 2e-8 beside costs of thousands: HiGHS ended without a status."""
    program = GrowingProgram(np.array([2e3, 4e3]), np.zeros(2), np.full(2, np.inf), np.zeros(2, dtype=bool))
    matrix = csr_array(np.array([[2e-8, 1e-8], [97.0, 0.0]]))
    program.add_rows(np.ones(2), matrix)
    solution = program.solve()
    assert solution.outcome is Outcome.OPTIMAL
    assert solution.values == pytest.approx([5e7, 0.0])


def narrow_boxes() -> Problem:
    """Cells of 4e10 that everybody knows up to 0.2, and levels of as much: floats of this size are 8e-6 apart."""
    table = three_by_two([4e10 + 0.1, 3e10 + 0.7, 2.3, 5.1, 4.4, 1e9 + 0.9], decimals=1)
    value, sensitive = table.values, [0]
    large = value > 1e8
    known = (np.where(large, value - 0.2, 0.0), np.where(large, value + 0.2, np.inf))
    levels = Levels.at(len(table), sensitive, lower=[0.2], upper=[0.2])
    return Problem.of(table, sensitive, levels, known=known, weights="unit")


@pytest.mark.parametrize("method", ["interval-partial", "interval-combined"])
def test_intervals_where_boxes_are_narrow_and_values_large(method: str) -> None:
    problem = narrow_boxes()
    params = {"asymmetry": 0.0, "grid": 0.0}
    found = protect(problem, method, params=params)
    assert found.status is Status.OPTIMAL
    assert oracle_verdict(problem, found.pattern).safe


@pytest.mark.parametrize("method", ["interval-partial", "interval-combined"])
def test_a_solver_that_fails_is_no_time_limit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GrowingProgram, "_run", lambda self, seconds: highspy.HighsModelStatus.kUnknown)
    linear = np.zeros(1, dtype=bool)
    assert GrowingProgram(np.ones(1), integral=linear).solve().outcome is Outcome.FAILED
    found = protect(small_beside_huge(), method)
    assert found.status is Status.FEASIBLE and found.audit.safe
    assert found.report.stopped_by == "finished"


def test_numbers_are_too_close_by_one_unit_in_ten_to_the_thirteen() -> None:
    """Half of an odd width is no whole unit: 15,242,594,833,938 away is far enough, a unit less is not."""
    table = Table.from_cells(
        [Dimension.flat("r", ["a", "b"])], {"r": ["a", "b"], "value": [203234597785822, 5]}, recompute=True
    )
    cell, width = table.find(r="a"), 30485189667875
    problem = Problem.of(table, [cell], Levels.at(len(table), [cell], sliding=width))
    for off, close in ((-15242594833937, True), (-15242594833938, False), (15242594833937.25, True)):
        shown = table.values.copy()
        shown[cell] += off
        pattern = Perturbation.of(shown, np.full(len(table), 1e14))
        assert bool(pattern.too_close(problem)[cell]) is close
        assert ExactProblem(problem, pattern).too_close() == ([cell] if close else [])


@pytest.mark.parametrize("method", ["perturb-cell", "perturb-cta"])
@pytest.mark.parametrize("seed", [9, 26, 38])
def test_the_certificate_agrees_on_perturbed_values_of_any_size(seed: int, method: str) -> None:
    rng = np.random.default_rng([9, seed])
    scale = str(rng.choice(["huge", "mixed", "decimals"]))
    problem = random_levels(random_case(rng, scale=scale, publishing="perturbation").problem, rng)
    try:
        result = protect(problem, method)
    except (NotApplicable, InputError):
        return
    assert result.audit.safe
    assert verify(certify(problem, result.pattern, result.audit), problem, result.pattern).proves == "safe"


def test_ends_of_a_large_reach_are_whole_units_whatever_their_noise() -> None:
    """51,697,293,471.8 - 50,000,000,000 is 1,697,293,471.8 and some noise, which is no reason to round it inward."""
    cells = {"r": ["a", "b"], "value": [47709628516.8, 47709628516.8]}
    table = Table.from_cells([Dimension.flat("r", ["a", "b"])], cells, recompute=True, decimals=1)
    parts = [table.find(r="a"), table.find(r="b")]
    problem = Problem.of(table, parts, known=(-np.inf, np.inf))
    shown, reach = table.values.copy(), np.where(np.isin(np.arange(len(table)), parts), 5e10, 0.0)
    shown[parts] = 51697293471.8, 43721963561.8
    assert shown[parts[0]] - 5e10 != 1697293471.8
    pattern = Perturbation.of(shown, reach)
    found = audit(problem, pattern, intervals=True)
    exact = exact_intervals(problem, pattern, cells=parts)
    for cell, low, high in zip(found.cells.tolist(), found.low, found.high, strict=True):
        assert (round(low * 10), round(high * 10)) == exact[cell]
    assert found.low[found.cells == parts[0]] == 1697293471.8
