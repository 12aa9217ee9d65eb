"""Subsystems are views of their parent; the optimum of one is never above the optimum of the whole, by enumeration."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tablecloak import Attacker, AttackerLevels, Dimension, InfeasibleProblem, Levels, Problem, Table, protect
from tablecloak.attacker import Subsystem
from tablecloak.testing import (
    KINDS,
    cheapest_by_enumeration,
    oracle_verdict,
    random_case,
    random_levels,
    random_problem,
)

OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
    "negative": {"negative": True},
    "all of it": {"insiders": 1, "sliding": True, "conditional": True, "negative": True},
}
NOISE = 1e-9


def grid(inner, **options):
    """A two-way table from its inner cells."""
    rows, columns = inner.shape
    names = [f"r{i}" for i in range(rows)], [f"c{j}" for j in range(columns)]
    cells = {
        "r": np.repeat(names[0], columns),
        "c": np.tile(names[1], rows),
        "value": inner.ravel(),
    }
    dimensions = [Dimension.flat(name, codes) for name, codes in zip("rc", names, strict=True)]
    return Table.from_cells(dimensions, cells, recompute=True, **options)


def optimum(problem):
    """The least cost of a safe pattern; None where there is none."""
    try:
        return protect(problem, "suppress-optimal").cost
    except InfeasibleProblem:
        return None


def safe(problem, pattern):
    """The verdict of the oracle, in exact arithmetic."""
    return oracle_verdict(problem, pattern).safe


def some_rows(problem, rng):
    """A few equations, any of them."""
    count = problem.table.equations.shape[0]
    return rng.choice(count, size=int(rng.integers(1, count + 1)), replace=False)


# ---------------------------------------------------------------------- what is copied


def test_boxes_levels_marks_units_and_weights_are_those_of_the_parent():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = random_levels(random_case(rng).problem, rng, conditional=True)
        if problem.table.equations.shape[0] == 0:
            continue
        subsystem = Subsystem.of(problem.table, some_rows(problem, rng))
        view, cells = subsystem.view(problem), subsystem.cells
        for name in ("marks", "weights", "outsider_low", "outsider_high"):
            assert np.array_equal(getattr(view, name), getattr(problem, name)[cells])
        for (_, mine), (_, its) in zip(view.levels.named(), problem.levels.named(), strict=True):
            assert np.array_equal(mine, its[cells])
        assert view.table.unit == problem.table.unit
        assert np.array_equal(view.table.units, problem.table.units[cells])
        assert np.array_equal(view.table.cell_steps, problem.table.cell_steps[cells])
        view.table.check_additive()
        names = problem.attacker_names
        for attacker, name in enumerate(view.attacker_names):
            low, high = problem.box(names.index(name))
            assert np.array_equal(view.box(attacker)[0], low[cells])
            assert np.array_equal(view.box(attacker)[1], high[cells])


def test_an_attacker_who_knows_nothing_of_the_cells_is_the_outsider():
    table = grid(np.array([[5, 6], [7, 8]]))
    cell = table.find(r="r0", c="c0")
    other = table.find(r="r1", c="c1")
    problem = Problem.of(
        table,
        [cell],
        Levels.at(len(table), [cell], 1, 1),
        attackers=[Attacker.knowing("x", [other], [8], [8])],
    )
    rows = np.flatnonzero(table.equations[:, [other]].toarray().ravel() == 0)
    assert Subsystem.of(table, rows).view(problem).attacker_names == ("outsider",)


def test_levels_an_attacker_go_with_their_cells():
    """They kept the numbers of the parent's cells: levels of other cells, or of cells that there are not."""
    table = grid(np.array([[5, 6], [7, 8]]))
    cells = [table.find(r="r0", c="c0"), table.find(r="r1", c="c1")]
    own = AttackerLevels.at(cells, lower=[2, 4], upper=[3, 5])
    problem = Problem.of(
        table,
        cells,
        Levels.at(len(table), cells, 1, 1),
        attackers=[Attacker.knowing("x", [], [], [], own), Attacker.knowing("y", cells[:1], [4], [9])],
    )
    view = Subsystem.of(table, np.array([row_of(table, "r1")])).view(problem)
    assert view.attacker_names == ("outsider", "x")
    place = np.flatnonzero(view.sensitive)
    assert [level.tolist() for level in view.required(1, place)] == [[4.0], [5.0], [0.0]]
    for seed in range(60):
        rng = np.random.default_rng(seed)
        whole = random_problem(KINDS[seed % len(KINDS)], rng)
        marked = np.flatnonzero(whole.sensitive)
        levels = AttackerLevels.at(marked, 0.0, whole.levels.upper[marked] / 2, whole.levels.sliding[marked])
        whole = replace(whole, attackers=(Attacker.knowing("x", [], [], [], levels), *whole.attackers))
        part = Subsystem.of(whole.table, some_rows(whole, rng))
        seen, inside = part.view(whole), np.flatnonzero(whole.sensitive[part.cells])
        for number, name in enumerate(seen.attacker_names):
            its = whole.required(whole.attacker_names.index(name), part.cells[inside])
            assert np.array_equal(seen.required(number, inside), its)


def test_a_view_is_small_and_goes_to_other_processes():
    rng = np.random.default_rng(0)
    table = grid(rng.integers(1, 100, (30, 30)))
    problem = Problem.of(table, [0], Levels.at(len(table), [0], 1, 1))
    subsystem = Subsystem.of(table, np.arange(3))
    view = subsystem.view(problem)
    assert len(pickle.dumps(view)) < 20_000
    again = pickle.loads(pickle.dumps(view))
    assert np.array_equal(again.weights, view.weights)
    assert (again.table.equations != view.table.equations).nnz == 0


# ---------------------------------------------------------------------- what would make bounds false


def natural(problem, row):
    """One equation made into a problem the natural way: box, unit and signs are derived from its own cells."""
    cells = Subsystem.of(problem.table, np.array([row])).cells
    return Problem.of(
        Table.from_equations(problem.table.values[cells], problem.table.equations[[row]][:, cells]),
        problem.sensitive[cells],
        Levels(*(level[cells] for _, level in problem.levels.named())),
        weights=problem.weights[cells],
        widen=True,
    )


def row_of(table, code):
    """The equation of a row: its cells are its parts and its total."""
    cells = {table.find(r=code, c=name) for name in table.dimensions[1].codes}
    return next(
        k for k in range(table.equations.shape[0]) if set(table.equations[[k]].indices.tolist()) == cells
    )


def test_a_negative_value_elsewhere_unties_the_boxes_of_a_subsystem():
    table = grid(np.array([[2, 5, 30], [1, 1, -20]]))
    cell, row = table.find(r="r0", c="c0"), row_of(table, "r0")
    problem = Problem.of(table, [cell], Levels.at(len(table), [cell], upper=20))
    view = Subsystem.of(table, np.array([row])).view(problem)
    assert (view.outsider_low == -np.inf).all()
    assert optimum(view) == 5
    assert optimum(problem) == 7
    assert optimum(natural(problem, row)) == 30  # false


def test_the_natural_slice_would_give_false_bounds():
    """With one negative value elsewhere, slices made the natural way exceed the whole's optimum; views never do."""
    false = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        inner = rng.integers(1, 40, (3, 3))
        inner[2, 2] = -50
        table = grid(inner)
        cell, row = table.find(r="r0", c="c0"), row_of(table, "r0")
        level = float(rng.integers(5, 30))
        problem = Problem.of(table, [cell], Levels.at(len(table), [cell], upper=level))
        whole = optimum(problem)
        assert optimum(Subsystem.of(table, np.array([row])).view(problem)) <= whole + NOISE
        false += optimum(natural(problem, row)) > whole + NOISE
    assert false > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_of_a_subsystem_is_never_above_that_of_the_whole(kind):
    checked = 0
    for seed, option in product(range(400, 408), OPTIONS.values()):
        rng = np.random.default_rng(seed)
        problem = random_problem(kind, rng, **option)
        if problem.table.equations.shape[0] == 0:
            continue
        view = Subsystem.of(problem.table, some_rows(problem, rng)).view(problem)
        whole, part = optimum(problem), optimum(view)
        if whole is not None:
            assert part is not None
            assert part <= whole + NOISE
            checked += 1
    assert checked > 5


def test_by_enumeration_and_the_oracle():
    """Tiny tables of all kinds and scales: unions, boxes, counts, decimals, sliding and conditional levels."""
    checked = 0
    for seed in range(120):
        rng = np.random.default_rng(seed + 9_000)
        case = random_case(rng, size="tiny")
        problem = random_levels(case.problem, rng, conditional=seed % 3 == 0)
        free = int((~problem.forced & ~problem.must_hide).sum())
        if free > 8 or problem.table.equations.shape[0] == 0:
            continue
        whole = cheapest_by_enumeration(problem, safe)
        if whole is None:
            continue
        view = Subsystem.of(problem.table, some_rows(problem, rng)).view(problem)
        part = cheapest_by_enumeration(view, safe)
        assert part is not None
        assert part <= whole + NOISE
        assert optimum(view) == pytest.approx(part)
        checked += 1
    assert checked > 20


def test_counts_keep_what_the_page_tells():
    """A total of counts is known to be at least the number of its parts: in the box of the view too."""
    table = grid(np.array([[1, 2, 3], [4, 5, 6]]), counts=True)
    cell = table.find(r="r0")
    problem = Problem.of(table, [cell], Levels.at(len(table), [cell], 1, 1))
    assert problem.outsider_low[cell] == 3
    subsystem = Subsystem.of(table, np.array([row_of(table, "r0")]))
    view = subsystem.view(problem)
    assert view.outsider_low[np.searchsorted(subsystem.cells, cell)] == 3


def test_decimals_of_the_whole_stay():
    table = grid(np.array([[1.0, 2.0], [3.25, 4.0]]))
    problem = Problem.of(table, [0], Levels.at(len(table), [0], 0.3, 0.3))
    view = Subsystem.of(table, np.array([0])).view(problem)
    assert view.table.unit == 0.01
    assert view.levels.upper.max() == problem.levels.upper.max() == 0.3


def test_other_weights():
    problem = replace(random_problem("two-way", np.random.default_rng(1)), most_touched=9)
    subsystem = Subsystem.of(problem.table, np.array([0]))
    weights = np.zeros(len(subsystem))
    view = subsystem.view(problem, weights)
    assert (view.weights == 0).all()
    assert view.most_touched is None
