"""`Results` -> the tables of a report, each cut to its first rows; it says of how many, and where all of them are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...analysis.base.wording import number, size
from ...analysis.results import Results
from .figures import share
from .kernel_names import readable_kernel
from .markdown import code, sentence
from .part import Part, Row, count, file_name, ms, named, part_of, percent, size_of, us_as_ms
from .structure import costly_stacks, costly_types, variables
from .subject import Room

_MEANINGS = {
    "input": "waiting for data, or copying it to the device",
    "host_compute": "ops run on the host, none on a device",
    "kernel_launch": "the device waits for the host to enqueue work",
    "device_compute": "kernels run",
    "device_to_device": "copies within and between devices",
    "device_collectives": "devices exchange data, such as gradients",
    "output": "results are copied to the host",
    "compile": "programs are compiled",
    "other": "no op ran: Python, callbacks, scheduling",
}


def report_tables(results: Results, room: Room) -> list[Part]:
    """Those that have rows, in the order of the report; what matters least comes last."""
    makers: tuple[Callable[[Results, Room], Iterator[Part]], ...] = (
        _breakdown,
        _ops,
        costly_types,
        _lines,
        costly_stacks,
        _layers,
        variables,
        _iterators,
        _kernels,
        _programs,
        _failed,
        _memory,
        _holders,
        _python,
    )
    return [part for make in makers for part in make(results, room) if part.rows]


def _breakdown(results: Results, room: Room) -> Iterator[Part]:
    frame = results.overview.breakdown
    frame = frame[frame["ms"] > 0].sort_values("ms", ascending=False, kind="stable")
    spread = {"standard deviation (ms)": ms("std_ms")} if results.overview.n_steps_averaged > 1 else {}
    yield from part_of(
        "What a step is made of",
        "prof.overview.breakdown",
        frame,
        {
            "category": lambda row: str(row["category"]).replace("_", " "),
            "mean (ms)": ms("ms"),
            **spread,
            "of the step (%)": percent("ratio"),
            "what it is": lambda row: _MEANINGS[row["category"]],
        },
        room=room,
    )


def _ops(results: Results, room: Room) -> Iterator[Part]:
    yield from part_of(
        "Top ops by self time",
        "prof.ops",
        results.ops,
        {
            "op": named("name", room),
            "type": named("type", room),
            "on": lambda row: str(row["device"]).lower(),
            "self time (ms)": us_as_ms("total_self_time_us"),
            "of its side's op time (%)": percent("self_time_ratio"),
            "mean self time (us)": lambda row: number(row["avg_self_time_us"]),
            "count": count("occurrences"),
        },
        room=room,
        note="Ops of devices come first; a side is the host or all devices. Times are sums over all threads of the capture.",
    )


def _lines(results: Results, room: Room) -> Iterator[Part]:
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
            "code": named("code", room),
            "function": named("function", room),
            "self time of its ops (ms)": us_as_ms("self_time_us"),
            "of its side's op time (%)": percent("self_time_ratio"),
            "gradients (ms)": us_as_ms("backward_time_us"),
        },
        room=room,
        note=f"{share(charged)} of op time is charged to lines of code" + (f"; else: {told}." if told else "."),
    )


def _layers(results: Results, room: Room) -> Iterator[Part]:
    if not (results.layers.entries["kind"] == "layer").any():
        return
    frame = results.layers.frame
    allocated = {"allocated": size_of("allocated_bytes")} if (frame["allocated_bytes"] > 0).any() else {}
    yield from part_of(
        "Layers",
        "prof.layers",
        frame[(frame["self_time_us"] > 0) | (frame["allocated_bytes"] > 0)],
        {
            "layer": named("layer", room),
            "class": named("class_name", room),
            "on": lambda row: str(row["device"]).lower(),
            "forward (ms)": us_as_ms("forward_time_us"),
            "backward (ms)": us_as_ms("backward_time_us"),
            "optimizer, other (ms)": lambda row: number((row["optimizer_time_us"] + row["other_time_us"]) / 1e3),
            "of its side's op time (%)": percent("self_time_ratio"),
            **allocated,
        },
        room=room,
        note="Self time of their ops.",
        n_rows=len(frame),
    )


def _iterators(results: Results, room: Room) -> Iterator[Part]:
    frame = results.input_pipeline.iterators
    frame = frame.sort_values("wait_time_ms", ascending=False, kind="stable")
    yield from part_of(
        "Input iterators",
        "prof.input_pipeline.iterators",
        frame,
        {
            "iterator": named("long_name", room),
            "waited for (ms)": ms("wait_time_ms"),
            "self time (ms)": ms("self_time_ms"),
            "calls (count)": count("calls"),
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


def _kernels(results: Results, room: Room) -> Iterator[Part]:
    frame = results.kernels.frame
    total_us = max(float(frame["total_time_us"].sum()), 1e-9)
    launched_by = {"launched by": named("op_name", room)} if (frame["op_name"] != "").any() else {}
    yield from part_of(
        "Kernels",
        "prof.kernels",
        frame,
        {
            "kernel": lambda row: code(readable_kernel(row["name"]), room.name),
            **launched_by,
            "total (ms)": us_as_ms("total_time_us"),
            "of all kernels (%)": lambda row: number(row["total_time_us"] / total_us * 100),
            "mean (us)": lambda row: number(row["avg_time_us"]),
            "count": count("occurrences"),
            "Tensor Cores": _tensor_cores,
        },
        room=room,
        note="" if launched_by else "Which ops launched them is not in the trace.",
    )


def _tensor_cores(row: Row) -> str:
    if row["uses_tensor_core"]:
        return "used"
    return "could be used" if row["tensor_core_eligible"] else "no"


def _programs(results: Results, room: Room) -> Iterator[Part]:
    yield from part_of(
        "Ops of XLA programs",
        "prof.hlo_ops",
        results.hlo_ops.frame,
        {
            "op": named("name", room),
            "category": named("category", room),
            "program": named("module", room),
            "compiled from": named("op_name", room),
            "self time (ms)": us_as_ms("total_self_time_us"),
            "of all (%)": percent("self_time_ratio"),
        },
        room=room,
    )


def _memory(results: Results, room: Room) -> Iterator[Part]:
    frame = results.memory.summary.sort_values("peak_bytes", ascending=False, kind="stable")
    growing = [results.memory.growth(name).sentence for name in frame["allocator"].head(room.rows)]
    yield from part_of(
        "Memory",
        "prof.memory.summary",
        frame,
        {
            "allocator": named("allocator", room),
            "peak": size_of("peak_bytes"),
            "of": lambda row: size(row["capacity_bytes"]) if row["capacity_bytes"] > 0 else "",
            "peak at (ms)": ms("peak_at_ms"),
            "fragmentation then (%)": percent("fragmentation_ratio"),
            "allocations (count)": count("n_allocations"),
            "freed (count)": count("n_deallocations"),
        },
        room=room,
        note=" ".join(sentence(one, room.sentence) for one in growing if one),
    )


def _failed(results: Results, room: Room) -> Iterator[Part]:
    failure = results.memory_failure
    if failure is None or not failure.is_recorded:
        return
    frames = {"op": failure.by_op, "layer": failure.by_layer, "line": failure.by_line}
    for name, frame in frames.items():
        shown = frame.assign(**{name: frame[name].map(file_name)}) if name == "line" else frame
        yield from part_of(
            f"What held the memory when it ran out, by {name}",
            f"prof.memory_failure.by_{name}",
            shown,
            {
                name: named(name, room),
                "held": size_of("bytes"),
                "of what is in use (%)": percent("ratio"),
                "allocations (count)": count("occurrences"),
            },
            room=room,
        )


def _holders(results: Results, room: Room) -> Iterator[Part]:
    memory = results.memory
    for row in memory.summary.nlargest(1, "peak_bytes").to_dict("records"):
        held = memory.held_at_peak(row["allocator"])
        yield from part_of(
            f"Who holds {code(row['allocator'], room.name)} at its peak",
            "prof.memory.held_at_peak(allocator)",
            held,
            {
                "op": lambda one: code(one["op"], room.name) if one["op"] else "(unknown op)",
                "type, shape": lambda one: _tensor(one, room),
                "held": size_of("total_bytes"),
                "count": count("occurrences"),
            },
            room=room,
            note=f"At {number(row['peak_at_ms'])} ms.",
        )


def _tensor(row: Row, room: Room) -> str:
    known = [str(row[name]) for name in ("dtype", "shape") if row[name] not in ("INVALID", "unknown", "")]
    return code(" ".join(known), room.name) if known else ""


def _python(results: Results, room: Room) -> Iterator[Part]:
    frame = results.source_lines.sampled
    if len(frame) < 2:  # the one line that trains says nothing
        return
    yield from part_of(
        "Python lines at which the program was",
        "prof.source_view()",
        frame,
        {
            "line": lambda row: code(f"{file_name(row['file'])}:{row['line']}", room.name),
            "code": named("code", room),
            "time (ms)": ms("time_ms"),
            "of the samples (%)": percent("time_ratio"),
        },
        room=room,
        note="By samples of the thread that trains, waiting included.",
    )
