"""Hierarchy: every constructor, every fault (all at once), the round trip through .hrc text, and size."""

from __future__ import annotations

import copy
import csv
import os
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import InputError
from tablecloak.model import Hierarchy
from tablecloak.model.hierarchy import Tree

DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared" / "data"))

TREE = {"North": ["N1", "N2"], "South": {"S1": ["S11", "S12"], "S2": None}}
CODES = ("Total", "North", "N1", "N2", "South", "S1", "S11", "S12", "S2")
PARENT = [-1, 0, 1, 1, 0, 4, 5, 5, 4]
HRC = "North\n@N1\n@N2\nSouth\n@S1\n@@S11\n@@S12\n@S2\n"


@pytest.fixture
def regions() -> Hierarchy:
    return Hierarchy.from_dict(TREE)


def faults(make: Callable[[], object]) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.advice
    assert caught.value.what.startswith("hierarchy") or caught.value.what.startswith("Hierarchy(")
    return caught.value.faults


# -- what it is ---------------------------------------------------------------------------------------


def test_codes_and_parents_are_depth_first(regions: Hierarchy) -> None:
    assert regions.codes == CODES
    assert regions.parent.tolist() == PARENT
    assert regions.parent.dtype == np.int32
    assert regions.depth.tolist() == [0, 1, 2, 2, 1, 2, 3, 3, 2]
    assert regions.depth.dtype == np.int32
    assert regions.is_leaf.tolist() == [False, False, True, True, False, False, True, True, True]
    assert regions.leaves == ("N1", "N2", "S11", "S12", "S2")
    assert regions.total == "Total"
    assert [regions.index[code] for code in CODES] == list(range(9))


def test_children(regions: Hierarchy) -> None:
    assert regions.children("Total") == ("North", "South")
    assert regions.children("South") == ("S1", "S2")
    assert regions.children("S11") == ()
    many = {f"a{i}": [f"b{i}{j}" for j in "zyx"] for i in range(500)}
    wide = Hierarchy.from_dict(many)
    assert wide.children("Total") == tuple(many)
    assert all(wide.children(code) == tuple(below) for code, below in many.items())
    assert faults(lambda: regions.children("West")) == ("unknown code 'West'",)
    assert faults(lambda: regions.children(["S1"])) == ("unknown code ['S1']",)  # type: ignore[arg-type]


def test_len_contains_repr(regions: Hierarchy) -> None:
    assert len(regions) == 9
    assert "S2" in regions
    assert "West" not in regions
    assert 3 not in regions
    assert ["S2"] not in regions
    assert repr(regions) == "Hierarchy('Total', 9 codes, 4 levels, 5 leaves)"


def test_is_frozen(regions: Hierarchy) -> None:
    with pytest.raises(FrozenInstanceError):
        regions.codes = ()  # type: ignore[misc]
    for array in (regions.parent, regions.depth):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(TypeError):
        regions.index["West"] = 9  # type: ignore[index]


def test_does_not_share_the_array_it_was_made_from() -> None:
    mine = np.array([-1, 0, 0], dtype=np.int32)
    hierarchy = Hierarchy(("T", "a", "b"), mine)
    mine[2] = 1
    assert hierarchy.parent.tolist() == [-1, 0, 0]


def test_equality_and_hash(regions: Hierarchy) -> None:
    same = Hierarchy(CODES, np.array(PARENT))
    assert same == regions
    assert hash(same) == hash(regions)
    assert len({same, regions}) == 1
    other_shape = Hierarchy(("T", "a", "b"), np.array([-1, 0, 1]))
    assert other_shape != Hierarchy.flat(["a", "b"], "T")
    assert Hierarchy.flat(["a", "b"]) != Hierarchy.flat(["b", "a"])
    assert regions != CODES


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h))])
def test_copies_are_equal_and_read_only(regions: Hierarchy, again: Callable[[Hierarchy], Hierarchy]) -> None:
    other = again(regions)
    assert other == regions
    assert other.index == regions.index
    assert not other.parent.flags.writeable


# -- made directly ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parent",
    [
        [0, 0, 0, 0],  # the root has a parent
        [-1, -1, 0, 0],  # two roots
        [-1, 2, 0, 0],  # a parent that comes later
        [-1, 0, 2, 0],  # its own parent
        [-1, 0, 0, 1],  # not depth-first: a is closed when b begins
        [-1, 0, 0, 9],  # out of range
        [-1, 0, 0, -2],
    ],
)
def test_only_depth_first_trees_are_taken(parent: list[int]) -> None:
    (fault,) = faults(lambda: Hierarchy(("T", "a", "b", "c"), np.array(parent)))
    assert "is not on the path just above it" in fault


def test_direct_faults_are_all_listed() -> None:
    codes: tuple[object, ...] = ("T", "a", "", 7, "a", ["x"])
    found = faults(lambda: Hierarchy(codes, np.array([-1, 0, 0, 0, 9, 1])))  # type: ignore[arg-type]
    assert found == (
        "codes[2]: the code is empty",
        "codes[3]: 7 is int, not text",
        "codes[4]: duplicate code 'a' (first: codes[1])",
        "codes[5]: ['x'] is list, not text",
        "codes[4]: parent 9 is not on the path just above it",
        "codes[5]: parent 1 is not on the path just above it",
    )


@pytest.mark.parametrize("parent", [[-1, 0], [[-1, 0, 0]], [-1.0, 0.0, 0.0], ["-1", "0", "0"]])
def test_parent_must_fit_the_codes(parent: object) -> None:
    (fault,) = faults(lambda: Hierarchy(("T", "a", "b"), parent))  # type: ignore[arg-type]
    assert fault == "parent must hold one whole number for each of the 3 codes"


def test_a_total_alone_is_not_a_hierarchy() -> None:
    assert faults(lambda: Hierarchy(("T",), np.array([-1]))) == ("no codes below the total",)
    assert faults(lambda: Hierarchy.from_pairs([("T", None)])) == ("no codes below the total",)


# -- all constructors ---------------------------------------------------------------------------------


def test_constructors_agree(regions: Hierarchy, tmp_path: Path) -> None:
    pairs = [(code, CODES[parent]) for code, parent in zip(CODES[1:], PARENT[1:], strict=True)]
    path = tmp_path / "regions.hrc"
    path.write_text(HRC, encoding="utf-8")
    assert Hierarchy.from_pairs(pairs) == regions
    assert Hierarchy.from_hrc(HRC) == regions
    assert Hierarchy.from_hrc(path) == regions
    assert regions.to_hrc() == HRC
    flat = Hierarchy.flat(["a", "b"])
    assert flat == Hierarchy.from_dict({"a": None, "b": {}})
    assert flat == Hierarchy.from_pairs([("a", "Total"), ("b", "Total")])
    assert flat == Hierarchy.from_prefixes(["a", "b"], (1,))
    assert flat == Hierarchy.from_hrc("a\nb")


def test_single_child_levels_are_allowed() -> None:
    chain = Hierarchy.from_dict({"A": {"A1": ["A11"]}})
    assert chain.codes == ("Total", "A", "A1", "A11")
    assert chain.leaves == ("A11",)
    assert chain == Hierarchy.from_prefixes(["A11"], (1, 1, 1))
    assert chain == Hierarchy.from_hrc("A\n@A1\n@@A11")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hierarchy.flat([]),
        lambda: Hierarchy.from_dict({}),
        lambda: Hierarchy.from_pairs([]),
        lambda: Hierarchy.from_pairs([], total="T"),
        lambda: Hierarchy.from_prefixes([], (1,)),
        lambda: Hierarchy.from_hrc(""),
        lambda: Hierarchy.from_hrc(" \n\n"),
    ],
)
def test_no_codes(make: Callable[[], Hierarchy]) -> None:
    assert faults(make) == ("no codes",)


@pytest.mark.parametrize(
    "make",
    [
        lambda total: Hierarchy.flat(["a"], total),
        lambda total: Hierarchy.from_dict({"a": None}, total),
        lambda total: Hierarchy.from_pairs([("a", "b")], total),
        lambda total: Hierarchy.from_prefixes(["a"], (1,), total),
        lambda total: Hierarchy.from_hrc("a", total),
    ],
)
def test_the_total_is_a_code_too(make: Callable[[object], Hierarchy]) -> None:
    assert faults(lambda: make(" ")) == ("the total: the code is empty",)
    assert faults(lambda: make(5)) == ("the total: 5 is int, not text",)


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: Hierarchy.flat(["a", "T"], "T"), "code 2"),
        (lambda: Hierarchy.from_dict({"a": None, "T": None}, "T"), "below 'T'"),
        (lambda: Hierarchy.from_prefixes(["a", "T"], (1, 1), "T"), "code 2"),
        (lambda: Hierarchy.from_prefixes(["a", "T1"], (1, 1), "T"), "code 2"),
        (lambda: Hierarchy.from_hrc("a\nT", "T"), "line 2"),
    ],
)
def test_a_code_equal_to_the_total_is_a_duplicate(make: Callable[[], Hierarchy], where: str) -> None:
    assert faults(make) == (f"{where}: duplicate code 'T': the total cannot be below a code",)


def test_text_of_numpy_becomes_plain_text() -> None:
    hierarchy = Hierarchy.flat(np.array(["a", "b"]), np.str_("T"))
    assert {type(code) for code in hierarchy.codes} == {str}
    assert {type(code) for code in hierarchy.index} == {str}
    pairs = np.array([["a", "T"], ["b", "T"]])
    assert Hierarchy.from_pairs(pairs) == hierarchy
    assert faults(lambda: Hierarchy.flat(np.array(["a", "a"]))) == (
        "code 2: duplicate code 'a' (first: code 1)",
    )


# -- flat ---------------------------------------------------------------------------------------------


def test_flat() -> None:
    sexes = Hierarchy.flat(["m", "f"], total="all")
    assert sexes.codes == ("all", "m", "f")
    assert sexes.depth.tolist() == [0, 1, 1]
    assert Hierarchy.flat(code for code in "mf").codes == ("Total", "m", "f")
    assert Hierarchy.flat({"m", "f", "x"}).codes == ("Total", "f", "m", "x")


def test_flat_lists_all_faults() -> None:
    codes: list[object] = ["a", "", "b", None, "a", 3.5, "  ", "Total", ["a"], "a"]
    assert faults(lambda: Hierarchy.flat(codes)) == (  # type: ignore[arg-type]
        "code 2: the code is empty",
        "code 4: None is NoneType, not text",
        "code 5: duplicate code 'a' (first: code 1)",
        "code 6: 3.5 is float, not text",
        "code 7: the code is empty",
        "code 8: duplicate code 'Total': the total cannot be below a code",
        "code 9: ['a'] is list, not text",
        "code 10: duplicate code 'a' (first: code 1)",
    )


def test_one_text_is_not_a_list_of_codes() -> None:
    assert faults(lambda: Hierarchy.flat("abc")) == ("'abc' is str, not a list",)
    assert faults(lambda: Hierarchy.from_prefixes("abc", (1,))) == ("'abc' is str, not a list",)
    assert faults(lambda: Hierarchy.from_dict({"a": "bc"})) == ("below 'a': 'bc' is str, not a list",)


# -- nested dicts -------------------------------------------------------------------------------------


def test_from_dict_takes_all_kinds_of_leaves() -> None:
    tree: Tree = {
        "a": None,
        "b": {},
        "c": [],
        "d": ("d1",),
        "e": {"e2", "e1"},
        "f": {"f2": None, "f1": None}.keys(),
    }
    hierarchy = Hierarchy.from_dict(tree, "T")
    assert hierarchy.codes == ("T", "a", "b", "c", "d", "d1", "e", "e1", "e2", "f", "f2", "f1")
    assert hierarchy.children("T") == ("a", "b", "c", "d", "e", "f")


def test_from_dict_lists_all_faults() -> None:
    tree = {
        "North": ["N1", "N1", ""],
        "South": {"N1": None, 4: ["x"], "North": 7},
        "Total": [{"y": None}],
    }
    assert faults(lambda: Hierarchy.from_dict(tree)) == (  # type: ignore[arg-type]
        "below 'North': 7 is int, not a list",
        "below 'Total': duplicate code 'Total': the total cannot be below a code",
        "below 'North': duplicate code 'N1' (first: below 'North')",
        "below 'North': the code is empty",
        "below 'South': duplicate code 'N1' with two parents: 'North' (below 'North') and 'South'",
        "below 'South': 4 is int, not text",
        "below 'South': duplicate code 'North' with two parents: 'Total' (below 'Total') and 'South'",
        "below 'Total': {'y': None} is dict, not text",
    )


def test_a_dict_below_itself_is_a_cycle() -> None:
    inner: dict[str, object] = {}
    inner["b"] = {"c": inner}
    found = faults(lambda: Hierarchy.from_dict({"a": inner}))
    assert "cycle: 'b' below 'c' below 'b'" in found
    assert "below 'c': duplicate code 'b' with two parents: 'a' (below 'a') and 'c'" in found


def test_a_dict_in_two_places_gives_duplicates_and_ends() -> None:
    tree: dict[str, object] = {"leaf": None}
    for level in range(60):  # 2^60 codes if it were entered each time
        tree = {f"x{level}": tree, f"y{level}": tree}
    found = faults(lambda: Hierarchy.from_dict(tree))  # type: ignore[arg-type]
    assert len(found) == 2 * 60 - 1
    assert all("duplicate code" in fault for fault in found)


# -- pairs --------------------------------------------------------------------------------------------


def test_pairs_come_in_any_order() -> None:
    hierarchy = Hierarchy.from_pairs([("n2", "N"), ("S", "T"), ("s1", "S"), ("N", "T"), ("n1", "N")])
    assert hierarchy.codes == ("T", "S", "s1", "N", "n2", "n1")


@pytest.mark.parametrize("mark", [None, "", "  ", "T"])
@pytest.mark.parametrize("total", [None, "T"])
def test_the_root_may_be_marked(mark: str | None, total: str | None) -> None:
    hierarchy = Hierarchy.from_pairs([("a", "T"), ("T", mark), ("b", "T")], total)
    assert hierarchy == Hierarchy.flat(["a", "b"], "T")


def test_a_new_total_goes_above_the_roots() -> None:
    expected = Hierarchy.from_dict({"N": ["n"], "S": ["s"]}, "World")
    assert Hierarchy.from_pairs([("n", "N"), ("s", "S")], "World") == expected
    assert Hierarchy.from_pairs([("N", None), ("n", "N"), ("s", "S"), ("S", "")], "World") == expected
    # one root or many, the total asked for is on top: a filter that leaves one branch changes no level
    assert Hierarchy.from_pairs([("n", "N")], "World") == Hierarchy.from_dict({"N": ["n"]}, "World")


def test_several_roots() -> None:
    pairs = [("a", "A"), ("b", "B"), ("C", None)]
    assert faults(lambda: Hierarchy.from_pairs(pairs)) == (
        "'A' has no parent: one of 3 roots",
        "'B' has no parent: one of 3 roots",
        "'C' has no parent: one of 3 roots",
    )
    assert faults(lambda: Hierarchy.from_pairs(pairs, "B")) == (
        "'A' has no parent and is not the total",
        "'C' has no parent and is not the total",
    )


def test_the_total_below_another_code() -> None:
    assert faults(lambda: Hierarchy.from_pairs([("a", "T"), ("T", "W")], "T")) == (
        "'W' has no parent and is not the total",
        "pair 2: duplicate code 'T': the total cannot be below a code",
    )


def test_a_marked_root_with_a_parent() -> None:
    (fault,) = faults(lambda: Hierarchy.from_pairs([("a", "a"), ("a", "T")]))
    assert fault == "pair 2: duplicate code 'a' with two parents: None (pair 1) and 'T'"


@pytest.mark.parametrize("total", [None, "T", "World"])
def test_a_root_marked_twice(total: str | None) -> None:
    found = faults(lambda: Hierarchy.from_pairs([("T", None), ("a", "T"), ("T", "")], total))
    assert found == ("pair 3: duplicate code 'T' (first: pair 1)",)


def test_cycles_name_their_codes() -> None:
    pairs = [("a", "T"), ("b", "c"), ("c", "d"), ("d", "b"), ("e", "b"), ("x", "y"), ("y", "x")]
    assert faults(lambda: Hierarchy.from_pairs(pairs)) == (
        "cycle: 'b' below 'c' below 'd' below 'b'",
        "cycle: 'x' below 'y' below 'x'",
    )
    assert faults(lambda: Hierarchy.from_pairs([("a", "b"), ("b", "a")])) == (
        "cycle: 'a' below 'b' below 'a'",
    )


def test_a_cycle_through_a_second_parent_is_found() -> None:
    assert faults(lambda: Hierarchy.from_pairs([("a", "T"), ("b", "a"), ("a", "b")])) == (
        "pair 3: duplicate code 'a' with two parents: 'T' (pair 1) and 'b'",
        "cycle: 'a' below 'b' below 'a'",
    )


def test_from_pairs_lists_all_faults() -> None:
    pairs: list[object] = [
        ("A", "T"),
        ("B", "T"),
        ("A", "T"),  # the same pair again
        ("A", "B"),  # a second parent
        ("x", "y"),
        ("y", "x"),  # a cycle
        ("", "A"),
        (3, "A"),
        (["q"], None),
        ("C", 4),
        ("D", float("nan")),
        ("E",),
        "EF",
        {"E", "F"},
        ("z", "Z"),  # a second root
        (5, 6),
    ]
    assert faults(lambda: Hierarchy.from_pairs(pairs)) == (  # type: ignore[arg-type]
        "pair 7, child: the code is empty",
        "pair 8, child: 3 is int, not text",
        "pair 9, child: ['q'] is list, not text",
        "pair 10, parent: 4 is int, not text",
        "pair 11, parent: nan is float, not text",
        "pair 12: ('E',) is not (child, parent)",
        "pair 13: 'EF' is not (child, parent)",
        "pair 14: {'E', 'F'} is not (child, parent)",
        "pair 16, child: 5 is int, not text",
        "pair 16, parent: 6 is int, not text",
        "'T' has no parent: one of 2 roots",
        "'Z' has no parent: one of 2 roots",
        "pair 3: duplicate code 'A' (first: pair 1)",
        "pair 4: duplicate code 'A' with two parents: 'T' (pair 1) and 'B'",
        "cycle: 'x' below 'y' below 'x'",
    )


# -- prefixes -----------------------------------------------------------------------------------------


def test_from_prefixes() -> None:
    hierarchy = Hierarchy.from_prefixes(["34210", "34100", "34220", "50000"], (3, 1, 1))
    assert hierarchy == Hierarchy.from_dict(
        {
            "342": {"3421": ["34210"], "3422": ["34220"]},
            "341": {"3410": ["34100"]},
            "500": {"5000": ["50000"]},
        }
    )


def test_prefixes_given_themselves_and_codes_that_end_early() -> None:
    hierarchy = Hierarchy.from_prefixes(["a", "b11", "b", "c"], [1, 2], "T")
    assert hierarchy == Hierarchy.from_dict({"a": None, "b": ["b11"], "c": None}, "T")
    assert Hierarchy.from_prefixes(["b11", "b"], (1, 2)) == Hierarchy.from_prefixes(["b", "b11"], (1, 2))


def test_from_prefixes_lists_all_faults() -> None:
    codes: list[object] = [
        "341",
        "34100",
        "34",
        "341000",
        "",
        34100,
        "34100",
        "341",
        ["3"],
        "Tot10",
        "  1",
        "34",
    ]
    assert faults(lambda: Hierarchy.from_prefixes(codes, (3, 1, 1), "Tot")) == (  # type: ignore[arg-type]
        "code 3: '34' is 2 long, which is none of [3, 4, 5]",
        "code 4: '341000' is 6 long, which is none of [3, 4, 5]",
        "code 12: '34' is 2 long, which is none of [3, 4, 5]",
        "code 5: the code is empty",
        "code 6: 34100 is int, not text",
        "code 7: duplicate code '34100' (first: code 2)",
        "code 8: duplicate code '341' (first: code 1)",
        "code 9: ['3'] is list, not text",
        "code 10: duplicate code 'Tot': the total cannot be below a code",
        "code 12: duplicate code '34' (first: code 3)",
    )


@pytest.mark.parametrize("digits", [(), (3, 0), (2, -1), (1.5, 1), ("3", "1")])
def test_digits_are_checked_beside_the_codes(digits: tuple[int, ...]) -> None:
    first, second = faults(lambda: Hierarchy.from_prefixes(["341", "341"], digits))
    assert first.startswith("digits must be positive whole numbers")
    assert second == "code 2: duplicate code '341' (first: code 1)"


def test_a_blank_prefix_is_an_empty_code() -> None:
    assert faults(lambda: Hierarchy.from_prefixes(["  1"], (2, 1))) == ("code 1: the code is empty",)


# -- .hrc text ----------------------------------------------------------------------------------------


def test_hrc_is_read_with_its_irregularities(regions: Hierarchy) -> None:
    text = "\ufeff\r\nNorth  \r\n@N1\t\r\n  @ N2\r\n\r\n   \r\n South\r@S1\n@@S11\n@@  S12\r\n@S2"
    assert Hierarchy.from_hrc(text) == regions


@pytest.mark.parametrize("lead", ["@", "@@", "->", "*", ".", "\\", "  ", "\t", "é"])
def test_any_lead(regions: Hierarchy, lead: str) -> None:
    text = regions.to_hrc(lead)
    assert text == HRC.replace("@", lead)
    assert Hierarchy.from_hrc(text, lead=lead) == regions


def test_the_total_of_hrc_text_is_named_by_the_caller() -> None:
    assert Hierarchy.from_hrc("a\nb", total="All").total == "All"


@pytest.mark.parametrize(
    ("encoding", "bom"), [("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("latin-1", b"")], ids=str
)
def test_hrc_files_in_utf8_or_latin1(tmp_path: Path, encoding: str, bom: bytes) -> None:
    path = tmp_path / "länder.hrc"
    path.write_bytes(bom + "Österreich\r\n@Kärnten\r\n@Wien\r\n".encode(encoding))
    assert Hierarchy.from_hrc(path) == Hierarchy.from_dict({"Österreich": ["Kärnten", "Wien"]})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Hierarchy.from_hrc(tmp_path / "none.hrc")


def test_a_file_name_is_not_a_text() -> None:
    for name in ("data/regions.hrc", "C:\\REGIONS.HRC"):
        (fault,) = faults(lambda name=name: Hierarchy.from_hrc(name))  # type: ignore[misc]
        assert "pathlib.Path" in fault
    assert Hierarchy.from_hrc("regions.hrc\n").leaves == ("regions.hrc",)


def test_from_hrc_lists_all_faults_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.hrc"
    path.write_text("@A\n@B\n\nC\n@@@D\n@@@E\n@@\n@ @F\nA\nC\n@C\nTotal\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Hierarchy.from_hrc(path)
    assert str(path) in caught.value.what
    assert caught.value.faults == (
        "line 8: the blanks before '@F' leave its level in doubt",
        "line 1: 'A' jumps from level 0 to level 2",
        "line 5: 'D' jumps from level 1 to level 4",
        "line 7: the code is empty",
        "line 9: duplicate code 'A' (first: line 1)",
        "line 10: duplicate code 'C' (first: line 4)",
        "line 11: duplicate code 'C' with two parents: 'Total' (line 4) and 'C'",
        "line 12: duplicate code 'Total': the total cannot be below a code",
    )


def test_an_indent_that_is_no_whole_number_of_leads() -> None:
    found = faults(lambda: Hierarchy.from_hrc("a\n  b\n   c\n\td\n", lead="  "))
    assert found == (
        "line 3: the blanks before 'c' leave its level in doubt",
        "line 4: the blanks before 'd' leave its level in doubt",
    )


@pytest.mark.parametrize("lead", ["", "\n", "@\r", " @", "@ "])
def test_leads_that_cannot_work(regions: Hierarchy, lead: str) -> None:
    for make in (lambda: Hierarchy.from_hrc("a\nb", lead=lead), lambda: regions.to_hrc(lead)):
        (fault,) = faults(make)
        assert fault.startswith(f"the lead {lead!r} must be")


def test_codes_that_hrc_text_cannot_hold() -> None:
    codes = ["@a", " b", "c ", "d\ne", "f\rg", "\ufeffh", "i@", "j k"]
    found = faults(lambda: Hierarchy.flat(codes).to_hrc())
    assert found == tuple(f"{code!r} would be read back as something else" for code in codes[:6])
    assert Hierarchy.from_hrc(Hierarchy.flat(["@a"]).to_hrc("#"), lead="#") == Hierarchy.flat(["@a"])


# -- laws ---------------------------------------------------------------------------------------------


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """A random tree: each code goes below one of those on the path to the code before it."""
    text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.strip)
    fit = text.filter(
        lambda code: code and not code.startswith(("@", "\ufeff")) and not set(code) & {"\n", "\r"}
    )
    codes = draw(st.lists(fit, min_size=2, max_size=30, unique=True))
    parent, path = [-1], [0]
    for i in range(1, len(codes)):
        del path[draw(st.integers(1, len(path))) :]
        parent.append(path[-1])
        path.append(i)
    return Hierarchy(tuple(codes), np.array(parent))


def pairs_of(hierarchy: Hierarchy) -> list[tuple[str, str | None]]:
    above = [hierarchy.codes[i] for i in hierarchy.parent[1:]]
    return list(zip(hierarchy.codes[1:], above, strict=True))


@given(hierarchies())
def test_hrc_text_reads_back(hierarchy: Hierarchy) -> None:
    assert Hierarchy.from_hrc(hierarchy.to_hrc(), total=hierarchy.total) == hierarchy


@given(hierarchies())
def test_pairs_and_dicts_read_back(hierarchy: Hierarchy) -> None:
    groups: dict[str, dict[str, object]] = {code: {} for code in hierarchy.codes}
    for child, parent in pairs_of(hierarchy):
        groups[parent or ""][child] = groups[child]
    tree = groups[hierarchy.total]
    assert Hierarchy.from_pairs(pairs_of(hierarchy)) == hierarchy
    assert Hierarchy.from_pairs(pairs_of(hierarchy), total=hierarchy.total) == hierarchy
    assert Hierarchy.from_dict(tree, hierarchy.total) == hierarchy  # type: ignore[arg-type]


@given(hierarchies(), st.randoms(use_true_random=False))
def test_the_order_of_pairs_moves_siblings_only(hierarchy: Hierarchy, random: object) -> None:
    pairs = pairs_of(hierarchy)
    random.shuffle(pairs)  # type: ignore[attr-defined]
    shuffled = Hierarchy.from_pairs(pairs)
    assert set(pairs_of(shuffled)) == set(pairs)
    assert shuffled.total == hierarchy.total


@given(hierarchies())
def test_the_views_fit_together(hierarchy: Hierarchy) -> None:
    below = {code: hierarchy.children(code) for code in hierarchy.codes}
    assert sum(map(len, below.values())) == len(hierarchy) - 1
    for i, code in enumerate(hierarchy.codes):
        assert hierarchy.is_leaf[i] == (not below[code])
        for child in below[code]:
            assert hierarchy.parent[hierarchy.index[child]] == i
            assert hierarchy.depth[hierarchy.index[child]] == hierarchy.depth[i] + 1
    assert hierarchy.leaves == tuple(code for code in hierarchy.codes if not below[code])


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")), max_size=12))
def test_any_pairs_give_a_tree_of_all_codes_or_faults(pairs: list[tuple[str, str | None]]) -> None:
    try:
        hierarchy = Hierarchy.from_pairs(pairs)
    except InputError as error:
        assert error.faults
    else:
        assert set(hierarchy.codes) == {code for pair in pairs for code in pair}
        assert set(pairs_of(hierarchy)) == {pair for pair in pairs if pair[0] != pair[1]}


@given(st.text(alphabet="@ab \n", max_size=30))
def test_any_text_gives_a_tree_of_its_lines_or_faults(text: str) -> None:
    try:
        hierarchy = Hierarchy.from_hrc(text)
    except InputError as error:
        assert error.faults
    else:
        lines = [line.replace(" ", "") for line in text.split("\n") if line.strip()]
        assert [line.replace(" ", "") for line in hierarchy.to_hrc().split("\n")[:-1]] == lines


# -- size ---------------------------------------------------------------------------------------------


def test_a_chain_of_5000_levels() -> None:
    n = 5000
    codes = [f"c{i}" for i in range(n)]
    tree: dict[str, object] = {}
    for code in reversed(codes):
        tree = {code: tree}
    chain = Hierarchy.from_dict(tree)  # type: ignore[arg-type]
    assert chain.codes == ("Total", *codes)
    assert chain.depth.tolist() == list(range(n + 1))
    assert Hierarchy.from_pairs(reversed(pairs_of(chain))) == chain
    assert Hierarchy.from_hrc(chain.to_hrc()) == chain
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert Hierarchy.from_prefixes(["x" * n], (1,) * n).depth.max() == n
    (cycle,) = faults(lambda: Hierarchy.from_pairs([*pairs_of(chain), ("Total", f"c{n - 1}")]))
    assert cycle.startswith("cycle: 'c0' below 'Total' below 'c4999' below 'c4998' below")
    assert " below ... 4902 more ... below " in cycle
    assert cycle.endswith(" below 'c2' below 'c1' below 'c0'")
    assert cycle.count(" below ") == 100


def test_100_000_codes() -> None:
    codes = [f"{i:05d}" for i in range(100_000)]
    big = Hierarchy.from_prefixes(codes, (2, 1, 1, 1))
    assert repr(big) == "Hierarchy('Total', 111101 codes, 5 levels, 100000 leaves)"
    assert big.leaves == tuple(codes)
    assert [child for code in big.codes for child in big.children(code) if len(child) == 5] == codes
    assert Hierarchy.from_pairs(pairs_of(big)) == big
    assert Hierarchy.from_hrc(big.to_hrc()) == big


# -- real classifications -----------------------------------------------------------------------------


def rows_of(name: str) -> list[dict[str, str]]:
    path = DATA / "hierarchies" / name
    if not path.exists():
        pytest.skip(f"no data: {path} is absent (set TABLECLOAK_DATA)")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("name", "codes", "first_level"), [("nace21.csv", 1048, 1), ("nuts_2021.csv", 2122, 0)]
)
def test_real_classifications(name: str, codes: int, first_level: int) -> None:
    rows = rows_of(name)
    hierarchy = Hierarchy.from_pairs((row["child"], row["parent"]) for row in rows)
    assert hierarchy.total == "Total"
    assert len(hierarchy) == codes
    assert all(
        hierarchy.depth[hierarchy.index[row["child"]]] == int(row["level"]) + 1 - first_level for row in rows
    )
    assert Hierarchy.from_hrc(hierarchy.to_hrc()) == hierarchy


def test_nace() -> None:
    nace = Hierarchy.from_pairs((row["child"], row["parent"]) for row in rows_of("nace21.csv"))
    assert repr(nace) == "Hierarchy('Total', 1048 codes, 5 levels, 651 leaves)"
    assert len(nace.children("Total")) == 22
    assert "01.1" in nace.children("01")
    assert nace.children("99.0") == ("99.00",)


def test_nuts_by_prefixes_is_nuts_by_pairs() -> None:
    rows = rows_of("nuts_2021.csv")
    by_pairs = Hierarchy.from_pairs((row["child"], row["parent"]) for row in rows)
    assert Hierarchy.from_prefixes([row["child"] for row in rows], (2, 1, 1, 1)) == by_pairs
