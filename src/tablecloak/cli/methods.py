"""Lists for reading: methods, bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tablecloak.analysis.lower_bounds import Bound
from tablecloak.errors import NotApplicable
from tablecloak.methods import METHODS
from tablecloak.methods.base import Method


def print_methods() -> None:
    """All methods in a table: name, summary, reference, parameters with defaults."""
    grid = Grid("method", "what it does", "reference", "parameters (--set)", show_lines=True)
    for name, method in METHODS.items():
        grid.add_row(*map(Text, (name, method.summary, method.reference, parameters(method))))
    Console().print(grid)


def parameters(method: Method) -> str:
    """One parameter a line with its default."""
    return "\n".join(
        item.name if item.default is MISSING else f"{item.name}={item.default}"
        for item in fields(method.params)
    )


def bounds_table(found: Mapping[str, Bound | NotApplicable]) -> str:
    """A line for each bound: name, linear and integer program, seconds, and whether it is valid or what it needs."""
    lines = [f"{'bound':18}{'linear':>12}{'integer':>12}{'seconds':>10}  valid"]
    for name, bound in found.items():
        if isinstance(bound, NotApplicable):
            lines.append(f"{name:18}{'-':>12}{'-':>12}{'-':>10}  no: it needs {bound.needs}")
            continue
        integer = "-" if bound.integer is None else f"{bound.integer:.6g}"
        valid = "; ".join(["yes", *bound.notes])
        lines.append(f"{name:18}{bound.linear:>12.6g}{integer:>12}{f'{bound.seconds:.2f} s':>10}  {valid}")
    return "\n".join(lines)
