"""Ways and bases of cells by rules: by codes, depth in a hierarchy, totals, marks or a mask; the last that fits counts.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, last section: any partition of the
cells into methodologies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError, near
from tablecloak.model import Mark, Problem, select_cells

WAYS = ("exact", "suppress", "interval", "round", "perturb")
SELECTORS = ("codes", "depth", "totals", "cells")
"""Keys of a rule that `select_cells` takes."""
KEYS = ("way", "base", "mark", *SELECTORS)
MARKS = {mark.name.lower(): mark for mark in Mark}


def chosen_ways(
    problem: Problem, rules: Any, ways: Ints, base: Floats, faults: list[str]
) -> tuple[Ints, Floats]:
    """The ways (numbers in `WAYS`) and bases after the rules; what is wrong with them is added to the faults.

    Cells that no rule fits keep what they have.
    """
    if not _is_list(rules):
        faults.append(
            "choose: expected a list of rules, each a mapping like {'way': 'round', 'totals': True}"
        )
        return ways, base
    ways, base = ways.copy(), base.copy()
    for number, rule in enumerate(rules, 1):
        where = f"choose[{number}]"
        if not isinstance(rule, Mapping):
            faults.append(f"{where}: expected a mapping, not {type(rule).__name__}")
            continue
        wrong = rule_faults(rule)
        faults += [f"{where}: {fault}" for fault in wrong]
        if wrong:
            continue
        try:
            cells = _cells(problem, rule)
        except InputError as error:
            faults += [f"{where}: {fault}" for fault in error.faults]
            continue
        ways[cells] = WAYS.index(rule["way"])
        if "base" in rule:
            base[cells] = float(rule["base"])
    return ways, base


def rule_faults(rule: Mapping[str, Any]) -> list[str]:
    """What is wrong with a rule, before any table is looked at."""
    faults = [f"there is no key {key!r}{near(key, KEYS)}" for key in rule if key not in KEYS]
    if "way" not in rule:
        faults.append("the key 'way' is missing")
    elif rule["way"] not in WAYS:
        faults.append(f"there is no way {rule['way']!r}{near(rule['way'], WAYS)}")
    base = rule.get("base", 0.0)
    if isinstance(base, bool) or not isinstance(base, int | float | np.number) or not 0 <= base < np.inf:
        faults.append("base: expected a finite number that is not negative")
    elif "base" in rule and rule.get("way") in WAYS and rule["way"] != "round":
        faults.append("base: only cells that are rounded have one")
    faults += [
        f"there is no mark {mark!r}{near(mark, list(MARKS))}" for mark in _marks(rule) if mark not in MARKS
    ]
    faults += [
        f"{key}: expected a mapping from dimensions, like {{'region': ...}}"
        for key in ("codes", "depth")
        if rule.get(key) is not None and not isinstance(rule[key], Mapping)
    ]
    if rule.get("totals") is not None and not isinstance(rule["totals"], bool | np.bool_):
        faults.append("totals: expected true or false")
    return faults


def _cells(problem: Problem, rule: Mapping[str, Any]) -> Bools:
    """The cells that a rule fits."""
    cells = select_cells(problem.table, **{key: rule[key] for key in SELECTORS if key in rule})
    if marks := _marks(rule):
        cells = cells & np.isin(problem.marks, [int(MARKS[mark]) for mark in marks])
    return cells


def _marks(rule: Mapping[str, Any]) -> list[Any]:
    given = rule.get("mark")
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given) if _is_list(given) else [given]


def _is_list(given: Any) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str)
