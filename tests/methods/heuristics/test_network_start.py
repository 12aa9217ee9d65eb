"""Cheapest deviations from a network part: the part is a network, and the cost is that of the whole program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES
from tablecloak.attacker import DeviationBounds, orient, without_empty_rows, working_columns
from tablecloak.methods.heuristics import CheapestDeviationProgram
from tablecloak.methods.heuristics.network_start import NetworkStartProgram, network_part
from tablecloak.protection import protect
from tablecloak.solvers import SimplexOptions
from tablecloak.testing import KINDS, assert_protected, random_problem
from tablecloak.testing.instances import three_way_generator_two

PROGRAMS = ("dual", "network", "interior", "central")


def matrix_of(problem):
    return without_empty_rows(working_columns(problem.table)[:, np.flatnonzero(~problem.forced)])


@pytest.mark.parametrize("kind", KINDS)
def test_the_part_is_a_network_that_no_equation_can_join(kind):
    for seed in range(12):
        rows = csr_array(matrix_of(random_problem(kind, np.random.default_rng(seed))))
        part = network_part(rows)
        assert orient(rows[part]) is not None
        for row in np.flatnonzero(~part):
            more = part.copy()
            more[row] = True
            assert orient(rows[more]) is None


def test_of_a_flat_three_way_table_all_equations_of_two_dimensions():
    rows = csr_array(working_columns(three_way_generator_two(4, 5, 6, 5, 1).table))
    assert network_part(rows).sum() >= rows.shape[0] / 2


@pytest.mark.parametrize("kind", KINDS)
def test_all_ways_cost_the_same(kind):
    compared = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        problem = random_problem(kind, rng)
        matrix, cells = matrix_of(problem), np.flatnonzero(~problem.forced)
        down, up = (side[cells] for side in DeviationBounds(problem)[0])
        costs = rng.integers(1, 20, cells.size) / 20
        ways = [
            CheapestDeviationProgram(matrix),
            NetworkStartProgram(matrix),
            CheapestDeviationProgram(matrix, options=SimplexOptions(interior=True)),
            CheapestDeviationProgram(matrix, options=SimplexOptions(interior=True, crossover=False)),
        ]
        for place in rng.permutation(cells.size)[:4]:
            for upward in (True, False):
                found = [way.cheapest(int(place), upward, 2.0, (down, up), costs, np.inf) for way in ways]
                assert len({one is None for one in found}) == 1
                if found[0] is None:
                    continue
                value = [float(costs @ np.abs(one)) for one in found]
                assert value == pytest.approx([value[0]] * len(ways), rel=1e-5, abs=1e-5)
                for one in found:
                    assert one[place] == pytest.approx(2.0 if upward else -2.0)
                    assert np.abs(matrix @ one).max(initial=0.0) < 1e-5
                compared += 1
    assert compared > 10


@pytest.mark.parametrize("programs", PROGRAMS)
@pytest.mark.parametrize(
    "fixture", ["three way", "two hierarchies", "linked", "any equations", "decimals", "huge values"]
)
def test_every_way_protects(programs, fixture):
    problem = FIXTURES[fixture]()
    result = protect(problem, "suppress-network-flow", params={"programs": programs})
    assert_protected(problem, result.pattern)
    assert result.audit.safe
    assert result.cost >= protect(problem, "suppress-compact").cost * (1 - 1e-9)
