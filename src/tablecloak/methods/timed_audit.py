"""An audit within a method, which is of use only in time."""

from __future__ import annotations

from tablecloak.auditing import audit
from tablecloak.model import Audit, Pattern, Problem
from tablecloak.progress import Deadline, Progress, TimeUp
from tablecloak.solvers import watched


def audit_within(
    problem: Problem, pattern: Pattern, deadline: Deadline, progress: Progress, *, takes: float = 0.0
) -> Audit | None:
    """The verdict, or None if the deadline passes first; then programs of the audit are ended too.

    `takes`: seconds that an audit of this problem took before; where less is left none is begun, as some of its steps
    do not look at the deadline.
    """
    if deadline.passed() or deadline.left < takes:
        return None
    try:
        with watched(deadline.check):
            return audit(problem, pattern, progress=deadline.watched(progress))
    except TimeUp:
        return None
