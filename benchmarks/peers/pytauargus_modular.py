"""Run by the Python of the peer's environment: runs a batch file, order and answer as JSON on stdin and stdout.

Order: {"folder": ...} with job.arb in the folder. Answer: `seconds` of the suppression alone, and `message` if it
failed.
"""

import json
import sys
import time
from pathlib import Path

from pytauargus.engine import Engine


class Timed(Engine):
    """The peer's engine with a clock around the suppression."""

    seconds = 0.0

    def suppress(self, cmd) -> None:
        start = time.perf_counter()
        try:
            super().suppress(cmd)
        finally:
            self.seconds = time.perf_counter() - start


def main() -> None:
    order = json.load(sys.stdin)
    engine, message = Timed(), ""
    try:
        engine.run_batch(str(Path(order["folder"]) / "job.arb"))
    except Exception as error:  # whatever the peer raises is its answer
        message = str(error)
    print("\n" + json.dumps({"seconds": engine.seconds, "message": message}), flush=True)


if __name__ == "__main__":
    main()
