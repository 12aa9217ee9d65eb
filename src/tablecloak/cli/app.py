"""The commands. Each one parses, calls what the Python user would call, and prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.exits import UNSAFE, exit_codes
from tablecloak.cli.live import drawing
from tablecloak.errors import InputError, SolverError

if TYPE_CHECKING:
    from tablecloak.pattern import Pattern
    from tablecloak.problem import Problem
    from tablecloak.progress import Progress
    from tablecloak.result import Audit

app = typer.Typer(
    name="tablecloak",
    help="Statistical tables that are safe to publish. All files written are confidential.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 3 infeasible, 4 unsafe, 5 not applicable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Instance = Annotated[Path, typer.Argument(metavar="INSTANCE.jj", help="The table and its levels, a JJ file.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write a JSON record here.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Widen = Annotated[bool, typer.Option("--widen", help="Widen bounds that are narrower than a level.")]
Confidential = Annotated[
    bool, typer.Option("--show-confidential", help="Show true figures in error messages.")
]


@app.callback()
def _tablecloak(
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, help="Show the version.", callback=lambda on: _version(on)),
    ] = False,
) -> None:
    pass


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tablecloak {version('tablecloak')}")
        raise typer.Exit


@app.command()
def protect(
    instance: Instance,
    method: Annotated[
        str, typer.Option("--method", "-m", help="The method; see: tablecloak methods.")
    ] = "suppress-greedy",
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
    with exit_codes(show_confidential), drawing(quiet) as progress:
        from tablecloak.formats.files import check_writable, write_files
        from tablecloak.formats.json_records import result_record, to_json
        from tablecloak.formats.pattern_csv import write_pattern
        from tablecloak.protect import protect as run

        check_writable([path for path in (json, pattern) if path], inputs=[instance])
        params = _params(settings or [], seconds)
        problem = _problem(instance, widen, quiet)
        result = run(problem, method, params=params, seed=seed, progress=progress)
        texts = {
            json: to_json(result_record(problem, result)),
            pattern: write_pattern(problem, result.pattern),
        }
        write_files({path: text for path, text in texts.items() if path})
    _say(result.summary(problem), quiet)


@app.command()
def audit(
    instance: Instance,
    pattern: Annotated[
        Path, typer.Option("--pattern", metavar="FILE", help="The pattern, as protect writes it.")
    ],
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
    with exit_codes(show_confidential), drawing(quiet) as progress:
        from tablecloak.audit import audit as run
        from tablecloak.formats.files import check_writable, make_folder, write_files
        from tablecloak.formats.json_records import audit_record, to_json
        from tablecloak.formats.pattern_csv import read_pattern

        check_writable([json] if json else [], inputs=[instance, pattern])
        problem = _problem(instance, widen, quiet)
        given = read_pattern(pattern, problem)
        if certificates:
            make_folder(certificates)
        verdict = run(
            problem, given, intervals=intervals, every_hidden=every_hidden, integer=integer, progress=progress
        )
        write_files({json: to_json(audit_record(problem, verdict, intervals))} if json else {})
        lines = [verdict.summary(problem)]
        if certificates:
            lines += _certified(problem, given, verdict, certificates / "certificate.json", progress)
    _say("\n".join(lines), quiet)
    if not verdict.safe:
        raise typer.Exit(UNSAFE)


@app.command()
def exposure(
    instance: Instance,
    json: Json = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Which sensitive cells could be worked out if nothing but them were hidden?"""
    with exit_codes(show_confidential), drawing(quiet) as progress:
        from tablecloak.exposure import exposure as run
        from tablecloak.formats.files import check_writable, write_files
        from tablecloak.formats.json_records import exposure_record, to_json

        check_writable([json] if json else [], inputs=[instance])
        problem = _problem(instance, widen, quiet)
        found = run(problem, progress=progress)
        write_files({json: to_json(exposure_record(problem, found))} if json else {})
    _say(found.summary(problem), quiet)


@app.command()
def methods() -> None:
    """List the methods, what they need and what can be set."""
    with exit_codes():
        from tablecloak.cli.listing import print_methods

        print_methods()


@app.command()
def demo() -> None:
    """Attack an example table, protect it, and audit the outcome."""
    with exit_codes(show_confidential=True):
        from tablecloak.cli.demo import run

        run()


def _problem(instance: Path, widen: bool, quiet: bool) -> Problem:
    """The problem in a file; what was passed over in it is told on stderr."""
    from tablecloak.formats.jj import read_jj

    found = read_jj(instance, widen=widen)
    for warning in found.warnings:
        if not quiet:
            typer.echo(f"warning: {warning}", err=True)
    return found.problem


def _params(settings: Sequence[str], seconds: float | None) -> dict[str, Any]:
    """The method's parameters from ``--set KEY=VALUE`` and ``--seconds``."""
    params: dict[str, Any] = {} if seconds is None else {"seconds": seconds}
    faults = ["--seconds: not a number"] if seconds is not None and math.isnan(seconds) else []
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not key or not equals:
            faults.append(f"--set {setting}: write it as KEY=VALUE")
        elif key in params:
            faults.append(f"--set {setting}: {key} is set twice")
        params[key] = value
    if faults:
        raise InputError("Options", faults)
    return params


def _certified(
    problem: Problem, pattern: Pattern, verdict: Audit, path: Path, progress: Progress
) -> list[str]:
    """Write a certificate of the verdict and check what was written, with no solver."""
    from tablecloak.audit import certify
    from tablecloak.audit.certificate import Certificate, verify
    from tablecloak.formats.files import write_files

    certificate = certify(problem, pattern, verdict, progress=progress)
    text = certificate.to_json()
    check = verify(Certificate.from_json(text), problem, pattern)
    if not check.valid:
        raise SolverError(f"The certificate does not hold and is not written.\n{check.summary()}")
    write_files({path: text})
    return [f"certificate: {certificate.summary()}", f"checked again: {check.summary()}"]


def _say(text: str, quiet: bool) -> None:
    if not quiet:
        typer.echo(text)
