"""Exact cell suppression by branch and cut."""
