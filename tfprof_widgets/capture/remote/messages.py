"""The wire format of TensorFlow's profiler service, one method with its request and its response, and of one of our own.

Source: tsl/profiler/protobuf/profiler_service.proto and profiler_options.proto; `Steps...` are ours.
"""

from __future__ import annotations

from ...formats.sidecar import SIDECAR
from ...formats.wire.messages import Messages

PROFILE_METHOD = "/tensorflow.ProfilerService/Profile"
STEPS_METHOD = "/tfprof_widgets.StepService/Since"
"""The steps that a worker with `serve()` has noted, from an ordinal on."""
SOURCES_TOOL = SIDECAR
"""A worker that runs `serve()` sends what it noted of its program beside the trace, to whoever asks for this tool."""
TOKEN_KEY = "tfprof-token-bin"
"""Metadata of a request, which the protocol leaves to others: the token, as UTF-8. TensorFlow's client cannot send any."""
XSPACE_TOOL = "xplane.pb"
"""How TensorFlow's own client names a trace that it is to save."""

MESSAGES = Messages(
    "tfprof_widgets.remote",
    {
        "ProfileOptions": (
            ("host_tracer_level", 2, "uint32"),
            ("device_tracer_level", 3, "uint32"),
            ("python_tracer_level", 4, "uint32"),
            ("version", 5, "uint32"),
            ("enable_hlo_proto", 7, "bool"),
            ("start_timestamp_ns", 8, "uint64"),
            ("duration_ms", 9, "uint64"),
        ),
        "ProfileRequest": (
            ("duration_ms", 1, "uint64"),
            ("max_events", 2, "uint64"),
            ("tools", 3, "string repeated"),
            ("opts", 4, "ProfileOptions"),
            ("repository_root", 5, "string"),
            ("session_id", 6, "string"),
            ("host_name", 7, "string"),
            ("emit_xspace", 9, "bool"),
        ),
        "ProfileToolData": (("name", 1, "string"), ("data", 2, "bytes")),
        "ProfileResponse": (
            ("tool_data", 6, "ProfileToolData repeated"),
            ("empty_trace", 7, "bool"),
            ("xspace", 8, "bytes"),
        ),
        "StepsRequest": (("since", 1, "uint64"),),
        "StepsResponse": (
            ("rows", 1, "bytes"),
            ("first", 2, "uint64"),
            ("n_steps", 3, "uint64"),
            ("host_name", 4, "string"),
            ("process_id", 5, "uint32"),
            ("started_ns", 6, "uint64"),
            ("idle_s", 7, "double"),
        ),
    },
)
"""The XSpace travels as its bytes: whoever keeps it writes them to a file as they are. So do rows of steps, as
`trace.watched.STEP` has them; `first` is the ordinal of the first, `started_ns` tells one process at an address from the next."""
