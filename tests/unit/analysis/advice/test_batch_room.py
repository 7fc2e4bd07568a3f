"""What is said of a larger batch where no advice is about it: that it fits, and where the device waits that it may help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tfprof_widgets.analysis import Analysis, BatchRoom, batch_words
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import build_payload, unpack

ROOM = BatchRoom("GPU_0_bfc", peak=10.0, fixed=2.0, capacity=100.0, peak_at_ms=1.0, waited_ratio=0.0)
MAY_HELP = (
    "A larger batch fits and may help",
    "4.46 GiB of 76.4 GiB used, and the GPU waits for the CPU as long for any batch",
)
PACE = ("A batch 4 times as large fits, but the input sets the pace", "429 MiB of 76.9 GiB used")


@pytest.mark.parametrize(("peak", "factor"), [(10, 4), (24, 4), (40, 2), (46, 2), (47, 0)])
def test_what_was_there_before_does_not_grow_with_the_batch(peak: float, factor: int) -> None:
    assert replace(ROOM, peak=float(peak)).factor == factor


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("h100_resnet_mixed", MAY_HELP),
        ("h100_cnn_input", PACE),
        ("h100_lstm", ("A larger batch fits", "128 MiB of 76.9 GiB used")),
        ("h100_oom", ()),
    ],
    ids=["waits for launches", "waits for input", "advice is about the batch", "out of memory"],
)
def test_it_may_help_where_the_device_waits_for_what_no_batch_changes(
    name: str, words: tuple[str, ...], capture_of: Callable[[str], Path]
) -> None:
    results = Analysis(read_xspace(capture_of(name).read_bytes()))
    assert batch_words(results, results.advice) == words


def test_a_page_is_told_so_when_it_asks(capture_of: Callable[[str], Path]) -> None:
    payload = build_payload(Analysis(read_xspace(capture_of("h100_resnet_mixed").read_bytes())))
    assert unpack(payload.part("batch_room:0"))[0]["batch_room"] == [*MAY_HELP]
