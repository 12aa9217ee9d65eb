"""Progress: one small protocol. Doors draw it; methods and the audit only report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Progress(Protocol):
    """Called now and then by anything that may take long."""

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None: ...


def silent(
    phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
) -> None:
    """Report to nobody."""


@dataclass(frozen=True)
class Deadline:
    """A moment after which long work should stop; without seconds it never comes."""

    moment: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        return cls(None if seconds is None else time.monotonic() + seconds)

    def passed(self) -> bool:
        """Whether the moment has come."""
        return self.moment is not None and time.monotonic() >= self.moment

    @property
    def left(self) -> float:
        """Seconds left; infinite without a deadline."""
        return float("inf") if self.moment is None else max(0.0, self.moment - time.monotonic())


NEVER = Deadline(None)
"""No deadline."""
