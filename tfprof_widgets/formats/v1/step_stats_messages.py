"""The messages of TensorFlow's first profiler (RunMetadata, GraphDef, OpLogProto), declared by hand -> protobuf classes.

Source: tensorflow/core/framework/step_stats.proto, graph.proto, attr_value.proto, core/profiler/tfprof_log.proto. Texts are
declared as bytes: names that are not UTF-8 are data, and a text field would refuse the whole file.
"""

from __future__ import annotations

from typing import Any

from ..wire.messages import Messages, Schema

CALL_STACK: Schema = {
    "Frame": (
        ("lineno", 2, "int32"),
        ("func_start_line", 5, "int32"),
        ("file_id", 6, "int64"),
        ("function_id", 7, "int64"),
        ("line_id", 8, "int64"),
    ),
    "Stack": (("traces", 1, "Frame repeated"),),
    "IdToString": (("key", 1, "int64"), ("value", 2, "bytes")),
}
"""Where an op was made, and the texts that its frames name by number; an OpLogProto and a ProfileProto have both."""

_SCHEMA: Schema = {
    "Dim": (("size", 1, "int64"),),
    "Shape": (("dim", 2, "Dim repeated"), ("unknown_rank", 3, "bool")),
    "Allocation": (
        ("requested_bytes", 1, "int64"),
        ("allocated_bytes", 2, "int64"),
        ("allocator_name", 3, "bytes"),
    ),
    "Tensor": (("dtype", 1, "int32"), ("shape", 2, "Shape"), ("allocation_description", 4, "Allocation")),
    "Output": (("slot", 1, "int32"), ("tensor_description", 3, "Tensor")),
    "AllocationRecord": (("alloc_micros", 1, "int64"), ("alloc_bytes", 2, "int64")),
    "Allocator": (
        ("allocator_name", 1, "bytes"),
        ("total_bytes", 2, "int64"),
        ("peak_bytes", 3, "int64"),
        ("live_bytes", 4, "int64"),
        ("allocator_bytes_in_use", 5, "int64"),
        ("allocation_records", 6, "AllocationRecord repeated"),
    ),
    "MemoryStats": (("temp_memory_size", 1, "int64"), ("persistent_memory_size", 3, "int64")),
    "Node": (
        ("node_name", 1, "bytes"),
        ("all_start_micros", 2, "int64"),
        ("op_end_rel_micros", 4, "int64"),
        ("all_end_rel_micros", 5, "int64"),
        ("memory", 6, "Allocator repeated"),
        ("output", 7, "Output repeated"),
        ("timeline_label", 8, "bytes"),
        ("thread_id", 10, "uint32"),
        ("memory_stats", 12, "MemoryStats"),
        ("all_start_nanos", 13, "int64"),
        ("op_end_rel_nanos", 15, "int64"),
    ),
    "ThreadName": (("key", 1, "uint32"), ("value", 2, "bytes")),
    "Device": (("device", 1, "bytes"), ("node_stats", 2, "Node repeated"), ("thread_names", 3, "ThreadName repeated")),
    "StepStats": (("dev_stats", 1, "Device repeated"),),
    "RunMetadata": (("step_stats", 1, "StepStats"), ("partition_graphs", 3, "GraphDef repeated")),
    "ShapeList": (("shape", 7, "Shape repeated"),),
    "Attr": (("list", 1, "ShapeList"), ("type", 6, "int32"), ("shape", 7, "Shape")),
    "AttrEntry": (("key", 1, "bytes"), ("value", 2, "Attr")),
    "NodeDef": (
        ("name", 1, "bytes"),
        ("op", 2, "bytes"),
        ("input", 3, "bytes repeated"),
        ("device", 4, "bytes"),
        ("attr", 5, "AttrEntry repeated"),
    ),
    "GraphDef": (("node", 1, "NodeDef repeated"),),
    **CALL_STACK,
    "LogEntry": (
        ("name", 1, "bytes"),
        ("float_ops", 2, "int64"),
        ("types", 3, "bytes repeated"),
        ("code_def", 4, "Stack"),
    ),
    "OpLog": (("log_entries", 1, "LogEntry repeated"), ("id_to_string", 2, "IdToString repeated")),
}

_MESSAGES = Messages("tfprof_widgets.first_profiler", _SCHEMA)


def step_message(name: str) -> Any:
    """The protobuf class of one message of the schema: `RunMetadata`, `GraphDef`, `OpLog`, ..."""
    return _MESSAGES[name]
