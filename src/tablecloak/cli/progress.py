"""Progress drawn on the terminal; where there is none, nothing is drawn."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tablecloak.cli.settings import SETTINGS
from tablecloak.progress import Progress, silent


@contextmanager
def drawing(quiet: bool) -> Iterator[Progress]:
    """Where to report to: a live line on stderr if that is a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield LiveProgress(bars)


class LiveProgress:
    """Reports phase, steps, the best cost so far and the bound to a bar of rich, a few times a second."""

    def __init__(self, bars: object) -> None:
        from rich.progress import Progress as Bars

        assert isinstance(bars, Bars)
        self.bars = bars
        self.task = bars.add_task("starting", total=None, figures="")
        self.due = 0.0
        self.incumbent: float | None = None
        self.bound: float | None = None

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        self.incumbent = self.incumbent if incumbent is None else incumbent
        self.bound = self.bound if bound is None else bound
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + SETTINGS.pause
        self.bars.update(
            self.task, description=phase, completed=done, total=total or None, figures=self._figures()
        )

    def _figures(self) -> str:
        named = (("best", self.incumbent), ("bound", self.bound))
        return "  ".join(f"{name} {value:.6g}" for name, value in named if value is not None)
