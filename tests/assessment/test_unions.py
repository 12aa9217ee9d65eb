"""Unions: sensitive cells of one enterprise that protect each other, but not their sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from contributed import Cells, Record, contributed, records_by_cell, units_of
from tablecloak.arrays import Bools
from tablecloak.assessment import Dominance, Frequency, PPercent, assess
from tablecloak.assessment.unions import unite
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.model import Contributions, Dimension, Hierarchy, Suppression, Table
from tablecloak.protection import protect

RULE = PPercent(10)
ROWS = [Dimension.flat("row", ["r1", "r2", "r3", "r4"])]


def dominated(top: int = 3) -> Table:
    """ "Big" dominates r1 (100 of 102) and r2 (90 of 93); no unit dominates r3 and r4."""
    records = [Record(("r1",), 100, "Big"), Record(("r1",), 2, "s1"), Record(("r2",), 90, "Big")]
    records += [
        Record(("r2",), 3, "s2"),
        *(Record((row,), 20, f"{row}{i}") for row in ("r3", "r4") for i in range(9)),
    ]
    return contributed(ROWS, records, top=top)


def cells_of(table: Table, *rows: str) -> Bools:
    mask = np.zeros(len(table), dtype=bool)
    mask[[table.find(row=row) for row in rows]] = True
    return mask


def test_the_union_of_two_cells_of_one_enterprise() -> None:
    table = dominated()
    united = unite(table, cells_of(table, "r1", "r2"), [RULE])
    whole = united.table
    assert len(whole) == len(table) + 1
    assert whole.virtual == 1
    assert whole.label(len(table)) == "row=r1 + r2"
    assert whole.values[-1] == 195
    assert united.members.toarray().astype(bool).tolist() == [cells_of(table, "r1", "r2").tolist()]
    assert whole.equations.shape[0] == table.equations.shape[0] + 1
    whole.check_additive()
    who = whole.respondents
    assert who is not None
    assert who.top[-1].tolist() == [190, 3, 2]
    assert [who.units[unit] for unit in who.top_unit[-1]] == ["Big", "s2", "s1"]
    assert (who.count[-1], who.weight[-1], who.total[-1], who.unwaived[-1]) == (3, 3, 195, 3)
    assert who.largest_unwaived[-1] == 190
    assert who.shares.toarray()[who.units.tolist().index("Big"), -1] == 190
    # 10% of 190 = 19 against the 2 that are left: 17 of 195
    assert RULE.caught(whole).relative[-1] == pytest.approx(17 / 195)


def test_the_table_as_printed_stays_as_it_is() -> None:
    table = dominated()
    whole = unite(table, cells_of(table, "r1", "r2"), [RULE]).table
    assert whole.dimensions[0].total == "Total"
    assert whole.find() == table.find()
    assert whole.is_leaf[:-1].tolist() == table.is_leaf.tolist()
    assert not whole.is_leaf[-1]
    assert (whole.values[:-1] == table.values).all()
    assert whole.is_virtual.tolist() == [False] * len(table) + [True]


def test_nothing_to_unite() -> None:
    table = dominated()
    for rows in (("r1",), ("r1", "r3"), ("r3", "r4"), ()):  # one cell, or a union that no unit dominates
        assert unite(table, cells_of(table, *rows), [Dominance(1, 80)]).table is table
    everything = cells_of(table, "r1", "r2", "r3", "r4")
    found = unite(table, everything, [Dominance(1, 50)])  # all of them together are the total
    assert [found.table.label(cell) for cell in range(len(table), len(found.table))] == ["row=r1 + r2"]
    assert unite(table, cells_of(table, "r1", "r2"), [RULE], most=2).table is not table


def test_large_unions_can_be_left_out() -> None:
    records = [Record((f"r{i}",), 90, "Big") for i in range(1, 7)]
    records += [Record((f"r{i}",), 1, f"s{i}") for i in range(1, 7)]
    records += [Record(("other",), 50, f"o{i}") for i in range(9)]
    table = contributed([Dimension.flat("row", [*(f"r{i}" for i in range(1, 7)), "other"])], records)
    sensitive = cells_of(table, *(f"r{i}" for i in range(1, 7)))
    assert unite(table, sensitive, [RULE], most=5).table is table
    whole = unite(table, sensitive, [RULE]).table
    assert whole.label(len(table)) == "row=r1 + r2 + r3 + r4 + ... (6 codes)"


def test_the_cells_of_each_enterprise_apart() -> None:
    rows = [f"r{i}" for i in range(1, 7)]
    records = [Record((row,), 100, "Big") for row in rows[:2]] + [
        Record((row,), 100, "Other") for row in rows[2:4]
    ]
    records += [Record((row,), 1, f"s{row}") for row in rows[:4]]
    records += [Record((row,), 20, f"{row}{i}") for row in rows[4:] for i in range(9)]
    table = contributed([Dimension.flat("row", rows)], records)
    whole = unite(table, cells_of(table, *rows[:4]), [Dominance(1, 90)]).table
    assert [whole.label(cell) for cell in range(len(table), len(whole))] == ["row=r1 + r2", "row=r3 + r4"]


def test_one_code_for_the_unions_of_several_columns() -> None:
    dims = [Dimension.flat("row", ["r1", "r2", "r3"]), Dimension.flat("column", ["x", "y", "z"])]
    records = [Record((row, column), 50, "Big") for row in ("r1", "r2") for column in ("x", "y")]
    records += [
        Record((row, column), 9, f"{row}{column}{i}") for row in ("r3",) for column in "xyz" for i in range(9)
    ]
    records += [Record((row, "z"), 9, f"{row}{i}") for row in ("r1", "r2") for i in range(9)]
    table = contributed(dims, records)
    sensitive = Dominance(1, 80).caught(table).mask & table.is_leaf
    united = unite(table, sensitive, [Dominance(1, 80)])
    labels = [united.table.label(cell) for cell in range(len(table), len(united.table))]
    assert labels == [
        "row=r1 + r2, column=x",
        "row=r1 + r2, column=y",
        "row=r1, column=x + y",
        "row=r2, column=x + y",
    ]
    assert [len(dimension.codes) for dimension in united.table.dimensions] == [5, 5]
    united.table.check_additive()


def test_a_code_that_is_taken() -> None:
    rows = ["r1", "r2", "r1 + r2", "r4"]
    records = [Record((row,), 100, "Big") for row in rows[:2]]
    records += [Record((row,), 20, f"{row}{i}") for row in rows[2:] for i in range(9)]
    table = contributed([Dimension.flat("row", rows)], records)
    whole = unite(table, cells_of(table, "r1", "r2"), [RULE]).table
    assert whole.label(len(table)) == "row=r1 + r2 (2)"


def test_a_union_that_is_a_cell_by_another_hierarchy_is_there_already() -> None:
    main = Hierarchy.flat(["r1", "r2", "r3", "r4"])
    other = Hierarchy.from_dict({"west": ["r1", "r2"], "east": ["r3", "r4"]}, total="all")
    records = [Record((row,), 100, "Big") for row in ("r1", "r2")]
    records += [Record((row,), 20, f"{row}{i}") for row in ("r3", "r4") for i in range(9)]
    table = contributed([Dimension.of("row", main, other)], records)
    assert unite(table, cells_of(table, "r1", "r2"), [RULE]).table is table


def test_holdings_are_united_by_their_rules() -> None:
    records = [
        Record(("r1",), 100, "A", "H"),
        Record(("r2",), 90, "B", "H"),
        Record(("r1",), 2),
        Record(("r2",), 3),
    ]
    records += [Record((row,), 20, f"{row}{i}") for row in ("r3", "r4") for i in range(9)]
    table = contributed(ROWS, records)
    sensitive = cells_of(table, "r1", "r2")
    assert unite(table, sensitive, [Dominance(1, 80)]).table is table  # A and B apart
    whole = unite(table, sensitive, [Dominance(1, 80, "holdings")]).table
    assert whole.virtual == 1
    assert whole.holdings is not None
    assert whole.holdings.top[-1].tolist() == [190, 3, 2]


def test_weights_and_waivers_in_a_union() -> None:
    records = [
        Record(("r1",), 100, "Big", weight=2, waived=True),
        Record(("r2",), 90, "Big", weight=2, waived=True),
    ]
    records += [Record(("r1",), 2, "s1"), Record(("r2",), 3, "s2", weight=3)]
    records += [Record((row,), 20, f"{row}{i}") for row in ("r3", "r4") for i in range(9)]
    table = contributed(ROWS, records)
    assert unite(table, cells_of(table, "r1", "r2"), [Dominance(1, 80)]).table is table  # he does not mind
    whole = unite(table, cells_of(table, "r1", "r2"), [Dominance(3, 80)]).table
    who = whole.respondents
    assert who is not None
    assert who.top[-1].tolist() == [190, 3, 2]
    assert who.top_weight[-1].tolist() == [2, 3, 1]
    assert (who.count[-1], who.weight[-1], who.unwaived[-1], who.total[-1]) == (3, 6, 2, 391)
    assert who.largest_unwaived[-1] == 3


def test_unions_need_microdata_and_a_rule_for_them() -> None:
    table = dominated()
    who = Contributions.of_cells(np.full(len(table), 9), np.ones((len(table), 2)), table.values)
    with pytest.raises(InputError, match=r"respondents are not known one by one(.|\n)*microdata"):
        unite(replace(table, respondents=who), cells_of(table, "r1", "r2"), [RULE])
    with pytest.raises(InputError, match="no dominance or p% rule"):
        unite(table, cells_of(table, "r1", "r2"), [Frequency(3)])


# ---------------------------------------------------------------------- against slow unions


def largest_in(cells: Cells, row: str) -> str:
    """The unit with the most in a row, the first of several."""
    return max(units_of(cells[(row,)]).values(), key=lambda record: record.size).unit


def is_looked_at(cells: Cells, group: Sequence[str], sensitive: Sequence[str]) -> bool:
    """All sensitive rows, or all those in which one unit is the largest."""
    first = largest_in(cells, group[0])
    return list(group) in (list(sensitive), [row for row in sensitive if largest_in(cells, row) == first])


@pytest.mark.parametrize("seed", range(40))
def test_no_union_is_missed_and_none_made_up(seed: int) -> None:
    """With all units known exactly those that all records give; with few units known at least those."""
    rng = np.random.default_rng(seed)
    rows = ["r1", "r2", "r3", "r4", "r5"]
    dims = [Dimension.flat("row", rows)]
    records = [
        Record((str(rng.choice(rows)),), float(rng.choice([1, 2, 5, 20, 60])), f"u{rng.integers(14)}")
        for _ in range(40)
    ]
    rule = PPercent(25) if seed % 2 else Dominance(2, 60)
    cells = records_by_cell(dims, records)
    sensitive = sorted(rng.choice(rows, 3, replace=False).tolist())
    wanted = set()
    for group in (group for size in (2, 3) for group in combinations(sensitive, size)):
        together = [replace(record, codes=("a",)) for row in group for record in cells[(row,)]]
        alone = contributed([Dimension.flat("d", ["a"])], together, top=40)
        if is_looked_at(cells, group, sensitive) and rule.caught(alone).mask[0]:
            wanted.add(" + ".join(group))
    table, shallow = (contributed(dims, records, top=top) for top in (40, 2))
    assert labels(table, sensitive, rule) == wanted
    assert labels(shallow, sensitive, rule) >= wanted


def labels(table: Table, sensitive: Sequence[str], rule: PPercent | Dominance) -> set[str]:
    whole = unite(table, cells_of(table, *sensitive), [rule]).table
    found = [whole.label(cell).removeprefix("row=") for cell in range(len(table), len(whole))]
    return {" + ".join(sorted(name.split(" + "))) for name in found}


def test_units_that_are_not_known_are_bounded() -> None:
    """z is third in both cells and unknown; with 20 in the union he is its second largest."""
    records = [Record(("r1",), 100, "Big"), Record(("r2",), 90, "Big")]
    records += [
        Record(("r1",), 12, "s1"),
        Record(("r2",), 11, "s2"),
        Record(("r1",), 10, "z"),
        Record(("r2",), 10, "z"),
    ]
    records += [Record((row,), 200, f"{row}{i}") for row in ("r3", "r4") for i in range(9)]
    table = contributed(ROWS, records, top=2)
    assert table.respondents is not None
    assert "z" not in table.respondents.units
    # 15% of 190 = 28.5 against 23 without Big and z; against 31 without Big and s1 it would pass
    assert unite(table, cells_of(table, "r1", "r2"), [PPercent(15)]).table.virtual == 1
    assert unite(table, cells_of(table, "r1", "r2"), [PPercent(10)]).table is table


def test_units_that_are_known_by_other_cells_are_counted_as_they_are() -> None:
    """No contributor is left unknown here, though only two a cell are listed: t1 and t2 are the largest elsewhere."""
    records = [Record(("r1",), 100, "Big"), Record(("r2",), 90, "Big")]
    records += [Record(("r1",), 12, "s1"), Record(("r2",), 11, "s2"), Record(("r1",), 10, "t1")]
    records += [Record(("r2",), 10, "t2"), Record(("r3",), 200, "t1"), Record(("r3",), 190, "t2")]
    records += [Record((row,), 100, f"{row}{i}") for row in ("r3", "r4") for i in range(9)]
    table = contributed(ROWS, records, top=2)
    # 15% of 190 = 28.5 against 31 without Big and s1
    assert unite(table, cells_of(table, "r1", "r2"), [PPercent(15)]).table is table
    assert unite(table, cells_of(table, "r1", "r2"), [PPercent(17)]).table.virtual == 1


# ---------------------------------------------------------------------- protected


def test_the_audit_covers_the_union() -> None:
    table = dominated()
    apart = assess(table, RULE)
    together = assess(table, RULE, unions=True)
    assert together.table.virtual == 1
    assert together.sensitive[-1]
    careless = protect(apart, "suppress-greedy").pattern
    assert isinstance(careless, Suppression)
    assert careless.hidden.tolist() == cells_of(table, "r1", "r2").tolist()  # they protect each other
    as_before = Suppression.of(together.table, [*careless.hidden, True])
    verdict = audit(together, as_before, intervals=True)
    assert not verdict.safe
    assert verdict.open_cells.tolist() == [len(table)]
    result = protect(together, "suppress-greedy")
    assert isinstance(result.pattern, Suppression)
    assert audit(together, result.pattern, intervals=True).safe
    assert result.pattern.hidden[:-1].sum() == 3


@pytest.mark.parametrize("method", ["suppress-greedy", "suppress-compact"])
def test_two_way_tables_with_unions(method: str) -> None:
    dims = [Dimension.flat("row", ["r1", "r2", "r3", "r4"]), Dimension.flat("column", ["x", "y", "z"])]
    records = [Record((row, column), 50, "Big") for row in ("r1", "r2") for column in ("x", "y")]
    records += [
        Record((row, column), 30, f"{row}{column}{i}")
        for row in ("r3", "r4")
        for column in "xyz"
        for i in range(9)
    ]
    records += [Record((row, "z"), 30, f"{row}{i}") for row in ("r1", "r2") for i in range(9)]
    table = contributed(dims, records)
    problem = assess(table, Dominance(1, 80), unions=True)
    assert problem.table.virtual == 4
    result = protect(problem, method)
    verdict = audit(problem, result.pattern, intervals=True)
    assert verdict.safe
    apart = protect(assess(table, Dominance(1, 80)), method).pattern
    assert isinstance(apart, Suppression)
    before = Suppression.of(problem.table, [*apart.hidden, *[True] * 4])
    assert not audit(problem, before).safe
