"""The commands tabulate and assess: from data to a problem, handed on in cloak files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.options import Confidential, Quiet, Widen, named_value, read_settings, say
from tablecloak.cli.progress import drawing
from tablecloak.errors import InputError, counted

if TYPE_CHECKING:
    from tablecloak.assessment.insiders import Insiders
    from tablecloak.assessment.rules import Rule
    from tablecloak.job.job import Job
    from tablecloak.model.table import Table

Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE.cloak", help="Write the outcome here.")]


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
        int | None, typer.Option(min=1, help="At most so many cells with --empty cells (5 million).")
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
        from tablecloak.formats.cloak import write_cloak
        from tablecloak.job.run import tabulated

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
    from tablecloak.job.job import Job

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


def assess(
    table: Annotated[Path, typer.Argument(metavar="TABLE.cloak", help="The table, as tabulate writes it.")],
    out: Out,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help='A rule and its parameters, "p-percent p=10", "frequency minimum=3", '
            '"dominance n=1 k=75 level=holdings"; repeatable.',
        ),
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Marks on single cells: .csv, or .hst.")
    ] = None,
    insiders: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help='Contributors as attackers: "default", or settings as in "largest=2 coalition=2".',
        ),
    ] = None,
    unions: Annotated[
        bool, typer.Option("--unions", help="Protect cells that are sensitive only together.")
    ] = False,
    weights: Annotated[
        str, typer.Option(metavar="NAME", help="What hiding costs: value, unit, log, contributors, a column.")
    ] = "value",
    power: Annotated[
        float | None, typer.Option(help="Raise weights to this power (Box-Cox; 0 is the logarithm).")
    ] = None,
    manual_percent: Annotated[
        float, typer.Option(min=0.0, help="Levels of cells marked unsafe, in percent of the value.")
    ] = 20.0,
    missing_safe: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CODE", help="A code whose cells are never sensitive; repeatable."),
    ] = None,
    publish_zeros: Annotated[
        bool, typer.Option("--publish-zeros", help="Cells of value zero must be published.")
    ] = False,
    most_touched: Annotated[
        int | None, typer.Option(min=0, help="At most so many cells may be hidden or changed.")
    ] = None,
    widen: Widen = False,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """Find the sensitive cells of a table, their levels and the attackers."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.assessment.assess import assess as run
        from tablecloak.assessment.marks import Marks
        from tablecloak.files import check_writable, write_files
        from tablecloak.formats.cloak import write_cloak
        from tablecloak.job.run import chosen_weights, described

        check_writable([out], inputs=[path for path in (table, marks) if path])
        rules, attackers = _rules(rule or [], bool(marks)), _insiders(insiders)
        progress("assess", 0, 1)
        read = _read_table(table)
        problem = run(
            read,
            rules,
            marks=Marks.of(read, marks) if marks else None,
            insiders=attackers,
            unions=unions,
            weights=chosen_weights(read, weights, power),
            manual_percent=manual_percent,
            missing_safe=_codes(missing_safe or []),
            hide_zeros=not publish_zeros,
            most_touched=most_touched,
            widen=widen,
        )
        write_files({out: write_cloak(problem)}, commit=interrupts.commit)
    say("\n".join(described(problem)), quiet)


def _codes(given: Sequence[str]) -> dict[str, list[str]] | None:
    """Codes by dimension."""
    found: dict[str, list[str]] = {}
    for each in given:
        name, code = named_value("--missing-safe", each, "CODE")
        found.setdefault(name, []).append(code)
    return found or None


def _read_table(path: Path) -> Table:
    from tablecloak.formats.cloak import read_cloak
    from tablecloak.model.table import Table

    thing = read_cloak(path)
    if not isinstance(thing, Table):
        fault = "it holds a problem: this table has been assessed already"
        raise InputError(f"Cloak file {path}", [fault], advice="Give the file that tabulate wrote.")
    return thing


def _rules(given: Sequence[str], marked: bool) -> list[Rule]:
    """The rules of all options; every fault of all of them at once."""
    from tablecloak.assessment.rules import rule_of

    rules, faults = list[Any](), list[str]()
    if not given and not marked:
        faults.append("there is no --rule and there are no --marks: nothing would be sensitive")
    for each in given:
        name, *words = each.split() or [""]
        try:
            rules.append(rule_of({"rule": name} | read_settings(f"--rule {each}", words)))
        except InputError as error:
            own = error.what == "Options"
            hint = f" ({error.advice.rstrip('.')})" if error.advice else ""
            faults += [fault if own else f"--rule {each}: {fault}{hint}" for fault in error.faults]
    if faults:
        raise InputError("Options", faults)
    return rules


def _insiders(given: str | None) -> Insiders | None:
    from dataclasses import fields

    from tablecloak.assessment.insiders import Insiders
    from tablecloak.job.schema import meant

    if given is None:
        return None
    words = [] if given.strip().lower() in ("default", "yes") else given.split()
    settings = read_settings("--insiders", words)
    known = [field.name for field in fields(Insiders)]
    faults = [
        f"--insiders: there is no setting {name!r}{meant(name, known)}"
        for name in settings
        if name not in known
    ]
    if faults:
        raise InputError("Options", faults)
    return Insiders(**settings)
