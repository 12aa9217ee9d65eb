"""What reports show, and how much of it: numbers that readability has settled, no method depends on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReportSettings:
    """Limits of tables and plots; more than that makes pages slow or unreadable. Untested defaults, chosen by eye."""

    attackers: int = 8
    """Maximum number of attackers listed for a cell, the worst first."""
    cells: int = 200
    """Maximum number of cells listed for a rule, and of protectors listed for a cell."""
    points: int = 2_000
    """Maximum number of points of a scatter plot; more of them are counted in bins."""
    bins: int = 49
    """Number of bins along each axis of such a plot."""
    bars: int = 40
    """Maximum number of bars of a plot."""
    labels: int = 45
    """Maximum number of codes named along an axis."""
    rectangles: int = 1_500
    """Maximum number of cells of a map that is drawn as rectangles; larger maps are a picture inside the SVG."""
    label_length: int = 26
    """Maximum number of characters of a label."""
    least_seconds: float = 1e-3
    """Left end of the logarithmic axis of seconds."""
    near_zero: float = 0.01
    """Share below which the axis of relative amounts is linear, so that zero has a place on it."""
    wide_range: float = 20.0
    """Ratio of the largest to the smallest cost from which on the axis of costs is logarithmic."""


SETTINGS = ReportSettings()
