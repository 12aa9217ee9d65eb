"""The commands argus and lint: batch files of τ-ARGUS, run and checked."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.options import Confidential, Quiet, say
from tablecloak.cli.progress import drawing

EXECUTABLE, EXECUTABLE_MODE = "TauArgus", 0o755
SIGNATURE = "runs tablecloak argus in place of TauArgus"
"""Stands in an executable that was installed here, so that no other one is overwritten."""
Strict = Annotated[bool, typer.Option("--strict", help="Refuse what τ-ARGUS 4.2.5 refuses.")]


def argus(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="JOB.arb [LOG|-] [TEMP|-] [DATADIR]", help="As TauArgus takes them.", show_default=False
        ),
    ] = None,
    lint: Annotated[
        bool, typer.Option("--lint", help="List all faults with their lines, and run nothing.")
    ] = False,
    strict: Strict = False,
    original: Annotated[
        bool,
        typer.Option(
            "--original", help="Keep the pattern of the method's paper even where the audit finds it open."
        ),
    ] = False,
    install: Annotated[
        Path | None,
        typer.Option(
            "--install", metavar="DIR", help="Put an executable TauArgus there that runs this command."
        ),
    ] = None,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """Run a batch file of τ-ARGUS; its exit codes: 0 done, 1 GOINTERACTIVE, 2 error (see the log)."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet=True) as progress:
        from tablecloak.errors import InputError
        from tablecloak.job.argus import ArgusOptions, run_argus

        if install is not None:
            say(f"installed: {_install(install)}", quiet)
            if not arguments:
                return
        given = [each for each in arguments or [] if each.lower() != "/v"]
        if not given or given[0].upper() == "X":
            typer.echo("there is no window to open: give a batch file, tablecloak argus JOB.arb", err=True)
            raise typer.Exit(1)
        if len(given) > 4:
            raise InputError("Options", [f"{len(given)} arguments; there are JOB.arb, LOG, TEMP and DATADIR"])
        job, log, temp, data = [*map(_path, given), None, None, None][:4]
        assert job is not None
        options = ArgusOptions(log, temp, data, strict, original)
        if lint:
            _lint(job, options, quiet)
            return
        outcome = run_argus(job, options, progress=progress, commit=interrupts.commit)
        if outcome.message:
            typer.echo(outcome.message if outcome.code == 1 else f"error: {outcome.message}", err=True)
        if outcome.code == 0:
            say("".join(f"written: {path}\n" for path in outcome.files) + f"log: {outcome.log}", quiet)
        if outcome.code:
            raise typer.Exit(outcome.code)


def lint(
    job: Annotated[Path, typer.Argument(metavar="JOB.arb", help="A batch file of τ-ARGUS.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DATADIR", help="Where files without a folder are looked for too."),
    ] = None,
    strict: Strict = False,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """List all faults of a batch file of τ-ARGUS and its files with their lines, and run nothing."""
    with exit_codes(show_confidential):
        from tablecloak.job.argus import ArgusOptions

        _lint(job, ArgusOptions(data=data, strict=strict), quiet)


def _lint(job: Path, options: object, quiet: bool) -> None:
    from tablecloak.errors import counted
    from tablecloak.job.argus import ArgusOptions, lint_argus

    assert isinstance(options, ArgusOptions)
    plan = lint_argus(job, options)
    for what in plan.batch.tolerated:
        say(f"accepted: {what}", quiet)
    tables = sum(len(segment.tables) for segment in plan.segments)
    say(f"no faults: {counted(len(plan.batch.commands), 'command')}, {counted(tables, 'table')}", quiet)


def _path(text: str) -> Path | None:
    return None if text == "-" else Path(text)


def _install(folder: Path) -> Path:
    """Write the executable; an executable of another program is never overwritten."""
    from tablecloak.errors import InputError
    from tablecloak.files import is_folder

    windows = sys.platform == "win32"
    path = folder / (f"{EXECUTABLE}.cmd" if windows else EXECUTABLE)
    if not is_folder(folder):
        raise InputError("Options", [f"--install: there is no folder {folder}"])
    if path.exists() and SIGNATURE not in path.read_text(encoding="utf-8", errors="replace"):
        raise InputError("Options", [f"--install: {path} is there already, and is another program"])
    call = "from tablecloak.cli import main; main()"
    if windows:
        text = f'@rem {SIGNATURE}\r\n@"{sys.executable}" -c "{call}" argus %*\r\n'
    else:
        text = f'#!/bin/sh\n# {SIGNATURE}\nexec {shlex.quote(sys.executable)} -c "{call}" argus "$@"\n'
    try:
        path.write_text(text, encoding="utf-8", newline="")
        path.chmod(EXECUTABLE_MODE)
    except OSError as error:
        raise InputError("Options", [f"--install: {path}: {error.strerror}"]) from None
    return path
