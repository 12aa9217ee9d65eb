"""Marks: what may and must be done with a cell, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Mark(IntEnum):
    """The mark of a cell: what may and must be done with it."""

    FREE = 0
    SENSITIVE = 1
    FORCED = 2
    """Must be published."""
    HIDDEN = 3
    """Must be hidden, though not sensitive."""


@dataclass(frozen=True)
class Reason:
    """Why a cell is sensitive or marked: the rule that caught it, in words, and what kind of rule it is."""

    rule: str
    """The rule with its parameters, ``p% rule (p=10)``."""
    kind: str
    """``frequency``, ``dominance``, ``p-percent``, ``request``, ``zero``, ``manual``, ``union``."""
    why: str
    """The finding, in words without figures of the cell."""
