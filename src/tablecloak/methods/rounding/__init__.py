"""Parts of the rounding methods: tables in integer units, integral bases, annealing."""

from tablecloak.methods.rounding.annealing import AnnealedRounding, anneal
from tablecloak.methods.rounding.initial_rounding import InitialRounding, reach_of_hiding, takes_long
from tablecloak.methods.rounding.integer_units import (
    IntegerTable,
    adds_up,
    are_multiples_of_unit,
    check_marks,
    check_none_hidden,
    conflicting_cells,
    count_changes,
    in_data_units,
    indivisible_cells,
    integer_matrix,
    integer_table,
    is_noise,
    least_change,
    true_leaves,
)
from tablecloak.methods.rounding.integral_basis import IntegralBasis, eliminated_basis, leaf_basis
from tablecloak.methods.rounding.settings import AnnealingSettings, RoundingSettings
from tablecloak.methods.rounding.totals import Totals

__all__ = [
    "AnnealedRounding",
    "AnnealingSettings",
    "InitialRounding",
    "IntegerTable",
    "IntegralBasis",
    "RoundingSettings",
    "Totals",
    "adds_up",
    "anneal",
    "are_multiples_of_unit",
    "check_marks",
    "check_none_hidden",
    "conflicting_cells",
    "count_changes",
    "eliminated_basis",
    "in_data_units",
    "indivisible_cells",
    "integer_matrix",
    "integer_table",
    "is_noise",
    "leaf_basis",
    "least_change",
    "reach_of_hiding",
    "takes_long",
    "true_leaves",
]
