"""SUPPRESS: a method of τ-ARGUS by the method of this package, judged by the problem of τ-ARGUS.

That problem is: an outsider who knows that values are not negative and at most 1.5 times the largest one; the levels
of `classification`; and, where the method looks at singletons, sums of unsafe cells with single contributors as virtual
cells. What the method leaves open in it is named, and repaired unless the original pattern is wanted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints, floats, frozen
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.formats.argus import SuppressSpec
from tablecloak.job.argus.classification import (
    PROTECTED,
    SAFE_MANUAL,
    SECONDARY,
    SECONDARY_MANUAL,
    UNSAFE_FREQUENCY,
    ArgusTable,
)
from tablecloak.methods import METHODS, Method, Proposal
from tablecloak.methods.heuristics import OneByOneParams, Own, one_by_one
from tablecloak.methods.modular import SingletonRules, with_singletons
from tablecloak.model import (
    Audit,
    Dimension,
    Levels,
    Packing,
    Pattern,
    Problem,
    Reason,
    Status,
    Suppression,
    Table,
    link,
)
from tablecloak.progress import Progress
from tablecloak.protection import protect

OUTSIDER = 1.5
"""The outsider of τ-ARGUS knows that no value is more than this times the largest one."""
SUPPRESSIONS = {
    "GH": "suppress-hypercube",
    "MOD": "suppress-modular",
    "OPT": "suppress-optimal",
    "NET": "suppress-shortest-path",
    "RND": "round-controlled",
    "CTA": "perturb-cta",
}
"""The method that runs for each one of τ-ARGUS."""
WORDS = {
    "GH": "hypercube",
    "MOD": "modular",
    "OPT": "optimal",
    "NET": "network",
    "RND": "rounding",
    "CTA": "CTA",
}


@dataclass(frozen=True, eq=False)
class Protected:
    """What came of SUPPRESS for one table. Confidential."""

    method: str
    problem: Problem
    pattern: Pattern
    verdict: Audit
    """Of this table alone; of linked tables their common system was judged before it."""


@dataclass(frozen=True)
class SuppressionRecord:
    """What is recorded about a SUPPRESS. Confidential; cells by their codes."""

    line: int
    tables: tuple[int, ...]
    argus_method: str
    method: str
    params: Mapping[str, Any]
    status: str
    cost: float
    bound: float | None
    seconds: float
    unsafe: int
    hidden: int
    open_before_repair: tuple[str, ...] = ()
    repaired: bool = False
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


# ---------------------------------------------------------------------- the problem of τ-ARGUS


def problem_of(state: ArgusTable, base: float | None = None) -> Problem:
    """The problem of one table; `base`: of a rounding, which needs other levels in tables of counts."""
    lower, upper = state.lower.copy(), state.upper.copy()
    if base is not None and state.planned.spec.response is None:
        few = state.status == UNSAFE_FREQUENCY
        minimum = max((r.numbers[0] for r in state.planned.rules.rules if r.name == "FREQ"), default=0.0)
        lower = np.where(few, state.table.values, lower)
        upper = np.where(few, max(1.0, base - minimum), upper)
    return _problem(state.table, state.status, lower, upper, state.weights, state.reasons())


def _problem(
    table: Table,
    status: NDArray[np.integer],
    lower: Floats,
    upper: Floats,
    weights: Floats,
    reasons: Mapping[int, tuple[Reason, ...]],
) -> Problem:
    values = table.values
    low = 0.0 if (values >= 0).all() else OUTSIDER * float(values.min())
    high = OUTSIDER * max(float(values.max()), 0.0)
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


def _singleton_rules(spec: SuppressSpec, states: Sequence[ArgusTable]) -> SingletonRules | None:
    """The sums that the method protects too."""
    given = spec.arguments
    minimum = max(
        (
            r.numbers[0]
            for state in states
            for r in state.planned.rules.rules
            if r.name == "FREQ" and not r.holding
        ),
        default=0.0,
    )
    few = max(int(np.ceil(minimum)) - 1, 0)  # τ-ARGUS protects sums below the minimum
    if spec.method == "MOD":
        chosen = (bool(given["single_single"]), bool(given["single_multiple"]))
        return SingletonRules(*chosen, few if given["min_frequency"] else 0)
    if spec.method == "OPT":
        return SingletonRules(True, True, few)
    return SingletonRules(True, True, 0) if spec.method == "GH" and given["singleton"] else None


def _params(spec: SuppressSpec, states: Sequence[ArgusTable], rules: SingletonRules | None) -> dict[str, Any]:
    """The parameters of our method."""
    given = spec.arguments
    seconds = 60.0 * given.get("minutes", 0.0)
    if spec.method == "MOD" and rules is not None:
        return {
            "single_single": rules.single_single,
            "single_multiple": rules.single_multiple,
            "min_count": rules.min_count,
            "subtable_seconds": seconds or None,
            "max_weight": 0.0 if spec.table == 0 else given["max_cost"],
            "lower_margin": given["lower_margin"],
            "upper_margin": given["upper_margin"],
        }
    if spec.method == "GH":
        bounds = given["bounds"]
        return {"singletons": bool(given["singleton"]), "a_priori": None if bounds >= 100 else bounds / 100}
    if spec.method == "OPT":
        return {"seconds": seconds or None}
    if spec.method == "RND":
        return {"base": given["base"], "steps": int(given["steps"]), "seconds": seconds or None}
    return {}


# ---------------------------------------------------------------------- one table, or several as one


@dataclass(frozen=True, eq=False)
class _Joint:
    """Linked tables as one problem, and the place of every cell of each table in it."""

    problem: Problem
    places: tuple[Ints, ...]


def suppress(
    states: Sequence[ArgusTable], spec: SuppressSpec, line: int, *, original: bool, progress: Progress
) -> tuple[list[Protected], SuppressionRecord]:
    """Protect a table, or several of one response as one linked system."""
    base = spec.arguments.get("base") if spec.method == "RND" else None
    problems = [problem_of(state, base) for state in states]
    joint = _Joint(problems[0], (np.arange(len(states[0].table)),)) if len(states) == 1 else _linked(states)
    pattern, record = _protect(joint.problem, states, spec, line, original, progress)
    found = list[Protected]()
    for state, problem, places in zip(states, problems, joint.places, strict=True):
        own = pattern
        if isinstance(pattern, Suppression) and len(states) > 1:
            own = Suppression.copy_of(pattern.hidden[places])
        verdict = audit(problem, own, progress=progress)
        found.append(Protected(spec.method, problem, own, verdict))
        _mark_secondary(state, own)
    return found, record


def _mark_secondary(state: ArgusTable, pattern: Pattern) -> None:
    """Secondary cells get the status 11, or 12 if they were made safe by hand."""
    if isinstance(pattern, Suppression):
        free = pattern.hidden & (state.status <= SAFE_MANUAL)
        state.status[free & (state.status == SAFE_MANUAL)] = SECONDARY_MANUAL
        state.status[free & (state.status != SECONDARY_MANUAL)] = SECONDARY


def _protect(
    problem: Problem,
    states: Sequence[ArgusTable],
    spec: SuppressSpec,
    line: int,
    original: bool,
    progress: Progress,
) -> tuple[Pattern, SuppressionRecord]:
    """The pattern of a problem and its record; what the method itself left open is named."""
    rules = _singleton_rules(spec, states)
    judged = problem if rules is None else with_singletons(problem, rules)
    params, name = _params(spec, states, rules), SUPPRESSIONS[spec.method]
    size, start = len(problem.table), time.perf_counter()
    own, open_cells = None, tuple[str, ...]()
    if spec.method in REPAIRED:
        own = _own_pattern(problem, name, params, progress)
        verdict = audit(judged, _extended(own, judged), progress=progress)
        open_cells = _labels(problem.table, judged, verdict)
    if own is not None and original:
        pattern: Pattern = own
        status, bound, notes = Status.FEASIBLE, None, tuple[str, ...]()
    else:
        method = name if own is None else _from_pattern(_extended(own, judged).hidden, name)
        given = judged if spec.method == "OPT" or own is not None else problem
        result = protect(given, method, params=params if own is None else {}, progress=progress)
        pattern, status, bound = _cut(result.pattern, size), result.status, result.bound
        verdict, notes = result.audit, result.report.notes
    touched = pattern.touched(problem)
    record = SuppressionRecord(
        line,
        tuple(state.planned.number for state in states),
        spec.method,
        name,
        params,
        str(status),
        float(pattern.loss(problem)),
        bound,
        time.perf_counter() - start,
        int(problem.sensitive.sum()),
        int((touched & ~problem.must_hide).sum()),
        open_cells,
        bool(open_cells) and not original,
        _labels(problem.table, judged, verdict),
        notes,
    )
    return pattern, record


REPAIRED = ("GH", "MOD", "NET")
"""Methods whose own patterns may leave cells open."""


def _own_pattern(problem: Problem, name: str, params: Mapping[str, Any], progress: Progress) -> Suppression:
    """The pattern of the method's paper, before it is repaired."""
    method = METHODS[name]
    settings = method.make_params({**params, "repair": False, "clean_up": False})
    proposal = method.function(problem, params=settings, rng=np.random.default_rng(0), progress=progress)
    assert isinstance(proposal.pattern, Suppression)
    return proposal.pattern


def _from_pattern(hidden: Bools, name: str) -> Method:
    """A method that repairs a pattern, and publishes again what no requirement needs."""

    def repaired(
        problem: Problem, *, params: OneByOneParams, rng: np.random.Generator, progress: Progress
    ) -> Proposal:
        return one_by_one(problem, params, rng, progress, lambda _: Own(hidden.copy()), name)

    return Method(repaired, OneByOneParams, f"what {name} hides, repaired", "")


def _cut(pattern: Pattern, size: int) -> Pattern:
    """A suppression without virtual cells."""
    return Suppression.copy_of(pattern.hidden[:size]) if isinstance(pattern, Suppression) else pattern


def _extended(pattern: Suppression, problem: Problem) -> Suppression:
    """A suppression with the virtual cells of a problem, which no publication shows."""
    more = len(problem.table) - pattern.hidden.size
    return Suppression.copy_of(np.concatenate([pattern.hidden, np.ones(more, dtype=bool)]))


def _labels(table: Table, judged: Problem, verdict: Audit) -> tuple[str, ...]:
    """Cells that are open, by their codes; of a virtual cell the cells that it is a sum of."""
    found = dict[str, None]()
    for cell in verdict.open_cells.tolist():
        if cell < len(table):
            found[table.label(cell)] = None
            continue
        row = judged.table.equations[[cell - len(judged.table)]]
        parts = [part for part in row.indices.tolist() if part < len(table)]
        found[f"the sum of {' and '.join(table.labels(parts))}"] = None
    return tuple(found)


# ---------------------------------------------------------------------- linked tables


def _linked(states: Sequence[ArgusTable]) -> _Joint:
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
    return _Joint(_problem(joint, status, lower, upper, floats(cost), reasons), places)


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


def hidden_of(protected: Protected | None, state: ArgusTable) -> Bools:
    """Cells that are hidden; without a suppression the unsafe ones."""
    if protected is not None and isinstance(protected.pattern, Suppression):
        return protected.pattern.hidden
    return np.asarray(state.unsafe | (state.status == SECONDARY) | (state.status == SECONDARY_MANUAL))
