"""Jobs: a whole run, from the data to the published table, as one TOML file.

`Job.read` checks a job file and lists everything that is wrong with it; `run_job` runs it and writes all its
outputs at once; `plan` says what a run would do. See docs/jobs.md.
"""

from tablecloak.job.hierarchies import code_labels, read_labels
from tablecloak.job.job import Job
from tablecloak.job.run import (
    JobResult,
    chosen_weights,
    described,
    plan,
    prepared,
    run_job,
    sort_of,
    tabulated,
)
from tablecloak.job.schema import meant
from tablecloak.job.starter import starter
from tablecloak.job.validation import check_library, check_public

__all__ = [
    "Job",
    "JobResult",
    "check_library",
    "check_public",
    "chosen_weights",
    "code_labels",
    "described",
    "meant",
    "plan",
    "prepared",
    "read_labels",
    "run_job",
    "sort_of",
    "starter",
    "tabulated",
]
