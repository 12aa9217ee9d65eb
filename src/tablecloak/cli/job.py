"""The commands run and init: a whole run as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.exit_codes import end_interrupted, exit_codes
from tablecloak.cli.options import Confidential, Jobs, Quiet, say
from tablecloak.cli.progress import drawing
from tablecloak.cli.workers import threads


def run(
    job: Annotated[
        Path, typer.Argument(metavar="JOB.toml", help="The job, or the JSON record of an earlier run.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would be done, and do nothing.")
    ] = False,
    jobs: Jobs = None,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """Run a job from the data to the published table; all files are written at the end, or none."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress, threads(jobs) as executor:
        from tablecloak.job import Job, plan, run_job

        read = Job.read(job)
        done = None if dry_run else run_job(read, progress, interrupts.commit, executor)
        told = plan(read, progress) if done is None else done.summary()
    say(told, quiet)
    if done is not None and (interrupts.seen or done.interrupted):
        end_interrupted(bool(done.written))


def init(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A .csv or .parquet file.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="JOB.toml", help="Write the job here; else print it."),
    ] = None,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """Look at the data and write a job file to start from, with comments."""
    with exit_codes(show_confidential) as interrupts:
        from tablecloak.files import check_writable, write_files
        from tablecloak.job import starter

        check_writable([out] if out else [], inputs=[data])
        text = starter(data, out.parent if out else Path())
        write_files({out: text} if out else {}, commit=interrupts.commit)
    if out is None:
        typer.echo(text, nl=False)
    else:
        say(f"written: {out}; read it, then: tablecloak run {out} --dry-run", quiet)
