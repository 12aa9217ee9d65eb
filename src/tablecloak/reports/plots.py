"""Plots for the confidential report, as inline SVG: interval widths, where the loss is, cost over time.

Needs matplotlib (``pip install tablecloak[report]``), which is imported by the first plot. The same input gives the
same bytes. Colours are those of Okabe and Ito, which most colour-blind readers can tell apart. Everything drawn is
confidential.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import Any

import numpy as np

from tablecloak.analysis import loss_grid, loss_of_cells, losses_by_code
from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import NotApplicable
from tablecloak.model import Audit, Dimension, Mark, Mixed, Pattern, Problem, Report, Suppression
from tablecloak.reports.settings import SETTINGS

BLUE, ORANGE, RED, GREY, PALE, INK = "#0072B2", "#E69F00", "#D55E00", "#8a8a8a", "#eceae4", "#222222"
STYLE: Any = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9.0,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


def widths_svg(problem: Problem, audit: Audit) -> str:
    """What attackers are left with against what is required, both relative to the value; nothing asked: no plot.

    Of the requirements of a question (below, above, width) the one that is met most narrowly is drawn.
    """
    rows, required, reached = tightest(audit, problem.table.values)
    if rows.size == 0:
        return ""
    scale = np.maximum(np.abs(problem.table.values[audit.cells[rows]]), problem.table.unit)
    x, y = required / scale, reached / scale
    inside, outsider, safe = np.isfinite(y), audit.attackers[rows] == 0, audit.safe_rows[rows]
    positive = np.concatenate([x, y[inside & (y > 0)]])
    floor, roof, right = (float(edge) for edge in (positive.min() / 2, positive.max() * 2, x.max() * 2))
    y = np.clip(np.where(inside, y, roof), floor, roof)
    with drawing("widths", 6.4, 4.2) as (figure, axes):
        _log_axes(axes, (floor, right), (floor * 0.8, roof * 1.25))
        axes.plot(
            [floor, right], [floor, right], color=INK, linewidth=1, linestyle=(0, (5, 3)), label="required"
        )
        axes.fill_between(
            [floor, right], [floor * 0.8] * 2, [floor, right], color=RED, alpha=0.07, linewidth=0
        )
        if rows.size > SETTINGS.points:
            _density(figure, axes, x, y)
        groups = [
            (safe & outsider & (rows.size <= SETTINGS.points), BLUE, "o", "outsider"),
            (safe & ~outsider & (rows.size <= SETTINGS.points), ORANGE, "^", "insiders"),
            (_first(~safe, SETTINGS.points), RED, "X", "open"),
        ]
        for where, colour, marker, name in groups:
            if where.any():
                look = {"s": 30, "c": colour, "marker": marker, "alpha": 0.8, "linewidths": 0, "zorder": 3}
                axes.scatter(x[where], y[where], label=name, **look)
        axes.set_xlabel("distance required, % of the value")
        axes.set_ylabel(f"distance left{'' if audit.exact else ', at least'}, % of the value")
        if not inside.all():
            axes.annotate(
                "no limit", (0.01, 0.985), xycoords="axes fraction", va="top", fontsize=8, color=GREY
            )
        axes.legend(loc="lower right" if rows.size > SETTINGS.points else "best")
        text = (
            "Distances left to attackers against distances required; what lies below the dashed line is open."
        )
        return svg_of(figure, "widths", text)


def _log_axes(axes: Any, across: tuple[float, float], upward: tuple[float, float]) -> None:
    """Both axes logarithmic, in percent; steps of 1, 2, 5 are named where there is room."""
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*across)
    axes.set_ylim(*upward)
    for axis, (low, high) in ((axes.xaxis, across), (axes.yaxis, upward)):
        near = high / low < 300
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if near else (1.0,), numticks=12))
        axis.set_major_formatter(percent_text)
        axis.set_minor_formatter(lambda *_: "")


def _density(figure: Any, axes: Any, x: Floats, y: Floats) -> None:
    """Many points, counted in fields of equal size on the logarithmic axes; empty fields are not drawn."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    limits: Any = axes.get_xlim(), axes.get_ylim()
    across, upward = (np.geomspace(low, high, SETTINGS.bins + 1) for low, high in limits)
    counts = np.histogram2d(x, y, (across, upward))[0]
    i, j = np.nonzero(counts)
    corners = [(across[i + right], upward[j + up]) for right, up in ((0, 0), (1, 0), (1, 1), (0, 1))]
    fields = PolyCollection(
        list(np.moveaxis(np.array(corners), 2, 0)), cmap="cividis_r", linewidths=0, zorder=3
    )
    fields.set_array(counts[i, j])
    fields.set_norm(LogNorm(1, max(10.0, float(counts.max()))))
    axes.add_collection(fields, autolim=False)
    bar = figure.colorbar(fields, ax=axes, label="questions")
    bar.ax.yaxis.set_major_formatter(plain_text)
    bar.ax.yaxis.set_minor_formatter(lambda *_: "")


def tightest(audit: Audit, values: Floats) -> tuple[Ints, Floats, Floats]:
    """Rows with a requirement; of the requirement met most narrowly what is required and what is left."""
    value = values[audit.cells]
    required = np.stack([audit.required_lower, audit.required_upper, audit.required_sliding])
    reached = np.stack([value - audit.low, audit.high - value, audit.high - audit.low])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(required > 0, reached / required, np.inf)
    ratio = np.where(required > 0, np.minimum(ratio, 1e300), np.inf)
    which, rows = ratio.argmin(axis=0), np.flatnonzero((required > 0).any(axis=0))
    return rows, required[which[rows], rows], np.maximum(reached[which[rows], rows], 0.0)


def loss_svg(problem: Problem, pattern: Pattern) -> str:
    """Where the loss is: a map of two dimensions, or bars by code of one; no plot for cells that have only names."""
    dimensions = problem.table.dimensions
    useful = [d for d, dimension in enumerate(dimensions) if dimension.hierarchies]
    if not useful:
        return ""
    if len(useful) == 1:
        return _bars(problem, pattern, useful[0])
    by_size = sorted(
        useful, key=lambda d: (len(dimensions[d].codes) > 2 * SETTINGS.labels, -len(dimensions[d].codes))
    )
    first, second = by_size[:2]
    if len(dimensions[second].codes) > len(dimensions[first].codes):
        first, second = second, first
    return _map(problem, pattern, first, second)


def trace_svg(report: Report) -> str:
    """Cost and proven bound over time; no plot where nothing was recorded."""
    if not report.trace:
        return ""
    seconds = np.array([row[0] for row in report.trace])
    cost, bound = (np.array([np.nan if row[i] is None else row[i] for row in report.trace]) for i in (1, 2))
    with drawing("trace", 6.4, 3.2) as (figure, axes):
        for line, colour, name in ((cost, BLUE, "cost"), (bound, RED, "proven bound")):
            known = np.isfinite(line)
            if known.any():
                axes.plot(
                    np.append(seconds[known], seconds[-1]),
                    np.append(line[known], line[known][-1]),
                    drawstyle="steps-post",
                    color=colour,
                    marker="o",
                    markersize=3.5 if known.sum() < 100 else 0,
                    linestyle="-" if colour == BLUE else (0, (5, 2)),
                    label=name,
                )
        axes.set_xlim(0.0, float(seconds[-1]) * 1.03 or 1.0)
        axes.set_xlabel("seconds")
        axes.set_ylabel("cost")
        axes.yaxis.set_major_formatter(plain_text)
        axes.xaxis.set_major_formatter(plain_text)
        axes.legend()
        return svg_of(figure, "trace", "Cost and proven bound over time.")


# ---------------------------------------------------------------------- maps and bars


def _map(problem: Problem, pattern: Pattern, first: int, second: int) -> str:
    """A coloured field for each pair of codes: what was done with the cell, or the loss of all cells of the pair."""
    rows, columns = (problem.table.dimensions[d] for d in (first, second))
    kinds = len(problem.table.dimensions) == 2 and isinstance(pattern, Suppression | Mixed)
    grid = _kinds(problem, pattern, first, second) if kinds else loss_grid(problem, pattern, first, second)
    there = ~np.isnan(grid)
    used = [np.flatnonzero(there.any(axis=axis)) for axis in (1, 0)]
    grid = grid[np.ix_(*used)]
    height = float(np.clip(0.19 * grid.shape[0] + 1.3, 2.2, 10.0))
    width = float(np.clip(0.3 * grid.shape[1] + 2.6, 4.8, 9.0))
    with drawing("loss", width, height) as (figure, axes):
        from matplotlib.colors import ListedColormap

        colours: Any = ListedColormap([PALE, BLUE, RED, GREY]) if kinds else "cividis_r"
        limits = {"vmin": -0.5, "vmax": 3.5} if kinds else {"vmin": 0.0}
        if grid.size <= SETTINGS.rectangles:
            drawn = axes.pcolormesh(grid, cmap=colours, edgecolors="white", linewidth=0.6, **limits)
        else:
            extent = (0, grid.shape[1], 0, grid.shape[0])
            drawn = axes.imshow(
                grid,
                cmap=colours,
                origin="lower",
                extent=extent,
                aspect="auto",
                interpolation="nearest",
                **limits,
            )
        axes.set_ylim(grid.shape[0], 0)
        _name_codes(axes, (columns, used[1]), (rows, used[0]))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        if kinds:
            _legend(axes, grid)
        else:
            bar = figure.colorbar(drawn, ax=axes, label=_measure(pattern), shrink=0.8)
            bar.ax.yaxis.set_major_formatter(percent_text)
        return svg_of(figure, "loss", f"The loss by {rows.name} and {columns.name}.")


def _kinds(problem: Problem, pattern: Pattern, first: int, second: int) -> Floats:
    """0 published, 1 complementary, 2 sensitive, 3 marked to be hidden; NaN where there is no cell."""
    table = problem.table
    grid = np.full((len(table.dimensions[first].codes), len(table.dimensions[second].codes)), np.nan)
    real = ~table.is_virtual
    grid[table.codes[real, first], table.codes[real, second]] = _kind(problem, pattern)[real]
    return grid


def _kind(problem: Problem, pattern: Pattern) -> Ints:
    touched = pattern.touched(problem)
    kind = np.select([problem.sensitive, problem.marks == Mark.HIDDEN], [2, 3], 1)
    return np.where(touched, kind, 0)


def _legend(axes: Any, kinds: Floats | Ints, **place: Any) -> None:
    from matplotlib.patches import Patch

    names = ((PALE, "published"), (BLUE, "complementary"), (RED, "sensitive"), (GREY, "marked to be hidden"))
    there = [Patch(color=colour, label=name) for n, (colour, name) in enumerate(names) if (kinds == n).any()]
    place = place or {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(handles=there, handlelength=1, handleheight=1, **place)


def _bars(problem: Problem, pattern: Pattern, dimension: int) -> str:
    """A bar for each code: its value, coloured by what was done with it, or the share of its cells that is touched."""
    single = len(problem.table.dimensions) == 1
    axis = problem.table.dimensions[dimension]
    if single:
        amount, kind = np.zeros(len(axis.codes)), np.zeros(len(axis.codes), dtype=np.int64)
        real = np.flatnonzero(~problem.table.is_virtual)
        amount[problem.table.codes[real, dimension]] = np.abs(problem.table.values[real])
        exact = isinstance(pattern, Suppression | Mixed)
        kind[problem.table.codes[real, dimension]] = (
            _kind(problem, pattern)[real] if exact else (loss_of_cells(problem, pattern) > 0)[real]
        )
    else:
        found = losses_by_code(problem, pattern, dimension)
        cells, touched = (getattr(found.leaves, n) + getattr(found.totals, n) for n in ("cells", "touched"))
        amount, kind = np.divide(touched, np.maximum(cells, 1)), np.ones(cells.size, dtype=np.int64)
    chosen = np.sort(np.argsort(-amount, kind="stable")[: SETTINGS.bars])
    with drawing("loss", 6.4, float(np.clip(0.2 * chosen.size + 1.0, 1.8, 9.0))) as (figure, axes):
        colours = np.array([GREY if single else PALE, BLUE, RED, INK])
        axes.barh(np.arange(chosen.size), amount[chosen], color=colours[kind[chosen]], height=0.75)
        axes.set_yticks(np.arange(chosen.size), [short(axis.codes[code]) for code in chosen])
        axes.set_ylim(chosen.size - 0.4, -0.6)
        axes.xaxis.set_major_formatter(plain_text if single else percent_text)
        axes.set_xlabel("value" if single else _measure(pattern))
        if single:
            names = ((GREY, "published"), (BLUE, "complementary"), (RED, "sensitive"), (INK, "marked"))
            from matplotlib.patches import Patch

            there = [
                Patch(color=c, label=name) for n, (c, name) in enumerate(names) if (kind[chosen] == n).any()
            ]
            axes.legend(handles=there, handlelength=1, handleheight=1)
        return svg_of(figure, "loss", f"The loss by {axis.name}.")


def _measure(pattern: Pattern) -> str:
    return "cells not published exactly" if not hasattr(pattern, "shown") else "mean relative change"


def _name_codes(axes: Any, columns: tuple[Dimension, Ints], rows: tuple[Dimension, Ints]) -> None:
    """The codes used along both axes, as many as there is room for; codes below others are indented."""
    for axis, (dimension, used), sideways in ((axes.xaxis, columns, True), (axes.yaxis, rows, False)):
        places = np.arange(0, used.size, -(-used.size // SETTINGS.labels))
        depth = dict(
            zip(dimension.hierarchies[0].codes, dimension.hierarchies[0].depth.tolist(), strict=True)
        )
        names = [
            ("" if sideways else "\u2002" * int(depth.get(code, 0))) + short(code)
            for code in (dimension.codes[used[place]] for place in places)
        ]
        upright = sideways and (len(places) > 12 or max(map(len, names)) > 5)
        axis.set_ticks(places + 0.5, names, rotation=90 if upright else 0)
        if not sideways:
            for label in axis.get_ticklabels():
                label.set_horizontalalignment("left")
            longest = max(map(len, names))
            axis.set_tick_params(pad=5.4 * longest + 2)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(short(columns[0].name))
    axes.set_ylabel(short(rows[0].name))


# ---------------------------------------------------------------------- drawing


@contextmanager
def drawing(name: str, width: float, height: float) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes, in our style; needs matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise NotApplicable(
            "Plots cannot be drawn here.", needs="matplotlib: pip install tablecloak[report]"
        ) from None
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": f"tablecloak {name}"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def svg_of(figure: Any, name: str, description: str) -> str:
    """The figure as an element for a page: no addresses, no date, no names that could clash with other plots."""
    stream = StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", text))
    kept = {one or other for one, other in used}
    text = re.sub(
        r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in kept else "", text
    )
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"href=\"#([^\"]+)\"", rf'href="#{name}-\1"', text)
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', text[:400])[:2])
    head = (
        f'<svg role="img" aria-label="{escape(description)}" viewBox="0 0 {width:g} {height:g}" '
        f'style="width:100%;max-width:{1.34 * width:.0f}px">'
    )
    return head + text[text.index(">") + 1 :].strip()


def _first(where: Bools, most: int) -> Bools:
    """At most `count` entries of a mask, the first ones."""
    return where & (np.cumsum(where) <= most)


def short(text: str) -> str:
    """A label on one line, cut where it is too long for a plot."""
    plain = " ".join(text.split()) or " "
    return plain if len(plain) <= SETTINGS.label_length else plain[: SETTINGS.label_length - 1] + "…"


def percent_text(share: float, _position: int | None = None) -> str:
    """A share in percent, for the ticks of an axis."""
    return f"{100 * share:,.6g} %"


def plain_text(number: float, _position: int | None = None) -> str:
    """A number with separators, for the ticks of an axis."""
    return f"{number:,.6g}"
