"""Free cells: whole coefficients, all equations kept, cells that must not move left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES
from tablecloak.methods import free_cells as module
from tablecloak.methods.free_cells import FreeCellSettings, eliminated, free_cells
from tablecloak.methods.leaf_sums import ladder_of
from tablecloak.problem import Problem
from test_cube_search import problem_of


def still(count: int, *cells: int) -> np.ndarray:
    """Marks of cells that must not move."""
    return np.isin(np.arange(count), cells)


@pytest.mark.parametrize("fixture", ["linked", "responses", "non nested", "zeros published", "three way"])
def test_any_whole_moves_of_free_cells_keep_all_equations(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    found = free_cells(problem)
    assert found is not None and free_cells(problem) is found
    moves = np.random.default_rng(0).integers(-9, 9, found.cells.size)
    moved = found.sums @ moves
    assert (moved[found.cells] == moves).all() and not moved[problem.forced].any()
    assert not (problem.table.equations @ moved).any()
    rank = np.linalg.matrix_rank(problem.table.equations.toarray()[:, ~problem.forced])
    assert found.cells.size == (~problem.forced).sum() - rank


def test_cells_follow_from_smaller_ones() -> None:
    for problem in (problem_of(0), problem_of(1)):
        found = free_cells(problem)
        assert found is not None
        values = np.abs(problem.table.values)
        cells, places = found.sums.nonzero()
        assert (values[cells] >= values[found.cells[places]]).all()


def test_a_cell_that_stands_still_ties_the_others() -> None:
    equations = csr_array(np.array([[1.0, 1.0, 1.0, -1.0]]))
    values = np.array([1.0, 2.0, 3.0, 6.0])
    found = eliminated(equations, still(4, 3), values)
    assert found is not None and found.cells.tolist() == [0, 1]
    assert found.sums.toarray().tolist() == [[1, 0], [0, 1], [-1, -1], [0, 0]]


def test_equations_that_whole_numbers_do_not_solve() -> None:
    values = np.array([3.0, 2.0, 1.0])
    halves = csr_array(np.array([[0.5, 1.0, -1.0]]))
    assert eliminated(halves, still(3), values) is None
    twice = csr_array(np.array([[2.0, -3.0, 2.0]]))
    assert eliminated(twice, still(3), values) is None


def test_too_much_work_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTINGS", FreeCellSettings(most_work=10))
    problem: Problem = problem_of(0)
    assert ladder_of(problem.table) is not None and free_cells(problem) is None
