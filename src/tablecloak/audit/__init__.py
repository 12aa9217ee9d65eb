"""The audit: one judge for all patterns. It never imports a method."""

from tablecloak.audit.judge import audit, checked_view, deviation_bounds

__all__ = ["audit", "checked_view", "deviation_bounds"]
