"""A capture's trace and what was noted beside it -> the `OpGraph` of the views by structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ...trace.op_graph import OpGraph, make_op_graph
from ...trace.source_map import SourceMap, empty_source_map, parse_shapes
from ...trace.trace import Int32, Int64
from ..base.matching import dense_codes, first_of
from ..facts.facts import Facts
from ..facts.totals import Totals
from .captured_frames import captured_frames
from .captured_memory import captured_memory
from .captured_names import CapturedOps, name_ops
from .captured_times import captured_runs, captured_times

TRAINABLE = "_trainable_variables"
"""The op type that tfprof counts parameters by."""


Costs = dict[str, dict[str, Any]]
"""The tables `times`, `runs` and `memory` of an `OpGraph`: what running the ops cost."""


def compute_op_graph(facts: Facts) -> OpGraph:
    """The ops that ran and those of the same graphs that left no event, with what running them cost.

    `times` hold self time, so that nothing counts twice: over all ops it is that of `Profile.ops`, also by op type and by
    op, its accelerators are the rows of devices there; `runs` hold its executions. A step is a row of `Profile.steps`, -1
    outside of any. Names are those of the graph, without the calls and loops that the executor puts before them.

    Ops, edges, shapes, call stacks, parameters and float operations come from what was noted beside the trace; where that is
    missing (traces of other tools, C++ code, eager ops), an op has its name, type and costs alone. `float_ops` are of one
    execution, by TensorFlow's own statistics, 0 where it has none or a shape is unknown. Memory is what the trace tells
    (see `captured_memory`): `output_bytes` and the temporary and persistent bytes are not in it, so 0. Figures are of the whole
    capture, not per step, unless asked otherwise.
    """
    return compute_captured_graph(facts, partial(costs_of_events, facts))


def costs_of_events(facts: Facts, of_framework_op: Int32) -> Costs:
    """The costs, execution by execution."""
    return {
        "times": captured_times(facts, of_framework_op),
        "runs": captured_runs(facts, of_framework_op),
        "memory": captured_memory(facts, of_framework_op),
    }


def compute_captured_graph(facts: Totals, costs_of: Callable[[Int32], Costs]) -> OpGraph:
    """The same with costs of any kind.

    Args:
        facts: of the capture.
        costs_of: finds the costs, given for each framework op its row of the graph.
    """
    source_map = facts.source_map or empty_source_map()
    ops = name_ops(facts)
    frames, frame = captured_frames(source_map, ops)
    costs = costs_of(ops.of_framework_op)
    details = _details(source_map, ops)
    tables = {
        "ops": {
            "name": list(ops.name),
            "type": list(ops.type),
            "frame": frame,
            "device": _device(ops, costs["times"], on_host=False),
            "host_device": _device(ops, costs["times"], on_host=True),
            **details,
        },
        "inputs": _inputs(source_map, ops),
        "shapes": _shapes(source_map, ops),
        "frames": frames,
        **costs,
    }
    return make_op_graph(tables, is_whole=False, counts_steps=False)


def _device(ops: CapturedOps, times: dict[str, Any], *, on_host: bool) -> Any:
    """Where each op ran, as the trace names it: of several devices the one of most time; "" for none.

    Ops of which nothing ran on an accelerator have their host as device.
    """
    found = np.full(len(ops.name), "", np.object_)
    columns = [np.asarray(times[key]) for key in ("op", "device", "is_accelerator", "duration_us")]
    if on_host:
        on_cpu = ~columns[2].astype(np.bool_)
        columns = [column[on_cpu] for column in columns]
    op, device, is_accelerator, duration_us = columns
    code, n = dense_codes(op, is_accelerator.astype(np.int8), pd.factorize(device)[0])
    first = first_of(code, n)
    order = np.lexsort((first, np.bincount(code, duration_us, n), is_accelerator[first]))
    found[op[first[order]]] = device[first[order]]  # of several the last one stays
    return found


def _details(source_map: SourceMap, ops: CapturedOps) -> dict[str, Any]:
    """Columns of `ops` that only a noted graph tells."""
    n = len(ops.name)
    float_ops = np.zeros(n, np.int64)
    shape: list[tuple[int, ...] | None] = [None] * n
    op_types: list[tuple[str, ...]] = [(kind,) for kind in ops.type]
    details, variables = source_map.details, source_map.variables
    op = _op_of_row(ops, details["op"].to_numpy(np.int64))
    own = np.flatnonzero(op >= 0)
    float_ops[op[own]] = np.maximum(details["float_ops"].to_numpy(np.int64)[own], 0)
    variable = details["variable"].to_numpy(np.int64)
    shapes, trainable = variables["shape"].tolist(), variables["trainable"].tolist()
    read: set[int] = set()
    for i in own[
        np.argsort(details["op"].to_numpy()[own], kind="stable")
    ].tolist():  # at most 200,000, a bound of the capture
        row = int(variable[i])
        if row < 0 or row in read:  # a variable that is read twice has its parameters once
            continue
        read.add(row)
        shape[op[i]] = next(iter(parse_shapes(shapes[row])), None)
        if trainable[row]:
            op_types[op[i]] = (ops.type[op[i]], TRAINABLE)
    return {"float_ops": float_ops, "shape": _objects(shape), "op_types": _objects(op_types)}


def _op_of_row(ops: CapturedOps, rows: Int64) -> Int64:
    found: Int64 = np.append(ops.op_of_source, np.int32(-1))[rows].astype(np.int64)
    return found


def _inputs(source_map: SourceMap, ops: CapturedOps) -> dict[str, Any]:
    edges = source_map.edges
    op, source = (_op_of_row(ops, edges[key].to_numpy(np.int64)) for key in ("op", "source"))
    known = (op >= 0) & (source >= 0)
    slot, output = (edges[key].to_numpy(np.int64)[known] for key in ("slot", "source_output"))
    return {"op": op[known], "slot": slot, "source": source[known], "source_output": output}


def _shapes(source_map: SourceMap, ops: CapturedOps) -> dict[str, Any]:
    details = source_map.details
    op = _op_of_row(ops, details["op"].to_numpy(np.int64))
    known = np.flatnonzero(op >= 0)
    read: dict[str, list[tuple[int, ...] | None]] = {}
    rows: list[tuple[int, bool, int, tuple[int, ...]]] = []
    for is_output in (False, True):
        texts = details["output_shapes" if is_output else "input_shapes"].to_numpy()[known].tolist()
        for row, text in zip(op[known].tolist(), texts, strict=True):
            if text not in read:
                read[text] = parse_shapes(text)
            rows += [(row, is_output, slot, one) for slot, one in enumerate(read[text]) if one is not None]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return {"op": columns[0], "is_output": columns[1], "slot": columns[2], "shape": _objects(list(columns[3]))}


def _objects(values: list[Any]) -> Any:
    """An array of one object per value, also where all are tuples of one length."""
    column = np.empty(len(values), np.object_)
    column[:] = values
    return column
