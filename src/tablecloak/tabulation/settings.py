"""Settings of tabulation: memory and time of the work in DuckDB, and the length of messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TabulationSettings:
    """Effort of tabulation and limits of its messages."""

    rows_per_pass: int = 4_000_000
    """Number of rows that one pass over the totals expands to: more passes take longer, more rows more memory. A single
    choice of layers may be more. Untested default."""
    poll_seconds: float = 0.2
    """Seconds between two checks for an interrupt. Untested default."""
    chunk_bytes: int = 1 << 22
    """Bytes read at once to detect the encoding of a file. Untested default."""
    max_header: int = 1 << 20
    """Maximum number of characters of the first line of a file: a longer one is no line of names."""
    max_name: int = 1_000
    """Maximum number of characters of the name of a respondent or holding; all names are as wide as the longest."""
    listed_faults: int = 100
    """Maximum number of faults of one kind that are listed; of the others the number is reported."""


SETTINGS = TabulationSettings()
