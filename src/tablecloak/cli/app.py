"""The program: its commands in their order. Each one parses, calls what the Python user would call, and prints."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.analyse import bounds, exposure
from tablecloak.cli.argus import argus, lint
from tablecloak.cli.assess import assess
from tablecloak.cli.audit import audit
from tablecloak.cli.compare import compare
from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.job import init, run
from tablecloak.cli.progress import drawing
from tablecloak.cli.protect import protect
from tablecloak.cli.publish import publish
from tablecloak.cli.tabulate import tabulate

app = typer.Typer(
    name="tablecloak",
    help="Statistical tables that are safe to publish. All files written are confidential, except those of "
    "publish and the public outputs of run.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong input, 3 infeasible, 4 unsafe, 5 not applicable, "
    "6 interrupted and the pattern found so far written, 130 interrupted and nothing written.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


tabulate = app.command()(tabulate)
assess = app.command()(assess)
protect = app.command()(protect)
audit = app.command()(audit)
publish = app.command()(publish)
run = app.command()(run)
init = app.command()(init)
exposure = app.command()(exposure)
bounds = app.command()(bounds)
compare = app.command()(compare)
argus = app.command()(argus)
lint = app.command()(lint)


@app.command()
def methods() -> None:
    """List the methods, what they need and what can be set."""
    with exit_codes():
        from tablecloak.cli.methods import print_methods

        print_methods()


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the files of the example are written.")
    ] = Path("tablecloak-demo"),
) -> None:
    """Walk an invented business survey from microdata to publication."""
    with exit_codes(show_confidential=True), drawing(quiet=False) as progress:
        from tablecloak.cli.demo import run

        run(folder, progress=progress)
