"""Packed stats give back what was packed, whatever the keys, kinds and values, and in few bytes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.trace import Stats, StatTable, packed_stats
from tfprof_widgets.trace import stats as stat_table

rows = st.tuples(st.integers(0, 40), st.integers(2, 6), st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)))
drawings = st.lists(st.lists(rows, max_size=5), max_size=30)


def plain(events: list[list[tuple[int, int, int]]]) -> Stats:
    stats = [stat for event in events for stat in event]
    return Stats(
        np.array([len(event) for event in events], np.int64),
        np.array([key for key, _, _ in stats], np.int32),
        np.array([kind for _, kind, _ in stats], np.uint8),
        np.array([bits for _, _, bits in stats], np.uint64),
    )


def listed(stats: Stats) -> list[list[tuple[int, int, int]]]:
    whole = list(zip(stats.key.tolist(), stats.kind.tolist(), stats.bits.tolist(), strict=True))
    ends = np.cumsum(stats.n).tolist()
    return [whole[end - n : end] for end, n in zip(ends, stats.n.tolist(), strict=True)]


@pytest.fixture(params=["few", "many"], autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a small table, whose columns are kept, and as a large one of many blocks."""
    if request.param == "many":
        monkeypatch.setattr(stat_table, "_FEW_STATS", -1)
        monkeypatch.setattr(stat_table, "_BLOCK_EVENTS", 4)


def assert_holds(table: StatTable, events: list[list[tuple[int, int, int]]]) -> None:
    assert listed(table.all_stats()) == events
    assert table.n_rows == sum(map(len, events))
    for key in range(41):
        found = table.of_key(key)
        expected = [(i, kind, bits) for i, event in enumerate(events) for own, kind, bits in event if own == key]
        assert list(zip(found.event.tolist(), found.kind.tolist(), found.bits.tolist(), strict=True)) == expected
        assert np.flatnonzero(table.holds(key)).tolist() == sorted({event for event, _, _ in expected})


@given(drawings)
def test_all_stats_and_those_of_each_key_come_back(events: list[list[tuple[int, int, int]]]) -> None:
    assert_holds(packed_stats(plain(events)), events)


@given(drawings, st.randoms())
def test_the_stats_of_some_events_in_any_order(events: list[list[tuple[int, int, int]]], random: object) -> None:
    order = list(range(len(events)))
    random.shuffle(order)  # type: ignore[attr-defined]
    some = np.array(order[: len(order) // 2 + 1], np.int64)
    table = packed_stats(plain(events))
    assert listed(table.of(some)) == [events[i] for i in some.tolist()]
    assert_holds(table.taken(some), [events[i] for i in some.tolist()])


def test_events_with_hundreds_of_stats_have_a_shape() -> None:
    events = [[(k % 7, 3, k) for k in range(300)], [(1, 3, 5)], [(k % 7, 3, 2 * k) for k in range(300)]]
    table = packed_stats(plain(events))
    assert_holds(table, events)
    assert len(table.shapes.n_stats) == 2


def test_a_thue_morse_word_and_its_complement_are_two_shapes() -> None:
    """Sums in which the powers of one odd number tell the places are the same for both."""
    word = [place.bit_count() % 2 for place in range(4096)]
    events = [[(key, 3, 7) for key in word], [(1 - key, 3, 7) for key in word]]
    table = packed_stats(plain(events))
    assert_holds(table, events)
    assert len(table.shapes.n_stats) == 2


def test_no_two_events_alike_have_a_shape_each() -> None:
    events = [[(i, 3, i), (j, 4, j)] for i in range(40) for j in range(40)]
    table = packed_stats(plain(events))
    assert_holds(table, events)
    assert len(table.shapes.n_stats) == 1600


def test_equal_values_take_no_bytes_and_near_ones_one() -> None:
    table = packed_stats(plain([[(0, 3, 2**40), (1, 3, 2**50 + i % 200)] for i in range(1000)]))
    assert sum(rest.nbytes for block in table.blocks for rest in block.rest) == 1000
    assert table.shape.nbytes == 1000


@given(drawings, st.randoms(use_true_random=False))
def test_stats_of_some_events_come_in_the_order_asked_for(
    events: list[list[tuple[int, int, int]]], rng: Random
) -> None:
    asked = [rng.randrange(len(events)) for _ in range(2 * len(events))]
    found = packed_stats(plain(events)).of(np.array(asked, np.int64))
    assert listed(found) == [events[i] for i in asked]
