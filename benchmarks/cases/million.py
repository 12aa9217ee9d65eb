"""A million cells, from records to an audited pattern: NACE with its four levels by 954 places, p% rule.

4,536,000 generated enterprises, about seven in a cell of the lowest level, so that about 3% of all cells are
sensitive. Each row is measured in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb

from cases.base import Part, gap_percent, trace_text, warm_up
from cases.real_data import DATA
from cases.tabulating import measured
from runner import Case, Row
from tablecloak import Dimension, Hierarchy, PPercent, assess, protect, tabulate
from tablecloak.tabulation import Microdata

RECORDS, PLACES = 4_536_000, 954
SECONDS = 300.0
NACE = DATA / "hierarchies" / "nace21.csv"
MAKE = (
    "COPY (SELECT nace, printf('P%03d', hash(i + 2e9) % {places}) AS place, "
    "round(100 * exp((hash(i + 3e9) % 1000000) / 250000.0)) AS turnover "
    "FROM (SELECT i, hash(i + 1e9) % {codes} AS code FROM range({records}) t(i)) JOIN codes USING (code)) "
    "TO '{path}' (FORMAT parquet)"
)


def activities() -> list[tuple[str, str]]:
    """Every code of NACE with the one above it."""
    with NACE.open(encoding="utf-8", newline="") as file:
        return [(row["child"], row["parent"]) for row in csv.DictReader(file)]


def generate(path: Path, records: int) -> None:
    """A Parquet file of enterprises: class of NACE, place, turnover."""
    pairs = activities()
    above = {parent for _, parent in pairs}
    leaves = [code for code, _ in pairs if code not in above]
    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute("CREATE TABLE codes (code BIGINT, nace VARCHAR)")
        connection.executemany("INSERT INTO codes VALUES (?, ?)", list(enumerate(leaves)))
        text = MAKE.format(places=PLACES, codes=len(leaves), records=records, path=path)
        connection.execute(text).fetchall()


def chain(method: str, seconds: float, path: str) -> Row:
    """Records to table, to problem, to audited pattern, each with its seconds."""
    warm_up()
    start = time.perf_counter()
    dimensions = [
        Dimension.of("nace", Hierarchy.from_pairs(activities())),
        Dimension.flat("place", [f"P{place:03d}" for place in range(PLACES)]),
    ]
    table = tabulate(Microdata(path), dimensions, "turnover", top=2)
    tabulated = time.perf_counter()
    problem = assess(table, PPercent(10))
    assessed = time.perf_counter()
    result = protect(problem, method, params={"seconds": seconds})
    ended = time.perf_counter()
    return {
        "cells": len(table),
        "sensitive": int(problem.sensitive.sum()),
        "tabulate_s": round(tabulated - start, 1),
        "assess_s": round(assessed - tabulated, 1),
        "protect_s": round(ended - assessed, 1),
        "seconds": round(ended - start, 1),
        "cost": result.cost,
        "bound": result.bound,
        "gap_percent": gap_percent(result.cost, result.bound),
        "status": result.status.value,
        "open": int(result.audit.open_cells.size),
        "trace": trace_text(result.report.trace),
    }


def row_of(method: str, seconds: float, records: int) -> Row:
    """One method on the whole chain."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        generate(path, records)
        return {"records": records, **measured(partial(chain, method, seconds), path)}


def cases(seconds: float | None) -> Iterator[Case]:
    """Every method; its limit is for protecting, the audit comes on top."""
    limit = seconds or SECONDS
    for method in ("suppress-shortest-path", "suppress-auto"):
        facts = {"method": method, "limit_s": f"{limit:g}"}
        yield Case(method, partial(row_of, method, limit, RECORDS), 900.0, (method,), facts)


PARTS = (Part("million", "a million cells from records to an audited pattern", cases, True),)
"""The part."""
