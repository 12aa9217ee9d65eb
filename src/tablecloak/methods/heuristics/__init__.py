"""Heuristics of cell suppression: construction by cheapest deviations, and elimination of redundant suppressions."""
