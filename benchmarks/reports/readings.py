"""Sections about what the papers leave open: readings of their generators, orders of the cells, levels that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from cases.castro_2002 import three_way
from cases.paper_carvalho import NOTHING_NEEDED, TABLES
from cases.paper_castro import DUAL, NETWORK_AND_DUAL
from cases.readings import CLASS_READINGS, CUBE_READINGS
from cases.reductions import VARIANTS
from cases.serpell import ALL, ORDERS
from reports.layout import NOTHING, grouped, number, table
from runner import Row

CLOSE = 1e-9
"""Relative difference below which costs are the same."""


def classes_readings(rows: Sequence[Row]) -> str:
    """Class I in three readings beside the paper: iteration 1, and what needs nothing."""
    rows = [row for row in rows if row.get("nothing_needed")]
    if not rows:
        return NOTHING
    names = [name for name in CLASS_READINGS if any(row["reading"] == name for row in rows)]
    head = [
        "m",
        *(f"{name}: {what}" for name in names for what in ("inst", "Popt %", "gap it.1 %", "nothing %")),
    ]
    head += ["paper: inst", "Popt %", "gap it.1 %"]
    lines = []
    for m, printed in TABLES["I"].items():
        line = [str(m)]
        for name in names:
            line += _iteration([row for row in rows if row["reading"] == name and row["m"] == str(m)])
        lines.append(
            [*line, str(printed[0]), f"{printed[2]:.1f}", "–" if printed[3] is None else f"{printed[3]:.2f}"]
        )
    every = ["all"]
    for name in names:
        every += _iteration([row for row in rows if row["reading"] == name])
    return (
        f"{table(head, [*lines, [*every, '', '', '']])}\n\nIn the paper {NOTHING_NEEDED['I']}% need nothing."
    )


def _iteration(rows: Sequence[Row]) -> list[str]:
    """Instances, proven at iteration 1, mean gap of the others, nothing needed."""
    known = [row for row in rows if row.get("proven_1")]
    gaps = [
        number(row["gap_1_percent"]) for row in known if row["proven_1"] == "False" and row["gap_1_percent"]
    ]
    if not rows:
        return ["–"] * 4
    return [
        str(len(rows)),
        f"{_percent(known, 'proven_1'):.1f}",
        f"{mean(gaps):.2f}" if gaps else "–",
        f"{_percent(rows, 'nothing_needed'):.1f}",
    ]


def _percent(rows: Sequence[Row], column: str) -> float:
    return 100 * sum(row[column] == "True" for row in rows) / len(rows) if rows else 0.0


def castro_readings(rows: Sequence[Row]) -> str:
    """Least, mean and most own cells and value of several seeds beside the paper's columns."""
    rows = [row for row in rows if row.get("own_value")]
    if not rows:
        return NOTHING
    head = [
        "generator",
        "size",
        "p",
        "reading",
        "seeds",
        "cells: least to most",
        "mean",
        "value: least to most",
    ]
    head += ["mean", "problems: mean", "s in them: mean", "paper: cells", "value", "within"]
    lines = []
    for one in {one.name: one for one in three_way()}.values():
        key = one.generator, "x".join(map(str, one.shape)), one.sensitive
        printed = NETWORK_AND_DUAL[key], DUAL[key]
        for reading in CUBE_READINGS:
            some = [row for row in rows if row["name"] == one.name and row["reading"] == reading]
            if some:
                lines.append([*map(str, key), reading, *_spread(some, printed)])
    return table(head, lines)


def _spread(rows: Sequence[Row], printed: Sequence[object]) -> list[str]:
    cells, values = ([number(row[column]) for row in rows] for column in ("own_cells", "own_value"))
    paper = [(one.cells, one.value) for one in printed]
    inside = sum(min(values) <= value <= max(values) for _, value in paper)
    return [
        str(len(rows)),
        f"{min(cells):.0f} to {max(cells):.0f}",
        f"{mean(cells):.0f}",
        f"{min(values):.0f} to {max(values):.0f}",
        f"{mean(values):.0f}",
        f"{mean(number(row['problems']) for row in rows):.0f}",
        f"{mean(number(row['own_s']) for row in rows):.2f}",
        ", ".join(str(count) for count, _ in paper),
        ", ".join(str(value) for _, value in paper),
        f"{inside} of 2",
    ]


def serpell_order(rows: Sequence[Row]) -> str:
    """Cost of Kelly's linear programs with and without K5, by order of the cells."""
    rows = [row for row in rows if row.get("kept_K5")]
    if not rows:
        return NOTHING
    head = [
        "order",
        "tables",
        "K5 keeps fewer cells",
        "cheaper with K5",
        "cheaper without",
        "same",
        "left open by K5",
    ]
    lines = []
    for order in ORDERS:
        ended = [
            row
            for row in rows
            if all(row.get(f"{order}_status_{name}") == "feasible" for name in (ALL, "K5"))
        ]
        fewer = sum(row["kept_K5"] != row["sensitive"] for row in ended)
        pairs = [(number(row[f"{order}_cost_K5"]), number(row[f"{order}_cost_{ALL}"])) for row in ended]
        less = sum(one < other * (1 - CLOSE) for one, other in pairs)
        more = sum(other < one * (1 - CLOSE) for one, other in pairs)
        left = sum(row[f"{order}_open_K5"] != "0" for row in ended)
        lines.append([order, *map(str, (len(pairs), fewer, less, more, len(pairs) - less - more, left))])
    return table(head, lines)


def implied(rows: Sequence[Row]) -> str:
    """Levels that follow from others, by kind of table, and what suppress-optimal makes of fewer levels."""
    rows = [row for row in rows if row.get("open_levels")]
    if not rows:
        return NOTHING
    head = [
        "tables",
        "number",
        "open levels",
        "follow from others",
        "%",
        "exposed cells (E)",
        "K5 keeps",
        "D keeps",
    ]
    head += ["D saves % of E", "s, at most"]
    lines = []
    for shape, some in grouped(rows, "shape").items():
        levels, follow, exposed, k5, kept = (
            sum(int(row[column]) for row in some)
            for column in ("open_levels", "following_levels", "kept_E", "kept_K5", "kept_D")
        )
        lines.append(
            [
                shape,
                str(len(some)),
                str(levels),
                str(follow),
                f"{100 * follow / max(levels, 1):.1f}",
                *map(str, (exposed, k5, kept)),
                f"{100 * (exposed - kept) / max(exposed, 1):.1f}",
                f"{max(number(row['following_s']) for row in some):.2f}",
            ]
        )
    return f"{table(head, lines)}\n\n{_variants(rows)}"


def _variants(rows: Sequence[Row]) -> str:
    head = [
        "tables",
        "solved",
        "levels",
        "proven",
        "levels in the model",
        "of them active",
        "rounds",
        "cuts",
        "processor s",
    ]
    head += ["same cost"]
    lines = []
    for shape, some in grouped([row for row in rows if row.get("all_s")], "shape").items():
        for name, title in (
            ("all", "all"),
            ("implied", "without those that follow"),
            ("K5", "K5 first"),
            ("both", "both"),
        ):
            assert name in VARIANTS
            total = {
                key: sum(number(row[f"{name}_{key}"]) for row in some)
                for key in ("levels", "active", "rounds", "cuts", "s")
            }
            proven = [row for row in some if row[f"{name}_status"] == row["all_status"] == "optimal"]
            same = sum(
                abs(number(row[f"{name}_cost"]) - number(row["all_cost"])) <= 1e-6 * number(row["all_cost"])
                for row in proven
            )
            lines.append(
                [
                    shape,
                    str(len(some)),
                    title,
                    str(sum(row[f"{name}_status"] == "optimal" for row in some)),
                    *(f"{total[key]:.0f}" for key in ("levels", "active", "rounds", "cuts")),
                    f"{total['s']:.2f}",
                    f"{same} of {len(proven)}",
                ]
            )
    return table(head, lines)


SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {
    "classes-readings": classes_readings,
    "castro-2002-readings": castro_readings,
    "serpell-order": serpell_order,
    "implied": implied,
}
