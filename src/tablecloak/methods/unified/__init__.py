"""One model for suppression, intervals, rounding and perturbation: formulations, protection cuts, separation.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework.
"""

from tablecloak.methods.unified.compact_model import solve_first
from tablecloak.methods.unified.cutting_plane_model import Answer, SecondModel
from tablecloak.methods.unified.formulation import (
    FAR,
    Affine,
    Form,
    Rows,
    at_cells,
    combined_form,
    furthest,
    interval_form,
    joined,
    length_unit,
    suppression_form,
)
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.methods.unified.separation import initial_protection_cuts
from tablecloak.methods.unified.shown_values import (
    WHOLE,
    Shown,
    added_up,
    perturbation_form,
    rounding_form,
    with_senses,
)

__all__ = [
    "FAR",
    "WHOLE",
    "Affine",
    "Answer",
    "Form",
    "ProtectionCut",
    "Rows",
    "SecondModel",
    "Shown",
    "added_up",
    "at_cells",
    "combined_form",
    "furthest",
    "initial_protection_cuts",
    "interval_form",
    "joined",
    "length_unit",
    "perturbation_form",
    "rounding_form",
    "solve_first",
    "suppression_form",
    "with_senses",
]
