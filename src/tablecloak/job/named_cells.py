"""What a job says about cells that it selects: attackers, conditional levels, and ways to publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.assessment import CellRows, attacker_of, attacker_within
from tablecloak.errors import InputError
from tablecloak.job.inspect import columns_in
from tablecloak.job.job import Job
from tablecloak.model import Table, select_cells

_SELECTORS = ("codes", "depth", "totals")
_CONDITIONAL = ("width", "lower", "upper")


def named_attackers(job: Job, table: Table) -> dict[str, Any]:
    """The attackers of [[attacker]], for `assess`."""
    found, faults = [], list[str]()
    for number, given in enumerate(job.tables("attacker"), 1):
        try:
            if "file" in given:
                found.append(attacker_of(table, given["name"], columns_in(job.file(given["file"]))))
            else:
                cells = _selected(job, table, given)
                found.append(attacker_within(table, given["name"], cells, given["percent"]))
        except InputError as error:
            faults += [f"attacker[{number}]: {fault}" for fault in error.faults]
    _raise(job, faults)
    return {"attackers": found} if found else {}


def named_conditional(job: Job, table: Table) -> dict[str, Any]:
    """The levels of [[conditional]], for `assess`; where several are given the largest counts."""
    levels, faults = {name: np.zeros(len(table)) for name in _CONDITIONAL}, list[str]()
    entries = job.tables("conditional")
    for number, given in enumerate(entries, 1):
        try:
            cells = _selected(job, table, given)
        except InputError as error:
            faults += [f"conditional[{number}]: {fault}" for fault in error.faults]
            continue
        scale = np.abs(table.values) / 100 if given.get("percent") else np.ones(len(table))
        for name in _CONDITIONAL:
            wanted = np.where(cells, scale * given.get(name, 0.0), 0.0)
            levels[name] = np.maximum(levels[name], wanted)
    _raise(job, faults)
    return {"conditional": levels} if entries else {}


def named_ways(job: Job, table: Table) -> dict[str, Any]:
    """The rules of [[way]], as parameter `choose` of a method; files of cells become masks."""
    rules, faults = [], list[str]()
    for number, given in enumerate(job.tables("way"), 1):
        rule = dict(given)
        try:
            if "cells" in rule:
                rule["cells"] = _in_file(job, table, rule["cells"])
            select_cells(table, **{key: rule[key] for key in (*_SELECTORS, "cells") if key in rule})
        except InputError as error:
            faults += [f"way[{number}]: {fault}" for fault in error.faults]
        rules.append(rule)
    _raise(job, faults)
    return {"choose": rules} if rules else {}


def _selected(job: Job, table: Table, given: Mapping[str, Any]) -> Bools:
    """The cells that an entry selects; all of them where it has no such key."""
    chosen = {key: given[key] for key in _SELECTORS if key in given}
    if "cells" in given:
        chosen["cells"] = _in_file(job, table, given["cells"])
    return select_cells(table, **chosen)


def _in_file(job: Job, table: Table, name: str) -> Bools:
    """The cells whose codes a file lists, as a mask."""
    rows = CellRows.of(table, columns_in(job.file(name)), (), f"Cells {name}")
    found = np.zeros(len(table), dtype=bool)
    found[rows.cells] = True
    return found


def _raise(job: Job, faults: list[str]) -> None:
    if faults:
        raise InputError(f"Job file {job.path}", faults)
