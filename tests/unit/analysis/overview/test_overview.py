"""The overview: averages, what limits a step, what the verdict says of idle time, and which next steps it names."""

from __future__ import annotations

import math
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.builders import Event, U, event, line, plane, session, space, trace
from tests.unit.analysis.advice.gpu_drawings import Part, gpu_run
from tests.unit.analysis.xprof_oracle import host_ops
from tfprof_widgets.analysis import (
    STEP_CATEGORIES,
    Analysis,
    Idle,
    Overview,
    compute_environment,
    idle_of,
    idle_times,
    input_words,
    judge,
    judge_memory,
    op_occurrences,
)
from tfprof_widgets.export import summarize
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Failure, Trace, made_source_map, merge_traces, of_keras, table_frame, unrecorded_notice


def overview_of(whole: Trace) -> Overview:
    return Analysis(whole).overview


def steps_of(*lengths_us: float, name: str = "train") -> list[Event]:
    """Consecutive steps, each with an op in its first half."""
    events, at = [], 0.0
    for i, length in enumerate(lengths_us):
        events += [event(name, at, length, _r=1, step_num=i), event("m/x:MatMul", at, length / 2)]
        at += length + 1
    return events


def host(*events: Event) -> Trace:
    return trace(plane("/host:CPU", line("main", *events)))


def test_times_are_averaged_over_all_steps() -> None:
    overview = overview_of(host(*steps_of(10, 12, 14)))
    assert (overview.n_steps, overview.n_steps_averaged) == (3, 3)
    assert overview.step_time_avg_ms == pytest.approx(0.012)
    assert overview.step_time_std_ms == pytest.approx(0.002)
    assert (overview.step_time_min_ms, overview.step_time_max_ms) == (0.010, 0.014)
    assert overview.left_out == ""


def test_a_first_step_that_is_an_outlier_is_left_out_and_named() -> None:
    overview = overview_of(host(*steps_of(100, 10, 10, 10)))
    assert overview.is_averaged.tolist() == [False, True, True, True]
    assert overview.step_time_max_ms == 0.010
    assert overview.left_out == "Step 0 (100 µs, warm-up) is excluded."


def failed(*lengths_us: float) -> Overview:
    failure = Failure(kind="ResourceExhaustedError", text="OOM", at_ns=0)
    return Analysis(host(*steps_of(*lengths_us)), failure=failure).overview


@pytest.mark.parametrize("lengths_us", [(10, 11, 900), (900,)])
def test_where_memory_ran_out_that_is_the_verdict_and_no_step_is_averaged(lengths_us: tuple[int, ...]) -> None:
    overview = failed(*lengths_us)
    assert overview.verdict.startswith("ResourceExhaustedError: OOM")
    assert not overview.is_averaged.any()
    assert overview.step_time_avg_ms == 0


def test_a_slow_step_in_the_middle_is_not_left_out() -> None:
    assert overview_of(host(*steps_of(10, 100, 10, 10))).n_steps_averaged == 4


def test_steps_of_two_kinds_have_a_typical_one_each_and_the_median_is_that_of_the_shorter() -> None:
    one = overview_of(host(*steps_of(10, 12, 11, 14, 13)))
    assert (one.step_time_median_ms, one.typical_steps, one.slow_steps) == (pytest.approx(0.012), (1,), "")
    two = overview_of(host(*steps_of(11, 90, 10, 92, 12, 91)))
    assert (two.step_time_median_ms, two.typical_steps) == (pytest.approx(0.011), (0, 5))
    assert two.slow_steps == "3 of 6 steps: 91.0 µs"
    outlier = overview_of(host(*steps_of(10, 11, 12, 11, 25)))
    assert outlier.slow_steps == ""
    assert overview_of(host()).typical_steps == ()


def test_a_first_step_that_compiles_is_left_out_and_named() -> None:
    events = steps_of(12, 10, 10)
    events.insert(2, event("tf.function-graph_building", 7, 3))
    assert overview_of(host(*events)).left_out == "Step 0 (12.0 µs, compiles) is excluded."


def test_averages_are_about_one_kind_of_step() -> None:
    events = steps_of(10, 10, 10) + [event("test", 100 + 10 * i, 5, _r=1, step_num=i) for i in range(2)]
    overview = overview_of(host(*events))
    assert (overview.n_steps, overview.n_steps_averaged) == (5, 3)
    assert overview.left_out == "2 test steps are excluded."


def test_a_trace_without_events_says_that_nothing_was_recorded() -> None:
    overview = overview_of(host())
    assert overview.verdict == "Nothing was recorded."
    assert overview.step_time_avg_ms == overview.n_steps == 0
    assert overview.limiter == ""


def test_a_trace_without_steps_says_how_to_mark_them() -> None:
    overview = overview_of(host(event("m/x:MatMul", 0, 5)))
    assert overview.verdict.startswith("No steps found")
    assert "tfprof.trace_steps(dataset)" in overview.verdict_detail


def test_eager_time_is_a_share_of_the_time_of_ops_on_its_side() -> None:
    whole = host(event("EagerExecute", 0, 9, is_func=0), event("a:MatMul", 1, 3), event("b:MatMul", 20, 1))
    overview = overview_of(whole)
    assert (overview.host_eager_ratio, overview.device_eager_ratio) == (0.75, 0.0)


def test_the_environment_counts_threads_devices_and_windows() -> None:
    gpu = plane(
        "/device:GPU:0",
        line("Stream #1", event("kern", 0, 1)),
        device_vendor="Nvidia",
        compute_cap_major=7,
        compute_cap_minor=5,
        memory_size=U(2**33),
    )
    idle = plane("/device:GPU:1")
    cpu = plane("/host:CPU", line("a", event("x", 0, 1)), line("b", event("y", 0, 1)))
    environment = overview_of(trace(cpu, gpu, idle, session(duration_us=2000), hostnames=["box"])).environment
    assert environment.device_type == "Nvidia GPU (Turing)"
    assert (environment.n_devices, environment.n_active_devices, environment.n_threads) == (2, 1, 2)
    assert environment.device_memory_bytes == 2**33
    assert environment.captured_ms == 2.0


def test_profilers_that_ran_at_once_on_one_host_are_its_tasks() -> None:
    def task(start_us: float) -> Trace:
        start_ns = 1_700_000_000_000_000_000 + round(start_us * 1e3)
        return read_xspace(
            space(session(start_ns=start_ns), plane("/host:CPU", line("main", event("x", 0, 1))), hostnames=["box"])
        )

    def tasks_of(*starts_us: float) -> int:
        return overview_of(merge_traces([task(start) for start in starts_us])).environment.n_tasks_per_host

    assert tasks_of(0) == 1
    assert tasks_of(0, 500) == 2  # each lasts 1000 us
    assert tasks_of(0, 5000) == 1


def test_versions_and_memory_are_those_that_the_capture_noted() -> None:
    noted = {"tensorflow": "2.21.0", "memory_bytes": "1024", "n_cpus": "many"}
    environment = compute_environment(host(*steps_of(10)), noted)
    assert (environment.tensorflow_version, environment.keras_version) == ("2.21.0", "")
    assert (environment.host_memory_bytes, environment.n_cpus) == (1024, 0)


def test_steps_of_a_host_without_a_device_are_left_out_where_others_have_one() -> None:
    worker = plane("/device:GPU:0", line("Stream #1", event("kern", 0, 5)))
    files = [
        space(plane("/host:CPU", line("main", *steps_of(10, 12))), worker, hostnames=["a"]),
        space(plane("/host:CPU", line("main", *steps_of(50, 50))), hostnames=["chief"]),
    ]
    overview = overview_of(merge_traces([read_xspace(content) for content in files]))
    assert (overview.n_steps, overview.n_steps_averaged) == (4, 2)
    assert overview.step_time_max_ms == 0.012
    assert "2 steps of hosts that do not train" in overview.left_out


def shares(**percent_of_step: float) -> dict[str, float]:
    """Milliseconds of a step of 100 ms; what is not given is computing on the device."""
    ms = dict.fromkeys(STEP_CATEGORIES, 0.0) | percent_of_step
    return ms | {"device_compute": 100 - sum(percent_of_step.values())}


def test_a_step_that_waits_for_the_host_tells_both_parts_of_it() -> None:
    said = judge(shares(dispatch=40, kernel_launch=38, device_compute=22), 100, has_device=True)
    assert said.kind == "Host-bound"
    assert said.headline == (
        "The GPU waits 78 % of a step for the host: 40 % for Python and dispatch and 38 % for kernel launches."
    )
    assert said.sentence == (
        "Host-bound: the GPU waits 78.0 of 100 ms a step for the host (78 %): 40.0 ms for Python and dispatch and 38.0 ms for "
        "kernel launches."
    )


@pytest.mark.parametrize(
    ("copy", "host", "limiter", "start"),
    [
        (
            "MemcpyH2D",
            (),
            "copy_to_device",
            "Copy-bound: the GPU waits 0.600 of 0.990 ms a step for copies from the host",
        ),
        ("MemcpyD2H", (), "output", "Output-bound: copies back to the host take 0.600 of 0.990 ms"),
        ("MemcpyD2D", (), "device_to_device", "Copy-bound: copies within and between GPUs take 0.600 of 0.990 ms"),
        (
            "MemcpyH2D",
            [("net/dense/MatMul:MatMul", 610, 370)],
            "copy_to_device",
            "Copy-bound: the GPU waits 0.600 of 0.990 ms",
        ),
    ],
)
def test_a_device_that_only_copies_is_a_device(copy: str, host: list[Part], limiter: str, start: str) -> None:
    overview = gpu_run([(copy, 10, 600)], host=host).overview
    assert overview.limiter == limiter
    assert overview.verdict.startswith(start)
    assert overview.busy_ratio == 0


def test_on_a_machine_without_a_device_the_cpu_computes() -> None:
    ms = dict.fromkeys(STEP_CATEGORIES, 0.0) | {"host_compute": 4.5, "dispatch": 3.75}
    said = judge(ms, 8.25, has_device=False, most={"host_compute": "in dense"})
    assert said.headline == (
        "Ops on the CPU compute in 55 % of a step, most of it in dense; another 45 % is lost to Python and the runtime around "
        "ops."
    )
    assert said.sentence == (
        "Compute-bound: ops on the CPU compute in 4.50 of 8.25 ms a step (55 %), most of it in dense; another 45 % is lost to "
        "Python and the runtime around ops."
    )


def test_what_a_step_waits_for_data_is_named_beside_python_that_takes_hardly_more() -> None:
    ms = dict.fromkeys(STEP_CATEGORIES, 0.0) | {"host_compute": 0.5, "dispatch": 4.9, "input": 4.6}
    said = judge(ms, 10.0, has_device=False).sentence
    assert said == (
        "Dispatch-bound: Python and the runtime around ops take 4.90 of 10.0 ms a step (49 %), the ops themselves 5 %; the "
        "model waits for data for another 46 %."
    )
    assert "another" not in judge(ms, 10.0, has_device=False, waits=False).sentence


@pytest.mark.parametrize(("python_ms", "word"), [(5.0, "Python-bound"), (1.0, "Dispatch-bound")])
def test_what_runs_around_ops_of_a_cpu_is_no_computing(python_ms: float, word: str) -> None:
    ms = dict.fromkeys(STEP_CATEGORIES, 0.0) | {"host_compute": 1.0, "dispatch": 7.25}
    verdict = judge(ms, 8.25, has_device=False, python_ms=python_ms)
    assert verdict.sentence.startswith(word)
    assert "7.25 of 8.25 ms a step (88 %)" in verdict.sentence
    assert verdict.limiter == "dispatch"


def test_python_of_the_input_that_shares_the_interpreter_is_named() -> None:
    ms = dict.fromkeys(STEP_CATEGORIES, 0.0) | {"host_compute": 1.0, "dispatch": 7.25}
    said = judge(ms, 8.25, has_device=False, python_ms=5.0, locked_ms=6.0).sentence
    assert said.startswith(
        "Python-bound: Python and the runtime around ops take 7.25 of 8.25 ms a step (88 %); in 6.00 ms of these"
    )
    assert "Python of the input" not in judge(ms, 8.25, has_device=False, locked_ms=3.0).sentence


_ON_CPU = ("input", "host_compute", "dispatch", "kernel_launch", "compile", "checkpoint", "device_collectives", "other")


@pytest.mark.parametrize("has_device", [True, False])
def test_a_verdict_never_names_less_than_another_part_takes(has_device: bool) -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        names = [name for name in STEP_CATEGORIES if has_device or name in _ON_CPU]
        ms = dict(zip(names, random.dirichlet(np.full(len(names), 0.3)).tolist(), strict=True))
        verdict = judge(ms, 1.0, has_device=has_device)
        limiters = {"dispatch", "kernel_launch", *(() if has_device else ("other",))}
        named = sum(ms[name] for name in limiters) if verdict.limiter in limiters else ms[verdict.limiter]
        assert named >= max(part for name, part in ms.items() if name not in limiters) - 1e-12
        assert named >= max(ms.values())


OP, ELEMENT = "m/x:MatMul", "Iterator::Root::Map"
MAPPED = "map/Sin:Sin"


def captured(*names: str, **noted: str) -> Analysis:
    """Ten marked steps of 10 ms, each with these events for half of its time, an iterator's with what it maps."""
    events: list[Event] = []
    for i in range(10):
        events.append(event("train", 10_000 * i, 10_000, _r=1, step_num=i))
        events += [event(name, 10_000 * i + 10 + 50 * k, 5_000 - 100 * k) for k, name in enumerate(names)]
    facts = table_frame("facts", {"name": list(noted), "value": list(noted.values())})
    whole = trace(plane("/host:CPU", line("python", *events)), session(duration_us=100_000))
    return Analysis(whole, made_source_map({"facts": facts}, (), ()))


@pytest.mark.parametrize("names", [(), (OP,), (ELEMENT, MAPPED)])
@pytest.mark.parametrize("backend", ["jax", "torch", "numpy", "one of tomorrow"])
def test_of_keras_on_another_backend_nothing_is_judged(names: tuple[str, ...], backend: str) -> None:
    results = captured(*names, unrecorded=of_keras(backend))
    overview = results.overview
    assert overview.verdict.startswith("Keras ran on ")
    assert (overview.n_steps, overview.step_time_avg_ms, len(results.steps)) == (0, 0, 0)
    assert results.advice == ()
    assert results.notices == (unrecorded_notice(of_keras(backend)),)
    text = summarize(results, notices=results.notices)
    assert text.count("Keras ran on ") == 1
    for word in ("keeps up", "bound", "a step,", "TF_CPU_ALLOCATOR_USE_BFC", "trace_steps"):
        assert word not in text


def test_what_records_jax_and_pytorch_is_named() -> None:
    assert "`jax.profiler.start_trace(dir)` and `jax.profiler.stop_trace()`" in unrecorded_notice("Keras on JAX")
    assert "`tfprof.load(dir)`" in unrecorded_notice("Keras on JAX")
    assert "`torch.profiler`" in unrecorded_notice("PyTorch")


@pytest.mark.parametrize(
    ("names", "noted", "said"),
    [
        ((), {"may_compute": "JAX"}, "JAX"),
        ((), {"may_compute": "PyTorch"}, "PyTorch"),
        ((), {"keras_backend": "jax"}, "JAX"),
        ((ELEMENT, MAPPED), {"keras_backend": "torch"}, "PyTorch"),
    ],
)
def test_an_own_loop_without_an_op_of_tensorflow_is_not_judged(
    names: tuple[str, ...], noted: dict[str, str], said: str
) -> None:
    results = captured(*names, **noted)
    assert results.overview.verdict.startswith(f"No TensorFlow model ran in the steps; maybe one of {said} did")
    assert (results.overview.n_steps, results.advice) == (0, ())


@pytest.mark.parametrize(
    ("names", "noted"),
    [
        ((OP,), {"keras_backend": "jax", "may_compute": "JAX"}),
        ((OP, ELEMENT), {"keras_backend": "torch", "may_compute": "PyTorch"}),
        ((ELEMENT, MAPPED), {"may_compute": "PyTorch", "keras_backend": "tensorflow"}),
        ((), {"keras_backend": "tensorflow"}),
        ((), {}),
        ((), {"unrecorded": "<b>", "may_compute": "x"}),
    ],
)
def test_what_is_merely_imported_silences_nothing(names: tuple[str, ...], noted: dict[str, str]) -> None:
    results, alone = captured(*names, **noted), captured(*names)
    assert results.overview.verdict == alone.overview.verdict
    assert results.overview.n_steps == 10
    assert results.advice == alone.advice
    assert results.notices == ()


def waiting(ms: float, step_ms: float = 10.0) -> Overview:
    overview = gpu_run([("gemm", 400, 500)]).overview
    parts = overview.breakdown.set_index("category")
    parts.loc["input", ["ms", "ratio"]] = ms, ms / step_ms
    return replace(overview, step_time_avg_ms=step_ms, breakdown=parts.reset_index())


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0.037, "The input keeps up: it costs 37.0 µs of a step."),
        (0.199, "The input keeps up: it costs 199 µs of a step."),
        (0.2, "The GPU waits 0.200 of 10.0 ms a step for data (2 %)."),
        (1.99, "The GPU waits 1.99 of 10.0 ms a step for data (20 %)."),
        (2.0, "Input-bound: the GPU waits 2.00 of 10.0 ms a step for data (20 %)."),
    ],
)
def test_the_input_is_told_in_the_figures_of_the_step(ms: float, said: str) -> None:
    assert input_words(waiting(ms), "") == said


def test_without_an_averaged_step_it_is_what_the_pipeline_says() -> None:
    assert input_words(replace(waiting(1), n_steps_averaged=0), "No step was measured.") == "No step was measured."


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


def test_the_overview_outlives_the_results_it_came_from(v100_xplane: Path) -> None:
    results = Analysis(read_xspace(v100_xplane.read_bytes()))
    overview, known = results.overview, weakref.ref(results)
    del results
    assert known() is None  # without a collection: nothing held it in a circle
    assert overview.verdict
