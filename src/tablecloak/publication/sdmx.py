"""SDMX-CSV 2.0: one function for the public, one for confidential transmission to another authority.

::

    STRUCTURE,STRUCTURE_ID,ACTION,REGION,INDUSTRY,OBS_VALUE,OBS_STATUS,CONF_STATUS
    dataflow,LOCAL:TURNOVER(1.0),I,Total,Total,356365,A,F
    dataflow,LOCAL:TURNOVER(1.0),I,North,Food,,Q,C

Codes of CL_OBS_STATUS: A normal value, Q missing because suppressed. Codes of CL_CONF_STATUS (1.2 and later):
F free, C confidential; in transmissions also A primary, small counts; O and T primary, dominance by one or two
units; G by one or two; M primary, other concentration measures; D secondary, set by the sender.

Written with the standard library: the format is a plain CSV, and needs no data structure definition to be read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.files import number_texts
from tablecloak.model import FLOAT_NOISE, Pattern, Problem, Reason, Table
from tablecloak.publication.publication import HIDDEN, INTERVAL, Publication

NORMAL, SUPPRESSED = "A", "Q"
FREE, CONFIDENTIAL, SECONDARY = "F", "C", "D"
SMALL_COUNT, ONE_UNIT, TWO_UNITS, ONE_OR_TWO_UNITS, CONCENTRATION = "A", "O", "T", "G", "M"
REFERENCE = re.compile(r"[A-Za-z][\w.-]*:[\w@$-]+\(\d+(\.\d+)*\)")
WARNING = "CONFIDENTIAL: true values of suppressed cells, not for publication"

_FIXED = ("STRUCTURE", "STRUCTURE_ID", "ACTION")
_RESERVED = (
    *_FIXED,
    "OBS_VALUE",
    "OBS_STATUS",
    "CONF_STATUS",
    "COMMENT_DSET",
    "DECIMALS",
    "LOW",
    "HIGH",
    "WITHIN",
)


def write_sdmx_csv(publication: Publication, structure_id: str | None = None) -> str:
    """The public text. Hidden cells have no value, status Q and C, all alike: which are sensitive is secret.

    Attributes LOW and HIGH follow where some cells are intervals, WITHIN where numbers need not be exact, DECIMALS
    where a printed unit was chosen, COMMENT_DSET where it is coarser than the data. There is no UNIT_MULT: numbers
    are not divided. `structure_id` names the dataflow, ``AGENCY:ID(VERSION)``.
    """
    silent = publication.is_status(HIDDEN, INTERVAL)
    named = [(dimension.name, dimension.codes) for dimension in publication.dimensions]
    columns = _head(named, publication.codes, publication.response, structure_id)
    columns["OBS_VALUE"] = publication.number_texts(publication.shown)
    columns["OBS_STATUS"] = np.where(silent, SUPPRESSED, NORMAL).tolist()
    columns["CONF_STATUS"] = np.where(silent, CONFIDENTIAL, FREE).tolist()
    if (ranges := publication.is_status(INTERVAL)).any():
        columns["LOW"] = _texts(np.where(ranges, publication.low, np.nan))
        columns["HIGH"] = _texts(np.where(ranges, publication.high, np.nan))
    if (publication.within > 0).any():
        columns["WITHIN"] = _texts(np.where(publication.within > 0, publication.within, np.nan))
    if publication.unit is not None:
        columns["DECIMALS"] = [str(publication.decimals)] * len(publication)
    if publication.rounding_note:
        columns["COMMENT_DSET"] = [publication.rounding_note] * len(publication)
    return _csv(columns)


def write_confidential_sdmx(problem: Problem, pattern: Pattern, structure_id: str | None = None) -> str:
    """The CONFIDENTIAL text for an authority entitled to it: all true values, and why each cell is protected.

    CONF_STATUS by the first reason of a sensitive cell; D for complementary cells, F for those published
    exactly. The last column, COMMENT_DSET, says in every row that this is not for publication.
    """
    table, view = problem.table, pattern.view(problem)
    printed = np.flatnonzero(~table.is_virtual)
    status = np.where(view.low < view.high, SECONDARY, FREE)
    status[problem.must_hide] = CONFIDENTIAL
    for cell, reasons in problem.reasons.items():
        if problem.sensitive[cell] and reasons:
            status[cell] = conf_status(reasons[0])
    named = [(dimension.name, dimension.codes) for dimension in table.dimensions]
    columns = _head(named, table.codes[printed], table.response, structure_id)
    columns["OBS_VALUE"] = number_texts(_without_noise(table)[printed])
    columns["OBS_STATUS"] = [NORMAL] * printed.size
    columns["CONF_STATUS"] = status[printed].tolist()
    columns["COMMENT_DSET"] = [WARNING] * printed.size
    return _csv(columns)


def conf_status(reason: Reason) -> str:
    """The code of CL_CONF_STATUS for a reason: by the kind of rule, for dominance by its n."""
    match reason.kind:
        case "frequency":
            return SMALL_COUNT
        case "p-percent":
            return CONCENTRATION
        case "dominance":
            found = re.search(r"\bn\s*=\s*(\d+)", reason.rule)
            units = {1: ONE_UNIT, 2: TWO_UNITS}
            return units.get(int(found[1]), CONCENTRATION) if found else ONE_OR_TWO_UNITS
        case _:
            return CONFIDENTIAL


# ---------------------------------------------------------------------- columns


def _head(
    dimensions: Sequence[tuple[str, Sequence[str]]],
    codes: NDArray[np.int32],
    response: str,
    structure_id: str | None,
) -> dict[str, list[str]]:
    """The columns before the value."""
    name = f"LOCAL:{_identifier(response)}(1.0)" if structure_id is None else structure_id
    if not REFERENCE.fullmatch(name):
        expected = "expected AGENCY:ID(VERSION), for example ESTAT:STS_TURNOVER(1.0)"
        raise InputError("SDMX-CSV", [f"structure_id: {expected}"])
    texts = ("dataflow", name, "I")
    columns = {fixed: [text] * codes.shape[0] for fixed, text in zip(_FIXED, texts, strict=True)}
    for d, (own, known) in enumerate(dimensions):
        column = _identifier(own)
        while column in columns or column in _RESERVED:
            column += "_"
        columns[column] = np.array(known, dtype=object)[codes[:, d]].tolist()
    return columns


def _identifier(name: str) -> str:
    """A name as an SDMX identifier: capitals, digits, underscores, a letter first."""
    text = re.sub(r"[^A-Z0-9_]+", "_", name.upper())
    return text if text[:1].isalpha() else f"D_{text}"


def _texts(numbers: Floats) -> list[str]:
    return ["" if text in ("nan", "inf", "-inf") else text for text in number_texts(numbers)]


def _without_noise(table: Table) -> Floats:
    """Values without the noise of sums in floating point, otherwise exact."""
    near = np.round(table.values, table.decimals) + 0.0
    return np.where(np.abs(near - table.values) <= FLOAT_NOISE * np.abs(table.values), near, table.values)


def _csv(columns: Mapping[str, Sequence[str]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return file.getvalue()
