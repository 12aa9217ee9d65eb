"""The command publish: the only one whose outputs may leave the building."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.options import Confidential, Instance, PatternFile, Quiet, Widen, read_problem, say
from tablecloak.cli.progress import drawing


def publish(
    instance: Instance,
    pattern: PatternFile,
    out: Annotated[
        list[Path],
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write here: .csv, .parquet, .xlsx, .html, .sdmx.csv; repeatable.",
        ),
    ],
    title: Annotated[str, typer.Option(help="The title of the table.")] = "",
    note: Annotated[str, typer.Option(help="A note below the table.")] = "",
    symbol: Annotated[str, typer.Option(help="What stands for a hidden cell.")] = "x",
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="What codes mean: a .csv file of dimension,code,label, or NAME=FILE for one dimension, a .csv "
            "file of code,label or child,parent,label; repeatable.",
        ),
    ] = None,
    decimals: Annotated[
        int | None, typer.Option(min=0, help="Print numbers rounded to this many decimals.")
    ] = None,
    unit: Annotated[
        float | None,
        typer.Option(
            help="Print numbers rounded to multiples of this, 1000 for instance; they are not divided by it."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a CONFIDENTIAL report here (.html), for the statistician."),
    ] = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Audit a pattern once more and write the table for publication. Exit code 4 if it is not safe."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.auditing import audit
        from tablecloak.files import check_writable, write_files
        from tablecloak.formats import read_pattern
        from tablecloak.job import check_library, check_public
        from tablecloak.model import Printed
        from tablecloak.publication import publish as run

        wanted = [*out, *([report] if report else [])]
        files_of_labels = [Path(each.rpartition("=")[2]) for each in labels or []]
        check_writable(wanted, inputs=[instance, pattern, *files_of_labels])
        check_public(*out)
        for path in [
            *(path for path in out if path.suffix.lower() == ".xlsx"),
            *([report] if report else []),
        ]:
            check_library(path)
        words = _labels(labels or [])
        problem = read_problem(instance, widen, quiet)
        given = read_pattern(pattern, problem)
        verdict, form = audit(problem, given, progress=progress), given
        coarser: dict[str, Any] = {"decimals": decimals, "unit": unit}
        if not verdict.safe and not (decimals is None and unit is None):  # it may be safe in print
            form, coarser = Printed.of(problem, given, **coarser), {}
            verdict = audit(problem, form, progress=progress)
        publication = run(
            problem, form, verdict, title=title, note=note, symbol=symbol, labels=words, **coarser
        )
        files: dict[Path, str | bytes] = {path: publication.render(path) for path in out}
        if report:
            from tablecloak.reports import report_page, result_of

            result = result_of(problem, given, verdict, f"pattern in {pattern.name}")
            files[report] = report_page(problem, result, verdict, progress=progress)
        write_files(files, public=out, commit=interrupts.publish)
    say("\n".join(f"written: {path} (public)" for path in out), quiet)
    if report:
        say(f"written: {report} (CONFIDENTIAL)", quiet)


def _labels(given: Sequence[str]) -> dict[str, dict[str, str]] | None:
    """Labels from all files, by dimension."""
    from tablecloak.job import code_labels, read_labels

    found: dict[str, dict[str, str]] = {}
    for each in given:
        name, equals, path = each.rpartition("=")
        labels = {name: code_labels(Path(path))} if equals else read_labels(Path(path))
        for dimension, words in labels.items():
            found.setdefault(dimension, {}).update(words)
    return found or None
