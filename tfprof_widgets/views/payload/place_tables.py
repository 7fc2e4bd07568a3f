"""What each op belongs to (layer, source line, scope) -> a table beside the ops of a pack."""

from __future__ import annotations

from ...analysis.results import Results
from .wire import Rows, Table


def op_place_table(results: Results, rows: Rows) -> Table:
    """For each framework op its layer, source line and innermost scope, as rows of the meta object's lists, and its phases.

    `phase` is an index into `PHASES` of the layers, `line_phase` into `LINE_PHASES` of the lines.
    """
    return Table(
        {
            "layer": (results.layers.op_entry[rows], "i4"),
            "phase": (results.layers.op_phase[rows], "u1"),
            "line": (results.source_lines.op_entry[rows], "i4"),
            "line_phase": (results.source_lines.op_phase[rows], "u1"),
            "scope": (results.scopes.op_entry[rows], "i4"),
        }
    )
