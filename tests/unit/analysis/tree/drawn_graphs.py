"""Small graphs as tests write them -> `OpGraph`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tfprof_widgets.trace import OpGraph, make_op_graph


def graph_of(
    micros: dict[str, float | dict[int, float]],
    *,
    inputs: Sequence[tuple[str, str]] = (),
    stacks: dict[str, Sequence[str]] | None = None,
    is_capture: bool = False,
) -> OpGraph:
    """Ops by name with their time, of step 0 or by step; `inputs` are pairs of an op and what feeds it."""
    names = list(micros)
    row = {name: i for i, name in enumerate(names)}
    rows = [
        (row[name], step, value)
        for name, found in micros.items()
        for step, value in (found if isinstance(found, dict) else {0: found}).items()
    ]
    op, step, value = ([part[i] for part in rows] for i in range(3))
    frames: dict[tuple[int, str], int] = {}
    frame_of = dict.fromkeys(names, -1)
    for name, lines in (stacks or {}).items():
        for line in lines:
            frame_of[name] = frames.setdefault((frame_of[name], line), len(frames))
    types = [name.rpartition("/")[2].partition("_")[0] for name in names]
    slot_after: Counter[str] = Counter()
    slots = []
    for name, _ in inputs:
        slots.append(slot_after[name])
        slot_after[name] += 1
    ran: dict[str, Any] = {"op": op, "step": step, "start_us": [0.0] * len(op)}
    n_frames = len(frames)
    return make_op_graph(
        {
            "ops": {
                "name": names,
                "type": types,
                "op_types": [(text,) for text in types],
                "device": [""] * len(names),
                "host_device": [""] * len(names),
                "float_ops": [0] * len(names),
                "shape": [None] * len(names),
                "frame": list(frame_of.values()),
            },
            "inputs": {
                "op": [row[name] for name, _ in inputs],
                "slot": slots,
                "source": [row[source] for _, source in inputs],
                "source_output": [0] * len(inputs),
            },
            "frames": {
                "parent": [parent for parent, _ in frames],
                "file": ["/home/me/net.py"] * n_frames,
                "line": list(range(1, n_frames + 1)),
                "function": [line for _, line in frames],
                "function_line": [0] * n_frames,
                "text": [""] * n_frames,
            },
            "runs": ran | {"n_runs": [1] * len(op), "end_us": [0.0] * len(op)},
            "times": ran | {"device": ["cpu:0"] * len(op), "is_accelerator": [False] * len(op), "duration_us": value},
        },
        is_whole=not is_capture,
        counts_steps=not is_capture,
    )
