"""Records in DuckDB: where they come from, what is wrong with them, and exact sums of them."""

from tablecloak.tabulation.duckdb.aggregation import (
    HOLDINGS,
    RESPONDENTS,
    ContributorSummary,
    Level,
    Shape,
    cell_sums,
    leaf_keys,
    rounded_sums,
    sum_decimals,
    tally,
)
from tablecloak.tabulation.duckdb.reader import Part, csv_fault, file_parts, frame_part, read_columns
from tablecloak.tabulation.duckdb.records import CodeList, Loaded, Reading, load
from tablecloak.tabulation.duckdb.session import MEMORY, session
