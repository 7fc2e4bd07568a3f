"""The ops of the averaged steps, a step: for the text summary and the report."""

from __future__ import annotations

import pytest

from tests.builders import event, line, plane, session, space
from tests.unit.analysis.ops.test_step_totals import results, steps
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.export import summarize
from tfprof_widgets.read import read_xspace


def test_ops_of_steps_are_means_over_the_averaged_ones_devices_first() -> None:
    found = results().step_ops
    assert found[["device", "name", "occurrences"]].to_numpy().tolist() == [
        ["Device", "net/x", 1.0],
        ["Host", "net/x", 1.0],
        ["Host", "net/y", 1.0],
    ]
    assert found["self_time_ms"].tolist() == pytest.approx([0.002, 0.006, 0.004])
    assert found["self_time_ratio"].tolist() == pytest.approx([1.0, 0.6, 0.4])


def test_what_only_waits_or_ran_before_the_averaged_steps_is_none_of_them() -> None:
    early = event("once/w:Init", 62, 2)
    waiting = event("Iterator::Root::Prefetch", 100, 50)
    planes = [plane("/host:CPU", line("python", *steps(3), early), line("data", waiting))]
    found = Analysis(read_xspace(space(session(duration_us=1000), *planes))).step_ops
    assert found["name"].tolist() == ["net/x", "net/y"]


def test_the_text_lists_them_and_says_so() -> None:
    text = summarize(results())
    assert "Ops by self time a step: 3 of 3" in text
    assert " 0.006   60 %        1  net/x (A, host)" in text


def test_without_averaged_steps_the_text_is_of_the_capture() -> None:
    planes = [plane("/host:CPU", line("python", event("net/x:A", 0, 10)))]
    assert "Ops by self time: 1 of 1" in summarize(Analysis(read_xspace(space(session(duration_us=1000), *planes))))
