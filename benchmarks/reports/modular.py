"""The section about the methods of tau-ARGUS: ours and pytauargus's modular method, pattern by pattern."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import mean

from cases.modular import OURS, PEER
from reports.layout import NOTHING, number, table
from runner import Row

HEAD = (
    "instance", "cells", "sensitive", "method", "own hidden", "own cost", "own open", "hidden", "cost", "open",
    "beside MOD %", "s", "status",
)  # fmt: skip


def modular(rows: Sequence[Row]) -> str:
    """All rows, and for each kind of table what the methods cost beside the peer's pattern."""
    if not rows:
        return NOTHING
    by_name: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_name.setdefault(row["name"], {})[row["method"]] = row
    return "\n\n".join([_summary(by_name), table(HEAD, _lines(by_name))])


def _lines(by_name: dict[str, dict[str, Row]]) -> list[list[str]]:
    lines = []
    for name, methods in by_name.items():
        theirs = _cost(methods.get(PEER))
        for method in (PEER, *OURS):
            row = methods.get(method)
            if row is None:
                continue
            sizes = [row.get("cells") or "", row.get("sensitive") or ""]
            own = [_whole(row.get(column)) for column in ("own_cells", "own_cost", "own_open")]
            final = ["", "", ""]
            if method != PEER:
                final = [_whole(row.get(column)) for column in ("complementary", "cost", "open")]
            beside = ""
            if method != PEER and theirs and _cost(row) is not None:
                beside = f"{100.0 * (_cost(row) / theirs - 1.0):+.2f}"  # type: ignore[operator]
            seconds = row.get("seconds") or ""
            lines.append([name, *sizes, method, *own, *final, beside, seconds, row.get("status") or ""])
    return lines


def _summary(by_name: dict[str, dict[str, Row]]) -> str:
    """Geometric means of costs beside the peer's, its open cells, and how often it ended without a pattern."""
    lines = []
    kinds = list(dict.fromkeys(row["kind"] for methods in by_name.values() for row in methods.values()))
    for kind in kinds:
        group = [
            methods for methods in by_name.values() if any(row["kind"] == kind for row in methods.values())
        ]
        theirs = [methods[PEER] for methods in group if PEER in methods]
        ended = [row for row in theirs if _cost(row) is not None]
        opened = f"{mean(number(row['own_open']) for row in ended):.1f}" if ended else ""
        line = [kind, str(len(theirs)), str(len(ended)), opened]
        for method in OURS:
            pairs = [
                (methods[method], methods[PEER])
                for methods in group
                if _cost(methods.get(method)) and _cost(methods.get(PEER))
            ]
            line.append(_mean_ratio([(row.get("own_cost"), peer.get("cost")) for row, peer in pairs]))
            line.append(_mean_ratio([(row.get("cost"), peer.get("cost")) for row, peer in pairs]))
        lines.append(line)
    head = ["kind", "tables", "MOD ended", "its open cells (mean)"]
    head += [f"{method}, {what}" for method in OURS for what in ("own %", "repaired %")]
    return table(head, lines)


def _mean_ratio(pairs: Sequence[tuple[str | None, str | None]]) -> str:
    """The geometric mean of ratios as a percentage above or below one."""
    ratios = [
        float(one) / float(other) for one, other in pairs if one and other and float(one) and float(other)
    ]
    if not ratios:
        return ""
    return f"{100.0 * (math.exp(mean(map(math.log, ratios))) - 1.0):+.2f} ({len(ratios)})"


def _cost(row: Row | None) -> float | None:
    """The cost of the final pattern, None where there is none."""
    return None if row is None or not row.get("cost") else float(row["cost"])


def _whole(text: str | None) -> str:
    return f"{float(text):.0f}" if text else ""


SECTIONS: dict[str, Callable[[Sequence[Row]], str]] = {"modular": modular}
