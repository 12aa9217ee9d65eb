"""Run by the Python of the peer's environment: solves a JJ file, order and answer as JSON on stdin and stdout.

Order: {"folder": ..., "minutes": ...} with problem.jj in the folder. Answer: `code` (0 optimal, 1 stopped by the time,
else an error with `message`), `hidden` (ids of complementary cells), `cost` and `bound` as the peer counts them (with
the sensitive cells), `seconds` from file to pattern and `solve_seconds` by its own log.
"""

import json
import re
import sys
import time
from pathlib import Path

from pytauargus import HiTaSCtrl


def main() -> None:
    order = json.load(sys.stdin)
    folder = Path(order["folder"])
    peer, start = HiTaSCtrl(), time.perf_counter()
    code = peer.full_jj(
        str(folder / "problem.jj"), str(folder / "out.txt"), order["minutes"], "", f"{folder}/"
    )
    seconds = time.perf_counter() - start
    out = folder / "out.txt"
    bound, cost = _found(folder / "FullJJ.log", r"Objectvalues:\s*(\S+) and\s+(\S+)") or (None, None)
    own = _found(folder / "CSPlogfile.txt", r"Total time = (\S+)")
    answer = {
        "code": code,
        "message": peer.error_string(code) if code else "",
        "hidden": out.read_text().split() if out.exists() else [],
        "bound": bound,
        "cost": cost,
        "seconds": seconds,
        "solve_seconds": own[0] if own else None,
    }
    print("\n" + json.dumps(answer), flush=True)


def _found(path: Path, pattern: str) -> tuple[float, ...] | None:
    """The last numbers in a log that fit."""
    if not path.exists():
        return None
    found = re.findall(pattern, path.read_text(errors="replace"))
    if not found:
        return None
    last = found[-1] if isinstance(found[-1], tuple) else (found[-1],)
    return tuple(float(text) for text in last)


if __name__ == "__main__":
    main()
