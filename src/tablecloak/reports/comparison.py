"""Several methods on one problem as one confidential HTML page with plots, to choose between ways to publish.

Self-contained: no outside assets, no scripts, opens offline, prints. It says CONFIDENTIAL. The same comparison gives
the same bytes. Plots need matplotlib (``pip install tablecloak[report]``); ``plots=False`` does without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from tablecloak.errors import NotApplicable
from tablecloak.reports.plots import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    RED,
    drawing,
    percent_text,
    plain_text,
    short,
    svg_of,
)
from tablecloak.reports.report import confidential_page
from tablecloak.reports.settings import SETTINGS
from tablecloak.reports.tables import many, percent

if TYPE_CHECKING:
    from tablecloak.analysis import Comparison, MethodOutcome

COLOURS = (BLUE, "#D55E00", "#009E73", ORANGE, "#CC79A7", "#56B4E9", INK)
STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
"""Colours and dashes of the methods in plots; each pair is used once before any is used again."""
MEASURES = (
    ("vagueness", "vagueness of touched cells"),
    ("width", "exact width of touched cells"),
    ("change", "change of shown numbers"),
)
NONE = "–"


def compare_html(comparison: Comparison, *, title: str = "", plots: bool = True) -> str:
    """The page about a comparison."""
    problem, outcomes = comparison.problem, comparison.outcomes
    table = problem.table
    named = f"{table.response} by {', '.join(dimension.name for dimension in table.dimensions)}"
    rows = comparison.table()
    context = {
        "title": title or named,
        "facts": _facts(comparison),
        "rows": [_texts(row) for row in rows],
        "measured": [_texts(row) for row in rows if row["touched"] is not None],
        "exact": any(row["width_50"] is not None for row in rows),
        "kinds": sorted({outcome.kind for outcome in outcomes if outcome.kind}),
        "unbounded": any(row["unbounded"] for row in rows),
        "settings": [(outcome.name, _settings(outcome)) for outcome in outcomes],
        "plots": {
            "cost": Markup(costs_svg(outcomes) if plots else ""),
            "touched": Markup(touched_svg(rows) if plots else ""),
            "quantiles": Markup(quantiles_svg(rows) if plots else ""),
        },
        "moments": _moments(comparison),
        "best_bound": _best(comparison),
    }
    return confidential_page("compare.html", context)


def cost_plot(comparison: Comparison) -> str:
    """The plot of cost over time as an SVG file by itself, with CONFIDENTIAL on it; nothing ran: `NotApplicable`."""
    svg = costs_svg(comparison.outcomes, title="CONFIDENTIAL")
    if not svg:
        raise NotApplicable("There is no cost to draw.", needs="a method that gives a result")
    head = '<svg xmlns="http://www.w3.org/2000/svg" '
    return f"{svg.replace('<svg ', head, 1)}\n"


def check_drawing() -> None:
    """Raise `NotApplicable` where plots cannot be drawn, before long work is done for nothing."""
    if find_spec("matplotlib") is None:
        needs = "matplotlib: pip install tablecloak[report]"
        raise NotApplicable("Plots cannot be drawn here.", needs=needs)


# ---------------------------------------------------------------------- words


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    """The figures at the top."""
    problem, done = comparison.problem, [each for each in comparison.outcomes if each.result is not None]
    real = ~problem.table.is_virtual
    limit = comparison.seconds
    return [
        ("methods", f"{len(comparison.outcomes)}, {len(done)} with a result"),
        ("sensitive", f"{int((problem.sensitive & real).sum()):,} of {many(int(real.sum()), 'cell')}"),
        ("attackers", f"{len(problem.attacker_names):,}"),
        ("limit for each", "none" if limit is None else f"{limit:,.6g} s"),
        ("seed", str(comparison.seed)),
    ]


def _texts(row: Mapping[str, Any]) -> dict[str, str]:
    """A row of the comparison as texts: shares and relative amounts in percent, a dash for what there is not."""
    shares = {"gap", "best_gap", "touched_share", "value_share", "distance_hellinger"}
    texts = {
        name: _text(value, name in shares or name.startswith("relative_")) for name, value in row.items()
    }
    return {**texts, "seconds": f"{row['seconds']:,.2f}"}


def _text(value: Any, share: bool) -> str:
    if value is None or value == "":
        return NONE
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if share:
        return percent(value) if value < 1e4 else f"{100 * value:.1e} %"
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e12 else f"{value:,.6g}"


def _settings(outcome: MethodOutcome) -> list[tuple[str, str]]:
    """All parameters of a method that ran, those given of one that did not."""
    params = outcome.params if outcome.result is None else outcome.result.report.params
    return [(name, NONE if value is None else str(value)) for name, value in params.items()]


def _best(comparison: Comparison) -> str:
    """The best bound of the suppressions, where there are several; else nothing."""
    several = sum(outcome.hides for outcome in comparison.outcomes) > 1
    return _text(comparison.best_bound, False) if several and comparison.best_bound is not None else ""


def _moments(comparison: Comparison) -> dict[str, Any]:
    """The costs after some seconds: heads of columns, and a line of texts for each method."""
    found: dict[str, list[str]] = {}
    rows = comparison.over_time()
    for row in rows:
        found.setdefault(row["name"], []).append(_text(row["cost"], False))
    heads = [f"{row['seconds']:,.3g} s" for row in rows[: len(rows) // max(1, len(found))]]
    return {"heads": heads, "lines": list(found.items())}


# ---------------------------------------------------------------------- plots


def costs_svg(outcomes: Sequence[MethodOutcome], *, title: str = "") -> str:
    """Cost against seconds, one field for each kind of pattern, because their costs are in different units.

    A line is the cost of the best pattern of a method so far; a hollow triangle at its end is the proven bound. A
    dashed line is the best bound that any method proved about suppressions. Nothing ran: no plot.
    """
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes if outcome.kind))
    if not kinds:
        return ""
    moments = [outcome.seconds for outcome in outcomes if outcome.kind]
    moments += [row[0] for outcome in outcomes for row in outcome.trace]
    first, last = max(min(moments), SETTINGS.least_seconds) / 1.6, max(*moments, SETTINGS.least_seconds) * 1.6
    named = [sum(outcome.kind == kind for outcome in outcomes) for kind in kinds]
    heights = [max(2.5, 0.8 + 0.2 * number) for number in named]  # room for the names beside the lines
    with drawing("cost", 7.4, 0.6 + sum(heights)) as (figure, _):
        figure.clear()
        if title:
            figure.suptitle(title, fontsize=10, fontweight="bold", color=RED)
        fields = figure.subplots(len(kinds), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
        for axes, kind in zip(fields, kinds, strict=True):
            for number, outcome in enumerate(outcomes):
                if outcome.kind == kind:
                    _cost_line(axes, outcome, number)
            _best_bound(axes, [outcome for outcome in outcomes if outcome.kind == kind and outcome.hides])
            axes.set_xscale("log")
            axes.set_xlim(first, last)
            axes.xaxis.set_major_formatter(plain_text)
            axes.xaxis.set_minor_formatter(lambda *_: "")
            _cost_axis(axes, [outcome for outcome in outcomes if outcome.kind == kind])
            axes.set_title(kind, fontsize=9, loc="left")
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        fields[-1].set_xlabel("seconds")
        return svg_of(figure, "cost", "Cost over time of each method, and the proven bound at its end.")


def _cost_line(axes: Any, outcome: MethodOutcome, number: int) -> None:
    """The cost of a method over time, in steps, and its bound."""
    known = [(seconds, cost) for seconds, cost, _ in outcome.history if cost is not None]
    end = max(outcome.seconds, SETTINGS.least_seconds)
    seconds = np.clip([when for when, _ in known] + [end], SETTINGS.least_seconds, end)
    costs = np.array([cost for _, cost in known] + [outcome.cost], dtype=np.float64)
    look = {"color": COLOURS[number % len(COLOURS)]}
    style = STYLES[number // len(COLOURS) % len(STYLES)]
    axes.plot(seconds, costs, drawstyle="steps-post", linestyle=style, label=short(outcome.name), **look)
    axes.plot(end, outcome.cost, marker="o", markersize=5, linestyle="", clip_on=False, **look)
    if outcome.bound is not None and np.isfinite(outcome.bound):
        axes.plot([end, end], [outcome.bound, outcome.cost], linewidth=0.8, linestyle=":", **look)
        axes.plot(
            end,
            outcome.bound,
            marker="^",
            markersize=7,
            markerfacecolor="white",
            linestyle="",
            zorder=3,
            **look,
        )


def _best_bound(axes: Any, outcomes: Sequence[MethodOutcome]) -> None:
    """The best bound of several suppressions: it holds for all of them."""
    proven = [each.bound for each in outcomes if each.bound is not None and np.isfinite(each.bound)]
    if len(outcomes) > 1 and proven:
        axes.axhline(
            max(proven), color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), label="best bound", zorder=0
        )


def _cost_axis(axes: Any, outcomes: Sequence[MethodOutcome]) -> None:
    """Costs and bounds upward; logarithmic where they are of very different size and none is zero."""
    given = [number for each in outcomes for number in (each.cost, each.bound)]
    given += [cost for each in outcomes for _, cost, _ in each.history]
    figures = [number for number in given if number is not None and np.isfinite(number)] or [0.0]
    if min(figures) > 0 and max(figures) > SETTINGS.wide_range * min(figures):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.margins(y=0.12)
    else:
        axes.set_ylim(0.0, 1.12 * max(figures) or 1.0)
    axes.yaxis.set_major_formatter(plain_text)
    axes.set_ylabel("cost")


def touched_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """Bars: the share of the cells and the share of the value that each method touches. Nothing ran: no plot."""
    used = [row for row in rows if row["touched"] is not None]
    if not used:
        return ""
    with drawing("touched", 7.4, 0.9 + 0.42 * len(used)) as (figure, axes):
        place = np.arange(len(used))
        parts = (
            ("touched_share", -0.19, BLUE, "of the cells"),
            ("value_share", 0.19, ORANGE, "of the value in cells that are no totals"),
        )
        for name, shift, colour, label in parts:
            share = [row[name] or 0.0 for row in used]
            bars = axes.barh(place + shift, share, height=0.36, color=colour, label=label)
            axes.bar_label(bars, [_text(row[name], True) for row in used], padding=3, fontsize=8)
        _name_methods(axes, used)
        axes.set_xlim(
            0.0,
            1.15 * max(max(row["touched_share"] or 0.0, row["value_share"] or 0.0) for row in used) or 1.0,
        )
        axes.xaxis.set_major_formatter(percent_text)
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12 - 0.4 / len(used)), ncols=2)
        return svg_of(figure, "touched", "The share of cells and of value that each method touches.")


def quantiles_svg(rows: Sequence[Mapping[str, Any]]) -> str:
    """Quantiles of relative vagueness, exact width (where it was worked out) and change. Nothing ran: no plot."""
    used = [row for row in rows if row["touched"] is not None]
    drawn = [
        (f"relative_{name}", label)
        for name, label in MEASURES
        if name != "width" or any(row["width_50"] is not None for row in used)
    ]
    if not used:
        return ""
    with drawing("quantiles", 9.2, 1.3 + 0.34 * len(used)) as (figure, _):
        figure.clear()
        fields = figure.subplots(1, len(drawn), squeeze=False, sharey=True)[0]
        for axes, (name, label) in zip(fields, drawn, strict=True):
            for place, row in enumerate(used):
                _quantile_line(axes, place, [row[f"{name}_{part}"] for part in ("50", "90", "100")])
                if name == "relative_vagueness" and row["unbounded"]:
                    _note(axes, place, f"{row['unbounded']:,} unbounded")
            _relative_axis(axes, max((row[f"{name}_100"] or 0.0) for row in used))
            axes.set_xlabel(f"{label}, % of the value", fontsize=8)
            axes.tick_params(axis="y", length=0)
        _name_methods(fields[0], used)
        handles = [
            fields[0].plot([], [], marker=marker, color=BLUE, linestyle="")[0] for marker in ("o", "s", "D")
        ]
        words = ("half of the cells at most", "nine in ten at most", "the largest")
        figure.legend(handles, words, loc="outside lower center", ncols=3)
        return svg_of(figure, "quantiles", "Quantiles of relative vagueness and change of each method.")


def _quantile_line(axes: Any, place: int, amounts: Sequence[float | None]) -> None:
    known = [amount for amount in amounts if amount is not None]
    if not known:
        return
    axes.plot(known, [place] * len(known), color=GREY, linewidth=1.2, zorder=1)
    for amount, marker, size in zip(known, ("o", "s", "D"), (6, 5, 4.5), strict=True):
        axes.plot(amount, place, marker=marker, markersize=size, color=BLUE, linestyle="", clip_on=False)


def _note(axes: Any, place: int, text: str) -> None:
    """Words at the right end of a line."""
    axes.annotate(
        text, (1.0, place), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7, color=INK
    )


def _relative_axis(axes: Any, largest: float) -> None:
    """Zero, then decades of percent up to the largest amount, at most six of them named."""
    decades = int(np.ceil(np.log10(max(largest, 10 * SETTINGS.near_zero) / SETTINGS.near_zero) - 1e-9))
    axes.set_xscale("symlog", linthresh=SETTINGS.near_zero, linscale=0.6)
    axes.set_xlim(0.0, 1.3 * SETTINGS.near_zero * 10.0**decades)
    step = -(-(decades + 1) // 5)
    axes.set_xticks([0.0, *(SETTINGS.near_zero * 10.0**power for power in range(0, decades + 1, step))])
    axes.xaxis.minorticks_off()
    axes.xaxis.set_major_formatter(
        lambda share, _=None: f"{100 * share:,.6g}" if share < 1e4 else f"{100 * share:.0e}"
    )


def _name_methods(axes: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    axes.set_yticks(np.arange(len(rows)), [short(row["name"]) for row in rows])
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.tick_params(axis="y", length=0)
