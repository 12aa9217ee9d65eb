"""Bounds by subtables: subsystems of a table, each with its share of the weights.

Reference: Geoffrion (1974), Lagrangean relaxation for integer programming; Boyd (1994), Fenchel cutting planes.
"""

from tablecloak.methods.subtables.additive_bound import AdditiveBound
from tablecloak.methods.subtables.settings import SubtableSettings
