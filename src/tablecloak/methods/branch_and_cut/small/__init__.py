"""Small networks: branch and cut with dense arrays and a tree of our own, in some milliseconds."""

from tablecloak.methods.branch_and_cut.small.tree import SmallTree

__all__ = ["SmallTree"]
