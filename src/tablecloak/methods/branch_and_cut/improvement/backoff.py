"""When to run a primal heuristic: a wait that is halved by success and doubled by failure."""

from __future__ import annotations

from collections.abc import Callable

from tablecloak.methods.branch_and_cut.state import Exact


class Occasions:
    """When to look for better patterns: often while that succeeds, ever more seldom while it does not.

    By counting, not by the clock: the same seed gives the same pattern.
    """

    def __init__(self, state: Exact, wait: int = 1, seldom: int = 64) -> None:
        self._state, self._wait, self._seldom, self._passed = state, wait, seldom, 0

    def take(self, work: Callable[[], None]) -> None:
        """Do it, if this is an occasion."""
        self._passed += 1
        if self._passed < self._wait:
            return
        before = self._state.changed
        work()
        self._passed = 0
        self._wait = (
            max(self._wait // 2, 1) if self._state.changed > before else min(2 * self._wait, self._seldom)
        )
