"""Running a job: tabulate, assess, protect, audit, publish; everything is written at the end, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tablecloak.arrays import Floats
from tablecloak.assessment import Marks, assess, summary
from tablecloak.auditing import audit
from tablecloak.errors import InputError, UnsafePublication, counted
from tablecloak.files import check_writable, write_files
from tablecloak.formats import write_cloak, write_pattern
from tablecloak.job.hierarchies import code_labels, is_csv, make_dimension, needs_codes, read_labels
from tablecloak.job.inspect import codes_in, columns_in
from tablecloak.job.job import Job
from tablecloak.job.named_cells import named_attackers, named_conditional, named_ways
from tablecloak.job.record import (
    changed_inputs,
    check_unchanged,
    differing,
    digest,
    input_digests,
    run_record,
)
from tablecloak.model import (
    RESPONSE,
    Audit,
    Dimension,
    PrintedUnit,
    Problem,
    Result,
    Status,
    Table,
    link,
    link_responses,
)
from tablecloak.model import weights as weighing
from tablecloak.progress import Progress, silent
from tablecloak.protection import DEFAULT, protect
from tablecloak.publication import Labels, Publication, publish
from tablecloak.reports import to_json
from tablecloak.tabulation import CellData, Layout, Microdata, tabulate, tabulate_linked

_PRINTED_UNIT = ("decimals", "unit")
STEPS = ("tabulate", "assess", "protect", "audit", "publish", "report", "write")


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a job gave. Confidential, but for the publication."""

    job: Job
    problem: Problem
    result: Result
    audit: Audit
    publication: Publication | None
    written: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the method: then nothing is published."""
        return self.result.status is Status.INTERRUPTED

    def summary(self) -> str:
        """What was done, in a few lines."""
        lines = [*described(self.problem), self.result.summary(self.problem)]
        if self.audit is not self.result.audit:
            lines.append(f"audited again: {self.audit.summary(self.problem)}")
        lines += [f"written: {path} ({sort_of(self.job, path)})" for path in self.written]
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return f"<confidential JobResult of {self.job.path}: {counted(len(self.written), 'file')} written>"


def _always(publishing: bool) -> None:
    """Go on."""


def run_job(
    job: Job,
    progress: Progress = silent,
    commit: Callable[[bool], None] = _always,
    executor: Executor | None = None,
) -> JobResult:
    """Run the whole chain and write all outputs at once; `commit` is called right before, with whether any is public.

    Nothing is written if anything fails: wrong data, an infeasible problem, a pattern that does not pass. A job
    read back from its record must give the same public bytes as then; if not, an `InputError` says what differs.
    If the user interrupts the method and it has a safe pattern, nothing is published: pattern, problem and record
    are written where the job asks for them, the report is not. `executor` is handed to `protect` and to the audits: the
    tables of a job are one problem, whose tables DuckDB makes with all cores.
    """
    check_writable(job.outputs(), inputs=job.inputs())
    inputs = input_digests(job)
    notes = [f"changed since the record: {name}" for name in changed_inputs(job, inputs)]
    problem, labels = prepared(job, progress)
    given = job.section("protect")
    params = {name: given[name] for name in ("seconds",) if name in given} | dict(given.get("params", {}))
    params |= named_ways(job, problem.table)
    method = given.get("method", DEFAULT)
    result = protect(problem, method, params=params, seed=job.seed, progress=progress, executor=executor)
    if result.status is Status.INTERRUPTED:
        return _interrupted(job, problem, result, inputs, notes, commit)
    _step(progress, "audit")
    judge = partial(audit, problem, result.pattern, progress=progress, executor=executor)
    verdict = _judged(job, problem, result, judge)
    _step(progress, "publish")
    publication = _published(job, problem, result, verdict, labels)
    public = _public_files(job, publication) if publication else {}
    digests = {_name(job, path): digest(data) for path, data in public.items()}
    notes += differing(job, digests, notes)
    _step(progress, "report")
    files = public | _confidential_files(job, (problem, result, verdict), inputs, digests, progress)
    _step(progress, "write")
    check_unchanged(job, inputs)
    write_files(files, public=public, commit=partial(commit, bool(public)))
    return JobResult(job, problem, result, verdict, publication, tuple(files), tuple(notes))


def _interrupted(
    job: Job,
    problem: Problem,
    result: Result,
    inputs: Mapping[str, str],
    notes: list[str],
    commit: Callable[[bool], None],
) -> JobResult:
    """What is kept of a run whose method was interrupted: the audited pattern so far, and nothing public."""
    run = (problem, result, result.audit)
    files = _confidential_files(job, run, inputs, {}, silent, report=False)
    check_unchanged(job, inputs)
    write_files(files, commit=partial(commit, False))
    before = [path for path in job.outputs() if sort_of(job, path) == "public" and path.exists()]
    notes = [*notes, "interrupted: nothing is published"]
    notes += [f"left as it was, from an earlier run: {path}" for path in before]
    return JobResult(job, problem, result, result.audit, None, tuple(files), tuple(notes))


def plan(job: Job, progress: Progress = silent) -> str:
    """What a run would do, in words: the data are read, the rules applied, and nothing is solved or written."""
    check_writable(job.outputs(), inputs=job.inputs())
    problem, _ = prepared(job, progress)
    given = job.section("protect")
    seconds = f", at most {given['seconds']:g} s" if "seconds" in given else ""
    lines = [
        *described(problem),
        f"would protect with {given.get('method', DEFAULT)}, seed {job.seed}{seconds}",
        *(f"would write: {path} ({sort_of(job, path)})" for path in job.outputs()),
        *(f"changed since the record: {name}" for name in changed_inputs(job, input_digests(job))),
    ]
    return "\n".join(lines)


def prepared(job: Job, progress: Progress = silent) -> tuple[Problem, Labels | None]:
    """The problem and the labels: all that can be known before anything is solved, and all faults in it."""
    _step(progress, "tabulate")
    table = tabulated(job)
    _step(progress, "assess")
    labels, faults = None, list[str]()
    try:
        labels = _labels(job, table)
    except InputError as error:
        faults += [f"{error.what}: {fault}" for fault in error.faults]
    publish = job.section("publish")
    if asked := {name: publish[name] for name in ("decimals", "unit") if name in publish}:
        try:
            PrintedUnit.of(table, **asked)
        except InputError as error:
            faults += [f"publish.{fault}. {error.advice}" for fault in error.faults]
    try:
        problem = assessed(job, table)
    except InputError as error:
        if not faults:
            raise
        faults += [f"{error.what}: {fault}" for fault in error.faults]
    try:
        named_ways(job, table)
    except InputError as error:
        faults += error.faults
    if faults:
        raise InputError(f"Job file {job.path}", faults)
    return problem, labels


def _step(progress: Progress, name: str) -> None:
    progress(name, STEPS.index(name), len(STEPS))


# ---------------------------------------------------------------------- tabulate and assess


def tabulated(job: Job) -> Table:
    """The table of a job: one, or several linked ones in one system."""
    dimensions = {each.name: each for each in _dimensions(job)}
    data = job.section("data")
    tables = job.tables("table") or [{}]
    chosen = [[dimensions[name] for name in table.get("dimensions", dimensions)] for table in tables]
    if data.get("kind") == "cells":
        made = [_from_cells(job, table, own) for table, own in zip(tables, chosen, strict=True)]
    else:
        layouts = [
            Layout(own, table.get("response"), shadow=table.get("shadow"), **_settings(job, table))
            for table, own in zip(tables, chosen, strict=True)
        ]
        made = tabulate_linked(_microdata(job), layouts, top=job.depth)
    groups: dict[str, list[Table]] = {}
    for table, each in zip(tables, made, strict=True):
        groups.setdefault(job.response(table), []).append(each)
    linked = {name: link(group) if len(group) > 1 else group[0] for name, group in groups.items()}
    relations = job.section("relations")
    if len(linked) == 1 and not relations:
        return next(iter(linked.values()))
    return link_responses(linked, relations)


def _microdata(job: Job) -> Microdata:
    data = job.section("data")
    names = ("weight", "respondent", "holding", "request", "waiver", "missing")
    options: dict[str, Any] = {name: data[name] for name in names if name in data}
    if "request_codes" in data:
        options["request_codes"] = tuple(data["request_codes"])
    return Microdata(job.file(data["path"]), **options)


def _settings(job: Job, table: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says about its values and its empty combinations."""
    names = ("decimals", "round", "counts", "empty", "impossible", "most_cells")
    settings = {name: table[name] for name in names if name in table}
    if isinstance(settings.get("impossible"), str):
        settings["impossible"] = columns_in(job.file(settings["impossible"]))
    return settings


def _from_cells(job: Job, table: Mapping[str, Any], dimensions: list[Dimension]) -> Table:
    data = job.section("data")
    names = ("count", "holding_count", "recompute", "tolerance", "weighted")
    options: dict[str, Any] = {name: data[name] for name in names if name in data}
    options |= {name: tuple(data[name]) for name in ("top", "holding_top") if name in data}
    if "shadow" in table:
        options["shadow"] = table["shadow"]
    source = CellData(job.file(table.get("path", data["path"])), **options)
    return tabulate(source, dimensions, table.get("response"), **_settings(job, table))


def _dimensions(job: Job) -> list[Dimension]:
    """All dimensions; codes are looked for in the data where a hierarchy needs them."""
    data, made, faults = job.section("data"), list[Dimension](), list[str]()
    missing = data.get("missing", "")
    for path, table in enumerate(job.tables("dimension"), 1):
        given = [table.get("hierarchy"), *table.get("further", [])]
        codes = _codes(job, table["name"], missing) if any(map(needs_codes, given)) else None
        options = {"total": table.get("total"), "codes": codes, "missing": missing}
        try:
            made.append(make_dimension(table["name"], given, job.folder, **options))
        except InputError as error:
            faults += [f"dimension[{path}]: {fault}" for fault in error.faults]
    if faults:
        raise InputError(f"Job file {job.path}", faults)
    return made


def _codes(job: Job, column: str, missing: str) -> list[str]:
    """The codes of a dimension in the data, in all files that have it."""
    tables = job.tables("table")
    own = [
        table["path"] for table in tables if "path" in table and column in table.get("dimensions", [column])
    ]
    names = own or [job.section("data")["path"]]
    return list(dict.fromkeys(code for name in names for code in codes_in(job.file(name), column, missing)))


def assessed(job: Job, table: Table) -> Problem:
    """The problem of a job."""
    options = dict(job.section("assess"))
    marks = Marks.of(table, job.file(job.section("marks")["file"])) if job.section("marks") else None
    if weights := job.section("weights"):
        options["weights"] = chosen_weights(table, weights["by"], weights.get("power"))
    if prices := job.section("prices"):
        options["prices"] = prices
    options |= named_attackers(job, table) | named_conditional(job, table)
    return assess(table, list(job.rules), marks=marks, insiders=job.insiders, **options)


def chosen_weights(table: Table, name: str, power: float | None) -> str | Floats:
    """Weights by name, or a power of them."""
    if power is None:
        return name
    return weighing.floored(table, weighing.power(weighing.named(table, name), power))


# ---------------------------------------------------------------------- audit and publish


def _judged(job: Job, problem: Problem, result: Result, judge: Callable[..., Audit]) -> Audit:
    """The verdict of protect, or a closer one where the job asks for it; an unsafe one is an error."""
    options: dict[str, Any] = {name: bool(value) for name, value in job.section("audit").items()}
    if not any(options.values()):
        return result.audit
    verdict = judge(**options)
    if not verdict.safe:
        raise UnsafePublication(
            f"The closer audit that the job asks for does not pass.\n{verdict.summary(problem)}"
        )
    return verdict


def _published(
    job: Job, problem: Problem, result: Result, verdict: Audit, labels: Labels | None
) -> Publication | None:
    given = job.section("publish")
    if not given.get("outputs") and not any(table.get("outputs") for table in job.tables("table")):
        return None
    options = {name: given[name] for name in ("title", "note", "symbol", *_PRINTED_UNIT) if name in given}
    closer = None if verdict is result.audit else verdict
    return publish(problem, result, closer, labels=labels, **options)


def _labels(job: Job, table: Table) -> Labels | None:
    """What codes mean: from the job file, from a file, or from the csv files of the hierarchies."""
    given = job.section("publish").get("labels")
    known = {dimension.name: dimension for dimension in table.dimensions}
    if isinstance(given, bool):
        files = {each["name"]: each.get("hierarchy") for each in job.tables("dimension") if given}
        csvs = {name: job.file(str(file)) for name, file in files.items() if name in known and is_csv(file)}
        given = {name: code_labels(path) for name, path in csvs.items()}
    labels: Labels = read_labels(job.file(given)) if isinstance(given, str) else given or {}
    faults = [f"there is no dimension {name!r}" for name in labels if name not in known]
    faults += [
        f"dimension {name!r} has no code {code!r}"
        for name, words in labels.items()
        if name in known
        for code in words
        if code not in known[name].index
    ]
    if faults:
        raise InputError("Labels", faults)
    return labels or None


# ---------------------------------------------------------------------- files


def _public_files(job: Job, publication: Publication) -> dict[Path, str | bytes]:
    """The whole system, and single tables of it, in all formats asked for."""
    whole = map(job.file, job.section("publish").get("outputs", []))
    files = {path: publication.render(path) for path in whole}
    names = [dimension.name for dimension in publication.dimensions]
    for table in job.tables("table"):
        own = table.get("dimensions", [name for name in names if name != RESPONSE])
        where = {RESPONSE: job.response(table)} if RESPONSE in names else {}
        for name in table.get("outputs", []):
            files[job.file(name)] = publication.part(own, where).render(job.file(name))
    return files


def _confidential_files(
    job: Job,
    run: tuple[Problem, Result, Audit],
    inputs: Mapping[str, str],
    public: Mapping[str, str],
    progress: Progress,
    report: bool = True,
) -> dict[Path, str | bytes]:
    """Reports and records; a job read back from its record leaves that as it is."""
    wanted = {name: job.file(path) for name, path in job.section("report").items() if name != "explain"}
    problem, result, verdict = run
    files: dict[Path, str | bytes] = {}
    if "pattern" in wanted:
        files[wanted["pattern"]] = write_pattern(problem, result.pattern)
    if "problem" in wanted:
        files[wanted["problem"]] = write_cloak(problem)
    if "html" in wanted and report:
        from tablecloak.reports import report_page

        explained = bool(job.section("report").get("explain", True))
        files[wanted["html"]] = report_page(problem, result, verdict, explained=explained, progress=progress)
    if "json" in wanted and not job.digests:
        files[wanted["json"]] = to_json(run_record(job, run, inputs, public))
    return files


def _name(job: Job, path: Path) -> str:
    return path.relative_to(job.folder).as_posix() if path.is_relative_to(job.folder) else str(path)


def sort_of(job: Job, path: Path) -> str:
    """Whether a file is public or confidential."""
    confidential = [job.file(name) for name in job.section("report").values() if isinstance(name, str)]
    return "confidential" if path in confidential else "public"


def described(problem: Problem) -> list[str]:
    """A problem in a few lines: the table, what each rule caught, the attackers."""
    table = problem.table
    dims = " x ".join(f"{dimension.name}({len(dimension.codes)})" for dimension in table.dimensions)
    ties = f"{counted(len(table), 'cell')}, {counted(table.equations.shape[0], 'equation')}"
    return [f"{table.response} by {dims}: {ties}", *summary(problem).splitlines()]
