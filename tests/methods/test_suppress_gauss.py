"""suppress-gauss: what it publishes determines no sensitive cell, and what it hides would, by ranks of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import Levels, Problem, protect
from tablecloak.methods.suppress_gauss import GaussParams, suppress_gauss
from tablecloak.progress import TimeUp, silent
from tablecloak.solvers import kernels
from tablecloak.testing import KINDS, random_problem
from tablecloak.testing.random_cases import flat, table_of_leaves


def determined(equations, published, cell):
    """Whether published cells and the equations determine a cell: its unit vector adds nothing to their rank."""
    known = np.vstack([equations, np.eye(equations.shape[1])[published]])
    target = np.eye(equations.shape[1])[cell]
    return np.linalg.matrix_rank(np.vstack([known, target])) == np.linalg.matrix_rank(known)


def eliminated(equations, candidates, sensitive, forced=()):
    """The kernel on dense equations."""
    rows, cells = np.nonzero(equations)
    start = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=equations.shape[0]))]).astype(np.int32)
    mask = np.zeros(equations.shape[1], dtype=np.uint8)
    mask[list(forced)] = 1
    return kernels.publishable(
        start,
        cells.astype(np.int32),
        equations[rows, cells].astype(np.int64),
        np.arange(equations.shape[0]),
        np.zeros(equations.shape[1]),
        np.asarray(candidates, dtype=np.int64),
        mask,
        np.asarray(sensitive, dtype=np.int64),
        None,
    )


@pytest.mark.parametrize("seed", range(60))
def test_each_decision_is_the_one_of_ranks(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(KINDS[seed % len(KINDS)], rng)
    equations = problem.table.equations.toarray()
    if equations.shape[1] > 60 or not problem.sensitive.any():
        return
    sensitive = np.flatnonzero(problem.sensitive)
    candidates = rng.permutation(np.flatnonzero(~problem.sensitive))
    outcome = eliminated(equations, candidates, sensitive)
    published: list[int] = []
    given_away = [cell for cell in sensitive if determined(equations, [], cell)]
    for cell in candidates.tolist():
        if determined(equations, published, cell):
            assert outcome[cell] == 2
            published.append(cell)
            continue
        shows = [
            one
            for one in sensitive
            if one not in given_away and determined(equations, [*published, cell], one)
        ]
        assert outcome[cell] == (0 if shows else 1)
        if not shows:
            published.append(cell)
    assert (outcome[sensitive] == 0).all()


def test_forced_cells_are_published_whatever_they_show():
    equations = np.array([[1, 1, 1, -1]])
    assert eliminated(equations, [3, 1, 2], [0], forced=[1, 2, 3]).tolist() == [0, 1, 1, 1]
    assert eliminated(equations, [3, 1, 2], [0]).tolist() == [0, 1, 0, 1]


def test_coefficients_need_not_be_one():
    """2 a + 3 b = c: with c and b published a is known, however large the coefficients."""
    for factor in (2, 10**9, -(10**15)):
        equations = np.array([[factor, 3, -1]])
        assert eliminated(equations, [2, 1], [0]).tolist() == [0, 0, 1]


def test_it_stops_when_it_is_told():
    rng = np.random.default_rng(0)
    table = table_of_leaves([flat("a", 60), flat("b", 60), flat("c", 40)], rng.integers(1, 9, (60, 60, 40)))
    problem = Problem.of(table, rng.random(len(table)) < 0.1)
    equations = table.equations
    with pytest.raises(TimeUp):
        kernels.publishable(
            equations.indptr.astype(np.int32),
            equations.indices.astype(np.int32),
            np.rint(equations.data).astype(np.int64),
            np.arange(equations.shape[0]),
            table.values,
            np.flatnonzero(~problem.sensitive),
            np.zeros(len(table), dtype=np.uint8),
            np.flatnonzero(problem.sensitive),
            lambda: True,
        )


def a_table(seed=0):
    rng = np.random.default_rng(seed)
    leaves = rng.integers(0, 50, (5, 6))
    table = table_of_leaves([flat("a", 5), flat("b", 6)], leaves)
    sensitive = table.is_leaf & (rng.random(len(table)) < 0.2) & (table.values > 0)
    level = np.where(sensitive, 1.0, 0.0)
    return Problem.of(table, sensitive, Levels.of(len(table), level, level), hide_zeros=False)


@pytest.mark.parametrize("seed", range(10))
def test_every_hidden_cell_of_the_own_pattern_is_needed_when_its_turn_comes(seed):
    """Before the repair: no sensitive cell is determined."""
    problem = a_table(seed)
    if not problem.sensitive.any():
        return
    proposal = suppress_gauss(
        problem, params=GaussParams(clean_up=False), rng=np.random.default_rng(0), progress=silent
    )
    counters = proposal.counters
    assert counters["published"] + counters["known anyway"] + counters["own cells"] == len(problem.table)
    equations = problem.table.equations.toarray()
    hidden = proposal.pattern.hidden
    for cell in np.flatnonzero(problem.sensitive).tolist():
        assert not determined(equations, np.flatnonzero(~hidden), cell)


@pytest.mark.parametrize("candidates", ["weight", "value", "small"])
@pytest.mark.parametrize("zeros_first", [True, False])
def test_orders(candidates, zeros_first):
    problem = a_table(4)
    params = {"candidates": candidates, "zeros_first": zeros_first}
    result = protect(problem, "suppress-gauss", params=params)
    assert result.audit.safe


def test_a_limit_without_time_leaves_a_safe_pattern():
    assert protect(a_table(1), "suppress-gauss", params={"seconds": 0.001}).audit.safe
