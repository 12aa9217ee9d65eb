"""Cloak files: everything comes back, the bytes are always the same, and wrong files are told apart."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES, flat, from_leaves, leaf_values
from tablecloak.errors import InputError
from tablecloak.formats import is_cloak, read_cloak, write_cloak
from tablecloak.formats.cloak import FIRST, META
from tablecloak.model import Attacker, Contributions, Dimension, Hierarchy, Levels, Problem, Reason, Table


def differences(one: Any, other: Any, at: str = "it") -> list[str]:
    """Where two objects differ, field by field, types included."""
    if type(one) is not type(other):
        return [f"{at}: {type(one).__name__} and {type(other).__name__}"]
    if isinstance(one, csr_array):
        same = one.shape == other.shape
        parts = [(name, getattr(one, name), getattr(other, name)) for name in ("data", "indices", "indptr")]
        return ([] if same else [f"{at}: shapes"]) + [
            line for name, a, b in parts for line in differences(a, b, f"{at}.{name}")
        ]
    if isinstance(one, np.ndarray):
        fine = one.dtype == other.dtype and one.shape == other.shape
        fine = fine and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        fine = fine and one.flags.writeable == other.flags.writeable
        return [] if fine else [f"{at}: arrays"]
    if is_dataclass(one):
        names = [field.name for field in fields(one)]
        return [
            line
            for name in names
            for line in differences(getattr(one, name), getattr(other, name), f"{at}.{name}")
        ]
    if isinstance(one, Mapping):
        if list(one) != list(other):
            return [f"{at}: keys"]
        return [line for key in one for line in differences(one[key], other[key], f"{at}[{key}]")]
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return [f"{at}: lengths"]
        pairs = enumerate(zip(one, other, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{at}[{i}]")]
    return [] if one == other else [f"{at}: values"]


def rich_table() -> Table:
    """A table with everything a table can have."""
    region = Dimension.of(
        "région",
        Hierarchy.from_dict({"north": ["n1", "n2"], "söuth": ["s1", "s2"]}),
        Hierarchy.from_dict({"coast": ["n1", "s1"], "inland": ["n2", "s2"]}, "all"),
    )
    table = from_leaves([region, flat("c", 3)], leaf_values(4, 3, low=1), decimals=2)
    count = len(table)
    known = Contributions.of_cells(np.arange(count), np.ones((count, 3)), table.values)
    units = {
        "units": np.array(["a", "firm 2"]),
        "unit_weight": np.array([1.0, 2.5]),
        "unit_waived": np.array([True, False]),
        "shares": csr_array(np.eye(2, count)),
        "shadow_shares": csr_array(np.eye(2, count, 1)),
    }
    for array in units.values():
        parts = (array.data, array.indices, array.indptr) if isinstance(array, csr_array) else (array,)
        for part in parts:
            part.flags.writeable = False
    nan = np.full(count, np.nan)
    nan.flags.writeable = False
    return replace(
        table,
        columns={"number": nan},
        response="turnover",
        respondents=replace(known, **units),
        holdings=replace(known, level="holdings"),
        frame_kind="polars",
        virtual=2,
    )


def rich_problem() -> Problem:
    """A problem with everything a problem can have."""
    table = rich_table()
    size = len(table)
    levels = replace(Levels.at(size, [3, 5], 1.0, 2.0, 0.5), conditional=Levels.of(size).lower)
    insiders = [
        Attacker.knowing("firm a", [3, 4], table.values[[3, 4]] / 2),
        Attacker.knowing("nobody", [], []),
        Attacker.contributing("sole ö", table, [7], table.values[[7]]),
    ]
    problem = Problem.of(
        table, [3, 5], levels, forced=[0], hidden=[9], attackers=insiders, most_touched=20, weights="log"
    )
    p, f = Reason("p% rule (p=10)", "p-percent", "largest"), Reason("frequency", "frequency", "few")
    return replace(problem, reasons={5: (p, f), 3: (p,), 9: (Reason("mark", "manual", "by hand"),)})


@pytest.mark.parametrize("name", [*FIXTURES])
def test_every_fixture_comes_back(name: str) -> None:
    problem = FIXTURES[name]()
    assert not differences(problem, read_cloak(write_cloak(problem)))
    assert not differences(problem.table, read_cloak(write_cloak(problem.table)))


def test_everything_comes_back_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rich.cloak"
    for thing in (rich_table(), rich_problem()):
        path.write_bytes(write_cloak(thing))
        again = read_cloak(path)
        assert not differences(thing, again)
        assert "confidential" in repr(again)
        assert write_cloak(again) == path.read_bytes()


def test_differences_are_seen() -> None:
    problem = rich_problem()
    other = replace(problem, reasons={**problem.reasons, 9: (Reason("mark", "manual", "by foot"),)})
    assert differences(problem, other) == ["it.reasons[9][0].why: values"]
    moved = replace(problem, table=replace(problem.table, virtual=1))
    assert differences(problem, moved) == ["it.table.virtual: values"]


def test_bytes_are_the_same_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_cloak(rich_problem())
    monkeypatch.setattr(time, "time", lambda: 2e9)
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(1.9e9))
    assert write_cloak(rich_problem()) == first


def test_the_first_entry_says_confidential() -> None:
    with zipfile.ZipFile(io.BytesIO(write_cloak(rich_table()))) as archive:
        assert archive.namelist()[0] == FIRST == "CONFIDENTIAL"
        assert archive.read(FIRST).startswith(b"CONFIDENTIAL")
        assert json.loads(archive.read(META))["confidential"] is True


def test_strange_codes_come_back() -> None:
    codes = ["a\0", "b\0\0", "|", "\ud800", "é" * 40, *map(str, range(30))]
    table = Table.from_equations(np.arange(len(codes)), [], names=codes)
    again = read_cloak(write_cloak(table))
    assert isinstance(again, Table) and again.dimensions[0].codes == table.dimensions[0].codes


def test_a_million_cells() -> None:
    table = from_leaves([flat("a", 999), flat("b", 999)], leaf_values(999, 999, low=1))
    assert len(table) == 1_000_000
    sensitive = np.flatnonzero(table.values == 7)
    problem = Problem.of(table, sensitive, Levels.at(len(table), sensitive, 2.0, 2.0))
    why = (Reason("rule", "frequency", "few"),)
    problem = replace(problem, reasons=dict.fromkeys(sensitive.tolist(), why))
    start = time.perf_counter()
    data = write_cloak(problem)
    again = read_cloak(data)
    assert time.perf_counter() - start < 20
    assert not differences(problem, again)


# ---------------------------------------------------------------------- wrong files


def changed(data: bytes, change: Any) -> bytes:
    """The same zip file with its meta.json changed."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == META:
                meta = json.loads(content)
                change(meta)
                content = json.dumps(meta).encode()
            new.writestr(name, content)
    return result.getvalue()


def other_zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("sheet.xml", "<x/>")
    return data.getvalue()


DATA = write_cloak(rich_problem())


def flipped(data: bytes) -> bytes:
    """One byte in the middle of a compressed array is another one."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = max(archive.infolist(), key=lambda each: each.compress_size)
    at = entry.header_offset + len(entry.filename) + 30 + entry.compress_size // 2
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


def reshaped(meta: dict[str, Any]) -> None:
    levels = meta["holds"]["fields"]["levels"]["fields"]
    levels["lower"] = meta["holds"]["fields"]["table"]["fields"]["rhs"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "it is empty"),
        (b"0\n9\n0 100 100 s 0 inf 0 0 0\n", "it is not a cloak file"),
        (other_zip(), "a zip file, but not a cloak file"),
        (DATA[: len(DATA) // 2], "it is damaged or was cut short"),
        (DATA[:10], "it is damaged or was cut short"),
        (flipped(DATA), "it is damaged"),
        (changed(DATA, lambda meta: meta.update(format="x")), "a zip file, but not a cloak file"),
        (changed(DATA, lambda meta: meta.update(version=4)), "a newer tablecloak (format 4"),
        (changed(DATA, lambda meta: meta.pop("holds")), "it is damaged"),
        (changed(DATA, lambda meta: meta["holds"].update(object="Path")), "it is damaged"),
        (changed(DATA, lambda meta: meta["holds"]["fields"].update(colour="red")), "it is damaged"),
        (changed(DATA, lambda meta: meta.update(holds={"list": []})), "neither a table nor a problem"),
        (changed(DATA, lambda meta: meta.update(holds={"array": 4000})), "it is damaged"),
        (changed(DATA, reshaped), "it is damaged"),
    ],
)
def test_wrong_files(data: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.cloak"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_cloak(path)
    assert told in str(caught.value) and "wrong.cloak" in str(caught.value)


# ---------------------------------------------------------------------- before tables held whole units


def as_old(data: bytes, values: Any, change: Callable[[dict[str, Any]], None] = lambda meta: None) -> bytes:
    """The same file as an earlier version wrote it: values instead of units."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(result, "w") as new:
        meta = json.loads(old.read(META))
        meta["version"] = 1
        holds = meta["holds"]["fields"]
        table = holds["table"]["fields"] if "table" in holds else holds
        number = table["units"]["array"]
        table["values"] = table.pop("units")
        for added in ("cell_decimals", "rounding"):
            table.pop(added)
        change(meta)
        for name in old.namelist():
            content = old.read(name)
            if name == META:
                content = json.dumps(meta).encode()
            elif name == f"arrays/{number}.npy":
                array = io.BytesIO()
                np.lib.format.write_array(array, np.asarray(values, dtype=float))
                content = array.getvalue()
            new.writestr(name, content)
    return result.getvalue()


def test_old_files_are_read_if_they_are_in_whole_units() -> None:
    problem = rich_problem()
    noisy = problem.table.values * (1 + 2e-16)
    again = read_cloak(as_old(write_cloak(problem), noisy))
    assert isinstance(again, Problem)
    assert again.table.units.tolist() == problem.table.units.tolist()
    assert again.levels.lower.tolist() == problem.levels.lower.tolist()
    table = Table.from_equations([0.3, 0.1, 0.2], [[-1, 1, 1]])
    old = read_cloak(as_old(write_cloak(table), [0.1 + 0.2, 0.1, 0.2]))
    assert isinstance(old, Table)
    assert old.values.tolist() == [0.3, 0.1, 0.2]


def test_old_files_of_counts_are_refused() -> None:
    """They lack the bound that a count which is there is at least one: judged so, open cells look safe."""
    table = replace(Table.from_equations([3, 1, 2], [[-1, 1, 1]]), response="count")

    def without_counts(meta: dict[str, Any]) -> None:
        for added in ("counts", "weighted", "empty", "emptiness"):
            meta["holds"]["fields"].pop(added)

    with pytest.raises(InputError, match="it holds counts, but not which combinations are known to be empty"):
        read_cloak(as_old(write_cloak(table), table.values, without_counts))


def test_old_files_are_never_rounded() -> None:
    table = Table.from_equations([3, 1, 2], [[-1, 1, 1]], names="tab")
    data = write_cloak(table)
    for values, told in (
        ([3.5, 1.25, 2.25], "cell cell=t: it is no whole multiple of the data unit, 1"),
        ([4, 1, 2], "equation 0: the total cell=t is not the sum of its 2 parts"),
        ([1e17, 1, 2], "cell cell=t: too many digits"),
        ([np.nan, 1, 2], "cell cell=t: too many digits"),
    ):
        with pytest.raises(InputError) as caught:
            read_cloak(as_old(data, values))
        assert f"from an earlier tablecloak: {told}" in caught.value.faults[0]
        assert "Make it again" in caught.value.advice
    problem = Problem.of(table, [1], Levels.at(3, [1], upper=1))
    uneven = replace(problem, levels=Levels.at(3, [1], upper=0.5), outsider_high=np.array([3.5, 9, 9]))
    with pytest.raises(InputError) as caught:
        read_cloak(as_old(write_cloak(uneven), table.values))
    assert caught.value.faults == (
        "from an earlier tablecloak: the upper levels are no whole multiples of the data unit",
        "from an earlier tablecloak: the bounds are no whole multiples of the data unit",
    )


def test_every_cut_is_noticed() -> None:
    for stop in range(0, len(DATA), 997):
        with pytest.raises(InputError):
            read_cloak(DATA[:stop])


def test_no_file_and_what_is_a_cloak_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_cloak(tmp_path / "none.cloak")
    with pytest.raises(InputError, match="it is a directory"):
        read_cloak(tmp_path)
    other = tmp_path / "table.dat"
    other.write_bytes(DATA)
    assert is_cloak(other) and is_cloak("x.CLOAK")
    other.write_text("0\n9\n")
    assert not is_cloak(other) and not is_cloak(tmp_path / "none.jj")


def test_nothing_else_can_be_written() -> None:
    table = replace(rich_table(), columns={"odd": object()})
    with pytest.raises(InputError, match="it cannot hold a object"):
        write_cloak(table)
