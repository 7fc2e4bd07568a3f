"""What Python computes of drawn captures -> `tests/vectors/*.json`, which the tests of the browser's arithmetic read.

    python -m tests.make_vectors

A vector holds what travels to the browser, and the tables of Python that the browser works out again from it for a time
range or a host. `js/test/vectors.test.ts` compares the two; a vector that is not what Python says now fails
`tests/unit/test_vectors.py`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.cluster import Cluster
from tests.structure_drawings import drawn_graph, profile_of
from tests.unit.analysis.hosts.drawn_hosts import results_of, results_of_cluster
from tests.unit.views.received import receive
from tests.vector_drawings import KERNELS, STRAGGLERS, Waiting, code_of_training, coded_tables, program, training
from tfprof_widgets.analysis import PS_PER_US, STEP_CATEGORIES, TABLES, Analysis, Selection, compute_stragglers
from tfprof_widgets.export import readable_kernel
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import Payload, Table, as_text, pack_bytes, plain, records, structure_list

FOLDER = Path(__file__).parent / "vectors"
_WORDS = ("advice", "advice_notices", "activity", "structure")
"""Of the meta object what no number is worked out from."""
_TABLES = ("stats:0", "stat_counts:0", "flows_out:0", "flows_in:0", "sample")
_DIGITS = 12
_TIMES = ("occurrences", "total_time_us")
_PLACE = ("forward_time_us", "backward_time_us", "other_time_us", "self_time_us", "self_time_ratio", "n_ops")
_OF_RANGE = {
    "ops": ("device", "name", "type", *_TIMES, "total_self_time_us", "self_time_ratio", "cumulative_ratio", "eager"),
    "op_types": ("device", "type", "n_ops", *_TIMES, "total_self_time_us", "self_time_ratio", "cumulative_ratio"),
    "kernels": ("name", *_TIMES, "min_time_us", "max_time_us"),
    "layers": ("device", "layer", *_PLACE, "optimizer_time_us", "occurrences"),
    "source_lines": ("device", "file", "line", "bucket", *_PLACE, "occurrences"),
    "hlo_ops": ("name", *_TIMES, "total_self_time_us", "flop_rate_gflops", "memory_bandwidth_gibps"),
}
_ITERATOR = ("long_name", "calls", "total_time_ms", "self_time_ms", "wait_time_ms", "on_critical_path")


def training_vector() -> dict[str, Any]:
    """Everything that is worked out of one host."""
    results = Analysis(read_xspace(training()), code_of_training())
    start, duration = (results.steps.frame[name].tolist() for name in ("start_ps", "duration_ps"))
    step = (start[2], start[2] + duration[2])
    cut = (start[1] + 22_000_000, start[4] + 31_500_000)
    return {
        "pack": sent(results),
        "ranges": [of_range(results, one) for one in (None, step, cut)],
        "steady": of_averaged_steps(results),
        "memory": of_memory(results, step, cut),
        "input": of_input(results),
        "overview": of_overview(results),
        "names": of_names(results),
    }


def program_vector() -> dict[str, Any]:
    """Ops of a compiled program and the framework ops that they stand for."""
    results = Analysis(read_xspace(program()))
    return {"pack": sent(results), "ranges": [of_range(results, one) for one in (None, (22_000_000, 51_500_000))]}


def hosts_vector() -> dict[str, Any]:
    """Two hosts that do all that the one of `training_vector` does, one of them slower."""
    files = {host: training(host, slowness=slowness) for host, slowness in (("a", 1.0), ("b", 1.5))}
    together = results_of(*files.values())
    cut = (162_000_000, 400_500_000)
    return {
        "pack": sent(together),
        "hosts": {
            host: {
                "ranges": [of_range(together, one, host) for one in (None, cut)],
                "overview": of_overview(results_of(content)),
                "memory": records(results_of(content).memory.summary),
            }
            for host, content in files.items()
        },
    }


def workers_vector() -> dict[str, Any]:
    """Aligned steps of hosts that wait for each other."""
    results = results_of_cluster(Cluster(3, n_steps=6, slow_input={1: 4.0}))
    own = [f"{category}_ms" for category in STEP_CATEGORIES]
    means = results.workers.frame.groupby("host", sort=False)[["step_time_ms", *own]].mean().reset_index()
    return {"pack": sent(results), "means": records(means), "stragglers": records(results.stragglers)}


def stragglers_vector() -> list[dict[str, Any]]:
    """Who holds the others up, of given times."""
    return [_judged(drawn) for drawn in STRAGGLERS]


def structure_vector() -> dict[str, Any]:
    """Ops with figures, and the sums over the scopes and calls around them."""
    profile = profile_of(drawn_graph(2, 2))
    (meta,) = structure_list(profile.run.results)
    figures = ("micros", "accelerator_micros", "cpu_micros", "bytes", "float_ops")
    columns = ["name", *figures, *(f"total_{figure}" for figure in figures)]
    return {"structure": meta, "scope": records(profile.tree("scope", select=figures)[columns])}


def column_code_vector() -> dict[str, Any]:
    """A pack of coded columns after decompression, and what is in it."""
    tables = {name: Table(columns) for name, columns in coded_tables().items()}
    values = {
        name: {column: [dtype, _told(values)] for column, (values, dtype) in table.columns.items()}
        for name, table in tables.items()
    }
    return {"raw": as_text(zlib.decompress(pack_bytes({}, tables))), "tables": values}


def _told(values: np.ndarray) -> list[Any]:
    """Whole numbers to the last digit; those of 64 bits as text."""
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        return [str(value) for value in values.tolist()]
    return [int(value) if value == int(value) else value for value in values.tolist()]


def kernel_names_vector() -> list[list[str]]:
    """Signatures, each with the name that a person reads."""
    return [[signature, readable_kernel(signature)] for signature in KERNELS]


def columns_vector() -> dict[str, tuple[str, ...]]:
    """The columns of the tables whose rows views write as CSV files, in order."""
    return {name: TABLES[name].names for name in ("ops", "kernels", "hlo_ops", "layers", "source_lines")}


VECTORS: Mapping[str, Callable[[], Any]] = {
    "training": training_vector,
    "program": program_vector,
    "hosts": hosts_vector,
    "workers": workers_vector,
    "stragglers": stragglers_vector,
    "structure": structure_vector,
    "column_code": column_code_vector,
    "kernel_names": kernel_names_vector,
    "columns": columns_vector,
}


def sent(results: Analysis) -> dict[str, Any]:
    """What travels of a capture, put together: `meta` and, by table and column, `[dtype, values]`."""
    got = receive(Payload(results))
    left = {name: columns for name, columns in got.tables.items() if name not in _TABLES}
    (tile,) = got.tiles
    left |= {f"{name}:0": tile[name] for name in ("events", "runs", "flows_out", "flows_in")}
    meta = {name: [] if name in _WORDS else value for name, value in got.meta.items()}
    return {
        "meta": {**meta, "sections": {}},
        "tables": {
            name: {column: [values.dtype.str[1:], values.tolist()] for column, values in columns.items()}
            for name, columns in left.items()
        },
    }


def of_range(results: Analysis, range_ps: tuple[int, int] | None, host: str = "") -> dict[str, Any]:
    """The tables of a range of a host, or of all; of one host those alone that views have host by host."""
    part = Selection(results, range_ps, (), host)
    tables = {
        "ops": part.op_statistics(idle=True),
        "op_types": part.op_statistics(by="type", idle=True),
        "kernels": part.kernels,
        **({} if host else {"layers": part.layers, "source_lines": part.source_lines}),
        "hlo_ops": part.hlo_ops[part.hlo_ops["occurrences"] > 0],
    }
    return {"range_ps": range_ps, **{name: records(frame[[*_OF_RANGE[name]]]) for name, frame in tables.items()}}


def of_averaged_steps(results: Analysis) -> list[dict[str, Any]]:
    """What each op took in the averaged steps, a step; added up from single executions."""
    runs, shares, averaged = results.occurrences, results.op_shares, results.is_averaged
    inside = np.append(averaged, False)[results.steps.event_step[runs.event]]
    n_units = len(runs.name)
    count, total, own = (
        shares.spread(np.bincount(runs.op[inside], value[inside], n_units))
        for value in (runs.is_first, runs.duration_ps, runs.self_ps)
    )
    sums = {"occurrences": count, "total_time_us": total / PS_PER_US, "total_self_time_us": own / PS_PER_US}
    table = {name: value / averaged.sum() for name, value in sums.items()}
    side = np.where(shares.is_device, "Device", "Host")
    frame = pd.DataFrame({"device": side, "name": shares.name, **table})
    return records(frame[frame["occurrences"] > 0])


def of_memory(results: Analysis, *ranges: tuple[int, int]) -> dict[str, Any]:
    """What the memory of the only allocator is said to do."""
    memory = results.memory
    (allocator,) = memory.allocators
    moments = [0.001, *(low / 1e9 for low, _ in ranges), float(memory.summary["peak_at_ms"].iloc[0])]
    counted = [Selection(results, one, ()).memory(allocator)["event"].tolist() for one in ranges]
    return {
        "summary": records(memory.summary)[0],
        "live": [{"at_ms": at, "rows": records(memory.live(allocator, at))} for at in moments],
        "steps": records(memory.steps(allocator)),
        "unfreed": records(memory.unfreed(allocator)),
        "counted": [
            {"range_ps": one, **{f"{kind}s": events.count(kind) for kind in ("allocation", "deallocation")}}
            for one, events in zip(ranges, counted, strict=True)
        ],
    }


def of_input(results: Analysis) -> dict[str, Any]:
    """What the input pipeline is said to do, as a whole and in each execution."""
    pipeline = results.input_pipeline
    executions = pipeline.executions(0)
    return {
        "ops": records(pipeline.ops),
        "iterators": records(pipeline.iterators[[*_ITERATOR]]),
        "executions": [
            {
                "latency_us": latency,
                "is_slow": bool(is_slow),
                "iterators": records(pipeline.execution(0, rank)[[*_ITERATOR]]),
            }
            for rank, latency, is_slow in executions[["rank", "latency_us", "is_slow"]].itertuples(index=False)
        ],
        "steps": records(pipeline.steps[["input_ratio", "is_averaged"]]),
    }


def of_overview(results: Analysis) -> dict[str, Any]:
    """The step time and its parts."""
    found = results.overview
    times = {name: getattr(found, f"step_time_{name}_ms") for name in ("avg", "std", "min", "max")}
    return {
        "step_time_ms": times,
        "breakdown": records(found.breakdown[["category", "ms", "ratio"]]),
    }


def of_names(results: Analysis) -> list[dict[str, Any]]:
    """Events, time and self time by name, and the shortest and longest of them."""
    frame = results.events.groupby("name", observed=True).agg(
        count=("duration_ns", "size"),
        total_ns=("duration_ns", "sum"),
        self_ns=("self_ns", "sum"),
        min_ns=("duration_ns", "min"),
        max_ns=("duration_ns", "max"),
    )
    return records(frame.reset_index().astype({"name": str}))


def _judged(drawn: Waiting) -> dict[str, Any]:
    read, compute = np.array(drawn.input_ms), np.array(drawn.host_compute_ms)
    own, step_ms = drawn.times()
    frame = pd.DataFrame({f"{category}_ms": 0.0 for category in STEP_CATEGORIES}, index=range(own.size)).assign(
        step_time_ms=step_ms.reshape(-1),
        input_ms=read.reshape(-1),
        host_compute_ms=compute.reshape(-1),
        device_collectives_ms=(step_ms - own).reshape(-1),
    )
    hosts = tuple(f"worker{i}" for i in range(own.shape[1]))
    workers = replace(results_of_cluster(Cluster(2, n_steps=1)).workers, frame=frame, hosts=hosts, n_steps=len(own))
    return {**drawn._asdict(), "stragglers": records(compute_stragglers(workers))}


def text_of(value: Any) -> str:
    """JSON in which lists of numbers and rows of tables have a line each; floats to 12 digits."""
    return "".join(_lines(_rounded(plain(value)), "")) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _lines(value: Any, indent: str) -> Iterator[str]:
    short = json.dumps(value, allow_nan=False, ensure_ascii=False)
    is_flat = isinstance(value, dict) and not any(isinstance(item, dict | list) for item in value.values())
    if not isinstance(value, dict | list) or len(short) < 100 or is_flat or _is_column(value):
        yield short
        return
    inner = f"{indent} "
    items: Iterable[tuple[str, Any]] = (
        ((f"{json.dumps(key)}: ", item) for key, item in value.items())
        if isinstance(value, dict)
        else (("", item) for item in value)
    )
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    for k, (name, item) in enumerate(items):
        yield f"{',' if k else opening}\n{inner}{name}"
        yield from _lines(item, inner)
    yield f"\n{indent}{closing}"


def _is_column(value: Any) -> bool:
    """Whether it is a list of numbers or texts, or a dtype and such a list."""
    return isinstance(value, list) and not any(isinstance(one, dict) for one in value)


def write(folder: Path = FOLDER) -> None:
    """Write every vector."""
    folder.mkdir(exist_ok=True)
    for name, make in VECTORS.items():
        (folder / f"{name}.json").write_text(text_of(make()), encoding="utf-8")


if __name__ == "__main__":
    write()
