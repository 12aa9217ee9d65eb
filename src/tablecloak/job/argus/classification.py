"""The status and the protection levels of cells as τ-ARGUS computes them, and the marks of a-priori files.

The first hit decides about a cell: missing code (safe), dominance or p% (3), request (4), frequency (5), zero (6). With
rho the largest relative level that rules of the deciding kind require, or the margin of the frequency, request or
manual rule, the levels are::

    lower = upper = max(|V| rho, 10^-decimals)        where V = 0: lower = 0, upper = the range of the zero rule

Manual cells (9) have the given levels of a table file, or those of an a-priori file, or MAN percent of their value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.assessment import Dominance, Frequency, PriorPosterior, Request, Rule, ZeroUnsafe
from tablecloak.errors import InputError, counted
from tablecloak.formats.argus import AprioriLine, RuleSpec, SafetyRules
from tablecloak.job.argus.plan import PlannedTable
from tablecloak.job.argus.tables import MadeTable
from tablecloak.model import Packing, Reason, Table, label_of

SAFE, SAFE_MANUAL, UNSAFE_RULE, UNSAFE_REQUEST, UNSAFE_FREQUENCY, UNSAFE_ZERO = range(1, 7)
UNSAFE_MANUAL, PROTECTED, SECONDARY, SECONDARY_MANUAL, EMPTY = 9, 10, 11, 12, 14
"""The status of a cell in τ-ARGUS."""
KINDS = ("dominance", "p-percent", "request", "frequency", "zero")
"""Kinds of rules in the order in which they decide; dominance and p% count as one."""
STATUS_OF = {
    "dominance": UNSAFE_RULE,
    "p-percent": UNSAFE_RULE,
    "request": UNSAFE_REQUEST,
    "frequency": UNSAFE_FREQUENCY,
    "zero": UNSAFE_ZERO,
}
MANUAL = Reason("manual", "manual", "unsafe by hand, or by the status that was given")


@dataclass(eq=False)
class ArgusTable:
    """A table of a job with the state of its cells. Confidential."""

    planned: PlannedTable
    made: MadeTable
    status: NDArray[np.int8]
    lower: Floats
    upper: Floats
    cost: Floats
    kind: NDArray[np.int8]
    """The place in KINDS of what made a cell unsafe, -1 for none."""

    @property
    def table(self) -> Table:
        """The cells with their values."""
        return self.made.table

    @property
    def unsafe(self) -> Bools:
        """Primary unsafe cells."""
        return np.asarray((self.status >= UNSAFE_RULE) & (self.status <= UNSAFE_MANUAL))

    @property
    def decimals(self) -> int:
        """The decimals of the response."""
        return 0 if self.planned.response is None else self.planned.response.decimals

    @property
    def weights(self) -> Floats:
        """The costs of hiding, transformed: raised to lambda, or their logarithm; costs of unity stay."""
        power = self.planned.spec.exponent
        if self.planned.cost == "-2" or power == 1:
            return self.cost
        return np.log(self.cost + 1) if power <= 0 else self.cost**power

    def reasons(self) -> dict[int, tuple[Reason, ...]]:
        """Why cells are unsafe."""
        words = {-1: (MANUAL,)} | {
            place: (Reason(kind, kind, f"the {kind} rule of the job"),) for place, kind in enumerate(KINDS)
        }
        return {cell: words[int(self.kind[cell])] for cell in np.flatnonzero(self.unsafe).tolist()}


def classified(planned: PlannedTable, made: MadeTable) -> ArgusTable:
    """The table with status and levels by its rules, or by what was given."""
    table, size = made.table, len(made.table)
    state = ArgusTable(
        planned,
        made,
        made.given_status.copy(),
        np.zeros(size),
        np.zeros(size),
        made.cost.copy(),
        np.full(size, -1, dtype=np.int8),
    )
    if planned.rules.use_status:
        _set_given(state)
        return state
    state.status[:] = SAFE
    relative = np.zeros(size)
    for spec in planned.rules.rules:
        rule = rule_of_spec(spec, table)
        caught = rule.caught(table)
        place = KINDS.index(rule.kind)
        share = np.where(np.isnan(caught.relative), planned.rules.manual / 100, caught.relative)
        hit = caught.mask & ~(made.missing & planned.rules.missing_safe)
        same = hit & (state.kind >= 0) & (_rank(state.kind) == _rank(np.int8(place)))
        first = hit & ((state.kind < 0) | (_rank(state.kind) > _rank(np.int8(place))))
        relative = np.where(same, np.maximum(relative, share), np.where(first, share, relative))
        state.kind = np.where(first | (same & (place < state.kind)), place, state.kind).astype(np.int8)
        state.status[hit & first] = STATUS_OF[rule.kind]
    _set_levels(state, state.unsafe, relative)
    given = state.unsafe & np.isfinite(made.given_lower)
    state.lower[given] = np.maximum(state.lower, made.given_lower)[given]
    given = state.unsafe & np.isfinite(made.given_upper)
    state.upper[given] = np.maximum(state.upper, made.given_upper)[given]
    return state


def _rank(kind: NDArray[np.int8] | np.int8) -> NDArray[np.int8]:
    """Dominance and p% have the same rank."""
    return np.maximum(kind, 1)


def rule_of_spec(spec: RuleSpec, table: Table) -> Rule:
    """The rule of a part of SAFETYRULE."""
    level, n = "holdings" if spec.holding else "respondents", spec.numbers
    if spec.name == "P":
        return PriorPosterior(n[0], n[1], int(n[2]), level)
    if spec.name == "NK":
        return Dominance(int(n[0]), n[1], level)
    if spec.name == "FREQ":
        return Frequency(n[0], n[1], level)
    if spec.name == "REQ":
        return Request(n[0], n[1], n[2], n[3], level)
    return ZeroUnsafe(max(n[0], table.unit))


def zero_range(rules: SafetyRules) -> float:
    """The range of the zero rule; 0 where there is none."""
    return max((rule.numbers[0] for rule in rules.rules if rule.name == "ZERO"), default=0.0)


def _set_levels(state: ArgusTable, cells: Bools, relative: Floats | float) -> None:
    """Levels of cells from relative ones."""
    value, least = np.abs(state.table.values), 10.0**-state.decimals
    level = np.maximum(value * relative, least)
    nothing = value == 0
    state.lower = np.where(cells, np.where(nothing, 0.0, level), state.lower)
    state.upper = np.where(cells, np.where(nothing, zero_range(state.planned.rules), level), state.upper)


def _set_given(state: ArgusTable) -> None:
    """Levels of cells that are unsafe by their given status: given ones, or the manual margin up to the value."""
    unsafe, made, value = state.unsafe, state.made, np.abs(state.table.values)
    margin = value * state.planned.rules.manual / 100
    lower = np.where(np.isfinite(made.given_lower), made.given_lower, margin)
    upper = np.where(np.isfinite(made.given_upper), made.given_upper, margin)
    state.lower = np.where(unsafe, np.where((state.table.values >= 0), np.minimum(lower, value), lower), 0.0)
    state.upper = np.where(unsafe, upper, 0.0)


# ---------------------------------------------------------------------- a-priori files


def apply_marks(
    state: ArgusTable, lines: Sequence[AprioriLine], source: str, *, ignore_errors: bool, expand_trivial: bool
) -> list[str]:
    """Apply the lines of an a-priori file in their order; gives words for what was ignored.

    Without `ignore_errors` what cannot be applied is an `InputError` that lists all of it.
    """
    table = state.table
    packing = Packing.of(table.dimensions)
    keys = packing.keys(table.codes)
    order = np.argsort(keys)
    chains = [_chains(state, d) for d in range(len(table.dimensions))] if expand_trivial else None
    faults = list[str]()
    for line in lines:
        row, wrong = _codes(state, line.codes)
        if row is None:
            faults.append(f"line {line.line}: {wrong}")
            continue
        for copy in _copies(row, chains):
            key = int(packing.keys(copy[None, :])[0])
            at = min(int(np.searchsorted(keys[order], key)), keys.size - 1)
            cell = int(order[at]) if keys.size and keys[order[at]] == key else -1
            fault = _apply(state, cell, line) if cell >= 0 else "the cell is empty"
            if fault:
                faults.append(
                    f"line {line.line}: {label_of(table.dimensions, copy)}: {line.command}: {fault}"
                )
    if faults and not ignore_errors:
        advice = "Correct these lines, or write 1 behind the separator in APRIORI to leave them out."
        raise InputError(source, faults, advice=advice)
    return faults


def _codes(state: ArgusTable, codes: Sequence[str]) -> tuple[Codes | None, str]:
    """The cell's codes as positions; the total by its name, in capitals or not, or as nothing."""
    row = list[int]()
    for code, dimension in zip(codes, state.table.dimensions, strict=True):
        total = str(dimension.total)
        name = total if not code or code.casefold() == total.casefold() else code
        if name not in dimension.index:
            return None, f"variable {dimension.name!r} has no code {code!r}"
        row.append(dimension.index[name])
    return np.array(row, dtype=np.int32), ""


def _chains(state: ArgusTable, d: int) -> Ints:
    """For each code the last one of the chain of only children that it is in."""
    dimension = state.table.dimensions[d]
    parent = dimension.parents[0]
    children = np.bincount(parent[parent >= 0], minlength=len(dimension.codes))
    end = np.arange(len(dimension.codes))
    for code in range(len(end) - 1, 0, -1):  # children stand behind their parents
        if children[parent[code]] == 1:
            end[parent[code]] = end[code]
    return end


def _copies(row: Codes, chains: Sequence[Ints] | None) -> list[Codes]:
    """The cell, and all cells that are the same one through chains of only children."""
    if chains is None:
        return [row]
    found = [row[:0]]
    for code, end in zip(row.tolist(), chains, strict=True):
        same = np.flatnonzero(end == end[code]).astype(np.int32)
        found = [np.append(part, each).astype(np.int32) for part in found for each in same]
    return found


def _apply(state: ArgusTable, cell: int, line: AprioriLine) -> str:
    """Apply one line to one cell; words where its status does not allow that."""
    old, command = int(state.status[cell]), line.command
    if command == "C":
        state.cost[cell] = line.numbers[0] or 1.0
        return ""
    if command == "PL":
        if not UNSAFE_RULE <= old <= UNSAFE_MANUAL:
            return f"the cell has status {old}, levels are for unsafe cells (3 to 9)"
        state.lower[cell], state.upper[cell] = line.numbers
        return ""
    allowed = {"S": (1, 10), "U": (1, 9), "P": (1, 2), "M": (1, 2), "ML": (1, 2)}[command]
    if not allowed[0] <= old <= allowed[1]:
        return f"the cell has status {old}, it must be from {allowed[0]} to {allowed[1]}"
    if command in ("M", "ML"):
        later = command == "M" or old == SAFE_MANUAL
        state.status[cell] = SECONDARY_MANUAL if later else SECONDARY
        return ""
    state.status[cell] = {"S": SAFE_MANUAL, "U": UNSAFE_MANUAL, "P": PROTECTED}[command]
    here = np.zeros(len(state.table), dtype=bool)
    here[cell] = True
    state.kind[cell] = -1
    if command == "U":
        _set_levels(state, here, state.planned.rules.manual / 100)
    else:
        state.lower[cell] = state.upper[cell] = 0.0
    return ""


def described_counts(state: ArgusTable) -> str:
    """Numbers of cells by status, for the log."""
    number = {int(s): int(n) for s, n in zip(*np.unique(state.status, return_counts=True), strict=True)}
    return ", ".join(f"status {status}: {counted(n, 'cell')}" for status, n in sorted(number.items()))
