"""Sections of the report about exposure sets and about suppression methods side by side: `SECTIONS` by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import mean, median, stdev
from typing import Any

import numpy as np

from cases.base import trace_points
from cases.methods import AUTO
from cases.serpell import ALL, PROGRAMS, SETS
from reports import plots
from reports.layout import geometric, grouped, number, rounded, table, title_of
from reports.plots import Picture
from runner import Row

PAPER_SETS = {
    "E": ("313", "0", "9.27", "9.27"),
    "K1": ("313", "11", "23.64", "20.13"),
    "K3": ("318", "101", "28.81", "-2.95"),
    "K5": ("313", "0", "11.75", "11.75"),
}
"""Serpell et al., Tables 3 and 5: tables, failed, saving and adjusted saving in percent."""
PAPER_RESAMPLED = {"E": "14.95 (4.31)", "K5": "22.98 (4.87)"}
"""Mean saving and its standard deviation on 200 bootstrapped tables, in percent."""
PAPER_FASTER = {"ilp": (71.3, 26.4, 2.3), "kelly": (90.2, 7.9, 1.9), "elimination": (91.0, 4.5, 4.5)}
"""Serpell et al., Table 6: less processor time with K5, without it, equal, in percent of the tables."""
PAPER_CHEAPER = {"kelly": (14.2, 4.0, 81.8)}
"""Cheaper with K5, without it, the same, in percent of 1834 tables."""
TITLES = {"ilp": "integer program", "kelly": "Kelly's linear programs", "elimination": "elimination"}
EQUAL_SECONDS = 0.001
"""Times this near to each other are equal."""
CLOSE = 1e-9
LEAST = 1e-12
"""A ratio is not smaller than this in a geometric mean."""
EARLIEST = 0.01
"""Seconds at which the plot begins."""
ALLOWED = 1.01
"""Maximum factor by which suppress-auto may cost more than the best other method on an instance."""


# ---------------------------------------------------------------------- Serpell et al.


def serpell(rows: Sequence[Row]) -> str:
    """The paper's Tables 2, 3, 5 and 6, ours beside its figures, with its tests."""
    rows = [row for row in rows if row.get("kept_K5")]
    if not rows:
        return "No table was measured."
    parts = (
        ("The tables", _shapes(rows)),
        ("Savings and failures (Tables 3 and 5)", _failures(rows)),
        ("Processor time with and without K5 (Table 6)", _times(rows)),
        ("Cost with and without K5", _costs(rows)),
    )
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts)


def _shapes(rows: Sequence[Row]) -> str:
    head = ("shape", "tables", "cells", "sensitive %", *(f"{name} saves %" for name in SETS))
    lines = []
    for shape, some in [*grouped(rows, "shape").items(), ("all", list(rows))]:
        sizes = [int(row["cells"]) for row in some]
        shares = [100 * int(row["sensitive"]) / int(row["cells"]) for row in some]
        lines.append(
            [
                shape,
                str(len(some)),
                f"{min(sizes):,} to {max(sizes):,}",
                f"{min(shares):.1f} to {max(shares):.1f}",
                *(f"{mean(savings(some, name)):.2f}" for name in SETS),
            ]
        )
    return table(head, lines)


def savings(rows: Sequence[Row], name: str) -> list[float]:
    """How many of the sensitive cells a set leaves out, in percent, for each table."""
    return [100 * (1 - int(row[f"kept_{name}"]) / int(row["sensitive"])) for row in rows]


def _failures(rows: Sequence[Row]) -> str:
    """A line for each set: of the tables whose integer program was solved, how many are not protected."""
    head = ["set", "tables", "solved", "failed", "saving %", "adjusted %"]
    head += ["paper: tables", "failed", "saving %", "adjusted %"]
    lines = []
    for name in SETS:
        solved = [row for row in rows if row.get(f"ilp_status_{name}") == "optimal"]
        failed = sum(row[f"ilp_open_{name}"] != "0" for row in solved)
        saving = mean(savings(rows, name))
        again = 100 * failed / len(solved) if solved else 0.0
        counts = [str(len(rows)), str(len(solved)), str(failed)]
        lines.append([name, *counts, f"{saving:.2f}", f"{saving - again:.2f}", *PAPER_SETS[name]])
    texts = [
        table(head, lines),
        f"K5 saves more than E: {paired_test(savings(rows, 'K5'), savings(rows, 'E'))}.",
        *_dimensions(rows),
    ]
    return "\n\n".join(texts)


def _dimensions(rows: Sequence[Row]) -> list[str]:
    """The savings on two-way and three-way tables, by the test of Kruskal and Wallis."""
    from scipy.stats import kruskal

    groups = [[row for row in rows if row["shape"].startswith(start)] for start in ("two", "three")]
    if not all(groups):
        return []
    told = []
    for name in ("E", "K5"):
        two, three = (savings(some, name) for some in groups)
        if len({*two, *three}) > 1:
            test = kruskal(two, three)
            told.append(
                f"{name} saves {mean(two):.2f}% on two-way and {mean(three):.2f}% on three-way tables "
                f"(Kruskal-Wallis H = {test.statistic:.2f}, p = {test.pvalue:.2g})"
            )
    return [f"{'; '.join(told)}."] if told else []


def _times(rows: Sequence[Row]) -> str:
    """Who is faster, without and with the seconds that finding the sets takes."""
    head = ["program", "tables", "less with K5 %", "less without %", "equal %", "times faster", "Wilcoxon"]
    head += ["paper: with", "without", "equal"]
    lines = []
    for program in PROGRAMS:
        for finding in (False, True):
            some = _ended(rows, program)
            pairs = [
                (
                    number(row[f"{program}_s_K5"]) + finding * number(row["exposure_s"]),
                    number(row[f"{program}_s_{ALL}"]),
                )
                for row in some
            ]
            name = TITLES[program] + (" and finding K5" if finding else "")
            beside = [f"{share:.1f}" for share in PAPER_FASTER[program]] if not finding else [""] * 3
            lines.append(
                [
                    name,
                    str(len(pairs)),
                    *_shares(pairs, EQUAL_SECONDS),
                    _faster(pairs),
                    *_test(pairs),
                    *beside,
                ]
            )
    return table(head, lines)


def _costs(rows: Sequence[Row]) -> str:
    """Who is cheaper; a pattern with K5 that leaves cells open is no pattern, and is counted apart."""
    head = [
        "program",
        "tables",
        "K5 left open",
        "cheaper with K5 %",
        "cheaper without %",
        "same %",
        "Wilcoxon",
    ]
    head += ["paper: with", "without", "same"]
    lines = []
    for program in PROGRAMS:
        some = _ended(rows, program)
        safe = [row for row in some if row[f"{program}_open_K5"] == "0"]
        pairs = [(number(row[f"{program}_cost_K5"]), number(row[f"{program}_cost_{ALL}"])) for row in safe]
        beside = [f"{share:.1f}" for share in PAPER_CHEAPER.get(program, ())] or [""] * 3
        left = str(len(some) - len(safe))
        lines.append([TITLES[program], str(len(pairs)), left, *_shares(pairs, CLOSE), *_test(pairs), *beside])
    return table(head, lines)


def _ended(rows: Sequence[Row], program: str) -> list[Row]:
    """Tables where the program came to its end before the limit, with and without K5."""
    statuses = [f"{program}_status_{name}" for name in ("K5", ALL)]
    return [row for row in rows if all(row.get(name) in ("optimal", "feasible") for name in statuses)]


def _shares(pairs: Sequence[tuple[float, float]], equal: float) -> list[str]:
    """In how many pairs the first is less, the second is less, and neither, in percent."""
    if not pairs:
        return ["–"] * 3
    less = sum(first < second - equal for first, second in pairs)
    more = sum(second < first - equal for first, second in pairs)
    return [f"{100 * count / len(pairs):.1f}" for count in (less, more, len(pairs) - less - more)]


def _faster(pairs: Sequence[tuple[float, float]]) -> str:
    return f"{median(second / first for first, second in pairs if first > 0):.2f}" if pairs else "–"


def _test(pairs: Sequence[tuple[float, float]]) -> list[str]:
    return [paired_test([first for first, _ in pairs], [second for _, second in pairs])]


def paired_test(first: Sequence[float], second: Sequence[float]) -> str:
    """Wilcoxon's signed-rank test of pairs, two-sided, with the effect size r = |z| / sqrt(pairs)."""
    from scipy.stats import wilcoxon

    differences = [a - b for a, b in zip(first, second, strict=True)]
    if not any(differences):
        return "no pair differs"
    test: Any = wilcoxon(np.array(differences), method="approx")
    return f"p = {test.pvalue:.2g}, r = {abs(test.zstatistic) / math.sqrt(len(differences)):.2f}"


def resampled(rows: Sequence[Row]) -> str:
    """What the sets save on the resampled tables: mean and standard deviation."""
    rows = [row for row in rows if row.get("kept_K5")]
    if len(rows) < 2:
        return "Fewer than two tables were measured."
    sizes = [int(row["cells"]) for row in rows]
    shares = [100 * int(row["sensitive"]) / int(row["cells"]) for row in rows]
    lines = []
    for name in SETS:
        found = savings(rows, name)
        lines.append([name, f"{mean(found):.2f} ({stdev(found):.2f})", PAPER_RESAMPLED.get(name, "")])
    seconds = [number(row["exposure_s"]) for row in rows]
    return "\n\n".join(
        [
            table(("set", "saving %", "paper"), lines),
            f"{len(rows)} tables of {min(sizes):,} to {max(sizes):,} cells, {min(shares):.1f} to {max(shares):.1f}% of "
            f"them sensitive; all sets of a table take {median(seconds):.2f} s (median), at most {max(seconds):.2f} s.",
            f"K5 saves more than E: {paired_test(savings(rows, 'K5'), savings(rows, 'E'))}.",
        ]
    )


# ---------------------------------------------------------------------- all methods


def methods(rows: Sequence[Row], picture: Picture) -> str:
    """suppress-auto beside the best other method, its way there, and a table for each instance."""
    columns = "cost bound gap_percent complementary status seconds open own_cost own_open"
    head = (
        "method",
        "cost",
        "bound",
        "gap %",
        "complementary",
        "status",
        "s",
        "open",
        "own cost",
        "own open",
    )
    texts = [beside_others(rows), *_way_there(rows, picture)]
    for name, some in grouped(rows, "name").items():
        best = min((number(row["cost"]) for row in some if is_safe(row)), default=math.inf)
        lines = [
            [row["method"], *rounded(row, "cost"), above(row, best), *rounded(row, columns.partition(" ")[2])]
            for row in some
        ]
        shown = table((*head[:2], "above the best %", *head[2:]), lines)
        texts.append(f"{title_of(name, some)}\n\n{shown}")
    return "\n\n".join(texts)


def _way_there(rows: Sequence[Row], picture: Picture) -> list[str]:
    """How far suppress-auto is above the best bound of all methods, over time, where it takes more than a second."""
    series: dict[str, list[tuple[float, float]]] = {}
    for name, some in grouped(rows, "name").items():
        bounds = [number(row["bound"]) for row in some if row.get("bound")]
        for row in some:
            if row["method"] == AUTO and is_safe(row) and row.get("trace") and number(row["seconds"]) > 1:
                points = gaps_over_time(row["trace"], number(row["cost"]), max(bounds, default=0.0))
                series |= {name: points} if points else {}
    if not series:
        return []
    path, shown = picture("methods", "how far suppress-auto is above the best bound, over time")
    plots.gaps(path, series)
    return [f"{shown}\n\nThe cost of suppress-auto over time: its gap to the best bound of all methods."]


def gaps_over_time(trace: str, final: float, bound: float) -> list[tuple[float, float]]:
    """(seconds, gap in percent) of the best pattern so far; a cost below the final one is of an unfinished pattern."""
    best, found = math.inf, []
    for seconds, cost, _ in trace_points(trace):
        if cost is not None and cost >= final * (1 - CLOSE):
            best = min(best, cost)
        if math.isfinite(best):
            gap = 100 * max(0.0, best - bound) / best if best > 0 else 0.0
            found.append((max(seconds, EARLIEST), gap))
    return found


def above(row: Row, best: float) -> str:
    """How far the cost is above the best one, in percent."""
    if not is_safe(row):
        return ""
    return f"{100 * (ratio(number(row['cost']), best) - 1):.2f}"


def is_safe(row: Row) -> bool:
    """Whether there is a pattern, and the audit finds nothing open."""
    return bool(row.get("cost")) and row.get("open") == "0"


def ratio(cost: float, best: float) -> float:
    """How many times the best cost; nothing is not more than nothing."""
    if best > 0:
        return cost / best
    return 1.0 if cost <= 0 else math.inf


def beside_others(rows: Sequence[Row]) -> str:
    """suppress-auto against the best other method on each instance, and what they come to."""
    lines, ratios = [], []
    for name, some in grouped(rows, "name").items():
        auto = next((row for row in some if row["method"] == AUTO and is_safe(row)), None)
        others = [row for row in some if row["method"] != AUTO and is_safe(row)]
        if auto is None or not others:
            continue
        best = min(others, key=lambda row: number(row["cost"]))
        ratios.append(ratio(number(auto["cost"]), number(best["cost"])))
        lines.append(
            [
                name,
                *rounded(auto, "cost gap_percent seconds"),
                best["method"],
                *rounded(best, "cost gap_percent seconds"),
                f"{100 * (ratios[-1] - 1):+.3f}",
            ]
        )
    if not lines:
        return "No instance has rows of suppress-auto and of another method yet."
    head = (AUTO, "gap %", "s", "best other", "cost", "gap %", "s", "suppress-auto above it %")
    within = sum(one <= ALLOWED for one in ratios)
    together = geometric([max(one, LEAST) for one in ratios])
    return "\n\n".join(
        [
            table(("instance", *head), lines),
            f"At most 1% above the best other method: {within} of {len(ratios)}. "
            f"Largest {100 * (max(ratios) - 1):+.3f}%, geometric mean {100 * (together - 1):+.3f}%.",
        ]
    )


def million(rows: Sequence[Row]) -> str:
    """The whole chain on a million cells: a line for each method."""
    names = "method cells sensitive tabulate_s assess_s protect_s seconds peak_mb cost bound gap_percent status open"
    return table(names.split(), [rounded(row, names) for row in rows])


SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {
    "serpell": serpell,
    "serpell-resampled": resampled,
    "million": million,
}
PLOTTED: dict[str, Callable[[Sequence[Row], Picture], str]] = {"methods": methods}
"""Sections that also draw."""
