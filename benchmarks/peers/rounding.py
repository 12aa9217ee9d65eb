"""Controlled rounding by other programs: pytauargus (the rounder of τ-ARGUS, with HiGHS) and gconfid (OptRounding).

Both get the table, our weights and the base, and look for the nearest table of multiples that adds up, every cell a
multiple next to its value. Protection is in neither: the audit that tells open cells is ours, as is the price.

What must be known: pytauargus (0.6.0) takes its limit in whole minutes of processor time (we kill it after two and a
half times as long and 60 s), and tries more steps by itself where no such rounding exists. gconfid (2.0.4) lets cells
go any distance unless told bounds; we tell it the next multiples, and its solver the limit and a gap of nothing. It
takes no weight of zero: cells without weight must be multiples.
"""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peers import process
from peers.suppression import minutes, peer_text
from tablecloak import Problem
from tablecloak.arrays import Floats, floats

ROUNDER, GCONFID = process.SCRIPTS / "rounder.py", process.SCRIPTS / "gconfid.py"
ENDS = {"Optimal": "optimal", "Time limit reached": "time-limit", "Infeasible": "infeasible"}
BOUND = re.compile(r"UB = (\S+); LB = (\S+)")
CLOSE = 1e-6


@dataclass(frozen=True)
class Rounded:
    """What a peer showed."""

    status: str
    seconds: float
    shown: Floats | None = None
    bound: float | None = None


def pytauargus(problem: Problem, base: float, seconds: float) -> Rounded:
    """The rounder of τ-ARGUS; the limit is rounded up to minutes."""
    text, ids = peer_text(problem, 1.0)
    limit = minutes(seconds)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "problem.jj").write_text(text, encoding="utf-8")
        order = {"folder": folder, "base": base, "minutes": limit}
        said = process.ask("pytauargus", ROUNDER, order, 150.0 * limit + 60.0)
    if said.answer is None:
        return Rounded(said.status, said.seconds)
    shown = _by_id(said.answer["shown"], ids)
    if shown is None:
        code = said.answer["code"]
        return Rounded(f"error: code {code}, {said.answer['error']}", said.answer["seconds"])
    found = BOUND.findall(said.text)
    upper, lower = (float(number) for number in found[-1]) if found else (np.inf, -np.inf)
    status = "optimal" if upper - lower <= CLOSE * max(1.0, abs(upper)) else "time-limit"
    return Rounded(status, said.answer["seconds"], shown, lower if found else None)


def _by_id(pairs: list[list[str]], ids: list[str]) -> Floats | None:
    """The values in the order of the table; None where cells are missing."""
    found = {name: float(value) for name, value in pairs}
    return floats([found[name] for name in ids]) if set(ids) <= set(found) else None


def gconfid(problem: Problem, base: float, seconds: float) -> Rounded:
    """OptRounding, every cell to a multiple next to it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "problem.json").write_text(
            json.dumps(gconfid_tables(problem, base)), encoding="utf-8"
        )
        order = {"folder": folder, "base": int(base), "seconds": seconds}
        said = process.ask("gconfid", GCONFID, order, 2.5 * seconds + 60.0)
    if said.answer is None:
        return Rounded(said.status, said.seconds)
    answer = said.answer
    ended = ENDS.get(answer["ended"], answer["ended"])
    spent, bound = answer["seconds"], answer["bound"]
    if not answer["shown"] or answer["message"]:
        plain = ended if ended in ("infeasible", "time-limit") else f"error: {answer['message'][:200]}"
        return Rounded(plain, spent)
    told = base * bound if ended in ("optimal", "time-limit") and np.isfinite(bound) else None
    return Rounded(ended, spent, floats(answer["shown"]), told)


def gconfid_tables(problem: Problem, base: float) -> dict[str, Any]:
    """Cells and equations for gconfid."""
    table, weights = problem.table, problem.weights
    loose = (weights == 0) & (table.values % base != 0)
    if loose.any() or table.rhs.any():
        raise ValueError("gconfid takes no cells without weight, and no right-hand sides")
    equations = table.equations.tocoo()
    return {
        "values": table.values.tolist(),
        "weights": np.where(weights > 0, weights, 1.0).tolist(),
        "low": (np.floor(table.values / base) * base).tolist(),
        "high": (np.ceil(table.values / base) * base).tolist(),
        "rows": equations.coords[0].tolist(),
        "columns": equations.coords[1].tolist(),
        "entries": equations.data.astype(float).tolist(),
    }
