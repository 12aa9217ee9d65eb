"""The section of the report about Castro (2002): both heuristics, and three-way tables beside its figures."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from cases.castro_2002 import AUTO, PAPER, PROVEN
from cases.paper_castro import DUAL, NETWORK_AND_DUAL
from reports import plots
from reports.layout import grouped, number, table, whole, whole_text
from reports.plots import LEAST, Picture
from runner import Row

FIGURES = {
    "own_cells": ("cells", "suppressed cells"),
    "own_value": ("value", "suppressed value"),
    "problems": ("problems", "problems solved"),
    "own_s": ("seconds", "seconds in them"),
}
"""What is compared in Castro's Figures 4 to 11: column, name of the plot, label."""


def castro_2002(rows: Sequence[Row], picture: Picture) -> str:
    """Both heuristics on two-way tables, and the three-way ones beside the paper."""
    plain = [row for row in rows if row["shape"].count("x") == 1]
    cubes = [row for row in rows if row["shape"].count("x") == 2]
    texts = [
        f"### Two-way tables, generator {generator}\n\n{_heuristics(some, generator, picture)}"
        for generator in ("1", "2")
        if (some := [row for row in plain if row["generator"] == generator and row.get("own_value")])
    ]
    if cubes:
        texts.append(f"### Three-way tables (Tables 1 and 2)\n\n{_cubes(cubes)}")
    return "\n\n".join(texts) or "No table was measured."


def _heuristics(rows: Sequence[Row], generator: str, picture: Picture) -> str:
    """Means of both heuristics and both bookings, who is better how often, and the paper's four plots."""
    head = ["heuristic", "booking", "tables", "own cells", "own value", "problems", "s in them"]
    head += ["open before repair", "complementary cost after all", "s"]
    lines = [
        [heuristic, booking, str(len(some)), *_means(some)]
        for booking in (PAPER, PROVEN)
        for heuristic in ("1", "2")
        if (some := [row for row in rows if (row["heuristic"], row["booking"]) == (heuristic, booking)])
    ]
    by_paper = [row for row in rows if row["booking"] == PAPER]
    texts = [table(head, lines), _better(by_paper)]
    for column, (name, label) in FIGURES.items():
        series = {
            f"heuristic {heuristic}": [
                (number(row["number"]), max(LEAST, number(row[column])))
                for row in by_paper
                if row["heuristic"] == heuristic and row.get(column)
            ]
            for heuristic in ("1", "2")
        }
        chosen = {key: sorted(points) for key, points in series.items() if points}
        if chosen:
            path, shown = picture(f"castro-2002-{name}-{generator}", f"{label}, generator {generator}")
            plots.by_number(path, chosen, f"instance of generator {generator}", label)
            texts.append(shown)
    return "\n\n".join(texts)


def _means(rows: Sequence[Row]) -> list[str]:
    columns = ("own_cells", "own_value", "problems", "own_s", "cost", "seconds")
    means = {name: mean(number(row.get(name) or "0") for row in rows) for name in columns}
    return [
        f"{means['own_cells']:.1f}",
        f"{means['own_value']:.0f}",
        f"{means['problems']:.1f}",
        f"{means['own_s']:.3f}",
        f"{sum(number(row['own_open']) for row in rows):g}",
        f"{means['cost']:.0f}",
        f"{means['seconds']:.2f}",
    ]


def _better(rows: Sequence[Row]) -> str:
    """In how many tables each heuristic is better, by the paper's booking."""
    by_number = grouped(rows, "number").values()
    pairs = [{row["heuristic"]: row for row in some} for some in by_number if len(some) == 2]
    told = []
    for column, (_, label) in FIGURES.items():
        values = [
            (number(pair["1"][column]), number(pair["2"][column]))
            for pair in pairs
            if all(row.get(column) for row in pair.values())
        ]
        first, second = sum(a < b for a, b in values), sum(a > b for a, b in values)
        told.append(f"{label} {first} to {second}")
    which = "Tables where heuristic 1 has less to those where heuristic 2 has, booked as in the paper"
    return f"{which}: {'; '.join(told)}."


def _cubes(rows: Sequence[Row]) -> str:
    """The sixteen tables beside the paper's two columns of figures."""
    head = ["generator", "size", "p", "Table 1: cells", "value", "problems", "s"]
    head += ["Table 2: cells", "value", "problems", "s", "ours: cells", "value", "problems", "s"]
    head += ["open before repair", "after all: value", "suppress-auto: value", "gap %"]
    lines = []
    for some in grouped(rows, "name").values():
        found = {row["what"]: row for row in some}
        any_row = some[0]
        key = int(any_row["generator"]), any_row["shape"], int(any_row["asked"])
        own, auto = found.get(f"heuristic 2, {PAPER}", {}), found.get(AUTO, {})
        lines.append(
            [
                *map(str, key),
                *(f"{value:g}" for value in (*NETWORK_AND_DUAL[key], *DUAL[key])),
                *(whole_text(own.get(column) or "") for column in ("own_cells", "own_value", "problems")),
                f"{number(own['own_s']):.1f}" if own.get("own_s") else own.get("status", ""),
                whole_text(own.get("own_open") or ""),
                with_given(own),
                with_given(auto),
                auto.get("gap_percent") or "",
            ]
        )
    return table(head, lines)


def with_given(row: Row) -> str:
    """The value of all hidden cells, as the paper counts it."""
    if not (row.get("cost") and row.get("given")):
        return ""
    return whole(number(row["cost"]) + number(row["given"]))
