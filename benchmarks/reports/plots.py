"""Plots of stored rows as SVG files that come out the same each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

COLOURS = ("#1b6ca8", "#c44e1c", "#3a7d34", "#7a4fa3", "#8a6d1f", "#5b5b5b")
MARKERS = ("o", "s", "^", "D", "v", "P")
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "tablecloak",
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

LEAST = 0.001
"""What is plotted on a logarithmic axis should be at least this."""
Picture = Callable[[str, str], tuple[Path, str]]
"""Where a plot of such a name and description goes, and how a page shows it: `Report.picture`."""
Points = Sequence[tuple[float, float, bool]]
"""x, y, and whether it was finished (filled marker) or stopped by the limit (open marker)."""


def scatter(path: Path, series: Mapping[str, Points], x: str, y: str, line: bool = True) -> None:
    """Points on logarithmic axes; `line` joins the medians of points at the same x, else a line marks equal ones."""
    with _figure(path, x, y) as axes:
        for number, (name, points) in enumerate(series.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            for finished in (True, False):
                chosen = [(a, b) for a, b, done in points if done is finished]
                face = colour if finished else "none"
                if chosen:
                    axes.scatter(
                        *zip(*chosen, strict=True), s=18, marker=marker, facecolors=face, edgecolors=colour
                    )
            if line:
                axes.plot(*zip(*medians(points), strict=True), color=colour, lw=1.2)
            axes.plot((), (), color=colour, marker=marker, ms=4, ls="-" if line else "", label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        if not line:
            axes.axline((0.01, 0.01), (100, 100), color="#999999", lw=0.8, ls="--", label="equal")
        _plain(axes.xaxis, axes.yaxis)
        axes.legend(frameon=False)


def by_number(path: Path, series: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> None:
    """Lines over numbered instances, y from zero on."""
    with _figure(path, x, y) as axes:
        for number, (name, points) in enumerate(series.items()):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=3, lw=0.9, label=name)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)


def gaps(path: Path, series: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """How the proven gap went down: a step line an instance."""
    with _figure(path, "seconds", "gap (%)") as axes:
        for number, (name, points) in enumerate(series.items()):
            style = ("-", "--", ":")[number // len(COLOURS) % 3]
            axes.step(
                *zip(*points, strict=True),
                where="post",
                color=COLOURS[number % len(COLOURS)],
                ls=style,
                lw=1.2,
                label=name,
            )
        axes.set_xscale("log")
        _plain(axes.xaxis)
        axes.set_ylim(0, 100)
        axes.legend(frameon=False, fontsize=7, ncols=2)


def medians(points: Points) -> list[tuple[float, float]]:
    """The median y at each x."""
    found: dict[float, list[float]] = {}
    for x, y, _ in points:
        found.setdefault(x, []).append(y)
    return [(x, sorted(ys)[len(ys) // 2]) for x, ys in sorted(found.items())]


def _plain(*log_axes: Any) -> None:
    """Plain numbers at 1, 2, 5, 10, 20, ..."""
    from matplotlib.ticker import LogLocator

    for axis in log_axes:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("")


class _figure:
    """Axes of a figure that is written when the block ends."""

    def __init__(self, path: Path, x: str, y: str) -> None:
        self.path, self.labels = path, (x, y)

    def __enter__(self) -> Any:
        import matplotlib
        from matplotlib.figure import Figure

        self.settings = matplotlib.rc_context(SETTINGS)
        self.settings.__enter__()
        self.figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = self.figure.add_subplot()
        axes.set_xlabel(self.labels[0])
        axes.set_ylabel(self.labels[1])
        return axes

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.figure.savefig(self.path, format="svg", metadata={"Date": None, "Creator": None})
        self.settings.__exit__(*error)
