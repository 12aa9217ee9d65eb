"""Parts of the perturbation methods: controlled tabular adjustment, ranges, integer units."""

from tablecloak.methods.adjustment.block_descent import CLOSE, Descent
from tablecloak.methods.adjustment.integer_units import (
    WholeSettings,
    adds_up,
    fewest_digits,
    fewest_digits_until,
)
from tablecloak.methods.adjustment.least_squares import least_squares_move, square_sum, towards_squares
from tablecloak.methods.adjustment.model import Adjustment, Move
from tablecloak.methods.adjustment.protected import (
    COUNTED_ON,
    FIRST,
    FRACTIONS,
    Attempt,
    against_attackers,
    by_balancing,
    by_leaves,
    form_of,
    made,
    needs_first,
    opened,
    out_of_reach,
    price_unit,
    without_attackers,
)
from tablecloak.methods.adjustment.reach import Ranges, ReachRule, check_shown, cost_of, pattern_of, ranges_of
from tablecloak.methods.adjustment.reweighted_start import MENDED, distance_bound, mended, quick_move

__all__ = [
    "CLOSE",
    "COUNTED_ON",
    "FIRST",
    "FRACTIONS",
    "MENDED",
    "Adjustment",
    "Attempt",
    "Descent",
    "Move",
    "Ranges",
    "ReachRule",
    "WholeSettings",
    "adds_up",
    "against_attackers",
    "by_balancing",
    "by_leaves",
    "check_shown",
    "cost_of",
    "distance_bound",
    "fewest_digits",
    "fewest_digits_until",
    "form_of",
    "least_squares_move",
    "made",
    "mended",
    "needs_first",
    "opened",
    "out_of_reach",
    "pattern_of",
    "price_unit",
    "quick_move",
    "ranges_of",
    "square_sum",
    "towards_squares",
    "without_attackers",
]
