"""Files of tables, problems and patterns, in and out: JJ, cloak files, CSV of patterns."""

from tablecloak.formats.cloak import CloakLimits, is_cloak, read_cloak, write_cloak
from tablecloak.formats.jj import read_jj, write_jj
from tablecloak.formats.pattern_csv import cell_names, read_pattern, write_pattern

__all__ = [
    "CloakLimits",
    "cell_names",
    "is_cloak",
    "read_cloak",
    "read_jj",
    "read_pattern",
    "write_cloak",
    "write_jj",
    "write_pattern",
]
