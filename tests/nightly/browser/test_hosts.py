"""Front ends that differ from JupyterLab: buffers lost on the way, outputs apart from each other, no kernel at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Frame

import tfprof_widgets as tfprof
from tests.browser.full_run import OTHER, PLAIN, write_run
from tests.browser.linked_views import FIRST_EVENT, LinkedViews
from tests.browser.widget_host import KernelSide, WidgetHost


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


def test_outputs_apart_are_linked_through_the_kernel(host: WidgetHost, prof: tfprof.Profile) -> None:
    timeline, table = host.show(prof.timeline()), host.show(prof.op_table())
    host.serve(lambda: has_drawn(timeline, "timeline") and has_drawn(table, "op_table"), "not drawn")
    LinkedViews(timeline, host.page).click_event(FIRST_EVENT)
    there = LinkedViews(table, host.page)
    host.serve(lambda: there.is_marked(PLAIN.op), "the other output does not follow")
    assert prof.link.selection == (PLAIN.op,)


def test_two_dashboards_of_one_profile_share_what_is_selected(host: WidgetHost, prof: tfprof.Profile) -> None:
    """As when a cell is run twice, or two cells show the same profile: here in two outputs apart from each other."""
    first, second = host.show(prof.dashboard()), host.show(prof.dashboard())
    host.serve(lambda: has_drawn(first, "timeline") and has_drawn(second, "timeline"), "not drawn")
    there = LinkedViews(second, host.page)
    there.open_tab("op_table")
    LinkedViews(first, host.page).click_event(FIRST_EVENT)
    host.serve(lambda: there.is_marked(PLAIN.op), "the other dashboard does not follow")
