"""Two checkouts side by side: ``python benchmarks/same_results.py BEFORE AFTER`` (folders with src and tests).

Every method on every fixture of the conformance suite, without limits, with the same seed; the survey job; the help
texts of the command line. Printed is every difference: status, cost, bound, or only the bytes of what is stated. The
fixtures are those of AFTER, or of ``--fixtures`` where BEFORE cannot make these, made by each checkout's own package;
both run at the same time, a process each. What only one of them has is listed and not compared. Exit code 1 if a
status or what is refused differs, or if a cost or a bound is worse; ``--strict``: if anything differs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Outcome = dict[str, Any]
PARAMS = {
    "perturb-cell": {"share": 0.9, "least": 30.0},
    "perturb-cta": {"share": 0.9, "least": 30.0},
    "mixed-joint": {"base": 100.0},
}
CONFIDENTIAL = re.compile(rb"confidential", re.IGNORECASE)
"""Every confidential file says that it is one; these have times in them."""
NOISE = 1e-9
"""Relative differences of costs and bounds that are rounding only."""


# ---------------------------------------------------------------------- one checkout


def outcomes(only: str) -> dict[str, Outcome]:
    """Everything that must stay the same, by name."""
    from fixtures import FIXTURES  # of one checkout for both
    from tablecloak import METHODS

    found = {
        f"{method}, {name}": outcome(make(), method)
        for name, make in FIXTURES.items()
        for method in METHODS
        if only in f"{method}, {name}"
    }
    return found | {name: told for name, told in texts().items() if only in name}


def outcome(problem: Any, method: str) -> Outcome:
    """Status, cost, bound and a hash of what is stated; or the kind of error."""
    import numpy as np

    from tablecloak import TablecloakError, protect

    try:
        result = protect(problem, method, params=PARAMS.get(method), seed=1)
    except TablecloakError as error:
        return {"status": type(error).__name__}
    view = result.pattern.view(problem)
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in (view.shown, view.low, view.high))
    return {
        "status": str(result.status),
        "cost": result.cost,
        "bound": result.bound,
        "bytes": hashlib.sha256(content).hexdigest()[:16],
    }


def texts() -> dict[str, Outcome]:
    """Help texts of all commands, and the public bytes of the survey job."""
    import tempfile

    from tablecloak.examples import path as example

    def run(*words: str, where: str | None = None) -> str:
        program = "from tablecloak.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=where, capture_output=True, text=True
        )
        return done.stdout

    commands = (
        "",
        "tabulate",
        "assess",
        "protect",
        "audit",
        "publish",
        "compare",
        "exposure",
        "bounds",
        "run",
        "init",
    )
    found = {f"help {command}": run(*filter(None, [command]), "--help") for command in commands}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for source in Path(example("business_survey.csv")).parent.iterdir():
            if source.is_file():
                (folder / source.name).write_bytes(source.read_bytes())
        for job in sorted(folder.glob("*.toml")):
            before = set(folder.rglob("*"))
            run("run", job.name, where=place)
            made = [path for path in sorted(set(folder.rglob("*")) - before) if path.is_file()]
            public = [path for path in made if not CONFIDENTIAL.search(path.read_bytes())]
            found |= {f"job {job.name}, {path.name}": path.read_bytes().hex() for path in public}
    return {
        name: {"status": "text", "bytes": hashlib.sha256(text.encode()).hexdigest()[:16]}
        for name, text in found.items()
    }


# ---------------------------------------------------------------------- both


def started(checkout: Path, fixtures: Path, only: str) -> subprocess.Popen[str]:
    """A process with the package of one checkout and the fixtures of another."""
    path = os.pathsep.join(str(folder) for folder in (checkout / "src", fixtures / "tests"))
    words = [sys.executable, str(Path(__file__).resolve()), "--worker", only]
    return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True)


def difference(before: Outcome, after: Outcome) -> tuple[str, bool]:
    """What differs, in words, and whether it is a change for the worse."""
    if before == after:
        return "", False
    if before["status"] != after["status"]:
        return f"status {before['status']} -> {after['status']}", True
    words, worse = [], False
    for name, sign in (("cost", 1), ("bound", -1)):
        old, new = before.get(name), after.get(name)
        if old != new:
            words.append(f"{name} {old} -> {new}")
            worse |= new is None or (old is not None and sign * (new - old) > NOISE * max(1.0, abs(old)))
    return ", ".join(words) or "other bytes", worse


def main(
    before: Annotated[Path, typer.Argument(help="A folder with src and tests.")],
    after: Annotated[Path, typer.Argument(help="Another one.")],
    only: Annotated[str, typer.Option(help="Names with this in them.")] = "",
    fixtures: Annotated[
        Path | None, typer.Option(help="The folder whose tests have the fixtures: AFTER by default.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 for any difference.")] = False,
) -> None:
    """Print what differs."""
    before, after = before.resolve(), after.resolve()
    given = after if fixtures is None else fixtures.resolve()
    processes = [started(checkout, given, only) for checkout in (before, after)]
    answers = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise typer.Exit(2)
    old, new = (json.loads(answer) for answer in answers)
    bad = count = 0
    both = [name for name in old if name in new]
    for name in both:
        words, worse = difference(old[name], new[name])
        if words:
            print(f"{'WORSE ' if worse else ''}{name}: {words}")
        count, bad = count + bool(words), bad + worse
    for where, found, other in (("before", old, new), ("after", new, old)):
        alone = [name for name in found if name not in other]
        if alone:
            print(f"only {where}: {'; '.join(alone)}")
    print(f"{len(both)} compared, {count} differ, {bad} for the worse")
    raise typer.Exit(int(bool(count if strict else bad)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(outcomes(sys.argv[2])))
    else:
        typer.run(main)
