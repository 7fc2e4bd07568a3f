"""Whatever a trace holds, once it loads it has tables, a payload and a summary, and its times add up."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from tests.fuzz.random_spaces import random_space
from tests.unit.views.received import receive
from tfprof_widgets.analysis import STEP_CATEGORIES, Analysis, aggregate_ops, select
from tfprof_widgets.errors import TraceError
from tfprof_widgets.export import summarize
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import Payload
from tfprof_widgets.show import payload as payload_module
from tfprof_widgets.trace import Trace, merge_traces

N_IN_EVERY_RUN = 12
N_IN_ALL = 6_000
_CHUNK = 500


def random_trace(number: int) -> Trace:
    """One random trace, or two that are taken for windows or hosts of one run."""
    trace = read_xspace(random_space(number), host="h")
    if number % 5:
        return trace
    try:
        return merge_traces([trace, read_xspace(random_space(number + 10**6), host="k")])
    except TraceError:  # decades apart
        return trace


@pytest.fixture(scope="module")
def found() -> list[Analysis]:
    """The random traces of every run."""
    return [Analysis(random_trace(number)) for number in range(N_IN_EVERY_RUN)]


def answer_everything(results: Analysis) -> None:
    """Ask for all that a profile shows; whatever fails raises."""
    trace = results.trace
    for most in (payload_module.MAX_BYTES, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(payload_module, "MAX_BYTES", most)
            payload = Payload(results)
        got = receive(payload)
        assert got.n_events == trace.n_events
        payload.embedded("full")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(payload_module, "_WHOLE_BYTES", 0)
            payload.embedded("steps")
    summarize(results).encode()
    known = set(results.ops["name"]) | set(trace.strings)
    for one in results.advice:
        compile(one.fix.code, one.rule, "exec")
        assert 0 <= one.gain_ratio <= 1
        assert all(math.isfinite(value) for value in one.evidence.values() if not isinstance(value, str))
        assert set(one.selection.op_names) <= known
        assert one.selection.step is None or 0 <= one.selection.step < len(results.steps)
        assert list(one.selection.time_range_ns) == sorted(one.selection.time_range_ns)
    assert results.advice_notices == ()
    assert len(results.events) == trace.n_events
    for allocator in results.memory.allocators:
        results.memory.timeline(allocator), results.memory.peak(allocator), results.memory.live(allocator, 1.0)
    ranges = [select(results, time_range_ns=(0, 1000), step=None, ops=None)]
    ranges += [select(results, time_range_ns=None, step=step, ops=None) for step in range(len(results.steps))[-2:]]
    for part in ranges:
        assert len(part.events) <= trace.n_events
        assert set(part.ops["name"]) <= set(results.ops["name"])


def hold_together(results: Analysis) -> None:
    """What must be true of every trace: no time is lost, counted twice or negative, and rows point where they say."""
    trace, steps, occurrences = results.trace, results.steps, results.occurrences
    assert (trace.nesting.self_ps >= 0).all()
    assert (occurrences.self_ps >= 0).all()
    assert (occurrences.parent < np.arange(len(occurrences))).all()
    in_pieces = steps.pieces.groupby("step")["duration_ps"].sum()
    assert in_pieces.tolist() == steps.frame["duration_ps"].tolist()
    by_category = steps.frame[[f"{category}_ms" for category in STEP_CATEGORIES]].sum(axis=1)
    np.testing.assert_allclose(by_category, steps.frame["step_time_ms"], rtol=1e-9)
    iterators, memory = results.input_pipeline.iterators, results.memory.snapshots
    assert (iterators["parent_id"] < iterators["id"]).all()
    assert (iterators["self_time_ms"] >= 0).all()
    freed = np.flatnonzero(memory.freed_at >= 0)
    assert (memory.freed_at[freed] > freed).all()
    assert (memory.address[memory.freed_at[freed]] == memory.address[freed]).all()
    if trace.n_events:
        everything = int(trace.start_ps.min()), int(trace.end_ps.max()) + 1
        within = aggregate_ops(occurrences.within(*everything), shares=results.op_shares)
        pd.testing.assert_frame_equal(within, results.ops)
    charged, measured = results.ops["total_self_time_us"].sum(), occurrences.self_ps.sum() / 1e6
    np.testing.assert_allclose(charged, measured, rtol=1e-9)
    np.testing.assert_allclose(np.bincount(results.op_shares.unit, weights=results.op_shares.ratio), 1, rtol=1e-9)


def test_random_traces_reach_every_analysis(found: list[Analysis]) -> None:
    """The random traces are worth something only while steps, ops, allocations and iterators come about."""
    for reached in (
        lambda results: len(results.steps) > 1,
        lambda results: len(results.ops) > 1,
        lambda results: len(results.memory.snapshots.event) > 1,
        lambda results: len(results.input_pipeline.iterators) > 1,
        lambda results: len(results.hlo_ops.frame) > 1,
    ):
        assert sum(map(reached, found)) > N_IN_EVERY_RUN / 10


def test_a_slice_of_the_random_traces_is_shown_whole(found: list[Analysis]) -> None:
    for results in found:
        answer_everything(results)
        hold_together(results)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", list(range(0, N_IN_ALL, _CHUNK)))
def test_all_random_traces_are_shown_whole(first: int) -> None:
    for number in range(first, first + _CHUNK):
        results = Analysis(random_trace(number))
        answer_everything(results)
        hold_together(results)
