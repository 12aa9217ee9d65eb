"""Confidential pages and records for the statistician."""
