"""Running a batch file of τ-ARGUS: command after command; all files are written at the end, or none."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tablecloak.errors import InputError, NotApplicable, TablecloakError, counted
from tablecloak.files import check_writable, is_folder, write_files
from tablecloak.formats.argus import (
    DEFAULT_LOG,
    ArgusBatch,
    BatchCommand,
    ChooseSolver,
    GoInteractive,
    Logbook,
    ReadApriori,
    ReadData,
    RecodeVariable,
    SuppressTable,
    SwitchLogbook,
    WriteTable,
    WriteVersion,
    read_batch,
    version_text,
)
from tablecloak.job.argus.classification import ArgusTable, apply_marks, classified, described_counts
from tablecloak.job.argus.outputs import is_public, written
from tablecloak.job.argus.plan import ArgusPlan, Places, PlannedSegment, plan_batch
from tablecloak.job.argus.suppression import (
    WORDS,
    Protected,
    SuppressionRecord,
    responses_apart,
    suppress,
)
from tablecloak.job.argus.tables import made_tables
from tablecloak.progress import Progress, silent

DONE, INTERACTIVE, FAILED = 0, 1, 2
"""Exit codes of τ-ARGUS."""


@dataclass(frozen=True)
class ArgusOptions:
    """How a batch file is run."""

    log: Path | None = None
    """None: TauLogbook.txt in the folder of temporary files."""
    temp: Path | None = None
    data: Path | None = None
    strict: bool = False
    """Refuse what τ-ARGUS 4.2.5 refuses."""
    original: bool = False
    """Keep the pattern of the method's paper, even where the audit finds it open."""


@dataclass
class ArgusOutcome:
    """How a run ended: its exit code, a message for the terminal, and the files that were written."""

    code: int
    message: str
    log: Path
    files: list[Path] = field(default_factory=list)


def run_argus(
    path: Path,
    options: ArgusOptions = ArgusOptions(),
    *,
    progress: Progress = silent,
    commit: Callable[[], None] | None = None,
) -> ArgusOutcome:
    """Run a batch file. Faults end up in the log and in the outcome, not in an exception."""
    if options.temp is not None and not is_folder(options.temp):
        raise InputError("Options", [f"TEMP: there is no folder {options.temp}"])
    log = options.log or (options.temp or Path(tempfile.gettempdir())) / DEFAULT_LOG
    run = _BatchRun(Logbook(log), options, progress, commit)
    run.log.begin()
    try:
        run.log.write(f"Start of batch procedure; file: {path}")
        code = run.all(path)
        message = run.message
    except TablecloakError as error:
        code, message = FAILED, str(error)
        run.log.write(message, "Error in batch file")
    except KeyboardInterrupt:
        run.log.write("Interrupted; nothing is written", "Error in batch file", "End of TauArgus run")
        raise
    run.log.end()
    return ArgusOutcome(code, message, run.log.path, list(run.files) if code != FAILED else [])


def lint_argus(path: Path, options: ArgusOptions = ArgusOptions()) -> ArgusPlan:
    """Read a batch file and all files that it names but for the data; an `InputError` lists all faults with lines."""
    return plan_batch(read_batch(path, strict=options.strict), options.data)


@dataclass
class _Segment:
    """The state between two CLEARs. Confidential."""

    planned: PlannedSegment
    tables: dict[int, ArgusTable] = field(default_factory=dict)
    before: dict[int, ArgusTable] = field(default_factory=dict)
    protected: dict[int, Protected] = field(default_factory=dict)


class _BatchRun:
    """A run: its log, and the files that are written at the end."""

    def __init__(
        self, log: Logbook, options: ArgusOptions, progress: Progress, commit: Callable[[], None] | None
    ) -> None:
        self.log, self.options, self.progress, self.commit = log, options, progress, commit
        self.files, self.public = dict[Path, str](), set[Path]()
        self.records = list[SuppressionRecord]()
        self.places = Places(Path())
        self.message = ""

    def all(self, path: Path) -> int:
        """Plan, run every command, write all files; gives the exit code."""
        batch = read_batch(path, strict=self.options.strict)
        self._tolerated(batch)
        plan = plan_batch(batch, self.options.data)
        self.places = plan.places
        check_writable(dict.fromkeys(plan.outputs), [path])
        segments = iter(plan.segments)
        segment, code = _Segment(next(segments)), DONE
        for command in batch.commands:
            self.log.write(command.text)
            if isinstance(command, GoInteractive):
                self.message = (
                    "GOINTERACTIVE: there is no window to open; everything before this line is done"
                )
                self.log.write(self.message)
                code = INTERACTIVE
                break
            if type(command).__name__ == "ClearAll":
                segment = _Segment(next(segments))
            else:
                self._execute(segment, command)
        self._write()
        return code

    def _tolerated(self, batch: ArgusBatch) -> None:
        for what in batch.tolerated:
            self.log.write(f"Accepted: {what}")

    def _execute(self, segment: _Segment, command: BatchCommand) -> None:
        """One command; an error gets its line."""
        try:
            if isinstance(command, ReadData):
                self._read(segment, command)
            elif isinstance(command, ReadApriori):
                self._mark(segment, command)
            elif isinstance(command, SuppressTable):
                self._suppress(segment, command)
            elif isinstance(command, WriteTable):
                self._table_file(segment, command)
            elif isinstance(command, WriteVersion):
                self.files[self.places.output(command.file)] = version_text()
                self.public.add(self.places.output(command.file))
            elif isinstance(command, SwitchLogbook):
                self.log = Logbook(self.places.output(command.file))
                self.log.begin()
            elif isinstance(command, ChooseSolver):
                self.log.write(f"The solver {command.solver} is not needed; the choice has no effect")
            elif isinstance(command, RecodeVariable):
                self.log.write(f"Table {command.table}: variable {command.variable} has been recoded")
        except InputError as error:
            what = error.what if error.what.startswith("line ") else f"line {command.line}: {error.what}"
            raise InputError(what, error.faults, advice=error.advice) from None
        except TablecloakError as error:
            if str(error).startswith("line "):
                raise
            kind = type(error)
            text = f"line {command.line}: {error}"
            raise (NotApplicableAt(text) if isinstance(error, NotApplicable) else kind(text)) from None

    def _read(self, segment: _Segment, command: ReadData) -> None:
        tables = list(segment.planned.tables.values())
        for planned, made in zip(tables, made_tables(tables, command), strict=True):
            self.log.write(*made.notes)
            segment.tables[planned.number] = classified(planned, made)
            self.log.write(
                f"Table {planned.number}: {planned.name}: {described_counts(segment.tables[planned.number])}"
            )
        self.log.write("Tables from microdata have been read" if command.micro else "Tables have been read")

    def _mark(self, segment: _Segment, command: ReadApriori) -> None:
        state = segment.tables[command.table]
        if command.table in segment.protected:
            raise InputError(
                "APRIORI", [f"table {command.table} is suppressed already: put it before SUPPRESS"]
            )
        ignored = apply_marks(
            state,
            segment.planned.marks[command.line],
            f"A-priori file {command.file}",
            ignore_errors=command.ignore_errors,
            expand_trivial=command.expand_trivial,
        )
        done = len(segment.planned.marks[command.line])
        self.log.write(f"A-priori file: {counted(done, 'line')} read, {len(ignored)} ignored")
        self.log.write(*(f"Ignored: {what}" for what in ignored))

    def _suppress(self, segment: _Segment, command: SuppressTable) -> None:
        spec = command.spec
        chosen = list(segment.tables.values()) if spec.table == 0 else [segment.tables[spec.table]]
        for state in chosen:
            self._undo(segment, state)
        groups = responses_apart(chosen)
        for states in groups:
            names = "; ".join(state.planned.name for state in states)
            self.log.write(f"Start of the {WORDS[spec.method]} protection for table {names}")
            if spec.method == "RND" and (spec.arguments["partitions"] or spec.arguments["stop"] != 2):
                self.log.write(
                    "Partitions and stop rule have no effect: the rounding is searched to its end or the time limit"
                )
            found, record = suppress(
                states, spec, command.line, original=self.options.original, progress=self.progress
            )
            self.records.append(record)
            for state, protected in zip(states, found, strict=True):
                segment.protected[state.planned.number] = protected
            self._told(record)

    def _told(self, record: SuppressionRecord) -> None:
        """What came of a suppression, for the log."""
        end = f"End of {WORDS[record.argus_method]} protection. Time used {record.seconds:.0f} seconds"
        self.log.write(f"{end}\nNumber of suppressions: {record.hidden}")
        if record.open_before_repair:
            what = f"The method left {counted(len(record.open_before_repair), 'cell')} open"
            self.log.write("\n".join([what, *record.open_before_repair]))
        if record.repaired:
            self.log.write("The pattern has been repaired (--original keeps it as it was)")
        verdict = "SAFE" if not record.open else f"NOT SAFE: {counted(len(record.open), 'cell')} open"
        self.log.write("\n".join([f"Audit: {verdict}", *record.open]))
        for note in record.notes:
            self.log.write(f"Note: {note}")

    def _undo(self, segment: _Segment, state: ArgusTable) -> None:
        """The status before an earlier suppression."""
        number = state.planned.number
        if number in segment.protected:
            self.log.write(f"The suppression of table {number} has been undone")
            state.status[:] = segment.before[number].status
            del segment.protected[number]
        else:
            segment.before[number] = ArgusTable(
                state.planned,
                state.made,
                state.status.copy(),
                state.lower,
                state.upper,
                state.cost,
                state.kind,
            )

    def _table_file(self, segment: _Segment, command: WriteTable) -> None:
        number = command.spec.table
        state, path = segment.tables[number], self.places.output(command.spec.file)
        files = written(state, segment.protected.get(number), command, path)
        self.files |= files
        public = is_public(command)
        self.public = self.public | set(files) if public else self.public - set(files)
        kind = "public" if public else "CONFIDENTIAL transmission file: it holds true values of hidden cells"
        self.log.write(f"Table: {state.planned.name} has been written\nOutput file name: {path}\n({kind})")

    def _write(self) -> None:
        """All files at once, and the record of the suppressions beside the log."""
        if self.records:
            record = {"confidential": True, "suppressions": [asdict(each) for each in self.records]}
            self.files[self.log.path.with_suffix(".json")] = json.dumps(record, indent=2) + "\n"
        write_files(self.files, public=self.public, commit=self.commit)


class NotApplicableAt(TablecloakError):
    """A method that cannot take a table, with the line of its command."""
