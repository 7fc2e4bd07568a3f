"""Notices of a profile: each is told by the dashboard in the view that it is about, else as one of the whole capture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tfprof_widgets.analysis import GraphsSwitchedOff
from tfprof_widgets.show import limits_of, view_of
from tfprof_widgets.trace import files_in_part, lines_known


@pytest.mark.parametrize(
    ("notice", "view"),
    [
        (lines_known(1, 2), "source_view"),
        (files_in_part(1, 2, 2**18, 2**22), "source_view"),
        ("3 of 4 functions are gone from TensorFlow's runtime: their lines are not known.", "source_view"),
        ("No FLOP counts of graph ops that XLA did not compile: counting ran out of time.", "op_table"),
        ("Of the edges between graph ops the first 3 of 9 were read.", "tree_view"),
        (GraphsSwitchedOff(3, 5, 9).notice, "kernel_table"),
        ("The capture stopped itself after 2.0 s (max_seconds=2): 4 of 9 steps kept.", ""),
        ("the device was lost", ""),
    ],
)
def test_a_notice_is_about_a_view_or_about_everything(notice: str, view: str) -> None:
    assert view_of(notice) == view
    (limit,) = limits_of([notice])
    assert (limit["text"], limit["view"]) == (notice, view)


def test_a_dashboard_says_how_the_capture_ended_and_its_limits_in_the_words_of_today(
    capture_of: Callable[[str], Path],
) -> None:
    prof = tfprof.load(str(capture_of("h100_resnet_mixed").parents[3]))
    options = json.loads(prof.dashboard().options)
    assert options["outcome"] == "complete"
    assert [limit["view"] for limit in options["limits"]] == ["source_view", "op_table"]
    assert [limit["is_told"] for limit in options["limits"]] == [True, False], (
        "the view tells how much of the time it is"
    )
    assert (
        options["limits"][1]["text"]
        == "No FLOP counts of graph ops that XLA did not compile: counting ran out of time."
    )
    assert "(a bound)" not in prof.text() + prof.report()
