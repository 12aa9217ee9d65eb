"""suppress-modular: a hierarchical table as many small ones without hierarchies, each solved by branch and cut.

De Wolf's HiTaS, the modular approach of tau-ARGUS: subtables from the top of the hierarchies down, cells that one of
them hides are sensitive in the others, and where a margin must be hidden after all everything begins again from the top
(`modular.sweeps`). Sums of cells with single respondents are protected too (`modular.singletons`). Linked tables are
subtables of one system: those that belong to no table are never made.

Additions: any number of dimensions and tables of any equations; other attackers and sliding levels, which each subtable
meets exactly; unions, which belong to every subtable that has all their cells; and the frame audits the whole table,
names what subtables left open and repairs it (`heuristics.sequential`).

References: de Wolf (2002), HiTaS: a heuristic approach to cell suppression in hierarchical tables, in Inference Control
in Statistical Databases; de Wolf & Giessing (2009), Adjusting the tau-ARGUS modular approach to deal with linked
tables, Data & Knowledge Engineering 68.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tablecloak.methods.base import Proposal, refuse_non_monotone
from tablecloak.methods.heuristics import OneByOneParams, Own, Requests, one_by_one
from tablecloak.methods.modular import Modular, ModularOptions, SingletonRules, with_singletons
from tablecloak.model import Problem
from tablecloak.progress import Progress


@dataclass(frozen=True)
class ModularParams(OneByOneParams):
    """Parameters of suppress-modular."""

    single_single: bool = True
    """Protect sums of two sensitive cells that both have one respondent (where respondents are known)."""
    single_multiple: bool = True
    """Protect sums of two sensitive cells of which one has one respondent."""
    min_count: int = 0
    """Protect sums of cells that a frequency rule caught with no more respondents than this together; 0: none."""
    lower_margin: float = 0.9
    """Cells that other subtables hide must be possible down to this multiple of their value (LOWERMARG)."""
    upper_margin: float = 1.1
    """And up to this multiple (UPPERMARG); 1 and 1: one data unit away."""
    subtable_seconds: float | None = None
    """Time limit in seconds for each subtable."""
    max_weight: float = 0.0
    """Scale the weights of a subtable to whole numbers up to this, as tau-ARGUS does (20,000); 0: as they are."""
    carry_bounds: bool = False
    """What a subtable leaves of the cells it hides are their bounds in the subtables below."""


def suppress_modular(
    problem: Problem,
    *,
    params: ModularParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """An audited suppression of a table without conditional levels and bounds on the number of touched cells."""
    params.check(
        {
            "min_count must not be negative": params.min_count < 0,
            "max_weight must not be negative": params.max_weight < 0,
            "subtable_seconds must be positive": params.subtable_seconds is not None
            and params.subtable_seconds <= 0,
            "lower_margin must lie between 0 and 1": not 0 <= params.lower_margin <= 1,
            "upper_margin must be at least 1": not 1 <= params.upper_margin < np.inf,
        }
    )
    refuse_non_monotone(problem, "suppress-modular")
    return one_by_one(problem, params, rng, progress, partial(_build, params), "subtables")


def _build(params: ModularParams, requests: Requests) -> Own:
    """The paper's algorithm on the problem with its virtual cells."""
    rules = SingletonRules(params.single_single, params.single_multiple, params.min_count)
    extended = with_singletons(requests.problem, rules)
    options = ModularOptions(
        params.lower_margin,
        params.upper_margin,
        params.subtable_seconds,
        params.max_weight or None,
        params.carry_bounds,
    )
    modular = Modular(extended, requests.rng, requests.deadline, requests.progress, options)
    modular.run()
    size = len(requests.problem.table)
    virtual = len(extended.table) - size
    hidden = modular.hidden[:size] | requests.hidden
    return Own(hidden, {**modular.counts, "virtual cells": virtual})
