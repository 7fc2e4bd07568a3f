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
from tfprof_widgets.analysis import compute_tf_data
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
