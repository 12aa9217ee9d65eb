"""The keys a job file may have, and what kind of value each of them takes.

Everything that can be said about a key without looking at other keys or files is said here, as data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from tablecloak.job.positions import Faults
from tablecloak.model import EMPTY


@dataclass(frozen=True)
class Kind:
    """A kind of value: a test, and its name for messages."""

    fits: Callable[[Any], bool]
    words: str


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: Any) -> bool:
    """A finite number that a double can hold (a whole number of hundreds of digits is none)."""
    most = sys.float_info.max
    return isinstance(value, int | float) and not isinstance(value, bool) and -most <= value <= most


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(fits, value))


def _hierarchy(value: Any) -> bool:
    digits = _all(lambda item: _whole(item) and item > 0)
    return _text(value) or (isinstance(value, dict) and bool(value)) or _all(_text)(value) or digits(value)


def _labels(value: Any) -> bool:
    """Texts by dimension and code."""
    tables = value.values() if isinstance(value, dict) else [None]
    return all(isinstance(each, dict) and all(map(_text, each.values())) for each in tables)


TEXT = Kind(_text, "text")
ANY_TEXT = Kind(lambda value: isinstance(value, str), "text")
TEXTS = Kind(_all(_text), "a list of texts")
WHOLE = Kind(_whole, "a whole number that is not negative")
NUMBER = Kind(_number, "a number")
POSITIVE = Kind(lambda value: _number(value) and value >= 0, "a number that is not negative")
SWITCH = Kind(lambda value: isinstance(value, bool), "true or false")
TABLE = Kind(lambda value: isinstance(value, dict), "a table of keys and values")
TWO_TEXTS = Kind(lambda value: _all(_text)(value) and len(value) == 2, "a list of two texts")
FACTORS = Kind(
    lambda value: isinstance(value, dict) and bool(value) and all(map(_number, value.values())),
    "a table of factors, { turnover = 1, costs = -1 }",
)
HIERARCHY = Kind(
    _hierarchy,
    'the name of a .hrc or .csv file, "digits:3,1,1", a list of digits, a list of codes, or a nested table',
)
HIERARCHIES = Kind(_all(_hierarchy), "a list of hierarchies")
UNIONS = Kind(lambda value: isinstance(value, bool) or _whole(value), "true, false or a number of cells")
CODES = Kind(
    lambda value: isinstance(value, dict) and all(map(_all(_text), value.values())),
    'a table of lists of codes, { region = ["unknown"] }',
)
LABELS = Kind(
    lambda value: _text(value) or isinstance(value, bool) or _labels(value),
    "the name of a csv file, a table, or true for the labels in the csv files of the hierarchies",
)
COMBINATIONS = Kind(
    lambda value: _text(value) or _all(_all(_text))(value),
    'the name of a csv or parquet file, or a list of combinations of codes, [["North", "large"]]',
)
CODES_OF = Kind(
    lambda value: (
        isinstance(value, dict) and all(_text(each) or _all(_text)(each) for each in value.values())
    ),
    'a table of codes or lists of codes, { region = ["N1", "N2"] }',
)
DEPTHS = Kind(
    lambda value: (
        isinstance(value, dict) and all(_whole(each) or _all(_whole)(each) for each in value.values())
    ),
    "a table of depths or lists of depths, { region = 0, size = [1, 2] }",
)
WORDS = Kind(lambda value: _text(value) or _all(_text)(value), "text or a list of texts")
NUMBER_OR_TEXT = Kind(lambda value: _text(value) or _number(value), "a number or text")


@dataclass(frozen=True)
class Key:
    """One key: the kind of its value, whether it must be there, what it may be, and what it names."""

    kind: Kind
    required: bool = False
    choices: tuple[str, ...] = ()
    role: str = ""
    """"file" to be read, "output" to be written, or "column" of the data; checked when the job is read."""


@dataclass(frozen=True)
class Section:
    """A table of the job file."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    required: bool = False
    many: str = "no"
    """"no": ``[section]``, "yes": ``[[section]]``, "either"."""
    other: Key | None = None
    """What any other key is; None: there may be no others."""


COLUMN, COLUMNS = Key(TEXT, role="column"), Key(TEXTS, role="column")
FILE, OUTPUT = Key(TEXT, role="file"), Key(TEXT, role="output")
SWITCHES = Key(SWITCH)

SELECTED = {
    "codes": Key(CODES_OF),
    "depth": Key(DEPTHS),
    "totals": Key(SWITCH),
    "cells": Key(TEXT, role="file"),
}
"""Keys that select cells: those that fit all of them."""

PUBLIC = (".csv", ".parquet", ".xlsx", ".html", ".sdmx.csv")
"""How the names of public files end."""
FOR_MICRODATA = ("weight", "respondent", "holding", "request", "request_codes", "waiver", "missing", "depth")
FOR_CELLS = ("count", "top", "holding_count", "holding_top", "recompute", "tolerance", "weighted")

SECTIONS: dict[str, Section] = {
    "data": Section(
        {
            "path": Key(TEXT, required=True, role="file"),
            "kind": Key(TEXT, choices=("microdata", "cells")),
            **dict.fromkeys(("weight", "respondent", "holding", "request", "waiver"), COLUMN),
            **dict.fromkeys(("count", "holding_count"), COLUMN),
            **dict.fromkeys(("top", "holding_top"), COLUMNS),
            **dict.fromkeys(("recompute", "weighted"), SWITCHES),
            "request_codes": Key(TWO_TEXTS),
            "missing": Key(TEXT),
            "depth": Key(WHOLE),
            "tolerance": Key(POSITIVE),
        },
        required=True,
    ),
    "dimension": Section(
        {
            "name": Key(TEXT, required=True, role="column"),
            "hierarchy": Key(HIERARCHY, role="file"),
            "total": Key(TEXT),
            "further": Key(HIERARCHIES, role="file"),
        },
        required=True,
        many="yes",
    ),
    "table": Section(
        {
            "name": Key(TEXT),
            "dimensions": Key(TEXTS),
            **dict.fromkeys(("response", "shadow"), COLUMN),
            **dict.fromkeys(("round", "counts"), SWITCHES),
            **dict.fromkeys(("decimals", "most_cells"), Key(WHOLE)),
            "empty": Key(TEXT, choices=EMPTY),
            "impossible": Key(COMBINATIONS, role="file"),
            "path": FILE,
            "outputs": Key(TEXTS, role="output"),
        },
        many="either",
    ),
    "relations": Section(other=Key(FACTORS)),
    "rule": Section({"rule": Key(TEXT, required=True)}, many="yes", other=Key(NUMBER_OR_TEXT)),
    "marks": Section({"file": Key(TEXT, required=True, role="file")}),
    "insiders": Section(
        {
            **dict.fromkeys(("sole", "holdings", "pooled"), SWITCHES),
            **dict.fromkeys(("largest", "coalition", "most"), Key(WHOLE)),
            "p_percent": Key(POSITIVE),
        }
    ),
    "attacker": Section(
        {"name": Key(TEXT, required=True), "file": FILE, "percent": Key(POSITIVE), **SELECTED}, many="yes"
    ),
    "conditional": Section(
        {**dict.fromkeys(("width", "lower", "upper"), Key(POSITIVE)), "percent": SWITCHES, **SELECTED},
        many="yes",
    ),
    "way": Section(
        {"way": Key(TEXT, required=True), "base": Key(POSITIVE), "mark": Key(WORDS), **SELECTED}, many="yes"
    ),
    "assess": Section(
        {
            "unions": Key(UNIONS),
            "manual_percent": Key(POSITIVE),
            "missing_safe": Key(CODES),
            **dict.fromkeys(("hide_zeros", "widen"), SWITCHES),
            "most_touched": Key(WHOLE),
        }
    ),
    "weights": Section({"by": Key(TEXT, required=True), "power": Key(NUMBER)}),
    "prices": Section({name: Key(NUMBER_OR_TEXT) for name in ("up", "down", "touch")}),
    "protect": Section(
        {"method": Key(TEXT), "seconds": Key(POSITIVE), "seed": Key(WHOLE), "params": Key(TABLE)}
    ),
    "audit": Section({"intervals": SWITCHES, "every_hidden": SWITCHES, "integer": SWITCHES}),
    "publish": Section(
        {
            "outputs": Key(TEXTS, role="output"),
            "title": Key(ANY_TEXT),
            "note": Key(ANY_TEXT),
            "symbol": Key(TEXT),
            "labels": Key(LABELS, role="file"),
            "decimals": Key(WHOLE),
            "unit": Key(POSITIVE),
        }
    ),
    "report": Section(
        {"html": OUTPUT, "explain": SWITCHES, "json": OUTPUT, "pattern": OUTPUT, "problem": OUTPUT}
    ),
}


# ---------------------------------------------------------------------- checking


def check_keys(document: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The document without what is wrong in it; every unknown, missing or wrong key is added to the faults."""
    right: dict[str, Any] = {}
    for name in document:
        if name not in SECTIONS:
            faults.add(name, f"there is no section [{name}]{meant(name, list(SECTIONS))}")
    for name, section in SECTIONS.items():
        if name not in document:
            if section.required:
                brackets = f"[[{name}]]" if section.many == "yes" else f"[{name}]"
                faults.add("", f"the section {brackets} is missing")
            continue
        kept = [_checked(path, table, section, faults) for path, table in tables_of(document, name, faults)]
        if isinstance(document[name], list) and section.many != "no":
            right[name] = kept
        elif kept:
            right[name] = kept[0]
    return right


def tables_of(
    document: Mapping[str, Any], name: str, faults: Faults | None = None
) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables of a section with their paths: one, or several numbered from 1."""
    given, many = document.get(name), SECTIONS[name].many
    if isinstance(given, dict) and many != "yes":
        return [(name, given)]
    if isinstance(given, list) and many != "no":
        wrong = [i for i, table in enumerate(given, 1) if not isinstance(table, dict)]
        for i in wrong:
            if faults:
                faults.add(f"{name}[{i}]", "it must be a table of keys and values")
        return [(f"{name}[{i}]", table) for i, table in enumerate(given, 1) if i not in wrong]
    if given is not None and faults:
        shape = {"no": f"[{name}]", "yes": f"[[{name}]]", "either": f"[{name}] or several [[{name}]]"}[many]
        faults.add(name, f"it must be written as {shape}")
    return []


def _checked(path: str, table: Mapping[str, Any], section: Section, faults: Faults) -> dict[str, Any]:
    """The keys of a table that are right."""
    right = {}
    for name, value in table.items():
        key = section.keys.get(name, section.other)
        if key is None:
            faults.add(f"{path}.{name}", f"there is no such key{meant(name, list(section.keys))}")
        elif not key.kind.fits(value):
            faults.add(f"{path}.{name}", f"it takes {key.kind.words}, not {_described(value)}")
        elif key.choices and value not in key.choices:
            faults.add(f"{path}.{name}", f"there is no {value!r}{meant(value, key.choices)}")
        else:
            right[name] = value
    for name, key in section.keys.items():
        if key.required and name not in table:
            faults.add(path, f"the key {name!r} is missing")
    return right


def named_files(document: Mapping[str, Any], role: str) -> list[tuple[str, str]]:
    """Key path and name of all files of a role ("file" to be read, or "output") in a document."""
    found: list[tuple[str, str]] = []
    for section, described in SECTIONS.items():
        for path, table in tables_of(document, section):
            for name, key in described.keys.items():
                given = table.get(name)
                names = given if isinstance(given, list) else [given]
                if key.kind in (HIERARCHY, LABELS):
                    names = [given] if is_file_name(given) else []
                elif key.kind is HIERARCHIES:
                    names = [each for each in names if is_file_name(each)]
                if key.role == role:
                    found += [(f"{path}.{name}", each) for each in names if isinstance(each, str)]
    return found


def is_file_name(hierarchy: Any) -> bool:
    """Whether a hierarchy (or labels) is given by the name of a file."""
    return isinstance(hierarchy, str) and not hierarchy.lower().startswith("digits:")


def meant(name: str, known: Sequence[str]) -> str:
    """``; did you mean 'x'?`` where a name is close to a known one, otherwise what there is."""
    close = get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(known)}"


def _described(value: Any) -> str:
    """A wrong value in words."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return repr(value) if value else "an empty text"
        case int() | float():
            return str(value)
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a table"
        case _:
            return f"a {type(value).__name__}"
