"""The record of a run: what was read, how it was done, what came out. Confidential.

A run can be repeated from its record alone, as long as the inputs are there; the public outputs are then the
same bytes. The record knows the SHA-256 of every input and of every public output.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.job.job import Job
from tablecloak.job.settings import LIMITS
from tablecloak.model import Audit, Problem, Result, Status
from tablecloak.reports import audit_record, result_record


def digest(content: str | bytes) -> str:
    """The SHA-256 of a text (as UTF-8) or of bytes."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, read in blocks."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(LIMITS.block):
            found.update(block)
    return found.hexdigest()


def input_digests(job: Job) -> dict[str, str]:
    """The SHA-256 of all inputs of a job, by name relative to the job's folder."""
    return {Path(os.path.relpath(path, job.folder)).as_posix(): file_digest(path) for path in job.inputs()}


def run_record(
    job: Job, run: tuple[Problem, Result, Audit], inputs: Mapping[str, str], public: Mapping[str, str]
) -> dict[str, Any]:
    """What a run did and all that is needed to do it again: the digests of its inputs and public outputs."""
    problem, result, verdict = run
    place = job.file(job.section("report")["json"])
    versions = dict(result.report.versions) | {"duckdb": version("duckdb")}
    return {
        "confidential": True,
        "record": "tablecloak run",
        "job_file": Path(os.path.relpath(job.path, place.parent)).as_posix(),
        "job": job.document,
        "inputs": dict(inputs),
        "public": dict(public),
        "seed": job.seed,
        "repeatable": result.status not in (Status.TIME_LIMIT, Status.INTERRUPTED),
        "versions": versions,
        "decimals": problem.table.decimals,
        "rounding": problem.table.rounding,
        "result": result_record(problem, result),
        "audit": audit_record(problem, verdict),
    }


def changed_inputs(job: Job, now: Mapping[str, str]) -> list[str]:
    """Inputs that are not what they were when the record was written; none for a job that has no record."""
    return [name for name, was in job.digests.items() if now.get(name) != was]


def check_unchanged(job: Job, inputs: Mapping[str, str]) -> None:
    """Raise if an input was changed while the job ran: what was published could not be reproduced."""
    if changed := [name for name, now in input_digests(job).items() if inputs.get(name) != now]:
        raise InputError("Inputs", [f"{name} was changed while the job ran" for name in changed])


def differing(job: Job, public: Mapping[str, str], changed: list[str]) -> list[str]:
    """Notes about a repeated run; an `InputError` if its public outputs are not those of the record."""
    if not job.digests:
        return []
    wrong = [name for name, was in job.published.items() if public.get(name) != was]
    if wrong:
        faults = [f"{name}: not the bytes of the recorded run" for name in wrong]
        advice = "Nothing is written. "
        advice += "Inputs have changed: run the job file instead." if changed else _OTHER
        raise InputError("Repeated run", [*faults, *changed], advice=advice)
    return [f"same bytes as recorded: {name}" for name in job.published]


_OTHER = "A run that a time limit stopped cannot be repeated; otherwise look at the versions in the record."
