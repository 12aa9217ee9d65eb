"""tablecloak makes statistical tables safe to publish.

    A protected table is a statement of what an outsider may know: an interval for every cell.
    Every method produces one; the audit judges it; publication prints it.

Five verbs: `tabulate` microdata or cells into a `Table`, `assess` it by rules into a `Problem` (what is sensitive,
how well protected, against whom), `protect` it, `audit` any pattern, `publish` what passed. `certify` turns an
audit into a proof that `verify` checks without a solver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tablecloak import weights
from tablecloak.assessment import (
    Dominance,
    Frequency,
    Insiders,
    Marks,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    assess,
    rule_of,
)
from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    SolverError,
    TablecloakError,
    UnsafePublication,
)
from tablecloak.formats import read_jj, write_jj
from tablecloak.model import (
    Attacker,
    AttackerLevels,
    Audit,
    Contributions,
    Dimension,
    Hierarchy,
    Intervals,
    Levels,
    Mark,
    Mixed,
    Pattern,
    Perturbation,
    Prices,
    Printed,
    Problem,
    Reason,
    Report,
    Result,
    Rounding,
    Status,
    Suppression,
    Table,
    View,
    link,
    link_responses,
)
from tablecloak.tabulation import CellData, Layout, Microdata, table_frame, tabulate, tabulate_linked

if TYPE_CHECKING:
    from tablecloak.analysis import Bound, Comparison, Explanation, bounds, compare, explain
    from tablecloak.auditing import Certificate, Exposure, Verification, audit, certify, exposure, verify
    from tablecloak.methods import METHODS, Method
    from tablecloak.protection import protect
    from tablecloak.publication import Publication, publish

__version__ = "0.1.0"

_LAZY = {
    "analysis": ("Bound", "Comparison", "Explanation", "bounds", "compare", "explain"),
    "auditing": ("Certificate", "Exposure", "Verification", "audit", "certify", "exposure", "verify"),
    "methods": ("METHODS", "Method"),
    "protection": ("protect",),
    "publication": ("Publication", "publish"),
}
"""What is imported at its first use: attackers, methods and solvers are three quarters of the package."""

__all__ = [
    "METHODS",
    "Attacker",
    "AttackerLevels",
    "Audit",
    "Bound",
    "CellData",
    "Certificate",
    "Comparison",
    "Contributions",
    "Dimension",
    "Dominance",
    "Explanation",
    "Exposure",
    "Frequency",
    "Hierarchy",
    "InfeasibleProblem",
    "InputError",
    "Insiders",
    "Intervals",
    "Layout",
    "Levels",
    "Mark",
    "Marks",
    "Method",
    "Microdata",
    "Mixed",
    "NotApplicable",
    "PPercent",
    "Pattern",
    "Perturbation",
    "Prices",
    "Printed",
    "PriorPosterior",
    "Problem",
    "Publication",
    "Reason",
    "Report",
    "Request",
    "Result",
    "Rounding",
    "Rule",
    "SolverError",
    "Status",
    "Suppression",
    "Table",
    "TablecloakError",
    "UnsafePublication",
    "Verification",
    "View",
    "ZeroUnsafe",
    "assess",
    "audit",
    "bounds",
    "certify",
    "compare",
    "explain",
    "exposure",
    "link",
    "link_responses",
    "protect",
    "publish",
    "read_jj",
    "rule_of",
    "table_frame",
    "tabulate",
    "tabulate_linked",
    "verify",
    "weights",
    "write_jj",
]


def __getattr__(name: str) -> Any:
    for package, names in _LAZY.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"{__name__}.{package}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
