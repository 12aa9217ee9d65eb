"""tablecloak makes statistical tables safe to publish.

    A protected table is a statement of what an outsider may know: an interval for every cell.
    Every method produces one; the audit judges it; publication prints it.

Five verbs: `tabulate` microdata or cells into a `Table`, `assess` it by rules into a `Problem` (what is sensitive,
how well protected, against whom), `protect` it, `audit` any pattern, `publish` what passed. `certify` turns an
audit into a proof that `verify` checks without a solver.
"""

from tablecloak import weights
from tablecloak.apriori import Marks
from tablecloak.assess import assess
from tablecloak.audit import Certificate, Verification, audit, certify, verify
from tablecloak.bounds import Bound, bounds
from tablecloak.compare import Comparison, compare
from tablecloak.contributions import Contributions
from tablecloak.dimension import Dimension
from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    SolverError,
    TablecloakError,
    UnsafePublication,
)
from tablecloak.explain import Explanation, explain
from tablecloak.exposure import Exposure, exposure
from tablecloak.formats.jj import read_jj, write_jj
from tablecloak.hierarchy import Hierarchy
from tablecloak.insiders import Insiders
from tablecloak.links import link, link_responses
from tablecloak.methods import METHODS, Method
from tablecloak.model.printed import Printed
from tablecloak.pattern import Intervals, Mixed, Pattern, Perturbation, Rounding, Suppression, View
from tablecloak.problem import Attacker, Levels, Mark, Problem, Reason
from tablecloak.protect import protect
from tablecloak.publication import Publication
from tablecloak.publish import publish
from tablecloak.result import Audit, Report, Result, Status
from tablecloak.rules import (
    Dominance,
    Frequency,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    rule_of,
)
from tablecloak.sources import CellData, Layout, Microdata
from tablecloak.table import Table
from tablecloak.tabulate import table_frame, tabulate, tabulate_linked

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Attacker",
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
