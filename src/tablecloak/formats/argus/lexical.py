"""Lexical rules that all text files of τ-ARGUS share: lines, comments, tokens, numbers.

Text is UTF-8 (with or without a byte order mark) or Latin-1, with any line ends. Tabs are blanks. Empty lines and lines
that begin with ``//`` are skipped, in a batch file also those that begin with ``\\\\``. A token is a text in double
quotes, one of ``, | ( )``, or what goes up to a blank or one of these. A ``//`` where a token would begin ends the
line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tablecloak.errors import InputError

MARKS = (",", "|", "(", ")")
_TOKEN = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<open>")|(?P<mark>[,|()])|(?P<word>[^\s",|()]+))')


@dataclass(frozen=True)
class SourceLine:
    """A line of a file that is not empty and no comment."""

    number: int
    text: str


@dataclass(frozen=True)
class ArgusToken:
    """A token, and whether it stood in quotes."""

    text: str
    quoted: bool = False

    @property
    def is_mark(self) -> bool:
        """Whether it is one of ``, | ( )``."""
        return not self.quoted and self.text in MARKS


@dataclass
class LineFaults:
    """Faults of a file by line, and what is accepted although τ-ARGUS 4.2.5 refuses it."""

    source: str
    faults: list[tuple[int, str]] = field(default_factory=list)
    tolerated: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, what: str) -> None:
        """One more fault of a line (0: of the file)."""
        self.faults.append((line, what))

    def tolerate(self, line: int, what: str) -> None:
        """One more thing that is accepted, but not by τ-ARGUS."""
        self.tolerated.append((line, what))

    def listed(self, strict: bool = False) -> list[str]:
        """All faults in the order of the lines; with `strict` what is tolerated is a fault too."""
        found = [*self.faults, *((n, f"{what} (τ-ARGUS 4.2.5 refuses it)") for n, what in self.tolerated)]
        chosen = found if strict else self.faults
        return [f"line {line}: {what}" if line else what for line, what in sorted(chosen, key=lambda f: f[0])]

    def check(self, advice: str = "") -> None:
        """Raise an `InputError` with all faults, if there are any."""
        if self.faults:
            raise InputError(self.source, self.listed(), advice=advice)


def source_lines(text: str, comments: Sequence[str] = ("//",)) -> Iterator[SourceLine]:
    """The lines that say something, stripped, with their numbers."""
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff")), 1):
        line = raw.replace("\t", " ").strip()
        if line and not line.startswith(tuple(comments)):
            yield SourceLine(number, line)


def tokens_of(text: str) -> list[ArgusToken]:
    """The tokens of a line, keywords in capitals. A quote that is not closed goes to the end of the line."""
    found, at = list[ArgusToken](), 0
    while match := _TOKEN.match(text, at):
        if match["open"]:
            return [*found, ArgusToken(text[match.end() :].strip(), True)]
        if match["quoted"] is not None:
            found.append(ArgusToken(match["quoted"], True))
        else:
            word = match["mark"] or match["word"]
            if word.startswith("//"):
                return found
            found.append(ArgusToken(word.upper() if word.startswith("<") else word))
        at = match.end()
    return found


def number_of(text: str) -> float | None:
    """The number that a text is, with a point or a comma; None if it is none."""
    text = text.strip()
    if not re.fullmatch(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?", text):
        return None
    return float(text.replace(",", "."))


def base_name(path: str) -> str:
    """What stands behind the last directory of a path of Windows or of any other system."""
    return re.split(r"[\\/:]", path)[-1]


def is_bare(path: str) -> bool:
    """Whether a path names no directory."""
    return base_name(path) == path
