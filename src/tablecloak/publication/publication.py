"""Publication: a table as it may leave the building.

It holds what a `View` states about each cell, and public labels. It holds no true value of a hidden cell,
it does not know which hidden cells are sensitive, and nothing in it (order, decimals, widths) depends on
what is hidden. `tablecloak.publication.publish.publish` makes one; the public formats write it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Codes, Floats, Ints, frozen
from tablecloak.errors import InputError, check_kind
from tablecloak.frames import make_frame
from tablecloak.model import LARGEST_UNITS, RESPONSE, infer_decimals, is_whole, nearest_units, plain_number

if TYPE_CHECKING:
    from typing import TypeAlias

    Writer: TypeAlias = Callable[["Publication"], str | bytes]

PUBLISHED, HIDDEN, INTERVAL = "published", "hidden", "interval"
ROUNDED, PERTURBED = "rounded", "perturbed"
NOTHING = "–"
"""Stands where the table has no cell."""
THIN_SPACE = "\u202f"
"""Between groups of three digits, where people read them; a line never breaks there."""


@dataclass(frozen=True, eq=False)
class PublicDimension:
    """The codes of one dimension in the order of print: totals first, then what is below them."""

    name: str
    codes: tuple[str, ...]
    parent: tuple[int, ...]
    """The position of the code that each one is printed under, -1 for none."""
    depth: tuple[int, ...]
    labels: tuple[str, ...] | None = None
    """What each code means, empty where none was given; None where no labels were given."""

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What people read for each code: its label, or the code itself."""
        return tuple(label or code for label, code in zip(self.labels or self.codes, self.codes, strict=True))

    @cached_property
    def has_levels(self) -> bool:
        """Whether some codes are printed under others."""
        return any(parent >= 0 for parent in self.parent)

    def __repr__(self) -> str:
        return f"PublicDimension({self.name!r}, {len(self.codes)} codes)"


@dataclass(frozen=True, eq=False)
class Publication:
    """What is said about each cell, in the order of print. Public."""

    dimensions: tuple[PublicDimension, ...]
    codes: Codes
    """(cells, dimensions): positions in the codes of each dimension."""
    status: NDArray[np.str_]
    """For each cell: published, hidden, interval, rounded or perturbed."""
    shown: Floats
    """The number printed, NaN where there is none."""
    low: Floats
    high: Floats
    """Each cell lies in low..high, infinite where nothing is said."""
    within: Floats
    """How far the number printed may be from the truth; zero where it is exact or there is none."""
    decimals: int
    """As many as it takes to write the numbers that are printed."""
    response: str = "value"
    title: str = ""
    note: str = ""
    symbol: str = "x"
    """Printed for a hidden cell."""
    gap: str = "no such cell"
    """What a combination of codes without a cell means."""
    part_gaps: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """Gaps in single tables of linked ones, by the names of their dimensions in order."""
    frame_kind: str | None = None
    unit: float | None = None
    """Every number is a multiple of this printed unit; None: they are printed as they are."""
    coarser: bool = False
    """Whether the printed unit is more than the data unit: numbers are rounded, and may not add up."""
    despite: str = field(default="", repr=False)
    """Confidential: why this was published although the audit left cells open. No public format writes it."""

    # ------------------------------------------------------------------ looking at it

    def __len__(self) -> int:
        return self.shown.size

    @cached_property
    def heading(self) -> str:
        """The title, or else what is shown."""
        return self.title or self.description[:1].upper() + self.description[1:]

    @cached_property
    def description(self) -> str:
        """The response and the dimensions: ``turnover by region and industry``."""
        *names, last = [dimension.name for dimension in self.dimensions]
        return f"{self.response} by {', '.join(names)} and {last}" if names else f"{self.response} by {last}"

    def is_status(self, *words: str) -> Bools:
        """Cells that are published in one of these ways."""
        return np.asarray(np.isin(self.status, words))

    @cached_property
    def common_reach(self) -> float | None:
        """The one reach of all numbers that are printed; None where they differ."""
        reaches = np.unique(self.within[~np.isnan(self.shown)])
        return float(reaches[0]) if reaches.size == 1 else None

    @cached_property
    def own_reach(self) -> Bools:
        """Rounded and perturbed cells each of which says how far its number may be off."""
        return self.is_status(ROUNDED, PERTURBED) & (self.within > 0) & (self.common_reach is None)

    def texts(self, group: str = "") -> list[str]:
        """What is printed for each cell, digits in groups of three with `group` between them.

        A number; the symbol; an interval as "l to u", "at least l" or "at most u". A rounded or perturbed
        number says how far it may be off ("120 ± 5"), unless that is the same for all numbers.
        """
        texts = self.number_texts(self.shown, group)
        for cell in np.flatnonzero(self.is_status(HIDDEN)):
            texts[cell] = self.symbol
        low, high = self.number_texts(self.low, group), self.number_texts(self.high, group)
        for cell in np.flatnonzero(self.is_status(INTERVAL)):
            both = f"{low[cell]} to {high[cell]}" if low[cell] else f"at most {high[cell]}"
            texts[cell] = both if high[cell] else f"at least {low[cell]}"
        for cell in np.flatnonzero(self.own_reach):
            texts[cell] += f" ± {plain_number(self.within[cell])}"
        return texts

    def number_texts(self, numbers: Floats, group: str = "") -> list[str]:
        """Numbers with the decimals of this publication; nothing for NaN and infinity."""
        form = f"{{:,.{self.decimals}f}}" if group else f"{{:.{self.decimals}f}}"
        return [
            form.format(number).replace(",", group) if finite else ""
            for number, finite in zip(numbers.tolist(), np.isfinite(numbers).tolist(), strict=True)
        ]

    def legend(self) -> list[tuple[str, str]]:
        """The marks used, each with what it means; statements about all numbers have no mark."""
        lines = []
        if self.is_status(HIDDEN).any():
            lines.append((self.symbol, "not published, to keep data about individual units confidential"))
        if self.is_status(INTERVAL).any():
            lines.append(("a to b", "the value lies between a and b, both included"))
        if self.has_gaps:
            lines.append((NOTHING, self.gap))
        if how := " or ".join(word for word in (ROUNDED, PERTURBED) if self.is_status(word).any()):
            if self.common_reach is None:
                lines.append(("a ± b", f"{how}: the value lies within b of a"))
            else:
                off = f"within {plain_number(self.common_reach)} of the number shown"
                lines.append(("", f"{how.capitalize()} numbers: each value lies {off}."))
        if self.coarser:
            lines.append(("", self.rounding_note))
        return lines

    @cached_property
    def rounding_note(self) -> str:
        """What printing in a coarser unit means; empty where numbers are printed as they are."""
        if not self.coarser or self.unit is None:
            return ""
        note = f"Numbers are rounded to multiples of {plain_number(self.unit)} and may not add up"
        if not self.is_status(PUBLISHED).any():
            return f"{note}."
        wider = ", unless a wider margin is given" if self.is_status(ROUNDED, PERTURBED).any() else ""
        return f"{note}: each value lies within {plain_number(self.unit / 2)} of the number shown{wider}."

    @cached_property
    def has_gaps(self) -> bool:
        """Whether some combinations of codes have no cell."""
        return len(self) < prod(len(dimension.codes) for dimension in self.dimensions)

    # ------------------------------------------------------------------ as columns

    def columns(self) -> dict[str, NDArray[Any]]:
        """One column a dimension (and one for its labels), the numbers, the status; NaN: there is no number.

        `low` and `high` are there if some cells are intervals, `within` if some numbers need not be exact.
        A name that is taken already gets an underscore at its end.
        """
        columns: dict[str, NDArray[Any]] = {}
        for d, dimension in enumerate(self.dimensions):
            names = np.array(dimension.codes, dtype=object)
            columns[_free(dimension.name, columns)] = names[self.codes[:, d]]
            if dimension.labels is not None:
                labels = np.array(dimension.labels, dtype=object)[self.codes[:, d]]
                columns[_free(f"{dimension.name}_label", columns)] = labels
        columns[self.response_column] = self.shown
        columns[_free("status", columns)] = self.status.astype(object)
        if (ranges := self.is_status(INTERVAL)).any():
            for name, ends in (("low", self.low), ("high", self.high)):
                columns[_free(name, columns)] = np.where(ranges & np.isfinite(ends), ends, np.nan)
        if (self.within > 0).any():
            columns[_free("within", columns)] = np.where(self.within > 0, self.within, np.nan)
        return columns

    @cached_property
    def response_column(self) -> str:
        """The name of the column of numbers."""
        taken = [dimension.name for dimension in self.dimensions]
        taken += [f"{dimension.name}_label" for dimension in self.dimensions if dimension.labels is not None]
        return _free(self.response, taken)

    def to_frame(self) -> Any:
        """The columns as a dataframe of the kind that the data came in (plain columns if there was none).

        Where there is no number, dataframes have a gap (null), plain columns NaN.
        """
        columns = self.columns()
        if self.frame_kind is not None:
            columns = {name: _with_gaps(column) for name, column in columns.items()}
        return make_frame(columns, self.frame_kind)

    # ------------------------------------------------------------------ a part of it

    def part(self, dimensions: Sequence[str], where: Mapping[str, str] | None = None) -> Publication:
        """The cells of some dimensions only: one of several linked tables.

        Every other dimension is fixed at the code given in `where`, or at its first code, its total. Where the
        dimension of responses is fixed, that one gives its name to the part.
        """
        names = [dimension.name for dimension in self.dimensions]
        fixed = dict(where or {})
        faults = [f"there is no dimension {name!r}" for name in (*dimensions, *fixed) if name not in names]
        faults += [f"dimension {name!r} cannot be kept and fixed" for name in dimensions if name in fixed]
        kept = np.ones(len(self), dtype=bool)
        for d, dimension in enumerate(self.dimensions):
            if dimension.name in dimensions:
                continue
            code = fixed.get(dimension.name, dimension.codes[0])
            if code not in dimension.codes:
                faults.append(f"dimension {dimension.name!r} has no code {code!r}")
                continue
            kept &= self.codes[:, d] == dimension.codes.index(code)
        if not faults and not (dimensions and kept.any()):
            faults = ["no cell is left"]
        if faults:
            raise InputError("Part of a publication", faults, advice=f"Dimensions: {', '.join(names)}.")
        part = self._selected([names.index(name) for name in dimensions], np.flatnonzero(kept))
        firsts = {each.name: each.codes[0] for each in self.dimensions}
        linked = all(code == firsts[name] for name, code in fixed.items() if name != RESPONSE)
        gap = self.part_gaps.get(tuple(sorted(dimensions)), self.gap) if linked else self.gap
        return replace(part, response=fixed.get(RESPONSE, self.response), gap=gap)

    def _fewest_decimals(self, *numbers: Floats) -> int:
        return self.decimals if self.unit is not None else decimals_of(self.decimals, *numbers)

    def _selected(self, columns: list[int], cells: Ints) -> Publication:
        codes = self.codes[cells][:, columns]
        kept = [np.unique(codes[:, d]) for d in range(len(columns))]
        numbers = [np.searchsorted(used, codes[:, d]) for d, used in enumerate(kept)]
        order = np.lexsort(numbers[::-1])
        rows = cells[order]
        parts = [_shortened(self.dimensions[d], used) for d, used in zip(columns, kept, strict=True)]
        shown, low, high = self.shown[rows], self.low[rows], self.high[rows]
        ranges = self.status[rows] == INTERVAL
        return replace(
            self,
            decimals=self._fewest_decimals(shown, low[ranges], high[ranges]),
            dimensions=tuple(parts),
            codes=frozen(np.stack(numbers, axis=1)[order].astype(np.int32)),
            status=frozen(self.status[rows]),
            shown=frozen(shown),
            low=frozen(low),
            high=frozen(high),
            within=frozen(self.within[rows]),
        )

    # ------------------------------------------------------------------ as a file

    def render(self, path: str | PathLike[str]) -> str | bytes:
        """What `write` would write to a path of this name."""
        return _writer(Path(path))(self)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write a file: .csv, .parquet, .xlsx, .html or .sdmx.csv, all or nothing."""
        from tablecloak.files import write_file

        check_kind("Publication", "path", path, (str, PathLike))
        target = Path(path)
        write_file(target, self.render(target), public=True)
        return target

    def __repr__(self) -> str:
        dims = " x ".join(f"{dimension.name}({len(dimension.codes)})" for dimension in self.dimensions)
        words, counts = np.unique(self.status, return_counts=True)
        listed = ", ".join(f"{count} {word}" for word, count in zip(words, counts, strict=True))
        return f"<Publication: {dims}, {len(self)} cells: {listed}>"


def decimals_of(finest: int, *numbers: Floats) -> int:
    """As many decimals as it takes to write the numbers that are there.

    Multiples of 10^-finest (the data unit) are counted in it, however many digits they have. Others, as ends of
    intervals between two units, have the last decimal that their floats show.
    """
    every = np.concatenate(numbers)
    every = every[np.isfinite(every)]
    units = nearest_units(every, finest)
    whole = is_whole(every, units, finest) & (np.abs(units) < LARGEST_UNITS)
    decimals, units = finest, units[whole]
    while decimals and not (units % 10).any():
        decimals, units = decimals - 1, units / 10
    return max(decimals, infer_decimals(every[~whole]))


def _shortened(dimension: PublicDimension, used: NDArray[Any]) -> PublicDimension:
    """Some of its codes; those whose parent is left out come under the nearest one above that is there."""
    kept = used.tolist()
    new = {old: position for position, old in enumerate(kept)}
    parent, depth = list[int](), list[int]()
    for old in kept:
        above = dimension.parent[old]
        while above >= 0 and above not in new:
            above = dimension.parent[above]
        parent.append(new.get(above, -1))
        depth.append(depth[parent[-1]] + 1 if parent[-1] >= 0 else 0)
    labels = None if dimension.labels is None else tuple(dimension.labels[old] for old in kept)
    codes = tuple(dimension.codes[old] for old in kept)
    return PublicDimension(dimension.name, codes, tuple(parent), tuple(depth), labels)


# ---------------------------------------------------------------------- small things


def _with_gaps(column: NDArray[Any]) -> NDArray[Any]:
    """None instead of NaN, in a column that has numbers too."""
    if column.dtype.kind != "f" or not (gaps := np.isnan(column)).any() or gaps.all():
        return column
    objects = column.astype(object)
    objects[gaps] = None
    return objects


def _free(name: str, taken: Any) -> str:
    """The name, with as many underscores as it takes to be a new one."""
    while name in taken:
        name += "_"
    return name


def _writer(path: Path) -> Writer:
    """The writer for a file of this name."""
    from tablecloak.publication.csv import write_csv
    from tablecloak.publication.excel import write_excel
    from tablecloak.publication.html import write_html
    from tablecloak.publication.parquet import write_parquet
    from tablecloak.publication.sdmx import write_sdmx_csv

    writers: dict[str, Writer] = {
        ".sdmx.csv": write_sdmx_csv,
        ".csv": write_csv,
        ".parquet": write_parquet,
        ".xlsx": write_excel,
        ".html": write_html,
    }
    for suffix, writer in writers.items():
        if path.name.lower().endswith(suffix):
            return writer
    known = ", ".join(sorted(writers))
    raise InputError(
        "Publication", [f"{path}: no public format goes by this name"], advice=f"Formats: {known}."
    )
