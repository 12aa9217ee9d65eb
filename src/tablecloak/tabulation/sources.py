"""Sources of tables: records (`Microdata`) or ready cells (`CellData`), and the tables made of them (`Layout`)."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.model import (
    KNOWN,
    MOST_CELLS,
    MOST_DECIMALS,
    Dimension,
    EmptyCells,
    Impossible,
    check_dimensions,
)


@dataclass(frozen=True, eq=False)
class Microdata:
    """Records, one row each. Confidential.

    `data` is a dataframe (pandas, polars, pyarrow), a mapping of columns, or the path of a CSV or Parquet file; the
    path may be a pattern (``"survey_*.parquet"``). The other fields name columns.
    """

    data: Any
    weight: str | None = None
    """Sampling weights, not negative; all records of a respondent have the same."""
    respondent: str | None = None
    """The column of respondents; without it every record is a respondent of its own, named by its row number."""
    holding: str | None = None
    """The enterprise group; records where it is empty belong to no group and count as one of their own."""
    request: str | None = None
    """The column of requests for protection: one of `request_codes`, or anything else."""
    request_codes: tuple[str, str] = ("1", "2")
    waiver: str | None = None
    """The column of waivers of protection: yes and no (1 and 0, true and false; empty means no)."""
    missing: str | None = None
    """The code that empty codes get; without it they are faults."""

    def __post_init__(self) -> None:
        codes = self.request_codes
        if not isinstance(codes, list | tuple) or len(codes) != 2 or str(codes[0]) == str(codes[1]):
            raise InputError("Microdata", ["request_codes must be two different codes"])
        roles = ("weight", "respondent", "holding", "request", "waiver")
        _check_names("Microdata", {role: getattr(self, role) for role in roles})

    def __repr__(self) -> str:
        return f"<confidential Microdata: {_shown(self.data)}>"


@dataclass(frozen=True, eq=False)
class CellData:
    """Ready cells, one row each, totals included (or to be rebuilt: `recompute`). Confidential."""

    data: Any
    count: str | None = None
    """The column of numbers of respondents that contribute to each cell."""
    top: tuple[str, ...] = ()
    """The largest contributions, largest first."""
    shadow: str | None = None
    """The totals of the variable that rules look at, where it is not the response."""
    holding_count: str | None = None
    holding_top: tuple[str, ...] = ()
    recompute: bool = False
    tolerance: float | None = None
    weighted: bool = False
    """Whether sampling weights are in the values."""

    def __post_init__(self) -> None:
        faults = [
            f"{name} must be a list of column names, not one text"
            for name in ("top", "holding_top")
            if isinstance(getattr(self, name), str)
        ]
        if self.holding_top and self.holding_count is None:
            faults.append("holding_top needs a column holding_count")
        if self.top and self.count is None:
            faults.append("top needs a column count")
        if faults:
            raise InputError("CellData", faults)
        roles = ("count", "shadow", "holding_count")
        _check_names("CellData", {role: getattr(self, role) for role in roles})

    def __repr__(self) -> str:
        return f"<confidential CellData: {_shown(self.data)}>"


@dataclass(frozen=True, eq=False)
class Layout:
    """One table to be made of microdata: its dimensions and its response.

    Without a response it is a table of counts (of weights, where there are any). Rules look at the `shadow`
    variable, which is the response unless named. `decimals` sets the data unit; leaves are rounded to it and
    totals added up from them, or (`round=False`) leaves with more decimals are refused.
    `counts` says that the response is a number of units too. `empty`, `impossible` and `most_cells` say what becomes
    of empty combinations, see `tabulate`.
    """

    dimensions: Sequence[Dimension]
    response: str | None = None
    shadow: str | None = None
    decimals: int | None = None
    round: bool = True
    counts: bool | None = None
    empty: str = KNOWN
    impossible: Impossible = None
    most_cells: int = MOST_CELLS

    @property
    def empty_cells(self) -> EmptyCells:
        """The treatment of empty combinations."""
        return EmptyCells(self.empty, self.impossible, self.most_cells)

    def __post_init__(self) -> None:
        check_dimensions(self.dimensions)
        _check_names("Layout", {"response": self.response, "shadow": self.shadow})
        names = [dimension.name for dimension in self.dimensions]
        faults = [
            f"dimension {name!r} is listed twice" for name in dict.fromkeys(names) if names.count(name) > 1
        ]
        if not names:
            faults.append("a table needs at least one dimension")
        try:
            _ = self.empty_cells
        except InputError as error:
            faults += error.faults
        if self.counts not in (None, True, False):
            faults.append("counts must be true or false")
        if self.decimals is not None and self.decimals not in range(MOST_DECIMALS + 1):
            faults.append(f"decimals must be a whole number that is not negative, {MOST_DECIMALS} at most")
        if faults:
            raise InputError("Layout", faults)


def _check_names(what: str, names: dict[str, Any]) -> None:
    """Raise unless these are names of columns, or nothing."""
    faults = [
        f"{role} must be the name of one column, got {type(name).__name__}"
        for role, name in names.items()
        if name is not None and not isinstance(name, str)
    ]
    if faults:
        advice = "Column names are text. Several responses at once: tabulate_linked."
        raise InputError(what, faults, advice=advice)


@contextmanager
def naming(data: Any) -> Iterator[None]:
    """Name the files of the data in errors inside."""
    try:
        yield
    except InputError as error:
        name = _shown(data)
        if not is_path(data) or str(data) in error.what or error.what.startswith("Data "):
            raise
        what = f"{error.what} in {name}"
        raise InputError(what, error.faults, advice=error.advice, confidential=error.confidential) from None


def is_path(data: Any) -> bool:
    """Whether the data are in files."""
    return isinstance(data, str | Path)


def _shown(data: Any) -> str:
    return reprlib.repr(str(data)) if is_path(data) else type(data).__name__
