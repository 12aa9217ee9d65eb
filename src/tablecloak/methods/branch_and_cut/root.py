"""The cut loop at the root: solve the relaxation, separate, price, and let primal heuristics follow its point.

Separators come in two lists: fallbacks such as covers, which take longer, are called when the others find nothing. The
loop ends when no cut is violated and no column prices in, or when the bound tails off.
"""

from __future__ import annotations

from collections.abc import Sequence

from tablecloak.methods.branch_and_cut.improvement import (
    Improvements,
    NeighbourhoodSearch,
    build_near,
    construct_near,
)
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.separation import PointSeparator
from tablecloak.methods.cuts import Cut
from tablecloak.progress import Deadline
from tablecloak.solvers import Outcome


class RootLoop:
    """The rounds of the root.

    `share`: with a time limit, on non-network tables, seconds of neighbourhood search for each second that the root
    takes beyond its grace.
    """

    def __init__(
        self,
        search: SearchContext,
        improvements: Improvements,
        share: float = 0.0,
    ) -> None:
        self._search, self._settings = search, search.settings.root
        self._improvements = improvements
        self._meanwhile = _Meanwhile(search, improvements.neighbourhoods, share)
        kinds = None if search.settings.covers else 0
        self._separators = search.separation.at_root(self._settings.shifts, kinds)
        self._grace = search.deadline.share(self._settings.grace)

    def run(self) -> Outcome:
        """OPTIMAL: no cut is violated, or the bound tails off, or the gap is closed; else why it was not solved."""
        search, relaxation, settings = self._search, self._search.relaxation, self._settings
        model, stalled, before = search.model, 0, 0.0
        if len(model.requirements) * model.representatives.sum() > settings.star_cut_work:
            relaxation.add(search.separation.star_cuts())
        while not search.deadline.passed():
            outcome = relaxation.solve(search.deadline.left)
            if outcome is not Outcome.OPTIMAL:
                return outcome
            search.statistics.rounds += 1
            new = len(relaxation.violated_in_pool(relaxation.x))
            if stalled < settings.stalled_rounds:
                new += self._separate(self._separators.first)
            cycling = model.has_tied_weights and stalled >= settings.stalled_rounds + settings.tied_rounds
            if new == 0 or cycling:
                if relaxation.price() and not cycling:
                    stalled = 0
                    continue
                search.gap.raise_bound(relaxation.bound)
                wanted = stalled < settings.stalled_rounds and not self._grace.passed()
                if wanted and not search.gap.is_closed:
                    new = self._separate(self._separators.fallback)
            if new == 0 or cycling:
                self._report()
                if model.is_network and not search.gap.is_closed:  # construction is fast there
                    construct_near(search, search.point)
                return Outcome.OPTIMAL
            if self._improve():
                return Outcome.OPTIMAL
            stalled = stalled + 1 if relaxation.value < before + settings.tailing_off * abs(before) else 0
            before = relaxation.value
            if stalled == settings.shift_patience and self._separators.next_shift():
                stalled = 0
        return Outcome.TIME_LIMIT

    def _separate(self, separators: Sequence[PointSeparator]) -> int:
        """Add the cuts that the point of the relaxation violates; return the number of new ones."""
        search = self._search
        x, limit = search.point, search.separation.limit
        cuts: list[Cut] = [cut for separator in separators for cut in separator.separate(x, limit)]
        return search.relaxation.add(cuts)

    def _improve(self) -> bool:
        """Every few rounds raise the bound and run primal heuristics; True if the gap is closed."""
        search = self._search
        if search.statistics.rounds % self._settings.guided_rounds == 0:
            search.relaxation.price()
            search.gap.raise_bound(search.relaxation.bound)
            self._improvements.run("root rounds")
            if search.gap.is_closed:
                return True
        self._meanwhile.run(self._grace)
        self._report()
        return False

    def _report(self) -> None:
        rounds = self._search.statistics.rounds
        self._search.report("root", rounds, rounds)


class _Meanwhile:
    """Neighbourhoods while the root is solved, a share of the seconds that it takes beyond its grace."""

    def __init__(self, search: SearchContext, neighbourhoods: NeighbourhoodSearch, share: float) -> None:
        self._search, self._neighbourhoods, self._share = search, neighbourhoods, share
        self._seconds = 0.0
        """Seconds of neighbourhoods so far."""

    def run(self, grace: Deadline) -> None:
        """Search until neighbourhoods have had their share."""
        search = self._search
        if grace.moment is None or self._share <= 0.0 or search.model.is_network or not grace.passed():
            return
        left, before = search.deadline.left, self._seconds
        due = self._share * (grace.since - before)
        if before < due:
            build_near(search, search.point)
            self._seconds = before + left - search.deadline.left
        while self._seconds < due and not search.is_over:
            self._neighbourhoods.improve(search, 1)
            self._seconds = before + left - search.deadline.left
