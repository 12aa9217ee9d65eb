"""`tabulate`: seconds and peak memory on 20,000,000 generated records, and on the real τ-ARGUS test file.

Each measurement runs in a process of its own, so that its peak memory is its own. The generated file has about 60,000
leaf cells in three dimensions and about 100,000 cells in all; one of ten records belongs to one of 200,000 holdings.
The sample is a tenth of it, also added up by pandas (sums and counts of all cells only, no contributors) for the ratio.
"""

from __future__ import annotations

import csv
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import duckdb

from cases.base import Part
from cases.real_data import DATA
from runner import Case, Row
from tablecloak import Dimension, Hierarchy
from tablecloak.tabulation import Microdata, tabulate

RECORDS = 20_000_000
LEAVES = (200, 60, 5)
LIMIT = 1800.0


def generate(path: Path, records: int) -> None:
    """A Parquet file of enterprises: industry (5 digits), region, size class, holding, turnover with two decimals."""
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute(
            "COPY (SELECT printf('%d%d%d', 10 + a // 20, (a // 4) % 5, a % 4) AS industry, "
            "printf('R%02d', hash(i + 2e9) % 60) AS region, CAST(hash(i + 3e9) % 5 AS VARCHAR) AS size, "
            "CASE WHEN hash(i + 4e9) % 10 = 0 THEN 'H' || hash(i + 5e9) % 200000 END AS holding, "
            "round(exp((hash(i + 6e9) % 1000000) / 80000.0), 2) AS turnover "
            f"FROM (SELECT i, hash(i + 1e9) % {LEAVES[0]} AS a FROM range({records}) t(i))) "
            f"TO '{path}' (FORMAT parquet)"
        ).fetchall()


def dimensions() -> list[Dimension]:
    """Industry in three levels, region in two, size flat."""
    industries = [f"{10 + a // 20}{(a // 4) % 5}{a % 4}" for a in range(LEAVES[0])]
    regions = {f"N{n}": [f"R{r:02d}" for r in range(10 * n, 10 * n + 10)] for n in range(LEAVES[1] // 10)}
    return [
        Dimension.of("industry", Hierarchy.from_prefixes(industries, (2, 1, 1))),
        Dimension.of("region", Hierarchy.from_dict(regions)),
        Dimension.flat("size", [str(s) for s in range(LEAVES[2])]),
    ]


# ---------------------------------------------------------------------- what is measured, in a process of its own


def generated(path: str) -> Row:
    """The whole chain on a generated file: respondents and holdings."""
    start = time.perf_counter()
    table = tabulate(Microdata(path, holding="holding"), dimensions(), "turnover")
    return {"cells": len(table), "seconds": round(time.perf_counter() - start, 1)}


def tau(path: str) -> Row:
    """IndustryCode x Size x Region on Var2 of the τ-ARGUS test file."""
    folder, start = Path(path).parent, time.perf_counter()
    with Path(path).open(encoding="utf-8") as file:
        codes = sorted({row["IndustryCode"] for row in csv.DictReader(file)})
    trees = [Dimension.of("IndustryCode", Hierarchy.from_prefixes(codes, (3, 1, 1)))]
    for name, source in (("Size", "size.csv"), ("Region", "region.csv")):
        with (folder / source).open(encoding="utf-8") as file:
            pairs = [(row["child"], row["parent"]) for row in csv.DictReader(file)]
        trees.append(Dimension.of(name, Hierarchy.from_pairs(pairs)))
    table = tabulate(path, trees, "Var2")
    return {"cells": len(table), "seconds": round(time.perf_counter() - start, 2), "records": 42723}


def pandas(path: str) -> Row:
    """Sums and counts of all cells by pandas: one groupby for each choice of levels."""
    import pandas

    start = time.perf_counter()
    frame = pandas.read_parquet(path)
    frame["macro"] = frame["region"].map({f"R{r:02d}": f"N{r // 10}" for r in range(LEAVES[1])})
    frame["i2"], frame["i3"] = frame["industry"].str[:2], frame["industry"].str[:3]
    levels = [["industry", "i3", "i2", None], ["region", "macro", None], ["size", None]]
    cells = 0
    for choice in product(*levels):
        by = [name for name in choice if name]
        sums = frame.groupby(by)["turnover"].agg(["sum", "count"]) if by else frame[["turnover"]].sum()
        cells += len(sums)
    return {"cells": cells, "seconds": round(time.perf_counter() - start, 1)}


def measured(function: Callable[[str], Row], path: Path) -> Row:
    """A measurement in a process of its own, with the largest memory of that process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_with_memory, function, str(path)).result()


def _with_memory(function: Callable[[str], Row], path: str) -> Row:
    row = function(path)
    return {**row, "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


# ---------------------------------------------------------------------- rows


def cases(seconds: float | None) -> Iterator[Case]:
    """Every row by name, and how to measure it."""
    yield Case("generated", partial(_generated_row, RECORDS), LIMIT)
    yield Case("generated, a tenth", partial(_compared_row, RECORDS // 10), LIMIT)
    yield Case("tau_testW 3-way", _tau_row, LIMIT)


def _generated_row(records: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        generate(path, records)
        return {"records": records, **measured(generated, path), **_machine()}


def _compared_row(records: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        generate(path, records)
        ours, plain = measured(generated, path), measured(pandas, path)["seconds"]
    ratio = round(ours["seconds"] / plain, 2)
    return {"records": records, **ours, "pandas_s": plain, "times_pandas": ratio, **_machine()}


def _tau_row() -> Row:
    return {**measured(tau, DATA / "microdata" / "tau_testW.csv"), **_machine()}


def _machine() -> Row:
    return {"python": platform.python_version(), "processors": os.cpu_count()}


PARTS = (Part("tabulate", "20,000,000 records into about 100,000 cells", cases, True),)
