"""Lines covered by the tests, a floor for each package: ``python tests/coverage_floors.py [REPORT.json]``.

`make test` measures while it runs all tests. Compiled kernels are not measured: their lines run as machine code.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

REPORT = Path(".coverage.json")
FLOORS = {
    "": 97,
    "analysis": 97,
    "assessment": 97,
    "attacker": 97,
    "auditing": 97,
    "cli": 97,
    "examples": 97,
    "formats": 97,
    "job": 97,
    "methods": 97,
    "model": 97,
    "publication": 97,
    "reports": 97,
    "solvers": 97,
    "tabulation": 97,
    "testing": 97,
}
"""The least share of lines, in percent, by package; "" are the files at the top."""


def shares(report: Path) -> dict[str, float]:
    """The share of lines that tests run, in percent, by package."""
    lines = defaultdict[str, list[int]](lambda: [0, 0])
    for name, entry in json.loads(report.read_text())["files"].items():
        inside = Path(name).parts[Path(name).parts.index("tablecloak") + 1 :]
        counts = lines[inside[0] if len(inside) > 1 else ""]
        counts[0] += entry["summary"]["covered_lines"]
        counts[1] += entry["summary"]["num_statements"]
    return {name: 100 * covered / max(count, 1) for name, (covered, count) in sorted(lines.items())}


def main() -> int:
    """Print the shares; 1 if one is below its floor, or a package has none."""
    found = shares(Path(sys.argv[1]) if len(sys.argv) > 1 else REPORT)
    low = [name for name in FLOORS | found if found.get(name, 0.0) < FLOORS.get(name, 101)]
    for name, share in found.items():
        floor = FLOORS.get(name)
        print(
            f"{name or 'tablecloak':14}{share:6.1f}% of lines, floor {floor}%{'  TOO LOW' if name in low else ''}"
        )
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
