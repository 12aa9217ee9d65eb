"""tabulate: microdata against brute force, kinds of frames, exactness, ready cells, and what is wrong with input."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from tablecloak.errors import InputError
from tablecloak.model import Contributions, Dimension, Hierarchy, Table, link
from tablecloak.tabulation import CellData, Layout, Microdata, table_frame, tabulate, tabulate_linked

REGION = Dimension.of(
    "region",
    Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}, "All"),
    Hierarchy.from_dict({"coast": ["N1", "S1"], "land": ["N2", "S2", "S3"]}, "by sea"),
)
INDUSTRY = Dimension.of("in du", Hierarchy.from_dict({"A": {"A1": ["A11", "A12"]}, "B": ["B1"], "C": None}))
SEX = Dimension.flat('se"x', ["f", "m"])
DIMENSIONS = [REGION, INDUSTRY, SEX]


@pytest.fixture(autouse=True)
def private(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """All temporary folders in one place, which must be empty after every test."""
    place = tmp_path_factory.mktemp("private")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert not list(place.iterdir())


# ---------------------------------------------------------------------- brute force


def some_records(seed: int, count: int = 60) -> dict[str, list[Any]]:
    """Random records with everything in them: signed values, ties, weights, holdings, waivers, requests."""
    rng = np.random.default_rng(seed)
    pick = lambda options: [options[i] for i in rng.integers(len(options), size=count)]  # noqa: E731
    leaves = [
        [code for code, leaf in zip(each.codes, each.is_leaf, strict=True) if leaf] for each in DIMENSIONS
    ]
    who = pick([f"r{i}" for i in range(max(2, count // 2))])
    weights = {name: float(rng.choice([0.0, 1.0, 1.5, 2.25, 3.1])) for name in who}
    return {
        "region": pick(leaves[0]),
        "in du": pick(leaves[1]),
        'se"x': pick(leaves[2]),
        "turnover": [
            float(v) / 100 for v in rng.integers(-300, 900, size=count) * rng.choice([1, 0, 100], count)
        ],
        "staff": pick([0, 1, 2, 3]),
        "weight": [weights[name] for name in who],
        "who": who,
        "group": pick(["g1", "g2", "r1", "r2", "r3", "", "", "", "", ""]),
        "waived": pick(["0", "1"]),
        "asks": pick(["0", "0", "0", "1", "2"]),
    }


def above(dimension: Dimension, code: str) -> set[str]:
    found, at = {code}, {code}
    while at:
        at = {
            hierarchy.codes[hierarchy.parent[hierarchy.index[one]]]
            for hierarchy in dimension.hierarchies
            for one in at
            if one in hierarchy.index and hierarchy.parent[hierarchy.index[one]] >= 0
        }
        found |= at
    return found


class Brute:
    """The same figures by plain loops over records and exact decimals."""

    def __init__(
        self, data: dict[str, list[Any]], source: dict[str, str], response: str | None, shadow: str | None
    ):
        self.data, self.source, self.rows = data, source, len(data["region"])
        self.x = [Decimal(repr(v)) for v in data[response]] if response else [Decimal(1)] * self.rows
        self.s = [Decimal(repr(v)) for v in data[shadow]] if shadow else self.x
        weight = source.get("weight")
        self.w = [Decimal(repr(v)) for v in data[weight]] if weight else [Decimal(1)] * self.rows
        self.known = dict[str, defaultdict[tuple[str, str], list[int]]]()
        self.cells = defaultdict[tuple[str, ...], list[int]](list)
        for row in range(self.rows):
            paths = [above(each, data[each.name][row]) for each in DIMENSIONS]
            for cell in product(*paths):
                self.cells[cell].append(row)

    def unit(self, row: int, level: str) -> tuple[str, str]:
        column = self.source.get("respondent")
        name = str(self.data[column][row]) if column else str(row + 1)
        holding = self.source.get("holding")
        if level == "holdings" and holding and self.data[holding][row]:
            return "group", str(self.data[holding][row])
        return "own", name

    def records_of(self, unit: tuple[str, str], level: str) -> list[int]:
        if level not in self.known:
            self.known[level] = defaultdict(list)
            for row in range(self.rows):
                self.known[level][self.unit(row, level)].append(row)
        return self.known[level][unit]

    def name(self, unit: tuple[str, str], level: str) -> str:
        holding = self.source.get("holding")
        taken = set(self.data[holding]) if holding and level == "holdings" else set()
        return f"respondent {unit[1]}" if unit[0] == "own" and unit[1] in taken else unit[1]


def check(table: Table, brute: Brute, depth: int) -> None:
    table.check_additive()
    assert len(table) == len(brute.cells)
    for cell in range(len(table)):
        codes = tuple(each.codes[c] for each, c in zip(table.dimensions, table.codes[cell], strict=True))
        rows = brute.cells[codes]
        assert table.values[cell] == float(sum(brute.w[row] * brute.x[row] for row in rows))
        for who in (table.respondents, table.holdings):
            if who is not None:
                check_cell(who, cell, rows, brute, depth)


def check_cell(who: Contributions, cell: int, rows: list[int], brute: Brute, depth: int) -> None:
    level = who.level
    units = sorted({brute.unit(row, level) for row in rows}, key=lambda u: brute.records_of(u, level)[0])
    whole = {unit: brute.records_of(unit, level) for unit in units}
    held = [brute.unit(row, level)[0] == "group" for row in range(brute.rows)]
    factor = [w if inside else Decimal(1) for w, inside in zip(brute.w, held, strict=True)]
    size = {u: sum(factor[row] * brute.s[row] for row in rows if row in whole[u]) for u in units}
    amount = {u: sum(factor[row] * brute.x[row] for row in rows if row in whole[u]) for u in units}
    weight = {u: Decimal(1) if u[0] == "group" else brute.w[whole[u][0]] for u in units}
    order = sorted(units, key=lambda u: -abs(size[u]))
    waiver, request = brute.source.get("waiver"), brute.source.get("request")
    waived = {u: bool(waiver) and all(brute.data[str(waiver)][r] == "1" for r in whole[u]) for u in units}
    asks = {
        c: [u for u in order if request and any(brute.data[request][r] == c for r in whole[u])] for c in "12"
    }
    assert who.count[cell] == len(units)
    assert who.weight[cell] == float(sum(weight.values()))
    assert who.total[cell] == float(sum(brute.w[row] * brute.s[row] for row in rows))
    filled = len(order[:depth])
    assert who.top[cell].tolist() == [float(size[u]) for u in order[:depth]] + [0.0] * (depth - filled)
    assert who.top_weight[cell].tolist() == [float(weight[u]) for u in order[:depth]] + [0.0] * (
        depth - filled
    )
    names = [who.units[u] if u >= 0 else None for u in who.top_unit[cell]]
    assert names == [brute.name(u, level) for u in order[:depth]] + [None] * (depth - filled)
    free = [u for u in order if not waived[u]]
    assert who.unwaived[cell] == len(free)
    assert who.largest_unwaived[cell] == (float(size[free[0]]) if free else 0.0)
    best = who.largest_unwaived_unit[cell]
    assert (who.units[best] if best >= 0 else None) == (brute.name(free[0], level) if free else None)
    assert who.requesters[cell] == len({*asks["1"], *asks["2"]})
    assert who.requested[cell].tolist() == [float(size[asks[c][0]]) if asks[c] else 0.0 for c in "12"]
    shares = (who.shares[:, [cell]].toarray().ravel(), who.shadow_shares[:, [cell]].toarray().ravel())
    check_shares(
        who, shares, {brute.name(u, level): (amount[u], size[u], weight[u], waived[u]) for u in units}
    )


def check_shares(who: Contributions, shares: tuple[Any, Any], units: dict[str, tuple[Any, ...]]) -> None:
    amounts, sizes = shares
    for number, name in enumerate(who.units):
        amount, size, weight, waived = units.get(str(name), (0, 0, None, None))
        assert amounts[number] == float(amount)
        assert sizes[number] == float(size)
        if weight is not None:
            assert who.unit_weight[number] == float(weight)
            assert who.unit_waived[number] == waived


ROLES = {"weight": "weight", "respondent": "who", "holding": "group", "waiver": "waived", "request": "asks"}
CASES: list[tuple[dict[str, str], str | None, str | None]] = [
    ({}, "turnover", None),
    ({}, None, None),
    ({"weight": "weight"}, "turnover", "staff"),
    ({"respondent": "who"}, "turnover", None),
    ({"holding": "group"}, "turnover", None),
    ({"weight": "weight", "respondent": "who", "waiver": "waived"}, None, None),
    ({"weight": "weight", "holding": "group", "request": "asks"}, None, "turnover"),
    (ROLES, "turnover", "staff"),
    (ROLES, "staff", None),
]


@pytest.mark.parametrize(("roles", "response", "shadow"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_against_brute_force(
    seed: int, roles: dict[str, str], response: str | None, shadow: str | None
) -> None:
    data = some_records(seed, (5, 60, 150)[seed])
    depth = seed + 1
    if "weight" in roles and "respondent" not in roles:
        data["weight"] = [1.5 + (i % 3) for i in range(len(data["who"]))]
    table = tabulate(Microdata(data, **roles), DIMENSIONS, response, shadow=shadow, top=depth)  # type: ignore[arg-type]
    assert table.response == (response or "count")
    assert table.complete
    assert (table.holdings is not None) == ("holding" in roles)
    check(table, Brute(data, roles, response, shadow), depth)


def test_brute_force_is_about_something() -> None:
    data = some_records(2, 150)
    table = tabulate(Microdata(data, **ROLES), DIMENSIONS, "turnover", shadow="staff", top=3)  # type: ignore[arg-type]
    who, groups = table.respondents, table.holdings
    assert who is not None and groups is not None
    assert (table.values < 0).any()
    assert (who.count > 3).any() and (who.count == 1).any()
    assert (groups.count < who.count).any()
    assert (who.requested > 0).any() and (who.unwaived < who.count).any()
    leaf = table.is_leaf
    assert who.count[leaf].sum() > who.count[table.find()]  # respondents in several leaf cells count once
    assert any(str(name).startswith("respondent ") for name in groups.units)


# ---------------------------------------------------------------------- the same, however it comes


def same(one: Table, other: Table) -> None:
    """Tables and all their arrays are the same to the last bit."""
    assert one.values.tobytes() == other.values.tobytes()
    assert (one.codes == other.codes).all()
    assert one.decimals == other.decimals
    for mine, yours in ((one.respondents, other.respondents), (one.holdings, other.holdings)):
        assert (mine is None) == (yours is None)
        if mine is not None and yours is not None:
            for field in fields(Contributions):
                a, b = getattr(mine, field.name), getattr(yours, field.name)
                if isinstance(a, csr_array):
                    assert (a != b).nnz == 0
                    assert a.nnz == b.nnz
                else:
                    assert np.array_equal(a, b), field.name


@pytest.fixture(scope="module")
def reference() -> tuple[dict[str, list[Any]], Table]:
    data = some_records(7, 200)
    return data, tabulate(Microdata(data, **ROLES), DIMENSIONS, "turnover", shadow="staff")  # type: ignore[arg-type]


def frames(data: dict[str, list[Any]], folder: Path) -> Iterator[tuple[str | None, Any]]:
    """The same records as every kind of frame and file."""
    pandas, polars = pd.DataFrame(data), pl.DataFrame(data)
    yield "pandas", pandas
    yield "pandas", pandas.astype({"region": "category", "who": object}).set_index("region", drop=False)
    yield "polars", polars
    yield "polars", polars.lazy()
    yield "polars", polars.with_columns(pl.col("region").cast(pl.Categorical))
    yield "pyarrow", pa.table(data)
    yield None, {name: np.array(column) for name, column in data.items()}
    polars.write_parquet(folder / "a.parquet")
    yield None, folder / "a.parquet"
    pandas.to_csv(folder / "b.csv", index=False)
    yield None, str(folder / "b.csv")
    pandas.to_csv(folder / "c.txt", index=False, sep=";", encoding="utf-8-sig")
    yield None, folder / "c.txt"
    pandas.to_csv(folder / "d.tsv.gz", index=False, sep="\t", lineterminator="\r\n")
    yield None, folder / "d.tsv.gz"
    for part, start in enumerate(range(0, 200, 70)):
        polars[start : start + 70].write_parquet(folder / f"part[{part}].parquet")
        shuffled = pandas[start : start + 70].iloc[:, ::-1]
        shuffled.to_csv(
            folder / f"piece{part}.csv", index=False, encoding=("utf-8", "latin-1", "utf-16")[part]
        )
    yield None, folder / "part*.parquet"
    yield None, str(folder / "piece?.csv")


def test_every_kind_of_input_gives_the_same_table(
    reference: tuple[dict[str, list[Any]], Table], tmp_path: Path
) -> None:
    data, expected = reference
    for kind, given in frames(data, tmp_path):
        table = tabulate(Microdata(given, **ROLES), DIMENSIONS, "turnover", shadow="staff")
        same(table, expected)
        assert table.frame_kind == kind
        frame = table_frame(table)
        assert (type(frame).__module__.split(".")[0] if kind else None) == kind
        assert len(frame["turnover"]) == len(table)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_memory_do_not_matter(
    reference: tuple[dict[str, list[Any]], Table], threads: int
) -> None:
    data, expected = reference
    layout = Layout(DIMENSIONS, "turnover", "staff")
    [table] = tabulate_linked(Microdata(data, **ROLES), [layout], threads=threads, memory="100MB")  # type: ignore[arg-type]
    same(table, expected)


def test_the_order_of_records_does_not_matter_for_sums(reference: tuple[dict[str, list[Any]], Table]) -> None:
    data, expected = reference
    order = np.random.default_rng(1).permutation(200)
    mixed = {name: [column[i] for i in order] for name, column in data.items()}
    table = tabulate(Microdata(mixed, **ROLES), DIMENSIONS, "turnover", shadow="staff")  # type: ignore[arg-type]
    assert table.values.tobytes() == expected.values.tobytes()
    for mine, yours in ((table.respondents, expected.respondents), (table.holdings, expected.holdings)):
        assert mine is not None and yours is not None
        for name in ("count", "weight", "total", "unwaived", "requesters"):
            assert np.array_equal(getattr(mine, name), getattr(yours, name))
        assert np.array_equal(np.abs(mine.top), np.abs(yours.top))


def test_linked_tables_in_one_pass() -> None:
    data = some_records(3, 80)
    layouts = {
        "a": Layout([REGION, SEX], "turnover"),
        "b": Layout([REGION, INDUSTRY], "turnover"),
        "c": Layout([SEX]),
        "d": Layout([SEX, REGION], "staff", "turnover", decimals=2),
    }
    source = Microdata(data, respondent="who", holding="group")
    tables = tabulate_linked(source, layouts)
    for table, layout in zip(tables, layouts.values(), strict=True):
        same(
            table,
            tabulate(
                source, layout.dimensions, layout.response, shadow=layout.shadow, decimals=layout.decimals
            ),
        )
    linked = link(tables[:2])
    linked.check_additive()
    assert linked.response == "turnover"
    assert tables[2].response == "count"
    assert tables[3].decimals == 2


def test_the_real_file(data: Path) -> None:
    folder = data / "microdata"
    codes = set(pd.read_csv(folder / "tau_testW.csv", dtype=str)["IndustryCode"])
    trees = [Dimension.of("IndustryCode", Hierarchy.from_prefixes(codes, (3, 1, 1)))]
    for name, file in (("Size", "size.csv"), ("Region", "region.csv")):
        pairs = pd.read_csv(folder / file, dtype=str).itertuples(index=False, name=None)
        trees.append(Dimension.of(name, Hierarchy.from_pairs(pairs)))
    table = tabulate(folder / "tau_testW.csv", trees, "Var2")
    assert len(table) == 30886
    assert table.decimals == 2
    assert table.respondents is not None
    assert table.respondents.count[table.find()] == 42723


# ---------------------------------------------------------------------- numbers


def total_of(values: list[Any], weights: list[Any] | None = None, decimals: int | None = None) -> Table:
    data = {'se"x': ["f", "m"] * (len(values) // 2) + ["f"] * (len(values) % 2), "v": values, "w": weights}
    if weights is None:
        del data["w"]
    return tabulate(Microdata(data, weight="w" if weights else None), [SEX], "v", decimals=decimals)


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([0.1] * 1000, 1),
        ([0.01, 0.02, 0.03], 2),
        ([1e15, 0.25, -1e15], 2),
        ([1e14, 3.0, 0.5], 1),
        ([1e-12, 2e-12, 5e-13], 13),
        ([123456789.123456, 0.000001], 6),
        ([0, 0], 0),
        ([5, 7, -12], 0),
        ([1e-25, 3e-25], 25),
        ([1e6, 1e-9], 9),
        ([True, False, True], 0),
        (["1.5", "2", " 3 "], 1),
        ([Decimal("1.25"), Decimal("2.5")], 2),
    ],
)
def test_sums_are_exact(values: list[Any], decimals: int) -> None:
    table = total_of(values)
    exact = sum(Decimal(repr(float(v))) for v in values)
    assert table.values[table.find()] == float(exact)
    assert table.decimals == decimals


def test_weighted_sums_are_exact() -> None:
    values, weights = [0.1, 28.26, -7.7, 1e9], [2.2, 1.7, 3.3, 1.23456789012345]
    table = total_of(values, weights)
    exact = sum(Decimal(repr(v)) * Decimal(repr(w)) for v, w in zip(values, weights, strict=True))
    assert table.values[table.find()] == pytest.approx(float(exact), rel=1e-15)
    assert total_of([0.1, 0.3], [2.2, 1.7]).decimals == 2


def test_numbers_without_a_last_decimal() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random(999) * 1e6 / 3).tolist()
    table = total_of(values)
    exact = sum(map(Decimal, values))
    assert abs(table.values[table.find()] - float(exact)) <= table.rounding <= 1.5 * table.unit
    assert table.decimals == 0 or table.decimals <= 3
    weighted = total_of(values, (rng.random(999) + 1).tolist())
    weighted.check_additive()
    assert total_of(values, decimals=2).decimals == 2


def test_numbers_that_cannot_be_added_up_exactly() -> None:
    with pytest.raises(InputError, match="too many digits"):
        total_of([1e15, 1e-25])
    with pytest.raises(InputError, match="too many digits"):
        total_of([1e300, 1])


# ---------------------------------------------------------------------- ready cells


def cells() -> dict[str, list[Any]]:
    return {
        'se"x': ["Total", "f", "m"],
        "value": [10, 4, 6],
        "n": [3, 1, 2],
        "x1": [5, 4, 5],
        "x2": [4, 0, 1],
        "other": [20.0, 8.0, 12.0],
    }


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow", "csv", "parquet"])
def test_cells_with_contributions(kind: str, tmp_path: Path) -> None:
    data: Any = cells()
    if kind == "csv":
        pd.DataFrame(data).to_csv(tmp_path / "cells.csv", index=False)
        data = tmp_path / "cells.csv"
    elif kind == "parquet":
        pd.DataFrame(data).to_parquet(tmp_path / "cells.parquet")
        data = str(tmp_path / "cells.parquet")
    elif kind != "dict":
        data = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](data)
    source = CellData(data, count="n", top=("x1", "x2"), holding_count="n", holding_top=("x1",))
    table = tabulate(source, [SEX])
    assert table.values.tolist() == [10, 4, 6]
    assert table.response == "value"
    assert table.frame_kind == (kind if kind in ("pandas", "polars", "pyarrow") else None)
    assert table.columns["other"].tolist() == [20, 8, 12]
    who, groups = table.respondents, table.holdings
    assert who is not None and groups is not None
    assert who.count.tolist() == [3, 1, 2]
    assert who.top.tolist() == [[5, 4], [4, 0], [5, 1]]
    assert who.total.tolist() == [10, 4, 6]
    assert groups.level == "holdings" and groups.depth == 1
    shadowed = tabulate(CellData(data, count="n", shadow="other"), [SEX], "value").respondents
    assert shadowed is not None and shadowed.total.tolist() == [20, 8, 12]


def test_cells_that_must_be_rebuilt() -> None:
    data = {'se"x': ["f", "m"], "value": [4, 6]}
    assert tabulate(CellData(data, recompute=True), [SEX]).values.tolist() == [10, 4, 6]
    with pytest.raises(InputError, match="add up"):
        tabulate(CellData(data), [SEX])
    off = {**cells(), "value": [10.4, 4, 6]}
    added = tabulate(CellData(off, tolerance=0.5), [SEX])
    assert added.values.tolist() == [10, 4, 6], "a total that misses its parts is added up again"
    assert added.rounding == 0.4
    with pytest.raises(InputError, match="add up"):
        tabulate(CellData(off, tolerance=0.3), [SEX])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": [3, 1.5, 2]}, "cell se\"x=f: the count in column 'n' is no whole number"),
        ({"n": [3, -1, 2]}, "cell se\"x=f: the count in column 'n' is no whole number"),
        ({"n": [3, None, 2]}, "cell se\"x=f: the count in column 'n' is no whole number"),
        ({"x2": [6, 0, 1]}, "cell se\"x=Total: the contribution in column 'x2' is larger than that in 'x1'"),
        ({"x1": [7, 4, 5], "x2": [4, 0, 1]}, 'cell se"x=Total: the largest contributions sum up to more'),
        ({"x1": [5, None, 5]}, "cell se\"x=f: the contribution in column 'x1' is missing"),
        ({"value": [10, "?", 6]}, "row 2"),
        ({'se"x': ["Total", "f", None]}, "row 3: the code of dimension 'se\"x' is missing"),
    ],
)
def test_faults_of_cells(change: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(InputError) as caught:
        tabulate(CellData({**cells(), **change}, count="n", top=("x1", "x2")), [SEX])
    assert any(message in fault for fault in caught.value.faults)


def test_cells_without_a_column() -> None:
    with pytest.raises(InputError) as caught:
        tabulate(CellData(cells(), count="many", top=("x1", "x9")), [SEX, REGION], "turnover")
    assert len(caught.value.faults) == 4
    assert "'other'" in caught.value.advice


def test_frames_of_tables_do_not_lose_columns() -> None:
    flat = Dimension.flat("count", ["f", "m"])
    frame = table_frame(tabulate({"count": ["f", "m", "m"]}, [flat]))
    assert list(frame)[:2] == ["count", "count_value"]
    assert frame["count_value"].tolist() == [3, 1, 2]


# ---------------------------------------------------------------------- data units


def thirds(seed: int, count: int = 60) -> dict[str, list[Any]]:
    """Records whose numbers have no last decimal."""
    rng = np.random.default_rng(seed)
    return {**some_records(seed, count), "third": (rng.integers(-500, 5000, count) / 3).tolist()}


def test_leaves_are_rounded_and_totals_added_up() -> None:
    data = {'se"x': ["f", "f", "m", "m"], "v": [1.26, 2.17, 0.5, -3.333]}
    table = tabulate(data, [SEX], "v", decimals=1)
    assert table.units.tolist() == [6, 34, -28]
    assert table.values.tolist() == [0.6, 3.4, -2.8]
    assert table.rounding == pytest.approx(0.033, rel=1e-6)
    assert repr(table).endswith("rounded to 0.1>")
    assert tabulate(data, [SEX], "v").rounding == 0
    with pytest.raises(InputError) as caught:
        tabulate(data, [SEX], "v", decimals=1, round=False)
    assert caught.value.faults == (
        'cell se"x=f: it is no whole multiple of the data unit, 0.1',
        'cell se"x=m: it is no whole multiple of the data unit, 0.1',
    )


def test_more_units_than_a_cell_can_hold() -> None:
    data = {'se"x': ["f", "m"], "v": [1e15, 0.5]}
    with pytest.raises(InputError, match="too many digits") as caught:
        tabulate(data, [SEX], "v")
    assert "decimals=0 (a data unit of 1)" in caught.value.advice
    assert tabulate(data, [SEX], "v", decimals=0).units.tolist() == [10**15, 10**15, 0]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("decimals", [None, 0, 3])
def test_linked_tables_that_are_rounded_agree(weight: str | None, decimals: int | None) -> None:
    data = {**thirds(5), "w": (np.random.default_rng(1).random(60) + 1).tolist()}
    layouts = [
        Layout([REGION, SEX], "third", decimals=decimals),
        Layout([REGION, INDUSTRY], "third", decimals=decimals),
    ]
    tables = tabulate_linked(Microdata(data, weight=weight), layouts)
    linked = link(tables)
    linked.check_additive()
    assert linked.rounding == max(table.rounding for table in tables) > 0
    exact = sum(v * (w if weight else 1) for v, w in zip(data["third"], data["w"], strict=True))
    assert abs(linked.values[linked.find()] - exact) <= linked.rounding * (1 + 1e-9)


def test_contributions_are_checked_against_rounded_cells() -> None:
    data = {'se"x': ["f", "m"], "value": [1.4, 2.4], "n": [1, 2], "x1": [1.4, 2.0]}
    both = {'se"x': ["Total", "f", "m"], "value": [3.8, 1.4, 2.4], "n": [3, 1, 2], "x1": [2.0, 1.4, 2.0]}
    table = tabulate(CellData(both, count="n", top=("x1",), recompute=True), [SEX], decimals=0)
    assert table.units.tolist() == [3, 1, 2]
    assert table.respondents is not None
    with pytest.raises(InputError, match="no whole multiple"):
        tabulate(CellData(data, recompute=True), [SEX], decimals=0, round=False)
