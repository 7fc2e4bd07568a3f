"""read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from .chrome import read_chrome_trace
    from .hlo import HloModules, LiveBuffer, live_buffers, read_hlo_modules
    from .hlo_messages import FIELDS, Frames, MESSAGES, Texts
    from .opening import FailedHost, Hosts, MOST_NAMED, MOST_WHOLE, OneFile, Opened, Steps, find, open_traces
    from .places import (
        OP_LOG_NAME, UrlPath, failure, first_bytes, known_size, place_of, shown_url, step_numbers, without_secrets,
    )
    from .protobuf import (
        ByteView, BytesContent, FieldRows, FileContent, FramingError, Messages, PADDING, alike, fields, watched_reading,
    )
    from .saved import SAVED, SIDECAR, SavedProfile, parse_source_map, read_saved, read_source_map
    from .steps_file import WatchWriter, newest_watch, read_watch_log, steps_folder
    from .v1.op_graph import read_profile_proto
    from .v1.run_metadata import (
        StepStats, TensorLife, graph_nodes, read_op_log, read_step_stats, source_of, step_message,
    )
    from .v1.run_metadata_trace import (
        FLOW_IN, FLOW_OUT, MOST_LANES, Maker, TensorMakers, nested_lanes, places_of, read_run_metadata, step_trace,
        trace_of,
    )
    from .v1.timeline_json import read_timelines
    from .xspace import read_xspace
    from .xspace_events import EventBytes, RawStrings, follow_events, parse_space
# fmt: on

__getattr__, __dir__ = first_use(__name__)
