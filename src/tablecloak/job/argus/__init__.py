"""Jobs of τ-ARGUS: what a batch file means, and running it."""

from tablecloak.job.argus.run import ArgusOptions, lint_argus, run_argus

__all__ = ["ArgusOptions", "lint_argus", "run_argus"]
