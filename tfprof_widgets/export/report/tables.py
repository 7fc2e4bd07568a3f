"""`Results` -> the tables of a report, each cut to its first rows; it says of how many, and where all of them are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ...analysis.base.units import US_PER_MS
from ...analysis.base.wording import amount, number, size
from ...analysis.columns.steps import CATEGORIES
from ...analysis.failure.memory_failure import MemoryFailure
from ...analysis.memory.memory_live import unknown_op
from ...analysis.results import AnyResults
from .figures import share
from .kernel_names import readable_kernel
from .markdown import code, sentence
from .part import Part, Row, file_name, part_of
from .structure import costly_stacks, costly_types, variables
from .subject import Room


def report_tables(results: AnyResults, room: Room) -> list[Part]:
    """Those that have rows, in the order of the report; what matters least comes last."""
    failure = results.memory_failure
    if failure is not None:
        return [part for part in _failed(failure, room) if part.rows]
    makers: tuple[Callable[[AnyResults, Room], Iterator[Part]], ...] = (
        breakdown,
        ops,
        costly_types,
        _lines,
        costly_stacks,
        _layers,
        variables,
        _iterators,
        kernels,
        _programs,
        _memory,
        _holders,
        _python,
    )
    return [part for make in makers for part in make(results, room) if part.rows]


def breakdown(results: AnyResults, room: Room) -> Iterator[Part]:
    """The categories of a step's time, the largest first."""
    frame = results.overview.breakdown
    frame = frame[frame["ms"] > 0].sort_values("ms", ascending=False, kind="stable")
    spread = {"standard deviation (ms)": "std_ms"} if results.overview.n_steps_averaged > 1 else {}
    yield from part_of(
        "What a step is made of",
        "prof.overview.breakdown",
        frame,
        {
            "category": lambda row: str(row["category"]).replace("_", " "),
            "mean (ms)": "ms",
            **spread,
            "of the step (%)": "ratio",
            "what it is": lambda row: CATEGORIES[row["category"]],
        },
        room=room,
    )


def ops(results: AnyResults, room: Room) -> Iterator[Part]:
    """The costliest ops, those of devices first: a step, where steps are averaged."""
    of_steps = not results.step_ops.empty
    frame = (
        results.step_ops if of_steps else results.ops.assign(self_time_ms=results.ops["total_self_time_us"] / US_PER_MS)
    )
    each = " a step" if of_steps else ""
    mean_us = {} if of_steps else {"mean self time (us)": "avg_self_time_us"}
    which = (
        "of the averaged steps, waiting for data left out; `prof.ops` is of the whole capture"
        if of_steps
        else "of the capture"
    )
    yield from part_of(
        f"Top ops by self time{each}",
        "prof.ops",
        frame,
        {
            "op": "name",
            "type": "type",
            "on": lambda row: str(row["device"]).lower(),
            f"self time{each} (ms)": "self_time_ms",
            "of its side's op time (%)": "self_time_ratio",
            **mean_us,
            "count": lambda row: amount(row["occurrences"]),
        },
        room=room,
        note=f"Ops of devices come first; a side is the host or all devices. Times are sums over all threads, {which}.",
    )


def _lines(results: AnyResults, room: Room) -> Iterator[Part]:
    frame = results.source_lines.frame
    is_code = frame["bucket"] == ""
    lines = frame[is_code]
    if lines.empty:
        return
    charged = lines["self_time_us"].sum() / max(frame["self_time_us"].sum(), 1e-9)
    rest = frame[~is_code].nlargest(3, "self_time_us")
    told = ", ".join(
        f"{sentence(row['bucket'], 60)} {number(row['self_time_us'] / 1e3)} ms" for row in rest.to_dict("records")
    )
    yield from part_of(
        "Costly source lines",
        "prof.source_lines",
        lines.sort_values("self_time_us", ascending=False, kind="stable"),
        {
            "line": lambda row: code(f"{file_name(row['file'])}:{row['line']}", room.name),
            "code": "code",
            "function": "function",
            "self time of its ops (ms)": "self_time_us",
            "of its side's op time (%)": "self_time_ratio",
            "gradients (ms)": "backward_time_us",
        },
        room=room,
        note=f"Of the whole capture. {share(charged)} of op time is charged to lines of code"
        + (f"; else: {told}." if told else "."),
    )


def _layers(results: AnyResults, room: Room) -> Iterator[Part]:
    if not (results.layers.entries["kind"] == "layer").any():
        return
    frame = results.layers.frame
    allocated = {"allocated": "allocated_bytes"} if (frame["allocated_bytes"] > 0).any() else {}
    yield from part_of(
        "Layers",
        "prof.layers",
        frame[(frame["self_time_us"] > 0) | (frame["allocated_bytes"] > 0)],
        {
            "layer": "layer",
            "class": "class_name",
            "on": lambda row: str(row["device"]).lower(),
            "forward (ms)": "forward_time_us",
            "backward (ms)": "backward_time_us",
            "optimizer, other (ms)": lambda row: number((row["optimizer_time_us"] + row["other_time_us"]) / 1e3),
            "of its side's op time (%)": "self_time_ratio",
            **allocated,
        },
        room=room,
        note="Self time of their ops, of the whole capture.",
        n_rows=len(frame),
    )


def _iterators(results: AnyResults, room: Room) -> Iterator[Part]:
    frame = results.input_pipeline.iterators
    frame = frame.sort_values("wait_time_ms", ascending=False, kind="stable")
    yield from part_of(
        "Input iterators",
        "prof.input_pipeline.iterators",
        frame,
        {
            "iterator": "long_name",
            "waited for (ms)": "wait_time_ms",
            "self time (ms)": "self_time_ms",
            "calls (count)": "calls",
            "settings": lambda row: sentence(row["settings"], room.name),
            "remark": _remark,
        },
        room=room,
        note="The longest wait first; all calls of the capture.",
    )


def _remark(row: Row) -> str:
    if row["is_bottleneck"]:
        return "bottleneck"
    return "on the critical path" if row["on_critical_path"] else ""


def kernels(results: AnyResults, room: Room) -> Iterator[Part]:
    """The costliest kernels."""
    frame = results.kernels.frame
    total_us = max(float(frame["total_time_us"].sum()), 1e-9)
    launched_by = {"launched by": "op_name"} if (frame["op_name"] != "").any() else {}
    yield from part_of(
        "Kernels",
        "prof.kernels",
        frame,
        {
            "kernel": lambda row: code(readable_kernel(row["name"]), room.name),
            **launched_by,
            "total (ms)": "total_time_us",
            "of all kernels (%)": lambda row: number(row["total_time_us"] / total_us * 100),
            "mean (us)": "avg_time_us",
            "count": "occurrences",
            "computes on": lambda row: row["unit"] or "not known",
        },
        room=room,
        note="Of the whole capture." + ("" if launched_by else " Which ops launched them is not in the trace."),
    )


def _programs(results: AnyResults, room: Room) -> Iterator[Part]:
    yield from part_of(
        "Ops of XLA programs",
        "prof.hlo_ops",
        results.hlo_ops.frame,
        {
            "op": "name",
            "category": "category",
            "program": "module",
            "compiled from": "op_name",
            "self time (ms)": "total_self_time_us",
            "of all (%)": "self_time_ratio",
        },
        room=room,
        note="Of the whole capture.",
    )


def _memory(results: AnyResults, room: Room) -> Iterator[Part]:
    frame = results.memory.summary.sort_values("peak_bytes", ascending=False, kind="stable")
    growing = [results.memory.growth(name).sentence for name in frame["allocator"].head(room.rows)]
    yield from part_of(
        "Memory",
        "prof.memory.summary",
        frame,
        {
            "allocator": "allocator",
            "peak": "peak_bytes",
            "of": lambda row: size(row["capacity_bytes"]) if row["capacity_bytes"] > 0 else "",
            "peak at (ms)": "peak_at_ms",
            "free then": lambda row: size(row["free_bytes"]) if row["free_bytes"] > 0 else "",
            "largest free piece": _largest_piece,
            "allocations (count)": "n_allocations",
            "freed (count)": "n_deallocations",
        },
        room=room,
        note=" ".join(sentence(one, room.sentence) for one in growing if one),
    )


def _largest_piece(row: Row) -> str:
    free, ratio = row["free_bytes"], row["fragmentation_ratio"]
    return "" if math.isnan(ratio) or not free > 0 else size(free * (1 - ratio))


def _failed(failure: MemoryFailure, room: Room) -> Iterator[Part]:
    frames = {"op": failure.by_op, "layer": failure.by_layer, "line": failure.by_line}
    for name, frame in frames.items():
        shown = frame.assign(**{name: frame[name].map(file_name)}) if name == "line" else frame
        yield from part_of(
            f"By {name}, when it ran out",
            f"prof.memory_failure.by_{name}",
            shown,
            {
                name: name,
                "held": "bytes",
                "of what is in use (%)": "ratio",
                "allocations (count)": "occurrences",
            },
            room=room,
        )


def _holders(results: AnyResults, room: Room) -> Iterator[Part]:
    memory = results.memory
    unknown = unknown_op(results.hlo_ops.frame)
    for row in memory.summary.nlargest(1, "peak_bytes").to_dict("records"):
        held = memory.held_at_peak(row["allocator"])
        yield from part_of(
            f"In memory at the peak of {code(row['allocator'], room.name)}",
            "prof.memory.held_at_peak(allocator)",
            held,
            {
                "op": lambda one: code(one["op"], room.name) if one["op"] else unknown,
                "type, shape": lambda one: _tensor(one, room),
                "held": "total_bytes",
                "count": "occurrences",
            },
            room=room,
            note=f"At {number(row['peak_at_ms'])} ms.",
        )


def _tensor(row: Row, room: Room) -> str:
    known = [str(row[name]) for name in ("dtype", "shape") if row[name] not in ("INVALID", "unknown", "")]
    return code(" ".join(known), room.name) if known else ""


def _python(results: AnyResults, room: Room) -> Iterator[Part]:
    frame = results.source_lines.sampled
    if len(frame) < 2:  # the one line that trains says nothing
        return
    yield from part_of(
        "Python lines at which the program was",
        "prof.source_view()",
        frame,
        {
            "line": lambda row: code(f"{file_name(row['file'])}:{row['line']}", room.name),
            "code": "code",
            "time (ms)": "time_ms",
            "of the samples (%)": "time_ratio",
        },
        room=room,
        note="By samples of the thread that trains, waiting included.",
    )
