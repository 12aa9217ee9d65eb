"""Networks: maximum flows, minimum-cost flows, shortest paths. The typed interfaces of the kernels.

A kernel is imported when the first network is made, so that importing this package compiles nothing.
"""

from tablecloak.solvers.graphs.min_cost import MinCostNetwork
from tablecloak.solvers.graphs.network import Network, is_loaded, load_kernels, warm_up
from tablecloak.solvers.graphs.path_opening import Capacities, PathOpeningNetwork
from tablecloak.solvers.graphs.stratified import StratifiedNetwork

__all__ = [
    "Capacities",
    "MinCostNetwork",
    "Network",
    "PathOpeningNetwork",
    "StratifiedNetwork",
    "is_loaded",
    "load_kernels",
    "warm_up",
]
