"""The report of a watched training: its figures, what was odd, and nothing that a name in it could do."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.analysis.watched.drawn_steps import steps
from tfprof_widgets.analysis import Anomaly, outcome_of
from tfprof_widgets.export import watch_report, watch_summary
from tfprof_widgets.read import WatchWriter, read_watch_log
from tfprof_widgets.trace import COMPILED, PROFILED, VALIDATION, WatchLog


def _log(folder: Path, rows: Any, *events: dict[str, Any]) -> WatchLog:
    with closing(WatchWriter(folder)) as writer:
        writer.add_steps(rows)
        for event in events:
            writer.add_event(event)
    return read_watch_log(folder)


def _anomaly(number: int, **fields: Any) -> dict[str, Any]:
    one = Anomaly("slower", "Steps take 8 ms", "Medians.", 7, number=number)
    return {**asdict(one), "what": one.kind, "kind": "anomaly", "at_ns": 1, "step": 7, **fields}


@pytest.fixture
def rows() -> Any:
    rows = steps(np.full(1000, 4.0), wait_ms=1.0, outside_ms=0.2)
    rows["duration_us"][500] = 61_000
    rows["kind"][900:] = VALIDATION
    rows["flags"][10:20] = PROFILED
    return rows


def test_the_figures_are_those_of_the_steps(tmp_path: Path, rows: Any) -> None:
    outcome = outcome_of(_log(tmp_path, rows))
    assert (outcome.n_steps, outcome.n_validation, outcome.n_profiled) == (900, 100, 10)
    assert (outcome.median_ms, outcome.p95_ms) == (4, 4)
    assert outcome.steps_per_s == pytest.approx(900e3 / (899 * 4 + 61))
    assert (outcome.longest_ms, outcome.longest_number) == (61, 500)
    assert outcome.wait_ratio == pytest.approx(900 / (899 * 4 + 61))
    assert outcome.seconds == pytest.approx(4.0, abs=0.07)
    assert outcome.batches == ""
    rows["n_batches"] = 8
    assert outcome_of(_log(tmp_path / "several", rows)).batches == "8 batches in one call, 508 µs a batch"


def test_waits_that_are_not_known_are_in_no_share_and_the_report_says_so(tmp_path: Path, rows: Any) -> None:
    rows = rows[rows["kind"] != VALIDATION].copy()
    rows["duration_us"], rows["wait_us"] = 4_000, 1_000
    rows["duration_us"][0], rows["wait_us"][0], rows["flags"][0] = 4_000 * (len(rows) - 1), np.nan, COMPILED
    log = _log(tmp_path, rows)
    assert outcome_of(log).wait_ratio == pytest.approx(0.25)
    assert "| waited for data | 25 % of the time of the steps where it is known (50 % of all time) |" in watch_report(
        log
    )


def test_the_report_has_what_was_found(tmp_path: Path, rows: Any) -> None:
    log = _log(
        *(tmp_path, rows),
        {"kind": "begin", "at_ns": 1, "title": "cell 4"},
        {
            "kind": "window",
            "at_ns": 1,
            "index": 0,
            "first_step": 1500,
            "last_step": 1510,
            "why": "slow",
            "path": "windows/a",
        },
        {
            "kind": "epoch_end",
            "at_ns": 1,
            "epoch": 3,
            "seconds": 61.25,
            "values": {"loss": 0.123456, "acc": float("nan")},
        },
        _anomaly(0, title="It was info once"),
        {"kind": "end", "at_ns": 1, "outcome": "interrupted"},
        _anomaly(1, severity="high", window=0),
    )
    report = watch_report(log)
    assert report.startswith("# cell 4\n\nIt was interrupted.\n")
    assert "| step (median) | 4.00 ms |" in report
    assert "| step (longest) | 61.0 ms, step 500 |" in report
    assert "- **high**: Steps take 8 ms. Medians. Profile window 1 shows it." in report
    assert "It was info once" not in report
    assert "| 1 | 1,500 to 1,510 | slow | `windows/a` |" in report
    assert "| 3 | 61.2 | loss 0.1235, acc nan |" in report
    assert "1 of 1 profile windows are not in" in report
    summary = watch_summary(log)
    assert summary.splitlines()[0] == "cell 4: 900 steps, interrupted, 4.00 ms a step"
    assert "  high: Steps take 8 ms" in summary


def test_a_watch_without_an_end_and_without_steps_is_told_as_such(tmp_path: Path, rows: Any) -> None:
    report = watch_report(_log(tmp_path / "none", rows[:0]))
    assert "it runs still, or its process was killed" in report
    assert "## What is odd\n\nNo step of training was told" in report
    assert "tfprof.trace_steps(dataset)" in report
    assert "median" not in report
    assert "No step of training was told" in watch_summary(_log(tmp_path / "none", rows[:0]))
    assert watch_summary(_log(tmp_path / "some", rows)).startswith("some: 900 steps, end not written, 4.00 ms a step")


def test_few_steps_are_not_said_to_be_within_the_noise(tmp_path: Path, rows: Any) -> None:
    assert "it is not known what is usual: that takes 24" in watch_report(_log(tmp_path / "few", rows[:23]))
    assert "Nothing went beyond the noise" in watch_report(_log(tmp_path / "many", rows[:24]))


def test_text_of_the_log_stays_text(tmp_path: Path, rows: Any) -> None:
    bad = "</td>|<script>x</script> [a](http://b) `c` \x1b[31m\n# d"
    log = _log(
        *(tmp_path, rows),
        {"kind": "begin", "at_ns": 1, "title": bad},
        {"kind": "window", "at_ns": 1, "index": bad, "first_step": bad, "why": bad, "path": bad},
        {"kind": "epoch_end", "at_ns": 1, "epoch": bad, "seconds": bad, "values": {bad: bad}},
        {"kind": "epoch_end", "at_ns": 1, "epoch": 1, "seconds": [1], "values": [bad]},
        _anomaly(0, title=bad, evidence=bad),
    )
    report = watch_report(log)
    assert "<script>" not in report
    assert "http://" not in report
    assert "[a]" not in report
    assert "\n# d" not in report
    assert "\x1b" not in report + watch_summary(log)
    assert len({line.count("|") for line in report.splitlines() if line.startswith("| ") and "script" in line}) <= 2
