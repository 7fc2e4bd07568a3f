"""The ops that cost most, of each side of all hosts and of each of them."""

from __future__ import annotations

from tests.builders import Event, event, line, plane, session, space
from tfprof_widgets.analysis import ALL_HOSTS, N_TOP_OPS, Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces

Row = tuple[int, str, int, float, float]


def host(name: str, *events: Event, kernel_us: int = 0) -> Trace:
    kernels = [event("gemm", 2, kernel_us, tf_op="net/op:MatMul")] if kernel_us else []
    planes = [plane("/host:CPU", line("python", *events)), plane("/device:GPU:0", line("Stream #1", *kernels))]
    return read_xspace(space(session(duration_us=1000), *planes, hostnames=[name]))


def steps(n: int, op_us: int) -> list[Event]:
    """Steps that run an op each, after one that a compilation makes long."""
    compiling = [event("train", 0, 90, _r=1, step_num=0), event("tf.function-graph_building", 1, 60)]
    first = [*compiling, event("net/once:Init", 65, 20)]
    usual = [
        one
        for i in range(n)
        for one in (
            event("train", 100 + 20 * i, 20, _r=1, step_num=i + 1),
            event("net/op:MatMul", 101 + 20 * i, op_us),
        )
    ]
    return first + usual


def rows(results: Analysis) -> list[Row]:
    found = results.top_ops
    names = [results.op_shares.name[op] for op in found["op"]]
    numbers = (found[name].tolist() for name in ("occurrences", "self_time_ms_per_step", "self_time_ratio"))
    return list(zip(found["host"].tolist(), names, *numbers, strict=True))


def test_each_side_has_its_own() -> None:
    results = Analysis(host("a", event("net/op:MatMul", 0, 6), event("net/small:Add", 10, 2), kernel_us=5))
    assert rows(results) == [
        (ALL_HOSTS, "net/op", 1, 0.005, 1.0),
        (ALL_HOSTS, "net/op", 1, 0.006, 0.75),
        (ALL_HOSTS, "net/small", 1, 0.002, 0.25),
    ]
    assert results.op_shares.is_device[results.top_ops["op"]].tolist() == [True, False, False]


def test_of_each_side_there_are_ten_at_most() -> None:
    many = [event(f"net/op{i}:MatMul", 20 * i, i + 1) for i in range(N_TOP_OPS + 3)]
    assert len(Analysis(host("a", *many)).top_ops) == N_TOP_OPS


def test_of_several_hosts_each_has_its_own_a_step() -> None:
    results = Analysis(merge_traces([host("b", *steps(3, 8)), host("a", *steps(2, 4))]))
    assert rows(results) == [
        (ALL_HOSTS, "net/op", 5, 0.0064, 1.0),
        (0, "net/op", 3, 0.008, 1.0),
        (1, "net/op", 2, 0.004, 1.0),
    ]


def test_of_a_host_without_steps_the_whole_capture_counts() -> None:
    results = Analysis(merge_traces([host("b", *steps(3, 8)), host("a", event("net/serve:Send", 5, 7))]))
    assert rows(results) == [
        (ALL_HOSTS, "net/op", 3, 0.008, 1.0),
        (0, "net/op", 3, 0.008, 1.0),
        (1, "net/serve", 1, 0.007, 1.0),
    ]


def test_without_ops_there_are_none() -> None:
    assert rows(Analysis(host("a"))) == []
