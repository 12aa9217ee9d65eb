"""Loading of the libraries that are imported at their first use, so that no time limit pays for it.

From a cold disk or on a busy machine that takes seconds, and a limit of two seconds would end before the work begins.
"""

from __future__ import annotations

from importlib import import_module

from tablecloak.solvers import scip

LIBRARIES = ("highspy", "scipy.sparse.csgraph", "scipy.sparse.linalg")


def load_libraries(*more: str) -> None:
    """Import what methods may need, and more libraries by name."""
    for library in (*LIBRARIES, *(["pyscipopt"] if scip.is_there() else []), *more):
        import_module(library)
