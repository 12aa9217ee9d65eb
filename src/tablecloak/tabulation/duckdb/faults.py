"""Faults of records, found by DuckDB: each with its row or line, a long list cut with its length."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.errors import MESSAGES, counted, near
from tablecloak.tabulation.duckdb.reader import Part
from tablecloak.tabulation.duckdb.session import lent, run, scalar
from tablecloak.tabulation.settings import SETTINGS, TabulationSettings

if TYPE_CHECKING:
    import duckdb


class FaultFinder:
    """Finds faults in the table `staging`, with the source of each row."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        parts: Sequence[Part],
        starts: Sequence[int],
        settings: TabulationSettings = SETTINGS,
    ) -> None:
        self.connection, self.listed = connection, settings.listed_faults
        self.parts = parts
        self.starts = starts

    def places(self, rows: Sequence[int]) -> dict[int, str]:
        """The place of each row: ``row 3``, ``line 4``, ``north.csv, line 4``."""
        found = dict[int, str]()
        for i, part in enumerate(self.parts):
            own = [row for row in rows if bisect_left(self.starts, row) - 1 == i]
            inside = {row: row - self.starts[i] for row in own}
            lines = part.lines(list(inside.values())) if part.lines and own else {}
            label = f"{part.file}, " if part.file else ""
            for row, at in inside.items():
                found[row] = f"{label}line {lines[at]}" if at in lines else f"{label}row {at}"
        return found

    def rows(self, condition: str, what: str) -> Iterator[str]:
        """Rows that meet the condition."""
        total = scalar(self.connection, f"SELECT count(*) FROM staging WHERE {condition}")
        if not total:
            return
        query = f"SELECT row FROM staging WHERE {condition} ORDER BY row LIMIT {self.listed}"
        rows = [int(row[0]) for row in run(self.connection, query)]
        places = self.places(rows)
        yield from (f"{places[row]}: {what}" for row in rows)
        if total > self.listed:
            yield f"{counted(total - self.listed, 'further record')}: {what}"

    def codes(self, column: str, name: str, codes: Sequence[str], is_leaf: Bools) -> Iterator[str]:
        """Codes that are unknown, or totals."""
        texts = np.empty(len(codes), dtype=object)
        texts[:] = list(codes)
        query = (
            f"CREATE OR REPLACE TEMP TABLE strange AS SELECT {column} AS code, count(*) AS times, min(row) AS first, "
            f"bool_or(code_list.code IS NOT NULL) AS known FROM staging LEFT JOIN code_list "
            f"ON {column} = code_list.code WHERE {column} IS NOT NULL AND leaf IS NOT TRUE GROUP BY {column}"
        )
        with lent(self.connection, "code_list", {"code": texts, "leaf": np.asarray(is_leaf)}):
            run(self.connection, query)
        total = scalar(self.connection, "SELECT count(*) FROM strange")
        query = f"SELECT code, times, first, known FROM strange ORDER BY first LIMIT {self.listed}"
        rows = run(self.connection, query)
        places = self.places([first for _, _, first, _ in rows])
        leaves = [text for text, leaf in zip(codes, is_leaf, strict=True) if leaf]
        for i, (code, times, first, known) in enumerate(rows):
            often = "once" if times == 1 else f"{times} times, here first"
            what = f"{code!r} in dimension {name!r}"
            fault = f"code {what} is a total, records need a leaf" if known else f"unknown code {what}"
            hint = near(code, leaves) if i < MESSAGES.faults else ""
            yield f"{places[first]}: {fault} ({often}){hint}"
        if total > self.listed:
            yield f"{counted(total - self.listed, 'further unknown code')} in dimension {name!r}"
        run(self.connection, "DROP TABLE strange")

    def differing_weights(self) -> Iterator[str]:
        """Respondents whose records have different weights."""
        total = scalar(self.connection, "SELECT count(*) FROM respondents WHERE least <> most")
        if not total:
            return
        query = (
            "SELECT unit, min(other.row) FROM respondents JOIN staging AS first ON first.row = unit "
            "JOIN staging AS other ON other.respondent = name "
            "WHERE least <> most AND other.weight <> first.weight "
            f"GROUP BY unit ORDER BY unit LIMIT {self.listed}"
        )
        rows = run(self.connection, query)
        places = self.places(sorted({row for pair in rows for row in pair}))
        for first, other in rows:
            yield f"{places[other]}: the weight differs from that of the same respondent in {places[first]}"
        if total > self.listed:
            yield f"{counted(total - self.listed, 'further respondent')} with records of different weights"
