"""What stands in the way of levels that nothing can meet: an explanation at any scale, and never the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import InfeasibleProblem, Levels, Problem, SolverError, audit, protect
from tablecloak.methods.feasibility import FeasibilitySettings, forced_in_the_way, largest_pattern
from tablecloak.model import Suppression
from tablecloak.solvers import LinearProgram
from tablecloak.testing.random_cases import flat, table_of_leaves


def guarded(size: float, decimals: int = 0) -> tuple[Problem, int, list[str]]:
    """A cell of 30 in a row with two forced cells, beside rows of cells of this size."""
    leaves = np.array([[30, 40, 50], [size, 2 * size, 3 * size], [size, size, size]], dtype=np.int64)
    table = table_of_leaves([flat("row", 3), flat("column", 3)], leaves, decimals)
    value = table.units
    cell = int(np.flatnonzero(value == 30)[0])
    forced = np.isin(value, [40, 50, 120])
    problem = Problem.of(
        table, [cell], Levels.at(len(table), [cell], 10 * table.unit, 10 * table.unit), forced=forced
    )
    return problem, cell, table.labels(np.flatnonzero(forced))


@pytest.mark.parametrize("size", [7, 10**6, 10**12, 5 * 10**14])
@pytest.mark.parametrize("decimals", [0, 3])
def test_forced_cells_are_named_at_every_scale(size, decimals):
    problem, cell, forced = guarded(size, decimals)
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, "suppress-optimal")
    assert caught.value.cells == tuple(problem.table.labels(np.array([cell])))
    assert set(caught.value.forced) == set(forced)
    assert "could not be computed" not in str(caught.value)


def test_a_program_that_fails_takes_nothing_from_the_verdict(monkeypatch):
    """HiGHS failed on the program of an explanation: the refusal was replaced by a SolverError."""
    problem, cell, _ = guarded(10**12)

    def failing(self: LinearProgram) -> None:
        raise SolverError("HiGHS ended with status kUnknown")

    monkeypatch.setattr(LinearProgram, "solve", failing)
    allowed = ~problem.forced
    found = audit(problem, Suppression.copy_of(allowed))
    obstacles = forced_in_the_way(problem, allowed, found)
    assert obstacles.forced.size == 0
    assert obstacles.unexplained.tolist() == [cell]
    with pytest.raises(InfeasibleProblem, match="could not be computed") as caught:
        largest_pattern(problem)
    assert "30" not in str(caught.value)


def test_no_more_cells_are_explained_than_the_settings_say():
    problem, _, _ = guarded(7)
    allowed = ~problem.forced
    found = audit(problem, Suppression.copy_of(allowed))
    assert forced_in_the_way(problem, allowed, found, FeasibilitySettings(max_explained=0)).forced.size == 0
