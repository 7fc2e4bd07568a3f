"""A run and a query -> rows, as a table or JSON; without a query what can be asked for."""

from __future__ import annotations

import argparse

from .one_run import open_run
from .terminal import write_json, write_text


def print_rows(options: argparse.Namespace) -> int:
    """Print the rows that a query gives, or the tables that there are."""
    from ..views.payload.plain import records

    run = open_run(options.run)
    if options.query is None:
        tables = run.tables
        if options.json:
            write_json(records(tables.frame))
        else:
            write_text(str(tables))
        return 0
    rows = run.sql(options.query)
    if options.json:
        write_json(records(rows))
    else:
        write_text(rows.to_string(index=False, max_colwidth=60))
    return 0
