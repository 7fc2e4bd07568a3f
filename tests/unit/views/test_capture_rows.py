"""What is known of workers and of time -> the words and the table of the capture dialog."""

from __future__ import annotations

import pytest

from tfprof_widgets.notebook import MOST_ROWS, Moment, WorkerRow, code_line, counted, rows_html


def moment(elapsed_s: float, attempt: int = 1) -> Moment:
    return Moment(attempt=attempt, n_attempts=3, delay_s=0.5, duration_s=2.0, elapsed_s=elapsed_s)


@pytest.mark.parametrize(
    ("elapsed_s", "words", "ratio"),
    [
        (0.1, "All begin in 0.4 s", 0.04),
        (1.5, "1.0 of 2 s captured", 0.6),
        (9.0, "2 s captured, the traces are on their way", 1.0),
    ],
)
def test_a_moment_says_what_goes_on(elapsed_s: float, words: str, ratio: float) -> None:
    assert moment(elapsed_s).words == words
    assert moment(elapsed_s).ratio == pytest.approx(ratio)


def test_a_second_attempt_is_told() -> None:
    assert moment(0.6, attempt=2).words == "Attempt 2 of 3: 0.1 of 2 s captured"


def test_workers_are_counted_with_those_that_failed() -> None:
    rows = [WorkerRow("a:1", "answered", 5), WorkerRow("b:1"), WorkerRow("c:1", "failed", reason="gone")]
    assert counted(rows) == "1 of 3 workers answered, 1 failed"
    assert counted(rows[:2]) == "1 of 2 workers answered"


def test_what_a_worker_sends_is_text_not_markup() -> None:
    html = rows_html([WorkerRow("<b>:1", "failed", reason="<img src=x onerror=alert(1)>")])
    assert "<img" not in html
    assert "<b>" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_of_a_thousand_workers_those_that_failed_are_shown_first() -> None:
    rows = [WorkerRow(f"host{n}:1", "failed" if n == 999 else "answered", 1) for n in range(1000)]
    html = rows_html(rows)
    assert html.count("<tr class=") == MOST_ROWS
    assert html.index("host999") < html.index("host0:")
    assert "100 of 1,000 workers" in html


def test_what_a_worker_sent_is_told_with_its_unit() -> None:
    assert "<td>76.5 KiB</td>" in rows_html([WorkerRow("a:1", "answered", 78_336)])
    assert "<td></td>" in rows_html([WorkerRow("a:1")])


def test_the_line_of_code_has_what_is_not_the_default() -> None:
    arguments = {"addresses": ("a:1", 'b"\\:2'), "duration_ms": 2000, "host_tracer_level": 3, "logdir": "C:\\runs"}
    line = code_line(arguments)
    assert line == (
        'tfprof.capture_remote(["a:1", "b\\"\\\\:2"], duration_ms=2000, host_tracer_level=3, logdir="C:\\\\runs")'
    )
