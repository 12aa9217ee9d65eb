"""Hierarchies and labels of codes as job files and commands give them: files, digits, lists, nested tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.files import read_rows, read_text
from tablecloak.model import Dimension, Hierarchy

TOTAL = "Total"
DIGITS = "digits:"


def make_hierarchy(
    given: Any,
    folder: Path,
    *,
    total: str | None = None,
    codes: Sequence[str] | None = None,
    missing: str = "",
) -> Hierarchy:
    """The hierarchy that is `given`:

    ===============================  =====================================================================
    ``"regions.hrc"``                a .hrc file: a code a line, ``@`` for each level below the first
    ``"regions.csv"``                a csv file of child,parent
    ``"digits:2,1,1"``, ``[2, 1, 1]``  the codes of the data spell out their place: characters of each level
    ``["f", "m"]``                   codes right below the total
    ``{North = ["N1", "N2"]}``       a nested table
    None                             the codes of the data, right below the total
    ===============================  =====================================================================

    `codes` are the codes found in the data; only digits and nothing need them. `missing` is the code that
    stands for an empty one: it comes right below the total. Files are looked for in `folder`.
    """
    top = total or TOTAL
    match given:
        case None:
            return Hierarchy.flat(in_order([code for code in codes or () if code != top]), top)
        case str() if given.lower().startswith(DIGITS):
            return _by_digits(read_digits(given), codes or (), top, missing)
        case str():
            return _from_file(folder / given, total)
        case Mapping():
            return Hierarchy.from_dict(dict(given), top)
        case [int(), *_]:
            return _by_digits(given, codes or (), top, missing)
        case _:
            return Hierarchy.flat(list(given), top)


def needs_codes(given: Any) -> bool:
    """Whether a hierarchy is made from the codes in the data."""
    digits = isinstance(given, str) and given.lower().startswith(DIGITS)
    return given is None or digits or (isinstance(given, list) and isinstance(given[0], int))


def is_csv(given: Any) -> bool:
    """Whether a hierarchy is given as a csv file of child and parent."""
    return isinstance(given, str) and given.lower().endswith(".csv")


def make_dimension(
    name: str,
    given: Sequence[Any],
    folder: Path,
    *,
    total: str | None = None,
    codes: Sequence[str] | None = None,
    missing: str = "",
) -> Dimension:
    """A dimension over its main hierarchy and further ones; all faults are in one `InputError`."""
    made, faults = list[Hierarchy](), list[str]()
    for position, each in enumerate(given):
        own = total if position == 0 or not needs_codes(each) else None
        try:
            made.append(make_hierarchy(each, folder, total=own, codes=codes, missing=missing))
        except InputError as error:
            faults += [f"{error.what}: {fault}" for fault in error.faults]
    if faults:
        raise InputError(f"Dimension {name!r}", faults)
    return Dimension.of(name, *made)


def in_order(codes: Sequence[str]) -> list[str]:
    """Distinct codes in the order people expect: numbers by size, texts by the alphabet."""
    distinct = set(codes)
    if all(code.isdecimal() and code.isascii() for code in distinct):
        return sorted(distinct, key=_size)
    return sorted(distinct)


def _size(code: str) -> tuple[int, str, str]:
    """What sorts codes of digits by the number they are, however long."""
    number = code.lstrip("0")
    return len(number), number, code


def read_digits(text: str) -> list[int]:
    """The numbers of ``digits:3,1,1``."""
    parts = [part.strip() for part in text[len(DIGITS) :].split(",")]
    if not all(part.isdecimal() and len(part) < 10 and int(part) > 0 for part in parts):
        raise InputError(f"Hierarchy {text!r}", ["write the characters of each level as digits:3,1,1"])
    return [int(part) for part in parts]


def _by_digits(digits: Sequence[int], codes: Sequence[str], total: str, missing: str) -> Hierarchy:
    spelled = [code for code in in_order(codes) if code not in (total, missing)]
    tree = Hierarchy.from_prefixes(sorted(spelled), tuple(digits), total)
    if not missing or missing not in codes:
        return tree
    above = [tree.codes[parent] for parent in tree.parent[1:].tolist()]
    return Hierarchy.from_pairs([*zip(tree.codes[1:], above, strict=True), (missing, total)], total)


def _from_file(path: Path, total: str | None) -> Hierarchy:
    """A .hrc file or a csv file of child and parent; told apart by their names."""
    text = read_text(path, "Hierarchy")
    try:
        if path.suffix.lower() == ".csv":
            return Hierarchy.from_pairs(_pairs(text), total)
        return Hierarchy.from_hrc(text, total or TOTAL)
    except InputError as error:
        raise InputError(f"Hierarchy {path}", error.faults, advice=error.advice) from None


def _pairs(text: str) -> list[tuple[str, str]]:
    """The columns child and parent; separated by commas, semicolons or tabs. Further columns are ignored."""
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = [row for _, row in read_rows(text, separator, "Hierarchy")]
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if not rows or header.count("child") != 1 or header.count("parent") != 1:
        fault = "the first line must name the columns child and parent" if rows else "it is empty"
        raise InputError("Hierarchy", [fault])
    child, parent = header.index("child"), header.index("parent")
    short = [f"row {i}: {len(row)} fields" for i, row in enumerate(rows, 1) if len(row) <= max(child, parent)]
    if short:
        raise InputError("Hierarchy", short)
    return [(row[child].strip(), row[parent].strip()) for row in rows[1:]]


def read_labels(path: Path) -> dict[str, dict[str, str]]:
    """Labels by dimension, from a csv file with the columns dimension, code and label."""
    labels: dict[str, dict[str, str]] = {}
    for dimension, code, label in _columns(path, (("dimension",), ("code",), ("label",))):
        labels.setdefault(dimension, {})[code] = label
    return labels


def code_labels(path: Path) -> dict[str, str]:
    """The labels of one dimension, from a csv file with the columns code (or child) and label."""
    return {entry[0]: entry[1] for entry in _columns(path, (("code", "child"), ("label",)))}


def _columns(path: Path, wanted: tuple[tuple[str, ...], ...]) -> list[tuple[str, ...]]:
    """Some columns of a csv file by their names, without rows that lack one of them."""
    text, what = read_text(path, "Labels"), f"Labels {path}"
    separator = max(",;\t", key=text.partition("\n")[0].count)
    rows = read_rows(text, separator, what)
    header = [name.strip().lower() for name in rows[0][1]] if rows else []
    places = [next((header.index(name) for name in names if name in header), -1) for names in wanted]
    if -1 in places:
        names = ", ".join(" or ".join(each) for each in wanted)
        raise InputError(what, [f"the first line must name the columns {names}"])
    if short := [f"line {line}: {len(row)} fields" for line, row in rows[1:] if len(row) <= max(places)]:
        raise InputError(what, short)
    found = [tuple(row[place].strip() for place in places) for _, row in rows[1:]]
    return [entry for entry in found if all(entry)]
