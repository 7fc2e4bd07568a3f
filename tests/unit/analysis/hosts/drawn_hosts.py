"""Short drawings of hosts that exchange something -> their results."""

from __future__ import annotations

from collections.abc import Sequence

from tests.builders import EPOCH_NS, Event, Plane, event, line, plane, session, space
from tests.cluster import Cluster
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import merge_traces

STEP_US = 1000.0
PS = "/job:ps/replica:0/task:0"
WORKER = "/job:worker/replica:0/task:{}"
FUNCTION = "EagerLocalExecute: __inference_step_56"
RECEIVE, DONE = "ExecutorState::ProcessAsync::Start", "ExecutorState::ProcessAsync::Done"


def results_of(*files: bytes) -> Analysis:
    """The results of several hosts together."""
    return Analysis(merge_traces([read_xspace(content) for content in files]))


def results_of_cluster(cluster: Cluster) -> Analysis:
    """The results of a drawn training."""
    return results_of(*(content for _, content in cluster.files()))


def host(name: str, *lines: Sequence[Event], devices: Sequence[Plane] = (), start_ns: int = EPOCH_NS) -> bytes:
    """The file of a host with these threads."""
    threads = [line(f"thread {i}", *events) for i, events in enumerate(lines)]
    return space(session(start_ns=start_ns, duration_us=1e5), plane("/host:CPU", *threads), *devices, hostnames=[name])


def marked(n_steps: int, *parts: tuple[str, float, float], first: int = 0) -> list[Event]:
    """Marked steps one after the other, in each the same events: name, start in the step, duration."""
    found = []
    for i in range(n_steps):
        begin = 10 + (STEP_US + 10) * i
        found.append(event("train", begin, STEP_US, _r=1, step_num=first + i))
        found += [event(name, begin + at, us) for name, at, us in parts]
    return found


def key(source: str, target: str) -> str:
    """What a `_Send` says of the tensor that it hands over."""
    return f"{source}/device:CPU:0;f4d2a75449f25929;{target}/device:CPU:0;edge_6_read;0:0"


def data_ahead(until_us: float) -> list[Event]:
    """A thread of tf.data that reads ahead without a pause: ops mapped over the data within an iterator's call."""
    starts = range(5, int(until_us), 500)
    return [
        one for at in starts for one in (event("Iterator::Prefetch::Map", at, 498), event("parse/Mul:Mul", at + 1, 495))
    ]


def served_worker(
    index: int, n_calls: int = 4, *, compute_us: float = 300.0, wait_us: float = 200.0, beside: Sequence[Event] = ()
) -> bytes:
    """A worker that the chief has run a function: it waits for a variable, computes, and sends the gradient back; `beside`
    runs on a thread of its own."""
    calls, work, other = [], [], []
    for i in range(n_calls):
        at = 20 + STEP_US * i
        whole = 60 + wait_us + compute_us + 40
        calls += [
            event("EagerService:Enqueue", at, whole),
            event("EagerExecute", at + 1, whole - 2, eager_op="__inference_step_56", is_func=1),
            event(FUNCTION, at + 2, whole - 4),
            event("KernelAndDeviceFunc::Run", at + 5, whole - 10),
            event("KernelAndDeviceFunc::RunAsync", at + 6, 14, _r=1),
            event("FunctionRun", at + 8, 5, id=i + 1, _r=1, _pt=2, _p=100 + i),
        ]
        wait = {"name": "read/_2", "kernel_type": "_Recv", "step_id": i + 1}
        work += [
            event("ExecutorState::Process", at + 25, 20, id=i + 1, _ct=2, _c=100 + i),
            event(RECEIVE, at + 30, 10, **wait, _pt=2, _p=200 + i),
        ]
        begin = at + 30 + wait_us
        other += [
            event(DONE, begin, 2, **wait, _ct=2, _c=200 + i),
            event("ExecutorState::Process", begin + 3, compute_us + 25, id=i + 1, _ct=2, _c=100 + i),
            event("net/MatMul:MatMul", begin + 5, compute_us),
            event("grad/_3:_Send", begin + 5 + compute_us, 20, key=key(WORKER.format(index), PS)),
        ]
    return host(f"w{index}", calls, work, other, *([beside] if beside else []))


def server(n_calls: int = 8) -> bytes:
    """A parameter server that reads its variable, sends it, waits for the gradient and applies it."""
    served, work, other = [], [], []
    for i in range(n_calls):
        at = 20 + STEP_US / 2 * i
        wait = {"name": "grad/_4", "kernel_type": "_Recv", "step_id": i + 1}
        served += [
            event("EagerService:Enqueue", at - 2, 1),
            event("EagerLocalExecuteAsync: __inference_step_56_part_1", at, 20),
            event("KernelAndDeviceFunc::RunAsync", at + 1, 15, _r=1),
            event("FunctionRun", at + 2, 10, id=i + 1, _r=1, _pt=2, _p=100 + i),
        ]
        work += [
            event("ExecutorState::Process", at + 15, 60, id=i + 1, _ct=2, _c=100 + i),
            event("read:ReadVariableOp", at + 16, 5),
            event("read/_1:_Send", at + 22, 10, key=key(PS, WORKER.format(i % 2))),
            event(RECEIVE, at + 40, 10, **wait, _pt=2, _p=200 + i),
        ]
        other += [
            event(DONE, at + 300, 2, **wait, _ct=2, _c=200 + i),
            event("ExecutorState::Process", at + 303, 30, id=i + 1, _ct=2, _c=100 + i),
            event("assign:AssignSubVariableOp", at + 305, 20),
        ]
    return host("ps", served, work, other)


def chief(n_steps: int = 4) -> bytes:
    """A chief that only hands work out."""
    events = []
    for i in range(n_steps):
        at = 15 + STEP_US * i
        events += [
            event("train", at, 900, _r=1, step_num=i),
            event("EagerExecute", at + 5, 800, eager_op="__inference_step_56", is_func=1),
        ]
    return host("chief", events)
