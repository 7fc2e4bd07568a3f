"""Moments of owners as single numbers."""

import numpy as np
import pytest

from tfprof_widgets.analysis import moments_of


@pytest.mark.parametrize("latest", [40, 2**62], ids=["near", "too far apart for one number"])
def test_moments_are_ordered_by_owner_and_then_by_time_over_all_columns(latest: int) -> None:
    first = np.array([2, -1, 0, 7], np.int32), np.array([5, latest, 3, 0])
    second = np.array([0, 0, 2], np.int64), np.array([latest, 3, 5])

    numbers = np.concatenate(moments_of(first, second)).tolist()

    owners, times = (np.concatenate(columns).tolist() for columns in zip(first, second, strict=True))
    pairs = list(zip(owners, times, strict=True))
    assert sorted(range(7), key=lambda i: (numbers[i], i)) == sorted(range(7), key=lambda i: (pairs[i], i))
    assert len(set(numbers)) == len(set(pairs))


def test_no_moment_has_no_number() -> None:
    none = np.empty(0, np.int64)

    assert [len(one) for one in moments_of((none, none), (none, none))] == [0, 0]
