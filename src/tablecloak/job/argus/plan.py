"""What a batch file of τ-ARGUS means: its files, variables, hierarchies, recodes and marks, before any data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import TypeVar

from tablecloak.errors import InputError
from tablecloak.files import is_file, is_folder
from tablecloak.formats.argus import (
    BY_DISTANCE,
    BY_FREQUENCY,
    COST,
    FREQUENCY_ROLE,
    SHADOW,
    UNITY,
    AprioriLine,
    ArgusBatch,
    ArgusMetadata,
    ArgusRecode,
    ArgusVariable,
    BatchCommand,
    ClearAll,
    OpenData,
    OpenMetadata,
    ReadApriori,
    ReadData,
    RecodeVariable,
    SafetyRules,
    SetSafetyRule,
    SpecifyTable,
    SwitchLogbook,
    WriteTable,
    WriteVersion,
    base_name,
    is_bare,
    read_apriori,
    read_hrc,
    read_metadata,
    read_recode,
)
from tablecloak.model import Hierarchy

Found = TypeVar("Found")


@dataclass(frozen=True)
class Places:
    """Where files are looked for and written: beside the batch file, and in the folder of data."""

    batch: Path
    data: Path | None = None

    def inputs(self, name: str) -> list[Path]:
        """The files that a name means; several for a pattern; none if there is no such file."""
        for candidate in self._candidates(name):
            if is_file(candidate):
                return [candidate]
            if has_magic(str(candidate)) and (found := sorted(glob(str(candidate)))):  # noqa: PTH207
                return [Path(each) for each in found]
        return []

    def beside(self, name: str, data: Path) -> Path | None:
        """A file that the metadata name: as it is, else in the folder of the data."""
        found = self.inputs(name)
        other = data.parent / base_name(name)
        return found[0] if found else other if is_file(other) else None

    def output(self, name: str) -> Path:
        """Where a file is written: names without a folder go to the folder of data, else beside the batch file."""
        return (self.data or self.batch) / name if is_bare(name) else Path(name)

    def _candidates(self, name: str) -> Iterator[Path]:
        folders = [folder for folder in (self.batch, self.data) if folder is not None]
        if not is_bare(name):
            yield Path(name)
            yield self.batch / name
        yield from (folder / base_name(name) for folder in folders)


@dataclass(frozen=True)
class DataSource:
    """Opened data with their metadata."""

    command: OpenData
    files: tuple[Path, ...]
    metadata: ArgusMetadata
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """By variable: those that files give."""


@dataclass
class PlannedTable:
    """A table to be made: its variables, its rules, and what is done to it before it is made."""

    number: int
    spec: SpecifyTable
    source: DataSource
    explanatory: tuple[ArgusVariable, ...]
    response: ArgusVariable | None
    shadow: ArgusVariable | None
    cost: ArgusVariable | str | None
    """A variable, BY_FREQUENCY or UNITY; None: the response."""
    rules: SafetyRules = SafetyRules()
    has_rules: bool = False
    recodes: list[tuple[RecodeVariable, ArgusVariable, ArgusRecode | int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The table in words: ``A x B | V``."""
        return f"{' x '.join(self.spec.explanatory)} | {self.spec.response or '<freq>'}"


@dataclass
class PlannedSegment:
    """What is done with some data, up to CLEAR: tables by number, how they are read, and the commands after that."""

    tables: dict[int, PlannedTable] = field(default_factory=dict)
    reading: ReadData | None = None
    commands: list[BatchCommand] = field(default_factory=list)
    marks: dict[int, Sequence[AprioriLine]] = field(default_factory=dict)
    """The lines of a-priori files, by the line of their command."""


@dataclass(frozen=True)
class ArgusPlan:
    """A batch file with everything that can be known without its data."""

    batch: ArgusBatch
    places: Places
    segments: tuple[PlannedSegment, ...]

    @property
    def outputs(self) -> list[Path]:
        """The files that WRITETABLE and VERSIONINFO name."""
        commands = [command for segment in self.segments for command in segment.commands]
        named = [
            each.spec.file if isinstance(each, WriteTable) else each.file
            for each in commands
            if isinstance(each, WriteTable | WriteVersion)
        ]
        return [self.places.output(name) for name in named]


def plan_batch(batch: ArgusBatch, data_folder: Path | None = None) -> ArgusPlan:
    """The plan of a batch file; one `InputError` lists everything that is wrong with it and its files."""
    if data_folder is not None and not is_folder(data_folder):
        raise InputError("Options", [f"DATADIR: there is no folder {data_folder}"])
    planner = _Planner(Places(batch.path.absolute().parent, data_folder))
    for command in batch.commands:
        planner.take(command)
    if planner.faults:
        advice = "Correct the batch file or these files; nothing was written."
        raise InputError(f"Batch file {batch.path}", planner.faults, advice=advice)
    return ArgusPlan(batch, planner.places, tuple(planner.segments))


class _Planner:
    """Takes command after command; what cannot be read is a fault with the line of its command."""

    def __init__(self, places: Places) -> None:
        self.places, self.faults = places, list[str]()
        self.segments = [PlannedSegment()]
        self.opened: OpenData | None = None
        self.source: DataSource | None = None

    @property
    def segment(self) -> PlannedSegment:
        """What is being planned."""
        return self.segments[-1]

    def take(self, command: BatchCommand) -> None:
        """Plan one command."""
        if isinstance(command, OpenData):
            self.opened, self.source = command, None
            self.file(command, command.file)
        elif isinstance(command, OpenMetadata):
            self.metadata(command)
        elif isinstance(command, SpecifyTable):
            self.specify(command)
        elif isinstance(command, SetSafetyRule):
            self.rule(command)
        elif isinstance(command, ReadData):
            self.segment.reading = command
        elif isinstance(command, ClearAll):
            self.segments.append(PlannedSegment())
            self.opened = self.source = None
        else:
            if isinstance(command, RecodeVariable):
                self.recode(command)
            elif isinstance(command, ReadApriori):
                self.apriori(command)
            elif isinstance(command, WriteTable):
                self.check_output(command, command.spec.file)
            elif isinstance(command, WriteVersion | SwitchLogbook):
                self.check_output(command, command.file)
            self.segment.commands.append(command)

    def add(self, command: BatchCommand, what: str) -> None:
        """One more fault, with the line of a command."""
        self.faults.append(f"line {command.line}: {what}")

    def attempt(self, command: BatchCommand, read: Callable[[], Found]) -> Found | None:
        """What is read, or None and a fault for each of the file's."""
        try:
            return read()
        except InputError as error:
            self.faults += [f"line {command.line}: {error.what}: {fault}" for fault in error.faults]
            return None

    def file(self, command: BatchCommand, name: str) -> list[Path]:
        """The files of a name; a fault says where they were looked for."""
        if not (found := self.places.inputs(name)):
            self.add(command, f"there is no file {name!r}{self._where(name)}")
        return found

    def _where(self, name: str) -> str:
        foreign = ":" in name or "\\" in name
        folders = " or ".join(str(each) for each in (self.places.batch, self.places.data) if each is not None)
        hint = f"; put {base_name(name)!r} into {folders}"
        return hint if foreign or is_bare(name) else ""

    # ------------------------------------------------------------------ data and tables

    def metadata(self, command: OpenMetadata) -> None:
        """Metadata and the hierarchies that they name."""
        opened, found = self.opened, self.file(command, command.file)
        if opened is None or not found:
            return
        read = self.attempt(command, lambda: read_metadata(found[0], tabular=not opened.micro))
        files = tuple(self.places.inputs(opened.file))
        if read is None or not files:
            return
        hierarchies = dict[str, Hierarchy]()
        for variable in read.variables:
            if variable.spanning and variable.hierarchy_file:
                path = self.places.beside(variable.hierarchy_file, files[0])
                if path is None:
                    what = f"variable {variable.name!r} of {found[0]}, line {variable.line}"
                    self.add(
                        command,
                        f"{what}: there is no file {variable.hierarchy_file!r}{self._where(variable.hierarchy_file)}",
                    )
                    continue
                made = self.attempt(command, partial(_hierarchy, path, variable))
                if made is not None:
                    hierarchies[variable.name] = made
        self.source = DataSource(opened, files, read, hierarchies)

    def specify(self, command: SpecifyTable) -> None:
        """The variables of a table, each in a role that it can have."""
        number = len(self.segment.tables) + 1
        source = self.source
        if source is None:
            return
        explanatory = [self.variable(command, source, name, "spanning") for name in command.explanatory]
        response = command.response and self.variable(command, source, command.response, "numeric")
        if command.response is None and source.metadata.tabular:
            if not (counts := source.metadata.with_role(FREQUENCY_ROLE)):
                self.add(command, "SPECIFYTABLE: the metadata name no <FREQUENCY>")
            response = counts[0] if counts else None
        shadow = command.shadow and self.variable(command, source, command.shadow, "numeric")
        if source.metadata.tabular and shadow is None:
            shadow = next(iter(source.metadata.with_role(SHADOW)), None)
        cost = self.cost(command, source)
        if None in explanatory or (command.response and response is None):
            return
        known = tuple(each for each in explanatory if each is not None)
        table = PlannedTable(number, command, source, known, response or None, shadow or None, cost)
        self.segment.tables[number] = table

    def cost(self, command: SpecifyTable, source: DataSource) -> ArgusVariable | str | None:
        """The cost of hiding: a variable, or one of the codes."""
        if command.cost == BY_DISTANCE:
            self.add(
                command, "SPECIFYTABLE: costs by distance (-3) are not available; name a variable, -1 or -2"
            )
            return None
        if command.cost in (BY_FREQUENCY, UNITY):
            return command.cost
        if command.cost is not None:
            return self.variable(command, source, command.cost, "numeric")
        return next(iter(source.metadata.with_role(COST)), None) if source.metadata.tabular else None

    def variable(
        self, command: SpecifyTable, source: DataSource, name: str, role: str
    ) -> ArgusVariable | None:
        """A variable that can have a role."""
        found = source.metadata.find(name)
        if found is None:
            self.add(command, f"SPECIFYTABLE: {source.metadata.unknown(name)} in {source.metadata.path}")
        elif not getattr(found, role):
            words = {"spanning": "<RECODEABLE>", "numeric": "<NUMERIC>"}[role]
            self.add(
                command, f"SPECIFYTABLE: variable {found.name!r} is not {words} in {source.metadata.path}"
            )
        return found

    def rule(self, command: SetSafetyRule) -> None:
        """The rule of the last table."""
        table = self.segment.tables.get(len(self.segment.tables))
        if table is None:
            return
        table.rules, table.has_rules = command.rules, True
        metadata = table.source.metadata
        needed = {
            "<WEIGHT>": command.rules.weighted
            and not metadata.tabular
            and not metadata.first(lambda v: v.weight),
            "<HOLDING>": command.rules.holding
            and not metadata.tabular
            and not metadata.first(lambda v: v.holding),
            "<REQUEST>": any(rule.name == "REQ" for rule in command.rules.rules)
            and not metadata.first(lambda v: v.request),
        }
        for word, missing in needed.items():
            if missing:
                self.add(command, f"SAFETYRULE: the metadata {metadata.path} name no {word} variable")
        if metadata.tabular and command.rules.holding:
            self.add(command, "SAFETYRULE: rules about holdings need microdata")
        if metadata.tabular and command.rules.weighted:
            self.add(command, "SAFETYRULE: WGT(1) needs microdata")
        if metadata.tabular:
            self._check_contributors(command, metadata)

    def _check_contributors(self, command: SetSafetyRule, metadata: ArgusMetadata) -> None:
        tops = len(metadata.with_role("top"))
        if command.rules.contributors > tops:
            what = f"the rules look at the {command.rules.contributors} largest contributors"
            self.add(command, f"SAFETYRULE: {what}, {metadata.path} has {tops} <MAXSCORE> variables")
        if any(
            rule.name in ("FREQ", "P", "NK", "ZERO") for rule in command.rules.rules
        ) and not metadata.with_role(FREQUENCY_ROLE):
            self.add(command, f"SAFETYRULE: the rules need a <FREQUENCY> variable in {metadata.path}")

    # ------------------------------------------------------------------ after reading

    def recode(self, command: RecodeVariable) -> None:
        """A recode of a variable of a table."""
        table = self.segment.tables.get(command.table)
        if table is None:
            return
        variable = next(
            (v for v in table.explanatory if v.name.casefold() == command.variable.casefold()), None
        )
        if variable is None:
            names = ", ".join(table.spec.explanatory)
            self.add(
                command, f"RECODE: table {command.table} has no variable {command.variable!r}; it has {names}"
            )
            return
        if command.level is not None:
            if not variable.hierarchical:
                self.add(command, f"RECODE: variable {variable.name!r} has no hierarchy to cut at a level")
            table.recodes.append((command, variable, command.level))
            return
        found = self.file(command, command.file or "")
        recode = self.attempt(command, lambda: read_recode(found[0])) if found else None
        if recode is None:
            return
        if recode.tree != variable.hierarchical:
            wanted = "begins with <TREERECODE>" if variable.hierarchical else "has lines like new: old, old"
            self.add(command, f"RECODE: {found[0]}: a recode of {variable.name!r} {wanted}")
        table.recodes.append((command, variable, recode))

    def apriori(self, command: ReadApriori) -> None:
        """The lines of an a-priori file."""
        table, found = self.segment.tables.get(command.table), self.file(command, command.file)
        if table is None or not found:
            return
        count = len(table.explanatory)
        lines = self.attempt(command, lambda: read_apriori(found[0], command.separator, count))
        if lines is not None:
            self.segment.marks[command.line] = lines

    def check_output(self, command: BatchCommand, name: str) -> None:
        """A fault if a file cannot be written."""
        if not is_bare(name) and ("\\" in name or name[1:2] == ":") and Path("/").anchor == "/":
            self.add(
                command,
                f"{name!r} is a path of Windows: write a name without folder, or a path of this system",
            )
            return
        folder = self.places.output(name).parent
        if not is_folder(folder):
            self.add(command, f"there is no folder {str(folder)!r} for {base_name(name)!r}: make it first")


TOTAL = "Total"
"""The code of totals, where the metadata name none."""


def _hierarchy(path: Path, variable: ArgusVariable) -> Hierarchy:
    return read_hrc(path, variable.total or TOTAL, variable.lead, variable.missing)
