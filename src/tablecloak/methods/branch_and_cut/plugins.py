"""What can be plugged into branch and cut: lists of primal heuristics and of separators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tablecloak.methods.branch_and_cut.improvement import IMPROVEMENTS, Improvement
from tablecloak.methods.branch_and_cut.separation import SEPARATORS, PointSeparator


@dataclass(frozen=True)
class Plugins:
    """The parts of branch and cut that are chosen from outside; the order is that in which they are called."""

    improvements: Sequence[type[Improvement]] = IMPROVEMENTS
    """Primal heuristics; neighbourhood search, which has settings of its own, follows them."""
    separators: Sequence[type[PointSeparator]] = SEPARATORS
    """Separators of fractional points, at the root and in trees. Which integral points are safe does not depend on
    them."""
