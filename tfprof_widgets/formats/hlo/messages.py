"""A serialised HLO module -> its message, declared by hand as far as the analyses read it.

Source: xla/service/hlo.proto and xla/xla_data.proto of OpenXLA.
"""

from __future__ import annotations

from typing import Any

from ...errors import TraceError
from ..wire.messages import Messages

# Text is declared as bytes: one name that is not UTF-8 must not cost the module. Literals and layouts of tiles are left out:
# they are the bulk of a module and say nothing about cost. Buffers are read apart, when asked for.
_SCHEMA: dict[str, tuple[tuple[str, int, str], ...]] = {
    "Layout": (("minor_to_major", 1, "int64 repeated"),),
    "Shape": (
        ("element_type", 2, "int32"),
        ("dimensions", 3, "int64 repeated"),
        ("tuple_shapes", 4, "Shape repeated"),
        ("layout", 5, "Layout"),
    ),
    "OpMetadata": (
        ("op_type", 1, "bytes"),
        ("op_name", 2, "bytes"),
        ("source_file", 3, "bytes"),
        ("source_line", 4, "int32"),
        ("stack_frame_id", 15, "int32"),
    ),
    "WindowDimension": (
        ("size", 1, "int64"),
        ("stride", 2, "int64"),
        ("padding_low", 3, "int64"),
        ("padding_high", 4, "int64"),
        ("window_dilation", 5, "int64"),
        ("base_dilation", 6, "int64"),
    ),
    "Window": (("dimensions", 1, "WindowDimension repeated"),),
    "ConvolutionDimensions": (
        ("input_batch", 7, "int64"),
        ("input_feature", 8, "int64"),
        ("output_batch", 9, "int64"),
        ("output_feature", 10, "int64"),
        ("input_spatial", 11, "int64 repeated"),
        ("output_spatial", 12, "int64 repeated"),
    ),
    "DotDimensions": (("lhs_contracting", 1, "int64 repeated"),),
    "Instruction": (
        ("name", 1, "bytes"),
        ("opcode", 2, "bytes"),
        ("shape", 3, "Shape"),
        ("metadata", 7, "OpMetadata"),
        ("parameter_number", 9, "int64"),
        ("fusion_kind", 11, "bytes"),
        ("window", 15, "Window"),
        ("convolution_dimensions", 16, "ConvolutionDimensions"),
        ("custom_call_target", 28, "bytes"),
        ("dot_dimensions", 30, "DotDimensions"),
        ("id", 35, "int64"),
        ("operand_ids", 36, "int64 repeated"),
        ("called_computation_ids", 38, "int64 repeated"),
        ("backend_config", 43, "bytes"),
        ("feature_group_count", 50, "int64"),
        ("batch_group_count", 58, "int64"),
    ),
    "Computation": (
        ("name", 1, "bytes"),
        ("instructions", 2, "bytes repeated"),  # of `Instruction`: there are so many that NumPy decodes them
        ("id", 5, "int64"),
        ("root_id", 6, "int64"),
    ),
    "FileLocation": (("file_name_id", 1, "int32"), ("function_name_id", 2, "int32"), ("line", 3, "int32")),
    "StackFrame": (("file_location_id", 1, "int32"), ("parent_frame_id", 2, "int32")),
    "StackFrameIndex": (
        ("file_names", 1, "bytes repeated"),
        ("function_names", 2, "bytes repeated"),
        ("file_locations", 3, "FileLocation repeated"),
        ("stack_frames", 4, "StackFrame repeated"),
    ),
    "Module": (
        ("name", 1, "bytes"),
        ("computations", 3, "Computation repeated"),
        ("id", 5, "int64"),
        ("stack_frame_index", 17, "StackFrameIndex"),
    ),
    "Wrapped": (("hlo_module", 1, "Module"),),
    "Place": (("shape_index", 3, "int64 repeated"), ("instruction_id", 4, "int64")),
    "LogicalBuffer": (("id", 1, "int64"), ("size", 2, "int64"), ("defined_at", 3, "Place")),
    "Assigned": (("logical_buffer_id", 1, "int64"),),
    "Allocation": (
        ("size", 2, "int64"),
        ("is_thread_local", 3, "bool"),
        ("is_entry_computation_parameter", 5, "bool"),
        ("maybe_live_out", 7, "bool"),
        ("assigned", 9, "Assigned repeated"),
        ("is_constant", 12, "bool"),
    ),
    "HeapEvent": (("kind", 1, "int32"), ("buffer_id", 2, "int64"), ("share_with_canonical_id", 5, "int64")),
    "HeapTrace": (("events", 1, "HeapEvent repeated"),),
    "Buffers": (
        ("logical_buffers", 1, "LogicalBuffer repeated"),
        ("buffer_allocations", 3, "Allocation repeated"),
        ("heap_simulator_traces", 4, "HeapTrace repeated"),
    ),
    "NamedInstruction": (("name", 1, "bytes"), ("id", 35, "int64")),
    "NamedComputation": (("instructions", 2, "NamedInstruction repeated"),),
    "NamedModule": (("computations", 3, "NamedComputation repeated"),),
    "WithBuffers": (("hlo_module", 1, "NamedModule"), ("buffer_assignment", 3, "Buffers")),
    "Snapshot": (("hlo", 1, "Wrapped"),),
}
MESSAGES = Messages("tfprof_widgets.hlo", _SCHEMA)
FIELDS = {kind: {name: number for name, number, _ in fields} for kind, fields in _SCHEMA.items()}
"""The numbers of the fields of each message."""


def parse_module(data: bytes) -> Any:
    """The Module message of a blob, be it an HloProto (what profilers write), a bare HloModuleProto or an HloSnapshot.

    Raises:
        TraceError: the bytes are none of them, or truncated.
    """
    from google.protobuf.message import DecodeError

    for kind in ("Wrapped", "Module", "Snapshot"):
        try:
            message = MESSAGES[kind].FromString(data)
        except DecodeError:
            continue
        message = message.hlo if kind == "Snapshot" else message
        module = message if kind == "Module" else message.hlo_module
        if module.computations:
            return module
    raise no_module(data)


def no_module(data: bytes) -> TraceError:
    """The error for a blob that is no module."""
    return TraceError(f"{len(data)} bytes that start with {data[:8].hex(' ')} hold no HLO module: capture it again.")
