"""The state of a training that runs, as a page and a notebook have it."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest

from tests.builders import event, line, plane, space
from tests.fake_shell import FakeShell
from tfprof_widgets.loading import load
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
