"""Exact deviations of a partly hidden table: witnesses that a requirement can be met.

For cell p, an attacker's box and a set of cells that may deviate: a deviation d with M d = 0 and +-d_p >= need, in
integral data units or simple fractions of them. If the cells that it moves are hidden, the need of p is met.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker.evidence import IntegralSystem
from tablecloak.attacker.oracle import AttackerOracle
from tablecloak.attacker.presolve import Component, Reduction, reduce, working_columns
from tablecloak.model import Problem, Suppression, View, deviation_bounds
from tablecloak.solvers.graphs import Network


class WitnessFinder:
    """Finds deviations in which only some cells move; by attacker, since boxes differ.

    `allowed` cells move freely, the others as far as the `rest` of a publication lets them (without one: not at all).
    """

    def __init__(self, problem: Problem, allowed: Bools, rest: View | None = None) -> None:
        self.problem = problem
        view = Suppression.of(problem.table, allowed).view(problem)
        if rest is not None:
            view = replace(
                view, low=np.where(allowed, view.low, rest.low), high=np.where(allowed, view.high, rest.high)
            )
        self._view = view
        self._systems: dict[int, Reduction] = {}

    def find(self, cell: int, attacker: int, upward: bool, need: float) -> Floats | None:
        """A deviation of all cells, in data units, with the need of the cell, or else with its maximum.

        None where the cell is determined.
        """
        system = self._system(attacker)
        number = int(system.component[cell])
        if number < 0:
            return None
        component, place = system.components[number], int(system.position[cell])
        moved = _by_flow if component.orientation is not None else _by_program
        amounts = moved(component, place, upward, need)
        if amounts is None:
            return None
        deviation = np.zeros(len(self.problem.table))
        deviation[component.cells] = amounts
        return deviation

    def _system(self, attacker: int) -> Reduction:
        if attacker not in self._systems:
            low, high = deviation_bounds(self.problem, self._view, attacker)
            table = self.problem.table
            self._systems[attacker] = reduce(working_columns(table), low, high, table.unit)
        return self._systems[attacker]


def _by_flow(component: Component, place: int, upward: bool, need: float) -> Floats | None:
    orientation = component.orientation
    assert orientation is not None
    network = Network(orientation.nodes, orientation.tail, orientation.head, component.high, -component.low)
    route = network.route(place, upward, need)
    return route.deviation if route.value > 0 else None


def _by_program(component: Component, place: int, upward: bool, need: float) -> Floats | None:
    system = IntegralSystem(component.columns)
    ratio = float(system.ratio[place])
    if ratio == 0:
        return None
    sign = 1 if (ratio > 0) is upward else -1
    found = AttackerOracle(system, *system.bounds(component.low, component.high)).settle(
        int(system.group[place]), sign, need
    )
    if found.deviation is None:
        return None
    columns = found.deviation.numerator / float(found.deviation.denominator)
    return np.asarray(system.ratio * columns[system.group]) if math.isfinite(need) else None
