"""The audit: what each attacker can infer, certificates of it, and exposure. It trusts and knows no method."""

from tablecloak.auditing.audit import AuditSettings, audit, checked_view
from tablecloak.auditing.certificate import Certificate, Verification, verify
from tablecloak.auditing.certify import CertificateSettings, certify
from tablecloak.auditing.exposure import Exposure, ExposureSettings, exposure
from tablecloak.auditing.implied import implied_requirements
from tablecloak.auditing.recent import recent_audit
