"""The report for the statistician, with all that can be worked out for it. Confidential."""

from __future__ import annotations

from tablecloak.analysis import explain
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable
from tablecloak.model import Audit, Pattern, Problem, Report, Result, Status
from tablecloak.progress import Progress, silent
from tablecloak.protection import versions
from tablecloak.reports.report import report_html


def report_page(
    problem: Problem,
    result: Result,
    verdict: Audit,
    *,
    explained: bool = True,
    plots: bool = True,
    progress: Progress = silent,
) -> str:
    """The page, with exact intervals and, where the pattern allows it, with why each cell is hidden."""
    exact = verdict if verdict.exact else audit(problem, result.pattern, intervals=True, progress=progress)
    why = None
    if explained:
        try:
            why = explain(problem, result.pattern, progress=progress)
        except NotApplicable:
            why = None
    return report_html(problem, result, intervals=exact, explanation=why, plots=plots)


def result_of(problem: Problem, pattern: Pattern, verdict: Audit, name: str) -> Result:
    """A pattern from elsewhere as a result; nothing is known about how it was made."""
    touched, cost = pattern.touched(problem), pattern.loss(problem)
    cost_all = cost + float(problem.weights[touched & problem.must_hide].sum())
    report = Report(name, {}, 0, verdict.seconds, verdict.engine, versions=versions())
    return Result(pattern, Status.FEASIBLE, cost, cost_all, None, verdict, report)
