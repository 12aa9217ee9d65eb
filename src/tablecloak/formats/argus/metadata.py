"""Metadata of τ-ARGUS (``.rda``): the variables of microdata or of a table, their roles and their code files.

The first line decides about microdata: ``<SEPARATOR>`` is free format, all else fixed format. Every variable has a line
of its own, its properties stand on the lines below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError, near
from tablecloak.files import read_text
from tablecloak.formats.argus.lexical import ArgusToken, LineFaults, source_lines, tokens_of

SHADOW, COST, LOWER_LEVEL, UPPER_LEVEL = "shadow", "cost", "lower level", "upper level"
RESPONSE_ROLE, FREQUENCY_ROLE, STATUS_ROLE, TOP_ROLE = "response", "frequency", "status", "top"


@dataclass(frozen=True)
class ArgusVariable:
    """A variable and its properties."""

    name: str
    line: int
    start: int | None = None
    """The first column in fixed format, from 0."""
    width: int | None = None
    missing: tuple[str, ...] = ()
    spanning: bool = False
    numeric: bool = False
    role: str = ""
    """In tables: response, shadow, cost, lower level, upper level, frequency, top, status."""
    total: str = ""
    code_list: str = ""
    hierarchical: bool = False
    hierarchy_file: str = ""
    lead: str = "."
    levels: tuple[int, ...] = ()
    decimals: int = 0
    weight: bool = False
    holding: bool = False
    request: tuple[str, ...] = ()
    distance: tuple[float, ...] = ()
    ignored: tuple[str, ...] = ()
    """Properties that are known and have no effect (cell key method, TRUNCABLE)."""


@dataclass(frozen=True)
class ArgusMetadata:
    """All variables in the order of the data."""

    path: Path
    tabular: bool
    separator: str | None
    """None: fixed format."""
    variables: tuple[ArgusVariable, ...]
    letters: Mapping[str, str] = field(default_factory=dict)
    """In tables: what stands in the status column, in capitals, for S, U and P."""

    def find(self, name: str) -> ArgusVariable | None:
        """The variable of this name, in capitals or not."""
        return next((each for each in self.variables if each.name.casefold() == name.casefold()), None)

    def with_role(self, role: str) -> list[ArgusVariable]:
        """The variables of a role."""
        return [each for each in self.variables if each.role == role]

    def first(self, wanted: Callable[[ArgusVariable], Any]) -> ArgusVariable | None:
        """The first variable with a property."""
        return next((each for each in self.variables if wanted(each)), None)

    def unknown(self, name: str) -> str:
        """Words for a variable that is not there."""
        names = [each.name for each in self.variables]
        return f"there is no variable {name!r}{near(name, names) or '; there are ' + ', '.join(names)}"


def read_metadata(path: str | Path, *, tabular: bool) -> ArgusMetadata:
    """The variables of a metadata file; one `InputError` lists all its faults with their lines."""
    return parse_metadata(read_text(path, "Metadata"), Path(path), tabular=tabular)


def parse_metadata(text: str, path: Path = Path("data.rda"), *, tabular: bool) -> ArgusMetadata:
    """The variables in the text of a metadata file."""
    reader = _MetadataReader(LineFaults(f"Metadata {path}"), tabular)
    for line in source_lines(text):
        reader.read(line.number, line.text)
    found = reader.finished(path)
    reader.faults.check("Correct these lines; docs/argus.md has all properties.")
    return found


_SWITCHES: Mapping[str, dict[str, Any]] = {
    "<RECODEABLE>": {"spanning": True},
    "<RECODABLE>": {"spanning": True},
    "<HIERARCHICAL>": {"hierarchical": True},
    "<WEIGHT>": {"weight": True},
    "<HOLDING>": {"holding": True},
}
_ROLES = {
    "<FREQUENCY>": FREQUENCY_ROLE,
    "<MAXSCORE>": TOP_ROLE,
    "<STATUS>": STATUS_ROLE,
    "<SHADOW>": SHADOW,
    "<COST>": COST,
    "<COSTVAR>": COST,
    "<LOWERPL>": LOWER_LEVEL,
    "<UPPERPL>": UPPER_LEVEL,
}
_TEXTS = {
    "<TOTCODE>": "total",
    "<CODELIST>": "code_list",
    "<HIERCODELIST>": "hierarchy_file",
    "<HIERLEADSTRING>": "lead",
}
_IGNORED = (
    "<TRUNCABLE>", "<RECORDKEY>", "<PFILE>", "<PFILE_FREQ>", "<PFILE_CONT>", "<PFILE_SEP>", "<CKM>", "<INCLUDEZEROS>",
    "<PARITY>", "<SEPARATION>", "<SCALING>",
)  # fmt: skip
_LETTERS = {"<SAFE>": "S", "<UNSAFE>": "U", "<PROTECT>": "P"}


class _MetadataReader:
    """Reads line after line; the variable being described is the last one."""

    def __init__(self, faults: LineFaults, tabular: bool) -> None:
        self.faults, self.tabular = faults, tabular
        self.separator: str | None = ";" if tabular else None
        self.letters = {"S": "S", "U": "U", "P": "P"}
        self.variables = list[ArgusVariable]()
        self.seen = False

    def read(self, number: int, text: str) -> None:
        """One line: a variable, or a property of the one before it."""
        tokens = tokens_of(text)
        word = tokens[0].text if tokens and not tokens[0].quoted else ""
        if not word.startswith("<"):
            if tokens:
                self._variable(number, tokens)
        elif not self.variables:
            self._head(number, word, _rest(text))
        else:
            self._property(number, word, text, tokens)
        self.seen = True

    def _head(self, number: int, word: str, rest: str) -> None:
        if word == "<SEPARATOR>":
            self.separator = _unquoted(rest) or " "
            if len(self.separator) != 1:
                self.faults.add(number, f"the separator must be one character, not {self.separator!r}")
        elif word in _LETTERS and self.tabular:
            self.letters[_LETTERS[word]] = _unquoted(rest).upper()
        elif word == "<SPSS>":
            self.faults.add(
                number, "<SPSS> is not read: write the data as a text file, with or without a separator"
            )
        else:
            self.faults.add(number, f"unknown keyword {word!r} before the first variable")

    def _variable(self, number: int, tokens: Sequence[ArgusToken]) -> None:
        name, *rest = tokens
        if any(each.name.casefold() == name.text.casefold() for each in self.variables):
            self.faults.add(number, f"variable {name.text!r} is described twice")
        found = ArgusVariable(name.text, number)
        if not self.tabular:
            places = 1 if self.separator is not None else 2
            numbers = [token.text for token in rest[:places]]
            what = "a width" if places == 1 else "a first position and a width"
            if len(numbers) < places or not all(text.isdigit() and int(text) > 0 for text in numbers):
                self.faults.add(number, f"variable {name.text!r} needs {what}: whole numbers behind its name")
            elif places == 1:
                found = replace(found, width=int(numbers[0]))
            else:
                found = replace(found, start=int(numbers[0]) - 1, width=int(numbers[1]))
            rest = rest[places:]
        missing = tuple(token.text.strip() for token in rest if not token.is_mark)
        if len(missing) > (2 if not self.tabular else 3):
            self.faults.add(number, f"variable {name.text!r}: two missing codes at most")
        if found.width is not None:
            for code in missing:
                if len(code) > found.width:
                    self.faults.add(
                        number, f"missing code {code!r} of {name.text!r} is longer than its width"
                    )
        self.variables.append(replace(found, missing=missing))

    def _property(self, number: int, word: str, text: str, tokens: Sequence[ArgusToken]) -> None:
        rest, change = _rest(text), dict[str, Any]()
        if word in _SWITCHES:
            change = _SWITCHES[word]
        elif word == "<NUMERIC>":
            change = {"numeric": True} | self._numeric(number, tokens[1:])
        elif word in _ROLES and self.tabular:
            change = {"numeric": True, "role": _ROLES[word]}
        elif word in _TEXTS:
            change = {_TEXTS[word]: _unquoted(rest)}
            if word == "<HIERLEADSTRING>" and not change["lead"]:
                change["lead"] = rest.strip('"') or "."
        elif word in ("<DECIMALS>", "<HIERLEVELS>", "<DISTANCE>"):
            change = self._numbers(number, word, rest)
        elif word == "<REQUEST>":
            codes = tuple(token.text.strip() for token in tokens[1:] if not token.is_mark)
            if not 1 <= len(codes) <= 2:
                self.faults.add(number, "<REQUEST> needs one or two codes")
            change = {"request": codes or ("1",)}
        elif word in _IGNORED:
            change = {"ignored": (*self.variables[-1].ignored, word)}
        elif word == "<SEPARATOR>" or (word in _LETTERS and self.tabular):
            self.faults.add(number, f"{word} must stand before the first variable")
        else:
            known = [
                *_SWITCHES,
                "<NUMERIC>",
                *_ROLES,
                *_TEXTS,
                "<DECIMALS>",
                "<HIERLEVELS>",
                "<DISTANCE>",
                "<REQUEST>",
            ]
            self.faults.add(number, f"unknown property {word!r}{near(word, known)}")
        self.variables[-1] = replace(self.variables[-1], **change)

    def _numeric(self, number: int, tokens: Sequence[ArgusToken]) -> dict[str, Any]:
        """The role that a second keyword on the line gives; or the response, unless another line gave a role."""
        role = next((token.text for token in tokens if token.text.startswith("<")), None)
        if not self.tabular:
            if role is not None:
                self.faults.add(number, f"{role} behind <NUMERIC> is for tables: put it on a line of its own")
            return {}
        if role is not None and role not in _ROLES:
            self.faults.add(number, f"unknown role {role!r} behind <NUMERIC>{near(role, list(_ROLES))}")
        return {"role": _ROLES.get(role or "", self.variables[-1].role or RESPONSE_ROLE)}

    def _numbers(self, number: int, word: str, rest: str) -> dict[str, Any]:
        parts = rest.replace(",", " ").split()
        try:
            numbers = [float(part) for part in parts]
        except ValueError:
            numbers = []
        whole = bool(numbers) and all(each >= 0 and each == int(each) for each in numbers)
        if word == "<DISTANCE>" and numbers:
            return {"distance": tuple(numbers)}
        if not whole or (word == "<DECIMALS>" and len(numbers) != 1):
            self.faults.add(number, f"{word} needs whole numbers that are not negative, not {rest!r}")
            return {}
        if word == "<DECIMALS>":
            return {"decimals": int(numbers[0])}
        levels = tuple(int(each) for each in numbers if each)
        width = self.variables[-1].width
        if not levels or (width is not None and sum(levels) != width):
            self.faults.add(number, f"the levels must add up to the width {width} of the variable")
        return {"levels": levels, "hierarchical": True}

    # ------------------------------------------------------------------ at the end

    def finished(self, path: Path) -> ArgusMetadata:
        """The metadata; faults that only show at the end are added."""
        if self.tabular and all(each.missing[:1] and each.missing[0].isdigit() for each in self.variables):
            # a width behind every name, numbers included, is none of the missing codes (piargus writes it)
            self.variables = [replace(each, missing=each.missing[1:]) for each in self.variables]
        if not self.variables:
            self.faults.add(0, "there is no variable in it")
        elif not any(each.spanning for each in self.variables):
            self.faults.add(0, "there is no spanning variable: one has <RECODEABLE>")
        for each in self.variables:
            if each.hierarchical and not each.hierarchy_file and not each.levels:
                self.faults.add(each.line, f"hierarchical {each.name!r} needs <HIERCODELIST> or <HIERLEVELS>")
            if self.tabular and each.spanning and not each.total:
                self.faults.add(each.line, f"spanning variable {each.name!r} of a table needs <TOTCODE>")
        if self.tabular:
            self._check_roles()
        else:
            self._check_single()
        return ArgusMetadata(path, self.tabular, self.separator, tuple(self.variables), self.letters)

    def _check_roles(self) -> None:
        for role in (SHADOW, COST, LOWER_LEVEL, UPPER_LEVEL, FREQUENCY_ROLE, STATUS_ROLE):
            several = [each for each in self.variables if each.role == role]
            for each in several[1:]:
                self.faults.add(
                    each.line, f"{each.name!r}: there is a {role} variable already ({several[0].name!r})"
                )
        if self.variables and not any(
            each.role in (RESPONSE_ROLE, FREQUENCY_ROLE) for each in self.variables
        ):
            self.faults.add(0, "there is neither a response (<NUMERIC>) nor a <FREQUENCY>")

    def _check_single(self) -> None:
        roles: Mapping[str, Callable[[ArgusVariable], Any]] = {
            "<WEIGHT>": lambda each: each.weight,
            "<HOLDING>": lambda each: each.holding,
            "<REQUEST>": lambda each: each.request,
        }
        for word, has in roles.items():
            for each in [each for each in self.variables if has(each)][1:]:
                self.faults.add(each.line, f"{each.name!r}: there is a {word} variable already")


def _rest(text: str) -> str:
    """What stands behind the first keyword, as it is."""
    return text[text.index(">") + 1 :].strip() if ">" in text else ""


def _unquoted(text: str) -> str:
    """A value without its quotes; a value without quotes goes to the end of the line."""
    text = text.strip()
    if text.startswith('"'):
        end = text.find('"', 1)
        return (text[1:end] if end > 0 else text[1:]).strip()
    return text.split(" //")[0].strip()


def checked_variable(metadata: ArgusMetadata, name: str, what: str) -> ArgusVariable:
    """A variable by its name; an `InputError` names those there are."""
    found = metadata.find(name)
    if found is None:
        raise InputError(what, [metadata.unknown(name)])
    return found
