"""The laws of the house, on random tables: the audit against exact vertex enumeration, monotonicity, symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.model import Attacker, Intervals, Levels, Mixed, Problem, Rounding, Suppression, Table
from tablecloak.protection import protect
from tablecloak.testing import (
    KINDS,
    assert_additive,
    cheapest_by_enumeration,
    enumeration_work,
    feasible_intervals,
    random_problem,
    random_suppression,
    random_table,
    safe_by_enumeration,
)

MOST_VERTICES = 20_000
SEEDS = st.integers(0, 2**32 - 1)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def agree(problem, pattern):
    """Intervals and verdict of the audit are those of the enumeration, for every attacker."""
    assume(enumeration_work(problem, pattern) <= MOST_VERTICES)
    found = audit(problem, pattern, intervals=True, every_hidden=True)
    for attacker in range(len(problem.attacker_names)):
        low, high = feasible_intervals(problem, pattern, attacker)
        rows = found.attackers == attacker
        np.testing.assert_allclose(found.low[rows], low[found.cells[rows]], rtol=1e-7, atol=1e-6)
        np.testing.assert_allclose(found.high[rows], high[found.cells[rows]], rtol=1e-7, atol=1e-6)
    expected = safe_by_enumeration(problem, pattern)
    assert found.safe == expected
    assert audit(problem, pattern).safe == expected


@EVERY_KIND
@settings(max_examples=120)
@given(seed=SEEDS)
def test_audit_agrees_with_vertex_enumeration(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(
        kind,
        rng,
        negative=bool(rng.integers(2)),
        insiders=int(rng.integers(3)),
        sliding=bool(rng.integers(2)),
        conditional=bool(rng.integers(2)),
    )
    agree(problem, random_suppression(problem, rng, share=rng.choice([0.2, 0.4, 0.6])))


@EVERY_KIND
@settings(max_examples=60)
@given(seed=SEEDS)
def test_every_pattern_is_judged_by_its_view(kind, seed):
    """Intervals, rounding and mixed patterns: the same audit, the same enumeration."""
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng, insiders=int(rng.integers(2)))
    a = problem.table.values
    vague = rng.random(a.size) < 0.4
    below, above = (rng.integers(0, 8, a.size) * vague for _ in range(2))
    stated = Intervals.of(a - below, a + above)
    rounded = Rounding.of(5 * np.rint(a / 5), np.full(a.size, 5.0))
    first = rng.random(a.size) < 0.5
    some = rng.random(a.size) < 0.4
    parts = [(first & some, stated), (~first & some, Suppression.of(problem.table, ~first & some))]
    kinds = (stated, Mixed.of(problem.table, [(some, rounded)]), Mixed.of(problem.table, parts))
    agree(problem, kinds[int(rng.integers(3))])


@EVERY_KIND
@settings(max_examples=40)
@given(seed=SEEDS)
def test_nothing_hidden_means_every_interval_is_a_point(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng)
    found = audit(problem, Suppression.of(problem.table, []), intervals=True)
    assert found.determined.all()
    assert not found.safe


@EVERY_KIND
@settings(max_examples=40)
@given(seed=SEEDS)
def test_hiding_more_never_narrows_an_interval(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng, insiders=1)
    less = random_suppression(problem, rng, 0.3)
    more = Suppression.of(problem.table, less.hidden | (rng.random(len(problem.table)) < 0.4))
    narrow, wide = (audit(problem, pattern, intervals=True) for pattern in (less, more))
    assert (wide.low <= narrow.low + 1e-6).all()
    assert (wide.high >= narrow.high - 1e-6).all()


@EVERY_KIND
@settings(max_examples=30)
@given(seed=SEEDS)
def test_intervals_move_with_the_cells_and_scale_with_the_values(kind, seed):
    """Permuting cells and equations permutes intervals; multiplying values multiplies them."""
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng)
    hidden = random_suppression(problem, rng)
    found = audit(problem, hidden, intervals=True)
    order = rng.permutation(len(problem.table))
    factor = float(rng.choice([1.0, 7.0, 1000.0]))
    table = problem.table
    rows = rng.permutation(table.equations.shape[0])
    moved = Table.from_equations(
        factor * table.values[order], csr_array(table.equations[rows][:, order]), factor * table.rhs[rows]
    )
    levels = Levels.of(len(table), *(factor * level[order] for _, level in list(problem.levels.named())))
    other = Problem.of(
        moved,
        problem.sensitive[order],
        levels,
        known=(factor * problem.outsider_low[order], factor * problem.outsider_high[order]),
        weights=problem.weights[order],
    )
    again = audit(other, Suppression.of(moved, hidden.hidden[order]), intervals=True)
    place = np.argsort(order)[found.cells]
    back = np.array([np.flatnonzero(again.cells == cell)[0] for cell in place], dtype=int)
    np.testing.assert_allclose(again.low[back], factor * found.low, rtol=1e-7, atol=1e-5)
    np.testing.assert_allclose(again.high[back], factor * found.high, rtol=1e-7, atol=1e-5)
    assert again.safe == found.safe


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_compact_is_optimal_and_greedy_is_safe(kind, seed):
    """Brute force over all patterns: suppress-compact finds the cheapest, suppress-greedy one that is not cheaper."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    problem = random_problem(
        kind, rng, insiders=seed % 3, sliding=seed % 2 == 1, conditional=seed % 4 == 3, negative=seed == 5
    )
    free = np.flatnonzero(~problem.forced & ~problem.must_hide)
    extra = np.zeros(len(problem.table), dtype=bool)
    extra[rng.permutation(free)[9:]] = True  # at most nine cells to choose from: 512 patterns
    marks = problem.marks.copy()
    marks[extra] = 2
    small = Problem(
        problem.table, marks, problem.levels, problem.weights, problem.outsider_low, problem.outsider_high,
        problem.attackers,
    )  # fmt: skip
    cost = cheapest_by_enumeration(small, lambda p, pattern: audit(p, pattern).safe)
    if cost is None:
        for method in ("suppress-compact", "suppress-greedy"):
            with pytest.raises(InfeasibleProblem):
                protect(small, method)
        return
    assert protect(small, "suppress-compact").cost == pytest.approx(cost, abs=1e-6)
    assert protect(small, "suppress-greedy").cost >= cost - 1e-6


@EVERY_KIND
@settings(max_examples=30)
@given(seed=SEEDS)
def test_random_tables_add_up(kind, seed):
    rng = np.random.default_rng(seed)
    assert_additive(random_table(kind, rng, negative=bool(rng.integers(2))))


@settings(max_examples=40)
@given(seed=SEEDS)
def test_the_integer_attacker_agrees_with_enumeration_of_whole_tables(seed):
    """Three-way counts: all whole-number deviations within small boxes are listed one by one."""
    rng = np.random.default_rng(seed)
    table = random_table("three-way", rng, largest=4)
    sensitive = np.flatnonzero(table.values > 0)[:2]
    if sensitive.size == 0:
        return
    known = (np.maximum(table.values - 1, 0), table.values + 1)
    problem = Problem.of(table, sensitive, Levels.of(len(table)), known=known, widen=True)
    hidden = random_suppression(problem, rng, 0.6)
    found = audit(problem, hidden, intervals=True, integer=True)
    low, high = whole_intervals(problem, hidden.hidden)
    np.testing.assert_allclose(found.low, low[found.cells])
    np.testing.assert_allclose(found.high, high[found.cells])


def whole_intervals(problem, hidden):
    """Extremes over all whole-number tables the attacker cannot exclude, found by trying them all."""
    table, a = problem.table, problem.table.values
    cells = np.flatnonzero(hidden)
    low, high = problem.box(0)
    partial = np.zeros((1, 0))
    matrix = table.equations[:, cells].toarray()
    last = [int(np.flatnonzero(row).max()) if row.any() else -1 for row in matrix]
    for position, cell in enumerate(cells):
        steps = np.arange(low[cell] - a[cell], high[cell] - a[cell] + 1)
        partial = np.hstack([np.repeat(partial, steps.size, axis=0), np.tile(steps, len(partial))[:, None]])
        complete = [row for row, end in zip(matrix, last, strict=True) if end == position]
        for row in complete:
            partial = partial[partial @ row[: position + 1] == 0]
    ends = a.copy(), a.copy()
    ends[0][cells] += partial.min(axis=0)
    ends[1][cells] += partial.max(axis=0)
    return ends


def test_an_insider_who_knows_nothing_more_changes_nothing():
    problem = random_problem("two-way", np.random.default_rng(5))
    idle = Attacker.knowing("idle", [0], -np.inf)
    watched = Problem.of(
        problem.table, problem.sensitive, problem.levels, attackers=[idle], weights=problem.weights,
        known=(problem.outsider_low, problem.outsider_high),
    )  # fmt: skip
    found = audit(watched, random_suppression(problem, np.random.default_rng(1)), intervals=True)
    half = found.cells.size // 2
    assert np.array_equal(found.low[:half], found.low[half:])
    assert np.array_equal(found.high[:half], found.high[half:])
