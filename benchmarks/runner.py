"""Measures cases in worker processes, one stored row a case, and goes on where it stopped.

A *case* is one instance that one program works on; a *part* is a list of cases with a CSV file of rows. A row is stored
as soon as it is measured, and a case that has one is skipped. Cases run in processes apart: whatever happens to them
becomes a row, whose `status` says ``crashed: signal 11``, ``killed after 120 s`` or ``error: ...``. A worker that is
well does the next case; a broken one is replaced. Stopping the run (Ctrl-C) stores nothing of the cases under way.
"""

from __future__ import annotations

import contextlib
import csv
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
START_LIMIT = 900.0
"""Seconds a worker has for its preparation (compiling kernels)."""
GOLDEN = (math.sqrt(5) - 1) / 2

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One row to be measured. `measure` is sent to another process: a function of a module, or a `partial` of one."""

    name: str
    measure: Callable[[], Row]
    seconds: float
    """The limits of everything in it together; it is killed after half as much again and the slack."""
    stratum: tuple[Any, ...] = ()
    """Samples take their share of each stratum."""
    facts: Row = field(default_factory=dict)
    """Columns that are known before anything is measured; a row of a crash has them too."""
    group: str = ""
    """Samples take the cases of a group together (several programs on one instance)."""
    slack: float = 30.0
    """Seconds of everything around the measurement."""

    @property
    def kill_after(self) -> float:
        return 1.5 * self.seconds + self.slack


def code_facts() -> Row:
    """Which code this is: the commit, with a + where the source differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=RESULTS.parent, check=True, capture_output=True, text=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return {"commit": git("rev-parse", "--short=9", "HEAD") + ("+" if changed else "")}


# ---------------------------------------------------------------------- which cases


def sample(cases: Iterable[Case], share: float) -> list[Case]:
    """A share of each stratum, at least one case of it, spread evenly over its order; always the same ones.

    Within its stretch of the order a pick moves by the golden ratio, so that inner numbers (seeds) are spread too.
    """
    strata: dict[tuple[Any, ...], dict[str, list[Case]]] = {}
    for case in cases:
        strata.setdefault(case.stratum, {}).setdefault(case.group or case.name, []).append(case)
    chosen: list[Case] = []
    for number, inside in enumerate(strata.values()):
        groups = list(inside.values())
        count = max(1, round(share * len(groups)))
        stretch = len(groups) / count
        for pick in range(count):
            offset = (GOLDEN * (pick + 3 * number)) % 1.0
            chosen += groups[min(len(groups) - 1, int((pick + offset) * stretch))]
    return chosen


def share_of(text: str) -> float:
    """``10%`` or ``0.1`` as a share above 0 and up to 1."""
    share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    if not 0 < share <= 1:
        raise ValueError(f"a sample is a share above 0 and up to 100%, not {text}")
    return share


def to_do(cases: Iterable[Case], store: Store, only: str = "*", repeat: str | None = None) -> list[Case]:
    """Cases whose name fits `only` and that have no row yet, or one whose status fits `repeat`."""
    fitting = [case for case in cases if fnmatchcase(case.name, only)]
    return [
        case
        for case in fitting
        if case.name not in store.rows
        or (repeat is not None and fnmatchcase(store.rows[case.name].get("status") or "", repeat))
    ]


# ---------------------------------------------------------------------- rows


class Store:
    """The rows of one CSV file by instance. A new row is appended; a new column or a changed row rewrites the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: list[str] = []
        self.rows: dict[str, Row] = {}
        if path.exists():
            text = path.read_text(encoding="utf-8")
            whole = text[: text.rfind("\n") + 1]  # a last line without its end was cut off: measured again
            reader = csv.DictReader(whole.splitlines(keepends=True))
            self.rows = {row["instance"]: row for row in reader}
            self.columns = list(reader.fieldnames or [])
            if whole != text:
                self._rewrite()

    def put(self, name: str, row: Row) -> None:
        """Store a row now."""
        told = {"instance": name, **{key: _text(value) for key, value in row.items()}}
        fits = bool(self.columns) and name not in self.rows and set(told) <= set(self.columns)
        self.rows[name] = told
        self.columns = list(dict.fromkeys([*self.columns, *told]))
        if not fits:
            self._rewrite()
            return
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, self.columns, lineterminator="\n").writerow(told)
            file.flush()
            os.fsync(file.fileno())

    def _rewrite(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        with fresh.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows.values())
        fresh.replace(self.path)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


# ---------------------------------------------------------------------- workers


def serve(line: Connection, prepare: Callable[[], Any] | None) -> None:
    """The life of a worker: prepare, then measure whatever comes down the line."""
    os.setpgrp()  # a group of its own: Ctrl-C does not reach it, and what it started ends with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if prepare is not None:
        prepare()
    with contextlib.suppress(EOFError):
        while True:
            measure = line.recv()
            line.send(None)  # the clock starts now
            try:
                row = measure()
            except Exception as error:
                first = (str(error).splitlines() or [""])[0]
                row = {"status": f"error: {type(error).__name__}: {first[:200]}"}
            line.send(row)


@dataclass(eq=False)
class Worker:
    """A process that measures one case after the other."""

    prepare: Callable[[], Any] | None
    case: Case | None = None
    line: Connection = field(init=False)
    process: Any = field(init=False)
    ends: float = math.inf
    begun: float | None = None

    def __post_init__(self) -> None:
        context = get_context("spawn")
        self.line, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, self.prepare))
        self.process.start()
        other.close()

    def begin(self, case: Case) -> None:
        """Hand a case over."""
        self.case, self.begun, self.ends = case, None, time.monotonic() + START_LIMIT
        with contextlib.suppress(OSError):  # a worker that died meanwhile is noticed when it answers
            self.line.send(case.measure)

    def answer(self) -> Row | None:
        """The row, if it has come; None while the case is under way."""
        assert self.case is not None
        now = time.monotonic()
        try:
            if self.line.poll():
                row: Row | None = self.line.recv()
                if row is None:
                    self.begun, self.ends = now, now + self.case.kill_after
                return row
        except (EOFError, OSError):
            self.process.join(10)
            code = self.process.exitcode or 0
            return {"status": f"crashed: signal {-code}" if code < 0 else f"crashed: exit code {code}"}
        if now > self.ends:
            started = self.begun is not None
            self.end()
            after = f"killed after {self.case.kill_after:.0f} s" if started else "killed while starting"
            return {"status": after}
        return None

    @property
    def is_well(self) -> bool:
        return bool(self.process.is_alive())

    def end(self) -> None:
        """End the process and everything it started."""
        if self.line.closed:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()  # also one that has no group of its own yet
        self.process.join()
        self.line.close()


def measure(
    cases: Sequence[Case], *, workers: int = 1, prepare: Callable[[], Any] | None = None
) -> Generator[tuple[Case, Row], None, None]:
    """Every case with its row, as they come. Close the iterator to end all workers."""
    todo = list(reversed(cases))
    crew: list[Worker] = []
    try:
        while todo or any(worker.case for worker in crew):
            while todo and len(crew) < workers:
                crew.append(Worker(prepare))
            for worker in crew:
                if worker.case is None and todo:
                    worker.begin(todo.pop())
            busy = [worker for worker in crew if worker.case]
            left = min(worker.ends for worker in busy) - time.monotonic()
            wait([worker.line for worker in busy], timeout=max(0.0, left) + 0.01)
            for worker in busy:
                row, case = worker.answer(), worker.case
                if row is not None and case is not None:
                    worker.case = None
                    if not worker.is_well:
                        worker.end()
                        crew.remove(worker)
                    yield case, {**case.facts, **row, "workers": workers}
    finally:
        for worker in crew:
            worker.end()
