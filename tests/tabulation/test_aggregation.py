"""The engine behind tabulate: layers and passes, scales, the private database and its folder."""

from __future__ import annotations

import random
import signal
import stat
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tablecloak.errors import InputError, SolverError
from tablecloak.model import Dimension, Hierarchy
from tablecloak.model.equations import aggregated
from tablecloak.tabulation import session
from tablecloak.tabulation import totals as spreading
from tablecloak.tabulation.duckdb.decimals import ColumnScale, choose_scales, number
from tablecloak.tabulation.duckdb.session import lent, quoted, run, scalar
from tablecloak.tabulation.totals import Spread, layers

PLACE = Dimension.of(
    "place",
    Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}, "All"),
    Hierarchy.from_dict({"coast": ["N1", "S1"], "land": ["N2", "S2", "S3"]}, "by sea"),
    Hierarchy.from_dict({"both": ["N", "S"]}, "again"),
)
DEEP = Dimension.of("deep", Hierarchy.from_dict({"A": {"A1": ["A11", "A12"]}, "B": ["B1"], "C": None}))


# ---------------------------------------------------------------------- layers and passes


@pytest.mark.parametrize("dimension", [PLACE, DEEP, Dimension.names("ids", ["a", "b"])])
def test_layers_hold_every_total_once(dimension: Dimension) -> None:
    found = layers(dimension)
    leaves = np.flatnonzero(dimension.is_leaf)
    assert found[0, leaves].tolist() == leaves.tolist()
    assert (found[:, ~dimension.is_leaf] == -1).all()
    homes = [set(layer[layer >= 0].tolist()) for layer in found]
    assert sum(map(len, homes)) == len(set.union(*homes)) == len(dimension.codes)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_passes_lead_from_leaves_to_all_cells(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(spreading, "ROWS_A_PASS", rows)
    rng, dimensions = np.random.default_rng(0), [PLACE, DEEP]
    places = [np.flatnonzero(each.is_leaf) for each in dimensions]
    codes = np.unique(np.stack([rng.choice(own, 12) for own in places], axis=1), axis=0).astype(np.int32)
    values = rng.integers(1, 100, size=len(codes)).astype(np.float64)
    above, sums = aggregated(dimensions, codes, values)
    spread = Spread(dimensions, np.sort(np.unique(spreading.Packing.of(dimensions).keys(codes))))
    assert (spread.packing.codes(spread.keys) == above).all()
    by_key = dict(zip(spread.packing.keys(codes).tolist(), values.tolist(), strict=True))
    found, met = np.zeros(len(above)), set[int]()
    for leaf, cell in spread.passes(5):
        assert not met & set(cell.tolist())
        met |= set(cell.tolist())
        np.add.at(found, cell, [by_key[key] for key in leaf.tolist()])
    assert (found == sums).all()


# ---------------------------------------------------------------------- scales


def test_whole_multiples_become_the_nearest_float() -> None:
    rng = random.Random(0)
    with duckdb.connect() as connection:
        for _ in range(500):
            whole, scale = rng.randint(-1, 1) * rng.randrange(10 ** rng.randint(1, 37)), rng.randint(0, 30)
            found = run(
                connection, f"SELECT {number('x', scale)} FROM (SELECT CAST({whole} AS HUGEINT) AS x)"
            )
            assert found[0][0] == float(Decimal(whole).scaleb(-scale))


def staged(
    connection: duckdb.DuckDBPyConnection, values: list[float], weights: list[float] | None = None
) -> None:
    columns = {"n0": np.array(values), "weight": np.array(weights or [1.0] * len(values))}
    with lent(connection, "given", columns):
        run(connection, "CREATE TABLE staging AS SELECT * FROM given")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 20.0], ColumnScale(2, 0, True)),
        ([0.5, -120.25], ColumnScale(3, 2, True)),
        ([0.0], ColumnScale(1, 0, True)),
        ([0.001], ColumnScale(-2, 3, True)),
        ([1 / 3, 100.0], ColumnScale(3, 14, False)),
        ([1e20], ColumnScale(21, 0, True)),
    ],
)
def test_scales(values: list[float], expected: ColumnScale) -> None:
    with session() as connection:
        staged(connection, values)
        assert choose_scales(connection, ["n0"], ["v"], False, len(values)).columns == (expected,)


def test_scales_with_weights_share_the_room() -> None:
    with session() as connection:
        staged(connection, [1e12 + 0.01, 0.25], [1.5 + 1e-9 / 3, 2 / 3])
        scales = choose_scales(connection, ["n0"], ["v"], True, 10**7)
        assert scales.columns[0] == ColumnScale(13, 2, True)
        assert not scales.weight.exact
        assert scales.columns[0].width + scales.weight.width + 8 <= 38


# ---------------------------------------------------------------------- the private database


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_folder_is_private_and_goes(place: Path, error: type[BaseException] | None) -> None:
    def work() -> None:
        with session() as connection:
            run(connection, "CREATE TABLE secrets AS SELECT 42 AS x")
            [folder] = place.iterdir()
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            if error:
                raise error

    if error:
        with pytest.raises(error):
            work()
    else:
        work()
    assert not list(place.iterdir())


def test_errors_do_not_quote_data(place: Path) -> None:
    with pytest.raises(SolverError) as caught, session() as connection:
        run(connection, "SELECT CAST('secret 4711' AS INTEGER)")
    assert "4711" not in str(caught.value)
    assert "4711" in caught.value.confidential["message"]
    with pytest.raises(InputError, match="not enough"), session("1MB") as connection:
        run(
            connection, "CREATE TABLE a AS SELECT range AS i, hash(range) AS h FROM range(5000000) ORDER BY h"
        )
    assert not list(place.iterdir())


def test_interrupted_work_leaves_nothing_behind(tmp_path: Path) -> None:
    code = (
        f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
        "from tablecloak.tabulation.duckdb.session import run; from tablecloak.tabulation import session\n"
        "with session() as connection:\n"
        "    print('ready', flush=True)\n"
        "    run(connection, 'SELECT sum(hash(a.range + b.range)) FROM range(10000000) a, range(10000000) b')\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        assert list(tmp_path.iterdir())
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            _, message = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0 and b"KeyboardInterrupt" in message
    assert not list(tmp_path.iterdir())


def test_names_in_sql() -> None:
    table, column = quoted('a "b" c'), quoted("x y")
    with session() as connection:
        run(connection, f"CREATE TABLE {table} AS SELECT 7 AS {column}")
        assert scalar(connection, f"SELECT {column} FROM {table}") == 7
