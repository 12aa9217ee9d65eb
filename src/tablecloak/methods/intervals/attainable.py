"""Attainable intervals: what an interval method states, as tight as it can be said, without numerical noise.

An end of an interval is *attainable* if the outsider cannot exclude it. Narrowing all intervals to what is attainable
takes nothing from the attacker's region, so it costs no protection.

Reference: Fischetti & Salazar (2003), Partial cell suppression.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.auditing import audit
from tablecloak.methods.feasibility import finished_largest_pattern
from tablecloak.model import Intervals, Mark, Problem
from tablecloak.progress import Progress
from tablecloak.solvers import LP_PRECISION, UNIT_NOISE

SideBounds = tuple[Floats, Floats]
"""Deviation bounds that intervals leave: how far below and above its value each cell may lie."""


def hidden_by_mark(problem: Problem) -> Bools:
    """Cells that must not be shown even as an interval."""
    return np.asarray(problem.marks == Mark.HIDDEN)


def stated(problem: Problem, below: Floats, above: Floats, touch: float = 0.0) -> Intervals:
    """Intervals that leave these deviation bounds (infinite: nothing is stated)."""
    table, value, hidden = problem.table, problem.table.values, hidden_by_mark(problem)
    down, up = (np.where(bound > UNIT_NOISE * table.unit, bound, 0.0) for bound in (below, above))
    low = np.where(down > 0, np.minimum(_decimal(value - down, problem), value), value)
    high = np.where(up > 0, np.maximum(_decimal(value + up, problem), value), value)
    return Intervals(np.where(hidden, -np.inf, low), np.where(hidden, np.inf, high), touch)


def _decimal(ends: Floats, problem: Problem) -> Floats:
    """Ends that are integral in data units, up to the noise of floats, as the floats nearest to these decimals."""
    unit = problem.table.unit
    with np.errstate(invalid="ignore"):
        near = np.abs(ends / unit - np.rint(ends / unit)) <= UNIT_NOISE
    return np.asarray(np.where(near, np.round(ends, problem.table.decimals), ends))


def tightened(problem: Problem, below: Floats, above: Floats, cells: Bools, progress: Progress) -> SideBounds:
    """The deviation bounds of some cells narrowed to what is attainable for the outsider."""
    found = audit(
        problem, stated(problem, below, above), intervals=True, every_hidden=True, progress=progress
    )
    outsider = (found.attackers == 0) & cells[found.cells]
    which, value = found.cells[outsider], problem.table.values[found.cells[outsider]]
    tight_below, tight_above = below.copy(), above.copy()
    tight_below[which] = np.minimum(below[which], value - found.low[outsider])
    tight_above[which] = np.minimum(above[which], found.high[outsider] - value)
    return tight_below, tight_above


def snapped(problem: Problem, bounds: Floats, most: Floats, margin: float) -> Floats:
    """Bounds without the noise of linear programs, at most `most`: snapped to data units where they are near one.

    Others stay as they are without a `margin`; with one they grow by this share, and up to integral data units.
    """
    unit, finite = problem.table.unit, np.where(np.isfinite(bounds), bounds, 0.0)
    nearest = np.rint(finite / unit) * unit
    noise = np.minimum(LP_PRECISION * np.maximum(unit, finite), UNIT_NOISE * unit)
    near = np.abs(finite - nearest) <= noise
    if margin:
        finite = np.ceil(finite * (1 + margin) / unit - UNIT_NOISE) * unit
    return np.minimum(np.where(np.isfinite(bounds), np.where(near, nearest, finite), bounds), most)


def rounded_up(problem: Problem, amounts: Floats) -> Floats:
    """Amounts rounded up to integral data units, up to noise; negative ones are 0."""
    unit = problem.table.unit
    return np.asarray(np.ceil(np.maximum(amounts, 0.0) / unit - UNIT_NOISE) * unit)


def may_be_touched(problem: Problem, progress: Progress, *, check_feasibility: bool) -> Bools:
    """The cells that may be touched; with a check it raises if even all of them do not meet the requirements."""
    if not check_feasibility:
        return np.asarray(~problem.forced)
    unbounded = problem if problem.most_touched is None else replace(problem, most_touched=None)
    return finished_largest_pattern(unbounded, progress)
