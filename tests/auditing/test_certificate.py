"""What the audit finds is proven in exact arithmetic, and nothing else passes for a proof."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.attacker import BasisSettings
from tablecloak.auditing import Certificate, CertificateSettings, Verification, audit, certify, verify
from tablecloak.auditing.candidates import CandidateSettings
from tablecloak.auditing.certificate import Claim
from tablecloak.errors import InputError
from tablecloak.model import (
    Attacker,
    Audit,
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)
from tablecloak.solvers import Session
from tablecloak.solvers.graphs import Network

prove = import_module("tablecloak.auditing.certify")
SETTINGS = CertificateSettings()

INTERNAL_004 = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
INTERNAL_001 = [
    [9, 51, 41, 47, 3, 48],
    [8, 1, 54, 44, 45, 12],
    [8, 70, 6, 76, 64, 21],
    [33, 46, 45, 27, 37, 60],
    [87, 51, 18, 35, 49, 72],
    [48, 59, 39, 65, 35, 58],
]


def cube(internal: Any, decimals: int = 0) -> tuple[Table, Any]:
    """A table with all totals (the last code of each dimension), and the numbers of its cells by position."""
    values = np.array(internal, dtype=float)
    for axis in range(values.ndim):
        values = np.concatenate([values, values.sum(axis=axis, keepdims=True)], axis=axis)
    place = np.arange(values.size).reshape(values.shape)
    lines = [
        line
        for axis in range(values.ndim)
        for line in np.moveaxis(place, axis, -1).reshape(-1, values.shape[axis])
    ]
    matrix = np.zeros((len(lines), values.size))
    for row, line in enumerate(lines):
        matrix[row, line[:-1]], matrix[row, line[-1]] = 1, -1
    return Table.from_equations(values.round(decimals).ravel(), csr_array(matrix), decimals=decimals), place


def levels(table: Table, cells: Any, lower: float = 0, upper: float = 0, sliding: float = 0) -> Levels:
    """The same absolute levels for all the cells."""
    at = np.zeros(len(table))
    at[cells] = 1.0
    return Levels.of(len(table), lower * at, upper * at, sliding * at)


def shares(table: Table, cells: Any, share: float, sliding: float = 0.0) -> Levels:
    """Levels as shares of the values."""
    at = np.zeros(len(table))
    at[cells] = np.abs(table.values[cells])
    return Levels.of(len(table), share * at, share * at, sliding * at)


def proven(
    problem: Problem, pattern: Pattern, settings: CertificateSettings = SETTINGS, **how: Any
) -> tuple[Audit, Certificate, Verification]:
    """Audit, certify, write, read, verify."""
    found = audit(problem, pattern, **how)
    certificate = Certificate.from_json(certify(problem, pattern, found, settings=settings).to_json())
    return found, certificate, verify(certificate, problem, pattern)


def check(problem: Problem, pattern: Pattern, settings: CertificateSettings = SETTINGS) -> tuple[bool, bool]:
    """Verdict and intervals are proven and agree with the audit; the verdict and if all was certified."""
    found, verdict, verification = proven(problem, pattern, settings)
    assert verification.valid, verification.summary()
    assert verification.proves == ("safe" if found.safe else "unsafe"), verdict.summary()
    found, intervals, verification = proven(problem, pattern, settings, intervals=True, every_hidden=True)
    assert verification.valid and verification.proves == ("safe" if found.safe else "unsafe")
    for row, claimed in enumerate(claimed_intervals(problem, found, intervals)):
        assert claimed == pytest.approx((found.low[row], found.high[row]), rel=1e-6, abs=1e-6)
    return found.safe, not (verdict.uncertified or intervals.uncertified)


def claimed_intervals(problem: Problem, found: Audit, certificate: Certificate) -> list[tuple[float, float]]:
    """low, high of each row of an audit as the certificate has them."""
    extent: dict[tuple[int, int, bool], float] = {}
    for claim in certificate.claims:
        if claim.kind != "bounded":
            key = (claim.cell, claim.attacker, claim.upward)
            extent[key] = math.inf if claim.amount is None else float(claim.amount)
    rows = zip(found.cells.tolist(), found.attackers.tolist(), strict=True)
    return [
        (value - extent.get((cell, who, False), 0.0), value + extent.get((cell, who, True), 0.0))
        for cell, who in rows
        for value in [float(problem.table.values[cell])]
    ]


# ---------------------------------------------------------------------- test vectors


def test_vector_004_1() -> None:
    table, at = cube(INTERNAL_004)
    problem = Problem.of(table, [at[1, 2]])
    hidden = [at[1, 0], at[1, 2], at[2, 0], at[2, 2]]
    found, certificate, verification = proven(
        problem, Suppression.of(table, hidden), intervals=True, every_hidden=True
    )
    assert claimed_intervals(problem, found, certificate) == [(0, 25), (5, 30), (0, 25), (4, 29)]
    assert verification == Verification(True, 16, "safe", (), whole=True)
    assert certificate.uncertified == ()


def test_vector_004_2() -> None:
    table, at = cube(INTERNAL_004)
    problem = Problem.of(table, [at[1, 2]], levels(table, at[1, 2], 10, 12))
    short = Suppression.of(table, [at[1, 0], at[1, 2], at[2, 0], at[2, 2]])
    _, certificate, verification = proven(problem, short)
    assert [(claim.kind, claim.upward, claim.amount) for claim in certificate.claims] == [
        ("bounded", True, 8)
    ]
    assert verification.proves == "unsafe"
    for best in ([at[1, 1], at[2, 1], at[2, 2]], [at[1, 3], at[3, 2], at[3, 3]]):
        _, certificate, verification = proven(problem, Suppression.of(table, [at[1, 2], *best]))
        assert {(claim.kind, claim.upward) for claim in certificate.claims} == {
            ("reaches", False),
            ("reaches", True),
        }
        assert verification.proves == "safe"


@pytest.mark.parametrize(
    ("hidden", "interval", "safe"),
    [
        ([(0, 1), (1, 0), (1, 1)], (90, 115), False),
        ([(0, 1), (1, 0), (1, 1), (1, 3), (2, 1), (2, 3)], (80, 115), True),
        ([(0, 1), (0, 3), (1, 0), (1, 1), (1, 3)], (80, 115), True),
    ],
)
def test_vector_000_1(hidden: list[tuple[int, int]], interval: tuple[int, int], safe: bool) -> None:
    table, at = cube([[100, 20, 35, 3], [15, 10, 40, 10], [10, 15, 30, 5]])
    problem = Problem.of(table, [0], levels(table, [0], 15, 15))
    pattern = Suppression.of(table, [0, *(at[cell] for cell in hidden)])
    found, certificate, _ = proven(problem, pattern, intervals=True)
    assert claimed_intervals(problem, found, certificate) == [interval]
    assert check(problem, pattern) == (safe, True)


def test_vector_001_1() -> None:
    table, at = cube(INTERNAL_001)
    sensitive = [at[cell] for cell in ((0, 0), (0, 4), (1, 0), (1, 1), (1, 4), (1, 5), (2, 2), (2, 5))]
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.1))
    pattern = Suppression.of(table, sensitive)
    found, certificate, _ = proven(problem, pattern, intervals=True)
    expected = [(0, 12), (0, 12), (5, 17), (1, 1), (36, 48), (12, 12), (6, 6), (21, 21)]
    assert claimed_intervals(problem, found, certificate) == expected
    assert check(problem, pattern) == (False, True)
    better = Suppression.of(table, [*sensitive, at[4, 1], at[4, 2], at[4, 4]])
    assert check(problem, better) == (True, True)


def test_vector_001_3_where_unpicking_finds_nothing() -> None:
    table, at = cube(np.full((4, 4), 100))
    sensitive = [
        at[cell] for cell in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 3))
    ]
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.1))
    found, certificate, verification = proven(problem, Suppression.of(table, sensitive), intervals=True)
    assert claimed_intervals(problem, found, certificate) == [(100, 100)] + [(0, 200)] * 8
    assert verification.proves == "unsafe"


# ---------------------------------------------------------------------- many tables


def random_case(seed: int, ways: int, decimals: int = 0) -> tuple[np.random.Generator, Table, Any]:
    rng = np.random.default_rng(seed)
    shape = rng.integers(3, 7, 2) if ways == 2 else rng.integers(2, 5, ways)
    table, _ = cube(rng.integers(0, 100, shape) / 10**decimals, decimals)
    hidden = np.flatnonzero(rng.random(len(table)) < rng.choice([0.4, 0.6, 0.8]))
    return rng, table, hidden


@pytest.mark.parametrize(("seed", "ways", "decimals"), list(itertools.product(range(6), (2, 3), (0, 1, 2))))
def test_random_tables(seed: int, ways: int, decimals: int) -> None:
    rng, table, hidden = random_case(seed, ways, decimals)
    sensitive = rng.choice(hidden, hidden.size // 3, replace=False)
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.15))
    assert check(problem, Suppression.of(table, hidden))[1]


@pytest.mark.parametrize(("seed", "ways"), list(itertools.product(range(5), (2, 3))))
def test_insiders_sliding_and_conditional_levels(seed: int, ways: int) -> None:
    rng, table, hidden = random_case(100 + seed, ways, decimals=seed % 2)
    sensitive = rng.choice(hidden, hidden.size // 4, replace=False)
    asked = shares(table, sensitive, 0.1, sliding=0.35)
    asked = replace(asked, conditional=np.where(asked.sliding > 0, 0.0, rng.integers(0, 4, len(table))))
    asked.conditional[sensitive] = 0.0
    insiders = []
    for name in ("first", "second", "third"):
        own = rng.choice(len(table), 4, replace=False)
        insiders.append(
            Attacker.contributing(name, table, own, table.values[own] * rng.choice([0.5, 0.75, 1], 4))
        )
    problem = Problem.of(table, sensitive, asked, attackers=insiders)
    assert check(problem, Suppression.of(table, hidden))[1]


@pytest.mark.parametrize(("seed", "ways", "decimals"), list(itertools.product(range(3), (2, 3), (0, 1))))
def test_other_patterns(seed: int, ways: int, decimals: int) -> None:
    rng, table, hidden = random_case(200 + seed, ways, decimals)
    value, unit, inside = table.values, 10.0**-decimals, np.zeros(len(table))
    inside[hidden] = unit
    sensitive = rng.choice(hidden, hidden.size // 3, replace=False)
    problem = Problem.of(table, sensitive, levels(table, sensitive, 2 * unit, 3 * unit))
    down, up = rng.integers(1, 15, (2, len(table)))
    intervals = Intervals.of((value - down * inside).round(9), (value + up * inside).round(9))
    base = 5 * unit
    rounded = np.where(inside > 0, np.round(value / base) * base, value).round(9)
    rounding = Rounding.of(rounded, base * (inside > 0))
    moved = (value + rng.choice([-4, 4], len(table)) * inside).round(9)
    perturbation = Perturbation.of(moved, 9 * inside)
    half = rng.random(len(table)) < 0.5
    mixed = Mixed.of(table, [(half, rounding), (~half, Suppression.of(table, hidden))])
    for pattern in (intervals, rounding, perturbation, mixed):
        assert check(problem, pattern)[1]


@pytest.mark.parametrize("ways", (2, 3))
def test_infinite_extents_are_rays(ways: int) -> None:
    rng, table, hidden = random_case(7, ways)
    sensitive = hidden[::3]
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.2), known=(-np.inf, np.inf))
    pattern = Suppression.of(table, hidden)
    _, certificate, _ = proven(problem, pattern, intervals=True)
    assert any(claim.kind == "unbounded" for claim in certificate.claims)
    assert check(problem, pattern)[1]
    known = (np.where(rng.random(len(table)) < 0.5, 0.0, -np.inf), np.inf)
    assert check(Problem.of(table, sensitive, shares(table, sensitive, 0.2), known=known), pattern)[1]


@pytest.mark.parametrize("seed", range(4))
def test_equations_with_any_coefficients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.choice([0, 0, 0, 1, -1, 2, -0.5, 0.1], (7, 14))
    values = rng.integers(1, 50, 14).astype(float)
    table = Table.from_equations(values, csr_array(matrix), matrix @ values, decimals=0)
    sensitive = [0, 3, 6, 9]
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.2, sliding=0.5))
    assert check(problem, Suppression.of(table, rng.random(14) < 0.85))[1]


def test_a_chain_of_unpicking_is_proven_by_its_equations() -> None:
    table, at = cube(INTERNAL_004)
    chain = [at[0, 0], at[0, 1], at[1, 1], at[1, 2], at[2, 2]]
    problem = Problem.of(table, chain, shares(table, chain, 0.1))
    _, certificate, verification = proven(problem, Suppression.of(table, chain), intervals=True)
    assert {(claim.kind, claim.amount) for claim in certificate.claims} == {("bounded", 0)}
    assert verification.proves == "unsafe"


def test_percentage_windows_are_far_from_whole_numbers() -> None:
    _, table, hidden = random_case(11, 2)
    window = (table.values * 0.6837, table.values * 1.2791 + 0.001)
    sensitive = hidden[::4]
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.1), known=window, widen=True)
    assert check(problem, Suppression.of(table, hidden))[1]


@pytest.mark.parametrize("ways", (2, 3))
def test_exact_bases_alone_are_enough(ways: int) -> None:
    rng, table, hidden = random_case(23, ways)
    sensitive = rng.choice(hidden, hidden.size // 3, replace=False)
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.15, sliding=0.4))
    bases = CandidateSettings(denominators=(), flows=False)
    assert check(problem, Suppression.of(table, hidden), CertificateSettings(candidates=bases))[1]
    none = CertificateSettings(candidates=replace(bases, basis=BasisSettings(max_columns=0)))
    _, certificate, verification = proven(problem, Suppression.of(table, hidden), none)
    assert verification.valid and certificate.uncertified
    assert all("more than 0 columns" in reason for reason in certificate.uncertified)


def test_a_coarse_grid_of_flows_loses_the_edge_only() -> None:
    _, table, hidden = random_case(22, 2)
    window = (table.values * 0.61, table.values * 1.37)
    sensitive = hidden[::3]
    problem = Problem.of(table, sensitive, shares(table, sensitive, 0.1), known=window)
    coarse = CertificateSettings(candidates=CandidateSettings(largest_flow=1))
    assert check(problem, Suppression.of(table, hidden), coarse)[1]


def test_a_table_without_equations() -> None:
    table = Table.from_equations([3.0, 5.0], csr_array((0, 2)))
    problem = Problem.of(table, [0], levels(table, [0], 3, 4), hidden=[1])
    assert check(problem, Suppression.of(table, [0, 1])) == (True, True)
    assert check(problem, Suppression.of(table, [1])) == (False, True)


# ---------------------------------------------------------------------- what else the verdict hangs on


def test_the_audit_and_its_certificate_agree_next_to_the_threshold() -> None:
    table, at = cube(np.full((2, 2, 2), 10))
    cell = at[0, 0, 0]
    for level, safe in ((10.0, True), (10 * (1 + 1e-13), True), (10 * (1 + 1e-9), False), (10.4, False)):
        problem = Problem.of(table, [cell], levels(table, cell, upper=level))
        found, certificate, verification = proven(problem, Suppression.of(table, at[:2, :2, :2].ravel()))
        assert found.safe is safe and verification.proves == ("safe" if safe else "unsafe")
        assert not certificate.uncertified


def test_an_audit_that_errs_is_corrected() -> None:
    problem, pattern, _ = example()
    right = audit(problem, pattern, intervals=True)
    wide = certify(problem, pattern, replace(right, high=right.high + 1))
    assert wide.uncertified == (f"{problem.table.label(6)} against outsider: {prove.CORRECTED}",)
    wrong = certify(problem, pattern, replace(right, safe_rows=~right.safe_rows))
    assert wrong.uncertified == (f"{problem.table.label(6)} against outsider: {prove.REVERSED}",)
    assert wide.claims == wrong.claims == certify(problem, pattern, right).claims


def test_touched_and_too_close_cells_make_a_pattern_unsafe() -> None:
    table, at = cube(INTERNAL_004)
    hidden = [at[1, 1], at[1, 2], at[2, 1], at[2, 2]]
    problem = Problem.of(table, [at[1, 2]], levels(table, at[1, 2], 10, 12), most_touched=3)
    assert proven(problem, Suppression.of(table, hidden))[2].proves == "unsafe"
    free = Problem.of(table, [at[1, 2]], levels(table, at[1, 2], 10, 12))
    still = Perturbation.of(table.values, 40.0 * np.isin(np.arange(len(table)), hidden))
    found, _, verification = proven(free, still)
    assert found.safe_rows.all() and found.too_close.size == 1 and verification.proves == "unsafe"


def test_whole_numbers() -> None:
    _, table, hidden = random_case(3, 2)
    problem = Problem.of(table, hidden[::3], shares(table, hidden[::3], 0.13))
    _, certificate, verification = proven(problem, Suppression.of(table, hidden), integer=True)
    assert verification.whole and not certificate.uncertified
    table, at = cube(np.full((2, 2, 2), 10))
    problem = Problem.of(table, [0], levels(table, 0, upper=2))
    found, certificate, verification = proven(
        problem, Suppression.of(table, at[:2, :2, :2].ravel()), integer=True
    )
    assert found.safe and verification.proves == "safe" and verification.whole


# ---------------------------------------------------------------------- nothing else passes


def example() -> tuple[Problem, Suppression, Certificate]:
    table, at = cube(INTERNAL_004)
    problem = Problem.of(table, [at[1, 2]], levels(table, at[1, 2], 10, 12))
    pattern = Suppression.of(table, [at[1, 1], at[1, 2], at[2, 1], at[2, 2]])
    return problem, pattern, certify(problem, pattern, audit(problem, pattern))


def with_claim(certificate: Certificate, **changes: Any) -> Certificate:
    first, *others = certificate.claims
    return replace(certificate, claims=(replace(first, **changes), *others))


def with_entry(certificate: Certificate, change: Fraction, everywhere: bool = False) -> Certificate:
    vector = dict(certificate.deviations[0])
    for cell in list(vector) if everywhere else list(vector)[:1]:
        vector[cell] *= change
    return replace(certificate, deviations=(vector, *certificate.deviations[1:]))


FORGERIES: dict[str, Callable[[Certificate], Certificate]] = {
    "larger amount": lambda c: with_claim(c, amount=Fraction(50)),
    "another cell": lambda c: with_claim(c, cell=0),
    "no such cell": lambda c: with_claim(c, cell=10**6),
    "no such attacker": lambda c: with_claim(c, attacker=1),
    "no such proof": lambda c: with_claim(c, proof=17),
    "negative proof": lambda c: with_claim(c, proof=-1),
    "other side": lambda c: with_claim(c, upward=not c.claims[0].upward),
    "unbounded": lambda c: with_claim(c, kind="unbounded", amount=None),
    "bounded": lambda c: replace(with_claim(c, kind="bounded", amount=Fraction(1)), multipliers=({},) * 2),
    "deviation that does not add up": lambda c: with_entry(c, Fraction(3, 2)),
    "deviation out of the room": lambda c: with_entry(c, Fraction(10**6), everywhere=True),
    "deviation of another table": lambda c: replace(c, deviations=({99: Fraction(1)}, *c.deviations[1:])),
    "multipliers of another table": lambda c: replace(c, multipliers=({-1: Fraction(1)},)),
    "other counts": lambda c: replace(c, cells=17),
    "other digest": lambda c: replace(c, digest="0" * 64),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries_are_rejected(forgery: str) -> None:
    problem, pattern, certificate = example()
    assert verify(certificate, problem, pattern).proves == "safe"
    verification = verify(FORGERIES[forgery](certificate), problem, pattern)
    assert not verification.valid and verification.proves == "nothing" and verification.faults
    assert "INVALID" in verification.summary()


def test_a_certificate_is_about_one_problem_and_one_pattern() -> None:
    problem, pattern, certificate = example()
    table = problem.table
    more = Suppression.of(table, pattern.hidden | (np.arange(len(table)) == 0))
    others = [
        (problem, more),
        (replace(problem, levels=levels(table, 6, 10, 11)), pattern),
        (replace(problem, outsider_low=problem.outsider_low - 1), pattern),
        (replace(problem, attackers=(Attacker.knowing("x", [0], 1.0),)), pattern),
        (Problem.of(cube(np.array(INTERNAL_004) + 1)[0], [6], problem.levels), pattern),
    ]
    for other, view in others:
        assert not verify(certificate, other, view).valid


def test_a_dropped_claim_proves_nothing() -> None:
    problem, pattern, certificate = example()
    verification = verify(replace(certificate, claims=certificate.claims[1:]), problem, pattern)
    assert verification.valid and verification.proves == "nothing"
    assert verification.faults == (f"{problem.table.label(6)} against outsider: not proven",)


def test_bounds_are_not_taken_on_trust() -> None:
    table, at = cube(INTERNAL_004)
    problem = Problem.of(table, [at[1, 2]], levels(table, at[1, 2], 10, 12))
    pattern = Suppression.of(table, [at[1, 0], at[1, 2], at[2, 0], at[2, 2]])
    certificate = certify(problem, pattern, audit(problem, pattern))
    assert verify(certificate, problem, pattern).proves == "unsafe"
    assert not verify(with_claim(certificate, amount=Fraction(7)), problem, pattern).valid
    assert not verify(replace(certificate, multipliers=({},)), problem, pattern).valid
    weaker = verify(with_claim(certificate, amount=Fraction(12)), problem, pattern)
    assert weaker.valid and weaker.proves == "nothing"


def test_json_round_trip_and_damage() -> None:
    _, _, certificate = example()
    text = certificate.to_json()
    again = Certificate.from_json(text)
    assert again.to_json() == text and again.claims == certificate.claims
    header = json.loads(text)
    assert header["confidential"] is True and header["cells"] == 16 and header["equations"] == 8
    damages = ["", "[]", "{}", text[:-5], text.replace('"version": 2', '"version": 3')]
    damages += [text.replace('"proof": 0', f'"proof": {x}') for x in ("-1", "true", '"0"', "0.5")]
    damages += [text.replace('"is": ["', f'"is": ["{x}') for x in ("1/0", "inf", "x", "1e999999999")]
    damages += [text.replace('"reaches"', '"believes"'), text.replace('"side": "up"', '"side": 1')]
    damages.append(json.dumps({**header, "deviations": [{"at": [1, 1], "is": ["1", "2"]}]}))
    for damage in damages:
        with pytest.raises(InputError):
            Certificate.from_json(damage)
    with pytest.raises(InputError, match="not in whole data units"):
        Certificate.from_json(text.replace('"version": 2', '"version": 1'))


def test_verification_asks_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    _, table, hidden = random_case(1, 3)
    problem = Problem.of(table, hidden[::3], shares(table, hidden[::3], 0.1))
    pattern = Suppression.of(table, hidden)
    certificate = certify(problem, pattern, audit(problem, pattern, intervals=True))

    def refuse(*_: object) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(Session, "solve", refuse)
    monkeypatch.setattr(Network, "route", refuse)
    assert verify(certificate, problem, pattern).valid


def test_certificates_share_deviations_and_keep_secrets() -> None:
    _, table, hidden = random_case(2, 2)
    insiders = [Attacker.knowing(f"insider {k}", [k], 0.0) for k in range(5)]
    problem = Problem.of(table, hidden[::2], levels(table, hidden[::2], 1, 1), attackers=insiders)
    pattern, steps = Suppression.of(table, hidden), []
    found = audit(problem, pattern)
    certificate = certify(problem, pattern, found, progress=lambda *step: steps.append(step))
    reaches = [claim for claim in certificate.claims if claim.kind == "reaches"]
    assert len(certificate.deviations) < len(reaches) / 4
    assert steps[-1] == ("certificate", found.cells.size, found.cells.size)
    assert repr(certificate).startswith("<confidential Certificate")
    assert certificate.summary() and verify(certificate, problem, pattern).summary().startswith("VALID")
    assert isinstance(certificate.claims[0], Claim)
