"""What is said of a larger batch where no advice is about it: that it fits, and where the device waits that it may help."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis import batch_factor


@pytest.mark.parametrize(("peak", "factor"), [(10, 4), (24, 4), (40, 2), (46, 2), (47, 0)])
def test_what_was_there_before_does_not_grow_with_the_batch(peak: float, factor: int) -> None:
    assert batch_factor(peak, fixed=2.0, capacity=100.0) == factor
