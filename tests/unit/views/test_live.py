"""A training that runs, and workers, as pages and the capture dialog have them."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from tests.builders import event, line, plane, space
from tests.fake_shell import FakeShell
from tfprof_widgets.loading import load
from tfprof_widgets.notebook import MOST_ROWS, Moment, WorkerRow, code_line, counted, rows_html
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import LiveView


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """States that live views have sent."""
    sent: list[dict[str, Any]] = []
    send = LiveView._send

    def record(view: LiveView, message: dict[str, Any], buffers: Any = None) -> None:
        if message.get("method") == "update":
            sent.append(message["state"])
        send(view, message, buffers)

    monkeypatch.setattr(LiveView, "_send", record)
    return sent


@pytest.fixture
def window(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("window")
    steps = [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(3)]
    (folder / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    return load(folder)


def in_cell(shell: FakeShell, cell: str, message_id: str, view: Any) -> None:
    header = {"msg_type": "execute_request", "msg_id": message_id}
    shell.message = {"header": header, "metadata": {"cellId": cell}}
    view._repr_mimebundle_()
    shell.end_cell()


def columns(view: LiveView, names: str = "columns", text: str = "bins") -> dict[str, list[float]]:
    values = np.frombuffer(base64.b64decode(getattr(view, text)), "<f4")
    found = json.loads(getattr(view, names))
    return dict(zip(found, values.reshape(len(found), -1).tolist(), strict=True))


def test_a_push_is_one_message_with_all_of_it(messages: list[dict[str, Any]]) -> None:
    view = LiveView()
    messages.clear()
    view.push({"n_steps": 2, "loss": float("nan")}, bins={"n": [1, 1]}, samples={"time_s": [0.5]})
    (state,) = messages
    assert state.keys() == {"head", "columns", "bins", "sample_columns", "samples"}
    head = json.loads(state["head"])
    assert (head["n_steps"], head["loss"], head["marks"], head["state"]) == (2, None, [], "running")
    assert columns(view) == {"n": [1, 1]}
    assert columns(view, "sample_columns", "samples") == {"time_s": [0.5]}


def test_windows_are_referred_to_and_closed_with_the_view(messages: list[dict[str, Any]], window: Profile) -> None:
    view = LiveView()
    dashboard = window.dashboard()
    view.push({}, bins={}, samples={}, opened=[dashboard])
    assert messages[-1]["opened"] == [f"anywidget:{dashboard.model_id}"]
    view.close()
    assert dashboard.comm is None


def test_a_window_that_a_cell_shows_outlives_the_view(monkeypatch: pytest.MonkeyPatch, window: Profile) -> None:
    shell = FakeShell().install(monkeypatch)
    view, dashboard = LiveView(), window.dashboard()
    view.push({}, bins={}, samples={}, opened=[dashboard])
    in_cell(shell, "other", "1", dashboard)
    view.close()
    assert dashboard.comm is not None


def test_a_cell_that_is_run_again_ends_the_view_of_its_last_run(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = FakeShell().install(monkeypatch)
    first, second = LiveView(), LiveView()
    in_cell(shell, "training", "1", first)
    in_cell(shell, "training", "2", second)
    assert first.comm is None
    assert second.comm is not None


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
