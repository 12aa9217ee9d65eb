"""Linked tables: common cells are one cell, tables that disagree are refused, responses are tied by relations."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import InputError
from tablecloak.model import Dimension, Hierarchy, Levels, Problem, Table, link, link_responses
from tests.model.test_dimension import hierarchies
from tests.model.test_table import as_cells, as_dict, check_secret

REGION = Dimension.of("region", Hierarchy.from_dict({"North": ["n1", "n2"], "South": ["s1", "s2"]}))
SEX = Dimension.flat("sex", ["f", "m"])
AGE = Dimension.flat("age", ["old", "young"])

Row = frozenset[tuple[str, float]]


def tabulated(dims: Sequence[Dimension], records: Sequence[tuple[dict[str, str], float]]) -> Table:
    """The table of some dimensions of the microdata."""
    sums: Counter[tuple[str, ...]] = Counter()
    for codes, amount in records:
        sums[tuple(codes[dimension.name] for dimension in dims)] += amount  # type: ignore[assignment]
    cells: dict[str, Any] = {dimension.name: [key[d] for key in sums] for d, dimension in enumerate(dims)}
    return Table.from_cells(dims, {**cells, "value": list(sums.values())}, recompute=True)


def covered(table: Table, names: Sequence[str]) -> list[str]:
    """What the cells of a table are called among all dimensions: a dimension it does not have is at its total."""
    own = {dimension.name: d for d, dimension in enumerate(table.dimensions)}
    return [
        ", ".join(
            f"{name}={table.dimensions[own[name]].codes[row[own[name]]] if name in own else 'Total'}"
            for name in names
        )
        for row in table.codes
    ]


def equations_of(table: Table, labels: Sequence[str]) -> list[Row]:
    matrix = table.equations
    return [
        frozenset(
            (labels[matrix.indices[i]], matrix.data[i])
            for i in range(matrix.indptr[row], matrix.indptr[row + 1])
        )
        for row in range(matrix.shape[0])
    ]


@st.composite
def microdata(draw: st.DrawFn) -> tuple[list[Dimension], list[tuple[dict[str, str], float]]]:
    """Three dimensions over random hierarchies, and records with a code of each and an amount."""
    dims = [Dimension.of(name, draw(hierarchies(most=6))) for name in "abc"]
    codes = st.fixed_dictionaries({d.name: st.sampled_from(d.hierarchies[0].leaves) for d in dims})
    records = st.lists(st.tuples(codes, st.integers(-20, 10**6).map(float)), min_size=1, max_size=15)
    return dims, draw(records)


@given(microdata(), st.data())
def test_marginal_tables_of_one_set_of_microdata(
    made: tuple[list[Dimension], list[tuple[dict[str, str], float]]], data: st.DataObject
) -> None:
    dims, records = made
    margins = [chosen for count in (1, 2, 3) for chosen in combinations(dims, count)]
    chosen = data.draw(st.lists(st.sampled_from(margins), min_size=1, max_size=4))
    tables = [tabulated(margin, records) for margin in chosen]
    system = link(tables)
    names = [dimension.name for dimension in system.dimensions]
    labels = [covered(table, names) for table in tables]
    assert len(system) == len(set().union(*labels)), "common cells are identified"
    system.check_additive()
    for table, own in zip(tables, labels, strict=True):
        assert {label: as_dict(system)[label] for label in own} == dict(zip(own, table.values, strict=True))
    rows = equations_of(system, system.labels(range(len(system))))
    expected = set[Row]().union(
        *(equations_of(table, own) for table, own in zip(tables, labels, strict=True))
    )
    assert len(rows) == len(set(rows)), "equations are there once"
    assert set(rows) == expected


@given(microdata(), st.data())
def test_the_order_of_the_tables_does_not_matter(
    made: tuple[list[Dimension], list[tuple[dict[str, str], float]]], data: st.DataObject
) -> None:
    dims, records = made
    tables = [tabulated(margin, records) for margin in combinations(dims, 2)]
    shuffled = data.draw(st.permutations(tables))
    one, two = link(tables), link(shuffled)
    names = [dimension.name for dimension in one.dimensions]
    assert sorted(covered(two, names)) == sorted(covered(one, names))
    assert set(equations_of(one, covered(one, names))) == set(equations_of(two, covered(two, names)))
    in_steps = link([link(tables[:2]), tables[2]])
    assert set(equations_of(in_steps, covered(in_steps, names))) == set(
        equations_of(one, covered(one, names))
    )
    assert len(in_steps) == len(one)


@given(microdata(), st.data())
def test_a_changed_common_value_is_listed(
    made: tuple[list[Dimension], list[tuple[dict[str, str], float]]], data: st.DataObject
) -> None:
    dims, records = made
    one, other = tabulated(dims[:2], records), tabulated(dims[1:], records)
    record = data.draw(st.sampled_from(records))
    changed = tabulated(dims[1:], [*records, (record[0], 1234567.0)])
    b = record[0]["b"]
    with pytest.raises(InputError) as error:
        link([one, changed])
    assert len(link([one, other])) == len(set(covered(one, "abc")) | set(covered(other, "abc")))
    cells = error.value.confidential["cells"]
    assert f"a=Total, b={b}, c=Total" in cells
    assert "a=Total, b=Total, c=Total" in cells
    assert len(error.value.faults) == len(cells)
    for label, (first, second) in zip(cells, error.value.confidential["values"], strict=True):
        assert second - first == pytest.approx(1234567.0), label
    check_secret(error.value, [*one.values, *changed.values])


# ---------------------------------------------------------------------- by hand

RECORDS = [
    ({"region": "n1", "sex": "f", "age": "old"}, 10001.0),
    ({"region": "n1", "sex": "m", "age": "young"}, 10002.0),
    ({"region": "n2", "sex": "f", "age": "young"}, 10003.0),
    ({"region": "s1", "sex": "m", "age": "old"}, 10004.0),
    ({"region": "s2", "sex": "f", "age": "young"}, 0.0),
]


def test_two_tables_with_a_common_margin() -> None:
    by_sex, by_age = tabulated([REGION, SEX], RECORDS), tabulated([REGION, AGE], RECORDS)
    system = link([by_sex, by_age])
    assert [dimension.name for dimension in system.dimensions] == ["region", "sex", "age"]
    assert len(system) == len(by_sex) + len(by_age) - 7
    assert system.equations.shape[0] == by_sex.equations.shape[0] + by_age.equations.shape[0] - 3
    assert system.values[system.find(region="North", age="young")] == 10002 + 10003
    assert not system.complete


def test_a_table_alone_is_itself() -> None:
    table = tabulated([REGION, SEX], RECORDS)
    alone = link([table])
    assert as_dict(alone) == as_dict(table)
    assert alone.complete
    twice = link([table, table])
    assert (len(twice), twice.equations.shape) == (len(table), table.equations.shape)


def test_no_table() -> None:
    with pytest.raises(InputError, match="no table given"):
        link([])


def test_a_finer_and_a_coarser_table() -> None:
    coarse = Dimension.flat("region", ["North", "South"])
    moved = [
        ({**codes, "region": {"n": "North", "s": "South"}[codes["region"][0]]}, v) for codes, v in RECORDS
    ]
    one, two = tabulated([coarse, SEX], moved), tabulated([REGION], RECORDS)
    system = link([one, two])
    assert len(system) == len(one) + len(two) - 3
    assert system.values[system.find(region="South")] == 10004
    rows = equations_of(system, system.labels(range(len(system))))
    assert len(rows) == len(set(rows)) == one.equations.shape[0] + two.equations.shape[0] - 1


def test_an_absent_cell_is_zero_and_must_be_zero_elsewhere() -> None:
    by_sex = tabulated([REGION, SEX], RECORDS)
    more = [*RECORDS[:-1], ({"region": "s2", "sex": "f", "age": "old"}, 70000.0)]
    without_s2 = tabulated([REGION, SEX], RECORDS[:-1])
    assert len(link([by_sex, tabulated([REGION, AGE], RECORDS[:-1])])) > 0, "zero and absent agree"
    with pytest.raises(InputError) as error:
        link([without_s2, tabulated([REGION, AGE], more)])
    absent = "common cell region=s2, sex=Total, age=Total is absent from one table and not zero in another"
    assert absent in error.value.faults
    assert len(error.value.faults) == 3  # s2, South, Total
    with pytest.raises(InputError, match="is absent from one table"):
        link([tabulated([REGION, AGE], more), without_s2])


def test_a_dimension_without_one_total_must_be_in_every_table() -> None:
    year = Dimension.names("year", ["2020", "2021"])
    dated = Table.from_cells([year], {"year": ["2020", "2021"], "value": [1, 2]})
    with pytest.raises(InputError, match="dimension 'year' is not in every table"):
        link([dated, tabulated([SEX], RECORDS)])


def test_tables_from_equations_share_cells_by_name() -> None:
    one = Table.from_equations([3, 1, 2], [[-1, 1, 1]], names=["t", "a", "b"])
    two = Table.from_equations([2, 5, 3], [[1, -1, 1]], names=["b", "u", "t"])
    system = link([one, two])
    assert (len(system), system.equations.shape) == (4, (2, 4))
    constant = Table.from_equations([3, 2], [[2, 2]], [10], names=["t", "b"])
    again = link([one, constant, constant])
    assert again.rhs.tolist() == [0, 10]
    with pytest.raises(InputError, match="common cell cell=b has different values"):
        link([one, Table.from_equations([4], [], names=["b"])])


def test_a_sum_written_the_other_way_round_is_the_same_equation() -> None:
    one = Table.from_equations([3, 1, 2], [[-1, 1, 1]], names=["t", "a", "b"])
    two = Table.from_equations([3, 1, 2], [[2, -2, -2]], names=["t", "a", "b"])
    assert link([one, two]).equations.shape == (1, 3)


def test_further_columns_are_merged() -> None:
    one = Table.from_cells([SEX], {"sex": ["Total", "f", "m"], "value": [3, 1, 2], "number": [9, 4, 5]})
    two = Table.from_cells(
        [AGE], {"age": ["Total", "old", "young"], "value": [3, 1, 2], "largest": [1, 1, 1]}
    )
    system = link([one, two])
    assert system.column("number")[system.find()] == 9
    assert np.isnan(system.column("number")[system.find(age="old")])
    assert system.column("largest")[system.find(age="old")] == 1


def test_noise_is_no_difference() -> None:
    one = Table.from_cells([SEX], {"sex": ["f", "m"], "value": [0.1, 0.2]}, recompute=True)
    two = Table.from_cells([AGE], {"age": ["Total", "old", "young"], "value": [0.1 + 0.2, 0.1, 0.2]})
    assert len(link([one, two])) == 5


# ---------------------------------------------------------------------- responses


def three_responses(costs: Sequence[float] = (400.0, 200.5)) -> dict[str, Table]:
    turnover, profit = (1000.0, 180.0), (600.0, -20.5)
    return {
        name: Table.from_cells([SEX], {"sex": ["f", "m"], "value": values}, recompute=True)
        for name, values in (("turnover", turnover), ("costs", costs), ("profit", profit))
    }


PROFIT = {"profit": {"turnover": 1.0, "costs": -1.0}}


def test_linked_responses() -> None:
    tables = three_responses()
    system = link_responses(tables, PROFIT)
    assert len(system) == 9
    assert system.equations.shape == (3 + 3, 9)
    system.check_additive()
    cell = system.find(response="profit", sex="m")
    assert system.values[cell] == -20.5
    assert system.label(cell) == "response=profit, sex=m"
    assert system.decimals == 1


def test_a_relation_that_does_not_hold_lists_its_cells() -> None:
    with pytest.raises(InputError) as error:
        link_responses(three_responses(costs=(400.0, 77777.0)), PROFIT)
    assert error.value.faults == (
        "profit = turnover - costs does not hold in cell sex=Total",
        "profit = turnover - costs does not hold in cell sex=m",
    )
    check_secret(error.value, [77777.0, 77777.0 + 400])


def test_factors_are_spelled_out() -> None:
    tables = three_responses()
    with pytest.raises(InputError, match=r"costs = 0\.5 turnover - 2 profit does not hold in cell sex=f"):
        link_responses(tables, {"costs": {"turnover": 0.5, "profit": -2}})


def test_responses_of_different_detail() -> None:
    tables = three_responses()
    both = Table.from_cells(
        [SEX, AGE],
        {"sex": ["f", "f", "m"], "age": ["old", "young", "young"], "value": [300, 100, 200.5]},
        recompute=True,
    )
    system = link_responses({**tables, "costs": both}, PROFIT)
    assert len(system) == 3 + len(both) + 3
    assert system.equations.shape[0] == both.equations.shape[0] + 2 + 3, "in the three cells all of them have"


def test_an_absent_cell_of_a_response_is_zero() -> None:
    tables = three_responses()
    only_f = Table.from_cells([SEX], {"sex": ["f"], "value": [1000]}, recompute=True)
    half = {"turnover": only_f, "profit": only_f, "costs": tables["costs"]}
    with pytest.raises(InputError, match="profit = turnover - costs does not hold in cell sex=m"):
        link_responses(half, PROFIT)
    zero = Table.from_cells([SEX], {"sex": ["f", "m"], "value": [0, 0]}, recompute=True)
    system = link_responses({"turnover": only_f, "costs": zero, "profit": only_f}, PROFIT)
    assert system.equations.shape[0] == 3 + 3, "everybody knows that there is nothing in sex=m"


def test_responses_that_are_no_tables_of_all_cells() -> None:
    tables = {name: Table.from_equations([value], [], names=["x"]) for name, value in (("a", 3), ("b", 3))}
    assert link_responses(tables, {"a": {"b": 1}}).equations.shape == (1, 2)
    apart = {**tables, "c": Table.from_equations([3], [], names=["y"])}
    with pytest.raises(InputError, match="a = c: there is no cell that all of these tables have"):
        link_responses(apart, {"a": {"c": 1}})


def test_a_right_hand_side_survives() -> None:
    one = Table.from_equations([40, 60], [[1, 1]], [100], names=["x", "y"])
    two = Table.from_equations([20, 30], [], names=["x", "y"])
    system = link_responses({"one": one, "two": two}, {"one": {"two": 2}})
    assert system.rhs.tolist() == [100, 0, 0]
    system.check_additive()


@pytest.mark.parametrize(
    ("sums", "faults"),
    [
        ({"profit": {"sales": 1, "tax": 1}}, ["unknown response 'sales'", "unknown response 'tax'"]),
        ({"profit": {"profit": 1, "costs": 1}}, ["profit = profit + costs: the right-hand side needs other"]),
        ({"profit": {}}, ["the right-hand side needs other responses"]),
        ({"profit": {"costs": np.nan}}, ["the factor of 'costs' is not a finite number"]),
    ],
)
def test_relations_that_make_no_sense(sums: dict[str, dict[str, float]], faults: list[str]) -> None:
    with pytest.raises(InputError, match="Responses: 'turnover', 'costs', 'profit'") as error:
        link_responses(three_responses(), sums)
    assert len(error.value.faults) == len(faults)
    for fault, expected in zip(error.value.faults, faults, strict=True):
        assert expected in fault


def test_the_name_of_the_responses_is_taken() -> None:
    system = link_responses(three_responses(), PROFIT)
    with pytest.raises(InputError, match="a dimension is called 'response'"):
        link_responses({"a": system}, {})
    with pytest.raises(InputError, match="no table given"):
        link_responses({}, {})


def test_linked_tables_of_linked_responses() -> None:
    tables = three_responses()
    twice = {name: link([table, table]) for name, table in tables.items()}
    assert link_responses(twice, PROFIT).equations.shape == (6, 9)
    assert as_cells(link_responses(twice, PROFIT)).keys() == {"response", "sex", "value"}


# ---------------------------------------------------------------------- real tables


def columns(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return {name: [row[name] for row in rows] for name in rows[0]}


def levels(path: Path, total: str = "Total", below: frozenset[str] = frozenset()) -> Hierarchy:
    """The hierarchy of a correspondence table, one column a level; a code that repeats its parent is left out."""
    table = list(columns(path).values())
    pairs = [(code, total) for code in table[0]]
    for upper, lower in pairwise(table):
        pairs += [pair for pair in zip(lower, upper, strict=True) if pair[0] != pair[1]]
    kept = [pair for pair in dict.fromkeys(pairs) if not below or below.issuperset(pair)]
    return Hierarchy.from_pairs(kept, total=total)


NAMES = ("act_cj", "act_size", "nuts_cj", "nuts_size")


def insee(data: Path, name: str) -> Table:
    cells: dict[str, Any] = columns(data / "linked" / f"insee_turnover_{name}.csv")
    activity = levels(data / "microdata" / "insee_activity_corr_table.csv")
    nuts_file = data / "microdata" / "insee_nuts23_fr_corr_table.csv"
    east = "Total_EAST" in cells.get("NUTS", ())
    nuts = levels(nuts_file, "Total_EAST", frozenset(cells["NUTS"])) if east else levels(nuts_file)
    known = {
        "ACTIVITY": Dimension.of("ACTIVITY", activity),
        "NUTS": Dimension.of("NUTS", nuts),
        "CJ": Dimension.flat("CJ", ["LL", "PA", "SP"]),
        "SIZE": Dimension.flat("SIZE", ["tr1", "tr2", "tr3"]),
    }
    for number in ("N_OBS", "MAX"):
        cells[number] = [float(text) for text in cells[number]]
    return Table.from_cells([known[name] for name in cells if name in known], cells, value="TOT")


def test_four_linked_tables_of_turnover(data: Path) -> None:
    tables = [insee(data, name) for name in NAMES]
    assert [(len(table), table.equations.shape[0]) for table in tables] == [
        (406, 230),
        (414, 228),
        (452, 210),
        (460, 211),
    ]
    system = link(tables)
    assert (len(system), system.equations.shape[0]) == (1493, 824)
    system.check_additive()
    assert system.decimals == 4
    assert system.column("N_OBS")[system.find()] == system.column("N_OBS").max()
    names = [dimension.name for dimension in system.dimensions]
    assert len(system) == len(set().union(*(covered(table, names) for table in tables)))


def test_single_child_levels_of_a_real_hierarchy(data: Path) -> None:
    table = insee(data, "act_cj")
    single = np.diff(table.equations.indptr) == 2
    assert single.sum() > 0
    assert table.values[table.find(ACTIVITY="JZ")] == table.values[table.find(ACTIVITY="J")]


def test_a_fifth_table_that_disagrees(data: Path) -> None:
    tables = [insee(data, name) for name in (*NAMES, "act_nuts_size")]
    assert tables[-1].dimensions[1].total == "Total_EAST"
    with pytest.raises(InputError) as error:
        link(tables)
    assert len(error.value.faults) == 52
    assert error.value.faults[0].startswith("common cell ACTIVITY=Total, CJ=Total, SIZE=Total, NUTS=FR41 ")
    assert all("NUTS=FR4" in fault for fault in error.value.faults)
    check_secret(error.value, np.concatenate([table.values for table in tables]))


# ---------------------------------------------------------------------- data units


def of_values(dimension: Dimension, values: list[float], **options: Any) -> Table:
    codes = [code for code, leaf in zip(dimension.codes, dimension.is_leaf, strict=True) if leaf]
    return Table.from_cells([dimension], {dimension.name: codes, "value": values}, recompute=True, **options)


def test_linked_tables_keep_a_unit_a_table() -> None:
    size = Dimension.flat("size", ["s", "l"])
    coarse = of_values(size, [3, 5])
    fine = of_values(size, [1.25, 0.5])
    both = link_responses({"staff": coarse, "wage": fine}, {})
    assert both.decimals == 2
    assert both.units.tolist() == [800, 300, 500, 175, 125, 50]
    assert both.cell_decimals is not None
    assert both.cell_decimals.tolist() == [0, 0, 0, 2, 2, 2]
    assert both.cell_steps.tolist() == [100, 100, 100, 1, 1, 1]
    both.check_additive()
    assert link_responses({"a": coarse, "b": coarse}, {}).cell_decimals is None


def test_levels_and_boxes_in_the_unit_of_the_cell() -> None:
    size = Dimension.flat("size", ["s", "l"])
    both = link_responses({"staff": of_values(size, [3, 5]), "wage": of_values(size, [1.25, 0.5])}, {})
    staff, wage = both.find(response="staff", size="s"), both.find(response="wage", size="s")
    problem = Problem.of(both, [staff, wage])
    assert problem.levels.sliding[[staff, wage]].tolist() == [1, 0.01], "one unit of the own table"
    levels = Levels.at(6, [staff, wage], lower=0.301, upper=[1.5, 0.505])
    asked = Problem.of(both, [staff, wage], levels, known=(0.005, both.values + 2.999))
    assert asked.levels.lower[[staff, wage]].tolist() == [1, 0.31]
    assert asked.levels.upper[[staff, wage]].tolist() == [2, 0.51]
    assert asked.outsider_low[[staff, wage]].tolist() == [1, 0.01]
    assert asked.outsider_high[[staff, wage]].tolist() == [5, 4.24]
    assert asked.level_units.lower[[staff, wage]].tolist() == [100, 31]
    assert [end[staff] for end in asked.box_units(0)] == [100, 500]


def test_a_common_cell_has_the_coarser_unit() -> None:
    size, sex = Dimension.flat("size", ["s", "l"]), Dimension.flat("sex", ["f", "m"])
    one, other = of_values(size, [3, 5]), of_values(sex, [2.5, 5.5])
    both = link([one, other])
    total = both.find()
    assert both.cell_decimals is not None
    assert both.cell_decimals[total] == 0
    assert sorted(both.cell_decimals.tolist()) == [0, 0, 0, 1, 1]
    assert link([both, one]).cell_decimals is not None


def test_tables_whose_units_do_not_fit_together() -> None:
    size, sex = Dimension.flat("size", ["s", "l"]), Dimension.flat("sex", ["f", "m"])
    huge, tiny = of_values(size, [1e12, 2e12]), of_values(sex, [1e-8, 3e-8])
    with pytest.raises(InputError, match="8 decimals, the most that a table has") as caught:
        link_responses({"a": huge, "b": tiny}, {})
    assert len(caught.value.faults) == 3
    assert caught.value.advice == "Make all of them with decimals=3 or fewer."


def test_a_relation_that_misses_by_one_unit() -> None:
    size = Dimension.flat("size", ["s", "l"])
    whole, half = of_values(size, [1e14, 2]), of_values(size, [5e13, 1])
    link_responses({"a": whole, "b": half}, {"b": {"a": 0.5}}).check_additive()
    with pytest.raises(InputError, match="does not hold in cell"):
        link_responses({"a": whole, "b": of_values(size, [5e13 + 1, 1])}, {"b": {"a": 0.5}})
