"""The demonstration: a business survey from microdata to publication. All enterprises and figures are invented."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table as Grid

from tablecloak.assessment import summary
from tablecloak.auditing import audit
from tablecloak.cli.settings import SETTINGS
from tablecloak.errors import counted
from tablecloak.examples import BUSINESS_FILES, business_labels, copy_business_survey
from tablecloak.job import Job, prepared, run_job, sort_of
from tablecloak.model import Audit, Problem, Suppression
from tablecloak.progress import Progress, silent
from tablecloak.publication import Publication


def run(folder: Path, console: Console | None = None, progress: Progress = silent) -> None:
    """Print the five verbs at work on the shipped survey; the files of the job are written into the folder."""
    out = console or Console(highlight=False)
    for name in BUSINESS_FILES:  # of an earlier demonstration
        (folder / name).unlink(missing_ok=True)
    job = Job.read(copy_business_survey(folder))
    problem, _ = prepared(job, progress)
    table = problem.table

    out.print("[bold]1. tabulate[/bold]: 2,000 invented enterprises, with sampling weights and owners")
    out.print(f"   {table!r}", markup=False, soft_wrap=True)
    out.print("\n[bold]2. assess[/bold]: rules, marks and attackers")
    out.print(_indented(summary(problem)), markup=False, soft_wrap=True)

    outsider = replace(problem, attackers=())
    careless = audit(outsider, Suppression(problem.must_hide), intervals=True, progress=progress)
    cells = counted(careless.open_cells.size, "sensitive cell")
    out.print(f"\n   If only sensitive cells were hidden, totals would give {cells} away:", soft_wrap=True)
    out.print(attacked(problem, careless))

    done = run_job(job, progress)
    if done.publication is None:  # though the job asks for one
        raise KeyboardInterrupt
    out.print("[bold]3. protect[/bold] and [bold]4. audit[/bold]")
    out.print(_indented(done.result.summary(problem)), markup=False, soft_wrap=True)
    out.print(
        "\n[bold]5. publish[/bold]: the top of the table as anybody may see it (x: hidden, -: nothing there)"
    )
    out.print(published(done.publication))
    for path in done.written:
        out.print(f"   {sort_of(job, path):>12}: {path}", markup=False, soft_wrap=True)
    out.print("\nOpen the two .html files in a browser. The whole chain is one file:", job.path.name)


def attacked(problem: Problem, verdict: Audit) -> Grid:
    """What an outsider works out about some open cells, next to the true value."""
    grid = Grid("cell", "true value", "an outsider works out", box=SIMPLE, pad_edge=False)
    rows = np.flatnonzero(~verdict.safe_rows)
    width = (verdict.high - verdict.low)[rows] / np.maximum(problem.table.values[verdict.cells[rows]], 1)
    for row in rows[np.argsort(width, kind="stable")][: SETTINGS.demo_rows].tolist():
        cell, low, high = int(verdict.cells[row]), verdict.low[row], verdict.high[row]
        told = "exactly this: DISCLOSED" if low == high else f"{low:,.1f} to {high:,.1f}: TOO NARROW"
        grid.add_row(problem.table.label(cell), f"{problem.table.values[cell]:,.1f}", told)
    return grid


def published(publication: Publication) -> Grid:
    """Divisions of industry by regions, as published."""
    regions, industries = publication.dimensions
    across = [code for code in range(len(regions.codes)) if regions.depth[code] <= 1]
    labels = business_labels("region")["region"]
    names = [labels.get(regions.codes[code], regions.codes[code]) for code in across]
    grid = Grid("", *names, box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for column in grid.columns[1:]:
        column.justify = "right"
    found = dict(zip(map(tuple, publication.codes.tolist()), publication.texts(","), strict=True))
    for row, code in enumerate(industries.codes):
        if industries.depth[row] <= 2:
            cells = [found.get((column, row), "-") for column in across]
            grid.add_row(" " * int(industries.depth[row]) + code, *cells)
    return grid


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
