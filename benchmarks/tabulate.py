"""Measures `tabulate`: seconds and peak memory on 20,000,000 generated records, and on the real τ-ARGUS test file.

``python benchmarks/tabulate.py [PART ...]`` with the parts ``generated``, ``sample``, ``tau``; all of them by default.
Rows are kept in benchmarks/results/tabulate.csv; a row that is there is not measured again (delete it to repeat).

Each measurement runs in a process of its own, so that its peak memory is its own. The generated file has about 60,000
leaf cells in three dimensions and about 100,000 cells in all; one of ten records belongs to one of 200,000 holdings.
The sample is a tenth of it, also added up by pandas (sums and counts of all cells only, no contributors) for the ratio.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb

RESULTS = Path(__file__).resolve().parent / "results" / "tabulate.csv"
DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
RECORDS = 20_000_000
LEAVES = (200, 60, 5)
FIELDS = (
    "instance",
    "records",
    "cells",
    "seconds",
    "peak_mb",
    "pandas_s",
    "times_pandas",
    "python",
    "processors",
)
Row = dict[str, Any]


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


def dimensions() -> list[Any]:
    """Industry in three levels, region in two, size flat."""
    from tablecloak import Dimension, Hierarchy

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
    from tablecloak.sources import Microdata
    from tablecloak.tabulate import tabulate

    start = time.perf_counter()
    table = tabulate(Microdata(path, holding="holding"), dimensions(), "turnover")
    return {"cells": len(table), "seconds": round(time.perf_counter() - start, 1)}


def tau(path: str) -> Row:
    """IndustryCode x Size x Region on Var2 of the τ-ARGUS test file."""
    from tablecloak import Dimension, Hierarchy
    from tablecloak.tabulate import tabulate

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


MEASURES: dict[str, Callable[[str], Row]] = {"generated": generated, "tau": tau, "pandas": pandas}


def measure(name: str, path: Path) -> Row:
    """Run a measurement in another process."""
    command = [sys.executable, __file__, "--measure", name, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


# ---------------------------------------------------------------------- rows


def rows(parts: list[str], folder: Path) -> Iterator[tuple[str, Callable[[], Row]]]:
    """Every row by name, and how to measure it."""
    if "generated" in parts:
        yield "generated", lambda: _generated_row(folder / "all.parquet", RECORDS)
    if "sample" in parts:
        yield "generated, a tenth", lambda: _compared_row(folder / "sample.parquet", RECORDS // 10)
    if "tau" in parts:
        yield "tau_testW 3-way", lambda: measure("tau", DATA / "microdata" / "tau_testW.csv")


def _generated_row(path: Path, records: int) -> Row:
    generate(path, records)
    return {"records": records, **measure("generated", path)}


def _compared_row(path: Path, records: int) -> Row:
    ours = _generated_row(path, records)
    plain = measure("pandas", path)["seconds"]
    return {**ours, "pandas_s": plain, "times_pandas": round(ours["seconds"] / plain, 2)}


def main(arguments: list[str]) -> None:
    """Measure what is not there yet."""
    if arguments[:1] == ["--measure"]:
        row = MEASURES[arguments[1]](arguments[2])
        row["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(json.dumps(row))
        return
    kept: dict[str, Row] = {}
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8", newline="") as file:
            kept = {row["instance"]: dict(row) for row in csv.DictReader(file)}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in rows(arguments or ["generated", "sample", "tau"], Path(folder)):
            if name not in kept:
                machine = {"python": platform.python_version(), "processors": os.cpu_count()}
                kept[name] = {"instance": name, **make(), **machine}
                with RESULTS.open("w", encoding="utf-8", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(kept.values())
            print(kept[name], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
