"""Largest deviations of single cells, in the null space and by warm programs, against linear programs of scipy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog
from scipy.sparse import csc_array

from fixtures import FIXTURES
from tablecloak.attacker.null_space import (
    DeviationProgram,
    NullSpaceProgram,
    NullSpaceSettings,
    WarmDeviationProgram,
    deviation_program,
)
from tablecloak.solvers import kernels

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
ENGINES = (NullSpaceProgram, WarmDeviationProgram)
TABLES = ("two way several", "two hierarchies", "three way", "five way", "linked", "non nested", "responses")


def random_matrix(rng: np.random.Generator) -> csc_array:
    """Sparse signs with redundant and empty rows, and cells in no equation."""
    rows, columns = int(rng.integers(0, 9)), int(rng.integers(1, 15))
    matrix = rng.choice([-1.0, 1.0], size=(rows, columns)) * (
        rng.random((rows, columns)) < rng.choice([0.2, 0.5])
    )
    if rows > 2 and rng.random() < 0.5:
        matrix[-1] = matrix[0] + matrix[1]
    if rows > 1 and rng.random() < 0.3:
        matrix[int(rng.integers(rows))] = 0.0
    if rng.random() < 0.3:
        matrix[:, int(rng.integers(columns))] = 0.0
    return csc_array(matrix)


def random_support(name: str, rng: np.random.Generator) -> csc_array:
    """The equations of a table over some of its cells."""
    equations = FIXTURES[name]().table.equations
    cells = np.flatnonzero(rng.random(equations.shape[1]) < rng.choice([0.4, 0.7, 1.0]))
    return csc_array(equations[:, cells])


def random_bounds(
    rng: np.random.Generator, count: int, *, extreme: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Zeros, infinities and whole or real numbers on both sides."""

    def side() -> np.ndarray:
        size = rng.choice([1.0, 5.0, 1e3], size=count) * rng.random(count)
        size = np.where(rng.random(count) < 0.4, np.ceil(size), size)
        if extreme:
            size *= rng.choice([1e-9, 1.0, 1e9], size=count, p=[0.1, 0.8, 0.1])
        kind = rng.random(count)
        return np.where(kind < 0.15, 0.0, np.where(kind > 0.9, np.inf, size))

    return -side(), side()


def by_linprog(matrix: csc_array, low: np.ndarray, high: np.ndarray, cell: int, upward: bool) -> float:
    """The reach of a cell; infinite if nothing stops it."""
    cost = np.zeros(matrix.shape[1])
    cost[cell] = -1.0 if upward else 1.0
    equations = {"A_eq": matrix, "b_eq": np.zeros(matrix.shape[0])} if matrix.shape[0] else {}
    found = linprog(cost, bounds=np.column_stack([low, high]), method="highs", options=EXACT, **equations)
    if found.status == 3:
        return np.inf
    assert found.status == 0, found.message
    return float(-found.fun)


def proven(
    matrix: csc_array, low: np.ndarray, high: np.ndarray, cell: int, upward: bool, multipliers: np.ndarray
) -> float:
    """What the multipliers prove: rho = +-e_p - M'y, and no deviation carries more than rho+ high + rho- (-low)."""
    rho = -(matrix.T @ multipliers)
    rho[cell] += 1.0 if upward else -1.0
    rho[np.abs(rho) < 1e-8] = 0.0
    rising, falling = rho > 0, rho < 0
    return float(rho[rising] @ high[rising] + rho[falling] @ low[falling])


def check_answer(
    attacks: DeviationProgram | Sequence[DeviationProgram],
    matrix: csc_array,
    bounds: tuple[np.ndarray, np.ndarray],
    cell: int,
    upward: bool,
    enough: float,
) -> None:
    """One reach of one engine or several."""
    optimum = by_linprog(matrix, *bounds, cell, upward)
    for attack in attacks if isinstance(attacks, Sequence) else [attacks]:
        check_one(attack, matrix, bounds, cell, upward, enough, optimum)


def check_one(
    attack: DeviationProgram,
    matrix: csc_array,
    bounds: tuple[np.ndarray, np.ndarray],
    cell: int,
    upward: bool,
    enough: float,
    optimum: float,
) -> None:
    """The number, the deviations behind it, and the proof where it fell short."""
    low, high = bounds
    reached = attack.reach(cell, upward, enough)
    slack = 1e-7 * max(1.0, min(optimum, enough)) if np.isfinite(min(optimum, enough)) else 0.0
    if not np.isfinite(min(optimum, enough)):
        assert reached == np.inf
        return
    assert min(reached, enough) == pytest.approx(min(optimum, enough), rel=1e-7, abs=1e-7)
    value = attack.value
    size = max(1.0, float(np.abs(value).max(initial=0.0)))
    assert np.abs(matrix @ value).max(initial=0.0) <= 1e-7 * size
    assert (value >= low - 1e-7 * size).all()
    assert (value <= high + 1e-7 * size).all()
    assert (value[cell] if upward else -value[cell]) >= min(optimum, enough) - 2 * slack, (
        "the deviations are no witness"
    )
    if reached < enough - slack:
        bound = proven(matrix, low, high, cell, upward, attack.multipliers(cell, upward))
        assert bound >= optimum - slack
        assert bound == pytest.approx(optimum, rel=1e-7, abs=1e-7)


def check_all(matrix: csc_array, rng: np.random.Generator, engines: Sequence[type], **options: bool) -> None:
    """A few cells, both directions, on warm engines with changing bounds."""
    count = matrix.shape[1]
    attacks = [engine(matrix) for engine in engines]
    for _ in range(2):
        bounds = random_bounds(rng, count, **options)
        for attack in attacks:
            attack.set_bounds(*bounds)
        for cell in rng.permutation(count)[:2].tolist():
            for upward in (True, False):
                enough = float(rng.choice([0.5, 3.0, 1e4]))
                check_answer(attacks, matrix, bounds, cell, upward, enough)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_systems(start):
    for seed in range(start, start + 50):
        rng = np.random.default_rng(seed)
        check_all(random_matrix(rng), rng, ENGINES)


@pytest.mark.parametrize("table", TABLES)
def test_supports_of_tables(table):
    for seed in range(6):
        rng = np.random.default_rng(seed + 500)
        matrix = random_support(table, rng)
        if matrix.shape[1]:
            check_all(matrix, rng, ENGINES)


def test_tiny_and_huge_bounds_are_proven():
    """Where linear programs of scipy give up: deviations and multipliers that agree need no other witness."""
    for seed in range(80):
        rng = np.random.default_rng(seed + 900)
        matrix = random_matrix(rng)
        attack, count = NullSpaceProgram(matrix), matrix.shape[1]
        for _ in range(2):
            low, high = random_bounds(rng, count, extreme=True)
            attack.set_bounds(low, high)
            for cell in range(count):
                upward, enough = bool(rng.integers(2)), float(rng.choice([0.5, 3.0, 1e4]))
                reached = attack.reach(cell, upward, enough)
                bound = enough
                if reached < enough:
                    bound = proven(matrix, low, high, cell, upward, attack.multipliers(cell, upward))
                check_one(attack, matrix, (low, high), cell, upward, enough, bound)


def test_nothing_stops_a_cell_only_if_nobody_asks_for_less():
    """Infinite boxes: an endless ray if no limit is given, and a witness of just enough if one is."""
    for seed in range(40):
        rng = np.random.default_rng(seed + 1300)
        matrix = random_matrix(rng)
        count = matrix.shape[1]
        low, high = random_bounds(rng, count)
        wide = rng.random(count) < 0.7
        low[wide], high[wide] = -np.inf, np.inf
        attack = NullSpaceProgram(matrix)
        for enough in (np.inf, 2.0):
            attack.set_bounds(low, high)
            for cell in range(0, count, 2):
                check_answer(attack, matrix, (low, high), cell, bool(seed % 2), enough)


def test_a_long_warm_sequence_stays_right(monkeypatch):
    """Hundreds of reaches on one engine, with bounds that change, across refreshes of the table."""
    rng = np.random.default_rng(3)
    matrix = random_support("three way", rng)
    attack, count = NullSpaceProgram(matrix, NullSpaceSettings(max_pivots=7)), matrix.shape[1]
    assert attack.degrees > 0
    restarts = []
    once = attack._restart
    monkeypatch.setattr(attack, "_restart", lambda: (restarts.append(1), once()))
    for _ in range(25):
        bounds = random_bounds(rng, count)
        attack.set_bounds(*bounds)
        for _ in range(8):
            check_answer(attack, matrix, bounds, int(rng.integers(count)), bool(rng.integers(2)), 1e5)
    assert len(restarts) > 3


def test_without_freedom_nothing_moves():
    matrix = csc_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    attack = NullSpaceProgram(matrix)
    assert attack.degrees == 0
    attack.set_bounds(-np.ones(3), np.ones(3))
    for cell in range(3):
        check_answer(attack, matrix, (-np.ones(3), np.ones(3)), cell, True, 1.0)
        assert attack.reach(cell, False, 1.0) == 0.0


def test_without_equations_a_cell_goes_to_its_own_bound():
    matrix = csc_array((0, 2))
    attack = NullSpaceProgram(matrix)
    attack.set_bounds(np.array([-2.0, 0.0]), np.array([0.0, 5.0]))
    assert [attack.reach(0, False, 9.0), attack.reach(0, True, 9.0), attack.reach(1, True, 9.0)] == [
        2.0,
        0.0,
        5.0,
    ]
    assert attack.multipliers(1, True).size == 0


@pytest.mark.parametrize("table", ["three way", "linked"])
def test_a_lost_kernel_is_rescued(table, monkeypatch):
    """Answer, witness and proof are those of a linear program; afterwards the kernel goes on."""
    rng = np.random.default_rng(8)
    matrix = random_support(table, rng)
    attack, count, kernel = NullSpaceProgram(matrix), matrix.shape[1], kernels.farthest_deviation
    for round_ in range(6):
        bounds = random_bounds(rng, count)
        attack.set_bounds(*bounds)
        with monkeypatch.context() as patch:
            patch.setattr(kernels, "farthest_deviation", lambda *_: (kernels.Ending.LOST, 0))
            for cell in rng.permutation(count)[:4].tolist():
                check_answer(attack, matrix, bounds, cell, round_ % 2 == 0, 1e4)
        assert kernels.farthest_deviation is kernel
        for cell in rng.permutation(count)[:4].tolist():
            check_answer(attack, matrix, bounds, cell, round_ % 2 == 1, 1e4)


def test_a_table_that_drifted_is_made_anew():
    """Deviations that break the equations are noticed, whatever the kernel believes."""
    rng = np.random.default_rng(4)
    matrix = random_support("three way", rng)
    attack, bounds = NullSpaceProgram(matrix), random_bounds(rng, matrix.shape[1])
    attack.set_bounds(*bounds)
    attack._table *= 1.5
    for cell in range(matrix.shape[1]):
        check_answer(attack, matrix, bounds, cell, True, 1e4)


def test_old_deviations_do_not_answer_for_new_bounds():
    """`value` belongs to the last answer: never to bounds that are gone, whatever the engine."""
    matrix = csc_array(np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]))
    for engine in ENGINES:
        attack = engine(matrix)
        attack.set_bounds(np.full(3, -9.0), np.full(3, 9.0))
        assert attack.reach(0, True, 20.0) == pytest.approx(9.0)
        attack.set_bounds(np.full(3, -np.inf), np.full(3, np.inf))
        assert attack.reach(1, True, 2.0) == pytest.approx(2.0)
        assert attack.value == pytest.approx([2.0, 2.0, 2.0])
        attack.set_bounds(np.zeros(3), np.zeros(3))
        assert attack.reach(2, True, 2.0) == 0.0
        assert not attack.value.any()


@pytest.mark.parametrize("seed", range(40))
def test_independent_rows_and_columns(seed):
    rng = np.random.default_rng(seed + 70)
    matrix = random_matrix(rng) if seed % 2 else random_support(TABLES[seed % len(TABLES)], rng)
    dense = matrix.toarray()
    rows, columns = kernels.independent_part(np.ascontiguousarray(dense.copy()))
    rank = int(np.linalg.matrix_rank(dense)) if dense.size else 0
    assert rows.size == columns.size == rank
    assert np.unique(rows).size == np.unique(columns).size == rank
    if rank:
        assert np.linalg.matrix_rank(dense[np.ix_(rows, columns)]) == rank
    assert NullSpaceProgram(matrix).degrees == dense.shape[1] - rank


def test_the_engine_follows_the_size():
    matrix = csc_array(FIXTURES["three way"]().table.equations)
    assert isinstance(deviation_program(matrix), NullSpaceProgram)
    for settings in (NullSpaceSettings(max_table_entries=0), NullSpaceSettings(max_entries=0)):
        assert isinstance(deviation_program(matrix, settings), WarmDeviationProgram)


@pytest.mark.parametrize("seed", range(60))
def test_tied_cells_are_those_with_parallel_rows_of_the_null_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = random_matrix(rng) if seed % 2 else random_support(TABLES[seed % len(TABLES)], rng)
    count = matrix.shape[1]
    asked = np.sort(rng.choice(count, size=int(rng.integers(1, count + 1)), replace=False))
    basis = null_space(matrix.toarray()) if matrix.shape[0] else np.eye(count)
    norms = np.linalg.norm(basis, axis=1)
    moves = norms > 1e-9
    unit = basis / np.where(moves, norms, 1.0)[:, None]
    parallel = np.abs(unit @ unit[asked].T) > 1 - 1e-9
    expected = (parallel & moves[:, None] & moves[asked][None, :]).any(axis=1)
    tied = NullSpaceProgram(matrix).tied(asked)
    assert np.array_equal(tied, expected)
    plain = WarmDeviationProgram(matrix).tied(asked)
    assert np.array_equal(np.flatnonzero(plain), asked)
