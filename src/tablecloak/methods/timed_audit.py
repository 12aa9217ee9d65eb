"""Audits beside a deadline: within a method, of its first proposal, and of what it proposes in the end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial

from tablecloak.auditing import audit
from tablecloak.methods.base import Proposal, Run, RunSettings
from tablecloak.methods.feasibility import known_audit
from tablecloak.model import Audit, Pattern, Problem, Status
from tablecloak.progress import Deadline, Progress, TimeUp, uninterrupted
from tablecloak.solvers import watched


def audited_first(
    problem: Problem, run: Run, progress: Progress, first: Callable[[], Proposal]
) -> Proposal | None:
    """A first proposal, audited at once: an interrupted run has a result within the time of one audit.

    None with a time limit, which leaves time for the audit of the last one instead, and after an interrupt.
    """
    if run.deadline.stops:
        return None
    proposal = first()
    _, interrupted = uninterrupted(partial(audit, problem, proposal.pattern, progress=progress))
    if interrupted:
        run.interrupt()
    return replace(proposal, status=Status.INTERRUPTED)


def audit_within(
    problem: Problem,
    pattern: Pattern,
    deadline: Deadline,
    progress: Progress,
    *,
    takes: float = 0.0,
    executor: Executor | None = None,
) -> Audit | None:
    """The verdict, or None if the deadline passes first; then programs of the audit are ended too.

    `takes`: seconds that an audit of this problem took before; where less is left none is begun, as some of its steps
    do not look at the deadline.
    """
    if deadline.passed() or deadline.left < takes:
        return None
    try:
        with watched(deadline.check):
            return audit(problem, pattern, progress=deadline.watched(progress), executor=executor)
    except TimeUp:
        return None


def best_audited(
    problem: Problem,
    proposal: Proposal,
    progress: Progress,
    executor: Executor | None = None,
    settings: RunSettings = RunSettings(),
) -> tuple[Proposal, Audit]:
    """A proposal and its audit, which an interrupt does not end: without it there is no result.

    Where a run that was interrupted has an earlier proposal that is audited, that is returned if the audit of the last
    one takes longer.
    """
    known = known_audit(problem, proposal.pattern)
    if known is not None:
        return proposal, known
    earlier = proposal.earlier
    before = None if earlier is None else known_audit(problem, earlier.pattern)
    if earlier is not None and before is not None and proposal.status is Status.INTERRUPTED:
        within = Deadline.after(settings.last_audit * before.seconds)
        last = audit_within(problem, proposal.pattern, within, progress, executor=executor)
        return (earlier, before) if last is None else (proposal, last)
    judge = partial(audit, problem, proposal.pattern, progress=progress, executor=executor)
    verdict, interrupted = uninterrupted(judge)
    if interrupted and proposal.status is not Status.OPTIMAL:
        proposal = replace(proposal, status=Status.INTERRUPTED)
    return proposal, verdict
