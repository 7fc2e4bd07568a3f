"""tf.data iterator calls drawn by hand -> pipelines, critical path and bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, U, event, line, plane, session, space, trace
from tests.unit.analysis.input.iterator_drawings import (
    ROOT,
    bottleneck,
    by_name,
    call,
    chained,
    compute,
    host,
    prefetched,
    serial,
    stage,
)
from tests.unit.analysis.input.tf_data_runs import N_BATCHES
from tests.unit.analysis.parity.vector_traces import input_categories as input_categories_vector
from tfprof_widgets.analysis import (
    Analysis,
    InputPipeline,
    aggregate_ops,
    compute_input_pipeline,
    compute_steps,
    compute_tf_data,
    input_category,
    op_occurrences,
)
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces


def test_only_the_part_for_which_the_consumer_waits_counts_as_waiting() -> None:
    consumers, producers = zip(*(prefetched(t + 50, 40, t, 82, k) for k, t in enumerate((0, 200))), strict=True)
    data = compute(chained(consumers), chained(producers))
    # The map runs from 201 to 281, the consumer's prefetch waits from 251 on.
    assert by_name(data).loc[f"{ROOT}::Prefetch::Map", "wait_time_ms"] == pytest.approx((281 - 251) / 1e3)


def test_the_first_call_of_an_epoch_does_not_hide_what_holds_up_the_others() -> None:
    start = [call(ROOT, 0, 1000, 1), call(f"{ROOT}::Shuffle", 1, 990, 2, 1), call(f"{ROOT}::Shuffle::Map", 2, 10, 3, 2)]
    rest = []
    for k in range(1, 5):
        t = 2000 * k
        rest += [
            call(ROOT, t, 100, 1),
            call(f"{ROOT}::Shuffle", t + 1, 98, 2, 1),
            call(f"{ROOT}::Shuffle::Map", t + 2, 90, 3, 2),
        ]
    data = compute(start + rest)
    assert bottleneck(data) == f"{ROOT}::Shuffle::Map"
    row = data.pipelines.iloc[0]
    assert row["startup_time_ms"] == pytest.approx(1.0)
    assert row["steady_latency_us"] == pytest.approx(100)
    assert row["n_calls"] == 5
    assert row["max_latency_us"] == 1000
    assert "400 µs in 4 calls" in row["summary"]
    assert data.slowest_calls["bottleneck"].tolist() == ["Shuffle"]  # XProf looks at the slowest call alone


def test_training_and_evaluation_are_two_pipelines_by_their_steps() -> None:
    def step(name: str, t: float, id_: int) -> list[Event]:
        return [event(name, t, 90, _r=1, step_num=1), *[call(ROOT, t + 1, 50, id_)]]

    data = compute(step("train", 0, 1) + step("test", 100, 2) + step("train", 200, 3))
    assert data.pipelines["n_calls"].tolist() == [2, 1]


def test_an_id_that_the_next_epoch_uses_again_does_not_mix_two_pipelines() -> None:
    """An id is a hash of an address, and the iterators of an evaluation are often made where those of training were."""
    chain = (f"{ROOT}::Prefetch", f"{ROOT}::Prefetch::Range")

    def epoch(t: float, root: int, shapes: str) -> list[Event]:
        calls = []
        for at in (t, t + 100):
            calls += [call(ROOT, at, 90, root, shapes=shapes)]
            calls += [call(chain[0], at + 1, 80, 7, root), call(chain[1], at + 2, 70, 8, 7)]
        return [event("MakeIterator::RootDataset", t - 10, 5), *calls]

    data = compute(epoch(100, 1, "[32]"), epoch(1000, 2, "[64]"), epoch(2000, 1, "[32]"))
    assert data.iterators["long_name"].tolist() == [ROOT, *chain, ROOT, *chain]
    assert data.iterators["calls"].tolist() == [4, 4, 4, 2, 2, 2]
    assert data.pipelines["startup_time_ms"].tolist() == pytest.approx([0.18, 0.09])


def test_ids_mean_the_same_thing_only_within_a_session() -> None:
    def window(start_us: int, events: list[Event]) -> Any:
        return trace(session(start_ns=EPOCH_NS + 1000 * start_us, duration_us=500), host(events))

    first = window(0, [call(ROOT, 0, 100, 1), call(f"{ROOT}::Map", 1, 50, 2, 1)])
    second = window(1000, [call(ROOT, 0, 100, 2), call(f"{ROOT}::Map", 1, 50, 1, 2)])
    data = compute_tf_data(merge_traces([first, second]))
    assert data.iterators["long_name"].tolist() == [ROOT, f"{ROOT}::Map"]
    assert data.iterators["calls"].tolist() == [2, 2]


def test_the_inputs_of_an_interleave_are_one_node_and_those_of_a_zip_are_not() -> None:
    events = [call(ROOT, 0, 1000, 1), call(f"{ROOT}::Interleave", 1, 900, 2, 1)]
    events += [call(f"{ROOT}::Interleave[{k}]::TFRecord", 10 + 20 * k, 10, 10 + k, 2) for k in range(5)]
    events += [call(ROOT, 2000, 1000, 1), call(f"{ROOT}::Zip", 2001, 900, 3, 1)]
    events += [call(f"{ROOT}::Zip[{k}]::Range", 2010 + 20 * k, 10, 20 + k, 3) for k in range(2)]
    table = by_name(compute(events))
    merged = table.loc[f"{ROOT}::Interleave[*]::TFRecord"]
    assert merged["n_iterators"] == 5
    assert merged["event_names"] == tuple(f"{ROOT}::Interleave[{k}]::TFRecord" for k in range(5))
    assert {f"{ROOT}::Zip[0]::Range", f"{ROOT}::Zip[1]::Range"} <= set(table.index)


def test_children_that_run_in_parallel_are_not_subtracted_twice() -> None:
    consumer = [
        call(ROOT, 0, 100, 1),
        call(f"{ROOT}::MapAndBatch", 0, 100, 2, 1),
        stage("MapAndBatchConsume", 90, 1, 7),
    ]
    workers = [
        [stage("MapAndBatchProduce", 10, 50, 7), call(f"{ROOT}::MapAndBatch::Range", 10, 50, 3, 2)],
        [stage("MapAndBatchProduce", 20, 50, 7), call(f"{ROOT}::MapAndBatch::Range", 20, 50, 3, 2)],
        [stage("MapAndBatchProduce", 30, 50, 7), call(f"{ROOT}::MapAndBatch::Range", 30, 50, 3, 2)],
    ]
    data = compute(consumer, *workers)
    assert by_name(data).loc[f"{ROOT}::MapAndBatch", "self_time_ms"] == pytest.approx(0.030)  # 100 - [10, 80)
    # XProf subtracts 3 x 50 and gets -50: then the range is the only one with a self time.
    assert data.slowest_calls["bottleneck"].tolist() == ["Range"]
    assert data.slowest_calls["self_time_us"].tolist() == [150]


def test_every_input_of_a_parallel_batch_counts_though_xprof_takes_the_first() -> None:
    consumer = [
        call(ROOT, 0, 100, 1),
        call(f"{ROOT}::ParallelBatch", 0, 100, 2, 1),
        stage("ParallelBatchConsume", 99, 1, 7),
    ]
    worker = [stage("ParallelBatchProduce", 0, 100, 7)]
    worker += [call(f"{ROOT}::ParallelBatch::Map", 20 * k, 20, 3, 2) for k in range(4)]
    data = compute(consumer, worker)
    assert bottleneck(data) == f"{ROOT}::ParallelBatch::Map"
    assert data.slowest_calls["bottleneck"].tolist() == ["ParallelBatch"]
    assert data.slowest_calls["self_time_us"].tolist() == [80]


def test_ids_beyond_int64_are_matched_by_their_bits() -> None:
    big = 2**64 - 5
    first = event(f"{ROOT}::Prefetch", 1, 8, stats={"id": U(big), "parent_id": 1})
    child = event(f"{ROOT}::Prefetch::Range", 2, 3, stats={"id": 4, "parent_id": U(big)})
    assert compute([call(ROOT, 0, 10, 1), first, child]).iterators["parent_id"].tolist() == [-1, 0, 1]


def test_a_device_pipeline_is_named_apart_and_not_the_first_answer() -> None:
    device = [call("Iterator::Prefetch", 0, 900, 1), stage("PrefetchConsume", 800, 1, 0)]
    feeder = [stage("PrefetchProduce", 0, 700, 0), call("Iterator::Prefetch::Generator", 1, 690, 2, 1)]
    fast = [call(ROOT, 1000, 100, 8), call(f"{ROOT}::Map", 1001, 80, 9, 8)]
    data = compute(device, feeder, fast)
    assert data.pipelines["name"].tolist() == ["Device:0", "Host:0"]
    assert data.pipelines["is_device"].tolist() == [True, False]
    assert bottleneck(data) == f"{ROOT}::Map"
    assert data.slowest_calls["pipeline"].tolist() == ["Host:0"]


def test_calls_whose_root_was_never_seen_are_shown_all_the_same() -> None:
    data = compute([call(f"{ROOT}::Prefetch::Map", 0, 10, 3, 2), call(f"{ROOT}::Prefetch::Map", 20, 10, 3, 2)])
    assert data.iterators["calls"].tolist() == [2]
    assert data.pipelines["n_calls"].tolist() == [0]
    assert data.bottleneck == -1
    assert "capture more steps" in data.pipelines["summary"].iloc[0]
    assert "capture more steps" in data.summary


def test_ids_that_form_a_ring_end_and_lose_no_call() -> None:
    data = compute([call("Iterator::A::B", 0, 10, 1, 2), call("Iterator::A::C", 20, 10, 2, 1)])
    assert data.iterators["calls"].sum() == 2


def test_an_iterator_made_on_one_host_begins_no_epoch_on_another() -> None:
    def of_host(name: str, made_at_us: float, *calls_at_us: float) -> Trace:
        calls = [event("Iterator::Root", at_us, 5, id=1) for at_us in calls_at_us]
        main = line("main", event("MakeIterator::RootDataset", made_at_us, 1), *calls)
        return read_xspace(space(session(), plane("/host:CPU", main)), host=name)

    data = compute_tf_data(merge_traces([of_host("a", 0, 10, 30), of_host("b", 20, 25, 40)]))
    assert data.pipelines["host"].tolist() == ["a", "b"]
    assert data.pipelines["startup_time_ms"].tolist() == [0.005, 0.005]
    assert data.iterators["n_iterators"].tolist() == [1, 1]
    assert data.calls["is_startup"].tolist() == [True, False] * 2


def test_an_execution_that_is_not_there_is_told_how_many_there_are() -> None:
    data = compute(serial(0, 100, 80))
    with pytest.raises(ValueError, match="pipeline 3 is not a row of `pipelines`, which has 1"):
        data.executions(3)
    with pytest.raises(ValueError, match="rank 1 is not one of the 1 executions"):
        data.execution(0, rank=1)


def shuffled(at_us: float, n_fetched: int, each_us: float) -> list[Event]:
    """A call of Root -> Shuffle that fetches some elements of a map."""
    us = n_fetched * each_us + 2
    calls = [call(ROOT, at_us, us + 2, 1), call(f"{ROOT}::Shuffle", at_us + 1, us, 2, 1, buffer_size=100)]
    return calls + [call(f"{ROOT}::Shuffle::Map", at_us + 2 + k * each_us, each_us, 3, 2) for k in range(n_fetched)]


def test_a_shuffle_whose_filling_takes_most_of_the_time_is_the_bottleneck() -> None:
    data = compute(shuffled(0, 100, 10), *[shuffled(2000 + 100 * k, 1, 10) for k in range(5)])
    row = data.pipelines.iloc[0]
    assert bottleneck(data) == f"{ROOT}::Shuffle"
    assert row["fill_time_ms"] == row["bottleneck_time_ms"] == pytest.approx(1.002)
    assert row["summary"].startswith("Shuffle fills its buffer before the first batch: 1.00 ms of the 1.07 ms")


def busy_prefetch(n_batches: int) -> tuple[list[Event], list[Event]]:
    """A prefetch that takes as long as the batch after the one it hands over, as on a machine with too few processors."""
    consumer, producer = [], []
    for k in range(n_batches):
        t = 1000 * k
        consumer += [call(ROOT, t, 310, 1), call(f"{ROOT}::Prefetch", t + 1, 308, 2, 1)]
        consumer += [stage("PrefetchConsume", t + 2, 1, k)]
        if k == n_batches - 1:
            break
        producer += [stage("PrefetchProduce", t + 5, 300, k + 1), call(f"{ROOT}::Prefetch::Batch", t + 6, 298, 3, 2)]
        producer += [call(f"{ROOT}::Prefetch::Batch::Map", t + 7, 20, 4, 3)]
    return consumer, producer


def test_where_a_prefetch_waits_while_its_thread_works_the_work_is_the_bottleneck() -> None:
    data = compute(*busy_prefetch(5))
    row = data.pipelines.iloc[0]
    assert bottleneck(data) == f"{ROOT}::Prefetch::Batch"
    assert row["summary"].startswith("Batch kept the processor busy while the training waited in a prefetch: 1.23 ms")
    assert row["bottleneck_time_ms"] == pytest.approx(4 * 0.308)
    assert data.iterators["wait_time_ms"].tolist() == pytest.approx([4 * 0.002, 4 * 0.308, 0, 0])
    assert not data.iterators["on_critical_path"].iloc[data.bottleneck]


def test_the_call_that_finds_the_end_of_the_data_is_waited_for() -> None:
    consumers, producers = zip(*(prefetched(t, 100, t + 10, 80, k) for k, t in enumerate((0, 200))), strict=True)
    end = [call(ROOT, 400, 500, 1), call(f"{ROOT}::Prefetch", 401, 498, 2, 1)]
    found = [stage("PrefetchProduce", 390, 500, 2), call(f"{ROOT}::Prefetch::Map", 391, 498, 3, 2)]
    data = compute([*chained(consumers), *end], [*chained(producers), *found])
    assert bottleneck(data) == f"{ROOT}::Prefetch::Map"
    last = data.execution(0).set_index("name")
    assert last["wait_time_ms"].tolist() == pytest.approx([0.002, 0.010, 0.488])


def steps(step_ms: float, input_ms: float, other_ms: float = 0.0, n: int = 4) -> pd.DataFrame:
    return pd.DataFrame({"step_time_ms": [step_ms] * n, "input_ms": [input_ms] * n, "other_ms": [other_ms] * n})


def judge(frame: pd.DataFrame, *events: Any) -> InputPipeline:
    drawn = trace(plane("/host:CPU", line("main", *events)))
    return compute_input_pipeline(drawn, steps=frame, ops=aggregate_ops(op_occurrences(drawn)))


SLOW_MAP = (
    event("Iterator::Root", 0, 100, id=1),
    event("Iterator::Root::Map", 1, 90, id=2, parent_id=1),
    event("Iterator::Root", 200, 100, id=1),
    event("Iterator::Root::Map", 201, 90, id=2, parent_id=1),
)


@pytest.mark.parametrize(
    ("op_type", "name", "category"),
    [
        ("InfeedEnqueueTuple", "x", "Enqueue"),
        ("Enqueue", "stage", "Enqueue"),
        ("Dataset", "Iterator::Root::TFRecord", "Demanded file read"),
        ("Dataset", "Iterator::Root::Prefetch::TFRecord", "Advanced file read"),
        ("Dataset", "Iterator::Root::TFRecordV2", "Preprocessing"),
        ("unknown", "stage", "Unknown"),
        ("MatMul", "x", None),
        ("", "x", None),
    ],
)
def test_category_of_an_op(op_type: str, name: str, category: str | None) -> None:
    assert input_category(op_type, name) == category


@pytest.mark.parametrize(
    ("input_ms", "other_ms", "words"),
    [
        (2.0, 0.0, "Input-bound: the model waits 2.00 of 10.0 ms a step for data (20 %)."),
        (1.99, 0.0, "Moderately input-bound: the model waits 1.99 of 10.0 ms a step for data (20 %)."),
        (0.5, 0.0, "Moderately input-bound: the model waits 0.500 of 10.0 ms a step for data (5 %)."),
        (
            0.4,
            0.3,
            "Probably not input-bound: the model waits 0.400 of 10.0 ms a step for data (4 %); 3 % is not attributed",
        ),
        (0.4, 0.2, "Not input-bound: the model waits 0.400 of 10.0 ms a step for data (4 %)."),
    ],
)
def test_thresholds_of_the_verdict(input_ms: float, other_ms: float, words: str) -> None:
    assert judge(steps(10.0, input_ms, other_ms)).verdict.startswith(words)


def test_without_steps_the_verdict_says_so_and_tells_what_tf_data_did() -> None:
    result = judge(steps(1, 1, n=0), *SLOW_MAP)
    assert result.verdict.startswith("No step was measured")
    assert "Map accounts for" in result.verdict
    assert result.input_ratio != result.input_ratio


def computing_stage(drawn: Trace) -> InputPipeline:
    ops = aggregate_ops(op_occurrences(drawn))
    return compute_input_pipeline(drawn, steps=compute_steps(drawn).frame, ops=ops)


def test_a_category_is_all_its_time() -> None:
    result = computing_stage(read_xspace(input_categories_vector()))
    assert result.categories["time_ms"].iloc[0] == pytest.approx(0.02)


def test_a_shuffle_that_fills_outside_the_averaged_steps_is_told_all_the_same() -> None:
    fill = [event("Iterator::Root", 0, 5000, id=1), event("Iterator::Root::Shuffle", 1, 4998, id=2, parent_id=1)]
    fill += [event("Iterator::Root::Shuffle::Map", 10 + 400 * k, 400, id=3, parent_id=2) for k in range(12)]
    frame = steps(10.0, 0.0).assign(is_averaged=[False, True, True, True])
    result = judge(frame, *fill)
    assert result.verdict.startswith("Not input-bound")
    assert "Shuffle fills its buffer before the first batch: 5.00 ms" in result.verdict


PLANTED = {
    # kind: the iterator planted as slow
    "slow_read": "TFRecord",
    "slow_map": "MapAndBatch",
    "slow_map_after_parallel": "MapAndBatch",
    "slow_batch": "BatchV2",
    "slow_filter": "Filter",
    "slow_shuffle_fill": "Shuffle",
    "slow_generator": "Generator",
}


@pytest.fixture(scope="module")
def pipeline_of(tf_data_captures: dict[str, Path]) -> Callable[[str], InputPipeline]:
    return lambda kind: Analysis(read_xspace(tf_data_captures[kind].read_bytes())).input_pipeline


@pytest.mark.tensorflow
@pytest.mark.parametrize("kind", PLANTED)
def test_the_planted_bottleneck_is_the_reported_one(kind: str, pipeline_of: Callable[[str], InputPipeline]) -> None:
    pipeline = pipeline_of(kind)
    assert pipeline.bottleneck.rsplit("::", 1)[-1] == PLANTED[kind]
    assert pipeline.is_input_bound
    assert len(pipeline.executions(0)) == pipeline.pipelines["n_calls"].iloc[0] == N_BATCHES + 1


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("kind", "parent"),
    [("interleave", "Interleave"), ("interleave_parallel", "ParallelInterleave"), ("flat_map", "FlatMap")],
)
def test_a_slow_map_inside_nested_datasets_is_found(
    kind: str, parent: str, pipeline_of: Callable[[str], InputPipeline]
) -> None:
    data = pipeline_of(kind).tf_data
    row = data.iterators.iloc[data.bottleneck]
    assert row["name"] == "Map"
    assert row["n_iterators"] > 1
    assert data.iterators["name"].iloc[row["parent_id"]].startswith(parent)
    assert len(data.iterators) == 7


@pytest.mark.tensorflow
def test_zip_and_concatenate_keep_their_inputs_apart(pipeline_of: Callable[[str], InputPipeline]) -> None:
    names = pipeline_of("zip_concatenate").tf_data.iterators["name"].value_counts()
    assert (names["Zip"], names["Concatenate"], names["Map"], names["Range"]) == (1, 2, 2, 4)
