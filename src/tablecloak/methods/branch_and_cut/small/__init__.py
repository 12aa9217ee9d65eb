"""Small tables: branch and cut with dense cuts and a dense simplex method, in some milliseconds."""

from tablecloak.methods.branch_and_cut.small.tree import SmallTree, is_small

__all__ = ["SmallTree", "is_small"]
