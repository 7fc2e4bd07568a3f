"""Front ends that differ from JupyterLab: buffers lost on the way, outputs apart from each other, no kernel at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame

import tfprof_widgets as tfprof
from tests.browser.drawings import N_LARGE, large_space
from tests.browser.full_run import OTHER, PLAIN, write_run
from tests.browser.linked_views import FIRST_EVENT, LinkedViews
from tests.browser.widget_host import KernelSide, WidgetHost, saved_state, widget_host

SINGLE_VIEWS = ("timeline", "op_table", "memory_timeline", "input_graph")


@pytest.fixture
def prof(kernel: KernelSide, tmp_path: Path) -> tfprof.Profile:
    return tfprof.load(write_run(tmp_path / "full_run", PLAIN))


def has_drawn(frame: Frame, view: str) -> bool:
    """Whether a view is there with something in it and without an error."""
    root = frame.locator(f'[data-tfprof="{view}"]')
    assert frame.locator('[role="alert"]').all_inner_texts() == []
    return root.count() > 0 and (root.first.bounding_box() or {"height": 0})["height"] > 100


def test_a_dashboard_alone_in_its_frame_is_linked_while_the_kernel_is_busy(
    host: WidgetHost, prof: tfprof.Profile
) -> None:
    frame = host.show(prof.dashboard())
    LinkedViews(frame, host.page).check()
    assert prof.link.selection == ()
    host.serve(lambda: prof.link.selection == (OTHER,), lambda: f"Python has {prof.link.selection}")


@pytest.mark.parametrize("view", SINGLE_VIEWS)
def test_a_single_view_stands_alone_in_its_frame(host: WidgetHost, prof: tfprof.Profile, view: str) -> None:
    frame = host.show(getattr(prof, view)())
    host.serve(lambda: has_drawn(frame, view), f"no {view}")


def test_outputs_apart_are_linked_through_the_kernel(host: WidgetHost, prof: tfprof.Profile) -> None:
    timeline, table = host.show(prof.timeline()), host.show(prof.op_table())
    host.serve(lambda: has_drawn(timeline, "timeline") and has_drawn(table, "op_table"), "not drawn")
    LinkedViews(timeline, host.page).click_event(FIRST_EVENT)
    there = LinkedViews(table, host.page)
    host.serve(lambda: there.is_marked(PLAIN.op), "the other output does not follow")
    assert prof.link.selection == (PLAIN.op,)


def test_a_saved_dashboard_works_without_a_kernel(host: WidgetHost, prof: tfprof.Profile) -> None:
    dashboard = prof.dashboard()
    frame = host.new_output(saved=saved_state(dashboard))
    frame.evaluate("id => void window.showWidget(id)", dashboard.model_id)
    LinkedViews(frame, host.page).check()
    assert host.asked == []


@pytest.mark.parametrize("drops_buffers", [False, True], ids=["binary", "buffers dropped"])
def test_every_event_and_every_stat_arrives(
    browser: Browser, kernel: KernelSide, tmp_path: Path, drops_buffers: bool
) -> None:
    (tmp_path / "large.xplane.pb").write_bytes(large_space())
    prof = tfprof.load(tmp_path / "large.xplane.pb")
    data = prof.timeline().data
    # As for a trace of which a notebook keeps nothing more.
    data.parts, data.n_left_out = data.parts[: len(data.payload.first)], len(data.payload.keys)
    with widget_host(browser, kernel, drops_buffers=drops_buffers) as host:
        frame = host.show(prof.dashboard())
        about = frame.locator(".tl-about")
        about.filter(has_text=f"0 of {N_LARGE:,} events").wait_for()
        host.serve(lambda: f"· {N_LARGE:,} events" in about.inner_text(), lambda: f"still {about.inner_text()}")

        def asked() -> list[dict[str, Any]]:
            return [message["content"] for message in host.asked if message["method"] == "custom"]

        def missing() -> set[str]:
            return set(data.payload.keys) - {key for content in asked() for key in content.get("keys", ())}

        host.serve(lambda: not missing(), lambda: f"never asked for {missing()}")
        assert {content["encoding"] for content in asked()} == ({"binary", "base64"} if drops_buffers else {"binary"})
        assert (host.n_dropped > 0) == drops_buffers
        assert host.refused == []
        assert host.errors == []


def test_two_dashboards_of_one_profile_share_what_is_selected(host: WidgetHost, prof: tfprof.Profile) -> None:
    """As when a cell is run twice, or two cells show the same profile: here in two outputs apart from each other."""
    first, second = host.show(prof.dashboard()), host.show(prof.dashboard())
    host.serve(lambda: has_drawn(first, "timeline") and has_drawn(second, "timeline"), "not drawn")
    there = LinkedViews(second, host.page)
    there.open_tab("op_table")
    LinkedViews(first, host.page).click_event(FIRST_EVENT)
    host.serve(lambda: there.is_marked(PLAIN.op), "the other dashboard does not follow")
