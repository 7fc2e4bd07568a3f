"""What XProf says of a trace, its op stack and its steps with their quirks, and our reading with those undone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tfprof_widgets.analysis import (
    COMPILATION,
    Analysis,
    ComputeUnit,
    OpCategory,
    framework_op,
    on_stream,
    parse_op_names,
)
from tfprof_widgets.trace import Trace, UInt8

_RUN = """
import json, sys
from xprof.convert import raw_to_tool_data
jobs, tools = json.load(open(sys.argv[1]))
found = {}
for name, paths in jobs.items():
    for tool in tools:
        data, _ = raw_to_tool_data.xspace_to_tool_data(paths, tool, {"use_saved_result": False})
        found.setdefault(name, {})[tool] = json.loads(data)
json.dump(found, open(sys.argv[2], "w"))
"""
_PREPROCESS = """
import sys
from xprof.convert import _pywrap_profiler_plugin
data, _ = _pywrap_profiler_plugin.xspace_to_tools_data([sys.argv[1]], "_xplane.pb", {})
open(sys.argv[2], "wb").write(data)
"""


def xprof(xplane: bytes, *tools: str) -> dict[str, Any]:
    """The JSON of each tool for a file."""
    return xprof_all({"": xplane}, *tools)[""]


def xprof_all(xplanes: Mapping[str, bytes], *tools: str) -> dict[str, dict[str, Any]]:
    """The same for several files, in one process."""
    return xprof_of_runs({name: {"host": content} for name, content in xplanes.items()}, *tools)


def xprof_of_runs(runs: Mapping[str, Mapping[str, bytes]], *tools: str) -> dict[str, dict[str, Any]]:
    """The same for several runs, each of files by host."""
    with tempfile.TemporaryDirectory() as scratch:
        jobs: dict[str, list[str]] = {}
        for number, (name, files) in enumerate(runs.items()):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            jobs[name] = [str(folder / f"{host}.xplane.pb") for host in files]
            for path, content in zip(jobs[name], files.values(), strict=True):
                Path(path).write_bytes(content)
        found: dict[str, dict[str, Any]] = json.loads(_result_of(_RUN, json.dumps([jobs, tools]).encode()))
        return found


def preprocessed(xplane: bytes) -> bytes:
    """The file as XProf's tools see it: grouped, with derived lines."""
    return _result_of(_PREPROCESS, xplane)


def _result_of(program: str, content: bytes) -> bytes:
    """What a program writes that is run with a file of this content."""
    with tempfile.TemporaryDirectory() as scratch:
        source, result = Path(scratch) / "source.pb", Path(scratch) / "result"
        source.write_bytes(content)
        command = [sys.executable, "-c", program, str(source), str(result)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"XProf failed with status {done.returncode}: {done.stderr[-2000:]}")
        return result.read_bytes()


def rows(table: Any) -> list[dict[str, Any]]:
    """A DataTable as one dictionary per row, by column id."""
    columns = [column["id"] for column in table["cols"]]
    return [dict(zip(columns, (cell.get("v") for cell in row["c"]), strict=True)) for row in table["rows"]]


@dataclass
class OpTotals:
    """Totals of one op in ps."""

    type: str
    occurrences: int = 0
    total_ps: int = 0
    self_ps: int = 0


@dataclass
class LineTotals:
    """What XProf computes for one host line."""

    ops: dict[str, OpTotals] = field(default_factory=dict)
    busy_ps: int = 0
    window_ps: int = 0


def host_ops(trace: Trace, *, has_quirks: bool) -> tuple[dict[str, OpTotals], int]:
    """Totals by op name, and IDLE in ps, of all host lines, event by event.

    Args:
        trace: the trace.
        has_quirks: as XProf does (D4: an op that does not close before its parent makes ops vanish; D5: allocations count
            as executions of the op they are for). Otherwise every instant is charged to the op that began last.
    """
    merged: dict[str, OpTotals] = {}
    idle = 0
    for line in range(len(trace.lines)):
        if trace.planes[trace.lines[line].plane].name != "/host:CPU" or trace.lines[line].is_derived:
            continue
        totals = _line_with_quirks(trace, line) if has_quirks else _line(trace, line)
        idle += max(totals.window_ps, totals.busy_ps) - totals.busy_ps
        for name, op in totals.ops.items():
            own = merged.setdefault(name, OpTotals(op.type))
            own.type = own.type or op.type
            own.occurrences += op.occurrences
            own.total_ps += op.total_ps
            own.self_ps += op.self_ps
    return merged, idle


def _activities(trace: Trace, line: int) -> Iterator[tuple[int, int, str, str, bool]]:
    """Start, end, name, type and whether it is a mere allocation, of every op of a line in event order."""
    low, high = trace.line_offsets[line : line + 2]
    tf_op = trace.string_stat("tf_op")
    columns = (column[low:high].tolist() for column in (trace.start_ps, trace.end_ps, trace.name_id, tf_op))
    for start, end, name_id, op_id in zip(*columns, strict=True):
        name = trace.strings[name_id]
        category, op, kind = _parsed(name)
        if category != OpCategory.UNKNOWN:
            yield start, end, op, kind, False
        if op_id >= 0 and trace.strings[op_id]:
            _, op, kind = _parsed(trace.strings[op_id])
            yield start, end, op, kind, name.startswith("Memory")


@cache
def _parsed(text: str) -> tuple[int, str, str]:
    """Category, name and type of one op name; `Compiling IR:main_kernel_1` is an op to XProf (D15)."""
    compiles = COMPILATION.match(text)
    parsed = parse_op_names([f"compiling/{text[compiles.end() :]}" if compiles else text])
    name = f"{compiles.group()}{parsed.name[0].removeprefix('compiling/')}" if compiles else parsed.name[0]
    return int(parsed.category[0]), name, parsed.type[0]


def _line_with_quirks(trace: Trace, line: int) -> LineTotals:
    result = LineTotals()
    activities: list[tuple[int, bool, int, str, str]] = []
    for number, (start, end, name, kind, _) in enumerate(_activities(trace, line)):
        activities += [(start, True, number, name, kind), (end, False, number, name, kind)]
    activities.sort(key=lambda activity: activity[0])
    stack: list[list[int]] = []
    for time, begins, number, name, kind in activities:
        if begins:
            stack.append([number, time, 0])
            continue
        while stack and stack[-1][0] != number:
            stack.pop()
        if not stack:
            continue
        _, start, children = stack.pop()
        if stack:
            stack[-1][2] += time - start
        op = result.ops.setdefault(name, OpTotals(kind))
        op.type = op.type or kind
        op.occurrences += 1
        op.total_ps += time - start
        op.self_ps += time - start - children
        result.busy_ps += time - start - children
    if activities:
        result.window_ps = activities[-1][0] - activities[0][0]
    return result


def _line(trace: Trace, line: int) -> LineTotals:
    result = LineTotals()
    every = list(_activities(trace, line))
    executions = [activity for activity in every if not activity[4]]
    for start, end, name, kind, _ in executions:
        op = result.ops.setdefault(name, OpTotals(kind))
        op.occurrences += 1
        op.total_ps += end - start
    for name, charged in _charged(executions).items():
        result.ops[name].self_ps += charged
        result.busy_ps += charged
    if every:
        result.window_ps = max(max(start, end) for start, end, *_ in every) - min(start for start, *_ in every)
    return result


def _charged(executions: list[tuple[int, int, str, str, bool]]) -> dict[str, int]:
    """Time of each op by sweeping over the instants at which anything begins or ends."""
    changes: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, (start, end, *_) in enumerate(executions):
        if end > start:
            changes[start][0].append(number)
            changes[end][1].append(number)
    running: list[int] = []
    charged: dict[str, int] = defaultdict(int)
    times = sorted(changes)
    for time, until in zip(times, times[1:] + times[-1:], strict=True):
        begun, ended = changes[time]
        running = [number for number in running if number not in ended] + begun
        # Of those that cover the instant the one that began last; of equal starts the shorter, the later in the file.
        if running:
            top = max(running, key=lambda n: (executions[n][0], -executions[n][1], n))
            charged[executions[top][2]] += until - time
    return charged


TENSOR_CORE_KERNELS = (
    *("16816", "c1688", "conv1x1", "conv2d_c1_k1", "dgrad_1x1_stride_2x2", "direct_group", "first_layer_wgrad_kernel"),
    *("h1688", "h884", "hmma", "i16832", "i8816", "s884", "s1688", "xmma_gemm", "xmma_implicit_gemm"),
    *("xmma_sparse_conv", "xmma_sparse_gemm", "xmma_warp_specialized_implicit_gemm"),
)
_UNIT = {
    (False, False): ComputeUnit.VECTOR_32,
    (False, True): ComputeUnit.VECTOR_16,
    (True, False): ComputeUnit.TENSOR_TF32,
    (True, True): ComputeUnit.TENSOR_16,
}


def xprof_units(trace: Trace) -> UInt8:
    """For each event of a device the unit that XProf's words mean: fills of memory compute, too."""
    units = np.full(trace.n_events, ComputeUnit.UNKNOWN, np.uint8)
    shape = trace.string_stat("shape")
    for event in np.flatnonzero(on_stream(trace)).tolist():
        name, text = trace.strings[trace.name_id[event]], trace.strings[shape[event]] if shape[event] >= 0 else ""
        is_nvidia = trace.planes[trace.plane_id[event]].stats.get("device_vendor", "Nvidia") == "Nvidia"
        uses = is_nvidia and any(word in name for word in TENSOR_CORE_KERNELS)
        units[event] = _UNIT[uses, any(word in (text or name) for word in ("half", "fp16"))]
    return units


def as_xprof(trace: Trace) -> Analysis:
    """Our reading of a trace with XProf's units."""
    results = Analysis(trace)
    results.__dict__["kernel_units"] = xprof_units(trace)
    return results


def ops_of_roots(results: Analysis) -> tuple[str, ...]:
    """The framework op of each unit, of an HLO op the one that its own instruction names: of a fusion that of its root."""
    ops = results.occurrences
    named = [ops.hlo.modules.op_name[row] if row >= 0 else "" for row in ops.hlo.instruction.tolist()]
    return (*ops.name[: ops.n_ops], *(framework_op(name, "")[0] if name else "" for name in named))


def charged_to_roots(results: Analysis) -> Analysis:
    """The results with each kernel under the one op that `ops_of_roots` names."""
    names = ops_of_roots(results)
    results.__dict__["op_shares"] = replace(
        results.op_shares, name=names, type=names, dominant=np.arange(len(names), dtype=np.int32)
    )
    return results


def device_executions(results: Analysis) -> int:
    """Executions of the ops of devices: of the HLO ops of one root the most frequent one counts, in XProf as here."""
    names, most = ops_of_roots(results), Counter[str]()
    totals = results.host_sums.on_all_hosts()
    for unit, count in zip(totals.unit.tolist(), totals.count.tolist(), strict=True):
        if results.units.is_device[unit]:
            name = names[unit] or results.units.name[unit]
            most[name] = max(most[name], count)
    return most.total()


Span = tuple[int, int, int]
"""Start, end, priority."""


def pieces(spans: Iterable[Span]) -> list[Span]:
    """Non-overlapping pieces; at every instant the highest priority that is present, 0 where none is."""
    boundaries: list[tuple[int, int, int]] = []
    for start, end, priority in spans:
        boundaries += [(start, 1, priority), (end, 0, priority)]
    boundaries.sort(key=lambda boundary: (boundary[0], boundary[1], -boundary[2]))
    present: Counter[int] = Counter()
    result = []
    for (time, begins, priority), (until, _, _) in pairwise(boundaries):
        present[priority] += 1 if begins else -1
        result.append((time, until, max((p for p, count in present.items() if count > 0), default=0)))
    return result


def time_by_priority(spans: Iterable[Span], start: int, end: int) -> Counter[int]:
    """How long each priority rules within a step; 0 is what is left."""
    total: Counter[int] = Counter()
    for low, high, priority in pieces(spans):
        total[priority] += max(min(high, end) - max(low, start), 0)
    total[0] += end - start - sum(total.values())
    return total
