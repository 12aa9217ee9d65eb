"""Cell suppression by pytauargus (the branch-and-cut of Fischetti and Salazar as in τ-ARGUS, with HiGHS).

It solves JJ files: we write the file, `pytauargus.py` solves it in the peer's environment, we read the pattern, price
it by our weights and audit it.

What must be known about it (version 0.6.0): limits are whole minutes of processor time, longer on the wall where others
use the machine; it is killed after two and a half times as long and 60 s. Weights are read as 32-bit integers, and
costs from 2.14e9 on are infinite for it: larger problems are scaled down by a power of ten (values, bounds and levels
exactly, weights rounded down, so that its bound stays a bound), by the next one where it crashes. Its objective counts
the sensitive cells too.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from peers import process
from tablecloak import Problem, Suppression, audit, write_jj

SCRIPT = process.SCRIPTS / "pytauargus.py"
INFINITE = 2.1e9
"""Costs and values that large do not fit into the peer's numbers."""
LEAST_LARGEST = 1e5
"""Nothing is scaled down further than to this largest weight."""


@dataclass(frozen=True)
class PeerRun:
    """What a peer did with a problem. Costs and bounds are of the complementary cells, as ours."""

    status: str
    """``optimal``, ``time-limit``, ``error: ...``, ``crashed: signal 11``, ``killed after 120 s``."""
    seconds: float
    """From the JJ file to the pattern, by the clock on the wall."""
    solve_seconds: float | None = None
    """What it says itself: without reading and writing, and less than on the wall when others use the machine."""
    cost: float | None = None
    bound: float | None = None
    open_cells: int | None = None
    """Cells that our audit finds unprotected in its pattern."""
    scale: float = 1.0
    """What the numbers were divided by."""
    crashes: str = ""
    """How it ended at smaller scales."""


def pytauargus(problem: Problem, seconds: float) -> PeerRun:
    """The peer on a problem, at most so long (rounded up to minutes)."""
    if (problem.weights != np.floor(problem.weights)).any():
        raise ValueError("the peer reads whole weights only")
    scale = first_scale(problem)
    crashes: list[str] = []
    while True:
        run = _attempt(problem, scale, minutes(seconds))
        if not run.status.startswith("crashed") or problem.weights.max() < LEAST_LARGEST * scale * 10:
            return replace(run, crashes="; ".join(crashes))
        crashes.append(f"{run.status} at scale {scale:g}")
        scale *= 10


def minutes(seconds: float) -> int:
    """A limit as the peer takes it."""
    return max(1, math.ceil(seconds / 60.0))


def _attempt(problem: Problem, scale: float, limit: int) -> PeerRun:
    """The peer on a problem that is scaled down."""
    text, ids = peer_text(problem, scale)
    end = 150.0 * limit + 60.0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "problem.jj").write_text(text, encoding="utf-8")
        said = process.ask("pytauargus", SCRIPT, {"folder": folder, "minutes": limit}, end)
    if said.answer is None:
        return PeerRun(said.status, said.seconds, scale=scale)
    return judged(problem, ids, said.answer, scale)


def judged(problem: Problem, ids: Sequence[str], answer: dict[str, object], scale: float) -> PeerRun:
    """The peer's answer in our terms: priced by our weights and audited by us."""
    code, spent, solve = (answer[key] for key in ("code", "seconds", "solve_seconds"))
    assert isinstance(spent, float)
    own = (
        abs(solve) if isinstance(solve, float) else None
    )  # it tells the seconds of a run it cut short as negative
    if code not in (0, 1):
        return PeerRun(f"error: code {code} {answer['message']}".strip(), spent, own, scale=scale)
    place = {name: position for position, name in enumerate(ids)}
    hidden = problem.must_hide.copy()
    named = answer["hidden"]
    assert isinstance(named, list)
    hidden[[place[str(name)] for name in named]] = True
    cost = float(problem.weights[hidden & ~problem.must_hide].sum())
    bound = answer["bound"]
    if isinstance(bound, float):
        given = np.floor(problem.weights[problem.must_hide] / scale).sum()
        bound = min(cost, max(0.0, scale * (bound - float(given))))
    verdict = audit(problem, Suppression.of(problem.table, hidden))
    status = "optimal" if code == 0 else "time-limit"
    return PeerRun(
        status,
        spent,
        own,
        cost,
        bound if isinstance(bound, float) else None,
        int(verdict.open_cells.size),
        scale,
    )


def first_scale(problem: Problem) -> float:
    """The power of ten that brings costs, values and bounds into the peer's numbers."""
    bounds = problem.outsider_high[np.isfinite(problem.outsider_high)]
    largest = max(problem.weights.sum(), np.abs(problem.table.values).max(), bounds.max(initial=0.0))
    return 1.0 if largest < INFINITE else 10.0 ** math.ceil(math.log10(largest / INFINITE))


def peer_text(problem: Problem, scale: float) -> tuple[str, list[str]]:
    """The JJ file for the peer, and the ids of the cells in it."""
    lines = write_jj(problem).splitlines()
    last = 2 + int(lines[1])
    ids = [line.split(" ", 1)[0] for line in lines[2:last]]
    if scale > 1:
        lines[2:last] = [_scaled(line, scale) for line in lines[2:last]]
        lines[last + 1 :] = [_scaled_equation(line, scale) for line in lines[last + 1 :]]
    return "\n".join(lines) + "\n", ids


def _scaled(line: str, scale: float) -> str:
    name, value, weight, status, *rest = line.split(" ")
    numbers = [text if abs(float(text)) >= 1e30 else repr(float(text) / scale) for text in rest]
    return " ".join([name, repr(float(value) / scale), str(int(float(weight) // scale)), status, *numbers])


def _scaled_equation(line: str, scale: float) -> str:
    right, rest = line.split(" ", 1)
    return f"{float(right) / scale!r} {rest}"
