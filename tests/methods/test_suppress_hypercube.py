"""suppress-hypercube: each target has a hypercube of hidden cells in each of its subtables, by enumeration."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import numpy as np
import pytest

from tablecloak import Dimension, Levels, Microdata, Problem, audit, protect, tabulate
from tablecloak.attacker import Subtables
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.suppress_hypercube import HypercubeParams, _largest, _Product, suppress_hypercube
from tablecloak.model import Suppression
from tablecloak.progress import TimeUp, silent
from tablecloak.solvers import kernels
from tablecloak.testing import KINDS, random_problem
from tablecloak.testing.instances import nested
from tablecloak.testing.random_cases import flat, table_of_leaves

SHAPES = {
    "one dimension": [flat("a", 5)],
    "two-way": [flat("a", 4), flat("b", 5)],
    "three-way": [flat("a", 3), flat("b", 3), flat("c", 4)],
    "hierarchies": [nested("t", (2, 3)), nested("u", (3, 2))],
}


def problem_over(dimensions, seed, share=0.15, zeros=0.1):
    rng = np.random.default_rng(seed)
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    leaves = rng.integers(1, 100, shape) * (rng.random(shape) > zeros)
    table = table_of_leaves(dimensions, leaves)
    sensitive = table.is_leaf & (rng.random(len(table)) < share) & (table.values > 0)
    level = np.where(sensitive, np.ceil(0.1 * table.values), 0.0)
    return Problem.of(table, sensitive, Levels.of(len(table), level, level), hide_zeros=False)


def own(problem, **params):
    """The method's own pattern: no clean-up, and no repair where nothing is open."""
    given = HypercubeParams(clean_up=False, **params)
    return suppress_hypercube(problem, params=given, rng=np.random.default_rng(0), progress=silent)


def products(problem):
    table = problem.table
    places = [place for place in Subtables(table).hierarchical() if any(place.sizes)]
    return [_Product(place, table.is_virtual) for place in _largest(places)]


def cubes(table, cell):
    """The hypercubes of a cell by enumeration of the codes: corners with signs, or None where one is missing."""
    at, place = table.at[cell], np.full(table.shape, -1)
    place[tuple(table.at.T)] = np.arange(table.cells.size)
    for opposite in product(*(range(size) for size in table.shape)):
        if any(code == other for code, other in zip(at, opposite, strict=True)):
            continue
        corners = {}
        for moved in product((False, True), repeat=len(opposite)):
            code = tuple(int(o if m else c) for o, m, c in zip(opposite, moved, at, strict=True))
            sign = 1.0
            for axis, m in enumerate(moved):
                if m and not (table.total[axis][opposite[axis]] or table.total[axis][at[axis]]):
                    sign = -sign
            corners[int(place[code])] = sign
        yield None if -1 in corners else {int(table.cells[place]): sign for place, sign in corners.items()}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_hypercubes_are_deviations_of_their_subtable(shape):
    problem = problem_over(SHAPES[shape], 1, zeros=0.0)
    matrix = problem.table.equations
    for table in products(problem):
        inside = [
            row
            for row in range(matrix.shape[0])
            if np.isin(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]], table.cells).all()
        ]
        assert len(inside) > 0
        for cube in cubes(table, 0):
            deviation = np.zeros(len(problem.table))
            deviation[list(cube)] = list(cube.values())
            assert not (matrix[inside] @ deviation).any()


DIVISORS = np.array([1.0, 2.0, 3.0, np.inf])


def by_rank(table, place, arrays, margin_cost, without=()):
    """The place in order and the corners of the hypercubes of a cell that can move, by their rank: an enumeration."""
    hidden, movable, single, up, down, lower, upper, sliding, cost = arrays
    own = int(table.cells[place])
    margin = dict(zip(table.cells.tolist(), table.margin.tolist(), strict=True))
    ranked = []
    for cube in cubes(table, place):
        if cube is None or not all(movable[cell] for cell in cube) or set(cube) & set(without):
            continue
        rise = min(up[cell] if sign > 0 else down[cell] for cell, sign in cube.items())
        fall = min(down[cell] if sign > 0 else up[cell] for cell, sign in cube.items())
        if rise + fall <= 0:
            continue
        divisor = next(
            k
            for k, by in enumerate(DIVISORS)
            if rise + fall >= sliding[own] / by and rise >= upper[own] / by and fall >= lower[own] / by
        )
        new = [cell for cell in cube if not hidden[cell]]
        alone = sum(bool(single[cell]) for cell in cube if cell != own)
        price = sum(cost[cell] + margin_cost * margin[cell] for cell in new)
        ranked.append(((divisor, bool(new), alone, len(new), price), frozenset(cube)))
    return sorted(ranked, key=lambda each: each[0])


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("singletons", [False, True])
def test_the_first_hypercube_is_the_one_of_an_enumeration(shape, seed, singletons):
    problem = problem_over(SHAPES[shape], seed)
    rng = np.random.default_rng(seed)
    size = len(problem.table)
    single = rng.random(size) < 0.2
    up, down = np.floor(rng.uniform(0, 30, (2, size)))
    lower, upper, sliding = rng.uniform(0, 25, (3, size)) * (rng.random((3, size)) < 0.5)
    cost = rng.uniform(0, 10, size)
    for table in products(problem):
        movable, hidden = rng.random(size) < 0.9, rng.random(size) < 0.3
        for place in range(table.cells.size):
            own = int(table.cells[place])
            before = hidden.copy()
            before[own] = True
            after = before.copy()
            marks = tuple(each.view(np.uint8) for each in (after, movable, single))
            targets = kernels.HypercubeTargets(
                marks, (up, down), (lower, upper, sliding), cost, DIVISORS, 100.0, singletons
            )
            counts = kernels.hide_hypercubes(table.search(targets), np.array([place]), None)
            arrays = (before, movable, single & singletons, up, down, lower, upper, sliding, cost)
            ranked = by_rank(table, place, arrays, 100.0) if movable[own] else []
            if not ranked:
                assert counts.tolist() == [0, 1, 0, 0, 0]
                assert (after == before).all()
                continue
            rank, cube = ranked[0]
            expected = before.copy()
            expected[list(cube)] = True
            singles = [cell for cell in cube if cell != own and single[cell]]
            if singletons and singles:
                wide = [
                    (key[1:], other)
                    for key, other in by_rank(
                        table, place, (expected, *arrays[1:]), 100.0, without=singles
                    )
                    if key[0] <= rank[0]
                ]
                assert counts[3:].tolist() == ([1, 0] if wide else [0, 1])
                if wide:
                    expected[list(min(wide, key=lambda each: each[0])[1])] = True
            assert counts[2] == rank[0]
            assert (after == expected).all()


def test_a_search_in_a_large_table_stops_when_it_is_told():
    problem = problem_over([flat("a", 60), flat("b", 60), flat("c", 60)], 0)
    (table,) = products(problem)
    size = len(problem.table)
    marks = tuple(np.ones(size, dtype=np.uint8) * k for k in (0, 1, 0))
    never = np.full(size, 1e9)
    room = (np.ones(size), np.ones(size))
    targets = kernels.HypercubeTargets(marks, room, (never, never, never), room[0], DIVISORS, 1.0, True)
    with pytest.raises(TimeUp):
        kernels.hide_hypercubes(table.search(targets), np.arange(200), lambda: True)


@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("protection", ["sliding", "symmetric"])
def test_every_sensitive_cell_has_a_hypercube_in_each_of_its_subtables(shape, protection):
    for seed in range(5):
        problem = problem_over(SHAPES[shape], seed)
        proposal = own(problem, protection=protection)
        if proposal.counters["added by repair"] or proposal.counters.get("widths lowered"):
            continue
        hidden, value = proposal.pattern.hidden, problem.table.values
        for table in products(problem):
            for place in np.flatnonzero(problem.sensitive[table.cells]).tolist():
                cell = int(table.cells[place])
                widths = [(0.0, 0.0)]
                for cube in cubes(table, place):
                    if cube is not None and hidden[list(cube)].all():
                        rise = min((value[c] for c, sign in cube.items() if sign < 0), default=np.inf)
                        fall = min(value[c] for c, sign in cube.items() if sign > 0)
                        widths.append((rise, fall))
                lower, upper = problem.levels.lower[cell], problem.levels.upper[cell]
                if protection == "symmetric":
                    assert any(rise >= upper and fall >= lower for rise, fall in widths)
                else:
                    assert any(rise + fall >= lower + upper for rise, fall in widths)


@pytest.mark.parametrize("seed", range(6))
def test_symmetric_protection_of_a_flat_table_leaves_nothing_open(seed):
    """A table without hierarchies is one subtable: its hypercubes are deviations of the whole."""
    problem = problem_over(SHAPES["two-way"], seed)
    proposal = own(problem, protection="symmetric")
    if not proposal.counters.get("widths lowered") and not proposal.counters.get("cells without a hypercube"):
        assert proposal.counters["own open cells"] == 0
        assert audit(problem, Suppression.copy_of(proposal.pattern.hidden)).safe


def test_zeros_and_forced_cells_are_no_corners():
    problem = problem_over(SHAPES["three-way"], 3, zeros=0.3)
    hidden = own(problem).pattern.hidden
    assert not hidden[problem.forced].any()
    assert not hidden[problem.table.values == 0].any()


def survey(alone):
    """Three regions and three branches; in these cells (region, branch) there is one firm."""
    rows = []
    for region, branch in product("nsw", "abc"):
        for k in range(1 if (region, branch) in alone else 3):
            rows.append(
                (region, branch, f"{region}{branch}{k}", 30.0 if (region, branch) in alone else 10.0 + k)
            )
    frame = {
        name: [row[k] for row in rows] for k, name in enumerate(("region", "branch", "firm", "turnover"))
    }
    dimensions = [Dimension.flat("region", ["n", "s", "w"]), Dimension.flat("branch", ["a", "b", "c"])]
    return tabulate(Microdata(frame, respondent="firm"), dimensions, "turnover")


@pytest.mark.parametrize("singletons", [True, False])
def test_a_single_respondent_is_never_the_corner_of_the_only_hypercube(singletons):
    """n a and s b have one firm each and are corners of one hypercube: without the rule it is the only one."""
    alone = {("n", "a"), ("s", "b")}
    table = survey(alone)
    cells = [table.find(region=region, branch=branch) for region, branch in sorted(alone)]
    forced = [table.find(region="w", branch="c")]
    problem = Problem.of(table, cells, Levels.at(len(table), cells, 3, 3), forced=forced)
    proposal = own(problem, singletons=singletons)
    (only,) = products(problem)
    hidden = proposal.pattern.hidden
    for cell, other in (cells, cells[::-1]):
        place = int(np.flatnonzero(only.cells == cell)[0])
        safe = [
            cube
            for cube in cubes(only, place)
            if cube is not None and hidden[list(cube)].all() and other not in cube
        ]
        if singletons:
            assert safe


def test_widths_are_lowered_where_no_hypercube_is_wide_enough():
    table = table_of_leaves([flat("a", 2), flat("b", 2)], np.array([[100, 3], [2, 4]]))
    cell = int(np.flatnonzero(table.values == 100)[0])
    level = np.where(np.arange(len(table)) == cell, 90.0, 0.0)
    problem = Problem.of(table, [cell], Levels.of(len(table), level, level))
    result = protect(problem, "suppress-hypercube")
    assert result.audit.safe
    assert result.report.counters["own cells"] >= 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("costs", ["log", "weight"])
def test_any_table(kind, costs):
    params = {"costs": costs, "a_priori": 0.5, "singletons": False}
    protected = 0
    for seed in range(6):
        problem = random_problem(kind, np.random.default_rng(seed))
        with suppress(InfeasibleProblem):
            assert protect(problem, "suppress-hypercube", params=params).audit.safe
            protected += 1
    assert protected


@pytest.mark.parametrize(("params", "fault"), [({"ratio": -0.1}, "ratio"), ({"a_priori": 0.0}, "a_priori")])
def test_wrong_parameters(params, fault):
    with pytest.raises(InputError, match=fault):
        protect(problem_over(SHAPES["two-way"], 0), "suppress-hypercube", params=params)


def test_a_limit_leaves_a_safe_pattern():
    problem = problem_over(SHAPES["hierarchies"], 0)
    assert protect(problem, "suppress-hypercube", params={"seconds": 0.01}).audit.safe
