"""Confidential HTML pages from templates that share one head: its styles, its policy and its warning.

A page's template extends ``templates/confidential.html``, which says CONFIDENTIAL in the title and at the top, and
whose policy lets nothing in from elsewhere: styles and pictures inside the page only, and of scripts only the page's
own, by its digest. Templates are read from the package, wherever it lies.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined


def confidential_page(template: str, context: Mapping[str, Any]) -> str:
    """The page of a template in ``templates/``, filled in. The same context gives the same bytes.

    `context` holds a ``title`` and what the template asks for; what is missing is an error.
    """
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = _script_digest(_source(template))
    return environment.get_template(template).render({**context, "script_digest": script})


def _source(template: str) -> str:
    return files("tablecloak.reports").joinpath("templates", template).read_text(encoding="utf-8")


def _script_digest(source: str) -> str:
    """The digest of the one script of a template, for the policy; nothing where there is none."""
    _, there, rest = source.partition("<script>")
    script = rest.partition("</script>")[0]
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii") if there else ""
