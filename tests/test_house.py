"""The rules of the house: who may import whom, what every file has, and what no file may do.

Everything is read from the syntax trees of the source files; only the package itself is imported, for its `__all__`.
Who may import whom follows from one table of packages, `STANDS_ON`. A rule that a file breaks with good reason has an
exception below, with the reason; exceptions that are no longer needed are faults too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "tablecloak"
PACKAGE = "tablecloak"

SUPPORT = {"arrays", "errors", "files", "frames", "locks", "progress"}
"""Top-level files that everybody may import."""
STANDS_ON = {
    "support": [],
    "model": ["support"],
    "tabulation": ["model"],
    "assessment": ["model"],
    "solvers": ["support"],
    "attacker": ["model", "solvers"],
    "auditing": ["attacker"],
    "methods.base": ["auditing"],
    "methods.cuts": ["methods.base"],
    "methods.heuristics": ["methods.cuts"],
    "methods.branch_and_cut": ["methods.heuristics"],
    "methods.subtables": ["methods.branch_and_cut"],
    "methods.modular": ["methods.branch_and_cut"],
    "methods.unified": ["methods.heuristics"],
    "methods.intervals": ["methods.unified"],
    "methods.rounding": ["methods.unified"],
    "methods.adjustment": ["methods.rounding"],
    "methods.mixed": ["methods.intervals", "methods.adjustment"],
    "methods.recipes": ["methods.subtables", "methods.modular", "methods.mixed"],
    "methods": ["methods.recipes"],
    "protection": ["methods"],
    "analysis": ["protection"],
    "publication": ["auditing"],
    "formats": ["tabulation"],
    "reports": ["analysis", "formats"],
    "job": ["assessment", "publication", "reports"],
    "examples": ["tabulation"],
    "cli": ["examples", "job"],
    "testing": ["model"],
    "weights": ["model"],
    "": ["analysis", "assessment", "formats", "publication", "weights"],
}
"""The floors: what a package may import is what it stands on, and what that stands on. A file belongs to the longest of
these names that its own begins with; of the files of `methods` itself those named in `METHODS` are recipes, the others
are the base."""
OPEN = {"formats", "job", "methods", "solvers"}
"""Packages whose subpackages are entered through their own `__init__`; of others the outermost one counts."""
BESIDE_THE_DOOR = {
    ("weights", "model.weights"): "it is this file, as a public module",
}
"""(file, what it imports from): imports that go past the `__init__` of a package, or through that of their own."""
PORTFOLIO = {
    "methods.suppress_auto": {
        "methods.suppress_greedy",
        "methods.suppress_kelly_lp",
        "methods.suppress_network_flow",
        "methods.suppress_shortest_path",
    }
}
"""The one recipe that runs other recipes: it imports their functions and parameters, and not the catalogue."""
CHECKED_BY = {"testing.checks": {"auditing"}}
"""Checks that call what they check."""
SOLVERS = {"highspy", "pyscipopt"}

MOST_LINES = 600
STATE = {
    "solvers.highs.running._ABANDONED": "threads of abandoned programs; the process waits for them before it exits",
    "attacker.presolve._KNOWN": "a cache by table that forgets tables nobody holds any more",
    "attacker.presolve._ALIKE": "the structure of the last small equations, which depends on their coefficients only",
    "protection._VERSIONS": "versions of installed packages, which stay the same in a process",
    "auditing.recent._RECENT": "a cache by problem that forgets problems that are no longer held",
    "methods.feasibility._LARGEST": "a cache by problem that forgets problems that are no longer held",
    "methods.rounding.integral_basis._KNOWN": "a cache by problem that forgets problems that are no longer held",
}
CONDITIONS = ("TYPE_CHECKING", "__name__ == '__main__'")
MUTATORS = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
}  # fmt: skip


# ---------------------------------------------------------------------- reading the house


def name_of(path: Path) -> str:
    """``auditing.audit`` for auditing/audit.py, ``auditing`` for its __init__.py, nothing for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}
EVERY_FILE = pytest.mark.parametrize("name", list(FILES), ids=[name or PACKAGE for name in FILES])


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text(encoding="utf-8"), str(FILES[name]))


def imports_of(name: str) -> Iterator[tuple[str, str]]:
    """All imports of a file, wherever they stand: from where, and what ("" for whole modules)."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


def own_imports(name: str) -> Iterator[tuple[str, str]]:
    """Those from the package itself, below its name."""
    for module, what in imports_of(name):
        if module.split(".")[0] == PACKAGE:
            yield module.partition(".")[2], what


def target_of(module: str, what: str) -> str:
    """The file that an import is from: a module that is imported itself, unless the package has that name from it."""
    whole = ".".join(filter(None, [module, what]))
    return whole if whole in FILES and (f"{PACKAGE}.{whole}", what) not in imports_of(module) else module


@cache
def exports_of(name: str) -> frozenset[str]:
    """The `__all__` of a file; where a package has none and no code of its own, what it imports."""
    for node in tree_of(name).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return frozenset(ast.literal_eval(node.value))
    bare = name in PACKAGES and not [*definitions(name), *constants(name)]
    return frozenset(what for _, what in own_imports(name)) if bare else frozenset()


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@cache
def recipes() -> frozenset[str]:
    """The files of the catalogue, read from the keys of `METHODS`."""
    for node in tree_of("methods").body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "METHODS":
            assert isinstance(node.value, ast.Dict)
            keys = [ast.literal_eval(key) for key in node.value.keys if key is not None]
            return frozenset(f"methods.{key.replace('-', '_')}" for key in keys)
    raise AssertionError("there is no METHODS")


def floor_of(name: str) -> str:
    """The entry of `STANDS_ON` that a file belongs to."""
    if name in SUPPORT:
        return "support"
    if name in recipes():
        return "methods.recipes"
    if name.rpartition(".")[0] == "methods" and name not in PACKAGES:
        return "methods.base"
    parts = name.split(".")
    return next(head for depth in range(len(parts), 0, -1) if (head := ".".join(parts[:depth])) in STANDS_ON)


@cache
def below(floor: str) -> frozenset[str]:
    """All floors that one stands on, however far down."""
    return frozenset(STANDS_ON[floor]).union(*(below(each) for each in STANDS_ON[floor]))


def definitions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes at the top of a file."""
    for node in tree_of(name).body:
        is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_definition and not node.name.startswith("_"):
            yield node


# ---------------------------------------------------------------------- who imports whom


def test_every_file_has_a_floor() -> None:
    assert {floor_of(name) for name in FILES} == set(STANDS_ON)


def test_floors_stand_on_each_other_in_no_circle() -> None:
    assert not [floor for floor in STANDS_ON if floor in below(floor)]


@EVERY_FILE
def test_imports_go_down_only(name: str) -> None:
    allowed = below(floor_of(name)) | {floor_of(name)} | CHECKED_BY.get(name, set())
    targets = {target_of(*each) for each in own_imports(name)}
    if floor_of(name) == "methods.recipes":
        allowed -= {"methods.recipes"}  # a method calls no other method, the portfolio apart
    up = {target for target in targets - PORTFOLIO.get(name, set()) if floor_of(target) not in allowed}
    assert {target for target in up if (name, target) not in BESIDE_THE_DOOR} == set()


@pytest.mark.parametrize("name", list(PORTFOLIO))
def test_the_portfolio_imports_recipes_and_their_parameters_only(name: str) -> None:
    """Of each recipe that it runs it imports the function with the name of the file, and the parameters."""
    taken = [(target_of(*each), each[1]) for each in own_imports(name)]
    others = [(target, what) for target, what in taken if target in recipes()]
    assert {target for target, _ in others} == PORTFOLIO[name]
    for recipe in PORTFOLIO[name]:
        params, function = sorted(what for target, what in others if target == recipe)
        assert params.endswith("Params") and function == recipe.rpartition(".")[2]


@EVERY_FILE
def test_packages_are_entered_through_their_door(name: str) -> None:
    """From another package a file imports the whole or what its `__init__` exports; from its own it imports files."""
    package = name if name in PACKAGES else name.rpartition(".")[0]
    for module, what in own_imports(name):
        target = target_of(module, what)
        if (name, target) in BESIDE_THE_DOOR:
            continue
        outside = [each for each in containing(target) if not inside(package, each)]
        if not outside:
            assert target not in PACKAGES or target == "", f"{name} imports {what} from its own {module}"
            continue
        door = outside[1] if outside[0] in OPEN and len(outside) > 1 else outside[0]
        if target == door and what == target.rpartition(".")[2]:
            continue
        assert module == door, f"{name} imports {what} from {module}, not from {door}"
        known = exports_of(door) or {node.name for node in definitions(door)} | constants(door)
        assert what in known, f"{door} does not export {what}, which {name} imports"


def constants(name: str) -> set[str]:
    """What a file assigns at its top."""
    return {target for node in tree_of(name).body for target in _targets(node) if not target.startswith("_")}


def containing(name: str) -> list[str]:
    """The packages around a file, the outermost one first, itself included if it is one."""
    parts = name.split(".")
    around = [".".join(parts[:depth]) for depth in range(1, len(parts))]
    return [*around, name] if name in PACKAGES and name else around


def test_doors_export_what_others_use() -> None:
    """No name is exported that nobody imports but the files of the package, the pages of the docs apart."""
    used = {(module, what) for name in FILES for module, what in own_imports(name)}
    used |= {
        (target_of(module, what), node.attr)
        for name in FILES
        for module, what in own_imports(name)
        if target_of(module, what) in PACKAGES
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == what
    }
    pages = "".join(
        page.read_text(encoding="utf-8") for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    )
    unused = [
        f"{package}.{name}"
        for package in PACKAGES - {"", "testing", "examples"}
        for name in exports_of(package)
        if (package, name) not in used and not re.search(rf"\b{name}\b", pages)
    ]
    assert not unused


def test_exceptions_are_needed() -> None:
    for name, target in BESIDE_THE_DOOR:
        assert target in {target_of(*each) for each in own_imports(name)}
    for name, floors in CHECKED_BY.items():
        assert floors <= {floor_of(target_of(*each)) for each in own_imports(name)}
    assert {entry.rpartition(".")[0] for entry in STATE} <= set(FILES)


@EVERY_FILE
def test_only_solvers_import_solvers(name: str) -> None:
    outside = {module.split(".")[0] for module, _ in imports_of(name)}
    assert inside(name, "solvers") or not outside & SOLVERS


@EVERY_FILE
def test_imports_are_absolute(name: str) -> None:
    assert not [node for node in ast.walk(tree_of(name)) if isinstance(node, ast.ImportFrom) and node.level]


# ---------------------------------------------------------------------- the front door


def test_all_is_sorted_complete_and_there() -> None:
    import tablecloak

    names = list(tablecloak.__all__)
    assert names == sorted(names, key=_as_ruff_sorts)
    assert len(set(names)) == len(names)
    assert not [name for name in names if not hasattr(tablecloak, name)]
    assert set(names) == {what for _, what in own_imports("")}


def test_what_is_imported_at_its_first_use_is_declared() -> None:
    """What type checkers see is what `__getattr__` finds."""
    import tablecloak

    declared = {
        (node.module, alias.name)
        for block in tree_of("").body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == {
        (f"{PACKAGE}.{module}", name) for module, names in tablecloak._LAZY.items() for name in names
    }
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tablecloak.nothing
    assert set(tablecloak.__all__) <= set(dir(tablecloak))


def test_nothing_has_the_name_of_a_public_function() -> None:
    """`tablecloak.audit` is the function and nothing else; the module `tablecloak.weights` is public itself."""
    top = {name.split(".")[0] for name in FILES}
    assert top & exports_of("") == {"weights"}


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@EVERY_FILE
def test_every_all_tells_the_truth(name: str) -> None:
    body = tree_of(name).body
    known = {what for _, what in imports_of(name)}
    known |= {node.name for node in definitions(name)}
    known |= {target for node in body for target in _targets(node)}
    assert not exports_of(name) - known
    assert not [entry for entry in exports_of(name) if entry.startswith("_")]


# ---------------------------------------------------------------------- what every file has


@EVERY_FILE
def test_every_file_has_a_docstring(name: str) -> None:
    assert ast.get_docstring(tree_of(name)), f"{FILES[name]} needs a docstring"


@EVERY_FILE
def test_every_public_function_and_class_has_a_docstring(name: str) -> None:
    bare = [f"line {node.lineno}: {node.name}" for node in definitions(name) if not ast.get_docstring(node)]
    assert not bare


# ---------------------------------------------------------------------- what no file may do


@EVERY_FILE
def test_files_are_short(name: str) -> None:
    lines = len(FILES[name].read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, f"{lines} lines: a wall is missing"


@EVERY_FILE
def test_nothing_is_left_to_do(name: str) -> None:
    text = FILES[name].read_text(encoding="utf-8")
    assert not re.findall(r"\b(?:TO" + r"DO|FIX" + r"ME|XXX|HACK)\b", text)


@EVERY_FILE
def test_no_state_is_kept_in_modules(name: str) -> None:
    """No `global`, no memoised functions, and no function that changes a variable of its module."""
    tree, own = tree_of(name), {target for node in tree_of(name).body for target in _targets(node)}
    changed = {target for node in ast.walk(tree) for target in _changes(node)} & own
    allowed = {entry.rpartition(".")[2] for entry in STATE if entry.rpartition(".")[0] == name}
    assert changed == allowed
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Global)]
    decorators = [
        ast.unparse(decorator)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    ]
    assert not [text for text in decorators if re.search(r"\b(lru_)?cache\b", text)]


@EVERY_FILE
def test_nothing_happens_at_import(name: str) -> None:
    """At the top of a file: docstrings, imports, definitions, constants, imports for type checkers, and what
    runs only when the file is run as a program."""
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    other = [
        f"line {node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for node in tree_of(name).body
        if not isinstance(node, allowed)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        and not (isinstance(node, ast.If) and ast.unparse(node.test) in CONDITIONS)
    ]
    assert not other


def _targets(node: ast.stmt) -> Iterator[str]:
    """Names that a statement at the top of a file assigns."""
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _changes(node: ast.AST) -> Iterator[str]:
    """Names of containers that a node changes: ``x[...] = ``, ``x += ``, ``del x[...]``, ``x.append(...)``."""
    if isinstance(node, ast.Assign | ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        targets = [ast.Subscript(node.func.value)]
    else:
        targets = []
    for target in targets:
        held = target.value if isinstance(target, ast.Subscript | ast.Attribute) else None
        if isinstance(held, ast.Name):
            yield held.id
