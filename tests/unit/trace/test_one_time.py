"""Which hosts have a clock in common."""

from __future__ import annotations

import pytest

from tfprof_widgets.trace import MAX_DAYS, days_from_most

DAY_NS = 86400 * 10**9
NOW_NS = 1_790_000_000 * 10**9


@pytest.mark.parametrize(
    ("days", "far"),
    [
        ([], []),
        ([5], [0]),
        ([5, 6, 7], [0, 0, 0]),
        ([0, -30, 0, 0], [0, -30, 0, 0]),
        ([0, 30, 0, 1], [0, 29, 0, 0]),
        ([0, -30], [0, -30]),
        ([-30, 0], [-30, 0]),
        ([-20, -20, 0, 0], [-20, -20, 0, 0]),
        ([-20, 0, 10, 20], [-30, -10, 0, 0]),  # two groups of two: the later has it
        ([0, MAX_DAYS / 2, MAX_DAYS - 1e-6], [0, 0, 0]),
    ],
)
def test_hosts_too_far_from_the_most_are_told_with_their_distance(days: list[float], far: list[float]) -> None:
    found = days_from_most([NOW_NS + round(day * DAY_NS) for day in days])
    assert found == pytest.approx(far)


def test_a_host_that_tells_no_time_is_not_far_from_any() -> None:
    assert days_from_most([0, NOW_NS, 0, NOW_NS - 30 * DAY_NS]) == pytest.approx((0, 0, 0, -30))
    assert days_from_most([0, 0]) == (0, 0)


def test_an_absurd_time_is_far_and_no_error() -> None:
    assert days_from_most([NOW_NS, NOW_NS, 2**64])[2] > 1e5
