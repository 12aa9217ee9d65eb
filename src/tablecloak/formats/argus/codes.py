"""Code files of τ-ARGUS: hierarchies (``.hrc``), code lists (``.cdl``), recodes (``.grc``), a-priori (``.hst``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.files import read_text
from tablecloak.formats.argus.lexical import LineFaults, number_of, source_lines
from tablecloak.model import Hierarchy

TREE_RECODE = "<TREERECODE>"


def read_hrc(path: Path, total: str, lead: str, missing: Sequence[str] = ()) -> Hierarchy:
    """A hierarchy; missing codes must not stand in it."""
    hierarchy = Hierarchy.from_hrc(read_text(path, "Hierarchy") + "\n", total, lead)
    if found := [code for code in missing if code in hierarchy]:
        faults = [f"code {code!r} is a missing code of the variable" for code in found]
        raise InputError(
            f"Hierarchy {path}", faults, advice="Take it out of the hierarchy or of the metadata."
        )
    return hierarchy


def with_missing(hierarchy: Hierarchy, missing: Iterable[str]) -> Hierarchy:
    """The hierarchy with these codes at the end, right below the total."""
    pairs: list[tuple[str, str | None]] = [
        (code, hierarchy.codes[above])
        for code, above in zip(hierarchy.codes[1:], hierarchy.parent[1:], strict=True)
    ]
    more = [(code, hierarchy.total) for code in missing if code not in hierarchy]
    return Hierarchy.from_pairs([*pairs, *more], hierarchy.total) if more else hierarchy


def read_cdl(path: Path) -> dict[str, str]:
    """Labels of codes: ``code,label`` on every line."""
    pairs = [line.text.partition(",") for line in source_lines(read_text(path, "Code list"))]
    return {code.strip().strip('"'): label.strip().strip('"') for code, _, label in pairs}


# ---------------------------------------------------------------------- recodes


@dataclass(frozen=True)
class ArgusRecode:
    """A recode: for a flat variable what each new code gathers; for a tree the codes below which it is collapsed."""

    source: str
    groups: Mapping[str, tuple[tuple[str | None, str | None], ...]] = field(default_factory=dict)
    """New codes with ranges of old ones; an end that is None is open."""
    collapsed: tuple[str, ...] = ()
    tree: bool = False
    missing: tuple[str, ...] = ()

    def new_code(self, code: str, width: int) -> str | None:
        """The new code of an old one of a flat variable; codes compare as texts of the same width."""
        key = code.rjust(width)
        for new, ranges in self.groups.items():
            for low, high in ranges:
                if (low is None or low.rjust(width) <= key) and (high is None or key <= high.rjust(width)):
                    return new
        return None


def read_recode(path: Path) -> ArgusRecode:
    """A recode file: ``new: old, old, from-to`` on every line, or ``<TREERECODE>`` and the codes to collapse."""
    lines = list(source_lines(read_text(path, "Recode")))
    faults = LineFaults(f"Recode {path}")
    if lines and lines[0].text.upper() == TREE_RECODE:
        if len(lines) == 1:
            faults.add(0, "there is no code in it")
        faults.check()
        return ArgusRecode(str(path), collapsed=tuple(line.text.strip('"') for line in lines[1:]), tree=True)
    groups, missing = dict[str, tuple[tuple[str | None, str | None], ...]](), tuple[str, ...]()
    for line in lines:
        word = line.text.split()[0].upper()
        if word == "<MISSING>":
            missing = tuple(part.strip('"') for part in line.text.split()[1:])
        elif word == "<CODELIST>":
            continue
        elif ":" not in line.text:
            faults.add(line.number, "write it like new: old, old, from-to")
        else:
            new, _, old = line.text.partition(":")
            name, ranges = new.strip().strip('"'), [_range(part) for part in old.split(",") if part.strip()]
            if not name or not ranges:
                faults.add(line.number, "there is no new code or no old one")
            elif name in groups:
                faults.add(line.number, f"the new code {name!r} stands there twice")
            groups[name] = tuple(ranges)
    if not lines:
        faults.add(0, "there is nothing in it")
    faults.check("A recode file for a hierarchical variable begins with <TREERECODE>.")
    return ArgusRecode(str(path), groups, missing=missing)


def _range(text: str) -> tuple[str | None, str | None]:
    """``a-b``, ``-b``, ``a-`` or a single code."""
    low, dash, high = (part.strip().strip('"') for part in text.strip().partition("-"))
    if not dash:
        return low, low
    return low or None, high or None


# ---------------------------------------------------------------------- marks of cells


@dataclass(frozen=True)
class AprioriLine:
    """A line of an a-priori file: the codes of a cell, a command, and its numbers."""

    line: int
    codes: tuple[str, ...]
    command: str
    """S, U, P, M, ML, C or PL."""
    numbers: tuple[float, ...] = ()


def read_apriori(path: Path, separator: str, dimensions: int) -> list[AprioriLine]:
    """The lines of an a-priori file for tables of this number of dimensions."""
    faults, found = LineFaults(f"A-priori file {path}"), list[AprioriLine]()
    for line in source_lines(read_text(path, "A-priori file")):
        fields = [part.strip().strip('"').strip() for part in line.text.split(separator)]
        if len(fields) <= dimensions:
            fault = f"{len(fields)} fields, separated by {separator!r}; there must be {dimensions} codes and a command"
            faults.add(line.number, fault)
            continue
        codes, word, numbers = (
            tuple(fields[:dimensions]),
            fields[dimensions].upper(),
            fields[dimensions + 1 :],
        )
        command = {"W": "C"}.get(word, word)
        values = [number_of(text) for text in numbers if text]
        if command == "AB":
            faults.add(
                line.number, "AB (a-priori bounds) is not possible, in τ-ARGUS neither; take the line out"
            )
        elif command not in ("S", "U", "P", "M", "ML", "C", "PL"):
            faults.add(line.number, f"unknown command {word!r}; there are S, U, P, M, ML, C and PL")
        elif None in values or any(value is not None and value < 0 for value in values):
            faults.add(line.number, f"{word} needs numbers that are not negative")
        elif command == "PL" and len(values) not in (1, 2):
            faults.add(line.number, "PL needs a lower and an upper level (one number: both)")
        elif command == "C" and len(values) != 1:
            faults.add(line.number, f"{word} needs one number")
        else:
            given = tuple(value for value in values if value is not None)
            both = given * 2 if command == "PL" and len(given) == 1 else given
            found.append(AprioriLine(line.number, codes, command, both if command in ("C", "PL") else ()))
    faults.check(f"A line is {separator.join(['code'] * dimensions)}{separator}command and its numbers.")
    return found
