"""What must add up does, on every real capture: tables among each other, parts of the time, and memory at any moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis.parity.parity_case import KINDS, Case
from tfprof_widgets.analysis import Analysis, aggregate_ops, select

MORE_OF_THE_SAME = frozenset(
    ("keras_first_step", "function_loop_marked", "eager_loop_marked", "bfloat16_fit", "float16_fit", "h100_eager")
)
"""Captures of programs much like another one's: only `make nightly` asks them."""
every_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.nightly) if kind in MORE_OF_THE_SAME else kind
        for kind in (*KINDS, "eager_loop", "function_epoch")
    ],
)
N_MOMENTS = 20


def of_side(frame: pd.DataFrame, column: str) -> dict[str, float]:
    return {str(side): float(total) for side, total in frame.groupby("device")[column].sum().items()}


@every_kind
def test_layers_lines_and_scopes_hold_all_time_and_all_ops(kind: str, case_of: Callable[[str], Case]) -> None:
    results = case_of(kind).results
    ops = results.ops
    assert ops["total_self_time_us"].sum() == pytest.approx(results.occurrences.self_ps.sum() / 1e6, rel=1e-12)
    whole, n_ops = of_side(ops, "total_self_time_us"), of_side(ops.assign(n=1), "n")
    scopes = results.scopes.frame
    for frame in (results.layers.frame, results.source_lines.frame, scopes):
        assert of_side(frame, "self_time_us") == pytest.approx(whole, rel=1e-12)
    for frame in (results.layers.frame, results.source_lines.frame):
        assert of_side(frame, "n_ops") == n_ops
        assert of_side(frame, "occurrences") == of_side(ops, "occurrences")
        phases = [f"{phase}_time_us" for phase in ("forward", "backward", "optimizer", "other")]
        parts = frame[[phase for phase in phases if phase in frame]].sum(axis=1)
        np.testing.assert_allclose(parts, frame["self_time_us"], rtol=1e-12)
        assert all(total == pytest.approx(1) for total in of_side(frame, "self_time_ratio").values())
    roots = scopes[scopes["depth"] == 0]
    assert of_side(roots, "total_time_us") == pytest.approx(whole, rel=1e-12)
    assert of_side(roots, "n_ops") == n_ops


@every_kind
def test_hlo_ops_hold_the_time_of_what_xla_ran(kind: str, case_of: Callable[[str], Case]) -> None:
    results = case_of(kind).results
    frame, occurrences = results.hlo_ops.frame, results.occurrences
    own = occurrences.self_ps[occurrences.op >= occurrences.n_ops].sum() / 1e6
    assert frame["total_self_time_us"].sum() == pytest.approx(own, rel=1e-12)
    assert (len(frame) > 0) == ("xla" in kind)
    assert all(total == pytest.approx(1) for total in of_side(frame, "self_time_ratio").values())


def tiling(results: Analysis) -> Iterator[tuple[int, int]]:
    """The steps' times and those between, before and after, as one cover of the trace."""
    cuts = {int(results.trace.start_ps.min()), int(results.trace.end_ps.max()) + 1}
    steps = results.steps.frame
    cuts |= set(steps["start_ps"].tolist()) | set((steps["start_ps"] + steps["duration_ps"]).tolist())
    ordered = sorted(cuts)
    yield from pairwise(ordered)


@every_kind
def test_ops_of_all_steps_and_of_the_time_between_are_the_ops_of_the_trace(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    results = case_of(kind).results
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for time_range in tiling(results):
        part = aggregate_ops(results.occurrences.within(*time_range), shares=results.op_shares)
        for device, name, total, own in part[["device", "name", "total_time_us", "total_self_time_us"]].to_numpy():
            found[device, name][0] += total
            found[device, name][1] += own
    columns = ["device", "name", "total_time_us", "total_self_time_us"]
    for device, name, total, own in results.ops[columns].to_numpy():
        assert found[device, name] == pytest.approx([total, own], rel=1e-9, abs=1e-6), name


@every_kind
def test_of_any_step_layers_lines_and_scopes_hold_the_time_of_its_ops(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    results = case_of(kind).results
    if kind == "h100_oom":
        assert len(results.steps) == 0, "it failed before its first step"
        return
    for step in (0, len(results.steps) // 2):
        part = select(results, time_range_ns=None, step=step, ops=None)
        whole = part.ops["total_self_time_us"].sum()
        assert whole > 0
        for frame in (part.layers, part.source_lines, part.scopes):
            assert frame["self_time_us"].sum() == pytest.approx(whole, rel=1e-12)
        types = part.op_statistics(by="type")
        assert types["total_self_time_us"].sum() == pytest.approx(whole, rel=1e-12)
        assert types["n_ops"].sum() == len(part.ops)


@every_kind
def test_one_host_has_its_own_steps_as_workers(kind: str, case_of: Callable[[str], Case]) -> None:
    results = case_of(kind).results
    workers, steps = results.workers.frame, results.step_frame
    pd.testing.assert_frame_equal(workers[list(steps)], steps)


@every_kind
def test_at_any_moment_the_live_memory_adds_up_and_steps_tell_what_the_timeline_does(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    memory, spans = case_of(kind).results.memory, case_of(kind).results.steps.frame
    random = np.random.default_rng(0)
    assert memory.allocators
    for allocator in memory.allocators:
        timeline = memory.timeline(allocator)
        time_ms, in_use = timeline["time_ms"].to_numpy(), timeline["in_use_bytes"].to_numpy()
        for at_ms in random.uniform(time_ms[0], time_ms[-1], N_MOMENTS):
            now = in_use[np.searchsorted(time_ms, at_ms, side="right") - 1]
            assert memory.live(allocator, at_ms)["total_bytes"].sum() == now
        for row in memory.steps(allocator).to_dict("records"):
            start, duration = spans[["start_ps", "duration_ps"]].to_numpy()[row["step"]]
            first, last = np.searchsorted(timeline["time_ms"], [start / 1e9, (start + duration) / 1e9])
            inside = timeline.iloc[first:last]
            assert row["peak_bytes"] == max([row["start_bytes"], *inside["in_use_bytes"]])
            assert row["end_bytes"] == [row["start_bytes"], *inside["in_use_bytes"]][-1]
            made = inside[inside["event"] == "allocation"]
            assert (row["n_allocations"], row["allocated_bytes"]) == (len(made), made["allocation_bytes"].sum())


@every_kind
def test_layers_hold_all_bytes_allocated_and_all_in_use_at_the_largest_peak(
    kind: str, case_of: Callable[[str], Case]
) -> None:
    results = case_of(kind).results
    memory, layers = results.memory, results.layers.frame
    of_device = [name for name in memory.allocators if "GPU_" in name]
    timelines = [memory.timeline(allocator) for allocator in of_device or memory.allocators]
    made = sum(one.loc[one["event"] == "allocation", "allocation_bytes"].sum() for one in timelines)
    assert layers["allocated_bytes"].sum() == made
    own = memory.summary[memory.summary["allocator"].isin(of_device or memory.allocators)]
    assert layers["peak_bytes"].sum() == own["peak_bytes"].max()
