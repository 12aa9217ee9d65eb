"""How a command ends: its exit code, and errors as readable text.

::

    0    done
    1    a solver failed, or something unexpected happened
    2    the input is wrong (files, options)
    3    infeasible: no pattern can give the protection asked for
    4    unsafe: the pattern does not pass the audit
    5    not applicable: this method or option cannot take this problem
    6    interrupted; the audited pattern found so far is written
    130  interrupted; nothing is written

SIGTERM ends a command as Ctrl-C does. Both come too late once all files are complete and are being renamed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import typer

from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    TablecloakError,
    UnsafePublication,
)
from tablecloak.progress import Deadline

FAILED, WRONG_INPUT, INFEASIBLE, UNSAFE, NOT_APPLICABLE = 1, 2, 3, 4, 5
INTERRUPTED_WRITTEN, INTERRUPTED = 6, 130
CODES: tuple[tuple[type[TablecloakError], int], ...] = (
    (InputError, WRONG_INPUT),
    (InfeasibleProblem, INFEASIBLE),
    (UnsafePublication, UNSAFE),
    (NotApplicable, NOT_APPLICABLE),
)


@contextmanager
def exit_codes(show_confidential: bool = False) -> Iterator[Interrupts]:
    """Turn every error inside into text on stderr and an exit code; gives what is known about interrupts.

    Figures, and the traceback of an unexpected error, may hold true values: shown only when asked for.
    """
    interrupts = Interrupts()
    try:
        with _signals(interrupts):
            yield interrupts
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        typer.echo(_NOTHING, err=True)
        raise typer.Exit(INTERRUPTED) from None
    except TablecloakError as error:
        if interrupts.seen and _code(error) == FAILED:  # what became of the interrupt inside a library
            typer.echo(_NOTHING, err=True)
            raise typer.Exit(INTERRUPTED) from None
        typer.echo(f"error: {error}", err=True)
        if error.confidential:
            typer.echo(_figures(error.confidential) if show_confidential else _HINT, err=True)
        raise typer.Exit(_code(error)) from None
    except Exception as error:
        if interrupts.seen:
            typer.echo(_NOTHING, err=True)
            raise typer.Exit(INTERRUPTED) from None
        typer.echo(f"error: something unexpected happened ({type(error).__name__})", err=True)
        typer.echo(traceback.format_exc() if show_confidential else _HINT, err=True)
        raise typer.Exit(FAILED) from None


class Interrupts:
    """Whether the user interrupted the command, whatever became of that inside."""

    def __init__(self) -> None:
        self.seen = False

    def __call__(self, number: int, frame: FrameType | None) -> NoReturn:
        """The handler of SIGINT and SIGTERM."""
        self.seen = True
        raise KeyboardInterrupt

    def commit(self, publishing: bool = False) -> None:
        """Ignore further interrupts until the command ends: all files are complete, and are renamed now.

        Nothing is published after an interrupt, even if a method went on as if there had been none.
        """
        if publishing and self.seen:
            raise KeyboardInterrupt
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)

    def publish(self) -> None:
        """`commit` of files that are public."""
        self.commit(publishing=True)


@contextmanager
def _signals(interrupts: Interrupts) -> Iterator[None]:
    """Inside, SIGTERM is an interrupt like Ctrl-C; afterwards both signals mean what they meant before."""
    if threading.current_thread() is not threading.main_thread():  # only it may set handlers
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if before[signal.SIGINT] is signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupts)
        if sys.platform != "win32" and before[signal.SIGTERM] is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, interrupts)
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # it was not set by Python
                signal.signal(number, handler)


def leave(ended: SystemExit, seconds: float = 1.0) -> NoReturn:
    """End the process with its exit code, also while a solver that was interrupted still works.

    Its thread is given some seconds. If it went on while Python shuts down, it would abort the process as soon as it
    came back to Python. All files are complete by now.
    """
    until = Deadline.after(seconds)
    while _at_work() and not until.passed():
        time.sleep(min(0.01, seconds))
    if _at_work() and (ended.code is None or isinstance(ended.code, int)):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code or 0)
    raise ended


def _at_work() -> bool:
    """Whether a thread works still that Python does not wait for at its exit.

    `threading` keeps those of `progress.Background` as dummies, which cannot be joined and never end: the interpreter
    knows which threads there are.
    """
    daemons = {one.ident for one in threading.enumerate() if one.daemon}
    return bool(daemons & (sys._current_frames().keys() - {threading.get_ident()}))


def end_interrupted(written: bool) -> NoReturn:
    """End a command whose method was interrupted and gave the best audited pattern it had."""
    typer.echo("interrupted, what was found so far is written" if written else _NOTHING, err=True)
    raise typer.Exit(INTERRUPTED_WRITTEN if written else INTERRUPTED)


_NOTHING = "interrupted, nothing written"
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
