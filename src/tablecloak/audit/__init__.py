"""The audit: one judge for all patterns. It never imports a method."""

from tablecloak.audit.certificate import Certificate, Verification, verify
from tablecloak.audit.judge import audit, checked_view, deviation_bounds
from tablecloak.audit.prove import certify

__all__ = ["Certificate", "Verification", "audit", "certify", "checked_view", "deviation_bounds", "verify"]
