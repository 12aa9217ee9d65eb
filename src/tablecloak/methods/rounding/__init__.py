"""Parts of the rounding methods: tables in integer units, totals, annealing."""

from tablecloak.methods.rounding.annealing import AnnealedRounding, AnnealingSettings, annealed_rounding
from tablecloak.methods.rounding.initial_rounding import FirstRounding, FirstSettings
from tablecloak.methods.rounding.integer_units import (
    LARGEST_WHOLE,
    WholeTable,
    adds_up,
    cells_in_the_way,
    check_marks,
    indivisible_cells,
    whole_table,
)
from tablecloak.methods.rounding.integral_basis import free_cells
from tablecloak.methods.rounding.totals import Ladder

__all__ = [
    "LARGEST_WHOLE",
    "AnnealedRounding",
    "AnnealingSettings",
    "FirstRounding",
    "FirstSettings",
    "Ladder",
    "WholeTable",
    "adds_up",
    "annealed_rounding",
    "cells_in_the_way",
    "check_marks",
    "free_cells",
    "indivisible_cells",
    "whole_table",
]
