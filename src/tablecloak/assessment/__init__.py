"""Assessment: a problem from a table and rules, with sensitive cells, their levels and the attackers."""

from tablecloak.assessment.assess import assess, summary
from tablecloak.assessment.attackers import attacker_of, attacker_within
from tablecloak.assessment.cell_rows import CellRows
from tablecloak.assessment.concentration import Caught
from tablecloak.assessment.insiders import Insiders
from tablecloak.assessment.marks import Marks
from tablecloak.assessment.rules import (
    RULES,
    Dominance,
    Frequency,
    PPercent,
    PriorPosterior,
    Request,
    Rule,
    ZeroUnsafe,
    rule_of,
)

__all__ = [
    "RULES",
    "Caught",
    "CellRows",
    "Dominance",
    "Frequency",
    "Insiders",
    "Marks",
    "PPercent",
    "PriorPosterior",
    "Request",
    "Rule",
    "ZeroUnsafe",
    "assess",
    "attacker_of",
    "attacker_within",
    "rule_of",
    "summary",
]
