"""The log of τ-ARGUS: a line ``dd-MMM-yyyy HH:mm:ss : text`` for each message, further lines of it indented."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.locks import PRIVATE_FILE

VERSION, BUILD = "4.2.5", "3"
"""The version of τ-ARGUS whose jobs are run; clients read it."""
RULE = "-" * 26
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_INDENT = " " * 23
DEFAULT_LOG = "TauLogbook.txt"
"""The name of the log where none is given."""


def version_text() -> str:
    """What VERSIONINFO writes."""
    return f"TAU-ARGUS version: {VERSION}; build: {BUILD}\n"


def stamped(text: str, now: datetime) -> str:
    """A message with its time; month names are English everywhere."""
    first, *more = text.split("\n")
    time = f"{now.day:02d}-{_MONTHS[now.month - 1]}-{now.year:04d} {now:%H:%M:%S}"
    return "".join([f"{time} : {first}\n", *(f"{_INDENT}{line}\n" for line in more)])


class Logbook:
    """A log that is appended to, message by message. Only its owner can read a log that is new."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = datetime.now) -> None:
        self.path, self.clock = path, clock

    def write(self, *messages: str) -> None:
        """Append messages."""
        try:
            if not self.path.exists():
                self.path.touch(mode=PRIVATE_FILE)
            with self.path.open("a", encoding="utf-8") as file:
                for message in messages:
                    file.write(stamped(message, self.clock()))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "cannot be written"
            raise InputError("Log", [f"{self.path}: {why}"]) from None

    def begin(self) -> None:
        """The head of a run."""
        self.write(RULE, "Start of TauArgus run", f"TauArgus version {VERSION} build {BUILD}", RULE)

    def end(self) -> None:
        """The last line of a run."""
        self.write("End of TauArgus run")
