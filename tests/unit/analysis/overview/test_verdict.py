"""What the verdict says of idle time, and which next steps it names."""

from __future__ import annotations

import math
import weakref
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import U, event, line, plane, session, space, trace
from tests.unit.analysis.xprof_oracle import host_ops
from tfprof_widgets.analysis import (
    STEP_CATEGORIES,
    Analysis,
    Findings,
    Fix,
    Highlight,
    Idle,
    advise,
    compute_tf_functions,
    idle_of,
    idle_times,
    judge_memory,
    op_occurrences,
    suggest_next_steps,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces


def idle_in(whole: Trace) -> Idle:
    return idle_of(idle_times(whole, op_occurrences(whole)))


def gpu(index: int, *spans_us: tuple[float, float], stream: str = "Stream #1") -> object:
    return plane(f"/device:GPU:{index}", line(stream, *(event("kern", at, n) for at, n in spans_us)))


def test_a_device_is_idle_between_its_kernels() -> None:
    assert idle_in(trace(gpu(0, (10, 20), (70, 40)))).device_idle_ratio == pytest.approx(0.4)


def test_streams_that_run_at_once_count_once() -> None:
    both = plane(
        "/device:GPU:0",
        line("Stream #1", event("a", 0, 40), event("b", 90, 10)),
        line("Stream #2", event("c", 20, 40)),
    )
    assert idle_in(trace(both)).device_idle_ratio == pytest.approx(0.3)


def test_devices_are_weighed_by_how_long_they_were_seen() -> None:
    whole = trace(gpu(0, (0, 100)), gpu(1, (0, 10), (290, 10)), plane("/device:GPU:2"))
    assert idle_in(whole).device_idle_ratio == pytest.approx(280 / 400)


def test_the_time_between_two_windows_is_nobodys() -> None:
    def window(start_ns: int) -> Trace:
        return read_xspace(space(session(start_ns=start_ns), gpu(0, (0, 10), (30, 10))))

    whole = merge_traces([window(1_700_000_000_000_000_000), window(1_700_000_005_000_000_000)])
    assert len(whole.sessions) == 2
    assert idle_in(whole).device_idle_ratio == pytest.approx(0.5)


def test_derived_lines_keep_no_device_busy() -> None:
    derived = line("Steps", event("0", 0, 100), id=0xDEADBEEF - 2**32)
    whole = trace(plane("/device:GPU:0", line("Stream #1", event("a", 0, 10), event("b", 90, 10)), derived))
    assert idle_in(whole).device_idle_ratio == pytest.approx(0.8)


def test_without_a_device_or_an_op_there_is_nothing_to_tell() -> None:
    idle = idle_in(trace(plane("/host:CPU", line("main", event("x", 0, 1)))))
    assert math.isnan(idle.device_idle_ratio)
    assert math.isnan(idle.host_idle_ratio)


def test_the_host_is_idle_where_its_threads_run_no_op() -> None:
    threads = line("a", event("m:MatMul", 0, 10), event("m:MatMul", 30, 10)), line("b", event("m:MatMul", 0, 40))
    assert idle_in(trace(plane("/host:CPU", *threads))).host_idle_ratio == pytest.approx(20 / 80)


def test_the_host_of_a_real_capture_is_as_idle_as_xprof_says_after_undoing_d4_and_d5(v100_xplane: Path) -> None:
    whole = read_xspace(v100_xplane.read_bytes())
    ops, idle_ps = host_ops(whole, has_quirks=False)
    busy_ps = sum(op.self_ps for op in ops.values())
    assert idle_in(whole).host_idle_ratio == pytest.approx(idle_ps / (idle_ps + busy_ps), rel=1e-12)


NO_FUNCTIONS = compute_tf_functions(read_xspace(space(plane("/host:CPU"))))
TOP_OPS = pd.DataFrame(
    {
        "name": ["Iterator::Root", "net/m/dense"],
        "type": ["Dataset", "MatMul"],
        "device": ["Device"] * 2,
        "self_time_ratio": [0.5, 0.4],
    }
)
HEALTHY = Findings(
    ratio=dict.fromkeys(STEP_CATEGORIES, 0.0),
    device="GPU",
    eager={"host": 0.0, "device": 0.0},
    tf_functions=NO_FUNCTIONS,
    top_ops=TOP_OPS,
    memory=(),
)


def said(*rules: str, **changes: object) -> tuple[str, ...]:
    """The sentences for a step that is fine but for the changes; shares of a step are named after their category.

    `rules` name pieces of advice that there are besides; their titles are left out.
    """
    shares = {name: changes.pop(name) for name in STEP_CATEGORIES if name in changes}
    advice = [advise(rule, rule, evidence={}, fix=Fix("Do it."), selection=Highlight()) for rule in rules]
    sentences = suggest_next_steps(replace(HEALTHY, ratio={**HEALTHY.ratio, **shares}, **changes), advice)
    assert sentences[: len(rules)] == rules
    return sentences[len(rules) :]


def functions(**columns: list[object]) -> pd.DataFrame:
    n = len(columns["function"])
    defaults = {"traced_calls": [2] * n, "eager_calls": [0] * n, "self_time_ms": [10.0] * n}
    return pd.DataFrame({**defaults, **columns})


def test_where_nothing_is_wrong_nothing_is_said() -> None:
    assert said() == ()


@pytest.mark.parametrize(
    ("category", "limit", "word"),
    [
        ("device_to_device", 0.05, "timeline"),
        ("host_compute", 0.05, "op table"),
        ("dispatch", 0.15, "timeline"),
        ("other", 0.15, "timeline"),
    ],
)
def test_a_part_of_the_step_that_no_advice_is_about_gets_a_sentence(category: str, limit: float, word: str) -> None:
    assert said(**{category: limit - 0.001}) == ()
    (sentence,) = said(**{category: limit})
    assert word in sentence
    assert f"({limit * 100:.0f} % of a step)" in sentence


@pytest.mark.parametrize("category", ["input", "kernel_launch", "device_collectives", "compile", "output"])
def test_a_part_that_advice_is_about_is_left_to_it(category: str) -> None:
    assert said(**{category: 0.4}) == ()


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("host_fallback", {"host_compute": 0.3}),
        ("host_callback", {"dispatch": 0.3}),
        ("idle_border", {"other": 0.3}),
        ("idle_border", {"dispatch": 0.3}),
        ("eager_hot_loop", {"eager": {"host": 0.5, "device": 0.0}}),
        ("memory_fragmentation", {"memory": ("GPU_0_bfc is fragmented: at the peak 70 %.",)}),
    ],
)
def test_nothing_is_said_twice(rule: str, changes: dict[str, object]) -> None:
    assert len(said("straggler_step", **changes)) == 1
    assert said(rule, **changes) == ()


def test_what_traced_is_left_to_the_advice_on_it() -> None:
    again = functions(function=["step"], expensive_ratio=[0.9])
    once = functions(function=["step"], expensive_ratio=[0.9], traced_calls=[1])
    assert said("retracing", tf_functions=again) == said("compilation", tf_functions=once) == ()


def test_host_ops_are_no_concern_where_there_is_no_device_to_wait() -> None:
    assert said(device="", host_compute=0.4) == ()
    assert said(device="", other=0.14) == ()
    assert said(device="", other=0.15)[0].startswith("No op computes (15 % of a step)")


def test_a_step_that_computes_names_its_most_expensive_op() -> None:
    expected = (
        "Computing (60 % of a step): see the op table and the kernel table; …/m/dense alone takes 40 % of the op time."
    )
    assert said(device_compute=0.6) == (expected,)
    assert "HLO table" in said(device_compute=0.6, device="TPU")[0]


def test_a_copy_is_not_what_a_step_computes() -> None:
    ops = {"name": ["IteratorGetNext/_2", "m/dense"], "type": ["_Recv", "MatMul"], "device": ["Device"] * 2}
    (sentence,) = said(device_compute=0.6, top_ops=pd.DataFrame({**ops, "self_time_ratio": [0.4, 0.2]}))
    assert sentence.endswith("m/dense alone takes 20 % of the op time.")
    (sentence,) = said(device_compute=0.6, top_ops=pd.DataFrame({**ops, "self_time_ratio": [0.4, 0.04]}))
    assert sentence == "Computing (60 % of a step): see the op table and the kernel table."


def test_a_long_name_is_cut_to_its_end() -> None:
    long = pd.DataFrame({"name": [f"a/b/{'c' * 200}/d"], "type": [""], "device": ["Device"], "self_time_ratio": [0.4]})
    (sentence,) = said(device_compute=0.6, top_ops=long)
    assert f"…{'c' * 77}/d alone" in sentence


def test_an_op_of_the_other_side_is_not_named() -> None:
    (sentence,) = said(device="", host_compute=0.6)
    assert sentence == "Computing (60 % of a step): see the op table."


def test_eager_ops_are_named_by_side() -> None:
    assert said(eager={"host": 0.1, "device": 0.0}) == ()
    assert said(eager={"host": 0.5, "device": 0.2})[0].startswith(
        "Eager ops take 50 % of host op time and 20 % of device op time"
    )


def test_functions_that_trace_again_are_named_three_at_most() -> None:
    table = functions(function=list("abcde"), expensive_ratio=[0.9, 0.8, 0.5, 0.3, 0.19])
    (sentence,) = said(tf_functions=table)
    assert "a (90 % of 10.0 ms), b (80 % of 10.0 ms), c (50 % of 10.0 ms) and 1 more" in sentence
    assert "reduce_retracing=True" in sentence


def test_a_first_tracing_is_not_called_retracing() -> None:
    (sentence,) = said(tf_functions=functions(function=["step"], expensive_ratio=[0.9], traced_calls=[1]))
    assert sentence.startswith("Traced once during the capture: step")


SUMMARY = {
    "allocator": "GPU_0_bfc",
    "capacity_bytes": 100,
    "peak_bytes": 95,
    "free_bytes": 5,
    "fragmentation_ratio": 0.0,
}


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({}, "GPU_0_bfc is nearly full: 95 bytes of 100 bytes"),
        ({"peak_bytes": 89}, None),
        ({"peak_bytes": 60, "fragmentation_ratio": 0.7, "free_bytes": 40}, "GPU_0_bfc is fragmented: at the peak 70 %"),
        ({"peak_bytes": 10, "fragmentation_ratio": 0.7}, None),
        ({"capacity_bytes": float("nan")}, None),
        ({"capacity_bytes": 0}, None),
    ],
)
def test_memory_is_a_finding_where_it_is_short(changes: dict[str, float], start: str | None) -> None:
    found = judge_memory(pd.DataFrame([SUMMARY | changes]))
    assert [sentence.startswith(start or "") for sentence in found] == ([True] if start else [])
    assert len(said(memory=found)) == len(found)


def nearly_full() -> bytes:
    """A step with an allocation that leaves almost nothing."""
    memory = event(
        "MemoryAllocation",
        2,
        0,
        allocator_name="GPU_0_bfc",
        bytes_reserved=0,
        bytes_allocated=98,
        bytes_available=2,
        fragmentation=0.0,
        peak_bytes_in_use=98,
        requested_bytes=98,
        allocation_bytes=98,
        addr=U(1),
        tf_op="m:MatMul",
    )
    steps = [event("train", 20 * i, 9, _r=1, step_num=i) for i in range(3)]
    return space(plane("/host:CPU", line("main", *steps, event("m:MatMul", 1, 5), memory)))


def test_short_memory_stands_beside_the_verdict() -> None:
    overview = Analysis(read_xspace(nearly_full())).overview
    assert overview.limiter == "dispatch"
    assert overview.findings == ("GPU_0_bfc is nearly full: 98 bytes of 100 bytes in use at the peak.",)
    assert overview.verdict_detail.startswith(overview.findings[0])
    assert any("memory timeline" in sentence for sentence in overview.next_steps)


def test_the_overview_outlives_the_results_it_came_from(v100_xplane: Path) -> None:
    results = Analysis(read_xspace(v100_xplane.read_bytes()))
    overview, known = results.overview, weakref.ref(results)
    del results
    assert known() is None  # without a collection: nothing held it in a circle
    assert overview.next_steps[0].startswith("The GPU waits")
