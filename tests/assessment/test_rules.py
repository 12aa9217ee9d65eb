"""Rules: each formula by hand, strictness, weights, holdings, waivers, and against a slow exact implementation."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contributed import Record, contributed, one_cell, records_by_cell, units_of
from tablecloak.assessment import (
    RULES,
    Caught,
    Dominance,
    Frequency,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    rule_of,
)
from tablecloak.assessment.concentration import HOLDINGS, RESPONDENTS
from tablecloak.errors import InputError
from tablecloak.model import Contributions, Dimension, Hierarchy, Table
from tablecloak.tabulation import tabulate


def found(rule: Rule, table: Table) -> tuple[bool, float]:
    """Whether the rule catches cell a, and the relative level it asks for."""
    caught, cell = rule.caught(table), table.find(d="a")
    return bool(caught.mask[cell]), float(caught.relative[cell])


def excess(rule: Rule, table: Table) -> float:
    """R - X of cell a: the relative level times |X|."""
    assert table.respondents is not None
    return found(rule, table)[1] * abs(float(table.respondents.total[table.find(d="a")]))


# ---------------------------------------------------------------------- formulas by hand


def test_p_percent() -> None:
    # 10% of 100 = 10; what hides it from the second is 8: 2 are missing
    assert found(PPercent(10), one_cell([50, 100, 8])) == (True, 2 / 158)
    assert found(PPercent(7.9), one_cell([50, 100, 8])) == (False, 0)


def test_p_percent_is_strict() -> None:
    assert found(PPercent(10), one_cell([100, 50, 10])) == (False, 0)
    assert found(PPercent(10), one_cell([100, 50, 9]))[0]


def test_p_percent_against_a_coalition() -> None:
    # two others know 50 and 30: 8 are left to hide 10% of 100
    table = one_cell([100, 50, 30, 8])
    assert found(PPercent(10, n=2), table) == (True, 2 / 188)
    assert not found(PPercent(10), table)[0]


def test_prior_posterior() -> None:
    # 10/100 * 100 + 50/100 * (150 - 168) = 1; R = 10/50 * 100 + 150 = 170
    table = one_cell([100, 50, 18])
    assert found(PriorPosterior(10, 50), table)[0]
    assert excess(PriorPosterior(10, 50), table) == pytest.approx(2)
    assert not found(PriorPosterior(10, 50), one_cell([100, 50, 20]))[0]  # exactly zero
    assert not found(PPercent(10), table)[0]


def test_p_percent_with_a_prior_is_p_percent_of_the_quotient() -> None:
    table = one_cell([100, 50, 18])
    assert found(PPercent(20), table) == pytest.approx(found(PriorPosterior(10, 50), table))


def test_dominance() -> None:
    assert found(Dominance(1, 60), one_cell([60, 20, 20])) == (False, 0)  # exactly 60%
    table = one_cell([61, 20, 19])
    assert found(Dominance(1, 60), table)[0]
    assert excess(Dominance(1, 60), table) == pytest.approx(100 / 60 * 61 - 100)
    assert found(Dominance(2, 80), table)[0]
    assert not found(Dominance(2, 81), table)[0]
    assert found(Dominance(2, 80.5), table)[0]


def test_a_single_contributor_is_caught_by_both() -> None:
    table = one_cell([40])
    assert found(Dominance(3, 80), table)[0]
    assert found(PPercent(10), table) == (True, pytest.approx(0.1))


@pytest.mark.parametrize(("count", "caught"), [(1, True), (2, True), (3, False), (4, False)])
def test_minimum_frequency(count: int, caught: bool) -> None:
    assert found(Frequency(3, 15), one_cell([5] * count)) == (caught, 0.15 if caught else 0)


def test_empty_cells_are_caught_by_nothing() -> None:
    dims = [Dimension.flat("d", ["a", "b"])]
    table = Table.from_cells(dims, {"d": ["Total", "a", "b"], "value": [9, 0, 9]})
    who = Contributions.of_cells([5, 0, 5], [[3, 2, 2], [0, 0, 0], [3, 2, 2]], [9, 0, 9])
    table = replace(table, respondents=who)
    for rule in (Frequency(3), PPercent(10), Dominance(1, 50), ZeroUnsafe(5), Request(1, minimum=9)):
        assert not rule.caught(table).mask[table.find(d="a")]


def test_zero() -> None:
    empty = one_cell([0, 0])
    caught = ZeroUnsafe(7.5).caught(empty)
    assert np.flatnonzero(caught.mask).tolist() == [empty.find(d="a")]
    assert caught.distance == 7.5
    assert found(ZeroUnsafe(7.5), one_cell([3, -3]))[0]  # a total of zero
    assert found(ZeroUnsafe(7.5), one_cell([0.1, 0.2, -0.3], decimals=1))[0]  # not a bit more
    assert not found(ZeroUnsafe(7.5), one_cell([0.1, 0.2, -0.2], decimals=1))[0]


def test_nothing_but_zeros_dominates_nothing() -> None:
    assert not found(Dominance(1, 50), one_cell([0, 0, 0]))[0]
    assert not found(PPercent(50), one_cell([0, 0, 0]))[0]


@pytest.mark.parametrize(
    ("rule", "caught"),
    [
        (Request(70), False),  # exactly 70%
        (Request(69.9), True),
        (Request(100, 20), False),
        (Request(100, 19), True),
        (Request(19), True),  # one percentage for both codes
        (Request(100, minimum=3), False),
        (Request(100, minimum=4), True),
    ],
)
def test_request(rule: Request, caught: bool) -> None:
    table = one_cell([70, 20, 10], request={0: 1, 1: 2})
    assert found(rule, table) == (caught, 0.2 if caught else 0)


def test_request_rule_needs_a_request() -> None:
    assert not found(Request(0, minimum=9), one_cell([70, 20, 10]))[0]


# ---------------------------------------------------------------------- weights


def test_weights_count_as_copies() -> None:
    # the two largest copies: 1.5 times 10 and half of one 8 = 19, of 15 + 16 + 10 = 41: 46.34%
    table = one_cell([10, 8, 1], weights=[1.5, 2, 10])
    assert found(Dominance(2, 46.3), table)[0]
    assert excess(Dominance(2, 46.3), table) == pytest.approx(100 / 46.3 * 19 - 41)
    assert not found(Dominance(2, 46.4), table)[0]


def test_the_target_of_p_percent_is_one_respondent() -> None:
    # top_2 = 200 of 201; 2% of 100, not of 200
    table = one_cell([100, 1], weights=[2, 1])
    assert found(PPercent(2), table) == (True, pytest.approx(1 / 201))
    assert not found(PPercent(1), table)[0]


def test_weighted_frequency() -> None:
    assert found(Frequency(3), one_cell([5, 5], weights=[1.2, 1.7]))[0]
    assert not found(Frequency(3), one_cell([5, 5], weights=[1.2, 1.8]))[0]
    assert not found(Frequency(0.3), one_cell([5, 5], weights=[0.1, 0.2]))[0]  # 0.1 + 0.2 in floats


def test_fewer_contributions_are_enough_where_weights_fill_them_up() -> None:
    records = [Record(("a",), value, weight=weight) for value, weight in ((10, 2), (5, 1), (3, 1), (2, 1))]
    table = contributed([Dimension.flat("d", ["a"])], records, top=1)
    assert found(PPercent(90), table) == (False, 0)  # both copies are the first one
    with pytest.raises(InputError, match=r"needs the 3 largest contributors, but only 1 are known"):
        found(Dominance(3, 50), table)


# ---------------------------------------------------------------------- holdings


def holdings() -> Table:
    records = [Record(("a",), value, unit, held) for unit, held, value in (
        ("r1", "H", 30.0), ("r2", "H", 30.0), ("r3", "", 50.0), ("r4", "", 8.0)
    )]  # fmt: skip
    return contributed([Dimension.flat("d", ["a", "b"])], [*records, *[Record(("b",), 1.0)] * 12])


def test_holdings_are_added_up_first() -> None:
    # respondents 50, 30, 30, 8; holdings 60, 50, 8: 15% of 60 is 9
    table = holdings()
    assert not found(PPercent(15), table)[0]
    assert found(PPercent(15, level=HOLDINGS), table) == (True, pytest.approx(1 / 118))
    assert found(Frequency(4, level=HOLDINGS), table)[0]
    assert not found(Frequency(4), table)[0]
    assert found(Dominance(2, 93, HOLDINGS), table)[0]
    assert not found(Dominance(2, 93), table)[0]


def test_a_rule_on_holdings_needs_them() -> None:
    with pytest.raises(InputError, match="the table knows no contributions of holdings"):
        PPercent(10, level=HOLDINGS).caught(one_cell([5]))
    bare = Table.from_cells([Dimension.flat("d", ["a"])], {"d": ["Total", "a"], "value": [1, 1]})
    for rule in (PPercent(10), Dominance(1, 50), Frequency(3), Request(50), ZeroUnsafe(1)):
        with pytest.raises(InputError, match="knows no contributions of respondents"):
            rule.caught(bare)


# ---------------------------------------------------------------------- signs, decimals, ties


def test_sizes_are_absolute_and_totals_signed() -> None:
    # |-100| + 50 + 10% of 100 - (-42) = 202
    table = one_cell([-100, 50, 8])
    assert found(PPercent(10), table) == (True, pytest.approx(202 / 42))
    assert not found(Dominance(1, 1), table)[0]  # no share of a negative total


def test_a_total_of_zero_has_no_share() -> None:
    caught, share = found(PPercent(10), one_cell([5, -5]))
    assert caught
    assert np.isnan(share)
    assert np.isnan(found(PPercent(10), one_cell([0.1, 0.2, -0.3]))[1])


def test_rounding_noise_makes_nothing_sensitive() -> None:
    # 10% of 0.3 is 0.03, and 0.01 + 0.02 is no less
    for scale in (1, 10, 1e-9, 1e9, 1 / 3):
        table = one_cell([0.3 * scale, 0.1 * scale, 0.02 * scale, 0.01 * scale])
        assert not found(PPercent(10), table)[0], scale
        assert found(PPercent(10 * (1 + 1e-12)), table)[0], scale
    assert not found(Dominance(2, 70), one_cell([0.1 * 3, 0.4, 0.1, 0.2]))[0]
    assert found(Dominance(2, 70 * (1 - 1e-12)), one_cell([0.1 * 3, 0.4, 0.1, 0.2]))[0]


def test_ties() -> None:
    # 20 + 20 of 60, and 10% of 20 against 20
    table = one_cell([20, 20, 20])
    assert not found(PPercent(10), table)[0]
    assert found(Dominance(2, 66), table)[0]
    assert not found(Dominance(2, 67), table)[0]


def test_too_few_contributions_known() -> None:
    table = one_cell([5, 4, 3, 2], top=2)
    assert not found(PPercent(10), table)[0]
    with pytest.raises(InputError, match=r"p% rule \(p=10, n=2\): needs the 3 largest") as caught:
        found(PPercent(10, n=2), table)
    assert "top=3" in str(caught.value)
    assert "3 cells with more (d=Total; d=a; d=b)" in str(caught.value)
    small = contributed([Dimension.flat("d", ["a"])], [Record(("a",), 5), Record(("a",), 4)], top=2)
    assert PPercent(10, n=4).caught(small).mask.all()  # there are no others deeper down


# ---------------------------------------------------------------------- waivers


def test_a_waiver_moves_the_target_of_p_percent() -> None:
    # 100, 50, 8: without waiver 10 - 8 > 0. If 100 has waived, the target is 50: 5 - 8 < 0
    assert found(PPercent(10), one_cell([100, 50, 8]))[0]
    assert not found(PPercent(10), one_cell([100, 50, 8], waived={0: True}))[0]
    assert found(PPercent(20), one_cell([100, 50, 8], waived={0: True})) == (True, pytest.approx(2 / 158))
    assert found(PPercent(10), one_cell([100, 50, 8], waived={1: True}))[0]


def test_a_target_beyond_the_largest() -> None:
    # 100 and 50 have waived; 8 is left: the largest knows himself: 0.9 * 8 + 8 + 100 - 158 < 0
    assert not found(PPercent(90), one_cell([100, 50, 8], waived={0: True, 1: True}))[0]
    # two attackers know 150: 0.9 * 8 + 158 - 158 > 0
    caught = found(PPercent(90, n=2), one_cell([100, 50, 8], waived={0: True, 1: True}))
    assert caught == (True, pytest.approx(7.2 / 158))
    # 100, 1, 1, 1 and the first has waived: 1 + 0.5 + 100 - 103 < 0
    assert not found(PPercent(50), one_cell([100, 1, 1, 1], waived={0: True, 1: True}, top=2))[0]


def test_everybody_waived() -> None:
    table = one_cell([100, 50], waived={0: True, 1: True})
    for rule in (PPercent(50), Dominance(1, 10), Frequency(9), PriorPosterior(10, 20)):
        assert not found(rule, table)[0]
    assert not found(ZeroUnsafe(1), one_cell([0, 0], waived={0: True, 1: True}))[0]
    assert found(ZeroUnsafe(1), one_cell([0, 0], waived={0: True}))[0]
    assert found(Frequency(9), one_cell([100, 50], waived={0: True}))[0]


def test_dominance_by_units_that_all_waived() -> None:
    assert not found(Dominance(1, 60), one_cell([90, 5, 5], waived={0: True}))[0]
    assert found(Dominance(2, 60), one_cell([90, 5, 5], waived={0: True}))[0]
    assert not found(Dominance(2, 60), one_cell([90, 5, 5], weights=[2, 1, 1], waived={0: True}))[0]


# ---------------------------------------------------------------------- against a slow implementation


def slow(rule: Rule, some: Sequence[Record]) -> tuple[bool, Fraction | None]:
    """Whether a cell of these units is caught, and R - X, in fractions, from lists of copies in quarters."""
    units = sorted(some, key=lambda record: -abs(record.size))
    sizes = [Fraction(repr(abs(unit.size))) for unit in units]
    weights = [Fraction(repr(unit.weight)) for unit in units]
    total = sum((Fraction(repr(u.size)) * w for u, w in zip(units, weights, strict=True)), Fraction(0))
    copies = [(size / 4, i) for i, size in enumerate(sizes) for _ in range(int(4 * weights[i]))]

    def top(n: int) -> Fraction:
        return sum((size for size, _ in copies[: 4 * n]), Fraction(0))

    free = [i for i, unit in enumerate(units) if not unit.waived]
    if isinstance(rule, Dominance):
        among = {i for _, i in copies[: 4 * rule.n]}
        needed = 100 / Fraction(repr(rule.k)) * top(rule.n)
        return total > 0 and needed > total and bool(among & set(free)), needed - total
    if isinstance(rule, PPercent | PriorPosterior):
        if not free:
            return False, None
        among = {i for _, i in copies[: 4 * (rule.n + 1)]}
        whole = top(rule.n + 1) if free[0] in among else sizes[free[0]] + top(rule.n)
        prior = Fraction(repr(rule.q)) if isinstance(rule, PriorPosterior) else Fraction(100)
        measure = Fraction(repr(rule.p)) / 100 * sizes[free[0]] + prior / 100 * (whole - total)
        return measure > 0, measure * 100 / prior
    if isinstance(rule, Frequency):
        return 0 < sum(weights) < Fraction(repr(rule.minimum)) and bool(free), None
    raise AssertionError(rule)


def draw(rng: np.random.Generator, whole: bool) -> list[Record]:
    """Some units in cells a, b, c: few and lopsided, with ties, zeros, signs, weights and waivers."""
    records = []
    for unit in range(int(rng.integers(4, 14))):
        size = float(rng.choice([0, 1, 2, 3, 5, 8, 10, 20, 50, 100]))
        size = size if whole else size / 10
        sign = -1 if rng.random() < 0.05 else 1
        records.append(
            Record(
                (str(rng.choice(["a", "b", "c"])),),
                sign * size,
                f"u{unit}",
                weight=float(rng.choice([1, 1, 1, 1.5, 2.25, 3])),
                waived=bool(rng.random() < 0.2),
            )
        )
    return records


SLOW_RULES: tuple[Rule, ...] = (
    PPercent(10),
    PPercent(20.5),
    PPercent(50, n=2),
    PriorPosterior(10, 50),
    PriorPosterior(30, 60, n=2),
    Dominance(1, 50),
    Dominance(2, 75),
    Dominance(3, 80),
    Frequency(3),
    Frequency(3.75),
)


@pytest.mark.parametrize("seed", range(60))
def test_the_rules_agree_with_a_slow_implementation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dims = [Dimension.flat("d", ["a", "b", "c"])]
    records = draw(rng, whole=seed % 2 == 0)
    table = contributed(dims, records, top=14)
    cells = records_by_cell(dims, records)
    assert table.respondents is not None
    for rule in SLOW_RULES:
        caught = rule.caught(table)
        for cell, codes in enumerate(table.codes.tolist()):
            some = list(units_of(cells[(dims[0].codes[codes[0]],)]).values())
            hit, missing = slow(rule, some)
            assert caught.mask[cell] == hit, (rule, some)
            total = table.respondents.total[cell]
            if hit and missing is not None and abs(total) > 1e-9:
                assert caught.relative[cell] == pytest.approx(float(missing) / abs(total), rel=1e-9)
            if not hit:
                assert caught.relative[cell] == 0


# ---------------------------------------------------------------------- real data


@pytest.fixture(scope="module")
def survey(data: Path) -> tuple[Path, dict[str, Dimension]]:
    """The τ-ARGUS demonstration file and its dimensions."""
    folder = data / "microdata"

    def read(name: str, file: str, strip: str = "") -> Dimension:
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            pairs = [
                (row["child"].removeprefix(strip), row["parent"].removeprefix(strip))
                for row in csv.DictReader(lines)
            ]
        return Dimension.of(name, Hierarchy.from_pairs(pairs))

    dimensions = {
        "IndustryCode": read("IndustryCode", "industry.csv", "I"),
        "Region": read("Region", "region.csv"),
        "Size": read("Size", "size.csv"),
    }
    return folder / "tau_testW.csv", dimensions


def test_size_by_region(survey: tuple[Path, dict[str, Dimension]]) -> None:
    path, dimensions = survey
    table = tabulate(path, [dimensions["Size"], dimensions["Region"]], "Var2", top=2)
    assert int(PPercent(15).caught(table).mask.sum()) == 9


def test_industry_by_size_by_region(survey: tuple[Path, dict[str, Dimension]]) -> None:
    path, dimensions = survey
    wanted = [dimensions[name] for name in ("IndustryCode", "Size", "Region")]
    table = tabulate(path, wanted, "Var2", top=2)
    assert len(table) == 30_886
    assert int(PPercent(10).caught(table).mask.sum()) == 9_187


# ---------------------------------------------------------------------- making rules


@pytest.mark.parametrize(
    ("make", "parameters"),
    [
        (Dominance, {"n": 0, "k": 101, "level": "x"}),
        (PPercent, {"p": 100, "n": 1.5, "level": "firms"}),
        (PriorPosterior, {"p": 0, "q": 101, "n": "1", "level": None}),
        (Frequency, {"minimum": 0, "percent": -1, "level": "x"}),
        (Request, {"percent1": 101, "percent2": -1, "minimum": np.nan, "percent": np.inf, "level": "x"}),
        (ZeroUnsafe, {"distance": "far"}),
    ],
)
def test_wrong_parameters_are_listed_together(make: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        make(**parameters)
    assert len(caught.value.faults) == len(parameters)
    for name in parameters:
        assert f"{name} must be" in str(caught.value)


def test_contradictory_parameters() -> None:
    with pytest.raises(InputError, match="p must be less than q"):
        PriorPosterior(50, 50)
    with pytest.raises(InputError, match="more than 0 and less than 100"):
        PPercent(True)


@pytest.mark.parametrize(
    "rule",
    [
        Dominance(2, 85.5, HOLDINGS),
        PPercent(12.5, 2),
        PriorPosterior(10, 50, 3),
        Frequency(3),
        ZeroUnsafe(10),
        Request(70),
        Request(70, 60, 3, 10, HOLDINGS),
    ],
)
def test_rules_are_read_from_job_files(rule: Rule) -> None:
    assert rule_of(rule.to_mapping()) == rule


def test_short_and_faulty_tables_of_job_files() -> None:
    assert rule_of({"rule": "p-percent", "p": 10}) == PPercent(10)
    with pytest.raises(InputError, match=r"no rule 'p'(.|\n)*dominance, p-percent, prior-posterior"):
        rule_of({"rule": "p", "p": 10})
    with pytest.raises(InputError, match="no key 'rule'"):
        rule_of({"p": 10})
    with pytest.raises(InputError) as caught:
        rule_of({"rule": "dominance", "m": 1})
    assert caught.value.faults == ("unknown key 'm'", "n is missing", "k is missing")
    with pytest.raises(InputError, match="k must be a number"):
        rule_of({"rule": "dominance", "n": 2, "k": "85"})


def test_rules_have_names_and_words() -> None:
    assert PPercent(10).name == "p% rule (p=10)"
    assert PPercent(10).why == "the largest contributor could be estimated by the second largest within 10%"
    assert Frequency(3).why == "fewer than 3 respondents"
    assert Dominance(2, 85, HOLDINGS).name == "dominance rule (n=2, k=85, holdings)"
    assert Dominance(2, 85, HOLDINGS).why == "the 2 largest holdings make up more than 85%"
    assert "knowing the others within 50%" in PriorPosterior(10, 50, 2).why
    for rule in (*SLOW_RULES, ZeroUnsafe(1), Request(50, minimum=3)):
        assert rule.name
        assert rule.why
    assert list(RULES) == ["dominance", "p-percent", "prior-posterior", "request", "frequency", "zero"]
    assert RESPONDENTS in Request(50, minimum=3).why


def test_what_was_caught_has_no_level_elsewhere() -> None:
    caught = Caught.of(np.array([True, False]), 0.2)
    assert caught.relative.tolist() == [0.2, 0]
