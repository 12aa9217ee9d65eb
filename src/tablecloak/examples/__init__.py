"""Example data, invented for tablecloak and shipped with it: a small table and a business survey."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.files import make_folder, read_text, write_files
from tablecloak.model import Dimension, Hierarchy, Table
from tablecloak.tabulation import Microdata

BUSINESS_DIMENSIONS = ("region", "industry", "size")
"""The dimensions of the business survey; the classification of each is in a file of its name."""
BUSINESS_JOB = "business_survey.toml"
BUSINESS_FILES = (
    "business_survey.csv",
    "region.csv",
    "industry.csv",
    "size.csv",
    "labels.csv",
    "marks.csv",
    BUSINESS_JOB,
)


def path(name: str) -> Path:
    """Where a file of the examples is: ``path("business_survey.csv")``."""
    folder = Path(__file__).parent
    shipped = sorted(each.name for each in folder.iterdir() if each.is_file() and each.suffix != ".py")
    if name not in shipped:
        raise InputError("Examples", [f"there is no file {name!r}"], advice=f"Files: {', '.join(shipped)}.")
    return folder / name


# ---------------------------------------------------------------------- a business survey


def business_survey() -> Microdata:
    """A survey of 2,000 invented enterprises of an invented country, one row each.

    Columns: ``enterprise``, ``region``, ``industry``, ``size``, ``holding`` (empty for most), ``weight`` (of the
    sample), ``employees``, ``turnover``, ``costs`` and ``profit`` = turnover - costs in 1,000 euros, ``request``
    (1 or 2 where the enterprise asks for protection), ``waiver`` (1 where it does without).
    """
    return Microdata(
        path("business_survey.csv"),
        weight="weight",
        respondent="enterprise",
        holding="holding",
        request="request",
        waiver="waiver",
    )


def business_dimensions() -> list[Dimension]:
    """Region (4 regions, 13 provinces), industry (6 sections, 16 divisions, 41 groups), size (5 classes)."""
    return [
        Dimension.of(
            name, Hierarchy.from_pairs([(row["child"], row["parent"]) for row in _rows(f"{name}.csv")])
        )
        for name in BUSINESS_DIMENSIONS
    ]


def business_labels(*dimensions: str) -> dict[str, dict[str, str]]:
    """What the codes of some dimensions mean (all three unless named); `publish` takes them as `labels`."""
    names = dimensions or BUSINESS_DIMENSIONS
    return {name: {row["child"]: row["label"] for row in _rows(f"{name}.csv")} for name in names}


def copy_business_survey(folder: str | Path) -> Path:
    """Copy the survey, its classifications, marks, labels and job file into a folder; gives the job file's path.

    `tablecloak run` writes the outputs beside the job file. A file that is there already is a fault.
    """
    target = Path(folder)
    if taken := [f"{target / name} is there already" for name in BUSINESS_FILES if (target / name).exists()]:
        raise InputError("Examples", taken)
    make_folder(target)
    files = {target / name: read_text(path(name)) for name in BUSINESS_FILES}
    write_files(files, public=files)
    return target / BUSINESS_JOB


# ---------------------------------------------------------------------- a small table


def regional_turnover() -> Table:
    """Turnover (1,000 euros) of 510 invented firms by region (three macro-regions, eight regions), industry.

    Further columns: the number of contributors to each cell, its largest and its second largest contribution.
    """
    rows = _rows("regional_turnover.csv")
    cells: dict[str, Any] = {name: [row[name] for row in rows] for name in ("region", "industry")}
    for name in ("turnover", "contributors", "largest", "second"):
        cells[name] = [int(row[name]) for row in rows]
    regions = dict.fromkeys((row["region"], row["part_of"]) for row in rows)
    industries = [code for code in dict.fromkeys(cells["industry"]) if code != "Total"]
    dimensions = (
        Dimension.of("region", Hierarchy.from_pairs(regions)),
        Dimension.flat("industry", industries),
    )
    return Table.from_cells(dimensions, cells, value="turnover")


def _rows(name: str) -> list[dict[str, str]]:
    """The rows of a shipped CSV file, by column."""
    return list(csv.DictReader(read_text(path(name)).splitlines()))
