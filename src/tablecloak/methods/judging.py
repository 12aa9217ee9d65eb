"""An audit within a method, which is of use only in time."""

from __future__ import annotations

from tablecloak.audit import audit
from tablecloak.engines.highs import watched
from tablecloak.pattern import Pattern
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress, TimeUp
from tablecloak.result import Audit


def audit_within(problem: Problem, pattern: Pattern, deadline: Deadline, progress: Progress) -> Audit | None:
    """The verdict, or None if the deadline passes first; then programs of the audit are ended too."""
    if deadline.passed():
        return None
    try:
        with watched(deadline.check):
            return audit(problem, pattern, progress=deadline.watched(progress))
    except TimeUp:
        return None
