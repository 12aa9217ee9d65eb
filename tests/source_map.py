"""docs/source-map.md: the tree of the source with what each file is, made from its docstring or first comment.

``python tests/source_map.py [FOLDER]`` prints the figures of the page for the package in a folder, by default this one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "tablecloak"
PAGE = ROOT / "docs" / "source-map.md"
BEGIN, END = "<!-- tree: made from the docstrings -->", "<!-- end of tree -->"
ORDER = (
    "", "model", "tabulation", "tabulation/duckdb", "assessment", "solvers", "solvers/graphs", "solvers/kernels",
    "attacker", "auditing", "methods", "methods/cuts", "methods/heuristics", "methods/branch_and_cut",
    "methods/branch_and_cut/improvement", "methods/branch_and_cut/small", "methods/subtables", "methods/modular",
    "methods/unified", "methods/intervals",
    "methods/rounding", "methods/adjustment", "methods/mixed", "analysis", "publication", "reports", "formats",
    "job", "cli", "examples", "testing",
)  # fmt: skip
"""The packages from the ground up; others follow."""


def first_sentence(path: Path) -> str:
    """What a file is: the first sentence of its docstring, or of the comment that a kernel begins with."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    else:
        text = re.sub(r"(?m)^# ?", "", text)
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.match(r".*?[.](?=\s|$)", paragraph)
    return (sentence.group() if sentence else paragraph).rstrip(".").replace("|", "\\|")


def tree() -> str:
    """A section for each package, a row for each file."""
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")} - {"."} | {""}
    parts = []
    for folder in sorted(
        folders, key=lambda each: (ORDER.index(each) if each in ORDER else len(ORDER), each)
    ):
        files = sorted([*(SOURCE / folder).glob("*.py"), *(SOURCE / folder).glob("*.pxi")])
        door = next(path for path in files if path.name == "__init__.py")
        rows = [f"| `{path.name}` | {first_sentence(path)} |" for path in files if path != door]
        title = f"### `{folder}`" if folder else "### `tablecloak`"
        table = ["", "| file | what it is |", "|---|---|", *rows] if rows else []
        parts.append("\n".join([title, "", f"{first_sentence(door)}.", *table]))
    return "\n\n".join(parts)


def figures(source: Path = SOURCE) -> dict[str, str]:
    """What can be counted of the table of figures, by row."""
    python = sorted(source.rglob("*.py"))
    kernels = sorted(path for path in source.rglob("*.p??") if path.suffix in (".pyx", ".pxi", ".pyi"))
    lines = [
        sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
        for paths in (python, kernels)
    ]
    largest, count = Counter(path.parent for path in python).most_common(1)[0]
    nodes = [node for path in python for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    functions = sum(isinstance(node, ast.FunctionDef) for node in nodes)
    return {
        "source files": f"{len(python) + len(kernels)}: {len(python)} of Python, {len(kernels)} of kernels",
        "lines": f"{sum(lines):,}: {lines[0]:,} of Python, {lines[1]:,} of kernels (Cython, with their types)",
        "functions": f"{functions:,}",
        "largest flat folder": f"{count} files (`{largest.relative_to(source).as_posix()}`)",
        "class names that occur twice": f"{sum(times > 1 for times in names.values())}",
    }


def stated(name: str) -> str:
    """What the page states about a row of the table of figures as it is now."""
    found = re.search(rf"(?m)^\| {name} \| [^|\n]* \| ([^|\n]*) \|$", PAGE.read_text(encoding="utf-8"))
    return found[1] if found else ""


def counted() -> str:
    """The page with its figures counted anew."""
    text = PAGE.read_text(encoding="utf-8")
    for name, figure in figures().items():
        text = re.sub(rf"(?m)^(\| {name} \| [^|\n]* \| )[^|\n]* \|$", rf"\g<1>{figure} |", text)
    return text


def page() -> str:
    """The page as it stands, with the tree made anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tree()}\n\n{END}{after}"


if __name__ == "__main__":
    for row, figure in figures(Path(sys.argv[1]) if sys.argv[1:] else SOURCE).items():
        print(f"{row}: {figure}")
