"""The command assess: from a table to a problem, handed on in cloak files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.cli.exit_codes import exit_codes
from tablecloak.cli.options import Confidential, Out, Quiet, Widen, named_value, read_settings, say
from tablecloak.cli.progress import drawing
from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.assessment import Insiders, Rule
    from tablecloak.model import Table


def assess(
    table: Annotated[Path, typer.Argument(metavar="TABLE.cloak", help="The table, as tabulate writes it.")],
    out: Out,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help='A rule and its parameters, "p-percent p=10", "frequency minimum=3", '
            '"dominance n=1 k=75 level=holdings"; repeatable.',
        ),
    ] = None,
    marks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Marks on single cells: .csv, or .hst.")
    ] = None,
    insiders: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help='Contributors as attackers: "default", or settings as in "largest=2 coalition=2".',
        ),
    ] = None,
    unions: Annotated[
        bool, typer.Option("--unions", help="Protect cells that are sensitive only together.")
    ] = False,
    weights: Annotated[
        str, typer.Option(metavar="NAME", help="What hiding costs: value, unit, log, contributors, a column.")
    ] = "value",
    power: Annotated[
        float | None, typer.Option(help="Raise weights to this power (Box-Cox; 0 is the logarithm).")
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIDE=PRICE",
            help="Price of a unit (up, down) or of touching a cell (touch): a column or a number; repeatable.",
        ),
    ] = None,
    manual_percent: Annotated[
        float, typer.Option(min=0.0, help="Levels of cells marked unsafe, in percent of the value.")
    ] = 20.0,
    missing_safe: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CODE", help="A code whose cells are never sensitive; repeatable."),
    ] = None,
    publish_zeros: Annotated[
        bool, typer.Option("--publish-zeros", help="Cells of value zero must be published.")
    ] = False,
    most_touched: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of cells that may be hidden or changed.")
    ] = None,
    widen: Widen = False,
    quiet: Quiet = False,
    show_confidential: Confidential = False,
) -> None:
    """Find the sensitive cells of a table, their levels and the attackers."""
    with exit_codes(show_confidential) as interrupts, drawing(quiet) as progress:
        from tablecloak.assessment import Marks
        from tablecloak.assessment import assess as run
        from tablecloak.files import check_writable, write_files
        from tablecloak.formats import write_cloak
        from tablecloak.job import chosen_weights, described

        check_writable([out], inputs=[path for path in (table, marks) if path])
        rules, attackers = _rules(rule or [], bool(marks)), _insiders(insiders)
        progress("assess", 0, 1)
        read = _read_table(table)
        problem = run(
            read,
            rules,
            marks=Marks.of(read, marks) if marks else None,
            insiders=attackers,
            unions=unions,
            weights=chosen_weights(read, weights, power),
            prices=dict(named_value("--price", each, "PRICE") for each in price) if price else None,
            manual_percent=manual_percent,
            missing_safe=_codes(missing_safe or []),
            hide_zeros=not publish_zeros,
            most_touched=most_touched,
            widen=widen,
        )
        write_files({out: write_cloak(problem)}, commit=interrupts.commit)
    say("\n".join(described(problem)), quiet)


def _codes(given: Sequence[str]) -> dict[str, list[str]] | None:
    """Codes by dimension."""
    found: dict[str, list[str]] = {}
    for each in given:
        name, code = named_value("--missing-safe", each, "CODE")
        found.setdefault(name, []).append(code)
    return found or None


def _read_table(path: Path) -> Table:
    from tablecloak.formats import read_cloak
    from tablecloak.model import Table

    thing = read_cloak(path)
    if not isinstance(thing, Table):
        fault = "it holds a problem: this table has been assessed already"
        raise InputError(f"Cloak file {path}", [fault], advice="Give the file that tabulate wrote.")
    return thing


def _rules(given: Sequence[str], marked: bool) -> list[Rule]:
    """The rules of all options; every fault of all of them at once."""
    from tablecloak.assessment import rule_of

    rules, faults = list[Any](), list[str]()
    if not given and not marked:
        faults.append("there is no --rule and there are no --marks: nothing would be sensitive")
    for each in given:
        name, *words = each.split() or [""]
        try:
            rules.append(rule_of({"rule": name} | read_settings(f"--rule {each}", words)))
        except InputError as error:
            own = error.what == "Options"
            hint = f" ({error.advice.rstrip('.')})" if error.advice else ""
            faults += [fault if own else f"--rule {each}: {fault}{hint}" for fault in error.faults]
    if faults:
        raise InputError("Options", faults)
    return rules


def _insiders(given: str | None) -> Insiders | None:
    from dataclasses import fields

    from tablecloak.assessment import Insiders
    from tablecloak.job import meant

    if given is None:
        return None
    words = [] if given.strip().lower() in ("default", "yes") else given.split()
    settings = read_settings("--insiders", words)
    known = [field.name for field in fields(Insiders)]
    faults = [
        f"--insiders: there is no setting {name!r}{meant(name, known)}"
        for name in settings
        if name not in known
    ]
    if faults:
        raise InputError("Options", faults)
    return Insiders(**settings)
