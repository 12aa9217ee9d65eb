"""Parts of the interval methods: attainable intervals, repair, blur for print, starts."""

from tablecloak.methods.intervals.attainable import (
    BlurSettings,
    SideBounds,
    check_blur,
    hidden_by_mark,
    on_grid,
    skewed,
    snapped,
    stated,
    tightened,
)
from tablecloak.methods.intervals.recipe import (
    IntervalOptimiser,
    IntervalSettings,
    IntervalStrategy,
    OptimalIntervals,
    is_feasibility_checked,
    optimised_and_blurred,
    proposal_of,
)
from tablecloak.methods.intervals.slope_scaling import SlopeScaling
