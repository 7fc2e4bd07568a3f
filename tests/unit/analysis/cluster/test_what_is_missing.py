"""What a reduced profile does not have says so, and which host to open."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.analysis.cluster.comparison import Both
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.errors import TfProfError


@pytest.fixture
def reduced(both_of: Callable[[str], Both]) -> Analysis:
    return both_of("devices").reduced


@pytest.mark.parametrize(
    ("name", "arguments", "call"),
    [
        ("timeline", (), r"timeline\('GPU_0_bfc'\)"),
        ("live", (1.0,), r"live\('GPU_0_bfc', at_ms\)"),
        ("lifetimes", (), r"lifetimes\('GPU_0_bfc'\)"),
        ("steps", (), r"steps\('GPU_0_bfc'\)"),
        ("unfreed", (), r"unfreed\('GPU_0_bfc'\)"),
    ],
)
def test_single_allocations_are_on_the_host(
    name: str, arguments: tuple[float, ...], call: str, reduced: Analysis
) -> None:
    with pytest.raises(TfProfError, match=rf"a reduced profile has no .*: .*prof\.host\('worker-1'\)\.memory\.{call}"):
        getattr(reduced.memory, name)("worker-1: GPU_0_bfc", *arguments)
    with pytest.raises(KeyError, match="no allocator 'x'; there are: a-worker: GPU_1_bfc"):
        getattr(reduced.memory, name)("x", *arguments)


def test_the_memory_view_says_why_it_is_empty_and_what_to_run(reduced: Analysis) -> None:
    assert not hasattr(reduced.memory, "snapshots")
    remedy = reduced.memory.remedy
    assert remedy is not None
    assert remedy.startswith("A reduced profile has the peak of each allocator, but not its allocations over time.")
    assert remedy.splitlines()[-1].startswith("prof.host('a-worker').memory_timeline()")


def test_single_calls_of_a_pipeline_are_on_the_host(reduced: Analysis) -> None:
    row = reduced.input_pipeline.pipelines["host"].tolist().index("worker-1")
    with pytest.raises(TfProfError, match=r"prof\.host\('worker-1'\)\.input_pipeline\.execution\(0, 2\)"):
        reduced.input_pipeline.execution(row, 2)
    with pytest.raises(TfProfError, match=r"prof\.host\('worker-1'\)\.input_pipeline\.executions\(0\)"):
        reduced.input_pipeline.executions(row)
    with pytest.raises(ValueError, match="pipeline 7 is not a row of `pipelines`, which has 3"):
        reduced.input_pipeline.executions(7)


@pytest.mark.parametrize("name", ["occurrences", "roofline", "program_memory"])
def test_what_needs_single_executions_says_where_they_are(name: str, both_of: Callable[[str], Both]) -> None:
    with pytest.raises(TfProfError, match=r"no single executions: open one of its hosts in full, prof\.host\(name\)"):
        getattr(both_of("stragglers").reduced, name)
    assert hasattr(both_of("stragglers").whole, name)
