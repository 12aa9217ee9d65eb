"""The section on reliability: counts of faults by part and commit, from the rows of the reliability runner."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from cases.reliability.targets import TARGETS, Target
from reports.layout import NOTHING, grouped, table
from runner import Row, Store

HEAD = ("part", "counted", "faults", "among them", "what was done")
HISTORY = ("part", "commit", "seeds", "counted", "faults")


def reliability_section(results: Path) -> str:
    """Totals of each part since its last fault, then every commit."""
    totals, history = [], []
    for part, target in TARGETS.items():
        commits = grouped(Store(results / f"reliability-{part}.csv").rows.values(), "commit")
        if not commits:
            continue
        for commit, rows in reversed(commits.items()):
            counts = _counts(rows)
            history.append((part, commit, _seeds(rows), _amount(target, counts), _faults(target, counts)))
        counts = _counts(_since_last_fault(commits))
        wanted = f"{counts[target.unit]:,} of {target.wanted:,} {target.unit}"
        totals.append((part, wanted, _faults(target, counts), _details(target, counts), target.about))
    if not totals:
        return NOTHING
    return f"{table(HEAD, totals)}\n\nBy commit, newest first:\n\n{table(HISTORY, history)}"


def _since_last_fault(commits: dict[str, list[Row]]) -> list[Row]:
    """Rows of the newest commit and of those before it, back to the last one with a fault."""
    found: list[Row] = []
    for rows in reversed(commits.values()):
        faulty = any(row["status"] != "done" or int(row["all_faults"]) for row in rows)
        if not (found and faulty):
            found += rows
        if faulty:
            break
    return found


def _details(target: Target, counts: Counter[str]) -> str:
    """Further counts by name."""
    return ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in target.details)


def _counts(rows: list[Row]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({name: int(value) for name, value in row.items() if str(value).isdigit()})
        counts["blocks_not_finished"] += row["status"] != "done"
    return counts


def _seeds(rows: list[Row]) -> str:
    """Ranges of seeds, neighbours joined."""
    ranges: list[list[int]] = []
    for first, last in sorted((int(row["first"]), int(row["last"])) for row in rows):
        if ranges and first == ranges[-1][1] + 1:
            ranges[-1][1] = last
        else:
            ranges.append([first, last])
    return ", ".join(f"{first}-{last}" for first, last in ranges)


def _amount(target: Target, counts: Counter[str]) -> str:
    return f"{counts[target.unit]:,} {target.unit}"


def _faults(target: Target, counts: Counter[str]) -> str:
    """Every kind of fault by name, none where there is none."""
    found = [
        f"{counts[name]:,} {name.replace('_', ' ')}"
        for name in (*target.faults, "blocks_not_finished")
        if counts[name]
    ]
    return ", ".join(found) or "0"
