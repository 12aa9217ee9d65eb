"""round-rapid: leaves to the nearest multiple, totals exact sums, and a view that tells how far they may be off."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES, flat, from_leaves, leaf_values
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods import Method, Proposal
from tablecloak.methods.round_rapid import RapidParams, round_rapid
from tablecloak.methods.rounding import Totals
from tablecloak.model import Dimension, Hierarchy, Levels, Problem, Status, Table
from tablecloak.progress import silent
from tablecloak.protection import protect

METHOD = Method(round_rapid, RapidParams, "", "")
TAKEN = [
    "two way", "two way several", "zeros published", "one hierarchy", "two hierarchies", "three way", "five way",
    "non nested", "negative values", "huge values",
]  # fmt: skip


def proposed(problem: Problem, base: float = 5.0, seed: int = 0) -> Proposal:
    """What the method proposes, before the audit."""
    rng = np.random.default_rng(seed)
    return round_rapid(problem, params=RapidParams(base), rng=rng, progress=silent)


def assert_rapid(table: Table, proposal: Proposal, base: float) -> None:
    """Leaves nearest multiples, sums exact, the truth within what is stated: in whole data units."""
    scale, pattern = 10**table.decimals, proposal.pattern
    a, v, reach, b = (
        np.rint(np.asarray(numbers) * scale).astype(np.int64)
        for numbers in (table.values, pattern.shown, pattern.base, base)
    )
    assert not (v[table.is_leaf] % b).any()
    assert (2 * np.abs(v - a)[table.is_leaf] <= b).all()
    assert (reach[table.is_leaf] == b // 2).all()
    assert (np.abs(v - a) <= reach).all()
    assert (table.equations.astype(np.int64) @ v == np.rint(table.rhs * scale)).all()
    assert proposal.counters["largest jump"] == pytest.approx(np.abs(v - a).max() / scale)


@pytest.mark.parametrize("fixture", TAKEN)
@pytest.mark.parametrize("base", [1, 4, 5])
def test_every_table_with_leaves_is_rounded(fixture: str, base: int) -> None:
    problem = FIXTURES[fixture]()
    free = Problem.of(problem.table, [])
    assert_rapid(problem.table, proposed(free, base), base)


def test_what_is_stated_is_the_number_of_leaves_and_depends_on_no_value() -> None:
    age = Dimension.of("age", Hierarchy.from_dict({"young": ["0", "1", "2"], "old": ["3", "4"]}))
    tables = [from_leaves([age, flat("sex", 2)], leaf_values(5, 2, seed=seed)) for seed in range(3)]
    stated = [proposed(Problem.of(table, []), 5).pattern.base for table in tables]
    assert stated[0].tobytes() == stated[1].tobytes() == stated[2].tobytes()
    reach = {label: stated[0][cell] for cell, label in enumerate(tables[0].labels(range(len(tables[0]))))}
    assert reach["age=0, sex=sex1"] == 2
    assert reach["age=young, sex=sex1"] == 6
    assert reach["age=young, sex=Total"] == 12
    assert reach["age=Total, sex=Total"] == 20


def test_cells_tell_their_reach_also_without_dimensions() -> None:
    made = from_leaves([flat("r", 4), flat("c", 3), flat("s", 2)], leaf_values(4, 3, 2))
    bare = Table.from_equations(made.values, made.equations)
    first, second = (proposed(Problem.of(table, []), 10).pattern for table in (made, bare))
    assert first.shown.tobytes() == second.shown.tobytes()
    assert first.base.tobytes() == second.base.tobytes()


def test_the_way_over_the_fewest_leaves_counts() -> None:
    """y = 2 p + q, and the same by the total of both: y + s = t with s = p + q, t = 3 p + 2 q."""
    equations = [[2, 1, -1, 0, 0], [1, 1, 0, -1, 0], [3, 2, 0, 0, -1], [0, 0, 1, 1, -1]]
    rows = csr_array(np.array(equations[1:]))
    leaf = np.array([True, True, False, False, False])
    long, short = Totals.of(rows, leaf), Totals.of(csr_array(np.array(equations)), leaf)
    assert long is not None
    assert short is not None
    assert long.leaves.tolist() == [1, 1, 7, 2, 5]
    assert short.leaves.tolist() == [1, 1, 3, 2, 5]
    twice = Totals.of(csr_array(np.array([[1, 1, -1, 0], [2, 2, 0, -1], [0, 0, 2, -1]])), leaf[:4])
    assert twice is not None
    assert twice.leaves.tolist() == [1, 1, 2, 4]


def test_leaves_that_are_tied_or_not_enough_give_no_totals() -> None:
    leaf = np.array([True, True, False])
    assert Totals.of(csr_array(np.array([[1, 1, -1], [1, -1, 0]])), leaf) is None
    assert Totals.of(csr_array(np.array([[1, 0, -1], [0, 1, -1]])), leaf) is None
    assert Totals.of(csr_array(np.array([[1, 1, -2]])), leaf) is None
    assert Totals.of(csr_array(np.array([[1, 1, 0]])), leaf) is None


def test_values_halfway_go_both_ways_and_the_seed_decides() -> None:
    table = from_leaves([flat("r", 20), flat("c", 20)], np.full((20, 20), 5))
    problem = Problem.of(table, [])
    shown = [proposed(problem, 10, seed).pattern.shown for seed in (1, 1, 2)]
    assert shown[0].tobytes() == shown[1].tobytes()
    assert shown[0].tobytes() != shown[2].tobytes()
    ups = np.count_nonzero(shown[0][table.is_leaf] == 10)
    assert 150 < ups < 250


def test_small_counts_all_vanish_and_the_jump_says_so() -> None:
    table = from_leaves([flat("r", 10), flat("c", 10)], np.full((10, 10), 2))
    result = protect(Problem.of(table, []), METHOD)
    assert not result.pattern.shown.any()
    assert result.report.counters["largest jump"] == 200
    assert result.report.counters["largest stated distance"] == 200
    assert result.status is Status.FEASIBLE
    assert result.bound is None


def test_the_audit_names_what_is_open() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], leaf_values(3, 3, low=1))
    cell = table.find(r="r1", c="c1")
    wide = protect(Problem.of(table, [cell], Levels.at(len(table), [cell], sliding=4)), METHOD)
    assert wide.audit.safe
    narrow = protect(Problem.of(table, [cell], Levels.at(len(table), [cell], sliding=5)), METHOD)
    assert narrow.audit.open_cells.tolist() == [cell]


def test_decimals_zeros_a_single_cell_and_huge_values() -> None:
    tenths = from_leaves([flat("r", 4), flat("c", 3)], leaf_values(4, 3, high=400) / 10)
    assert_rapid(tenths, proposed(Problem.of(tenths, []), 0.5), 0.5)
    zeros = from_leaves([flat("r", 3), flat("c", 2)], np.zeros((3, 2)))
    assert not proposed(Problem.of(zeros, []), 5).pattern.shown.any()
    single = Table.from_equations([7], [])
    assert proposed(Problem.of(single, []), 5).pattern.shown.tolist() == [5]
    large = from_leaves([flat("r", 3), flat("c", 3)], 10**15 // 9 + leaf_values(3, 3))
    assert_rapid(large, proposed(Problem.of(large, []), 3), 3)


def test_the_largest_totals_are_rounded_exactly() -> None:
    """Ten parts of 6 go up by 4 each, next to the largest number of units that a table holds."""
    large = 2**52 - 10 - 2**52 % 10 - 60
    table = Table.from_equations([*[6] * 10, large, large + 60], [[*[1] * 11, -1]])
    assert_rapid(table, proposed(Problem.of(table, []), 10), 10)


def test_right_hand_sides_are_kept() -> None:
    table = Table.from_equations([3, 4, 9, 7], [[1, 1, -1, 0], [0, 0, 1, -1]], [-2, 2])
    assert_rapid(table, proposed(Problem.of(table, []), 5), 5)


@pytest.mark.parametrize("fixture", ["linked", "responses", "any equations"])
def test_tables_without_free_leaves_are_refused(fixture: str) -> None:
    with pytest.raises(NotApplicable, match="leaf cells") as caught:
        proposed(Problem.of(FIXTURES[fixture]().table, []))
    assert caught.value.instead == ("round-controlled",)


def test_forced_cells_stay_or_are_named() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], np.array([[10, 3, 4], [0, 6, 8], [1, 1, 3]]))
    leaf = table.find(r="r1", c="c1")
    kept = protect(Problem.of(table, [], forced=[leaf], hide_zeros=False), METHOD)
    assert kept.pattern.shown[leaf] == 10
    with pytest.raises(InputError, match="r=r1, c=c2"):
        proposed(Problem.of(table, [], forced=[table.find(r="r1", c="c2")]))
    total = table.find(r="r3")
    assert kept.pattern.shown[total] == table.values[total] == 5
    protect(Problem.of(table, [], forced=[total]), METHOD)
    moved = from_leaves([flat("r", 2), flat("c", 2)], np.array([[3, 7], [1, 4]]))
    assert proposed(Problem.of(moved, [])).pattern.shown[moved.find(r="r1")] == 10
    odd = from_leaves([flat("r", 2), flat("c", 3)], np.array([[1, 2, 2], [1, 4, 0]]))
    with pytest.raises(NotApplicable, match="r=r1, c=Total") as caught:
        proposed(Problem.of(odd, [], forced=[odd.find(r="r1"), odd.find(r="r2")]))
    assert "r=r2" not in str(caught.value)
    assert caught.value.instead == ("round-controlled",)


@pytest.mark.parametrize("base", [0, -5, float("nan"), 0.5])
def test_a_bad_base_is_refused(base: object) -> None:
    with pytest.raises(InputError, match="base"):
        protect(FIXTURES["three way"](), METHOD, params={"base": base})
