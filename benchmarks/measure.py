"""One way of answering all questions about a trace file -> seconds of each part and peak memory, as JSON on stdout.

Run in a fresh process each time, so that the peak belongs to what was asked:
`python measure.py ours FILE` or `python measure.py TOOL FILE`, where TOOL is one of XProf's. Imports are not timed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

TRACE_VIEWER_RESOLUTION = 8000
"""What XProf's own page asks for first."""


class Stopwatch:
    """Seconds of each named part, one after the other: on the clock, and of the processor, all threads together."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    def time(self, part: str, work: Callable[[], Any]) -> Any:
        start, start_cpu = time.perf_counter(), time.process_time()
        result = work()
        self.seconds[part] = time.perf_counter() - start
        self.cpu_seconds[part] = time.process_time() - start_cpu
        return result


def measure_ours(file: Path) -> dict[str, Any]:
    """Load, every table of the profile, and the first payload of the timeline."""
    import pandas as pd  # noqa: F401 - loaded by the first table otherwise
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: F401 - by the first file otherwise

    import tfprof_widgets as tfprof
    from tfprof_widgets.analysis import Analysis  # noqa: F401
    from tfprof_widgets.read import open_traces  # noqa: F401
    from tfprof_widgets.show import Payload, as_text

    before = peak_bytes("self")
    watch = Stopwatch()
    profile = watch.time("load", lambda: tfprof.load(file))
    watch.time("steps", lambda: profile.steps)
    watch.time("ops", lambda: profile.ops)
    watch.time("overview", lambda: profile.overview)
    watch.time("memory", lambda: _all_of_memory(profile.memory))
    watch.time("input pipeline", lambda: profile.input_pipeline.iterators)
    watch.time("events", lambda: profile.events)
    for table in ("kernels", "hlo_ops", "layers", "scopes", "source_lines", "workers"):
        watch.time(table.replace("_", " "), partial(getattr, profile, table))
    payload = watch.time("first payload", lambda: as_text(b"".join(Payload(profile.run.results).first.values())))
    trace = profile.trace
    return {
        "seconds": watch.seconds,
        "cpu_seconds": watch.cpu_seconds,
        "imports_bytes": before,
        "n_events": trace.n_events,
        "n_stats": trace.stats.n_rows,
        "n_names": len(trace.used_names),
        "n_lines": len(trace.lines),
        "n_instructions": profile.run.results.hlo_executions.units.modules.n_instructions,
        "n_bytes": len(payload),
    }


def _all_of_memory(memory: Any) -> None:
    summary = memory.summary
    for allocator in summary["allocator"]:
        memory.timeline(allocator)
        memory.peak(allocator)


def measure_xprof(file: Path, tool: str) -> dict[str, Any]:
    """One of XProf's tools, as its page asks for it."""
    from xprof.convert import raw_to_tool_data

    watch = Stopwatch()
    options = {"resolution": TRACE_VIEWER_RESOLUTION} if tool.startswith("trace_viewer") else {}
    parameters = {"use_saved_result": False, "trace_viewer_options": options}
    content, _ = watch.time(tool, lambda: raw_to_tool_data.xspace_to_tool_data([str(file)], tool, parameters))
    return {"seconds": watch.seconds, "n_bytes": len(content or b"")}


def peak_bytes(process: int | str) -> int:
    """The most memory that a process itself has held; `ru_maxrss` of a child begins with that of its parent."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024


def main(what: str, file: Path) -> None:
    result = measure_ours(file) if what == "ours" else measure_xprof(file, what)
    result["peak_bytes"] = peak_bytes("self")
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
