"""Results, audits and exposures as JSON records, for programs and for the archive. All are confidential.

Strict JSON in a fixed order: finite numbers are numbers, infinite ones the strings "inf" and "-inf", and what
is unknown or not proven is null. Cells are called as in `pattern_csv`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tablecloak.arrays import Ints
from tablecloak.formats import cell_names
from tablecloak.model import Audit, Problem, Result

if TYPE_CHECKING:
    from tablecloak.auditing import Exposure


def result_record(problem: Problem, result: Result) -> dict[str, Any]:
    """What a method did: cost, proof, verdict and all that is needed to do it again.

    `cells` counts the table's cells, `hidden` those not published exactly, of which `complementary` are
    neither sensitive nor marked to be hidden.
    """
    touched = result.pattern.touched(problem)
    report = result.report
    record = {
        "confidential": True,
        "method": report.method,
        "status": result.status.value,
        "safe": result.audit.safe,
        "cost": result.cost,
        "cost_all": result.cost_all,
        "bound": result.bound,
        "gap": result.gap,
        "seconds": report.seconds,
        "cells": len(problem.table),
        "sensitive": int(problem.sensitive.sum()),
        "complementary": int((touched & ~problem.must_hide).sum()),
        "hidden": int(touched.sum()),
        "engine": report.engine,
        "seed": report.seed,
        "params": report.params,
        "counters": report.counters,
        "versions": report.versions,
        "notes": report.notes,
    }
    return {name: plain(value) for name, value in record.items()}


def audit_record(problem: Problem, audit: Audit, intervals: bool = False) -> dict[str, Any]:
    """The verdict; with `intervals` also what each attacker can work out about each cell asked about.

    One question is one cell and one attacker; `open` counts the cells that are not protected, `open_cells`.
    """
    names = cell_names(problem.table)
    record: dict[str, Any] = {
        "confidential": True,
        "safe": audit.safe,
        "questions": audit.cells.size,
        "cells": np.unique(audit.cells).size,
        "attackers": len(problem.attacker_names),
        "open": audit.open_cells.size,
        "open_cells": _named(names, audit.open_cells),
        "too_close": _named(names, audit.too_close),
        "too_many_touched": audit.too_many_touched,
        "against_marks": _named(names, audit.against_marks),
        "exact": audit.exact,
        "seconds": audit.seconds,
        "engine": audit.engine,
        "counters": audit.counters,
    }
    if intervals:
        record["intervals"] = _intervals(problem, audit, names)
    return {name: plain(value) for name, value in record.items()}


def exposure_record(problem: Problem, exposure: Exposure) -> dict[str, Any]:
    """Which sensitive cells are exposed before anything is done: the sets by name, each a list of cells."""
    names = cell_names(problem.table)

    def named(sets: Mapping[str, Ints]) -> dict[str, list[str]]:
        return {name: _named(names, cells) for name, cells in sets.items()}

    record = {
        "confidential": True,
        "sets": named(exposure.sets),
        "algorithms": named(exposure.algorithms),
        "left_open": named(exposure.left_open),
        "most_initial": exposure.most_initial,
        "seconds": exposure.seconds,
    }
    return {name: plain(value) for name, value in record.items()}


def to_json(record: Mapping[str, Any]) -> str:
    """The text of a record."""
    return json.dumps(plain(record), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def plain(value: Any) -> Any:
    """A value as strict JSON can hold it; anything unknown as its text."""
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case np.bool_():
            return bool(value)
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return _number(float(value))
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case np.ndarray():
            return plain(value.tolist())
        case _:
            return str(value)


def _number(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _named(names: list[str], cells: Ints) -> list[str]:
    return [names[cell] for cell in cells.tolist()]


def _intervals(problem: Problem, audit: Audit, names: list[str]) -> list[dict[str, Any]]:
    columns = {
        "cell": _named(names, audit.cells),
        "attacker": _named(list(problem.attacker_names), audit.attackers),
        "low": audit.low.tolist(),
        "high": audit.high.tolist(),
        "required_lower": audit.required_lower.tolist(),
        "required_upper": audit.required_upper.tolist(),
        "required_sliding": audit.required_sliding.tolist(),
        "safe": audit.safe_rows.tolist(),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
