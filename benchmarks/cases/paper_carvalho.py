"""Figures of Carvalho & Almeida (2008), Tables 1 and 2: Pentium III 866 MHz, CPLEX 8.0, one hour an instance.

For each m: instances, proven optimal, proven optimal at iteration 1 (%), mean gap of the others at iteration 1 (%),
mean seconds.
"""

from __future__ import annotations

TABLES: dict[str, dict[int, tuple[int, int, float, float | None, float]]] = {
    "I": {
        20: (20, 20, 15.0, 21.44, 22.85),
        40: (40, 40, 12.5, 8.09, 132.35),
        60: (60, 53, 38.3, 3.45, 39.81),
        80: (80, 76, 38.8, 2.97, 37.89),
        100: (100, 95, 55.0, 1.82, 32.64),
        200: (40, 39, 95.0, 0.81, 26.88),
        300: (60, 60, 100.0, None, 33.17),
        400: (80, 80, 100.0, None, 6.00),
        500: (100, 100, 100.0, None, 6.82),
    },
    "II": {
        10: (10, 10, 40.0, 27.85, 0.40),
        20: (20, 20, 25.0, 8.30, 3.15),
        30: (30, 30, 70.0, 5.66, 0.51),
        40: (40, 40, 65.0, 25.82, 2.40),
        50: (50, 50, 84.0, 4.50, 1.10),
        60: (60, 60, 83.3, 12.37, 35.21),
        70: (70, 70, 94.3, 4.82, 15.65),
        80: (80, 80, 92.5, 8.18, 23.50),
        90: (90, 87, 91.1, 8.74, 154.67),
        100: (100, 95, 88.0, 4.69, 219.59),
        200: (40, 35, 92.5, 0.28, 617.46),
        300: (60, 55, 91.7, 0.69, 365.81),
        400: (80, 61, 76.3, 0.40, 882.41),
        500: (100, 78, 78.0, 0.06, 873.85),
    },
}
NOTHING_NEEDED = {"I": 15.2, "II": 2.7}
"""Percentage of instances that its preprocessing found to need no complementary suppression."""
