"""The wire format of TensorFlow's profiler service, one method with its request and its response.

Source: tsl/profiler/protobuf/profiler_service.proto and profiler_options.proto.
"""

from __future__ import annotations

from ...formats.sidecar import SIDECAR
from ...formats.wire.messages import Messages

PROFILE_METHOD = "/tensorflow.ProfilerService/Profile"
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
    },
)
"""The XSpace travels as its bytes: whoever keeps it writes them to a file as they are."""
