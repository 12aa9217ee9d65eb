"""round-random: additive, adjacent, unbiased, exact; and honest about what it cannot take."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods import Method, Proposal
from tablecloak.methods.round_random import RandomParams, round_random
from tablecloak.model import Dimension, Hierarchy, Levels, Problem, Result, Status, Table
from tablecloak.progress import silent
from tablecloak.protection import protect
from two_way import FIGURE_004, TwoWay

METHOD = Method(round_random, RandomParams, "", "")
NETWORKS = [
    "two way", "two way several", "unit weights", "zeros published", "one hierarchy", "negative values", "huge values",
]  # fmt: skip


def proposed(problem: Problem, base: float = 5.0, seed: int = 0) -> Proposal:
    """What the method proposes, before the audit."""
    rng = np.random.default_rng(seed)
    return round_random(problem, params=RandomParams(base), rng=rng, progress=silent)


def rounded(problem: Problem, base: float = 5.0, seed: int = 0) -> Result:
    return protect(problem, METHOD, params={"base": base}, seed=seed)


def assert_rounded(table: Table, shown: np.ndarray, base: float) -> None:
    """Adjacent multiples only, multiples kept, all sums exact: in whole data units."""
    scale = 10**table.decimals
    a, v, b = (
        np.rint(np.asarray(numbers) * scale).astype(np.int64) for numbers in (table.values, shown, base)
    )
    assert not (v % b).any()
    assert (np.abs(v - a) < b).all()
    assert (table.equations.astype(np.int64) @ v == np.rint(table.rhs * scale)).all()


def hierarchical(rows: int = 6, columns: int = 5, seed: int = 2) -> Table:
    codes = {f"g{i}": [f"g{i}{j}" for j in range(3)] for i in range(rows)}
    counts = np.random.default_rng(seed).integers(0, 40, size=(3 * rows, columns))
    return from_leaves([Dimension.of("r", Hierarchy.from_dict(codes)), flat("c", columns)], counts)


@pytest.mark.parametrize("fixture", NETWORKS)
@pytest.mark.parametrize("base", [1, 3, 10])
def test_every_network_is_rounded(fixture: str, base: int) -> None:
    problem = FIXTURES[fixture]()
    if problem.forced.any():
        problem = Problem.of(problem.table, problem.sensitive, problem.levels)
    for seed in range(5):
        assert_rounded(problem.table, proposed(problem, base, seed).pattern.shown, base)


def test_the_result_is_audited_and_names_what_is_open() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 10, 12)
    result = rounded(problem, 10)
    assert result.status is Status.FEASIBLE
    assert result.bound is None
    assert result.report.method == "round-random"
    view = result.pattern.view(problem)
    assert (view.high - view.low == 20).all()
    assert (view.low <= problem.table.values).all()
    assert (view.high >= problem.table.values).all()
    small = rounded(problem, 3)
    assert not small.audit.safe
    assert problem.table.labels(small.audit.open_cells) == ["row=2, column=3"]
    assert rounded(problem, 40).audit.safe


def test_the_mean_of_many_draws_is_the_truth() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], np.array([[1, 2, 8], [3, 4, 6], [2, 2, 1]]))
    problem, base, times = Problem.of(table, []), 5, 3_000
    draws = [proposed(problem, base, seed).pattern.shown for seed in range(times)]
    residue = table.values % base
    error = np.sqrt(residue * (base - residue) / times)
    assert (np.abs(np.mean(draws, axis=0) - table.values) <= 4 * error).all()
    assert len({draw.tobytes() for draw in draws}) > 20


def test_same_seed_same_bytes() -> None:
    problem = Problem.of(hierarchical(), [])
    first, again, other = (proposed(problem, 5, seed).pattern.shown.tobytes() for seed in (4, 4, 5))
    assert first == again
    assert first != other


def test_a_hierarchy_in_one_dimension() -> None:
    table = hierarchical()
    for seed in range(20):
        assert_rounded(table, proposed(Problem.of(table, []), 7, seed).pattern.shown, 7)


def test_one_way_tables_and_cells_in_no_equation() -> None:
    table = from_leaves([flat("r", 7)], leaf_values(7, low=1))
    assert_rounded(table, proposed(Problem.of(table, []), 5).pattern.shown, 5)
    free = Table.from_equations([3, 4, 7, 9], [[1, 1, -1, 0]])
    shown = [proposed(Problem.of(free, []), 5, seed).pattern.shown for seed in range(50)]
    for numbers in shown:
        assert_rounded(free, numbers, 5)
    assert {numbers[3] for numbers in shown} == {5.0, 10.0}


def test_nothing_but_zeros_and_a_single_cell() -> None:
    zeros = from_leaves([flat("r", 3), flat("c", 2)], np.zeros((3, 2)))
    assert not proposed(Problem.of(zeros, []), 5).pattern.shown.any()
    single = Table.from_equations([7], [])
    assert {proposed(Problem.of(single, []), 5, seed).pattern.shown[0] for seed in range(30)} == {5.0, 10.0}


def test_decimals_and_huge_values() -> None:
    table = from_leaves([flat("r", 4), flat("c", 3)], leaf_values(4, 3, high=400) / 10)
    assert table.decimals == 1
    for seed in range(10):
        assert_rounded(table, proposed(Problem.of(table, []), 0.5, seed).pattern.shown, 0.5)
    large = from_leaves([flat("r", 3), flat("c", 3)], 10**15 // 9 + leaf_values(3, 3))
    for seed in range(10):
        assert_rounded(large, proposed(Problem.of(large, []), 3, seed).pattern.shown, 3)


def test_forced_cells_stay_or_are_all_named() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], np.array([[10, 3, 4], [0, 6, 8], [1, 2, 0]]))
    kept = [table.find(r="r1", c="c1"), table.find(r="r2", c="c1")]
    result = rounded(Problem.of(table, [], forced=kept, hide_zeros=False), 5)
    assert (result.pattern.shown[kept] == table.values[kept]).all()
    wrong = [table.find(r="r1", c="c2"), table.find(r="r2", c="c3")]
    with pytest.raises(InputError) as caught:
        rounded(Problem.of(table, [], forced=[*kept, *wrong]), 5)
    assert len(caught.value.faults) == 2
    assert "r=r2, c=c3" in caught.value.faults[1]


@pytest.mark.parametrize("base", [0, -5, float("nan"), float("inf"), 0.5, "2.5"])
def test_a_bad_base_is_refused(base: object) -> None:
    with pytest.raises(InputError, match="base"):
        protect(FIXTURES["two way"](), METHOD, params={"base": base})


@pytest.mark.parametrize("fixture", ["three way", "two hierarchies", "linked", "any equations"])
def test_other_tables_are_refused_with_what_can_take_them(fixture: str) -> None:
    with pytest.raises(NotApplicable, match="two-way") as caught:
        proposed(FIXTURES[fixture]())
    assert caught.value.instead == ("round-controlled",)


def test_right_hand_sides_must_be_multiples() -> None:
    table = Table.from_equations([3, 4, 9], [[1, 1, 1]], [16])
    with pytest.raises(NotApplicable, match="right-hand sides"):
        proposed(Problem.of(table, []), 5)
    assert_rounded(table, proposed(Problem.of(table, []), 8).pattern.shown, 8)


def test_insiders_and_conditional_widths_are_left_to_the_audit() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], leaf_values(3, 3, low=1))
    levels = Levels.of(len(table), conditional=np.full(len(table), 30.0))
    result = rounded(Problem.of(table, [], levels), 5)
    assert result.audit.open_cells.size == np.count_nonzero(result.pattern.shown != table.values)


def test_a_quarter_of_a_million_cells_take_seconds() -> None:
    table = from_leaves([flat("r", 500), flat("c", 500)], leaf_values(500, 500, high=500))
    proposal = proposed(Problem.of(table, []), 5)
    assert_rounded(table, proposal.pattern.shown, 5)
    assert proposal.counters["cycles"] > 0
