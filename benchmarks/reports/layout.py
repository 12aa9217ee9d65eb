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
