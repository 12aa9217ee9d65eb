"""Parts of mixed-joint: the plan of ways, all of them as one formulation, and its cheapest publication."""

from tablecloak.methods.mixed.choices import WAYS, rule_faults
from tablecloak.methods.mixed.formulation import joint_formulation
from tablecloak.methods.mixed.initial_solution import (
    AdditiveNumbers,
    check_in_time,
    initial_numbers,
    numbers_by_annealing,
    skewed_plan,
    stated_wider,
)
from tablecloak.methods.mixed.model import MixedModel
from tablecloak.methods.mixed.plan import MixedParams, Plan, cannot_add_up, check_divisible, plan_of
from tablecloak.methods.mixed.settings import MixedSettings
from tablecloak.methods.mixed.solution import (
    UNDECIDED,
    MixedPublication,
    accepted_with,
    notes_of,
    of_true_cells,
    proposal_of,
)

__all__ = [
    "UNDECIDED",
    "WAYS",
    "AdditiveNumbers",
    "MixedModel",
    "MixedParams",
    "MixedPublication",
    "MixedSettings",
    "Plan",
    "accepted_with",
    "cannot_add_up",
    "check_divisible",
    "check_in_time",
    "initial_numbers",
    "joint_formulation",
    "notes_of",
    "numbers_by_annealing",
    "of_true_cells",
    "plan_of",
    "proposal_of",
    "rule_faults",
    "skewed_plan",
    "stated_wider",
]
