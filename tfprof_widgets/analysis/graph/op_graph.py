"""A capture's trace and its source map -> the `OpGraph` of the views by structure, and the table of variables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Int32, Int64
from ...trace.op_graph import OpGraph, make_op_graph
from ...trace.source_map import SourceMap, empty_source_map, parse_shapes
from ...trace.trace import ITEM_BYTES, dtype_name
from ..common import PS_PER_US, all_matches, dense_codes, first_of, sum_by, typed_table
from ..events import nearest_marked, plane_labels
from ..facts import Facts
from ..layers.scopes import DATA_SCOPE, OpScopes, op_scopes
from ..memory.moments import Snapshots
from ..names import parse_op_names
from ..ops.executions import EAGER_SCOPE
from ..table import table

VARIABLES = table(
    """
    variables: a variable of the program
        name       text    of the variable
        shape      object  a tuple, -1 for an unknown size; None for an unknown shape
        dtype      text    such as `float32`, empty where nobody says
        n_params   int     how many numbers it holds, 0 where that is not known
        bytes      int     that they take, 0 where that is not known
        layer      text    its path from the model, empty outside of any
        trainable  bool    whether an optimizer may change it
        device     text    as TensorFlow names devices, empty for none

    The weights of Keras models come in the order of their layers, then other variables. What an optimizer or a
    metric keeps for itself is left out, so that `n_params` adds up to `model.count_params()`. Empty where the capture
    did not note them, as in traces of other tools.
    """,
    of_facts=lambda facts: compute_variables(facts),
    file="variables",
)

GRADIENT_SCOPE = "gradient_tape"
"""The outermost scope of what computes gradients, as TensorFlow's tape calls it."""
_NAMELESS = "unnamed op"


@dataclass(frozen=True, eq=False, repr=False)
class CapturedOps:
    """The ops that ran, then those of the same graphs that did not leave an event. One entry per op unless it says else."""

    name: tuple[str, ...]
    """Unique. As in the graph: without the calls, loops and rewriting that the executor's names carry."""
    type: tuple[str, ...]
    is_backward: Bool
    source_row: Int64
    """Row of `SourceMap.ops` of the op itself, -1 where no graph is known to have it."""
    line_row: Int64
    """Row of `SourceMap.ops` whose call stack stands for it: of a gradient op that of the forward op; -1 for none."""
    of_framework_op: Int32
    """For each framework op of `OpShares` its op, -1 for those that did not run."""
    op_of_source: Int32
    """For each row of `SourceMap.ops` its op, -1 for none."""


def name_ops(facts: Facts) -> CapturedOps:
    """The ops of a capture, a name and type once for a device and its host; a later op of a taken name has the trace's own."""
    source_map = facts.source_map or empty_source_map()
    scopes, totals = facts.op_scopes, facts.op_sums
    match = facts.op_match
    naming = _Naming()
    nameless = np.flatnonzero(
        match.is_backward & ~op_scopes(scopes.name, scopes.type).is_backward & (match.own_row >= 0)
    )
    in_graph = dict(zip(nameless.tolist(), source_map.ops["op"].iloc[match.own_row[nameless]], strict=True))
    of_framework_op = np.full(len(scopes), -1, np.int32)
    first: list[int] = []
    for i in np.flatnonzero(totals.count > 0).tolist():  # one turn per op that ran
        of_framework_op[i] = number = naming.of_run(scopes, i, in_graph.get(i, ""))
        if number == len(first):
            first.append(i)
    is_eager = [scopes.name[i].startswith(EAGER_SCOPE) for i in first]
    own, line = (np.where(is_eager, -1, rows[first]).astype(np.int64) for rows in (match.own_row, match.row))
    more = _add_graphs(naming, source_map, own)
    rows = np.array([row for row, _ in more], np.int64)
    op_of_source = np.full(len(source_map.ops), -1, np.int32)
    op_of_source[own[own >= 0][::-1]] = np.flatnonzero(own >= 0)[::-1]
    op_of_source[rows] = np.arange(len(rows)) + len(first)
    backward = np.concatenate([scopes.is_backward[first], np.array([of_tape for _, of_tape in more], np.bool_)])
    return CapturedOps(
        name=tuple(naming.name),
        type=tuple(naming.type),
        is_backward=backward,
        source_row=np.concatenate([own, rows]),
        line_row=np.concatenate([line, rows]),
        of_framework_op=of_framework_op,
        op_of_source=op_of_source,
    )


class _Naming:
    def __init__(self) -> None:
        self.name: list[str] = []
        self.type: list[str] = []
        self._taken: set[str] = set()
        self._runs: dict[tuple[str, str], int] = {}

    def of_run(self, scopes: OpScopes, i: int, in_graph: str) -> int:
        """The number of framework op `i`, which is `in_graph` where its scope says whose gradient it is, and not its name."""
        name, kind = scopes.name[i], scopes.type[i]
        number = self._runs.setdefault((name, kind), len(self.name))
        if number == len(self.name):
            self._add(in_graph or normal_name(scopes, i), name, kind)
        return number

    def add_new(self, name: str, kind: str) -> bool:
        """Add an op of a graph; False where the name is taken."""
        if not name or name in self._taken:
            return False
        self._add(name, name, kind)
        return True

    def _add(self, wanted: str, other: str, kind: str) -> None:
        choices = [name for name in (wanted, other, f"{other or _NAMELESS}:{kind}") if name]
        name = next((one for one in choices if one not in self._taken), "")
        copy = 1
        while not name or name in self._taken:
            copy += 1
            name = f"{choices[-1]} ({copy})"
        self._taken.add(name)
        self.name.append(name)
        self.type.append(kind)


def normal_name(scopes: OpScopes, i: int) -> str:
    """The name of an op as in its graph; "" where nothing is left of it."""
    path = [*scopes.scope[i], scopes.leaf[i]]
    if scopes.name[i].startswith("Iterator::"):  # its own scope
        path.pop()
    return "/".join(part for part in ([GRADIENT_SCOPE, *path] if scopes.is_backward[i] else path) if part)


def _add_graphs(naming: _Naming, source_map: SourceMap, own: Int64) -> list[tuple[int, bool]]:
    """Add the ops of the graphs that ran which left no event; their rows of `SourceMap.ops`, and whether of a gradient."""
    graph = source_map.ops["graph"].to_numpy()
    ran = Counter(graph[own[own >= 0]].tolist())
    if not ran:
        return []
    of_data = {
        int(graph[row])
        for name, row in zip(naming.name, own.tolist(), strict=True)
        if row >= 0 and name.startswith(f"{DATA_SCOPE}/")
    }
    done = np.zeros(len(graph), np.bool_)
    done[own[own >= 0]] = True
    rank = np.full(len(source_map.functions) + 1, -1, np.int64)  # the last entry is what graph -1 finds
    for place, (one, _) in enumerate(ran.most_common()):
        rank[one] = place
    rows = np.flatnonzero(~done & (rank[graph] >= 0))
    rows = rows[np.argsort(rank[graph[rows]], kind="stable")]
    names, types = source_map.ops["op"].to_numpy()[rows].tolist(), source_map.ops["type"].to_numpy()[rows].tolist()
    scopes = op_scopes(names, types)
    found = []
    for i, row in enumerate(rows.tolist()):  # at most 200,000, a bound of the capture
        name = normal_name(scopes, i)
        if int(graph[row]) in of_data and not scopes.is_input[i]:
            name = f"{DATA_SCOPE}/{name}"
        if naming.add_new(name, types[i]):
            found.append((row, bool(scopes.is_backward[i])))
    return found


GRADIENT = " (gradient)"
"""Behind the text of a line that made an op, for the ops that compute its gradient, as tfprof shows it."""


def captured_frames(source_map: SourceMap, ops: CapturedOps) -> tuple[dict[str, Any], Int64]:
    """The frames of a source map with copies marked `GRADIENT` for gradients, and the innermost frame of each op."""
    frames = source_map.frames
    of_source = np.append(source_map.ops["frame"].to_numpy(np.int64), -1)
    line, own = of_source[ops.line_row], of_source[ops.source_row]
    frame = np.where(line >= 0, line, own)
    parent = frames["parent"].to_numpy(np.int64)
    copied = _with_callers(parent, frame[ops.is_backward & (frame >= 0)])
    place = np.full(len(parent) + 1, -1, np.int64)
    place[copied] = len(parent) + np.arange(len(copied))
    file, line_number, function = (frames[key].to_numpy() for key in ("file", "line", "function"))
    lines = [text.split("\n") if text else [] for text in source_map.files["text"]]
    found = [
        lines[at][number - 1].strip() if at >= 0 and 0 < number <= len(lines[at]) else ""
        for at, number in zip(file.tolist(), line_number.tolist(), strict=True)
    ]
    texts = np.array([*found, ""], np.object_)[:-1]
    titles = np.append(shown_files(source_map), "").astype(np.object_)
    rows = np.concatenate([np.arange(len(parent)), copied])
    columns = {
        "parent": np.concatenate([parent, place[parent[copied]]]),
        "file": titles[file[rows]],
        "line": line_number[rows],
        "function": function[rows],
        "function_line": np.zeros(len(rows), np.int64),
        "text": np.concatenate([texts, texts[copied] + GRADIENT]).astype(np.object_),
    }
    return columns, np.where(ops.is_backward, place[frame], frame)


def _with_callers(parent: Int64, frames: Int64) -> Int64:
    """The rows of some frames and of all that called them, ascending."""
    wanted: Bool = np.zeros(len(parent) + 1, np.bool_)
    front = np.unique(frames)
    while len(front):  # as often as stacks are deep
        wanted[front] = True
        above = np.unique(parent[front])
        front = above[(above >= 0) & ~wanted[above]]
    return np.flatnonzero(wanted[:-1])


def shown_files(source_map: SourceMap) -> list[str]:
    """What to call each file: its path; of a notebook's cell what the notebook shows beside it, if no other cell has that."""
    files = source_map.files
    is_title = files["title"].str.fullmatch(r"Cell \[\d+\]").astype(bool) & ~files["title"].duplicated(keep=False)
    return np.where(is_title, files["title"], files["file"]).tolist() if len(files) else []


_PS_PER_US = 1_000_000


def captured_memory(facts: Facts, of_framework_op: Int32) -> dict[str, Any]:
    """One row per op and step in which it allocated: bytes requested, residual, at the peak, and in use of the allocator."""
    table, memory = facts.memory.snapshots, facts.memory
    made = np.flatnonzero(~table.is_free)
    if not len(made):
        return {}
    trace = facts.trace
    is_run = np.zeros(trace.n_events, np.bool_)
    is_run[facts.occurrences.event] = True
    run = nearest_marked(trace.nesting.parent, is_run)[table.event[made]].astype(np.int64)
    end_ps = np.where(run >= 0, trace.ends(np.maximum(run, 0)), np.iinfo(np.int64).max - 1)
    op = _op_of(facts, table, of_framework_op, made, run)
    known = op >= 0
    made, run, end_ps, op = made[known], run[known], end_ps[known], op[known]
    step = np.full(len(made), -1, np.int64)
    if memory.event_step is not None:
        step = memory.event_step[table.event[made]].astype(np.int64)
    freed_at = table.freed_at[made]
    freed_ps = np.where(freed_at >= 0, table.time_ps[freed_at], np.iinfo(np.int64).max)
    n_bytes = table.requested_bytes[made]
    is_kept = freed_ps > end_ps
    code, n = dense_codes(op, step)
    first = first_of(code, n)
    in_use, peak = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.maximum.at(in_use, code, table.in_use_bytes[made])
    held, of_held = _held(
        np.where(run >= 0, run, -2 - np.arange(len(run))), table.time_ps[made], freed_ps, n_bytes, is_kept
    )
    np.maximum.at(peak, code[of_held], held)
    return {
        "op": op[first],
        "step": step[first],
        "time_us": table.time_ps[made[first]] // _PS_PER_US,
        "requested_bytes": sum_by(code, n_bytes, n),
        "peak_bytes": peak,
        "residual_bytes": sum_by(code[is_kept], n_bytes[is_kept], n),
        "in_use_bytes": in_use,
    }


def _op_named(facts: Facts, of_framework_op: Int32, texts: Sequence[str]) -> Int32:
    """The first op that each text of the allocator names, -1 for none."""
    pairs = zip(facts.op_shares.name, of_framework_op.tolist(), strict=True)
    number = {name: op for name, op in reversed(list(pairs)) if op >= 0}
    return np.array([number.get(name, -1) for name in parse_op_names(texts).name], np.int32)


def _op_of(facts: Facts, table: Snapshots, of_framework_op: Int32, made: Int64, run: Int64) -> Int32:
    """The op of each allocation: the one that it names, else the one that ran around it; -1 for none."""
    ids, code = np.unique(table.op[made], return_inverse=True)
    texts = [facts.memory.strings[i] if i >= 0 else "" for i in ids.tolist()]
    named = _op_named(facts, of_framework_op, texts)[code.reshape(-1)]
    dominant = np.append(of_framework_op, np.int32(-1))[facts.event_op[np.maximum(run, 0)]]
    return np.where(named >= 0, named, np.where(run >= 0, dominant, -1)).astype(np.int32)


def _held(run: Int64, time_ps: Int64, freed_ps: Int64, n_bytes: Int64, is_kept: Any) -> tuple[Int64, Int64]:
    """After each allocation what its execution holds of its own, and the row of each."""
    row = np.arange(len(run))
    given_back = np.flatnonzero(~is_kept)
    rows = np.concatenate([row, given_back])
    when = np.concatenate([time_ps, freed_ps[given_back]])
    change = np.concatenate([n_bytes, -n_bytes[given_back]])
    order = np.lexsort((when, run[rows]))
    sums = np.cumsum(change[order])
    begins = np.flatnonzero(np.diff(run[rows][order], prepend=np.iinfo(np.int64).min) != 0)
    before = np.append(0, sums)[begins]
    held = sums - np.repeat(before, np.diff(np.append(begins, len(order))))
    is_made = order < len(run)
    return held[is_made], rows[order][is_made]


def captured_times(facts: Facts, of_framework_op: Int32) -> dict[str, Any]:
    """Self time in us, so that nothing counts twice, with the shares of ops that a compiled program fused."""
    trace, runs, shares = facts.trace, facts.occurrences, facts.op_shares
    step, plane = _steps(facts), trace.plane_id[runs.event]
    code, n = dense_codes(runs.op, step, plane)
    first = first_of(code, n)
    own_ps = np.bincount(code, runs.self_ps, n)
    start_ps = _lowest(code, runs.start_ps, n)
    group, share = all_matches(runs.op[first], shares.unit)
    op = of_framework_op[shares.op[share]]
    known = op >= 0
    group, op = group[known], op[known]
    own_us = own_ps[group] * shares.ratio[share[known]] / PS_PER_US
    keys, m = dense_codes(op, step[first][group], plane[first][group])
    row = first_of(keys, m)
    at = first[group[row]]
    names = np.array(plane_labels(trace), np.object_)
    is_device = runs.is_device[runs.op[at]]
    return {
        "op": op[row],
        "step": step[at],
        "device": names[plane[at]],
        "is_accelerator": is_device,
        "start_us": _lowest(keys, start_ps[group], m) / PS_PER_US,
        "duration_us": np.bincount(keys, own_us, m),
    }


def captured_runs(facts: Facts, of_framework_op: Int32) -> dict[str, Any]:
    """How often each op ran in each step, the larger number of a device and its host, the most frequent of its HLO ops."""
    runs, shares = facts.occurrences, facts.op_shares
    unit, n_units = dense_codes(runs.op)
    first = first_of(unit, n_units)
    count = np.bincount(unit[runs.is_first], minlength=n_units)
    group, share = all_matches(runs.op[first], shares.unit)
    op = of_framework_op[shares.op[share]]
    order = np.lexsort((-count[group], op))
    order = order[op[order] >= 0]
    best = order[np.diff(op[order], prepend=-1) != 0]  # for each op what ran most often of what stands for it
    return _by_step(facts, group[best], op[best], unit)


def _by_step(facts: Facts, chosen: Int64, op: Int32, unit: Int64) -> dict[str, Any]:
    """The executions of the `chosen` units by step; several ops may share one."""
    runs = facts.occurrences
    code, n = dense_codes(unit, _steps(facts))
    first = first_of(code, n)
    start_ps, end_ps = _lowest(code, runs.start_ps, n), -_lowest(code, -(runs.start_ps + runs.duration_ps), n)
    order = np.argsort(unit[first], kind="stable")
    which, at = all_matches(chosen, unit[first][order])
    at = order[at]
    return {
        "op": op[which],
        "step": _steps(facts)[first[at]],
        "n_runs": np.bincount(code[runs.is_first], minlength=n)[at],
        "start_us": start_ps[at] / PS_PER_US,
        "end_us": end_ps[at] / PS_PER_US,
    }


def _steps(facts: Facts) -> Int64:
    """For each execution the row of its step, -1 for none."""
    return facts.steps.event_step[facts.occurrences.event].astype(np.int64)


def _lowest(code: Int64, value: Int64, n: int) -> Int64:
    low = np.full(n, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(low, code, value)
    return low


TRAINABLE = "_trainable_variables"
"""The op type that tfprof counts parameters by."""


Costs = dict[str, dict[str, Any]]
"""The tables `times`, `runs` and `memory` of an `OpGraph`: what running the ops cost."""


def compute_op_graph(facts: Facts) -> OpGraph:
    """The ops that ran and the others of their graphs, with costs in self time by step, -1 outside of steps."""
    source_map = facts.source_map or empty_source_map()
    ops = name_ops(facts)
    frames, frame = captured_frames(source_map, ops)
    costs = _costs(facts, ops.of_framework_op)
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


def _costs(facts: Facts, of_framework_op: Int32) -> Costs:
    """The costs, execution by execution where there are single ones."""
    if not facts.has_events:
        return _total_costs(facts, of_framework_op)
    return {
        "times": captured_times(facts, of_framework_op),
        "runs": captured_runs(facts, of_framework_op),
        "memory": captured_memory(facts, of_framework_op),
    }


_HOST, _DEVICE = "/host:CPU", "/device"


def _total_costs(facts: Facts, of_framework_op: Int32) -> Costs:
    """What ops of summed hosts cost, a row a side outside of any step (-1), with the memory that an op asked for."""
    shares, sums = facts.op_shares, facts.op_sums
    device = next((plane.name for plane in facts.trace.planes if plane.is_device), _DEVICE)
    every = pd.DataFrame(
        {
            "op": of_framework_op.astype(np.int64),
            "is_accelerator": shares.is_device,
            "device": np.where(shares.is_device, device, _HOST).astype(np.object_),
            "duration_us": sums.self_us,
            "n_runs": sums.count,
        }
    )
    ran = every[(every["op"] >= 0) & (every["n_runs"] > 0)].reset_index(drop=True)
    times = ran.drop(columns="n_runs").assign(step=-1, start_us=0.0)
    end_us = int(facts.trace.end_ps.max(initial=0)) / PS_PER_US
    runs = ran.groupby("op", as_index=False)["n_runs"].max().assign(step=-1, start_us=0.0, end_us=end_us)
    return {"times": dict(times), "runs": dict(runs), "memory": dict(_allocated(facts, of_framework_op))}


def _allocated(facts: Facts, of_framework_op: Int32) -> pd.DataFrame:
    used = facts.memory_by_op
    every = pd.DataFrame(
        {"op": _op_named(facts, of_framework_op, used.name).astype(np.int64), "requested_bytes": used.allocated_bytes}
    )
    known = every[(every["op"] >= 0) & (every["requested_bytes"] > 0)].reset_index(drop=True)
    return known.assign(step=-1, time_us=0, peak_bytes=0, residual_bytes=0, in_use_bytes=0)


def _device(ops: CapturedOps, times: dict[str, Any], *, on_host: bool) -> Any:
    """Where each op ran, as the trace names it: the accelerator of most time, else its host; "" for none."""
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
    """Columns of `ops` that only a graph in a source map has."""
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
    return np.append(ops.op_of_source, np.int32(-1))[rows].astype(np.int64)


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


_SHORT_NAMES = {"float": "float32", "double": "float64", "half": "float16"}
_HOLDERS = frozenset(("VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable"))
"""Types of ops that hold a variable in a graph of TensorFlow 1."""


def compute_variables(facts: Facts) -> pd.DataFrame:
    """One row per variable: weights of Keras models in order of layers, then others with a shape."""
    if facts.stored_graph is not None:
        return _of_graph(facts.stored_graph)
    rows = []
    if facts.source_map is not None:
        names = ("name", "shape", "dtype", "layer", "trainable", "device")
        columns = (facts.source_map.variables[key].tolist() for key in names)
        for name, text, dtype, layer, trainable, device in zip(*columns, strict=True):  # 20,000, a bound of the capture
            shape = next(iter(parse_shapes(text)), None)
            rows.append(_row(name, shape, dtype, layer=layer, trainable=trainable, device=device))
    return typed_table(rows, VARIABLES.types)


def _of_graph(graph: OpGraph) -> pd.DataFrame:
    """The trainable variables of a graph, and what else of it holds a shape of its own."""
    rows = []
    columns = (graph.ops[key].tolist() for key in ("name", "type", "op_types", "shape", "device", "dtype"))
    for name, kind, op_types, shape, device, dtype in sorted(zip(*columns, strict=True), key=lambda op: str(op[0])):
        is_trainable = TRAINABLE in op_types
        if is_trainable or (kind in _HOLDERS and shape is not None):
            rows.append(_row(name, shape, _dtype(dtype), layer="", trainable=is_trainable, device=device))
    return typed_table(rows, VARIABLES.types)


def _dtype(number: int) -> str:
    """The name of a dtype as `tf.DType.name` says it; "" for none."""
    name = dtype_name(number).removesuffix("_ref") if number else ""
    return _SHORT_NAMES.get(name, name)


def _row(
    name: str, shape: tuple[int, ...] | None, dtype: str, *, layer: str, trainable: bool, device: str
) -> dict[str, object]:
    n = n_params(shape)
    return {
        "name": name,
        "shape": shape,
        "dtype": dtype,
        "n_params": n,
        "bytes": n * ITEM_BYTES.get(dtype, 0),
        "layer": layer,
        "trainable": bool(trainable),
        "device": device,
    }


_MOST_PARAMS = 2**45


def n_params(shape: tuple[int, ...] | None) -> int:
    """How many numbers a variable of this shape has, at most 2**45 so that sums fit 64 bits; 0 if unknown."""
    return min(math.prod(shape), _MOST_PARAMS) if shape is not None and min(shape, default=1) >= 0 else 0
