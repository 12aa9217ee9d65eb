"""Lower bounds: the values of the literature, never above the optimum, and refused where they do not hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from cuts import capacity_rows, cheapest_by_cuts
from fixtures import FIXTURES
from tablecloak.analysis import BOUNDS, bounds
from tablecloak.analysis.lower_bounds import capacity, carvalho_almeida, castro, combined, kelly, relaxation_p
from tablecloak.cli.app import app
from tablecloak.cli.exit_codes import INFEASIBLE
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.formats import write_jj
from tablecloak.methods import largest_pattern
from tablecloak.methods.cuts import Cut, EquationCuts, OneWayCuts, fixing_cuts, rounded_up, weight_unit
from tablecloak.model import Levels, Problem
from tablecloak.protection import protect
from tablecloak.testing import KINDS, random_problem
from two_way import (
    FIGURE_000,
    FIGURE_001,
    FIGURE_001_3,
    FIGURE_004,
    SENSITIVE_001,
    SENSITIVE_001_3,
    T,
    TwoWay,
)

OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
    "negative": {"negative": True},
    "all of it": {"insiders": 1, "sliding": True, "conditional": True},
}
GRIDS = {
    "000": TwoWay(FIGURE_000),
    "004": TwoWay(FIGURE_004),
    "001": TwoWay(FIGURE_001, decimals=1),  # levels of 10%
    "001-3": TwoWay(FIGURE_001_3, decimals=1),
}


def example(name, weights):
    grid = GRIDS[name]
    return {
        "000": lambda: grid.problem([(1, 1)], 15, 15, weights=weights),
        "004": lambda: grid.problem([(2, 3)], 10, 12, weights=weights),
        "001": lambda: grid.percent(SENSITIVE_001, 0.1, weights=weights),
        "001-3": lambda: grid.percent(SENSITIVE_001_3, 0.1, weights=weights),
    }[name]()


# ---------------------------------------------------------------------- values of our notes, 4.12

NOTES = [
    # name, weights, optimum; Kelly, Castro, (P): linear and integer; capacity rows: sharp, raw, sharp and patterns
    ("000", "value", 58, (18, 18), (38.70, 45), (45, 45), 49, 0.998, 49),
    ("000", "unit", 3, (3, 3), (3, 3), (3, 3), 3, 0.01, 3),
    ("004", "value", 63, (37, 37), (45.29, 63), (54, 63), 48.33, 0.46, 54),
    ("004", "unit", 3, (3, 3), (3, 3), (3, 3), 2.667, 0.008, 3),
    ("001", "value", 118, (69, 69), (70.41, 118), (109.5, 118), 109.5, 0.30, 109.5),
    ("001", "unit", 3, (2, 2), (2.01, 3), (3, 3), 3, 0.001, 3),
    ("001-3", "value", 100, (0, 0), (0, 0), (0, 0), 100, 0.20, 100),
]
EVERY_NOTE = pytest.mark.parametrize("note", NOTES, ids=[f"{note[0]} {note[1]}" for note in NOTES])


@EVERY_NOTE
def test_bounds_by_single_lines(note):
    name, weights, optimum, by_kelly, by_castro, by_p, *_ = note
    problem = example(name, weights)
    for bound, values, options in (
        (kelly, by_kelly, {}),
        (castro, by_castro, {"truncated": False}),
        (carvalho_almeida, by_castro, {}),  # the same rows as long as no total is sensitive
        (relaxation_p, by_p, {}),
    ):
        found = bound(problem, integer=True, **options)
        assert (found.linear, found.integer) == pytest.approx(values, abs=0.006)
        assert found.value == found.integer <= optimum
        assert bound(problem, **options).integer is None
        assert bound(problem, **options).linear == pytest.approx(found.linear)


@EVERY_NOTE
def test_bounds_by_capacity_rows(note):
    """Beside the linear programs over the rows of all cuts (`cuts`), which give the figures of our notes.

    One figure is better here: 3 instead of 2.667, by all truncated rows instead of those that a search came upon.
    """
    name, weights, optimum, *_, sharp, raw, with_patterns = note
    grid, problem = GRIDS[name], example(name, weights)
    rows, must = list(capacity_rows(grid, problem)), problem.must_hide
    rest = [level - carried[:, must].sum(axis=1) for level, carried in rows]
    all_sharp = np.vstack(
        [
            np.minimum(carried[left > 0][:, ~must] / left[left > 0, None], 1.0)
            for (_, carried), left in zip(rows, rest, strict=True)
        ]
    )
    ones = np.ones(len(all_sharp))
    by_cuts = least_cost(problem, all_sharp, ones)
    assert by_cuts == pytest.approx(3 if sharp == 2.667 else sharp, abs=0.005)
    assert by_cuts - 1e-6 <= capacity(problem).linear <= optimum
    lines, asked = pattern_rows(problem)
    both = least_cost(problem, np.vstack([all_sharp, lines]), np.concatenate([ones, asked]))
    assert both == pytest.approx(with_patterns)
    assert both - 1e-6 <= combined(problem).linear <= optimum
    known = replace(problem, outsider_high=problem.table.values + 1e4)
    loose = np.vstack([carried for _, carried in capacity_rows(grid, known)])
    need = np.concatenate([np.full(len(carried), level) for level, carried in rows])
    without = need - loose[:, must].sum(axis=1)
    assert least_cost(problem, loose[:, ~must], without) == pytest.approx(raw, abs=0.005)
    for bound in (capacity, combined):
        assert bound(problem, integer=True).integer == pytest.approx(optimum)


def pattern_rows(problem):
    """Kelly's rows over the free cells: alone, and no cell alone in a line where nothing must be hidden."""
    rows, asked, must = [], [], problem.must_hide
    for line in problem.table.equations.toarray() != 0:
        free = line[~must].astype(float)
        if (line & must).sum() == 1:
            rows, asked = [*rows, free], [*asked, 1.0]
        elif not (line & must).any():
            for cell in np.flatnonzero(free):
                row = free.copy()
                row[cell] = -1.0
                rows, asked = [*rows, row], [*asked, 0.0]
    return np.array(rows), np.array(asked)


def least_cost(problem, rows, asked):
    """The linear program over free cells, rows as they are missed."""
    weights = problem.weights[~problem.must_hide]
    x, inside = np.zeros(weights.size), np.zeros(0, dtype=int)
    while True:
        short = asked - rows @ x
        worst = np.argsort(-short)[:40]
        worst = worst[short[worst] > 1e-7 * np.maximum(1.0, np.abs(asked[worst]))]
        if worst.size == 0:
            return float(weights @ x)
        inside = np.union1d(inside, worst)
        x = linprog(weights, -rows[inside], -asked[inside], bounds=(0, 1), method="highs").x


def test_castro_truncated_is_as_strong_as_p_where_no_total_is_sensitive():
    problem = example("001", "value")
    assert castro(problem).linear == pytest.approx(relaxation_p(problem).linear, abs=1e-6)
    assert castro(problem).linear > castro(problem, truncated=False).linear + 30


def test_v003_b_castro_s_row_as_printed_would_cut_off_the_optimum():
    grid = TwoWay([[10, 1, 10], [8, 20, 2], [30, 30, 30]])
    problem = grid.problem([(1, T)], 0.5, 15)
    assert cheapest_by_cuts(grid, problem) == 51
    best = protect(problem, "suppress-compact")
    row_one = grid.cells([(1, 1), (1, 2), (1, 3), (1, T)])
    volume = (problem.table.values * best.pattern.hidden)[row_one].sum()
    assert volume < 21 + 15  # what the row as printed would ask for
    found = castro(problem, integer=True)  # the row of column T holds, that of row 1 does not
    assert found.value <= 51
    assert "left out for 1 sensitive cell" in " ".join(found.notes)
    assert all(bound.value <= 51 for bound in bounds(problem, integer=True))
    symmetric = grid.problem([(1, T)], 15, 15)
    assert castro(symmetric, integer=True).notes == ()
    assert found.value <= castro(symmetric, integer=True).value <= cheapest_by_cuts(grid, symmetric)


def test_v000_b_a_total_may_rise_without_limit():
    """With min(a, g) for the total the volume of row 1 is 5 and could never reach 30."""
    grid = TwoWay([[1, 2, 2], [50, 50, 50], [60, 60, 60]])
    problem = grid.problem([(1, 1)], 1, 30, weights="unit")
    rows = EquationCuts(problem, largest_pattern(problem)).volume_cuts()
    total = grid.cell((1, T))
    (first,) = [
        row
        for row in rows
        if total in row.cells and grid.cell((1, 2)) in row.cells and row.coefficients.min() < 1
    ]
    assert first.coefficients[first.cells == total] == 1.0
    assert first.coefficients[first.cells == grid.cell((1, 2))] == pytest.approx(2 / 30)
    assert total in [int(row.cells[0]) for row in fixing_cuts(rows)]
    assert relaxation_p(problem, integer=True).value == cheapest_by_cuts(grid, problem) == 3
    with pytest.raises(NotApplicable, match="no larger than the cell"):
        castro(problem)


# ---------------------------------------------------------------------- never above the optimum


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", list(OPTIONS))
def test_no_bound_is_above_the_optimum(kind, option):
    """Any equations, several attackers, sliding and conditional levels."""
    checked = 0
    for seed in range(3):
        problem = random_problem(kind, np.random.default_rng(seed + 20_010), **OPTIONS[option])
        try:
            best = protect(problem, "suppress-optimal").cost
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                bounds(problem)
            continue
        found = {bound.name: bound for bound in bounds(problem, integer=True)}
        assert {"kelly", "carvalho_almeida", "relaxation_p", "capacity", "combined"} <= set(found)
        for bound in found.values():
            assert bound.linear - 1e-6 <= bound.integer <= bound.value + 1e-6
            assert bound.value <= best + 1e-6
        assert found["capacity"].value == found["combined"].value == pytest.approx(best, abs=1e-6)
        assert found["kelly"].linear <= found["relaxation_p"].linear + 1e-2 * max(1, best)
        checked += 1
    assert checked or option != "plain"


@pytest.mark.parametrize("hide_zeros", [True, False])
def test_tables_with_many_zeros(hide_zeros):
    """(8) to (10): lines of zeros, lines with a total of zero."""
    acted = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        inner = rng.integers(0, 30, (4, 4)) * (rng.random((4, 4)) < 0.5)
        inner[seed % 4] *= seed % 2
        problem = sprinkled(inner, rng, hide_zeros)
        try:
            best = protect(problem, "suppress-optimal").cost
        except InfeasibleProblem:
            continue
        assert all(bound.value <= best + 1e-6 for bound in bounds(problem, integer=True))
        cuts = OneWayCuts(EquationCuts(problem, largest_pattern(problem)))
        acted += bool(cuts.separate(((problem.table.values == 0) & ~problem.forced).astype(float)))
    assert bool(acted) == hide_zeros


def sprinkled(inner, rng, hide_zeros):
    """A two-way problem with random sensitive cells, unit weights now and then."""
    grid = TwoWay(inner.tolist())
    value = grid.table.values
    sensitive = (value > 0) & (rng.random(value.size) < 0.2)
    sensitive[int(np.argmax(value[:-1] > 0))] = True
    lower = np.where(sensitive, np.ceil(value * rng.choice([0.1, 0.5, 1.0])), 0.0)
    upper = np.where(sensitive, np.ceil(value * rng.choice([0.1, 0.5, 1.5])), 0.0)
    weights = "value" if rng.random() < 0.7 else "unit"
    levels = Levels.of(value.size, lower, upper)
    return Problem.of(grid.table, sensitive, levels, hide_zeros=hide_zeros, weights=weights)


@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_every_kind_of_table_has_bounds(fixture):
    problem = FIXTURES[fixture]()
    best = protect(problem, "suppress-optimal").cost
    found = bounds(problem, seconds=20)
    assert {bound.name for bound in found} >= {
        "kelly",
        "carvalho_almeida",
        "relaxation_p",
        "capacity",
        "combined",
    }
    assert all(0 <= bound.value <= best * (1 + 1e-9) + 1e-9 for bound in found)


def test_volume_rows_hold_for_all_safe_patterns():
    """Also for attackers: every pattern of a method meets the rows of single lines."""
    for fixture in ("two way several", "three way", "fifty attackers", "only sliding", "known within half"):
        problem = FIXTURES[fixture]()
        lines = EquationCuts(problem, largest_pattern(problem))
        rows = [*lines.volume_cuts(), *lines.volume_cuts(truncated=False), *lines.isolated_cuts()]
        for method in ("suppress-greedy", "suppress-optimal"):
            hidden = protect(problem, method).pattern.hidden.astype(float)
            assert all(row.violation(hidden) <= 1e-9 for row in rows)


def test_insiders_make_p_stronger():
    problem = FIXTURES["fifty attackers"]()
    assert relaxation_p(problem).linear > relaxation_p(replace(problem, attackers=())).linear


# ---------------------------------------------------------------------- what is said and refused


@pytest.mark.parametrize(
    ("fixture", "needs"),
    [
        ("negative values", "negative"),
        ("only sliding", "upper levels"),
        ("any equations", "among a total and its parts"),
    ],
)
def test_castro_says_what_it_needs(fixture, needs):
    with pytest.raises(NotApplicable, match=needs) as caught:
        castro(FIXTURES[fixture]())
    assert "relaxation_p" in caught.value.instead


def test_castro_leaves_out_single_cells_and_says_so():
    grid = TwoWay(FIGURE_001)
    problem = grid.problem([(1, 1), (5, 1), (5, T)], [2, 9, 1], [2, 9, 30])
    found = castro(problem, integer=True)
    assert "a row that does not hold left out for 1 sensitive cell" in found.notes
    assert found.value <= protect(problem, "suppress-optimal").cost


def test_what_is_not_used_is_noted():
    conditional = FIXTURES["conditional"]()
    assert "conditional levels are not used" in kelly(conditional).notes
    assert combined(conditional).notes == ()
    insiders = FIXTURES["fifty attackers"]()
    assert "for the outsider only" in kelly(insiders).notes
    assert relaxation_p(insiders).notes == ()
    bounded = replace(FIXTURES["two way"](), most_touched=4)
    assert "the bound on touched cells is not used" in combined(bounded).notes


def test_a_bound_without_time_is_weak_and_valid():
    found = combined(example("001", "value"), integer=True, seconds=0.0)
    assert 0 <= found.value <= 118
    assert found.integer is None
    assert "stopped by the clock" in found.notes


def test_nothing_to_do_costs_nothing():
    grid = TwoWay(FIGURE_004)
    problem = Problem.of(grid.table, [], Levels.of(16))
    assert [bound.value for bound in bounds(problem, integer=True)] == [0.0] * len(BOUNDS)
    everything = FIXTURES["one cell"]()
    assert all(bound.value == 0 for bound in bounds(everything))


def test_infeasible_problems_have_no_bound():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12, forced=grid.cells([(2, 1), (2, 2), (2, T)]))
    with pytest.raises(InfeasibleProblem):
        kelly(problem)
    with pytest.raises(InputError, match="problem"):
        kelly(grid.table)


def test_bounds_are_confidential_and_report_progress():
    seen = []

    def watch(phase, done, total, incumbent=None, bound=None):
        seen.append((phase, bound))

    found = relaxation_p(example("001", "value"), integer=True, progress=watch)
    assert repr(found).startswith("<confidential Bound: relaxation_p, 118 by an integer program")
    assert ("linear program", pytest.approx(109.5)) in seen
    assert {"linear program", "integer program"} <= {phase for phase, _ in seen}
    assert found.rows > 0
    assert found.seconds > 0


def test_rounding_up_to_a_unit():
    assert weight_unit(np.array([4.0, 10.0, 0.0])) == 2.0
    assert weight_unit(np.array([0.3, 0.75])) == pytest.approx(0.15)
    assert weight_unit(np.array([1000.0, 0.0005])) == pytest.approx(0.0005)
    assert weight_unit(np.array([1.0, np.pi])) == 0.0
    assert weight_unit(np.zeros(3)) == 0.0
    assert rounded_up(4.1, 2.0) == 6.0
    assert rounded_up(4.0000001, 2.0) == 4.0
    assert rounded_up(4.1, 0.0) == 4.1


def test_cells_without_which_a_row_cannot_be_met():
    rows = [
        Cut(np.array([1, 2, 5]), np.array([0.2, 0.3, 1.0]), 1.0, "volume"),
        Cut(np.array([3, 4]), np.array([1.0, 0.5]), 1.0, "volume"),
        Cut(np.array([6, 7]), np.array([1.0, 1.0]), 1.0, "volume"),
    ]
    assert [row.cells.tolist() for row in fixing_cuts(rows)] == [[3], [5]]


# ---------------------------------------------------------------------- on the command line


def test_the_command_prints_a_line_for_every_bound(tmp_path, capsys):
    path = tmp_path / "table.jj"
    path.write_text(write_jj(example("000", "value")))
    assert run("bounds", path, "--integer") == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[0] == ["bound", "linear", "integer", "seconds", "valid"]
    assert {row[0]: (row[1], row[2], row[-1]) for row in printed[1:]} == {
        "kelly": ("18", "18", "yes"),
        "carvalho_almeida": ("38.6957", "45", "yes"),
        "relaxation_p": ("45", "45", "yes"),
        "castro": ("45", "45", "yes"),
        "capacity": ("49", "58", "yes"),
        "subtables": ("58", "58", "yes"),
        "combined": (printed[-1][1], "58", "yes"),
    }
    assert run("bounds", path, "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_the_command_says_why_a_bound_does_not_apply_or_nothing_does(tmp_path, capsys):
    path, grid = tmp_path / "table.jj", TwoWay(FIGURE_004)
    path.write_text(write_jj(FIXTURES["negative values"]()))
    assert run("bounds", path, "--seconds", 20) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["-"] * len(BOUNDS)
    assert "no: it needs a table without negative cells" in next(line for line in lines if "castro" in line)
    path.write_text(write_jj(grid.problem([(2, 3)], 10, 12, forced=grid.cells([(2, 1), (2, 2), (2, T)]))))
    assert run("bounds", path) == INFEASIBLE


def run(*arguments):
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        app([str(argument) for argument in arguments])
    return int(ended.value.code or 0)
