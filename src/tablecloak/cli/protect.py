"""The command protect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.exit_codes import end_interrupted, exit_codes
from tablecloak.cli.options import (
    Confidential,
    Instance,
    Jobs,
    Json,
    Quiet,
    Widen,
    read_params,
    read_problem,
    say,
)
from tablecloak.cli.progress import drawing
from tablecloak.cli.workers import threads


def protect(
    instance: Instance,
    method: Annotated[
        str, typer.Option("--method", "-m", help="The method; see: tablecloak methods.")
    ] = "suppress-auto",
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="Stop after so long with the best so far.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the method; repeatable."),
    ] = None,
    json: Json = None,
    pattern: Annotated[
        Path | None, typer.Option("--pattern", metavar="FILE", help="Write the pattern here as CSV.")
    ] = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Protect a table, audit the outcome, and write pattern and record."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress, threads(jobs) as executor:
        from tablecloak.files import check_writable, write_files
        from tablecloak.formats import write_pattern
        from tablecloak.model import Status
        from tablecloak.protection import protect as run
        from tablecloak.reports import result_record, to_json

        check_writable([path for path in (json, pattern) if path], inputs=[instance])
        params = read_params(settings or [], seconds)
        problem = read_problem(instance, widen, quiet)
        result = run(problem, method, params=params, seed=seed, progress=progress, executor=executor)
        texts = {
            json: to_json(result_record(problem, result)),
            pattern: write_pattern(problem, result.pattern),
        }
        wanted = {path: text for path, text in texts.items() if path}
        write_files(wanted, commit=interrupts.commit)
    say(result.summary(problem), quiet)
    if interrupts.seen or result.status is Status.INTERRUPTED:
        end_interrupted(bool(wanted))
