"""What a reader sees first needs no source map: to read one takes seconds, in which graphs are looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.fake_shell import FakeShell
from tfprof_widgets.analysis.results import Results
from tfprof_widgets.trace.source_map import empty_source_map
from tfprof_widgets.views.payload.payload import build_payload
from tfprof_widgets.views.payload.wire import unpack

WIDGET = "application/vnd.jupyter.widget-view+json"
NOT_YET = {"advice", "source_lines", "source_samples", "source_files", "layers", "scopes", "op_places", "structure"}


class Unread(Results):
    """Results whose source map nobody has read yet."""

    noted: dict[str, str] = {}  # type: ignore[assignment] # noqa: RUF012 - what the capture noted of the machine is here
    n_reads = 0

    @property
    def source_map(self) -> Any:  # type: ignore[override]
        type(self).n_reads += 1
        return empty_source_map()

    @source_map.setter
    def source_map(self, _: Any) -> None:
        pass


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Callable[[tfprof.Profile], Unread]:
    monkeypatch.setattr(Unread, "n_reads", 0)
    return lambda profile: Unread(profile.trace)


@pytest.mark.parametrize("kind", ["keras_fit", "eager_loop", "xla_fit", "h100_cnn_input"])
def test_the_first_pack_is_made_without_it(
    capture_of: Callable[[str], Path], results: Callable[[tfprof.Profile], Unread], kind: str
) -> None:
    unread = results(tfprof.load(capture_of(kind)))
    payload = build_payload(unread, title="run", notices=unread.notices)
    assert Unread.n_reads == 0
    overview = unpack(payload.overview)[0]["overview"]
    assert overview["verdict"] == unread.overview.verdict
    assert {"steps", "ops"} <= payload.is_here
    assert not NOT_YET & payload.is_here
    assert {f"{name}:0" for name in NOT_YET} <= set(payload.late_keys)


def test_they_come_with_the_first_pack_of_a_short_capture_where_it_was_read(keras_xplane: Path) -> None:
    payload = build_payload(Results(tfprof.load(keras_xplane).trace, empty_source_map()))
    assert {"advice", "source_lines", "layers", "op_places"} <= payload.is_here


@pytest.fixture
def profile(keras_xplane: Path, results: Callable[[tfprof.Profile], Unread]) -> tfprof.Profile:
    profile = tfprof.load(keras_xplane)
    profile.run.results = results(profile)
    return profile


def test_a_cell_shows_the_views_without_it_and_what_needs_it_when_it_ends(
    profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = FakeShell().install(monkeypatch)
    shown = profile._repr_mimebundle_()
    assert Unread.n_reads == 0
    assert set(shown) == {WIDGET, "text/plain"}
    assert shown["text/plain"] == repr(profile)
    shell.end_cell()
    assert Unread.n_reads > 0
    (fallback,) = (one for one in shell.published if WIDGET in one)
    assert fallback["text/html"].startswith("<iframe srcdoc=")
    assert fallback["text/plain"] == profile.summary()
    assert fallback[WIDGET]["model_id"] != shown[WIDGET]["model_id"]


def test_what_no_cell_shows_has_all_at_once(profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch).message = {"header": {"msg_type": "comm_msg"}}
    shown = profile._repr_mimebundle_()
    assert set(shown) == {WIDGET, "text/html", "text/plain"}
    assert shown["text/plain"] == profile.summary()


def test_a_fallback_that_fails_leaves_the_views(
    profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shell = FakeShell().install(monkeypatch)
    monkeypatch.setattr("tfprof_widgets.views.page.pages.html_page", lambda *_, **__: 1 / 0)
    assert WIDGET in profile._repr_mimebundle_()
    shell.end_cell()
    assert not any(WIDGET in one for one in shell.published)
    assert "front ends without widgets" in caplog.text


def test_views_that_cannot_be_made_leave_the_text(profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    monkeypatch.setattr(profile, "dashboard", lambda: 1 / 0)
    shown = profile._repr_mimebundle_()
    assert set(shown) == {"text/plain"}
    assert shown["text/plain"].startswith(profile.summary().rstrip())
    assert "the dashboard cannot be shown: ZeroDivisionError" in shown["text/plain"]
