"""What a job means: files, columns, rules, methods and outputs, and whether its parts go together.

Nothing here reads data beyond the names of columns; every fault is added with the path of its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablecloak.errors import InputError, public_name
from tablecloak.files import check_writable, is_file, is_folder
from tablecloak.job.hierarchies import make_hierarchy, needs_codes, read_digits
from tablecloak.job.positions import Faults
from tablecloak.job.schema import (
    FOR_CELLS,
    FOR_MICRODATA,
    PUBLIC,
    SECTIONS,
    SELECTED,
    meant,
    named_files,
    tables_of,
)
from tablecloak.job.settings import LIMITS
from tablecloak.model import CELLS

if TYPE_CHECKING:
    from tablecloak.assessment import Insiders, Rule


def check_meaning(
    document: Mapping[str, Any], folder: Path, faults: Faults, whole: bool = True
) -> tuple[tuple[Rule, ...], Insiders | None]:
    """The rules and insiders of a document; adds everything that is wrong with what its keys mean."""
    data = document.get("data", {})
    cells = data.get("kind") == "cells"
    _check_inputs(document, folder, faults)
    _check_data(data, cells, faults)
    _check_columns(document, folder, faults)
    _check_dimensions(document, folder, faults)
    _check_tables(document, cells, faults)
    rules = _rules(document, faults)
    if whole and not document.get("rule") and "marks" not in document and not faults.about("rule"):
        faults.add("", "there is no [[rule]] and there are no [marks]: nothing would be sensitive")
    _check_rules(document, rules, cells, faults)
    insiders = _insiders(document, cells, faults)
    _check_safe(document, faults)
    _check_named(document, faults)
    _check_method(document, faults)
    _check_outputs(document, folder, faults)
    return tuple(rule for _, rule in rules), insiders


def response_of(table: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The response of a table; without one it is the column "value" of cells, or a count of records."""
    return str(table.get("response", "value" if data.get("kind") == "cells" else "count"))


# ---------------------------------------------------------------------- files and columns


def found_files(path: Path) -> list[Path]:
    """The file, or the files where the name has wildcards."""
    if is_file(path):
        return [path]
    if not any(sign in str(path) for sign in "*?[") or "**" in str(path):
        return []
    if max(map(len, path.parts)) > LIMITS.pattern:  # reading it takes time that grows with its square
        return []
    root = Path(path.anchor)
    try:
        return sorted(each for each in root.glob(str(path.relative_to(root))) if each.is_file())
    except (OSError, ValueError, NotImplementedError):
        return []


def _check_inputs(document: Mapping[str, Any], folder: Path, faults: Faults) -> None:
    for key, name in named_files(document, "file"):
        path = folder / name
        if not found_files(path):
            there = is_folder(path)
            faults.add(key, f"{path} is a directory" if there else f"there is no file {_shown(path)}")


def _shown(path: Path) -> str:
    return str(path) if len(str(path)) <= LIMITS.shown_path else f"{str(path)[: LIMITS.shown_path]}..."


def _check_data(data: Mapping[str, Any], cells: bool, faults: Faults) -> None:
    wrong, right = (FOR_MICRODATA, "microdata") if cells else (FOR_CELLS, "cells")
    for name in wrong:
        if name in data:
            faults.add(f"data.{name}", f"it goes with kind = {right!r} only")
    if "request_codes" in data and "request" not in data:
        faults.add("data.request_codes", "it says what is in the column 'request', which is not named")
    for top, count in (("top", "count"), ("holding_top", "holding_count")):
        if cells and top in data and count not in data:
            faults.add(f"data.{top}", f"the largest contributions need the column {count!r} beside them")


def _columns_named(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Key path and name of all columns that a document names."""
    for section, described in SECTIONS.items():
        for path, table in tables_of(document, section):
            for name, key in described.keys.items():
                given = table.get(name)
                if key.role == "column" and given is not None:
                    for each in given if isinstance(given, list) else [given]:
                        yield f"{path}.{name}", each


def _check_columns(document: Mapping[str, Any], folder: Path, faults: Faults) -> None:
    """Every column that is named must be there, and none may be used for two things."""
    tables, data = tables_of(document, "table"), document.get("data", {})
    named = list(_columns_named(document))
    by_name: dict[str, str] = {}
    for key, name in named:
        same = key.startswith("table") or (
            key.startswith("dimension") and key[:9] == by_name.get(name, "")[:9]
        )
        if name in by_name and not same:
            faults.add(key, f"column {name!r} is used already by {by_name[name]}")
        if not key.startswith("table"):
            by_name.setdefault(name, key)
    if data.get("kind") == "cells":
        bare = [path for path, table in tables or [("table", {})] if "response" not in table]
        named += [(f"{path}.response", "value") for path in bare]
    own = {path: folder / table["path"] for path, table in tables if "path" in table}
    common = [folder / data["path"]] if "path" in data and len(own) < max(len(tables), 1) else []
    known = {path: _names_in(path, faults) for path in (*own.values(), *common)}
    for key, name in named:
        table = own.get(key.rpartition(".")[0])
        for source in [table] if table else common:
            if known[source] and name not in known[source]:
                there = [public_name(each) for each in known[source]]
                faults.add(key, f"{source.name} has no column {name!r}{meant(name, there)}")


def _names_in(path: Path, faults: Faults) -> list[str]:
    """The names of the columns of a file, none where it cannot be read (which is a fault of its own)."""
    from tablecloak.job.inspect import column_names

    names: list[str] = []
    if found_files(path):
        with faults.of("data.path", f"{path.name}: "):
            names = column_names(path)
    return names


# ---------------------------------------------------------------------- dimensions and tables


def _check_dimensions(document: Mapping[str, Any], folder: Path, faults: Faults) -> None:
    first: dict[str, str] = {}
    for path, table in tables_of(document, "dimension"):
        name = table.get("name")
        if name in first:
            faults.add(f"{path}.name", f"dimension {name!r} is there already: {first[name]}")
        first.setdefault(str(name), path)
        further = [("further", each) for each in table.get("further", [])]
        for key, each in [("hierarchy", table.get("hierarchy")), *further]:
            with faults.of(f"{path}.{key}", f"{each}: " if isinstance(each, str) else ""):
                if isinstance(each, str) and needs_codes(each):
                    read_digits(each)
                elif not (needs_codes(each) or (isinstance(each, str) and not is_file(folder / each))):
                    make_hierarchy(each, folder, total=table.get("total"))


def _check_tables(document: Mapping[str, Any], cells: bool, faults: Faults) -> None:
    known = [str(table.get("name")) for _, table in tables_of(document, "dimension")]
    names: dict[str, str] = {}
    tables = tables_of(document, "table")
    for path, table in tables:
        for name in table.get("dimensions", ()):
            if name not in known:
                faults.add(f"{path}.dimensions", f"there is no [[dimension]] {name!r}{meant(name, known)}")
        for key in ("response", "shadow"):
            if table.get(key) in known:
                faults.add(f"{path}.{key}", f"{table[key]!r} is a dimension already")
        if "path" in table and not cells:
            only = "only cells may come from a file of their own; microdata are tabulated at once"
            faults.add(f"{path}.path", only)
        if "impossible" in table and table.get("empty") != CELLS:
            faults.add(f"{path}.impossible", f"it goes with empty = {CELLS!r} only")
        name = table.get("name", "")
        if name and name in names:
            faults.add(f"{path}.name", f"table {name!r} is there already: {names[name]}")
        names.setdefault(name, path)
    if cells and len(tables) > 1 and any("path" not in table for _, table in tables):
        faults.add("table", "each of several tables of cells needs a path of its own")
    data = document.get("data", {})
    _check_relations(document, [response_of(table, data) for _, table in tables], faults)


def _check_relations(document: Mapping[str, Any], responses: Sequence[str], faults: Faults) -> None:
    for left, right in document.get("relations", {}).items():
        for name in (left, *right):
            if name not in responses:
                none = f"no [[table]] has the response {name!r}{meant(name, responses)}"
                faults.add(f"relations.{left}", none)
        if left in right:
            faults.add(f"relations.{left}", f"{left!r} cannot be a part of itself")


# ---------------------------------------------------------------------- rules and insiders


def _rules(document: Mapping[str, Any], faults: Faults) -> list[tuple[str, Rule]]:
    from tablecloak.assessment import RULES, rule_of

    rules = []
    for path, table in tables_of(document, "rule"):
        name = table.get("rule")
        if name is None:
            continue
        if name not in RULES:
            faults.add(f"{path}.rule", f"there is no rule {name!r}{meant(str(name), list(RULES))}")
            continue
        try:
            rules.append((path, rule_of(table)))
        except InputError as error:
            for fault in error.faults:
                faults.add(path, f"{name}: {fault}{_near(fault, table, RULES[name])}")
    return rules


def _near(fault: str, table: Mapping[str, Any], rule: Any) -> str:
    """A hint for a key that a rule does not know."""
    known = [field.name for field in fields(rule)]
    unknown = [key for key in table if key != "rule" and key not in known and repr(key) in fault]
    return meant(unknown[0], known) if unknown else ""


def _check_rules(
    document: Mapping[str, Any], rules: Sequence[tuple[str, Rule]], cells: bool, faults: Faults
) -> None:
    data = document.get("data", {})
    first: dict[tuple[Any, ...], str] = {}
    for path, rule in rules:
        level = getattr(rule, "level", "respondents")
        known = (type(rule), level, getattr(rule, "n", None))
        if known in first:
            faults.add(path, f"it contradicts or repeats {first[known]}: keep one of them")
        first.setdefault(known, path)
        if cells:
            needed = "holding_count" if level == "holdings" else "count"
            if needed not in data:
                faults.add(path, f"it needs the column data.{needed}")
            depth = getattr(rule, "n", 0) + (rule.kind == "p-percent")
            key = "holding_top" if level == "holdings" else "top"
            if depth and len(data.get(key, [])) < depth:
                faults.add(path, f"it needs data.{key} with the {depth} largest contributions")
            if rule.kind == "request":
                faults.add(path, "requests are known from microdata only")
        elif level == "holdings" and "holding" not in data:
            faults.add(path, "holdings are asked for, but there is no column data.holding")
        elif rule.kind == "request" and "request" not in data:
            faults.add(path, "it needs the column data.request")


def _insiders(document: Mapping[str, Any], cells: bool, faults: Faults) -> Insiders | None:
    from tablecloak.assessment import Insiders

    given = document.get("insiders")
    if given is None:
        return None
    if cells:
        faults.add("insiders", "contributors are known from microdata only")
    if given.get("holdings") and "holding" not in document.get("data", {}):
        faults.add("insiders.holdings", "there is no column data.holding")
    made = None
    with faults.of("insiders"):
        made = Insiders(**given)
    return made


def _check_safe(document: Mapping[str, Any], faults: Faults) -> None:
    known = [str(table.get("name")) for _, table in tables_of(document, "dimension")]
    for name in document.get("assess", {}).get("missing_safe", {}):
        if name not in known:
            none = f"there is no [[dimension]] {name!r}{meant(name, known)}"
            faults.add(f"assess.missing_safe.{name}", none)


# ---------------------------------------------------------------------- methods and outputs


def _check_named(document: Mapping[str, Any], faults: Faults) -> None:
    """Attackers, conditional levels and the dimensions that selections of cells name."""
    known, names = [str(table.get("name")) for _, table in tables_of(document, "dimension")], dict[str, str]()
    for path, given in tables_of(document, "attacker"):
        selects = [key for key in SELECTED if key in given]
        if "file" in given and ("percent" in given or selects):
            faults.add(
                f"{path}.file", f"it says all about its cells: drop {', '.join([*selects, 'percent'])}"
            )
        if "file" not in given and "percent" not in given:
            faults.add(path, "say what he knows: a file of cells, or percent = 20 for selected cells")
        if (name := given.get("name")) in names:
            faults.add(f"{path}.name", f"there is an attacker {name!r} already: {names[name]}")
        names.setdefault(given.get("name", ""), path)
    for path, given in tables_of(document, "conditional"):
        if not any(name in given for name in ("width", "lower", "upper")):
            faults.add(path, "it needs a level: width, lower or upper")
    for section in ("attacker", "conditional", "way"):
        for path, given in tables_of(document, section):
            for key in ("codes", "depth"):
                for name in given.get(key, {}):
                    if name not in known:
                        faults.add(f"{path}.{key}", f"there is no [[dimension]] {name!r}{meant(name, known)}")


def _check_ways(document: Mapping[str, Any], params: type[Any], method: str, faults: Faults) -> None:
    """The rules of [[way]], and whether the method takes any."""
    rules = tables_of(document, "way")
    if rules and "choose" not in [field.name for field in fields(params)]:
        faults.add("way", f"{method} publishes all cells in one way; use mixed-joint")
    elif rules and "choose" in document.get("protect", {}).get("params", {}):
        faults.add("protect.params.choose", "it is set twice: [[way]] says the same")
    elif rules:
        from tablecloak.methods.mixed import rule_faults

        for path, rule in rules:
            for fault in rule_faults({key: value for key, value in rule.items() if key != "cells"}):
                faults.add(path, fault)


def _check_method(document: Mapping[str, Any], faults: Faults) -> None:
    from tablecloak.methods import METHODS
    from tablecloak.protection import DEFAULT

    protect = document.get("protect", {})
    name = protect.get("method", DEFAULT)
    if name not in METHODS:
        faults.add("protect.method", f"there is no method {name!r}{meant(name, list(METHODS))}")
        return
    _check_ways(document, METHODS[name].params, name, faults)
    params = dict(protect.get("params", {}))
    if "seconds" in params and "seconds" in protect:
        faults.add("protect.params.seconds", "it is set twice: protect.seconds says the same")
    if "seconds" in protect:
        params.setdefault("seconds", protect["seconds"])
    try:
        METHODS[name].make_params(params)
    except InputError as error:
        for fault in error.faults:
            key = next((f"protect.params.{key}" for key in params if repr(key) in fault), "protect.params")
            faults.add(key, f"{name}: {fault}")


def _check_outputs(document: Mapping[str, Any], folder: Path, faults: Faults) -> None:
    inputs = [path for _, name in named_files(document, "file") for path in found_files(folder / name)]
    first: dict[Path, str] = {}
    for key, name in named_files(document, "output"):
        path = folder / name
        with faults.of(key):
            check_writable([path], inputs=inputs)
            if key.endswith(".outputs"):
                check_public(path)
            if path.suffix.lower() == ".xlsx" or key == "report.html":
                check_library(path)
            if path.resolve() in first:
                faults.add(key, f"{path}: it is asked for already by {first[path.resolve()]}")
            first.setdefault(path.resolve(), key)
    publish = document.get("publish")
    several = [path for path, table in tables_of(document, "table") if table.get("outputs")]
    asked = several or faults.about("publish.outputs")
    if publish is not None and not publish.get("outputs") and not asked:
        faults.add("publish", "the key 'outputs' is missing")
    if publish is not None and "decimals" in publish and "unit" in publish:
        faults.add("publish.unit", "the printed unit is set twice: publish.decimals says it too")


def check_library(path: Path) -> None:
    """Raise before long work if a library is missing that an output needs; a page with plots ends in .html."""
    needed = {".xlsx": ("xlsxwriter", "excel"), ".html": ("matplotlib", "report")}
    library, extra = needed.get(path.suffix.lower(), ("", ""))
    if library and find_spec(library) is None:
        fault = f"{path}: it needs {library}; run: pip install tablecloak[{extra}]"
        raise InputError("Output files", [fault])


def check_public(*paths: Path) -> None:
    """Raise unless some public format goes by the name of each file."""
    faults = [
        f"{path}: no public format goes by this name; there are: {', '.join(PUBLIC)}"
        for path in paths
        if not path.name.lower().endswith(PUBLIC)
    ]
    if faults:
        raise InputError("Output files", faults)
