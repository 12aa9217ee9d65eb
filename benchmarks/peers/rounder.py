"""Run by the Python of pytauargus: controlled rounding of a JJ file, order and answer as JSON on stdin and stdout.

Order: {"folder": ..., "base": ..., "minutes": ...} with problem.jj in the folder. Answer: `code` (0: rounded, else not,
with `error`), `shown` (id and rounded value of each cell), `seconds` from file to file. What it prints while it works
has its objective and bound: ``UB = 26.0; LB = 26.0``.
"""

import json
import re
import sys
import time
from pathlib import Path

from pytauargus import RounderCtrl

CONSTANTS = {101: 1e-7, 102: 2.14e13, 103: 1e-4, 104: 0.01}
"""Zero, infinity, least violation and largest slack, as the peer sets them itself."""
FAR = 1e40


def main() -> None:
    order = json.load(sys.stdin)
    folder = Path(order["folder"])
    peer, start = RounderCtrl(), time.perf_counter()
    for constant, value in CONSTANTS.items():
        peer.set_double_constant(constant, value)
    code, _, _, _, error = peer.do_round(
        solver="SCIP",
        in_file=str(folder / "problem.jj"),
        base=order["base"],
        upper_bound=[FAR],
        lower_bound=[0.0],
        solution_file=str(folder / "out.txt"),
        statistics_file=str(folder / "statistics.txt"),
        max_time=order["minutes"],
    )
    seconds = time.perf_counter() - start
    out = folder / "out.txt"
    text = out.read_text() if out.exists() else ""
    shown = re.findall(r"^\s*(\S+) from\s+\S+ to\s+(\S+)", text, re.MULTILINE)
    answer = {"code": code, "error": error, "shown": shown, "seconds": seconds}
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
