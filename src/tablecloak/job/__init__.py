"""Jobs: a whole run, from the data to the published table, as one TOML file.

`Job.read` checks a job file and lists everything that is wrong with it; `run_job` runs it and writes all its
outputs at once; `plan` says what a run would do. See docs/jobs.md.
"""

from tablecloak.job.job import Job
from tablecloak.job.run import JobResult, plan, run_job

__all__ = ["Job", "JobResult", "plan", "run_job"]
