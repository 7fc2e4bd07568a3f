"""What each op belongs to (layer, source line, scope) and each step to (host) -> their part of a pack."""

from __future__ import annotations

from typing import Any

from ..analysis.results import Results
from .layer_meta import layer_meta
from .scope_meta import scope_meta
from .source_meta import source_meta
from .wire import Table
from .worker_tables import worker_meta, worker_step_table


def place_meta(results: Results) -> dict[str, Any]:
    """`layers`, `source_files`, `source_lines`, `source_samples`, `scopes`, `worker_hosts` and `worker_note`."""
    return {
        **layer_meta(results.layers),
        **source_meta(results.source_lines),
        **scope_meta(results.scopes),
        **worker_meta(results.workers),
    }


def place_tables(results: Results) -> dict[str, Table]:
    """`op_places` and `worker_steps`."""
    return {"op_places": op_place_table(results), "worker_steps": worker_step_table(results.workers)}


def op_place_table(results: Results) -> Table:
    """For each framework op its layer, source line and innermost scope, as rows of the meta object's lists, and its phases.

    `phase` is an index into `PHASES` of the layers, `line_phase` into `LINE_PHASES` of the lines.
    """
    return Table(
        {
            "layer": (results.layers.op_entry, "i4"),
            "phase": (results.layers.op_phase, "u1"),
            "line": (results.source_lines.op_entry, "i4"),
            "line_phase": (results.source_lines.op_phase, "u1"),
            "scope": (results.scopes.op_entry, "i4"),
        }
    )
