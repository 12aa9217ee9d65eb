"""`publish`: print what a pattern states, if an audit of this very problem and pattern found it safe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.auditing import audit as judge
from tablecloak.auditing import checked_view
from tablecloak.errors import InputError, UnsafePublication, check_kind, counted, listed
from tablecloak.model import (
    FLOAT_NOISE,
    Audit,
    Dimension,
    Intervals,
    Mixed,
    Pattern,
    Perturbation,
    Printed,
    Problem,
    Result,
    Rounding,
    Suppression,
    View,
    amounts,
    gap_meaning,
    nearest_units,
    part_gap_meanings,
    rounded_cells,
    stated_reach,
)
from tablecloak.publication.publication import (
    HIDDEN,
    INTERVAL,
    NOTHING,
    PERTURBED,
    PUBLISHED,
    ROUNDED,
    Publication,
    PublicDimension,
    decimals_of,
)

Labels: TypeAlias = Mapping[str, Mapping[str, str]]
"""By dimension: what each code means."""

_WORD = np.dtype("U9")


def publish(
    problem: Problem,
    result: Result | Pattern,
    audit: Audit | None = None,
    *,
    title: str = "",
    note: str = "",
    symbol: str = "x",
    labels: Labels | None = None,
    decimals: int | None = None,
    unit: float | None = None,
    despite: str = "",
) -> Publication:
    """The table as it may leave the building: a pure function of the pattern's view and of public labels.

    A `Result` brings its audit along; a bare pattern needs one. `UnsafePublication` is raised unless the audit
    passed and is about this very problem and this very pattern (the same objects). A pattern whose arrays can
    still be changed is audited once more. `labels` say what codes mean: ``{"region": {"N": "North"}}``.

    `decimals` or `unit` prints coarser: every number is a multiple of the printed unit, which is a multiple of the
    data unit (see `Printed`). Numbers are not divided: 12345 in units of 1000 is 12000. What is judged is what is
    printed: it is audited where its safety does not follow from that of the pattern.

    `despite` is the written reason for publishing although the audit left cells open. It is kept on the
    publication, in no public file. Nothing else that the audit found can be overruled.
    """
    _check_texts({"title": title, "note": note, "symbol": symbol, "despite": despite})
    check_kind("Publication", "problem", problem, Problem, "Make one with assess(table, rules).")
    meanings = labels or {}
    check_kind("Labels", "labels", meanings, Mapping, 'Write them like {"region": {"N": "North"}}.')
    _check_labels(problem.table.dimensions, meanings)
    pattern = result.pattern if isinstance(result, Result) else result
    given = [result.audit] if isinstance(result, Result) else []
    handed = [] if audit is None else [audit]
    _check_subjects(problem, pattern, [*given, *handed])
    form, view = pattern, _true_view(problem, pattern)
    if decimals is not None or unit is not None:
        form = Printed.of(problem, pattern, decimals=decimals, unit=unit)
        _true_view(problem, form)
    verdicts = _verdicts(problem, pattern, form, given, handed)
    for verdict in verdicts:
        _check_verdict(problem, verdict, despite.strip())
    stated = form.statement(problem) if isinstance(form, Printed) else view
    publication = _printed(problem, form, stated, meanings)
    reason = "" if all(verdict.safe for verdict in verdicts) else despite.strip()
    return replace(publication, title=title.strip(), note=note.strip(), symbol=symbol.strip(), despite=reason)


# ---------------------------------------------------------------------- may it leave?


def _check_subjects(problem: Problem, pattern: Pattern, verdicts: Sequence[Audit]) -> None:
    """Raise unless there is an audit and every one is about these two objects."""
    if not callable(getattr(pattern, "view", None)):
        got = type(pattern).__name__
        raise InputError("Publication", [f"expected a Result or a pattern to publish, got {got}"])
    if not verdicts:
        raise UnsafePublication(
            "There is no audit of this pattern. Pass the Result that protect returned, or the pattern and what "
            "audit(problem, pattern) returned."
        )
    for verdict in verdicts:
        check_kind("Publication", "audit", verdict, Audit, "Pass what audit(problem, pattern) returned.")
        about = verdict.subject
        if about is None:
            raise UnsafePublication("The audit does not say what it judged. Audit this problem and pattern.")
        wrong = [
            name for name, mine, its in zip(("problem", "pattern"), (problem, pattern), about, strict=True)
            if mine is not its
        ]  # fmt: skip
        if wrong:
            raise UnsafePublication(
                f"The audit is about another {' and another '.join(wrong)}. "
                "An audit holds for the very objects it judged: audit this problem and this pattern."
            )


def _verdicts(
    problem: Problem, pattern: Pattern, form: Pattern, given: Sequence[Audit], handed: Sequence[Audit]
) -> Sequence[Audit]:
    """The verdicts that decide: those on the pattern, and one on what is printed where it does not follow from them.

    The verdict that a result brings along is about its pattern. Where another form is printed, the verdict on that one
    takes its place, unless the safety of the form follows from it. An audit that was handed over stands in any case.
    """
    known = [*given, *handed]
    if isinstance(form, Printed) and form is not pattern:
        follows = form.only_widens and all(verdict.safe for verdict in known)
        return known if follows and not _can_change(pattern) else [*handed, judge(problem, form)]
    return [*known, judge(problem, pattern)] if _can_change(pattern) else known


def _check_verdict(problem: Problem, verdict: Audit, despite: str) -> None:
    """Raise unless the audit passed, or left only cells open and the caller accepts that in writing."""
    table, reasons = problem.table, list[str]()
    if not despite:
        labels = table.labels(verdict.open_cells)
        reasons += [f"cell {label} is not protected well enough" for label in labels]
    for cell in verdict.against_marks:
        must = "be published" if problem.forced[cell] else "be hidden"
        reasons.append(f"cell {table.label(cell)} must {must}")
    if verdict.too_many_touched:
        reasons.append(f"more than {problem.most_touched} cells are touched")
    if reasons:
        printed = verdict.subject is not None and isinstance(verdict.subject[1], Printed)
        judged = "what is printed" if printed else "this pattern"
        raise UnsafePublication(
            f"The audit of {judged} did not pass ({counted(len(reasons), 'reason')}):\n{listed(reasons)}",
            confidential={"reasons": reasons},
        )


def _true_view(problem: Problem, pattern: Pattern) -> View:
    try:
        return checked_view(problem, pattern)
    except InputError as error:
        raise UnsafePublication(
            f"The pattern does not state the truth about this table:\n{listed(error.faults)}"
        ) from None


def _can_change(pattern: Pattern) -> bool:
    """Whether what the pattern states could have become something else since it was audited."""
    match pattern:
        case Suppression():
            arrays: list[NDArray[Any]] = [pattern.hidden]
        case Intervals():
            arrays = [pattern.low, pattern.high]
        case Rounding():
            arrays = [pattern.shown, pattern.base]
        case Perturbation():
            arrays = [pattern.shown, pattern.reach]
        case Mixed():
            arrays = [where for where, _ in pattern.parts]
            if any(_can_change(part) for _, part in pattern.parts):
                return True
        case Printed():
            return _can_change(pattern.pattern)
        case _:
            return True
    return any(array.flags.writeable for array in arrays)


def _check_texts(texts: Mapping[str, str]) -> None:
    faults = [f"{name}: expected text" for name, text in texts.items() if not isinstance(text, str)]
    if not faults:
        symbol = texts["symbol"].strip()
        if not symbol or symbol == NOTHING or not symbol.isprintable() or _is_number(symbol):
            faults.append(f"symbol: expected a mark on one line that is no number and not {NOTHING!r}")
    if faults:
        raise InputError("Publication", faults)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return any(character.isdigit() for character in text)
    return True


def _check_labels(dimensions: Sequence[Dimension], labels: Labels) -> None:
    known = {dimension.name: dimension for dimension in dimensions}
    faults = [f"there is no dimension {name!r}" for name in labels if name not in known]
    for name, meanings in labels.items():
        if name in known:
            faults += _label_faults(known[name], meanings)
    if faults:
        advice = f"Labels go by dimension, then by code. Dimensions: {', '.join(known)}."
        raise InputError("Labels", faults, advice=advice)


def _label_faults(dimension: Dimension, meanings: Any) -> Iterator[str]:
    if not isinstance(meanings, Mapping):
        yield f"dimension {dimension.name!r}: expected labels by code, got {type(meanings).__name__}"
        return
    for code, meaning in meanings.items():
        if code not in dimension.index:
            yield f"dimension {dimension.name!r} has no code {code!r}"
        elif not isinstance(meaning, str):
            yield f"dimension {dimension.name!r}, code {code!r}: expected text"


# ---------------------------------------------------------------------- what is printed


def _printed(problem: Problem, form: Pattern, view: View, labels: Labels) -> Publication:
    """The view in the order of print. Values of the table are not looked at: what is not stated is not known."""
    table = problem.table
    cells: Ints = np.flatnonzero(~table.is_virtual)
    dimensions, columns = list[PublicDimension](), list[NDArray[Any]]()
    for d, dimension in enumerate(table.dimensions):
        public, place = _public_dimension(dimension, table.codes[cells, d], labels.get(dimension.name))
        dimensions.append(public)
        columns.append(place[table.codes[cells, d]])
    order = np.lexsort(columns[::-1])
    rows = cells[order]
    low, high = view.low[rows], view.high[rows]
    unit = form.unit if isinstance(form, Printed) else None
    finer = form.pattern.view(problem) if isinstance(form, Printed) else view
    status = _statuses(finer, rounded_cells(form, len(table)))[rows]
    ranges, around = status == INTERVAL, (status == ROUNDED) | (status == PERTURBED)
    exact = low if unit is None else view.shown[rows]
    shown = np.where(status == PUBLISHED, exact, np.where(around, view.shown[rows], np.nan))
    ends = low[ranges], high[ranges]
    decimals = decimals_of(table.decimals, shown, *ends) if unit is None else unit.decimals
    reach = form.reach(problem) if isinstance(form, Printed) else _without_noise(stated_reach(form, view))
    within = np.where(around | ((status == PUBLISHED) & (low < high)), reach[rows], 0.0)
    return Publication(
        tuple(dimensions),
        frozen(np.stack(columns, axis=1)[order].astype(np.int32)),
        frozen(status),
        frozen(_rounded(shown, decimals)),
        frozen(np.where(ranges, _outward(low, decimals, np.floor), low)),
        frozen(np.where(ranges, _outward(high, decimals, np.ceil), high)),
        frozen(within),
        decimals,
        table.response,
        gap=gap_meaning(table),
        part_gaps=part_gap_meanings(table),
        frame_kind=table.frame_kind,
        unit=None if unit is None else unit.size,
        coarser=unit is not None and unit.is_coarser,
    )


def _statuses(view: View, rounded: Bools) -> NDArray[np.str_]:
    """One word a cell, from what is stated about it.

    A number is shown only in the middle of low..high, where it tells no more than these two do, which is what
    the audit has judged.
    """
    status = np.full(view.low.size, INTERVAL, dtype=_WORD)
    status[view.centred] = np.where(rounded, ROUNDED, PERTURBED)[view.centred]
    status[view.low == view.high] = PUBLISHED
    status[np.isinf(view.low) & np.isinf(view.high)] = HIDDEN
    return status


def _rounded(numbers: Floats, decimals: int) -> Floats:
    """Without the noise of sums in floating point, in which parts that are hidden could leave a trace."""
    near = amounts(nearest_units(numbers, decimals), decimals)
    return np.asarray(np.where(np.isfinite(numbers), near, numbers) + 0.0)


def _without_noise(reach: Floats) -> Floats:
    """Reaches with twelve digits."""
    return np.array([float(f"{each:.12g}") for each in reach.tolist()])


def _outward(ends: Floats, decimals: int, away: Any) -> Floats:
    """Ends of intervals with this number of decimals; what has more is rounded away from the interval."""
    near = _rounded(ends, decimals)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = np.abs(near - ends) <= FLOAT_NOISE * np.abs(ends)
        far = away(ends * 10.0**decimals) / 10.0**decimals
    return np.where(exact | ~np.isfinite(ends), near, _rounded(far, decimals))


# ---------------------------------------------------------------------- codes


def _public_dimension(
    dimension: Dimension, codes: NDArray[Any], meanings: Mapping[str, str] | None
) -> tuple[PublicDimension, Ints]:
    """The codes that some cell of the publication has, in the order of print, and where each code went.

    Other codes leave no trace: unions of sensitive cells have codes of their own, which must stay secret.
    """
    used = np.zeros(len(dimension.codes), dtype=bool)
    used[codes] = True
    parent = _parents(dimension, used)
    order, depth = _depth_first(parent, used)
    place = np.full(len(dimension.codes), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    public = PublicDimension(
        dimension.name,
        tuple(dimension.codes[code] for code in order),
        tuple(int(place[parent[code]]) if parent[code] >= 0 else -1 for code in order),
        tuple(depth),
        None if meanings is None else tuple(meanings.get(dimension.codes[code], "") for code in order),
    )
    return public, place


def _parents(dimension: Dimension, used: NDArray[np.bool_]) -> list[int]:
    """The code that each one is printed under: the nearest above it in the first hierarchy that has one."""
    chosen = [-1] * len(dimension.codes)
    for parents in dimension.parents:
        above = parents.tolist()
        for code in np.flatnonzero(used).tolist():
            parent = above[code]
            while parent >= 0 and not used[parent]:
                parent = above[parent]
            if chosen[code] < 0 and parent >= 0 and not _lies_below(parent, code, chosen):
                chosen[code] = parent
    return chosen


def _lies_below(code: int, other: int, parent: Sequence[int]) -> bool:
    """Whether a code is another one or lies below it: two names of one thing can each be the other's parent."""
    while code >= 0 and code != other:
        code = parent[code]
    return code >= 0


def _depth_first(parent: Sequence[int], used: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """The codes used, each before what is below it, and their depths; siblings in the order of the dimension."""
    below: list[list[int]] = [[] for _ in parent]
    pending = []
    for code in np.flatnonzero(used).tolist():
        if (above := parent[code]) >= 0:
            below[above].append(code)
        else:
            pending.append((code, 0))
    pending.reverse()
    order, depths = list[int](), list[int]()
    while pending:
        code, depth = pending.pop()
        order.append(code)
        depths.append(depth)
        pending += [(child, depth + 1) for child in reversed(below[code])]
    return order, depths
