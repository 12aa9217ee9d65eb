"""Tables: from cells, from leaves, from equations; what they refuse and how they say it."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.errors import InputError
from tablecloak.model import Dimension, Hierarchy, Table
from tests.model.test_equations import dimensions, every_cell, rows_of

REGION = Dimension.of("region", Hierarchy.from_dict({"North": ["n1", "n2"], "South": ["s1"]}))
SEX = Dimension.flat("sex", ["f", "m"])
LEAVES = {
    "region": ["n1", "n1", "n2", "n2", "s1", "s1"],
    "sex": ["f", "m"] * 3,
    "value": [810001, 820002, 0, 840004, 850005, 860006],
}


def whole() -> Table:
    return Table.from_cells([REGION, SEX], LEAVES, recompute=True)


def as_cells(table: Table) -> dict[str, Any]:
    columns: dict[str, Any] = {
        dimension.name: [dimension.codes[code] for code in table.codes[:, d]]
        for d, dimension in enumerate(table.dimensions)
    }
    return {**columns, "value": table.values.copy()}


def as_dict(table: Table) -> dict[str, float]:
    return dict(zip(table.labels(range(len(table))), table.values.tolist(), strict=True))


def equations_of(table: Table) -> set[Any]:
    return set(rows_of(table.equations, table.codes))


def faults_of(**arguments: Any) -> tuple[str, ...]:
    """The faults of a table from cells, none of which may mention a value."""
    with pytest.raises(InputError) as error:
        Table.from_cells(**arguments)
    check_secret(error.value, arguments["cells"].get("value", ()))
    return error.value.faults


def check_secret(error: InputError, values: Any) -> None:
    """No number of five digits or more in the message is a value of the table."""
    text = "\n".join([str(error), *error.faults])
    said = {float(number) for number in re.findall(r"\d[\d.]*\d", text)}
    kept = {abs(float(v)) for v in values if isinstance(v, int | float | np.number) and abs(float(v)) > 9999}
    assert not said & kept


# ---------------------------------------------------------------------- what a table is


def test_a_two_way_table() -> None:
    table = whole()
    assert len(table) == 6 * 3
    assert table.equations.shape == (3 * 3 + 6, 18)
    assert table.values[table.find()] == sum(LEAVES["value"])
    assert table.values[table.find(region="North", sex="m")] == 820002 + 840004
    assert table.label(table.find(region="n2")) == "region=n2, sex=Total"
    assert table.is_leaf.sum() == 6
    assert table.decimals == 0
    assert table.unit == 1.0


def test_repr_is_confidential_and_shows_no_value() -> None:
    assert repr(whole()) == "<confidential Table: region(6) x sex(3), 18 cells, 15 equations>"


@pytest.mark.parametrize(
    ("codes", "message"),
    [({"region": "x"}, "'region' has no code 'x'"), ({"age": "1"}, "no dimension called 'age'")],
)
def test_finding_what_is_not_there(codes: Mapping[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        whole().find(**codes)


def test_arrays_are_read_only_and_not_the_callers() -> None:
    cells = as_cells(whole())
    table = Table.from_cells([REGION, SEX], cells)
    cells["value"][0] = -1
    table.check_additive()
    for array in (table.values, table.codes, table.rhs, table.equations.data, table.is_leaf):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("count", [1, 2, 4, 6])
def test_any_number_of_dimensions(count: int) -> None:
    dims = [Dimension.flat(f"d{d}", ["a", "b"]) for d in range(count)]
    rows = list(product("ab", repeat=count))
    cells: dict[str, Any] = {f"d{d}": [row[d] for row in rows] for d in range(count)}
    table = Table.from_cells(dims, {**cells, "value": np.arange(len(rows))}, recompute=True)
    assert len(table) == 3**count
    assert table.equations.shape[0] == count * 3 ** (count - 1)
    assert table.values[table.find()] == sum(range(len(rows)))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A random table over random hierarchies, from some of its leaves."""
    dims = draw(dimensions())
    codes = every_cell(dims)
    leaf = np.all([dimension.is_leaf[codes[:, d]] for d, dimension in enumerate(dims)], axis=0)
    decimals = draw(st.integers(0, 4))
    whole_numbers = st.integers(-(10**6), 10**6) | st.integers(0, 10**15)
    values = draw(st.lists(whole_numbers, min_size=int(leaf.sum()), max_size=int(leaf.sum())))
    kept = np.flatnonzero([draw(st.integers(0, 4)) > 0 for _ in values])
    kept = kept if kept.size else np.array([0])
    cells: dict[str, Any] = {
        dimension.name: [dimension.codes[code] for code in codes[leaf][kept, d]]
        for d, dimension in enumerate(dims)
    }
    numbers = np.array(values, dtype=float)[kept] / 10**decimals
    return Table.from_cells(dims, {**cells, "value": numbers}, recompute=True)


@given(tables())
def test_a_table_from_leaves_adds_up_and_is_the_table_with_totals(table: Table) -> None:
    table.check_additive()
    again = Table.from_cells(table.dimensions, as_cells(table))
    assert as_dict(again) == as_dict(table)
    assert equations_of(again) == equations_of(table)
    assert again.decimals == table.decimals
    rebuilt = Table.from_cells(table.dimensions, as_cells(table), recompute=True)
    assert as_dict(rebuilt) == as_dict(table)


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table: Table, random: Any) -> None:
    order = list(range(len(table)))
    random.shuffle(order)
    cells = {name: [column[i] for i in order] for name, column in as_cells(table).items()}
    permuted = Table.from_cells(table.dimensions, cells)
    assert as_dict(permuted) == as_dict(table)
    assert equations_of(permuted) == equations_of(table)


@given(tables(), st.data())
def test_one_wrong_value_breaks_every_equation_it_is_in(table: Table, data: st.DataObject) -> None:
    cell = data.draw(st.integers(0, len(table) - 1))
    values = table.values.copy()
    values[cell] += table.unit * max(1, np.ceil(1e-9 * np.abs(table.units).max()))
    column = table.equations[:, [cell]].toarray().ravel()
    if not column.any():
        return
    with pytest.raises(InputError) as error:
        Table.from_cells(table.dimensions, {**as_cells(table), "value": values})
    assert set(error.value.confidential["equations"]) == set(np.flatnonzero(column))
    assert len(error.value.faults) == np.count_nonzero(column)


def test_absent_cells_are_zeros() -> None:
    cells = {"region": ["n1", "n2", "s1"], "sex": ["f", "m", "f"], "value": [1, 2, 3]}
    table = Table.from_cells([REGION, SEX], cells, recompute=True)
    assert len(table) == 3 * 2 + 3 + 2 + 3  # each of n1, n2, s1 with its total; North, South, Total
    with pytest.raises(InputError, match="no such cell"):
        table.find(region="s1", sex="m")
    assert table.complete


# ---------------------------------------------------------------------- values


@pytest.mark.parametrize(
    "values",
    [
        [0, 0],
        [-5, 5],
        [-7.25, -0.5],
        [1e15, 1],
        [1e15, 1e15],
        [1e-12, 3e-12],
        [0.1, 0.2],
        [1e14, 0.5],
        [1e-30, 0],
    ],
)
def test_values_of_all_kinds(values: list[float]) -> None:
    table = Table.from_cells([SEX], {"sex": ["f", "m"], "value": values}, recompute=True)
    assert table.values[table.find()] == pytest.approx(sum(values), rel=1e-15)
    again = Table.from_cells([SEX], as_cells(table))
    assert as_dict(again) == as_dict(table)


def test_rebuilt_totals_have_no_noise() -> None:
    cells = {"sex": ["f", "m"], "value": [0.1, 0.2]}
    table = Table.from_cells([SEX], cells, recompute=True)
    assert table.values[table.find()] == 0.3, "and not 0.30000000000000004"
    cells = {"sex": ["f", "m"], "value": [1 / 3, 2 / 7]}
    rounded = Table.from_cells([SEX], cells, recompute=True)
    assert rounded.values.tolist() == [0.619047619, 0.333333333, 0.285714286], (
        "nine digits where there is no last decimal"
    )
    assert rounded.rounding == pytest.approx(1 / 3 - 0.333333333, rel=0.2)
    assert "rounded to 1e-09" in repr(rounded)


def test_decimals_may_be_given() -> None:
    cells = {"sex": ["f", "m"], "value": [1, 2]}
    assert Table.from_cells([SEX], cells, recompute=True, decimals=2).unit == 0.01
    with pytest.raises(InputError, match="decimals must be a whole number"):
        Table.from_cells([SEX], cells, recompute=True, decimals=-1)


def test_a_tolerance_for_rounded_tables() -> None:
    cells = {"sex": ["Total", "f", "m"], "value": [4, 1, 2]}
    with pytest.raises(InputError):
        Table.from_cells([SEX], cells)
    added = Table.from_cells([SEX], cells, tolerance=1)
    assert added.units.tolist() == [3, 1, 2], "the total is added up again"
    assert added.rounding == 1.0
    with pytest.raises(InputError, match="no tolerance"):
        Table.from_equations([4, 1, 2], [[-1, 1, 1]], tolerance=1)
    for tolerance in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="tolerance must be"):
            Table.from_cells([SEX], cells, tolerance=tolerance)


def test_a_total_off_by_one_among_huge_values() -> None:
    cells = {"sex": ["Total", "f", "m"], "value": [900_000_000_000_001, 5e14, 4e14]}
    assert faults_of(dimensions=[SEX], cells=cells) == (
        "equation 0: the total sex=Total is not the sum of its 2 parts",
    )


# ---------------------------------------------------------------------- non-nested aggregates


def test_non_nested_aggregates() -> None:
    basins = Hierarchy.from_dict({"East": ["n1", "s1"], "West": ["n2"]}, total="Basins")
    zone = Hierarchy.flat(["North", "s1"], total="Zone")
    region = Dimension.of("region", REGION.hierarchies[0], basins, zone)
    cells = {"region": ["n1", "n2", "s1"], "value": [100, 20, 3]}
    table = Table.from_cells([region], cells, recompute=True)
    found = {code: table.values[table.find(region=code)] for code in region.codes}
    assert found == {
        "n1": 100,
        "n2": 20,
        "s1": 3,
        "North": 120,
        "South": 3,
        "Total": 123,
        "East": 103,
        "West": 20,
        "Basins": 123,
        "Zone": 123,
    }
    assert table.equations.shape[0] == 3 + 3 + 1
    assert Table.from_cells([region], as_cells(table)).equations.shape[0] == 7


# ---------------------------------------------------------------------- what it refuses


def test_a_table_that_does_not_add_up_lists_every_equation() -> None:
    cells = as_cells(whole())
    table = whole()
    cells["value"][table.find(region="North")] += 1
    cells["value"][table.find(region="s1", sex="f")] += 1
    with pytest.raises(InputError, match="does not add up: 5 faults") as error:
        Table.from_cells([REGION, SEX], cells)
    assert any(
        "region=North, sex=Total is not the sum of its 2 parts" in fault for fault in error.value.faults
    )
    assert set(np.abs(error.value.confidential["differences"])) == {1.0}
    check_secret(error.value, cells["value"])


def test_absent_totals_and_wrong_sums_at_once() -> None:
    cells = {
        "region": ["n1", "s1", "North", "South", "n1", "s1", "North", "South", "Total"],
        "sex": ["f"] * 4 + ["Total"] * 5,
        "value": [10001, 10003, 10001, 10003, 10001, 10003, 10002, 10003, 20005],
    }
    faults = faults_of(dimensions=[REGION, SEX], cells=cells)
    assert "total region=Total, sex=f is absent although parts of it are present" in faults
    assert len([fault for fault in faults if "region=North, sex=Total is not the sum" in fault]) == 2


def test_a_total_without_parts() -> None:
    cells = {"sex": ["Total"], "value": [50000]}
    assert faults_of(dimensions=[SEX], cells=cells) == (
        "equation 0: the total sex=Total is not zero although it has no parts",
    )
    assert len(Table.from_cells([SEX], {"sex": ["Total"], "value": [0]})) == 1, "a structural zero"


def test_every_fault_of_the_cells_at_once() -> None:
    cells = {
        "region": ["n1", "n2", "nowhere", "n2", "n1", "s1", "s1"],
        "sex": ["f", "f", "f", "f", "x", "m", "m"],
        "value": [71001, None, 71003, 71004, 71005, float("inf"), "a lot"],
    }
    assert faults_of(dimensions=[REGION, SEX], cells=cells) == (
        "row 3: unknown code 'nowhere' in dimension 'region'",
        "row 5: unknown code 'x' in dimension 'sex'",
        "row 2 (region=n2, sex=f): the value is missing or not a finite number",
        "row 6 (region=s1, sex=m): the value is missing or not a finite number",
        "row 7 (region=s1, sex=m): the value is missing or not a finite number",
        "rows 2, 4: cell region=n2, sex=f is listed 2 times",
        "rows 6, 7: cell region=s1, sex=m is listed 2 times",
    )


def test_nan_and_text() -> None:
    nan = faults_of(dimensions=[SEX], cells={"sex": ["f", "m"], "value": [np.nan, 1]})
    text = faults_of(dimensions=[SEX], cells={"sex": ["f", "m"], "value": ["", "1"]})
    assert nan == text == ("row 1 (sex=f): the value is missing or not a finite number",)


def test_numbers_as_text_are_numbers() -> None:
    table = Table.from_cells([SEX], {"sex": ["f", "m"], "value": ["1.5", " 2 "]}, recompute=True)
    assert table.values[table.find()] == 3.5


def test_missing_columns_name_those_there_are() -> None:
    with pytest.raises(InputError, match="Columns found: 'sex', 'turnover'") as error:
        Table.from_cells([REGION, SEX], {"sex": ["f"], "turnover": [1]})
    assert error.value.faults == (
        "there is no column 'region' with the codes of dimension 'region'",
        "there is no column 'value' with the values",
    )


def test_columns_of_different_lengths() -> None:
    (fault,) = faults_of(dimensions=[SEX], cells={"sex": ["f", "m"], "value": [1, 2, 3], "more": [1]})
    assert fault == "the columns have different numbers of rows: 'sex' has 2, 'value' has 3, 'more' has 1"


def test_columns_that_are_no_lists() -> None:
    faults = faults_of(dimensions=[SEX], cells={"sex": "f", "value": [[1, 2]]})
    assert faults == ("column 'sex' is not a plain list", "column 'value' is not a plain list")


def test_dimensions_of_one_name() -> None:
    assert "have the same name" in faults_of(dimensions=[SEX, SEX], cells={"sex": ["f"], "value": [1]})[0]
    assert faults_of(dimensions=[], cells={"value": [1]}) == ("a table needs at least one dimension",)


@pytest.mark.parametrize("recompute", [False, True])
def test_an_empty_table(recompute: bool) -> None:
    cells: dict[str, Any] = {"sex": [], "value": []}
    assert faults_of(dimensions=[SEX], cells=cells, recompute=recompute) == ("the table has no cells",)


def test_a_table_of_one_cell() -> None:
    table = Table.from_cells(
        [Dimension.names("what", ["population"])], {"what": ["population"], "value": [7]}
    )
    assert (len(table), table.equations.shape) == (1, (0, 1))
    table = Table.from_cells([SEX], {"sex": ["f"], "value": [7]}, recompute=True)
    assert as_dict(table) == {"sex=Total": 7, "sex=f": 7}
    assert len(Table.from_equations([7], [])) == 1


def test_negative_values_are_welcome() -> None:
    table = Table.from_cells([SEX], {"sex": ["Total", "f", "m"], "value": [-1, -3, 2]})
    assert table.values.min() == -3


# ---------------------------------------------------------------------- recompute


def test_recompute_ignores_the_totals_given() -> None:
    cells = {"sex": ["Total", "f", "m"], "value": [np.nan, 1, 2], "number": [30, 10, 20]}
    table = Table.from_cells([SEX], cells, recompute=True)
    assert as_dict(table) == {"sex=Total": 3, "sex=f": 1, "sex=m": 2}
    assert table.column("number").tolist() == [30, 10, 20]
    with pytest.raises(InputError, match=r"row 2 \(sex=f\)"):
        Table.from_cells([SEX], {**cells, "value": [3, np.nan, 2]}, recompute=True)


def test_recompute_refuses_totals_that_cannot_be_rebuilt() -> None:
    cells = {"region": ["n1", "South", "Total"], "value": [10001, 10002, 20003]}
    assert faults_of(dimensions=[REGION], cells=cells, recompute=True) == (
        "row 2: total region=South has no parts to be rebuilt from",
    )
    (fault,) = faults_of(dimensions=[SEX], cells={"sex": ["Total"], "value": [0]}, recompute=True)
    assert fault == "there are no leaf cells to rebuild totals from"


def test_further_columns_of_rebuilt_totals_are_unknown() -> None:
    table = Table.from_cells([SEX], {"sex": ["m", "f"], "value": [1, 2], "number": [5, 6]}, recompute=True)
    assert table.column("number")[table.find(sex="f")] == 6
    assert np.isnan(table.column("number")[table.find()])


# ---------------------------------------------------------------------- kinds of columns


def test_codes_that_are_numbers_are_matched_as_text() -> None:
    size = Dimension.flat("size", ["1", "2", "10"])
    values = [1, 2, 3]
    for codes in (
        [1, 2, 10],
        np.array([1, 2, 10]),
        np.array([1.0, 2.0, 10.0]),
        ["1", "2", "10"],
        (1, "2", 10),
    ):
        table = Table.from_cells([size], {"size": codes, "value": values}, recompute=True)
        assert table.values[table.find(size="10")] == 3


def test_further_columns() -> None:
    cells = {
        "sex": ["Total", "f", "m"],
        "value": [3, 1, 2],
        "number": [5, None, 4],
        "flag": np.array([True, False, True]),
        "name": ["all", "women", "men"],
    }
    table = Table.from_cells([SEX], cells)
    assert set(table.columns) == {"number", "flag"}
    assert np.isnan(table.column("number")[1])
    with pytest.raises(InputError, match="Columns: number, flag"):
        table.column("name")


def test_a_pandas_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**as_cells(whole()), "number": range(18)})
    frame["region"] = frame["region"].astype("category")
    table = Table.from_cells([REGION, SEX], frame)
    assert as_dict(table) == as_dict(whole())
    assert list(table.columns) == ["number"]
    frame["gaps"] = pandas.array([1, None] * 9, dtype="Int64")
    assert np.isnan(Table.from_cells([REGION, SEX], frame).column("gaps")).sum() == 9
    frame.loc[3, "value"] = None
    with pytest.raises(InputError, match=r"row 4 .* missing or not a finite number"):
        Table.from_cells([REGION, SEX], frame)


def test_a_frame_without_keys() -> None:
    class Frame:
        columns = ("sex", "value")

        def __getitem__(self, name: str) -> list[Any]:
            return {"sex": ["f", "m"], "value": [1, 2]}[name]  # type: ignore[return-value]

    assert len(Table.from_cells([SEX], Frame(), recompute=True)) == 3  # type: ignore[arg-type]


# ---------------------------------------------------------------------- from equations


def test_from_equations() -> None:
    table = Table.from_equations(
        [3, 1, 2], [[-1, 1, 1]], names=["all", "f", "m"], columns={"number": [7, 3, 4]}
    )
    assert table.label(0) == "cell=all"
    assert table.is_leaf.tolist() == [False, True, True]
    assert table.column("number").sum() == 14
    assert not table.complete


def test_the_sign_of_an_equation_does_not_make_a_total() -> None:
    table = Table.from_equations([3, 1, 2, 4, -4], [[1, -1, -1, 0, 0], [0, 0, 0, 1, 1]])
    assert table.is_leaf.tolist() == [False, True, True, True, True]


def test_a_right_hand_side() -> None:
    table = Table.from_equations([40, 60], csr_array([[1.0, 1.0]]), 100)
    assert table.rhs.tolist() == [100]
    with pytest.raises(InputError) as error:
        Table.from_equations([40000, 60001], [[1, 1]], [100000], names=["a", "b"])
    assert error.value.faults == ("equation 0: it does not hold for its 2 cells (cell=a; cell=b)",)
    check_secret(error.value, [40000, 60001, 100000])


@pytest.mark.parametrize(
    ("arguments", "faults"),
    [
        ({"values": [], "equations": []}, ["the table has no cells"]),
        ({"values": [1, 2], "equations": [[1, 1, 1]]}, ["2 values, but equations over 3 cells"]),
        ({"values": [[1, 2]], "equations": [[1, 1]]}, ["the values must be a plain list"]),
        (
            {"values": [1, 2], "equations": [[2, -1]], "rhs": [0, 0]},
            ["1 equations, but a right-hand side of shape (2,)"],
        ),
        (
            {
                "values": [1, 2],
                "equations": [[2, -1], [np.nan, 0]],
                "rhs": [np.inf, 0],
                "columns": {"n": [1]},
            },
            [
                "equation 0: the right-hand side is not a finite number",
                "equation 1: a coefficient is not a finite number",
                "column 'n': 2 values, but shape (1,)",
            ],
        ),
        ({"values": [1, 2], "equations": [[2, -1]], "names": ["a"]}, ["2 values need 2 names, got 1"]),
        ({"values": [1, 2], "equations": [[2, -1]], "names": ["a", "a"]}, ["code 'a' is listed 2 times"]),
        (
            {"values": [1, np.nan], "equations": [[2, -1]]},
            ["row 2 (cell=1): the value is missing or not a finite number"],
        ),
        ({"values": ["a", 2], "equations": [[2, -1]]}, ["expected numbers, one a cell or one for all cells"]),
        (
            {"values": [1], "equations": np.zeros((1, 1, 1))},
            ["the equations must be a matrix, one row an equation"],
        ),
    ],
)
def test_equations_that_are_refused(arguments: dict[str, Any], faults: list[str]) -> None:
    with pytest.raises(InputError) as error:
        Table.from_equations(**arguments)
    assert list(error.value.faults) == faults


# ---------------------------------------------------------------------- a million cells


def test_a_million_cells_in_little_memory() -> None:
    dims = [Dimension.flat(name, [f"{name}{i}" for i in range(99)]) for name in "abc"]
    codes = np.stack(np.meshgrid(*[np.arange(1, 100)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    cells: dict[str, Any] = {
        dimension.name: np.array(dimension.codes, dtype=object)[codes[:, d]]
        for d, dimension in enumerate(dims)
    }
    cells["value"] = np.random.default_rng(0).integers(0, 10**6, len(codes))
    tracemalloc.start()
    table = Table.from_cells(dims, cells, recompute=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(table) == 10**6
    assert table.equations.shape == (30_000, 10**6)
    assert table.equations.nnz == 3_000_000
    assert table.values[table.find()] == cells["value"].sum()
    assert peak < 1e9, "bytes"


# ---------------------------------------------------------------------- data units


@pytest.mark.parametrize(
    ("values", "decimals", "units"),
    [
        ([1.0, 1e12], 0, [10**12 + 1, 1, 10**12]),
        ([0.1234567890123, 0.5], 13, [6234567890123, 1234567890123, 5000000000000]),
        ([0, 0], 0, [0, 0, 0]),
        ([1e15, -3], 0, [10**15 - 3, 10**15, -3]),
        ([1e-12, -4e-12], 12, [-3, 1, -4]),
        ([-0.5, 0.25], 2, [-25, -50, 25]),
        ([1e-25, 3e-25], 25, [4, 1, 3]),
    ],
)
def test_values_are_whole_units(values: list[float], decimals: int, units: list[int]) -> None:
    table = Table.from_cells([SEX], {"sex": ["f", "m"], "value": values}, recompute=True)
    assert table.decimals == decimals
    assert table.units.tolist() == units
    assert table.units.dtype == np.int64
    assert table.values.tolist() == [float(Fraction(unit, 10**decimals)) for unit in units]
    assert table.rounding == 0
    kept = Table.from_cells([SEX], as_cells(table))
    assert kept.units.tolist() == units


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_decimals_change_the_data(decimals: int) -> None:
    values = [1234.5678, 2345.6789]
    table = Table.from_cells([SEX], {"sex": ["f", "m"], "value": values}, recompute=True, decimals=decimals)
    leaves = [round(value, decimals) for value in values]
    assert table.values[1:].tolist() == leaves
    assert table.values[0] == round(sum(leaves), decimals)
    assert 0 < table.rounding <= table.unit
    with pytest.raises(InputError, match="no whole multiple of the data unit"):
        Table.from_cells(
            [SEX], {"sex": ["f", "m"], "value": values}, recompute=True, decimals=decimals, round=False
        )


def test_given_totals_must_be_whole_units() -> None:
    cells = {"sex": ["Total", "f", "m"], "value": [30000.75, 10000.25, 20000.5]}
    assert Table.from_cells([SEX], cells).units.tolist() == [3000075, 1000025, 2000050]
    assert faults_of(dimensions=[SEX], cells=cells, decimals=1) == (
        "cell sex=Total: it is no whole multiple of the data unit, 0.1",
        "cell sex=f: it is no whole multiple of the data unit, 0.1",
    )
    thirds = {"sex": ["Total", "f", "m"], "value": [1.0, 1 / 3, 2 / 3]}
    with pytest.raises(InputError, match="no whole multiple"):
        Table.from_cells([SEX], thirds)


@pytest.mark.parametrize("scale", [1, 10**3, 10**12])
def test_a_total_that_misses_by_one_unit(scale: int) -> None:
    values = np.array([3 * scale + 1, scale, 2 * scale]) / 100
    with pytest.raises(InputError, match="does not add up"):
        Table.from_equations(values, [[-1, 1, 1]])


def test_cells_beyond_all_units() -> None:
    cells = {"sex": ["f", "m"], "value": [1e12, 0.1234567890123]}
    with pytest.raises(InputError, match="too many digits") as caught:
        Table.from_cells([SEX], cells, recompute=True)
    assert caught.value.faults[0].startswith("cell sex=Total: too many digits from its first one down to")
    assert "decimals=3 (a data unit of 0.001)" in caught.value.advice
    assert Table.from_cells([SEX], cells, recompute=True, decimals=3).units.tolist() == [
        10**15 + 123,
        10**15,
        123,
    ]
    halves = {"sex": ["f", "m"], "value": [2.0**51, 2.0**51]}
    with pytest.raises(InputError, match="sex=Total: too many digits"):
        Table.from_cells([SEX], halves, recompute=True)


def test_missing_values_are_no_units() -> None:
    with pytest.raises(InputError, match="missing or not a finite number"):
        Table.from_cells([SEX], {"sex": ["f", "m"], "value": [1, np.nan]}, recompute=True)


def test_coefficients_with_decimals() -> None:
    table = Table.from_equations([100.0, 119.0, 19.0], [[1.19, -1, 0], [0.19, 0, -1]])
    assert table.equations.data.tolist() == [1.19, -1, 0.19, -1]
    with pytest.raises(InputError, match="equation 0"):
        Table.from_equations([100, 118, 19], [[1.19, -1, 0], [0.19, 0, -1]])


def test_coefficients_as_large_as_floats_are_refused_like_others() -> None:
    with pytest.raises(InputError, match="does not add up"):
        Table.from_equations([3, 4, 9], [[1.7e308, 1.5e308, -1.1]])
