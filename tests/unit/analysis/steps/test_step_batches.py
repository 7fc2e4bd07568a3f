"""How many batches a step takes in one call: what markers say, and the numbers of others where the fetches agree."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import Event, event, line, plane, trace
from tfprof_widgets.analysis import Analysis, fetches_in_a_loop
from tfprof_widgets.export import step_words

NEXT = "IteratorGetNextAsOptionalOp::DoCompute"


def run(numbers: list[int], fetches: list[int], *, marks: list[int] | None = None, name: str = "train") -> Analysis:
    """Steps of 1 ms with these numbers, so many fetches in each, and what their markers say of their batches."""
    events: list[Event] = []
    for i, (number, n) in enumerate(zip(numbers, fetches, strict=True)):
        said = {} if marks is None else {"n_batches": marks[i]}
        events += [event(name, 1000 * i, 990, _r=1, step_num=number, **said), event("m/x:MatMul", 1000 * i, 800)]
        events += [event(NEXT, 1000 * i + 900 + k, 0.5, iter_num=k) for k in range(n)]
    return Analysis(trace(plane("/host:CPU", line("main", *events))))


def batches(results: Analysis) -> list[int]:
    return results.steps.frame["n_batches"].tolist()


def test_markers_say_how_many_batches_a_call_takes() -> None:
    results = run([0, 5, 10, 15], [0, 0, 0, 0], marks=[5, 5, 5, 5])
    assert batches(results) == [5] * 4
    assert results.overview.batches == "5 batches in one call, 198 µs a batch"
    assert "0.990 ms a step of 5 batches (" in results.overview.verdict
    assert step_words(results).startswith("0.990 ± 0 ms a step   (5 batches in one call, 198 µs a batch; 4 of 4 steps;")


def test_where_calls_differ_the_most_is_told_and_the_mean_time_of_a_batch() -> None:
    """A number of batches that Keras tunes itself."""
    results = run([0, 1, 3, 11], [0, 0, 0, 0], marks=[1, 2, 8, 8])
    assert batches(results) == [1, 2, 8, 8]
    assert results.overview.batches == "up to 8 batches in one call, 208 µs a batch"


def test_the_last_call_of_an_epoch_takes_what_is_left() -> None:
    """Of data of unknown length Keras announces five batches; the fourth fetch finds none."""
    assert batches(run([0, 5, 10, 15], [5, 5, 4, 5], marks=[5, 5, 5, 5])) == [5, 5, 3, 5]


def test_numbers_that_advance_by_five_are_five_batches_where_each_step_fetches_five() -> None:
    assert batches(run([0, 5, 10, 0, 5], [5, 5, 5, 5, 5])) == [5] * 5


@pytest.mark.parametrize(
    ("numbers", "fetches"),
    [
        ([0, 10, 20, 30], [1, 1, 1, 1]),  # every tenth step is marked
        ([0, 10, 20, 30], [0, 0, 0, 0]),
        ([0, 1, 2, 3], [5, 5, 5, 5]),  # gradients of five batches are one step
        ([0, 5, 7, 12], [5, 5, 5, 5]),
        ([0, 5], [5, 5]),
    ],
)
def test_where_numbers_and_fetches_do_not_agree_nothing_is_told(numbers: list[int], fetches: list[int]) -> None:
    results = run(numbers, fetches)
    assert batches(results) == [1] * len(numbers)
    assert results.overview.batches == ""
    assert "batch" not in results.overview.verdict + step_words(results)


def test_numbers_of_validation_and_training_are_apart() -> None:
    train = [event("train", 2000 * i, 990, _r=1, step_num=5 * i) for i in range(4)]
    test = [event("test", 2000 * i + 1000, 990, _r=1, step_num=i) for i in range(4)]
    fetches = [event(NEXT, 1000 * i + k, 0.5) for i in range(8) for k in range(5)]
    results = Analysis(trace(plane("/host:CPU", line("main", *train, *test, *fetches))))
    assert batches(results) == [5, 1] * 4


@pytest.mark.parametrize(("iterations", "is_loop"), [(4, True), (1, False)])
def test_a_loop_over_batches_in_a_graph_is_seen_without_markers_that_tell(iterations: int, is_loop: bool) -> None:
    results = run([0, 1, 2], [iterations] * 3)
    assert fetches_in_a_loop(results.trace, results.steps.event_step, np.arange(3)) == is_loop


def test_fabulous_numbers_of_batches_are_bounded() -> None:
    assert batches(run([0, 1, 2], [0, 0, 0], marks=[-7, 0, 2**62])) == [1, 1, 2**31 - 1]
