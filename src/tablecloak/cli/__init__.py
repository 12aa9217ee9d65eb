"""The command line: parse, call, print. It can do nothing that the Python functions cannot."""

from __future__ import annotations


def main() -> None:
    """The program ``tablecloak``."""
    from tablecloak.cli.app import app
    from tablecloak.cli.exit_codes import leave

    try:
        app()
    except SystemExit as ended:
        leave(ended)
