"""Sections on limits and interrupts: how long each method took on each table, and what was not kept."""

from __future__ import annotations

from pathlib import Path

from cases.limits import LIMITS, LONG_LIMIT, TABLES
from reports.layout import NOTHING, table
from runner import Row, Store
from tablecloak.methods import METHODS

NOT_APPLICABLE = ("NotApplicable", "InputError", "InfeasibleProblem")
UNTRIED = ""


def limits_section(results: Path) -> str:
    """A table for each limit: methods by tables, in seconds."""
    rows = list(Store(results / "limits.csv").rows.values())
    longer = list(Store(results / "limits-60.csv").rows.values())
    parts = [_matrix(rows, f"Limit {limit:g} s", f" {limit:g} s") for limit in LIMITS]
    parts.append(_matrix(longer, f"Limit {LONG_LIMIT:g} s", f" {LONG_LIMIT:g} s"))
    return "\n\n".join(part for part in parts if part) or NOTHING


def interrupts_section(results: Path) -> str:
    """One table: methods by tables, in seconds since the start."""
    return _matrix(list(Store(results / "interrupts.csv").rows.values()), "Ctrl-C after 3 s", "") or NOTHING


def _matrix(rows: list[Row], title: str, suffix: str) -> str:
    """Methods by tables. What is late is in bold, what an outsider could not have used has a word."""
    measured = [
        row for row in rows if row.get(f"status{suffix}") or row["status"].startswith(("killed", "crashed"))
    ]
    if not measured:
        return ""
    seen = {row["name"] for row in measured}
    names = [name for name in TABLES if name in seen]
    cells = {(row["method"], row["name"]): _cell(row, suffix) for row in measured}
    lines = [
        (method, *(cells.get((method, name), UNTRIED) for name in names))
        for method in METHODS
        if any(row["method"] == method for row in measured)
    ]
    applied = [row for row in measured if row.get(f"status{suffix}") not in NOT_APPLICABLE]
    late = sum(row.get(f"kept{suffix}") != "True" for row in applied)
    hidden = sum(row.get(f"everything{suffix}") == "True" for row in applied)
    failed = sum(_failure(row, suffix) != "" for row in applied)
    slow = [row for row in applied if row.get(f"early{suffix}") == "False"]
    about = (
        f"{title}: {len(applied)} runs, {late} late, {failed} without a pattern, "
        f"{hidden} with everything hidden that may be{_first_patterns(slow, suffix)}."
    )
    return f"{about}\n\n{table(('', *names), lines)}"


def _first_patterns(slow: list[Row], suffix: str) -> str:
    """What first patterns took longer than a tenth of the limit and three audits."""
    if not slow:
        return ""
    seconds = [f"{row['method']} on {row['name']} ({float(row[f'first_s{suffix}']):.1f} s)" for row in slow]
    return f", {len(slow)} with a first pattern after a tenth of the limit and three audits: {', '.join(seconds)}"


def _cell(row: Row, suffix: str) -> str:
    status = row.get(f"status{suffix}") or row["status"]
    if status in NOT_APPLICABLE:
        return "–"
    took = row.get(f"seconds{suffix}") or ""
    shown = f"{float(took):.1f}" if took else ""
    if row.get(f"kept{suffix}") != "True":
        shown = f"**{shown}**"
    words = [_failure(row, suffix), "all" if row.get(f"everything{suffix}") == "True" else ""]
    return " ".join(filter(None, [shown, *words]))


def _failure(row: Row, suffix: str) -> str:
    """What a run ended in, if it ended without a pattern."""
    status = row.get(f"status{suffix}") or row["status"]
    known = ("optimal", "feasible", "time-limit", "interrupted", *NOT_APPLICABLE)
    return "" if status in known else status.split(":")[0]
