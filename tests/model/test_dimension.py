"""Dimensions: codes, hierarchies over them, and what may not be put together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import InputError
from tablecloak.model import Dimension, Hierarchy, label_of

REGIONS = Hierarchy.from_dict({"North": ["n1", "n2"], "South": ["s1", "s2"]})
BASINS = Hierarchy.from_dict({"East": ["n1", "s1"], "West": ["n2", "s2"]}, total="Basins")


@st.composite
def hierarchies(draw: st.DrawFn, most: int = 11) -> Hierarchy:
    """A random tree of a few codes below the total, single-child levels included."""
    size = draw(st.integers(1, most))
    codes = ["Total", *(f"c{i}" for i in range(size))]
    return Hierarchy.from_pairs([(codes[i], codes[draw(st.integers(0, i - 1))]) for i in range(1, size + 1)])


def test_one_hierarchy() -> None:
    region = Dimension.of("region", REGIONS)
    assert region.codes == REGIONS.codes
    assert region.total == "Total"
    assert [code for code, leaf in zip(region.codes, region.is_leaf, strict=True) if leaf] == list(
        REGIONS.leaves
    )
    assert repr(region).startswith("Dimension('region', 7 codes: Hierarchy('Total'")


def test_a_flat_list() -> None:
    sex = Dimension.flat("sex", ["f", "m"], total="all")
    assert sex.codes == ("all", "f", "m")
    assert sex.parents[0].tolist() == [-1, 0, 0]


def test_non_nested_aggregates_share_their_leaves() -> None:
    region = Dimension.of("region", REGIONS, BASINS)
    assert len(region.codes) == 7 + 3
    assert region.is_leaf.sum() == 4
    by_province, by_basin = region.parents
    n1 = region.index["n1"]
    assert (region.codes[by_province[n1]], region.codes[by_basin[n1]]) == ("North", "East")
    assert region.total == "Total", "the root of the main hierarchy"


def test_a_second_hierarchy_over_inner_codes() -> None:
    special = Hierarchy.flat(["North", "s1"], total="Zone")
    region = Dimension.of("region", REGIONS, special)
    assert not region.is_leaf[region.index["North"]]
    assert not region.is_leaf[region.index["Zone"]]
    assert region.is_leaf.sum() == 4


def test_a_second_hierarchy_may_repeat_a_part_of_the_first() -> None:
    again = Hierarchy.from_dict({"North": ["n1", "n2"], "s1": None}, total="Zone")
    assert Dimension.of("region", REGIONS, again).codes == (*REGIONS.codes, "Zone")


def test_single_child_levels() -> None:
    activity = Dimension.of("activity", Hierarchy.from_dict({"A": {"A1": ["A11"]}, "B": None}))
    assert activity.is_leaf.sum() == 2
    assert activity.total == "Total"


def test_the_same_hierarchy_twice_counts_once() -> None:
    assert len(Dimension.of("region", REGIONS, REGIONS).hierarchies) == 1


def test_unknown_leaves_are_all_listed() -> None:
    with pytest.raises(InputError) as error:
        Dimension.of(
            "region", REGIONS, Hierarchy.flat(["n1", "x", "y"], "Zone"), Hierarchy.flat(["z"], "Other")
        )
    assert len(error.value.faults) == 3
    assert "leaf 'y' is unknown" in str(error.value)
    assert "'Other'" in str(error.value)


def test_a_leaf_counted_twice() -> None:
    with pytest.raises(InputError, match="'n1' is counted twice: it is part of leaf 'North'"):
        Dimension.of("region", REGIONS, Hierarchy.flat(["North", "n1", "s2"], "Zone"))


@pytest.mark.parametrize(
    "other",
    [
        Hierarchy.from_dict({"North": ["n1", "s1"]}, total="Zone"),
        Hierarchy.flat(["n1", "n2"], total="Total"),
        Hierarchy.from_dict({"n1": ["n2", "s1"]}, total="Zone"),
    ],
)
def test_a_code_stands_for_the_same_leaves_everywhere(other: Hierarchy) -> None:
    with pytest.raises(InputError, match="stands for other leaves"):
        Dimension.of("region", REGIONS, other)


def test_a_clash_between_two_further_hierarchies() -> None:
    one = Hierarchy.from_dict({"East": ["n1", "s1"]}, total="One")
    two = Hierarchy.from_dict({"East": ["n1", "s2"]}, total="Two")
    with pytest.raises(
        InputError, match="code 'East' stands for other leaves in hierarchy 'Two' than in 'One'"
    ):
        Dimension.of("region", REGIONS, one, two)


def test_cycles_do_not_get_this_far() -> None:
    with pytest.raises(InputError, match="cycle"):
        Dimension.of("x", Hierarchy.from_pairs([("a", "b"), ("b", "c"), ("c", "a")], total="a"))


def test_no_hierarchy() -> None:
    with pytest.raises(InputError, match="no hierarchy given"):
        Dimension.of("region")


def test_mere_names() -> None:
    cell = Dimension.names("cell", ["a", "b"])
    assert cell.total is None
    assert cell.is_leaf.all()
    assert cell.parents == ()


def test_names_are_distinct_text() -> None:
    with pytest.raises(InputError) as error:
        Dimension("cell", ("a", "b", "a", 7, 7))  # type: ignore[arg-type]
    assert set(error.value.faults) == {
        "code 'a' is listed 2 times",
        "code 7 is listed 2 times",
        "code 4 is not text",
        "code 5 is not text",
    }


def test_hierarchies_of_unknown_codes() -> None:
    with pytest.raises(InputError, match="'South' of hierarchy 'Total' is not a code"):
        Dimension("region", ("Total", "North", "n1", "n2"), (REGIONS,))


def test_united_keeps_all_codes_and_hierarchies() -> None:
    coarse = Dimension.flat("region", ["North", "South"])
    fine = Dimension.of("region", REGIONS)
    both = coarse.united(fine)
    assert set(both.codes) == set(REGIONS.codes)
    assert len(both.hierarchies) == 2
    assert both.total == "Total"
    assert not both.is_leaf[both.index["North"]], "split up by one of them"


def test_united_with_mere_names() -> None:
    both = Dimension.of("region", REGIONS).united(Dimension.names("region", ["n1", "abroad"]))
    assert "abroad" in both.index
    assert both.total is None, "no root covers abroad"
    assert Dimension.of("region", REGIONS).united(Dimension.names("region", ["n1"])).total == "Total"


def test_a_total_by_way_of_several_hierarchies() -> None:
    one = Dimension.of("region", Hierarchy.from_dict({"North": ["n1", "n2"], "South": None}))
    two = Dimension.of("region", Hierarchy.from_dict({"North": None, "South": ["s1", "s2"]}))
    assert one.united(two).total == "Total"
    part = Dimension.flat("region", ["s1", "s2"], total="Coast")
    assert part.united(one).total is None, "s1 and s2 lie below Coast only"
    assert part.united(one.united(two)).total == "Total"


def test_labels() -> None:
    dimensions = [Dimension.of("region", REGIONS), Dimension.flat("sex", ["f", "m"])]
    assert label_of(dimensions, np.array([1, 2], dtype=np.int32)) == "region=North, sex=m"


@given(hierarchies())
def test_every_code_climbs_to_the_total(tree: Hierarchy) -> None:
    dimension = Dimension.of("x", tree)
    (parent,) = dimension.parents
    assert dimension.total == tree.total
    for code in range(len(tree)):
        while parent[code] >= 0:
            code = parent[code]
        assert dimension.codes[code] == tree.total
    assert set(np.array(dimension.codes)[dimension.is_leaf]) == set(tree.leaves)


@given(hierarchies(), hierarchies(), hierarchies())
def test_uniting_is_associative(a: Hierarchy, b: Hierarchy, c: Hierarchy) -> None:
    one, two, three = (Dimension.of("x", tree) for tree in (a, b, c))
    left, right = one.united(two).united(three), one.united(two.united(three))
    assert left.codes == right.codes
    assert left.hierarchies == right.hierarchies
    assert left.total == right.total


def test_arrays_are_read_only() -> None:
    dimension = Dimension.of("region", REGIONS)
    for array in (dimension.is_leaf, *dimension.parents):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
