"""The last verdicts on a problem, so that what a method has had audited is not audited again at its end.

A verdict is found by all that the audit has judged: what the pattern states and shows, the cells it touches, its kind.
Patterns may be changed by their owner: their bytes count, not their identity.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from weakref import WeakKeyDictionary

import numpy as np

from tablecloak.model import Audit, Pattern, Problem, View

_RECENT: WeakKeyDictionary[Problem, dict[bytes, Audit]] = WeakKeyDictionary()


def remember(problem: Problem, pattern: Pattern, view: View, found: Audit, most: int = 4) -> Audit:
    """Keep a verdict and return it; it comes in the place of the oldest if there are `most` of them."""
    kept = _RECENT.setdefault(problem, {})
    # no reference that keeps the problem alive
    kept[_digest(problem, pattern, view)] = replace(found, subject=None)
    while len(kept) > most:
        kept.pop(next(iter(kept)))
    return found


def recent_audit(problem: Problem, pattern: Pattern) -> Audit | None:
    """The verdict on a pattern, if it is one of the last on this problem."""
    found = _RECENT.get(problem, {})
    known = found.get(_digest(problem, pattern, pattern.view(problem))) if found else None
    return None if known is None else replace(known, subject=(problem, pattern))


def _digest(problem: Problem, pattern: Pattern, view: View) -> bytes:
    kind, too_close = type(pattern), getattr(pattern, "too_close", None)
    digest = blake2b(f"{kind.__module__}.{kind.__qualname__}".encode(), digest_size=32)
    parts = [view.shown, view.low, view.high, pattern.touched(problem)]
    for part in parts if too_close is None else [*parts, too_close(problem)]:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()
