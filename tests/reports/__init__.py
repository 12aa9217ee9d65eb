"""Confidential pages and records."""
