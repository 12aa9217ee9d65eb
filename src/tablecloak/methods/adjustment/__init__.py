"""Parts of the perturbation methods: controlled tabular adjustment, ranges, integer units."""

from tablecloak.methods.adjustment.formulation import formulate, price_unit
from tablecloak.methods.adjustment.given_ranges import CellNumbers, given_ranges
from tablecloak.methods.adjustment.integer_units import IntegerUnits, is_additive
from tablecloak.methods.adjustment.least_squares import (
    least_squares_move,
    square_sum,
    towards_least_squares,
)
from tablecloak.methods.adjustment.model import Move, is_closed
from tablecloak.methods.adjustment.programs import Adjustment
from tablecloak.methods.adjustment.protected import (
    COUNTED_ON,
    FIRST,
    FRACTIONS,
    Attempt,
    Perturber,
    made,
    open_perturbation,
    out_of_reach,
    raised,
)
from tablecloak.methods.adjustment.reach import Ranges, ReachRule, check_shown, cost_of, pattern_of, ranges_of
from tablecloak.methods.adjustment.search import AdjustmentSearch
from tablecloak.methods.adjustment.settings import AdjustmentSettings

__all__ = [
    "COUNTED_ON",
    "FIRST",
    "FRACTIONS",
    "Adjustment",
    "AdjustmentSearch",
    "AdjustmentSettings",
    "Attempt",
    "CellNumbers",
    "IntegerUnits",
    "Move",
    "Perturber",
    "Ranges",
    "ReachRule",
    "check_shown",
    "cost_of",
    "formulate",
    "given_ranges",
    "is_additive",
    "is_closed",
    "least_squares_move",
    "made",
    "open_perturbation",
    "out_of_reach",
    "pattern_of",
    "price_unit",
    "raised",
    "ranges_of",
    "square_sum",
    "towards_least_squares",
]
