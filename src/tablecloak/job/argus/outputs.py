"""What WRITETABLE writes: public files through `publish`, and confidential transmission files with true values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.auditing import audit
from tablecloak.errors import InputError, UnsafePublication
from tablecloak.files import number_texts
from tablecloak.formats import write_jj
from tablecloak.formats.argus import (
    CODE_VALUE,
    CROSSTAB,
    EMPTY_TEXT,
    HIDDEN_TEXT,
    INTERMEDIATE,
    JJ_FILE,
    PIVOT,
    SBS,
    ArgusVariable,
    CellGrid,
    WriteTable,
    number_texts_with,
    write_cells,
    write_crosstab,
    write_intermediate,
    write_sbs,
    write_table_metadata,
)
from tablecloak.job.argus.classification import (
    EMPTY,
    KINDS,
    PROTECTED,
    SECONDARY,
    SECONDARY_MANUAL,
    UNSAFE_MANUAL,
    UNSAFE_RULE,
    ArgusTable,
)
from tablecloak.job.argus.suppression import Protected, hidden_of, problem_of
from tablecloak.model import Mark, Packing, Pattern, Perturbation, Rounding, Suppression
from tablecloak.publication import Publication, publish

SUFFIXES = {Rounding: "_Round", Perturbation: "_CTA"}
"""What stands behind the name of a response whose numbers were changed."""


def written(
    state: ArgusTable, protected: Protected | None, command: WriteTable, path: Path
) -> dict[Path, str]:
    """The files of one WRITETABLE command: the table, and what stands beside it."""
    spec = command.spec
    _check(state, protected, command)
    grid = CellGrid.of(state.table, state.planned.spec.explanatory)
    if spec.type in (CROSSTAB, PIVOT, CODE_VALUE):
        if "AS" in spec.options and spec.type != CROSSTAB:
            return {path: _with_status(state, protected, command, grid)}
        return {path: _public(state, protected, command, grid)}
    if spec.type == SBS:
        return {path: write_sbs(grid, _sbs_rows(state, protected), spec.options)}
    if spec.type == INTERMEDIATE:
        return _intermediate(state, protected, command, grid, path)
    assert spec.type == JJ_FILE
    return _jj(state, protected, path)


def is_public(command: WriteTable) -> bool:
    """Whether the file may leave the building."""
    return not command.spec.is_confidential


def _check(state: ArgusTable, protected: Protected | None, command: WriteTable) -> None:
    kind, what = command.spec.type, f"line {command.line}: WRITETABLE"
    pattern = None if protected is None else protected.pattern
    if isinstance(pattern, Perturbation) and kind in (SBS, INTERMEDIATE):
        raise InputError(what, [f"type {kind} is not for tables that CTA adjusted; types 1 to 3 are"])
    if isinstance(pattern, Rounding | Perturbation) and kind == JJ_FILE:
        raise InputError(what, ["type 6 is not for tables whose numbers were changed; types 1 to 3 are"])
    for option, reason in (
        ("AR", "audit results in the file"),
        ("HI", "holdings in the file"),
        ("TR", "trivial levels"),
    ):
        if option in command.spec.options:
            raise InputError(what, [f"option {option}+ ({reason}) is not available; take it out"])


# ---------------------------------------------------------------------- public files


def _public(state: ArgusTable, protected: Protected | None, command: WriteTable, grid: CellGrid) -> str:
    """A file without true values of hidden cells: its numbers are those of a publication."""
    publication = _publication(state, protected, command)
    texts = _public_texts(state, publication)
    if command.spec.type == CROSSTAB:
        return write_crosstab(grid, texts, quote="QU" in command.spec.options)
    suffix = SUFFIXES.get(type(protected.pattern), "") if protected is not None else ""
    name = f"{state.table.response}{suffix}"
    header = command.spec.type == PIVOT or "FL" in command.spec.options
    return write_cells(grid, {name: texts}, [EMPTY_TEXT], command.spec.options, header=header)


def _publication(state: ArgusTable, protected: Protected | None, command: WriteTable) -> Publication:
    """The publication of a table; a table that SUPPRESS has not treated must be safe as it is."""
    if protected is None:
        problem = problem_of(state)
        pattern: Pattern = Suppression.copy_of(hidden_of(None, state))
        verdict = audit(problem, pattern)
    else:
        problem, pattern, verdict = protected.problem, protected.pattern, protected.verdict
    fewer = state.decimals if state.decimals < state.table.decimals else None
    try:
        return publish(problem, pattern, verdict, symbol=HIDDEN_TEXT, decimals=fewer)
    except UnsafePublication as error:
        first, *more = str(error).split("\n")
        advice = (
            "put SUPPRESS before it, or write AS+ for a confidential file"
            if protected is None
            else "AS+ writes a confidential file; take --original out, or change method or rules, for a public one"
        )
        what = f"line {command.line}: WRITETABLE: table {state.planned.number} is not safe to publish"
        raise UnsafePublication("\n".join([f"{what}: {advice}", first, *more])) from None


def _public_texts(state: ArgusTable, publication: Publication) -> list[str]:
    """What a publication shows of each cell of the table, in the order of the table."""
    names = [dimension.name for dimension in publication.dimensions]
    columns = list[Ints]()
    for dimension in state.table.dimensions:
        d = names.index(dimension.name)
        place = np.array([dimension.index[code] for code in publication.dimensions[d].codes], dtype=np.int64)
        columns.append(place[publication.codes[:, d]])
    packing = Packing.of(state.table.dimensions)
    shown = np.argsort(packing.keys(np.stack(columns, axis=1).astype(np.int32)))
    own = np.argsort(packing.keys(state.table.codes))
    values = np.empty(len(state.table))
    values[own] = publication.shown[shown]
    texts = number_texts_with(values, state.decimals)
    return [
        HIDDEN_TEXT if hidden else text for text, hidden in zip(texts, np.isnan(values).tolist(), strict=True)
    ]


# ---------------------------------------------------------------------- confidential transmission files


def _with_status(state: ArgusTable, protected: Protected | None, command: WriteTable, grid: CellGrid) -> str:
    """Types 2 and 3 with AS+: true values with their status, or modified values beside the original ones."""
    name, values = state.table.response, number_texts_with(state.table.values, state.decimals)
    pattern = None if protected is None else protected.pattern
    header = command.spec.type == PIVOT or "FL" in command.spec.options
    if isinstance(pattern, Rounding | Perturbation):
        suffix = SUFFIXES[type(pattern)]
        columns = {
            f"{name}{suffix}": number_texts_with(pattern.shown, state.decimals),
            f"{name}_Orig": values,
        }
        return write_cells(grid, columns, [EMPTY_TEXT] * 2, command.spec.options, header=header)
    columns = {name: values, "Status": [str(status) for status in state.status.tolist()]}
    return write_cells(grid, columns, [EMPTY_TEXT, str(EMPTY)], command.spec.options, header=header)


def _sbs_rows(state: ArgusTable, protected: Protected | None) -> list[list[str]]:
    """Value, frequency, flag and the share of the largest contributors of each cell."""
    table, units, holdings = state.table, state.table.respondents, state.table.holdings
    assert units is not None
    count = units.count if holdings is None else np.where(holdings.count > 0, holdings.count, units.count)
    top = units.top if holdings is None else holdings.top
    first = np.abs(top[:, 0]) if top.shape[1] else np.zeros(len(table))
    second = np.abs(top[:, 1]) if top.shape[1] > 1 else np.zeros(len(table))
    stored = state.planned.rules.contributors
    with np.errstate(divide="ignore", invalid="ignore"):
        share, share2 = 100 * first / units.total, 100 * second / units.total
    rows = list[list[str]]()
    value = number_texts_with(table.values, state.decimals)
    if protected is not None and isinstance(protected.pattern, Rounding):
        value = number_texts_with(protected.pattern.shown, state.decimals)
    for cell, (status, kind) in enumerate(zip(state.status.tolist(), state.kind.tolist(), strict=True)):
        flag, more = _sbs_flag(status, KINDS[kind] if kind >= 0 else "", stored), list[str]()
        if status == UNSAFE_RULE and np.isfinite(share[cell]):
            if flag == "F":
                more = [f"{share[cell]:.1f}", f"{share2[cell]:.1f}"]
            else:
                more = [f"{share[cell] + (share2[cell] if flag == 'C' else 0.0):.1f}"]
        rows.append([value[cell], str(int(count[cell])), flag, *more])
    return rows


def _sbs_flag(status: int, kind: str, stored: int) -> str:
    """V, A, B, C, F or D."""
    if status == UNSAFE_RULE:
        return "F" if kind == "p-percent" else "C" if stored >= 2 else "B"
    if UNSAFE_RULE < status <= UNSAFE_MANUAL:
        return "A" if kind == "frequency" else "B"
    return "D" if status in (SECONDARY, SECONDARY_MANUAL) else "V"


def _letters(state: ArgusTable) -> list[str]:
    """Status letters of intermediate files."""

    def letter(status: int) -> str:
        if status >= EMPTY - 1:
            return "E"
        if status in (SECONDARY, SECONDARY_MANUAL):
            return "M"
        return "P" if status == PROTECTED else "U" if status >= UNSAFE_RULE else "S"

    return [letter(status) for status in state.status.tolist()]


def _intermediate(
    state: ArgusTable, protected: Protected | None, command: WriteTable, grid: CellGrid, path: Path
) -> dict[Path, str]:
    """The table, its metadata, and its hierarchies as files beside it."""
    table, spec, units = state.table, state.planned.spec, state.table.respondents
    assert units is not None
    only_status, response = "SO" in command.spec.options, table.response
    columns, roles = list[list[str]](), list[tuple[str, str, int]]()

    def add(name: str, role: str, texts: list[str], decimals: int = 0) -> None:
        columns.append(texts)
        roles.append((name, role, decimals))

    values = table.values
    if protected is not None and isinstance(protected.pattern, Rounding):
        values = protected.pattern.shown
    decimals = max(state.decimals, table.decimals)
    if spec.response is None:
        add("Freq", "<FREQUENCY>", number_texts_with(values, 0))
    else:
        add(response, "<NUMERIC>", number_texts_with(values, decimals), decimals)
        add("FreqVar", "<FREQUENCY>", [str(count) for count in units.count.tolist()])
        if not only_status:
            add(f"{response}_Shadow", "<NUMERIC> <SHADOW>", number_texts(units.total), decimals)
    add(_cost_name(state), "<NUMERIC> <COST>", number_texts(state.cost), decimals)
    depth = min(state.planned.rules.contributors, units.depth)
    for k in range(0 if only_status else depth):
        add(f"Top{k + 1}", "<MAXSCORE>", number_texts(units.top[:, k]), decimals)
    add("StatusVar", "<STATUS>", _letters(state))
    unsafe = state.unsafe
    for name, role, level in (
        ("LowerProtLevel", "<NUMERIC> <LOWERPL>", state.lower),
        ("UpperProtLevel", "<NUMERIC> <UPPERPL>", state.upper),
    ):
        add(name, role, number_texts(_rounded(np.where(unsafe, level, 0.0))), decimals)
    files = {path: write_intermediate(grid, columns, command.spec.options)}
    spanning = list[tuple[str, ArgusVariable, str]]()
    for d, (name, variable) in enumerate(zip(spec.explanatory, state.planned.explanatory, strict=True)):
        hierarchy = table.dimensions[d].hierarchies[0]
        beside = ""
        if variable.hierarchical:
            beside = f"{path.stem}_{variable.name}.hrc"
            files[path.with_name(beside)] = hierarchy.to_hrc()
        spanning.append((name, replace(variable, total=hierarchy.total), beside))
    files[path.with_suffix(".rda")] = write_table_metadata(spanning, roles)
    return files


def _cost_name(state: ArgusTable) -> str:
    codes = {"-1": "FreqCost", "-2": "UnitCost"}
    cost = state.planned.cost
    return codes[cost] if isinstance(cost, str) else f"{state.table.response}_Cost"


def _rounded(levels: Floats) -> Floats:
    """Levels without float noise."""
    return np.array([float(f"{level:.10g}") for level in levels.tolist()])


def _jj(state: ArgusTable, protected: Protected | None, path: Path) -> dict[Path, str]:
    """The problem in the JJ format, secondary cells as cells that must be hidden, and a file of frequencies."""
    problem = problem_of(state) if protected is None else protected.problem
    hidden: Bools = hidden_of(protected, state) & ~problem.sensitive
    marks = np.where(hidden, Mark.HIDDEN, problem.marks).astype(np.int8)
    units, holdings = state.table.respondents, state.table.holdings
    assert units is not None
    held = np.zeros(len(state.table), dtype=np.int64) if holdings is None else holdings.count
    counts = "".join(f"{a} {b}\n" for a, b in zip(units.count.tolist(), held.tolist(), strict=True))
    return {path: write_jj(replace(problem, marks=marks)), path.with_suffix(".frq"): counts}
