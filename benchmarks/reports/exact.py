"""Sections of the report about suppress-optimal: both classes, the library, fronts, growth and the study."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import mean

from cases.base import OURS, PEER, trace_points
from cases.paper_carvalho import NOTHING_NEEDED, TABLES
from cases.study import INSTANCES, VARIANTS
from reports import plots
from reports.layout import (
    NOTHING,
    by_program,
    cells,
    geometric,
    grouped,
    number,
    peer_seconds,
    seconds_of,
    share,
    table,
)
from reports.plots import Picture
from runner import Row

OUR_HEAD = ("instance", "cells", "sensitive", "cost", "bound", "gap %", "status", "s")
PEER_HEAD = ("peer's cost", "bound", "gap %", "status")
WEIGHTS = {"value": "value weights", "unit": "w = 1"}


# ---------------------------------------------------------------------- both classes


def classes(rows: Sequence[Row], picture: Picture) -> str:
    """Tables in the layout of the paper, beside its figures, and seconds by size."""
    texts = []
    for weights, title in WEIGHTS.items():
        for kind in ("I", "II"):
            chosen = [row for row in rows if row["class"] == kind and row["weights"] == weights]
            if chosen:
                beside = TABLES[kind] if weights == "value" else {}
                texts.append(f"### Class {kind}, {title}\n\n{class_table(chosen, beside)}")
                if weights == "value":
                    texts.append(
                        f"In the paper {NOTHING_NEEDED[kind]}% of Class {kind} need nothing more than the "
                        "sensitive cells, as far as its preprocessing sees."
                    )
    path, shown = picture("classes", "seconds by number of rows")
    series = {
        f"Class {kind}, {title}": [
            (number(row["m"]), seconds_of(row), row["status"] == "optimal")
            for row in rows
            if (row["class"], row["weights"]) == (kind, weights) and row.get("seconds")
        ]
        for kind in ("I", "II")
        for weights, title in WEIGHTS.items()
    }
    plots.scatter(path, {name: some for name, some in series.items() if some}, "m", "seconds")
    texts.append(f"{shown}\n\nOne point an instance, open where the limit stopped it; lines join medians.")
    return "\n\n".join(texts)


def classes_total(rows: Sequence[Row]) -> str:
    """The second set of Class II."""
    return "\n\n".join(
        f"### Class II with the grand total, {title}\n\n{class_table(chosen, {})}"
        for weights, title in WEIGHTS.items()
        if (chosen := [row for row in rows if row["weights"] == weights])
    )


# ---------------------------------------------------------------------- beside a peer


def peer_classes(rows: Sequence[Row], picture: Picture) -> str:
    """Both programs by class and size."""
    pairs = paired(rows)
    if not pairs:
        return NOTHING
    head = ["class", "m", "instances", "same cost", "we optimal", "peer optimal", "open cells of the peer"]
    head += ["our s (max)", "peer's s (max)", "times faster (least)", "from the file"]
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for us, peer in pairs:
        groups.setdefault((us["class"], us["m"]), []).append((us, peer))
    lines = [[*key, *peer_line(some)] for key, some in groups.items()]
    lines.append(["both", "all", *peer_line(pairs)])
    path, shown = picture("peer", "our seconds against those of the peer")
    series = {
        f"Class {kind}": [
            (seconds_of(us), peer_seconds(peer), peer["status"] == "optimal")
            for us, peer in pairs
            if us["class"] == kind
        ]
        for kind in ("I", "II")
    }
    chosen = {name: points for name, points in series.items() if points}
    plots.scatter(path, chosen, "our seconds", "seconds of pytauargus", line=False)
    after = "One point an instance, open where the peer was stopped by its limit."
    return f"{table(head, lines)}\n\n{shown}\n\n{after}"


def library(rows: Sequence[Row], picture: Picture) -> str:
    """The 13 instances, both programs."""
    head = [*OUR_HEAD, *PEER_HEAD, "s", "open", "scale"]
    ours, theirs = by_program(rows, OURS), by_program(rows, PEER)
    lines = [
        [
            name,
            *cells(us, "cells sensitive cost bound gap_percent status seconds"),
            *cells(theirs.get(name, {}), "cost bound gap_percent status seconds open scale"),
        ]
        for name, us in ours.items()
    ]
    near = [us for us in ours.values() if us.get("gap_percent") and number(us["gap_percent"]) < 1]
    costs = [
        (number(us["cost"]), number(theirs[name]["cost"]))
        for name, us in ours.items()
        if us.get("cost") and theirs.get(name, {}).get("cost")
    ]
    worse = sum(mine > other * (1 + 1e-9) for mine, other in costs)
    verdict = (
        f"Proven optimal or under 1%: {len(near)} of {len(ours)}. "
        f"Of {len(costs)} costs beside the peer's, {worse} are worse."
    )
    return f"{table(head, lines)}\n\n{verdict}\n\n{_gaps('csplib', ours.values(), picture)}"


def fronts(rows: Sequence[Row], theirs: Sequence[Row], picture: Picture) -> str:
    """The hard fronts, with the peer where it was measured."""
    if not rows:
        return NOTHING
    peers = {row["instance"]: row for row in theirs}
    lines = [
        [
            *cells(row, "instance cells sensitive cost bound gap_percent status seconds"),
            *cells(peers.get(row["instance"], {}), "cost bound gap_percent status"),
        ]
        for row in rows
    ]
    return f"{table([*OUR_HEAD, *PEER_HEAD], lines)}\n\n{_gaps('fronts', rows, picture)}"


def _gaps(name: str, rows: Iterable[Row], picture: Picture) -> str:
    """The plot of gaps over time, of runs that took more than a second."""
    path, shown = picture(name, "the proven gap over time")
    series = {
        row.get("name") or row["instance"]: gap_points(row["trace"])
        for row in rows
        if row.get("trace") and seconds_of(row) > 1
    }
    series = {instance: points for instance, points in series.items() if points}
    if not series:
        return "No run took more than a second."
    plots.gaps(path, series)
    return shown


# ---------------------------------------------------------------------- growth and the study


def growth(rows: Sequence[Row], picture: Picture) -> str:
    """Seconds against cells, and against sensitive cells."""
    rows = [row for row in rows if row.get("seconds")]
    if not rows:
        return NOTHING
    texts = []
    for name, x, label in (("cells", "cells", "cells"), ("sensitive", "size", "sensitive cells")):
        chosen = [row for row in rows if ("200x200" in row["series"]) == (name == "sensitive")]
        series = {
            key: [(number(row[x]), seconds_of(row), row["status"] == "optimal") for row in some]
            for key, some in grouped(chosen, "series").items()
        }
        if series:
            path, shown = picture(f"growth-{name}", f"seconds against {label}")
            plots.scatter(path, series, label, "seconds")
            texts.append(shown)
    lines = [cells(row, "instance cells sensitive levels cost gap_percent status seconds") for row in rows]
    head = ("instance", "cells", "sensitive", "levels", "cost", "gap %", "status", "s")
    return "\n\n".join([*texts, table(head, lines)])


def study(rows: Sequence[Row]) -> str:
    """Variants by instances: how each ended, and what its root came to."""
    return f"### Gaps\n\n{study_table(rows, ending)}\n\n### Root bounds\n\n{study_table(rows, root)}"


# ---------------------------------------------------------------------- lines of tables


def study_table(rows: Iterable[Row], entry: Callable[[Row], str]) -> str:
    """A line for each variant, a column for each instance, of those that have rows."""
    found = {(row["variant"], row["name"]): entry(row) for row in rows}
    names = [name for name in INSTANCES if any(name == other for _, other in found)]
    variants = [variant for variant in VARIANTS if any(variant == other for other, _ in found)]
    lines = [[variant, *(found.get((variant, name), "–") for name in names)] for variant in variants]
    return table(("variant", *names), lines)


def ending(row: Row) -> str:
    """``optimal, 3.2 s`` or ``1.25% (120.1 s)``; what happened, if it has neither."""
    seconds = f"{seconds_of(row):.1f} s"
    if row["status"] == "optimal":
        return f"optimal, {seconds}"
    gap = row.get("gap_percent")
    return f"{number(gap):.2f}% ({seconds})" if gap else row["status"]


def root(row: Row) -> str:
    """``3849 (12.5 s)``, with a star where the limit came before the end of the root."""
    if not row.get("root_bound"):
        return "–"
    star = "" if row["root_done"] == "True" else " *"
    return f"{number(row['root_bound']):.10g} ({number(row['root_s']):.1f} s){star}"


def class_table(rows: Sequence[Row], beside: dict[int, tuple[int, int, float, float | None, float]]) -> str:
    """A class in the layout of the paper: a line for each m, and one for all."""
    head = ["m", "inst", "opt", "Popt %", "gap it.1 %", "s mean", "s max", "(P) tight %", "nothing needed %"]
    head += ["paper: opt", "Popt %", "gap it.1 %", "s"] if beside else []
    lines = []
    for m, some in sorted((int(m), some) for m, some in grouped(rows, "m").items()):
        line = [str(m), *class_line(some)]
        if beside:
            count, optimal, first, gap, seconds = beside[m]
            line += [
                f"{optimal} of {count}",
                f"{first:.1f}",
                "–" if gap is None else f"{gap:.2f}",
                f"{seconds:.2f}",
            ]
        lines.append(line)
    lines.append(["all", *class_line(rows), *([""] * 4 if beside else [])])
    return table(head, lines)


def class_line(rows: Sequence[Row]) -> list[str]:
    """The columns of the paper for some rows."""
    seconds = [seconds_of(row) for row in rows if row.get("seconds")]
    late = [number(row["gap_1_percent"]) for row in rows if row.get("proven_1") == "False"]
    nothing = [row.get("levels") == "0" for row in rows if row.get("levels")]
    return [
        str(len(rows)),
        str(sum(row["status"] == "optimal" for row in rows)),
        share([row["proven_1"] == "True" for row in rows if row.get("proven_1")]),
        f"{mean(late):.2f}" if late else "–",
        f"{mean(seconds):.2f}" if seconds else "–",
        f"{max(seconds):.2f}" if seconds else "–",
        share([row["p_tight"] == "True" for row in rows if row.get("p_tight")]),
        share(nothing),
    ]


def paired(rows: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Our row and the peer's for each instance that both have."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row["name"], {})[row["program"]] = row
    return [(both[OURS], both[PEER]) for both in found.values() if len(both) == 2]


def peer_line(pairs: Sequence[tuple[Row, Row]]) -> list[str]:
    """What a group of pairs comes to."""
    costs = [(us["cost"], peer["cost"]) for us, peer in pairs if us.get("cost") and peer.get("cost")]
    same = sum(math.isclose(number(mine), number(other), rel_tol=1e-9) for mine, other in costs)
    inside = [peer_seconds(peer, "own_s") / seconds_of(us) for us, peer in pairs]
    whole = [peer_seconds(peer) / (seconds_of(us) + number(us.get("read_s") or "0")) for us, peer in pairs]
    ours, theirs = [seconds_of(us) for us, _ in pairs], [peer_seconds(peer) for _, peer in pairs]
    return [
        str(len(pairs)),
        f"{same} of {len(costs)}",
        str(sum(us["status"] == "optimal" for us, _ in pairs)),
        str(sum(peer["status"] == "optimal" for _, peer in pairs)),
        str(sum(int(peer.get("open") or 0) for _, peer in pairs)),
        f"{mean(ours):.2f} ({max(ours):.2f})",
        f"{mean(theirs):.1f} ({max(theirs):.1f})",
        f"{geometric(inside):.1f} ({min(inside):.1f})",
        f"{geometric(whole):.1f}",
    ]


def gap_points(trace: str) -> list[tuple[float, float]]:
    """(seconds, gap in percent) from a stored trace: best cost and best bound so far.

    Searches also tell what unfinished patterns cost; a cost below the final one is such a pattern, and left out.
    """
    points = trace_points(trace)
    final = points[-1][1] if points else None
    best, proven, found = math.inf, 0.0, []
    for seconds, cost, bound in points:
        if cost is not None and final is not None and cost >= final:
            best = min(best, cost)
        proven = max(proven, min(bound or 0.0, final or 0.0))
        if math.isfinite(best):
            found.append((max(seconds, 0.01), 100.0 * (best - proven) / best if best else 0.0))
    return found


SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {"classes-total": classes_total, "study": study}
PLOTTED: dict[str, Callable[[Sequence[Row], Picture], str]] = {
    "classes": classes,
    "peer-classes": peer_classes,
    "csplib-exact": library,
    "growth": growth,
}
"""Sections that also draw."""
