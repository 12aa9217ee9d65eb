"""The section of the report about Castro (2007); `PLOTTED` has it with that of Castro (2002), by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from cases.castro import (
    AUTO,
    BOUNDS,
    COMBINED,
    FLOWS,
    LARGER_BOUNDS,
    ORTOOLS,
    STRATA,
    WEIGHT,
)
from reports import plots
from reports.castro_2002 import castro_2002
from reports.layout import grouped, number, table, whole, whole_text
from reports.plots import LEAST, Picture
from runner import Row

Found = dict[str, Row]
"""The rows of one instance by what was done."""
KINDS = ("two-way", "hierarchical")
GOAL, GOAL_PERCENT = "750x750, 3000 sensitive, w = a #0", 10.0


def castro_2007(rows: Sequence[Row], picture: Picture) -> str:
    """Seconds and paths, gaps, bounds, and minimum-cost flows."""
    found = {name: {row["what"]: row for row in some} for name, some in grouped(rows, "name").items()}
    parts = (
        ("Shortest paths (Figures 10, 11, 14 and 15)", _paths(rows, picture)),
        ("Gaps (Figures 18 and 19)", _gaps(found, picture)),
        ("The lower bound at two levels (Figures 12 and 13)", _improvements(found, picture)),
        ("Beside minimum-cost flows (Figures 16 and 17)", _ratios(found, picture)),
    )
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts)


def _paths(rows: Sequence[Row], picture: Picture) -> str:
    """A line for each size, number of sensitive cells and weights: means over the seeds."""
    done = [row for row in rows if row["what"] in (STRATA, WEIGHT) and row.get("own_s")]
    if not done:
        return "No table was measured."
    head = ["table", "cells", "sensitive", "w", "instances"]
    for variant in ("strata", "weight"):
        head += [f"{variant}: own s", "s", "paths a cell", "own cost", "open before repair", "cost"]
    lines = []
    for _, some in grouped([{**row, "key": _key(row)} for row in done], "key").items():
        line = [some[0]["size"], some[0]["cells"], some[0]["asked"], some[0]["weights"]]
        line.append(str(len({row["seed"] for row in some})))
        for variant in (STRATA, WEIGHT):
            line += _variant([row for row in some if row["what"] == variant])
        lines.append(line)
    strata = [row for row in done if row["what"] == STRATA]
    shown = [
        _plot(picture, f"castro-2007-{name}", kind, _series(strata, kind, column), "cells", label)
        for kind in KINDS
        for column, name, label in (
            ("own_s", "seconds", "seconds"),
            ("paths_a_cell", "paths", "paths a sensitive cell"),
        )
    ]
    recovered = sum(float(row.get("recovered") or 0) for row in done)
    after = f"Sensitive cells that needed minimum-cost flows (infeasibility recovery): {recovered:g}."
    return "\n\n".join([table(head, lines), after, *filter(None, shown)])


def _key(row: Row) -> str:
    return f"{row['size']} {row['asked']} {row['weights']}"


def _variant(rows: Sequence[Row]) -> list[str]:
    """Means of the seeds."""
    if not rows:
        return ["–"] * 6
    means = {
        name: mean(float(row[name] or 0) for row in rows) for name in ("own_s", "seconds", "paths_a_cell")
    }
    return [
        f"{means['own_s']:.2f}",
        f"{means['seconds']:.2f}",
        f"{means['paths_a_cell']:.3f}",
        whole(mean(number(row["own_cost"]) for row in rows)),
        f"{sum(number(row['own_open']) for row in rows):g}",
        whole(mean(number(row["cost"]) for row in rows)),
    ]


def _series(rows: Iterable[Row], kind: str, column: str) -> dict[str, list[tuple[float, float, bool]]]:
    """A line for each number of sensitive cells, and for hierarchical tables both weights."""
    found: dict[str, list[tuple[float, float, bool]]] = {}
    for row in rows:
        if row["kind"] == kind and row.get(column) and row.get("cells"):
            name = f"{row['asked']} sensitive" + (f", {row['weights']}" if kind == "hierarchical" else "")
            point = (number(row["cells"]), max(LEAST, number(row[column])), row.get("whole") != "no")
            found.setdefault(name, []).append(point)
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(" ")[0])))


def _plot(
    picture: Picture,
    name: str,
    kind: str,
    series: dict[str, list[tuple[float, float, bool]]],
    x: str,
    y: str,
) -> str:
    """A plot of one kind of tables; nothing where there are no points."""
    if not series:
        return ""
    path, shown = picture(f"{name}-{kind}", f"{kind} tables: {y} by {x}")
    plots.scatter(path, series, f"{x}, {kind} tables", y)
    return shown


def _gaps(found: dict[str, Found], picture: Picture) -> str:
    """Costs and bounds of the first seed, gaps by the paper's definition and on complementary cost."""
    head = ["instance", "strata", "weight", "auto", "auto: status", "s", "Castro's bound", "truncated"]
    head += [
        "combined",
        "auto's bound",
        "best bound",
        "gap as in the paper %",
        "strata: gap %",
        "weight: gap %",
        "auto: gap %",
    ]
    lines, points = [], []
    for name, works in found.items():
        bound = best_bound(works)
        if STRATA not in works or bound is None or not works[STRATA].get("cost"):
            continue
        auto, bounds, strata = works.get(AUTO, {}), works.get(BOUNDS, {}), works[STRATA]
        costs = [works.get(what, {}).get("cost") or "" for what in (STRATA, WEIGHT, AUTO)]
        paper = paper_gap(strata, bounds)
        lines.append(
            [
                name.removesuffix(" #0"),
                *map(whole_text, costs),
                auto.get("status") or "",
                f"{number(auto['seconds']):.1f}" if auto.get("seconds") else "",
                *(whole_text(bounds.get(column) or "") for column in ("castro_printed", "castro")),
                _stopped_bound(works.get(COMBINED, {})),
                _stopped_bound(auto),
                whole(bound),
                "" if paper is None else f"{paper:.3f}",
                *(gap_text(cost, bound) for cost in costs),
            ]
        )
        if paper is not None:
            points.append({**strata, "paper_gap": f"{paper}"})
    if not lines:
        return "No bound was measured."
    shown = [
        _plot(picture, "castro-2007-gaps", kind, _series(points, kind, "paper_gap"), "cells", "gap (%)")
        for kind in KINDS
    ]
    return "\n\n".join([table(head, lines), *filter(None, shown), _goal(found.get(GOAL, {}))])


def paper_gap(strata: Row, bounds: Row) -> float | None:
    """(ws - lb) / ws in percent, sensitive cells in both; heuristic and bound are those of the paper alone."""
    if not (bounds.get("castro_printed") and strata.get("own_cost")):
        return None
    given, cost = number(strata["given"]), number(strata["own_cost"])
    return max(0.0, 100 * (cost - number(bounds["castro_printed"])) / (cost + given))


def best_bound(works: Found) -> float | None:
    """The best of all bounds of an instance that were proven."""
    columns = [(BOUNDS, "castro"), (BOUNDS, "castro_printed"), (COMBINED, "bound"), (AUTO, "bound")]
    known = [text for what, column in columns if (text := works.get(what, {}).get(column))]
    return max(map(number, known)) if known else None


def _stopped_bound(row: Row) -> str:
    """A bound, with a star where the clock stopped it; how it ended, where there is none."""
    if not row.get("bound"):
        return row.get("status") or ""
    return whole_text(row["bound"]) + ("*" if row["status"] == "time-limit" else "")


def gap_text(cost: str, bound: float) -> str:
    """(cost - bound) / cost in percent."""
    if not cost:
        return ""
    value = number(cost)
    return f"{max(0.0, 100 * (value - bound) / value):.2f}" if value else "0.00"


def _goal(works: Found) -> str:
    """Whether the goal of the largest table is met."""
    bound, auto, paths = best_bound(works), works.get(AUTO, {}), works.get(STRATA, {})
    if bound is None or not auto.get("cost") or not paths.get("seconds"):
        return "The goal (750x750 with 3,000 sensitive cells) is not measured yet."
    gap = number(gap_text(auto["cost"], bound))
    verdict = "met" if gap < GOAL_PERCENT else "not met"
    return (
        f"750x750 with 3,000 sensitive cells: shortest paths {number(paths['own_s']):.1f} s "
        f"({number(paths['seconds']):.1f} s with audits and clean-up); complementary gap after suppress-auto "
        f"({auto['limit_s']} s) {gap:.2f}%. Goal: under {GOAL_PERCENT:g}%, {verdict}."
    )


def _improvements(found: dict[str, Found], picture: Picture) -> str:
    """100 (new - old) / old, old Kelly's bound, new Castro's: sensitive cells in both, and without them."""
    head = ["instance", "Kelly", "15%: Castro", "improvement %", "without sensitive %"]
    head += ["30%: Castro", "improvement %", "without sensitive %"]
    lines, points = [], []
    for name, works in found.items():
        small, large = works.get(BOUNDS, {}), works.get(LARGER_BOUNDS, {})
        if not (small.get("kelly") and large.get("castro_printed")):
            continue
        line = [name.removesuffix(" #0"), whole_text(small["kelly"])]
        for row in (small, large):
            old, new, given = number(small["kelly"]), number(row["castro_printed"]), number(row["given"])
            gain = 100 * (new - old) / (old + given)
            alone = f"{100 * (new - old) / old:.1f}" if old else "–"
            star = "*" if row.get("stopped") else ""
            line += [f"{whole(new)}{star}", f"{gain:.3f}", alone]
            told = f"{row['asked']} sensitive, {100 * number(row['share']):.0f}% levels"
            points.append({"kind": row["kind"], "asked": told, "cells": row["cells"], "gain": f"{gain}"})
        lines.append(line)
    if not lines:
        return "No bound was measured."
    shown = [_gain_plot(picture, kind, points) for kind in KINDS]
    return "\n\n".join([table(head, lines), *filter(None, shown)])


def _gain_plot(picture: Picture, kind: str, points: Sequence[Row]) -> str:
    series: dict[str, list[tuple[float, float, bool]]] = {}
    for row in points:
        if row["kind"] == kind:
            point = (number(row["cells"]), max(LEAST, number(row["gain"])), True)
            series.setdefault(row["asked"], []).append(point)
    return _plot(picture, "castro-2007-bounds", kind, series, "cells", "improvement (%)")


def _ratios(found: dict[str, Found], picture: Picture) -> str:
    """Paths against our flows and those of OR-tools: all of them, and one problem against another."""
    head = ["instance", "paths: s", "ms a path"]
    for program in ("our flows", "OR-tools"):
        head += [f"{program}: s", "cells done", "ms a flow", "times as long", "one flow to one path"]
    lines, points = [], []
    for name, works in found.items():
        paths = works.get(STRATA, {})
        if not paths.get("own_s") or not (FLOWS in works or ORTOOLS in works):
            continue
        own, count = max(LEAST, number(paths["own_s"])), max(1.0, number(paths["paths"]))
        line = [name.removesuffix(" #0"), f"{own:.2f}", f"{1000 * own / count:.3f}"]
        for what in (FLOWS, ORTOOLS):
            entries, ratio, whole = _beside(works.get(what, {}), own, count)
            line += entries
            if what == ORTOOLS and ratio:
                points.append({**paths, "ratio": f"{ratio}", "whole": "yes" if whole else "no"})
        lines.append(line)
    if not lines:
        return "No flow was measured."
    shown = [
        _plot(
            picture,
            "castro-2007-ratios",
            kind,
            _series(points, kind, "ratio"),
            "cells",
            "one flow of OR-tools to one path",
        )
        for kind in KINDS
    ]
    after = "Open markers: the flows were stopped by their limit."
    return "\n\n".join([table(head, lines), *filter(None, shown), after])


def _beside(row: Row, own: float, paths: float) -> tuple[list[str], float | None, bool]:
    """Entries of flows beside paths, the ratio of one problem to another, and whether all cells were done."""
    if not row.get("own_s"):
        return [row.get("status") or "–", "", "", "", ""], None, False
    spent, asked, done = number(row["own_s"]), int(row["asked"]), int(number(row.get("done") or "0"))
    whole, flows = done >= asked, number(row.get("flows") or "0")
    times = f"{spent / own:.0f}" if whole else f"over {spent / own:.0f}"
    entries = [f"{spent:.2f}", f"{done} of {asked}", "", times, ""]
    if not flows:
        return entries, None, whole
    ratio = (spent / flows) / (own / paths)
    entries[2], entries[4] = f"{1000 * spent / flows:.2f}", f"{ratio:.0f}"
    return entries, ratio, whole


PLOTTED: dict[str, Callable[[Sequence[Row], Picture], str]] = {
    "castro-2002": castro_2002,
    "castro-2007": castro_2007,
}
