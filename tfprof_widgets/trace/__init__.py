"""`Trace` and what belongs to it: nesting, merging, graphs, the source map, facts of the capture. No files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from .arrays import Bool, Float64, Int64, UInt8
    from .building import MAX_DAYS, days_from_most, host_names, merge_traces, of_host, with_host
    from .capture_facts import (
        AFTER_WINDOW, COMPILED, CaptureCost, CaptureFacts, EPOCH_BEGIN, Failure, Interference, OTHER, PROFILED, XLA_COMPILED,
        SAMPLE_COLUMNS, STEP, Steps, TRAIN, VALIDATION, WatchLog, all_decoded, clean_text, decoded, document, of_keras,
        texts, unpacked, unrecorded_notice, whole,
    )
    from .op_graph import GRAPH_TABLES, MOST_FLOAT_OPS, OpGraph, make_op_graph, merge_op_graphs
    from .scratch import KEPT_BYTES, KEPT_S, Owner
    from .source_map import (
        SOURCE_TABLES, SourceMap, empty_source_map, files_in_part, lines_known, made_source_map, merge_source_maps,
        parse_shapes, table_frame,
    )
    from .stats import StatTable, StatValues, Stats, packed_stats, packed_values, ranges
    from .trace import DERIVED_LINE_BASE, Line, Nesting, Session, StatKind, Trace, dtype_name, nest
# fmt: on

__getattr__, __dir__ = first_use(__name__)
