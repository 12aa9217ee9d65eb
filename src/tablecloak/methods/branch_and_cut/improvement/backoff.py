"""When to run a primal heuristic: a wait that is halved by success and doubled by failure."""

from __future__ import annotations

from collections.abc import Callable

from tablecloak.methods.branch_and_cut.incumbent import Incumbent


class Backoff:
    """Counts occasions, not seconds, so that the same seed gives the same pattern."""

    def __init__(self, incumbent: Incumbent, wait: int = 1, longest: int = 64) -> None:
        self._incumbent, self._wait, self._longest, self._passed = incumbent, wait, longest, 0

    def maybe_run(self, heuristic: Callable[[], None]) -> None:
        """Run the heuristic if it is due; halve the wait on success, double it on failure."""
        self._passed += 1
        if self._passed < self._wait:
            return
        before = self._incumbent.changes
        heuristic()
        self._passed = 0
        better = self._incumbent.changes > before
        self._wait = max(self._wait // 2, 1) if better else min(2 * self._wait, self._longest)
