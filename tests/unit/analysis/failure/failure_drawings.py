"""Drawings of programs whose allocation failed, on a GPU, with the exception's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.builders import EPOCH_NS, Event, event, line, plane, session, trace
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.profiles import Profile
from tfprof_widgets.read import Opened, SavedProfile
from tfprof_widgets.trace import CaptureFacts, Failure, Trace

MIB = 2**20
CAPACITY = 1000 * MIB
GPU = "GPU_0_bfc"
DEVICE = "/job:localhost/replica:0/task:0/device:GPU:0"
OUTER = "StatefulPartitionedCall"
NODE = "model/wide/Relu"


def oom_text(shape: str = "[1024,131072]", *, node: str = NODE, allocator: str = GPU) -> str:
    asked = f"OOM when allocating tensor with shape{shape} and type float on {DEVICE} by allocator {allocator}"
    return f"{asked}\n[[{{{{node {node}}}}}]]"


def memory_event(kind: str, at_us: float, address: int, mib: int, in_use_mib: int, **stats: Any) -> Event:
    base: dict[str, Any] = {
        "allocator_name": GPU,
        "bytes_reserved": 0,
        "bytes_allocated": in_use_mib * MIB,
        "bytes_available": CAPACITY - in_use_mib * MIB,
        "fragmentation": 0.75,
        "peak_bytes_in_use": in_use_mib * MIB,
        "requested_bytes": mib * MIB,
        "allocation_bytes": mib * MIB,
        "addr": address * 250 * MIB,
    }
    return event(f"Memory{kind}", at_us, 0, stats=base | stats)


def take(at_us: float, address: int, mib: int, in_use_mib: int, op: str, shape: str) -> Event:
    described = {"tf_op": op, "region_type": "output", "data_type": 1, "shape": shape}
    return memory_event("Allocation", at_us, address, mib, in_use_mib, **described)


def oom_trace(*, node: str = NODE, held: str = f"{OUTER}/model/dense/Relu") -> Trace:
    """A step that holds 400 of 1,000 MiB when an op asks for more than lies in one piece; then all is given back but
    what was there before."""
    events = [
        event("train", 0, 100, _r=1, step_num=7),
        take(5, 1, 100, 200, f"{OUTER}/model/embed/Reshape", "[1024,25600]"),
        take(10, 2, 200, 400, held, "[1024,51200]"),
        memory_event("Deallocation", 71, 1, 100, 300),
        memory_event("Deallocation", 72, 2, 200, 100),
    ]
    ops = [
        event(f"{OUTER}/model/embed/Reshape:Reshape", 4, 3),
        event(f"{held}:Relu", 9, 10),
        event(f"{OUTER}/{node}:Relu", 30, 40),
    ]
    device = plane("/device:GPU:0", line("Stream #1(Compute)", event("kernel", 20, 5)))
    return trace(session(), plane("/host:CPU", line("main", *events), line("tf_Compute", *ops)), device)


def failure(text: str | None = None, *, at_us: float = 80, **facts: Any) -> Failure:
    known: dict[str, Any] = {"kind": "ResourceExhaustedError", "batch_size": 0}
    return Failure(text=oom_text() if text is None else text, at_ns=EPOCH_NS + round(at_us * 1e3), **(known | facts))


def failed(text: str | None = None, *, of: Trace | None = None, at_us: float = 80, **facts: Any) -> Analysis:
    return Analysis(oom_trace() if of is None else of, failure=failure(text, at_us=at_us, **facts))


def failed_profile(of: Trace, told: Failure) -> Profile:
    """The same as a loaded profile."""
    saved = SavedProfile(capture=CaptureFacts(outcome="exception", detail="normal", n_steps=1, failure=told))
    return Profile(lambda: Opened(trace=of, paths=(Path("drawn.xplane.pb"),), saved=saved), title="drawn")
