"""From a table and rules to a problem: sensitive cells, their levels, the attackers."""
