"""HLO categories of TPU ops -> what kind of step time each stands for.

Source: semantics 1.4, 5.4, 10.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...trace.trace import Bool, Int32, StatKind, Trace, UInt8
from .step_spans import SpanType

_TENSOR_CORE = re.compile(r"/device:TPU:\d+")
_COLLECTIVE = re.compile(r"all-(reduce|gather|to-all)|reduce-scatter|collective|ragged-all-to-all")
_TRANSFERS = {
    "infeed": SpanType.HOST_TO_DEVICE,
    "host recv": SpanType.HOST_TO_DEVICE,
    "outfeed": SpanType.DEVICE_TO_HOST,
    "host send": SpanType.DEVICE_TO_HOST,
    "recv": SpanType.DEVICE_TO_DEVICE,
    "send": SpanType.DEVICE_TO_DEVICE,
}
_OFF_DUTY = ("infeed", "outfeed", "host send", "host recv", "async-done", "megacore fusion")


def tensor_cores(trace: Trace) -> list[int]:
    """Indices of the planes that are TensorCores; parts of them (`SparseCore`) and chips are none."""
    return [i for i, plane in enumerate(trace.planes) if _TENSOR_CORE.fullmatch(plane.name)]


def on_core_line(trace: Trace, name: str) -> Bool:
    """For each event whether it lies on the line of that name (`Steps`, `XLA Modules`, `XLA Ops`) of a TensorCore."""
    cores = set(tensor_cores(trace))
    return trace.on_lines([line.plane in cores and line.name == name for line in trace.lines])


def tpu_span_types(trace: Trace) -> UInt8:
    """The `SpanType` of each TensorCore op: waiting for input or output, talking to other devices, or computing.

    Differs from XProf: collectives are a category of their own rather than part of compute, and what a chip exchanges with
    the host outside of feeds (`host send`, `host recv`) is output and input.
    """
    types = np.full(trace.n_events, SpanType.NONE, np.uint8)
    ops = on_core_line(trace, "XLA Ops")
    if ops.any():
        kinds = np.array([_span_type(category) for category in _categories(trace)], np.uint8)
        types[ops] = kinds[trace.metadata_id[ops]]
    return types


def on_duty(trace: Trace) -> Bool:
    """For each event whether it is a TensorCore op that keeps its core busy rather than waiting for the host."""
    ops = on_core_line(trace, "XLA Ops")
    if not ops.any():
        return ops
    busy = np.array([_without_done(category) not in _OFF_DUTY for category in _categories(trace)], np.bool_)
    return ops & busy[trace.metadata_id]


def _span_type(category: str) -> SpanType:
    kind = _TRANSFERS.get(_without_done(category))
    if kind is not None:
        return kind
    return SpanType.COLLECTIVES if _COLLECTIVE.match(category) else SpanType.COMPUTE_32


def _without_done(category: str) -> str:
    """`recv-done` is as `recv`; `async-done` is a category of its own."""
    return category if category == "async-done" else category.removesuffix("-done")


def _categories(trace: Trace) -> Iterator[str]:
    """The HLO category of each row of the metadata table; where the file does not say, the opcode in its name."""
    rows = np.flatnonzero(
        (trace.metadata_stat_key == trace.string_ids.get("hlo_category", -1))
        & (trace.metadata_stat_kind == StatKind.STRING)
    )
    text = np.full(len(trace.display_name_id), -1, np.int64)
    text[np.searchsorted(trace.metadata_stat_offsets, rows, side="right") - 1] = trace.metadata_stat_bits[rows]
    names = _metadata_names(trace)
    for category, name in zip(text.tolist(), names.tolist(), strict=True):
        yield trace.strings[category] if category >= 0 else _opcode(trace.strings[name] if name >= 0 else "")


def _metadata_names(trace: Trace) -> Int32:
    names = np.full(len(trace.display_name_id), -1, np.int32)
    names[trace.metadata_id] = trace.name_id
    return names


def _opcode(name: str) -> str:
    """`%all-reduce.3 = f32[] all-reduce(...)` -> `all-reduce`."""
    return re.sub(r"(\.\d+)+$", "", name.partition(" = ")[0].strip().lstrip("%"))
