"""What all views have in common: the link, bookmarks, and the scripts."""

from __future__ import annotations

import json
from pathlib import Path

import ipywidgets
import pytest
import traitlets

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, space
from tests.fake_shell import FakeShell
from tfprof_widgets.comparing import diff
from tfprof_widgets.loading import load_profile as load
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import (
    Bookmark,
    Library,
    LinkModel,
    Timeline,
    bookmarks_from_json,
    bookmarks_to_json,
    built,
    library,
    referred,
    snapshot,
)


def test_a_time_range_is_two_whole_nanoseconds_or_nothing() -> None:
    link = LinkModel()
    link.time_range = (1.2, 9.8)
    assert link.time_range == (1, 10)
    link.time_range = ()
    assert link.time_range == ()


@pytest.mark.parametrize("value", [(5, 1), (1,), (1, 2, 3)])
def test_a_time_range_that_is_none_is_refused(value: tuple[int, ...]) -> None:
    with pytest.raises(traitlets.TraitError, match="t0_ns <= t1_ns"):
        LinkModel().time_range = value


MARKED = {"time_range": [0, 100], "selection": ["Conv2D"], "stretches": [10, 20, 30, 40]}
"""What a front end sends at "Show evidence"."""


@pytest.mark.parametrize(("field", "value"), [("time_range", (5, 9)), ("time_range", ()), ("selection", ("Relu",))])
def test_marks_of_evidence_go_when_python_sets_another_range_or_selection(field: str, value: tuple[object]) -> None:
    link = LinkModel()
    link.set_state(MARKED)
    assert link.stretches == (10, 20, 30, 40)
    setattr(link, field, value)
    assert (link.stretches, link.get_state("stretches")) == ((), {"stretches": ()})


def test_marks_of_evidence_stay_when_python_sets_what_is_set_or_something_else() -> None:
    link = LinkModel()
    link.set_state(MARKED)
    link.time_range, link.step = (0, 100), 1
    assert link.stretches == (10, 20, 30, 40)


def test_a_name_that_the_browser_has_cut_selects_the_op_of_the_whole_name(tmp_path: Path) -> None:
    long = [f"{'scope/' * 200}{end}:MatMul" for end in ("a", "b")]
    events = [event(name, 10 * i, 5) for i, name in enumerate(long)]
    (tmp_path / "h.xplane.pb").write_bytes(space(plane("/host:CPU", line("main", *events))))
    prof = tfprof.load(tmp_path)
    ops = sorted(set(prof.ops["name"]))
    assert len(ops) == 2
    assert min(map(len, ops)) > 1000
    payload = prof.timeline().data.payload
    cut = [name for name in payload.names.texts(0, 100) if name.endswith("characters)") and "MatMul" not in name]
    for name in ops:
        prof.select(ops=(name,))
        (sent,) = prof.link.get_state("selection")["selection"]
        assert sent in cut
        prof.select(ops=())
        prof.link.set_state({"selection": [sent]})
        assert prof.link.selection == (name,)


@pytest.fixture
def timeline(tmp_path: object) -> Timeline:
    """The timeline of a trace with one event."""
    import tfprof_widgets as tfprof

    path = tmp_path / "x.xplane.pb"  # type: ignore[operator]
    path.write_bytes(space(plane("/host:CPU", line("main", event("train", 0, 9)))))
    profile: Profile = tfprof.load(path)
    return profile.timeline()


def test_bookmarks_travel_as_text_and_come_back_the_same() -> None:
    notes = (Bookmark(5, 5, "here"), Bookmark(10, 20, 'a "range" </script>'))
    assert bookmarks_from_json(bookmarks_to_json(notes)) == notes


@pytest.mark.parametrize("text", ["", "null", "{}", "[1, null, {}]", "[", '[{"start_ns": "x", "end_ns": 1}]'])
def test_text_that_holds_no_bookmark_gives_none(text: str) -> None:
    assert bookmarks_from_json(text) == ()


def test_one_damaged_entry_does_not_lose_the_others() -> None:
    assert bookmarks_from_json('[{"start_ns": 1}, {"start_ns": 1, "end_ns": 2, "text": "kept"}]') == (
        Bookmark(1, 2, "kept"),
    )


def test_a_bookmark_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="cannot end"):
        Bookmark(2, 1)


def test_what_the_page_sets_is_read_in_the_order_of_time(timeline: Timeline) -> None:
    entries = [{"start_ns": 9, "end_ns": 9, "text": "late"}, {"start_ns": 1, "end_ns": 3, "text": "early"}]
    timeline.set_state({"bookmarks": json.dumps(entries)})
    assert timeline.bookmarks == (Bookmark(1, 3, "early"), Bookmark(9, 9, "late"))


def test_what_python_sets_is_state_of_a_saved_notebook_and_of_an_exported_page(timeline: Timeline) -> None:
    timeline.bookmarks = [Bookmark(7, 7, "look")]
    timeline.arrangement = '{"hidden": ["l0"]}'
    state = snapshot(timeline, {})[timeline.model_id]["state"]
    assert json.loads(state["bookmarks"]) == [{"start_ns": 7, "end_ns": 7, "text": "look"}]
    assert state["arrangement"] == '{"hidden": ["l0"]}'


def test_a_bookmark_can_be_given_as_its_fields(timeline: Timeline) -> None:
    timeline.bookmarks = [(5, 9, "range"), (2, 2)]
    assert timeline.bookmarks == (Bookmark(2, 2), Bookmark(5, 9, "range"))


def test_anything_but_bookmarks_is_refused(timeline: Timeline) -> None:
    for wrong in ("text", [1], None):
        with pytest.raises(traitlets.TraitError):
            timeline.bookmarks = wrong


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


def test_a_view_that_was_not_built_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(library, "STATIC", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"page\.js is missing.*make js"):
        built("page.js")
