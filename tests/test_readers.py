"""Strange files: every reader refuses them with an `InputError` of ours; none hangs, recurses or fills the memory.

Each case was a fault once: another exception escaped, or the reader did not come back.
"""

from __future__ import annotations

import codecs
import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tablecloak import Dimension, Microdata, tabulate
from tablecloak.assessment import Marks
from tablecloak.auditing import Certificate
from tablecloak.errors import InputError
from tablecloak.files import check_writable, read_text
from tablecloak.formats import read_cloak
from tablecloak.formats.jj import parse_jj
from tablecloak.job import Job, code_labels, read_labels
from tablecloak.job.hierarchies import in_order, make_hierarchy
from tablecloak.job.positions import Faults
from tablecloak.job.settings import LIMITS
from tablecloak.model import Table
from tablecloak.tabulation import CellData

LONG = "a" * 140_000
DIGITS = "9" * 5_000
RECORDS = "who,region,value\n1,N,3\n2,S,4\n"
REGION = Dimension.flat("region", ["N", "S"])
START = '[data]\npath = "d.csv"\n[[dimension]]\nname = "region"\n[[rule]]\nrule = "p-percent"\n'


def refused(read: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        read()
    return str(caught.value)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "d.csv"
    path.write_text(RECORDS)
    return path


# ---------------------------------------------------------------------- jobs


def job(folder: Path, text: str, name: str = "job.toml") -> str:
    path = folder / name
    path.write_text(text)
    return refused(lambda: Job.read(path))


def test_a_key_that_ends_in_a_bracket(data: Path) -> None:
    """The line of the nearest key above was looked for without end."""
    assert "there is no section" in job(data.parent, '["\\u005bx["]\na=1\n')
    faults = Faults({"rule": 3, "a": 4})
    for path in ("rule[2].p", "rule[2]", "[x[", "a.[", ".", "[", "x]]", "a.b.c[1].d"):
        faults.add(path, "wrong")
    assert [line for line, _ in faults.found] == [3, 3, 0, 4, 0, 0, 0, 4]


def test_a_long_key_is_not_searched_again_and_again(data: Path) -> None:
    assert "there is no section" in job(data.parent, f'["{"a" * 300_000}["]\na = 1\n')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"p = {DIGITS}\n", "too many digits"),
        (f"x = {'[' * 20_000}", "nested more than"),
        (f"x = {'{a=' * 20_000}", "nested more than"),
        (f"[data.{'.'.join('a' * 3_000)}]\n", "nested more than"),
        (f"x = {'[' * (LIMITS.nested + 1)}{']' * (LIMITS.nested + 1)}", "nested more than"),
        ("x = 1\x00", "not a text file"),
    ],
)
def test_strange_toml(data: Path, text: str, told: str) -> None:
    assert told in job(data.parent, START + text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"job": {}}', f'{{"job": {DIGITS}}}'])
def test_strange_records(data: Path, text: str) -> None:
    job(data.parent, text, "record.json")


def test_a_record_that_is_nested_deep(data: Path) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    text = f'{{"job": {{"data": {deep}}}, "inputs": {{"d.csv": "0"}}, "public": {{}}}}'
    assert "nested more than" in job(data.parent, text, "record.json")


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 3_000, "**", "**/*.csv", "[", "a\\u0000b"])
def test_strange_names_of_files(data: Path, name: str) -> None:
    text = START.replace("d.csv", name) + f'[publish]\noutputs = ["{name}.csv"]\n[marks]\nfile = "{name}"\n'
    told = job(data.parent, text)
    assert "there is no file" in told or "not valid TOML" in told


def test_names_that_are_too_long_cannot_be_written(tmp_path: Path) -> None:
    told = refused(lambda: check_writable([tmp_path / ("x" * 300), tmp_path / "a\0b"]))
    assert "too long" in told and told.count("it cannot be written") == 2


# ---------------------------------------------------------------------- text files


@pytest.mark.parametrize("text", [f"child,parent\n{LONG},Total\n", f"{LONG}\n"])
def test_fields_longer_than_csv_allows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    table = Table.from_equations([1.0, 2.0], [], names=["a", "b"])
    for read in (
        lambda: make_hierarchy(path.name, tmp_path),
        lambda: read_labels(path),
        lambda: code_labels(path),
        lambda: Marks.of(table, path),
    ):
        assert "field" in refused(read)
    other = path.rename(tmp_path / "x.hst")
    assert "field" in refused(lambda: Marks.of(table, other))


def test_codes_of_many_digits_are_sorted_by_size() -> None:
    codes = ["10", "9", "010", DIGITS, "0"]
    assert in_order(codes) == ["0", "9", "010", "10", DIGITS]
    assert "digits" in refused(lambda: make_hierarchy(f"digits:{DIGITS}", Path(), codes=codes))


def test_a_status_of_a_million_characters() -> None:
    """All of them were kept as wide as the longest."""
    cells = "".join(f"{cell} 1 1 s 0 9 0 0 0\n" for cell in range(2_000))
    text = f"0\n2001\n{cells}x 1 1 {'s' * 1_000_000} 0 9 0 0 0\n0\n"
    assert "line 2003: cell x: the status is none of" in refused(lambda: parse_jj(text))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no /dev/zero on Windows")
def test_devices_that_never_end() -> None:
    assert "it is a device" in refused(lambda: read_text("/dev/zero"))
    assert "it is a device" in refused(lambda: read_cloak("/dev/zero"))
    assert "it is a device" in refused(lambda: Job.read(Path(os.devnull)))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": 1e400}', "null", f"{DIGITS}", '"\ud800"', ""])
def test_strange_certificates(text: str) -> None:
    refused(lambda: Certificate.from_json(text))


# ---------------------------------------------------------------------- data


def records_of(path: Path, **columns: str) -> Callable[[], object]:
    return lambda: tabulate(Microdata(path, **columns), [REGION], "value")


def test_damaged_archives(tmp_path: Path) -> None:
    packed, path = bytearray(gzip.compress(RECORDS.encode() * 50)), tmp_path / "d.csv.gz"
    for place in range(10, len(packed), 3):
        path.write_bytes(packed[:place] + bytes([packed[place] ^ 255]) + packed[place + 1 :])
        refused(records_of(path))


def test_a_first_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(b"a" * (3 << 20)))
    assert "its first line is too long" in refused(records_of(path))
    path.write_bytes(gzip.compress(codecs.BOM_UTF16_LE))
    assert "empty" in refused(records_of(path))


def test_lines_of_faults_that_cannot_be_counted(data: Path) -> None:
    """The line of a wrong code stands after a field that is longer than the csv module allows."""
    data.write_text(f"{RECORDS}3,{LONG},4\n4,unknown,5\n")
    assert "unknown code" in refused(records_of(data))


def test_names_of_respondents_have_a_limit(data: Path) -> None:
    """All of them are kept as wide as the longest."""
    data.write_text(f"{RECORDS}{'x' * 1_001},N,4\n")
    assert "line 4: the name of the respondent has more than 1000 characters" in refused(
        records_of(data, respondent="who")
    )
    assert "the name of the holding has more than" in refused(records_of(data, holding="who"))


@pytest.mark.parametrize("count", ["1e300", "-1", "nan", "0.5", DIGITS])
def test_counts_that_are_none(tmp_path: Path, count: str) -> None:
    path = tmp_path / "cells.csv"
    path.write_text(f"region,value,count\nTotal,3,2\nN,1,1\nS,2,{count}\n")
    with np.errstate(all="raise"):
        told = refused(lambda: tabulate(CellData(path, count="count"), [REGION]))
    assert "no whole number from 0" in told
