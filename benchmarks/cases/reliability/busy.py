"""The same seed on a quiet core and beside busy loops: without a limit of time nothing may differ."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from cases.real_data import DATA, insee_problem
from cases.reliability.findings import Fault, Findings, message_of
from cases.reliability.methods import params_of
from tablecloak import NotApplicable, Problem, Result, protect
from tablecloak.methods import METHODS
from tablecloak.testing.random_cases import SHAPES, random_bare_problem, random_levels, random_scaled_table

BUSY = "busy"
LOOPS = 3
SLOW = {"suppress-auto", "suppress-optimal", "suppress-compact", "interval-combined", "mixed-joint"}
"""Methods that run until something is proven: they get tables of the usual size."""
LINKED_METHODS = ("suppress-greedy", "suppress-network-flow", "suppress-kelly-lp", "suppress-elimination")
LINKED_EVERY = 4
"""Every fourth seed takes the linked tables of the real data, where they are there."""


def examine_busy(seed: int) -> Findings:
    """One run on a quiet core and one beside busy loops: the same pattern, cost, bound and status."""
    found = Findings()
    found.counts["pairs"] += 1
    with _only_on(max(os.sched_getaffinity(0))):
        name, problem, quiet = _quiet_run(seed)
        with _busy_loops():
            busy = _outcome(problem, name, seed)
    if quiet != busy:
        found.add(Fault(BUSY, seed, f"differs: {name}: {quiet} quiet, {busy} busy", problem), "different")
    return found


def _quiet_run(seed: int) -> tuple[str, Problem, tuple[str, ...]]:
    """The method of a seed that takes its problem, and what it gives."""
    names = list(METHODS)
    if seed % LINKED_EVERY == 0 and DATA.is_dir():
        name, problem = LINKED_METHODS[seed // LINKED_EVERY % len(LINKED_METHODS)], insee_problem()
        return name, problem, _outcome(problem, name, seed)
    for number in range(seed, seed + len(names)):
        name = names[number % len(names)]
        problem = _problem(seed, name)
        quiet = _outcome(problem, name, seed)
        if quiet[0] != NotApplicable.__name__:
            break
    return name, problem, quiet


def _problem(seed: int, name: str) -> Problem:
    rng = np.random.default_rng([5, seed])
    kind, scale = str(rng.choice(SHAPES)), str(rng.choice(["mixed", "counts", "decimals"]))
    table = random_scaled_table(kind, scale, rng, "usual" if name in SLOW else "large")
    return random_levels(random_bare_problem(table, rng, share=0.08), rng)


def _outcome(problem: Problem, name: str, seed: int) -> tuple[str, ...]:
    """Everything of a result that must not depend on the clock."""
    try:
        return fingerprint(problem, protect(problem, name, params=params_of(problem, name), seed=seed))
    except Exception as error:  # an error must be the same one too
        return (type(error).__name__, message_of(error))


def fingerprint(problem: Problem, result: Result) -> tuple[str, ...]:
    """Status, cost, bound and the bytes of what is published."""
    view = result.pattern.view(problem)
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in (view.shown, view.low, view.high))
    return (result.status.value, repr(result.cost), repr(result.bound), hashlib.sha256(content).hexdigest())


@contextlib.contextmanager
def _only_on(core: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _busy_loops() -> Iterator[None]:
    """Processes that do nothing but use the core of this one, from which they inherit it."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
