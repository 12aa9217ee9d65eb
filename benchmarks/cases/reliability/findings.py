"""What the parts of the reliability runner share: counts, faults, and where faults are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tablecloak import Pattern, Problem
from tablecloak.testing.case_files import write_case

FAULTS = Path(__file__).resolve().parents[2] / ".faults"
"""Small files of cases that showed a fault; not part of the repository."""


@dataclass(frozen=True)
class Fault:
    """Something that must not happen, with what is needed to see it again."""

    part: str
    seed: int
    what: str
    problem: Problem | None = None
    pattern: Pattern | None = None

    def write(self, folder: Path | None = None) -> Path | None:
        """Keep the case in a file, where there is one."""
        if self.problem is None:
            return None
        kind = self.what.split(":")[0].replace(" ", "-")
        path = (folder or FAULTS) / f"{self.part}-{self.seed}-{kind}.json"
        write_case(path, self.problem, self.pattern, part=self.part, seed=self.seed, what=self.what)
        return path

    def __str__(self) -> str:
        return f"{self.part} seed {self.seed}: {self.what}"


@dataclass
class Findings:
    """Counts and faults of some seeds."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)

    def add(self, fault: Fault, counted_as: str) -> None:
        """Note a fault under a name."""
        self.counts[counted_as] += 1
        self.faults.append(fault)

    def merge(self, other: Findings) -> None:
        """Take over what another seed gave."""
        self.counts.update(other.counts)
        self.faults += other.faults


Examine = Callable[[int], Findings]
"""All that a part does with one seed."""


def examine_all(examine: Examine, seeds: Iterable[int]) -> Findings:
    """Several seeds together."""
    found = Findings()
    for seed in seeds:
        found.merge(examine(seed))
    return found


def message_of(error: BaseException) -> str:
    """The kind of an error and the first line of its message."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
