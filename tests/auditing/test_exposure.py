"""Exposure: the examples of Serpell et al. (2013), brute force, and what must always hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from tablecloak.arrays import Floats, Ints
from tablecloak.auditing import Exposure, audit, exposure
from tablecloak.auditing.exposure import MEANING, apparent_intervals, most_initial
from tablecloak.model import Attacker, Dimension, Hierarchy, Levels, Problem, Suppression, Table

FIGURE_1 = np.array(
    [
        [9, 51, 41, 47, 3, 48],
        [8, 1, 54, 44, 45, 12],
        [8, 70, 6, 76, 64, 21],
        [33, 46, 45, 27, 37, 60],
        [87, 51, 18, 35, 49, 72],
        [48, 59, 39, 65, 35, 58.0],
    ]
)
SENSITIVE_1 = "A1 A5 B1 B2 B5 B6 C3 C6"
FIGURE_3 = np.full((4, 4), 100.0)
SENSITIVE_3 = "A1 A2 A3 B2 B3 C1 C4 D1 D4"
UNSAFE_K5 = np.array([[5, 45, 47, 0], [17, 59, 27, 44], [9, 14, 52, 38], [53, 56, 23, 52.0]])
SENSITIVE_K5 = "A1 A3 B4 C1 C2 C4 D1 T3"

Rule = Callable[[Floats], Floats]


def ten_percent(value: Floats) -> Floats:
    return 0.1 * np.abs(value)


def at_least_one(value: Floats) -> Floats:
    return np.maximum(1.0, ten_percent(value))


def tabulated(values: Floats, *dimensions: Dimension, decimals: int | None = None) -> Table:
    """A table from an array of its leaves."""
    index = np.indices(values.shape).reshape(values.ndim, -1)
    leaves = [np.array(dimension.codes)[dimension.is_leaf] for dimension in dimensions]
    codes = {dimension.name: leaves[d][index[d]] for d, dimension in enumerate(dimensions)}
    cells = {**codes, "value": values.ravel()}
    return Table.from_cells(dimensions, cells, recompute=True, decimals=decimals)


def two_way(inner: Floats, decimals: int | None = None) -> Table:
    """A table with rows A, B, ..., columns 1, 2, ... and totals T."""
    rows, columns = inner.shape
    row = Dimension.flat("row", [chr(65 + i) for i in range(rows)], "T")
    column = Dimension.flat("column", [str(j + 1) for j in range(columns)], "T")
    return tabulated(inner, row, column, decimals=decimals)


def k_way(shape: tuple[int, ...], rng: np.random.Generator, low: int = 0) -> Table:
    """A table of whole random numbers from `low` to 30, without hierarchies."""
    values = rng.integers(low, 31, shape).astype(float)
    return tabulated(
        values, *(Dimension.flat(f"d{d}", [f"c{i}" for i in range(n)]) for d, n in enumerate(shape))
    )


def hierarchical(rng: np.random.Generator) -> Table:
    regions = Hierarchy.from_dict({"North": ["n1", "n2"], "South": ["s1", "s2", "s3"]})
    values = rng.integers(1, 31, (5, 2)).astype(float)
    return tabulated(values, Dimension.of("region", regions), Dimension.flat("size", ["small", "large"]))


def positions(table: Table, names: str) -> list[int]:
    return [table.find(row=name[0], column=name[1:]) for name in names.split()]


def named(table: Table, cells: Ints) -> str:
    rows, columns = table.dimensions
    return " ".join(sorted(rows.codes[r] + columns.codes[c] for r, c in table.codes[cells]))


def with_levels(table: Table, cells: list[int], rule: Rule, **options: object) -> Problem:
    levels = np.zeros(len(table))
    levels[cells] = rule(table.values[cells])
    return Problem.of(table, cells, Levels.of(len(table), levels, levels), **options)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- the examples of the paper


@pytest.mark.parametrize("rule", [ten_percent, at_least_one])
def test_figure_1(rule: Rule) -> None:
    table = two_way(FIGURE_1)
    problem = with_levels(table, positions(table, SENSITIVE_1), rule)
    found = exposure(problem, intervals=True)
    sets = {name: named(table, cells) for name, cells in found.sets.items()}
    assert sets["E"] == sets["E_u"] == sets["K_u"] == "B2 B5 B6 C3 C6"
    assert (sets["N"], sets["E_f"], sets["E_p"], sets["C"]) == ("A1 A5 B1", "B2 B6 C3 C6", "B5", "B6 C6")
    assert sets["I"] == sets["I_u"] == "B2 B5 C3"
    assert (sets["K_1"], sets["E_n"], sets["I_n"], sets["K_n"]) == ("B2 C3", "", "", "")
    kept = {name: named(table, cells) for name, cells in found.algorithms.items()}
    assert kept == {
        "E": sets["E"],
        "D": sets["E"],
        "K1": "B2 B5 C3 C6",
        "K3": "B2 B5 C3",
        "K5": "B2 B5 C3 C6",
    }
    left = {name: named(table, cells) for name, cells in found.left_open.items()}
    assert left == {"E": "", "D": "", "K1": "B6", "K3": "B6 C6", "K5": "B6"}
    intervals = dict(zip(found.cells, zip(found.low, found.high, strict=True), strict=True))
    wanted = [(0, 12), (0, 12), (5, 17), (1, 1), (36, 48), (12, 12), (6, 6), (21, 21)]
    assert [intervals[cell] for cell in positions(table, SENSITIVE_1)] == wanted
    assert found.most_initial == 10


@pytest.mark.parametrize(
    ("rule", "candidates"), [(at_least_one, "B2 B5 C3 C6"), (ten_percent, "A1 B2 B5 C3 C6")]
)
def test_table_1(rule: Rule, candidates: str) -> None:
    table = two_way(FIGURE_1, decimals=1)  # levels of 10% of whole numbers
    cells = positions(table, SENSITIVE_1)
    problem = with_levels(table, cells, rule)
    assert named(table, exposure(problem).sets["K_pl"]) == candidates
    low, high = apparent_intervals(problem)
    place = np.searchsorted(np.flatnonzero(problem.sensitive), cells)
    if rule is at_least_one:  # the paper prints 19.8..22.2 for C6, which its own formula does not give
        assert low[place] == pytest.approx([8, 2, 7, 1, 44, 9.9, 6, 20])
        assert high[place] == pytest.approx([10, 4, 9, 1, 46, 14.1, 6, 22])
    else:
        assert (low[place[0]], high[place[0]]) == pytest.approx((8.7, 9.3))


def test_figure_3_cannot_be_unpicked() -> None:
    table = two_way(FIGURE_3)
    found = exposure(with_levels(table, positions(table, SENSITIVE_3), ten_percent), intervals=True)
    sets = {name: named(table, cells) for name, cells in found.sets.items()}
    assert [sets[name] for name in ("E", "E_f", "E_n", "K_n", "I", "I_n")] == ["A1"] * 6
    assert [sets[name] for name in ("E_p", "E_u", "K_u", "K_1", "C", "I_u")] == [""] * 6
    assert named(table, found.algorithms["K5"]) == "A1"
    is_first = found.cells == table.find(row="A", column="1")
    assert np.array_equal(found.low, np.where(is_first, 100.0, 0.0))
    assert np.array_equal(found.high, np.where(is_first, 100.0, 200.0))


def test_k5_is_not_safe() -> None:
    """Protecting the levels of K5 only, at least cost, leaves a cell disclosed exactly."""
    table = two_way(UNSAFE_K5)
    problem = with_levels(table, positions(table, SENSITIVE_K5), ten_percent, hide_zeros=False)
    found = exposure(problem)
    sets = {name: named(table, cells) for name, cells in found.sets.items()}
    assert sets["E_f"] == SENSITIVE_K5
    assert (sets["K_1"], sets["K_n"], sets["E_p"]) == ("B4 C2 D1 T3", "", "")
    assert named(table, found.left_open["K5"]) == "A1 C1"

    kept = found.algorithms["K5"]
    asked = with_levels(table, list(kept), ten_percent, hidden=found.left_open["K5"], hide_zeros=False)
    cheap, best = (
        Suppression.of(table, np.concatenate([found.cells, positions(table, more)]))
        for more in ("B2 D3 T1", "B3 D2 T1")
    )
    assert (cheap.loss(problem), best.loss(problem)) == (166, 167)
    assert audit(asked, cheap).safe
    verdict = audit(problem, cheap, intervals=True)
    assert named(table, verdict.open_cells) == "C1"
    assert named(table, verdict.cells[verdict.determined]) == "C1"
    assert audit(problem, best).safe
    whole = audit(problem, best, intervals=True)
    at = int(np.flatnonzero(whole.cells == table.find(row="C", column="1"))[0])
    assert (whole.low[at], whole.high[at]) == (0, 50)


# ---------------------------------------------------------------------- brute force


def extent(matrix: Floats, bounds: list[tuple[float, float]], column: int) -> tuple[float, float]:
    """How far a column gets down and up."""
    far = []
    for sign in (1.0, -1.0):
        cost = np.zeros(matrix.shape[1])
        cost[column] = sign
        answer: Any = linprog(
            cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds, method="highs"
        )
        assert answer.status in (0, 3, 4)
        far.append(np.inf if answer.status else -sign * float(answer.x[column]))
    return far[0], far[1]


def brute_force(problem: Problem) -> tuple[set[int], set[int]]:
    """Exposed and initially exposed cells, straight from the definitions."""
    table, cells = problem.table, np.flatnonzero(problem.must_hide)
    matrix = table.equations.toarray()[:, cells]
    low, high = problem.outsider_low - table.values, problem.outsider_high - table.values
    bounds = list(zip(low[cells], high[cells], strict=True))
    need = np.array(problem.required(0, cells, touched=False)) * (1 - 1e-6)

    def fails(place: int, far: tuple[float, float]) -> bool:
        return bool((np.array([*far, sum(far)]) < need[:, place]).any())

    wanted = np.flatnonzero(problem.sensitive[cells]).tolist()
    exposed = [place for place in wanted if fails(place, extent(matrix, bounds, place))]
    initial = set()
    for place in exposed:
        columns, own_bounds, at = [], [], -1
        for other in range(cells.size):
            if other in exposed and other != place:  # a copy of its own in each equation
                for row in np.flatnonzero(matrix[:, other]):
                    columns.append(np.where(np.arange(matrix.shape[0]) == row, matrix[row, other], 0.0))
                    own_bounds.append(bounds[other])
                continue
            at = len(columns) if other == place else at
            columns.append(matrix[:, other])
            own_bounds.append(bounds[other])
        if fails(place, extent(np.stack(columns, axis=1), own_bounds, at)):
            initial.add(int(cells[place]))
    return {int(cells[place]) for place in exposed}, initial


def random_problem(kind: str, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    makers: dict[str, Callable[[], Table]] = {
        "two-way": lambda: k_way((4, 5), rng),
        "three-way": lambda: k_way((2, 3, 3), rng),
        "hierarchical": lambda: hierarchical(rng),
        "negative": lambda: k_way((3, 4), rng, low=-20),
    }
    table = makers[kind]()
    count = len(table)
    sensitive = (rng.random(count) < rng.choice([0.2, 0.35, 0.5])) & (table.values != 0)
    size = np.abs(table.values)
    lower, upper, sliding = (
        (0.1 * size, 0.1 * size, 0 * size),
        (np.ceil(0.15 * size), np.ceil(0.15 * size), 0 * size),
        (np.floor(0.5 * size), rng.integers(0, 60, count), 0 * size),
        (0.05 * size, 0 * size, np.ceil(0.3 * size)),
    )[int(rng.integers(4))]
    hidden = (rng.random(count) < 0.1) & ~sensitive if rng.random() < 0.5 else None
    known = (table.values - 1.5 * size - 1, table.values + 2 * size + 1) if rng.random() < 0.3 else None
    levels = Levels.of(count, *(np.where(sensitive, level, 0.0) for level in (lower, upper, sliding)))
    return Problem.of(table, sensitive, levels, hidden=hidden, known=known, widen=True)


def as_sets(found: Exposure) -> dict[str, set[int]]:
    return {name: {int(cell) for cell in cells} for name, cells in found.sets.items()}


@pytest.mark.parametrize("kind", ["two-way", "three-way", "hierarchical", "negative"])
@pytest.mark.parametrize("seed", range(6))
def test_brute_force_agrees(kind: str, seed: int) -> None:
    problem = random_problem(kind, seed)
    sets = as_sets(exposure(problem))
    exposed, initial = brute_force(problem)
    assert sets["E"] == exposed
    assert sets["I"] == initial
    assert bool(initial) == bool(exposed)  # as the paper says; in tables like these


@pytest.mark.parametrize("kind", ["two-way", "three-way", "hierarchical", "negative"])
@pytest.mark.parametrize("seed", range(100, 115))
def test_what_always_holds(kind: str, seed: int) -> None:
    problem = random_problem(kind, seed)
    found = exposure(problem)
    sets, everything = as_sets(found), set(np.flatnonzero(problem.sensitive))
    assert list(found.sets) == list(MEANING)
    for whole, one, other in (
        (everything, "E", "N"),
        (sets["E"], "E_f", "E_p"),
        (sets["E"], "E_u", "E_n"),
        (sets["E"], "I", "C"),
        (sets["I"], "I_u", "I_n"),
    ):
        assert sets[one] | sets[other] == whole
        assert not sets[one] & sets[other]
    assert sets["I_u"] <= sets["K_u"] == sets["E_u"]
    assert sets["I_n"] <= sets["K_n"] == sets["E_n"]
    assert all(cells <= everything for cells in sets.values())
    assert sets["K_1"] <= sets["I_u"] & sets["E_f"] & sets["K_pl"] & sets["K_nv"]
    for name, kept in found.algorithms.items():
        assert set(kept) <= sets["E"]
        assert set(found.left_open[name]) == sets["E"] - set(kept)
    verdict = audit(problem, Suppression(problem.must_hide), intervals=True)
    open_rows = np.isin(verdict.cells, found.sets["E"])
    assert np.array_equal(~verdict.safe_rows, open_rows)
    assert found.low[open_rows] == pytest.approx(verdict.low[open_rows])
    assert found.high[open_rows] == pytest.approx(verdict.high[open_rows])
    assert (found.low >= verdict.low - 1e-6).all()
    assert (found.high <= verdict.high + 1e-6).all()
    assert set(found.cells[found.low == found.high]) <= sets["E_f"]


def test_flows_and_programs_agree_on_what_is_initial(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def count(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        asked.extend([total] if phase == "initially exposed" else [])

    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = k_way((60, 60), rng, low=1)
        problem = with_levels(table, list(np.flatnonzero(rng.random(len(table)) < 0.033)), ten_percent)
        by_flow = exposure(problem, progress=count)
        with monkeypatch.context() as patch:
            patch.setitem(exposure.__globals__, "orient", lambda matrix: None)
            by_program = exposure(problem)
        assert np.array_equal(by_flow.sets["I"], by_program.sets["I"])
    assert len(asked) > 10


def test_two_cells_can_expose_each_other_with_no_beginning() -> None:
    """The paper's "if I is empty, so is E" does not hold for any equations."""
    table = Table.from_equations([5, 5, 10, 0], [[1, 1, -1, 0], [1, -1, 0, -1]])
    sets = as_sets(exposure(with_levels(table, [0, 1], ten_percent)))
    assert sets["E_f"] == sets["C"] == sets["E_n"] == {0, 1}
    assert not sets["I"]


# ---------------------------------------------------------------------- levels, coefficients, hidden cells


def test_cells_hidden_without_being_sensitive_are_unknowns_too() -> None:
    table = two_way(FIGURE_1)
    cells = positions(table, "B2 C3")
    assert named(table, exposure(with_levels(table, cells, ten_percent)).sets["K_1"]) == "B2 C3"
    beside = positions(table, "B4 E2 E4")
    found = exposure(with_levels(table, cells, ten_percent, hidden=beside))
    sets = {name: named(table, members) for name, members in found.sets.items()}
    assert (sets["K_1"], sets["E"], sets["N"]) == ("C3", "C3", "B2")
    assert sets["K_pl"] == "B2 C3"  # the others have no levels that B2 could count on
    assert sets["K_nv"] == "C3"
    assert found.cells.size == 2


def test_sliding_levels_compare_ranges() -> None:
    table = two_way(np.array([[10, 10, 50], [10, 10, 50], [50, 50, 50.0]]))
    cells = positions(table, "A1 A2 B1 B2")

    def candidates(first: float) -> str:
        sliding = np.zeros(len(table))
        sliding[cells] = [first, 4, 4, 4]
        return named(
            table, exposure(Problem.of(table, cells, Levels.of(len(table), sliding=sliding))).sets["K_pl"]
        )

    assert candidates(4) == ""
    assert candidates(5) == "A1"
    sliding = np.zeros(len(table))
    sliding[cells] = 21
    found = exposure(Problem.of(table, cells, Levels.of(len(table), sliding=sliding)))
    assert named(table, found.sets["E_p"]) == "A1 A2 B1 B2"  # each moves by 10 down and 10 up
    assert named(table, found.sets["I_u"]) == "A1 A2 B1 B2"
    sliding[cells] = 20
    assert not exposure(Problem.of(table, cells, Levels.of(len(table), sliding=sliding))).sets["E"].size


def test_a_cell_without_levels_must_not_be_determined() -> None:
    table = two_way(FIGURE_3)
    sets = exposure(Problem.of(table, positions(table, SENSITIVE_3))).sets
    assert named(table, sets["E"]) == named(table, sets["I_n"]) == "A1"


def test_coefficients_and_signs() -> None:
    """2 p - 3 q + r = 0 with p, q hidden: d_q = 2/3 d_p."""
    table = Table.from_equations([30, 40, 60], [[2, -3, 1]])
    levels = Levels.of(3, lower=[3, 4, 0], upper=[6, 2, 0])
    problem = Problem.of(table, [0, 1], levels)
    low, high = apparent_intervals(problem)
    assert low == pytest.approx([30 - 1.5 * 4, 40 - 3 * 2 / 3])  # p and q go the same way
    assert high == pytest.approx([30 + 1.5 * 2, 40 + 6 * 2 / 3])
    found = exposure(problem, intervals=True)
    assert found.low == pytest.approx([0, 20])
    assert np.isinf(found.high).all()
    assert list(found.sets["K_pl"]) == [0, 1]
    assert not found.sets["E"].size
    assert list(found.sets["K_nv"]) == [1]  # 36 <= 40 * 3 / 2, 42 > 30 * 2 / 3
    assert not found.sets["K_s"].size


def test_only_the_outsider_and_only_sensitive_cells_count() -> None:
    table = two_way(FIGURE_1)
    cells = positions(table, SENSITIVE_1)
    plain = exposure(with_levels(table, cells, ten_percent))
    levels, width = np.zeros(len(table)), np.zeros(len(table))
    levels[cells] = ten_percent(table.values[cells])
    width[table.find(row="F", column="1")] = 5.0
    insider = Attacker.knowing("insider", cells[:3], table.values[cells[:3]], table.values[cells[:3]])
    more = Problem.of(
        table,
        cells,
        Levels.of(len(table), levels, levels, conditional=width),
        attackers=[insider],
        most_touched=9,
    )
    assert as_sets(exposure(more)) == as_sets(plain)


def test_nothing_sensitive() -> None:
    table = two_way(FIGURE_1)
    problem = Problem.of(table, [])
    found = exposure(problem)
    assert all(cells.size == 0 for cells in found.sets.values())
    assert "0.0%" in found.summary(problem)


# ---------------------------------------------------------------------- how many can be initial


@pytest.mark.parametrize(
    ("shape", "most"),
    [((7,), 1), ((50, 2), 50), ((10, 10), 18), ((1, 6), 6), ((3, 4, 5), 2 * 3 + 3 * 4 + 2 * 4 + 4)],
)
def test_most_initial(shape: tuple[int, ...], most: int) -> None:
    table = k_way(shape, np.random.default_rng(0), low=1)
    assert most_initial(Problem.of(table, [int(np.flatnonzero(table.is_leaf)[0])])) == most


def test_most_initial_counts_a_hidden_total_as_a_code() -> None:
    table = two_way(FIGURE_1)
    assert most_initial(Problem.of(table, positions(table, "A1 T1"))) == 11
    assert most_initial(Problem.of(table, positions(table, "A1 TT"))) == 12


def test_most_initial_is_the_number_of_equations_elsewhere() -> None:
    table = hierarchical(np.random.default_rng(0))
    assert most_initial(Problem.of(table, [0])) == table.equations.shape[0]
    loose = Table.from_equations([5, 5, 10, 0, 7], [[1, 1, -1, 0, 0], [1, -1, 0, -1, 0]])
    assert most_initial(Problem.of(loose, [4])) == 2


# ---------------------------------------------------------------------- what is shown


def test_summary_says_what_is_safe() -> None:
    table = two_way(UNSAFE_K5)
    problem = with_levels(table, positions(table, SENSITIVE_K5), ten_percent, hide_zeros=False)
    found = exposure(problem)
    text = found.summary(problem)
    assert text.startswith("Confidential")
    assert "Only E is safe by itself" in text
    assert "must be followed by an audit" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["E", "8", "0.0%", "0"] in rows
    assert ["K5", "6", "25.0%", "2"] in rows
    assert all(any(row[:1] == [name] for row in rows) for name in MEANING)
    hidden = with_levels(table, positions(table, "A1"), ten_percent, hidden=positions(table, "B2"))
    assert "1 sensitive cells and 1 others are hidden" in exposure(hidden).summary(hidden)


def test_it_is_confidential_and_read_only() -> None:
    table = two_way(FIGURE_3)
    found = exposure(with_levels(table, positions(table, SENSITIVE_3), ten_percent))
    assert repr(found) == "<confidential Exposure: 1 of 9 sensitive cells exposed>"
    assert found.seconds > 0
    for array in (found.cells, found.low, found.high, *found.sets.values()):
        assert not array.flags.writeable
