"""Layers, scopes, kernels, ops, pipelines and advice -> lists of the meta object of a pack (`js/src/data/meta.ts`)."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.analysis import Analysis
from ..analysis.card import Advice
from ..analysis.common import PS_PER_MS, PS_PER_US, hosts_of, tail_of_text
from ..analysis.graph.options import FIGURES
from ..analysis.graph.tree import COUNTS, ShownStructure, compute_shown_structure, framework_ops
from ..analysis.grouping import N_UNITS, UNIT_TEXTS, ComputeUnit
from ..analysis.hosts.workers import STRAGGLERS
from ..analysis.input.tf_data import PIPELINES
from ..analysis.input.usage import ITERATORS
from ..analysis.layers.layers import LAYERS, Layers
from ..analysis.memory.memory import SUMMARY
from ..analysis.names import parse_op_names
from ..analysis.ops.kernels import KERNELS, Kernels, beside_products, is_eligible_type
from ..analysis.ops.other import HLO_OPS, instructions_of
from ..analysis.ops.shares import FAMILIES, families, op_families
from ..analysis.out_of_memory.failure import MAX_ROWS, MemoryFailure
from ..analysis.overview import BREAKDOWN, IN_BROWSER, input_words
from ..analysis.places import UserFiles
from ..analysis.roofline import ROOFLINE
from ..analysis.source import SOURCE_LINES, SourceLines
from ..analysis.steps.categories import STEP_CATEGORIES
from ..analysis.xla.programs import HloGraph, HloGraphs
from ..trace.arrays import Float64, Int64
from ..trace.trace import Plane, Trace
from .counters import Positions, counter_meta
from .tables import hlo_unit_families


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a small frame as JSON-safe dicts."""
    names = [str(name) for name in frame.columns]
    columns = [_plain_column(frame[name]) for name in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_column(column: pd.Series) -> list[Any]:
    """A column's values; only floats are searched for numbers that JSON lacks."""
    values = column.tolist()
    kind = getattr(column.dtype, "kind", "O")
    is_plain = kind in "iub" or (kind == "f" and bool(np.isfinite(column.to_numpy(np.float64)).all()))
    return values if is_plain else [plain(value) for value in values]


def plain(value: Any) -> Any:
    """A value as JSON knows it; what is no number becomes null, bytes their length."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fields_of(holder: object, *names: str) -> dict[str, Any]:
    """Fields of an object under their names, JSON-safe."""
    return {name: plain(getattr(holder, name)) for name in names}


def memory_list(results: Analysis, rows: slice) -> list[dict[str, Any]]:
    """The rows of `memory.summary` with what each allocator does from step to step."""
    memory = results.memory
    growths = [memory.growth(name) for name in memory.allocators[rows]]
    told = {name: [getattr(growth, name) for growth in growths] for name in ("sentence", "is_significant")}
    return records(memory.summary.iloc[rows].assign(**told)[SUMMARY.in_browser()])


_MOST_OPS = 100
"""Of one advice that are selected: more than these nobody tells apart."""


def advice_list(advice: Sequence[Advice]) -> list[dict[str, Any]]:
    """One object an advice, those that win most first: what a card says, and what it selects in the other views."""
    return [
        {
            **fields_of(one, "rule", "severity", "headline", "title"),
            "evidence": [[name, plain(value)] for name, value in one.evidence.items()],
            "fix": fields_of(one.fix, "words", "code", "replaces"),
            **fields_of(one, "gain_ratio", "share_of"),
            "op_names": list(one.selection.op_names[:_MOST_OPS]),
            "time_range_ns": [int(t) for t in one.selection.time_range_ns],
            "step": -1 if one.selection.step is None else int(one.selection.step),
            "stretches_ns": [t for stretch in one.selection.stretches_ns for t in stretch],
            **fields_of(one.selection, "n_stretches", "view", "host"),
        }
        for one in advice
    ]


def layer_list(layers: Layers, variables: pd.DataFrame, rows: slice) -> list[dict[str, Any]]:
    """An object per layer, loss, optimizer or input with ops; `allocating` names the ops that allocated for it."""
    names: list[list[str]] = [[] for _ in range(len(layers.entries))]
    for name, row in layers.allocating.items():
        names[row].append(name)
    found = variables.groupby("layer")["n_params"].sum().to_dict()
    told = {"n_params": [*map(found.get, layers.entries["layer"])], "allocating": names}
    more = {name: pd.Series(values, layers.entries.index, object) for name, values in told.items()}
    return records(layers.entries.assign(**more)[LAYERS.in_browser()].iloc[rows])


def kernel_list(kernels: Kernels, rows: slice) -> list[dict[str, Any]]:
    """An object per kernel: `could_use_tensor_core` says whether Tensor Cores serve its op and no kernel of it."""
    adds_up = len(kernels.run_event) > 0  # the browser does, from `kernel_runs`
    frame = kernels.frame.iloc[rows]
    is_beside = beside_products(kernels.frame)[rows]
    # What a kernel is there for is what its op does, whatever the kernel is called.
    types = frame["op_type"].tolist()
    of_op = op_families(frame["op_name"].tolist(), types).astype(np.int64)
    family = np.where(of_op == FAMILIES.index("runtime"), _families(frame["name"].tolist()), of_op)
    is_eligible = frame["tensor_core_eligible"].to_numpy(np.bool_) | np.array([*map(is_eligible_type, types)], np.bool_)
    told = frame.assign(family=family, could_use_tensor_core=is_eligible & ~is_beside)
    return records(told[KERNELS.in_browser(is_full=not adds_up)])


def _families(names: list[str]) -> Int64:
    """The slice family of each distinct name."""
    distinct = [*dict.fromkeys(names)]
    family = dict(zip(distinct, families(distinct).tolist(), strict=True))
    return np.fromiter(map(family.__getitem__, names), np.int64, len(names))


def hlo_list(results: Analysis, user_files: UserFiles, rows: slice) -> list[dict[str, Any]]:
    """One object per HLO op of a program: what it is, what one execution computes and moves, whose line it is, its colour."""
    frame, unit_row = results.hlo_ops.frame.iloc[rows], results.hlo_ops.unit_row
    # An id is 64 bits, more than a number of JavaScript holds.
    ids = [str(value) for value in frame["program_id"].tolist()]
    units = np.flatnonzero(unit_row >= 0)
    family = hlo_unit_families(results, units[np.argsort(unit_row[units])][rows]).astype(np.int64)
    is_users = [user_files.has(source.rpartition(":")[0]) for source in frame["source"]]
    return records(frame.assign(program_id=ids, family=family, is_users=is_users)[HLO_OPS.in_browser()])


def pipeline_list(results: Analysis) -> list[dict[str, Any]]:
    """The input pipelines with their iterators, each node with the place of its consumer among them."""
    pipelines, iterators = results.input_pipeline.pipelines, results.input_pipeline.iterators
    nodes_of: dict[int, list[dict[str, Any]]] = {pipeline: [] for pipeline in pipelines["id"].tolist()}
    place: dict[int, int] = {}
    nodes = iterators.assign(parent=iterators["parent_id"])[ITERATORS.in_browser()]
    for node in records(nodes):  # a consumer comes before what it consumes
        siblings = nodes_of[node["pipeline"]]
        place[node["id"]] = len(siblings)
        node["parent"] = place.get(node["parent"], -1)
        siblings.append(node)
    return [
        {**pipeline, "bottleneck": place.get(pipeline["bottleneck"]), "nodes": nodes_of[pipeline["id"]]}
        for pipeline in records(pipelines[PIPELINES.in_browser()])
    ]


MAX_TEXT = 400
"""Characters of a name or sentence; of a longer name its end."""
MAX_NAMES = 4_000
"""Characters of the names that a row selects."""
_NUMBERS = ("requested_bytes", "in_use_bytes", "capacity_bytes", "largest_free_bytes", "fragmentation_ratio", "step")


def memory_failure_meta(failure: MemoryFailure | None) -> dict[str, Any] | None:
    """The sentence, the numbers, the first rows of each table and what to do; JSON-safe. None where nothing failed."""
    if failure is None:
        return None
    return {
        **fields_of(failure, *_NUMBERS),
        "sentence": failure.sentence[: 4 * MAX_TEXT],
        "message": failure.message[:MAX_TEXT],
        "allocator": failure.allocator,
        "at_ps": plain(failure.at_ms * PS_PER_MS),
        "tables": [
            _table("Op", failure.by_op, "op", "shape"),
            _table("Layer", failure.by_layer, "layer", ""),
            _table("Line", failure.by_line, "line", "code"),
        ]
        if failure.is_recorded
        else [],
        "actions": [
            {"words": one.words[: 4 * MAX_TEXT], "code": one.code, "detail": one.detail[: 4 * MAX_TEXT]}
            for one in failure.actions
        ],
    }


def _table(title: str, frame: pd.DataFrame, key: str, detail: str) -> dict[str, Any]:
    rows = frame.head(MAX_ROWS).to_dict("records")
    return {"title": title, "n": len(frame), "rows": [_row(row, key, detail) for row in rows]}


def _row(row: dict[Any, Any], key: str, detail: str) -> dict[str, Any]:
    name, more = str(row[key]), str(row[detail]) if detail else ""
    ops, room = [], MAX_NAMES
    for op in row["ops"]:
        room -= len(op)
        if room < 0:
            break
        ops.append(op)
    return {
        "name": tail_of_text((PurePath(name).name or name) if key == "line" else name, MAX_TEXT),
        "full": tail_of_text(name, MAX_TEXT),
        "detail": "" if more == "unknown" else more[:MAX_TEXT],
        "bytes": plain(row["bytes"]),
        "ratio": plain(row["ratio"]),
        "count": plain(row["occurrences"]),
        "ops": ops,
        "n_ops": len(row["ops"]),
    }


MAX_PLANES = 4096
"""With more only those with a sent line."""
_MOST_STRAGGLERS = 100
"""The costliest; the meta says of how many."""


def meta_of(results: Analysis, positions: Positions, *, title: str) -> dict[str, Any]:
    """Everything but the columns, the names and the lists that grow with the program; JSON-safe."""
    trace, workers, stragglers = results.trace, results.workers, results.stragglers
    lines = positions.lines.tolist()
    planes = _planes(trace, lines)
    fullest = results.memory.fullest_device
    return {
        "title": title,
        "duration_ps": int(trace.end_ps.max()) if trace.n_events else 0,
        "n_events": trace.n_events,
        "planes": [
            {"name": plane.name, "host": plane.host, "kind": _kind(plane)}
            for plane in (trace.planes[i] for i in planes)
        ],
        "n_lines": len(trace.lines),
        "lines": _lines(trace, lines, {plane: i for i, plane in enumerate(planes)}),
        "n_units": len(results.op_shares.dominant),
        "n_ops": len(results.op_shares),
        "categories": list(STEP_CATEGORIES),
        "sessions": [dataclasses.asdict(session) for session in trace.sessions],
        "n_allocators": len(results.memory.allocators),
        "memory_remedy": results.memory.remedy,
        "memory_failure": memory_failure_meta(results.memory_failure),
        "device_memory": None if fullest is None else fields_of(fullest, "allocator", "peak_bytes", "capacity_bytes"),
        "input": _input(results),
        "overview": _overview(results),
        **_hosts(results),
        "worker_hosts": list(workers.hosts),
        "worker_note": workers.note,
        "workers_wait": workers.wait_for_each_other,
        "stragglers": records(stragglers[STRAGGLERS.in_browser()].iloc[:_MOST_STRAGGLERS]),
        "n_stragglers": len(stragglers),
        **counter_meta(results),
    }


def _hosts(results: Analysis) -> dict[str, Any]:
    """All hosts, their roles, and whether they were reduced; a column `host` holds their numbers."""
    role_of = dict(zip(results.hosts["host"], results.hosts["role"], strict=True))
    hosts = hosts_of(results.trace)
    return {
        "hosts": list(hosts),
        "host_roles": [role_of.get(host, "") for host in hosts],
        "is_summed": not results.has_events,
    }


def _kind(plane: Plane) -> str:
    return "host" if plane.is_host else "device" if plane.is_device else "other"


def _planes(trace: Trace, lines: list[int]) -> list[int]:
    """All planes, or of too many those with a sent line."""
    if len(trace.planes) <= MAX_PLANES:
        return list(range(len(trace.planes)))
    return sorted({trace.lines[i].plane for i in lines})


def _lines(trace: Trace, chosen: list[int], plane_numbers: dict[int, int]) -> list[dict[str, Any]]:
    offsets = trace.line_offsets.tolist()
    return [
        {
            "plane": plane_numbers[line.plane],
            "name": line.display_name or line.name or f"line {line.id}",
            "n_events": end - begin,
            # Self times add up to the time that the outermost events cover.
            "busy_ps": int(trace.nesting.self_ps[begin:end].sum()),
            "is_derived": line.is_derived,
        }
        for line, begin, end in ((trace.lines[i], *offsets[i : i + 2]) for i in chosen)
    ]


def _overview(results: Analysis) -> dict[str, Any]:
    overview = results.overview
    return {
        "step_time": {
            **{name: getattr(overview, f"step_time_{name}_ms") for name in ("avg", "std", "min", "max", "median")},
            "n": overview.n_steps,
            "n_averaged": overview.n_steps_averaged,
        },
        **fields_of(overview, *(one.name for one in IN_BROWSER)),
        "breakdown": records(overview.breakdown[BREAKDOWN.in_browser()]),
        "has_device": overview.environment.n_active_devices > 0,
        "environment": {key: plain(value) for key, value in dataclasses.asdict(overview.environment).items()},
    }


def _input(results: Analysis) -> dict[str, Any]:
    """The verdict on the input, and each input op with its category and work, in all and in averaged steps."""
    pipeline = results.input_pipeline
    iterators = {op for names in pipeline.iterators["event_names"] for op in parse_op_names(names).name}
    in_steps = results.step_work_ms
    columns = (pipeline.ops[name].tolist() for name in ("op", "category", "work_time_ms"))
    ops = [
        [op, category, *((work, in_steps.get(op)) if op in iterators else ())]
        for op, category, work in zip(*columns, strict=True)
    ]
    return {"verdict": input_words(results.overview, pipeline.verdict), "ops": ops}


_LOG = logging.getLogger(__name__)


def structure_list(results: Analysis) -> list[dict[str, Any]]:
    """One object: columns of ops, scopes, frames and edges; or `{"problem": text}` where they could not be worked out."""
    try:
        shown = compute_shown_structure(results.op_graph, framework_ops(results, results.op_graph))
        return [_packed_structure(shown, is_stored=results.stored_graph is not None)]
    except Exception as error:  # one view must not take the others with it
        _LOG.exception("the views by structure could not be computed")
        return [{"problem": f"{type(error).__name__}: {error}"}]


def _packed_structure(shown: ShownStructure, *, is_stored: bool) -> dict[str, Any]:
    ops = shown.ops
    figures = {key: _numbers(ops[key]) for key in (*FIGURES, *COUNTS) if len(ops) and ops[key].to_numpy().any()}
    if (ops["micros"] == ops["accelerator_micros"] + ops["cpu_micros"]).all():  # the browser adds them up
        figures.pop("micros", None)
    types, devices, shapes = (coded(ops[key]) for key in ("type", "device", "shape"))
    files = coded(shown.frames["file"])
    return {
        "names": ops["name"].tolist(),
        "types": types,
        "devices": devices,
        "shapes": shapes,
        "scope": ops["scope"].tolist(),
        "frame": ops["frame"].tolist(),
        "figures": figures,
        "scopes": {"name": shown.scopes["name"].tolist(), "parent": shown.scopes["parent"].tolist()},
        "frames": {
            "files": files,
            **{key: shown.frames[key].tolist() for key in ("line", "function", "text", "parent")},
        },
        "edges": {
            "back": (shown.edges["op"] - shown.edges["source"]).tolist(),
            "op": _differences(shown.edges["op"]),
            "n": shown.edges["n"].tolist(),
        },
        **fields_of(shown, "n_ops", "n_named", "n_edges", "n_steps"),
        "of_framework_op": _differences(shown.of_framework_op),
        "is_stored": is_stored,
        "is_per_step": shown.is_per_step,
        "no_code": "" if len(shown.frames) > 1 else _NO_CODE[is_stored],
        "no_edges": "" if shown.n_edges else _NO_EDGES[is_stored],
    }


_NO_CODE = (
    "no call stacks were noted during the capture. They are noted where the profiled code builds its graphs:",
    "no call stacks were stored in the file. tfprof writes them with its op log, from a graph built in Python.",
)
"""Of a capture, and of a file."""
_NO_EDGES = (
    "no graph of the program was noted during the capture. It is noted where the profiled code builds its graphs:",
    "the file names ops and what they cost, not what feeds them. A graph beside it says more:",
)


def _differences(numbers: pd.Series | Int64) -> list[int]:
    """Each number less the one before: those repeat, so that they take few bytes."""
    return np.diff(numbers, prepend=0).tolist()  # type: ignore[no-any-return]


def coded(texts: pd.Series | Sequence[str]) -> dict[str, Any]:
    """Texts that repeat -> each once, and its number for each row."""
    codes, known = pd.factorize(np.asarray(texts, object))
    return {"texts": [str(text) for text in known], "codes": codes.tolist()}


def _numbers(values: pd.Series) -> list[Any]:
    """Whole where they are, else to a thousandth."""
    numbers = values.to_numpy()
    if np.issubdtype(numbers.dtype, np.integer):
        return numbers.tolist()
    rounded = np.round(numbers.astype(np.float64), 3)
    return [int(value) if value == int(value) else value for value in rounded.tolist()]


_MOST_GRAPHS = 100
_MOST_CHARACTERS = 200_000
"""Of JSON, of all graphs together."""


def hlo_graph_list(results: Analysis) -> list[dict[str, Any]]:
    """An object per HLO op that ran and has a program, devices before hosts, most self time first; none of a reduced profile."""
    units, hlo_ops, shares = results.units.hlo, results.hlo_ops, results.op_shares
    instruction = instructions_of(hlo_ops, units)
    self_us = hlo_ops.frame["total_self_time_us"].to_numpy(np.float64)
    time_of = dict(zip(instruction.tolist(), self_us.tolist(), strict=True))
    n_ordinary = len(hlo_ops.unit_row) - len(units)
    unit_of = n_ordinary + np.argsort(hlo_ops.unit_row[n_ordinary:])
    graphs = HloGraphs(units.modules)
    found: list[dict[str, Any]] = []
    left = _MOST_CHARACTERS
    for row in np.flatnonzero(instruction >= 0)[:_MOST_GRAPHS].tolist():
        low, high = np.searchsorted(shares.unit, (unit_of[row], unit_of[row] + 1)).tolist()
        told = hlo_ops.frame.iloc[row]
        packed = {
            **{name: told[name] for name in ("name", "module", "category")},
            "self_us": round(self_us[row], 3),
            "ops": [shares.name[op] for op in shares.op[low:high].tolist()],
            "ratios": np.round(shares.ratio[low:high], 4).tolist(),
            **_packed_graph(graphs.of(int(instruction[row])), time_of),
        }
        left -= len(json.dumps(packed, separators=(",", ":")))
        if left < 0:
            break
        found.append(packed)
    return found


def _packed_graph(graph: HloGraph, time_of: dict[int, float]) -> dict[str, Any]:
    is_inside = graph.centre < 0
    times = [time_of.get(row, 0.0) for row in graph.row]
    return {
        "names": list(graph.name),
        "opcodes": coded(graph.opcode),
        "shapes": coded(graph.shape),
        "node_ops": coded(graph.op_name),
        # Of a fusion the share of its work, else self time in microseconds.
        "values": [round(value, 4) for value in (np.nan_to_num(graph.work_ratio).tolist() if is_inside else times)],
        "from": [node for nodes in graph.reads for node in nodes],
        "to": [reader for reader, nodes in enumerate(graph.reads) for _ in nodes],
        "n_nodes": graph.n_nodes,
        "centre": graph.centre,
    }


_MOST_ROOFLINE_OPS = 5000
"""Those with most time: a chart of more shows nothing more."""
_KINDS = [UNIT_TEXTS[kind] for kind in range(N_UNITS)]


def roofline_list(results: Analysis) -> list[dict[str, Any]]:
    """Peaks, what each step computed, and columns of ops, most time first; None without compiled programs."""
    if results.op_shares.is_identity:
        return []
    roofline = results.roofline
    frame, units = roofline.frame.iloc[:_MOST_ROOFLINE_OPS], roofline.units[:_MOST_ROOFLINE_OPS]
    n_units = int(units.max(initial=-1)) + 1
    op, work_ps = roofline.work["op"].to_numpy(np.int64), roofline.work["ps"].to_numpy(np.float64)
    inside = np.append(results.is_averaged, False)[results.steps.event_step[roofline.work["event"]]]
    n_parts = np.bincount(op, minlength=n_units)[units]
    ops = {
        **{name: frame[name].tolist() for name in ROOFLINE.in_browser()},
        "kind": [_KINDS.index(text) if text else -1 for text in frame["unit"].tolist()],
        "unit": units.tolist(),
        "op": roofline.shares.dominant[units].tolist(),
        "parts": n_parts.tolist(),
        "step_time_us": (np.bincount(op[inside], work_ps[inside], n_units)[units] / PS_PER_US).tolist(),
        "step_parts": np.bincount(op[inside], minlength=n_units)[units].tolist(),
        "peak": (frame["flop_rate_tflops"] / frame["mfu_ratio"] * 1e12).tolist(),
    }
    steps = roofline.by("step")
    found = {
        "kinds": [
            {
                "text": text,
                "peak": _most(roofline.peaks[:, kind])
                if kind != ComputeUnit.VECTOR_64 or kind in ops["kind"]
                else None,
            }
            for kind, text in enumerate(_KINDS)  # hardly any program computes in float64: its roof would be in the way
        ],
        "bytes_per_s": _most(roofline.peaks[:, -1]),
        "ops": ops,
        "n_ops": len(roofline.units),
        "step_flops": steps["flops"].tolist(),
        "step_mfu": steps["mfu_ratio"].tolist(),
    }
    return [plain(found)]


def _most(peaks: Float64) -> float:
    """Of the devices: a chart of several kinds has the roofs of the fastest."""
    return float(np.fmax.reduce(peaks, initial=np.nan))


def source_meta(lines: SourceLines) -> dict[str, Any]:
    """The lists that ops and samples of the user's thread are charged to."""
    known = lines.files.drop_duplicates("file").set_index("file")[["title", "text"]].to_dict("index")
    rows: dict[str, int] = {}
    entries = [
        {**entry, "file": -1 if entry["bucket"] else rows.setdefault(entry["file"], len(rows))}
        for entry in records(lines.entries[SOURCE_LINES.in_browser()])
    ]
    samples = [
        {**sample, "file": rows.setdefault(sample["file"], len(rows))}
        for sample in records(lines.sampled[["file", "line", "n_samples", "time_ratio"]])
        if sample["file"]
    ]
    files = [{"file": path, **known.get(path, {"title": path, "text": ""})} for path in rows or known]
    return {"source_files": files, "source_lines": entries, "source_samples": samples}
