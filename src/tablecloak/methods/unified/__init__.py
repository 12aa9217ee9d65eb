"""One model for suppression, intervals, rounding and perturbation: formulations, protection cuts, separation.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework.
"""

from tablecloak.methods.unified.compact_model import solve_compact_model
from tablecloak.methods.unified.cutting_plane_model import CuttingPlaneModel, ModelSolution
from tablecloak.methods.unified.formulation import (
    Affine,
    Formulation,
    FormulationSettings,
    LinearConstraints,
    at_cells,
    combined_formulation,
    interval_formulation,
    joined,
    largest_deviation,
    length_unit,
    sufficient_deviation,
    suppression_formulation,
)
from tablecloak.methods.unified.protection_cuts import Proof
from tablecloak.methods.unified.separation import first_proofs
from tablecloak.methods.unified.shown_values import (
    ShownFormulation,
    additivity,
    perturbation_formulation,
    rounding_formulation,
    sum_constraints,
    with_senses,
)

__all__ = [
    "Affine",
    "CuttingPlaneModel",
    "Formulation",
    "FormulationSettings",
    "LinearConstraints",
    "ModelSolution",
    "Proof",
    "ShownFormulation",
    "additivity",
    "at_cells",
    "combined_formulation",
    "first_proofs",
    "interval_formulation",
    "joined",
    "largest_deviation",
    "length_unit",
    "perturbation_formulation",
    "rounding_formulation",
    "solve_compact_model",
    "sufficient_deviation",
    "sum_constraints",
    "suppression_formulation",
    "with_senses",
]
