"""Options and helpers that several commands share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.model import Problem

Instance = Annotated[
    Path,
    typer.Argument(metavar="PROBLEM", help="The problem: a .cloak file as assess writes it, or a JJ file."),
]
PatternFile = Annotated[
    Path, typer.Option("--pattern", metavar="FILE", help="The pattern, as protect writes it.")
]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write a JSON record here.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Widen = Annotated[bool, typer.Option("--widen", help="Widen bounds that are narrower than a level.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        metavar="N",
        help="Number of workers that share the work.",
        show_default="the number of cores",
    ),
]
Confidential = Annotated[
    bool, typer.Option("--show-confidential", help="Show true figures in error messages.")
]


Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE.cloak", help="Write the outcome here.")]


def read_problem(instance: Path, widen: bool, quiet: bool) -> Problem:
    """The problem in a cloak file or a JJ file; what was passed over in it is told on stderr."""
    from tablecloak.formats import is_cloak, read_cloak, read_jj
    from tablecloak.model import Table

    if is_cloak(instance):
        thing = read_cloak(instance)
        if isinstance(thing, Table):
            fault = "it holds a table whose sensitive cells are not known yet"
            raise InputError(f"Cloak file {instance}", [fault], advice="Run tablecloak assess on it first.")
        if widen:
            raise InputError("Options", ["--widen: pass it to assess, which makes the bounds and levels"])
        return thing
    found = read_jj(instance, widen=widen)
    for warning in found.warnings:
        if not quiet:
            typer.echo(f"warning: {warning}", err=True)
    return found.problem


def read_params(settings: Sequence[str], seconds: float | None) -> dict[str, Any]:
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


def read_settings(option: str, words: Sequence[str]) -> dict[str, Any]:
    """Settings written as ``p=10 n=1 level=holdings``: numbers, true or false, or else text."""
    settings, faults = dict[str, Any](), list[str]()
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals or not value:
            faults.append(f"{option}: {word!r} is not written as KEY=VALUE")
        elif key in settings:
            faults.append(f"{option}: {key} is set twice")
        settings[key] = _value(value)
    if faults:
        raise InputError("Options", faults)
    return settings


def _value(text: str) -> Any:
    words = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def named_value(option: str, given: str, what: str = "VALUE") -> tuple[str, str]:
    """The two sides of ``NAME=VALUE``."""
    name, equals, value = (part.strip() for part in given.partition("="))
    if not name or not equals or not value:
        raise InputError("Options", [f"{option} {given}: write it as NAME={what}"])
    return name, value


def say(text: str, quiet: bool) -> None:
    """Print unless told to be quiet."""
    if not quiet:
        typer.echo(text)
