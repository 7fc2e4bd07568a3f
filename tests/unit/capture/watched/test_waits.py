"""Waits: what a step waited for its batch is its time less the gap that tf.data noted between two calls."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from tests.unit.capture.drawn_step import a_step
from tfprof_widgets.capture import Gaps, Waits, step_rows


class Iterator:
    """Stands for one of tf.data."""


@pytest.fixture(autouse=True)
def _no_more_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_rows, "traced_us", lambda: TRACED_US)


TRACED_US = 700


def row(
    number: int,
    iterator: Iterator | None,
    *,
    ms: float = 5.0,
    n_batches: int = 1,
    waited_ns: int | None = None,
    traced_us: tuple[int, int] | None = (TRACED_US, TRACED_US),
    **fields: Any,
) -> Any:
    since_us, until_us = traced_us or (None, None)
    return a_step(
        number,
        elapsed_ns=int(ms * 1e6),
        n_batches=n_batches,
        waited_ns=waited_ns,
        traced_us=since_us,
        until_us=until_us,
        iterator=None if iterator is None else weakref.ref(iterator),
        first_element=number * n_batches,
        **{"computing_ns": None, **fields},
    )


def told(monkeypatch: pytest.MonkeyPatch, n_elements: int, *gaps_ms: float) -> None:
    found = Gaps(n_elements, np.array(gaps_ms) * 1e3)
    monkeypatch.setattr(step_rows, "read_gaps", lambda iterator: found)


def ms(values: Any) -> list[float]:
    return [round(float(value) / 1e6, 6) for value in values]


FIVE_TRACED = [(0, 0), (0, 0), (0, TRACED_US), (TRACED_US, TRACED_US), (TRACED_US, TRACED_US)]


@pytest.mark.parametrize(
    ("n_elements", "gaps_ms", "steps", "waits_ms"),
    [
        # A gap longer than the step is no negative wait.
        pytest.param(4, [1.0, 2.0, 5.5], [{}] * 3, [4.0, 3.0, 0.0], id="the time without the gap"),
        pytest.param(201, [1.0] * 100, [{}] * 200, [-1.0] * 100 + [4.0] * 100, id="gaps that are forgotten"),
        pytest.param(7, [0.5] * 6, [{"n_batches": 3}] * 2, [3.5, 3.5], id="several batches"),
        pytest.param(
            6, [1.0] * 5, [{"traced_us": one} for one in FIVE_TRACED], [4.0, -1.0, -1.0, 4.0, 4.0], id="traced"
        ),
    ],
)
def test_a_wait_is_the_time_of_the_step_without_the_gap_behind_its_batch(
    monkeypatch: pytest.MonkeyPatch, n_elements: int, gaps_ms: list[float], steps: list[Any], waits_ms: list[float]
) -> None:
    """-1: not known, as where a function was traced, and in the step before."""
    iterator = Iterator()
    told(monkeypatch, n_elements, *gaps_ms)
    rows, waited = Waits().find([row(i, iterator, **fields) for i, fields in enumerate(steps)], is_last=True)
    assert [one.number for one in rows] == list(range(len(steps)))
    assert ms(np.nan_to_num(waited, nan=-1e6)) == waits_ms


def test_a_step_that_asks_late_is_no_wait_of_its_own_and_gives_none_to_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iterator, found = Iterator(), Waits()
    told(monkeypatch, 5, 4.0, 7.0, 0.5, 4.0)  # the third step asks 3 ms late
    _rows, waited = found.find([row(i, iterator) for i in range(4)])
    assert ms(waited) == [1.0, 0.0, 2.5]
    told(monkeypatch, 7, 4.0, 7.0, 0.5, 4.0, 9.0, 2.0)  # and the sixth, of which the next call hears
    _rows, waited = found.find([row(4, iterator), row(5, iterator)], is_last=True)
    assert ms(waited) == [1.0, 0.0, 0.0]


def test_what_a_step_does_before_it_asks_is_no_wait_and_a_wait_lies_within_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iterator = Iterator()
    told(monkeypatch, 4, 2.0, 2.0, 4.5)  # another callback takes 3 ms of the first step, before its call
    steps = [row(0, iterator, ms=8.0), *(row(i, iterator) for i in (1, 2))]
    for one, before_ms, begin_ms in zip(steps, (3.5, 0.5, 0.5), (0, 8, 13), strict=True):
        one.begin_ns = 10**12 + begin_ms * 10**6
        one.asked_ns = one.begin_ns + int(before_ms * 1e6)
    assert ms(Waits().find(steps, is_last=True)[1]) == [3.0, 3.0, 0.0]
    steps[1].computing_ns = 1_000_000
    assert ms(Waits().find(steps, is_last=True)[1]) == [3.0, 1.0, 0.0]


def test_what_lies_between_two_steps_is_in_the_gap_and_makes_no_wait_less(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator = Iterator()
    told(monkeypatch, 4, 2.0, 104.0, 2.0)  # the profiler closes for 100 ms behind the second step
    rows = [row(i, iterator) for i in range(3)]
    rows[2].begin_ns += 100_000_000
    assert ms(Waits().find(rows, is_last=True)[1]) == [3.0, 1.0, 3.0]
    assert ms(Waits().find(rows[:2], next_ns=rows[2].begin_ns, is_last=True)[1]) == [3.0, 1.0], "while the third runs"


def test_what_a_step_asks_late_is_no_wait_of_it_however_steps_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator, found, waits = Iterator(), Waits(), []
    gaps_ms = [4.5, 16.5, 0.1, 4.5, 4.5]  # the third call of the function takes 12 ms until it asks
    rows = [row(i, iterator, ms=17.0 if i == 2 else 5.0) for i in range(5)]
    for i, begin_ms in enumerate((0, 5, 10, 27, 32)):
        rows[i].begin_ns = rows[i].asked_ns = 10**12 + begin_ms * 10**6
    for i, one in enumerate(rows):
        told(monkeypatch, i + 2, *gaps_ms[: i + 1])
        waits += ms(found.find([one], is_last=i == 4)[1])
    assert waits == [0.5, 0.0, 5.4, 0.5, 0.5]


def test_the_last_step_is_held_back_until_its_gap_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator, found = Iterator(), Waits()
    told(monkeypatch, 2, 1.0)
    rows, waited = found.find([row(0, iterator), row(1, iterator)])
    assert ([one.number for one in rows], ms(waited)) == ([0], [4.0])
    told(monkeypatch, 3, 1.0, 2.0)
    rows, waited = found.find([row(2, iterator)])
    assert ([one.number for one in rows], ms(waited)) == ([1], [3.0])
    rows, waited = found.find([], is_last=True)
    assert [one.number for one in rows] == [2]
    assert np.isnan(waited).all()


def test_a_gap_that_never_comes_holds_a_step_back_once_only(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator, found = Iterator(), Waits()
    told(monkeypatch, 1)
    assert found.find([row(0, iterator)])[0] == []
    assert [one.number for one in found.find([])[0]] == [0]


@pytest.mark.parametrize("n_elements", [30, 150])
def test_the_end_of_the_data_moves_no_wait_to_another_step(monkeypatch: pytest.MonkeyPatch, n_elements: int) -> None:
    """The call that finds no more data leaves a gap, too: as with a generator, whose length Keras does not know."""
    iterator, found = Iterator(), Waits()
    gaps_ms = [4.0 if i % 10 else 1.0 for i in range(n_elements)] + 0.001 * np.arange(n_elements)
    told(monkeypatch, n_elements - 20, *gaps_ms[: n_elements - 21][-100:])
    found.read(iterator)
    told(monkeypatch, n_elements, *gaps_ms[-100:])
    _, waited = found.find([row(i, iterator) for i in range(n_elements)], is_last=True)
    known = waited[-99:]
    np.testing.assert_allclose(known / 1e6, 5.0 - gaps_ms[-99:], atol=1e-6)


def test_the_wait_of_the_last_step_is_not_known_while_the_next_one_has_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator = Iterator()
    told(monkeypatch, 2, 1.0)
    monkeypatch.setattr(step_rows, "traced_us", lambda: TRACED_US + 5)
    assert np.isnan(Waits().find([row(0, iterator)], is_last=True)[1]).all()


def test_what_the_loop_itself_measured_stays_also_where_a_function_was_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator = Iterator()
    told(monkeypatch, 4, 1.0, 1.0, 1.0)
    measured = row(0, None, waited_ns=2_000_000, traced_us=(0, 5))
    _, waited = Waits().find([measured, row(1, None, traced_us=None), row(2, iterator)], is_last=True)
    assert ms(np.nan_to_num(waited, nan=-1e6)) == [2.0, -1.0, 4.0]


def test_of_a_loop_that_tells_what_next_took_the_wait_within_it_is_known_where_tf_data_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iterator, found = Iterator(), Waits()
    told(monkeypatch, 4, 4.5, 2.0, 4.5)
    steps = [row(i, iterator, waited_ns=3_500_000) for i in range(3)]
    assert ms(found.find(steps, is_last=True)[1]) == [0.5, 3.0, 0.5]
    steps = [row(i, iterator, waited_ns=1_000_000) for i in range(3)]
    assert ms(found.find(steps, is_last=True)[1]) == [0.5, 1.0, 0.5], "no more than that"
    steps = [row(i, iterator, waited_ns=3_500_000, traced_us=one) for i, one in enumerate(FIVE_TRACED[1:4])]
    assert ms(found.find(steps, is_last=True)[1]) == [3.5, 3.5, 0.5], "where a function was traced, all that it took"
    del iterator
    gc.collect()
    assert ms(Waits().find([row(5, None, waited_ns=7)])[1]) == [7e-6]


def test_steps_of_an_iterator_that_is_gone_have_no_wait_and_are_not_lost() -> None:
    iterator = Iterator()
    rows = [row(i, iterator) for i in range(3)]
    del iterator
    gc.collect()
    taken, waited = Waits().find(rows, is_last=True)
    assert len(taken) == 3
    assert np.isnan(waited).all()


def test_the_steps_of_short_epochs_have_an_iterator_each(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Iterator(), Iterator()
    gaps = {first: Gaps(2, np.array([1e3])), second: Gaps(3, np.array([2e3, 3e3]))}
    monkeypatch.setattr(step_rows, "read_gaps", gaps.__getitem__)
    rows, waited = Waits().find([row(0, first), row(1, first), *(row(i, second) for i in range(2))], is_last=True)
    assert [one.number for one in rows] == [0, 1, 0, 1]
    assert ms(np.nan_to_num(waited, nan=-1e6)) == [4.0, -1.0, 3.0, 2.0]


def test_what_an_iterator_told_before_it_was_gone_or_forgot_is_known_later(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, forgetful, found = Iterator(), Iterator(), Waits()
    of_gone, early = [row(0, gone), row(1, gone)], [row(i, forgetful) for i in range(3)]
    told(monkeypatch, 3, 1.0, 2.0)
    found.read(gone)
    del gone
    gc.collect()
    found.read(forgetful)
    told(monkeypatch, 5, 4.0)
    rows, waited = found.find([*of_gone, *early, row(3, forgetful)], is_last=True)
    assert len(rows) == 6
    assert ms(np.nan_to_num(waited, nan=-1e6)) == [4.0, 3.0, 4.0, 3.0, -1.0, 1.0]


def test_an_iterator_that_cannot_be_asked_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    iterator, found, asked = Iterator(), Waits(), []

    def fail(_: object) -> Gaps:
        asked.append(1)
        raise AttributeError("no such op")

    monkeypatch.setattr(step_rows, "read_gaps", fail)
    for number in range(3):
        assert len(found.find([row(number, iterator)], is_last=True)[0]) == 1
    assert len(asked) == 1
