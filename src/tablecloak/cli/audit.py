"""The command audit: the verdict on a pattern, with exact proofs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.exit_codes import UNSAFE, exit_codes
from tablecloak.cli.options import (
    Confidential,
    Instance,
    Jobs,
    Json,
    PatternFile,
    Quiet,
    Widen,
    read_problem,
    say,
)
from tablecloak.cli.progress import drawing
from tablecloak.cli.workers import threads
from tablecloak.errors import SolverError

if TYPE_CHECKING:
    from tablecloak.model import Audit, Pattern, Problem
    from tablecloak.progress import Progress


def audit(
    instance: Instance,
    pattern: PatternFile,
    intervals: Annotated[bool, typer.Option("--intervals", help="Work out exact intervals.")] = False,
    every_hidden: Annotated[bool, typer.Option("--every-hidden", help="Ask about all hidden cells.")] = False,
    integer: Annotated[
        bool,
        typer.Option("--integer", help="The attacker knows that values are whole numbers (small tables)."),
    ] = False,
    certificates: Annotated[
        Path | None,
        typer.Option("--certificates", metavar="DIR", help="Write exact proofs into this folder."),
    ] = None,
    json: Json = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Judge a pattern: what can each attacker work out? Exit code 4 if it is not safe."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress, threads(jobs) as executor:
        from tablecloak.auditing import audit as run
        from tablecloak.files import check_writable, make_folder, write_files
        from tablecloak.formats import read_pattern
        from tablecloak.reports import audit_record, to_json

        check_writable([json] if json else [], inputs=[instance, pattern])
        problem = read_problem(instance, widen, quiet)
        given = read_pattern(pattern, problem)
        if certificates:
            make_folder(certificates)
        verdict = run(
            problem,
            given,
            intervals=intervals,
            every_hidden=every_hidden,
            integer=integer,
            progress=progress,
            executor=executor,
        )
        files = {json: to_json(audit_record(problem, verdict, intervals))} if json else {}
        lines = [verdict.summary(problem)]
        if certificates:
            files[certificates / "certificate.json"], told = _certified(problem, given, verdict, progress)
            lines += told
        write_files(files, commit=interrupts.commit)
    say("\n".join(lines), quiet)
    if not verdict.safe:
        raise typer.Exit(UNSAFE)


def _certified(
    problem: Problem, pattern: Pattern, verdict: Audit, progress: Progress
) -> tuple[str, list[str]]:
    """The text of a certificate of the verdict, checked with no solver, and what to say about it."""
    from tablecloak.auditing import Certificate, certify, verify

    certificate = certify(problem, pattern, verdict, progress=progress)
    text = certificate.to_json()
    check = verify(Certificate.from_json(text), problem, pattern)
    if not check.valid:
        raise SolverError(f"The certificate does not hold and is not written.\n{check.summary()}")
    return text, [f"certificate: {certificate.summary()}", f"checked again: {check.summary()}"]
