"""Bookmarks: what Python holds, what travels, and what survives."""

from __future__ import annotations

import json

import pytest
import traitlets

from tests.builders import event, line, plane, space
from tfprof_widgets.profiles import Profile
from tfprof_widgets.show import Bookmark, Timeline, bookmarks_from_json, bookmarks_to_json, snapshot


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
