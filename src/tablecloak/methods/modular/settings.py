"""Tuning of the modular approach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModularSettings:
    """The work for each subtable."""

    nodes: int = 20
    """Maximum number of nodes of branch and cut for a subtable that is no network: on two library instances 200 take
    a sixth longer for the same patterns."""
    gap: float = 0.01
    """Share of the cost up to which such a subtable counts as solved; networks are solved to the end."""
    margin_price: float = 1.0
    """What a margin costs beside its weight, in multiples of the largest weight of an inner cell times the number of
    parts; the factor of HiTaS."""
    subtable_share: float = 0.1
    """With a time limit: the share of the time left that a subtable may take. Untested default."""
    max_sweeps: int = 100
    """Maximum number of passes from the top. Each but the last hides a margin again, and nearly all tables need less
    than ten. Untested default."""


@dataclass(frozen=True)
class SingletonSettings:
    """Virtual cells for cells of single respondents."""

    level_share: float = 1e-4
    """The upper level of a virtual cell as a share of its value, at least one data unit; the value of tau-ARGUS."""
