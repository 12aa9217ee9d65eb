"""Recodes of hierarchical variables: codes below a level, or below given codes, are collapsed into these."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.errors import InputError, near
from tablecloak.formats.argus import ArgusRecode
from tablecloak.model import Hierarchy


def recoded(
    codes: NDArray[np.object_], hierarchy: Hierarchy, recode: ArgusRecode | int
) -> tuple[NDArray[np.object_], Hierarchy]:
    """Codes of records and their hierarchy after a recode."""
    if isinstance(recode, ArgusRecode):
        unknown = [code for code in recode.collapsed if code not in hierarchy]
        if unknown:
            faults = [f"unknown code {code!r}{near(code, hierarchy.codes)}" for code in unknown]
            raise InputError(f"Recode {recode.source}", faults, advice="Codes are those of the hierarchy.")
    target = dict[str, str]()
    pairs = list[tuple[str, str | None]]()
    closed = set[int]()
    for place, (code, above) in enumerate(zip(hierarchy.codes, hierarchy.parent.tolist(), strict=True)):
        if above in closed:
            closed.add(place)
            target[code] = target[hierarchy.codes[above]]
            continue
        target[code] = code
        if place:
            pairs.append((code, hierarchy.codes[above]))
        if _ends(hierarchy, place, recode):
            closed.add(place)
    if not pairs:
        raise InputError("Recode", ["nothing is left below the total"])
    found = np.array([target.get(code, code) for code in codes.tolist()], dtype=object)
    return found, Hierarchy.from_pairs(pairs, hierarchy.total)


def _ends(hierarchy: Hierarchy, place: int, recode: ArgusRecode | int) -> bool:
    """Whether the hierarchy ends at a code."""
    if isinstance(recode, int):
        return int(hierarchy.depth[place]) == recode
    return hierarchy.codes[place] in recode.collapsed
