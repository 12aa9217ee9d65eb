"""Job: a whole run as one TOML file, read and checked before anything is done."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablecloak.errors import InputError
from tablecloak.files import is_file, read_text
from tablecloak.job.positions import Faults, key_lines
from tablecloak.job.schema import check_keys, named_files, tables_of
from tablecloak.job.settings import LIMITS
from tablecloak.job.validation import check_meaning, found_files, response_of

if TYPE_CHECKING:
    from tablecloak.assessment import Insiders, Rule

ADVICE = "Keys are described in docs/jobs.md; [[rule]] number 2 is called rule[2]."
_TOO_DEEP = f"tables or lists are nested more than {LIMITS.nested} deep"


def _depth(document: Any) -> int:
    """How deep tables and lists are nested; without recursion."""
    depth, layer = 0, [document]
    while layer := [each for each in layer if isinstance(each, dict | list)]:
        depth += 1
        layer = [item for each in layer for item in (each.values() if isinstance(each, dict) else each)]
        if depth > LIMITS.nested:
            break
    return depth


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be done, as a job file says it. Made by `read` or `of`, which check everything they can."""

    path: Path
    """The job file; names of files are relative to its folder."""
    document: Mapping[str, Any]
    """The job file as it was read."""
    rules: tuple[Rule, ...]
    insiders: Insiders | None
    digests: Mapping[str, str] = field(default_factory=dict)
    """For a job read back from a record: the SHA-256 of each input then."""
    published: Mapping[str, str] = field(default_factory=dict)
    """For a job read back from a record: the SHA-256 of each public output then."""

    @classmethod
    def read(cls, path: str | Path) -> Job:
        """The job in a TOML file, or in the JSON record of an earlier run; every fault is in one `InputError`."""
        source = Path(path)
        text = read_text(source, "Job file")
        if source.suffix.lower() == ".json" or text.lstrip().startswith("{"):
            return cls._from_record(source, text)
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"Job file {source}", [f"it is not valid TOML: {error}"]) from None
        except ValueError:
            raise InputError(f"Job file {source}", ["a number in it has too many digits"]) from None
        except RecursionError:
            raise InputError(f"Job file {source}", [_TOO_DEEP]) from None
        return cls.of(document, source, lines=key_lines(text))

    @classmethod
    def of(
        cls,
        document: Mapping[str, Any],
        path: str | Path,
        *,
        what: str = "",
        lines: Mapping[str, int] | None = None,
        names: Mapping[str, str] | None = None,
        whole: bool = True,
        digests: Mapping[str, str] | None = None,
        published: Mapping[str, str] | None = None,
    ) -> Job:
        """The job of a document; `path` says in which folder its files are.

        Messages call the document `what`, its keys by their `lines` or by other `names`. A job that is not
        `whole` needs no rules: it ends with a table.
        """
        if _depth(document) > LIMITS.nested:
            raise InputError(what or f"Job file {path}", [_TOO_DEEP])
        faults = Faults(lines or {}, names or {})
        right = check_keys(document, faults)
        rules, insiders = check_meaning(right, Path(path).parent, faults, whole)
        if faults.found:
            advice = ADVICE if whole else ""
            raise InputError(what or f"Job file {path}", faults.listed(), advice=advice)
        return cls(Path(path), document, rules, insiders, digests or {}, published or {})

    @classmethod
    def _from_record(cls, source: Path, text: str) -> Job:
        what = f"Record {source}"
        try:
            record = json.loads(text)
        except RecursionError:
            raise InputError(what, [_TOO_DEEP]) from None
        except ValueError:
            raise InputError(what, ["it is neither a job file nor the record of a run"]) from None
        if not isinstance(record, dict) or not isinstance(record.get("job"), dict):
            raise InputError(what, ["it is not the record of a run"], advice="Give the job file instead.")
        name = source.parent / str(record.get("job_file", "job.toml"))
        digests, published = record.get("inputs"), record.get("public")
        if not isinstance(digests, dict) or not isinstance(published, dict) or not digests:
            raise InputError(what, ["it does not say what was read and published"])
        return cls.of(record["job"], name, digests=digests, published=published)

    # ------------------------------------------------------------------ looking at it

    @property
    def folder(self) -> Path:
        """Where the job file is; names of files are relative to it."""
        return self.path.parent

    def section(self, name: str) -> Mapping[str, Any]:
        """A section by name, empty where the job has none."""
        found = self.document.get(name)
        return found if isinstance(found, dict) else {}

    def tables(self, name: str) -> Sequence[Mapping[str, Any]]:
        """The tables of a section that may be there several times."""
        return [table for _, table in tables_of(self.document, name)]

    def file(self, name: str) -> Path:
        """A file named in the job."""
        return self.folder / name

    def response(self, table: Mapping[str, Any]) -> str:
        """The response of a table; without one it is the column "value" of cells, or a count of records."""
        return response_of(table, self.section("data"))

    @property
    def seed(self) -> int:
        return int(self.section("protect").get("seed", 0))

    @property
    def depth(self) -> int:
        """How many of the largest contributions the rules and the insiders need to know."""
        needed = [3, int(self.section("data").get("depth", 0))]
        for rule in self.rules:
            needed.append(int(getattr(rule, "n", 0)) + (rule.kind == "p-percent"))
        if self.insiders is not None:
            needed += [self.insiders.largest, self.insiders.coalition + (self.insiders.coalition > 0)]
        return max(needed)

    def inputs(self) -> list[Path]:
        """All files that the job reads, the job file first."""
        found = [self.path] if is_file(self.path) else []
        for _, name in named_files(self.document, "file"):
            found += found_files(self.file(name))
        return list(dict.fromkeys(found))

    def outputs(self) -> list[Path]:
        """All files that the job writes."""
        return [self.file(name) for _, name in named_files(self.document, "output")]

    def __repr__(self) -> str:
        return f"<Job {self.path}: {len(self.tables('dimension'))} dimensions, {len(self.rules)} rules>"
