"""A profile that outlives its kernel: the page of `to_html`. Reopened notebooks: `test_reopened.py`."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

import tfprof_widgets as tfprof
from tests.browser.drawings import N_LARGE, large_space
from tests.browser.full_run import PLAIN, write_run
from tests.browser.harness import poll
from tests.browser.linked_views import LinkedViews


def test_an_exported_page_works_from_the_disk_and_asks_for_nothing(offline: Page, tmp_path: Path) -> None:
    prof = tfprof.load(write_run(tmp_path / "run", PLAIN))
    failures: list[str] = []
    offline.on("pageerror", lambda error: failures.append(str(error)))
    offline.goto(prof.to_html(tmp_path / "page.html").as_uri())
    LinkedViews(offline, offline).check()
    assert offline.get_by_role("combobox", name="Host", exact=True).count() == 0, "there is one host"
    assert offline.refused == []
    assert failures == []


def test_a_capped_page_says_what_it_lacks_and_how_to_keep_all(offline: Page, tmp_path: Path) -> None:
    (tmp_path / "large.xplane.pb").write_bytes(large_space())
    page = tfprof.load(tmp_path / "large.xplane.pb").to_html(tmp_path / "page.html", embed=300_000)
    assert page.stat().st_size < 4 * 2**20
    offline.goto(page.as_uri())
    about = offline.locator(".tl-about")
    about.wait_for()
    poll(lambda: f" of {N_LARGE:,} events" in about.inner_text(), lambda: about.inner_text())
    limits = offline.locator("details.note")
    assert "in Timeline" in limits.inner_text()
    limits.locator("summary").click()
    assert 'embed="full"' in limits.inner_text()
    assert offline.locator('[role="alert"]').all_inner_texts() == []
