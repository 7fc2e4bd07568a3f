"""Iterators made in each step, shuffles that fill their buffers, and waits that are none, on drawn steps."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tests.builders import Event, event, line, plane, session, trace
from tests.unit.analysis.advice.test_host_rules import only
from tests.unit.analysis.advice.test_input_rules import drawn, tiny_model
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import Analysis, Run

STEP_US = 10_000.0
MAKE = "EagerLocalExecute: MakeIterator"


def remade(*, made_in: int = 1, extra: tuple[str, ...] = ()) -> Analysis:
    """Steps, of which every `made_in`-th makes an iterator, waits for its first batch for 4 ms and computes."""
    events: list[Event] = []
    for i in range(12):
        at = STEP_US * i
        makes = i % made_in == 0
        wait_us = 3_000 if makes else 100
        events += [
            event("train", at, STEP_US, _r=1, step_num=i),
            *([event(MAKE, at + 100, 900)] if makes else []),
            event("IteratorGetNext:IteratorGetNext", at + 1_000, wait_us),
            call(ROOT, at + 1_000, wait_us, 1),
            *(event(name, at + 4_000, 10) for name in extra),
            event("net/conv/Conv2D:Conv2D", at + 4_100, 5_800),
        ]
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=12 * STEP_US)))


def refilled(fill_us: float, *, below: str = "ParallelMapV2", n_epochs: int = 3, n_steps: int = 10) -> Analysis:
    """Epochs of some steps; in the first of each a shuffle fetches eight elements, in the others one."""
    events: list[Event] = []
    at = 0.0
    shuffle = f"{ROOT}::Shuffle"
    for epoch in range(n_epochs):
        events.append(event(MAKE, at, 10))
        for i in range(n_steps):
            wait_us, n = (fill_us, 8) if i == 0 else (100.0, 1)
            each = (wait_us - 10) / n
            events += [
                event("train", at + 20, 4_900 + wait_us, _r=1, step_num=n_steps * epoch + i),
                event("IteratorGetNext:IteratorGetNext", at + 30, wait_us),
                call(ROOT, at + 31, wait_us - 2, 1),
                call(shuffle, at + 32, wait_us - 4, 2, 1, buffer_size=500),
                *(call(f"{shuffle}::{below}", at + 33 + each * k, each - 1, 3, 2) for k in range(n)),
                event("net/conv/Conv2D:Conv2D", at + 40 + wait_us, 4_800),
            ]
            at += 5_000 + wait_us
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=at)))


def test_an_iterator_made_in_each_step_is_the_cause_of_its_wait() -> None:
    advice = only(remade())
    assert (advice.rule, advice.bound) == ("new_iterator", "about")
    assert advice.title.startswith("12 of 12 steps make an iterator of their own")
    assert advice.gain_ratio == pytest.approx(0.39)
    assert advice.fix.words.startswith("Make one iterator, iter(...), before the loop")


def test_an_iterator_made_for_each_epoch_is_none() -> None:
    assert "new_iterator" not in {one.rule for one in remade(made_in=4).advice}


def test_what_fit_makes_is_no_fault_of_the_loop() -> None:
    assert "new_iterator" not in {one.rule for one in remade(extra=("multi_step_on_iterator",)).advice}


def test_a_shuffle_that_fills_its_buffer_in_each_epoch_is_told_by_what_that_takes_of_the_capture() -> None:
    results = refilled(200_000.0)
    (advice,) = (one for one in results.advice if one.rule == "shuffle_fill")
    assert {one.rule for one in results.advice} == {"shuffle_fill"}
    assert advice.gain_ratio == pytest.approx(600 / 750, abs=0.02)
    assert "its buffer of 500 elements, which ParallelMapV2 prepares: 3 times" in advice.title
    assert advice.fix.words.startswith("Shuffle elements, names or indices first")


def test_of_elements_in_memory_a_smaller_buffer_is_proposed() -> None:
    (advice,) = refilled(200_000.0, below="TensorSlice").advice
    assert "A smaller buffer, such as of 50 elements, is full sooner; it shuffles less." in advice.fix.words


def test_a_capture_that_was_written_in_parts_tells_of_buffers_as_a_whole_one_does() -> None:
    alone = refilled(200_000.0)
    (first,) = alone.trace.sessions
    for gap_ps, is_told in ((10**9, True), (10**13, False)):
        later = replace(first, start_ps=first.stop_ps + gap_ps, stop_ps=first.stop_ps + gap_ps + 10**9)
        parts = Analysis(replace(alone.trace, sessions=(first, later)))
        assert (Run(parts).shuffle_fill is not None) is is_told


def test_a_buffer_that_fills_slowly_beside_other_programs_may_be_their_doing() -> None:
    system = pd.DataFrame({"time_ms": [10.0 * k for k in range(70)], "cpu_pct": 95.0, "process_cpu_pct": 100.0})
    system = system.assign(cpu0_pct=95.0, cpu1_pct=95.0)
    for n_steps, is_told in ((120, False), (20, True)):  # 9 and 37 % of the time
        alone = refilled(60_000.0, n_epochs=1, n_steps=n_steps)
        assert Run(alone).shuffle_fill is not None
        assert (Run(Analysis(alone.trace, system=system)).shuffle_fill is not None) is is_told


def test_a_buffer_that_is_full_at_once_is_no_fault() -> None:
    assert refilled(2_000.0).advice == ()


def test_the_verdicts_speak_of_waiting_where_the_advice_does() -> None:
    """Of steps of 1 ms a wait of 0.1 ms is what handing a ready batch over takes."""
    short, long = drawn(100, step_us=1_000), drawn(1_000, step_us=10_000)
    assert [one.rule for one in short.advice] == []
    assert "data" not in short.overview.verdict
    assert short.input_pipeline.verdict.startswith("Not input-bound: the model waits 0.100 of 1.00 ms")
    assert [one.rule for one in long.advice] == ["input_bound"]
    assert "waits for data for another 10 %" in long.overview.verdict
    assert long.input_pipeline.verdict.startswith("Moderately input-bound")


def competing(input_us: float, *, cpu_pct: float = 95.0, own_pct: float = 180.0) -> Analysis:
    """Steps that compute for 9 ms beside a thread of tf.data that does so, too, and never wait for its batches."""
    steps: list[Event] = []
    ahead: list[Event] = []
    for i in range(12):
        at = STEP_US * i
        steps += [
            event("train", at, STEP_US, _r=1, step_num=i),
            event("IteratorGetNext:IteratorGetNext", at + 10, 50),
            call(ROOT, at + 11, 40, 1),
            event("net/conv/Conv2D:Conv2D", at + 100, 9_800),
        ]
        ahead.append(event("resize/ResizeBilinear:ResizeBilinear", at + 100, input_us))
    lines = line("python", *steps), line("tf_data_private_threadpool/1", *ahead)
    drawing = trace(plane("/host:CPU", *lines), session(duration_us=12 * STEP_US))
    system = pd.DataFrame({"time_ms": [10.0 * k for k in range(12)], "cpu_pct": cpu_pct, "process_cpu_pct": own_pct})
    return Analysis(drawing, system=system.assign(cpu0_pct=cpu_pct, cpu1_pct=cpu_pct))


def test_input_that_computes_on_the_cores_of_the_model_is_told_although_nobody_waits() -> None:
    advice = only(competing(9_000))
    assert (advice.rule, advice.bound) == ("input_competes", "about")
    assert advice.gain_ratio == pytest.approx(0.5 * 9 / 18, abs=0.001)
    assert "Only where nothing in it or before it is random or shuffled" in advice.fix.words


@pytest.mark.parametrize(("input_us", "cpu_pct", "own_pct"), [(1_000, 95, 180), (9_000, 45, 80), (9_000, 95, 100)])
def test_a_little_input_or_one_beside_free_cores_or_other_programs_is_no_fault(
    input_us: float, cpu_pct: float, own_pct: float
) -> None:
    assert competing(input_us, cpu_pct=cpu_pct, own_pct=own_pct).advice == ()


def test_beside_other_programs_a_pipeline_that_falls_behind_is_no_cause() -> None:
    waiting = drawn(3_000)
    system = pd.DataFrame({"time_ms": [10.0 * k for k in range(7)], "cpu_pct": 95.0, "process_cpu_pct": 90.0})
    busy = Analysis(waiting.trace, system=system.assign(cpu0_pct=95.0, cpu1_pct=95.0))
    assert [one.rule for one in waiting.advice] == ["input_bound"]
    (told,) = busy.advice
    assert (told.rule, told.severity, told.gain_ratio) == ("input_bound", "low", 0.0)
    assert "(30 %) in BatchV2, while other programs took 1.00 cores: without them it may wait less" in told.title
    assert "data" not in busy.overview.verdict
    much = Analysis(drawn(6_000).trace, system=busy.system)
    assert [one.rule for one in much.advice] == ["input_bound"]


def crowded(alone: Analysis) -> Analysis:
    """The same on two cores that other programs take."""
    time_ms = [5.0 * k for k in range(40)]
    system = pd.DataFrame({"time_ms": time_ms, "cpu_pct": 95.0, "process_cpu_pct": 90.0})
    return Analysis(alone.trace, system=system.assign(cpu0_pct=95.0, cpu1_pct=95.0))


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        (("Prefetch", "ParallelMapV2"), {"input_bound": 0.0}),
        (("Map",), {"small_batch": pytest.approx(0.57, abs=0.02), "input_bound": 0.0}),
    ],
)
def test_waiting_that_other_programs_may_cause_is_nothing_that_a_larger_batch_saves(
    stages: tuple[str, ...], told: dict[str, object]
) -> None:
    """750 of 1,750 us a step: where a pipeline works ahead it sets the pace, whoever slows it; else the rest of the step is
    the model's."""
    busy = crowded(tiny_model(lambda _: 750, stages=stages))
    assert not Run(busy).wait.is_told
    assert {one.rule: one.gain_ratio for one in busy.advice} == told


@pytest.mark.parametrize(("python_us", "is_told"), [(9_000, True), (5_000, False)])
def test_python_that_never_rests_makes_steps_wait_also_beside_other_programs(python_us: int, *, is_told: bool) -> None:
    steps: list[Event] = []
    for i in range(12):
        at = STEP_US * i
        steps += [
            event("train", at, STEP_US, _r=1, step_num=i),
            event("IteratorGetNext:IteratorGetNext", at + 100, 3_000),
            call(ROOT, at + 100, 3_000, 1),
            event("net/conv/Conv2D:Conv2D", at + 3_200, 6_700),
        ]
    python = line(
        "tf_data_private_threadpool/1", *(event("PyFunc:PyFunc", STEP_US * i + 50, python_us) for i in range(12))
    )
    host = plane("/host:CPU", line("python", *steps), python)
    system = pd.DataFrame({"time_ms": [10.0 * k for k in range(13)], "cpu_pct": 95.0, "process_cpu_pct": 100.0})
    crowded = Analysis(
        trace(host, session(duration_us=12 * STEP_US)), system=system.assign(cpu0_pct=95.0, cpu1_pct=95.0)
    )
    assert Run(crowded).is_machine_busy
    assert Run(crowded).wait.is_told is is_told
