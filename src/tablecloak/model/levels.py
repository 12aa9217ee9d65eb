"""Protection levels: how far from the truth a sensitive cell must be possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Floats, floats, mask, positions
from tablecloak.errors import InputError


@dataclass(frozen=True, eq=False)
class Levels:
    """Protection levels as distances from the true value; zero where nothing is required.

    For every attacker, cell p must have a_p - min >= lower_p, max - a_p >= upper_p, max - min >= sliding_p.
    `conditional` requires max - min >= conditional_i of a cell that is not sensitive *if* it is hidden.
    """

    lower: Floats
    upper: Floats
    sliding: Floats
    conditional: Floats

    @classmethod
    def of(
        cls,
        size: int,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        sliding: ArrayLike = 0.0,
        conditional: ArrayLike = 0.0,
    ) -> Levels:
        """Levels from arrays over all cells, or scalars for all of them."""
        return cls(*(floats(level, size) for level in (lower, upper, sliding, conditional)))

    @classmethod
    def at(
        cls,
        size: int,
        cells: ArrayLike,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        sliding: ArrayLike = 0.0,
    ) -> Levels:
        """Levels of some cells only (a mask or a list): a number for all of them, or one each."""
        mask(cells, size)  # refuses cells that there are not
        where = positions(cells)
        spread = np.zeros((3, size))
        for row, level in zip(spread, (lower, upper, sliding), strict=True):
            if (given := floats(level, where.size)).shape != where.shape:
                raise InputError("Levels", [f"expected {where.size} numbers, got shape {given.shape}"])
            row[where] = given
        return cls.of(size, *spread)

    def named(self) -> Iterator[tuple[str, Floats]]:
        """Each kind of level with its name."""
        yield from (
            ("lower", self.lower),
            ("upper", self.upper),
            ("sliding", self.sliding),
            ("conditional", self.conditional),
        )
