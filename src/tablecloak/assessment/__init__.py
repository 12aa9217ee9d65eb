"""Assessment: a problem from a table and rules, with sensitive cells, their levels and the attackers."""

from tablecloak.assessment.assess import assess, summary
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
