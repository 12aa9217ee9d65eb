"""Tabulation: a table with all its totals and the contributors of each cell, from microdata or ready cells."""

from tablecloak.tabulation.duckdb import Part, csv_fault, file_parts, read_columns, session
from tablecloak.tabulation.sources import CellData, Layout, Microdata
from tablecloak.tabulation.tabulate import COUNT, table_frame, tabulate, tabulate_linked
