"""What jobs take for granted: limits of what is read, and what a starter job infers from the data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class InferenceSettings:
    """When a column is taken for a dimension, and how large the first table may be. Untested defaults."""

    cells: int = 30_000
    """Maximum number of cells of the first table: dimensions are added as long as it has fewer."""
    dimensions: int = 3
    """Maximum number of dimensions of the first table."""
    codes: int = 2_000
    """Maximum number of different values of a column of codes."""
    few_codes: int = 60
    """Maximum number of different values of a column of whole numbers that may be codes."""


@dataclass(frozen=True)
class ReaderLimits:
    """What a job file may ask for, so that a damaged one ends in a clear error."""

    nested: int = 100
    """Maximum depth of tables and lists."""
    shown_path: int = 500
    """Maximum number of characters of a path in a message."""
    pattern: int = 1_000
    """Maximum number of characters of a part of a file pattern: longer ones take the file system for ever."""
    block: int = 1 << 20
    """Bytes that are read at a time for a fingerprint."""
    kept_codes: int = 2_000
    """Maximum number of different values of a column that are kept when a file is inspected."""


INFERENCE, LIMITS = InferenceSettings(), ReaderLimits()
