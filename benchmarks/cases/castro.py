"""Castro (2007), A shortest-paths heuristic for statistical data protection in positive tables: its random instances.

54 two-way tables and 72 with one hierarchy, by generator 1, as many as in the paper; its sizes are known by the
smallest and the largest only. Each row is one thing done with one instance: `WORKS`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from cases.base import Make, Part, complementary, exact_row, sizes, tidy, trace_text
from peers import process
from runner import Case, Row
from tablecloak import Problem, Result, protect
from tablecloak.analysis import Bound
from tablecloak.analysis.lower_bounds import castro, combined, kelly
from tablecloak.attacker import CellNetwork
from tablecloak.progress import Progress
from tablecloak.testing.instances import generator_one, subtables_generator_one

TWO_WAY = ((250, 250), (250, 500), (250, 750), (500, 500), (500, 750), (750, 750))
"""Rows and columns: 62,500 to 562,500 inner cells."""
HIERARCHICAL = (
    (25, 65, 4), (30, 159, 9), (35, 359, 18), (40, 819, 40), (45, 1999, 85), (50, 4841, 185),
)  # fmt: skip
"""Columns, rows below the total, subtables: 1,716 to 246,942 cells."""
SENSITIVE = {"two-way": (1000, 2000, 3000), "hierarchical": (500, 1000)}
SEEDS = range(3)
SHARE, LARGER = 0.15, 0.30
"""Levels as shares of the value: of all instances, and of the second lines of its Figures 12 and 13."""
SLACK = 60.0
"""Seconds that a row may usually take beside the limits: making the table, compiling, the audit."""
PEER = "ortools"
SCRIPT = process.SCRIPTS / "ortools.py"


@dataclass(frozen=True)
class Instance:
    """A table of one of the two kinds."""

    kind: str
    shape: tuple[int, ...]
    sensitive: int
    seed: int
    unit_weights: bool = False

    @property
    def weights(self) -> str:
        return "w = 1" if self.unit_weights else "w = a"

    @property
    def size(self) -> str:
        if self.kind == "two-way":
            return "x".join(map(str, self.shape))
        columns, rows, subtables = self.shape
        return f"{rows + 1}x{columns + 1} in {subtables} subtables"

    @property
    def name(self) -> str:
        return f"{self.size}, {self.sensitive} sensitive, {self.weights} #{self.seed}"

    @property
    def is_square(self) -> bool:
        return self.shape[0] == self.shape[1]

    def problem(self, share: float = SHARE) -> Problem:
        """The problem with levels of such a share."""
        if self.kind == "two-way":
            return generator_one(self.shape[0], self.shape[1], self.sensitive, self.seed, share)
        columns, rows, subtables = self.shape
        return subtables_generator_one(
            (columns, rows, subtables),
            self.sensitive,
            self.seed,
            share=share,
            unit_weights=self.unit_weights,
        )


def instances(seed: int) -> list[Instance]:
    """All instances of a seed, both kinds in turn, small ones first."""
    found = []
    for shape, nested in zip(TWO_WAY, HIERARCHICAL, strict=True):
        found += [Instance("two-way", shape, count, seed) for count in SENSITIVE["two-way"]]
        found += [
            Instance("hierarchical", nested, count, seed, unit_weights)
            for count in SENSITIVE["hierarchical"]
            for unit_weights in (False, True)
        ]
    return found


# ---------------------------------------------------------------------- the rows


@cache
def warm_up() -> None:
    """Load what is measured, once a process."""
    problem = generator_one(20, 20, 20, 0)
    for costs in ("strata", "weight"):
        protect(problem, "suppress-shortest-path", params={"costs": costs, "seconds": 60.0})
    for heuristic in (1, 2):
        protect(problem, "suppress-network-flow", params={"heuristic": heuristic, "seconds": 60.0})
    protect(problem, "suppress-auto", params={"seconds": 2.0})
    combined(problem, seconds=60.0)


def paths_row(make: Make, costs: str, seconds: float) -> Row:
    """suppress-shortest-path."""
    problem = make()
    params = {"costs": costs, "seconds": seconds}
    result = protect(problem, "suppress-shortest-path", params=params)
    counters = result.report.counters
    return {
        **cost_row(problem, result),
        "own_s": tidy(counters.get("own seconds")),
        "paths": counters.get("paths"),
        "paths_a_cell": tidy(counters.get("paths a sensitive cell")),
        "recovered": counters.get("cells recovered by flows"),
    }


def cost_row(problem: Problem, result: Result) -> Row:
    """What a heuristic that protects one cell after the other came to, before its repair and after everything."""
    counters = result.report.counters
    return {
        **sizes(problem),
        "given": given_weight(problem),
        "cost": result.cost,
        "hidden": complementary(problem, result),
        "own_cost": counters.get("own cost"),
        "own_cells": counters.get("own cells"),
        "own_open": counters.get("own open cells"),
        "status": result.status.value,
        "seconds": round(result.report.seconds, 3),
        "open": int(result.audit.open_cells.size),
    }


def given_weight(problem: Problem) -> float:
    """The weight of the cells that are hidden anyway: in costs and bounds of the paper, not in ours."""
    return float(problem.weights[problem.must_hide].sum())


def bounds_row(make: Make, share: float, seconds: float) -> Row:
    """Kelly's bound, Castro's with coefficients as printed, and with truncated ones; so long each."""
    problem = make()
    row: Row = {**sizes(problem), "given": given_weight(problem), "share": share}
    found: dict[str, Bound] = {
        "castro_printed": castro(problem, truncated=False, seconds=seconds),
        "castro": castro(problem, seconds=seconds),
    }
    if share == SHARE:  # Kelly's rows do not know of levels
        found["kelly"] = kelly(problem, seconds=seconds)
    for name, bound in found.items():
        row |= {name: bound.value, f"{name}_linear": round(bound.linear, 6), f"{name}_s": tidy(bound.seconds)}
    stopped = [name for name, bound in found.items() if "stopped by the clock" in bound.notes]
    return {**row, "status": "time-limit" if stopped else "solved", "stopped": " ".join(stopped)}


def combined_row(make: Make, seconds: float) -> Row:
    """The bound of all rows together."""
    problem = make()
    bound = combined(problem, seconds=seconds)
    return {
        **sizes(problem),
        "bound": bound.value,
        "rows": bound.rows,
        "seconds": round(bound.seconds, 3),
        "status": "time-limit" if "stopped by the clock" in bound.notes else "solved",
    }


def auto_row(make: Make, seconds: float) -> Row:
    """suppress-auto."""
    problem = make()
    result = protect(problem, "suppress-auto", params={"seconds": seconds})
    return {
        **sizes(problem),
        "given": given_weight(problem),
        **exact_row(result),
        "hidden": complementary(problem, result),
        "trace": trace_text(result.report.trace),
    }


# ---------------------------------------------------------------------- beside minimum-cost flows


class Watch:
    """When a phase of a method began and ended, and how far it came. Hand it over as `progress`."""

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.begun: float | None = None
        self.ended: float | None = None
        self.done, self._before = 0, time.perf_counter()

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        now = time.perf_counter()
        if phase == self.phase and self.ended is None:
            self.begun = self._before if self.begun is None else self.begun
            self.done = done
        elif self.begun is not None and self.ended is None:
            self.ended = now
        self._before = now

    @property
    def seconds(self) -> float | None:
        return None if self.begun is None or self.ended is None else self.ended - self.begun


def flows_row(make: Make, seconds: float) -> Row:
    """suppress-network-flow by cheapest flows, our kernels: the same loop with a flow where the paper has paths."""
    problem, watch = make(), Watch("protecting levels")
    params = {"heuristic": 2, "seconds": seconds}
    told: Progress = watch
    result = protect(problem, "suppress-network-flow", params=params, progress=told)
    flows = result.report.counters.get("flows")
    done = int(problem.sensitive.sum()) if flows is not None else watch.done
    row = {**cost_row(problem, result), "own_s": tidy(watch.seconds), "done": done, "flows": flows}
    return row if flows is not None else {**row, "cost": None, "hidden": None}  # all hidden: not in time


def peer_row(make: Make, seconds: float) -> Row:
    """The same loop with the minimum-cost flows of OR-tools, in a process and an environment of its own."""
    problem = make()
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "network.npz", **network(problem))
        said = process.ask(PEER, SCRIPT, {"folder": folder, "seconds": seconds}, 2.5 * seconds + 60.0)
    if said.answer is None:
        return {**sizes(problem), "status": said.status}
    answer = said.answer
    count = int(problem.sensitive.sum())
    finished = answer["done"] == count
    return {
        **sizes(problem),
        "given": given_weight(problem),
        "own_s": tidy(answer["solve_seconds"]),
        "seconds": tidy(answer["seconds"]),
        "flows": answer["flows"],
        "failed": answer["failed"],
        "done": answer["done"],
        "own_cost": answer["cost"] - given_weight(problem) if finished else None,
        "own_cells": answer["hidden"] if finished else None,
        "status": "feasible" if finished else "time-limit",
    }


def network(problem: Problem) -> dict[str, Any]:
    """The cells that may be hidden as arcs, the sensitive ones among them in the order of the heuristic."""
    graph = CellNetwork(problem)
    cells = np.flatnonzero(~problem.forced)
    place = np.full(len(problem.table), -1)
    place[cells] = np.arange(cells.size)
    p = np.flatnonzero(problem.sensitive)
    p = p[np.argsort(-np.maximum(problem.levels.lower, problem.levels.upper)[p], kind="stable")]
    whole = {
        "value": problem.table.values[cells],
        "weight": problem.weights[cells],
        "lower": problem.levels.lower[p],
        "upper": problem.levels.upper[p],
    }
    if any((array != np.floor(array)).any() for array in whole.values()):
        raise ValueError("the peer takes whole numbers only")
    return {
        "tail": graph.tail[cells],
        "head": graph.head[cells],
        "nodes": graph.nodes,
        "cells": place[p],
        **{name: array.astype(np.int64) for name, array in whole.items()},
    }


# ---------------------------------------------------------------------- the cases


@dataclass(frozen=True)
class Work:
    """One thing to do with an instance."""

    row: Callable[..., Row]
    seconds: float
    arguments: tuple[Any, ...] = ()
    share: float = SHARE
    times: int = 1
    """This number of limits one after the other."""
    slack: float = SLACK


STRATA, WEIGHT, AUTO, FLOWS, ORTOOLS = "paths, strata", "paths, weight", "auto", "flows", "flows, OR-tools"
BOUNDS, LARGER_BOUNDS, COMBINED = "bounds", "bounds, 30%", "combined bound"
WORKS: dict[str, Work] = {
    STRATA: Work(paths_row, 60.0, ("strata",)),
    WEIGHT: Work(paths_row, 60.0, ("weight",)),
    BOUNDS: Work(bounds_row, 30.0, (SHARE,), times=3),
    LARGER_BOUNDS: Work(bounds_row, 30.0, (LARGER,), LARGER, times=2),
    AUTO: Work(auto_row, 60.0),
    FLOWS: Work(flows_row, 20.0),
    ORTOOLS: Work(peer_row, 20.0, times=2),
    COMBINED: Work(combined_row, 20.0, slack=30.0),  # it may overrun its limit: killed after 105 s
}


def measured(work: Work, instance: Instance, seconds: float) -> Row:
    """The row, once everything is compiled."""
    warm_up()
    return work.row(partial(instance.problem, work.share), *work.arguments, seconds)


def case(what: str, instance: Instance, seconds: float | None) -> Case:
    """One row."""
    work = WORKS[what]
    limit = seconds or work.seconds
    facts = {
        "name": instance.name,
        "what": what,
        "kind": instance.kind,
        "size": instance.size,
        "asked": instance.sensitive,
        "weights": instance.weights,
        "seed": instance.seed,
        "limit_s": f"{limit:g}",
    }
    stratum = (what, instance.kind, instance.sensitive, instance.weights)
    measure = partial(measured, work, instance, limit)
    return Case(f"{instance.name}, {what}", measure, work.times * limit + work.slack, stratum, facts)


def order() -> Iterator[tuple[str, Instance]]:
    """What is done with which instance: first something of everything, the other seeds last."""
    first = instances(SEEDS[0])
    squares = [one for one in first if one.kind == "two-way" and one.is_square]
    trees = [one for one in first if one.kind == "hierarchical" and one.sensitive == 1000]
    for one in first:
        yield from ((STRATA, one), (WEIGHT, one))
    yield from ((AUTO, one) for one in reversed(squares))
    yield from ((AUTO, one) for one in trees)
    for one in first:
        yield BOUNDS, one
        if not one.unit_weights:
            yield LARGER_BOUNDS, one
    for one in (*squares, *trees):
        yield from ((FLOWS, one), (ORTOOLS, one))
    yield from ((COMBINED, one) for one in first)
    for seed in SEEDS[1:]:
        for one in instances(seed):
            yield from ((STRATA, one), (WEIGHT, one))


def cases(seconds: float | None) -> Iterator[Case]:
    """All rows."""
    return (case(what, instance, seconds) for what, instance in order())


PARTS = (
    Part("castro-2007", "shortest paths, bounds and suppress-auto on the instances of Castro (2007)", cases),
)
