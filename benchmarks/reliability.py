"""Counts faults over random seeds: ``python benchmarks/reliability.py audits --seeds 0-99999``.

A row is a block of seeds at a commit, kept in benchmarks/results/reliability-PART.csv; what has a row is skipped, so an
interrupted run goes on where it stopped. ``--minutes 10`` runs seeds that have no row yet, of all parts in turn (``make
fuzz``). Faults are printed with their seed and kept as JSON in benchmarks/.faults. One seed again, with its faults:
``python benchmarks/reliability.py audits --seeds 17 --show``. Then ``python benchmarks/report.py`` writes the page
docs/reliability.md.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cases.reliability.targets import TARGETS, block_case
from runner import RESULTS, Case, Row, Store, code_facts, measure

MOST_BLOCKS = 5_000
"""Blocks that are planned ahead for a run by minutes."""


def store_of(part: str, results: Path = RESULTS) -> Store:
    """The rows of a part."""
    return Store(results / f"reliability-{part}.csv")


def blocks(part: str, first: int, last: int, facts: Row) -> Iterator[Case]:
    """Seeds first to last in blocks that begin at multiples of the block's size."""
    size = TARGETS[part].block
    while first <= last:
        end = min(last, first - first % size + size - 1)
        yield block_case(part, first, end, facts)
        first = end + 1


def new_blocks(parts: list[str], results: Path, facts: Row) -> list[tuple[str, Case]]:
    """Blocks of seeds that no row has, of all parts in turn."""
    plan = []
    for part in parts:
        known = [int(row["last"]) for row in store_of(part, results).rows.values()]
        size, start = TARGETS[part].block, max(known, default=-1) + 1
        starts = range(start, start + MOST_BLOCKS * size, size)
        plan.append([(part, block_case(part, at, at + size - 1, facts)) for at in starts])
    return [case for turn in zip(*plan, strict=True) for case in turn]


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="Parts; all of them by default.")] = None,
    seeds: Annotated[str | None, typer.Option(help="One seed, or a range like 0-99999.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Run new seeds for this long instead.")] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the faults of the seeds; store nothing.")
    ] = False,
    results: Annotated[Path, typer.Option(help="The folder of the rows.")] = RESULTS,
    workers: Annotated[int, typer.Option(help="Blocks at the same time.")] = 1,
    listing: Annotated[bool, typer.Option("--list", help="List what is there, and stop.")] = False,
) -> None:
    """Run seeds that have no row at this commit yet."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    unknown = [part for part in parts or [] if part not in TARGETS]
    if unknown:
        raise typer.BadParameter(f"no part {', '.join(unknown)}; there are: {', '.join(TARGETS)}")
    chosen = [part for part in parts or TARGETS if TARGETS[part].is_there]
    if listing:
        for part in chosen:
            rows = store_of(part, results).rows.values()
            print(
                f"{part:9}{_sum(rows, TARGETS[part].unit):9} {TARGETS[part].unit}, {_sum(rows, 'all_faults')} faults"
            )
        return
    if seeds is None and minutes is None:
        raise typer.BadParameter("give --seeds or --minutes")
    first, _, last = (seeds or "0").partition("-")
    if show:
        for part in chosen:
            _show(part, range(int(first), int(last or first) + 1))
        return
    facts = code_facts()
    if minutes is not None:
        plan = new_blocks(chosen, results, facts)
    else:
        plan = [
            (part, case) for part in chosen for case in blocks(part, int(first), int(last or first), facts)
        ]
    stores = {part: store_of(part, results) for part in chosen}
    plan = [(part, case) for part, case in plan if case.name not in stores[part].rows]
    _run(plan, stores, workers, None if minutes is None else time.monotonic() + 60 * minutes)


def _run(plan: list[tuple[str, Case]], stores: dict[str, Store], workers: int, until: float | None) -> None:
    part_of = {id(case): part for part, case in plan}
    stream = measure([case for _, case in plan], workers=workers)
    faults = 0
    try:
        for case, row in stream:
            part = part_of[id(case)]
            stores[part].put(case.name, row)
            unit = TARGETS[part].unit
            bad = row.get("all_faults", 1)
            faults += int(bad)
            print(
                f"{part} seeds {case.name}: {row['status']}, {row.get(unit, 0)} {unit}, {bad} faults",
                flush=True,
            )
            for line in filter(None, str(row.get("text", "")).split(" | ")):
                print(f"  {line}", flush=True)
            if until is not None and time.monotonic() > until:
                break
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
        raise typer.Exit(130) from None
    finally:
        stream.close()
    print(f"{faults} faults" + ("; cases are in benchmarks/.faults" if faults else ""))


def _show(part: str, seeds: range) -> None:
    examine = TARGETS[part].examine
    if examine is None:
        raise typer.BadParameter(f"{part} has a program of its own")
    for seed in seeds:
        found = examine(seed)
        print(f"{part} seed {seed}: {dict(found.counts)}")
        for fault in found.faults:
            print(f"  {fault}\n  kept in {fault.write()}")


def _sum(rows: object, column: str) -> int:
    return sum(int(row.get(column) or 0) for row in rows)  # type: ignore[attr-defined]


if __name__ == "__main__":
    typer.run(main)
