"""Numbers as whole multiples of 10^-scale: sums of whole numbers are exact and do not depend on their order.

The scale of a column is the number of decimals that write all its numbers, up to rounding noise. Numbers that have
no last decimal (1/3) get as many decimals as fit: DuckDB adds up whole numbers of 38 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from typing import TYPE_CHECKING

from tablecloak.errors import InputError
from tablecloak.model import FLOAT_NOISE, MOST_DECIMALS, tolerances
from tablecloak.tabulation.duckdb.session import run
from tablecloak.tabulation.duckdb.tolerances import (
    BIGINT_DIGITS,
    FEWEST_WEIGHT_DIGITS,
    FULL_DIGITS,
    HUGEINT_DIGITS,
    WEIGHT_DIGITS,
)

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class ColumnScale:
    """The scale of a column: digits before the decimal point (of its largest number), decimals, whether all of them."""

    digits: int
    scale: int
    exact: bool

    @property
    def width(self) -> int:
        """Digits of its numbers as integers."""
        return max(self.digits + self.scale, 1)

    def limited(self, width: int) -> ColumnScale:
        """The scale with fewer decimals, so that numbers are no wider."""
        return self if self.width <= width else replace(self, scale=max(width - self.digits, 0))


@dataclass(frozen=True)
class Scales:
    """The scales of all columns of numbers, and of the weight."""

    columns: tuple[ColumnScale, ...]
    weight: ColumnScale

    def whole(self, sql: str, column: int) -> str:
        """A number of that column as a whole one, in SQL."""
        return _whole(sql, self.columns[column])

    def whole_weight(self, sql: str) -> str:
        """A weight as a whole number, in SQL."""
        return _whole(sql, self.weight)


def _whole(sql: str, column: ColumnScale) -> str:
    kind = "BIGINT" if column.width <= BIGINT_DIGITS else "HUGEINT"
    return f"CAST(round({sql} * 1e{column.scale}) AS {kind})"


def number(sql: str, scale: int) -> str:
    """A whole multiple of 10^-scale as the float next to it, in SQL.

    One division of exact floats is rounded once; where they are not exact, the number is written and read.
    """
    written = f"CAST(CAST({sql} AS VARCHAR) || 'e-{scale}' AS DOUBLE)"
    if scale > tolerances.EXACT_POWER:
        return written
    exact = f"abs({sql}) < {tolerances.EXACT_INTEGER}"
    return f"CASE WHEN {exact} THEN CAST({sql} AS DOUBLE) / 1e{scale} ELSE {written} END"


def choose_scales(
    connection: duckdb.DuckDBPyConnection,
    columns: Sequence[str],
    names: Sequence[str],
    weighted: bool,
    count: int,
) -> Scales:
    """Scales for columns of `staging` such that (weighted) sums over all records fit into 38 digits."""
    available = HUGEINT_DIGITS - 1 - len(str(count))
    found = [_column(connection, column, FULL_DIGITS) for column in columns]
    weight = _column(connection, "weight", WEIGHT_DIGITS) if weighted else ColumnScale(1, 0, True)
    if weighted and not weight.exact:
        needed = max((each.width for each in found if each.exact), default=0)
        weight = weight.limited(max(available - needed, FEWEST_WEIGHT_DIGITS))
    left = available - weight.width
    chosen = [each if each.exact else each.limited(left) for each in found]
    faults = [
        f"the numbers in column {name!r} have too many digits to be added up exactly: "
        f"{each.width} from the first digit of the largest to the last decimal of the smallest, {max(left, 0)} fit"
        for name, each in zip(names, chosen, strict=True)
        if each.width > left
    ]
    if faults:
        raise InputError(
            "Records", faults, advice="Round the numbers (or the weights), or use a larger unit."
        )
    return Scales(tuple(chosen), weight)


def _column(connection: duckdb.DuckDBPyConnection, column: str, full: int) -> ColumnScale:
    largest = run(connection, f"SELECT max(abs({column})) FROM staging WHERE {column} <> 0")[0][0]
    if largest is None:
        return ColumnScale(1, 0, True)
    digits = floor(log10(largest)) + 1
    scale = _decimals(connection, column) if digits <= HUGEINT_DIGITS else 0
    if scale is not None:
        return ColumnScale(digits, scale, True)
    return ColumnScale(digits, min(max(full - digits, 0), MOST_DECIMALS), False)


def _decimals(connection: duckdb.DuckDBPyConnection, column: str) -> int | None:
    """The fewest decimals that write all numbers up to noise; None where noise is all there is."""

    def written(level: int) -> str:
        return f"abs(round({column} * 1e{level}) / 1e{level} - {column}) <= {FLOAT_NOISE!r} * abs({column})"

    for levels in (range(4), range(4, 10), range(10, MOST_DECIMALS + 1)):
        tests = ", ".join(f"bool_and({written(level)})" for level in levels)
        row = run(connection, f"SELECT {tests} FROM staging")[0]
        first = next((level for level, holds in zip(levels, row, strict=True) if holds), None)
        if first is not None and first > 0:
            smallest = f"SELECT min(abs({column})) FROM staging WHERE {column} <> 0"
            least, needing = (
                run(connection, query)[0][0]
                for query in (smallest, f"{smallest} AND NOT ({written(first - 1)})")
            )
            clear = (
                FLOAT_NOISE * max(least / tolerances.CLEAR_SHARE, needing / tolerances.NEEDED_SHARE)
                < 10.0**-first
            )
            return first if clear else None
        if first is not None:
            return first
    return None
