"""Sections of the report about the other ways to publish: `SECTIONS` by name of the part that has their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cases.adjustment import METHOD, PLAIN
from cases.base import OURS, PEER
from cases.models import AGREE, DIFFER, FORMS, INFEASIBLE, UNFINISHED
from cases.rounding import GCONFID
from reports.layout import by_program, cells, grouped, number, rounded, table, title_of
from runner import Row

CLOSE = 1e-6
"""Costs this near to each other are the same."""
ENDED = "cost bound gap_percent status seconds"
ENDED_HEAD = ("cost", "bound", "gap %", "status", "s")


def ways(rows: Sequence[Row]) -> str:
    """A table for each instance, a line for each way; and intervals beside the intervals of the suppression."""
    head = (
        "way",
        "base or least",
        *ENDED_HEAD,
        "open",
        "adds up",
        "cells %",
        "value %",
        "median width",
        "median change",
    )
    texts = []
    for name, some in grouped(rows, "name").items():
        lines = [
            [
                row["way"],
                *cells({"reach": row.get("base") or row.get("least")}, "reach"),
                *rounded(row, f"{ENDED} open adds_up cells_percent value_percent median_width median_change"),
            ]
            for row in some
        ]
        texts.append(f"{title_of(name, some)}\n\n{table(head, lines)}")
    return "\n\n".join([*texts, f"### Intervals beside hidden cells\n\n{dominance(rows)}"])


def dominance(rows: Sequence[Row]) -> str:
    """The loss of interval-partial beside that of the hidden cells of suppress-optimal, as intervals."""
    lines, kept, counted = [], 0, 0
    for name, some in grouped(rows, "name").items():
        found = {row["way"]: row for row in some}
        narrow, hidden = (found.get(way, {}) for way in ("interval-partial", "suppress-optimal"))
        holds = ""
        if narrow.get("cost") and hidden.get("width_loss"):
            proven = not number(narrow.get("gap_percent") or "100")
            less = number(narrow["cost"]) <= number(hidden["width_loss"]) * (1 + CLOSE)
            holds = ("yes" if less else "no") + ("" if proven else " (not proven optimal)")
            kept, counted = kept + (less and proven), counted + proven
        lines.append(
            [name, *rounded(narrow, "cost gap_percent status"), *rounded(hidden, "width_loss status"), holds]
        )
    head = (
        "instance",
        "intervals: w x width",
        "gap %",
        "status",
        "hidden cells: w x width",
        "status",
        "not above",
    )
    return f"{table(head, lines)}\n\nWhere the intervals are proven optimal they are not above: {kept} of {counted}."


def adjustment(rows: Sequence[Row]) -> str:
    """perturb-cta and the plain program, a line an instance."""
    head = (
        "instance",
        "cells",
        "sensitive",
        "least",
        *ENDED_HEAD,
        *(f"plain: {name}" for name in ENDED_HEAD),
    )
    ours, plain = by_program(rows, METHOD), by_program(rows, PLAIN)
    lines = [
        [
            name,
            *cells(row, "cells sensitive least"),
            *rounded(row, ENDED),
            *rounded(plain.get(name, {}), ENDED),
        ]
        for name, row in ours.items()
    ]
    return f"{table(head, lines)}\n\n{verdict(ours, plain, 'the plain program')}"


def rounding(rows: Sequence[Row]) -> str:
    """Large tables: a table each, a line for each base and method."""
    head = ("base", "method", "adds up", "open", *ENDED_HEAD, "audit s", "steps", "largest change")
    texts = []
    for name, some in grouped(rows, "name").items():
        lines = [
            [
                *cells(row, "base method additive open"),
                *rounded(row, f"{ENDED} audit_s"),
                *cells(row, "steps largest_change"),
            ]
            for row in some
        ]
        texts.append(f"{title_of(name, some)}\n\n{table(head, lines)}")
    return "\n\n".join(texts)


def peer_rounding(rows: Sequence[Row]) -> str:
    """All programs on the same table, a line a table."""
    head = ["table", "cells", "base", *ENDED_HEAD, "open"]
    for peer in (PEER, GCONFID):
        head += [f"{peer}: cost", "bound", "status", "s", "open"]
    rows = [_without_cost_if_wrong(row) for row in rows]
    ours, theirs = by_program(rows, OURS), {peer: by_program(rows, peer) for peer in (PEER, GCONFID)}
    lines = []
    for name, row in ours.items():
        line = [name, *cells(row, "cells base"), *rounded(row, f"{ENDED} open")]
        for found in theirs.values():
            line += rounded(found.get(name, {}), "cost bound status seconds open")
        lines.append(line)
    verdicts = [verdict(ours, found, peer) for peer, found in theirs.items()]
    return "\n\n".join([table(head, lines), *verdicts])


def _without_cost_if_wrong(row: Row) -> Row:
    """Numbers that are no multiples, or do not add up, are no rounding: their cost says nothing."""
    wrong = [why for why in ("multiples", "additive") if str(row.get(why)) == "False"]
    return {**row, "cost": "", "bound": "", "status": f"{row['status']}, not {wrong[0]}"} if wrong else row


def models(rows: Sequence[Row]) -> str:
    """Forms by kinds of tables: how many comparisons agree."""
    found = {(row["form"], row["kind"]): row for row in rows}
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    lines = [[form, *(_agreement(found.get((form, kind), {})) for kind in kinds)] for form in FORMS]
    counts = {
        name: sum(int(row.get(name) or 0) for row in rows)
        for name in ("tables", "compared", AGREE, INFEASIBLE, UNFINISHED, DIFFER)
    }
    total = (
        f"{counts['tables']} pairs of models were solved. {counts['compared']} were finished: {counts[AGREE]} have the "
        f"same optimum, {counts[INFEASIBLE]} are infeasible in both, {counts[DIFFER]} differ. "
        f"In {counts[UNFINISHED]} pairs a model was stopped by its limit."
    )
    return f"{table(('form', *kinds), lines)}\n\n{total}"


def _agreement(row: Row) -> str:
    """``75 of 75``; what happened, if there are no counts."""
    if not row.get("compared"):
        return row.get("status") or "–"
    return f"{int(row[AGREE]) + int(row[INFEASIBLE])} of {row['compared']}"


def intervals(rows: Sequence[Row]) -> str:
    """interval-partial by size."""
    head = ("instance", "cells", "sensitive", *ENDED_HEAD, "open", "touched", "rounds", "rows")
    lines = [
        [*cells(row, "instance cells sensitive"), *rounded(row, f"{ENDED} open touched rounds rows")]
        for row in rows
    ]
    return table(head, lines)


# ---------------------------------------------------------------------- what they share


def verdict(ours: dict[str, Row], theirs: dict[str, Row], other: str) -> str:
    """How our costs compare with those of another program, where both have one."""
    pairs = [
        (number(row["cost"]), number(theirs[name]["cost"]))
        for name, row in ours.items()
        if row.get("cost") and theirs.get(name, {}).get("cost")
    ]
    same = sum(abs(mine - their) <= CLOSE * max(1.0, abs(their)) for mine, their in pairs)
    lower = sum(mine < their - CLOSE * max(1.0, abs(their)) for mine, their in pairs)
    alone = sum(bool(row.get("cost")) and not theirs.get(name, {}).get("cost") for name, row in ours.items())
    only = sum(bool(row.get("cost")) and not ours.get(name, {}).get("cost") for name, row in theirs.items())
    return (
        f"Of {len(pairs)} costs beside {other}: {same} are the same, {lower} are lower, "
        f"{len(pairs) - same - lower} are higher. {alone} are ours alone, {only} are of {other} alone."
    )


SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {
    "ways": ways,
    "adjustment": adjustment,
    "rounding": rounding,
    "peer-rounding": peer_rounding,
    "models": models,
    "intervals": intervals,
}
