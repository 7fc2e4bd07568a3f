"""CUDA graphs that a profiler made XLA launch kernel by kernel."""

from __future__ import annotations

from tests.builders import event, line, plane, trace
from tests.unit.analysis.cluster.comparison import Both
from tfprof_widgets.analysis import Results, graphs_switched_off
from tfprof_widgets.trace import with_host

OFF = "WARNING: CommandBuffer disabled when profiling"


def test_calls_inside_a_graph_that_was_switched_off_are_counted_apart() -> None:
    launches = [event("cuLaunchKernel", at, 1, correlation_id=at) for at in (2, 5, 20)]
    drawn = trace(plane("/host:CPU", line("t", event(OFF, 0, 10), *launches)))
    found = graphs_switched_off(drawn)
    assert (found.n_graphs, found.n_calls, found.n_calls_in_all) == (1, 2, 3)
    (notice,) = Results(drawn).notices
    assert "2 of 3 calls" in notice
    assert "XLA_FLAGS=--xla_enable_command_buffers_during_profiling=true" in notice


def test_a_run_of_many_hosts_is_told_the_sum_of_them() -> None:
    launches = [event("cuLaunchKernel", at, 1, correlation_id=at) for at in (2, 5, 20)]
    drawn = trace(plane("/host:CPU", line("t", event(OFF, 0, 10), *launches)))
    reduced = Both.of_traces([with_host(drawn, host) for host in ("a", "b")]).reduced
    assert [notice for notice in reduced.notices if "2 CUDA graphs kernel by kernel: 4 of 6 calls" in notice]


def test_a_run_whose_graphs_stayed_is_told_nothing() -> None:
    assert Results(trace(plane("/host:CPU", line("t", event("cuGraphLaunch", 0, 1, correlation_id=1))))).notices == ()
