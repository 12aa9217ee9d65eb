"""What the columns of a file seem to be: by their names, their kinds and how many different values they have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.job.hierarchies import make_hierarchy
from tablecloak.job.inspect import Column, Look
from tablecloak.job.settings import INFERENCE

TOTALS = ("total", "tot", "all", "_t", "t", "sum")
NAMES = {
    "weight": r"(w|wt|wgt|weight|weights|samp\w*weight|poids|gewicht|inflation|grossing\w*)",
    "respondent": r"(id|ident|identifier|respondent|firm|firm_?id|enterprise|ent_?id|unit|unit_?id|nr|number|siren)",
    "holding": r"(holding|holding_?id|group|group_?id|enterprise_?group|concern|parent_?id|owner)",
    "request": r"(request|req|request_?code)",
    "waiver": r"(waiver|waived|waive|permission)",
    "count": r"(n|count|freq|frequency|contributors|respondents|number|units)",
    "time": r"(year|jahr|annee|période|period|quarter|month|date|time)",
    "top": r"(largest|second|third|top_?\d+|x_?\d+|max_?\d+|maximum|max)",
}
"""What columns are often called."""


@dataclass(frozen=True)
class InferredColumns:
    """What each column of the data seems to be."""

    kind: str
    roles: Mapping[str, str]
    top: tuple[str, ...]
    dimensions: tuple[Column, ...]
    others: tuple[Column, ...]
    """Columns that could be dimensions too."""
    above: Mapping[str, tuple[Column, ...]]
    """For a dimension: columns that group its codes, the coarsest first."""
    parent: Mapping[str, Column]
    """For a dimension: the column that says which code each of its codes is part of."""
    responses: tuple[Column, ...]


def infer_columns(seen: Look) -> InferredColumns:
    """What each column seems to be."""
    left = [column for column in seen.columns if column.distinct + (column.empty > 0) > 1]
    codes = [column for column in left if _is_code(column, seen.rows)]
    cells = _are_cells(codes, left)
    roles = _roles(left, seen.rows, cells)
    taken = set(roles.values())
    free = [column for column in left if column.name not in taken]
    top = tuple(column.name for column in free if cells and _called("top", column))
    taken.update(top)
    codes = [column for column in codes if column.name not in taken and not (cells and column.number)]
    above = {} if cells else _above(codes, seen)
    parent = _parents(codes, seen) if cells else {}
    grouping = {column.name for chain in above.values() for column in chain}
    grouping |= {column.name for column in parent.values()}
    candidates = [column for column in codes if column.name not in grouping]
    if cells:
        candidates = [column for column in candidates if total_of(column)]
    candidates.sort(key=lambda column: _called("time", column))
    chosen = _chosen(candidates)
    if not chosen:
        advice = "A dimension is a column of codes that repeat; name it in a job file of your own."
        raise InputError(f"Data {seen.path}", ["no column looks like a dimension"], advice=advice)
    used = taken | {column.name for column in codes}
    responses = [column for column in left if column.number and column.name not in used]
    responses.sort(key=lambda column: column.distinct < INFERENCE.few_codes)
    others = tuple(column for column in candidates if column not in chosen)
    kind = "cells" if cells else "microdata"
    return InferredColumns(kind, roles, top, tuple(chosen), others, above, parent, tuple(responses))


def _called(role: str, column: Column) -> bool:
    return re.fullmatch(NAMES[role], column.name.strip(), re.IGNORECASE) is not None


def _is_code(column: Column, rows: int) -> bool:
    """Few different values, of text or of whole numbers that repeat."""
    if not column.number and total_of(column):
        return True
    if column.distinct > min(INFERENCE.codes, max(rows // 2, 2)):
        return False
    if not column.number:
        return True
    lengths = {len(code) for code in column.codes}  # all of three characters or more: a classification
    classified = len(lengths) == 1 and min(lengths) >= 3 and rows >= 5 * column.distinct
    return column.whole and not column.negative and (column.distinct <= INFERENCE.few_codes or classified)


def _are_cells(codes: Sequence[Column], columns: Sequence[Column]) -> bool:
    """Totals among the codes, and numbers beside them: a table and not records."""
    text = [column for column in codes if not column.number]
    beside = any(column.number for column in columns)
    return bool(text) and beside and all(total_of(column) for column in text[:2])


def total_of(column: Column) -> str:
    """The code of a total among the codes, if there is one."""
    return next((code for code in column.codes if code.strip().lower() in TOTALS), "")


def _roles(columns: Sequence[Column], rows: int, cells: bool) -> dict[str, str]:
    """Columns that are neither dimensions nor responses, by what they are for."""
    wanted = ("count",) if cells else ("weight", "respondent", "holding", "request", "waiver")
    roles: dict[str, str] = {}
    for role in wanted:
        for column in columns:
            if _called(role, column) and _suits(role, column, rows):
                roles.setdefault(role, column.name)
    return roles


def _suits(role: str, column: Column, rows: int) -> bool:
    match role:
        case "weight":
            return column.number and column.positive
        case "count":
            return column.number and column.whole and not column.negative
        case "respondent":
            return column.distinct > rows / 2 and (column.whole or not column.number)
        case "request":
            return set(column.codes) <= {"0", "1", "2"} and column.distinct <= 3
        case "holding":
            return column.distinct > 2 and (column.whole or not column.number)
        case _:
            return column.distinct <= 3


def _above(codes: Sequence[Column], seen: Look) -> dict[str, tuple[Column, ...]]:
    """Chains of columns in which each groups the codes of the next, by the finest of them.

    A column groups another if each code of that other goes with one of its codes only, and no code is in both.
    """

    def group(coarse: Column, fine: Column) -> bool:
        apart = coarse.distinct < fine.distinct and not set(coarse.codes) & set(fine.codes)
        return apart and len(seen.combinations([coarse.name, fine.name])) == fine.distinct

    groups = {fine.name: [coarse for coarse in codes if group(coarse, fine)] for fine in codes}
    chains: dict[str, tuple[Column, ...]] = {}
    taken: set[str] = set()
    for fine in sorted(codes, key=lambda column: -column.distinct):
        if fine.name in taken or not groups[fine.name]:
            continue
        chain: list[Column] = []
        for coarse in sorted(groups[fine.name], key=lambda column: -column.distinct):
            below = chain[-1] if chain else fine
            if coarse.name not in taken and coarse in groups[below.name]:
                chain.append(coarse)
        whole = (*chain, fine)
        distinct = {code for each in whole for code in each.codes}
        if chain and len(distinct) == sum(each.distinct for each in whole):
            chains[fine.name] = tuple(reversed(chain))
            taken |= {fine.name, *(each.name for each in chain)}
    return chains


def _parents(codes: Sequence[Column], seen: Look) -> dict[str, Column]:
    """Columns that say which code of another column each of its codes is part of."""
    return {
        column.name: other
        for column in codes
        for other in codes
        if other is not column
        and set(other.codes) < set(column.codes)
        and total_of(column) in other.codes
        and len(seen.combinations([other.name, column.name])) == column.distinct
    }


def _chosen(candidates: Sequence[Column]) -> list[Column]:
    """The first columns of codes that make a table of a sensible size."""
    chosen, cells = list[Column](), 1
    for column in candidates:
        fits = cells * (column.distinct + 1) <= INFERENCE.cells
        if len(chosen) < INFERENCE.dimensions and (fits or not chosen):
            chosen.append(column)
            cells *= column.distinct + 1
    return chosen


def digits_of(column: Column) -> list[int]:
    """How many characters each level of a classification seems to have; nothing where codes do not nest."""
    codes = [code for code in column.codes if code]
    lengths = {len(code) for code in codes}
    if len(lengths) != 1 or column.distinct < 12 or min(lengths) < 3:
        return []
    counts = [len({code[:end] for code in codes}) for end in range(1, max(lengths) + 1)]
    ends = [end for end, count in enumerate(counts, 1) if count > max([1, *counts[: end - 1]])]
    if len(ends) < 2 or counts[ends[0] - 1] * 2 > len(codes):
        return []
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def hierarchy_beside(data: Path, column: Column) -> Path | None:
    """A file beside the data that is called like the column and has a place for each of its codes."""
    for path in sorted(data.parent.glob("*")):
        same = path.stem.lower() == column.name.lower() and path.suffix.lower() in (".hrc", ".csv")
        if not same or path == data:
            continue
        try:
            tree = make_hierarchy(path.name, path.parent)
        except InputError:
            continue
        if set(column.codes) <= set(tree.codes):
            return path
    return None
