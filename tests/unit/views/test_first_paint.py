"""What a reader sees first needs no source map: to read one takes seconds, in which graphs are looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.fake_shell import FakeShell
from tests.packs import unpack
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.show import build_payload
from tfprof_widgets.trace import SourceMap, empty_source_map

WIDGET = "application/vnd.jupyter.widget-view+json"
NOT_YET = {"advice", "source_lines", "source_samples", "source_files", "layers", "scopes", "op_places", "structure"}


class Unread:
    """A program whose source map nobody has read yet."""

    def __init__(self) -> None:
        self.n_reads = 0
        self.facts = empty_source_map().facts

    def read(self) -> SourceMap:
        self.n_reads += 1
        return empty_source_map()


@pytest.fixture
def program() -> Unread:
    return Unread()


@pytest.mark.parametrize("kind", ["keras_fit", "eager_loop", "xla_fit", "h100_cnn_input"])
def test_the_first_pack_is_made_without_it(capture_of: Callable[[str], Path], program: Unread, kind: str) -> None:
    results = Analysis(tfprof.load(capture_of(kind)).trace, program)
    payload = build_payload(results, title="run")
    assert program.n_reads == 0
    overview = unpack(payload.overview)[0]["overview"]
    assert overview["verdict"] == results.overview.verdict
    assert {"steps", "ops"} <= payload.is_here
    assert not NOT_YET & payload.is_here
    assert {f"{name}:0" for name in NOT_YET} <= set(payload.late_keys)


@pytest.fixture
def profile(keras_xplane: Path, program: Unread) -> tfprof.Profile:
    profile = tfprof.load(keras_xplane)
    profile.run.results = Analysis(profile.trace, program)
    return profile


def test_a_cell_shows_the_views_without_it_and_what_needs_it_when_it_ends(
    profile: tfprof.Profile, program: Unread, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = FakeShell().install(monkeypatch)
    shown = profile._repr_mimebundle_()
    assert program.n_reads == 0
    assert set(shown) == {WIDGET, "text/plain"}
    assert shown["text/plain"] == repr(profile)
    shell.end_cell()
    assert program.n_reads == 1
    (fallback,) = (one for one in shell.published if one["text/plain"])
    assert set(fallback) == {"text/html", "text/plain"}
    assert profile.overview.verdict in fallback["text/html"]
    assert fallback["text/plain"] == profile.text()


def test_what_a_cell_captures_goes_where_its_view_went(
    profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = FakeShell().install(monkeypatch)
    captured = shell.published
    profile._repr_mimebundle_()
    shell.display_pub = FakeShell().display_pub  # `%%capture` is over
    shell.end_cell()
    assert any(one["text/plain"] for one in captured)


def test_what_no_cell_shows_has_all_at_once(profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch).message = {"header": {"msg_type": "comm_msg"}}
    shown = profile._repr_mimebundle_()
    assert set(shown) == {WIDGET, "text/html", "text/plain"}
    assert shown["text/plain"] == profile.text()


def test_a_fallback_that_fails_leaves_the_views(
    profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shell = FakeShell().install(monkeypatch)
    monkeypatch.setattr("tfprof_widgets.show.page.html_page", lambda *_, **__: 1 / 0)
    assert WIDGET in profile._repr_mimebundle_()
    shell.end_cell()
    assert not any(one["text/plain"] for one in shell.published)
    assert "what stands for a view" in caplog.text


def test_views_that_cannot_be_made_leave_the_text(profile: tfprof.Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    monkeypatch.setattr(profile, "dashboard", lambda: 1 / 0)
    shown = profile._repr_mimebundle_()
    assert set(shown) == {"text/plain"}
    assert shown["text/plain"].startswith(profile.text().rstrip())
    assert "the dashboard cannot be shown: ZeroDivisionError" in shown["text/plain"]
