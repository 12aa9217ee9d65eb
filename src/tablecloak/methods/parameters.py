"""Parameters of methods from what a user wrote: names, kinds and words are checked by the fields of their dataclass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from tablecloak.errors import InputError, check_kind, near

WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", NoneType: "none"}
"""Kinds of parameters in words."""


def parameters_from(kind: type[Any], given: Mapping[str, Any]) -> Any:
    """An instance of a dataclass of parameters; unknown names, wrong kinds and wrong words are one `InputError`.

    Values may be texts, as a command line has them. Numbers of numpy count as numbers, arrays do not.
    """
    check_kind("Method parameters", "params", given, Mapping, 'Write them like {"seconds": 60}.')
    hints, known = get_type_hints(kind), [field.name for field in fields(kind)]
    faults, values = [], dict[str, Any]()
    for name, value in given.items():
        if name not in known:
            there = ", ".join(known) or "none"
            faults.append(f"unknown parameter {name!r}{near(name, known)}; there are: {there}")
            continue
        try:
            values[name] = _converted(value, hints[name])
        except (ValueError, OverflowError):
            shown = type(value).__name__ if isinstance(value, np.ndarray) else repr(value)
            faults.append(f"parameter {name!r} takes {_in_words(hints[name])}, not {shown}")
    if (values.get("seconds") or 0.0) < 0:
        faults.append("parameter 'seconds' must not be negative")
    if faults:
        raise InputError("Method parameters", faults)
    return kind(**values)


def wrong_words(params: Any) -> list[str]:
    """A fault for each parameter that is none of the words (or numbers) its `Literal` names."""
    found = []
    for name, hint in get_type_hints(type(params)).items():
        allowed, value = get_args(hint), getattr(params, name)
        if get_origin(hint) is Literal and value not in allowed:
            words = ", ".join(map(str, allowed))
            found.append(
                f"{name} {value!r} is not one of {words}{near(value, [str(word) for word in allowed])}"
            )
    return found


def _kinds(hint: Any) -> tuple[Any, ...]:
    """What a hint allows: the members of a union, or the hint itself."""
    return (hint,) if get_origin(hint) is Literal or hint in KINDS else get_args(hint) or (hint,)


def _in_words(hint: Any) -> str:
    """A hint for a message."""
    kinds = _kinds(hint)
    if not set(kinds) <= set(KINDS):
        return "a number for each cell"
    return " or ".join(KINDS[each] for each in kinds)


def _converted(value: Any, hint: Any) -> Any:
    """A value of the kind a parameter declares; a `ValueError` if it is of another."""
    kinds = _kinds(hint)
    if value is None or (
        isinstance(value, str) and value.strip().lower() in ("none", "null") and NoneType in kinds
    ):
        if NoneType in kinds:
            return None
        raise ValueError
    if get_origin(hint) is Literal:
        return next(
            (word for word in get_args(hint) if str(word) == str(value)), value
        )  # `wrong_words` lists others
    if not set(kinds) <= set(KINDS):
        return _numbers_or_text(value)
    return next(CONVERTERS[each] for each in kinds if each in CONVERTERS)(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if str(value).lower() in WORDS:
        return WORDS[str(value).lower()]
    raise ValueError


def _number(value: Any) -> float:
    """A number, infinity included; not an array, not true or false, not "not a number"."""
    if not isinstance(value, int | float | str | np.integer | np.floating) or isinstance(value, bool):
        raise ValueError
    number = float(value)
    if np.isnan(number):
        raise ValueError
    return number


def _whole(value: Any) -> int:
    """A whole number: 2.0 is one, 2.5 is refused."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    number = _number(value)
    if not number.is_integer():
        raise ValueError
    return int(number)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _numbers_or_text(value: Any) -> Any:
    """What a method reads itself: a sequence, an array, a text of the command line, or one number."""
    if isinstance(value, bool) or not (
        hasattr(value, "__len__") or isinstance(value, int | float | np.number)
    ):
        raise ValueError
    return value


CONVERTERS: dict[Any, Callable[[Any], Any]] = {bool: _boolean, int: _whole, float: _number, str: _text}
