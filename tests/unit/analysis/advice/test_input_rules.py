"""Which stage of an input pipeline holds the training up: real tf.data pipelines, and drawn ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import (
    COPIES_US,
    HIDDEN_BY_PREFETCH,
    STAGES,
    Advice,
    Analysis,
    sequential_words,
    stage_of,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import empty_source_map

STAGE_OF = {
    "slow_map": "no_parallel_map",
    "slow_map_after_parallel": "no_parallel_map",
    "slow_read": "slow_read",
    "slow_batch": "sequential_stage",
    "slow_filter": "sequential_stage",
    "slow_generator": "generator",
}


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", STAGE_OF)
def test_the_slow_stage_of_a_real_pipeline_is_named(kind: str, tf_data_captures: dict[str, Path]) -> None:
    results = Analysis(read_xspace(tf_data_captures[kind].read_bytes()))
    (advice,) = [one for one in results.advice if one.rule == "input_bound"]
    # On a slow machine the step takes longer than the stage: a prefetch alone would hide that.
    is_hidden = advice.stage == "no_prefetch" and advice.gain_ratio <= HIDDEN_BY_PREFETCH
    assert advice.stage == STAGE_OF[kind] or is_hidden
    assert advice.stage in STAGES
    assert advice.selection.view == "input_graph"
    assert advice.fix.words
    assert set(advice.selection.op_names) <= set(results.ops["name"])


@pytest.mark.tensorflow
def test_the_fixed_pipeline_promises_far_less_gain(tf_data_captures: dict[str, Path]) -> None:
    assert input_gain(tf_data_captures["slow_map_parallel"]) < input_gain(tf_data_captures["slow_map"]) / 2


def input_gain(path: Path) -> float:
    """What an advice on the input promises; 0 where there is none."""
    advice = Analysis(read_xspace(path.read_bytes())).advice
    return max((one.gain_ratio for one in advice if one.rule == "input_bound"), default=0.0)


def drawn(wait_us: float, step_us: float = 10_000, stage: str = "BatchV2") -> Analysis:
    """Steps on the CPU that fetch from `stage` on their own thread, then compute."""
    events = []
    for i in range(6):
        at = step_us * i
        events += [
            event("train", at, step_us, _r=1, step_num=i),
            event("IteratorGetNext:IteratorGetNext", at, wait_us),
            call(ROOT, at, wait_us, 1),
            call(f"{ROOT}::{stage}", at + 1, wait_us - 2, 2, 1),
            event("net/conv/Conv2D:Conv2D", at + wait_us, step_us - wait_us),
        ]
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=6 * step_us)))


def top(results: Analysis) -> Advice:
    return results.advice[0]


@pytest.mark.parametrize(
    ("wait_us", "stage", "expected"),
    [
        (3_000, "BatchV2", "no_prefetch"),
        (3_000, "Map", "no_prefetch"),
        (8_000, "BatchV2", "sequential_stage"),
        (8_000, "Map", "no_parallel_map"),
        (8_000, "TFRecord", "slow_read"),
        (8_000, "ParallelMapV2", "slow_map"),
        (3_000, "ParallelMapV2", "slow_map"),
        (3_000, "FlatMap[0]::Generator", "generator"),
    ],
)
def test_a_prefetch_alone_helps_where_it_can_hide_all_of_the_work(wait_us: float, stage: str, expected: str) -> None:
    advice = top(drawn(wait_us, stage=stage))
    assert (advice.rule, advice.stage) == ("input_bound", expected)
    assert advice.gain_ratio == pytest.approx(wait_us / 10_000, abs=0.01)
    assert drawn(wait_us, stage=stage).judged_input.suggestion == advice.fix.words


FUSED, TUNED = {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2}, {"autotune": "true"}


@pytest.mark.parametrize(
    ("name", "settings", "stage"),
    [
        *((name, {}, "no_parallel_map") for name in ("Map", "MapV2")),
        ("MapAndBatch", FUSED, "no_parallel_map"),
        ("MapAndBatch", FUSED | TUNED, "slow_map"),
        ("MapAndBatch", {"name": "fused(ParallelMapDatasetV2:4)", "parallelism": 8}, "slow_map"),
        ("ParallelMapV2", {"parallelism": 1}, "no_parallel_map"),
        ("ParallelMapV2", {"parallelism": 1} | TUNED, "slow_map"),
        *((name, {}, "slow_read") for name in ("TFRecord", "TextLineV2")),
        *((name, {}, "sequential_stage") for name in ("Filter", "Unbatch", "DataService")),
    ],
)
def test_the_stage_is_told_by_name_and_settings(name: str, settings: dict[str, object], stage: str) -> None:
    assert stage_of(name, settings) == stage  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("names", "each_us", "words"),
    [
        ("Filter", 0, "no parallel form"),
        ("FlatMap", 0, "another order"),
        ("TensorSlice", 0, "one by one"),
        ("Shuffle Map", 0, "shuffles less"),
        ("SomethingNew", 0, ".prefetch(tf.data.AUTOTUNE)"),
        ("BatchV2 Unbatch", 0, ".rebatch(batch_size) in place of both"),
        ("BatchV2 ShuffleV3 Unbatch", 0, "make batches earlier"),  # single elements are needed
        # Parallel calls made batches of small records 29 % slower.
        ("BatchV2 Map", COPIES_US / 2, "make batches earlier"),
        ("BatchV2 Map", COPIES_US, "num_parallel_calls"),
    ],
)
def test_a_stage_that_works_alone_has_its_words(names: str, each_us: float, words: str) -> None:
    rows = [(k - 1, name, 9 - k, {"batch_size": 64}, 10, 0.64 * each_us) for k, name in enumerate(names.split())]
    columns = ["parent_id", "name", "total_time_ms", "params", "calls", "self_time_ms"]
    assert words in sequential_words(pd.DataFrame(rows, columns=columns), 0)


def sampled(results: Analysis, process_cpu_pct: float) -> Analysis:
    """The same with the load of the process, which runs alone on two cores, sampled every 10 ms."""
    system = pd.DataFrame({"time_ms": [10.0 * i for i in range(7)], "process_cpu_pct": process_cpu_pct})
    each = dict.fromkeys(("cpu_pct", "cpu0_pct", "cpu1_pct"), process_cpu_pct / 2)
    return dataclasses.replace(results, system=system.assign(**each))


@pytest.mark.parametrize("stage", ["FlatMap[0]::Generator", "Map"])
def test_what_waits_and_computes_nothing_gets_more_calls_at_a_time_than_cores(stage: str) -> None:
    """Steps of which 8 of 10 ms are waits and 2 ms ops, which make a fifth of a core busy."""
    idle, busy = (top(sampled(drawn(8_000, stage=stage), pct)).fix.words for pct in (25, 100))
    assert "num_parallel_calls=16" in idle
    assert "options.threading.private_threadpool_size = 16" in idle
    assert "16" not in busy
    assert "num_parallel_calls=tf.data.AUTOTUNE" in busy


def test_beside_other_programs_nobody_knows_whether_it_waits() -> None:
    results = drawn(8_000, stage="Map")
    system = pd.DataFrame({"time_ms": [10.0 * i for i in range(7)], "process_cpu_pct": 25.0, "cpu_pct": 95.0})
    busy = dataclasses.replace(results, system=system.assign(cpu0_pct=95.0, cpu1_pct=95.0))
    assert "Where it waits for a disk or a network:" in top(busy).fix.words


def test_where_nobody_sampled_the_load_the_fix_says_what_to_do_if_it_waits() -> None:
    words = top(drawn(8_000, stage="FlatMap[0]::Generator")).fix.words
    assert "Where it waits for a disk or a network: num_parallel_calls=16, and options.threading" in words


def test_handing_a_batch_over_is_no_wait_for_the_pipeline() -> None:
    assert "input_bound" not in [one.rule for one in drawn(150, step_us=1_000).advice]


def tiny_model(wait_us: Callable[[int], float], *, stages: Sequence[str] = ("Prefetch", "ParallelMapV2")) -> Analysis:
    """Forty steps of 45 short ops, 1 ms each, before which they wait for a pipeline."""
    events, at = [], 0.0
    for i in range(40):
        wait = wait_us(i)
        events.append(event("train", at, 1_000 + wait, _r=1, step_num=i))
        if wait:
            events.append(event("IteratorGetNext:IteratorGetNext", at, wait))
            events.append(call(ROOT, at, wait, 1))
            for k, _ in enumerate(stages):
                name = "::".join((ROOT, *stages[: k + 1]))
                events.append(call(name, at + k + 1, wait - 2 * k - 2, k + 2, k + 1))
        events += [event(f"net/l{k}/MatMul:MatMul", at + wait + 20 * k, 5) for k in range(45)]
        at += 1_000 + wait
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=at)))


def gains(results: Analysis) -> dict[str, float]:
    return {one.rule: one.gain_ratio for one in results.advice}


@pytest.mark.parametrize("every", [1, 2, 3])
def test_a_pipeline_that_sets_the_pace_owns_the_time_of_a_tiny_model(every: int) -> None:
    """Waits that come in every second step, too: their median is 0, and a larger batch would only wait longer for them."""
    told = gains(tiny_model(lambda i: 750 * every if i % every == 0 else 0))
    assert told == {"input_bound": pytest.approx(0.43, abs=0.02)}


def test_rare_waits_leave_a_small_batch_its_share_of_all_the_time() -> None:
    told = gains(tiny_model(lambda i: 60_000 if i in (11, 23) else 0))
    assert told["input_bound"] == pytest.approx(120 / 160, abs=0.01)
    assert told["small_batch"] == pytest.approx(40 / 160, abs=0.01)


def test_a_larger_batch_saves_its_share_where_nothing_works_ahead() -> None:
    told = gains(tiny_model(lambda _: 750, stages=["Map"]))
    assert told == {"input_bound": pytest.approx(0.43, abs=0.02), "small_batch": pytest.approx(0.57, abs=0.02)}


def pipeline(
    *stages: str, stats: dict[str, dict[str, object]] | None = None, op: str = "", op_us: float = 0.0
) -> Analysis:
    """Steps that wait 8 of 10 ms for stages on their own thread, the consumer first, and an op that the last of them runs."""
    events = []
    for i in range(6):
        at = 10_000.0 * i
        events += [
            event("train", at, 10_000, _r=1, step_num=i),
            event("IteratorGetNext:IteratorGetNext", at, 8_000),
            call(ROOT, at, 8_000, 1, **(stats or {}).get("Root", {})),
        ]
        for k, stage in enumerate(stages):
            name = "::".join((ROOT, *stages[: k + 1]))
            events.append(call(name, at + 2 * k + 1, 7_998 - 4 * k, k + 2, k + 1, **(stats or {}).get(stage, {})))
        if op:
            events.append(event(op, at + 100, op_us))
        events.append(event("net/conv/Conv2D:Conv2D", at + 8_000, 1_990))
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=60_000)))


@pytest.mark.parametrize(("kept", "stage", "gain"), [(200, "filter_after", 0.64), (900, "slow_map", 0.8)])
def test_a_filter_behind_the_map_is_the_cause_of_what_it_throws_away(kept: int, stage: str, gain: float) -> None:
    counted = {"Filter": {"passed": kept, "filtered": 1_000 - kept}}
    work = {"op": "resize/ResizeBilinear:ResizeBilinear", "op_us": 7_000.0}
    advice = top(pipeline("BatchV2", "Filter", "ParallelMapV2", stats=counted, **work))  # type: ignore[arg-type]
    assert (advice.rule, advice.stage) == ("input_bound", stage)
    assert advice.gain_ratio == pytest.approx(gain, abs=0.01)
    assert ("put it there" in advice.fix.words) == (stage == "filter_after")


@pytest.mark.parametrize(
    ("op", "op_us", "stages", "stage"),
    [
        ("PyFunc:PyFunc", 7_000, ("BatchV2", "ParallelMapV2"), "python_map"),
        ("Resize:ResizeBilinear", 7_000, ("BatchV2", "ParallelMapV2"), "slow_map"),
        ("Parse:ParseSingleExample", 700, ("BatchV2", "ParallelMapV2"), "element_map"),
        ("Parse:ParseExampleV2", 700, ("ParallelMapV2",), "slow_map"),  # not batched behind it
    ],
)
def test_why_a_map_is_slow_is_told_by_its_ops(op: str, op_us: float, stages: tuple[str, ...], stage: str) -> None:
    advice = top(pipeline(*stages, op=op, op_us=op_us))
    assert (advice.rule, advice.stage) == ("input_bound", stage)


@pytest.mark.parametrize(
    ("cpu_pct", "stage"), [(120, "python_map"), (25, "no_parallel_map"), (None, "no_parallel_map")]
)
def test_calls_in_parallel_are_no_remedy_for_python_that_computes(cpu_pct: float | None, stage: str) -> None:
    """The load of the process tells whether it computes or waits; where it is not known, the fix says what depends on it."""
    drawn = pipeline("BatchV2", "Map", op="PyFunc:PyFunc", op_us=7_000)
    advice = top(drawn if cpu_pct is None else sampled(drawn, cpu_pct))
    assert (advice.rule, advice.stage) == ("input_bound", stage)
    assert ("Where it computes in Python" in advice.fix.words) == (cpu_pct is None)


def test_calls_in_parallel_win_no_more_than_the_cores_can_take_of_the_work() -> None:
    """Of 8 ms of waiting in steps of 10 ms two cores leave half of what the map computes."""
    drawn = pipeline("BatchV2", "Map", op="adjust:AdjustHue", op_us=7_000)
    alone, waits = top(sampled(drawn, 100)), top(sampled(drawn, 25))
    assert (alone.stage, waits.stage) == ("no_parallel_map", "no_parallel_map")
    assert alone.gain_ratio == pytest.approx(1 - 0.9 / 2, abs=0.06)
    assert waits.gain_ratio == pytest.approx(0.8, abs=0.03)


def test_one_thread_for_a_parallel_map_is_told_where_there_are_more_cores() -> None:
    for cores, stage in ((8, "few_threads"), (1, "slow_map")):
        stats = {"Root": {"threadpool_size": 1, "cpu_budget": cores}}
        assert top(pipeline("ParallelMapV2", stats=stats)).stage == stage  # type: ignore[arg-type]


def epochs(*stages: str, n_from_cache: int = 0) -> Analysis:
    """Two epochs of three steps that wait for some stages; the last ones are not called in the second epoch."""
    events = []
    for i in range(6):
        at, second = 10_000.0 * i, i // 3
        events += [event("train", at, 10_000, _r=1, step_num=i), event("IteratorGetNext:IteratorGetNext", at, 8_000)]
        events.append(call(ROOT, at, 8_000, 10 * second + 1))
        for k in range(len(stages) - second * n_from_cache):
            name = "::".join((ROOT, *stages[: k + 1]))
            ids = 10 * second + k + 2, 10 * second + k + 1
            events.append(call(name, at + 2 * k + 1, 7_998 - 4 * k, *ids))
        events.append(event("net/conv/Conv2D:Conv2D", at + 8_000, 1_990))
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=60_000)))


THROWN = "thrown away in each epoch"


def test_a_cache_that_is_thrown_away_is_the_cause_where_all_before_it_runs_again() -> None:
    advice = top(epochs("FiniteTake", "MemoryCache", "MemoryCacheImpl", "ParallelMapV2"))
    assert THROWN in advice.title
    assert ".take(n).cache() in place of .cache().take(n)" in advice.fix.words
    assert THROWN not in top(epochs("FiniteTake", "MemoryCache", "ParallelMapV2", n_from_cache=1)).title
    assert THROWN not in top(epochs("MemoryCache", "FiniteTake", "ParallelMapV2")).title


def test_what_hands_batches_to_a_device_is_no_generator_in_python(v100_xplane: Path) -> None:
    advice = Analysis(read_xspace(v100_xplane.read_bytes())).advice[0]
    assert (advice.rule, advice.stage) == ("input_bound", "of_device")
    assert "in Generator: it hands on what a pipeline of a host makes" in advice.title


KERAS = {"op": "EagerLocalExecute: __inference_multi_step_on_iterator_3", "op_us": 1.0}
ROWS = """\
class Rows(keras.utils.PyDataset):
    def __len__(self): return 30
    def __getitem__(self, i): return load(i)
"""


def written(results: Analysis, text: str, *graphs: str) -> Analysis:
    """The same of a program with that text, whose datasets have functions of these names."""
    empty = empty_source_map()
    files = pd.DataFrame([("/me/net.py", "net.py", True, text)], columns=list(empty.files.columns))
    functions = pd.DataFrame([(name, -1, 0, "") for name in graphs], columns=list(empty.functions.columns))
    return Analysis(results.trace, dataclasses.replace(empty, files=files, functions=functions))


def test_a_dataset_of_python_is_told_by_its_method_and_gets_workers() -> None:
    made = pipeline("FlatMap[0]::Generator", **KERAS)  # type: ignore[arg-type]
    advice = top(written(made, ROWS))
    assert advice.title.endswith(
        "Generator: Rows.__getitem__ (net.py:3) makes batches more slowly than they are trained on."
    )
    assert all(word in advice.fix.words for word in ("workers=4", "use_multiprocessing=True", "max_queue_size"))
    for other in (written(made, f"{ROWS}tf.data.Dataset.from_generator(rows)"), written(made, "fit(rows)"), made):
        assert top(other).stage == "generator"


def test_debug_mode_is_the_cause_of_calls_one_after_another() -> None:
    python = pipeline("BatchV2", "Map", op="EagerPyFunc:EagerPyFunc", op_us=7_000)
    advice = top(written(python, "import tensorflow as tf\ntf.data.experimental.enable_debug_mode()\n"))
    assert "tf.data's debug mode (net.py:2)" in advice.title
    assert "num_parallel_calls" not in str(advice.fix)


def test_arrays_have_no_function_of_the_users_to_make_cheaper() -> None:
    arrays = written(pipeline("ParallelMapV2", **KERAS), "fit(x, y)", "Dataset_map_grab_batch")  # type: ignore[arg-type]
    assert top(arrays).title.endswith("Keras cuts each batch out of the arrays.")


@pytest.mark.parametrize(("each_us", "is_told"), [((500, 4_500, 500, 500), True), ((1_500,) * 4, False)])
def test_one_slow_file_of_several_is_told(each_us: tuple[int, ...], *, is_told: bool) -> None:
    events = []
    for i in range(6):
        at = 10_000.0 * i
        events += [event("train", at, 10_000, _r=1, step_num=i), event("IteratorGetNext:IteratorGetNext", at, 8_000)]
        events += [call(ROOT, at, 8_000, 1), call(f"{ROOT}::Interleave", at + 1, 7_000, 2, 1)]
        for k, us in enumerate(each_us):
            events.append(call(f"{ROOT}::Interleave[{k}]::Map", at + 10 + sum(each_us[:k]), us, 3 + k, 2))
        events.append(event("net/conv/Conv2D:Conv2D", at + 8_000, 1_990))
    advice = top(Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=60_000))))
    assert (", 75 % of it in one of the 4 inputs that are read at a time" in advice.title) is is_told
