"""The JJ format: everything it can hold is read, everything that is wrong is told at once, with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.errors import InputError, NotApplicable
from tablecloak.formats import read_jj, write_jj
from tablecloak.formats.jj import parse_jj
from tablecloak.model import Attacker, Dimension, Levels, Mark, Problem, Table

SIZES = """targus 162/63/13, table7 624/230/17, hier13x7x7d 637/525/50, hier13x13x7d 1183/1443/75,
table8 1271/72/3, table1 1584/510/146, hier13x13x13a 2197/3549/108, toy3dsarah 2890/1649/376,
jjtabel3 3025/1650/1054, hier16 3564/5484/224, ninenew 6546/7340/858, osorio 10201/202/7,
cbs 11163/244/2467"""
SMALL = """0
4
0 76543 9 s 0 100000 0 0 0
1 41111 3 u 0 100000 150 250 500
2 32222 2 z 32222 32222 0 0 0
3 3210 1 m 0 inf 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""


def faults_of(text: str, **options: bool) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_jj(text, **options)
    for secret in ("76543", "41111", "32222", "3210"):
        assert secret not in str(caught.value)
    return list(caught.value.faults)


def same(one: Problem, other: Problem) -> bool:
    """All that the format can hold."""
    names = ("lower", "upper", "sliding", "conditional")
    pairs = [
        (one.table.values, other.table.values),
        (one.table.rhs, other.table.rhs),
        (one.table.equations.toarray(), other.table.equations.toarray()),
        (one.marks, other.marks),
        (one.weights, other.weights),
        (one.outsider_low, other.outsider_low),
        (one.outsider_high, other.outsider_high),
        *((getattr(one.levels, name), getattr(other.levels, name)) for name in names),
    ]
    return all(np.array_equal(a, b) for a, b in pairs)


# ---------------------------------------------------------------------- reading


def test_a_small_file() -> None:
    found = parse_jj(SMALL)
    problem = found.problem
    assert found.warnings == ()
    assert problem.table.values.tolist() == [76543, 41111, 32222, 3210]
    assert problem.table.dimensions[0].codes == ("0", "1", "2", "3")
    assert problem.table.equations.toarray().tolist() == [[-1, 1, 1, 1]]
    assert problem.marks.tolist() == [Mark.FREE, Mark.SENSITIVE, Mark.FORCED, Mark.HIDDEN]
    assert problem.weights.tolist() == [9, 3, 2, 1]
    assert problem.outsider_low.tolist() == [0, 0, 32222, 0]
    assert problem.outsider_high.tolist() == [100000, 100000, 32222, np.inf]
    assert [level[1] for _, level in problem.levels.named()] == [150, 250, 500, 0, 0, 0]
    assert problem.table.decimals == 0


@pytest.mark.parametrize(
    "equation",
    [
        "0 4 : 0 (-1)\n1 (1)\n\n2 (1) 3\n(1)",
        "0 4: 0(-1)1(1)2(1)3(1)",
        "0\n4\n:\n0 ( -1 ) 1 ( 1 ) 2 ( 1.0 ) 3 ( +1 )",
        "  0.0   4 :0(-1.0)\t1(1e0) 2 (1)3 (1)   ",
    ],
)
def test_blanks_and_line_ends_are_free_in_equations(equation: str) -> None:
    text = SMALL.replace("0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)", equation)
    assert same(parse_jj(text).problem, parse_jj(SMALL).problem)
    padded = "\n\n" + text.replace(" ", "   ").replace("\n", "  \n\n")
    assert same(parse_jj(padded).problem, parse_jj(SMALL).problem)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "small.jj"
    text = SMALL.replace("\n3 3210", "\né 3210").replace("3 (1)", "é (1)").replace("\n", end)
    path.write_bytes(text.encode(encoding))
    problem = read_jj(path).problem
    assert problem.table.dimensions[0].codes[3] == "é"
    assert same(problem, read_jj(str(path)).problem)


def test_any_distinct_ids_in_any_order() -> None:
    cells = "b_x 2 1 s 0 9 0 0 0\n17 1 1 u 0 9 1 1 0\nsum 3 1 s 0 9 0 0 0\n"
    text = f"0\n3\n{cells}1\n0 3 : 17 (1) sum (-1) b_x (1)\n"
    table = parse_jj(text).problem.table
    assert table.dimensions[0].codes == ("b_x", "17", "sum")
    assert table.equations.toarray().tolist() == [[1, 1, -1]]


@pytest.mark.parametrize(
    ("low", "high", "box"),
    [
        ("-inf", "inf", (-np.inf, np.inf)),
        ("-1e30", "1e30", (-np.inf, np.inf)),
        ("-1E+75", "Infinity", (-np.inf, np.inf)),
        ("-9e29", "9e29", (-9e29, 9e29)),
    ],
)
def test_infinite_bounds(low: str, high: str, box: tuple[float, float]) -> None:
    problem = parse_jj(f"0\n1\n0 5 1 u {low} {high} 1 1 0\n0\n").problem
    assert (problem.outsider_low[0], problem.outsider_high[0]) == box


def test_a_sensitive_cell_without_levels_is_asked_one_unit() -> None:
    problem = parse_jj("0\n2\n0 5.25 1 u 0 9 0 0 0\n1 5.25 1 s 0 9 0 0 0\n1\n0 2 : 0 (1) 1 (-1)\n").problem
    assert problem.table.decimals == 2
    assert problem.levels.sliding.tolist() == [0.01, 0]


def test_right_hand_sides_and_empty_equations() -> None:
    text = "0\n2\n0 5 1 s 0 9 0 0 0\n1 3 1 s 0 9 0 0 0\n2\n2 2 : 0 (1) 1 (-1)\n0 0 :\n"
    table = parse_jj(text).problem.table
    assert table.rhs.tolist() == [2, 0]
    assert table.equations.toarray().tolist() == [[1, -1], [0, 0]]
    assert parse_jj("0\n1\n0 5 1 u 0 9 1 1 0\n0\n").problem.table.equations.shape == (0, 1)


def test_levels_of_other_cells_are_ignored_with_a_warning() -> None:
    text = SMALL.replace("0 100000 0 0 0\n1", "0 100000 0 7 0\n1").replace("inf 0 0 0", "inf 1 1 1")
    found = parse_jj(text)
    assert same(found.problem, parse_jj(SMALL).problem)
    assert found.warnings == ("protection levels of cells that are not sensitive are ignored: lines 3, 6",)


def test_a_cell_twice_in_an_equation_is_added_up_with_a_warning() -> None:
    text = SMALL.replace("0 4 : 0 (-1)", "0 5 : 0 (-3) 0 (2)")
    found = parse_jj(text)
    assert same(found.problem, parse_jj(SMALL).problem)
    assert found.warnings == ("equations that name a cell more than once, coefficients added up: line 8",)


# ---------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("0\n4\n", "1\n4\n", "line 1: the first line of a JJ file is 0"),
        ("0\n4\n", "0\nfour\n", "line 2: the number of cells must stand here alone"),
        ("0\n4\n", "0\n-4\n", "line 2: the number of cells must stand here alone"),
        ("0\n4\n", "0\n5\n", "line 2: 5 cells announced, but 4 lines of cells follow"),
        ("0\n4\n", "0\n3\n", "line 2: 3 cells announced, but 4 lines of cells follow"),
        ("0\n4\n", "0\n999999999999\n", "line 2: 999999999999 cells announced, but 4 lines of cells follow"),
        ("3 3210 1 m 0 inf 0 0 0\n", "", "line 2: 4 cells announced, but 3 lines of cells follow"),
        ("1 41111 3 u", "1 41111 u", "line 4: 8 fields, a cell has 9"),
        ("150 250 500", "150 250 500 0", "line 4: 10 fields, a cell has 9"),
        ("1 41111 3 u", "1 4111l 3 u", "line 4: cell 1: value is not a finite number"),
        ("1 41111 3 u", "1 41_111 3 u", "line 4: cell 1: value is not a finite number"),
        ("1 41111 3 u", "1 41111,5 3 u", "line 4: cell 1: value is not a finite number"),
        ("1 41111 3 u", "1 inf 3 u", "line 4: cell 1: value is not a finite number"),
        ("1 41111 3 u", "1 41111 -3 u", "line 4: cell 1: weight is negative"),
        ("1 41111 3 u", "1 41111 -inf u", "line 4: cell 1: weight is not a finite number"),
        ("1 41111 3 u", "1 41111 3 U", "line 4: cell 1: the status is none of u, s, z, m"),
        ("150 250 500", "-150 250 500", "line 4: cell 1: lower level is negative"),
        ("150 250 500", "150 -1 500", "line 4: cell 1: upper level is negative"),
        ("150 250 500", "150 250 -1e-9", "line 4: cell 1: sliding level is negative"),
        ("150 250 500", "150 250 inf", "line 4: cell 1: sliding level is not a finite number"),
        ("u 0 100000", "u 50000 100000", "line 4: cell 1: low is above the value"),
        ("u 0 100000", "u 0 40000", "line 4: cell 1: high is below the value"),
        ("u 0 100000", "u nan 100000", "line 4: cell 1: low is not a number"),
        ("u 0 100000", "u 0 x", "line 4: cell 1: high is not a number"),
        ("\n2 32222", "\n1 32222", "line 5: cell 1 is listed already in line 4"),
        ("\n1\n0 4 :", "\n0 4 :", "line 7: the number of equations is missing before this line"),
        ("\n1\n0 4 :", "\none\n0 4 :", "line 7: the number of equations must stand here alone"),
        ("\n1\n0 4 :", "\n2\n0 4 :", "line 7: 2 equations announced, but 1 follow"),
        ("\n1\n0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)\n", "", "line 6: the file ends before the number of equations"),
        ("0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)\n", "", "line 7: 1 equations announced, but 0 follow"),
        ("3 (1)\n", "4 (1)\n", "line 8: there is no cell 4"),
        ("3 (1)\n", "3 (one)\n", "line 8: the coefficient of cell 3 is not a finite number"),
        ("3 (1)\n", "3 (1\n", "line 8: terms are not written as: id (coefficient)"),
        ("3 (1)\n", "3 1\n", "line 8: terms are not written as: id (coefficient)"),
        ("3 (1)\n", "\n", "line 8: 4 terms announced, but 3 follow"),
        ("3 (1)\n", "3 (1) 3 (0)\n", "line 8: something stands after the last equation"),
        ("3 (1)\n", "3 (1)\n\nThe end\n", "line 10: something stands after the last equation"),
        (
            "0 4 :",
            "0 x :",
            "line 8: an equation starts with a finite number, the number of terms and a colon",
        ),
        (
            "0 4 :",
            "nan 4 :",
            "line 8: an equation starts with a finite number, the number of terms and a colon",
        ),
        ("0 4 :", ":", "line 8: an equation starts with a finite number, the number of terms and a colon"),
        ("0 4 :", "9 0 4 :", "line 8: something stands before the first equation"),
        ("0 4 :", "0 4", "line 8: something stands before the first equation"),
    ],
)
def test_each_fault_is_told_with_its_line(old: str, new: str, fault: str) -> None:
    assert SMALL.count(old) >= 1
    assert any(found.startswith(fault) for found in faults_of(SMALL.replace(old, new, 1)))


@pytest.mark.parametrize("text", ["", "\n \n", "0", "0\n"])
def test_files_that_end_at_once(text: str) -> None:
    assert faults_of(text) == ["line 1: the file ends before the number of cells"]
    assert faults_of("0\n0\n0\n")


def test_the_line_of_a_fault_in_an_equation_over_several_lines() -> None:
    text = SMALL.replace("0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)", "0 4 : 0 (-1)\n1 (1)\n7 (1)\n3 (x)")
    assert faults_of(text) == [
        "line 10: there is no cell 7",
        "line 11: the coefficient of cell 3 is not a finite number",
    ]


def test_after_a_wrong_equation_the_next_one_is_read() -> None:
    equations = "3\n0 2 : 0 (1)\n0 9 : 1 (1) 2 (1\n0 1 : 8 (1)\n"
    assert faults_of("\n".join(SMALL.splitlines()[:6]) + "\n" + equations) == [
        "line 8: 2 terms announced, but 1 follow",
        "line 9: terms are not written as: id (coefficient)",
        "line 10: there is no cell 8",
    ]


def test_all_faults_at_once_in_the_order_of_lines() -> None:
    text = (
        "1\n5\n0 76543 -1 s 0 100000 0 0 0\n1 x 3 q 0 100000 -1 0 0\n2 32222 2 z 40000 32222\n"
        "0 3210 1 m 0 inf 0 0 0\n2\n0 4 : 0 (-1) 1 (1) 9 (1) 3 (1)\n"
    )
    assert faults_of(text) == [
        "line 1: the first line of a JJ file is 0",
        "line 2: 5 cells announced, but 4 lines of cells follow",
        "line 3: cell 0: weight is negative",
        "line 4: cell 1: lower level is negative",
        "line 4: cell 1: the status is none of u, s, z, m",
        "line 4: cell 1: value is not a finite number",
        "line 5: 6 fields, a cell has 9: id, value, weight, status, low, high, lower level, upper level, "
        "sliding level",
        "line 6: cell 0 is listed already in line 3",
        "line 7: 2 equations announced, but 1 follow",
        "line 8: there is no cell 3",
        "line 8: there is no cell 9",
    ]


def test_equations_that_do_not_add_up_are_all_listed() -> None:
    text = SMALL.replace("\n1\n0 4", "\n3\n1 2 : 0 (1)\n1 (-1)\n5 1 : 2 (1)\n0 4")
    with pytest.raises(InputError, match="does not add up") as caught:
        parse_jj(text)
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["line 8", "line 10"]
    assert caught.value.confidential["differences"].size == 2
    assert "32222" not in str(caught.value)


def test_levels_beyond_the_bounds() -> None:
    text = SMALL.replace("u 0 100000 150 250 500", "u 41000 41200 150 250 500")
    (fault,) = faults_of(text)
    assert "cell=1" in fault and "narrower" in fault
    problem = parse_jj(text, widen=True).problem
    assert problem.outsider_low[1] <= 41111 - 150
    assert problem.outsider_high[1] - problem.outsider_low[1] >= 500


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jj.*\n.*no such file"):
        read_jj(tmp_path / "none.jj")
    with pytest.raises(InputError, match="directory"):
        read_jj(tmp_path)
    with pytest.raises(InputError):
        read_jj("a\0b")
    binary = tmp_path / "binary.jj"
    binary.write_bytes(SMALL.encode("utf-16"))
    with pytest.raises(InputError, match=r"binary\.jj.*\n.*not a text file"):
        read_jj(binary)
    odd = tmp_path / "odd.jj"
    odd.write_bytes(bytes(range(1, 256)))
    with pytest.raises(InputError, match=r"odd\.jj"):
        read_jj(odd)


@given(st.text(alphabet="0123456789usz().:- \n", max_size=80))
def test_no_text_makes_the_reader_fail_otherwise(text: str) -> None:
    try:
        parse_jj(text)
    except InputError as error:
        assert error.faults


@given(st.data())
def test_no_damage_makes_the_reader_fail_otherwise(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(SMALL)))
    stop = data.draw(st.integers(start, min(start + 9, len(SMALL))))
    put = data.draw(st.text(alphabet="09 \n:()ux.-", max_size=4))
    try:
        parse_jj(SMALL[:start] + put + SMALL[stop:])
    except InputError as error:
        assert error.faults


# ---------------------------------------------------------------------- writing


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Two-way tables of any decimals with all that a JJ file can hold."""
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    decimals = draw(st.integers(0, 3))
    inner = draw(st.lists(st.integers(-500, 10**6), min_size=rows * columns, max_size=rows * columns))
    leaves = np.array(inner, dtype=float).reshape(rows, columns)
    full = np.block([[leaves, leaves.sum(1, keepdims=True)], [leaves.sum(0), np.array([leaves.sum()])]])
    values = (full / 10.0**decimals).ravel()
    at = np.arange(values.size).reshape(full.shape)
    matrix = np.zeros((sum(full.shape), values.size))
    for line, cells in enumerate([*at, *at.T]):
        matrix[line, cells] = [*[1.0] * (cells.size - 1), -1.0]
    numbers = st.floats(0, 1e6, allow_subnormal=False)

    def drawn(strategy: st.SearchStrategy[float]) -> np.ndarray:
        return np.array(draw(st.lists(strategy, min_size=values.size, max_size=values.size)))

    marks = drawn(st.sampled_from(list(Mark)))
    sensitive = marks == Mark.SENSITIVE
    levels = [np.where(sensitive, drawn(numbers), 0.0) for _ in range(3)]
    room = st.one_of(st.just(np.inf), numbers)
    names = draw(st.sampled_from([None, [f"c{i}é" for i in range(values.size)]]))
    return Problem.of(
        Table.from_equations(values, csr_array(matrix), matrix @ values, names=names),
        sensitive,
        Levels.of(values.size, *levels),
        weights=drawn(numbers),
        forced=marks == Mark.FORCED,
        hidden=marks == Mark.HIDDEN,
        known=(values - drawn(room), values + drawn(room)),
        widen=True,
    )


@given(problems())
@settings(deadline=None)
def test_what_is_written_is_read_back(problem: Problem) -> None:
    text = write_jj(problem)
    again = parse_jj(text)
    assert same(again.problem, problem)
    assert again.problem.table.dimensions[0].codes == problem.table.dimensions[0].codes
    assert again.warnings == ()
    assert write_jj(again.problem) == text


def test_the_text_written() -> None:
    assert write_jj(parse_jj(SMALL).problem) == SMALL.replace("inf", "1e+30")


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"attackers": [Attacker.knowing("someone", [2], 5.0)]}, "insiders"),
        ({"levels": Levels.of(4, conditional=[0, 0, 0, 5.0])}, "conditional levels"),
        ({"most_touched": 3}, "a bound on the number of touched cells"),
    ],
)
def test_what_the_format_cannot_hold(more: dict[str, object], what: str) -> None:
    problem = Problem.of(parse_jj(SMALL).problem.table, [1], **more)  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match=what):
        write_jj(problem)


@pytest.mark.parametrize("name", ["a b", "a(b", "a:b", " a", "x)"])
def test_names_the_format_cannot_hold(name: str) -> None:
    table = Table.from_equations([1.0, 1.0], csr_array([[1.0, -1.0]]), names=["ok", name])
    with pytest.raises(InputError, match="cell name"):
        write_jj(Problem.of(table, [0]))


def test_cells_of_a_table_with_dimensions_are_numbered() -> None:
    dimension = Dimension.flat("region", ["north of", "south"])
    cells = {"region": ["Total", "north of", "south"], "value": [5, 2, 3]}
    problem = Problem.of(Table.from_cells([dimension], cells), [1], Levels.of(3, [0, 1, 0]))
    again = parse_jj(write_jj(problem)).problem
    assert again.table.dimensions[0].codes == ("0", "1", "2")
    assert same(again, problem)


# ---------------------------------------------------------------------- the public library


@pytest.mark.parametrize("instance", SIZES.split(","))
def test_the_public_instances(instance: str, data: Path) -> None:
    name, size = instance.split()
    found = read_jj(data / "csplib" / f"{name}.jj")
    problem = found.problem
    assert f"{len(problem.table)}/{problem.table.equations.shape[0]}/{problem.sensitive.sum()}" == size
    assert found.warnings == ()
    assert same(parse_jj(write_jj(problem)).problem, problem)
