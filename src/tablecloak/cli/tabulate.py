"""The command tabulate: from data to a table, handed on in cloak files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.options import Confidential, Out, Quiet, named_value, say
from tablecloak.cli.progress import drawing
from tablecloak.errors import InputError, counted

if TYPE_CHECKING:
    from tablecloak.job import Job
    from tablecloak.model import Table


def _column(name: str, words: str) -> Any:
    return typer.Option(name, metavar="COLUMN", help=words)


def _columns(name: str, words: str) -> Any:
    return typer.Option(name, metavar="COLUMN", help=f"{words}; repeatable.")


def tabulate(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A .csv or .parquet file (wildcards allowed).")
    ],
    dimension: Annotated[
        list[str],
        typer.Option(
            metavar="NAME[=HIERARCHY]",
            help="A dimension and its hierarchy: a .hrc file, a .csv file of child,parent, digits:3,1,1, or "
            "nothing for the codes in the data; repeatable.",
        ),
    ],
    out: Out,
    response: Annotated[str | None, _column("--response", "What is summed; without it: counts.")] = None,
    shadow: Annotated[str | None, _column("--shadow", "What rules look at instead of the response.")] = None,
    further: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=HIERARCHY", help="A further hierarchy of a dimension; repeatable."),
    ] = None,
    total: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CODE", help="The code of a dimension's total, if not Total; repeatable."),
    ] = None,
    decimals: Annotated[
        int | None, typer.Option(min=0, help="Decimals of the values: the data unit.")
    ] = None,
    round_leaves: Annotated[
        bool, typer.Option("--round/--no-round", help="Round leaves to the data unit, or refuse finer ones.")
    ] = True,
    counts: Annotated[
        bool | None,
        typer.Option(
            "--counts/--no-counts", help="The values are numbers of units (without --response: yes)."
        ),
    ] = None,
    empty: Annotated[
        str | None,
        typer.Option(
            metavar="known|cells",
            help="Empty combinations: printed as empty (default), or cells of value zero that may be hidden.",
        ),
    ] = None,
    impossible: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Combinations that cannot occur, with --empty cells.")
    ] = None,
    most_cells: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of cells with --empty cells (5 million).")
    ] = None,
    cells: Annotated[
        bool, typer.Option("--cells", help="The data are cells with all totals, not microdata.")
    ] = False,
    weight: Annotated[str | None, _column("--weight", "Sampling weights.")] = None,
    respondent: Annotated[str | None, _column("--respondent", "Who each record belongs to.")] = None,
    holding: Annotated[str | None, _column("--holding", "Which holding each respondent belongs to.")] = None,
    request: Annotated[str | None, _column("--request", "Requests for protection (1 or 2).")] = None,
    request_code: Annotated[
        list[str] | None,
        typer.Option(metavar="CODE", help="The two codes of requests, if not 1 and 2; give it twice."),
    ] = None,
    waiver: Annotated[str | None, _column("--waiver", "Who has waived protection.")] = None,
    missing: Annotated[
        str | None, typer.Option(metavar="CODE", help="The code that empty codes get.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="How many of the largest contributions to keep.")
    ] = None,
    count: Annotated[str | None, _column("--count", "Cells: the number of contributors.")] = None,
    top: Annotated[list[str] | None, _columns("--top", "Cells: the largest contributions, in order")] = None,
    holding_count: Annotated[
        str | None, _column("--holding-count", "Cells: the number of contributing holdings.")
    ] = None,
    holding_top: Annotated[
        list[str] | None, _columns("--holding-top", "Cells: the largest holdings, in order")
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Cells: rebuild all totals from the leaves.")
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Cells: totals off by no more are added up again.")
    ] = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Cells: sampling weights are in the values.")
    ] = False,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """Make a table with all its totals from microdata or cells."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.files import check_writable, write_files
        from tablecloak.formats import write_cloak
        from tablecloak.job import tabulated

        source = {
            "path": str(data),
            "kind": "cells" if cells else "microdata",
            "weight": weight,
            "respondent": respondent,
            "holding": holding,
            "request": request,
            "request_codes": request_code or None,
            "waiver": waiver,
            "missing": missing,
            "depth": depth,
            "count": count,
            "top": top or None,
            "holding_count": holding_count,
            "holding_top": holding_top or None,
            "recompute": recompute or None,
            "tolerance": tolerance,
            "weighted": weighted or None,
        }
        layout = {
            "response": response,
            "shadow": shadow,
            "decimals": decimals,
            "round": None if round_leaves else False,
            "counts": counts,
            "empty": empty,
            "impossible": str(impossible) if impossible else None,
            "most_cells": most_cells,
        }
        job = _job(source, layout, _dimensions(dimension, further or [], total or []))
        check_writable([out], inputs=job.inputs())
        progress("tabulate", 0, 1)
        table = tabulated(job)
        write_files({out: write_cloak(table)}, commit=interrupts.commit)
    say(_described(table), quiet)


def _job(source: dict[str, Any], layout: dict[str, Any], dimensions: Sequence[dict[str, Any]]) -> Job:
    """The options as the first part of a job, checked in the same way; faults name the options."""
    from tablecloak.job import Job

    document = {
        "data": {key: value for key, value in source.items() if value is not None},
        "dimension": list(dimensions),
        "table": {key: value for key, value in layout.items() if value is not None},
    }
    names = {f"data.{key}": f"--{key.replace('_', '-')}" for key in source}
    names |= {f"table.{key}": f"--{key.replace('_', '-')}" for key in layout}
    names |= {"data.path": "DATA", "table": "--response"}
    names["data.request_codes"] = "--request-code"
    for i, each in enumerate(dimensions, 1):
        names |= {f"dimension[{i}].{key}": f"--dimension {each['name']}" for key in ("name", "hierarchy")}
        names |= {f"dimension[{i}].{key}": f"--{key} {each['name']}" for key in ("total", "further")}
    return Job.of(document, Path("tabulate"), what="Options", names=names, whole=False)


def _dimensions(given: Sequence[str], further: Sequence[str], totals: Sequence[str]) -> list[dict[str, Any]]:
    """The dimensions as tables of a job."""
    found: dict[str, dict[str, Any]] = {}
    faults = []
    for each in given:
        name, equals, hierarchy = (part.strip() for part in each.partition("="))
        if not name or (equals and not hierarchy):
            faults.append(f"--dimension {each}: write it as NAME or NAME=HIERARCHY")
        if name in found:
            faults.append(f"--dimension {each}: {name} is there already")
        found[name] = {"name": name} | ({"hierarchy": hierarchy} if hierarchy else {})
    for option, key, values in (("--further", "further", further), ("--total", "total", totals)):
        for value in values:
            name, what = named_value(option, value)
            if name not in found:
                faults.append(f"{option} {value}: there is no --dimension {name}")
            elif key == "further":
                found[name].setdefault(key, []).append(what)
            else:
                found[name][key] = what
    if faults:
        raise InputError("Options", faults)
    return list(found.values())


def _described(table: Table) -> str:
    dims = " x ".join(f"{dimension.name}({len(dimension.codes)})" for dimension in table.dimensions)
    known = [who.level for who in (table.respondents, table.holdings) if who is not None]
    changed = f" (rounded: no cell changed by more than {table.rounding:.3g})" if table.rounding else ""
    whose = f"; contributions of {' and '.join(known)} are known" if known else ""
    return (
        f"{table.response} by {dims}: {counted(len(table), 'cell')}, "
        f"{counted(table.equations.shape[0], 'equation')}, "
        f"{counted(table.decimals, 'decimal')}{changed}{whose}"
    )
