"""The documentation is true: every example runs, every printed line is the real one, every link leads somewhere.

Conventions of a page (README.md, CONTRIBUTING.md and all of docs/):

- a ``python`` block is run; the blocks of a page share one namespace and one empty folder;
- a ``text output`` block directly after it is what it prints (a block that prints must have one);
- a ``console`` block is run too: after ``$`` a command of tablecloak, ``cat FILE`` or ``echo $?``, then what it says;
- other blocks are not run;
- the help of the commands stands between ``<!-- help: ... -->`` and ``<!-- end of help -->``.

``python tests/test_docs.py --write`` rewrites printed lines and help texts; look at the difference before you commit.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import api_reference
import source_map
import tablecloak
import test_conformance
from fixtures import FIXTURES
from tablecloak.cli import exit_codes
from tablecloak.cli.app import app
from tablecloak.methods import METHODS
from tablecloak.reports import audit_record, exposure_record, result_record

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
COMMAND_LINE = ROOT / "docs" / "command-line.md"
PAGES_TEXT = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
EVERY_METHOD = pytest.mark.parametrize("method", list(METHODS))

RULE = (
    "A protected table is a statement of what an outsider may know: an interval for every cell. "
    "Every method produces one; the audit judges it; publication prints it."
)
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)
HELP = re.compile(r"(<!-- help: ([^>]*?) -->\n```text\n)(.*?)(```\n<!-- end of help -->)", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
SECONDS = re.compile(r"\b\d+\.\d+ s\b|(?<=\"seconds\": )[-+.e\d]+")
COLUMNS = "100"


# ---------------------------------------------------------------------- reading and running a page


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: what stands after the fence, its text, and where the text is."""

    kind: str
    text: str
    start: int
    stop: int
    line: int


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page in their order."""
    return [
        Block(
            found[1].strip(), found[2], found.start(2), found.end(2), text[: found.start(2)].count("\n") + 1
        )
        for found in FENCE.finditer(text)
    ]


def run_page(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in an empty folder; yields each block of printed lines with the real ones."""
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    namespace: dict[str, Any] = {"__name__": f"docs_{page.stem}"}
    with chdir(folder):
        for block, after in zip_longest(blocks, blocks[1:]):
            if block.kind == "console":
                yield block, console(block.text)
            if block.kind != "python":
                continue
            printed = StringIO()
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec", dont_inherit=True)
            with redirect_stdout(printed):
                exec(code, namespace)
            follows = after is not None and after.kind == "text output"
            if follows and not text[block.stop : after.start].partition("\n")[2].strip().removesuffix(
                "```text output"
            ):
                yield after, printed.getvalue()
            else:
                assert not printed.getvalue(), (
                    f"{page.name}, line {block.line}: prints, but shows no text output"
                )


def console(text: str) -> str:
    """A console block as it would really look."""
    lines, code = [], 0
    for command in (line[2:] for line in text.splitlines() if line.startswith("$ ")):
        output, code = run_command(command, code)
        lines += [f"$ {command}", *output.rstrip("\n").splitlines()]
    return "\n".join(lines) + "\n"


def run_command(command: str, code: int) -> tuple[str, int]:
    """What a command prints, and its exit code."""
    match shlex.split(command):
        case ["tablecloak", *arguments]:
            return run_tablecloak(arguments)
        case ["cat", name]:
            return Path(name).read_text(encoding="utf-8"), 0
        case ["echo", "$?"]:
            return str(code), 0
    raise AssertionError(f"console blocks do not know the command {command!r}")


def run_tablecloak(arguments: list[str]) -> tuple[str, int]:
    """The program in this process, both streams in one text."""
    printed, code = StringIO(), 0
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            app(arguments, prog_name="tablecloak")
        except SystemExit as ended:
            code = int(ended.code or 0)
    return printed.getvalue(), code


def timeless(text: str) -> str:
    """The text without seconds, and without blanks at the ends of lines."""
    return "\n".join(line.rstrip() for line in SECONDS.sub("0.00 s", text).strip().splitlines())


def help_of(command: str) -> str:
    return run_tablecloak([*shlex.split(command)[1:], "--help"])[0].strip() + "\n"


def words(text: str) -> str:
    """A help text as words: no line ends, braces and names of types, which change with versions of typer."""
    return " ".join(re.sub(r"<[^>]*>|[{}\\]|\b[A-Z]+( RANGE)?(?=  )", " ", text).split())


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", COLUMNS)


# ---------------------------------------------------------------------- examples


@EVERY_PAGE
def test_every_example_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for block, printed in run_page(page, tmp_path):
        where = f"{page.relative_to(ROOT)}, line {block.line} (python tests/test_docs.py --write rewrites it)"
        assert timeless(block.text) == timeless(printed), where


def test_the_example_of_the_readme_is_short() -> None:
    example = next(block for block in blocks_of(PAGES_TEXT["README.md"]) if block.kind == "python")
    assert len(example.text.splitlines()) <= 12


@pytest.mark.parametrize("fixture", [*FIXTURES])
def test_the_method_of_the_page_on_extending_conforms(fixture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "suppress-peel", method_of_the_page())
    test_conformance.test_every_method_protects_every_kind_of_table("suppress-peel", fixture)


def test_the_method_of_the_page_on_extending_refuses_and_stops_as_it_should(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(METHODS, "suppress-peel", method_of_the_page())
    test_conformance.test_same_seed_same_pattern("suppress-peel", "three way")
    test_conformance.test_infeasible_levels_name_the_cells_and_what_is_in_the_way("suppress-peel")
    test_conformance.test_a_method_stopped_at_once_still_returns_a_safe_pattern("suppress-peel")
    test_conformance.test_bound_on_touched_cells_is_kept_or_refused("suppress-peel")
    test_conformance.test_unknown_and_wrong_parameters_are_listed_together("suppress-peel")


def method_of_the_page() -> Any:
    """What the first block of the page on extending defines."""
    block = next(block for block in blocks_of(PAGES_TEXT["docs/extending.md"]) if block.kind == "python")
    namespace: dict[str, Any] = {"__name__": "docs_extending"}
    exec(compile(block.text, "docs/extending.md", "exec", dont_inherit=True), namespace)
    return namespace["peel"]


@pytest.mark.parametrize("part", ["A primal heuristic", "A separator", "A rule"])
def test_the_examples_of_the_page_on_extending_are_short(part: str) -> None:
    chapter = PAGES_TEXT["docs/extending.md"].split(f"\n## {part}\n")[1].partition("\n## ")[0]
    definition, use = [block.text for block in blocks_of(chapter) if block.kind == "python"][:2]
    assert len([line for line in f"{definition}{use}".splitlines() if line.strip()]) < 30


def test_every_word_of_the_glossary_is_explained_once() -> None:
    chapters = PAGES_TEXT["docs/glossary.md"].partition("\n## Programs")[0]
    terms = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]*\|$", chapters, re.MULTILINE)
    listed = [term for term in terms if term != "term"]
    assert {"cut", "separation", "incumbent", "witness"} <= set(listed)
    assert sorted(set(listed)) == sorted(listed)


def test_the_picture_tells_the_truth() -> None:
    rows, columns = ["North", "Centre", "South"], ["Food", "Metal", "Trade"]
    grid = tablecloak.Dimension.flat("row", rows), tablecloak.Dimension.flat("column", columns)
    values = [34, 21, 18, 12, 27, 9, 25, 16, 30]
    cells = {"row": np.repeat(rows, 3), "column": np.tile(columns, 3), "value": values}
    table = tablecloak.Table.from_cells(grid, cells, recompute=True)
    level = np.where(table.values == 9, 5.0, 0.0)
    problem = tablecloak.Problem.of(table, level > 0, tablecloak.Levels.of(len(table), level, level))
    result = tablecloak.protect(problem, "suppress-compact")
    found = tablecloak.audit(problem, result.pattern, intervals=True)
    picture = (ROOT / "docs" / "picture.svg").read_text(encoding="utf-8")
    left, right = (re.findall(r'class="v">(\w+)<', half) for half in picture.split("The protected table"))
    shown = [f"{value:g}" for value in totals_last(table.values)]
    assert left == ["x" if value == "9" else value for value in shown]
    masked = totals_last(result.pattern.hidden)
    assert right == ["x" if hidden else value for value, hidden in zip(shown, masked, strict=True)]
    assert f"from {found.low[0]:g} to {found.high[0]:g}<" in picture
    assert f"{48} − {12} − {27} = {48 - 12 - 27}<" in picture


def totals_last(cells: Any) -> Any:
    """The cells of a 4 x 4 table, row by row, with the totals at the end."""
    return np.roll(np.asarray(cells).reshape(4, 4), (-1, -1), axis=(0, 1)).ravel()


# ---------------------------------------------------------------------- what pages must say


@EVERY_PAGE
def test_the_one_rule_comes_first(page: Path) -> None:
    opening = page.read_text(encoding="utf-8").partition("\n## ")[0]
    quoted = " ".join(line.removeprefix(">").strip() for line in opening.splitlines() if line.startswith(">"))
    assert RULE in quoted.replace("**", "")


def test_the_one_rule_is_that_of_the_package() -> None:
    assert RULE in " ".join((tablecloak.__doc__ or "").split())


def test_the_readme_leads_to_every_page() -> None:
    index = [*targets(ROOT / "README.md"), *targets(ROOT / "docs" / "index.md")]
    reached = {path.resolve() for path, _ in index}
    assert not [
        page for page in PAGES if page.resolve() not in reached and page.name not in ("README.md", "index.md")
    ]
    assert (ROOT / "docs" / "limitations.md") in {path.resolve() for path, _ in targets(ROOT / "README.md")}


def targets(page: Path) -> list[tuple[Path, str]]:
    """The relative links and pictures of a page: path and anchor."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    found = [one or other for one, other in LINK.findall(text)]
    split = [link.partition("#") for link in found if "://" not in link and not link.startswith("mailto:")]
    return [(page.parent / path if path else page, anchor) for path, _, anchor in split]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on the common hosts of Markdown."""
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@EVERY_PAGE
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = [f"{path}#{anchor}" for path, anchor in targets(page) if not path.exists()]
    lost += [
        f"{path}#{anchor}"
        for path, anchor in targets(page)
        if anchor and path.suffix == ".md" and path.exists() and anchor not in anchors(path)
    ]
    assert not lost


@EVERY_METHOD
def test_every_method_has_a_page_with_its_parameters_and_its_tests(method: str) -> None:
    page = ROOT / "docs" / "methods" / f"{method}.md"
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {method}\n")
    headings = set(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert {"Idea", "Model", "Guarantee", "Limits", "Parameters", "Reference", "Tests"} <= headings
    for item in fields(METHODS[method].params):
        assert f"`{item.name}` | `{item.default}`" in text
    tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
    assert tests
    assert not [test for test in tests if not (ROOT / test).is_file()]
    named = [test for test in tests if method in (ROOT / test).read_text(encoding="utf-8")]
    assert named or "METHODS" in "".join((ROOT / test).read_text(encoding="utf-8") for test in tests)


# ---------------------------------------------------------------------- the command line


def test_the_help_of_every_command_is_the_real_one() -> None:
    found = {command: text for _, command, text, _ in HELP.findall(PAGES_TEXT["docs/command-line.md"])}
    commands = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    assert list(found) == ["tablecloak", *(f"tablecloak {name}" for name in commands)]
    for command, text in found.items():
        assert words(text) == words(help_of(command)), f"{command}: run python tests/test_docs.py --write"


def test_every_exit_code_is_explained() -> None:
    codes = re.findall(r"^\| (\d+) \|", PAGES_TEXT["docs/command-line.md"], re.MULTILINE)
    listed = re.findall(r"^ +(\d+)  ", exit_codes.__doc__ or "", re.MULTILINE)
    assert codes == listed


def test_every_field_of_the_records_is_explained() -> None:
    grid = tablecloak.Dimension.flat("row", ["a", "b"]), tablecloak.Dimension.flat("column", ["c", "d"])
    cells = {"row": ["a", "a", "b", "b"], "column": ["c", "d", "c", "d"], "value": [5, 6, 7, 8]}
    problem = tablecloak.Problem.of(tablecloak.Table.from_cells(grid, cells, recompute=True), [4])
    result = tablecloak.protect(problem)
    records = {
        "protect": result_record(problem, result),
        "audit": audit_record(problem, tablecloak.audit(problem, result.pattern, intervals=True), True),
        "exposure": exposure_record(problem, tablecloak.exposure(problem)),
    }
    for command, record in records.items():
        chapter = (
            PAGES_TEXT["docs/command-line.md"].split(f"### The record of {command}\n")[1].partition("\n##")[0]
        )
        assert re.findall(r"^\| `(\w+)` \|", chapter, re.MULTILINE) == list(record)
    (interval,) = records["audit"]["intervals"]
    assert all(f"`{name}`" in PAGES_TEXT["docs/command-line.md"] for name in interval)


# ---------------------------------------------------------------------- the reference


def test_the_reference_has_every_public_name_and_is_up_to_date() -> None:
    listed = [name for names in api_reference.CHAPTERS.values() for name in names]
    assert sorted(listed) == sorted(tablecloak.__all__)
    real = api_reference.api_page()
    assert PAGES_TEXT["docs/api.md"] == real, "run python tests/test_docs.py --write"


def test_the_source_map_is_up_to_date() -> None:
    assert PAGES_TEXT["docs/source-map.md"] == source_map.page(), "run python tests/test_docs.py --write"
    named = set(re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", PAGES_TEXT["docs/source-map.md"]))
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_figures_of_the_source_map_are_counted() -> None:
    """To one percent: every change of the source changes them; ``--write`` counts them anew."""
    for name, figure in source_map.figures().items():
        told, real = (
            [int(one.replace(",", "")) for one in re.findall(r"\d[\d,]*", text)]
            for text in (source_map.stated(name), figure)
        )
        assert told == pytest.approx(real, rel=0.01), f"{name}: run python tests/test_docs.py --write"


def test_the_ten_questions_name_things_that_are_there() -> None:
    chapter = PAGES_TEXT["docs/source-map.md"].split("## Ten questions\n")[1].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", chapter, re.MULTILINE)
    assert len(rows) == 10
    assert all(re.search(r"`src/tablecloak/[\w./]+`", where) for _, where in rows)
    for _, where in rows:
        for path, names in re.findall(r"`(src/[\w/]+\.py)`, (`\w+`(?: and `\w+`)*)", where):
            source = (ROOT / path).read_text(encoding="utf-8")
            for name in re.findall(r"\w+", names.replace(" and ", " ")):
                assert re.search(rf"^(?:def|class) {name}\b", source, re.MULTILINE), (path, name)


# ---------------------------------------------------------------------- versions


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["version"] == tablecloak.__version__
    assert re.search(r"^version: \"?([\w.]+)\"?$", citation, re.MULTILINE)[1] == tablecloak.__version__
    assert re.search(r"^license: (\S+)$", citation, re.MULTILINE)[1] == project["license"]
    assert f"## [{tablecloak.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------------- rewriting


def rewrite(page: Path) -> None:
    """Put the real printed lines and help texts into a page; lines that differ in seconds only stay."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        found = list(run_page(page, Path(folder)))
    for block, printed in reversed(found):
        if timeless(block.text) != timeless(printed):
            lines = "".join(f"{line.rstrip()}\n" for line in printed.rstrip("\n").splitlines())
            text = text[: block.start] + lines + text[block.stop :]
    text = HELP.sub(lambda old: f"{old[1]}{help_of(old[2])}{old[4]}", text)
    if text != page.read_text(encoding="utf-8"):
        page.write_text(text, encoding="utf-8")
        print(f"rewritten: {page.relative_to(ROOT)}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        raise SystemExit(f"usage: python {sys.argv[0]} --write")
    os.environ["COLUMNS"] = COLUMNS
    api_reference.PAGE.write_text(api_reference.api_page(), encoding="utf-8")
    source_map.PAGE.write_text(source_map.counted(), encoding="utf-8")
    source_map.PAGE.write_text(source_map.page(), encoding="utf-8")
    for changed in PAGES:
        rewrite(changed)
