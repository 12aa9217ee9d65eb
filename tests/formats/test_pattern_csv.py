"""Patterns as CSV files, and files written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak import files
from tablecloak.errors import InputError, NotApplicable
from tablecloak.files import check_writable, make_folder, read_text, write_file, write_files
from tablecloak.formats import cell_names, read_pattern, write_pattern
from tablecloak.formats.jj import parse_jj
from tablecloak.formats.pattern_csv import parse_pattern
from tablecloak.model import (
    Dimension,
    Intervals,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)

PROBLEM = parse_jj(
    """0
5
0 76543 9 s 0 inf 0 0 0
1 41111 3 u 0 inf 150 250 0
2 32222 2 z 0 inf 0 0 0
3 3210 1 m 0 inf 0 0 0
4 0 1 s 0 inf 0 0 0
1
0 5 : 0 (-1) 1 (1) 2 (1) 3 (1) 4 (1)
"""
).problem
VALUES = PROBLEM.table.values
TWO = "cell,status\n0,complementary\n1,sensitive\n2,published\n3,forced\n4,published\n"
FIVE = "cell,status,shown,low,high\n"


def faults_of(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_pattern(text, PROBLEM)
    for secret in ("76543", "41111", "32222", "3210"):
        assert secret not in str(caught.value)
    return list(caught.value.faults)


def same_view(one: Pattern, other: Pattern, problem: Problem = PROBLEM) -> bool:
    a, b = one.view(problem), other.view(problem)
    parts = ((a.shown, b.shown), (a.low, b.low), (a.high, b.high))
    return all(np.array_equal(x, y, equal_nan=True) for x, y in parts)


# ---------------------------------------------------------------------- suppressions


def test_a_suppression() -> None:
    pattern = Suppression.of(PROBLEM.table, [0, 1, 3])
    assert write_pattern(PROBLEM, pattern) == TWO
    again = parse_pattern(TWO, PROBLEM)
    assert isinstance(again, Suppression)
    assert again.hidden.tolist() == pattern.hidden.tolist()


def test_a_sensitive_cell_may_be_read_as_published() -> None:
    pattern = parse_pattern(TWO.replace("sensitive", "published"), PROBLEM)
    assert isinstance(pattern, Suppression)
    assert not pattern.hidden[1]


def test_forced_on_a_cell_that_must_be_published_means_published() -> None:
    pattern = parse_pattern(TWO.replace("2,published", "2,forced"), PROBLEM)
    assert isinstance(pattern, Suppression)
    assert not pattern.hidden[2]


def test_any_order_blanks_and_encodings(tmp_path: Path) -> None:
    lines = TWO.replace(",", " , ").splitlines()
    path = tmp_path / "pattern.csv"
    path.write_bytes(("\ufeff" + "\r\n".join([lines[0], "", *reversed(lines[1:])])).encode())
    pattern = read_pattern(path, PROBLEM)
    assert isinstance(pattern, Suppression)
    assert pattern.hidden.tolist() == [True, True, False, True, False]


@given(st.lists(st.booleans(), min_size=5, max_size=5))
def test_suppressions_are_read_back(hidden: list[bool]) -> None:
    hidden[2] = False
    pattern = Suppression.of(PROBLEM.table, np.array(hidden))
    again = parse_pattern(write_pattern(PROBLEM, pattern), PROBLEM)
    assert isinstance(again, Suppression)
    assert again.hidden.tolist() == hidden


def test_names_of_cells_with_dimensions() -> None:
    dimensions = [Dimension.flat("region", ["N, or so", 'S "x"']), Dimension.flat("size", ["big"])]
    cells = {"region": ["N, or so", 'S "x"'], "size": ["big", "big"], "value": [2, 3]}
    problem = Problem.of(Table.from_cells(dimensions, cells, recompute=True), [0])
    names = cell_names(problem.table)
    assert "N, or so|big" in names and "Total|Total" in names
    pattern = Suppression.of(problem.table, [0, 2])
    again = parse_pattern(write_pattern(problem, pattern), problem)
    assert same_view(again, pattern, problem)


def test_names_that_would_be_the_same() -> None:
    dimensions = [Dimension.flat("a", ["x|y", "x"]), Dimension.flat("b", ["z", "y|z"])]
    cells = {"a": ["x|y", "x"], "b": ["z", "y|z"], "value": [2, 3]}
    table = Table.from_cells(dimensions, cells, recompute=True)
    with pytest.raises(InputError, match=r"x\|y\|z"):
        cell_names(table)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("cell,status", "cell;status", "line 1: the first line must be cell,status"),
        ("cell,status", "# confidential\ncell,status", "line 1: the first line must be cell,status"),
        ("cell,status", "cell,status,shown", "line 1: the first line must be cell,status"),
        ("4,published", "5,published", "line 6: there is no cell 5"),
        ("4,published", "3,forced", "line 6: cell 3 is listed already in line 5"),
        ("4,published\n", "", "cell 4 is missing"),
        ("4,published", "4", "line 6: 1 fields, the first line has 2"),
        ("4,published", "4,published,1", "line 6: 3 fields, the first line has 2"),
        ("4,published", "4,shown", "line 6: cell 4: the status is none of published, sensitive"),
        ("4,published", "4,interval", "line 6: cell 4: the status is none of published, sensitive"),
        ("2,published", "2,complementary", "line 4: cell 2 is hidden, but must be published"),
        ("2,published", "2,sensitive", "line 4: cell 2 is hidden, but must be published"),
        ("4,published", '4,"publ"ished', "line 6: "),
    ],
)
def test_each_fault_is_told(old: str, new: str, fault: str) -> None:
    assert any(found.startswith(fault) for found in faults_of(TWO.replace(old, new)))


def test_all_faults_at_once() -> None:
    text = "cell,status\n0,hidden\n1,sensitive\n1,sensitive\n9,published\n2,sensitive\n3\n"
    assert faults_of(text) == [
        "line 2: cell 0: the status is none of published, sensitive, complementary, forced",
        "line 4: cell 1 is listed already in line 3",
        "line 5: there is no cell 9",
        "line 6: cell 2 is hidden, but must be published",
        "line 7: 1 fields, the first line has 2",
        "cell 4 is missing",
    ]


def test_an_empty_file() -> None:
    assert faults_of("\n") == ["it is empty"]


# ---------------------------------------------------------------------- other patterns

HIDE_1 = np.array([False, True, False, False, False])
CLOSE = Intervals.of(
    [70000.0, -np.inf, 32222.0, -np.inf, 0.0],
    [80000.0, np.inf, 32222.0, 5000.5, 0.0],
)
PATTERNS = {
    "intervals": CLOSE,
    "rounding": Rounding.of(np.rint(VALUES / 100) * 100, 100.0),
    "exact rounding": Rounding.of(VALUES, 0.0),
    "perturbation": Perturbation.of(VALUES - np.array([300.0, 300, 0, 0, 0]), [400.0, 400, 0, 0, 0]),
    "mixed": Mixed.of(
        PROBLEM.table,
        [
            (HIDE_1, Suppression(HIDE_1)),
            ([0], CLOSE),
            ([3], Rounding.of(VALUES + 10.0, 100.0)),
            ([4], Perturbation.of(VALUES + 3.0, 4.0)),
        ],
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_other_patterns_are_read_back(name: str) -> None:
    text = write_pattern(PROBLEM, PATTERNS[name])
    assert text.startswith(FIVE)
    again = parse_pattern(text, PROBLEM)
    assert type(again) is type(PATTERNS[name])
    assert same_view(again, PATTERNS[name])
    assert write_pattern(PROBLEM, again) == text


def test_the_text_of_a_mixed_pattern() -> None:
    assert write_pattern(PROBLEM, PATTERNS["mixed"]).splitlines()[1:] == [
        "0,interval,,70000,80000",
        "1,sensitive,,-inf,inf",
        "2,published,32222,32222,32222",
        "3,rounded,3220,3120,3320",
        "4,perturbed,3,-1,7",
    ]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)), min_size=5, max_size=5))
@settings(deadline=None)
def test_intervals_and_roundings_are_read_back(drawn: list[tuple[int, int]]) -> None:
    shown, reach = (np.array(column, dtype=float) for column in zip(*drawn, strict=True))
    for pattern in (
        Intervals.of(shown - reach / 7, shown + reach / 3),
        Rounding.of(shown / 8, reach),
        Perturbation.of(shown, reach / 8),
    ):
        again = parse_pattern(write_pattern(PROBLEM, pattern), PROBLEM)
        assert type(again) is type(pattern)
        assert same_view(again, pattern)


def test_a_published_value_is_read_as_stated() -> None:
    """A file that states a false value is for the audit to refuse, not to be corrected silently."""
    rows = ["0,rounded,76500,76400,76600", "1,sensitive,,-inf,inf", "2,published,5,5,5", "3,published,1,1,1"]
    pattern = parse_pattern("\n".join([FIVE.strip(), *rows, "4,published,0,0,0"]), PROBLEM)
    assert pattern.view(PROBLEM).low.tolist() == [76400, -np.inf, 5, 1, 0]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("published,7,7,8", "shown, low and high of a published cell must be the same number"),
        ("published,,7,7", "shown, low and high of a published cell must be the same number"),
        ("published,x,x,x", "shown, low and high of a published cell must be the same number"),
        ("complementary,,0,inf", "a hidden cell has nothing shown, low -inf and high inf"),
        ("complementary,5,-inf,inf", "a hidden cell has nothing shown, low -inf and high inf"),
        ("interval,,8,7", "an interval has nothing shown and two numbers, low not above high"),
        ("interval,,nan,7", "an interval has nothing shown and two numbers, low not above high"),
        ("interval,7,7,7", "an interval has nothing shown and two numbers, low not above high"),
        ("rounded,7,6,9", "shown must be the middle of low and high, all of them finite"),
        ("rounded,7,8,6", "shown must be the middle of low and high, all of them finite"),
        ("rounded,,6,8", "shown must be the middle of low and high, all of them finite"),
        ("perturbed,7,-inf,inf", "shown must be the middle of low and high, all of them finite"),
        ("perturbed,inf,inf,inf", "shown must be the middle of low and high, all of them finite"),
    ],
)
def test_wrong_numbers(row: str, fault: str) -> None:
    rest = "0,published,1,1,1\n1,sensitive,,-inf,inf\n2,published,5,5,5\n3,forced,,-inf,inf\n"
    assert faults_of(f"{FIVE}{rest}4,{row}\n") == [f"cell 4: {fault}"]


def test_a_pattern_of_unknown_kind() -> None:
    class Strange(Suppression):
        pass

    class Stranger:
        view = touched = loss = None

    assert write_pattern(PROBLEM, Strange(np.zeros(5, dtype=bool)))
    with pytest.raises(NotApplicable, match="Stranger"):
        write_pattern(PROBLEM, Stranger())  # type: ignore[arg-type]


# ---------------------------------------------------------------------- files


def test_files_are_written_whole(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("old")
    write_files({one: "é\n", two: "b"})
    assert one.read_bytes() == "é\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.txt", "two.txt"]


@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
def test_nothing_is_left_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("old")
    calls = []

    def broken(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise fault

    monkeypatch.setattr(files.os, "fsync", broken)
    with pytest.raises(InputError if isinstance(fault, OSError) else type(fault)):
        write_files({one: "new", two: "new"})
    assert one.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]


def test_texts_that_cannot_be_encoded_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_file(tmp_path / "one.txt", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_and_a_device_is_not_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_files({link: "new", Path(os.devnull): "gone"})
    assert target.read_text() == "new" and link.is_symlink()
    assert not Path(os.devnull).is_file()


def test_paths_are_checked_beforehand(tmp_path: Path) -> None:
    good, given = tmp_path / "good.txt", tmp_path / "input.txt"
    given.write_text("")
    check_writable([good, Path(os.devnull), Path(os.devnull)], inputs=[given])
    with pytest.raises(InputError) as caught:
        check_writable([tmp_path, tmp_path / "none" / "x.txt", good, good, given], inputs=[given])
    assert [fault.split(": ")[1] for fault in caught.value.faults] == [
        "it is a directory",
        f"there is no directory {tmp_path / 'none'}",
        "it is asked for twice",
        "it is an input file",
    ]


def test_folders(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        make_folder(tmp_path / "file")
    with pytest.raises(InputError, match="file"):
        write_file(tmp_path / "file" / "x", "")


def test_text_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Pattern file .*\n.*no such file"):
        read_pattern(tmp_path / "none.csv", PROBLEM)
    with pytest.raises(InputError, match="directory"):
        read_text(tmp_path)
