"""What the page tells about empty combinations: counts that are there are at least one, for every attacker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak import (
    Attacker,
    CellData,
    Dimension,
    Frequency,
    InputError,
    Insiders,
    Levels,
    Marks,
    Microdata,
    PPercent,
    Problem,
    Suppression,
    Table,
    assess,
    audit,
    link,
    link_responses,
    protect,
    tabulate,
)
from tablecloak.assessment import summary
from tablecloak.model import Emptiness, gap_meaning, known_bounds, part_gap_meanings

ROWS, COLUMNS = Dimension.flat("r", ["N", "S"]), Dimension.flat("s", ["a", "b", "c"])
AGES = Dimension.flat("age", ["young", "old"])


def persons(counts: dict[tuple[str, ...], int], names: tuple[str, ...] = ("r", "s")) -> dict[str, list[str]]:
    """One record for each person."""
    records = [codes for codes, count in counts.items() for _ in range(count)]
    return {name: [codes[d] for codes in records] for d, name in enumerate(names)}


SMALL = persons({("N", "a"): 1, ("N", "b"): 1, ("N", "c"): 9, ("S", "a"): 4, ("S", "b"): 5})


def cells(values: list[float], **options: object) -> Table:
    """A column of parts and its total."""
    parts = [f"p{i}" for i in range(len(values))]
    given = {"part": parts, "value": values}
    return Table.from_cells([Dimension.flat("part", parts)], given, recompute=True, **options)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- which tables are counts


def test_microdata_without_a_response_are_counts() -> None:
    table = tabulate(SMALL, [ROWS, COLUMNS])
    assert table.counts and not table.weighted and table.empty == "known"
    low, high = known_bounds(table)
    assert (low[table.is_leaf] == 1).all() and np.isinf(high).all()
    assert low[table.find(r="N")] == 3 and low[table.find()] == 5  # totals: as many as there are parts


def test_other_tables_tell_nothing() -> None:
    numbers = {**SMALL, "n": list(range(len(SMALL["r"]))), "w": [1.5] * len(SMALL["r"])}
    magnitudes = tabulate(numbers, [ROWS, COLUMNS], "n")
    weighted = tabulate(Microdata(numbers, weight="w"), [ROWS, COLUMNS])
    switched_off = tabulate(SMALL, [ROWS, COLUMNS], counts=False)
    for table in (
        magnitudes,
        weighted,
        switched_off,
        cells([1, 2]),
        cells([1, 2], counts=True, weighted=True),
    ):
        assert np.isinf(known_bounds(table)[0]).all()
    assert weighted.counts and weighted.weighted and not magnitudes.counts


def test_counts_of_cells_and_of_a_response() -> None:
    assert known_bounds(cells([1, 0, 2], counts=True))[0].tolist() == [2, 1, 0, 1]
    households = {"r": ["N", "N", "S"], "size": [2, 1, 4]}
    table = tabulate(households, [ROWS], "size", counts=True)
    assert table.counts and known_bounds(table)[0].tolist() == [2, 1, 1]
    data = CellData({"r": ["N", "S"], "value": [3, 4]}, recompute=True)
    assert tabulate(data, [ROWS], counts=True).counts
    assert not tabulate(data, [ROWS]).counts
    assert tabulate(replace(data, weighted=True), [ROWS], counts=True).weighted


def test_counts_that_are_none_are_refused() -> None:
    with pytest.raises(InputError) as error:
        cells([1.5, -1, 2], counts=True)
    assert {fault.split(":")[0] for fault in error.value.faults} >= {"cell part=p0", "cell part=p1"}
    assert "1.5" not in str(error.value)
    assert cells([1.5, 2], counts=True, weighted=True).weighted
    with pytest.raises(InputError, match="negative"):
        cells([1.5, -2], counts=True, weighted=True)


# ---------------------------------------------------------------------- boxes and levels


def test_every_attacker_knows_it() -> None:
    table = cells([3, 2, 6], counts=True)
    one, two, _ = (table.find(part=f"p{i}") for i in range(3))
    insider = Attacker.contributing("he", table, [two], [2])
    other = Attacker.knowing("she", [one], 0)
    problem = Problem.of(table, [one], known=(0, 100), attackers=[insider, other])
    for who in range(3):
        assert problem.box(who)[0][one] == 1
    assert problem.box(1)[0][two] == problem.box(1)[1][two] == 2  # all of it is his
    assert problem.outsider_high[one] == 100


def test_levels_are_cut_and_reported() -> None:
    table = cells([1, 3, 6], counts=True)
    small = table.find(part="p0")
    problem = Problem.of(table, [small], Levels.at(len(table), [small], lower=1, upper=2), widen=True)
    assert problem.levels.lower[small] == 0 and problem.levels.upper[small] == 2
    assert problem.cut.tolist() == [small]
    assert problem.outsider_low[small] == 1
    only_lower = Problem.of(table, [small], Levels.at(len(table), [small], lower=1))
    assert only_lower.levels.sliding[small] == 1  # it must not be determined all the same
    assert not Problem.of(table, [small], Levels.at(len(table), [small], upper=1)).cut.size


def test_zeros_that_are_never_hidden_tell_the_same() -> None:
    table = tabulate(SMALL, [ROWS, COLUMNS], empty="cells")
    zero = table.values == 0
    problem = assess(table, Frequency(3), hide_zeros=False)
    assert (problem.outsider_low[~zero] >= 1).all() and (problem.outsider_low[zero] == 0).all()
    assert (assess(table, Frequency(3)).outsider_low == 0).all()


def test_assess_reports_cut_levels() -> None:
    problem = assess(tabulate(SMALL, [ROWS, COLUMNS]), Frequency(3))
    assert "2 levels cut to what the page itself tells everybody" in summary(problem)
    cell = problem.table.find(r="N", s="a")
    assert "as far as the a-priori bounds allow" in problem.reasons[cell][0].why
    assert "1 level " not in summary(assess(tabulate(SMALL, [ROWS, COLUMNS]), Frequency(3, percent=0)))


def test_levels_of_marks_are_cut_too() -> None:
    table = tabulate(SMALL, [ROWS, COLUMNS])
    marks = Marks.of(table, {"r": ["N"], "s": ["a"], "mark": ["unsafe"], "lower": [1], "upper": [7]})
    problem = assess(table, [], marks=marks)
    cell = table.find(r="N", s="a")
    assert problem.levels.lower[cell] == 0 and problem.levels.upper[cell] == 7


def test_frequency_asks_that_the_threshold_is_reached() -> None:
    table = tabulate(persons({("N", "a"): 1, ("N", "b"): 2, ("N", "c"): 9}), [ROWS, COLUMNS])
    at = [table.find(r="N", s=code) for code in "abc"]
    problem = assess(table, Frequency(10))
    assert problem.levels.upper[at].tolist() == [9, 8, 1]
    assert problem.levels.lower[at].tolist() == [0, 1, 2]
    assert assess(table, Frequency(2.5)).levels.upper[at].tolist() == [2, 1, 0]
    explicit = assess(table, Frequency(10, percent=50))
    assert explicit.levels.upper[at].tolist() == [1, 1, 5]
    both = assess(table, [Frequency(10, percent=50), Frequency(3)])
    assert both.levels.upper[at].tolist() == [2, 1, 5]


def test_frequency_on_other_values_asks_a_share() -> None:
    numbers = {"r": ["N", "S", "S", "S"], "n": [100, 40, 30, 20]}
    problem = assess(tabulate(numbers, [ROWS], "n"), Frequency(2))
    assert problem.levels.upper[problem.table.find(r="N")] == 20
    weighted = tabulate(Microdata({**numbers, "w": [1.5] * 4}, weight="w"), [ROWS])
    problem = assess(weighted, Frequency(2))
    assert problem.levels.upper[problem.table.find(r="N")] == pytest.approx(0.3)


def test_another_rule_decides_first() -> None:
    table = tabulate(SMALL, [ROWS, COLUMNS])
    problem = assess(table, [PPercent(10), Frequency(3)])
    cell = table.find(r="N", s="a")
    assert problem.reasons[cell][0].kind == "p-percent" and problem.levels.upper[cell] == 1


def test_more_records_than_the_minimum_of_one_respondent() -> None:
    records = {"r": ["N"] * 5 + ["S"] * 4, "who": ["A"] * 5 + ["B", "C", "D", "E"]}
    table = tabulate(Microdata(records, respondent="who"), [ROWS])
    problem = assess(table, Frequency(3))
    assert problem.levels.upper[table.find(r="N")] == 1  # 20% of 5: the count itself is not small


def test_totals_of_ones_can_only_be_protected_from_above() -> None:
    """1 + 1 = 2 is sensitive; it cannot be less than 2, so that is not asked for."""
    table = tabulate(persons({("N", "a"): 1, ("N", "b"): 1, ("S", "a"): 7, ("S", "b"): 8}), [ROWS, COLUMNS])
    problem = assess(table, Frequency(3))
    total = table.find(r="N")
    assert problem.sensitive[total] and problem.levels.lower[total] == 0 and problem.levels.upper[total] == 1
    assert protect(problem, "suppress-compact").audit.safe


# ---------------------------------------------------------------------- insiders


def test_an_insider_knows_his_own_and_that_it_is_there() -> None:
    records = persons({("N", "a"): 2, ("N", "b"): 3, ("S", "a"): 5, ("S", "b"): 6})
    alone = assess(tabulate(records, [ROWS, COLUMNS]), Frequency(3), insiders=Insiders())
    assert not alone.attackers  # who is there once knows what everybody knows
    records["who"] = ["A", "B", "A", "A", *map(str, range(12))]
    table = tabulate(Microdata(records, respondent="who"), [ROWS, COLUMNS])
    problem = assess(table, Frequency(3), insiders=Insiders())
    assert problem.attacker_names == ("outsider", "respondent A")
    low, _ = problem.box(1)
    assert low[table.find(r="N", s="b")] == 2 and low[table.find(r="N", s="a")] == 1 and low.min() == 1
    assert low[table.find(r="N")] == 3  # two here, one there
    coalition = Attacker.contributing("A and B", table, [table.find(r="N", s="a")], [2])
    knows = Problem.of(table, [], attackers=[coalition]).box(1)[0]
    assert knows[table.find(r="N")] == 2 + 1 and knows[table.find(s="a")] == 2 + 1


# ---------------------------------------------------------------------- linked tables


def linked_tables() -> tuple[Table, Table]:
    """The first prints no contributor in (S, c); the second, with ages, lists it as zero."""
    first = tabulate(SMALL, [ROWS, COLUMNS])
    codes = [("S", "c", "young"), ("S", "c", "old"), ("S", "a", "young"), ("S", "b", "old")]
    values = [0, 0, 4, 5]
    codes += [("N", "a", "old"), ("N", "b", "old"), ("N", "c", "young"), ("N", "c", "old")]
    values += [1, 1, 4, 5]
    given = {name: [row[d] for row in codes] for d, name in enumerate(("r", "s", "age"))} | {"value": values}
    return first, Table.from_cells([ROWS, COLUMNS, AGES], given, recompute=True, counts=True)


def test_linked_tables_tell_where_any_of_them_is_empty() -> None:
    both = link(linked_tables())
    low, high = known_bounds(both)
    empty = both.find(r="S", s="c")
    assert low[empty] == high[empty] == 0
    assert (low[both.values > 0] >= 1).all()
    assert np.isinf(high[both.find(r="S", s="c", age="old")])  # only the total is printed as empty
    hidden = [empty, both.find(r="S", s="c", age="old"), both.find(r="S", s="c", age="young")]
    found = audit(Problem.of(both, []), Suppression.of(both, hidden), intervals=True, every_hidden=True)
    assert (found.high == 0).all()


def test_magnitudes_of_linked_tables_are_known_to_be_zero_too() -> None:
    first, second = (replace(table, counts=False) for table in linked_tables())
    low, high = known_bounds(link([first, second]))
    assert (high == 0).sum() == 1 and (low == 0).sum() == 1 and np.isinf(low).sum() == low.size - 1


def test_a_sensitive_cell_that_is_printed_as_empty_is_refused() -> None:
    both = link(linked_tables())
    with pytest.raises(InputError, match="r=S, s=c, age=Total"):
        Problem.of(both, [both.find(r="S", s="c")])


def test_linked_responses_keep_what_is_a_count() -> None:
    count = tabulate({"r": ["N", "S", "S"]}, [ROWS])
    men = tabulate({"r": ["S"]}, [ROWS])
    women = tabulate({"r": ["N", "S"]}, [ROWS])
    money = tabulate({"r": ["N", "S"], "x": [5.5, 7.5]}, [ROWS], "x")
    table = link_responses(
        {"persons": count, "men": men, "women": women, "money": money}, {"persons": {"men": 1, "women": 1}}
    )
    known = Emptiness.of(table)
    money_cells = table.codes[:, 0] == 3
    assert known.counted.tolist() == (~money_cells).tolist() == known.present.tolist()
    assert not table.counts
    assert Emptiness.of(link([table])).present.tolist() == known.present.tolist()


def test_linking_two_kinds() -> None:
    known = tabulate(SMALL, [ROWS, COLUMNS])
    open_ones = tabulate({**SMALL, "age": ["old"] * len(SMALL["r"])}, [ROWS, AGES], empty="cells")
    both = link([known, open_ones])
    low, _ = known_bounds(both)
    assert low[both.find(r="N")] == 3  # common: the first table tells
    assert low[both.find(r="N", age="old")] == 0  # it may be empty
    assert both.empty == "cells" and both.counts


# ---------------------------------------------------------------------- words


def test_what_a_gap_means() -> None:
    weighted = tabulate(Microdata({**SMALL, "w": [2.0] * len(SMALL["r"])}, weight="w"), [ROWS, COLUMNS])
    assert "no respondent" in gap_meaning(weighted) and "need not be zero" in gap_meaning(weighted)
    assert gap_meaning(tabulate(SMALL, [ROWS, COLUMNS])) == "nothing there: exactly zero"
    assert gap_meaning(link(linked_tables())) == "no such cell"
    assert part_gap_meanings(link(linked_tables())) == {
        ("age", "r", "s"): "nothing there: exactly zero",
        ("r", "s"): "nothing there: exactly zero",
    }
    possible = tabulate(SMALL, [ROWS, COLUMNS], empty="cells", impossible=[("S", "c")])
    assert gap_meaning(possible) == "cannot occur: exactly zero"
