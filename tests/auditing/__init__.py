"""The audit, certificates, exposure."""
