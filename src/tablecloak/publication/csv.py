"""Publications as CSV: codes (and labels), the number or the mark of a hidden cell, the status. Public.

::

    region,industry,turnover,status
    Total,Total,356365,published
    North,Food,x,hidden

`low,high` follow where some cells are intervals, `within` where some numbers are rounded or perturbed.
"""

from __future__ import annotations

import csv
import io

import numpy as np

from tablecloak.files import number_texts
from tablecloak.publication.publication import HIDDEN, Publication

BYTE_ORDER_MARK = "\ufeff"


def write_csv(publication: Publication) -> str:
    """The CSV text: decimal points, no digit groups, codes exactly as they are.

    A byte order mark leads it only where there is text beyond ASCII: spreadsheets need it to read that right.
    """
    columns = []
    for name, column in publication.columns().items():
        if name == publication.response_column:
            texts = publication.number_texts(column)
            for cell in np.flatnonzero(publication.is_status(HIDDEN)):
                texts[cell] = publication.symbol
        elif column.dtype.kind == "f":
            texts = ["" if text == "nan" else text for text in number_texts(column)]
        else:
            texts = column.tolist()
        columns.append([name, *texts])
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(zip(*columns, strict=True))
    text = file.getvalue()
    return text if text.isascii() else BYTE_ORDER_MARK + text
