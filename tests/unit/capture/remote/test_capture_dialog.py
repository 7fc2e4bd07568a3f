"""The capture dialog without a front end: its fields, what it says of a capture that runs, and what is left of one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.remote.processes import TrainingProcess
from tests.unit.capture.remote.training import free_port
from tfprof_widgets.errors import CaptureError
from tfprof_widgets.notebook import CaptureDialog, capture_dialog
from tfprof_widgets.show import Dashboard, family

WAIT_S = 60
DEFAULTS: dict[str, Any] = {
    "duration_ms": 2000,
    "host_tracer_level": 2,
    "device_tracer_level": 1,
    "delay_ms": None,
    "num_tracing_attempts": 3,
    "logdir": None,
}


@pytest.fixture(scope="module")
def workers() -> Iterator[tuple[TrainingProcess, TrainingProcess]]:
    """One process with our server, one with TensorFlow's."""
    both = TrainingProcess("own"), TrainingProcess("tensorflow")
    yield both
    for one in both:
        one.end()


@pytest.fixture
def made() -> Iterator[list[CaptureDialog]]:
    """Dialogs to close at the end; none leaves a thread."""
    dialogs: list[CaptureDialog] = []
    yield dialogs
    for dialog in dialogs:
        dialog.close()
        assert dialog.wait(WAIT_S)
    assert n_threads() == 0


def n_threads() -> int:
    return sum(thread.name == "tfprof-capture" for thread in threading.enumerate())


def part(dialog: CaptureDialog, description: str) -> Any:
    """The control with this label."""
    return next(one for one in family(dialog) if getattr(one, "description", None) == description)


def said(dialog: CaptureDialog) -> str:
    """All that the dialog shows as text."""
    texts = (one.value.rpartition("</style>")[2] for one in family(dialog) if isinstance(one, ipywidgets.HTML))
    return unescape("\n".join(texts))


def nobody() -> str:
    return f"127.0.0.1:{free_port()}"


def pressed(dialog: CaptureDialog) -> list[str]:
    """Press Capture, wait until it has ended, and return everything that was said meanwhile."""
    found: list[str] = []
    for one in family(dialog):
        if isinstance(one, ipywidgets.HTML):
            one.observe(lambda change: found.append(unescape(change.new)), "value")
    part(dialog, "Capture").click()
    assert dialog.wait(WAIT_S)
    return found


def shown(dialog: CaptureDialog) -> list[Dashboard]:
    return [one for one in dialog.children[1].children if isinstance(one, Dashboard)]


# ---- fields -----------------------------------------------------------------------------------------------------------


def test_fields_begin_with_the_defaults_of_capture_remote(made: list[CaptureDialog]) -> None:
    made.append(dialog := capture_dialog())
    assert part(dialog, "Workers").value == ""
    assert (part(dialog, "Duration (ms)").value, part(dialog, "Attempts").value) == (2000, 3)
    assert (part(dialog, "Host tracer level").value, part(dialog, "Device tracer level").value) == (2, 1)
    assert (part(dialog, "Delay (ms)").value, part(dialog, "Log directory").value) == ("", "")
    assert dialog.profile is None
    assert dialog.profiles == ()
    assert 'role="alert"' not in said(dialog)


def test_the_line_of_code_follows_the_fields(made: list[CaptureDialog], tmp_path: Path) -> None:
    made.append(dialog := capture_dialog("a:1,b:2"))
    assert dialog.code == 'tfprof.capture_remote(["a:1", "b:2"], duration_ms=2000)'
    part(dialog, "Workers").value = "a:1\n\n b:2 , c:3\na:1"
    part(dialog, "Host tracer level").value = 3
    part(dialog, "Delay (ms)").value = " 0 "
    part(dialog, "Log directory").value = str(tmp_path)
    line = f'tfprof.capture_remote(["a:1", "b:2", "c:3"], duration_ms=2000, host_tracer_level=3, delay_ms=0, logdir="{tmp_path}")'
    assert dialog.code == line
    assert line in said(dialog)
    part(dialog, "Attempts").value = 0
    assert dialog.code == ""
    assert line not in said(dialog)


@pytest.mark.parametrize(
    ("label", "value", "arguments"),
    [
        ("Duration (ms)", 0, {"duration_ms": 0}),
        ("Attempts", 101, {"num_tracing_attempts": 101}),
        ("Delay (ms)", "-1", {"delay_ms": -1}),
        ("Delay (ms)", "soon", {"delay_ms": "soon"}),
        ("Workers", "a:1\nhost", {"addresses": "a:1\nhost"}),
        ("Workers", "<b>", {"addresses": "<b>"}),
        ("Log directory", "/dev/null/runs", {"logdir": "/dev/null/runs"}),
        ("Log directory", "~nobody-of-this-name/runs", {"logdir": "~nobody-of-this-name/runs"}),
        ("Log directory", "/tmp/" + "x" * 5_000, {"logdir": "/tmp/" + "x" * 5_000}),
        ("Log directory", "\0bad", {"logdir": "\0bad"}),
    ],
)
def test_what_capture_remote_refuses_is_told_beside_the_field(
    made: list[CaptureDialog], label: str, value: Any, arguments: dict[str, Any]
) -> None:
    with pytest.raises((TypeError, ValueError, CaptureError)) as raised:
        tfprof.capture_remote(**{"addresses": "127.0.0.1:1", **arguments})
    made.append(dialog := capture_dialog("127.0.0.1:1"))
    part(dialog, label).value = value
    (field,) = (one for one in family(dialog) if part(dialog, label) in getattr(one, "children", ()))
    hint = field.children[1].value
    assert '<span role="alert">' in hint
    assert str(raised.value) in unescape(hint)
    assert "<b>" not in hint
    part(dialog, "Capture").click()
    assert not dialog.is_capturing
    assert "Nothing was sent" in said(dialog)
    with pytest.raises(ValueError) as again:
        dialog.capture()
    assert str(raised.value) in str(again.value)


def test_no_address_is_told_when_the_button_is_pressed(made: list[CaptureDialog]) -> None:
    made.append(dialog := capture_dialog())
    part(dialog, "Capture").click()
    assert "There is no worker to capture" in said(dialog)
    part(dialog, "Workers").value = "a:1"
    assert "There is no worker to capture" not in said(dialog)


def test_a_token_is_in_no_state_of_a_widget_and_not_in_the_line_of_code(made: list[CaptureDialog]) -> None:
    made.append(dialog := capture_dialog("a:1", token="s3cret"))
    assert dialog.code == 'tfprof.capture_remote(["a:1"], duration_ms=2000, token=token)'
    states = [json.dumps(one.get_state(), default=repr) for one in family(dialog)]
    assert any("token=token" in state for state in states)
    assert not any("s3cret" in state for state in states)
    with pytest.raises(ValueError, match="empty"):
        capture_dialog("a:1", token="")


@pytest.mark.parametrize(("name", "value"), [("duration_ms", 0), ("host_tracer_level", 4), ("addresses", "host")])
def test_an_argument_that_means_nothing_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=str(value)):
        capture_dialog(**{name: value})


# ---- captures ---------------------------------------------------------------------------------------------------------


@pytest.mark.tensorflow
def test_a_capture_shows_its_profile_and_who_did_not_answer(
    workers: tuple[TrainingProcess, TrainingProcess], made: list[CaptureDialog], tmp_path: Path
) -> None:
    addresses = [one.address for one in workers]
    dead = nobody()
    made.append(dialog := capture_dialog([*addresses, dead], duration_ms=500, logdir=tmp_path))
    meanwhile = pressed(dialog)
    assert any("0 of 3 workers answered" in one for one in meanwhile)
    assert "2 of 3 workers answered, 1 failed; 0.5 s captured." in said(dialog)
    (row,) = (row for row in said(dialog).split("<tr") if f"<td><code>{dead}</code>" in row)
    assert "it cannot be reached" in row
    assert said(dialog).count("KiB") == 2
    assert set(dialog.profile.steps["host"]) == {one.replace(":", "_") for one in addresses}
    assert shown(dialog) == [dialog.profile.dashboard()]
    assert len(tfprof.load(tmp_path).steps) == len(dialog.profile.steps)
    assert not part(dialog, "Capture").disabled
    assert part(dialog, "Cancel").disabled


@pytest.mark.tensorflow
def test_workers_that_ask_for_a_token_get_it(made: list[CaptureDialog]) -> None:
    worker = TrainingProcess("own", "s3cret")
    try:
        for token, state in (("s3cret", "done"), ("other", "failed")):
            made.append(dialog := capture_dialog(worker.address, duration_ms=300, token=token))
            told = pressed(dialog)
            assert (dialog.profile is not None) == (state == "done"), told
        assert "is not the one that it asks for" in said(dialog)
    finally:
        worker.end()


@pytest.mark.tensorflow
def test_captures_after_each_other_are_all_kept_and_the_last_is_shown(
    workers: tuple[TrainingProcess, TrainingProcess], made: list[CaptureDialog]
) -> None:
    made.append(dialog := capture_dialog(workers[0].address, duration_ms=200))
    pressed(dialog)
    (first,) = shown(dialog)
    for _ in range(2):
        pressed(dialog)
    assert len({id(profile) for profile in dialog.profiles}) == 3
    assert dialog.profile is dialog.profiles[-1]
    assert shown(dialog) == [dialog.profile.dashboard()]
    assert "profiles[2]" in said(dialog)
    assert first.comm is None  # nobody sees it: its widgets are closed
    assert first is dialog.profiles[0].dashboard()
    assert first.comm is not None
    assert repr(dialog) == "<CaptureDialog: 3 captures>"


def test_where_no_worker_answers_the_reasons_are_told(made: list[CaptureDialog]) -> None:
    addresses = [nobody(), nobody()]
    made.append(dialog := capture_dialog(addresses, duration_ms=100))
    pressed(dialog)
    assert "None of 2 workers sent a trace" in said(dialog)
    assert "0 of 2 workers answered, 2 failed." in said(dialog)
    assert said(dialog).count("it cannot be reached") >= 2
    assert dialog.profile is None
    assert not part(dialog, "Capture").disabled


@pytest.mark.tensorflow
@pytest.mark.nightly
def test_a_worker_that_is_busy_is_asked_again(
    workers: tuple[TrainingProcess, TrainingProcess], made: list[CaptureDialog]
) -> None:
    made.append(dialog := capture_dialog(workers[0].address, duration_ms=600_000, num_tracing_attempts=100))
    dialog.capture()
    made.append(other := capture_dialog(workers[0].address, duration_ms=100, num_tracing_attempts=2))
    while not other.wait(0) or "captured right now" not in said(other):  # until the first one has reached the worker
        pressed(other)
        assert dialog.is_capturing
    assert "another request has this process captured right now" in said(other)
    part(dialog, "Cancel").click()
    assert dialog.wait(WAIT_S)
    part(other, "Attempts").value = 100  # the worker needs a moment to hear that nobody waits for the first one
    pressed(other)
    assert other.profile is not None


@pytest.mark.tensorflow
def test_another_capture_is_refused_while_one_runs_which_can_be_cancelled(
    workers: tuple[TrainingProcess, TrainingProcess], made: list[CaptureDialog]
) -> None:
    made.append(dialog := capture_dialog(workers[0].address, duration_ms=600_000))
    dialog.capture()
    assert part(dialog, "Capture").disabled
    with pytest.raises(CaptureError, match="A capture is running"):
        dialog.capture()
    part(dialog, "Cancel").click()
    assert dialog.wait(WAIT_S)
    assert "Cancelled; nothing of it is kept." in said(dialog)
    assert dialog.profiles == ()
    part(dialog, "Duration (ms)").value = 200
    part(dialog, "Attempts").value = 100  # our server needs a moment to hear that nobody waits
    pressed(dialog)
    assert dialog.profile is not None


@pytest.mark.tensorflow
def test_closing_the_dialog_ends_its_capture_and_its_widgets(
    workers: tuple[TrainingProcess, TrainingProcess],
) -> None:
    dialog = capture_dialog(workers[1].address, duration_ms=200)
    pressed(dialog)
    profile = dialog.profile
    dialog.capture()
    widgets = family(dialog)
    dialog.close()
    assert dialog.wait(WAIT_S)
    assert n_threads() == 0
    assert [one for one in widgets if one.comm is not None] == []
    assert dialog.profiles == (profile,)
    assert profile.dashboard().comm is not None  # opened again, as it is asked for
    with pytest.raises(CaptureError, match="closed"):
        dialog.capture()


def test_whatever_fails_in_the_thread_is_told(made: list[CaptureDialog], caplog: pytest.LogCaptureFixture) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("<out of ideas>")

    given = {**DEFAULTS, "addresses": ("a:1",)}
    made.append(dialog := CaptureDialog(given, capture=failing))
    pressed(dialog)
    assert "RuntimeError: <out of ideas>" in said(dialog)
    assert not any("<out" in one.value for one in family(dialog) if isinstance(one, ipywidgets.HTML))
    assert "the capture of a:1 failed" in caplog.text
    assert not part(dialog, "Capture").disabled
