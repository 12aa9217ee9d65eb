"""The command methods: all methods in a table."""

from __future__ import annotations

from dataclasses import MISSING, fields

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from tablecloak.methods import METHODS, Method


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
