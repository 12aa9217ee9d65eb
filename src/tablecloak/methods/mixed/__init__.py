"""Parts of mixed-joint: the plan of ways, and all of them as one formulation."""

from tablecloak.methods.mixed.formulation import Joint, Plan, joint_of
from tablecloak.methods.mixed.initial_solution import (
    AtHand,
    JointSettings,
    check_in_time,
    numbers_at_hand,
    numbers_by_annealing,
    skewed_plan,
    stated_wider,
)
from tablecloak.methods.mixed.plan import MixedParams, cannot_add_up, check_divisible, plan_of
from tablecloak.methods.mixed.solution import (
    UNDECIDED,
    Found,
    accepted_with,
    attainable,
    notes_of,
    of_true_cells,
    proposal_of,
    refusal_of,
)

__all__ = [
    "UNDECIDED",
    "AtHand",
    "Found",
    "Joint",
    "JointSettings",
    "MixedParams",
    "Plan",
    "accepted_with",
    "attainable",
    "cannot_add_up",
    "check_divisible",
    "check_in_time",
    "joint_of",
    "notes_of",
    "numbers_at_hand",
    "numbers_by_annealing",
    "of_true_cells",
    "plan_of",
    "proposal_of",
    "refusal_of",
    "skewed_plan",
    "stated_wider",
]
