"""Singletons: the only respondent of a cell knows its value, and so what protects another cell in the same line.

In each line (a total and its parts) the sensitive parts are looked at. A *virtual* cell is their sum, with the equation
"parts - virtual = 0" and an upper level of next to nothing: one more part of the line has to be hidden.

- *single-single*: exactly two sensitive parts, both with one respondent;
- *single-multiple*: exactly two, one of them with one respondent;
- *frequency*: several parts that a frequency rule caught, with no more respondents together than its threshold.

Attackers who know contributions (`Problem.attackers`) say the same exactly and for all cells; these are the rules of
tau-ARGUS, of which its users expect the patterns.

References: de Wolf (2002), section 4; tau-ARGUS user's manual 4.1, section 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Floats, Ints, frozen, frozen_matrix
from tablecloak.attacker import read_lines, usual_total_sign
from tablecloak.methods.modular.settings import SingletonSettings
from tablecloak.model import Dimension, Levels, Mark, Problem


@dataclass(frozen=True)
class SingletonRules:
    """Which sums of sensitive cells are protected too."""

    single_single: bool = True
    single_multiple: bool = True
    min_count: int = 0
    """Threshold of the frequency rule: sums of cells that it caught with no more respondents. 0: none."""


def with_singletons(
    problem: Problem, rules: SingletonRules, settings: SingletonSettings = SingletonSettings()
) -> Problem:
    """The problem with a virtual cell for each sum that the rules protect; as it is where respondents are unknown."""
    groups = _groups(problem, rules)
    return _extended(problem, groups, settings) if groups else problem


def _groups(problem: Problem, rules: SingletonRules) -> list[Ints]:
    """Sensitive parts of a line whose sum is protected, each set once."""
    table = problem.table
    if table.respondents is None:
        return []
    lines = read_lines(csr_array(table.equations), usual_total_sign(csr_array(table.equations), -1))
    if lines is None:
        return []
    real = ~table.is_virtual[lines.part]
    wanted = real & problem.sensitive[lines.part]
    count = table.respondents.count
    found: dict[bytes, Ints] = {}
    wanted &= np.bincount(lines.of[wanted], minlength=lines.total.size)[lines.of] > 1
    line, part = lines.of[wanted], lines.part[wanted]
    for cells in np.split(part, np.flatnonzero(np.diff(line)) + 1):
        single = count[cells] == 1
        pair = cells.size == 2 and (
            (rules.single_single and single.all()) or (rules.single_multiple and single.sum() == 1)
        )
        chosen = np.sort(cells) if pair else _few(problem, cells, rules.min_count)
        if chosen.size > 1:
            found.setdefault(chosen.tobytes(), chosen)
    return list(found.values())


def _few(problem: Problem, cells: Ints, min_count: int) -> Ints:
    """The cells that a frequency rule caught, if all sensitive cells together have few respondents."""
    assert problem.table.respondents is not None
    if min_count == 0:
        return np.zeros(0, dtype=np.int64)
    count = problem.table.respondents.count
    caught = [cell for cell in cells.tolist() if _by_frequency(problem, cell)]
    few = len(caught) > 1 and int(count[cells].sum()) <= min_count
    return np.sort(np.array(caught if few else [], dtype=np.int64))


def _by_frequency(problem: Problem, cell: int) -> bool:
    """Whether a frequency rule decided that a cell is sensitive."""
    reasons = problem.reasons.get(cell, ())
    return bool(reasons) and reasons[0].kind == "frequency"


def _extended(problem: Problem, groups: list[Ints], settings: SingletonSettings) -> Problem:
    """The problem with a virtual cell for each group, cells named by numbers: it is solved and not shown."""
    table, size, count = problem.table, len(problem.table), len(groups)
    row = np.repeat(np.arange(count), [group.size for group in groups])
    members = csr_array((np.ones(row.size), (row, np.concatenate(groups))), shape=(count, size))
    equations = vstack(
        [
            hstack([table.equations, csr_array((table.equations.shape[0], count))]),
            hstack([members, -eye_array(count)]),
        ]
    )
    whole = members.astype(np.int64)
    steps = table.cell_decimals
    if steps is not None:
        steps = frozen(np.concatenate([steps, [steps[group].max() for group in groups]]).astype(np.int8))
    extended = replace(
        table,
        dimensions=(Dimension.names("cell", map(str, range(size + count))),),
        codes=frozen(np.arange(size + count, dtype=np.int32)[:, None]),
        units=frozen(np.concatenate([table.units, whole @ table.units])),
        equations=frozen_matrix(equations),
        rhs=frozen(np.concatenate([table.rhs, np.zeros(count)])),
        columns={},
        respondents=None,
        holdings=None,
        virtual=table.virtual + count,
        cell_decimals=steps,
        emptiness=None,
    )
    sums = np.abs(extended.values[size:])
    upper = np.maximum(np.ceil(settings.level_share * sums / table.unit), 1.0) * table.unit
    levels = [_padded(level, 0.0, count) for _, level in problem.levels.named()]
    levels[1] = frozen(np.concatenate([problem.levels.upper, upper]))
    return replace(
        problem,
        table=extended,
        marks=frozen(np.concatenate([problem.marks, np.full(count, Mark.SENSITIVE, dtype=np.int8)])),
        levels=Levels(*levels),
        weights=_padded(problem.weights, 0.0, count),
        outsider_low=frozen(np.concatenate([problem.outsider_low, members @ problem.outsider_low])),
        outsider_high=frozen(np.concatenate([problem.outsider_high, members @ problem.outsider_high])),
        prices=None,
        reasons={},
    )


def _padded(array: Floats, value: float, count: int) -> Floats:
    return frozen(np.concatenate([array, np.full(count, value)]))
