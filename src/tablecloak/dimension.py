"""Dimension: a classification variable of a table, with one or several hierarchies over its codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tablecloak.arrays import Bools, Codes, frozen
from tablecloak.errors import InputError
from tablecloak.hierarchy import Hierarchy


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

    @classmethod
    def of(cls, name: str, *hierarchies: Hierarchy) -> Dimension:
        """A dimension over one main hierarchy and any number of others that aggregate its codes."""
        if not hierarchies:
            raise InputError(f"Dimension {name!r}", ["no hierarchy given"])
        main, *others = hierarchies
        faults = [
            f"hierarchy {other.total!r} of dimension {name!r}: leaf {code!r} is unknown to hierarchy {main.total!r}"
            for other in others
            for code in other.leaves
            if code not in main
        ]
        if faults:
            raise InputError(
                f"Dimension {name!r}",
                faults,
                advice="The leaves of every hierarchy must be codes of the first one.",
            )
        return cls._united(name, hierarchies)

    @classmethod
    def flat(cls, name: str, codes: Iterable[str], total: str = "Total") -> Dimension:
        """A dimension whose codes add up to one total."""
        return cls.of(name, Hierarchy.flat(list(codes), total))

    @classmethod
    def names(cls, name: str, codes: Iterable[str]) -> Dimension:
        """A dimension without sums: codes that only name cells (the ids of a JJ file, responses)."""
        return cls(name, tuple(codes))

    @classmethod
    def _united(cls, name: str, hierarchies: Sequence[Hierarchy]) -> Dimension:
        distinct = tuple(dict.fromkeys(hierarchies))
        codes = tuple(dict.fromkeys(code for hierarchy in distinct for code in hierarchy.codes))
        return cls(name, codes, distinct)

    def united(self, other: Dimension) -> Dimension:
        """The dimension of a set of linked tables: the codes and hierarchies of both."""
        if not self.hierarchies and not other.hierarchies:
            return Dimension(self.name, tuple(dict.fromkeys(self.codes + other.codes)))
        return Dimension._united(self.name, self.hierarchies + other.hierarchies)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each code."""
        return {code: position for position, code in enumerate(self.codes)}

    @cached_property
    def total(self) -> str | None:
        """The root over all leaves of all hierarchies; None when there is none or it is not unique."""
        leaves = {leaf for hierarchy in self.hierarchies for leaf in hierarchy.leaves}
        covering = {h.total for h in self.hierarchies if all(leaf in h for leaf in leaves)}
        return covering.pop() if len(covering) == 1 else None

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
