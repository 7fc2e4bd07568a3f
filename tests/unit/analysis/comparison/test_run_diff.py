"""Two runs: which rows are the same, what changed between them, and what noise may hide."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from tests.builders import event, line, plane, session, trace
from tests.unit.analysis.comparison.drawn_runs import MODEL, Run, diff_of, with_times
from tests.unit.analysis.input.iterator_drawings import ROOT, call
from tfprof_widgets.analysis import (
    BUSY_MACHINE,
    FEWEST_ROWS,
    MAX_DEPTH,
    MAX_SIBLINGS,
    UNCHANGED,
    Analysis,
    CommonChange,
    Quantities,
    RunDiff,
    StepEffect,
    compare_steps,
    numbered,
    pair_lines,
    pair_names,
    pair_stages,
    samples_per_step,
    step_effect,
    two_sided,
    verdict_of,
)

TABLES = ("categories", "ops", "layers", "source_lines", "kernels", "iterators", "memory")
RICH = Run(rare={"model/save/Save": 300.0}, input_us=200, kernels={"gemm": 60.0})


def states(frame: pd.DataFrame, key: str) -> dict[str, str]:
    return dict(zip(frame[key], frame["state"], strict=True))


def changed(diff: RunDiff) -> list[str]:
    return [table for table in TABLES if not getattr(diff, table)["state"].isin(UNCHANGED).all()]


@pytest.mark.parametrize("run", [RICH, Run(n_steps=3), Run(n_steps=1), Run(has_steps=False), Run(n_steps=0)])
def test_a_run_does_not_differ_from_itself(run: Run) -> None:
    results = run.results()
    diff = RunDiff(results, results)
    assert changed(diff) == []
    for table in TABLES:
        frame = getattr(diff, table)
        change = frame["change" if table == "memory" else "change_ms"]
        assert (change == 0).all()
        assert frame["ratio"].dropna().eq(1).all()
    assert (diff.summary["change"].fillna(0) == 0).all()
    assert not diff.summary["is_beyond_noise"].any()


@pytest.mark.parametrize(
    "prefix", ["StatefulPartitionedCall/", "PartitionedCall_2/replica_1/", "StatefulPartitionedCall/cond/then/_7/cond/"]
)
def test_an_op_is_the_same_one_in_a_function_that_the_other_run_does_not_call(prefix: str) -> None:
    called = {f"{prefix}{name}": us for name, us in MODEL.items()}
    for diff in (diff_of(Run(seed=1), Run(seed=2, ops=called)), diff_of(Run(seed=1, ops=called), Run(seed=2))):
        assert set(diff.ops["state"]) == {"same"}
        assert len(diff.ops) == len(MODEL)


def test_a_slower_layer_is_named() -> None:
    diff = diff_of(Run(seed=1), Run(seed=2, ops=with_times({"dense_1": 1.25})))
    assert states(diff.layers, "layer") == {
        f"model/{name}": "slower" if name == "dense_1" else "same"
        for name in ("conv2d", "conv2d_1", "dense", "dense_1", "dense_2")
    }
    assert diff.layers["layer"].iloc[0] == "model/dense_1"
    assert diff.layers["ratio"].iloc[0] == pytest.approx(1.25, rel=0.05)
    assert set(states(diff.ops, "name").items()) >= {("model/dense_1/MatMul", "slower"), ("model/dense/MatMul", "same")}
    assert "model/dense_1 is slower (+" in verdict_of(diff)
    other = diff_of(Run(seed=2, ops=with_times({"dense_1": 1.25})), Run(seed=1))
    assert states(other.layers, "layer")["model/dense_1"] == "faster"
    assert "but model/dense_1 is faster (−" in verdict_of(other)  # 6 % of a step, which runs of one program differ by


def test_an_added_and_a_removed_layer_show_as_such() -> None:
    ops = {name: us for name, us in MODEL.items() if "/conv2d/" not in name} | {"model/norm/Mean": 120.0}
    diff = diff_of(Run(seed=1), Run(seed=2, ops=ops))
    found = states(diff.layers, "layer")
    assert found["model/norm"] == "added"
    assert found["model/conv2d"] == "removed"
    assert sorted(found.values()).count("same") == 4
    added = diff.layers.set_index("layer").loc["model/norm"]
    assert added["a_ms"] == 0
    assert math.isnan(added["ratio"])
    assert added["a_name"] == ""


@pytest.mark.parametrize("speed", [1.25, 0.8])
def test_what_a_busy_machine_does_to_all_ops_alike_is_no_change(speed: float) -> None:
    diff = diff_of(Run(seed=1), Run(seed=2, speed=speed))
    assert changed(diff) == []
    step = diff.summary.set_index("metric").loc["step_time"]
    assert not step["is_beyond_noise"]
    assert abs(step["change"]) < step["noise"]
    said = verdict_of(diff)
    assert said.startswith("No change beyond noise: a step takes")
    assert said.endswith(f"Most ops are {'slower' if speed > 1 else 'faster'}, too: no single part is known.")


def test_a_step_whose_ops_all_take_twice_as_long_is_beyond_what_a_busy_machine_does() -> None:
    for a, b, word in ((1.0, 2.0, "slower"), (2.0, 1.0, "faster")):
        diff = diff_of(Run(seed=1, speed=a), Run(seed=2, speed=b))
        assert diff.step_times.is_beyond_noise
        assert re.match(rf"Steps of b are [\d.]+ times {word}: ", verdict_of(diff))
        assert "most ops are, too" in verdict_of(diff)


@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_a_callback_that_is_gone_is_named_by_the_time_between_the_ops(noise: float) -> None:
    diff = diff_of(Run(seed=1, gap_us=4_000, noise=noise), Run(seed=2, noise=noise))
    assert states(diff.categories, "category")["dispatch"] == "faster"
    fell = diff.categories.set_index("category").loc["dispatch"]
    assert fell["noise_ms"] < fell["a_ms"]
    assert "; the time of Python and dispatch, between the ops, fell from 4.03 to 0.030 ms a step." in verdict_of(diff)
    back = diff_of(Run(seed=2, noise=noise), Run(seed=1, gap_us=4_000, noise=noise))
    assert "; the time of Python and dispatch, between the ops, rose from 0.030 to 4.03 ms a step." in verdict_of(back)


def test_an_input_that_no_longer_keeps_up_is_named_once() -> None:
    diff = diff_of(Run(seed=1, wait_us=100, n_steps=40), Run(seed=2, wait_us=20_000, n_steps=40))
    assert states(diff.categories, "category")["input"] == "slower"
    assert re.search(r"; input time, waiting for data, rose from 0\.\d+ to 2\d\.\d ms a step\.$", verdict_of(diff))


def test_a_machine_that_is_busy_for_a_while_makes_no_wait_a_change() -> None:
    quiet = Run(seed=1, wait_us=200, n_steps=40)
    busy = Run(seed=2, wait_us=200, n_steps=40, busy=range(10, 26), busy_wait_us=3_000)
    assert busy_input(diff_of(quiet, busy)) > 0.3
    for a, b in ((quiet, busy), (busy, quiet)):
        diff = diff_of(a, b)
        assert changed(diff) == []
        assert not diff.step_times.is_beyond_noise


def busy_input(diff: RunDiff) -> float:
    """By how much the input time rises."""
    return float(diff.categories.set_index("category").loc["input", "change_ms"])


def test_what_freed_the_cores_is_named_before_the_ops_that_got_faster_by_it() -> None:
    layer = {"model/extra/MatMul": 1_500.0}
    diff = diff_of(Run(seed=1, ops=MODEL | layer), Run(seed=2, speed=0.6))
    said = verdict_of(diff)
    assert "; model/extra is gone (−1." in said
    assert said.endswith("Most ops are faster, too.")
    back = verdict_of(diff_of(Run(seed=2, speed=0.6), Run(seed=1, ops=MODEL | layer)))
    assert "; model/extra is new (+1." in back
    assert back.endswith("Most ops are slower, too.")


def test_the_load_of_other_processes_is_named_where_samples_tell_it() -> None:
    sides = []
    for run, cpu in ((Run(seed=1), 52.0), (Run(seed=2, speed=1.6), 98.0)):
        time_ms = np.arange(0.0, 2000.0, 10.0)
        columns = {"time_ms": time_ms, "cpu_pct": cpu, "process_cpu_pct": 100.0, "cpu0_pct": cpu, "cpu1_pct": cpu}
        results = run.results()
        sides.append(type(results)(results.trace, None, pd.DataFrame(columns)))
    diff = RunDiff(*sides)
    assert (
        "Other programs used 0.960 during b and 0.040 during a of 2 cores: run both again on a free machine"
        in verdict_of(diff)
    )
    assert not diff.step_times.is_beyond_noise
    assert "Other programs" not in verdict_of(RunDiff(*sides[::-1])) or diff.is_machine_busier


@pytest.mark.parametrize("which", ["a", "b", "both"])
def test_runs_without_steps_are_compared_as_wholes(which: str) -> None:
    diff = diff_of(Run(seed=1, has_steps=which == "b"), Run(seed=2, has_steps=which == "a"))
    assert not diff.is_per_step
    assert math.isnan(diff.step_times.ratio)
    assert diff.categories.empty
    assert set(diff.ops["state"]) == {"not sure"}
    whole = diff.ops.set_index("name").loc["model/dense/MatMul"]
    assert whole["a_count"] == 80
    assert whole["a_ms"] == pytest.approx(80 * 0.18, rel=0.2)
    assert ("Both runs have no steps" if which == "both" else f"Run {which} has no steps") in verdict_of(diff)


@pytest.mark.parametrize(
    ("alpha", "degrees", "bound"),
    [(0.05, 1, 12.7062), (0.05, 2, 4.30265), (0.05, 10, 2.22814), (0.001, 15, 4.07277), (0.05, 10_000, 1.9719)],
)
def test_quantiles_are_those_of_the_tables(alpha: float, degrees: int, bound: float) -> None:
    assert two_sided(alpha, degrees) == pytest.approx(bound, rel=1e-4)


@pytest.mark.parametrize("scale", [0.2, 0.7, 0.97, 1.0, 1.05, 1.6, 9.0])
def test_a_change_is_larger_than_its_noise_just_where_the_interval_leaves_out_1(scale: float) -> None:
    rng = np.random.default_rng(9)
    a, b = rng.uniform(5, 15, 60), scale * rng.uniform(5, 15, 60)
    found = compare_steps(a, b)
    assert (abs(found.b_ms - found.a_ms) > found.noise_ms) == found.is_beyond_noise
    if scale < 0.9:
        assert found.noise_ms < found.a_ms


def test_ops_that_are_all_slower_explain_slower_steps_but_no_faster_ones() -> None:
    rng = np.random.default_rng(10)
    a, b = 10 + 0.1 * rng.standard_normal(80), 12 + 0.1 * rng.standard_normal(80)
    assert compare_steps(a, b).is_beyond_noise
    explained = compare_steps(a, b, effect=StepEffect(ratio=1.2))
    assert not explained.is_beyond_noise
    assert explained.is_only_alike
    assert compare_steps(b, a, effect=StepEffect(ratio=1.2)) == compare_steps(b, a)
    assert not compare_steps(b, a, effect=StepEffect(ratio=1 / 1.2)).is_beyond_noise
    assert compare_steps(a, 2 * a, effect=StepEffect(ratio=2.0)).is_beyond_noise
    assert compare_steps(a, a * BUSY_MACHINE * 1.2, effect=StepEffect(ratio=9.0)).is_beyond_noise


def test_a_large_op_makes_steps_differ_by_more_than_many_small_ones() -> None:
    host, none = CommonChange(ratio=1.3, scatter=0.1, n_rows=FEWEST_ROWS), CommonChange()
    on_host = np.zeros(100, np.bool_)
    many = step_effect(host, none, np.ones(100), on_host, True)
    assert many.scatter == pytest.approx(0.01)
    assert many.ratio == 1.3
    assert step_effect(host, none, np.ones(100), on_host, False).ratio == 1
    assert step_effect(host, none, np.append(np.zeros(99), 1.0), on_host, True).scatter == pytest.approx(0.1)
    assert step_effect(none, none, np.ones(100), on_host, True) == StepEffect()
    assert step_effect(host, none, np.zeros(0), np.zeros(0, np.bool_), True).scatter == 0


@pytest.mark.parametrize(("n_a", "n_b"), [(0, 0), (0, 9), (9, 0), (1, 1), (5, 80)])
def test_few_steps_have_no_interval(n_a: int, n_b: int) -> None:
    found = compare_steps(np.ones(n_a), np.ones(n_b))
    assert not found.is_known
    assert not found.is_beyond_noise
    assert math.isnan(found.ratio) == (min(n_a, n_b) == 0)


Stage = tuple[str, int | None]
"""Name and batch size."""
PREFETCH: Stage = ("Prefetch", None)


def run(
    *stages: Stage,
    n_steps: int = 12,
    step_us: Sequence[float] = (1_000.0,),
    fetches: int = 1,
    other: Sequence[Stage] = (),
) -> Analysis:
    """Steps that fetch from a chain of iterators, the training's first; `other` ran once before them."""
    events, at = _fetch(other, 0.0, 100), 200.0
    for i in range(n_steps):
        us = step_us[i % len(step_us)]
        events.append(event("train", at, us, _r=1, step_num=i))
        for k in range(fetches):
            events += _fetch(stages, at + 20 * k, 1)
        events.append(event("net/dense/MatMul:MatMul", at + 20 * fetches, us - 20 * fetches))
        at += us
    return Analysis(trace(plane("/host:CPU", line("python", *events)), session(duration_us=at)))


def _fetch(stages: Sequence[Stage], at: float, id_: int) -> list[object]:
    if not stages:
        return []
    events = [call(ROOT, at, 18, id_)]
    for k, (_, size) in enumerate(stages):
        name = "::".join((ROOT, *(stage for stage, _ in stages[: k + 1])))
        stats = {} if size is None else {"batch_size": size}
        events.append(call(name, at + k + 1, 16 - 2 * k, id_ + k + 1, id_ + k, **stats))
    return events


@pytest.mark.parametrize(
    ("stages", "size"),
    [
        ([PREFETCH, ("BatchV2", 32), ("Map", None)], 32),
        ([("MapAndBatch", 16)], 16),
        ([("BatchV2", 2), ("Map", None), ("BatchV2", 4)], 8),
        ([("BatchV2", 32), ("Unbatch", None), ("BatchV2", 1000)], 32),
        ([PREFETCH, ("Unbatch", None), ("BatchV2", 1000)], math.nan),
        ([PREFETCH, ("FlatMap", None), ("BatchV2", 8)], math.nan),
        ([PREFETCH, ("Map", None)], math.nan),
        ([PREFETCH, ("BatchV2", -1)], math.nan),
    ],
)
def test_the_batch_is_what_the_last_batching_stage_makes(stages: list[Stage], size: float) -> None:
    assert samples_per_step(run(*stages)) == pytest.approx(size, nan_ok=True)


def test_the_pipeline_of_the_training_counts_not_one_that_ran_beside_it() -> None:
    assert samples_per_step(run(("BatchV2", 4), other=[("BatchV2", 500), ("Shuffle", None)])) == 4


def test_runs_with_other_batches_are_compared_by_sample() -> None:
    diff = RunDiff(run(("BatchV2", 2)), run(("BatchV2", 16), step_us=[2_000.0]))
    rows = diff.summary.set_index("metric")
    assert rows.loc["batch_size", ["a", "b", "ratio"]].tolist() == [2, 16, 8]
    assert rows.loc["samples_per_second", ["a", "b"]].tolist() == pytest.approx([2_000, 8_000])
    assert rows.loc["time_per_sample_us", ["a", "b", "ratio"]].tolist() == pytest.approx([500, 125, 0.25])
    assert rows.loc["time_per_sample_us", "is_beyond_noise"]
    assert diff.samples.interval == pytest.approx((0.25 / 1.1, 0.25 * 1.1))
    assert verdict_of(diff) == (
        "What differs in b: batches of 16 samples, of 2 in a. Samples of b are 4.00 times faster: a sample takes 125 µs in "
        "b, with 16 a step, and 500 µs in a, with 2 (95 % interval 3.64 to 4.40)."
    )


def test_a_step_that_stalls_costs_samples_though_the_median_knows_nothing_of_it() -> None:
    stalls = run(("BatchV2", 4), step_us=[1_000, 1_000, 1_000, 5_000])
    diff = RunDiff(stalls, run(("BatchV2", 4)))
    assert diff.step_times.ratio == 1
    assert diff.samples.ratio == pytest.approx(0.5)


def test_few_steps_tell_no_noise_of_a_sample() -> None:
    diff = RunDiff(run(("BatchV2", 2), n_steps=3), run(("BatchV2", 4), n_steps=3))
    assert verdict_of(diff).startswith("What differs in b: batches of 4 samples, of 2 in a. Too few steps to judge: ")
    assert diff.samples.ratio == pytest.approx(0.5)


def paired(a: list[str], b: list[str], cost_a: list[float] | None = None, cost_b: list[float] | None = None) -> dict:
    paths = [tuple(name.split("/")) for name in a], [tuple(name.split("/")) for name in b]
    costs = np.array(cost_a or [1.0] * len(a)), np.array(cost_b or [1.0] * len(b))
    return {a[i]: b[k] for i, k in enumerate(pair_names(*paths, *costs).tolist()) if k >= 0}


def test_a_model_built_again_has_the_same_ops_under_other_numbers() -> None:
    a = ["f/dense/MatMul", "f/dense_1/MatMul", "f/dense_1/MatMul_1", "f/dense_2/MatMul"]
    b = ["f_1/dense_3/MatMul", "f_1/dense_4/MatMul", "f_1/dense_4/MatMul_1", "f_1/dense_5/MatMul"]
    assert paired(a, b) == dict(zip(a, b, strict=True))


def test_functions_traced_again_are_the_same() -> None:
    a, b = ["__inference_train_12/x", "__inference_train_99/y"], ["__inference_train_30/x", "__inference_train_31/y"]
    assert paired(a, b) == dict(zip(a, b, strict=True))


@pytest.mark.parametrize("is_swapped", [False, True])
def test_of_renumbered_layers_the_one_too_many_is_the_one_that_costs_otherwise(is_swapped: bool) -> None:
    a, b = ["dense/M", "dense_1/M", "dense_2/M"], ["dense_3/M", "dense_4/M", "dense_5/M", "dense_6/M"]
    costs = [10.0, 3.0, 1.0], [11.0, 40.0, 2.9, 1.1]
    expected = {"dense/M": "dense_3/M", "dense_1/M": "dense_5/M", "dense_2/M": "dense_6/M"}
    if is_swapped:
        assert paired(b, a, costs[1], costs[0]) == {there: here for here, there in expected.items()}
    else:
        assert paired(a, b, *costs) == expected


def test_very_deep_and_very_many_names_are_paired() -> None:
    deep = "/".join(["a"] * (MAX_DEPTH * 3))
    assert paired([deep, "x"], [deep, "y"]) == {deep: deep}
    many = [f"op_{i}" for i in range(MAX_SIBLINGS + 50)]
    assert paired(many, [*many[1:], "op_9999"]) == {name: name for name in many[1:]}


Row = tuple[str, int, str, str, str]


def rows(*lines: Row) -> Quantities:
    labels = pd.DataFrame(lines, columns=["file", "line", "function", "code", "bucket"]).assign(device="Host")
    return Quantities.of(labels, [(str(i),) for i in range(len(lines))], np.ones((len(lines), 4)))


def paired_of_lines(a: Quantities, b: Quantities) -> list[int]:
    return pair_lines(a, b).tolist()


def test_a_line_of_a_cell_that_ran_again_is_found() -> None:
    a = rows(("/tmp/ipykernel_1/1.py", 2, "f", "y = relu(x)", ""), ("/tmp/ipykernel_1/1.py", 3, "f", "z = y + 1", ""))
    b = rows(("/tmp/ipykernel_1/2.py", 4, "f", "y = relu(x)", ""), ("/tmp/ipykernel_1/2.py", 5, "f", "z = y + 2", ""))
    assert paired_of_lines(a, b) == [0, -1]


def test_an_edited_line_is_found_by_its_place() -> None:
    assert paired_of_lines(rows(("m.py", 3, "f", "x = a @ b", "")), rows(("m.py", 3, "f", "x = a @ c", ""))) == [0]


def test_equal_texts_in_several_places_are_not_guessed() -> None:
    a = rows(("m.py", 3, "f", "x = x + 1", ""))
    b = rows(("m.py", 5, "f", "x = x + 1", ""), ("m.py", 7, "f", "x = x + 1", ""))
    assert paired_of_lines(a, b) == [-1]


INPUT = ["Root::Map", "Root", "Root::Map::Shuffle", "Root::Map::Shuffle::TensorSlice"]


def rows_of_stages(*names: str) -> Quantities:
    labels = pd.DataFrame({"long_name": [f"Iterator::{name}" for name in names]})
    return Quantities.of(labels, numbered([tuple(name.split("::")) for name in names]), np.ones((len(names), 4)))


def paired_of_stages(a: list[str], b: list[str]) -> dict[str, str]:
    found = pair_stages(rows_of_stages(*a), rows_of_stages(*b), "long_name").tolist()
    return {one: b[row] for one, row in zip(a, found, strict=True) if row >= 0}


@pytest.mark.parametrize("stage", ["Prefetch", "BatchV2::MemoryCache"])
def test_a_stage_that_is_new_leaves_those_below_it_what_they_are(stage: str) -> None:
    more = [name.replace("Root::", f"Root::{stage}::") for name in INPUT] + [f"Root::{stage}"]
    changed = dict(zip(INPUT, more, strict=False))
    assert paired_of_stages(INPUT, more) == changed
    assert paired_of_stages(more, INPUT) == {new: old for old, new in changed.items()}


def test_a_stage_is_the_same_in_another_version_and_below_each_of_several_equal_ones() -> None:
    a = ["Root", "Root::BatchV1", "Root::BatchV1::Prefetch", "Root::BatchV1::Prefetch::MapV2"]
    b = ["Root", "Root::Prefetch", "Root::Prefetch::BatchV2", "Root::Prefetch::BatchV2::Prefetch"]
    b.append("Root::Prefetch::BatchV2::Prefetch::MapV2")
    assert paired_of_stages(a, b) == {"Root": "Root", a[1]: b[2], a[2]: b[3], a[3]: b[4]}


def test_what_is_another_stage_or_of_another_kind_is_no_pair() -> None:
    assert paired_of_stages(["Root", "Root::Map"], ["Root", "Root::Filter"]) == {"Root": "Root"}
    ops = [pd.DataFrame({"name": names}) for names in (["model/Map"], ["other/Map"])]
    a, b = (Quantities.of(labels, [(labels["name"].iloc[0],)], np.ones((1, 4))) for labels in ops)
    assert pair_stages(a, b, "name").tolist() == [-1]
