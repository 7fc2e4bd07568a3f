"""Lines of samples and of entries: what they are charged with."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from tests.builders import EPOCH_NS, Event, event, line, plane, session, trace
from tfprof_widgets.analysis import SEVERAL_LINES, sampled_frames, sampled_lines
from tfprof_widgets.trace import SourceMap, Trace, empty_source_map


def drawn(*events: Event) -> Trace:
    return trace(plane("/host:CPU", line("main", *events)), session(duration_us=1000))


def mapped(*samples: tuple[float, int]) -> SourceMap:
    """A map of three frames, the first and last of which are the same line, with samples of (us, frame)."""
    times = [EPOCH_NS + int(at * 1e3) for at, _ in samples]
    return replace(
        empty_source_map(),
        frames=pd.DataFrame({"parent": [-1, -1, -1], "file": [0, 0, 0], "line": [1, 2, 1], "function": ["f", "f", ""]}),
        files=pd.DataFrame({"file": ["a.py"], "title": ["a.py"], "is_user": [True], "text": [""]}),
        samples=pd.DataFrame({"time_ns": times, "frame": [frame for _, frame in samples], "other": -1}, dtype="int64"),
    )


def test_an_op_type_is_at_the_line_that_its_samples_are_of() -> None:
    one = drawn(event("EagerLocalExecute: MatMul", 0, 100), event("EagerLocalExecute: Sin", 200, 100))
    assert sampled_frames(one, mapped((10, 0), (20, 2), (150, 1), (210, 1), (250, 1))) == {"MatMul": 0, "Sin": 1}


def test_an_op_type_of_several_lines_is_at_none() -> None:
    one = drawn(event("EagerLocalExecute: MatMul", 0, 100))
    assert sampled_frames(one, mapped((10, 0), (20, 1), (30, 0))) == {"MatMul": SEVERAL_LINES}


def test_one_sample_says_nothing() -> None:
    one = drawn(event("EagerLocalExecute: MatMul", 0, 100))
    assert sampled_frames(one, mapped((10, 0), (500, 0))) == {}
    assert sampled_frames(one, empty_source_map()) == {}


def test_times_of_lines_add_up_from_the_first_sample_to_the_last() -> None:
    lines = sampled_lines(drawn(event("x", 0, 1000)), mapped((100, 0), (300, 1), (400, 2), (900, 1)))
    assert lines["line"].tolist() == [1, 2]
    assert lines["time_ms"].tolist() == pytest.approx([0.7, 0.1])
    assert lines["n_samples"].tolist() == [2, 2]
    assert lines["time_ratio"].sum() == pytest.approx(1)


def called(*calls: tuple[float, float, int]) -> SourceMap:
    """A map without samples, with calls of Keras from (us) to (us), each of a frame."""
    rows = [(EPOCH_NS + int(begin * 1e3), EPOCH_NS + int(end * 1e3), frame) for begin, end, frame in calls]
    return replace(mapped(), calls=pd.DataFrame(rows, columns=["begin_ns", "end_ns", "frame"], dtype="int64"))


def test_an_op_type_that_only_ran_in_calls_from_one_line_is_at_that_line() -> None:
    one = drawn(
        *(event(f"EagerLocalExecute: {kind}", at, 10) for kind, at in (("Add", 20), ("Add", 220), ("Sin", 230)))
    )
    assert sampled_frames(one, called((10, 100, 0), (200, 300, 2), (205, 210, 1))) == {"Add": 0, "Sin": 0}


def test_an_op_type_that_also_ran_elsewhere_is_at_no_line() -> None:
    one = drawn(*(event("EagerLocalExecute: Add", at, 10) for at in (20, 150)))
    assert sampled_frames(one, called((10, 100, 0), (200, 300, 0))) == {}
    assert sampled_frames(one, called((10, 100, 0), (140, 300, 1))) == {}
    assert sampled_frames(one, called((10, 100, 0), (140, 155, 0))) == {}
