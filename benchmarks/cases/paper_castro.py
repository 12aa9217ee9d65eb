"""Figures of Castro (2002), Tables 1 and 2: three-way tables, Sun Ultra2 200 MHz, AMPL with CPLEX 6.5.

By generator, size and number of sensitive cells: suppressed cells, suppressed value (both with the sensitive cells),
problems solved, seconds in them. By the network and dual simplex methods (Table 1), by the dual one alone (Table 2).
"""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A line of a table."""

    cells: int
    value: int
    problems: int
    seconds: float


NETWORK_AND_DUAL: dict[tuple[int, str, int], Printed] = {
    (1, "10x10x10", 50): Printed(254, 67082, 76, 18.7),
    (1, "10x10x10", 100): Printed(234, 75317, 110, 31.3),
    (1, "10x10x20", 50): Printed(317, 77439, 81, 31.3),
    (1, "10x10x20", 100): Printed(362, 94765, 127, 82.9),
    (1, "10x20x10", 50): Printed(298, 79644, 69, 29.2),
    (1, "10x20x10", 100): Printed(397, 97964, 115, 102.6),
    (1, "10x20x20", 50): Printed(473, 97753, 86, 127.1),
    (1, "10x20x20", 100): Printed(526, 118745, 144, 224.2),
    (2, "10x10x10", 50): Printed(170, 10099, 43, 7.8),
    (2, "10x10x10", 100): Printed(191, 6194, 38, 9.1),
    (2, "10x10x20", 50): Printed(222, 14458, 65, 16.6),
    (2, "10x10x20", 100): Printed(275, 12027, 43, 24.6),
    (2, "10x20x10", 50): Printed(222, 14192, 63, 21.7),
    (2, "10x20x10", 100): Printed(310, 16035, 89, 40.0),
    (2, "10x20x20", 50): Printed(296, 19252, 75, 54.5),
    (2, "10x20x20", 100): Printed(398, 19841, 103, 86.9),
}
DUAL: dict[tuple[int, str, int], Printed] = {
    (1, "10x10x10", 50): Printed(227, 60961, 56, 7.6),
    (1, "10x10x10", 100): Printed(259, 78641, 69, 10.1),
    (1, "10x10x20", 50): Printed(307, 74239, 74, 19.0),
    (1, "10x10x20", 100): Printed(384, 97304, 79, 26.8),
    (1, "10x20x10", 50): Printed(292, 74327, 60, 15.5),
    (1, "10x20x10", 100): Printed(446, 103971, 82, 33.4),
    (1, "10x20x20", 50): Printed(480, 95978, 73, 64.1),
    (1, "10x20x20", 100): Printed(608, 124817, 104, 96.4),
    (2, "10x10x10", 50): Printed(170, 10099, 38, 4.6),
    (2, "10x10x10", 100): Printed(190, 6115, 31, 4.0),
    (2, "10x10x20", 50): Printed(222, 14458, 65, 15.5),
    (2, "10x10x20", 100): Printed(261, 10889, 24, 7.5),
    (2, "10x20x10", 50): Printed(222, 14192, 63, 14.7),
    (2, "10x20x10", 100): Printed(306, 15656, 81, 19.7),
    (2, "10x20x20", 50): Printed(296, 19252, 75, 50.5),
    (2, "10x20x20", 100): Printed(390, 19558, 93, 50.4),
}
