"""The parts of the reliability runner: what is done with a block of seeds, and how it is counted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from cases.reliability.audits import AUDITS, ENDS, examine_audit, examine_ends
from cases.reliability.busy import BUSY, examine_busy
from cases.reliability.findings import FAULTS, Examine, Fault, Findings, examine_all
from cases.reliability.methods import METHOD_RUNS, OPTIMA, examine_methods, examine_optimum
from runner import Case, Row

SHOWN_FAULTS = 5
"""Faults of a block whose text is kept in its row."""


@dataclass(frozen=True)
class Target:
    """One part: what it counts, how much of it is wanted, and which counts must stay zero."""

    about: str
    unit: str
    wanted: int
    faults: tuple[str, ...]
    block: int
    """Seeds of a stored row."""
    seconds: float
    """What a block may take; it is killed after half as much again and 30 s."""
    examine: Examine | None = None
    details: tuple[str, ...] = ()
    """Further counts for the page."""
    module: str | None = None
    """A module with `run(seeds)` instead."""

    @property
    def is_there(self) -> bool:
        return self.module is None or find_spec(self.module) is not None


TARGETS = {
    AUDITS: Target(
        "verdicts of the audit near the threshold, against the oracle",
        "audits",
        100_000,
        ("false_safe", "false_unsafe", "errors", "foreign"),
        500,
        300,
        examine_audit,
        ("mixed_scales", "verdicts", "undecided", "undecided_but_met"),
    ),
    ENDS: Target(
        "ends of feasibility intervals that are called proven, against the oracle",
        "ends",
        500_000,
        ("too_wide", "too_narrow", "errors", "foreign"),
        200,
        300,
        examine_ends,
        ("unproven",),
    ),
    OPTIMA: Target(
        "claims of optimality, against brute force over all patterns and a second method",
        "claims",
        5_000,
        ("wrong_optimum", "methods_differ", "unsafe", "errors"),
        50,
        600,
        examine_optimum,
        ("by_brute_force", "by_second_method"),
    ),
    METHOD_RUNS: Target(
        "runs of all methods on random problems",
        "runs",
        30_000,
        ("solver_errors", "foreign", "unsafe", "wrongly_infeasible", "stopped_without_a_limit"),
        5,
        600,
        examine_methods,
        ("optimal", "feasible", "interrupted", "left_open", "refused", "infeasible"),
    ),
    BUSY: Target(
        "pairs of runs with the same seed, on a quiet core and beside three busy loops",
        "pairs",
        100,
        ("different",),
        1,
        900,
        examine_busy,
    ),
    "inputs": Target(
        "mutated input files", "inputs", 100_000, ("faults",), 500, 600, module="cases.reliability.inputs"
    ),
    "kills": Target(
        "runs that are killed while they write",
        "kills",
        200,
        ("faults",),
        10,
        600,
        module="cases.reliability.kills",
    ),
}


def block_case(part: str, first: int, last: int, facts: Row) -> Case:
    """The case of the runner for some seeds; a row is named by its seeds and its commit."""
    name = f"{first}-{last}@{facts['commit']}"
    measure = partial(run_block, part, first, last)
    return Case(name, measure, TARGETS[part].seconds, facts={**facts, "first": first, "last": last})


def run_block(part: str, first: int, last: int) -> Row:
    """All seeds of a block: counts, and where faults are kept."""
    target = TARGETS[part]
    if target.module is not None:
        found = _findings_of(part, target, range(first, last + 1))
    else:
        assert target.examine is not None
        found = examine_all(partial(_noted, part, target.examine), range(first, last + 1))
    for fault in found.faults:
        fault.write()
    text = " | ".join(str(fault)[:160] for fault in found.faults[:SHOWN_FAULTS])
    faults = sum(found.counts[name] for name in target.faults)
    return {"status": "done", **dict(found.counts), "all_faults": faults, "text": text}


def _findings_of(part: str, target: Target, seeds: range) -> Findings:
    """What a module of its own found: `run(seeds)` has outcomes with their numbers, and faults as texts."""
    told = import_module(str(target.module)).run(seeds)
    found = Findings(Counter({target.unit: len(seeds)}))
    for name, number in told.outcomes.items():
        inner = number if isinstance(number, Mapping) else {name: number}
        found.counts.update({str(outcome).replace(" ", "_"): count for outcome, count in inner.items()})
    for text in told.faults:
        found.add(Fault(part, seeds[0], text), "faults")
    return found


def _noted(part: str, examine: Examine, seed: int) -> Findings:
    """Examine a seed, and leave a note of which it is: a block that hangs or crashes tells where."""
    FAULTS.mkdir(exist_ok=True)
    note = FAULTS / f"{part}-running-{os.getpid()}.txt"
    note.write_text(f"{part} seed {seed}\n", encoding="utf-8")
    found = examine(seed)
    note.unlink(missing_ok=True)
    return found
