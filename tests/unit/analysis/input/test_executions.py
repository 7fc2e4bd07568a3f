"""tf.data iterator calls drawn by hand -> single executions, the filling of a shuffle, and settings of iterators."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Event
from tests.unit.analysis.input.iterator_drawings import (
    ROOT,
    bottleneck,
    call,
    chained,
    compute,
    prefetched,
    serial,
    stage,
)


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
