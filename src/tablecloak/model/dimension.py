"""Dimension: a classification variable of a table, with one or several hierarchies over its codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tablecloak.arrays import Bools, Codes, frozen
from tablecloak.errors import InputError, check_kind
from tablecloak.model.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Dimension:
    """A named list of codes and the hierarchies that aggregate them.

    Several hierarchies may share codes (*non-nested aggregates*: regions by province and by river basin).
    A dimension without hierarchies is a mere list of names: its cells are tied only by explicit equations.
    `total` is the code a table means that does not have this dimension.
    """

    name: str
    codes: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("Dimension", [f"its name must be a text that is not empty, got {self.name!r}"])
        odd = [f"code {i + 1} is not text" for i, code in enumerate(self.codes) if not isinstance(code, str)]
        counts = Counter(self.codes) if len(set(self.codes)) < len(self.codes) else {}
        twice = [f"code {code!r} is listed {count} times" for code, count in counts.items() if count > 1]
        strange = [
            f"code {code!r} of hierarchy {hierarchy.total!r} is not a code of the dimension"
            for hierarchy in self.hierarchies
            for code in hierarchy.codes
            if code not in self.index
        ]
        if faults := odd + twice + strange:
            raise InputError(f"Dimension {self.name!r}", faults, advice="Give each code once, as text.")

    # ------------------------------------------------------------------ making one

    @classmethod
    def of(cls, name: str, *hierarchies: Hierarchy) -> Dimension:
        """A dimension over one main hierarchy and any number of others that aggregate its codes.

        The leaves of the others are codes of the main one, at any level; a code that several hierarchies
        split up must stand for the same leaves in all of them.
        """
        if not hierarchies:
            raise InputError(f"Dimension {name!r}", ["no hierarchy given"])
        for hierarchy in hierarchies:
            advice = "Make one with Hierarchy.flat, from_dict, from_pairs, from_prefixes or from_hrc."
            check_kind(f"Dimension {name!r}", "a hierarchy", hierarchy, Hierarchy, advice)
        faults = [
            f"hierarchy {other.total!r}: {fault}"
            for other in hierarchies[1:]
            for fault in _leaf_faults(hierarchies[0], other)
        ]
        if faults := faults or list(_clashes(hierarchies)):
            advice = "Every other hierarchy adds up codes of the first one, each of them once."
            raise InputError(f"Dimension {name!r}", faults, advice=advice)
        return cls._united(name, (), hierarchies)

    @classmethod
    def flat(cls, name: str, codes: Iterable[str], total: str = "Total") -> Dimension:
        """A dimension whose codes add up to one total."""
        return cls.of(name, Hierarchy.flat(codes, total))

    @classmethod
    def names(cls, name: str, codes: Iterable[str]) -> Dimension:
        """A dimension without sums: codes that only name cells (the ids of a JJ file, responses)."""
        if isinstance(codes, str | bytes) or not isinstance(codes, Iterable):
            raise InputError(f"Dimension {name!r}", [f"codes must be a list, got {type(codes).__name__}"])
        return cls(name, tuple(map(str, codes)))

    @classmethod
    def _united(cls, name: str, codes: Sequence[str], hierarchies: Sequence[Hierarchy]) -> Dimension:
        distinct = tuple(dict.fromkeys(hierarchies))
        every = (code for hierarchy in distinct for code in hierarchy.codes)
        return cls(name, tuple(dict.fromkeys((*codes, *every))), distinct)

    def united(self, other: Dimension) -> Dimension:
        """The dimension of a set of linked tables: the codes and hierarchies of both."""
        return Dimension._united(self.name, self.codes + other.codes, self.hierarchies + other.hierarchies)

    # ------------------------------------------------------------------ looking at it

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each code."""
        return {code: position for position, code in enumerate(self.codes)}

    @cached_property
    def total(self) -> str | None:
        """The first root that covers all leaves, by way of any hierarchies; None where no root does."""
        return next((h.total for h in self.hierarchies if self._covers(self.index[h.total])), None)

    def _covers(self, root: int) -> bool:
        reached = np.zeros(len(self.codes), dtype=bool)
        reached[root], count = True, 0
        while count < (count := int(reached.sum())):
            for parent in self.parents:
                reached |= (parent >= 0) & reached[parent]
        return bool(reached[self.is_leaf].all())

    @cached_property
    def parents(self) -> tuple[Codes, ...]:
        """For each hierarchy: the position of each code's parent, -1 where it has none there."""
        found = []
        for hierarchy in self.hierarchies:
            where = np.array([self.index[code] for code in hierarchy.codes], dtype=np.int32)
            parent = np.full(len(self.codes), -1, dtype=np.int32)
            inner = hierarchy.parent >= 0
            parent[where[inner]] = where[hierarchy.parent[inner]]
            found.append(frozen(parent))
        return tuple(found)

    @cached_property
    def is_leaf(self) -> Bools:
        """Codes that are no total in any hierarchy."""
        leaf = np.ones(len(self.codes), dtype=bool)
        for parent in self.parents:
            leaf[parent[parent >= 0]] = False
        return frozen(leaf)

    def __repr__(self) -> str:
        trees = ", ".join(repr(hierarchy) for hierarchy in self.hierarchies) or "no sums"
        return f"Dimension({self.name!r}, {len(self.codes)} codes: {trees})"


def check_dimensions(dimensions: object) -> None:
    """Raise unless these are dimensions, in a list."""
    advice = 'Give a list such as [Dimension.flat("region", ["North", "South"])].'
    if isinstance(dimensions, str | Mapping) or not isinstance(dimensions, Sequence):
        got = type(dimensions).__name__
        raise InputError("Dimensions", [f"expected a list of dimensions, got {got}"], advice=advice)
    for i, each in enumerate(dimensions, 1):
        check_kind("Dimensions", f"dimension number {i}", each, Dimension, advice)


def label_of(dimensions: Sequence[Dimension], row: Codes) -> str:
    """The codes of a cell as text: ``region=North, size=Total``."""
    return ", ".join(
        f"{dimension.name}={dimension.codes[code]}" for dimension, code in zip(dimensions, row, strict=True)
    )


# ---------------------------------------------------------------------- faults


def _leaf_faults(main: Hierarchy, other: Hierarchy) -> Iterator[str]:
    """Leaves of another hierarchy that the main one does not know, or that lie below one another there."""
    leaves = set(other.leaves)
    for code in other.leaves:
        if code not in main:
            yield f"leaf {code!r} is unknown to hierarchy {main.total!r}"
            continue
        above = int(main.parent[main.index[code]])
        while above >= 0 and main.codes[above] not in leaves:
            above = int(main.parent[above])
        if above >= 0:
            yield f"leaf {code!r} is counted twice: it is part of leaf {main.codes[above]!r}"


def _clashes(hierarchies: Sequence[Hierarchy]) -> Iterator[str]:
    """Codes that stand for different leaves in different hierarchies.

    Each leaf of the main hierarchy gets a random number; codes over the same leaves have the same sum.
    """
    main, *others = hierarchies
    if not others:
        return
    numbers = np.random.default_rng(0).integers(2**62, size=len(main.leaves)).tolist()
    known = {
        code: (main.total, content)
        for code, content in _contents(main, dict(zip(main.leaves, numbers, strict=True)))
    }
    for other in others:
        for code, content in _contents(other, {code: known[code][1] for code in other.leaves}):
            first, same = known.setdefault(code, (other.total, content))
            if content != same:
                yield f"code {code!r} stands for other leaves in hierarchy {other.total!r} than in {first!r}"


def _contents(hierarchy: Hierarchy, leaves: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Each code with the sum of the numbers of its leaves."""
    sums = [
        leaves.get(code, 0) if leaf else 0
        for code, leaf in zip(hierarchy.codes, hierarchy.is_leaf, strict=True)
    ]
    for child in range(len(sums) - 1, 0, -1):
        sums[hierarchy.parent[child]] += sums[child]
    yield from zip(hierarchy.codes, sums, strict=True)
