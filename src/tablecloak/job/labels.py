"""What codes mean, for publication: labels from files."""

from __future__ import annotations

from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.files import read_rows, read_text


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
