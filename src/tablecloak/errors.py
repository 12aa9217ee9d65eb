"""The exceptions of tablecloak.

::

    TablecloakError
    ├── InputError          the input is wrong: every fault found, each with its row, cell or line
    ├── InfeasibleProblem   no pattern can give the protection asked for; names the cells and what is in the way
    ├── NotApplicable       this method or option cannot take this problem; says what can
    ├── SolverError         an engine failed where it should not
    └── UnsafePublication   something that did not pass the audit was about to leave the building

*Cannot* is an exception; *did not finish* is a status of a `Result`.

Messages name cells by code, never by value: a message may end in a log or a ticket. Figures that
explain a fault are in the ``confidential`` attribute and shown only when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any


@dataclass(frozen=True)
class MessageLimits:
    """How much a message shows. Untested defaults."""

    faults: int = 20
    """Maximum number of faults listed."""
    compared: int = 2000
    """Maximum number of names among which a close one is looked for."""
    name: int = 60
    """Maximum number of characters of a name that is shown."""


MESSAGES = MessageLimits()


class TablecloakError(Exception):
    """Base of all errors raised by tablecloak.

    `confidential` holds the figures behind the message (true values, levels, shortfalls). They are kept
    apart from the message so that printing or logging an error never discloses a value.
    """

    def __init__(self, message: str, *, confidential: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.confidential: Mapping[str, Any] = dict(confidential or {})


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 cell, 2 cells."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(items: Sequence[str], limit: int = MESSAGES.faults) -> str:
    """The items one a line, indented; beyond `limit` only their number."""
    lines = [f"  - {item}" for item in items[:limit]]
    if len(items) > limit:
        lines.append(f"  ... and {len(items) - limit} more (all of them in the error's attributes)")
    return "\n".join(lines)


def near(name: object, known: Sequence[str]) -> str:
    """``; did you mean 'x'?`` where a name is close to a known one, otherwise nothing."""
    folded, plain = {each.strip().casefold(): each for each in known}, str(name).strip().casefold()
    close = [plain] if plain in folded else []
    if not close and len(known) <= MESSAGES.compared:
        close = get_close_matches(plain, folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


def public_names(names: Sequence[str]) -> str:
    """Names of columns for a message, as `public_name` shows them."""
    return (
        ", ".join(repr(name) if public_name(name) == name else public_name(name) for name in names) or "none"
    )


def public_name(name: str) -> str:
    """A column's name for a message. A file without a line of names has data there: numbers are not shown."""
    try:
        float(name.replace(",", "."))
    except ValueError:
        return name if len(name) <= MESSAGES.name else "(a long text)"
    return "(a number)"


class InputError(TablecloakError):
    """The input is wrong. `faults` lists everything that was found, not only the first fault."""

    def __init__(
        self,
        what: str,
        faults: Sequence[str],
        *,
        advice: str = "",
        confidential: Mapping[str, Any] | None = None,
    ) -> None:
        self.what = what
        self.faults = tuple(faults)
        self.advice = advice
        message = f"{what}: {counted(len(self.faults), 'fault')}\n{listed(self.faults)}"
        super().__init__(f"{message}\n{advice}" if advice else message, confidential=confidential)


def check_kind(what: str, name: str, thing: object, kind: type | tuple[type, ...], advice: str = "") -> None:
    """Raise an `InputError` unless a thing is of the kind that is needed."""
    if not isinstance(thing, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        words = " or ".join(each.__name__ for each in kinds)
        raise InputError(what, [f"{name} must be a {words}, got {type(thing).__name__}"], advice=advice)


class InfeasibleProblem(TablecloakError):
    """No pattern can give the protection asked for.

    `cells` are the labels of the sensitive cells that cannot be protected even when everything that may
    be hidden is hidden; `forced` the labels of cells that must be published and stand in the way.
    The shortfalls are in ``confidential["shortfall"]``.
    """

    def __init__(
        self,
        message: str,
        *,
        cells: Sequence[str] = (),
        forced: Sequence[str] = (),
        confidential: Mapping[str, Any] | None = None,
    ) -> None:
        self.cells = tuple(cells)
        self.forced = tuple(forced)
        super().__init__(message, confidential=confidential)


class NotApplicable(TablecloakError):
    """A method or option cannot take a problem. `needs` says what it needs, `instead` what can do it."""

    def __init__(self, what: str, *, needs: str, instead: Sequence[str] = ()) -> None:
        self.needs = needs
        self.instead = tuple(instead)
        hint = f" Use instead: {', '.join(self.instead)}." if self.instead else ""
        super().__init__(f"{what} It needs {needs}.{hint}")


class SolverError(TablecloakError):
    """An engine ended in a state it should never reach; the message says which and on what."""


class UnsafePublication(TablecloakError):
    """A pattern that did not pass the audit of the same problem was about to be published."""
