"""Totals of units host by host: of one host they are the totals of the trace."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import event, line, plane, session, space
from tfprof_widgets.analysis import Analysis, UnitSums
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, host_names, merge_traces


def host(name: str, *executions: str, n_ops: int = 2) -> Trace:
    """A host that runs an op some times, nested in another, and on its device one op by several kernels each."""
    thread = [event("net/outer:Sub", 0, 50)] + [event("net/op:MatMul", 1 + 10 * i, 5) for i in range(n_ops)]
    kernels = [(scope, kernel) for scope, one in enumerate(executions) for kernel in one.split()]
    stream = [
        event(kernel, 10 * i, 4, tf_op="net/op:MatMul", scope_range_id=scope)
        for i, (scope, kernel) in enumerate(kernels)
    ]
    planes = [plane("/host:CPU", line("python", *thread)), plane("/device:GPU:0", line("Stream #1", *stream))]
    return read_xspace(space(session(duration_us=1000), *planes, hostnames=[name]))


def rows(totals: UnitSums, results: Analysis) -> list[tuple[str, str, bool, int, int, int]]:
    units, hosts = results.occurrences, host_names(results.trace)
    return [
        (hosts[h], units.name[u], bool(units.is_device[u]), n, total // 10**6, own // 10**6)
        for h, u, n, total, own in zip(
            *(column.tolist() for column in (totals.host, totals.unit, totals.count, totals.total_ps, totals.self_ps)),
            strict=True,
        )
    ]


@pytest.mark.parametrize("executions", [(), ("gemm",), ("gemm", "gemm reduce")], ids=["none", "one", "two"])
def test_of_one_host_they_are_the_totals_of_all(executions: tuple[str, ...]) -> None:
    results = Analysis(host("a", *executions))
    of_host, of_all = results.host_sums, results.host_sums.on_all_hosts()
    for name in ("unit", "count", "total_ps", "self_ps"):
        np.testing.assert_array_equal(getattr(of_host, name), getattr(of_all, name))


def test_of_several_hosts_each_has_its_own() -> None:
    results = Analysis(merge_traces([host("b", "gemm", "gemm reduce"), host("a", n_ops=3)]))
    assert rows(results.host_sums, results) == [
        ("b", "net/outer", False, 1, 50, 40),
        ("b", "net/op", False, 2, 10, 10),
        ("b", "net/op", True, 2, 12, 12),
        ("a", "net/outer", False, 1, 50, 35),
        ("a", "net/op", False, 3, 15, 15),
    ]


def test_executions_of_hosts_add_up() -> None:
    results = Analysis(merge_traces([host("a", "gemm", "gemm"), host("b", "gemm other", "other", "other")]))
    on_device = results.occurrences.is_device[results.host_sums.unit]
    assert results.host_sums.count[on_device].tolist() == [2, 3]
    device_unit = results.occurrences.is_device[results.host_sums.on_all_hosts().unit]
    assert results.host_sums.on_all_hosts().count[device_unit].tolist() == [5]


def test_a_trace_without_ops_has_none_but_its_hosts() -> None:
    assert len(Analysis(host("a", n_ops=0)).host_sums.unit) == 1
    nothing = Analysis(read_xspace(space(session(), plane("/host:CPU"), hostnames=["a"]))).host_sums
    assert len(nothing.unit) == 0
