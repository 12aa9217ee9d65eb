"""Free cells: they give all other cells in whole numbers, also where leaves are tied to each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES
from tablecloak.formats import read_jj
from tablecloak.methods.rounding import AnnealingSettings, IntegralBasis, eliminated_basis, integer_table
from tablecloak.methods.rounding.annealing import annealed_rounding
from tablecloak.methods.rounding.settings import IntegralBasisSettings
from tablecloak.model import Dimension, Levels, Problem, Table, link
from tablecloak.progress import Deadline, silent


def tied(seed: int, size: int = 4, most: int = 40) -> Table:
    """Three tables of two dimensions each, tied by their margins: x by y, y by z, z by x."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, most, (size, size, size)) * rng.integers(0, 2, (size, size, size))
    names, tables = "xyz", []
    codes = [str(k) for k in range(size)]
    for first, second in ((0, 1), (1, 2), (0, 2)):
        left = ({0, 1, 2} - {first, second}).pop()
        rows, columns = np.meshgrid(codes, codes, indexing="ij")
        pair = [names[first], names[second]]
        cells = {
            pair[0]: rows.ravel(),
            pair[1]: columns.ravel(),
            "value": whole.sum(axis=left).ravel(),
        }
        tables.append(Table.from_cells([Dimension.flat(name, codes) for name in pair], cells, recompute=True))
    return link(tables)


def free_of(table: Table, kept: np.ndarray | None = None) -> IntegralBasis | None:
    matrix = csr_array(table.equations.astype(np.int64))
    kept = np.zeros(len(table), dtype=bool) if kept is None else kept
    return IntegralBasis.by_elimination(matrix, table.is_leaf, kept, np.abs(table.values))


@pytest.mark.parametrize("seed", range(4))
def test_free_cells_give_every_deviation(seed: int) -> None:
    """As many as there are deviations, each a deviation, each free cell on its own."""
    table = tied(seed)
    equations = csr_array(table.equations.astype(np.int64))
    assert IntegralBasis.of_leaves(equations, table.is_leaf) is None
    free = free_of(table)
    assert free is not None and free.tied
    assert not csr_array(equations @ free.matrix).data.any()
    assert free.matrix.dtype == np.int64
    assert free.cells.size == len(table) - np.linalg.matrix_rank(equations.toarray())
    assert np.array_equal(free.matrix[free.cells].toarray(), np.eye(free.cells.size))
    assert np.array_equal(free.matrix @ table.units[free.cells], table.units)


@pytest.mark.parametrize("fixture", ["linked", "responses", "non nested", "zeros published", "three way"])
def test_any_integer_moves_of_free_cells_keep_all_equations(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    found = eliminated_basis(problem)
    assert found is not None and eliminated_basis(problem) is found
    moves = np.random.default_rng(0).integers(-9, 9, found.cells.size)
    moved = found.matrix @ moves
    assert (moved[found.cells] == moves).all() and not moved[problem.forced].any()
    assert not (problem.table.equations @ moved).any()
    rank = np.linalg.matrix_rank(problem.table.equations.toarray()[:, ~problem.forced])
    assert found.cells.size == (~problem.forced).sum() - rank


def test_fractions_in_equations_have_no_eliminated_basis() -> None:
    halves = csr_array(np.array([[0.5, 1.0, -1.0]]))
    table = Table.from_equations([2.0, 1.0, 2.0], halves)
    assert eliminated_basis(Problem.of(table, np.zeros(3, dtype=bool), Levels.of(3))) is None


def test_cells_that_are_kept_do_not_move() -> None:
    table = tied(1)
    kept = np.zeros(len(table), dtype=bool)
    kept[::7] = True
    free = free_of(table, kept)
    assert free is not None and not kept[free.cells].any()
    assert not free.matrix[kept].data.any()
    rest = table.equations.toarray()[:, ~kept]
    assert free.cells.size == rest.shape[1] - np.linalg.matrix_rank(rest)
    none = free_of(table, np.ones(len(table), dtype=bool))
    assert none is not None and none.cells.size == 0 and none.matrix.shape == (len(table), 0)


def test_it_says_where_there_is_no_order_of_whole_numbers() -> None:
    """2 x + 3 y = 0 has no cell that the other gives in whole numbers; 4 x + 2 y = 0 has one."""
    leaf, nothing = np.ones(3, dtype=bool), np.zeros(3, dtype=bool)

    def found(*rows: list[int], **more: object) -> IntegralBasis | None:
        matrix = csr_array(np.array(rows))
        return IntegralBasis.by_elimination(matrix, leaf, nothing, np.zeros(3), **more)  # type: ignore[arg-type]

    assert found([2, 3, 0]) is None
    halved = found([4, 2, 0], [2, 1, 0])
    assert halved is not None and halved.matrix.toarray().tolist() == [[1, 0], [-2, 0], [0, 1]]
    later = found([2, 3, 0], [0, 1, -2])  # y = 2 z makes it x + 3 z
    assert later is not None and later.matrix.toarray().ravel().tolist() == [-3, 2, 1]
    small = IntegralBasisSettings(largest=2)
    assert found([2, 3, 0], [0, 1, -2], settings=small) is None
    assert found([1, 3, 0], settings=small) is None
    assert found([1, -1, 0], stop=lambda: True) is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("base", [3.0, 5.0])
def test_tied_tables_are_rounded_by_annealing(seed: int, base: float) -> None:
    """Multiples that add up exactly, zeros and forced cells as they are, none below zero, an honest reach."""
    table = tied(seed)
    none = np.zeros(len(table), dtype=bool)
    forced = none.copy()
    forced[np.flatnonzero((table.values % base == 0) & (table.values > 0))[:3]] = True
    problem = Problem.of(table, none, Levels.of(len(table)), forced=forced, weights="unit")
    whole = integer_table("test", problem, base)
    rng, never = np.random.default_rng(1), Deadline.after(None)
    found = annealed_rounding(problem, whole, rng, silent, never)
    assert found is not None
    assert not (table.equations @ found.shown - table.rhs).any()
    assert not (found.shown % base).any() and (found.shown >= 0).all()
    still = forced | (table.values == 0)
    assert np.array_equal(found.shown[still], table.values[still])
    off = np.abs(found.shown - table.values)
    assert off.max() <= found.reach * base < off.max() + base
    assert found.bound <= problem.weights @ off
    again = annealed_rounding(problem, whole, np.random.default_rng(1), silent, never)
    assert again is not None and np.array_equal(again.shown, found.shown)


def test_further_rounds_bring_cells_nearer() -> None:
    """Small numbers, tied: one round leaves some below zero or further away than four."""
    nearer = 0
    for seed in range(12):
        table = tied(seed, size=6, most=6)
        problem = Problem.of(table, np.zeros(len(table), dtype=bool), Levels.of(len(table)), weights="unit")
        whole = integer_table("test", problem, 3.0)
        one, four = (
            annealed_rounding(
                problem,
                whole,
                np.random.default_rng(1),
                silent,
                Deadline.after(None),
                AnnealingSettings(steps_a_cell=20, rounds=rounds, near=1),
            )
            for rounds in (1, 4)
        )
        assert one is None or (four is not None and four.reach <= one.reach)
        nearer += four is not None and (one is None or four.reach < one.reach)
    assert nearer


@pytest.mark.parametrize("name", ["hier16", "ninenew"])
def test_linked_systems_of_the_public_library(name: str, data: Path) -> None:
    """They had no rounding without a program."""
    problem = read_jj(data / "csplib" / f"{name}.jj").problem
    whole = integer_table("test", problem, 5.0)
    never = Deadline.after(None)
    found = annealed_rounding(problem, whole, np.random.default_rng(1), silent, never)
    assert found is not None and found.tied and found.reach <= 3
    assert not (problem.table.equations @ found.shown - problem.table.rhs).any()
    assert not (found.shown % 5).any() and (found.shown >= 0).all()
