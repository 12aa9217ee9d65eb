"""The commands protect, audit, exposure and bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.exit_codes import UNSAFE, end_interrupted, exit_codes
from tablecloak.cli.options import (
    Confidential,
    Instance,
    Json,
    PatternFile,
    Quiet,
    Widen,
    read_params,
    read_problem,
    say,
)
from tablecloak.cli.progress import drawing
from tablecloak.errors import NotApplicable, SolverError

if TYPE_CHECKING:
    from tablecloak.analysis.lower_bounds import Bound
    from tablecloak.model.pattern import Pattern
    from tablecloak.model.problem import Problem
    from tablecloak.model.result import Audit
    from tablecloak.progress import Progress


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
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Protect a table, audit the outcome, and write pattern and record."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.files import check_writable, write_files
        from tablecloak.formats.pattern_csv import write_pattern
        from tablecloak.model.result import Status
        from tablecloak.protection import protect as run
        from tablecloak.reports.records import result_record, to_json

        check_writable([path for path in (json, pattern) if path], inputs=[instance])
        params = read_params(settings or [], seconds)
        problem = read_problem(instance, widen, quiet)
        result = run(problem, method, params=params, seed=seed, progress=progress)
        texts = {
            json: to_json(result_record(problem, result)),
            pattern: write_pattern(problem, result.pattern),
        }
        wanted = {path: text for path, text in texts.items() if path}
        write_files(wanted, commit=interrupts.commit)
    say(result.summary(problem), quiet)
    if interrupts.seen or result.status is Status.INTERRUPTED:
        end_interrupted(bool(wanted))


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
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Judge a pattern: what can each attacker work out? Exit code 4 if it is not safe."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.auditing import audit as run
        from tablecloak.files import check_writable, make_folder, write_files
        from tablecloak.formats.pattern_csv import read_pattern
        from tablecloak.reports.records import audit_record, to_json

        check_writable([json] if json else [], inputs=[instance, pattern])
        problem = read_problem(instance, widen, quiet)
        given = read_pattern(pattern, problem)
        if certificates:
            make_folder(certificates)
        verdict = run(
            problem, given, intervals=intervals, every_hidden=every_hidden, integer=integer, progress=progress
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


def exposure(
    instance: Instance,
    json: Json = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Which sensitive cells could be worked out if nothing but them were hidden?"""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.auditing.exposure import exposure as run
        from tablecloak.files import check_writable, write_files
        from tablecloak.reports.records import exposure_record, to_json

        check_writable([json] if json else [], inputs=[instance])
        problem = read_problem(instance, widen, quiet)
        found = run(problem, progress=progress)
        files = {json: to_json(exposure_record(problem, found))} if json else {}
        write_files(files, commit=interrupts.commit)
    say(found.summary(problem), quiet)


def bounds(
    instance: Instance,
    integer: Annotated[
        bool, typer.Option("--integer", help="Solve the integer programs too: tighter, may take long.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="Stop each bound after so long.")
    ] = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """What must any safe suppression cost? The lower bounds of the literature."""
    with exit_codes(show_confidential), drawing(quiet) as progress:
        from tablecloak.analysis.lower_bounds import BOUNDS
        from tablecloak.cli.methods import bounds_table

        problem = read_problem(instance, widen, quiet)
        found: dict[str, Bound | NotApplicable] = {}
        for name, bound in BOUNDS.items():
            try:
                found[name] = bound(problem, integer=integer, seconds=seconds, progress=progress)
            except NotApplicable as refusal:
                found[name] = refusal
    say(bounds_table(found), quiet)


def _certified(
    problem: Problem, pattern: Pattern, verdict: Audit, progress: Progress
) -> tuple[str, list[str]]:
    """The text of a certificate of the verdict, checked with no solver, and what to say about it."""
    from tablecloak.auditing import certify
    from tablecloak.auditing.certificate import Certificate, verify

    certificate = certify(problem, pattern, verdict, progress=progress)
    text = certificate.to_json()
    check = verify(Certificate.from_json(text), problem, pattern)
    if not check.valid:
        raise SolverError(f"The certificate does not hold and is not written.\n{check.summary()}")
    return text, [f"certificate: {certificate.summary()}", f"checked again: {check.summary()}"]
