"""Evidence about single columns, checked in fractions: any coefficients, any scale, refinement, rays."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csc_array

from tablecloak.attacker import TooMuchWork
from tablecloak.attacker.evidence import Deviation, IntegralSystem, fits, stretched, widest
from tablecloak.attacker.exact_oracle import Evidence, ExactBasis, ExactOracle, ExactOracleSettings
from tablecloak.solvers import Columns, LinearProgram


def system(matrix: np.ndarray) -> IntegralSystem:
    columns = csc_array(matrix.astype(float))
    return IntegralSystem(
        Columns(
            columns.data, columns.indices.astype(np.int32), columns.indptr.astype(np.int32), columns.shape
        )
    )


def random_case(seed: int) -> tuple[IntegralSystem, np.ndarray, np.ndarray]:
    """A few equations with coefficients that tie nothing, and bounds from 0 to 1e12."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 5)), int(rng.integers(4, 10))
    entries = [0, 0, 1, -1, 1, -1] if seed % 3 else [0, 0, 1, -1, 2, -3, 0.5]
    matrix = np.vstack([rng.choice(entries, (rows, columns)), rng.choice([1, -1, 1], columns)])
    whole = system(matrix)
    size = 10.0 ** rng.choice([0, 1, 2, 8, 11] if seed % 2 else [1], (2, columns))
    low, high = -np.floor(rng.random(columns) * size[0]), np.floor(rng.random(columns) * size[1])
    high[rng.random(columns) < 0.2] = np.inf
    return whole, *whole.bounds(low, high)


def dense(whole: IntegralSystem) -> np.ndarray:
    columns = whole.columns
    return np.asarray(
        csc_array((columns.data, columns.indices, columns.indptr), shape=columns.shape).todense()
    )


@pytest.mark.parametrize("seed", range(150))
def test_evidence_holds_in_fractions_and_is_tight(seed: int) -> None:
    whole, low, high = random_case(seed)
    matrix, rng = dense(whole), np.random.default_rng(seed)
    for column in rng.permutation(whole.count)[:3].tolist():
        for sign in (1, -1):
            found = ExactOracle(whole, low, high).settle(column, sign, math.inf)
            assert found.reach == found.bound, "the farthest point is known exactly"
            if found.deviation is not None:
                amounts = [found.deviation.of(c) for c in range(whole.count)]
                for row in matrix:
                    assert sum(Fraction(c) * a for c, a in zip(row, amounts, strict=True)) == 0
                if found.reach < math.inf:
                    assert sign * amounts[column] == found.reach
                    assert all(l <= a <= h for l, a, h in zip(low, amounts, high, strict=True))
            cost = np.zeros(whole.count)
            cost[column] = -sign
            float_answer = linprog(
                cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=list(zip(low, high, strict=True))
            )
            if float_answer.status == 0 and high[np.isfinite(high)].max(initial=0) < 1e3:
                assert float(found.reach) == pytest.approx(-float_answer.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_needs_are_met_or_proven_out_of_reach(seed: int) -> None:
    whole, low, high = random_case(seed)
    for column in range(whole.count):
        far = ExactOracle(whole, low, high).settle(column, 1, math.inf).reach
        if far == math.inf:
            continue
        for need in (math.floor(far), math.floor(far) + 1):
            if need > 0:
                found = ExactOracle(whole, low, high).settle(column, 1, float(need))
                assert found.settles(need)
                assert (found.reach >= need) is (need <= far)
                assert found.reach <= far <= found.bound or found.reach >= need


def test_a_residual_is_corrected_at_its_own_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is off by some units in 1e12: rounding fails, a round of refinement mends it."""
    whole = system(np.array([[1, 1, -1, 0], [0, 1, 1, -1]]))
    low, high = np.zeros(4), np.array([123456789012.0, 345678901234.0, np.inf, 7e11])
    solve, rounds = LinearProgram.solve, []

    def sloppy(self: LinearProgram, seconds: float = float("inf")) -> object:
        solution = solve(self, seconds)
        rounds.append(1)
        if len(rounds) > 1:
            return solution
        object.__setattr__(solution, "values", solution.values * (1 + 1e-11 * np.arange(4)))
        return solution

    monkeypatch.setattr(LinearProgram, "solve", sloppy)
    found = ExactOracle(whole, low, high, ExactOracleSettings(caps=(math.inf,))).settle(0, 1, 1e11)
    assert found.reach >= 10**11 and len(rounds) > 1


def test_a_basis_that_is_too_large_is_not_solved() -> None:
    whole = system(np.ones((1, 3001)))
    with pytest.raises(TooMuchWork):
        ExactBasis(whole, ["kBasic"] * 3001, ["kBasic"])


def test_solvers_that_fail_leave_a_column_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = system(np.array([[1, 1, -1]]))
    monkeypatch.setattr(ExactOracle, "_solve", lambda *_: None)
    found = ExactOracle(whole, -np.ones(3), np.full(3, 2.0)).settle(0, 1, 1.0)
    assert found == Evidence(Fraction(0), Fraction(2)) and not found.settles(1.0)


def test_large_sums_leave_floats_and_stay_exact() -> None:
    weights = np.array([3, -5, 0, 7], dtype=np.int64)
    low, high = np.array([-1.0, -(2.0**52 - 1), -1.0, 0.0]), np.array([2.0**52 - 1, 1.0, np.inf, 2.0**51 + 1])
    exact = 3 * (2**52 - 1) + 5 * (2**52 - 1) + 7 * (2**51 + 1)
    assert widest(weights, low, high) == exact
    assert widest(np.array([0, 0, 1, 0]), low, high) is None
    whole = system(np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [1.0, 1.0, 1.0, -3.0]]))
    assert whole.keeps(np.zeros(whole.count, dtype=np.int64))


def test_mirror_images_are_as_long_as_they_fit() -> None:
    low, high = np.array([-3.0, -10.0, 0.0]), np.array([9.0, 4.0, 7.0])
    found = stretched(Deviation(np.array([2, -2, 0]), 1), low, high)
    assert found is not None and fits(found, low, high)
    assert [found.of(c) for c in range(3)] == [-2, 2, 0]  # 3 / 2 rounded down to whole times
    shrunk = stretched(Deviation(np.array([8, -5, 0]), 1), low, high)
    assert shrunk is not None and [shrunk.of(c) for c in range(3)] == [-3, Fraction(15, 8), 0]
    assert stretched(Deviation(np.array([0, 0, 1]), 1), low, high) is None


@pytest.mark.parametrize("seed", range(60))
def test_floats_count_only_next_to_an_exact_deviation(seed: int) -> None:
    """A point that keeps the equations up to noise, with slack, is next to an exact one; others are not."""
    whole, low, high = random_case(3 * seed + 1)
    matrix, rng = dense(whole), np.random.default_rng(seed)
    free = np.flatnonzero((low < 0) & (high > 0))
    directions = np.linalg.svd(matrix[:, free])[2][np.linalg.matrix_rank(matrix[:, free]) :]
    if directions.size == 0:
        return
    amount = np.zeros(whole.count)
    amount[free] = rng.normal(size=directions.shape[0]) @ directions
    room = np.where(amount > 0, high, -low) / np.maximum(np.abs(amount), 1e-12)
    amount *= min(0.5 * float(room[free].min()), 1e3)
    amount[np.abs(amount) < 1e-9] = 0.0
    margin = 1e-3 * float(np.abs(amount).max())
    slack = np.minimum(amount - low, high - amount)
    if margin == 0 or slack[amount != 0].min() <= margin:
        return
    assert whole.has_deviation_near(amount * (1 + 1e-13 * rng.normal(size=amount.size)), low, high, margin)
    row = rng.integers(matrix.shape[0])
    if np.abs(matrix[row]).sum() and np.abs(matrix[row] @ np.eye(whole.count)[free].T).any():
        wrong = amount + 10 * margin * np.sign(matrix[row])
        assert not whole.has_deviation_near(wrong, low, high, margin)
    edge = amount.copy()
    moved = int(np.flatnonzero(amount)[0])
    edge[moved] = high[moved] if np.isfinite(high[moved]) else low[moved]
    assert not whole.has_deviation_near(edge, low, high, margin), "no slack, no correction"


def test_large_roundings_are_judged_like_small_ones() -> None:
    """Where programs end at long fractions, floats with margins decide; the oracle of single columns agrees."""
    from fixtures import flat, from_leaves
    from tablecloak.auditing import audit
    from tablecloak.model import Levels, Problem, Rounding

    rng = np.random.default_rng(5)
    table = from_leaves(
        [flat("r", 7), flat("c", 7), flat("s", 5)], np.floor(rng.lognormal(4, 1, (7, 7, 5))) + 1
    )
    cells = rng.choice(np.flatnonzero(table.is_leaf), 60, replace=False)
    level = np.ceil(0.05 * table.values[cells])
    problem = Problem.of(table, cells, Levels.at(len(table), cells, level, level))
    for base in (5.0, 20.0):
        pattern = Rounding.of(base * np.rint(table.values / base), base)
        verdict, exact = audit(problem, pattern), audit(problem, pattern, intervals=True)
        assert exact.low_proven.all() and exact.high_proven.all()
        assert not verdict.undecided.any()
        assert (verdict.safe_rows == exact.safe_rows).all()
        assert (verdict.low >= exact.low).all() and (verdict.high <= exact.high).all()


@pytest.mark.parametrize("seed", range(30))
def test_multipliers_that_are_no_simple_fractions_prove_a_bound_too(seed: int) -> None:
    """Rounded to a power of two they miss the best bound by next to nothing; any bound is above what can be reached."""
    whole, low, high = random_case(seed)
    far = 10.0**9
    low, high = np.maximum(low, -far), np.minimum(high, far)
    rng = np.random.default_rng(seed)
    column = int(rng.integers(whole.count))
    found = ExactOracle(whole, low, high).settle(column, 1, math.inf)
    assert found.reach == found.bound
    noisy = LinearProgram(whole.columns, low, high, cost=np.eye(whole.count)[column] * -1.0).solve().duals
    noisy = noisy + 1e-11 * rng.standard_normal(noisy.size)
    bound = whole.bound(column, 1, noisy, low, high)
    assert bound < math.inf
    assert found.reach <= bound <= found.reach + Fraction(1e-8) * 20 * int(far)
