"""What all analyses share: moments in order, numbers and texts in words."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widgets.analysis import amount, ends, head, milliseconds, moments_of, tail_of_text


@pytest.mark.parametrize("latest", [40, 2**62], ids=["near", "too far apart for one number"])
def test_moments_are_ordered_by_owner_and_then_by_time_over_all_columns(latest: int) -> None:
    first = np.array([2, -1, 0, 7], np.int32), np.array([5, latest, 3, 0])
    second = np.array([0, 0, 2], np.int64), np.array([latest, 3, 5])

    numbers = np.concatenate(moments_of(first, second)).tolist()

    owners, times = (np.concatenate(columns).tolist() for columns in zip(first, second, strict=True))
    pairs = list(zip(owners, times, strict=True))
    assert sorted(range(7), key=lambda i: (numbers[i], i)) == sorted(range(7), key=lambda i: (pairs[i], i))
    assert len(set(numbers)) == len(set(pairs))


NAME = "replica_0/" + "x" * 50 + "/MatMul"


def test_each_keeps_its_part() -> None:
    assert head(NAME, 11) == "replica_0/…"
    assert tail_of_text(NAME, 8) == "…/MatMul"
    assert ends(NAME, 20) == "replic…xxxxxx/MatMul"


def test_times_have_the_unit_that_suits_them() -> None:
    assert [milliseconds(ms) for ms in (0, 0.0371, 0.9996, 21.34, 999.4, 1027)] == [
        *("0 ms", "37.1 µs", "1.00 ms", "21.3 ms", "999 ms", "1.03 s")
    ]


def test_means_of_counts_have_decimals_where_they_are_not_whole() -> None:
    assert [amount(count) for count in (18.0, 1 / 3, 8125)] == ["18", "0.333", "8,125"]
