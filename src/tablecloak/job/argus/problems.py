"""The problem of τ-ARGUS: what its outsider knows, the levels of its rules, one table or linked ones.

The outsider knows that values are not negative and at most 1.5 times the largest one; with negative values, that they
are at least 1.5 times the smallest. GH may let him know every value up to a share of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Floats, Ints, floats, frozen
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.formats.argus import SuppressSpec
from tablecloak.job.argus.classification import (
    PROTECTED,
    SECONDARY,
    SECONDARY_MANUAL,
    UNSAFE_FREQUENCY,
    ArgusTable,
)
from tablecloak.model import Dimension, Levels, Packing, Problem, Reason, Suppression, Table, link
from tablecloak.progress import Progress

OUTSIDER = 1.5
"""The outsider of τ-ARGUS knows that no value is more than this times the largest one."""


def problem_of(state: ArgusTable, spec: SuppressSpec | None = None) -> Problem:
    """The problem of one table; roundings need other levels in tables of counts, and GH may narrow the bounds."""
    base = spec.arguments["base"] if spec is not None and spec.method == "RND" else None
    lower, upper = state.lower.copy(), state.upper.copy()
    if base is not None and state.planned.spec.response is None:
        few = state.status == UNSAFE_FREQUENCY
        minimum = max((r.numbers[0] for r in state.planned.rules.rules if r.name == "FREQ"), default=0.0)
        lower = np.where(few, state.table.values, lower)
        upper = np.where(few, max(1.0, base - minimum), upper)
    return _problem(
        state.table, state.status, lower, upper, state.weights, state.reasons(), known_share(spec)
    )


def known_share(spec: SuppressSpec | None) -> float | None:
    """The share of every value up to which GH takes it to be known; None: only that it is not negative."""
    bounds = spec.arguments["bounds"] if spec is not None and spec.method == "GH" else 100.0
    return bounds / 100 if bounds < 100 else None


def _problem(
    table: Table,
    status: NDArray[np.integer],
    lower: Floats,
    upper: Floats,
    weights: Floats,
    reasons: Mapping[int, tuple[Reason, ...]],
    share: float | None = None,
) -> Problem:
    values = table.values
    low = floats(0.0 if (values >= 0).all() else OUTSIDER * float(values.min()), len(table))
    high = floats(OUTSIDER * max(float(values.max()), 0.0), len(table))
    if share is not None:
        low = np.maximum(low, values - share * np.abs(values))
        high = np.minimum(high, values + share * np.abs(values))
    unsafe = (status >= 3) & (status <= 9)
    problem = Problem.of(
        table,
        unsafe,
        Levels.of(len(table), np.where(unsafe, lower, 0.0), np.where(unsafe, upper, 0.0)),
        weights=weights,
        forced=status == PROTECTED,
        hidden=(status == SECONDARY) | (status == SECONDARY_MANUAL),
        known=(low, high),
        widen=True,
    )
    return replace(problem, reasons=dict(reasons))


@dataclass(frozen=True, eq=False)
class JointProblem:
    """Linked tables as one problem, and the place of every cell of each table in it."""

    problem: Problem
    places: tuple[Ints, ...]


def linked_problem(states: Sequence[ArgusTable], share: float | None) -> JointProblem:
    """One problem for all tables; common cells must agree in value and status."""
    tables = [state.table for state in states]
    joint = link(tables)
    places = tuple(_places(table, joint) for table in tables)
    size = len(joint)
    status, cost = np.full(size, -1, dtype=np.int64), np.zeros(size)
    lower, upper = np.zeros(size), np.zeros(size)
    faults, reasons = list[str](), dict[int, tuple[Reason, ...]]()
    for state, at in zip(states, places, strict=True):
        differ = (status[at] >= 0) & (status[at] != state.status)
        faults += [
            f"common cell {joint.label(cell)} has status {status[cell]} and, in table {state.planned.number}, {own}"
            for cell, own in zip(at[differ].tolist(), state.status[differ].tolist(), strict=True)
        ]
        status[at] = state.status
        lower[at], upper[at] = np.maximum(lower[at], state.lower), np.maximum(upper[at], state.upper)
        cost[at] = np.maximum(cost[at], state.weights)
        own = state.reasons()
        reasons |= {int(at[cell]): words for cell, words in own.items()}
    if faults:
        advice = "Give linked tables the same safety rules and the same marks for the cells that they share."
        raise InputError("Linked tables", faults, advice=advice)
    return JointProblem(_problem(joint, status, lower, upper, floats(cost), reasons, share), places)


def _places(table: Table, joint: Table) -> Ints:
    """The cell of the joint table for each cell of a table."""
    own = {dimension.name: d for d, dimension in enumerate(table.dimensions)}
    columns = [
        _positions(table.dimensions[own[each.name]], each)[table.codes[:, own[each.name]]]
        if each.name in own
        else np.full(len(table), each.index[str(each.total)], dtype=np.int32)
        for each in joint.dimensions
    ]
    packing = Packing.of(joint.dimensions)
    keys = packing.keys(joint.codes)
    order = np.argsort(keys)
    wanted = packing.keys(np.stack(columns, axis=1))
    return frozen(order[np.searchsorted(keys[order], wanted)])


def _positions(own: Dimension, joint: Dimension) -> Ints:
    return np.array([joint.index[code] for code in own.codes], dtype=np.int32)


def responses_apart(states: Sequence[ArgusTable]) -> list[list[ArgusTable]]:
    """Tables by response: only those of one response share cells."""
    groups = dict[tuple[str, bool], list[ArgusTable]]()
    for state in states:
        response = state.planned.response
        key = ("" if response is None else response.name, state.planned.rules.weighted)
        groups.setdefault(key, []).append(state)
    return list(groups.values())


def open_together(
    states: Sequence[ArgusTable], hidden: Sequence[NDArray[np.bool_]], progress: Progress
) -> list[str]:
    """Cells that tables of one response leave open together, although each was protected by itself.

    A cell that one of them shows is shown. An outsider reads all of them, whatever they were made for.
    """
    joint = link([state.table for state in states])
    size = len(joint)
    shown, unsafe = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    lower, upper = np.zeros(size), np.zeros(size)
    for state, own in zip(states, hidden, strict=True):
        at = _places(state.table, joint)
        shown[at] |= ~own
        unsafe[at] |= state.unsafe
        lower[at], upper[at] = np.maximum(lower[at], state.lower), np.maximum(upper[at], state.upper)
    status = np.where(unsafe, UNSAFE_FREQUENCY, 1)
    problem = _problem(joint, status, lower, upper, np.ones(size), {})
    verdict = audit(problem, Suppression.copy_of(~shown), progress=progress)
    bare = np.flatnonzero(unsafe & shown)
    return joint.labels(np.union1d(verdict.open_cells, bare))
