"""What is told of two drawn runs: nothing of equal ones, what was planted of others, and how sure it is."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest

from tests.unit.analysis.comparison.drawn_runs import MODEL, Run, diff_of, with_times
from tfprof_widgets.analysis import UNCHANGED, RunDiff, verdict_of

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
