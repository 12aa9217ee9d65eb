"""Run by the Python of gconfid: its optimized rounding, order and answer as JSON on stdin and stdout.

Order: {"folder": ..., "base": ..., "seconds": ...} with problem.json in the folder: `values`, `weights`, `low` and
`high` of the cells, and the equations as `rows`, `columns`, `entries` (right-hand sides are zero). Answer: `ended` (as
its solver says), `shown`, `bound` in units of the base, `seconds` from tables to table.
"""

import json
import sys
import time
from pathlib import Path

import pandas as pd
import pulp
from gconfid.opt_rounding.opt_rounding import OptRounding


class Watched(pulp.HiGHS):
    """The solver that gconfid uses by default, which remembers how it ended."""

    ended, bound = "not run", None

    def findSolutionValues(self, lp):
        found = super().findSolutionValues(lp)
        self.ended = lp.solverModel.modelStatusToString(lp.solverModel.getModelStatus())
        self.bound = float(lp.solverModel.getInfo().mip_dual_bound)
        return found


def main() -> None:
    order = json.load(sys.stdin)
    given = json.loads((Path(order["folder"]) / "problem.json").read_text())
    numbers = range(1, len(given["values"]) + 1)  # it takes ids from 1 on
    cells = pd.DataFrame(
        {
            "CellId": numbers,
            "Total": [float(value) for value in given["values"]],
            "Weight": given["weights"],
            "CellLB": given["low"],
            "CellUB": given["high"],
        }
    )
    sums = pd.DataFrame(
        {
            "ConstraintId": [row + 1 for row in given["rows"]],
            "CellId": [column + 1 for column in given["columns"]],
            "Coefficient": given["entries"],
        }
    )
    bounds = pd.DataFrame({"ConstraintId": sorted(set(sums["ConstraintId"]))})
    bounds["ConstraintLB"] = bounds["ConstraintUB"] = 0.0
    solver = Watched(msg=False, threads=1, timeLimit=order["seconds"], gapRel=0.0)
    start, message, shown = time.perf_counter(), "", []
    try:
        peer = OptRounding(cells, sums, bounds, base=order["base"], custom_solver=solver, outround="pandas")
        found = peer.outround.set_index("CellId")["RoundedTotal"]
        shown = found.loc[numbers].tolist()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    answer = {
        "ended": solver.ended,
        "message": message,
        "shown": shown,
        "bound": solver.bound,
        "seconds": time.perf_counter() - start,
    }
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
