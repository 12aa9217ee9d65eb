"""Parts of the interval methods: attainable intervals, repair, blur for print, starts."""

from tablecloak.methods.intervals.attainable import (
    SideBounds,
    hidden_by_mark,
    may_be_touched,
    snapped,
    stated,
    tightened,
)
from tablecloak.methods.intervals.blur import BlurSettings, check_blur, on_grid, skewed
from tablecloak.methods.intervals.recipe import OptimalIntervals, optimised_and_blurred, proposal_of
from tablecloak.methods.intervals.repair import repaired_in_time
from tablecloak.methods.intervals.settings import IntervalSettings, IntervalStrategy, is_feasibility_checked
from tablecloak.methods.intervals.slope_scaling import SlopeScaling

__all__ = [
    "BlurSettings",
    "IntervalSettings",
    "IntervalStrategy",
    "OptimalIntervals",
    "SideBounds",
    "SlopeScaling",
    "check_blur",
    "hidden_by_mark",
    "is_feasibility_checked",
    "may_be_touched",
    "on_grid",
    "optimised_and_blurred",
    "proposal_of",
    "repaired_in_time",
    "skewed",
    "snapped",
    "stated",
    "tightened",
]
