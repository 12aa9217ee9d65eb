"""docs/api.md: every public name with its signature and what its docstring says, made from the package itself."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import tablecloak

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"
CHAPTERS = {
    "The five verbs": ["tabulate", "assess", "protect", "audit", "publish"],
    "Data in": ["Microdata", "CellData", "Layout", "tabulate_linked", "table_frame", "read_jj", "write_jj"],
    "Tables": ["Hierarchy", "Dimension", "Table", "Contributions", "link", "link_responses"],
    "Rules and marks": [
        "Rule", "Frequency", "Dominance", "PPercent", "PriorPosterior", "ZeroUnsafe", "Request", "rule_of", "Marks",
        "Insiders",
    ],
    "Problems": ["Problem", "Levels", "Prices", "Attacker", "AttackerLevels", "Mark", "Reason", "weights"],
    "Patterns": ["Pattern", "View", "Suppression", "Intervals", "Rounding", "Perturbation", "Mixed", "Printed"],
    "Methods and results": [
        "METHODS", "Method", "Result", "Status", "Report", "Audit", "Publication", "compare", "Comparison",
    ],
    "Proofs and explanations": [
        "certify", "verify", "Certificate", "Verification", "bounds", "Bound", "exposure", "Exposure", "explain",
        "Explanation",
    ],
    "Errors": [
        "TablecloakError", "InputError", "InfeasibleProblem", "NotApplicable", "SolverError", "UnsafePublication",
    ],
}  # fmt: skip


def api_page() -> str:
    """The whole page."""
    rule = [line.strip() for line in (tablecloak.__doc__ or "").splitlines()[2:4]]
    parts = [
        "# API reference",
        f"> **{rule[0]}\n> {rule[1]}**",
        "Made from the docstrings of the package by `python tests/test_docs.py --write`. "
        "Everything here is imported from `tablecloak` itself.",
    ]
    for chapter, names in CHAPTERS.items():
        parts.append(f"## {chapter}")
        parts += [entry(name, getattr(tablecloak, name)) for name in names]
    return "\n\n".join(parts) + "\n"


def entry(name: str, thing: Any) -> str:
    """One name: heading, signature, text, and the public methods of a class."""
    if name == "METHODS":
        rows = [f"| `{key}` | {method.summary} | {method.reference} |" for key, method in thing.items()]
        return "\n".join(["### METHODS", "", "| method | what it is | reference |", "|---|---|---|", *rows])
    head = f"### {name}"
    if isinstance(thing, ModuleType):
        functions = [member for _, member in inspect.getmembers(thing, inspect.isfunction)]
        own = [each for each in functions if each.__name__ in thing.__all__]
        inside = [f"`{name}.{each.__name__}{one_line(signature(each))}`: {first_line(each)}" for each in own]
        return "\n\n".join([head, text_of(thing), *inside])
    if inspect.isfunction(thing):
        return "\n\n".join([head, f"```text\n{name}{signature(thing)}\n```", text_of(thing)])
    return "\n\n".join([part for part in (head, *described_class(name, thing)) if part])


def described_class(name: str, kind: type[Any]) -> list[str]:
    """Signature or members, text, and public methods defined by the class itself."""
    parts = []
    if issubclass(kind, Enum):
        parts.append("Members: " + ", ".join(f"`{member.name}`" for member in kind) + ".")
    elif is_dataclass(kind):
        parts.append("Fields: " + ", ".join(f"`{item.name}`" for item in fields(kind)) + ".")
    parts.append(text_of(kind))
    for key, member in vars(kind).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if key.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        parts.append(f"`{name}.{key}{one_line(signature(function))}`: {first_line(function)}")
    return parts


def signature(function: Any) -> str:
    """The signature as written, without self and cls; a long one takes a line a parameter."""
    found = inspect.signature(function)
    parts, starred = [], False
    for key, parameter in found.parameters.items():
        if key in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        starred |= stars == "*"
        hint = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = parameter.default
        made = f"{type(default).__name__}()" if is_dataclass(default) else repr(default)
        shown = "" if default is parameter.empty else f" = {getattr(default, '__name__', made)}"
        parts.append(f"{stars}{key}{hint}{shown}")
    back = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    short = f"({', '.join(parts)}){back}"
    if len(short) < 90:
        return short
    return "(\n    " + ",\n    ".join(parts) + f",\n){back}"


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("( ", "(").replace(",)", ")").replace(", )", ")")


def text_of(thing: Any) -> str:
    """The docstring; literal blocks as such."""
    text = inspect.getdoc(thing) or ""
    return re.sub(
        r"::\n\n((?:    .*\n?|\n)+)", lambda found: f":\n\n```text\n{found[1].rstrip()}\n```\n", text
    )


def first_line(thing: Any) -> str:
    """The first sentence of a docstring."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
