"""Mutated inputs: what does each reader do with a file that something has changed?

Every format starts from valid files that the package writes itself. A seed chooses a format, a file and one to four
changes of it (bytes, lines, numbers, strange tokens, pieces of other files; of cloak files also the entries inside).
A reader must give an object or raise an `InputError`: anything else is a fault, and so is a hang.

    python benchmarks/cases/reliability/inputs.py FIRST LAST

prints the counts and every fault with its seed; the same seed always gives the same file.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import signal
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import NoReturn

import numpy as np

from tablecloak import (
    Dimension,
    Hierarchy,
    Insiders,
    Intervals,
    Marks,
    Microdata,
    PPercent,
    Suppression,
    Table,
    assess,
    audit,
    certify,
    tabulate,
    verify,
)
from tablecloak.auditing import Certificate
from tablecloak.errors import InputError
from tablecloak.files import read_text
from tablecloak.formats import read_cloak, read_jj, read_pattern, write_cloak, write_jj, write_pattern
from tablecloak.job import Job, code_labels, read_labels
from tablecloak.job.hierarchies import make_hierarchy
from tablecloak.model import Problem
from tablecloak.tabulation import CellData

SUCCESS, INPUT_ERROR, OTHER, HANG = "success", "input error", "other", "hang"
SECONDS = 20.0
"""After so long a reader hangs; ordinary files take milliseconds."""


class Hang(BaseException):
    """The watchdog's bark; no reader may catch it."""


@dataclass(frozen=True)
class Format:
    """Valid files of one kind, how to read one, and how they are changed."""

    name: str
    suffix: str
    files: tuple[bytes, ...]
    read: Callable[[Path], object]
    change: Callable[[bytes, tuple[bytes, ...], random.Random], bytes] | None = None


@dataclass
class Counts:
    """How many mutated files of each format ended how, and the faults among them."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def total(self) -> Counter[str]:
        """The outcomes of all formats together."""
        return sum(self.outcomes.values(), Counter[str]())


def run(seeds: Iterable[int], seconds: float = SECONDS) -> Counts:
    """Read one mutated file for each seed and count how that ends; in the main thread, the watchdog is a signal."""
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="tablecloak-mutated-") as name, _warnings_are_errors():
        folder = Path(name)
        formats = all_formats(folder)
        for seed in seeds:
            chosen, data = mutated(formats, seed)
            path = folder / f"mutated{chosen.suffix}"
            path.write_bytes(data)
            outcome, told = _outcome(chosen, path, seconds)
            counts.outcomes.setdefault(chosen.name, Counter())[outcome] += 1
            if outcome in (OTHER, HANG):
                counts.faults.append(f"seed {seed}, {chosen.name}: {outcome} {told}")
    return counts


def _outcome(chosen: Format, path: Path, seconds: float) -> tuple[str, str]:
    try:
        with _watchdog(seconds):
            chosen.read(path)
    except InputError:
        return INPUT_ERROR, ""
    except Hang:
        return HANG, ""
    except Exception as error:
        return OTHER, f"{type(error).__name__}: {error}"[:300]
    return SUCCESS, ""


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    def bark(number: int, frame: FrameType | None) -> NoReturn:
        raise Hang

    before = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# ---------------------------------------------------------------------- valid files


JOB = """# a comment
[data]
path = "small.csv"
weight = "weight"
respondent = "enterprise"

[[dimension]]
name = "region"
hierarchy = { North = ["N1", "N2"], South = ["S1", "S2"] }

[[dimension]]
name = "size"
hierarchy = "size.csv"

[table]
response = "turnover"
decimals = 1

[[rule]]
rule = "p-percent"
p = 10

[[rule]]
rule = "frequency"
minimum = 3
percent = 20.5

[insiders]
sole = true
largest = 1

[protect]
method = "suppress-greedy"
seconds = 10
seed = 3
params = { clean_up = false }

[publish]
outputs = ["safe.csv", "safe.html"]
title = \"\"\"A title
in two lines\"\"\"
note = 'a "note"'
labels = { region = { N1 = "North 1" } }

[report]
json = "record.json"
"""
RECORD = """{"confidential": true, "record": "tablecloak run", "job_file": "job.toml",
 "job": {"data": {"path": "small.csv"}, "dimension": [{"name": "region"}, {"name": "size", "hierarchy": ["a", "b"]}],
         "table": {"response": "turnover"}, "rule": [{"rule": "p-percent", "p": 10}],
         "publish": {"outputs": ["safe.csv"]}},
 "inputs": {"job.toml": "00", "small.csv": "11"}, "public": {"safe.csv": "22"}, "seed": 0, "repeatable": true}
"""
REGIONS = "child,parent\nN1,North\nN2,North\nS1,South\nNorth,Total\nSouth,Total\n"
SIZES = "child,parent,label\na,Total,small\nb,Total,large\n"
LABELS = 'dimension,code,label\nregion,N1,"North, one"\nsize,a,small\n'
MARKS = "region,size,mark,weight,lower,upper,sliding,low,high\nN1,a,unsafe,2,1.5,1.5,,0,900\nNorth,,forced,,,,,,\n"
COMMANDS = "North;a;u\nN2;;u\nN2;;pl;1;2\nS1;;ab;0;9000\nS2;;w;3\nSouth;b;p\n;b;m\n"


def _records(rng: random.Random) -> str:
    lines = ["enterprise,region,size,turnover,weight"]
    for number in range(24):
        codes = f"{rng.choice(['N1', 'N2', 'S1', 'S2'])},{rng.choice('ab')}"
        lines.append(f"e{number:02d},{codes},{rng.randint(1, 900) / 10},{rng.choice(['1', '1.5', '4'])}")
    return "\n".join(lines) + "\n"


def _dimensions() -> list[Dimension]:
    region = Hierarchy.from_dict({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    return [Dimension.of("region", region), Dimension.flat("size", ["a", "b"])]


def all_formats(folder: Path) -> list[Format]:
    """All formats; files that others refer to are written into the folder."""
    records = _records(random.Random(1))
    (folder / "small.csv").write_text(records)
    (folder / "size.csv").write_text(SIZES)
    (folder / "job.toml").write_text(JOB)
    columns = {"weight": "weight", "respondent": "enterprise"}
    source = Microdata(folder / "small.csv", **columns)
    table = tabulate(source, _dimensions(), "turnover")
    problem = assess(table, [PPercent(p=10)], insiders=Insiders())
    size = len(table)
    hidden = problem.must_hide | (np.arange(size) % 3 == 0)
    some = Suppression.of(table, hidden & ~problem.forced)
    wide = Intervals.of(
        np.where(hidden, 0.0, table.values), np.where(hidden, 2 * table.values + 1, table.values)
    )
    plain = write_jj(replace(problem, attackers=()))
    proof = certify(problem, some, audit(problem, some))
    cells = _cells_text(table)

    def records_of(path: Path) -> object:
        return tabulate(Microdata(path, **columns), _dimensions(), "turnover")

    def cells_of(path: Path) -> object:
        return tabulate(CellData(path, count="count", top=("top1", "top2")), _dimensions(), "turnover")

    def verified(path: Path) -> object:
        return verify(Certificate.from_json(read_text(path)), problem, some)

    cloaks = (write_cloak(table), write_cloak(problem))
    return [
        Format("cloak", ".cloak", cloaks, _used),
        Format("cloak content", ".cloak", cloaks, _used, _change_inside),
        Format("certificate", ".json", (proof.to_json().encode(),), verified),
        Format("pattern", ".csv", _encoded(write_pattern(problem, some), write_pattern(problem, wide)),
               lambda path: read_pattern(path, problem)),
        Format("jj", ".jj", _encoded(plain, plain.replace("\n", "\r\n")), read_jj),
        Format("job", ".toml", _encoded(JOB), Job.read),
        Format("record", ".json", _encoded(RECORD), Job.read),
        Format("hierarchy hrc", ".hrc", _encoded("North\n@N1\n@N2\nSouth\n@S1\n@@S11\n@S2\n"),
               lambda path: make_hierarchy(path.name, folder)),
        Format("hierarchy csv", ".csv", _encoded(REGIONS),
               lambda path: make_hierarchy(path.name, folder, total="Total")),
        Format("labels", ".csv", _encoded(LABELS, SIZES),
               lambda path: (_ignored(lambda: read_labels(path)), code_labels(path))),
        Format("marks csv", ".csv", _encoded(MARKS), lambda path: Marks.of(table, path)),
        Format("marks hst", ".hst", _encoded(COMMANDS), lambda path: Marks.of(table, path)),
        Format("microdata", ".csv", _encoded(records, records.replace(",", ";")), records_of),
        Format("microdata gz", ".csv.gz", (gzip.compress(records.encode(), mtime=0),), records_of),
        Format("microdata parquet", ".parquet", (_parquet(records, folder),), records_of),
        Format("cells", ".csv", _encoded(cells), cells_of),
    ]  # fmt: skip


def _encoded(*texts: str) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


def _ignored(read: Callable[[], object]) -> None:
    """Read, and let another reader say what is wrong."""
    with suppress(InputError):
        read()


def _used(path: Path) -> object:
    """A cloak file that can be read can be used."""
    thing = read_cloak(path)
    if isinstance(thing, Problem):
        _ignored(lambda: audit(thing, Suppression.of(thing.table, thing.must_hide)))
    return write_cloak(thing)


def _cells_text(table: Table) -> str:
    assert table.respondents is not None
    top = np.pad(table.respondents.top, ((0, 0), (0, 2)))
    lines = ["region,size,turnover,count,top1,top2"]
    for cell, (region, size) in enumerate(table.codes.tolist()):
        codes = f"{table.dimensions[0].codes[region]},{table.dimensions[1].codes[size]}"
        figures = f"{table.values[cell]},{table.respondents.count[cell]},{top[cell, 0]},{top[cell, 1]}"
        lines.append(f"{codes},{figures}")
    return "\n".join(lines) + "\n"


def _parquet(records: str, folder: Path) -> bytes:
    import duckdb

    source, target = folder / "small.csv", folder / "small.parquet"
    duckdb.sql(f"COPY (FROM read_csv('{source}')) TO '{target}' (FORMAT parquet)")
    return target.read_bytes()


# ---------------------------------------------------------------------- changes


NUMBERS = (
    b"nan", b"inf", b"-inf", b"1e400", b"-1e400", b"-1", b"0", b"-0.0", b"1e-320", b"1e308", b"1e18", b"9" * 5000,
    b"1_0", b"0x10", "٣".encode(), b"", b"1,5", b"18446744073709551616", b"2147483648",
    b"0.1234567890123456789", b"1/0",
)  # fmt: skip
TOKENS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n\n", b"\r\n", b'"', b"'", b'"""', b"'''", b"\\",
    b"[", b"]", b"{", b"}", b"[[", b"]]", b"(", b")", b":", b"=", b",", b";", b"|", b"@", b"@@@", b"#", b".",
    b"/", b"..",
    b"[" * 20_000, b"{" * 5_000, b'{"a":' * 3_000, b"a." * 3_000, b"[a.b]\n",
    b'["\\u005bx["]\na=1\n', b"x = [[[1]]]\n",
    b"null", b"true", b"NaN", b"Infinity", b"Total", b"North", b"\xc2\xa0", b"a" * 140_000, "\u2028".encode(), b"\x1a",
    b"1979-05-27T07:32:00Z", b"-" * 300, b"*", b"%s", b"{0}", b"/dev/zero", b"\\u0000", b"-1e", b"+", b"e",
)  # fmt: skip


def mutated(formats: list[Format], seed: int) -> tuple[Format, bytes]:
    """The format and the changed file of a seed."""
    rng = random.Random(seed)
    chosen = formats[seed % len(formats)]
    data = rng.choice(chosen.files)
    change = chosen.change or _change
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = change(data, chosen.files, rng)
    return chosen, data


def _change(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    return rng.choice((_bytes, _lines, _number, _number, _token, _splice))(data, others, rng)


def _bytes(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    stop = min(len(data), start + rng.choice((1, 1, 2, 8, 64)))
    piece = data[start:stop]
    kind = rng.randrange(6)
    if kind == 0 and piece:  # a bit is another one
        piece = bytes([piece[0] ^ (1 << rng.randrange(8))]) + piece[1:]
    elif kind == 1:
        piece = b""
    elif kind == 2:
        piece = rng.randbytes(rng.choice((1, 2, 8, 64)))
    elif kind == 3:
        piece = piece * rng.choice((2, 3, 100))
    elif kind == 4:
        return data[:start]
    else:
        piece = piece[::-1]
    return data[:start] + piece + data[stop:]


def _lines(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(two, lines[one])
    elif kind == 2:
        lines[one], lines[two] = lines[two], lines[one]
    elif kind == 3:
        fields = re.split(rb"([,; =])", lines[one])
        rng.shuffle(fields)
        lines[one] = b"".join(fields)
    else:
        lines[one] += rng.choice((b" ", b",", b",,", b"\t", b" #"))
    return b"\n".join(lines)


def _number(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    found = list(re.finditer(rb"-?\d+(?:\.\d+)?", data[:200_000]))
    if not found:
        return _token(data, others, rng)
    at = rng.choice(found)
    near = str(rng.choice((1, -1, 0.5, 1e9)) + float(at[0][:15] or 0)).encode()
    return data[: at.start()] + rng.choice((*NUMBERS, near, near)) + data[at.end() :]


def _token(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    start = rng.randint(0, len(data))
    stop = start + rng.choice((0, 0, 1, 5))
    return data[:start] + rng.choice(TOKENS) + data[stop:]


def _splice(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    other = rng.choice(others)
    start, stop = sorted((rng.randint(0, len(other)), rng.randint(0, len(other))))
    at = rng.randint(0, len(data))
    return data[:at] + other[start : min(stop, start + 2_000)] + data[at + rng.choice((0, stop - start)) :]


def _change_inside(data: bytes, others: tuple[bytes, ...], rng: random.Random) -> bytes:
    """Change one entry of a cloak file and pack it again, with right checksums."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, KeyError):
        return data
    name = "meta.json" if rng.random() < 0.5 and "meta.json" in entries else rng.choice(list(entries))
    if name.endswith(".npy") and rng.random() < 0.7:
        entries[name] = _entry(entries[name], rng)
    else:
        entries[name] = _change(entries[name], tuple(entries.values()), rng)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for each, content in entries.items():
            entry = zipfile.ZipInfo(each)  # without the time of day: the same seed gives the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def _entry(data: bytes, rng: random.Random) -> bytes:
    """Another number in an array, of the same size."""
    start = 10 + int.from_bytes(data[8:10], "little")
    width = 4 if b"i4'" in data[:start] else 1 if b"1'" in data[:start] else 8
    places = (len(data) - start) // width
    if places <= 0:
        return data
    at = start + width * rng.randrange(places)
    if b"f8'" in data[:start]:
        new = np.float64(rng.choice((np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 5e-324, 0.25))).tobytes()
    else:
        new = rng.choice((-1, 0, 1, 2, 100, 2**31 - 1, 2**40)).to_bytes(8, "little", signed=True)[:width]
    return data[:at] + new + data[at + width :]


def main(first: int, last: int) -> None:
    """Print the counts of some seeds and every fault."""
    counts = run(range(first, last))
    for name, outcomes in counts.outcomes.items():
        print(f"{name:20}", dict(outcomes))
    print(f"{'all':20}", dict(counts.total))
    print("\n".join(counts.faults))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
