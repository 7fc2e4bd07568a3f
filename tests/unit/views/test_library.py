"""The scripts of all views: once a kernel, and for each profile where one process serves several pages."""

from __future__ import annotations

from pathlib import Path

import ipywidgets
import pytest

from tests.builders import event, line, plane, space
from tests.fake_shell import FakeShell
from tfprof_widgets.comparing import diff
from tfprof_widgets.loading import load_profile as load
from tfprof_widgets.show import Library, referred


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    steps = [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(9)]
    (tmp_path / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    return tmp_path


def libraries(*shown: ipywidgets.Widget) -> set[Library]:
    return {each for widget in shown for each in referred(widget) if isinstance(each, Library)}


def test_two_visitors_of_one_process_share_no_model(folder: Path) -> None:
    """As `marimo run` serves them: what one page was told of, the other never hears of."""
    first, second = load(folder), load(folder)
    assert libraries(first.dashboard(), first.op_table()).isdisjoint(libraries(second.dashboard()))


def test_the_views_of_one_profile_share_their_scripts(folder: Path) -> None:
    prof = load(folder)
    found = libraries(prof.dashboard(), prof.op_table(), prof.step_chart(), prof.memory_timeline())
    assert sorted(each.name for each in found) == ["bokeh", "tfprof_widgets"]


def test_all_profiles_of_a_kernel_share_their_scripts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    profiles = [load(folder) for _ in range(2)]
    found = libraries(*(prof.dashboard() for prof in profiles), diff(*profiles).dashboard())
    assert sorted(each.name for each in found) == ["bokeh", "tfprof_widgets"]


def test_a_closed_script_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeShell().install(monkeypatch)
    before = libraries(load(folder).dashboard())
    for each in before:
        each.close()
    after = libraries(load(folder).dashboard())
    assert after.isdisjoint(before)
    assert all(each.comm is not None for each in after)
