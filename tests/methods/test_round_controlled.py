"""round-controlled: the optimum, what is left open, steps, bases, exact sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak import publish
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, SolverError, UnsafePublication
from tablecloak.model import Dimension, Levels, Problem, Result, Rounding, Status, Table
from tablecloak.protection import protect
from tablecloak.testing import KINDS, assert_protected, random_problem
from two_way import FIGURE_004, TwoWay


def figure(lower: float = 10, upper: float = 12, **options: object) -> Problem:
    return TwoWay(FIGURE_004).problem([(2, 3)], lower, upper, weights=np.ones(16), **options)


def rounded(problem: Problem, **params: object) -> Result:
    """Rounded, and checked: adjacent multiples, exact sums."""
    result = protect(problem, "round-controlled", params=params)
    pattern, table = result.pattern, problem.table
    assert isinstance(pattern, Rounding)
    assert (
        np.abs(table.equations @ pattern.shown - table.rhs).max(initial=0.0)
        <= 1e-9 * np.abs(table.values).max()
    )
    assert (np.abs(pattern.shown - table.values) <= pattern.base + 1e-9).all()
    assert result.bound is None or result.bound <= result.cost * (1 + 1e-9) + 1e-9
    return result


@pytest.mark.parametrize(("base", "cost"), [(10.0, 24.0), (5.0, 16.0), (3.0, 16.0)])
def test_v004_4_the_nearest_roundings(base: float, cost: float) -> None:
    problem = figure()
    result = rounded(problem, base=base, protect=False)
    assert (result.status, result.cost) == (Status.FEASIBLE, cost)
    assert (result.pattern.shown % base == 0).all()


def test_what_no_rounding_protects_is_named_and_not_published_without_a_reason() -> None:
    problem = figure()
    result = rounded(problem, base=10.0)
    assert result.status is Status.FEASIBLE and result.cost == 24.0
    assert problem.table.labels(result.audit.open_cells) == ["row=2, column=3"]
    assert "no rounding with these bases protects every cell" in result.report.notes[0]
    with pytest.raises(UnsafePublication, match="row=2, column=3"):
        publish(problem, result)
    reason = "agreed with the head of unit, 16 November"
    assert publish(problem, result, despite=reason).despite == reason


@pytest.mark.parametrize("model", ["second", "first"])
def test_protection_is_imposed_where_it_can_be(model: str) -> None:
    problem = figure()
    result = rounded(problem, base=20.0, model=model)
    assert (result.status, result.cost, result.bound) == (Status.OPTIMAL, 84.0, 84.0)
    assert_protected(problem, result.pattern)
    dearer = figure(5, 8)
    assert rounded(dearer, base=10.0, model=model).audit.safe


def cube() -> Problem:
    codes = [[f"{name}{i}" for i in range(2)] for name in "rcd"]
    places = np.indices((2, 2, 2)).reshape(3, -1)
    cells = {name: np.array(codes[k])[places[k]] for k, name in enumerate("rcd")}
    table = Table.from_cells(
        [Dimension.flat(name, codes[k]) for k, name in enumerate("rcd")],
        {**cells, "value": np.where(places.sum(axis=0) % 2 == 0, 5.0, 0.0)},
        recompute=True,
    )
    return Problem.of(table, [], Levels.of(len(table), 0, 0), weights=np.ones(len(table)))


def test_v_cr3_no_rounding_of_the_cube_without_steps() -> None:
    with pytest.raises(InfeasibleProblem, match="adds up"):
        protect(cube(), "round-controlled", params={"base": 10.0, "steps": 0})
    result = rounded(cube(), base=10.0)
    assert (result.status, result.cost, result.report.counters["steps"]) == (Status.OPTIMAL, 90.0, 1)
    assert isinstance(result.pattern, Rounding) and (result.pattern.base == 20.0).all()
    assert "adds up" in result.report.notes[0]


def test_bases_by_kind_and_by_cell() -> None:
    problem = figure(0, 0)
    leaf = problem.table.is_leaf
    both = rounded(problem, base=5.0, totals=10.0, steps=1)
    assert (both.pattern.shown[leaf] % 5 == 0).all() and (both.pattern.shown[~leaf] % 10 == 0).all()
    bases = np.full(16, 5.0)
    bases[1] = 0.0  # 50, shown exactly and said to be exact
    kept = rounded(problem, bases=bases.tolist()).pattern
    assert isinstance(kept, Rounding) and kept.shown[1] == 50 and kept.base.tolist() == bases.tolist()
    bases[4] = 0.0  # 8 among multiples of 5: no rounding adds up
    refused(problem, [4], bases=bases.tolist())


def refused(problem: Problem, cells: list[int], **params: object) -> str:
    """The words of a refusal that names exactly these cells, and no number of the table."""
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, "round-controlled", params=params)
    labels = problem.table.labels(np.array(cells, dtype=np.int64))
    words = str(caught.value)
    assert list(caught.value.forced) == labels
    assert all(label in words for label in labels)
    return words


def plain(values: list[list[int]], **options: object) -> Problem:
    """A two-way table with its totals, all weights 1, nothing sensitive."""
    grid = TwoWay(values)
    return grid.problem([], 0, 0, weights=np.ones(len(grid.table)), **options)


def test_forced_cells_that_are_no_multiples_are_named() -> None:
    """Cells are in rows of four, the total last: 20 51 10 81, 8 19 22 49, 28 70 32 130."""
    values = [[20, 51, 10], [8, 19, 22]]
    words = refused(plain(values, forced=[11]), [11], base=7.0)
    assert "no rounding with these bases adds up: 1 cell that must keep the true value" in words
    assert "130" not in words
    assert rounded(plain(values, forced=[11]), base=10.0).pattern.shown[11] == 130, "a multiple is no trouble"
    refused(plain(values, forced=[5, 11]), [5], base=10.0)
    refused(plain(values, forced=[0, 4, 5]), [4, 5], base=10.0)


def test_cells_that_keep_their_values_may_make_up_for_each_other() -> None:
    """3 and 7 are no multiples of 5, and 10 is: no equation is in trouble."""
    problem = plain([[3, 7], [7, 3]], forced=[0, 1, 3, 4])
    shown = rounded(problem, base=5.0).pattern.shown
    assert np.array_equal(shown, problem.table.values)


def test_where_all_divides_the_program_finds_who_is_in_the_way() -> None:
    """The cube again: its 11 multiples of 10 keep their values, which divide every equation; still nothing adds up."""
    problem = cube()
    table = problem.table
    kept = [k for k in range(len(table)) if table.values[k] % 10 == 0]
    bases = np.full(len(table), 10.0)
    bases[kept] = 0.0
    words = refused_any(problem, bases=bases.tolist())
    assert "would have to change" in words and "within 3 steps" in words


def refused_any(problem: Problem, **params: object) -> str:
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, "round-controlled", params=params)
    assert caught.value.forced
    return str(caught.value)


def test_multiples_that_do_not_move_are_not_touched() -> None:
    """Of the 27 cells of the cube 16 are no multiples of 10: four 5s and the twelve sums of a 5 and a 0."""
    values = cube().table.values
    least = int((values % 10 != 0).sum())
    assert least == 16
    free = rounded(cube(), base=10.0, steps=1)
    many = int((free.pattern.shown != values).sum())
    assert least < many < 27
    tight = rounded(replace(cube(), most_touched=many), base=10.0, steps=1)
    assert tight.cost == free.cost and int(tight.pattern.touched(cube()).sum()) <= many
    fewest = least
    while True:
        try:
            found = rounded(replace(cube(), most_touched=fewest), base=10.0, steps=1)
            break
        except InfeasibleProblem as refusal:
            assert f"at most {fewest} cells touched" in str(refusal)
            fewest += 1
    assert least < fewest <= many and found.audit.safe
    assert int(found.pattern.touched(cube()).sum()) == fewest
    with pytest.raises(InfeasibleProblem, match="no multiples of their base"):
        rounded(replace(cube(), most_touched=least - 1), base=10.0, steps=1)


@pytest.mark.parametrize("kind", KINDS)
def test_random_tables_add_up_and_are_safe_or_say_what_is_open(kind: str) -> None:
    for seed in range(4):
        problem = random_problem(kind, np.random.default_rng([seed, 41]), insiders=1)
        try:
            result = rounded(problem, base=5.0, seconds=20.0)
        except (NotApplicable, InfeasibleProblem):
            continue
        forced = problem.forced
        assert np.array_equal(result.pattern.view(problem).shown[forced], problem.table.values[forced])
        assert result.audit.safe or result.report.notes


def test_decimals_huge_values_and_limits() -> None:
    grid = TwoWay([[1.5, 2.5], [3.0, 0.5]])
    table = Table.from_cells(
        list(grid.table.dimensions),
        {
            "row": np.repeat(["1", "2"], 2),
            "column": np.tile(["1", "2"], 2),
            "value": np.array([1.3, 2.6, 3.1, 0.4]),
        },
        recompute=True,
        decimals=1,
    )
    small = Problem.of(table, [], Levels.of(9, 0, 0))
    assert np.allclose(np.mod(rounded(small, base=0.5).pattern.shown * 2, 1), 0)
    huge = TwoWay([[10**14 + 1, 10**14 + 3], [10**13 + 4, 7]]).problem([], 0, 0, weights=np.ones(9))
    assert (np.mod(rounded(huge, base=5.0).pattern.shown, 5) == 0).all()
    without_time = protect(figure(), "round-controlled", params={"seconds": 0.0})
    reach = 5 * (without_time.report.counters["steps"] + 1)
    assert without_time.status is Status.TIME_LIMIT
    assert not (figure().table.equations @ without_time.pattern.shown).any()
    assert (np.abs(without_time.pattern.shown - figure().table.values) <= reach).all()
    with pytest.raises(SolverError, match="round-rapid"):  # several bases: nothing to fall back on
        protect(figure(), "round-controlled", params={"seconds": 0.0, "totals": 10.0})


def test_bad_parameters() -> None:
    for params, fault in (
        ({"base": 0.0}, "above zero"),
        ({"base": float("nan")}, "takes a number, not nan"),
        ({"base": 2.5}, "multiple of the data unit"),
        ({"bases": [1.0, 2.0]}, "expected 16 numbers"),
        ({"steps": -1}, "steps"),
        ({"model": "third"}, "model"),
    ):
        with pytest.raises(InputError, match=fault):
            protect(figure(), "round-controlled", params=params)
    with pytest.raises(NotApplicable):
        protect(figure(hidden=[0]), "round-controlled")
    with pytest.raises(InfeasibleProblem, match="no multiples of their base"):
        protect(figure(most_touched=5), "round-controlled", params={"base": 10.0, "steps": 0})
