"""Where the keys of a TOML file stand: the parser of the standard library does not tell.

Read loosely: the file is known to be valid TOML, only the lines are needed. A key path reads
``rule[2].p``: the key p of the second ``[[rule]]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tablecloak.errors import InputError

_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*(\.|$|=|\])""")
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' r"'''.*?'''|" r'"(?:[^"\\\n]|\\.)*"|' r"'[^'\n]*'|#[^\n]*|[\[\]{}\n]", re.DOTALL
)


def key_lines(text: str) -> dict[str, int]:
    """The line of every table and key, by key path."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for line, statement in _statements(text):
        if statement.startswith("["):
            many = statement.startswith("[[")
            table = _table(_parts(statement.lstrip("[")), many, counts)
            found.setdefault(table, line)
        else:
            path = table
            for part in _parts(statement):
                path = f"{path}.{part}" if path else part
                found.setdefault(path, line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The first line number and the text of each statement; values may run over several lines."""
    start, line, depth, begun = 0, 1, 0, 1
    for token in _TOKEN.finditer(text + "\n"):
        sign = token[0]
        depth += sign.count("[") + sign.count("{") if sign in "[{" else -1 if sign in "]}" else 0
        line += sign.count("\n")
        if sign == "\n" and depth <= 0:
            statement = text[start : token.start()].strip()
            if statement and not statement.startswith("#"):
                yield begun, statement
            start, begun, depth = token.end(), line, 0


def _parts(text: str) -> list[str]:
    """The parts of a dotted key at the beginning of a text."""
    parts, at = list[str](), 0
    while found := _PART.match(text, at):
        parts.append(found[1].strip("\"'"))
        at = found.end()
        if found[2] != ".":
            break
    return parts


def _table(parts: list[str], many: bool, counts: dict[str, int]) -> str:
    """The path of a table from its header; counts how many there were of each list of tables."""
    path = ""
    for number, part in enumerate(parts, 1):
        path = f"{path}.{part}" if path else part
        if many and number == len(parts):
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = f"{path}[{counts[path]}]"
    return path


@dataclass
class Faults:
    """What is wrong with a job, each fault with the path of its key and the line where that stands."""

    lines: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """What keys are called in messages, where not by their path: options of a command."""
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, what: str) -> None:
        """A fault of the key at `path`; the line is that of the nearest key above it that has one."""
        line, above = self.lines.get(path, self.lines.get(f"{path}[1]")), path
        while line is None and above:
            above = above[: max(above.rfind("."), above.rfind("["), 0)]
            line = self.lines.get(above)
        called = self.names.get(path, path)
        place = f"line {line}, {called}" if line else called
        self.found.append((line or 0, f"{place}: {what}" if path else what))

    @contextmanager
    def of(self, path: str, before: str = "") -> Iterator[None]:
        """Faults of an `InputError` inside are faults of the key at `path`, with some words before each."""
        try:
            yield
        except InputError as error:
            for fault in error.faults:
                self.add(path, f"{before}{fault}")

    def about(self, path: str) -> bool:
        """Whether something is wrong with the key at `path` already."""
        return any(f"{path}: " in text for _, text in self.found)

    def listed(self) -> list[str]:
        """All faults in the order of the lines, each once."""
        return list(dict.fromkeys(text for _, text in sorted(self.found, key=lambda fault: fault[0])))
