"""Measures and stores one row a case: ``python benchmarks/run.py PART ... [--sample 10%]``; all parts by default.

Rows are kept in benchmarks/results/PART.csv. What has a row is skipped, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from cases.base import Part, warm_up
from cases.parts import PARTS
from cases.real_data import DATA
from runner import RESULTS, Case, Row, Store, measure, sample, share_of, to_do

SHOWN = ("status", "cost", "bound", "seconds", "open", "times_faster")


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="Names of parts; all of them by default.")] = None,
    share: Annotated[
        str, typer.Option("--sample", help="A share of each stratum, the same each time.")
    ] = "100%",
    seconds: Annotated[
        float | None, typer.Option(help="The limit of an instance instead of the usual one.")
    ] = None,
    only: Annotated[str, typer.Option(help="Instances whose name fits this pattern, as '*200x200*'.")] = "*",
    workers: Annotated[
        int, typer.Option(help="Instances at the same time: more than 1 spoils the times.")
    ] = 1,
    repeat: Annotated[
        str | None, typer.Option(help="Measure rows again whose status fits this pattern, as 'time*' or '*'.")
    ] = None,
    results: Annotated[Path, typer.Option(help="The folder of the rows.")] = RESULTS,
    listing: Annotated[
        bool, typer.Option("--list", help="List the parts with their rows, and stop.")
    ] = False,
) -> None:
    """Measure what has no row yet."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # workers end with it, as after Ctrl-C
    unknown = [name for name in parts or [] if name not in PARTS]
    if unknown:
        raise typer.BadParameter(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    try:
        wanted = share_of(share)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    chosen = [PARTS[name] for name in parts or PARTS]
    for part in chosen:
        store = Store(results / f"{part.name}.csv")
        cases = list(part.cases(seconds))
        if listing:
            there = sum(case.name in store.rows for case in cases)
            print(f"{part.name:16}{there:6} of {len(cases):5} rows   {part.about}")
            continue
        if part.needs_data and not DATA.is_dir():
            print(f"{part.name}: left out, there is no folder {DATA} (set TABLECLOAK_DATA)")
            continue
        _run(part, store, to_do(sample(cases, wanted), store, only, repeat), workers)


def _run(part: Part, store: Store, cases: list[Case], workers: int) -> None:
    print(f"{part.name}: {len(cases)} rows to measure", flush=True)
    stream = measure(cases, workers=workers, prepare=warm_up)
    try:
        for done, (case, row) in enumerate(stream, 1):
            store.put(case.name, row)
            shown = " ".join(f"{key}={row[key]}" for key in SHOWN if row.get(key) is not None)
            print(f"{part.name} {done}/{len(cases)} {case.name}: {shown}", flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here")
        raise typer.Exit(130) from None
    finally:
        stream.close()
    _tell_ratio(part.name, store.rows.values())


def _tell_ratio(name: str, rows: Iterable[Row]) -> None:
    ratios = [float(row["times_faster"]) for row in rows if row.get("times_faster")]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{name}: least {min(ratios)}, geometric mean {mean:.1f} times faster than warm primal simplex")


if __name__ == "__main__":
    typer.run(main)
