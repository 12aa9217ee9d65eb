"""Sections about suppress-three-phase: all instances in the layout of its paper, and phase 3 by cuts and by flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from cases.paper_carvalho import TABLES
from cases.three_phase import PHASES, STARVED
from reports.layout import NOTHING, grouped, number, seconds_of, share, table
from runner import Row

TOTAL = {"I": 580, "II": 830}
HEAD = (
    "m", "measured", "opt", "Popt %", "gap it.1 %", "iterations (max)", "processor s (max)",
    *(f"{phase} %" for phase in PHASES), "suppress-optimal: opt", "s", "paper: opt", "Popt %", "gap it.1 %", "s",
)  # fmt: skip


def three_phase(rows: Sequence[Row], optimal: Sequence[Row]) -> str:
    """A table for each class in the layout of the paper, beside suppress-optimal on the same instances."""
    beside = {row["instance"]: row for row in optimal}
    texts = []
    for kind in ("I", "II"):
        chosen = [row for row in rows if row["class"] == kind]
        if chosen:
            texts.append(f"### Class {kind}, suppress-three-phase\n\n{_class_table(kind, chosen, beside)}")
    return "\n\n".join([*texts, _open(rows, beside)]) if texts else NOTHING


def _class_table(kind: str, rows: Sequence[Row], beside: Mapping[str, Row]) -> str:
    lines = []
    for m, some in sorted((int(m), some) for m, some in grouped(rows, "m").items()):
        count, solved, first, gap, seconds = TABLES[kind][m]
        paper = [
            f"{solved} of {count}",
            f"{first:.1f}",
            "–" if gap is None else f"{gap:.2f}",
            f"{seconds:.2f}",
        ]
        lines.append([str(m), f"{len(_said(some))} of {count}", *_figures(some, beside), *paper])
    lines.append(["all", f"{len(_said(rows))} of {TOTAL[kind]}", *_figures(rows, beside), *[""] * 4])
    return table(HEAD, lines)


def _said(rows: Sequence[Row]) -> list[Row]:
    """Rows that say something: not those of a machine that was too busy."""
    return [row for row in rows if row["status"] != STARVED]


def _figures(rows: Sequence[Row], beside: Mapping[str, Row]) -> list[str]:
    rows = _said(rows)
    if not rows:
        return ["–"] * (len(HEAD) - 6)
    first = [row.get("iterations") == "0" or row.get("proven_1") == "1" for row in rows]
    late = [
        number(row["gap_1_percent"])
        for row in rows
        if row.get("proven_1") == "0" and row.get("gap_1_percent")
    ]
    iterations = [number(row["iterations"]) for row in rows if row.get("iterations")]
    worked = [number(row["cpu_s"]) for row in rows if row.get("cpu_s")]
    spent = [sum(number(row.get(column) or "0") for row in rows) for column in PHASES.values()]
    whole = sum(spent) or 1.0
    others = [beside[row["instance"]] for row in rows if row["instance"] in beside]
    return [
        str(sum(row["status"] == "optimal" for row in rows)),
        share(first),
        f"{mean(late):.2f}" if late else "–",
        f"{mean(iterations):.1f} ({max(iterations):.0f})" if iterations else "–",
        f"{mean(worked):.2f} ({max(worked):.2f})" if worked else "–",
        *(f"{100 * part / whole:.0f}" for part in spent),
        str(sum(row["status"] == "optimal" for row in others)),
        f"{mean(map(seconds_of, others)):.2f}" if others else "–",
    ]


def _open(rows: Sequence[Row], beside: Mapping[str, Row]) -> str:
    """What is open: stopped by the limit, not measured, and costs that differ."""
    said = _said(rows)
    stopped = [row for row in said if row["status"] != "optimal"]
    missing = sum(TOTAL.values()) - len(said)
    solved = [row for row in said if row["status"] == "optimal" and row["instance"] in beside]
    same = [row for row in solved if number(row["cost"]) == number(beside[row["instance"]]["cost"])]
    texts = [
        f"{len(said)} of {sum(TOTAL.values())} instances are measured; {missing} are missing. "
        f"On {len(same)} of {len(solved)} instances that both solved the optimum is the same."
    ]
    if stopped:
        texts.append(f"Stopped by the limit, and open ({len(stopped)}):")
        lines = [
            [
                row["instance"].removesuffix(" value"),
                row["limit_s"],
                row["cost"].removesuffix(".0"),
                _short(row["bound"]),
                row["gap_percent"],
            ]
            for row in stopped
        ]
        texts.append(table(("instance", "limit s", "cost", "bound", "gap %"), lines))
    return "\n\n".join(texts)


def _short(text: str) -> str:
    return f"{number(text):g}" if text else "–"


def phase_3(rows: Sequence[Row]) -> str:
    """Minimum cuts and flows side by side."""
    pairs: dict[str, dict[str, Row]] = {}
    for row in rows:
        pairs.setdefault(row["instance"].partition(",")[0], {})[row["phase3"]] = row
    head = [
        "instance",
        "cuts: status",
        "cost",
        "bound",
        "processor s",
        "flows: status",
        "cost",
        "bound",
        "processor s",
    ]
    lines = []
    for name, both in pairs.items():
        line = [name]
        for way in ("cuts", "flows"):
            row = both.get(way)
            line += (
                [row["status"], row["cost"].removesuffix(".0"), _short(row["bound"]), row["cpu_s"]]
                if row
                else ["–"] * 4
            )
        lines.append(line)
    return table(head, lines)
