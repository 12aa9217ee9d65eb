"""Certificates: the audit's findings, proven in exact rational arithmetic and checked without any solver.

A deviation d is a difference from the true table that satisfies all equations (M d = 0). Three kinds of claim about
a cell p, an attacker and a side (+ is up):

- *reaches*: a deviation within the attacker's bounds has +-d_p >= amount: a value at that distance is feasible;
- *unbounded*: the same for every amount: the deviation is a ray;
- *bounded*: with multipliers pi of the equations, +-d_p = (+-e_p - M^T pi) d for all deviations, and this is
  at most `amount` within the attacker's bounds: no value at a larger distance is feasible.

All claims are about real values. With the knowledge that values are integral numbers of data units fewer of them are
feasible: bounds remain valid, and reaches do when the deviation is integral (`Verification.whole`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from tablecloak.attacker import ZERO
from tablecloak.auditing.exact import ExactProblem, Extended, Vector
from tablecloak.errors import InputError
from tablecloak.model import Pattern, Problem

FORMAT, VERSION = "tablecloak certificate", 2
FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")
"""No exponents: a short text must not stand for a number that fills the memory."""

Kind = Literal["reaches", "bounded", "unbounded"]
Verdict = Literal["safe", "unsafe", "nothing"]


@dataclass(frozen=True)
class Claim:
    """One claim of a certificate; `proof` is the number of its deviation (if bounded: of its multipliers)."""

    kind: Kind
    cell: int
    attacker: int
    upward: bool
    amount: Fraction | None
    """None when unbounded."""
    proof: int


@dataclass(frozen=True, eq=False)
class Certificate:
    """Claims with their proofs. Confidential: deviations and amounts depend on true values.

    `uncertified` names the rows of the audit without an exact proof, and why. `digest` ties the certificate
    to one problem and one pattern.
    """

    digest: str
    cells: int
    equations: int
    deviations: tuple[Vector, ...]
    multipliers: tuple[Vector, ...]
    claims: tuple[Claim, ...]
    uncertified: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The certificate as text; fractions are strings such as "7" and "-1/3"."""
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "confidential": True,
                "digest": self.digest,
                "cells": self.cells,
                "equations": self.equations,
                "deviations": [_vector_to_json(vector) for vector in self.deviations],
                "multipliers": [_vector_to_json(vector) for vector in self.multipliers],
                "claims": [_claim_to_json(claim) for claim in self.claims],
                "uncertified": list(self.uncertified),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what `to_json` wrote; anything else is an `InputError`."""
        try:
            data = json.loads(text)
            if data["format"] == FORMAT and data["version"] == 1:
                old = "it is from a tablecloak whose tables were not in whole data units (version 1)"
                raise InputError("Certificate", [old], advice="Certify the pattern again.")
            if data["format"] != FORMAT or data["version"] != VERSION:
                raise InputError("Certificate", [f"this is no {FORMAT!r} of version {VERSION}"])
            return cls(
                str(data["digest"]),
                _number(data["cells"]),
                _number(data["equations"]),
                tuple(_vector_from_json(vector) for vector in data["deviations"]),
                tuple(_vector_from_json(vector) for vector in data["multipliers"]),
                tuple(_claim_from_json(claim) for claim in data["claims"]),
                tuple(str(reason) for reason in data["uncertified"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as fault:
            reason = f"the text is damaged or no certificate ({type(fault).__name__})"
            raise InputError("Certificate", [reason]) from None

    def summary(self) -> str:
        """A summary of its contents, without figures."""
        kinds = ", ".join(f"{sum(c.kind == kind for c in self.claims)} {kind}" for kind in get_args(Kind))
        lines = [
            f"{len(self.claims)} claims ({kinds}) from {len(self.deviations)} deviations "
            f"and {len(self.multipliers)} sets of multipliers"
        ]
        lines += [f"  not certified: {reason}" for reason in self.uncertified[:20]]
        if len(self.uncertified) > 20:
            lines.append(f"  ... and {len(self.uncertified) - 20} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<confidential Certificate: {len(self.claims)} claims, {len(self.uncertified)} rows uncertified>"
        )


def _vector_to_json(vector: Vector) -> dict[str, Any]:
    return {"at": list(vector), "is": [str(number) for number in vector.values()]}


def _vector_from_json(data: Any) -> Vector:
    places = [_number(place) for place in data["at"]]
    vector = dict(zip(places, map(_fraction, data["is"]), strict=True))
    if len(vector) != len(places):
        raise ValueError("a number is listed twice")
    return vector


def _claim_to_json(claim: Claim) -> dict[str, Any]:
    return {
        "claim": claim.kind,
        "cell": claim.cell,
        "attacker": claim.attacker,
        "side": "up" if claim.upward else "down",
        "amount": None if claim.amount is None else str(claim.amount),
        "proof": claim.proof,
    }


def _claim_from_json(data: Any) -> Claim:
    kind, side, amount = data["claim"], data["side"], data["amount"]
    if kind not in get_args(Kind) or side not in ("up", "down") or (amount is None) != (kind == "unbounded"):
        raise ValueError("no such claim")
    return Claim(
        kind,
        _number(data["cell"]),
        _number(data["attacker"]),
        side == "up",
        None if amount is None else _fraction(amount),
        _number(data["proof"]),
    )


def _number(data: Any) -> int:
    if type(data) is not int or data < 0:
        raise ValueError("not a number of a thing")
    return data


def _fraction(data: Any) -> Fraction:
    if not isinstance(data, str) or not FRACTION.fullmatch(data):
        raise ValueError("not a fraction")
    return Fraction(data)


# ---------------------------------------------------------------------- checking one


@dataclass(frozen=True)
class Verification:
    """The result of a check: whether all claims are true, and what they prove together."""

    valid: bool
    claims: int
    proves: Verdict
    faults: tuple[str, ...]
    whole: bool = False
    """All deviations are integral numbers of data units: "safe" holds for attackers with that knowledge too."""

    def summary(self) -> str:
        """The outcome in a few lines, without figures."""
        if not self.valid:
            head = f"INVALID: {len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}, proves nothing"
        else:
            head = f"VALID: {self.claims} claims, proving {self.proves}"
        shown = [f"  {fault}" for fault in self.faults[:20]]
        if len(self.faults) > 20:
            shown.append(f"  ... and {len(self.faults) - 20} more")
        return "\n".join([head, *shown])


def verify(certificate: Certificate, problem: Problem, pattern: Pattern) -> Verification:
    """Check every claim in exact arithmetic, then what they prove about the pattern, without any solver.

    *safe*: every requirement of every cell against every attacker is proven, the number of touched cells is
    within its bound and no perturbed value is too close. *unsafe*: one of these is proven to fail. A single
    false claim makes the whole certificate invalid. When it is valid and proves nothing, `faults` names the
    requirements left unproven.
    """
    checker = _Checker(certificate, ExactProblem(problem, pattern))
    faults = tuple(checker.faults())
    if faults:
        return Verification(False, len(certificate.claims), "nothing", faults)
    proves, unproven = checker.conclusion()
    integral = all(map(checker.exact.is_integral, certificate.deviations))
    return Verification(True, len(certificate.claims), proves, tuple(unproven), integral)


class _Checker:
    """Checks claims one by one and draws the conclusion from the true ones."""

    def __init__(self, certificate: Certificate, exact: ExactProblem) -> None:
        self.certificate, self.exact, self.problem = certificate, exact, exact.problem
        self.reached: dict[tuple[int, int, bool], Extended] = {}
        self.bounded: dict[tuple[int, int, bool], Fraction] = {}
        self._stretches: dict[tuple[int, int], Extended] = {}

    def faults(self) -> Iterator[str]:
        """All faults; true claims are recorded."""
        certificate, (equations, cells) = self.certificate, self.problem.table.equations.shape
        if certificate.digest != self.exact.digest():
            yield "the certificate is about another problem or another pattern"
            return
        if (certificate.cells, certificate.equations) != (cells, equations):
            yield "the certificate is about another number of cells or equations"
            return
        for number, vector in enumerate(certificate.deviations):
            if not all(0 <= cell < cells for cell in vector) or not self.exact.equations.balanced(vector):
                yield f"deviation {number} does not keep the equations of the table"
                return
        for number, vector in enumerate(certificate.multipliers):
            if not all(0 <= equation < equations for equation in vector):
                yield f"multipliers {number} are about equations that the table does not have"
                return
        for number, claim in enumerate(certificate.claims):
            if not self._holds(claim):
                yield f"claim {number} ({claim.kind}) is not proven"

    def _holds(self, claim: Claim) -> bool:
        proofs = self.certificate.multipliers if claim.kind == "bounded" else self.certificate.deviations
        known = 0 <= claim.cell < len(self.problem.table) and 0 <= claim.proof < len(proofs)
        if not known or not 0 <= claim.attacker <= len(self.problem.attackers):
            return False
        key = (claim.cell, claim.attacker, claim.upward)
        if claim.kind == "bounded":
            most = self.exact.dual_bound(claim.attacker, claim.cell, claim.upward, proofs[claim.proof])
            if claim.amount is None or most > claim.amount:
                return False
            self.bounded[key] = min(self.bounded.get(key, claim.amount), claim.amount)
            return True
        step = proofs[claim.proof].get(claim.cell, ZERO) * (1 if claim.upward else -1)
        stretch = self._stretch(claim.proof, claim.attacker)
        if claim.kind == "unbounded":
            amount: Extended = math.inf
            true = step > 0 and stretch == math.inf
        else:
            amount = math.inf if claim.amount is None else claim.amount
            true = step >= amount and stretch >= 1
        if true:
            self.reached[key] = max(self.reached.get(key, ZERO), amount)
        return true

    def _stretch(self, proof: int, attacker: int) -> Extended:
        if (proof, attacker) not in self._stretches:
            vector = self.certificate.deviations[proof]
            self._stretches[proof, attacker] = self.exact.stretch(attacker, vector)
        return self._stretches[proof, attacker]

    def conclusion(self) -> tuple[Verdict, list[str]]:
        """The verdict, and the requirements that stay unproven."""
        open_rows = [
            f"{self.problem.table.label(cell)} against {name}: not proven"
            for attacker, name in enumerate(self.problem.attacker_names)
            for cell in self.exact.required_cells()
            if not self._met(cell, attacker)
        ]
        if (
            self.exact.too_close()
            or self.exact.too_many_touched()
            or self.exact.against_marks()
            or self._violated()
        ):
            return "unsafe", []
        return ("nothing", open_rows) if open_rows else ("safe", [])

    def _met(self, cell: int, attacker: int) -> bool:
        lower, upper, sliding = self.exact.required(attacker, cell)
        down, up = (self.reached.get((cell, attacker, side), ZERO) for side in (False, True))
        return down >= lower and up >= upper and down + up >= sliding

    def _violated(self) -> bool:
        required = set(self.exact.required_cells())
        for cell, attacker in {key[:2] for key in self.bounded if key[0] in required}:
            lower, upper, sliding = self.exact.required(attacker, cell)
            down, up = (self.bounded.get((cell, attacker, side), math.inf) for side in (False, True))
            if down < lower or up < upper or down + up < sliding:
                return True
        return False
