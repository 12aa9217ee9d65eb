"""Small networks: branch and cut with dense cuts and a dense simplex method, in some milliseconds."""

from tablecloak.methods.branch_and_cut.small.tree import SmallTree, is_small_network

__all__ = ["SmallTree", "is_small_network"]
