"""The section of the report about patterns by strata."""

from __future__ import annotations

from collections.abc import Sequence

from reports.layout import grouped, rounded, table, title_of
from runner import Row

COLUMNS = "variant cost complementary orders cpu_s open"
HEAD = ("pattern", "cost", "complementary", "orders", "processor s", "open")


def strata(rows: Sequence[Row]) -> str:
    """A table for each instance, a line for each pattern."""
    texts = [
        f"{title_of(name, some)}\n\n{table(HEAD, [rounded(row, COLUMNS) for row in some])}"
        for name, some in grouped(rows, "name").items()
    ]
    return "\n\n".join(texts)


SECTIONS = {"strata": strata}
