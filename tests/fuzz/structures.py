"""A number -> a directory of files that is broken in its structure, and what of it to open; the same every time.

What is broken is not bytes but what stands where and refers to what: planes, lines and tables twice or nowhere, ids of
metadata, stats, steps, iterators, launches, computations and graph edges that lead elsewhere, names that repeat, archives in
archives, hosts and runs twice, notes of one program beside the trace of another.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.builders import Event, Line, Plane, event, line, plane, session, space
from tests.fuzz import hostile_shapes, hostile_values, mutations
from tests.fuzz.message_trees import Tree, changed, content_of, tree_of_json, tree_of_message
from tests.fuzz.random_spaces import random_space
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.unit.formats import test_first_profiler, test_old_files
from tests.unit.formats.test_notes import document as sidecar_document
from tfprof_widgets.read import OP_LOG_NAME, SAVED, SIDECAR, SavedProfile

RUN = "plugins/profile/run"
_REAL = ("keras_fit", "h100_oom", "xla_fit", "v100")
_KINDS = (
    hostile_values.markup_everywhere,
    hostile_values.absurd_times,
    hostile_values.stats_of_no_number,
    hostile_values.duplicate_ids,
    hostile_values.absurd_memory,
    hostile_values.tangled_iterators,
    hostile_values.compiled_programs,
    hostile_shapes.broken_flows,
    hostile_shapes.overlapping_events,
)


@dataclass(frozen=True)
class Structure:
    """Files, and what of them to open."""

    files: dict[str, bytes]
    opened: str
    """Below their directory: "" for all of it, the name of a file, or a pattern."""
    n_unpacked: int = 0
    """How many bytes are in archives."""

    @property
    def n_bytes(self) -> int:
        """All, unpacked."""
        return self.n_unpacked + sum(map(len, self.files.values()))

    def write(self, directory: Path) -> str:
        """Write them below a directory; returns what to load."""
        for name, content in self.files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(content)
        return str(directory / self.opened) if self.opened else str(directory)


def structure(seed: int, number: int) -> Structure:
    """The case of this number."""
    rng = random.Random(f"{seed}.{number}")
    return rng.choices(list(_LAYOUTS), weights=list(_LAYOUTS.values()))[0](rng)


# --- whole documents ---


def steps_of_a_gpu() -> bytes:
    """Steps with iterators, launches, kernels, allocations and a compiled program: all that refers to something else."""
    main: list[Event] = []
    kernels: list[Event] = []
    for i in range(6):
        at = 1000 * i
        main += [
            event("train", at, 900, _r=1, step_num=i, group_id=i),
            event("IteratorGetNext:IteratorGetNext", at + 5, 100, _c=i, _ct=4),
            event("net/dense/MatMul:MatMul", at + 150, 80, _p=i, _pt=9, tf_function_call="traced-nonXla"),
            event(
                "MemoryAllocation", at + 160, 0, allocator_name="GPU_0_bfc", addr=64 * i, bytes_allocated=64, tf_op="m"
            ),
            event("cuLaunchKernel", at + 170, 10, correlation_id=i),
            event("MemoryDeallocation", at + 700, 0, allocator_name="GPU_0_bfc", addr=64 * i, bytes_allocated=0),
        ]
        kernels += [
            event("fusion.1", at + 200, 300, correlation_id=i, hlo_op="fusion.1", program_id=7, hlo_module="mod"),
            event("gemm_half", at + 520, 100, correlation_id=i, tf_op="net/dense/MatMul:MatMul"),
        ]
    input_ = [
        event("Iterator::Root::Prefetch::Map", 1000 * i + 3, 90, id=10 + i % 3, parent_id=i % 3 + 9, _p=i, _pt=4)
        for i in range(6)
    ]
    program = module(
        "mod",
        computation("fused", instruction("p", "parameter"), instruction("s", "add", reads="p p", op="a/b:MatMul")),
        computation(
            "main",
            instruction("x", "parameter"),
            instruction("fusion.1", "fusion", reads="x", calls="fused"),
            instruction("while.2", "while", reads="fusion.1", calls="fused", op="m/d:While", source="net.py:3"),
        ),
    )
    return space(
        session(duration_us=7000),
        plane("/host:CPU", line("main", *main), line("tf_data", *input_), process_id=9),
        plane("/device:GPU:0", line("Stream #7(Compute)", *kernels), device_vendor="Nvidia", compute_cap_major=8),
        metadata_plane({7: program}),
        hostnames=["host"],
    )


def hosts_twice(rng: random.Random) -> bytes:
    """Planes of one name with lines of one id."""
    one = Plane("/host:CPU", (Line("t", (event("train", 0, 9, _r=1, step_num=0), event("a:Conv2D", 1, 5)), id=1),) * 2)
    return space(session(), *[one] * rng.randrange(1, 4), hostnames=["h"] * rng.randrange(3))


@cache
def _spaces() -> tuple[Tree, ...]:
    rng = random.Random(1)
    drawn = [steps_of_a_gpu(), hosts_twice(rng), *mutations.seeds()[:4]]
    drawn += [make(rng, 0.0) for make in _KINDS]
    return tuple(map(tree_of_message, drawn))


@cache
def _real_spaces() -> tuple[Tree, ...]:
    return tuple(tree_of_message(mutations.head_of_capture(name)) for name in _REAL)


def _space_tree(rng: random.Random) -> Tree:
    choice = rng.random()
    if choice < 0.45:
        return _spaces()[0] if choice < 0.2 else rng.choice(_spaces())
    return tree_of_message(random_space(rng.randrange(10**9))) if choice < 0.97 else rng.choice(_real_spaces())


def _space(rng: random.Random) -> bytes:
    tree = _space_tree(rng)
    return content_of(changed(tree, rng.choice(_spaces()), rng, rng.choice((0, 1, 1, 2, 3, 5, 10))))


@cache
def _messages() -> tuple[Tree, ...]:
    """Files of TensorFlow's first profiler."""
    node, make = test_first_profiler.node, test_first_profiler.run
    runs = [
        make(
            cpu=[
                node("x", 0, 2, "x = Placeholder()"),
                node("w", 1, 1),
                node("net/MatMul", 4, 9, "net/MatMul = MatMul(x, w)"),
            ],
            all=[node("net/MatMul", 10, 30, "sgemm@@net/MatMul:MatMul#id=1#")],
            copies=[node("edge_1_x", 2, 3, "edge_1_x = MEMCPYHtoD()")],
        ),
        make(gpu=[node(f"while/{i}/Add", 5 * i, 4, f"while/{i}/Add = Add(while/{i - 1}/Add, x)") for i in range(8)]),
    ]
    proto = test_old_files
    ran = proto.number(1, 2) + proto.number(2, 1000) + proto.entry(5, b"/device:cpu:0", proto.times((1000, 20)))
    nodes = [proto.node(f"n{i}", proto.entry(2, 0, max(0, i - 1)), proto.entry(12, 3, ran)) for i in range(5)]
    return tuple(tree_of_message(one) for one in (*runs, proto.profile(*nodes)))


def _step_message(rng: random.Random) -> bytes:
    tree = rng.choice(_messages())
    return content_of(changed(tree, rng.choice(_messages()), rng, rng.choice((0, 1, 2, 5))))


def _json_tree(document: Any) -> Tree:
    return tree_of_json(document, len(json.dumps(document)))


@cache
def _chrome() -> tuple[Tree, ...]:
    spans = [
        {
            "ph": "X",
            "cat": "Op",
            "name": "MatMul",
            "pid": 1,
            "tid": i % 2,
            "ts": 10 * i,
            "dur": 5,
            "args": {"name": f"n{i}", "op": "MatMul", "input0": f"n{i - 1}"},
        }
        for i in range(6)
    ]
    marks = [{"ph": kind, "name": "f", "id": i, "pid": 1, "tid": 0, "ts": 3 * i} for i, kind in enumerate("stfbeBEiC")]
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:CPU:0 Compute"}}
    return (
        _json_tree({"traceEvents": [process, *spans]}),
        _json_tree(
            {
                "traceEvents": [process, *spans, *marks],
                "displayTimeUnit": "ns",
                "stackFrames": {"1": {"name": "a", "parent": "2"}},
            }
        ),
        _json_tree([*spans, *marks]),
    )


def _chrome_json(rng: random.Random) -> bytes:
    return content_of(changed(rng.choice(_chrome()), rng.choice(_chrome()), rng, rng.choice((0, 1, 2, 5, 10))))


@cache
def _sidecar_tree() -> Tree:
    return _json_tree(sidecar_document())


def _sidecar(rng: random.Random) -> bytes:
    return gzip.compress(content_of(changed(_sidecar_tree(), _sidecar_tree(), rng, rng.choice((0, 1, 3)))), 1, mtime=0)


def _saved(rng: random.Random, runs: list[str]) -> bytes:
    known = SavedProfile(title="t", notices=("n",), runs=tuple(runs)).document()
    tree = _json_tree({**known, "system": {"time_ns": [1, 2], "cpu_pct": [0.5, 3]}})
    return content_of(changed(tree, tree, rng, rng.choice((0, 0, 1, 2, 4))))


# --- layouts ---


def _any_trace(rng: random.Random) -> bytes:
    return rng.choice((_space, _space, _space, _step_message, _chrome_json))(rng)


def one_file(rng: random.Random) -> Structure:
    """An XSpace by itself."""
    return Structure({"h.xplane.pb": _space(rng)}, "h.xplane.pb")


def packed_file(rng: random.Random) -> Structure:
    """A trace in an archive, in another, in another; under names of all kinds."""
    content = inner = _any_trace(rng)
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = rng.choice((_in_gzip, _in_gzip, _in_streams, _in_zip))(content, rng)
    name = rng.choice(
        ("h.xplane.pb", "h.xplane.pb.gz", "h.trace.json.gz", "h.json", "h.pb", "h", "timeline-1.json", SIDECAR)
    )
    return Structure({name: content}, rng.choice((name, "")), len(inner))


def _in_gzip(content: bytes, rng: random.Random) -> bytes:
    packed = gzip.compress(content, 1, mtime=0)
    return packed if rng.random() < 0.8 else packed[: rng.randrange(len(packed))]


def _in_streams(content: bytes, rng: random.Random) -> bytes:
    cut = rng.randrange(len(content) + 1)
    parts = [gzip.compress(part, 1, mtime=0) for part in (content[:cut], b"", content[cut:])]
    return (b"\0" * rng.choice((0, 0, 3))).join(parts)


def _in_zip(content: bytes, rng: random.Random) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        archive.writestr(zipfile.ZipInfo("h.xplane.pb"), content)
    return held.getvalue()


def chrome_trace(rng: random.Random) -> Structure:
    """Spans of JSON."""
    name = rng.choice(("h.trace.json", "timeline-7.json", "h.json"))
    return Structure({name: _chrome_json(rng)}, name)


def several_hosts(rng: random.Random) -> Structure:
    """A run of hosts, some twice under other names, and some with notes beside them."""
    names = [rng.choice(("a", "b", "a.b", "h 1", "\u00e9")) for _ in range(rng.choice((1, 2, 2, 3)))]
    traces = [_space(rng) for _ in range(2)]
    files = {
        f"{RUN}/{name}{rng.choice(('.xplane.pb', '.xplane.pb', '.xplane.pb.gz'))}": rng.choice(traces) for name in names
    }
    for name in ("", f"{names[0]}."):
        if rng.random() < 0.5:
            files[f"{RUN}/{name}{SIDECAR}"] = _sidecar(rng)
    return Structure(files, rng.choice(("", RUN, f"{RUN}/*.xplane.pb*")))


def saved_runs(rng: random.Random) -> Structure:
    """What `Profile.save` writes: windows of one capture, with a document that names runs, some twice or nowhere."""
    traces = [_space(rng) for _ in range(2)]
    files: dict[str, bytes] = {}
    runs = [f"r{k}" for k in range(rng.choice((1, 2, 3)))]
    for run in runs:
        files[f"plugins/profile/{run}/{rng.choice(('h.xplane.pb', 'h.xplane.pb', 'i.xplane.pb', 'h.trace.json'))}"] = (
            rng.choice(traces)
        )
        if rng.random() < 0.4:
            files[f"plugins/profile/{run}/{SIDECAR}"] = _sidecar(rng)
    files[SAVED] = _saved(rng, [*runs, *rng.choices(runs, k=rng.choice((0, 0, 1, 3)))])
    return Structure(files, rng.choice(("", "", "plugins/profile/*", "plugins/*/*/*.xplane.pb")))


def steps_of_a_session(rng: random.Random) -> Structure:
    """Files of the first profiler, of one kind or of several, with a graph and a log beside them that may be something else."""
    name = rng.choice(("run_{}.pb", "run_{}.pb", "timeline-{}.json"))
    make: Callable[[random.Random], bytes] = _chrome_json if name.endswith("json") else _step_message
    files = {
        name.format(rng.randrange(3)): rng.choice((make, make, make, _any_trace))(rng)
        for _ in range(rng.choice((1, 2, 4)))
    }
    for beside in ("graph.pb", "graph.pbtxt", OP_LOG_NAME):
        if rng.random() < 0.15:
            files[beside] = rng.choice((_step_message, _chrome_json, _space))(rng)
    return Structure(files, rng.choice(("", "*", "run_*")))


def many_hosts(rng: random.Random) -> Structure:
    """More hosts than are read whole, made of a few, some of them damaged."""
    traces = [_space(rng) for _ in range(3)]
    traces.append(traces[0][: rng.randrange(len(traces[0]) + 1)])
    return Structure(
        {f"{RUN}/h{k}.xplane.pb": rng.choice(traces) for k in range(18)}, rng.choice(("", f"{RUN}/*.xplane.pb"))
    )


_LAYOUTS: dict[Callable[[random.Random], Structure], float] = {
    one_file: 55,
    packed_file: 10,
    chrome_trace: 8,
    several_hosts: 10,
    saved_runs: 8,
    steps_of_a_session: 8,
    many_hosts: 1,
}
"""How often each comes."""
