"""Proofs of an audit's findings: exact reaches and bounds of cells, made from the candidates of the engines.

A deviation or a set of multipliers is accepted only after the exact check of `ExactProblem`. Deviations that
were used once are tried on later cells first, forward and backward, scaled to the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import (
    ZERO,
    Component,
    Rational,
    plain,
    reduce,
    structure_of,
    tolerances,
    working_columns,
)
from tablecloak.auditing.candidates import (
    CandidateSettings,
    Engine,
    LinearEngine,
    NetworkEngine,
    NoBasis,
    Push,
    SparseEngine,
)
from tablecloak.auditing.certificate import Certificate, Claim
from tablecloak.auditing.exact import ONE, ExactProblem, Extended, Vector
from tablecloak.errors import SolverError
from tablecloak.model import Audit, Pattern, Problem, deviation_bounds
from tablecloak.progress import Progress, silent

INTEGRALITY = "the audit judged an attacker who knows that values are whole numbers, the proofs do not"
REVERSED = "exact arithmetic reverses the audit's finding, which was made within a tolerance"
EDGE = "the finding is on the edge: true within the audit's tolerance, not provable exactly"
LOOSE = "the interval is proven, but not to its last digits"
CORRECTED = "the interval proven is not the audit's, which was computed within a tolerance"


@dataclass(frozen=True)
class CertificateSettings:
    """Effort for exact proofs."""

    max_bits: int = 8_000
    """Maximum length of a numerator or denominator, in bits: longer ones make large certificates. Untested default."""
    reused_deviations: int = 40
    """Maximum number of deviations of earlier proofs that are tried on a cell before a program. Untested default."""
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    """Candidates for proofs."""


def certify(
    problem: Problem,
    pattern: Pattern,
    audit: Audit,
    *,
    progress: Progress = silent,
    settings: CertificateSettings = CertificateSettings(),
) -> Certificate:
    """Prove the findings of an audit; every claim has passed the exact check before it is included.

    For a row that is safe: reaches on each side with a requirement. For a row that is not: bounds that show
    it. With exact intervals (`audit.exact`): both on each side, with equal amounts, or *unbounded*. Rows for
    which no exact proof could be made are in `uncertified`, with the reason.
    """
    integral = "integ" in audit.engine
    writer = _CertificateWriter(problem, pattern, integral, settings)
    for row in range(audit.cells.size):
        cell, attacker, safe = int(audit.cells[row]), int(audit.attackers[row]), bool(audit.safe_rows[row])
        if audit.exact:
            writer.interval(cell, attacker, safe, (float(audit.low[row]), float(audit.high[row])))
        else:
            writer.verdict(cell, attacker, safe)
        progress("certificate", row + 1, audit.cells.size)
    if integral and not all(map(writer.exact.is_integral, writer.prover.deviations)):
        writer.uncertified.append(f"all rows: {INTEGRALITY}")
    doubtful = set(writer.exact.too_close()) ^ set(audit.too_close.tolist())
    writer.uncertified += [
        f"{label} as shown: {REVERSED}" for label in problem.table.labels(sorted(doubtful))
    ]
    return writer.certificate()


class _CertificateWriter:
    """Collects claims; deviations and multipliers that serve several claims are stored once."""

    def __init__(
        self, problem: Problem, pattern: Pattern, integral: bool, settings: CertificateSettings
    ) -> None:
        self.problem, self.integral = problem, integral
        self.exact = ExactProblem(problem, pattern)
        self.prover = ProofFinder(self.exact, integral, settings)
        self.claims: list[Claim] = []
        self.multipliers: dict[tuple[tuple[int, Fraction], ...], int] = {}
        self.uncertified: list[str] = []

    def certificate(self) -> Certificate:
        return Certificate(
            self.exact.digest(),
            len(self.problem.table),
            int(self.problem.table.equations.shape[0]),
            tuple(self.prover.deviations),
            tuple(dict(key) for key in self.multipliers),
            tuple(self.claims),
            tuple(self.uncertified),
        )

    def verdict(self, cell: int, attacker: int, safe: bool) -> None:
        """Prove that all requirements of a row are met, or that one of them is not."""
        lower, upper, sliding = self.exact.required(attacker, cell)
        tight = sliding > 0
        up = self.prover.push(cell, attacker, True, max(upper, sliding), tight)
        down = self.prover.push(cell, attacker, False, max(lower, sliding - up.amount), tight)
        if self._is_met(down, up):
            self._reaches(up)
            self._reaches(down)
            met = True
        elif up.bound < upper or down.bound < lower or up.bound + down.bound < sliding:
            alone = [side for side, need in ((up, upper), (down, lower)) if side.bound < need]
            for side in alone or (up, down):
                self._bounded(side)
            met = False
        else:
            self._give_up(up, down, otherwise=EDGE)
            return
        if met != safe:
            self._note(up, INTEGRALITY if self.integral else REVERSED)

    def interval(self, cell: int, attacker: int, safe: bool, found: tuple[float, float]) -> None:
        """Prove both ends of a feasibility interval, or at least the verdict."""
        sides = [self.prover.push(cell, attacker, upward, math.inf, True) for upward in (False, True)]
        for side in sides:
            self._reaches(side)
            if side.bound != math.inf:
                self._bounded(side)
        loose = [side for side in sides if side.amount != math.inf and side.bound != side.amount]
        value, extents = float(self.exact.value(cell)), [float(side.amount) for side in sides]
        if loose:
            self._give_up(*loose, otherwise=LOOSE)
            self.verdict(cell, attacker, safe)
        elif not np.allclose(
            [value - extents[0], value + extents[1]],
            found,
            rtol=tolerances.SAME_INTERVAL,
            atol=tolerances.SAME_INTERVAL,
        ):
            self._note(sides[0], CORRECTED)
        elif safe != self._is_met(sides[0], sides[1]):
            self._note(sides[0], REVERSED)

    def _is_met(self, down: ProvenExtent, up: ProvenExtent) -> bool:
        lower, upper, sliding = self.exact.required(up.attacker, up.cell)
        return up.amount >= upper and down.amount >= lower and up.amount + down.amount >= sliding

    def _reaches(self, side: ProvenExtent) -> None:
        if side.deviation is not None:
            proof = self.prover.keep(side.deviation)
            if isinstance(side.amount, Fraction):
                claim = Claim("reaches", side.cell, side.attacker, side.upward, side.amount, proof)
            else:
                claim = Claim("unbounded", side.cell, side.attacker, side.upward, None, proof)
            self.claims.append(claim)

    def _bounded(self, side: ProvenExtent) -> None:
        assert isinstance(side.bound, Fraction)
        proof = self.multipliers.setdefault(tuple(sorted(side.multipliers.items())), len(self.multipliers))
        self.claims.append(Claim("bounded", side.cell, side.attacker, side.upward, side.bound, proof))

    def _give_up(self, *sides: ProvenExtent, otherwise: str) -> None:
        reasons = [reason for side in sides for reason in side.reasons]
        self._note(sides[0], reasons[0] if reasons else otherwise)

    def _note(self, side: ProvenExtent, reason: str) -> None:
        attacker = self.problem.attacker_names[side.attacker]
        self.uncertified.append(f"{self.problem.table.label(side.cell)} against {attacker}: {reason}")


@dataclass
class ProvenExtent:
    """Proven reach (`amount`) and proven bound of a cell on one side."""

    cell: int
    attacker: int
    upward: bool
    amount: Extended = ZERO
    deviation: Vector | None = None
    bound: Extended = math.inf
    multipliers: Vector = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    @property
    def sign(self) -> int:
        return 1 if self.upward else -1

    def settles(self, goal: Extended, tight: bool) -> bool:
        """Whether the goal is reached, or shown to be out of reach (`tight`: by a bound that is reached)."""
        return self.amount >= goal or (self.bound <= self.amount if tight else self.bound < goal)


class ProofFinder:
    """Finds proofs for one problem and pattern; deviations that were kept are tried on later cells."""

    def __init__(
        self,
        exact: ExactProblem,
        prefer_integral: bool = False,
        settings: CertificateSettings = CertificateSettings(),
    ) -> None:
        self.exact, self.prefer_integral, self.settings = exact, prefer_integral, settings
        self.deviations: list[Vector] = []
        self._numbers: dict[tuple[tuple[int, Fraction], ...], int] = {}
        self._through: dict[int, list[int]] = {}
        self._stretches: dict[tuple[int, int, int], Extended] = {}
        self._engines: dict[int, list[Engine]] = {}

    def keep(self, deviation: Vector) -> int:
        """The number of a deviation in the certificate."""
        key = tuple(sorted(deviation.items()))
        if key not in self._numbers:
            self._numbers[key] = number = len(self.deviations)
            self.deviations.append(dict(key))
            for cell, _ in key:
                self._through.setdefault(cell, []).append(number)
        return self._numbers[key]

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended, tight: bool) -> ProvenExtent:
        """Reach the goal or show that it is out of reach (`tight`: by a bound that is reached)."""
        side = ProvenExtent(cell, attacker, upward)
        if goal <= 0:
            return side
        if goal != math.inf and self._reuse(side, goal):
            return side
        self._cap(side, {})
        for target in self._targets(side, goal):
            for engine in self._engines_of(cell):
                if not side.settles(goal, tight):
                    self._work(side, engine, target, goal, tight)
        return side

    def _targets(self, side: ProvenExtent, goal: Extended) -> Iterator[Extended]:
        """Targets in turn: the goal, one data unit more (off the edge), the bound found meanwhile."""
        yield goal
        if isinstance(goal, Fraction):
            yield goal + self.exact.unit
        if isinstance(side.bound, Fraction):
            yield side.bound

    # ------------------------------------------------------------------ deviations

    def _work(
        self, side: ProvenExtent, engine: Engine, target: Extended, goal: Extended, tight: bool
    ) -> None:
        """Take from the candidates a deviation near the estimate, a bound, and more deviations if they do not meet."""
        try:
            push = engine.push(side.cell, side.attacker, side.upward, target)
        except SolverError as reason:
            side.reasons.append(str(reason))
            return
        self._take_deviations(side, push, goal, push.estimate)
        if side.amount < goal:
            self._take_multipliers(side, push, goal, tight)
        if not side.settles(goal, tight):
            self._take_deviations(side, push, goal, math.inf)

    def _take_deviations(self, side: ProvenExtent, push: Push, goal: Extended, estimate: float) -> None:
        """Try candidate deviations until the goal is reached or, if that is nearer, the estimate nearly is."""
        most = estimate if estimate < float(goal) * (1 - tolerances.NEAR_ESTIMATE) else math.inf
        try:
            for deviation in push.deviations:
                self._offer(side, deviation, goal)
                if side.amount >= goal or float(side.amount) >= most * (1 - tolerances.NEAR_ESTIMATE):
                    return
        except (NoBasis, SolverError) as reason:
            side.reasons.append(str(reason))

    def _offer(self, side: ProvenExtent, deviation: Vector, goal: Extended) -> None:
        """Accept a deviation, scaled to the goal or to the bounds, if it reaches further."""
        step = side.sign * deviation.get(side.cell, ZERO)
        if step <= 0 or not self.exact.equations.balanced(deviation):
            return
        if _longest(deviation) > self.settings.max_bits:
            return
        self._stretched(side, deviation, step, self.exact.stretch(side.attacker, deviation), goal)

    def _stretched(
        self, side: ProvenExtent, deviation: Vector, step: Fraction, stretch: Extended, goal: Extended
    ) -> None:
        """Accept t * deviation, t <= stretch, up to the goal; t = 1 where that is enough."""
        if stretch == goal == math.inf:
            side.amount, side.deviation = math.inf, deviation
            return
        enough = math.ceil(goal / self.exact.unit) * self.exact.unit if isinstance(goal, Fraction) else goal
        factor = ONE if stretch >= 1 and step >= goal else min(stretch, enough / step)
        if isinstance(factor, Fraction) and factor * step > side.amount:
            side.amount = factor * step
            side.deviation = {cell: factor * amount for cell, amount in deviation.items() if amount}

    def _reuse(self, side: ProvenExtent, goal: Extended) -> bool:
        """Try the deviations of earlier proofs, forward and backward."""
        for number in reversed(self._through.get(side.cell, [])[-self.settings.reused_deviations :]):
            deviation = self.deviations[number]
            sign = side.sign if deviation[side.cell] > 0 else -side.sign
            key = (number, sign, side.attacker)
            if key not in self._stretches:
                self._stretches[key] = self.exact.stretch(side.attacker, deviation, sign)
            step = abs(deviation[side.cell])
            if self._stretches[key] * step >= goal:
                turned = deviation if sign > 0 else {cell: -amount for cell, amount in deviation.items()}
                self._stretched(side, turned, step, self._stretches[key], goal)
                if not self.prefer_integral or self.exact.is_integral(side.deviation or {}):
                    return True
                side.amount, side.deviation = ZERO, None
        return False

    # ------------------------------------------------------------------ multipliers

    def _take_multipliers(self, side: ProvenExtent, push: Push, goal: Extended, tight: bool) -> None:
        try:
            for multipliers in push.multipliers:
                self._cap(side, multipliers)
                if side.settles(goal, tight):
                    return
        except NoBasis as reason:
            side.reasons.append(str(reason))

    def _cap(self, side: ProvenExtent, multipliers: Vector) -> None:
        """Accept multipliers if they give a better bound, unpicked cells cancelled."""
        settled = dict(multipliers)
        rest = self.exact.equations.residual(side.cell, side.upward, multipliers)
        self._settle(settled, rest)
        bound = self.exact.largest(side.attacker, rest)
        if bound < side.bound and _longest(settled) <= self.settings.max_bits:
            side.bound = bound
            side.multipliers = {equation: factor for equation, factor in settled.items() if factor}

    def _settle(self, multipliers: dict[int, Fraction], rest: dict[int, Rational]) -> None:
        """Cancel r_i of each unpicked cell by the equation that determines it, last unpicked first.

        That equation holds otherwise only cells unpicked before, so that one pass settles all of them.
        """
        for cell, equation in self._unpicked:
            excess = rest.get(cell, 0)
            if excess:
                factor = Fraction(excess) / dict(self.exact.equations.row(equation))[cell]
                multipliers[equation] = multipliers.get(equation, ZERO) + factor
                self.exact.equations.subtract(rest, equation, plain(factor))

    @cached_property
    def _unpicked(self) -> list[tuple[int, int]]:
        """Cells that some equation determines, with that equation, the last one first."""
        low, high = self._bounds
        rows = self.exact.problem.table.equations
        unknown = low < high
        pattern = csr_array((np.ones(rows.nnz, dtype=np.int64), rows.indices, rows.indptr), shape=rows.shape)
        count: list[int] = list(map(int, pattern @ unknown.astype(np.int64)))
        queue = [equation for equation, unknowns in enumerate(count) if unknowns == 1]
        order = []
        while queue:
            equation = queue.pop()
            for cell, _ in self.exact.equations.row(equation):
                if unknown[cell]:
                    unknown[cell] = False
                    order.append((cell, equation))
                    for other, _ in self.exact.equations.column(cell):
                        count[other] -= 1
                        if count[other] == 1:
                            queue.append(other)
        return order[::-1]

    # ------------------------------------------------------------------ engines

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats]:
        return deviation_bounds(self.exact.problem, self.exact.view, 0)

    @cached_property
    def _parts(self) -> tuple[Ints, list[tuple[Component, Ints]]]:
        """The component of each cell; the components and the numbers of their equations in the table."""
        table = self.exact.problem.table
        kept = np.sort(np.concatenate([block.kept_rows for block in structure_of(table).blocks]))
        columns = working_columns(table)
        reduction = reduce(columns, *self._bounds, table.unit)
        rows = [kept[np.unique(columns[:, part.cells].indices)] for part in reduction.components]
        return reduction.component, list(zip(reduction.components, rows, strict=True))

    def _engines_of(self, cell: int) -> list[Engine]:
        where, parts = self._parts
        number = int(where[cell])
        if number < 0:
            return []
        if number not in self._engines:
            component, rows = parts[number]
            linear = (SparseEngine, LinearEngine)
            settings = self.settings.candidates
            flows = component.orientation is not None and settings.flows
            kinds = (NetworkEngine, *linear) if flows else linear
            self._engines[number] = [kind(self.exact, component, rows, settings) for kind in kinds]
        return self._engines[number]


def _longest(vector: Vector) -> int:
    """The length in bits of the longest number in a vector."""
    return max(
        (max(x.numerator.bit_length(), x.denominator.bit_length()) for x in vector.values()), default=0
    )
