"""Primal heuristics of branch and cut: edge exchange, neighbourhood search, iterated greedy."""
