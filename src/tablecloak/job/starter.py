"""A job file to start from, written after a look at the data. Guesses are marked as such."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.job.hierarchies import code_labels
from tablecloak.job.infer import InferredColumns, digits_of, hierarchy_beside, infer_columns, total_of
from tablecloak.job.inspect import Column, Look, look_at


def starter(data: str | Path, folder: str | Path = ".") -> str:
    """The text of a job file in `folder` about the data in a .csv or .parquet file, with comments.

    Columns are told apart by their names, their kinds and how many different values they have. The job runs as
    it is; what must be decided by a statistician says CHOOSE.
    """
    seen = look_at(Path(data))
    inferred = infer_columns(seen)
    name = _relative(Path(data), folder)
    parts = [
        _head(name, seen, inferred),
        _data(name, inferred),
        *(_dimension(column, seen, inferred, Path(folder)) for column in inferred.dimensions),
        _other_dimensions(inferred),
        _table(inferred),
        _rules(inferred),
        _rest(re.sub(r"[^\w.-]", "_", Path(name).stem), inferred, _has_labels(seen, inferred)),
    ]
    return "\n".join(part for part in parts if part)


# ---------------------------------------------------------------------- writing


def _head(name: str, seen: Look, inferred: InferredColumns) -> str:
    kinds = {
        **{column.name: "dimension" for column in inferred.dimensions},
        **{column.name: "could be a dimension" for column in inferred.others},
        **{
            column.name: "groups the codes of another column"
            for chain in inferred.above.values()
            for column in chain
        },
        **{column.name: "response" for column in inferred.responses[:1]},
        **{column.name: "could be a response" for column in inferred.responses[1:]},
        **{column.name: "says what codes are part of" for column in inferred.parent.values()},
        **{name: role for role, name in inferred.roles.items()},
        **dict.fromkeys(inferred.top, "largest contributions"),
    }
    width = max(len(column.name) for column in seen.columns)
    lines = [
        f"# A job for tablecloak, made from a look at {name}: {seen.rows} rows of {inferred.kind}.",
        "# Guesses are just that. What a statistician must decide says CHOOSE.",
        "# Check it with: tablecloak run THIS_FILE --dry-run",
        "#",
        "# The columns:",
    ]
    for column in seen.columns:
        sort = "numbers" if column.number else "text"
        gaps = f", {column.empty} empty" if column.empty else ""
        what = kinds.get(column.name, "not used")
        lines.append(
            f"#   {_comment(column.name):{width}}  {sort}, {column.distinct} different{gaps}: {what}"
        )
    return "\n".join(lines) + "\n"


def _data(name: str, inferred: InferredColumns) -> str:
    lines = ["[data]", f"path = {_text(name)}", f'kind = "{inferred.kind}"']
    lines += [f"{role} = {_text(column)}" for role, column in inferred.roles.items()]
    if inferred.top:
        lines.append(f"top = {_list(inferred.top)}")
    if inferred.kind == "microdata":
        if any(column.empty for column in inferred.dimensions):
            lines.append('missing = "unknown"  # the code that empty codes get')
        unset = [role for role in ("weight", "respondent", "holding") if role not in inferred.roles]
        lines += [f'# {role} = "COLUMN"  # {_ROLES[role]}' for role in unset]
    return "\n".join(lines) + "\n"


_ROLES = {
    "weight": "sampling weights, if the data are a sample",
    "respondent": "whose record it is, if respondents have several",
    "holding": "respondents that belong together",
}


def _dimension(column: Column, seen: Look, inferred: InferredColumns, folder: Path) -> str:
    lines = ["[[dimension]]", f"name = {_text(column.name)}"]
    total = total_of(column) if inferred.kind == "cells" else ""
    if total and total != "Total":
        lines.append(f"total = {_text(total)}")
    if beside := hierarchy_beside(seen.path, column):
        lines.append(f"hierarchy = {_text(_relative(beside, folder))}")
    elif chain := inferred.above.get(column.name):
        names = " above ".join(_comment(each.name) for each in (*chain, column))
        lines += _hierarchy(f"the columns {names}", seen.tree([*(each.name for each in chain), column.name]))
    elif above := inferred.parent.get(column.name):
        pairs = seen.combinations([above.name, column.name])
        lines += _hierarchy(f"the column {_comment(above.name)}", _below(pairs, total))
    elif digits := digits_of(column):
        lines.append(f"hierarchy = {digits}  # inferred: characters of each level; CHOOSE")
    else:
        lines.append(
            '# hierarchy = "FILE.hrc"      # or a .csv of child,parent; without: all codes below one total'
        )
    return "\n".join(lines) + "\n"


def _relative(path: Path, folder: str | Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _hierarchy(source: str, tree: Mapping[str, object]) -> list[str]:
    """A hierarchy spelled out, a code of the first level a line."""
    lines = [f"{_key(code)} = {_inline(below)}" for code, below in tree.items()]
    return [f"# from {source}", "[dimension.hierarchy]", *lines]


def _below(pairs: Sequence[tuple[str, ...]], code: str) -> dict[str, object]:
    """What lies below a code, from (parent, child) pairs."""
    return {child: _below(pairs, child) or [] for parent, child in pairs if parent == code and child != code}


def _other_dimensions(inferred: InferredColumns) -> str:
    if not inferred.others:
        return ""
    lines = ["# Further columns that could be dimensions:"]
    for column in inferred.others:
        lines += ["# [[dimension]]", f"# name = {_text(column.name)}"]
    return "\n".join(lines) + "\n"


def _table(inferred: InferredColumns) -> str:
    lines = ["[table]"]
    if inferred.responses:
        lines.append(f"response = {_text(inferred.responses[0].name)}  # CHOOSE; without: a table of counts")
        others = ", ".join(_comment(column.name) for column in inferred.responses[1:])
        lines += [f"# other columns of numbers: {others}"] if others else []
    else:
        lines.append("# no column of numbers was found: a table of counts")
        lines.append('# empty = "cells"  # empty combinations may be hidden; see docs/counts.md')
    return "\n".join(lines) + "\n"


def _rules(inferred: InferredColumns) -> str:
    counted = inferred.kind == "microdata" or "count" in inferred.roles
    largest = inferred.kind == "microdata" or (counted and len(inferred.top) >= 2)
    lines = ["# When is a cell sensitive? CHOOSE: rules and figures are those of your institute."]
    if inferred.responses and largest:
        lines += ["[[rule]]", 'rule = "p-percent"', "p = 10", ""]
    if counted:
        lines += [
            "[[rule]]",
            'rule = "frequency"',
            "minimum = 3",
            *(["percent = 20  # the level, in percent"] if inferred.responses else []),
            "",
        ]
    if "holding" in inferred.roles:
        lines += ["# [[rule]]", '# rule = "frequency"', "# minimum = 3", '# level = "holdings"', ""]
    if "request" in inferred.roles:
        lines += [
            "# [[rule]]",
            '# rule = "request"',
            "# percent1 = 70  # code 1: more than this share of a cell",
            "",
        ]
    if not counted:
        lines += [
            "# There is no column of counts: say yourself which cells are sensitive.",
            "[marks]",
            'file = "marks.csv"',
            "",
        ]
    return "\n".join(lines)


def _has_labels(seen: Look, inferred: InferredColumns) -> bool:
    """Whether a csv file of a hierarchy says what its codes mean."""
    found = [hierarchy_beside(seen.path, column) for column in inferred.dimensions]
    try:
        return any(code_labels(path) for path in found if path and path.suffix.lower() == ".csv")
    except InputError:
        return False


def _rest(stem: str, inferred: InferredColumns, labels: bool) -> str:
    insiders = [
        "# Contributors as attackers. Without this section only outsiders are considered.",
        "# [insiders]",
        "# sole = true  # only contributors of a cell",
        "# largest = 1  # the largest contributor of each sensitive cell",
        "",
    ]
    lines = [
        *(insiders if inferred.kind == "microdata" else []),
        "[protect]",
        'method = "suppress-auto"         # all of them: tablecloak methods',
        "# seconds = 600",
        "seed = 0",
        "",
        "# PUBLIC: these files may leave the building.",
        "[publish]",
        f"outputs = {_list([f'{stem}_safe.csv', f'{stem}_safe.html'])}",
        '# title = "..."',
        '# note = "..."',
        *(["labels = true  # as in the files of the hierarchies"] if labels else []),
        "",
        "# CONFIDENTIAL: these files must not.",
        "[report]",
        f"html = {_text(f'{stem}_report.html')}",
        f"json = {_text(f'{stem}_record.json')}",
    ]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------- TOML


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(value: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in value)


def _key(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_-]+", value) else _text(value)


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _inline(tree: object) -> str:
    """What lies below a code: a list of codes, or codes with what lies below them."""
    if isinstance(tree, Mapping) and not any(tree.values()):
        return _list(tree)
    if isinstance(tree, Mapping):
        return f"{{ {', '.join(f'{_key(code)} = {_inline(below)}' for code, below in tree.items())} }}"
    assert isinstance(tree, list)
    return _list(tree)
