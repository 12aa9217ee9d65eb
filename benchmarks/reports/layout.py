"""Markdown tables from stored rows: what all sections of the report share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import mean

from runner import Row

NOTHING = "No rows are stored yet."
LEAST_SECONDS = 0.001


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    return "\n".join([rows[0], "|---" * len(head) + "|", *rows[1:]])


def cells(row: Row, columns: str) -> list[str]:
    """Columns of a row, empty where it has none."""
    return [tidy(row.get(column) or "") for column in columns.split()]


def tidy(text: str) -> str:
    """Whole numbers without their ``.0``."""
    return text.removesuffix(".0")


def whole(value: float) -> str:
    """A number without decimals."""
    return f"{value:.0f}"


def whole_text(text: str) -> str:
    """A stored number without decimals; other words as they are."""
    try:
        return whole(float(text))
    except ValueError:
        return text


def number(text: str) -> float:
    """A stored number."""
    return float(text)


def seconds_of(row: Row) -> float:
    """Seconds of a row; the limit where it crashed or was killed."""
    return max(LEAST_SECONDS, number(row.get("seconds") or row["limit_s"]))


def peer_seconds(row: Row, column: str = "seconds") -> float:
    """Seconds of the peer; its limit where it did not finish."""
    finished = row["status"] == "optimal" and row.get(column)
    return max(LEAST_SECONDS, number(row[column] if finished else row["limit_s"]))


def share(marks: Sequence[bool]) -> str:
    """How many of them, in percent."""
    return f"{100 * mean(marks):.1f}" if marks else "–"


def geometric(ratios: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(mean(math.log(ratio) for ratio in ratios))


def grouped(rows: Iterable[Row], column: str) -> dict[str, list[Row]]:
    """Rows by what a column says, in the order of the first ones."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


def by_program(rows: Iterable[Row], program: str) -> dict[str, Row]:
    """The rows of a program by name of the instance."""
    return {row["name"]: row for row in rows if row["program"] == program}


def rounded(row: Row, columns: str) -> list[str]:
    """Columns of a row, numbers with seven digits."""
    return [_short(text) for text in cells(row, columns)]


def _short(text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    return text if value == int(value) and abs(value) < 1e9 else f"{value:.7g}"


def title_of(name: str, rows: Iterable[Row]) -> str:
    """A heading with the size of the instance that the rows are about."""
    size = next((row for row in rows if row.get("cells")), {})
    return f"### {name}: {size.get('cells', '?')} cells, {size.get('sensitive', '?')} sensitive"
