"""Parts of the interval methods: attainable intervals, blur for print, starts."""

from tablecloak.methods.intervals.attainable import (
    HAIR,
    LEAST_ASYMMETRY,
    Room,
    check_blur,
    hidden_by_mark,
    may_be_touched,
    on_grid,
    repaired_in_time,
    skewed,
    snapped,
    stated,
    tightened,
)
from tablecloak.methods.intervals.blur import blurred, proposal_of
from tablecloak.methods.intervals.initial_intervals import first_intervals
from tablecloak.methods.intervals.slope_scaling import Touching

__all__ = [
    "HAIR",
    "LEAST_ASYMMETRY",
    "Room",
    "Touching",
    "blurred",
    "check_blur",
    "first_intervals",
    "hidden_by_mark",
    "may_be_touched",
    "on_grid",
    "proposal_of",
    "repaired_in_time",
    "skewed",
    "snapped",
    "stated",
    "tightened",
]
