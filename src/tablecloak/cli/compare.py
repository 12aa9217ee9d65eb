"""The command compare: several methods on one problem, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.exit_codes import (
    FAILED,
    INFEASIBLE,
    NOT_APPLICABLE,
    WRONG_INPUT,
    end_interrupted,
    exit_codes,
)
from tablecloak.cli.options import Confidential, Instance, Jobs, Json, Quiet, Widen, read_problem, say
from tablecloak.cli.progress import drawing
from tablecloak.cli.workers import processes
from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.analysis import Comparison


def compare(
    instance: Instance,
    methods: Annotated[
        str, typer.Option("--methods", "-m", metavar="A,B,C", help="The methods; see: tablecloak methods.")
    ],
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="Stop each method after so long.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random choices.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="METHOD.KEY=VALUE", help="A parameter of one method; repeatable."),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Work out exact intervals of all touched cells.")
    ] = False,
    json: Json = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with plots here.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Write the plot of cost over time here (.svg)."),
    ] = None,
    jobs: Jobs = None,
    quiet: Quiet = False,
    widen: Widen = False,
    show_confidential: Confidential = False,
) -> None:
    """Run several methods, audit each outcome, and show what each of them costs readers."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.analysis import compare as run
        from tablecloak.files import check_writable, write_files
        from tablecloak.reports import check_drawing, compare_html, cost_plot, to_json

        check_writable([path for path in (json, html, plot) if path], inputs=[instance])
        if html or plot:
            check_drawing()
        wanted = read_methods(methods, settings or [], seconds)
        problem = read_problem(instance, widen, quiet)
        options: dict[str, Any] = {"seconds": seconds, "seed": seed, "intervals": intervals}
        with processes(jobs, len(wanted), len(problem.table)) as executor:
            found = run(problem, wanted, progress=progress, executor=executor, **options)
        texts = {json: to_json(found.record())} if json else {}
        if html:
            texts[html] = compare_html(found)
        if plot and any(outcome.result is not None for outcome in found.outcomes):
            texts[plot] = cost_plot(found)
        wanted_files = {path: text for path, text in texts.items() if path}
        write_files(wanted_files, commit=interrupts.commit)
    say(found.summary(), quiet)
    if interrupts.seen or any(outcome.status == "interrupted" for outcome in found.outcomes):
        end_interrupted(bool(wanted_files))
    if code := _exit_code(found):
        raise typer.Exit(code)


def read_methods(
    methods: str, settings: Sequence[str], seconds: float | None
) -> dict[str, tuple[str, dict[str, Any]]]:
    """The methods and the parameters of each, from ``--methods A,B`` and ``--set A.KEY=VALUE``."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    wanted: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in names}
    faults = ["--seconds: not a number"] if seconds is not None and math.isnan(seconds) else []
    faults += [f"--methods: {name} is named twice" for name in wanted if names.count(name) > 1]
    for setting in settings:
        place, equals, value = (part.strip() for part in setting.partition("="))
        name, dot, key = place.rpartition(".")
        if not (name and dot and key and equals):
            faults.append(f"--set {setting}: write it as METHOD.KEY=VALUE")
        elif name not in wanted:
            faults.append(f"--set {setting}: {name} is not among the methods to compare")
        elif key in wanted[name][1]:
            faults.append(f"--set {setting}: {key} is set twice")
        else:
            wanted[name][1][key] = value
    if faults:
        raise InputError("Options", faults)
    return wanted


def _exit_code(found: Comparison) -> int:
    """0 where a method gave a result; else why there is none, where all have the same reason."""
    if any(outcome.result is not None for outcome in found.outcomes):
        return 0
    codes = {"not-applicable": NOT_APPLICABLE, "infeasible": INFEASIBLE, "wrong-input": WRONG_INPUT}
    reasons = {codes.get(outcome.status, FAILED) for outcome in found.outcomes}
    return reasons.pop() if len(reasons) == 1 else FAILED
