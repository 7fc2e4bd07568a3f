"""A saved notebook holds a profile once: in the page of an output, or in the state of its widgets; never in neither."""

from __future__ import annotations

import re
from typing import Any

import ipywidgets
import pytest

from tests.builders import event, line, plane, space
from tests.fake_shell import FakeShell
from tfprof_widgets.loading import load
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import KeptOnce, Library, TraceData, shared_by


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> FakeShell:
    """Of a kernel that has shown nothing yet."""
    return FakeShell().install(monkeypatch)


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What front ends, and so notebooks, have of the state of each model since it was made."""
    found: dict[str, dict[str, Any]] = {}
    send = KeptOnce._send

    def record(model: KeptOnce, message: dict[str, Any], buffers: Any = None) -> None:
        if message.get("method") == "update":
            found.setdefault(model.model_id, {}).update(message["state"])
        send(model, message, buffers)

    monkeypatch.setattr(KeptOnce, "_send", record)
    return found


@pytest.fixture
def prof(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("run")
    steps = [event("train", 10 * i, 9, _r=1, step_num=i) for i in range(9)]
    (folder / "host.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *steps))))
    return load(folder)


def state_of(model: KeptOnce, saved: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {**model.get_state(), **saved.get(model.model_id, {})}


def is_whole(model: KeptOnce, saved: dict[str, dict[str, Any]]) -> bool:
    state = state_of(model, saved)
    return all(state[name] == getattr(model, name) for name in model.large)


def in_cell(shell: FakeShell, number: int, show: Any) -> None:
    shell.message = {
        "header": {"msg_type": "execute_request", "msg_id": str(number)},
        "metadata": {"cellId": str(number)},
    }
    show._repr_mimebundle_()
    shell.end_cell()


def test_what_the_page_of_an_output_holds_leaves_the_state_and_stays_in_python(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    models = shared_by(prof.dashboard())
    assert sorted(type(model).__name__ for model in models) == ["Library", "Library", "TraceData"]
    (page,) = [one["text/html"] for one in shell.published if 'data-page="' in one["text/html"]]
    for model in models:
        assert [state_of(model, saved)[name] for name in model.large] == [
            type(getattr(model, name))() for name in model.large
        ]
        assert model.model_id in page
        assert not isinstance(model, Library) or model.source in page
        # A front end that asks the kernel gets everything.
        assert model.get_state()[model.large[0]] == getattr(model, model.large[0]) != ""


def test_a_view_without_a_page_keeps_the_state_whole_whatever_comes_first(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    in_cell(shell, 2, prof.timeline())
    shared = shared_by(prof.timeline())
    assert len(shared) == 2
    assert all(is_whole(model, saved) for model in shared)
    in_cell(shell, 3, prof)
    assert all(is_whole(model, saved) for model in shared)


def test_a_page_that_could_not_be_made_takes_nothing_out(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prof, "_page", lambda *_: 1 / 0)
    in_cell(shell, 1, prof)
    assert not any('data-page="' in one["text/html"] for one in shell.published)
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))


def test_a_cell_that_runs_again_shows_whole_models_until_its_page_is_there(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    prof._repr_mimebundle_()
    models = shared_by(prof.dashboard())
    assert all(is_whole(model, saved) for model in models)
    shell.end_cell()
    assert not any(is_whole(model, saved) for model in models)


def test_the_state_of_a_page_is_whole_although_that_of_the_notebook_is_not(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]], tmp_path: Any
) -> None:
    in_cell(shell, 1, prof)
    text = prof.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    (data,) = [model for model in shared_by(prof.dashboard()) if isinstance(model, TraceData)]
    assert re.search(r'"overview":"[\w+/]{100}', text)
    assert not is_whole(data, saved)


@pytest.mark.parametrize("is_in_same_cell", [True, False])
def test_what_a_box_shows_is_whole_whichever_cell_shows_the_box(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]], is_in_same_cell: bool
) -> None:
    if not is_in_same_cell:
        in_cell(shell, 1, prof)
    box = ipywidgets.HBox([ipywidgets.VBox([prof.dashboard()])])
    in_cell(shell, 2, prof if is_in_same_cell else box)
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))
    in_cell(shell, 3, prof)
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))


def test_a_view_that_an_output_widget_takes_is_whole(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    out = ipywidgets.Output()
    out.msg_id = "1"
    in_cell(shell, 1, prof)
    out.msg_id = ""
    assert all(is_whole(model, saved) for model in shared_by(prof.dashboard()))


def test_a_front_end_that_lost_the_page_gets_everything(
    prof: Profile, shell: FakeShell, saved: dict[str, dict[str, Any]]
) -> None:
    in_cell(shell, 1, prof)
    for model in shared_by(prof.dashboard()):
        model._handle_custom_msg({"kind": "whole?"}, [])
        assert is_whole(model, saved)
