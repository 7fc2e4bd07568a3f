"""Captures in which something else than TensorFlow computed: no verdict on it, no advice, one notice."""

from __future__ import annotations

import pytest

from tests.builders import Event, event, line, plane, session, trace
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.export import summarize
from tfprof_widgets.trace import made_source_map, of_keras, table_frame, unrecorded_notice

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
    assert (overview.n_steps, overview.step_time_avg_ms, len(results.steps), overview.next_steps) == (0, 0, 0, ())
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
    assert "timeline only" in unrecorded_notice("PyTorch")


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
