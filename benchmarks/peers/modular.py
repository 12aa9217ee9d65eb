"""The modular method of pytauargus (HiTaS with HiGHS) on tables with hierarchies.

It reads tables with codes: we write what a recognised grid of the table says (codes of each dimension as a tree), with
status, levels, costs and numbers of respondents, as a batch with `MOD`; its pattern is priced by our weights and
audited by us. Cells that may not be hidden because they are zero are not written: to the peer they are empty.

What must be known about it (version 0.6.0): costs are scaled to whole numbers up to 20,000; limits are whole minutes
for each subtable; bounds of an outsider are its own (0 and a multiple of the largest value). It takes one table of up
to four dimensions, and no linked ones.
"""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from peers import process
from tablecloak import Problem, Suppression, audit
from tablecloak.arrays import Bools, Ints
from tablecloak.attacker import structure_of

SCRIPT = process.SCRIPTS / "pytauargus_modular.py"
MINUTES = 1
"""The limit for a subtable, the default of tau-ARGUS."""
MANY = 10
"""Number of respondents of cells where it is not known: no singletons."""
MOST_DIMENSIONS = 4
HIDDEN = frozenset({"3", "4", "5", "6", "9", "11", "12"})
"""The status numbers of sensitive and complementary cells."""


@dataclass(frozen=True)
class ModularRun:
    """What the peer did with a problem."""

    status: str
    seconds: float
    hidden: Bools | None = None
    open_cells: int | None = None


@dataclass(frozen=True)
class CodedTable:
    """A table as the peer reads it: the code of each cell in each dimension, and the parents of codes."""

    parents: tuple[tuple[int, ...], ...]
    coordinates: Ints

    @staticmethod
    def of(problem: Problem) -> CodedTable | None:
        """By the grid that its equations are; None where they are no single grid, or of too many dimensions."""
        blocks = structure_of(problem.table).blocks
        grid = blocks[0].grid if len(blocks) == 1 else None
        if grid is None or not 1 <= len(grid.shape) <= MOST_DIMENSIONS:
            return None
        coordinates = np.empty((len(problem.table), len(grid.shape)), dtype=np.int64)
        coordinates[blocks[0].cells] = grid.coordinates
        return CodedTable(tuple(tuple(each.tolist()) for each in grid.parents), coordinates)

    def name(self, dimension: int, code: int) -> str:
        """A code as written: all of a dimension have the same width, the total is "T"."""
        if code == 0:
            return "T"
        return f"c{code:0{len(str(len(self.parents[dimension])))}d}"

    def tree(self, dimension: int) -> list[str]:
        """The lines of the hierarchy file."""
        parents = self.parents[dimension]
        children: dict[int, list[int]] = {}
        for code, parent in enumerate(parents):
            children.setdefault(parent, []).append(code)
        lines: list[str] = []
        stack = [(code, 0) for code in reversed(children.get(0, []))]
        while stack:
            code, depth = stack.pop()
            lines.append("@" * depth + self.name(dimension, code))
            stack += [(child, depth + 1) for child in reversed(children.get(code, []))]
        return lines

    def is_flat(self, dimension: int) -> bool:
        """Whether all codes are parts of the total."""
        return set(self.parents[dimension]) <= {-1, 0}


def modular(problem: Problem, *, singletons: bool, limit: float = 3600.0) -> ModularRun:
    """The peer's MOD on a problem, with the singleton rules of tau-ARGUS or without."""
    coded = CodedTable.of(problem)
    if coded is None:
        return ModularRun("not taken: no grid of hierarchies in up to 4 dimensions", 0.0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(problem, coded, folder, singletons)
        said = process.ask("pytauargus", SCRIPT, {"folder": name}, limit)
        if said.answer is None:
            return ModularRun(said.status, said.seconds)
        seconds = float(said.answer["seconds"])
        if said.answer["message"]:
            return ModularRun(f"error: {said.answer['message'][:150]}", seconds)
        hidden = _read(problem, coded, folder / "out.csv")
    found = audit(problem, Suppression.copy_of(hidden))
    return ModularRun("finished", seconds, hidden, int(found.open_cells.size))


def _write(problem: Problem, coded: CodedTable, folder: Path, singletons: bool) -> None:
    """The table, its description, the hierarchies and the batch."""
    table, count = problem.table, len(coded.parents)
    names = [f"v{d}" for d in range(count)]
    described = ['<SEPARATOR> ";"', '<SAFE> "S"', '<UNSAFE> "U"', '<PROTECT> "P"']
    for d, name in enumerate(names):
        described += [name, "  <RECODEABLE>", '  <TOTCODE> "T"']
        if not coded.is_flat(d):
            (folder / f"{name}.hrc").write_text("\n".join(coded.tree(d)) + "\n")
            described += [
                "  <HIERARCHICAL>",
                f'  <HIERCODELIST> "{folder / name}.hrc"',
                '  <HIERLEADSTRING> "@"',
            ]
    for name, kind in (("value", ""), ("cost", " <COSTVAR>"), ("lower", " <LOWERPL>"), ("upper", " <UPPERPL>")):
        described += [name, f"  <NUMERIC>{kind}", f"  <DECIMALS> {table.decimals}"]
    described += ["freq", "  <FREQUENCY>", "status", "  <STATUS>"]
    (folder / "table.rda").write_text("\n".join(described) + "\n")
    respondents = table.respondents
    known = np.full(len(table), MANY) if respondents is None or not singletons else respondents.count
    written = ~(problem.forced & (table.values == 0))
    rows = []
    for cell in np.flatnonzero(written).tolist():
        codes = [coded.name(d, int(coded.coordinates[cell, d])) for d in range(count)]
        sensitive = bool(problem.sensitive[cell])
        status = "U" if sensitive else "P" if problem.forced[cell] else "S"
        lower, upper = (problem.levels.lower[cell], problem.levels.upper[cell]) if sensitive else (0.0, 0.0)
        figures = (table.values[cell], problem.weights[cell], lower, upper)
        rows.append(";".join([*codes, *(repr(float(figure)) for figure in figures), str(max(int(known[cell]), 1)), status]))
    (folder / "table.tab").write_text("\n".join(rows) + "\n")
    rules = "1,1,1" if singletons else "0,0,0"
    explanatory = "".join(f'"{name}"' for name in names)
    (folder / "job.arb").write_text(
        f'<OPENTABLEDATA> "{folder / "table.tab"}"\n<OPENMETADATA> "{folder / "table.rda"}"\n'
        f'<SPECIFYTABLE> {explanatory}|"value"||"cost"\n<SAFETYRULE>\n<READTABLE> 2\n'
        f"<SUPPRESS> MOD(1,{MINUTES},{rules})\n"
        f'<WRITETABLE> (1,3,AS+,"{folder / "out.csv"}")\n'
    )


def _read(problem: Problem, coded: CodedTable, path: Path) -> Bools:
    """The cells that the peer hides, those that must be hidden among them."""
    count = len(coded.parents)
    place = {
        tuple(coded.name(d, int(code)) for d, code in enumerate(codes)): cell
        for cell, codes in enumerate(coded.coordinates.tolist())
    }
    hidden = problem.must_hide.copy()
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines):
            codes = tuple(text.strip() or "T" for text in row[:count])
            cell = place.get(tuple("T" if text == "Total" else text for text in codes))
            if cell is not None and row[-1].strip() in HIDDEN:
                hidden[cell] = True
    return hidden
