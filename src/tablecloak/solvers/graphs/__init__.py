"""Networks: maximum flows, minimum-cost flows, shortest paths, rounding. The typed interfaces of their kernels."""

from tablecloak.solvers.graphs.min_cost import MinCostNetwork
from tablecloak.solvers.graphs.network import Network
from tablecloak.solvers.graphs.path_opening import Capacities, PathOpeningNetwork, PathOpeningSettings
from tablecloak.solvers.graphs.stratified import StratifiedNetwork
from tablecloak.solvers.graphs.unbiased_rounding import round_residues

__all__ = [
    "Capacities",
    "MinCostNetwork",
    "Network",
    "PathOpeningNetwork",
    "PathOpeningSettings",
    "StratifiedNetwork",
    "round_residues",
]
