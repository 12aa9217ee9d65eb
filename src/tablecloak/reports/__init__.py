"""Confidential pages and records for the statistician."""

from tablecloak.reports.comparison import check_drawing, compare_html, cost_plot
from tablecloak.reports.records import audit_record, exposure_record, result_record, to_json
from tablecloak.reports.report import report_html, report_page, result_of

__all__ = [
    "audit_record",
    "check_drawing",
    "compare_html",
    "cost_plot",
    "exposure_record",
    "report_html",
    "report_page",
    "result_of",
    "result_record",
    "to_json",
]
