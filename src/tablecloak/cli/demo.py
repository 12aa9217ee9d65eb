"""The demonstration: an example table attacked, protected and audited. Its figures are invented."""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Grid

from tablecloak.arrays import Bools
from tablecloak.audit import audit
from tablecloak.examples import regional_turnover
from tablecloak.pattern import Suppression
from tablecloak.problem import Attacker, Levels, Problem
from tablecloak.protect import protect
from tablecloak.result import Audit
from tablecloak.table import Table

PERCENT = 15.0


def run(console: Console | None = None) -> None:
    """Print the three acts: the attack on the careless table, the safe table, the audit."""
    out = console or Console(highlight=False)
    problem = example()
    count, sensitive = len(problem.table), int(problem.sensitive.sum())
    out.print(
        f"Turnover by region and industry: {count} cells, {sensitive} sensitive by the {PERCENT:g}% rule."
    )
    out.print(f"Attackers: {', '.join(problem.attacker_names)}.")

    out.print("\n[bold]1. Only the sensitive cells are hidden: what attackers work out[/bold]")
    out.print(intervals_grid(problem, audit(problem, Suppression(problem.must_hide), intervals=True)))

    result = protect(problem, "suppress-greedy", seed=1)
    out.print("[bold]2. The table that is safe to publish[/bold] (x: hidden)")
    out.print(table_grid(problem.table, result.pattern.touched(problem)))

    out.print("[bold]3. The audit: what attackers work out now[/bold]")
    out.print(intervals_grid(problem, audit(problem, result.pattern, intervals=True)))
    out.print(result.summary(problem), markup=False)


def example() -> Problem:
    """The example: sensitive is where the second largest firm can estimate the largest one within p percent.

    With contributions x1 >= x2 >= ... to a cell of value X that is X - x1 - x2 < p/100 x1; the level is the
    difference. A firm that is alone in a cell knows that cell: such firms are attackers.
    """
    table = regional_turnover()
    largest, rest = table.column("largest"), table.values - table.column("largest") - table.column("second")
    short = PERCENT / 100.0 * largest - rest
    sensitive = short > 0
    level = np.where(sensitive, short, 0.0)
    alone = np.flatnonzero((table.column("contributors") == 1) & table.is_leaf)
    insiders = [
        Attacker.contributing(f"sole firm {named(table, cell)}", table, cell, largest[cell])
        for cell in alone.tolist()
    ]
    return Problem.of(table, sensitive, Levels.of(len(table), level, level), attackers=insiders)


def intervals_grid(problem: Problem, verdict: Audit) -> Grid:
    """What each attacker works out about each sensitive cell, next to its true value."""
    grid = Grid("cell", "value", *problem.attacker_names, box=SIMPLE, pad_edge=False)
    for cell in np.unique(verdict.cells).tolist():
        rows = np.flatnonzero(verdict.cells == cell)
        told = [_told(verdict, row) for row in rows[np.argsort(verdict.attackers[rows])].tolist()]
        grid.add_row(named(problem.table, cell), f"{problem.table.values[cell]:,.0f}", *told)
    return grid


def _told(verdict: Audit, row: int) -> str:
    """One answer of the audit in words; nothing is asked about what an attacker knows himself."""
    if not (verdict.required_lower[row] or verdict.required_upper[row] or verdict.required_sliding[row]):
        return "own cell"
    low, high = verdict.low[row], verdict.high[row]
    if verdict.determined[row]:
        return f"{low:,.0f} DISCLOSED"
    return f"{low:,.0f} to {high:,.0f} {'safe' if verdict.safe_rows[row] else 'TOO NARROW'}"


def table_grid(table: Table, hidden: Bools) -> Grid:
    """The table of two dimensions as it would be printed, hidden cells as x."""
    rows, columns = table.dimensions
    grid = Grid(rows.name, *columns.codes, box=SIMPLE, pad_edge=False)
    for column in grid.columns[1:]:
        column.justify = "right"
    text = np.where(hidden, "x", [f"{value:,.0f}" for value in table.values])
    found = dict(zip(map(tuple, table.codes.tolist()), text.tolist(), strict=True))
    depth = rows.hierarchies[0].depth
    for r, code in enumerate(rows.codes):
        cells = [found.get((r, c), "-") for c in range(len(columns.codes))]
        grid.add_row(" " * int(depth[r]) + code, *cells, end_section=int(depth[r]) == 0)
    return grid


def named(table: Table, cell: int) -> str:
    """A cell in few words."""
    return " ".join(
        dimension.codes[code] for dimension, code in zip(table.dimensions, table.codes[cell], strict=True)
    )
