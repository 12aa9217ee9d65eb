"""tablecloak makes statistical tables safe to publish.

    A protected table is a statement of what an outsider may know: an interval for every cell.
    Every method produces one; the audit judges it; publication prints it.

Make a `Table`, state a `Problem` about it (what is sensitive, how well protected, against whom), `protect` it,
`audit` any pattern, `certify` the audit and `verify` the certificate without a solver.
"""

from tablecloak import weights
from tablecloak.audit import Certificate, Verification, audit, certify, verify
from tablecloak.dimension import Dimension
from tablecloak.errors import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    SolverError,
    TablecloakError,
    UnsafePublication,
)
from tablecloak.exposure import Exposure, exposure
from tablecloak.formats.jj import read_jj, write_jj
from tablecloak.hierarchy import Hierarchy
from tablecloak.links import link, link_responses
from tablecloak.methods import METHODS, Method
from tablecloak.pattern import Intervals, Mixed, Pattern, Perturbation, Rounding, Suppression, View
from tablecloak.problem import Attacker, Levels, Mark, Problem
from tablecloak.protect import protect
from tablecloak.result import Audit, Report, Result, Status
from tablecloak.table import Table

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Attacker",
    "Audit",
    "Certificate",
    "Dimension",
    "Exposure",
    "Hierarchy",
    "InfeasibleProblem",
    "InputError",
    "Intervals",
    "Levels",
    "Mark",
    "Method",
    "Mixed",
    "NotApplicable",
    "Pattern",
    "Perturbation",
    "Problem",
    "Report",
    "Result",
    "Rounding",
    "SolverError",
    "Status",
    "Suppression",
    "Table",
    "TablecloakError",
    "UnsafePublication",
    "Verification",
    "View",
    "audit",
    "certify",
    "exposure",
    "link",
    "link_responses",
    "protect",
    "read_jj",
    "verify",
    "weights",
    "write_jj",
]
