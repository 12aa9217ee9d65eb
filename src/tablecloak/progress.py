"""Progress: one small protocol. Doors draw it; methods and the audit only report."""

from __future__ import annotations

import math
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
        """So many seconds from now; never, and without a look at the clock, for None or an infinite number."""
        limited = seconds is not None and math.isfinite(seconds)
        return cls(time.monotonic() + seconds if seconds is not None and limited else None)

    def share(self, part: float) -> Deadline:
        """The deadline of a step that may take this part of the seconds left; never, if this one never comes."""
        return self if self.moment is None else Deadline.after(part * self.left)

    def passed(self) -> bool:
        """Whether the moment has come."""
        return self.moment is not None and time.monotonic() >= self.moment

    @property
    def left(self) -> float:
        """Seconds left; infinite without a deadline."""
        return math.inf if self.moment is None else max(0.0, self.moment - time.monotonic())

    @property
    def since(self) -> float:
        """Seconds since the moment; zero before it and without a deadline."""
        return 0.0 if self.moment is None else max(0.0, time.monotonic() - self.moment)


NEVER = Deadline(None)
"""No deadline."""
