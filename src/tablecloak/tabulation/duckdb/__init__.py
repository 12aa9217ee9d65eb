"""Records in DuckDB: where they come from, what is wrong with them, and exact sums of them."""
