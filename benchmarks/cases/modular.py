"""The methods of tau-ARGUS side by side with our own versions of them, pattern by pattern.

suppress-modular, -hypercube and -gauss as their papers have them (`repair=False`), repaired, and the modular method of
pytauargus, on tables with the outsider as the only attacker and no singleton rules: cells hidden, cost, open cells.
"""

from __future__ import annotations

import csv
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from cases.base import Make, Part, sizes
from cases.real_data import DATA, csplib_problem
from cases.synthetic import tau_problem
from peers import modular as peer
from runner import Case, Row, code_facts
from tablecloak import Dimension, Hierarchy, PPercent, Problem, Suppression, assess, audit, protect, tabulate

SECONDS = 60.0
SEEDS = 10
CSPLIB = ("targus", "table8", "osorio", "cbs", "jjtabel3", "table7", "table1", "toy3dsarah")
"""Instances of the library that are one grid with hierarchies: what the peer can read."""
OURS = {
    "suppress-modular": {"single_single": False, "single_multiple": False},
    "suppress-hypercube": {"singletons": False},
    "suppress-gauss": {"singletons": False},
}
PEER = "pytauargus MOD"
TREES = {"IndustryCode": ("industry.csv", "I"), "Size": ("size.csv", ""), "Region": ("region.csv", "")}
PAIRS = (("IndustryCode", "Size"), ("IndustryCode", "Region"), ("Size", "Region"))
CELLS = (3_000, 20_000)
"""The sizes of tables from microdata."""


def of_tau(names: tuple[str, ...]) -> Problem:
    """A table of the demonstration file of tau-ARGUS in some of its dimensions, with the 10% rule."""
    return _assessed(DATA / "microdata" / "tau_testW.csv", names, {name: _pairs(name) for name in names})


def from_microdata(ways: int, seed: int) -> Problem:
    """Records of some industries of that file, drawn at random: a table of two or three dimensions.

    With two dimensions all industries take part, each record with probability 1/2 to 1; with three so many branches of
    the tree of industries that the table has 3,000 to 20,000 cells.
    """
    rng = np.random.default_rng([2002, ways, seed])
    names = ("IndustryCode", "Region", "Size")[:ways]
    lines = (DATA / "microdata" / "tau_testW.csv").read_text(encoding="utf-8").splitlines()
    trees = {name: _pairs(name) for name in names}
    industry = lines[0].split(",").index("IndustryCode")
    while True:
        kept = rng.random(len(lines) - 1) < rng.uniform(0.5, 1.0)
        branches = sorted(child for child, parent in trees["IndustryCode"] if parent == "Total")
        share = 1.0 if ways == 2 else rng.uniform(0.1, 0.5)
        chosen = {branch for branch in branches if rng.random() < share}
        below = _below(trees["IndustryCode"], chosen)
        records = [
            line for line, keep in zip(lines[1:], kept.tolist(), strict=True) if keep and line.split(",")[industry] in below
        ]
        pairs = [(child, parent) for child, parent in trees["IndustryCode"] if child in below]
        if not records:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "records.csv"
            path.write_text("\n".join([lines[0], *records]) + "\n", encoding="utf-8")
            problem = _assessed(path, names, {**trees, "IndustryCode": pairs})
        if CELLS[0] <= len(problem.table) <= CELLS[1]:
            return problem


def _pairs(name: str) -> list[tuple[str, str]]:
    file, prefix = TREES[name]
    with (DATA / "microdata" / file).open(encoding="utf-8", newline="") as lines:
        return [
            (row["child"].removeprefix(prefix), row["parent"].removeprefix(prefix)) for row in csv.DictReader(lines)
        ]


def _below(pairs: list[tuple[str, str]], tops: set[str]) -> set[str]:
    """These codes and all below them."""
    found = set(tops)
    while True:
        more = {child for child, parent in pairs if parent in found} | found
        if more == found:
            return found
        found = more


def _assessed(path: Path, names: tuple[str, ...], trees: dict[str, list[tuple[str, str]]]) -> Problem:
    dimensions = [Dimension.of(name, Hierarchy.from_pairs(trees[name])) for name in names]
    return assess(tabulate(path, dimensions, "Var2", top=2), PPercent(10))


def instances() -> Iterator[tuple[str, str, Make]]:
    """Kind, name and problem."""
    for names in PAIRS:
        yield "tau_testW", " x ".join(names), partial(of_tau, names)
    for ways in (2, 3):
        for seed in range(SEEDS):
            name = f"{ways}-way from microdata #{seed}"
            yield f"{ways}-way from microdata", name, partial(from_microdata, ways, seed)
    for name in CSPLIB:
        yield "library", name, partial(csplib_problem, name)
    yield "tau_testW", "IndustryCode x Size x Region", tau_problem


def _ours(make: Make, method: str, seconds: float) -> Row:
    """One method, as its paper has it and repaired."""
    problem = make()
    start, worked = time.perf_counter(), time.process_time()
    result = protect(problem, method, params={**OURS[method], "seconds": seconds})
    counters = result.report.counters
    return {
        **_facts(problem, result.pattern.hidden, result.audit.open_cells.size),  # type: ignore[union-attr]
        "status": result.status.value,
        "own_cells": counters.get("own cells", 0) - int(problem.must_hide.sum()) if "own cells" in counters else None,
        "own_cost": counters.get("own cost"),
        "own_open": counters.get("own open cells"),
        "seconds": round(time.perf_counter() - start, 2),
        "processor_s": round(time.process_time() - worked, 2),
    }


def _theirs(make: Make, seconds: float) -> Row:
    """The peer, judged by us, and its pattern repaired by us."""
    problem = make()
    run = peer.modular(problem, singletons=False, limit=seconds)
    row: Row = {**sizes(problem), "status": run.status, "seconds": round(run.seconds, 2), **code_facts()}
    if run.hidden is None:
        return row
    found = audit(problem, Suppression.copy_of(run.hidden))
    facts = _facts(problem, run.hidden, found.open_cells.size)
    return {**row, **facts, "own_cells": facts["complementary"], "own_cost": facts["cost"], "own_open": facts["open"]}


def _facts(problem: Problem, hidden: np.ndarray, open_cells: int) -> Row:
    more = hidden & ~problem.must_hide
    return {
        **sizes(problem),
        "complementary": int(more.sum()),
        "cost": round(float(problem.weights[more].sum()), 2),
        "open": int(open_cells),
        **code_facts(),
    }


def cases(seconds: float | None) -> Iterator[Case]:
    """The peer and ours on every instance."""
    limit = seconds or SECONDS
    for kind, name, make in instances():
        facts = {"kind": kind, "name": name, "limit_s": f"{limit:g}"}
        told = {**facts, "method": PEER}
        yield Case(f"{name}, {PEER}", partial(_theirs, make, 3 * limit), 4 * limit, (kind,), told, group=name)
        for method in OURS:
            own = {**facts, "method": method}
            yield Case(f"{name}, {method}", partial(_ours, make, method, limit), 3 * limit, (kind,), own, group=name)


PARTS = (Part("modular", "the methods of tau-ARGUS, ours and pytauargus's modular, side by side", cases, needs_data=True),)
