"""suppress-auto: a good pattern soon, a better one with every second, and the proof where there is time for it.

1. *Fast methods* that fit the table, one after the other: on networks shortest paths, by weight and by strata; on other
   tables greedy deviations. Each gets at most half of the time that is left. The cheapest pattern is kept.
2. *The exact recipe* (`exact_run`) starts from it: the relaxation gives a bound and guides searches, large
   neighbourhoods of the best pattern are searched over the rows found so far, and branch and cut ends it where it can.

With a time limit it works until then, or until the optimum is proven. Without one it stops after a fixed amount of
work (`nodes`), so that the same seed gives the same pattern. What is returned says how good it is proven to be.

Reference: our notes, 4.11; the papers of the methods it uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tablecloak.errors import NotApplicable
from tablecloak.methods.base import Proposal
from tablecloak.methods.exact_run import ExactParams, ExactRun
from tablecloak.methods.network_search import is_network
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.result import Status

FAST_SHARE = 0.5
"""A fast method gets at most this share of the time that is left."""


@dataclass(frozen=True)
class AutoParams:
    """Parameters of suppress-auto."""

    seconds: float | None = None
    """Work for so long, unless the optimum is proven before."""
    gap: float = 0.0
    """Stop when cost and bound differ by no more than this share of the cost."""
    nodes: int = 200
    """Without a time limit: stop after so many nodes of branch and cut."""


def suppress_auto(
    problem: Problem,
    *,
    params: AutoParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The best safe pattern that was found, with a proven bound on the cost of every safe pattern."""
    deadline, told = Deadline.after(params.seconds), _Best(progress)
    start: Proposal | None = None
    tried: dict[str, float] = {}
    for name, settings in _fast(problem):
        found = _run(name, settings, problem, deadline, rng, told, executor)
        if found is None:
            continue
        label = " ".join([name, *map(str, settings.values())])
        tried[f"cost by {label}"] = found.pattern.loss(problem)
        if start is None or found.pattern.loss(problem) < start.pattern.loss(problem):
            start = found
        if found.status is Status.TIME_LIMIT and not deadline.passed() and params.seconds is None:
            return replace(start, counters={**start.counters, **tried})  # Ctrl-C
    exact = ExactParams(
        seconds=None if params.seconds is None else deadline.left,
        gap=params.gap,
        nodes=params.nodes if params.seconds is None else None,
    )
    hidden = None if start is None else start.pattern.touched(problem)
    found = ExactRun(problem, exact, rng, told, hidden).run()
    return replace(found, counters={**tried, **found.counters})


def _fast(problem: Problem) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The fast methods for a problem, with their parameters. The exact recipe has one more of its own on networks."""
    if not is_network(problem):
        yield "suppress-greedy", {}
    elif (problem.table.values >= 0).all():
        yield "suppress-shortest-path", {"costs": "weight"}
        yield "suppress-shortest-path", {"costs": "strata"}


def _run(
    name: str,
    settings: Mapping[str, Any],
    problem: Problem,
    deadline: Deadline,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal | None:
    """A fast method on the problem; None if it does not fit, or there is no time for it."""
    from tablecloak.methods import METHODS

    method = METHODS[name]
    seconds = FAST_SHARE * deadline.left if math.isfinite(deadline.left) else None
    try:
        return method.function(
            problem,
            params=method.make_params({**settings, "seconds": seconds}),
            rng=rng,
            progress=progress,
            executor=executor,
        )
    except NotApplicable:
        return None


class _Best:
    """Passes progress on; the incumbent is the best of all that were told."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._best = progress, math.inf

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        if incumbent is not None:
            self._best = min(self._best, incumbent)
        self._progress(phase, done, total, self._best if math.isfinite(self._best) else None, bound)
