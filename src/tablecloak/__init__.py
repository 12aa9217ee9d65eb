"""tablecloak makes statistical tables safe to publish.

    A protected table is a statement of what an outsider may know: an interval for every cell.
    Every method produces one; the audit judges it; publication prints it.

Five verbs: `tabulate` microdata or cells into a `Table`, `assess` it by rules into a `Problem` (what is sensitive,
how well protected, against whom), `protect` it, `audit` any pattern, `publish` what passed. `certify` turns an
audit into a proof that `verify` checks without a solver.
"""

from tablecloak import weights
from tablecloak.analysis.compare import Comparison, compare
from tablecloak.analysis.explanation import Explanation, explain
from tablecloak.analysis.lower_bounds import Bound, bounds
from tablecloak.assessment.assess import assess
from tablecloak.assessment.insiders import Insiders
from tablecloak.assessment.marks import Marks
from tablecloak.assessment.rules import (
    Dominance,
    Frequency,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    rule_of,
)
from tablecloak.auditing import Certificate, Verification, audit, certify, verify
from tablecloak.auditing.exposure import Exposure, exposure
from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    SolverError,
    TablecloakError,
    UnsafePublication,
)
from tablecloak.formats.jj import read_jj, write_jj
from tablecloak.methods import METHODS, Method
from tablecloak.model.contributions import Contributions
from tablecloak.model.dimension import Dimension
from tablecloak.model.hierarchy import Hierarchy
from tablecloak.model.links import link, link_responses
from tablecloak.model.pattern import Intervals, Mixed, Pattern, Perturbation, Rounding, Suppression, View
from tablecloak.model.printed import Printed
from tablecloak.model.problem import Attacker, Levels, Mark, Problem, Reason
from tablecloak.model.result import Audit, Report, Result, Status
from tablecloak.model.table import Table
from tablecloak.protection import protect
from tablecloak.publication.publication import Publication
from tablecloak.publication.publish import publish
from tablecloak.tabulation.sources import CellData, Layout, Microdata
from tablecloak.tabulation.tabulate import table_frame, tabulate, tabulate_linked

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
