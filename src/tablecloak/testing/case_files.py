"""Cases as JSON: a problem and a pattern with all their numbers, so that a fault that was found can be kept.

Dimensions are not kept: the table is read back from its equations. True values are in the file, so it is for made-up
data only.
"""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats
from tablecloak.model import (
    Attacker,
    AttackerLevels,
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)


def write_case(path: Path, problem: Problem, pattern: Pattern | None, **facts: Any) -> None:
    """Write a case with further facts about it."""
    record = {
        **facts,
        "problem": _problem(problem),
        "pattern": None if pattern is None else _pattern(pattern),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_case(path: Path) -> tuple[Problem, Pattern | None]:
    """The problem and the pattern of a file."""
    record = json.loads(path.read_text(encoding="utf-8"))
    problem = _read_problem(record["problem"])
    return problem, None if record["pattern"] is None else _read_pattern(record["pattern"], problem.table)


# ---------------------------------------------------------------------- problems


def _numbers(array: Any) -> list[float | int | str]:
    """Numbers as JSON; infinite ones as text."""
    return [number if isfinite(number) else str(number) for number in np.asarray(array).tolist()]


def _floats(numbers: list[float | int | str]) -> Floats:
    return np.array([float(number) for number in numbers])


def _cells(mask: Any) -> list[int]:
    return [int(cell) for cell in np.flatnonzero(mask)]


def _problem(problem: Problem) -> dict[str, Any]:
    table = problem.table
    entries = table.equations.tocoo()
    return {
        "values": _numbers(table.values),
        "decimals": table.decimals,
        "equations": [_numbers(entries.row), _numbers(entries.col), _numbers(entries.data)],
        "rhs": _numbers(table.rhs),
        "sensitive": _cells(problem.sensitive),
        "forced": _cells(problem.forced),
        "hidden": _cells(problem.must_hide & ~problem.sensitive),
        "levels": {name.replace(" ", "_"): _numbers(level) for name, level in problem.levels.named()},
        "known": [_numbers(problem.outsider_low), _numbers(problem.outsider_high)],
        "weights": _numbers(problem.weights),
        "prices": None
        if problem.prices is None
        else {name: _numbers(price) for name, price in vars(problem.prices).items() if price is not None},
        "attackers": [
            {
                "name": who.name,
                "cells": _numbers(who.cells),
                "low": _numbers(who.low),
                "high": _numbers(who.high),
                "levels": {
                    name: _numbers(level)
                    for name, level in (("cells", who.levels.cells), *who.levels.named())
                },
            }
            for who in problem.attackers
        ],
        "most_touched": problem.most_touched,
    }


def _read_problem(record: dict[str, Any]) -> Problem:
    values = _floats(record["values"])
    row, column, data = record["equations"]
    rhs = _floats(record["rhs"])
    matrix = csr_array((_floats(data), (row, column)), shape=(rhs.size, values.size))
    table = Table.from_equations(values, matrix, rhs, decimals=record["decimals"])
    return Problem.of(
        table,
        np.array(record["sensitive"], dtype=np.int64),
        Levels.of(values.size, **{name: _floats(level) for name, level in record["levels"].items()}),
        forced=np.array(record["forced"], dtype=np.int64),
        hidden=np.array(record["hidden"], dtype=np.int64),
        known=(_floats(record["known"][0]), _floats(record["known"][1])),
        weights=_floats(record["weights"]),
        prices=None
        if not record.get("prices")
        else {name: _floats(price) for name, price in record["prices"].items()},
        attackers=[
            Attacker.knowing(
                who["name"],
                np.array(who["cells"], dtype=np.int64),
                _floats(who["low"]),
                _floats(who["high"]),
                _own_levels(who.get("levels")),
            )
            for who in record["attackers"]
        ],
        most_touched=record["most_touched"],
    )


def _own_levels(record: dict[str, Any] | None) -> AttackerLevels | None:
    """Levels against an attacker; files of before there were any have none."""
    if record is None:
        return None
    given = (_floats(record[name]) for name in ("lower", "upper", "sliding"))
    return AttackerLevels.at(np.array(record["cells"], dtype=np.int64), *given)


# ---------------------------------------------------------------------- patterns


def _pattern(pattern: Pattern) -> dict[str, Any]:
    match pattern:
        case Suppression():
            return {"kind": "suppression", "size": pattern.hidden.size, "hidden": _cells(pattern.hidden)}
        case Intervals():
            return {"kind": "intervals", "low": _numbers(pattern.low), "high": _numbers(pattern.high)}
        case Rounding():
            return {"kind": "rounding", "shown": _numbers(pattern.shown), "base": _numbers(pattern.base)}
        case Perturbation():
            return {
                "kind": "perturbation",
                "shown": _numbers(pattern.shown),
                "reach": _numbers(pattern.reach),
            }
        case Mixed():
            parts = [{"cells": _cells(where), "pattern": _pattern(part)} for where, part in pattern.parts]
            return {"kind": "mixed", "parts": parts}
        case _:
            raise TypeError(f"no record of a {type(pattern).__name__}")


def _read_pattern(record: dict[str, Any], table: Table) -> Pattern:
    match record["kind"]:
        case "suppression":
            return Suppression.of(table, np.array(record["hidden"], dtype=np.int64))
        case "intervals":
            return Intervals.of(_floats(record["low"]), _floats(record["high"]))
        case "rounding":
            return Rounding.of(_floats(record["shown"]), _floats(record["base"]))
        case "perturbation":
            return Perturbation.of(_floats(record["shown"]), _floats(record["reach"]))
        case _:
            parts = [
                (np.array(part["cells"], dtype=np.int64), _read_pattern(part["pattern"], table))
                for part in record["parts"]
            ]
            return Mixed.of(table, parts)
