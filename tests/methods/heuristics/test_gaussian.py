"""Elimination modulo a prime: what it publishes determines no sensitive cell, and its bases are exact deviations."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.methods.heuristics.gaussian import GaussianEquations, reach_of
from tablecloak.solvers import kernels
from tablecloak.testing import KINDS, random_problem


def determined(matrix, hidden, cell):
    """Whether equations and the cells that are not hidden determine a cell: no deviation moves it (floating rank)."""
    part = matrix[:, hidden].toarray()
    place = np.searchsorted(np.flatnonzero(hidden), cell)
    unit = np.zeros((1, part.shape[1]))
    unit[0, place] = 1.0
    return np.linalg.matrix_rank(np.vstack([part, unit])) == np.linalg.matrix_rank(part)


@pytest.mark.parametrize("kind", KINDS)
def test_no_sensitive_cell_of_any_system_is_determined_and_no_more_can_be_published(kind):
    checked = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = random_problem(kind, rng)
        table, size = problem.table, len(problem.table)
        sensitive = np.flatnonzero(problem.sensitive)
        systems = []
        for cells in (sensitive[::2], sensitive[1::2]):
            fixed = rng.random(size) < 0.1
            fixed[sensitive] = False
            systems.append((fixed, cells))
        equations = GaussianEquations(table)
        states = [equations.elimination(fixed, cells, None) for fixed, cells in systems]
        order = rng.permutation(np.flatnonzero(~problem.must_hide))
        published = kernels.publish_together(states, order, None)
        hidden = problem.must_hide.copy()
        hidden[order[published == 0]] = True
        matrix = table.equations
        for fixed, cells in systems:
            free = [cell for cell in cells.tolist() if not determined(matrix, ~fixed, cell)]
            assert not any(determined(matrix, hidden & ~fixed, cell) for cell in free)
            checked += len(free)
        for cell in order[published == 0].tolist():
            fewer = hidden.copy()
            fewer[cell] = False
            assert any(
                determined(matrix, fewer & ~fixed, each) and not determined(matrix, hidden & ~fixed, each)
                for fixed, cells in systems
                for each in cells.tolist()
            )
    assert checked


def test_one_system_publishes_what_the_plain_elimination_publishes():
    for seed in range(6):
        problem = random_problem("three-way", np.random.default_rng(seed))
        size, sensitive = len(problem.table), np.flatnonzero(problem.sensitive)
        equations = GaussianEquations(problem.table)
        order = np.argsort(-problem.weights, kind="stable")
        order = order[~problem.must_hide[order]]
        plain = equations.publishable(order, np.zeros(size, dtype=bool), sensitive, None)
        state = equations.elimination(np.zeros(size, dtype=bool), sensitive, None)
        assert np.array_equal(kernels.publish_together([state], order, None) == 0, plain[order] == 0)


@pytest.mark.parametrize("kind", KINDS)
def test_bases_are_exact_deviations_of_hidden_cells_within_their_reach(kind):
    moved = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = random_problem(kind, rng)
        size = len(problem.table)
        hidden = problem.must_hide | (rng.random(size) < 0.8)
        equations = GaussianEquations(problem.table)
        state = equations.elimination(~hidden, np.flatnonzero(problem.sensitive), None)
        basis = equations.basis(state, hidden, 1000)
        assert not (problem.table.equations @ basis).toarray().any()
        assert not basis.toarray()[~hidden].any()
        down, up = rng.integers(1, 9, (2, size)).astype(float)
        fall, rise = reach_of(basis, down, up)
        for cell in range(size):
            best = [0.0, 0.0]
            for column in basis.toarray().T:
                if column[cell]:
                    for sign in (1.0, -1.0):
                        room = np.where(sign * column > 0, up, down)[column != 0]
                        most = float((room / np.abs(column[column != 0])).min())
                        way = int(sign * column[cell] > 0)
                        best[way] = max(best[way], most * abs(float(column[cell])))
            assert [fall[cell], rise[cell]] == pytest.approx(best)
            moved += best[1] > 0
    assert moved
