"""The shape of the source: sizes, names, numbers, words and imports, read from the syntax trees.

The limits stand in one table. What breaks a limit with good reason has an entry in `EXCEPTIONS`, with the reason; an
entry that is no longer needed is a fault too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator

import pytest

from test_house import EVERY_FILE, FILES, SOURCE, tree_of

LIMITS = {"lines of a function": 60, "methods": 20, "attributes": 15, "parameters": 7}
"""The complexity of functions is a matter of ruff (C901)."""
WIDE_DOORS = ("cli",)
"""Commands take one parameter an option."""
PROTOCOL = "one protocol for minimum cuts, programs and local programs: it takes what any of them needs"
EXCEPTIONS: dict[str, str] = {
    "attacker.null_space.NullSpaceProgram: attributes": "the tableau that its kernels work on, an array each",
    "job.job.Job.of: parameters": "a parameter for each section of a job file",
    "methods.heuristics.hypercubes.CubeSearch: attributes": "not taken apart yet: what is sought and what was found",
    "methods.unified.local_separation.LocalSeparator.separate: parameters": PROTOCOL,
    "methods.unified.protection_cuts.Separator.separate: parameters": PROTOCOL,
    "methods.unified.separation.NetworkProtectionSeparator.separate: parameters": PROTOCOL,
    "methods.unified.separation.LinearProtectionSeparator.separate: parameters": PROTOCOL,
    "solvers.annealing.balanced_senses: parameters": "the arrays of its kernel",
    "solvers.graphs.network.Network.least_cuts: parameters": "the arrays of its kernel",
}
"""``file.Class.function: limit`` and why."""
FACTS: dict[str, str] = {
    "cli.argus": "mode of an executable file",
    "cli.exit_codes": "exit codes are what scripts rely on",
    "examples.make_business_survey": "the make-up of an invented survey",
    "formats": "versions, sizes and marks that file formats prescribe",
    "job.argus": "statuses, exit codes and bounds of τ-ARGUS",
    "locks": "modes of private files",
    "publication.excel": "limits of the file format",
    "reports.comparison": "dashes of lines",
    "reports.plots": "font size and colours",
    "solvers.highs.running": "options of HiGHS by their names",
    "testing": "the oracle and the generators have numbers of their own, which must not follow those of the package",
}
"""Where upper-case numbers are facts of the outside world, not tuning; files or packages."""
TUNED = ("analysis", "attacker", "auditing", "methods", "protection", "solvers")
"""Packages whose calls pass settings on."""
UNTUNED: dict[str, str] = {
    "audit": "audits in methods are those of everyone: their effort is not a matter of the method",
    "best_audited": "`protect` and the recipes keep the same reserve of a time limit",
    "exposure": "its sets are those of everyone, as audits are",
    "finished_largest_pattern": "computed once a problem, for all methods",
    "forced_in_the_way": "an explanation in an error message",
    "mapped": "how often a caller looks at its workers",
    "Network": "sizes of the calls of its kernels",
    "Run": "`protect` and the recipes keep the same reserve of a time limit",
    "shown_values": "the decimals of what is shown: the same wherever it is computed",
}
"""Functions and classes that are called without their settings, and why."""
UNTUNED_FILES: dict[str, str] = {
    "analysis.explanation": "programs of an explanation",
    "attacker.exact_oracle": "witnesses of constructions, a moment each",
    "attacker.subtables": "the directions of a table, read once",
    "auditing": "candidates of certificates and exposure sets: programs of the audit, a moment each",
    "methods.cuts.flow_model": "the one program of suppress-three-phase",
    "methods.feasibility": "an explanation in an error message",
    "methods.heuristics.repair": "the margins of repaired intervals are those of what is printed",
    "methods.mixed": "not passed down yet",
    "methods.mixed_joint": "not passed down yet",
    "methods.modular": "not passed down yet",
    "methods.rounding": "the conflicts that an error names, and the reach that hiding states",
    "methods.suppress_gauss": "not passed down yet",
    "methods.suppress_hypercube": "not passed down yet",
    "methods.suppress_modular": "not passed down yet",
    "methods.suppress_three_phase": "not passed down yet",
    "testing": "tests take the defaults",
}
"""Files and packages that call others without their settings, and why."""
FORBIDDEN = (
    "somebody",
    "nobody",
    "dearest",
    "so many",
    "twins",
    "roads",
    "tracks",
    "ladder",
    "guess of the gap",
)
"""Words that the field does not use; see the glossary for those that it does."""
LIGHT = {"numpy", "scipy", "cython_runtime"}
"""What `import tablecloak` may load beside the standard library; the last one comes with scipy."""
COMMAND_LINE = {"annotated_doc", "click", "shellingham", "typer"}
"""What `tablecloak --version` loads on top of that: typer and what it needs."""
HEAVY = (
    "duckdb",
    "highspy",
    "jinja2",
    "matplotlib",
    "narwhals",
    "pandas",
    "polars",
    "pyarrow",
    "pyscipopt",
    "rich",
)
HEAVY_PARTS = (
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "tablecloak.methods",
    "tablecloak.solvers",
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NAMED = (*FUNCTIONS, ast.ClassDef)


def functions_of(name: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function of a file with its whole name, also those inside classes and functions."""

    def within(node: ast.AST, path: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                whole = f"{path}.{child.name}"
                if isinstance(child, FUNCTIONS):
                    yield whole, child
                yield from within(child, whole)
            else:
                yield from within(child, path)

    return within(tree_of(name), name)


def excesses() -> dict[str, str]:
    """What is larger than its limit: ``name: limit`` and by how much."""
    found = {}
    for name in FILES:
        for whole, function in functions_of(name):
            given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            parameters = [each.arg for each in given if each.arg not in ("self", "cls")]
            public = not whole.rpartition(".")[2].startswith("_") and _is_public(whole)
            sizes = {}
            if not name.startswith(WIDE_DOORS):
                sizes["lines of a function"] = (function.end_lineno or 0) - function.lineno + 1
                if not public:
                    sizes["parameters"] = len(parameters)
            for what, size in sizes.items():
                if size > LIMITS[what]:
                    found[f"{whole}: {what}"] = f"{size} > {LIMITS[what]}"
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.ClassDef):
                for what, size in _class_sizes(node).items():
                    if size > LIMITS[what]:
                        found[f"{name}.{node.name}: {what}"] = f"{size} > {LIMITS[what]}"
    return found


def _is_public(whole: str) -> bool:
    """Whether a function, or the class that it belongs to, is in the API of the package."""
    import tablecloak

    return any(part in tablecloak.__all__ for part in whole.split(".")[1:])


def _class_sizes(node: ast.ClassDef) -> dict[str, int]:
    methods = [each for each in node.body if isinstance(each, FUNCTIONS)]
    stored = {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, ast.Store)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }
    return {"methods": len(methods), "attributes": len(stored)}


def _settings_of(node: ast.stmt) -> dict[str, int]:
    """The parameters of a function or class with defaults that are settings, and their places."""
    if isinstance(node, ast.ClassDef):
        made = [each for each in node.body if isinstance(each, FUNCTIONS) and each.name == "__init__"]
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        if not made and not node.name.endswith("Settings") and node.decorator_list:  # a dataclass
            return {
                each.target.id: place
                for place, each in enumerate(fields)
                if isinstance(each.target, ast.Name) and each.value and _is_settings(each.annotation)
            }
        return {name: place - 1 for name, place in _settings_of(made[0]).items()} if made else {}
    if not isinstance(node, FUNCTIONS):
        return {}
    given, named = [*node.args.posonlyargs, *node.args.args], node.args.kwonlyargs
    first = len(given) - len(node.args.defaults)
    found = {each.arg: k for k, each in enumerate(given) if k >= first and _is_settings(each.annotation)}
    return found | {each.arg: len(given) + 99 for each in named if _is_settings(each.annotation)}


def _is_settings(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id.endswith("Settings")


def untuned_calls() -> Iterator[tuple[str, str]]:
    """Calls without settings of functions and classes that take some: the file and what it calls."""
    own = {
        name: {node.name: _settings_of(node) for node in tree_of(name).body if isinstance(node, NAMED)}
        for name in FILES
    }
    every = {what: taken for found in own.values() for what, taken in found.items()}
    for name in FILES:
        if name.partition(".")[0] not in TUNED:
            continue
        nodes, known = list(ast.walk(tree_of(name))), every | own[name]
        defaults = {
            id(each)
            for node in nodes
            if isinstance(node, ast.arguments)
            for each in (*node.defaults, *node.kw_defaults)
        }
        for call in nodes:
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or id(call) in defaults:
                continue
            words = {each.arg for each in call.keywords}
            unpacked = [isinstance(each, ast.Starred) for each in call.args]
            for parameter, place in known.get(call.func.id, {}).items():
                given = len(call.args) > place or (any(unpacked) and not unpacked[-1])
                if not given and parameter not in words and None not in words:
                    yield name, call.func.id


def test_settings_are_passed_down() -> None:
    """Every tuned number can be reached through the settings of the recipe that uses it."""
    left = {
        f"{name}: {what}"
        for name, what in untuned_calls()
        if what not in UNTUNED
        and not any(name == each or name.startswith(f"{each}.") for each in UNTUNED_FILES)
    }
    assert not left


def test_sizes() -> None:
    found = excesses()
    assert {entry: size for entry, size in found.items() if entry not in EXCEPTIONS} == {}
    assert [entry for entry in EXCEPTIONS if entry not in found] == [], "no longer needed"


def test_no_class_name_twice() -> None:
    where = defaultdict(list)
    for name in FILES:
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(name)
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


@EVERY_FILE
def test_tuned_numbers_are_settings(name: str) -> None:
    """Upper-case numbers stand in settings and tolerances only, or are facts of the outside world."""
    if name.endswith(("settings", "tolerances")) or _is_fact(name):
        return
    found = []
    for node in tree_of(name).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
            if any(each.lstrip("_").isupper() for each in names) and _is_number(node.value):
                found += names
    assert not found


def _is_fact(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in FACTS)


def _is_number(value: ast.expr) -> bool:
    """A number, or a tuple, list or dictionary of them; an expression of numbers too."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) or _is_number(value.right)
    if isinstance(value, ast.Tuple | ast.List):
        return any(_is_number(each) for each in value.elts)
    if isinstance(value, ast.Dict):
        return any(_is_number(each) for each in value.values)
    return False


@EVERY_FILE
def test_words_of_the_field(name: str) -> None:
    text = FILES[name].read_text(encoding="utf-8").lower()
    assert not [word for word in FORBIDDEN if re.search(rf"\b{word}\b", text)]


def test_integers_have_one_width() -> None:
    """`Ints` is int64 and `Codes` int32, and no file has a name of its own for them."""
    own = [
        f"{name}: {ast.unparse(node)}"
        for name in FILES
        if name != "arrays"
        for node in tree_of(name).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and re.match(r"(Ints|Codes)\b", ast.unparse(node))
    ]
    assert not own


VERSION = """
import sys
from tablecloak.cli import main
sys.argv = ["tablecloak", "--version"]
try:
    main()
except SystemExit:
    print(*sys.modules)
"""


LIMITED = """
import sys
from tablecloak.methods.base import Run
before = set(sys.modules)
Run(None)
assert set(sys.modules) == before
Run(1.0)
print(*sys.modules)
"""


def test_a_time_limit_begins_when_libraries_are_loaded() -> None:
    from tablecloak.solvers.loading import LIBRARIES

    loaded = _printed_modules(LIMITED)
    assert set(LIBRARIES) <= set(loaded)
    assert "scipy.optimize" not in loaded


def _printed_modules(program: str) -> list[str]:
    """The modules that a program in a fresh process prints on its last line."""
    environment = {"PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return ended.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(
    "program, light",
    [("import sys, tablecloak; print(*sys.modules)", LIGHT), (VERSION, LIGHT | COMMAND_LINE)],
    ids=["import", "version"],
)
def test_starting_loads_nothing_heavy(program: str, light: set[str]) -> None:
    loaded = _printed_modules(program)
    assert not [name for name in loaded if name.split(".")[0] in HEAVY or name in HEAVY_PARTS]
    outside = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert {name for name in outside if not name.startswith("_")} - {"tablecloak", "sitecustomize"} <= light
