"""The model: tables, problems, requirements, patterns, results.

Frozen and valid once made. It stands on nothing but arrays, errors and progress.
"""

from tablecloak.model import tolerances, weights
from tablecloak.model.cells import enough_decimals, infer_decimals, rebuilt_units
from tablecloak.model.contributions import Contributions
from tablecloak.model.dimension import Dimension, check_dimensions, label_of
from tablecloak.model.emptiness import (
    CELLS,
    EMPTY,
    KNOWN,
    Emptiness,
    EmptyCells,
    Impossible,
    gap_meaning,
    knowing_the_page,
    known_bounds,
    of_kind,
    part_gap_meanings,
)
from tablecloak.model.equations import Packing, additive, ancestors, noise, summation_equations
from tablecloak.model.hierarchy import Hierarchy
from tablecloak.model.links import RESPONSE, link, link_responses
from tablecloak.model.pattern import Intervals, Mixed, Pattern, Perturbation, Rounding, Suppression, View
from tablecloak.model.printed import Printed, PrintedUnit, plain_number, rounded_cells, stated_reach
from tablecloak.model.problem import Attacker, Levels, Mark, Problem, Reason
from tablecloak.model.requirement import (
    RequiredLevels,
    Requirement,
    Side,
    all_requirements,
    box_deviation_bounds,
    cells_with_requirements,
    conditional_widths,
    deviation_bounds,
    open_requirements,
    required_units,
    unmet_requirements,
)
from tablecloak.model.result import EVERYTHING, Audit, Report, Result, Status
from tablecloak.model.settings import MOST_CELLS, NO_UNIT
from tablecloak.model.table import Table
from tablecloak.model.tolerances import FLOAT_NOISE, LARGEST_UNITS, MOST_DECIMALS
from tablecloak.model.units import (
    amounts,
    checked_units,
    exact_number,
    finest_decimals,
    is_whole,
    nearest_units,
    units_above,
    units_below,
    whole_units,
)

__all__ = [
    "CELLS",
    "EMPTY",
    "EVERYTHING",
    "FLOAT_NOISE",
    "KNOWN",
    "LARGEST_UNITS",
    "MOST_CELLS",
    "MOST_DECIMALS",
    "NO_UNIT",
    "RESPONSE",
    "Attacker",
    "Audit",
    "Contributions",
    "Dimension",
    "Emptiness",
    "EmptyCells",
    "Hierarchy",
    "Impossible",
    "Intervals",
    "Levels",
    "Mark",
    "Mixed",
    "Packing",
    "Pattern",
    "Perturbation",
    "Printed",
    "PrintedUnit",
    "Problem",
    "Reason",
    "Report",
    "RequiredLevels",
    "Requirement",
    "Result",
    "Rounding",
    "Side",
    "Status",
    "Suppression",
    "Table",
    "View",
    "additive",
    "all_requirements",
    "amounts",
    "ancestors",
    "box_deviation_bounds",
    "cells_with_requirements",
    "check_dimensions",
    "checked_units",
    "conditional_widths",
    "deviation_bounds",
    "enough_decimals",
    "exact_number",
    "finest_decimals",
    "gap_meaning",
    "infer_decimals",
    "is_whole",
    "knowing_the_page",
    "known_bounds",
    "label_of",
    "link",
    "link_responses",
    "nearest_units",
    "noise",
    "of_kind",
    "open_requirements",
    "part_gap_meanings",
    "plain_number",
    "rebuilt_units",
    "required_units",
    "rounded_cells",
    "stated_reach",
    "summation_equations",
    "tolerances",
    "units_above",
    "units_below",
    "unmet_requirements",
    "weights",
    "whole_units",
]
