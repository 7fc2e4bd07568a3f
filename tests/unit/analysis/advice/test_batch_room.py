"""What is said of a larger batch where no advice is about it: that it fits, and where the device waits that it may help."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tfprof_widgets.analysis import BatchRoom

ROOM = BatchRoom("GPU_0_bfc", peak=10.0, fixed=2.0, capacity=100.0, peak_at_ms=1.0, waited_ratio=0.0)


@pytest.mark.parametrize(("peak", "factor"), [(10, 4), (24, 4), (40, 2), (46, 2), (47, 0)])
def test_what_was_there_before_does_not_grow_with_the_batch(peak: float, factor: int) -> None:
    assert replace(ROOM, peak=float(peak)).factor == factor
