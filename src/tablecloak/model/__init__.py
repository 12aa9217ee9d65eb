"""The model: tables, problems, requirements, patterns, results.

Frozen and valid once made. It stands on nothing but arrays, errors and progress.
"""

from tablecloak.model import tolerances, weights
from tablecloak.model.attacker_levels import AttackerLevels
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
from tablecloak.model.prices import Prices, PricesLike, resolved_prices
from tablecloak.model.printed import Printed, PrintedUnit, plain_number, rounded_cells, stated_reach
from tablecloak.model.problem import Attacker, Levels, Mark, Problem, Reason
from tablecloak.model.requirement import (
    RequiredLevels,
    Requirement,
    Side,
    all_requirements,
    box_deviation_bounds,
    cells_with_requirements,
    conditional_requirements,
    deviation_bounds,
    open_requirements,
    required_units,
    unmet_requirements,
)
from tablecloak.model.result import EVERYTHING, Audit, Report, Result, Status
from tablecloak.model.selection import select_cells
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
