"""Batch files of τ-ARGUS (``.arb``): commands with their line numbers, or every fault with its line.

The parser follows the states of τ-ARGUS: data, metadata, tables with their rules, reading, then everything else. It
knows the manual's spelling and that of version 4.2.5; where they differ both are taken, unless it is `strict`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tablecloak.errors import InputError, near
from tablecloak.files import read_text
from tablecloak.formats.argus.lexical import (
    ArgusToken,
    LineFaults,
    SourceLine,
    number_of,
    source_lines,
    tokens_of,
)
from tablecloak.formats.argus.specs import (
    SafetyRules,
    SuppressSpec,
    WriteSpec,
    read_safety_rule,
    read_suppress,
    read_writetable,
)

FREQUENCY = "<FREQ>"
"""The response of a table of counts."""
BY_FREQUENCY, UNITY, BY_DISTANCE = "-1", "-2", "-3"
"""Costs other than variables."""


@dataclass(frozen=True)
class BatchCommand:
    """A command of a batch file."""

    line: int
    text: str
    """The line as it stands there, for the log."""
    name: ClassVar[str] = ""


@dataclass(frozen=True)
class OpenData(BatchCommand):
    """OPENMICRODATA and OPENTABLEDATA."""

    file: str
    micro: bool


@dataclass(frozen=True)
class OpenMetadata(BatchCommand):
    """OPENMETADATA."""

    file: str


@dataclass(frozen=True)
class SpecifyTable(BatchCommand):
    """SPECIFYTABLE: names of variables as they are written there."""

    explanatory: tuple[str, ...]
    response: str | None
    """None: frequencies."""
    shadow: str | None = None
    cost: str | None = None
    """A variable, ``-1``, ``-2``, ``-3``, or None."""
    exponent: float = 1.0
    """Lambda: costs are raised to it; 0 or less takes the logarithm."""


@dataclass(frozen=True)
class SetSafetyRule(BatchCommand):
    """SAFETYRULE of the table before it."""

    rules: SafetyRules


@dataclass(frozen=True)
class ReadData(BatchCommand):
    """READMICRODATA and READTABLE with its mode: 0 additive, 1 totals are added up, 2 need not be additive."""

    micro: bool
    mode: int = 0
    keep_status: bool = False


@dataclass(frozen=True)
class ReadApriori(BatchCommand):
    """APRIORI: a file of marks for cells of a table."""

    file: str
    table: int
    separator: str
    ignore_errors: bool = True
    expand_trivial: bool = False


@dataclass(frozen=True)
class RecodeVariable(BatchCommand):
    """RECODE by a file, or down to a level of the hierarchy."""

    table: int
    variable: str
    file: str | None = None
    level: int | None = None


@dataclass(frozen=True)
class ChooseSolver(BatchCommand):
    """SOLVER; the choice has no effect here."""

    solver: str


@dataclass(frozen=True)
class SuppressTable(BatchCommand):
    """SUPPRESS."""

    spec: SuppressSpec


@dataclass(frozen=True)
class WriteTable(BatchCommand):
    """WRITETABLE."""

    spec: WriteSpec


@dataclass(frozen=True)
class SwitchLogbook(BatchCommand):
    """LOGBOOK."""

    file: str


@dataclass(frozen=True)
class WriteVersion(BatchCommand):
    """VERSIONINFO."""

    file: str


@dataclass(frozen=True)
class ClearAll(BatchCommand):
    """CLEAR."""


@dataclass(frozen=True)
class GoInteractive(BatchCommand):
    """GOINTERACTIVE."""


@dataclass(frozen=True)
class ArgusBatch:
    """A batch file without faults."""

    path: Path
    commands: tuple[BatchCommand, ...]
    tolerated: tuple[str, ...] = ()
    """What is accepted although τ-ARGUS 4.2.5 refuses it, with lines."""


REFUSED: Mapping[str, str] = {
    "<ANCO>": "the expert mode of τ-ARGUS is not available; take the line out",
    "<COVER>": "τ-ARGUS uses it internally for linked tables; write SUPPRESS with table 0 instead",
    "<JJ>": "τ-ARGUS does not implement it either; write WRITETABLE with type 6",
    "<SILENT>": "τ-ARGUS rejects it as well; take the line out",
}
"""Commands that are known and refused, each with a remedy."""


def scan_batch(path: Path, *, strict: bool = False) -> tuple[ArgusBatch, list[str]]:
    """The commands of a batch file that can be read, and all its faults, each with its line in front."""
    return _parsed(read_text(path, "Batch file"), path, strict)


def parse_batch(text: str, path: Path = Path("batch.arb"), *, strict: bool = False) -> ArgusBatch:
    """The commands in the text of a batch file. `strict`: refuse what τ-ARGUS 4.2.5 refuses."""
    batch, faults = _parsed(text, path, strict)
    if faults:
        raise InputError(f"Batch file {path}", faults, advice="docs/argus.md has all commands.")
    return batch


def _parsed(text: str, path: Path, strict: bool) -> tuple[ArgusBatch, list[str]]:
    parser = _Parser(LineFaults(f"Batch file {path}"))
    for line in source_lines(text, ("//", "\\\\")):
        parser.read(line)
    if not parser.commands and not parser.faults.faults:
        parser.faults.add(0, "there is no command in it")
    faults = parser.faults.listed(strict)
    tolerated = LineFaults("", parser.faults.tolerated).listed()
    return ArgusBatch(path, tuple(parser.commands), tuple(tolerated)), faults


Arguments = Sequence[ArgusToken]
Reader = Callable[[SourceLine, str, Arguments], BatchCommand | None]

START, DATA, METADATA, TABLE, RULED = range(5)
_STATES: Mapping[str, tuple[int, ...]] = {
    "<OPENMICRODATA>": (START,),
    "<OPENTABLEDATA>": (START, RULED, TABLE),
    "<OPENMETADATA>": (DATA,),
    "<SPECIFYTABLE>": (METADATA, RULED),
    "<SAFETYRULE>": (TABLE,),
    "<READMICRODATA>": (RULED,),
    "<READTABLE>": (TABLE, RULED),
    "<APRIORI>": (RULED,),
    "<RECODE>": (RULED,),
    "<SUPPRESS>": (RULED,),
    "<WRITETABLE>": (RULED,),
}
"""The states in which a command may stand; others may stand anywhere."""
_AFTER = {
    "<OPENMICRODATA>": DATA,
    "<OPENTABLEDATA>": DATA,
    "<OPENMETADATA>": METADATA,
    "<SPECIFYTABLE>": TABLE,
    "<SAFETYRULE>": RULED,
    "<READTABLE>": RULED,
    "<CLEAR>": START,
}
_REMEDIES = {
    "<OPENMICRODATA>": "put <CLEAR> before it to begin anew",
    "<OPENTABLEDATA>": "finish the table before it first: metadata, SPECIFYTABLE",
    "<OPENMETADATA>": "it stands right behind OPENMICRODATA or OPENTABLEDATA",
    "<SPECIFYTABLE>": "it stands behind OPENMETADATA, or behind the SAFETYRULE of another table",
    "<SAFETYRULE>": "it stands right behind its SPECIFYTABLE",
    "<READMICRODATA>": "it stands behind the SAFETYRULE of the last table",
    "<READTABLE>": "it stands behind SPECIFYTABLE or SAFETYRULE",
}
_READ_FIRST = "put READMICRODATA or READTABLE before it"
_ALIASES = {"<APRIORY>": "<APRIORI>"}


class _Parser:
    """Reads line after line, and knows which commands may come next."""

    def __init__(self, faults: LineFaults) -> None:
        self.faults, self.commands = faults, list[BatchCommand]()
        self.state, self.micro, self.was_read = START, True, False
        self.tables, self.lost = 0, False
        self.suppressed = set[int]()
        self.readers: Mapping[str, Reader] = {
            "<OPENMICRODATA>": self._open,
            "<OPENTABLEDATA>": self._open,
            "<OPENMETADATA>": self._file_command,
            "<SPECIFYTABLE>": self._specify,
            "<SAFETYRULE>": self._rule,
            "<READMICRODATA>": self._read_micro,
            "<READTABLE>": self._read_table,
            "<APRIORI>": self._apriori,
            "<RECODE>": self._recode,
            "<SOLVER>": self._solver,
            "<SUPPRESS>": self._suppress,
            "<WRITETABLE>": self._write,
            "<LOGBOOK>": self._file_command,
            "<VERSIONINFO>": self._file_command,
            "<CLEAR>": self._plain,
            "<GOINTERACTIVE>": self._plain,
        }

    def read(self, line: SourceLine) -> None:
        """One line: a command, or a fault."""
        tokens = tokens_of(line.text)
        if not tokens:
            return
        word = tokens[0].text if not tokens[0].quoted else ""
        keyword, rest = word, line.text[len(word) :].strip()
        if word.startswith("<") and ">" in word[:-1]:  # arguments right behind the keyword
            end = word.index(">") + 1
            keyword, rest = word[:end], line.text[end:].strip()
        keyword = _ALIASES.get(keyword, keyword)
        if keyword in REFUSED:
            self.faults.add(line.number, f"{keyword}: {REFUSED[keyword]}")
        elif keyword not in self.readers:
            hint = near(keyword, list(self.readers)) if keyword.startswith("<") else ""
            self.faults.add(line.number, f"unknown keyword {tokens[0].text!r}{hint}")
        else:
            self._check_place(keyword, line.number)
            command = self.readers[keyword](line, keyword, tokens_of(rest))
            if command is not None:
                self.commands.append(command)

    def _check_place(self, keyword: str, line: int) -> None:
        """A fault if the command may not stand here; then the next state, so that one fault does not make many."""
        allowed = _STATES.get(keyword, tuple(range(5)))
        later = keyword in ("<APRIORI>", "<RECODE>", "<SUPPRESS>", "<WRITETABLE>")
        wrong_kind = (keyword == "<READMICRODATA>" and not self.micro) or (
            keyword == "<READTABLE>" and self.micro and self.state != START
        )
        again = self.was_read and keyword in (
            "<OPENTABLEDATA>",
            "<SPECIFYTABLE>",
            "<READMICRODATA>",
            "<READTABLE>",
        )
        if wrong_kind:
            right = "<READTABLE>" if keyword == "<READMICRODATA>" else "<READMICRODATA>"
            self.faults.add(line, f"{keyword} does not fit the data that were opened: write {right}")
        elif again:
            self.faults.add(line, f"{keyword} after the data were read: put <CLEAR> before it to begin anew")
        elif (self.state not in allowed or (later and not self.was_read)) and not self.lost:
            remedy = _READ_FIRST if later else _REMEDIES[keyword]
            self.faults.add(line, f"{keyword} is not allowed in this position: {remedy}")
        self.state = _AFTER.get(keyword, self.state)
        if keyword == "<OPENMICRODATA>" or keyword == "<OPENTABLEDATA>":
            self.micro = keyword == "<OPENMICRODATA>"
        elif keyword in ("<READMICRODATA>", "<READTABLE>"):
            self.state, self.was_read = RULED, True
        elif keyword == "<CLEAR>":
            self.was_read, self.tables = False, 0
            self.suppressed.clear()
        elif keyword == "<SPECIFYTABLE>":
            self.tables += 1

    def _check_table(self, table: int, line: int, what: str, least: int = 1) -> None:
        if not least <= table <= self.tables:
            known = (
                "no table is specified before" if not self.tables else f"there are tables 1 to {self.tables}"
            )
            self.faults.add(line, f"{what}: there is no table {table}; {known}")

    # ------------------------------------------------------------------ commands

    def _file(self, line: SourceLine, keyword: str, arguments: Arguments) -> str | None:
        """The one file that a command names, in quotes or not."""
        if not arguments:
            self.faults.add(line.number, f'{keyword} needs the name of a file: {keyword} "file"')
            return None
        return arguments[0].text if arguments[0].quoted else "".join(each.text for each in arguments)

    def _open(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        file = self._file(line, keyword, arguments)
        return None if file is None else OpenData(line.number, line.text, file, keyword == "<OPENMICRODATA>")

    def _file_command(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        kinds = {"<OPENMETADATA>": OpenMetadata, "<LOGBOOK>": SwitchLogbook, "<VERSIONINFO>": WriteVersion}
        file = self._file(line, keyword, arguments)
        return None if file is None else kinds[keyword](line.number, line.text, file)

    def _plain(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        kinds: Mapping[str, type[BatchCommand]] = {"<CLEAR>": ClearAll, "<GOINTERACTIVE>": GoInteractive}
        return kinds[keyword](line.number, line.text)

    def _read_micro(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        return ReadData(line.number, line.text, True)

    def _read_table(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        given = "".join(each.text for each in arguments).upper() or "0"
        mode, keep = given.rstrip("TF"), given.endswith("T")
        if mode not in ("0", "1", "2"):
            self.faults.add(
                line.number, f"READTABLE {given}: write 0 (additive), 1 (add up totals) or 2 (not additive)"
            )
            return None
        return ReadData(line.number, line.text, False, int(mode), keep)

    def _specify(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        parts: list[list[str]] = [[]]
        comma = False
        for token in arguments:
            if token.is_mark and token.text == "|":
                parts.append([])
            elif token.is_mark and token.text == ",":
                comma = True
                parts[-1].append(",")
            else:
                parts[-1].append(token.text)
        explanatory = tuple(text for text in parts[0] if text != ",")
        if not explanatory or len(parts) < 2:
            self.faults.add(
                line.number, 'SPECIFYTABLE: write it like "row""column"|"response"|"shadow"|"cost"'
            )
            return SpecifyTable(line.number, line.text, (), None)
        if len(set(map(str.casefold, explanatory))) < len(explanatory):
            self.faults.add(line.number, "SPECIFYTABLE: a variable stands there twice")
        fields = ["".join(text for text in part if text != ",").strip() for part in parts[1:4]]
        response, shadow, cost = [*fields, "", "", ""][:3]
        power = ""
        if len(parts) > 4:
            power = "".join(parts[4])
            if power:
                self.faults.tolerate(line.number, "SPECIFYTABLE with lambda behind a bar instead of a comma")
        elif comma and len(parts) == 4 and "," in parts[3]:
            at = parts[3].index(",")
            cost, power = "".join(parts[3][:at]).strip(), "".join(parts[3][at + 1 :])
        exponent = number_of(power) if power.strip() else 1.0
        if exponent is None or len(parts) > 5:
            self.faults.add(line.number, f"SPECIFYTABLE: lambda {power!r} is no number")
            exponent = 1.0
        if not response:
            self.faults.add(line.number, 'SPECIFYTABLE: there is no response; write "<freq>" for frequencies')
        counted = response.upper() == FREQUENCY
        return SpecifyTable(
            line.number,
            line.text,
            explanatory,
            None if counted else response,
            shadow or None,
            cost or None,
            exponent,
        )

    def _rule(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        text = _after_keyword(line.text).split("//")[0]
        rules = read_safety_rule(text, line.number, self.faults)
        specified = next((c for c in reversed(self.commands) if isinstance(c, SpecifyTable)), None)
        if specified is not None and specified.response is None and self.micro:
            about = sorted({rule.name for rule in rules.rules} & {"P", "NK", "REQ", "ZERO"})
            if about:
                self.faults.add(
                    line.number, f"{', '.join(about)} cannot be used on a table of frequencies: use FREQ"
                )
        return SetSafetyRule(line.number, line.text, rules)

    def _apriori(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        fields = _fields(arguments)
        if not 3 <= len(fields) <= 5 or not fields[1].isdigit():
            self.faults.add(line.number, 'APRIORI: write it like "file.hst",1,";": file, table, separator')
            return None
        switches = dict(
            zip(("ignore_errors", "expand_trivial"), (text.strip() for text in fields[3:]), strict=False)
        )
        if any(value not in ("0", "1") for value in switches.values()):
            self.faults.add(line.number, "APRIORI: what stands behind the separator must be 0 or 1")
        if len(fields[2].strip() or fields[2]) != 1:
            self.faults.add(line.number, "APRIORI: the separator is one character in quotes")
        self._check_table(int(fields[1]), line.number, "APRIORI")
        chosen = {name: value == "1" for name, value in switches.items()}
        return ReadApriori(
            line.number, line.text, fields[0], int(fields[1]), fields[2].strip() or fields[2], **chosen
        )

    def _recode(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        fields = _fields(arguments)
        if len(fields) != 3 or not fields[0].isdigit() or not all(fields):
            self.faults.add(
                line.number, 'RECODE: write it like 1, "variable", "file.grc", or a level instead of the file'
            )
            return None
        table, level = int(fields[0]), int(fields[2]) if fields[2].isdigit() else None
        self._check_table(table, line.number, "RECODE")
        if not self.micro:
            self.faults.add(line.number, "RECODE is for microdata: recode the table before it comes here")
        if level is not None and not 1 <= level <= 9:
            self.faults.add(line.number, f"RECODE: level {level} must be from 1 to 9")
        if self.suppressed & {0, table}:
            self.faults.add(
                line.number, f"RECODE of table {table} after its suppression: put it before SUPPRESS"
            )
        return RecodeVariable(
            line.number, line.text, table, fields[1], None if level is not None else fields[2], level
        )

    def _solver(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        name = arguments[0].text.upper() if arguments else ""
        if name not in ("XPRESS", "CPLEX", "FREE"):
            self.faults.add(
                line.number, f"SOLVER {name}: write XPRESS, CPLEX or FREE (it has no effect here)"
            )
            return None
        return ChooseSolver(line.number, line.text, name)

    def _suppress(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        spec = read_suppress(_after_keyword(line.text), line.number, self.faults)
        if spec is None:
            return None
        self._check_table(spec.table, line.number, "SUPPRESS", 0)
        self.suppressed.add(spec.table)
        return SuppressTable(line.number, line.text, spec)

    def _write(self, line: SourceLine, keyword: str, arguments: Arguments) -> BatchCommand | None:
        spec = read_writetable(arguments, line.number, self.faults)
        if spec is None:
            return None
        self._check_table(spec.table, line.number, "WRITETABLE")
        return WriteTable(line.number, line.text, spec)


def _after_keyword(text: str) -> str:
    return text[text.index(">") + 1 :].strip()


def _fields(arguments: Arguments) -> list[str]:
    """Texts between commas; a comma in quotes is a text."""
    found = [""]
    for token in arguments:
        if token.is_mark and token.text == ",":
            found.append("")
        else:
            found[-1] += token.text
    return found
