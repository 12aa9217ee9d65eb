"""Files and functions of tablecloak that the README's call visits: ``python benchmarks/visited.py``.

The problem is that of the README; traced is ``protect(problem, "suppress-optimal")`` alone, with ``sys.setprofile``
in this thread. A file counts if one of its functions runs, not if it is only imported; each function counts once, and
code of module and class bodies, comprehensions and lambdas does not count; of compiled kernels those that Python
calls do. ``--files`` lists the files. Another checkout is measured with its ``src`` in front: ``PYTHONPATH=/other/src
python benchmarks/visited.py``.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

import tablecloak
from tablecloak import Frequency, Insiders, PPercent, Problem, assess, protect, tabulate
from tablecloak.examples import business_dimensions, business_survey

SOURCE = Path(tablecloak.__file__).resolve().parent


def readme_problem() -> Problem:
    """The problem of the README's first example."""
    region, _, size = business_dimensions()
    table = tabulate(business_survey(), [region, size], "turnover")
    return assess(table, [PPercent(10), Frequency(3)], insiders=Insiders())


def visited(problem: Problem) -> dict[str, set[str]]:
    """The functions that run, by file within the package."""
    found: defaultdict[str, set[str]] = defaultdict(set)

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)) and not code.co_name.startswith("<"):
            found[Path(code.co_filename).relative_to(SOURCE).as_posix()].add(code.co_qualname)

    # kernels are compiled and modules imported before: neither is the work of the call
    protect(problem, "suppress-optimal")
    sys.setprofile(watch)
    try:
        protect(problem, "suppress-optimal")
    finally:
        sys.setprofile(None)
    return dict(found)


def package_of(file: str) -> str:
    """The package of a file; `tablecloak` for files that are in none."""
    return file.rpartition("/")[0] or "tablecloak"


def main(files: Annotated[bool, typer.Option("--files", help="List the files too.")] = False) -> None:
    """Print a line for each package, and the sums."""
    found = visited(readme_problem())
    print(f"source: {SOURCE}")
    for package in sorted({package_of(file) for file in found}):
        own = sorted(file for file in found if package_of(file) == package)
        print(f"{package}: {len(own)} files, {sum(len(found[file]) for file in own)} functions")
        for file in own if files else ():
            print(f"    {Path(file).name}: {len(found[file])}")
    print(f"all: {len(found)} files, {sum(map(len, found.values()))} functions")


if __name__ == "__main__":
    typer.run(main)
