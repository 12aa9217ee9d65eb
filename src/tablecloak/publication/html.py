"""Publications as one HTML page that needs nothing else: no network, and no scripts to be read. Public.

The first dimension goes down, the last one across; both fold and unfold. Each combination of codes of the
dimensions between them has a table of its own: all of them are on the page, boxes choose the one to look at.
Without scripts everything is unfolded, one table below the other. The page holds the tables and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from tablecloak.arrays import Ints
from tablecloak.publication.layout import grid, sections
from tablecloak.publication.publication import (
    HIDDEN,
    INTERVAL,
    NOTHING,
    THIN_SPACE,
    Publication,
    PublicDimension,
)

_CLASS = {HIDDEN: "x", INTERVAL: "i"}


def write_html(publication: Publication) -> str:
    """The text of the page."""
    from jinja2 import Environment, StrictUndefined

    source = files("tablecloak.publication").joinpath("templates", "public.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(source).render(_content(publication))


def _content(publication: Publication) -> dict[str, Any]:
    """What the template fills in: texts, levels and positions of codes."""
    dimensions = publication.dimensions
    rows, further = dimensions[0], dimensions[1:-1]
    columns = dimensions[-1] if len(dimensions) > 1 else None
    heads = [(publication.response, 0)]
    if columns is not None:
        heads = list(zip(columns.texts, columns.depth, strict=True))
    shape = (("rows", rows), ("columns", columns))
    texts = publication.texts(THIN_SPACE)
    kinds = [_CLASS.get(word, "") for word in publication.status.tolist()]
    printed = [*zip(kinds, texts, strict=True), ("n", NOTHING)]  # the last one is cell number -1: none
    return {
        "heading": publication.heading,
        "what": publication.description if publication.title else "",
        "note": publication.note,
        "symbol": publication.symbol,
        "legend": publication.legend(),
        "rows": rows,
        "columns": columns,
        "further": further,
        "axes": [(name, each) for name, each in shape if each is not None and each.has_levels],
        "heads": heads,
        "sections": [
            {
                "key": ",".join(map(str, key)),
                "title": _title(further, key) or publication.heading,
                "rows": _rows(publication, cells, printed),
            }
            for key, cells in sections(publication)
        ],
    }


def _rows(
    publication: Publication, cells: Ints, printed: Sequence[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """The rows of one table, one after the other."""
    laid, dimension = grid(publication, cells), publication.dimensions[0]
    for code, places in zip(laid.rows[:, 0].tolist(), laid.cells.tolist(), strict=True):
        depth = dimension.depth[code]
        yield {
            "code": code,
            "depth": depth,
            "strong": depth == 0 and dimension.has_levels,
            "text": dimension.texts[code],
            "cells": [printed[place] for place in places],
        }


def _title(further: Sequence[PublicDimension], key: Sequence[int]) -> str:
    parts = [
        f"{dimension.name}: {dimension.texts[code]}" for dimension, code in zip(further, key, strict=True)
    ]
    return ", ".join(parts)
