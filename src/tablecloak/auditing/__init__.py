"""The audit: what each attacker can work out, certificates of it, and exposure. It trusts and knows no method."""

from tablecloak.auditing.audit import AuditSettings, audit, checked_view
from tablecloak.auditing.certificate import Certificate, Verification, verify
from tablecloak.auditing.certify import certify
from tablecloak.auditing.exposure import Exposure, exposure

__all__ = [
    "AuditSettings",
    "Certificate",
    "Exposure",
    "Verification",
    "audit",
    "certify",
    "checked_view",
    "exposure",
    "verify",
]
