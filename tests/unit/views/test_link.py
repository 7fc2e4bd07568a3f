"""The shared link refuses what no view could follow."""

from __future__ import annotations

import pytest
import traitlets

from tfprof_widgets.views.link import LinkModel


def test_a_time_range_is_two_whole_nanoseconds_or_nothing() -> None:
    link = LinkModel()
    link.time_range = (1.2, 9.8)
    assert link.time_range == (1, 10)
    link.time_range = ()
    assert link.time_range == ()


@pytest.mark.parametrize("value", [(5, 1), (1,), (1, 2, 3)])
def test_a_time_range_that_is_none_is_refused(value: tuple[int, ...]) -> None:
    with pytest.raises(traitlets.TraitError, match="t0_ns <= t1_ns"):
        LinkModel().time_range = value
