"""Primal heuristics of branch and cut: edge exchange, neighbourhood search, iterated greedy."""

from tablecloak.methods.branch_and_cut.improvement.backoff import Occasions
from tablecloak.methods.branch_and_cut.improvement.edge_exchange import Exchanges
from tablecloak.methods.branch_and_cut.improvement.neighbourhood_search import Neighbourhoods

__all__ = ["Exchanges", "Neighbourhoods", "Occasions"]
