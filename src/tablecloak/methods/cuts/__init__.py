"""Valid inequalities of cell suppression, their separation, and the programs over them."""

from tablecloak.methods.cuts.aggregation import Aggregation
from tablecloak.methods.cuts.bridgeless import BridgelessCuts, BridgelessSettings
from tablecloak.methods.cuts.capacity import (
    CapacitySettings,
    CoverSeparator,
    NetworkSeparator,
    capacity_separator_of,
)
from tablecloak.methods.cuts.cut import Cut, matrix_of
from tablecloak.methods.cuts.cut_loop import (
    CutLoopSettings,
    CutProgram,
    GapLimits,
    GapLimitSettings,
    PoolProgram,
    SeparationRoutine,
    next_multiple,
    rounded_up,
    weight_unit,
)
from tablecloak.methods.cuts.equation import EquationCuts, OneWayCuts, OneWaySettings, fixing_cuts, levels_of
from tablecloak.methods.cuts.flow_model import FlowProgram
from tablecloak.methods.cuts.relaxation import Relaxation, RelaxationSettings
