"""One model for suppression, intervals, rounding and perturbation: formulations, protection cuts, separation.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework.
"""

from tablecloak.methods.unified.compact_model import CompactModelSettings, solve_compact_model
from tablecloak.methods.unified.cutting_plane_model import CuttingPlaneModel, CuttingPlaneSettings
from tablecloak.methods.unified.formulation import (
    Affine,
    Formulation,
    FormulationSettings,
    LinearConstraints,
    ModelSolution,
    at_cells,
    combined_formulation,
    interval_formulation,
    joined,
    largest_deviation,
    length_unit,
    sufficient_deviation,
    suppression_formulation,
)
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.methods.unified.separation import initial_protection_cuts
from tablecloak.methods.unified.shown_values import (
    ShownFormulation,
    additivity,
    perturbation_formulation,
    rounding_formulation,
    sum_constraints,
    with_senses,
)
from tablecloak.methods.unified.ties import without_ties
