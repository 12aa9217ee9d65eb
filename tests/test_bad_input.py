"""Bad input, as a new user gives it: each case ends in a clear message of ours, with nothing written.

A case is an action, the error it must raise and the words its message must have: what is wrong, where, and what to do.
Common to all: no true value of the example occurs in a message, nobody else's error is shown, and the folder for
outputs stays empty.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tablecloak.assessment import (
    Dominance,
    Frequency,
    Insiders,
    Marks,
    PPercent,
    PriorPosterior,
    assess,
    rule_of,
)
from tablecloak.auditing import audit, exposure
from tablecloak.cli.app import app
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, TablecloakError, UnsafePublication
from tablecloak.files import check_writable, write_files
from tablecloak.formats import read_jj, write_pattern
from tablecloak.model import (
    Attacker,
    Dimension,
    Hierarchy,
    Intervals,
    Levels,
    Problem,
    Suppression,
    Table,
    link,
)
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.tabulation import CellData, Layout, Microdata, tabulate, tabulate_linked

REGION, SIZE = Dimension.flat("region", ["N", "S"]), Dimension.flat("size", ["a", "b"])
BOTH = [REGION, SIZE]
RECORDS: dict[str, list[Any]] = {
    "region": ["N", "N", "S", "S", "N", "S"],
    "size": ["a", "b", "a", "b", "a", "b"],
    "turnover": [8675309, 47119, 77731, 55537, 99133, 12347],
    "weight": [1.0, 2.0, 1.0, 1.0, 1.0, 3.0],
    "id": list("uvwxyz"),
}
CELLS: dict[str, list[Any]] = {
    "region": ["N", "N", "N", "S", "S", "S", "Total", "Total", "Total"],
    "size": ["a", "b", "Total"] * 3,
    "value": [8774442, 47119, 8821561, 77731, 67884, 145615, 8852173, 115003, 8967176],
}
SECRETS = {f"{value}" for value in (*RECORDS["turnover"], *CELLS["value"])}
"""True values: contributions and cells."""
CSV = "\n".join(["region,size,turnover", *map("{},{},{}".format, *(list(RECORDS.values())[:3]))]) + "\n"
CSV_CELLS = "\n".join(["region,size,value", *map("{},{},{}".format, *CELLS.values())]) + "\n"
JJ = """0
3
0 47119 1 u 0 1e30 100 100 0
1 77731 1 s 0 1e30 0 0 0
2 124850 1 s 0 1e30 0 0 0
1
0 3 : 0 (1) 1 (1) 2 (-1)
"""


@dataclass(frozen=True)
class Place:
    """Two folders: one for what a case reads, one where nothing may be left."""

    given: Path
    out: Path

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.given / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


Action = Callable[[Place], object]


@dataclass(frozen=True)
class Case:
    """Something a new user might do, and what he is told."""

    name: str
    action: Action
    words: tuple[str, ...]
    error: type[TablecloakError] = InputError


def records(**changed: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(RECORDS | changed)


def cells(**changed: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(CELLS | changed)


@cache
def table() -> Table:
    return tabulate(Microdata(records(), respondent="id"), BOTH, "turnover")


@cache
def problem() -> Problem:
    return Problem.of(table(), [4, 8], Levels.at(9, [4, 8], 100, 100))


def tabulated(data: Any, **more: Any) -> Callable[[Place], Table]:
    return lambda place: tabulate(data, BOTH, "turnover", **more)


def of_cells(data: Any, response: Any = "value", **more: Any) -> Callable[[Place], Table]:
    return lambda place: tabulate(CellData(data, **more), BOTH, response)


def from_file(name: str, content: str | bytes, *, as_cells: bool = False) -> Action:
    def action(place: Place) -> object:
        path = place.file(name, content)
        return tabulate(CellData(path) if as_cells else path, BOTH, "value" if as_cells else "turnover")

    return action


def marked(data: Any) -> Action:
    return lambda place: assess(table(), [Frequency(1)], marks=Marks.of(table(), data))


def jj(old: str, new: str) -> Action:
    return lambda place: read_jj(place.file("p.jj", JJ.replace(old, new)))


def parquet(cut: slice) -> Action:
    def action(place: Place) -> object:
        records().to_parquet(place.given / "whole.parquet")
        data = (place.given / "whole.parquet").read_bytes()
        return tabulate(place.file("cut.parquet", data[cut]), BOTH, "turnover")

    return action


def full_disk(place: Place) -> Path:
    link_to = place.given / "full.csv"
    link_to.symlink_to("/dev/full")
    return link_to


# ---------------------------------------------------------------------- the cases


def of_hierarchies() -> Iterator[Case]:
    pairs = Hierarchy.from_pairs
    yield Case("cycle", lambda p: pairs([("a", "b"), ("b", "a")]), ("cycle", "'a' below 'b' below 'a'"))
    two = ("pair 2", "'a'", "two parents: 'T' (pair 1) and 'U'")
    yield Case("two parents", lambda p: pairs([("a", "T"), ("a", "U"), ("U", "T")]), two)
    yield Case("two roots", lambda p: pairs([("a", "T"), ("b", "U")]), ("'T' has no parent", "one total"))
    yield Case("gap among pairs", lambda p: pairs([("a", float("nan"))]), ("pair 1, parent", "not text"))  # type: ignore[list-item]
    frame = pd.DataFrame({"child": ["a"], "parent": ["T"]})
    yield Case("a frame as pairs", lambda p: pairs(frame), ("DataFrame", "zip(children, parents)"))  # type: ignore[arg-type]
    yield Case("a dict as pairs", lambda p: pairs({"a": "T"}), ("dict", "zip(children, parents)"))  # type: ignore[dict-item]
    yield Case("numbers as codes", lambda p: Hierarchy.flat([1, 2]), ("code 2: 2 is int, not text",))  # type: ignore[list-item]
    yield Case("code twice", lambda p: Hierarchy.flat(["a", "a"]), ("code 2", "'a'", "first: code 1"))
    yield Case("no total", lambda p: Hierarchy.flat(["a"], None), ("1 fault", "the total"))  # type: ignore[arg-type]
    yield Case("text for a list", lambda p: Dimension.flat("r", "ab"), ("'ab' is str, not a list",))
    long = ("code 2: '1234' is 4 long", "[1, 2, 3]")
    yield Case("long prefix", lambda p: Hierarchy.from_prefixes(["123", "1234"], (1, 1, 1)), long)
    whole = ("digits must be positive whole numbers", "not 3")
    yield Case("one number of digits", lambda p: Hierarchy.from_prefixes(["123"], 3), whole)  # type: ignore[arg-type]
    none = ("none.hrc", "no such file")
    yield Case("no hrc file", lambda p: Hierarchy.from_hrc(p.given / "none.hrc"), none)
    binary = ("b.hrc", "not a text file")
    yield Case("binary hrc", lambda p: Hierarchy.from_hrc(p.file("b.hrc", b"\0\1")), binary)
    yield Case("folder as hrc", lambda p: Hierarchy.from_hrc(p.given), ("cannot be read", "irectory"))
    yield Case("name as hrc", lambda p: Hierarchy.from_hrc("r.hrc"), ("name of a file", "pathlib.Path"))
    yield Case("hrc level jump", lambda p: Hierarchy.from_hrc("a\n@@b\n"), ("line 2", "'b'", "level 3"))
    bare = ("a hierarchy must be a Hierarchy, got list", "Hierarchy.flat")
    yield Case("list as hierarchy", lambda p: Dimension.of("r", ["a", "b"]), bare)  # type: ignore[arg-type]
    yield Case("dimension without name", lambda p: Dimension.flat("", ["a"]), ("name", "not empty"))


def of_records() -> Iterator[Case]:
    near = records(region=["n ", "N", "S", "S", "X", "S"])
    words: tuple[str, ...] = ("row 1", "unknown code 'n '", "did you mean 'N'?", "row 5", "'X'", "'region'")
    yield Case("unknown codes", tabulated(near), words)
    total = records(region=["Total", "N", "S", "S", "N", "S"])
    yield Case("total among records", tabulated(total), ("row 1", "'Total'", "is a total", "leaf"))
    gaps = records(region=["N", None, "S", "S", "N", float("nan")])
    yield Case("missing codes", tabulated(gaps), ("row 2", "row 6", "missing", "Microdata(missing=...)"))
    text = records(turnover=["47119", "many", "1", "2", "8,675,309", ""])
    words = ("row 2", "row 5", "not a finite number", "row 6", "is missing", "'turnover'", "decimal point")
    yield Case("text in numbers", tabulated(text), words)
    odd = records(turnover=[float("nan"), float("inf"), 47119, 1, 2, 3])
    yield Case("NaN and infinity", tabulated(odd), ("row 1", "missing", "row 2", "not a finite number"))
    dates = records(turnover=list(pd.date_range("2026-01-01", periods=6)))
    yield Case("dates as numbers", tabulated(dates), ("row 1", "'turnover'", "not a finite number"))
    imaginary = records(turnover=[1j] * 6)
    yield Case("complex numbers", tabulated(imaginary), ("row 1", "'turnover'", "not a finite number"))
    huge = records(turnover=[1e300] * 6)
    yield Case("huge numbers", tabulated(huge), ("'turnover'", "too many digits", "larger unit"))
    wrong = tabulated(records().rename(columns={"region": "Region"}))
    yield Case("wrong column", wrong, ("no column 'region'", "Columns found", "'Region'"))
    weights = Microdata(records(weight=[1.0, -2.0, float("nan"), 1.0, 1.0, 1.0]), weight="weight")
    yield Case("bad weights", tabulated(weights), ("row 2", "negative", "row 3", "'weight' is missing"))
    differ = Microdata(records(id=list("uuwxyz")), weight="weight", respondent="id")
    yield Case("weights differ", tabulated(differ), ("row 2", "same respondent in row 1"))
    nobody = Microdata(records(id=["u", None, "w", "x", "y", " "]), respondent="id")
    yield Case("missing respondents", tabulated(nobody), ("row 2", "row 6", "respondent", "missing"))
    waiver = Microdata(records(id=["maybe"] * 6), waiver="id")
    yield Case("odd waivers", tabulated(waiver), ("row 1", "neither yes nor no", "true or false"))
    yield Case("no records", tabulated(records()[:0]), ("there are no records",))
    twice = pd.concat([records(), records()[["region"]]], axis=1)
    yield Case("column twice", tabulated(twice), ("two columns 'region'", "Rename"))
    ragged = {"region": ["N", "S"], "size": ["a"], "turnover": [1, 2]}
    yield Case("ragged columns", tabulated(ragged), ("different numbers of rows", "'size' has 1"))
    yield Case("no data", tabulated(None), ("'NoneType' is no table", "pandas, polars or pyarrow"))
    lists = pl.DataFrame({"region": ["N"], "size": ["a"], "turnover": [[1, 2]]})
    yield Case("lists as numbers", tabulated(lists), ("row 1", "'turnover'", "not a finite number"))
    yield Case("top in words", tabulated(records(), top="all"), ("top", "whole number", "'all'"))
    yield Case("too many decimals", tabulated(records(), decimals=400), ("decimals", "30 at most"))
    yield Case("odd memory", tabulated(records(), memory="lots"), ("'lots'", "'1GB'"))


def of_layouts() -> Iterator[Case]:
    def shaped(dimensions: Any, response: Any = "turnover") -> Action:
        return lambda place: tabulate(records(), dimensions, response)

    words: tuple[str, ...] = ("dimension number 1 must be a Dimension, got str", "Dimension.flat")
    yield Case("names as dimensions", shaped(["region", "size"]), words)
    yield Case("one dimension bare", shaped(REGION), ("expected a list of dimensions, got Dimension",))
    yield Case("dict as dimensions", shaped({"region": ["N"]}), ("list of dimensions, got dict",))
    yield Case("no dimensions", shaped([]), ("at least one dimension",))
    yield Case("dimension twice", shaped([REGION, REGION]), ("'region' is listed twice",))
    words = ("response must be the name of one column, got list", "tabulate_linked")
    yield Case("several responses", shaped(BOTH, ["turnover", "weight"]), words)
    yield Case("text as response", shaped(BOTH, "id"), ("row 1", "'id'", "not a finite number"))
    linked = Layout([REGION], "turnover")
    words = ("source must be a Microdata, got DataFrame", "Microdata(data)")
    yield Case("linked, bare frame", lambda p: tabulate_linked(records(), [linked]), words)  # type: ignore[arg-type]
    words = ("layouts must be a Mapping or Sequence, got Layout",)
    yield Case("linked, one layout", lambda p: tabulate_linked(Microdata(records()), linked), words)  # type: ignore[arg-type]
    codes = ("request_codes", "two different codes")
    yield Case("request codes", lambda p: Microdata(records(), request_codes=("1", "1")), codes)


def of_ready_cells() -> Iterator[Case]:
    wrong = cells(region=["N", "N", "N", "S", "S", "s", "Total", "Total", "Total"])
    yield Case("cells: unknown code", of_cells(wrong), ("row 6", "unknown code 's'", "did you mean 'S'?"))
    gap = cells(region=["N", None, "N", "S", "S", "S", "Total", "Total", "Total"])
    yield Case("cells: no code", of_cells(gap), ("row 2", "the code of dimension 'region' is missing"))
    off = cells(value=[*CELLS["value"][:8], CELLS["value"][8] + 1])
    words: tuple[str, ...] = (
        "does not add up",
        "region=Total, size=Total is not the sum of its 2 parts",
        "recompute=True",
    )
    yield Case("cells: not additive", of_cells(off), words)
    without = cells()[:8]
    words = ("total region=Total, size=Total is absent", "list all totals")
    yield Case("cells: no total", of_cells(without), words)
    twice = cells(size=["a", "a", "Total"] * 3)
    yield Case("cells: twice", of_cells(twice), ("rows 1, 2", "region=N, size=a is listed 2 times"))
    text = cells(value=["8774442", "?", *CELLS["value"][2:]])
    words = ("row 2 (region=N, size=b)", "missing or not a finite number")
    yield Case("cells: text", of_cells(text), words)
    huge = cells(value=[1e300] * 9)
    yield Case("cells: huge", of_cells(huge), ("row 1", "1e+18 or more", "larger unit"))
    dates = cells(value=list(pd.date_range("2026-01-01", periods=9)))
    yield Case("cells: dates", of_cells(dates), ("row 1", "not a finite number"))
    yield Case("cells: none", of_cells(cells()[:0]), ("has no cells", "at least one row"))
    yield Case("cells: column", of_cells(cells(), "values"), ("no column 'values'", "'value'"))
    half = of_cells(cells(n=[1.5] * 9), count="n")
    yield Case("cells: half a count", half, ("region=N, size=a", "'n' is no whole number"))
    rising = of_cells(cells(n=[3] * 9, x=[1] * 9, y=[2] * 9), count="n", top=("x", "y"))
    yield Case("cells: top not sorted", rising, ("region=N, size=a", "'y' is larger than that in 'x'"))
    yield Case("cells: top as text", of_cells(cells(), top="x"), ("top", "list of column names"))
    loose = of_cells(cells(), tolerance="small")
    yield Case("cells: tolerance", loose, ("tolerance", "finite number that is not negative"))
    words = ("'str' is no table", "dict of columns or a dataframe")
    yield Case("cells: a path", lambda p: Table.from_cells(BOTH, "cells.csv"), words)  # type: ignore[arg-type]
    ragged = ("equations over 3 cells", "2 values")
    yield Case("equations: shape", lambda p: Table.from_equations([1, 2], [[1, 1, -1]]), ragged)


def of_files() -> Iterator[Case]:
    none = ("none.csv", "no such file")
    yield Case("no file", lambda p: tabulate(p.given / "none.csv", BOTH, "turnover"), none)
    folder = ("it is a directory, not a file",)
    yield Case("a folder", lambda p: tabulate(p.given, BOTH, "turnover"), folder)
    yield Case("no name", tabulated(""), ("no such file",))
    yield Case("text as path", tabulated(CSV), ("no such file", "a text that is no path"))
    yield Case("empty file", from_file("e.csv", ""), ("e.csv", "the file is empty"))
    yield Case("blank file", from_file("e.csv", "\n\n"), ("e.csv", "the file is empty"))
    header = from_file("h.csv", "region,size,turnover\n")
    yield Case("names only", header, ("h.csv", "there are no records"))
    longer = from_file("r.csv", CSV + "N,a,1,2\n")
    yield Case("long row", longer, ("r.csv", "line 8: 4 columns, but the first line has 3"))
    shorter = from_file("r.csv", CSV + "N,a\n")
    yield Case("short row", shorter, ("r.csv", "line 8: 2 columns, but the first line has 3"))
    quote = from_file("q.csv", CSV + '"N,a,1\n')
    yield Case("open quote", quote, ("q.csv", "line 8", "quote is opened and never closed"))
    nameless = from_file("n.csv", CSV.partition("\n")[2])
    yield Case("no names", nameless, ("n.csv", "no column 'region'", "'N', 'a', (a number)"))
    comma = from_file("c.csv", "region;size;turnover\nN;a;8675309,5\n")
    yield Case("decimal comma", comma, ("c.csv", "line 2", "not a finite number", "decimal point"))
    far = from_file("u.csv", CSV + "\n\nN,z,1\n")
    yield Case("line after blanks", far, ("u.csv", "line 10", "unknown code 'z'"))
    latin = from_file("l.csv", CSV.encode("latin-1") + "Å,a,1\n".encode("latin-1"))
    yield Case("Latin-1", latin, ("l.csv", "line 8", "unknown code 'Å'"))
    yield Case("UTF-16 without mark", from_file("u.csv", CSV.encode("utf-16-le")), ("not a text file",))
    excel = from_file("x.xlsx", b"PK\3\4")
    yield Case("Excel", excel, ("x.xlsx", "must end in one of .csv", "save it as"))
    yield Case("Excel as CSV", from_file("x.csv", b"PK\3\4\0\0"), ("x.csv", "not a text file"))
    page = from_file("page.csv", "<html><body>Not found</body></html>" * 5)
    yield Case("web page", page, ("page.csv", "no column 'region'", "(a long text)"))
    yield Case("cut Parquet", parquet(slice(0, 300)), ("cut.parquet", "cannot be read as a Parquet file"))
    yield Case("CSV as Parquet", from_file("c.parquet", CSV), ("c.parquet", "Parquet"))
    damaged = gzip.compress(CSV.encode() * 1000)
    yield Case("cut gzip", from_file("z.csv.gz", damaged[:60]), ("z.csv.gz", "is the file complete?"))
    yield Case("no gzip", from_file("z.csv.gz", CSV), ("z.csv.gz", "cannot be read"))
    wrong = from_file("w.csv", CSV_CELLS.replace("S,b,", "\nS,c,"), as_cells=True)
    yield Case("cells by line", wrong, ("w.csv", "line 7: unknown code 'c' in dimension 'size'"))
    again = from_file("d.csv", CSV_CELLS + "N,a,1\n", as_cells=True)
    yield Case("cells twice by line", again, ("d.csv", "lines 2, 11: cell region=N, size=a"))


def of_rules() -> Iterator[Case]:
    def assessed(rules: Any, **more: Any) -> Action:
        return lambda place: assess(table(), rules, **more)

    yield Case("p of 100", lambda p: PPercent(100), ("p must be", "less than 100", "got 100"))
    yield Case("p in words", lambda p: PPercent("ten"), ("p must be a number", "'ten'"))  # type: ignore[arg-type]
    yield Case("dominance", lambda p: Dominance(0, 120), ("2 faults", "n must be", "k must be"))
    yield Case("p above q", lambda p: PriorPosterior(20, 10), ("p must be less than q",))
    yield Case("unknown rule", lambda p: rule_of({"rule": "p%"}), ("no rule 'p%'", "Rules: dominance"))
    yield Case("key of a rule", lambda p: rule_of({"rule": "p-percent", "q": 1}), ("'q'", "p is missing"))
    yield Case("name as rule", assessed("p-percent"), ("1 fault", "no rule but str", "PPercent(10)"))
    yield Case("None as rules", assessed(None), ("no rule but NoneType", "PPercent(10)"))
    bare = of_cells(cells())
    words: tuple[str, ...] = ("p% rule", "knows no contributions of respondents", "Tabulate microdata")
    yield Case("no contributors", lambda p: assess(bare(p), PPercent(10)), words)
    words = ("knows no contributions of holdings", "column of holdings")
    yield Case("no holdings", assessed(PPercent(10, level="holdings")), words)
    words = ("table must be a Table, got DataFrame", "tabulate")
    yield Case("assess a frame", lambda p: assess(records(), PPercent(10)), words)  # type: ignore[arg-type]
    yield Case("weights", assessed(Frequency(2), weights="cost"), ("no weights 'cost'", "value, unit, log"))
    few = assessed(Frequency(2), weights=[1, 2])
    yield Case("few weights", few, ("weights: expected 9 numbers", "(2,)"))
    forced = assessed(Frequency(2), forced=[5])
    yield Case("forced and sensitive", forced, ("region=N, size=b", "both forced", "and sensitive"))
    yield Case("bounds", assessed(Frequency(2), known=5), ("known must be a pair", "known=(0, np.inf)"))
    narrow = assessed(Frequency(2), known=(0, 50))
    yield Case("narrow bounds", narrow, ("region=Total, size=Total", "outside the a-priori bounds"))
    safe = assessed(Frequency(2), missing_safe={"regio": ["N"]})
    yield Case("missing codes safe", safe, ("no dimension 'regio'", "Dimensions: region, size"))
    yield Case("insiders", assessed(Frequency(2), insiders=True), ("insiders must be a Insiders, got bool",))
    crowd = assessed(PPercent(10), insiders=Insiders(largest=3, most=1))
    yield Case("many insiders", crowd, ("attackers", "more than most=1", "raise most"))


def of_marks() -> Iterator[Case]:
    def marks(**columns: Any) -> Action:
        return marked({"region": ["N"], "size": ["a"]} | columns)

    yield Case("mark", marks(mark=["publish"]), ("row 1", "'publish' is none of safe, unsafe"))
    yield Case("mark of no cell", marks(region=["X"], mark=["safe"]), ("row 1", "unknown code 'X'"))
    both = marks(region=["N", "N"], size=["a", "a"], mark=["safe", "unsafe"])
    yield Case("contradictory marks", both, ("row 2", "region=N, size=a", "already in row 1"))
    yield Case("safe with a level", marks(mark=["safe"], lower=[5]), ("row 1", "marked safe", "level"))
    yield Case("level in words", marks(mark=["unsafe"], lower=["5 %"]), ("row 1", "lower is not a number"))
    yield Case("level of nobody", marks(lower=[5]), ("row 1", "is not sensitive", "unsafe"))
    low = marks(mark=["unsafe"], lower=[1e9])
    yield Case("infeasible level", low, ("region=N, size=a", "bounds are narrower", "widen=True"))
    yield Case("column of marks", marks(comment=["?"]), ("unknown column 'comment'", "then mark, weight"))
    yield Case("no marks file", marked("none.csv"), ("none.csv", "no such file"))
    short = "region,size,mark\n\nN,a\n"
    yield Case("short mark", lambda p: Marks.of(table(), p.file("m.csv", short)), ("m.csv", "line 3"))
    command = ("m.hst", "line 1", "pl needs lower and upper")
    yield Case("command", lambda p: Marks.of(table(), p.file("m.hst", "N,a,pl,x\n")), command)
    words: tuple[str, ...] = ("marks must be a Marks, got DataFrame", "Marks.of(table, data)")
    yield Case("bare marks", lambda p: assess(table(), [], marks=records()), words)  # type: ignore[arg-type]


def of_problems() -> Iterator[Case]:
    def made(*given: Any, **more: Any) -> Callable[[Place], Problem]:
        return lambda place: Problem.of(table(), *given, **more)

    def protected(*given: Any, **more: Any) -> Action:
        return lambda place: protect(problem(), *given, **more)

    yield Case("no such cell", made([99]), ("sensitive", "no cell number 99"))
    yield Case("labels as cells", made(["N"]), ("sensitive", "mask", "list of cell numbers"))
    yield Case("negative level", made([0], Levels.at(9, [0], -1)), ("region=Total", "not negative"))
    words: tuple[str, ...] = ("region=Total, size=a", "level on a cell that is not sensitive")
    yield Case("level elsewhere", made([0], Levels.at(9, [1], 5)), words)
    yield Case("levels as dict", made([0], {"lower": 1}), ("levels must be a Levels", "Levels.at"))
    yield Case("levels as text", lambda p: Levels.at(9, [0], "x"), ("expected numbers",))
    outside = Attacker.knowing("rival", [0], 1, 2)
    yield Case("impossible attacker", made([0], attackers=[outside]), ("attacker 'rival'", "outside"))
    yield Case("few may be touched", made([0, 1], most_touched=1), ("at most 1", "2 must be hidden"))
    code = ("'region' has no code 'n'", "did you mean 'N'?")
    yield Case("find a code", lambda p: table().find(region="n"), code)
    name = ("no dimension called 'regoin'", "did you mean 'region'?")
    yield Case("find a dimension", lambda p: table().find(regoin="N"), name)
    yield Case("method", protected("supress-greedy"), ("'supress-greedy'; did you mean 'suppress-greedy'?",))
    yield Case("parameter", protected(params={"secs": 3}), ("unknown parameter 'secs'", "seconds"))
    close = ("unknown parameter 'second'", "did you mean 'seconds'?")
    yield Case("near parameter", protected(params={"second": 3}), close)
    yield Case(
        "array of seconds", protected(params={"seconds": np.array([1, 2])}), ("'seconds'", "not ndarray")
    )
    yield Case(
        "true for a number", protected(params={"seconds": True}), ("takes a number or none", "not True")
    )
    yield Case(
        "rounds and a half",
        protected("suppress-greedy", params={"reweight": 2.5}),
        ("takes a whole number", "not 2.5"),
    )
    yield Case(
        "array of bases",
        protected("round-controlled", params={"base": np.ones(9)}),
        ("'base'", "not ndarray"),
    )
    sequence = ("'published_low'", "a number for each cell", "not True")
    yield Case("true for a sequence", protected("mixed-joint", params={"published_low": True}), sequence)
    yield Case(
        "seconds", protected(params={"seconds": "1 min"}), ("'seconds'", "takes a number or none", "'1 min'")
    )
    yield Case("NaN seconds", protected(params={"seconds": float("nan")}), ("'seconds'",))
    yield Case("seed", protected(seed="x"), ("seed", "whole number"))
    exactly = lambda **params: protected("suppress-optimal", params={"seconds": 2, **params})  # noqa: E731
    yield Case("engine", exactly(engine="gurobi"), ("engine 'gurobi' is not auto, scip or highs",))
    yield Case("no rows", exactly(rows_a_round=0), ("rows_a_round",))
    yield Case("negative gap", exactly(gap=-0.1), ("gap",))
    yield Case("NaN gap", exactly(gap=float("nan")), ("gap",))
    yield Case("negative nodes", exactly(nodes=-1), ("nodes",))
    words = ("problem must be a Problem, got Table", "assess(table, rules)")
    yield Case("protect a table", lambda p: protect(table()), words)  # type: ignore[arg-type]
    yield Case("exposure of a table", lambda p: exposure(table()), words)  # type: ignore[arg-type]
    stuck = made([4], Levels.at(9, [4], 100, 100), forced=[0, 1, 2, 3, 5, 6, 7, 8])
    words = ("Nothing that hides or blurs cells", "region=N, size=a", "must be published", "Lower the levels")
    yield Case("infeasible", lambda p: protect(stuck(p)), words, InfeasibleProblem)
    bounded = made([4], most_touched=3)
    words = ("cannot honour a bound", "suppress-compact")
    yield Case("not applicable", lambda p: protect(bounded(p), "suppress-greedy"), words, NotApplicable)
    yield Case("audit a result", lambda p: audit(problem(), protect(problem())), ("result.pattern",))  # type: ignore[arg-type]
    mask = np.ones(9, dtype=bool)
    yield Case("audit a mask", lambda p: audit(problem(), mask), ("got ndarray", "Suppression.of"))  # type: ignore[arg-type]
    lies = Intervals(np.zeros(9), np.ones(9))
    yield Case("audit lies", lambda p: audit(problem(), lies), ("region=N, size=a", "never false"))
    yield Case("link nothing", lambda p: link([]), ("no table given",))
    less = tabulated(records(turnover=[1] * 6))
    yield Case(
        "link strangers", lambda p: link([table(), less(p)]), ("region=N, size=Total", "different values")
    )


def of_jj_files() -> Iterator[Case]:
    yield Case("no JJ file", lambda p: read_jj(p.given / "no.jj"), ("no.jj", "no such file"))
    yield Case("JJ: empty", jj(JJ, ""), ("p.jj", "line 1", "ends before the number of cells"))
    yield Case("JJ: a CSV", jj(JJ, CSV), ("p.jj", "line 1: the first line of a JJ file is 0"))
    yield Case("JJ: status", jj(" u ", " q "), ("line 3", "cell 0", "none of u, s, z, m"))
    yield Case("JJ: number", jj("77731", "77,731"), ("line 4", "cell 1", "value is not a finite number"))
    yield Case("JJ: not additive", jj("124850", "124851"), ("line 7", "does not add up"))
    yield Case("JJ: unknown id", jj("2 (-1)", "9 (-1)"), ("line 7", "no cell 9"))
    yield Case("JJ: id twice", jj("1 77731", "0 77731"), ("line 4", "already in line 3"))
    yield Case("JJ: cut short", jj("0 3 : 0 (1)", ""), ("line",))
    yield Case("JJ: narrow", jj("u 0 1e30", "u 47100 47200"), ("cell=0", "narrower", "--widen"))


def of_publications() -> Iterator[Case]:
    def published(**more: Any) -> Action:
        return lambda place: publish(problem(), protect(problem()), **more)

    def written(path: Callable[[Place], Any]) -> Action:
        return lambda place: publish(problem(), protect(problem())).write(path(place))

    labels = {"region": {"X": "West"}}
    yield Case("label of no code", published(labels=labels), ("'region' has no code 'X'",))
    flat = published(labels={"N": "North"})
    yield Case("flat labels", flat, ("no dimension 'N'", "by dimension, then by code"))
    yield Case("labels as path", published(labels="labels.csv"), ("labels must be a Mapping, got str",))
    yield Case("symbol", published(symbol="0"), ("symbol", "no number"))
    bare = Suppression(np.isin(np.arange(9), [4, 8]))
    yield Case("no audit", lambda p: publish(problem(), bare), ("no audit",), UnsafePublication)
    words: tuple[str, ...] = ("did not pass", "region=N, size=a is not protected")
    failing = lambda p: publish(problem(), bare, audit(problem(), bare))  # noqa: E731
    yield Case("failing audit", failing, words, UnsafePublication)
    other = lambda p: publish(Problem.of(table(), [4]), protect(problem()))  # noqa: E731
    yield Case("another problem", other, ("another problem",), UnsafePublication)
    yield Case("unknown format", written(lambda p: p.out / "t.pdf"), ("t.pdf", ".csv, .html, .parquet"))
    yield Case("no folder", written(lambda p: p.out / "no" / "t.csv"), ("t.csv", "No such file or directory"))
    yield Case("folder as file", written(lambda p: p.given), ("no public format",))
    inside = written(lambda p: p.file("f", "") / "t.csv")
    yield Case("file as folder", inside, ("t.csv", "Not a directory"))
    yield Case("long name", written(lambda p: p.out / ("t" * 300 + ".csv")), ("name too long",))
    yield Case("zero in name", written(lambda p: p.out / "t\0.csv"), ("cannot be written",))
    yield Case("full disk", written(full_disk), ("full.csv", "No space left"))
    second = lambda p: write_files({p.out / "a.csv": "public", p.out / "no" / "b.csv": "public"})  # noqa: E731
    yield Case("second of two", second, ("b.csv", "No such file or directory"))
    yield Case("no path", written(lambda p: None), ("path must be a str or PathLike, got NoneType",))


CASES = [
    *of_hierarchies(), *of_records(), *of_layouts(), *of_ready_cells(), *of_files(), *of_rules(), *of_marks(),
    *of_problems(), *of_jj_files(), *of_publications(),
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path / "given", tmp_path / "out")
    found.given.mkdir()
    found.out.mkdir()
    return found


def check_message(message: str, words: tuple[str, ...]) -> None:
    """It has the words, no true value, and nothing of a library's insides."""
    assert not [word for word in words if word not in message], message
    plain = message.replace(",", "")
    assert not [secret for secret in SECRETS if secret in plain], message
    assert not [word for word in ("Traceback", "duckdb", "DuckDB", "numpy.", "pandas.") if word in message]


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_bad_input(case: Case, place: Place) -> None:
    with pytest.raises(TablecloakError) as caught:
        case.action(place)
    assert type(caught.value) is case.error
    check_message(str(caught.value), case.words)
    assert caught.value.__cause__ is None
    assert not list(place.out.iterdir())
    assert not list(place.given.glob(".*"))


def test_there_are_enough_cases_and_each_has_its_name() -> None:
    names = [case.name for case in CASES]
    assert len(names) >= 150
    assert sorted(set(names)) == sorted(names)


def test_good_input_is_good(place: Place) -> None:
    """What the cases spoil works as it is."""
    assert tabulate(place.file("d.csv", CSV), BOTH, "turnover").find(region="N", size="b") >= 0
    assert len(tabulate(CellData(place.file("c.csv", CSV_CELLS)), BOTH, "value")) == 9
    assert read_jj(place.file("p.jj", JJ)).problem.sensitive.sum() == 1
    path = publish(problem(), protect(problem())).write(place.out / "t.csv")
    assert [found.name for found in place.out.iterdir()] == [path.name]


def test_permission_denied(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as a user to whom everything is permitted: another answer is given here."""
    monkeypatch.setattr("os.access", lambda *given: False)
    with pytest.raises(InputError, match=r"t\.csv: it cannot be written \(permission denied\)"):
        check_writable([place.out / "t.csv"])


def test_a_level_within_rounding_noise_counts_as_none() -> None:
    """The audit takes it for noise: without a data unit in its place a determined cell would pass."""
    cell = table().find(region="N", size="b")
    tiny = Problem.of(table(), [cell], Levels.at(9, [cell], 1e-9, 1e-9))
    assert tiny.levels.sliding[cell] == table().unit
    small = Problem.of(table(), [cell], Levels.at(9, [cell], 1e-6, 1e-6))
    assert small.levels.lower[cell] == small.levels.upper[cell] == table().unit
    assert not audit(tiny, Suppression.of(table(), [cell])).safe
    large = Table.from_equations([1e15, 3e15, 4e15], [[1, 1, -1]])
    assert not audit(Problem.of(large, [0]), Suppression.of(large, [0])).safe


# ---------------------------------------------------------------------- the command line


COMMANDS: list[tuple[str, tuple[str, ...], int]] = [
    ("tabulate none.csv --dimension region -o out/t.cloak", ("none.csv",), 2),
    ("tabulate d.csv -o out/t.cloak", ("--dimension",), 2),
    ("tabulate d.csv --dimension regio -o out/t.cloak", ("'regio'", "did you mean 'region'?"), 2),
    ("tabulate n.csv --dimension region -o out/t.cloak", ("n.csv", "'region'", "N, a, (a number)"), 2),
    ("tabulate d.csv --dimension region=no.hrc -o out/t.cloak", ("no.hrc", "no file"), 2),
    ("tabulate d.csv --dimension region --response turnovr -o out/t.cloak", ("--response", "'turnover'?"), 2),
    ("tabulate d.csv --dimension region --response size -o out/t.cloak", ("line 2", "'size'"), 2),
    ("tabulate d.csv --dimension region --response turnover -o d.csv", ("d.csv", "an input file"), 2),
    ("tabulate d.csv --dimension region --response turnover -o out/no/t.cloak", ("no directory",), 2),
    ("tabulate d.csv --dimension region --response turnover -o out", ("it is a directory",), 2),
    ("tabulate d.csv --dimension region --total regio=T -o out/t.cloak", ("--total regio=T",), 2),
    ("assess t.cloak -o out/p.cloak", ("no --rule", "nothing would be sensitive"), 2),
    ("assess t.cloak --rule p-percnt -o out/p.cloak", ("'p-percnt'", "p-percent"), 2),
    ("assess t.cloak --rule frequency -o out/p.cloak", ("minimum is missing",), 2),
    ("assess d.csv --rule zero -o out/p.cloak", ("distance is missing",), 2),
    ("assess p.jj --rule frequency minimum=2 -o out/p.cloak", ("unexpected", "minimum=2"), 2),
    ("assess t.cloak --insiders larg=2 --marks m.csv -o out/p.cloak", ("'largest'?",), 2),
    ("protect none.jj --pattern out/s.csv", ("none.jj", "no such file"), 2),
    ("protect d.csv --pattern out/s.csv", ("d.csv", "line 1"), 2),
    ("protect t.cloak --pattern out/s.csv", ("sensitive cells are not known", "tablecloak assess"), 2),
    ("protect p.jj --method no --pattern out/s.csv", ("no method 'no'", "suppress-greedy"), 2),
    ("protect p.jj --set seconds --pattern out/s.csv", ("--set seconds", "KEY=VALUE"), 2),
    ("protect p.jj --pattern out/s.csv --json out/s.csv", ("s.csv", "asked for twice"), 2),
    ("protect p.jj --pattern p.jj", ("p.jj", "it is an input file"), 2),
    ("protect stuck.jj --pattern out/s.csv", ("Nothing that hides or blurs cells", "cell=0"), 3),
    ("audit p.jj --pattern none.csv", ("none.csv", "no such file"), 2),
    ("audit p.jj --pattern d.csv", ("d.csv",), 2),
    ("publish p.jj --pattern s.csv -o out/t.pdf", ("t.pdf", ".xlsx"), 2),
    ("publish p.jj --pattern s.csv -o s.csv", ("s.csv", "it is an input file"), 2),
    ("publish p.jj --pattern s.csv -o out/t.csv -o out/t.csv", ("asked for twice",), 2),
    ("publish p.jj --pattern s.csv -o out/no/t.csv -o out/t.html", ("no directory",), 2),
    ("publish p.jj --pattern s.csv -o out/t.csv --labels none.csv", ("none.csv", "no such file"), 2),
    ("publish p.jj --pattern open.csv -o out/t.csv -o out/t.html", ("did not pass", "cell=0"), 4),
    ("run none.toml", ("none.toml", "no such file"), 2),
    ("run broken.toml", ("broken.toml", "line 2"), 2),
    ("run empty.toml --dry-run", ("[data]", "[[dimension]]", "[[rule]]"), 2),
    ("run d.csv", ("d.csv", "TOML", "line 1"), 2),
    ("init none.csv -o out/j.toml", ("none.csv", "no such file"), 2),
    ("init d.csv -o d.csv", ("d.csv", "it is an input file"), 2),
    ("init e.csv -o out/j.toml", ("e.csv", "the file is empty"), 2),
]
"""A command, the words of its message and its exit code."""


@pytest.fixture
def desk(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A folder with files to work on, which is where commands run; `out` is in it."""
    from tablecloak.formats import write_cloak

    instance = read_jj(place.file("p.jj", JJ)).problem
    files: dict[str, str | bytes] = {
        "d.csv": CSV,
        "e.csv": "",
        "n.csv": CSV.partition("\n")[2],
        "m.csv": "region,size,mark\nN,a,unsafe\n",
        "stuck.jj": JJ.replace("77731 1 s", "77731 1 z").replace("124850 1 s", "124850 1 z"),
        "s.csv": write_pattern(instance, Suppression.of(instance.table, [0, 1])),
        "open.csv": write_pattern(instance, Suppression.of(instance.table, [0])),
        "broken.toml": "[data]\npath = \n",
        "empty.toml": "",
        "t.cloak": write_cloak(table()),
    }
    for name, content in files.items():
        place.file(name, content)
    (place.given / "out").mkdir()
    monkeypatch.chdir(place.given)
    return Place(place.given, place.given / "out")


@pytest.mark.parametrize(("command", "words", "code"), COMMANDS, ids=[command for command, *_ in COMMANDS])
def test_bad_commands(
    command: str, words: tuple[str, ...], code: int, desk: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in desk.given.iterdir() if path.is_file()}
    with pytest.raises(SystemExit) as ended:
        app(command.split(" "))
    told = capsys.readouterr()
    assert ended.value.code == code, told.err
    assert not told.out
    check_message(told.err, words)
    assert not list(desk.out.iterdir())
    assert {path.name: path.read_bytes() for path in desk.given.iterdir() if path.is_file()} == before
