"""From microdata or ready cells to a table with all its totals, and to who contributes to each cell."""
