"""The audit: one judge for all patterns. It never imports a method."""

from tablecloak.auditing.audit import audit, checked_view, deviation_bounds
from tablecloak.auditing.certificate import Certificate, Verification, verify
from tablecloak.auditing.certify import certify

__all__ = ["Certificate", "Verification", "audit", "certify", "checked_view", "deviation_bounds", "verify"]
