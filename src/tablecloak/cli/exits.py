"""How a command ends: its exit code, and errors as readable text.

::

    0    done
    1    a solver failed, or something unexpected happened
    2    the input is wrong (files, options)
    3    infeasible: no pattern can give the protection asked for
    4    unsafe: the pattern does not pass the audit
    5    not applicable: this method or option cannot take this problem
    130  interrupted
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    TablecloakError,
    UnsafePublication,
)

FAILED, WRONG_INPUT, INFEASIBLE, UNSAFE, NOT_APPLICABLE, INTERRUPTED = 1, 2, 3, 4, 5, 130
CODES: tuple[tuple[type[TablecloakError], int], ...] = (
    (InputError, WRONG_INPUT),
    (InfeasibleProblem, INFEASIBLE),
    (UnsafePublication, UNSAFE),
    (NotApplicable, NOT_APPLICABLE),
)


@contextmanager
def exit_codes(show_confidential: bool = False) -> Iterator[None]:
    """Turn every error inside into text on stderr and an exit code.

    Figures, and the traceback of an error nobody expected, may hold true values: shown only when asked for.
    """
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        typer.echo("interrupted, nothing written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except TablecloakError as error:
        typer.echo(f"error: {error}", err=True)
        if error.confidential:
            typer.echo(_figures(error.confidential) if show_confidential else _HINT, err=True)
        raise typer.Exit(_code(error)) from None
    except Exception as error:
        typer.echo(f"error: something unexpected happened ({type(error).__name__})", err=True)
        typer.echo(traceback.format_exc() if show_confidential else _HINT, err=True)
        raise typer.Exit(FAILED) from None


_HINT = "Run again with --show-confidential to see the figures; they may hold true values."


def _code(error: TablecloakError) -> int:
    return next((code for kind, code in CODES if isinstance(error, kind)), FAILED)


def _figures(confidential: Mapping[str, Any]) -> str:
    lines = ["confidential:"]
    for name, value in confidential.items():
        if isinstance(value, Mapping):
            lines += [f"  {name}:", *(f"    {key}: {item}" for key, item in value.items())]
        else:
            lines.append(f"  {name}: {value}")
    return "\n".join(lines)
