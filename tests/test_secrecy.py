"""The secrecy law: a publication depends on nothing but what it states, and holds no hidden value anywhere."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

from fixtures import flat, from_leaves, with_levels
from publications import CASES, DESPITE, SUFFIXES, case
from tablecloak.arrays import floats
from tablecloak.auditing import audit
from tablecloak.formats.argus import CONFIDENTIAL_TYPES
from tablecloak.job.argus import ArgusOptions, run_argus
from tablecloak.model import (
    Dimension,
    Hierarchy,
    Intervals,
    Levels,
    Mark,
    Pattern,
    Perturbation,
    Problem,
    Reason,
    Rounding,
    Suppression,
    infer_decimals,
    nearest_units,
)
from tablecloak.protection import protect
from tablecloak.publication import Publication, publish

TEXTS = {"title": "A table", "note": "of numbers", "symbol": "c"}


def printed(problem: Problem, pattern: Pattern, **unit: float) -> dict[str, str | bytes]:
    """All public files, and the object itself."""
    publication = publish(problem, pattern, audit(problem, pattern), despite=DESPITE, **TEXTS, **unit)
    files: dict[str, str | bytes] = {suffix: publication.render(f"a{suffix}") for suffix in SUFFIXES}
    bare = replace(publication, despite="")  # the excuse, if one was needed: it is in no file
    return {**files, "object": pickle.dumps(bare), "words": repr(publication) + str(publication.columns())}


@cache
def printed_case(name: str, **unit: float) -> dict[str, str | bytes]:
    return printed(*case(name), **unit)


# ---------------------------------------------------------------------- same view, same bytes


def moved(problem: Problem, pattern: Pattern, seed: int) -> Problem:
    """Another problem whose table has the same view: hidden values moved along the equations, other marks.

    The deviation d has M d = 0 and is zero where the value is stated; it is as long as low..high allows (a
    third of that, which gives decimals no value had before).
    """
    rng, table, view = np.random.default_rng(seed), problem.table, pattern.view(problem)
    free = np.flatnonzero(view.low < view.high)
    directions = null_space(table.equations[:, free].toarray())
    assert directions.shape[1] > 0
    step = directions @ rng.normal(size=directions.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, view.high[free] - table.values[free], table.values[free] - view.low[free])
        longest = np.min(np.where(np.abs(step) > 1e-9, np.maximum(room, 0) / np.abs(step), np.inf))
    step *= (longest if np.isfinite(longest) else 7.0 * np.abs(table.values).max() / np.abs(step).max()) / 3
    values = table.values.copy()
    values[free] += step
    marks = np.where(problem.marks == Mark.SENSITIVE, Mark.FREE, problem.marks).astype(np.int8)
    marks[rng.choice(free, size=1)] = Mark.SENSITIVE
    size = len(table)
    decimals = max(infer_decimals(values), table.decimals)
    other = replace(
        table,
        units=nearest_units(values, decimals).astype(np.int64),
        decimals=decimals,
        columns={"extra": floats(rng.random(size))},
    )
    return replace(
        problem,
        table=other,
        marks=marks,
        levels=Levels.of(size, lower=np.where(marks == Mark.SENSITIVE, 0.01, 0.0)),
        outsider_low=floats(-np.inf, size),
        outsider_high=floats(np.inf, size),
        attackers=(),
        weights=floats(rng.random(size)),
        reasons={int(free[0]): (Reason("dominance rule (n=1, k=75)", "dominance", "one unit"),)},
    )


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=3)
def test_tables_with_the_same_view_give_the_same_bytes(name: str, seed: int) -> None:
    problem, pattern = case(name)
    other = moved(problem, pattern, seed)
    assert not np.array_equal(other.table.values, problem.table.values)
    assert printed(other, pattern) == printed_case(name)


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=2)
def test_in_print_too(name: str, seed: int) -> None:
    """Printed in a unit that is coarser than the data of both tables."""
    problem, pattern = case(name)
    other = moved(problem, pattern, seed)
    unit = float(f"{25 * problem.table.unit:.2g}")
    assert printed(other, pattern, unit=unit) == printed_case(name, unit=unit)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_values_that_are_printed_alike_give_the_same_bytes(seed: int) -> None:
    """Nothing finer than the printed unit goes in: not even what a published value was before."""
    rng = np.random.default_rng(seed)
    multiples = rng.integers(-40, 40, size=(3, 3))
    files = []
    for _ in range(2):
        table = from_leaves([flat("r", 3), flat("c", 3)], 50 * multiples + rng.integers(-3, 4, size=(3, 3)))
        problem = Problem.of(table, [])
        files.append(printed(problem, Suppression.of(table, []), unit=50))
    assert files[0] == files[1]


def test_even_the_decimals_of_most_tables_change() -> None:
    """So the law is put to the test: the unit of the data is no longer the same."""
    decimals = 0
    for name in CASES:
        problem, pattern = case(name)
        decimals += moved(problem, pattern, 1).table.decimals != problem.table.decimals
    assert decimals > len(CASES) // 2


# ---------------------------------------------------------------------- no hidden value in any byte


def secret_table() -> tuple[Problem, np.ndarray]:
    """Leaves are primes of seven digits; the problem and the hidden cells."""
    numbers = np.random.default_rng(5).integers(1_000_003, 9_999_991, size=600).tolist()
    primes = [number for number in numbers if all(number % d for d in range(2, 3163))][:24]
    regions = Dimension.of("region", Hierarchy.from_dict({"north": ["n1", "n2"], "south": ["s1", "s2"]}))
    dimensions = [
        regions,
        Dimension.flat("size", ["small", "large"]),
        Dimension.flat("sector", ["a", "b", "c"]),
    ]
    table = from_leaves(dimensions, np.array(primes[: 4 * 2 * 3]).reshape(4, 2, 3))
    leaves = np.flatnonzero(table.is_leaf)
    problem = with_levels(table, leaves[[0, 7, 16]].tolist(), 0.1)
    return problem, protect(problem).pattern.touched(problem)


PROBLEM, HIDDEN = secret_table()


def contents(suffix: str, publication: Publication) -> list[bytes]:
    """All bytes of a file: as it is, unpacked, and without what stands between groups of digits."""
    rendered = publication.render(f"a{suffix}")
    data = rendered.encode() if isinstance(rendered, str) else rendered
    found = [data]
    if suffix == ".xlsx":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found += [archive.read(name) for name in archive.namelist()]
            found.append(repr(archive.infolist()).encode() + archive.comment)
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        file = parquet.ParquetFile(io.BytesIO(data))
        found += [repr(file.read().to_pydict()).encode(), str(file.metadata.to_dict()).encode()]
        found += [np.array(column).tobytes() for column in file.read().select(["value"]).columns]
    plain = [text.replace("\u202f".encode(), b"").replace(b",", b"").replace(b" ", b"") for text in found]
    return found + plain


def traces(value: float) -> list[bytes]:
    """How a number could be written, in text and in binary."""
    whole = int(value)
    return [str(whole).encode(), struct.pack("<d", value), struct.pack(">d", value), struct.pack("<i", whole)]


def holds(haystacks: list[bytes], value: float) -> bool:
    return any(trace in text for trace in traces(value) for text in haystacks)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("how", ["suppression", "intervals", "rounding"])
def test_no_hidden_value_is_in_any_byte(suffix: str, how: str) -> None:
    values = PROBLEM.table.values
    spread = np.where(HIDDEN, 0.37 * values, 0.0)
    pattern: Pattern = {
        "suppression": Suppression.of(PROBLEM.table, HIDDEN),
        "intervals": Intervals.of(np.floor(values - spread), np.ceil(values + 1.3 * spread)),
        "rounding": Rounding.of(
            np.where(HIDDEN, 5e6 * np.round(values / 5e6), values), np.where(HIDDEN, 5e6, 0.0)
        ),
    }[how]
    found = contents(suffix, publish(PROBLEM, pattern, audit(PROBLEM, pattern), despite=DESPITE))
    secret, public = values[HIDDEN], values[~HIDDEN]
    assert secret.size >= 12
    assert not set(secret.tolist()) & set(public.tolist())
    assert [value for value in public if not holds(found, value)] == [], "the search finds what is there"
    assert [PROBLEM.table.label(cell) for cell in np.flatnonzero(HIDDEN) if holds(found, values[cell])] == []


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("how", ["suppression", "intervals", "rounding", "perturbation"])
def test_no_value_is_in_any_byte_that_is_printed_coarser(suffix: str, how: str) -> None:
    """Neither hidden ones nor published ones, but for the numbers that are printed."""
    values = PROBLEM.table.values
    spread = np.where(HIDDEN, 0.37 * values, 0.0)
    pattern: Pattern = {
        "suppression": Suppression.of(PROBLEM.table, HIDDEN),
        "intervals": Intervals.of(np.floor(values - spread), np.ceil(values + 1.3 * spread)),
        "rounding": Rounding.of(
            np.where(HIDDEN, 5e6 * np.round(values / 5e6), values), np.where(HIDDEN, 5e6, 0.0)
        ),
        "perturbation": Perturbation.of(np.round(values + spread), np.where(HIDDEN, 4e6, 0.0)),
    }[how]
    publication = publish(PROBLEM, pattern, audit(PROBLEM, pattern), unit=1000, despite=DESPITE)
    found, view = contents(suffix, publication), pattern.view(PROBLEM)
    finer = np.concatenate([values, view.shown, view.low, view.high])
    finer = np.unique(finer[np.isfinite(finer)])
    finer = finer[finer % 1000 != 0]
    rounded = publication.shown[np.isfinite(publication.shown)]
    assert finer.size > 40 and (rounded % 1000 == 0).all()
    assert [value for value in rounded if value and not holds(found, value)] == [], "the search finds them"
    assert [value for value in finer if holds(found, value)] == []


def test_no_hidden_value_is_in_the_object() -> None:
    pattern = Suppression.of(PROBLEM.table, HIDDEN)
    data = pickle.dumps(publish(PROBLEM, pattern, audit(PROBLEM, pattern)))
    assert all(struct.pack("<d", value) in data for value in PROBLEM.table.values[~HIDDEN])
    assert not any(struct.pack("<d", value) in data for value in PROBLEM.table.values[HIDDEN])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_sensitive_cannot_be_told(suffix: str) -> None:
    """Nor any word for it."""
    pattern = Suppression.of(PROBLEM.table, HIDDEN)
    publication = publish(PROBLEM, pattern, audit(PROBLEM, pattern))
    text = b" ".join(contents(suffix, publication)).lower()
    for word in (
        b"sensitive",
        b"complementary",
        b"primary",
        b"secondary",
        b"dominance",
        b"tablecloak.model.problem",
    ):
        assert word not in text


# ---------------------------------------------------------------------- files of τ-ARGUS jobs


ARGUS_FILES = [
    (kind, options) for kind in range(1, 7) for options in ("", "AS+", "FL+SE+QU-") if kind < 4 or not options
]


@given(moved_by=st.integers(1, 999), start=st.integers(1000, 9000))
@settings(max_examples=3, deadline=None)
def test_files_of_tau_argus_jobs_are_confidential_exactly_as_their_list_says(
    tmp_path_factory: pytest.TempPathFactory, moved_by: int, start: int
) -> None:
    """Two sets of data whose tables differ in hidden cells only: public files are the same bytes, and so is the log."""
    folder = tmp_path_factory.mktemp("argus")
    (folder / "m.rda").write_text(
        '<SEPARATOR> ";"\na 1\n <RECODEABLE>\nb 1\n <RECODEABLE>\nv 6\n <NUMERIC>\n'
    )
    (folder / "a.hst").write_text("1;x;ml\n1;y;ml\n2;x;ml\n2;y;ml\n")
    names = {(kind, options): f"w{kind}{options[:2]}.txt" for kind, options in ARGUS_FILES}
    writes = "".join(
        f'<WRITETABLE> ({1},{kind},{options},"{name}")\n' for (kind, options), name in names.items()
    )
    job = (
        '<OPENMICRODATA> "m.csv"\n<OPENMETADATA> "m.rda"\n<SPECIFYTABLE> "a""b"|"v"\n<SAFETYRULE> FREQ(1,1)\n'
    )
    (folder / "j.arb").write_text(f'{job}<READMICRODATA>\n<APRIORI> "a.hst",1,";",0\n{writes}')
    found = list[dict[str, str]]()
    for step in (0, moved_by):
        values = {
            "1x": start + step,
            "1y": start - step,
            "2x": start - step,
            "2y": start + step,
            "3x": 700,
            "3y": 800,
        }
        (folder / "m.csv").write_text("".join(f"{c[0]};{c[1]};{v}\n" for c, v in values.items()))
        outcome = run_argus(folder / "j.arb", ArgusOptions(log=folder / "log.txt"))
        assert outcome.code == 0, outcome.message
        texts = {name: (folder / name).read_text() for name in names.values()}
        log = (folder / "log.txt").read_text().split("Start of TauArgus run")[-1].splitlines()
        texts["log"] = "\n".join(line[23:] for line in log)
        found.append(texts)
        assert not any(str(v) in texts["log"] for v in values.values() if v not in (700, 800))
    one, other = found
    assert one["log"] == other["log"]
    for (kind, options), name in names.items():
        confidential = kind in CONFIDENTIAL_TYPES or (options == "AS+" and kind != 1)
        assert (one[name] != other[name]) == confidential, name
