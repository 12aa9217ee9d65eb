"""Several methods on one problem as text: how they did, what readers lose, what is proven. Confidential."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tablecloak.errors import counted

if TYPE_CHECKING:
    from tablecloak.analysis.compare import Comparison


def summary_text(comparison: Comparison, narrowest: int = 18) -> str:
    """Two tables, the best proven bound of suppressions, why methods gave no result, and the notes of the others.

    `narrowest`: minimum width of the column of names.
    """
    rows = comparison.table()
    wide = max(narrowest, *(len(row["name"]) for row in rows)) + 2
    lines = [
        f"Confidential: {counted(len(rows), 'method')} compared, seed {comparison.seed}",
        f"{'method':{wide}}{'status':16}{'pattern':14}{'cost':>12}{'bound':>12}{'gap':>9}{'seconds':>10}{'open':>6}",
    ]
    for row in rows:
        figures = f"{_figure(row['cost']):>12}{_figure(row['bound']):>12}{_percent(row['gap']):>9}"
        words = f"{row['name']:{wide}}{row['status']:16}{row['kind'] or '-':14}"
        lines.append(f"{words}{figures}{row['seconds']:>8.2f} s{_figure(row['open_cells']):>6}")
    lines += _lost([row for row in rows if row["touched"] is not None], wide)
    lines += _proven(comparison, rows)
    lines += [f"{row['name']}: {row['message']}" for row in rows if row["message"]]
    done = [(outcome.name, outcome.result) for outcome in comparison.outcomes]
    lines += [f"{name}: {note}" for name, result in done if result for note in result.report.notes]
    return "\n".join(lines)


def _proven(comparison: Comparison, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The gap of each suppression to the best bound of all methods, if there are several."""
    hiding = [row for row in rows if row["best_gap"] is not None]
    if len(hiding) < 2:
        return []
    above = ", ".join(f"{row['name']} {_percent(row['best_gap'])}" for row in hiding)
    return [f"No safe suppression costs less than {_figure(comparison.best_bound)}. Gaps to that: {above}"]


def _lost(rows: Sequence[Mapping[str, Any]], wide: int) -> list[str]:
    """Information loss, a line for each method: relative figures, those of exact intervals only where there are any."""
    if not rows:
        return []
    columns = [
        ("vagueness", "relative_vagueness"),
        ("width", "relative_width"),
        ("change", "relative_change"),
    ]
    used = [(head, name) for head, name in columns if name != "relative_width" or _any(rows, name)]
    heads = "".join(f"{f'{head} 50, 90, 100%':>30}" for head, _ in used)
    first = f"{'lost to readers':{wide}}{'touched':>9}{'extra':>7}"
    lines = [f"{first}{'cells':>8}{'value':>8}{'unbounded':>11}{heads}"]
    for row in rows:
        counts = f"{row['touched']:>9}{_figure(row['complementary']):>7}"
        shares = f"{_percent(row['touched_share']):>8}{_percent(row['value_share']):>8}{row['unbounded']:>11}"
        amounts = "".join(f"{_three(row, name):>30}" for _, name in used)
        lines.append(f"{row['name']:{wide}}{counts}{shares}{amounts}")
    return lines


def _figure(number: float | None) -> str:
    return "-" if number is None else f"{number:.6g}"


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    size = 100 * abs(share)
    if size < 100:
        return f"{100 * share:.3g}%"
    return f"{100 * share:.0f}%" if size < 1e5 else f"{100 * share:.1e}%"


def _any(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row[f"{name}_50"] is not None for row in rows)


def _three(row: Mapping[str, Any], name: str) -> str:
    found = [row[f"{name}_{part}"] for part in ("50", "90", "100")]
    return "-" if found[0] is None else "  ".join(_percent(share) for share in found)
