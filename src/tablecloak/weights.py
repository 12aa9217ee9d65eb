"""What hiding a cell costs. Plain arrays: combine them with arithmetic (``0.5 * value(t) + 9 * unit(t)``)."""

from tablecloak.model.weights import column, contributors, floored, log, named, power, unit, value

__all__ = ["column", "contributors", "floored", "log", "named", "power", "unit", "value"]
