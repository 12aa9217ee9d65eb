"""The commands exposure and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.options import Confidential, Instance, Json, Quiet, Widen, read_problem, say
from tablecloak.cli.progress import drawing
from tablecloak.errors import NotApplicable

if TYPE_CHECKING:
    from tablecloak.analysis import Bound


def exposure(
    instance: Instance,
    json: Json = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Which sensitive cells could be worked out if nothing but them were hidden?"""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.auditing import exposure as run
        from tablecloak.files import check_writable, write_files
        from tablecloak.reports import exposure_record, to_json

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
        from tablecloak.analysis import BOUNDS, INTERRUPTED

        problem = read_problem(instance, widen, quiet)
        found: dict[str, Bound | NotApplicable] = {}
        for name, bound in BOUNDS.items():
            try:
                found[name] = one = bound(problem, integer=integer, seconds=seconds, progress=progress)
                if INTERRUPTED in one.notes:
                    break
            except NotApplicable as refusal:
                found[name] = refusal
    say(bounds_table(found), quiet)


def bounds_table(found: Mapping[str, Bound | NotApplicable]) -> str:
    """A line for each bound: name, linear and integer program, seconds, and whether it is valid or what it needs."""
    lines = [f"{'bound':18}{'linear':>12}{'integer':>12}{'seconds':>10}  valid"]
    for name, bound in found.items():
        if isinstance(bound, NotApplicable):
            lines.append(f"{name:18}{'-':>12}{'-':>12}{'-':>10}  no: it needs {bound.needs}")
            continue
        integer = "-" if bound.integer is None else f"{bound.integer:.6g}"
        valid = "; ".join(["yes", *bound.notes])
        lines.append(f"{name:18}{bound.linear:>12.6g}{integer:>12}{f'{bound.seconds:.2f} s':>10}  {valid}")
    return "\n".join(lines)
