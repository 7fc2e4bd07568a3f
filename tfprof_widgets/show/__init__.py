"""show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from .counters import (
        Positions, Tiles, compute_positions, compute_tiles, line_numbers, longest_of_runs, sample_events, sample_rows,
    )
    from .payload import Amount, MAX_BYTES, Payload
    from .library import KeptOnce, Library, built, limits_of, referred, shared_by, view_of
    from .link import Bookmark, LinkModel, bookmarks_from_json, bookmarks_to_json
    from .lists import (
        advice_list, hlo_graph_list, hlo_list, layer_list, memory_failure_meta, meta_of, plain, records,
        source_meta, structure_list,
    )
    from .live import LiveView
    from .outputs import hear_beside_cells, is_beside_cells
    from .pack import (
        PART_BYTES, Rows, Section, Table, TableCoder, as_text, pack_bytes,
    )
    from .page import dashboard_page, fallback_html, html_page, json_safe, live_page, script_safe, snapshot
    from .contents import activity, bounds_of, diff_content, first_view, typical_steps
    from .tables import FlowTiles, iterator_call_table, op_place_table, worker_step_table
    from .widgets import Dashboard, Timeline, TraceData, TreeView, close_unseen, family
# fmt: on

__getattr__, __dir__ = first_use(__name__)
