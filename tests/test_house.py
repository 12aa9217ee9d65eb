"""The rules of the house: who may import whom, what every file has, and what no file may do.

Everything is read from the syntax trees of the source files; only the package itself is imported, for its `__all__`.
A rule that a file breaks with good reason has an exception below, with the reason; exceptions that are no longer
needed are faults too.
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
TESTS = ROOT / "tests"
PACKAGE = "tablecloak"

GROUND = {
    "arrays", "cells", "contributions", "dimension", "equations", "errors", "hierarchy", "links", "locks", "model",
    "pattern",
    "problem", "progress", "result", "table", "weights",
}  # fmt: skip
UPSTAIRS = {
    "apriori", "assess", "attacker", "audit", "bounds", "cli", "compare", "concentration", "engines", "examples",
    "explain", "exposure", "formats", "frames", "insiders", "job", "layout", "losses", "methods", "protect",
    "publication", "publish", "routes", "rules", "sources", "spread", "tabulate", "tabulate_cells", "testing", "unions",
}  # fmt: skip
SHARED_BY_METHODS = {
    "methods", "methods.adjustment", "methods.annealed_rounding", "methods.balancing",
    "methods.base", "methods.blurring",
    "methods.cheapest_steps",
    "methods.data_units", "methods.descent", "methods.deviations", "methods.exact_run",
    "methods.cube_search", "methods.eliminating", "methods.exchanges", "methods.feasibility",
    "methods.ladder", "methods.level_cuts", "methods.near_proofs", "methods.near_prover", "methods.surroundings",
    "methods.first_intervals", "methods.first_model", "methods.first_pattern", "methods.flow_blocks", "methods.forms",
    "methods.first_rounding", "methods.free_cells", "methods.integer_phase", "methods.leaf_shifts",
    "methods.joint_result", "methods.joint_start", "methods.judging", "methods.leaf_moves", "methods.leaf_sums",
    "methods.lengths", "methods.lines", "methods.mixing",
    "methods.multipliers", "methods.narrowed", "methods.repair",
    "methods.neighbourhoods", "methods.network_search", "methods.one_by_one",
    "methods.parts", "methods.patterns", "methods.perturbing", "methods.plans", "methods.programs",
    "methods.proof_rows", "methods.provers", "methods.quick_deviations", "methods.reaches", "methods.relaxation",
    "methods.rooms",
    "methods.rounding", "methods.rows", "methods.run_state", "methods.search", "methods.second_model",
    "methods.separation", "methods.shown_forms", "methods.squares", "methods.thinning", "methods.touching",
    "methods.tree", "methods.twins", "methods.walk", "methods.whole_units", "methods.witnesses",
}  # fmt: skip
BY_THE_CATALOGUE = {"methods.suppress_auto": "it starts from the patterns of other methods"}
"""Methods that may call others, by their names in `METHODS`."""
BY_EXPOSURE = {"methods.one_by_one", "methods.suppress_elimination"}
"""Methods whose parameter `levels` names a set of `exposure`: whose levels are asked for, not what is safe."""
CHECKED_BY = {"testing.checks": {"audit"}}
"""Checks that call what they check."""
SOLVERS_AND_COMPILERS = {"highspy", "numba", "pyscipopt"}

MOST_LINES, UTMOST_LINES = 400, 520
LONG_FILES = {}
STATE = {
    "engines.highs._LEFT": "threads of interrupted programs that have not ended yet; the process waits for them",
    "attacker.presolve._KNOWN": "a cache by table that forgets tables nobody holds any more",
    "methods.feasibility._LARGEST": "a cache by problem that forgets problems that are no longer held",
    "methods.free_cells._KNOWN": "a cache by problem that forgets problems that are no longer held",
}
COVERED_BY = {
    "attacker.basis": "test_oracle",
    "attacker.elimination": "test_exact",
    "attacker.evidence": "test_oracle",
    "attacker.inference": "test_audit",
    "attacker.linear": "test_properties",
    "attacker.network": "test_properties",
    "attacker.tolerances": "test_oracle",
    "attacker.witness": "test_repair",
    "audit.integer": "test_properties",
    "audit.judge": "test_vectors",
    "audit.propose": "test_certificate",
    "audit.prove": "test_certificate",
    "attacker.presolve": "test_properties",
    "engines.cheapest_kernels": "test_cheapest",
    "engines.compiling": "test_systems",
    "engines.cycles": "test_flow",
    "engines.grid": "test_structure",
    "cli.app": "test_cli",
    "cli.jobs": "test_cli_chain",
    "cli.options": "test_cli",
    "cli.preparing": "test_cli_chain",
    "cli.protecting": "test_cli",
    "cli.publishing": "test_cli_chain",
    "cli.demo": "test_cli",
    "cli.listing": "test_cli",
    "cli.live": "test_cli",
    "engines.cutting": "test_suppress_optimal",
    "engines.tableau": "test_freedom",
    "methods.exact_run": "test_suppress_optimal",
    "methods.run_state": "test_suppress_optimal",
    "methods.integer_phase": "test_suppress_optimal",
    "methods.tree": "test_suppress_optimal",
    "methods.walk": "test_suppress_optimal",
    "methods.first_model": "test_forms",
    "methods.blurring": "test_interval_partial",
    "methods.shown_forms": "test_forms",
    "engines.growing": "test_forms",
    "engines.limited": "test_perturb_cta",
    "methods.adjustment": "test_perturb_cta",
    "methods.cheapest_steps": "test_suppress_network_flow",
    "methods.descent": "test_perturb_cta",
    "methods.joint_result": "test_mixed_joint",
    "methods.judging": "test_limits",
    "methods.leaf_shifts": "test_leaf_moves",
    "methods.leaf_sums": "test_leaf_moves",
    "methods.joint_start": "test_mixed_joint",
    "methods.mixing": "test_mixed_joint",
    "methods.narrowed": "test_second_model",
    "methods.perturbing": "test_perturb_cell",
    "methods.plans": "test_mixed_joint",
    "methods.provers": "test_rooms",
    "methods.eliminating": "test_suppress_elimination",
    "methods.ladder": "test_round_rapid",
    "methods.witnesses": "test_suppress_elimination",
    "methods.reaches": "test_perturb_cell",
    "methods.squares": "test_perturb_cta",
    "methods.whole_units": "test_perturb_cta",
    "engines.duck": "test_aggregate",
    "engines.faults": "test_sources",
    "engines.kernels": "test_flow",
    "engines.cube_kernels": "test_cubes",
    "engines.master": "test_suppress_optimal",
    "engines.paths": "test_roads",
    "engines.records": "test_tabulate",
    "engines.scales": "test_aggregate",
    "engines.scan": "test_sources",
    "engines.mip": "test_conformance",
    "engines.strata": "test_suppress_shortest_path",
    "engines.tracks": "test_suppress_shortest_path",
    "engines.widest": "test_suppress_three_phase",
    "errors": "test_problem",
    "examples.make_business_survey": "test_examples",
    "formats.files": "test_cli",
    "job.checks": "test_job",
    "job.guess": "test_starter",
    "job.hierarchies": "test_job",
    "job.keys": "test_job",
    "job.labels": "test_job",
    "job.lines": "test_job",
    "job.look": "test_starter",
    "job.record": "test_job",
    "job.report": "test_job",
    "job.run": "test_job",
    "job.spec": "test_job",
    "layout": "test_publication",
    "methods": "test_conformance",
    "methods.base": "test_conformance",
    "methods.feasibility": "test_conformance",
    "methods.flow_blocks": "test_suppress_three_phase",
    "methods.level_cuts": "test_separation",
    "methods.lines": "test_bounds",
    "methods.patterns": "test_suppress_optimal",
    "methods.programs": "test_bounds",
    "methods.rows": "test_suppress_optimal",
    "methods.search": "test_suppress_greedy",
    "model.levels": "test_problem",
    "model.marks": "test_problem",
    "progress": "test_cli",
    "protect": "test_conformance",
    "result": "test_conformance",
    "spread": "test_aggregate",
    "tabulate_cells": "test_tabulate",
    "testing.brute_force": "test_random_cases",
    "testing.case_files": "test_random_cases",
    "testing.checks": "test_properties",
    "testing.enumeration": "test_properties",
    "testing.random_problems": "test_properties",
    "testing.random_tables": "test_random_cases",
}
"""Source files without a test of their own name, and the test that covers them."""
CONDITIONS = ("TYPE_CHECKING", "__name__ == '__main__'")
MUTATORS = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault",
    "sort", "update",
}  # fmt: skip


# ---------------------------------------------------------------------- reading the house


def name_of(path: Path) -> str:
    """``audit.judge`` for audit/judge.py, ``audit`` for audit/__init__.py, and nothing for the package itself."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
EVERY_FILE = pytest.mark.parametrize("name", list(FILES), ids=[name or PACKAGE for name in FILES])


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text(encoding="utf-8"), str(FILES[name]))


def imports_of(name: str) -> Iterator[str]:
    """Whole names of all imports of a file, wherever they stand."""
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = (
                [PACKAGE, *package.split(".")][: len(package.split(".")) + 2 - node.level]
                if node.level
                else []
            )
            base = ".".join([*above, *([node.module] if node.module else [])]).strip(".")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def rooms_of(name: str) -> set[str]:
    """The files of the house that a file imports, by name; what it imports from the package itself as ""."""
    found = set()
    for whole in imports_of(name):
        if whole.split(".")[0] == PACKAGE:
            inside = whole.split(".")[1:]
            while inside and ".".join(inside) not in FILES:
                inside = inside[:-1]
            found.add(".".join(inside))
    return found


def floor_of(name: str) -> str:
    return name.split(".")[0]


def in_room(name: str, room: str) -> bool:
    return name == room or name.startswith(f"{room}.")


def definitions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Public functions and classes at the top of a file."""
    for node in tree_of(name).body:
        is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if is_definition and not node.name.startswith("_"):
            yield node


# ---------------------------------------------------------------------- who imports whom


def test_every_file_has_a_floor() -> None:
    assert {floor_of(name) for name in FILES if name} == GROUND | UPSTAIRS


@EVERY_FILE
def test_imports_go_down_only(name: str) -> None:
    rooms = rooms_of(name) - {name}
    floors = {floor_of(room) for room in rooms}
    assert "cli" not in floors or in_room(name, "cli"), "nobody imports the command line"
    assert "testing" not in floors or in_room(name, "testing"), "nothing of ours needs the helpers for tests"
    if in_room(name, "testing"):
        judged = {"audit", "engines", "methods", "protect"}
        assert floors & judged <= CHECKED_BY.get(name, set()), "the oracle shares no code with what it judges"
    assert "" not in rooms or in_room(name, "cli"), "import from the file, not from the package"
    if floor_of(name) in GROUND:
        assert floors <= GROUND, "the ground floor stands on nothing else"
    if in_room(name, "engines"):
        assert floors <= {"engines", "arrays", "errors", "locks", "progress"}, (
            "engines know arrays, not tables"
        )
    if in_room(name, "attacker"):
        assert floors <= GROUND | {"attacker", "engines"}, (
            "what can be inferred is no matter of who judges it"
        )
    if in_room(name, "audit"):
        assert not floors & {"methods", "protect", "exposure", "formats"}, (
            "the audit trusts and knows no method"
        )
    if in_room(name, "methods"):
        judging = {"protect", "formats"} if name in BY_EXPOSURE else {"protect", "formats", "exposure"}
        assert not floors & judging, "a method proposes; others judge and write"
    if in_room(name, "formats"):
        assert not floors & {"methods", "protect", "engines"}, "formats read and write, no more"


@EVERY_FILE
def test_methods_do_not_import_each_other(name: str) -> None:
    if in_room(name, "methods") and name != "methods":
        inside = {room for room in rooms_of(name) if in_room(room, "methods")}
        if name in BY_THE_CATALOGUE:
            inside -= {"methods"}
        assert inside <= SHARED_BY_METHODS - {"methods"}


@EVERY_FILE
def test_only_engines_import_solvers_and_compilers(name: str) -> None:
    outside = {whole.split(".")[0] for whole in imports_of(name)}
    assert in_room(name, "engines") or not outside & SOLVERS_AND_COMPILERS


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
    imported = set()
    for node in tree_of("").body:
        if isinstance(node, ast.ImportFrom):
            imported |= {alias.asname or alias.name for alias in node.names}
    assert set(names) == imported


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    """CONSTANTS, then Classes, then functions."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@EVERY_FILE
def test_every_all_tells_the_truth(name: str) -> None:
    body = tree_of(name).body
    listed = [
        ast.literal_eval(node.value)
        for node in body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]
    ]
    known = {
        alias.asname or alias.name
        for node in body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    known |= {node.name for node in definitions(name)}
    known |= {target for node in body for target in _targets(node)}
    assert not [entry for entries in listed for entry in entries if entry not in known]


# ---------------------------------------------------------------------- what every file has


@EVERY_FILE
def test_every_file_has_a_docstring(name: str) -> None:
    assert ast.get_docstring(tree_of(name)), f"{FILES[name]} needs a docstring"


@EVERY_FILE
def test_every_public_function_and_class_has_a_docstring(name: str) -> None:
    bare = [f"line {node.lineno}: {node.name}" for node in definitions(name) if not ast.get_docstring(node)]
    assert not bare


@EVERY_FILE
def test_every_file_has_a_test(name: str) -> None:
    tests = {path.stem for path in TESTS.glob("test_*.py")}
    own = f"test_{name.rpartition('.')[2]}"
    if FILES[name].name == "__init__.py" and not list(definitions(name)) and name not in COVERED_BY:
        return
    if own in tests:
        assert name not in COVERED_BY, f"{own}.py is there: take {name!r} out of COVERED_BY"
    else:
        assert name in COVERED_BY, f"write tests/{own}.py, or say in COVERED_BY which test covers {name!r}"
        assert COVERED_BY[name] in tests


def test_exceptions_are_about_files_that_exist() -> None:
    assert set(COVERED_BY) <= set(FILES)
    assert set(LONG_FILES) <= set(FILES)
    assert {entry.rpartition(".")[0] for entry in STATE} <= set(FILES)


# ---------------------------------------------------------------------- what no file may do


@EVERY_FILE
def test_files_are_short(name: str) -> None:
    lines = len(FILES[name].read_text(encoding="utf-8").splitlines())
    assert lines <= UTMOST_LINES
    if name in LONG_FILES:
        assert lines > MOST_LINES, f"take {name!r} out of LONG_FILES"
    else:
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
