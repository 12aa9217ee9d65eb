"""Valid inequalities of cell suppression, their separation, and the programs over them."""

from tablecloak.methods.cuts.aggregation import Twins
from tablecloak.methods.cuts.bridgeless import PatternRows
from tablecloak.methods.cuts.capacity import CoverFinder, NetworkSeparator, separator_of
from tablecloak.methods.cuts.cut import Row, matrix_of
from tablecloak.methods.cuts.cut_loop import (
    CutProgram,
    GapLimits,
    GapLimitSettings,
    PoolProgram,
    SeparationRoutine,
    next_multiple,
    rounded_up,
    weight_unit,
)
from tablecloak.methods.cuts.equation import Lines, OneWayRows, fixed_by, levels_of
from tablecloak.methods.cuts.flow_model import FlowProgram
from tablecloak.methods.cuts.relaxation import Relaxation, RelaxationSettings

__all__ = [
    "CoverFinder",
    "CutProgram",
    "FlowProgram",
    "GapLimitSettings",
    "GapLimits",
    "Lines",
    "NetworkSeparator",
    "OneWayRows",
    "PatternRows",
    "PoolProgram",
    "Relaxation",
    "RelaxationSettings",
    "Row",
    "SeparationRoutine",
    "Twins",
    "fixed_by",
    "levels_of",
    "matrix_of",
    "next_multiple",
    "rounded_up",
    "separator_of",
    "weight_unit",
]
