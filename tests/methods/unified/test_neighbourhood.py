"""The equations near a cell are those of the table, and what they prove holds for it."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.attacker import cut_of_multipliers, working_equations
from tablecloak.methods.unified.local_separation import Neighbourhood
from tablecloak.model import all_requirements
from tablecloak.testing import KINDS, random_problem


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_the_equations(kind: str) -> None:
    rng = np.random.default_rng(4)
    table = random_problem(kind, rng).table
    near, dense = Neighbourhood(table), working_equations(table).toarray()
    for _ in range(5):
        cells = np.sort(rng.choice(len(table), size=3, replace=False))
        equations = np.flatnonzero((dense[:, cells] != 0).any(axis=1))
        assert near.equations_of(cells).tolist() == equations.tolist()
        inside = np.flatnonzero((dense[equations] != 0).any(axis=0))
        assert near.cells_in(equations).tolist() == inside.tolist()
        some = np.sort(rng.choice(len(table), size=6, replace=False))
        assert (near.matrix(equations, some).toarray() == dense[np.ix_(equations, some)]).all()
        moved = rng.integers(-1, 2, size=3).astype(float)
        off = np.flatnonzero(np.abs(dense[:, cells] @ moved) > 1e-9)
        assert near.violated(cells, moved, 1e-9).tolist() == off.tolist()


def test_around_a_cell_takes_another_ring_of_equations_while_they_are_small() -> None:
    table = random_problem("two-way", np.random.default_rng(4)).table
    near, every = Neighbourhood(table), np.ones(len(table), dtype=bool)
    own = near.equations_of(np.array([5]))
    assert near.around(np.array([5]), every, 0).tolist() == own.tolist()
    wider = near.around(np.array([5]), every, 10_000)
    assert set(own.tolist()) < set(wider.tolist())
    none = np.zeros(len(table), dtype=bool)
    assert near.around(np.array([5]), none, 10_000).tolist() == own.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_protection_cut_is_the_residual_of_its_multipliers(kind: str) -> None:
    rng = np.random.default_rng(6)
    problem = random_problem(kind, rng, sliding=True)
    near, dense = Neighbourhood(problem.table), working_equations(problem.table).toarray()
    requirement = all_requirements(problem)[0]
    sides, above, below = [], *np.zeros((2, len(problem.table)))
    for upward in (True, False):
        equations = np.sort(rng.choice(dense.shape[0], size=min(3, dense.shape[0]), replace=False))
        y = rng.integers(-2, 3, equations.size).astype(float)
        rho = -dense[equations].T @ y
        rho[requirement.cell] += 1.0 if upward else -1.0
        above, below = above + np.maximum(rho, 0.0), below + np.maximum(-rho, 0.0)
        sides.append((upward, equations, y + 1e-8))
    cut = cut_of_multipliers(near.rows, requirement, sides)
    assert cut.requirement is requirement
    assert cut.cells.tolist() == np.flatnonzero((above > 0) | (below > 0)).tolist()
    assert cut.above == pytest.approx(above[cut.cells])
    assert cut.below == pytest.approx(below[cut.cells])
