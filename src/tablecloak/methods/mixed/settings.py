"""Tuning of mixed-joint."""

from __future__ import annotations

from dataclasses import dataclass

from tablecloak.methods.intervals import BlurSettings
from tablecloak.methods.rounding import RoundingSettings


@dataclass(frozen=True)
class MixedSettings:
    """Tuning of mixed-joint; shares of the time were set on the benchmark part `limits`."""

    margins: tuple[tuple[float, float], ...] = (
        (0.0, 0.0),
        (1e-5, 0.0),
        (0.0, 1.0),
        (0.0, 2.0),
        (0.0, 4.0),
        (0.0, 8.0),
    )
    """Shares of themselves, and data units, by which levels are raised, in turn, until the audit accepts: success
    against cost. Units only where cells are perturbed: their integer units may take away some deviation that a solution
    in fractions allowed. Untested default."""
    lengthenings: tuple[float, ...] = (0.0, 1.0, 10.0)
    """Multiples of the precision of linear programs by which intervals are lengthened, in turn, before levels are
    raised. Untested default."""
    numbers_share: float = 0.5
    """Share of the time that programs have for additive numbers, against the time for the cheapest publication."""
    judged_share: float = 0.2
    """Maximum share of the time that is kept for the last audit within the method."""
    possible_share: float = 0.4
    """Maximum share of the time for the audit of the widest publication, where additive numbers exist."""
    exact_share: float = 0.5
    """Share of the time for the levels as they are, where intervals are blurred afterwards."""
    blur: BlurSettings = BlurSettings()
    """Asymmetry and grid of intervals."""
    rounding: RoundingSettings = RoundingSettings()
    """Steps of rounding, and annealing."""
