"""Audits against the oracle: verdicts near the threshold, and the ends of intervals."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from cases.reliability.findings import Fault, Findings, message_of
from tablecloak import Audit, audit
from tablecloak.errors import TablecloakError
from tablecloak.testing import Oracle, oracle_verdict
from tablecloak.testing.random_cases import Case, Size, near_threshold, random_case
from tablecloak.testing.simplex import Number

AUDITS, ENDS = "audits", "ends"
LARGE_EVERY = 12
"""Every twelfth seed has a table of up to about 400 cells."""
END_NOISE, END_SPACINGS = 1e-6, 4
"""An end is right if it is this near to the exact one: in data units, and in spacings of floating-point numbers."""


def examine_audit(seed: int) -> Findings:
    """One audit near the threshold: each verdict of a cell and attacker against the exact one."""
    rng = np.random.default_rng([1, seed])
    case = random_case(rng, size=_size(seed))
    problem, found = near_threshold(case, rng), Findings()
    found.counts.update(audits=1, mixed_scales=int(case.scale == "mixed"))
    told = _audited(case, problem, AUDITS, seed, found)
    if told is None:
        return found
    exact = oracle_verdict(problem, case.pattern)
    undecided = _marked(told, "undecided", False)
    found.counts.update(
        verdicts=told.cells.size, met=sum(row.met for row in exact.rows), undecided=int(undecided.sum())
    )
    wrong: dict[str, list[str]] = {"false safe": [], "false unsafe": []}
    for cell, attacker, safe, open_question in zip(
        told.cells.tolist(), told.attackers.tolist(), told.safe_rows.tolist(), undecided.tolist(), strict=True
    ):
        row = exact.row(cell, attacker)
        found.counts["undecided_but_met"] += open_question and row.met
        if safe != row.met and not open_question:
            kind = "false safe" if safe else "false unsafe"
            asked = f"asked {row.lower}/{row.upper}/{row.sliding}, exact reach {row.down}/{row.up}"
            wrong[kind].append(f"cell {cell}, attacker {attacker}, {asked}")
    for kind, places in wrong.items():
        if places:
            about = f"{kind}: {case.kind}, {case.scale}, {case.publishing}: {'; '.join(places)}"
            found.add(Fault(AUDITS, seed, about, problem, case.pattern), kind.replace(" ", "_"))
    if undecided.any():
        found.counts["undecided_audits"] += 1
    return found


def examine_ends(seed: int) -> Findings:
    """All intervals of one pattern: each end that is called proven against the exact one."""
    rng = np.random.default_rng([2, seed])
    case = random_case(rng, size=_size(seed))
    problem, found = (near_threshold(case, rng) if rng.random() < 0.5 else case.problem), Findings()
    told = _audited(case, problem, ENDS, seed, found, intervals=True, every_hidden=True)
    if told is None:
        return found
    oracle = Oracle(problem, case.pattern)
    scale, spacing = 10**problem.table.decimals, np.spacing(np.abs(problem.table.values))
    proven = [_marked(told, name, told.exact).tolist() for name in ("low_proven", "high_proven")]
    wrong: dict[str, list[str]] = {"too wide": [], "too narrow": []}
    for at, (cell, attacker) in enumerate(zip(told.cells.tolist(), told.attackers.tolist(), strict=True)):
        exact = oracle.interval(cell, attacker)
        for side, (got, true) in enumerate(zip((told.low[at], told.high[at]), exact, strict=True)):
            found.counts["ends"] += 1
            if not proven[side][at]:
                found.counts["unproven"] += 1
                continue
            off = _off(float(got), true, scale, float(spacing[cell]))
            if off:
                kind = "too wide" if (off > 0) == (side == 1) else "too narrow"
                end = ("low", "high")[side]
                wrong[kind].append(f"{end} of cell {cell}, attacker {attacker}: {got!r}, exact {true} units")
    for kind, places in wrong.items():
        found.counts[kind.replace(" ", "_")] += len(places)
        if places:
            about = f"{kind}: {case.kind}, {case.scale}, {case.publishing}: {'; '.join(places)}"
            found.faults.append(Fault(ENDS, seed, about, problem, case.pattern))
    return found


def _size(seed: int) -> Size:
    return "large" if seed % LARGE_EVERY == LARGE_EVERY - 1 else "usual"


def _audited(
    case: Case, problem: Any, part: str, seed: int, found: Findings, **options: bool
) -> Audit | None:
    """The audit, or None if it ended in an error, which is a fault."""
    try:
        return audit(problem, case.pattern, **options)
    except TablecloakError as error:
        found.add(Fault(part, seed, f"audit error: {message_of(error)}", problem, case.pattern), "errors")
    except Exception as error:  # whatever it is, it is what we look for
        found.add(Fault(part, seed, f"foreign: {message_of(error)}", problem, case.pattern), "foreign")
    return None


def _marked(told: Audit, name: str, otherwise: bool) -> Any:
    """A mark of every row of an audit, where audits have it."""
    marks = getattr(told, name, None)
    return np.full(told.cells.size, otherwise) if marks is None else np.asarray(marks)


def _off(got: float, true: Number, scale: int, spacing: float) -> float:
    """By how much an end is off, zero within noise."""
    if true in (inf, -inf):
        return (
            0.0
            if got == true
            else float(np.sign(got - float(true)) if got in (inf, -inf) else -np.sign(true))
        )
    if got in (inf, -inf):
        return got
    expected = float(true / scale) if not isinstance(true, float) else true
    noise = END_NOISE / scale + END_SPACINGS * max(spacing, float(np.spacing(abs(expected))))
    return 0.0 if abs(got - expected) <= noise else got - expected
