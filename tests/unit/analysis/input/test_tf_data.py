"""tf.data iterator calls drawn by hand -> pipelines, critical path and bottleneck."""

from __future__ import annotations

from typing import Any

import numpy as np
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
from tfprof_widgets.analysis import COPIES_US, Place, compute_tf_data, suggest
from tfprof_widgets.read import read_xspace
from tfprof_widgets.trace import Trace, merge_traces


def test_no_iterators_give_empty_frames_with_columns() -> None:
    data = compute([event("foo:MatMul", 0, 1)])
    assert data.is_empty
    assert data.bottleneck == -1
    assert "suggestion" in data.pipelines
    assert "is_bottleneck" in data.iterators
    assert "is_blocking" in data.calls
    assert compute_tf_data(trace(host())).is_empty


def test_self_time_is_without_the_calls_on_the_same_thread() -> None:
    data = compute(serial(0, 100, 80) + serial(200, 60, 50))
    table = by_name(data)
    assert table["total_time_ms"].tolist() == pytest.approx([0.160, 0.130])
    assert table["self_time_ms"].tolist() == pytest.approx([0.030, 0.130])
    assert table["calls"].tolist() == [2, 2]
    assert table["parent_id"].tolist() == [-1, 0]
    assert table["on_critical_path"].all()
    assert bottleneck(data) == f"{ROOT}::Map"


def test_an_element_made_while_its_consumer_waits_is_on_the_critical_path() -> None:
    consumers, producers = zip(*(prefetched(t, 100, t + 10, 80, k) for k, t in enumerate((0, 200, 400))), strict=True)
    data = compute(chained(consumers), chained(producers))
    table = by_name(data)
    assert table.loc[f"{ROOT}::Prefetch::Map", "parent_id"] == 1
    assert table["on_critical_path"].all()
    assert bottleneck(data) == f"{ROOT}::Prefetch::Map"
    assert table.loc[f"{ROOT}::Prefetch", "self_time_ms"] == pytest.approx(3 * (98 - 78) / 1e3)
    assert data.calls["is_blocking"].all()
    # Of what the root calls that count took, every nanosecond is somebody's: 200 us in all.
    assert table["wait_time_ms"].sum() == pytest.approx(0.2)


def test_an_element_made_ahead_blocks_nobody() -> None:
    consumers, producers = zip(*(prefetched(t + 100, 60, t, 90, k) for k, t in enumerate((0, 200, 400))), strict=True)
    data = compute(chained(consumers), chained(producers))
    table = by_name(data)
    assert not table.loc[f"{ROOT}::Prefetch::Map", "on_critical_path"]
    assert bottleneck(data) == f"{ROOT}::Prefetch"
    assert table.loc[f"{ROOT}::Prefetch::Map", "wait_time_ms"] == 0
    assert table.loc[f"{ROOT}::Prefetch", "self_time_ms"] == pytest.approx(3 * 58 / 1e3)


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


def test_where_there_are_only_first_calls_they_count() -> None:
    data = compute(serial(0, 100, 80))
    assert bottleneck(data) == f"{ROOT}::Map"
    assert data.pipelines["startup_time_ms"].tolist() == [0.0]


def test_epochs_are_one_pipeline() -> None:
    events = []
    for epoch in range(3):
        t, a, b = 1000 * epoch, 10 * epoch + 1, 10 * epoch + 2
        events += [call(ROOT, t, 100, a), call(f"{ROOT}::Map", t + 1, 50, b, a)]
        events += [call(ROOT, t + 200, 100, a), call(f"{ROOT}::Map", t + 201, 50, b, a)]
    data = compute(events)
    assert data.pipelines["name"].tolist() == ["Host:0"]
    assert data.iterators["n_iterators"].tolist() == [3, 3]
    assert data.iterators["calls"].tolist() == [6, 6]


def test_pipelines_in_use_at_the_same_time_are_two() -> None:
    events = [call(ROOT, 0, 10, 1), call(ROOT, 20, 10, 2), call(ROOT, 40, 10, 1), call(ROOT, 60, 10, 2)]
    assert compute(events).pipelines["n_calls"].tolist() == [2, 2]


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


def test_datasets_of_other_elements_are_other_pipelines() -> None:
    data = compute([call(ROOT, 0, 10, 1, shapes="[32]"), call(ROOT, 20, 10, 2, shapes="[64]")])
    assert len(data.pipelines) == 2


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


def test_repeated_element_ids_link_to_the_next_consumption() -> None:
    consumers, producers = zip(*(prefetched(t, 100, t + 10, 80, 0) for t in (0, 200, 400)), strict=True)
    data = compute(chained(consumers), chained(producers))
    assert by_name(data).loc[f"{ROOT}::Prefetch", "self_time_ms"] == pytest.approx(3 * 20 / 1e3)


def test_slow_calls_are_those_over_fifty_microseconds() -> None:
    data = compute([call(ROOT, 0, 50, 1), call(ROOT, 100, 50.001, 1), call(ROOT, 200, 10, 1)])
    row = data.pipelines.iloc[0]
    assert (row["n_slow_calls"], row["min_latency_us"], row["max_latency_us"]) == (1, 10, 50.001)
    assert row["avg_latency_us"] == pytest.approx(36.667, abs=1e-6)
    assert row["suggestion"] == ""


def test_a_slow_map_is_told_to_run_in_parallel() -> None:
    row = compute(serial(0, 100, 80) + serial(200, 100, 80)).pipelines.iloc[0]
    assert "Run more of them in parallel (num_parallel_calls=tf.data.AUTOTUNE)." in row["suggestion"]
    assert row["bottleneck_name"] == f"{ROOT}::Map"
    assert row["summary"] == "Map accounts for 80 % of the wait for data: 80.0 µs of 100 µs in 1 call."


def test_params_are_the_stats_of_the_last_call() -> None:
    data = compute([call(ROOT, 0, 1, 1, parallelism=1), call(ROOT, 5, 1, 1, parallelism=4, shapes="[2]")])
    assert data.iterators["params"].tolist() == [{"parallelism": 4, "shapes": "[2]"}]


def test_calls_tell_iterator_event_and_self_time() -> None:
    drawn = trace(host(serial(0, 100, 80)))
    calls = compute_tf_data(drawn).calls
    assert calls["iterator"].tolist() == [0, 1]
    assert [drawn.strings[drawn.name_id[k]] for k in calls["event"]] == [ROOT, f"{ROOT}::Map"]
    assert calls["self_ps"].tolist() == [20_000_000, 80_000_000]


def test_twenty_thousand_files_of_an_interleave_are_one_node() -> None:
    n = 20_000
    events = [call(ROOT, 0, 10 * n, 1), call(f"{ROOT}::Interleave", 0, 10 * n, 2, 1)]
    events += [call(f"{ROOT}::Interleave[{k % 16}]::TFRecord", 10 * k, 5, 10 + k, 2) for k in range(n)]
    data = compute(events)
    assert data.iterators["n_iterators"].tolist() == [1, 1, n]
    assert np.isclose(data.iterators["self_time_ms"].iloc[1], 5 * n / 1e3)


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


def test_executions_are_ranked_and_each_has_its_own_statistics() -> None:
    data = compute(serial(0, 100, 80) + serial(200, 300, 20) + serial(600, 40, 30))
    ranked = data.executions(0)
    assert ranked["rank"].tolist() == [0, 1, 2]
    assert ranked["latency_us"].tolist() == [300, 100, 40]
    assert ranked["start_ms"].tolist() == [0.2, 0.0, 0.6]
    assert ranked["is_slow"].tolist() == [True, True, False]
    assert ranked["is_startup"].tolist() == [False, True, False]
    assert ranked["bottleneck_name"].tolist() == [f"{ROOT}::Map"] * 3  # what wraps it does no work
    assert ranked["bottleneck_time_us"].tolist() == [20, 80, 30]
    second = data.execution(0, rank=1)
    assert list(second.columns) == list(data.iterators.columns)
    assert second["id"].tolist() == [0, 1]
    assert second["total_time_ms"].tolist() == pytest.approx([0.1, 0.08])
    assert second["self_time_ms"].tolist() == pytest.approx([0.02, 0.08])
    assert second["calls"].tolist() == [1, 1]
    assert second["is_bottleneck"].tolist() == [False, True]


def test_an_execution_counts_what_was_made_ahead_of_it_but_did_not_wait_for_it() -> None:
    consumers, producers = zip(*(prefetched(t + 100, 60, t, 90, k) for k, t in enumerate((0, 200))), strict=True)
    one = compute(chained(consumers), chained(producers)).execution(0).set_index("name")
    assert one["total_time_ms"].tolist() == pytest.approx([0.06, 0.058, 0.088])
    assert one["wait_time_ms"].tolist() == pytest.approx([0.002, 0.058, 0.0])
    assert one["on_critical_path"].tolist() == [True, True, False]


def test_an_execution_that_is_not_there_is_told_how_many_there_are() -> None:
    data = compute(serial(0, 100, 80))
    with pytest.raises(ValueError, match="pipeline 3 is not a row of `pipelines`, which has 1"):
        data.executions(3)
    with pytest.raises(ValueError, match="rank 1 is not one of the 1 executions"):
        data.execution(0, rank=1)


def test_a_pipeline_that_was_never_executed_has_no_executions() -> None:
    data = compute([call(f"{ROOT}::Prefetch::Map", 0, 10, 3, 2)])
    assert data.executions(0).empty


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
    assert "a smaller buffer is full sooner, but shuffles less" in row["suggestion"]


def test_a_shuffle_is_not_where_what_fills_it_keeps_on_holding_the_training_up() -> None:
    data = compute(shuffled(0, 50, 10), *[shuffled(2000 + 100 * k, 1, 60) for k in range(5)])
    row = data.pipelines.iloc[0]
    assert bottleneck(data) == f"{ROOT}::Shuffle::Map"
    assert row["fill_time_ms"] == pytest.approx(0.502)  # of 0.824
    assert row["summary"].startswith("Map accounts for")


def test_what_wraps_a_pipeline_is_never_its_bottleneck() -> None:
    data = compute(serial(0, 400, 300) + serial(600, 300, 20) + serial(1000, 300, 20))
    assert data.iterators["wait_time_ms"].tolist() == pytest.approx([0.56, 0.04])
    assert data.iterators["is_bottleneck"].tolist() == [False, True]
    assert data.pipelines["summary"].tolist() == [
        "Map accounts for 7 % of the wait for data: 40.0 µs of 600 µs in 2 calls."
    ]


def test_first_calls_count_where_only_they_keep_the_training_waiting() -> None:
    slow_start = compute(serial(0, 400, 300) + serial(600, 20, 5) + serial(1000, 20, 5))
    assert bottleneck(slow_start) == f"{ROOT}::Map"
    assert slow_start.pipelines["startup_time_ms"].tolist() == [0]
    assert slow_start.pipelines["bottleneck_time_ms"].tolist() == pytest.approx([0.31])
    steady = compute(serial(0, 70, 60) + serial(600, 20, 5) + serial(1000, 20, 5))
    assert steady.pipelines["startup_time_ms"].tolist() == pytest.approx([0.07])


def test_settings_are_columns_where_the_trace_has_them() -> None:
    events = [
        call(ROOT, 0, 9, 1),
        call(f"{ROOT}::ParallelMapV2", 1, 8, 2, 1, parallelism=4, autotune="true"),
        call(f"{ROOT}::ParallelMapV2::Shuffle", 2, 5, 3, 2, buffer_size=32),
    ]
    table = compute(events).iterators
    np.testing.assert_array_equal(table["parallelism"], [np.nan, 4, np.nan])
    np.testing.assert_array_equal(table["buffer_size"], [np.nan, np.nan, 32])
    assert table["is_autotuned"].tolist() == [False, True, False]
    assert table["settings"].tolist() == ["", "4 at once, autotuned", "buffer 32"]


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
    assert row["suggestion"].startswith("batch takes its elements one after another.")
    assert not data.iterators["on_critical_path"].iloc[data.bottleneck]


def test_the_call_that_finds_the_end_of_the_data_is_waited_for() -> None:
    consumers, producers = zip(*(prefetched(t, 100, t + 10, 80, k) for k, t in enumerate((0, 200))), strict=True)
    end = [call(ROOT, 400, 500, 1), call(f"{ROOT}::Prefetch", 401, 498, 2, 1)]
    found = [stage("PrefetchProduce", 390, 500, 2), call(f"{ROOT}::Prefetch::Map", 391, 498, 3, 2)]
    data = compute([*chained(consumers), *end], [*chained(producers), *found])
    assert bottleneck(data) == f"{ROOT}::Prefetch::Map"
    last = data.execution(0).set_index("name")
    assert last["wait_time_ms"].tolist() == pytest.approx([0.002, 0.010, 0.488])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Map", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("Interleave", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("FlatMap", "another order"),
        ("TFRecord", "several files"),
        ("TextLineV2", "several files"),
        ("Generator", "interpreter's lock"),
        ("TensorSlice", "one by one"),
        ("BatchV2", "make batches earlier"),
        ("Filter", "no parallel form"),
        ("Unbatch", "no parallel form"),
        ("ShuffleV3", "buffer"),
        ("Prefetch", ".prefetch(tf.data.AUTOTUNE)"),
        ("DataService", "client.trace"),
        ("ReverbDataset", "client.trace"),
        ("SomethingNew", "data_performance"),
    ],
)
def test_each_class_of_iterators_has_its_advice(name: str, words: str) -> None:
    assert words in suggest(name, {})


def test_a_map_that_tensorflow_fused_with_its_batch_can_still_be_made_parallel() -> None:
    plain = suggest("MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2})
    assert "num_parallel_calls" in plain
    assert "2 of its calls" in plain


def test_a_fused_map_that_tf_data_tunes_already_is_not_to_be_made_parallel() -> None:
    tuned = suggest(
        "MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)", "parallelism": 2, "autotune": "true"}
    )
    assert "already makes 2 calls in parallel as tf.data chose" in tuned


def test_a_map_that_is_parallel_already_is_told_to_cost_less() -> None:
    parallel = suggest("MapAndBatch", {"name": "fused(ParallelMapDatasetV2:4,BatchDatasetV2:5)", "parallelism": 8})
    assert "already makes 8 calls in parallel" in parallel
    assert "already works in parallel" in suggest("ParallelMapV2", {})


def test_a_device_pipeline_points_at_its_host_pipeline() -> None:
    assert "host pipeline" in suggest("Generator", {}, Place(is_device=True))


def test_a_sequential_map_after_parallel_ones_is_named_so() -> None:
    assert "The map after the parallel ones" in suggest("Map", {}, Place(inputs=("ParallelMapV2", "Range")))
    fused = suggest("MapAndBatch", {"name": "fused(MapDataset:1,BatchDatasetV2:2)"}, Place(inputs=("ParallelMapV2",)))
    assert "The map after the parallel ones" in fused


def test_a_map_that_tf_data_tunes_is_not_told_to_be_tuned() -> None:
    advice = suggest("ParallelMapV2", {"parallelism": 1, "autotune": "true"})
    assert "as tf.data chose" in advice
    assert "num_parallel_calls" not in advice


def test_a_shuffle_is_told_what_a_smaller_buffer_costs() -> None:
    shuffle = suggest("Shuffle", {"buffer_size": 1000}, Place(inputs=("Map",)))
    assert "A faster Map, from which it is filled" in shuffle
    assert "1,000 elements" in shuffle
    assert "shuffles less" in shuffle


def test_a_prefetch_that_tf_data_tunes_points_at_what_fills_it() -> None:
    advice = suggest("Prefetch", {"autotune": "true"}, Place(inputs=("FiniteTake", "Map", "Range")))
    assert "as fast as Map makes them" in advice
    assert "num_parallel_calls=tf.data.AUTOTUNE" in advice


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("BatchV2", Place(inputs=("Unbatch",))),
        ("ParallelBatch", Place(inputs=("Unbatch", "Map"))),
        ("Unbatch", Place(consumer="BatchV2")),
    ],
)
def test_batches_that_are_taken_apart_to_be_made_anew_are_to_be_rebatched(name: str, place: Place) -> None:
    assert ".rebatch(batch_size) in place of both" in suggest(name, {"batch_size": 8}, place)
    behind = suggest("Prefetch", {"autotune": "true"}, Place(inputs=("BatchV2", "Unbatch", "MemoryCache")))
    assert ".rebatch(batch_size)" in behind


def test_single_elements_that_are_needed_are_not_to_be_rebatched() -> None:
    assert "rebatch" not in suggest("Unbatch", {}, Place(consumer="ShuffleV3"))
    assert "rebatch" not in suggest("BatchV2", {}, Place(inputs=("ShuffleV3", "Unbatch")))


def test_batches_are_made_in_parallel_where_copying_their_elements_is_the_cost() -> None:
    """Parallel calls made batches of small records 29 % slower."""
    for element_us, is_told in ((0.0, False), (COPIES_US / 2, False), (COPIES_US, True)):
        told = suggest("BatchV2", {"batch_size": 64}, Place(inputs=("Map",), element_us=element_us))
        assert ("num_parallel_calls" in told) == is_told


@pytest.mark.parametrize("name", ["Map", "ParallelMapV2", "Interleave", "FlatMap", "Filter", "ShuffleV3", "Prefetch"])
def test_where_there_is_a_cache_another_one_is_never_proposed(name: str) -> None:
    below = ("Map", "Range")
    tuned = {"autotune": "true"}
    assert ".cache()" in suggest(name, tuned, Place(inputs=below))
    assert "cache" not in suggest(name, tuned, Place(inputs=below, has_cache=True))
