"""Settings and strategy of the interval methods."""

from __future__ import annotations

from dataclasses import dataclass, field

from tablecloak.attacker import is_network
from tablecloak.methods.intervals.blur import BlurSettings
from tablecloak.methods.intervals.initial_intervals import InitialIntervalSettings
from tablecloak.methods.intervals.repair import RepairSettings
from tablecloak.methods.intervals.slope_scaling import SlopeScalingSettings
from tablecloak.methods.unified import CuttingPlaneSettings
from tablecloak.model import Problem


@dataclass(frozen=True)
class IntervalSettings:
    """How interval methods spend their time. Benchmark parts `intervals` and `ways` run with the defaults; none of them
    has been varied there."""

    cutting_plane: CuttingPlaneSettings = field(default_factory=CuttingPlaneSettings)
    """The cutting-plane model."""
    initial: InitialIntervalSettings = field(default_factory=InitialIntervalSettings)
    """Intervals to begin with."""
    slope_scaling: SlopeScalingSettings = field(default_factory=SlopeScalingSettings)
    """Starts of interval-combined."""
    repair: RepairSettings = field(default_factory=RepairSettings)
    """Audit and repair."""
    blur: BlurSettings = field(default_factory=BlurSettings)
    """What is printed."""
    optimum_share: float = 0.5
    """Share of the time for the optimum, if a second one for larger levels is printed. More: a better bound, against
    longer printed intervals. Untested default."""
    repair_share: float = 0.25
    """Share of the time of interval-partial for repair of what the model has when its time is up. More: finite
    intervals on large tables, against the bound. Untested default."""
    max_checked_cells: int = 10_000
    """Maximum number of cells of non-network tables for which it is checked beforehand whether the requirements can be
    met. More: infeasible problems are refused at once, against the time of the check. Untested default."""


@dataclass(frozen=True)
class IntervalStrategy:
    """What an interval method does on a table of this size and structure. Printed, it shows the choices."""

    settings: IntervalSettings = field(repr=False)
    check_feasibility: bool
    """Whether it is checked beforehand that the requirements can be met."""
    slope_scaling: bool = False
    """Whether slope scaling on the cells of a suppression pattern gives starts and repairs integral points."""
    scale_all_cells: bool = False
    """Whether slope scaling also begins from all cells."""


def is_feasibility_checked(problem: Problem, settings: IntervalSettings) -> bool:
    """Whether the check beforehand is worth its time: always with conditional levels, on networks and small tables."""
    small = len(problem.table) <= settings.max_checked_cells
    return small or not problem.is_monotone or is_network(problem)
