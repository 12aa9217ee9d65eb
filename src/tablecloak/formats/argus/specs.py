"""What stands behind SAFETYRULE, SUPPRESS and WRITETABLE in a batch file of τ-ARGUS, read into objects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tablecloak.formats.argus.lexical import ArgusToken, LineFaults, number_of

MANUAL_MARGIN = 20.0
"""The level of cells that are made unsafe by hand, in percent of their value, unless MAN says otherwise."""


@dataclass(frozen=True)
class RuleSpec:
    """One part of a SAFETYRULE: its name and its numbers; `holding`: it is about holdings."""

    name: str
    numbers: tuple[float, ...]
    holding: bool = False


@dataclass(frozen=True)
class SafetyRules:
    """All parts of a SAFETYRULE command. Without rules the given status of the cells is used."""

    rules: tuple[RuleSpec, ...] = ()
    missing_safe: bool = False
    weighted: bool = False
    manual: float = MANUAL_MARGIN

    @property
    def use_status(self) -> bool:
        """Whether cells keep the status that they are given."""
        return not self.rules

    @property
    def holding(self) -> bool:
        """Whether some rule is about holdings."""
        return any(rule.holding for rule in self.rules)

    @property
    def contributors(self) -> int:
        """How many of the largest contributors the rules look at."""
        about = {"P": lambda numbers: int(numbers[2]) + 1, "NK": lambda numbers: int(numbers[0])}
        return max((about[rule.name](rule.numbers) for rule in self.rules if rule.name in about), default=0)


@dataclass(frozen=True)
class _Rule:
    """How a part is written: numbers of arguments, and how many parts there may be at each level."""

    counts: tuple[int, ...]
    individual: int
    holding: int


RULES: Mapping[str, _Rule] = {
    "P": _Rule((1, 2, 3), 2, 2),
    "NK": _Rule((2,), 2, 2),
    "FREQ": _Rule((2,), 1, 1),
    "REQ": _Rule((3, 4), 1, 1),
    "ZERO": _Rule((1,), 1, 0),
    "MIS": _Rule((1,), 1, 0),
    "WGT": _Rule((1,), 1, 0),
    "MAN": _Rule((1,), 1, 0),
}


def read_safety_rule(text: str, line: int, faults: LineFaults) -> SafetyRules:
    """The parts between the bars; those in later places are about holdings."""
    seen, rules, options = dict[str, int](), list[RuleSpec](), dict[str, float]()
    for part in (part.strip() for part in text.split("|")):
        if not part:
            continue
        match = re.fullmatch(r"([A-Za-z]+)\s*\(([^()]*)\)", part)
        name = match[1].upper() if match else ""
        if match is None or name not in RULES:
            faults.add(
                line, f"{part!r} is no safety rule; there are {', '.join(RULES)}, written like P(10,1)"
            )
            continue
        numbers = _numbers(match[2])
        if numbers is None or len(numbers) not in RULES[name].counts:
            wanted = " or ".join(map(str, RULES[name].counts))
            faults.add(line, f"{part!r} needs {wanted} numbers, separated by commas")
            continue
        seen[name] = seen.get(name, 0) + 1
        rule = RULES[name]
        if seen[name] > rule.individual + rule.holding:
            faults.add(
                line, f"{name} stands there {seen[name]} times; {rule.individual + rule.holding} at most"
            )
        elif name in ("MIS", "WGT", "MAN"):
            options[name] = numbers[0]
            if name != "MAN" and numbers[0] not in (0, 1):
                faults.add(line, f"{part!r} must be 0 or 1")
        else:
            _note_tolerated(name, numbers, line, faults)
            spec = RuleSpec(name, _completed(name, numbers), seen[name] > rule.individual)
            placeholder = not any(numbers[:1] if name == "FREQ" else numbers) and name != "ZERO"
            if not placeholder and not _range_faults(spec, part, line, faults):
                rules.append(spec)
    manual = options.get("MAN", MANUAL_MARGIN)
    if manual < 0:
        faults.add(line, "MAN must not be negative")
    return SafetyRules(tuple(rules), options.get("MIS") == 1, options.get("WGT") == 1, manual)


def _numbers(text: str) -> tuple[float, ...] | None:
    found = [number_of(part) for part in text.split(",")]
    return None if None in found else tuple(number for number in found if number is not None)


def _note_tolerated(name: str, numbers: Sequence[float], line: int, faults: LineFaults) -> None:
    if name == "REQ" and len(numbers) == 3:
        faults.tolerate(line, "REQ with three numbers: percent, percent, margin")
    if name != "ZERO" and any(number != int(number) for number in numbers):
        faults.tolerate(line, f"{name} with a number that is not whole")


def _completed(name: str, numbers: tuple[float, ...]) -> tuple[float, ...]:
    """All numbers of a rule: P(p) and P(p,n) as P(p,q,n); REQ(a,b,margin) with a least frequency of 0."""
    if name == "P" and len(numbers) < 3:
        return (numbers[0], 100.0, numbers[1] if len(numbers) == 2 else 1.0)
    if name == "REQ" and len(numbers) == 3:
        return (*numbers[:2], 0.0, numbers[2])
    return numbers


def _range_faults(spec: RuleSpec, part: str, line: int, faults: LineFaults) -> bool:
    """Whether numbers are out of range; each is a fault."""
    n = spec.numbers
    wrong = {
        "P": lambda: not (0 < n[0] < n[1] <= 100 and n[2] >= 1 and n[2] == int(n[2])),
        "NK": lambda: not (n[0] >= 1 and n[0] == int(n[0]) and 0 < n[1] <= 100),
        "FREQ": lambda: n[0] < 0 or n[1] < 0,
        "REQ": lambda: not (0 <= n[0] <= 100 and 0 <= n[1] <= 100 and n[2] >= 0 and n[3] >= 0),
        "ZERO": lambda: n[0] < 0,
    }[spec.name]()
    words = {
        "P": "P(p,q,n) needs 0 < p < q <= 100 and a whole n of at least 1",
        "NK": "NK(n,k) needs a whole n of at least 1 and 0 < k <= 100",
        "FREQ": "FREQ(minimum, percent) needs numbers that are not negative",
        "REQ": "REQ(percent1, percent2, minimum, margin) needs percentages and numbers that are not negative",
        "ZERO": "ZERO(range) needs a number that is not negative",
    }
    if wrong:
        faults.add(line, f"{part!r} is out of range: {words[spec.name]}")
    return wrong


# ---------------------------------------------------------------------- SUPPRESS


@dataclass(frozen=True)
class SuppressSpec:
    """A method of τ-ARGUS with its arguments by name; table 0: all tables, linked."""

    method: str
    table: int
    arguments: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Argument:
    name: str
    default: float | None
    least: float = 0.0
    most: float = float("inf")
    whole: bool = False


_SWITCH = (0.0, 1.0, True)
METHOD_ARGUMENTS: Mapping[str, tuple[_Argument, ...]] = {
    "GH": (
        _Argument("bounds", 100.0),
        _Argument("size", 0.0, *_SWITCH),
        _Argument("singleton", 1.0, *_SWITCH),
    ),
    "MOD": (
        _Argument("minutes", 1.0),
        _Argument("single_single", 1.0, *_SWITCH),
        _Argument("single_multiple", 1.0, *_SWITCH),
        _Argument("min_frequency", 1.0, *_SWITCH),
        _Argument("max_cost", 20000.0),
        _Argument("lower_margin", 0.99, 0.0, 1.0),
        _Argument("upper_margin", 1.01, 1.0),
    ),
    "OPT": (_Argument("minutes", 10.0),),
    "NET": (),
    "RND": (
        _Argument("base", None, 1e-9),
        _Argument("steps", 0.0, whole=True),
        _Argument("minutes", 10.0),
        _Argument("partitions", 0.0),
        _Argument("stop", 2.0, 0.0, 3.0, True),
        _Argument("unit_cost", 1.0, *_SWITCH),
    ),
    "CTA": (),
    "CKM": (),
}
"""What may stand behind the number of the table, in this order; an empty place means the default."""
LINKED_METHODS = ("GH", "MOD")
"""Methods that take table 0."""


def read_suppress(text: str, line: int, faults: LineFaults) -> SuppressSpec | None:
    """``MOD(1,5,1,1,1)``: a method, a table and further arguments."""
    match = re.match(r"\s*([A-Za-z]+)\s*\(([^()]*)\)", text)
    method = match[1].upper() if match else ""
    if match is None or method not in METHOD_ARGUMENTS:
        methods = ", ".join(METHOD_ARGUMENTS)
        faults.add(line, f"SUPPRESS {text!r}: write a method and its table like MOD(1); methods: {methods}")
        return None
    if method == "CKM":
        faults.add(
            line, "SUPPRESS CKM: the cell key method is not available; use RND or CTA, or take the line out"
        )
        return None
    first, *given = [part.strip() for part in match[2].split(",")]
    if not first.isdigit():
        faults.add(line, f"SUPPRESS {method}: {first!r} is no number of a table")
        return None
    known = METHOD_ARGUMENTS[method]
    if len(given) > len(known):
        faults.add(line, f"SUPPRESS {method}: {len(given)} arguments behind the table, {len(known)} at most")
    if int(first) == 0 and method not in LINKED_METHODS:
        faults.add(
            line, f"SUPPRESS {method}: table 0 (all tables linked) is for {' and '.join(LINKED_METHODS)}"
        )
    arguments = dict[str, float]()
    for place, argument in enumerate(known):
        text = given[place] if place < len(given) else ""
        number = argument.default if not text else number_of(text)
        if number is None:
            what = f"{text!r} is no number" if text else "is missing"
            faults.add(line, f"SUPPRESS {method}: {argument.name} {what}")
            continue
        if not argument.least <= number <= argument.most or (argument.whole and number != int(number)):
            whole = "a whole number " if argument.whole else ""
            wanted = f"{whole}from {argument.least:g} to {argument.most:g}"
            faults.add(line, f"SUPPRESS {method}: {argument.name} must be {wanted}, not {text}")
        if method == "RND" and argument.name == "stop" and text in ("0", "3"):
            faults.tolerate(line, f"RND with stop rule {text}")
        arguments[argument.name] = number
    return SuppressSpec(method, int(first), arguments)


# ---------------------------------------------------------------------- WRITETABLE


CROSSTAB, PIVOT, CODE_VALUE, SBS, INTERMEDIATE, JJ_FILE, CELL_KEY = range(1, 8)
"""Types of WRITETABLE."""
OPTIONS = ("AS", "FL", "QU", "SE", "HL", "SO", "AR", "HI", "TR", "AO", "AD", "AC")
"""Two-letter options of WRITETABLE; QU is on unless switched off."""


@dataclass(frozen=True)
class WriteSpec:
    """What to write: table, type, options that are on, and the file."""

    table: int
    type: int
    options: frozenset[str]
    file: str

    @property
    def is_confidential(self) -> bool:
        """Whether the file carries true values of hidden cells (`CONFIDENTIAL_TYPES`, and AS+)."""
        return self.type in CONFIDENTIAL_TYPES or "AS" in self.options


CONFIDENTIAL_TYPES = (SBS, INTERMEDIATE, JJ_FILE)
"""Types that carry true values of hidden cells: confidential transmission files. So do the others with AS+."""


def read_writetable(tokens: Sequence[ArgusToken], line: int, faults: LineFaults) -> WriteSpec | None:
    """``(1,2,AS+,"file.csv")``."""
    inner = [token for token in tokens if token.quoted or token.text not in ("(", ")")]
    fields: list[list[ArgusToken]] = [[]]
    for token in inner:
        if token.is_mark:
            fields.append([])
        else:
            fields[-1].append(token)
    texts = ["".join(token.text for token in field) for field in fields]
    if len(texts) != 4:
        faults.add(line, 'WRITETABLE: write it like (1,2,AS+,"file.csv"): table, type, options, file')
        return None
    table, kind, options, file = texts
    wrong = [what for what, text in (("table", table), ("type", kind)) if not text.strip().isdigit()]
    for what in wrong:
        faults.add(line, f"WRITETABLE: the {what} must be a whole number")
    if not wrong and int(kind) not in range(CROSSTAB, CELL_KEY + 1):
        faults.add(line, f"WRITETABLE: there is no type {kind}; types are 1 to 6")
        wrong.append("type")
    elif not wrong and int(kind) == CELL_KEY:
        faults.add(line, "WRITETABLE: type 7 belongs to the cell key method, which is not available")
        wrong.append("type")
    chosen = _write_options(options, line, faults)
    if "." not in file:
        faults.add(line, f"WRITETABLE: the name of the file must contain a dot, like {file or 'table'}.csv")
    return None if wrong else WriteSpec(int(table), int(kind), chosen, file)


def _write_options(text: str, line: int, faults: LineFaults) -> frozenset[str]:
    """The options that are on."""
    text = text.strip()
    if re.fullmatch(r"\d+", text):
        faults.tolerate(line, f"WRITETABLE with the option {text} of version 3, which is ignored")
        text = ""
    on = {"QU"}
    parts = re.findall(r"([A-Za-z]{2})([+-])", text)
    if "".join(a + b for a, b in parts) != text.replace(" ", ""):
        faults.add(line, f"WRITETABLE: options {text!r} must be written like AS+QU-")
    for name, sign in parts:
        if name.upper() not in OPTIONS:
            faults.add(line, f"WRITETABLE: unknown option {name!r}; there are {', '.join(OPTIONS)}")
        elif name.upper() in ("AO", "AD", "AC") and sign == "+":
            faults.add(
                line, f"WRITETABLE: option {name} belongs to the cell key method, which is not available"
            )
        elif sign == "+":
            on.add(name.upper())
        else:
            on.discard(name.upper())
    return frozenset(on)
