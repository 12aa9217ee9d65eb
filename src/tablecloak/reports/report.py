"""The confidential report of a result as one HTML page for the statistician.

Self-contained: no outside assets, opens offline, prints, works without scripts. It holds true values and says
CONFIDENTIAL. The same input gives the same bytes. What may leave the building is a `Publication`, never this page.

Confidential pages are made from templates that extend ``templates/confidential.html``, which says CONFIDENTIAL in the
title and at the top, and whose policy lets nothing in from elsewhere: styles and pictures inside the page only, and of
scripts only the page's own, by its digest. Templates are read from the package, wherever it lies.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tablecloak.analysis import explain
from tablecloak.auditing import audit
from tablecloak.errors import InputError, NotApplicable
from tablecloak.model import (
    Audit,
    Pattern,
    Perturbation,
    Problem,
    Report,
    Result,
    Rounding,
    Status,
    Suppression,
)
from tablecloak.progress import Progress, silent
from tablecloak.protection import versions
from tablecloak.reports.plots import loss_svg, trace_svg, widths_svg
from tablecloak.reports.settings import SETTINGS
from tablecloak.reports.tables import Tables, many, percent

if TYPE_CHECKING:
    from tablecloak.analysis import Explanation


def confidential_page(template: str, context: Mapping[str, Any]) -> str:
    """The page of a template in ``templates/``, filled in. The same context gives the same bytes.

    `context` holds a ``title`` and what the template asks for; what is missing is an error.
    """
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    _, there, rest = _source(template).partition("<script>")
    own = hashlib.sha256(rest.partition("</script>")[0].encode("utf-8")).digest()
    script = base64.b64encode(own).decode("ascii") if there else ""  # for the policy
    return environment.get_template(template).render({**context, "script_digest": script})


def _source(template: str) -> str:
    return files("tablecloak.reports").joinpath("templates", template).read_text(encoding="utf-8")


PLOTS = ("widths", "loss", "trace")
STATUS_WORDS = {
    Status.OPTIMAL: "It is proven that no safe pattern costs less.",
    Status.FEASIBLE: "The method ran to its end.",
    Status.TIME_LIMIT: "The method was stopped by a limit; this is the best safe pattern that it had found.",
    Status.INTERRUPTED: "The method was interrupted; this is the best safe pattern that it had found.",
}


def report_html(
    problem: Problem,
    result: Result | Pattern,
    intervals: Audit | None = None,
    *,
    explanation: Explanation | None = None,
    title: str = "",
    plots: bool = True,
    most_rows: int = 2_000,
) -> str:
    """The page about a result, or about any pattern with its audit.

    `intervals` is an audit of the same pattern, best with ``intervals=True``: exact feasibility intervals. Without it
    the result's own audit is shown, whose intervals are inner estimates. `explanation` is what `explain` found.
    Tables hold at most `most_rows` rows, the worst first. `plots=False` needs no matplotlib.
    """
    pattern, made = (result.pattern, result) if isinstance(result, Result) else (result, None)
    verdict = intervals if intervals is not None else made.audit if made is not None else None
    if verdict is None:
        raise InputError("Report", ["a pattern alone needs an audit"], advice="Pass audit(problem, pattern).")
    _check_subjects(problem, pattern, verdict, explanation)
    tables = Tables(problem, pattern, verdict, most_rows)
    names = [dimension.name for dimension in problem.table.dimensions]
    context = {
        "counted": many,
        "title": title or f"{problem.table.response} by {', '.join(names)}",
        "verdict": verdict,
        "facts": _facts(tables, made),
        "story": _story(tables, made),
        "judgement": _judgement(tables),
        "rules": tables.rules(),
        "dimensions": names,
        "sensitive": tables.sensitive(),
        "losses": tables.losses(),
        "explanation": None if explanation is None else tables.explained(explanation),
        "vague": isinstance(pattern, Rounding | Perturbation),
        "settings": _settings(made, verdict),
        "notes": () if made is None else made.report.notes,
        "plots": _plots(problem, pattern, verdict, made) if plots else dict.fromkeys(PLOTS, ""),
    }
    return confidential_page("report.html", context)


def _plots(problem: Problem, pattern: Pattern, verdict: Audit, made: Result | None) -> dict[str, Markup]:
    return {
        "widths": Markup(widths_svg(problem, verdict)),
        "loss": Markup(loss_svg(problem, pattern)),
        "trace": Markup(trace_svg(made.report) if made is not None and len(made.report.trace) > 1 else ""),
    }


def _check_subjects(
    problem: Problem, pattern: Pattern, verdict: Audit, explanation: Explanation | None
) -> None:
    """Everything in one report must be about the same problem and pattern."""
    given = [("audit", verdict.subject), ("explanation", explanation.subject if explanation else None)]
    faults = [
        f"the {name} is about another problem or another pattern"
        for name, subject in given
        if subject is not None and (subject[0] is not problem or subject[1] is not pattern)
    ]
    if faults:
        raise InputError("Report", faults, advice="Audit and explain this problem and this pattern.")


# ---------------------------------------------------------------------- words


def _facts(tables: Tables, made: Result | None) -> list[tuple[str, str]]:
    """The figures at the top."""
    every, problem = tables.total.every, tables.problem
    touched = "hidden" if isinstance(tables.pattern, Suppression) else "not published exactly"
    cost = tables.pattern.loss(problem) if made is None else made.cost
    gap = None if made is None else made.gap
    return [
        ("verdict", "SAFE" if tables.verdict.safe else "NOT SAFE"),
        ("sensitive", f"{_sensitive(problem):,} of {many(int(every.cells[0]), 'cell')}"),
        (touched, f"{int(every.touched[0]):,} ({percent(every.share[0])})"),
        ("complementary", f"{int(every.complementary[0]):,}"),
        ("cost", f"{cost:,.6g}"),
        ("gap", "nothing proven" if gap is None else f"{gap:.2%}"),
    ]


def _sensitive(problem: Problem) -> int:
    return int((problem.sensitive & ~problem.table.is_virtual).sum())


def _story(tables: Tables, made: Result | None) -> list[str]:
    """The result in plain words."""
    every, change = tables.total.every, tables.total.change
    verb = "hidden" if isinstance(tables.pattern, Suppression) else "not published exactly"
    marked = int(every.marked[0])
    also = f", {many(marked, 'cell')} marked to be hidden" if marked else ""
    told = [
        f"The table has {many(int(every.cells[0]), 'cell')}; {_sensitive(tables.problem):,} of them "
        f"sensitive. {int(every.touched[0]):,} are {verb}: {int(every.sensitive[0]):,} sensitive{also} and "
        f"{int(every.complementary[0]):,} complementary. That is {percent(every.share[0])} of the cells, and "
        f"{percent(tables.total.leaves.value_share[0])} of the value in the cells that are no totals."
    ]
    if unions := tables.problem.table.virtual:
        told.append(
            f"{many(unions, 'union')} of cells must be protected too: sums that no publication shows."
        )
    if change:
        told.append(f"The values shown differ from the true ones by {percent(change)} of all values.")
    if made is None:
        return [*told, "Where the pattern comes from is not on record, and nothing is proven about its cost."]
    report = made.report
    told.append(
        f"Method {report.method}, seed {report.seed}, {report.seconds:.2f} s, engine {report.engine}. "
        + STATUS_WORDS[made.status]
    )
    cost = f"Its cost is {made.cost:,.6g} (weights of the complementary cells; {made.cost_all:,.6g} with all others)."
    if made.bound is None or made.gap is None:
        return [*told, f"{cost} Nothing is proven about how much less a safe pattern could cost."]
    return [*told, f"{cost} No safe pattern costs less than {made.bound:,.6g}: the gap is {made.gap:.2%}."]


def _judgement(tables: Tables) -> dict[str, Any]:
    """The verdict in words, and what speaks against the pattern."""
    verdict, insiders = tables.verdict, len(tables.problem.attackers)
    who = f"the outsider and {many(insiders, 'insider')}" if insiders else "the outsider"
    asked = f"{many(verdict.cells.size, 'question')} on {many(np.unique(verdict.cells).size, 'cell')}"
    attackers = many(insiders + 1, "attacker")
    words = f"{asked}, {attackers} ({who}). Engine {verdict.engine}, {verdict.seconds:.2f} s."
    faults = [f"open: {name}" for name in tables.names(verdict.open_cells[: SETTINGS.cells])]
    if verdict.open_cells.size > SETTINGS.cells:
        faults.append(f"open: {verdict.open_cells.size - SETTINGS.cells} more")
    faults += [f"against its mark: {name}" for name in tables.names(verdict.against_marks[: SETTINGS.cells])]
    if verdict.too_many_touched:
        faults.append(f"more than {tables.problem.most_touched} cells are touched")
    return {"words": words, "faults": faults}


def _settings(made: Result | None, verdict: Audit) -> list[tuple[str, list[tuple[str, str]]]]:
    """Parameters, counters and versions."""
    groups: list[tuple[str, Mapping[str, Any]]] = [("counters of the audit", verdict.counters)]
    if made is not None:
        report = made.report
        groups[:0] = [("parameters", report.params), ("counters", report.counters)]
        groups.append(("versions", report.versions))
    filled = [(name, pairs.items()) for name, pairs in groups if pairs]
    return [(name, [(key, _setting(value)) for key, value in pairs]) for name, pairs in filled]


def _setting(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else "–" if value is None else str(value)


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
