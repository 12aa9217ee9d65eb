"""The trace of the README's call."""

from __future__ import annotations

import sys

from visited import package_of, readme_problem, visited


def test_the_trace_finds_the_recipe_its_parts_and_the_audit_and_ends() -> None:
    found = visited(readme_problem())
    assert sys.getprofile() is None
    assert {"protection.py", "methods/suppress_optimal.py", "auditing/audit.py"} <= set(found)
    assert "suppress_optimal" in found["methods/suppress_optimal.py"]
    assert {"methods/branch_and_cut", "methods/cuts", "model", "attacker"} <= set(map(package_of, found))
    assert not [file for file in found if file.startswith(("cli", "reports", "formats", "methods/rounding"))]
    assert not [name for names in found.values() for name in names if name.startswith("<")]
