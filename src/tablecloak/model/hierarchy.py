"""A tree of codes with one total at its root: the classification behind one dimension of a table.

::

    Hierarchy.flat(["f", "m"])                                        a list
    Hierarchy.from_dict({"North": ["N1", "N2"], "South": None})       nested dicts
    Hierarchy.from_pairs([("N1", "North"), ("North", "Total")])       (child, parent)
    Hierarchy.from_prefixes(["34100", "34210"], digits=(3, 1, 1))     "34100" below "3410" below "341"
    Hierarchy.from_hrc(Path("regions.hrc"))                           the indented text of τ-ARGUS

Each constructor turns its input into rows (where it was found, code, parent); one function plants the tree
or raises one `InputError` with everything that is wrong. Nothing recurses: a tree may be as deep as it likes.
"""

from __future__ import annotations

import re
import reprlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablecloak.arrays import Bools, Codes
from tablecloak.errors import InputError

Tree: TypeAlias = Mapping[str, "Tree | Iterable[str] | None"]
"""Codes, each with what lies below it: another tree, a collection of leaves, or None."""

_Row: TypeAlias = tuple[str, Any, Any]  # where it was found, code, parent (None: it has none)
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hierarchy:
    """A tree of codes, frozen and valid once made.

    `codes` are in depth-first order, ``codes[0]`` is the total; ``parent[i]`` is the position of the parent
    of ``codes[i]``, -1 for the total. Codes are distinct and not blank, and at least one lies below the
    total. A code may have a single child: the same cell under two names.
    """

    codes: tuple[str, ...]
    parent: Codes
    depth: Codes = field(init=False)
    """How far each code lies below the total, which has depth 0."""
    index: Mapping[str, int] = field(init=False)
    """The position of each code in `codes`."""
    _by_parent: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        codes, parent = tuple(self.codes), np.asarray(self.parent)
        faults = _row_faults([(f"codes[{i}]", code, None) for i, code in enumerate(codes)], None)
        if len(codes) < 2:
            faults.append("no codes below the total")
        depth = list[int]()
        if parent.shape != (len(codes),) or parent.dtype.kind not in "iu":
            faults.append(f"parent must hold one whole number for each of the {len(codes)} codes")
        else:
            depth, astray = _depths(parent.tolist())
            faults += [f"codes[{i}]: parent {parent[i]} is not on the path just above it" for i in astray]
        if faults:
            advice = "Codes go in depth-first order, the total first with parent -1."
            raise InputError("hierarchy", faults, advice=advice)
        object.__setattr__(self, "codes", tuple(map(str, codes)))
        object.__setattr__(self, "parent", _frozen(parent))
        object.__setattr__(self, "depth", _frozen(depth))
        object.__setattr__(self, "index", MappingProxyType({code: i for i, code in enumerate(self.codes)}))
        object.__setattr__(self, "_by_parent", np.argsort(parent, kind="stable"))

    @property
    def total(self) -> str:
        """The code at the root."""
        return self.codes[0]

    @property
    def is_leaf(self) -> Bools:
        """Whether nothing lies below a code, for each of `codes`."""
        leaf = np.ones(len(self.codes), dtype=np.bool_)
        leaf[self.parent[1:]] = False
        return leaf

    @property
    def leaves(self) -> tuple[str, ...]:
        """The codes with nothing below them, in the order of `codes`."""
        return tuple(self.codes[i] for i in np.flatnonzero(self.is_leaf))

    def children(self, code: str) -> tuple[str, ...]:
        """The codes directly below `code`, in the order they were given; none for a leaf."""
        if code not in self:
            raise InputError(repr(self), [f"unknown code {_shown(code)}"], advice="Its codes are in .codes.")
        i = self.index[code]
        bounds = np.array([i, i + 1], dtype=np.int32)  # of the type of `parent`, which is not copied then
        first, last = np.searchsorted(self.parent, bounds, sorter=self._by_parent)
        return tuple(self.codes[child] for child in self._by_parent[first:last])

    def __len__(self) -> int:
        return len(self.codes)

    def __contains__(self, code: object) -> bool:
        return isinstance(code, str) and code in self.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.codes == other.codes and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash((self.codes, self.parent.tobytes()))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Copies and pickles are made anew from the two fields: valid, with read-only arrays."""
        return type(self), (self.codes, self.parent)

    def __repr__(self) -> str:
        levels, leaves = self.depth.max() + 1, self.is_leaf.sum()
        return f"Hierarchy({self.total!r}, {len(self)} codes, {levels} levels, {leaves} leaves)"

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Self:
        """All codes directly below the total; those of a set in sorted order."""
        members, faults = _members(codes)
        rows = [(f"code {i}", code, total) for i, code in enumerate(members, 1)]
        return cls._planted("hierarchy from a list", rows, total, faults)

    @classmethod
    def from_dict(cls, tree: Tree, total: str = "Total") -> Self:
        """Nested dicts: below a code lies a dict, a collection of leaves (a set is sorted) or None."""
        rows, faults = list[_Row](), list[str]()
        entered = dict[int, object]()  # no group twice: one met again has duplicates, or lies below itself
        pending: list[tuple[Any, object]] = [(total, tree)]
        while pending:
            code, group = pending.pop()
            where = f"below {_shown(code)}"
            branches, wrong = _branches(group)
            faults += [f"{where}: {fault}" for fault in wrong]
            rows += [(where, child, code) for child, _ in branches]
            if id(group) not in entered:
                entered[id(group)] = group
                pending += reversed(branches)
        return cls._planted("hierarchy from a dict", rows, total, faults)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str | None]], total: str | None = None) -> Self:
        """(child, parent) pairs in any order; siblings keep the order of their pairs.

        A parent that is None, blank or the child itself marks a root. Without `total` there must be one
        root, which is the total. With `total` that code must be the root; where no pair mentions it, it is
        put above the roots.
        """
        rows, faults = _read_pairs(pairs)
        known = dict.fromkeys(code for _, *pair in rows for code in pair if isinstance(code, str))
        lower = {child for _, child, parent in rows if parent is not None}
        roots = [code for code in known if code not in lower]
        if total is None and len(roots) > 1:
            faults += [f"{_shown(root)} has no parent: one of {len(roots)} roots" for root in roots]
        elif total is None:
            total = roots[0] if roots else None
        elif total in known:
            faults += [f"{_shown(r)} has no parent and is not the total" for r in roots if r != total]
        else:
            listed = {child for _, child, _ in rows}
            rows = [(where, child, parent if child in lower else total) for where, child, parent in rows]
            rows += [("a root", root, total) for root in roots if root not in listed]
        return cls._planted("hierarchy from pairs", rows, total, faults)

    @classmethod
    def from_prefixes(cls, codes: Iterable[str], digits: Sequence[int], total: str = "Total") -> Self:
        """Codes that spell out their place in the tree: each level adds its number of characters.

        With ``digits=(3, 1, 1)`` the code "34100" lies below "3410", and that below "341". Prefixes become
        codes of their own; a code may end at any level.
        """
        members, faults = _members(codes)
        fit = (steps := _members(digits)[0]) and all(isinstance(n, int | np.integer) and n > 0 for n in steps)
        if not fit:
            faults.append(f"digits must be positive whole numbers, one for each level, not {_shown(digits)}")
        ends = list(accumulate(steps)) if fit else []
        rows, known = list[_Row](), {code for code in members if isinstance(code, str)}
        for i, code in enumerate(members, 1):
            text = "" if _code_fault(code) else code
            if text and ends and len(text) not in ends:
                faults.append(f"code {i}: {_shown(code)} is {len(text)} long, which is none of {ends}")
            path = [total, *(text[:end] for end in ends if end < len(text))]
            rows += [(f"code {i}", low, high) for high, low in pairwise(path) if low not in known]
            rows.append((f"code {i}", code, path[-1]))
            known.update(path[1:])
        return cls._planted("hierarchy from prefixes", rows, total, faults)

    @classmethod
    def from_hrc(cls, text_or_path: str | PathLike[str], total: str = "Total", lead: str = "@") -> Self:
        """The .hrc format of τ-ARGUS: a code a line, after one `lead` for each level below the first.

        A str is the text itself, a `Path` a file in UTF-8 or else Latin-1. The total is not listed. Blanks
        around codes and empty lines are skipped; a lead of blanks reads indented text.
        """
        lines, faults = _read_lines(_read_text(text_or_path), lead)
        rows, path = list[_Row](), [total]
        for number, depth, code in lines:
            if depth >= len(path):
                jump = f"from level {len(path) - 1} to level {depth + 1}"
                faults.append(f"line {number}: {code!r} jumps {jump}")
                path += path[-1:] * (depth + 1 - len(path))
            rows.append((f"line {number}", code, path[depth]))
            path[depth + 1 :] = [code]
        if isinstance(text_or_path, str) and re.fullmatch(r"[^\r\n]+\.hrc", text_or_path, re.IGNORECASE):
            faults.append(f"{text_or_path!r} is the name of a file: give it as a pathlib.Path")
        source = ".hrc text" if isinstance(text_or_path, str) else str(text_or_path)
        return cls._planted(f"hierarchy from {source}", rows, total, faults)

    def to_hrc(self, lead: str = "@") -> str:
        """The .hrc text of τ-ARGUS, which `from_hrc` reads back; the total is not listed."""
        faults = _lead_faults(lead) or [
            f"{code!r} would be read back as something else"
            for code in self.codes[1:]
            if code != code.strip() or code.startswith((lead, _BOM)) or "\n" in code or "\r" in code
        ]
        if faults:
            advice = "No code may start with the lead, have blanks around it or contain a line end."
            raise InputError("hierarchy to .hrc text", faults, advice=advice)
        lines = zip(self.depth[1:].tolist(), self.codes[1:], strict=True)
        return "".join(f"{lead * (depth - 1)}{code}\n" for depth, code in lines)

    @classmethod
    def _planted(cls, what: str, rows: Sequence[_Row], total: str | None, faults: Sequence[str]) -> Self:
        """The tree of the rows, siblings in their order; or all faults, those of the reader first."""
        faults = [*faults, *_row_faults(rows, total), *_cycle_faults(rows)]
        if not faults and (not rows or total is None):
            faults.append("no codes" if not rows else "the total: None is not text")
        if faults or total is None:
            advice = "A hierarchy has one total; every other code is there once, with one parent."
            raise InputError(what, faults, advice=advice)
        below = defaultdict[str | None, list[str]](list)
        for _, code, parent in rows:
            below[parent].append(code)
        codes, parents, pending = list[str](), list[int](), [(total, -1)]
        while pending:
            code, above = pending.pop()
            pending += [(child, len(codes)) for child in reversed(below[code])]
            codes.append(code)
            parents.append(above)
        return cls(tuple(codes), np.array(parents, dtype=np.int32))


def _frozen(values: ArrayLike) -> Codes:
    (array := np.array(values, dtype=np.int32)).setflags(write=False)
    return array


def _depths(parent: Sequence[int]) -> tuple[list[int], list[int]]:
    """The depth of each code, and the codes whose parent is not on the path down to the code before them."""
    depth, astray, path = list[int](), list[int](), list[int]()
    for i, above in enumerate(parent):
        k = depth[above] + 1 if 0 <= above < i else min(i, 1)
        if path[k - 1 : k] != [above] and (i or above != -1):
            astray.append(i)
        depth.append(k)
        path[k:] = [i]
    return depth, astray


# -- faults -------------------------------------------------------------------------------------------


def _shown(thing: object) -> str:
    return repr(str(thing)) if isinstance(thing, str) else reprlib.repr(thing)


def _code_fault(code: object) -> str:
    if not isinstance(code, str):
        return f"{_shown(code)} is {type(code).__name__}, not text"
    return "" if code.strip() else "the code is empty"


def _row_faults(rows: Iterable[_Row], total: str | None) -> list[str]:
    """What is wrong with single codes: not text, empty, there already."""
    fault = "" if total is None else _code_fault(total)
    faults, first = [f"the total: {fault}"] if fault else [], dict[str, tuple[str, object]]()
    for where, code, parent in rows:
        if fault := _code_fault(code):
            faults.append(f"{where}: {fault}")
        elif code == total and parent is not None:
            faults.append(f"{where}: duplicate code {_shown(code)}: the total cannot be below a code")
        elif code not in first:
            first[code] = where, parent
        elif first[code][1] == parent:
            faults.append(f"{where}: duplicate code {_shown(code)} (first: {first[code][0]})")
        else:
            parents = f"{_shown(first[code][1])} ({first[code][0]}) and {_shown(parent)}"
            faults.append(f"{where}: duplicate code {_shown(code)} with two parents: {parents}")
    return faults


def _cycle_faults(rows: Iterable[_Row], shown: int = 100) -> list[str]:
    """The cycles met on the way up from each code; of a longer one `shown` codes are listed."""
    above = defaultdict[str, list[str]](list)
    for _, code, parent in rows:
        if isinstance(code, str) and isinstance(parent, str) and code != parent:
            above[code].append(parent)
    faults, done = list[str](), set[str]()
    for start in list(above):
        path = {start: iter(above[start])}
        while path:
            code = next(reversed(path))
            parent = next(path[code], None)
            if parent is None:
                done.add(code)
                path.popitem()
            elif parent in path:
                cycle = [_shown(member) for member in [*list(path)[list(path).index(parent) :], parent]]
                if (rest := len(cycle) - shown) > 0:
                    cycle[shown // 2 : -shown // 2] = [f"... {rest} more ..."]
                faults.append(f"cycle: {' below '.join(cycle)}")
            elif parent not in done:
                path[parent] = iter(above[parent])
    return faults


def _lead_faults(lead: str) -> list[str]:
    fit = lead and "\n" not in lead and "\r" not in lead and lead.strip() in ("", lead)
    return [] if fit else [f"the lead {lead!r} must be a mark without blanks around it, or blanks only"]


# -- readers: input of any shape, and what is wrong with it -------------------------------------------


def _members(group: object) -> tuple[list[Any], list[str]]:
    """The elements of a collection, those of a set sorted."""
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        return [], [f"{_shown(group)} is {type(group).__name__}, not a list"]
    return sorted(group, key=str) if isinstance(group, set | frozenset) else list(group), []


def _branches(group: object) -> tuple[list[tuple[Any, object]], list[str]]:
    """(code, what lies below it) for each code of a dict, a collection of leaves or None."""
    if isinstance(group, Mapping):
        return list(group.items()), []
    members, faults = ([], []) if group is None else _members(group)
    return [(code, None) for code in members], faults


def _read_pairs(pairs: object) -> tuple[list[_Row], list[str]]:
    """The pairs as rows, the parent None where it marks a root."""
    rows, (members, faults) = list[_Row](), _members(pairs)
    if hasattr(pairs, "columns") or (isinstance(pairs, Mapping) and {type(key) for key in pairs} == {str}):
        return [], [f"a {type(pairs).__name__} is no list of pairs: give zip(children, parents)"]
    for i, pair in enumerate(members, 1):
        both = [] if isinstance(pair, set | frozenset | Mapping) else _members(pair)[0]
        if len(both) != 2:
            faults.append(f"pair {i}: {_shown(pair)} is not (child, parent)")
            continue
        child, parent = both
        if isinstance(parent, str) and (not parent.strip() or parent == child):
            parent = None
        wrong = {"child": _code_fault(child), "parent": "" if parent is None else _code_fault(parent)}
        faults += [f"pair {i}, {role}: {fault}" for role, fault in wrong.items() if fault]
        if not wrong["child"]:
            rows.append((f"pair {i}", child, parent))
    return rows, faults


def _read_text(source: str | PathLike[str]) -> str:
    if isinstance(source, str):
        return source.removeprefix(_BOM)
    try:
        data = Path(source).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        missing, why = isinstance(error, FileNotFoundError), getattr(error, "strerror", error)
        fault = "there is no such file" if missing else f"it cannot be read ({why})"
        raise InputError(f"hierarchy from {source}", [fault]) from None
    if b"\0" in data:
        raise InputError(f"hierarchy from {source}", ["it is not a text file (it contains zero bytes)"])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _read_lines(text: str, lead: str) -> tuple[list[tuple[int, int, str]], list[str]]:
    """(line number, leads, code) for each line that is not empty."""
    if faults := _lead_faults(lead):
        return [], faults
    lines, leads = list[tuple[int, int, str]](), re.compile(rf"(?:{re.escape(lead)})*")
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.rstrip() if lead.isspace() else raw.strip()
        if not line:
            continue
        rest = leads.sub("", line, count=1)
        code = rest.lstrip()
        if code != rest and (lead.isspace() or code.startswith(lead)):
            faults.append(f"line {number}: the blanks before {code!r} leave its level in doubt")
        lines.append((number, (len(line) - len(rest)) // len(lead), code))
    return lines, faults
