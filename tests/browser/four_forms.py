"""One profile -> the four forms that a reader meets it in: live, in a saved notebook, as a small page, as a full page."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Browser

import tfprof_widgets as tfprof
from tests.browser.harness import poll
from tests.browser.screen import AT_START, Screen
from tests.browser.widget_host import KernelSide, saved_state, widget_host

WIDTH_PX, HEIGHT_PX = 1300, 950
"""Of every form: texts are cut where there is no room."""
NO_MARGIN = "document.body.style.margin = 0"


class FourForms:
    """A profile and where it is shown.

    Args:
        browser: shows it.
        kernel: of this process, for the live form.
        folder: for pages.
    """

    def __init__(self, prof: tfprof.Profile, browser: Browser, kernel: KernelSide, folder: Path) -> None:
        self.prof, self.browser, self.kernel, self.folder = prof, browser, kernel, folder

    @contextlib.contextmanager
    def live(self) -> Iterator[Screen]:
        """Widgets whose kernel has sent everything."""
        with widget_host(self.browser, self.kernel) as host:
            host.context.add_init_script(AT_START)
            host.page.evaluate(NO_MARGIN)
            frame = host.show(self.prof.dashboard())

            def serve() -> bool:
                was_idle = not host._waiting and not self.kernel.sent
                host.serve(lambda: not host._waiting and not self.kernel.sent, "the kernel is asked on and on")
                return was_idle

            screen = Screen(frame, host.page, serve)
            about = frame.locator(".tl-about")
            host.serve(lambda: about.count() and _is_whole(about.inner_text()), "events did not come", timeout_s=60)
            yield screen
            assert host.errors == []

    @contextlib.contextmanager
    def saved(self) -> Iterator[Screen]:
        """A notebook that was saved with the state of its widgets and opened again, without a kernel."""
        with widget_host(self.browser, self.kernel) as host:
            host.context.add_init_script(AT_START)
            host.page.evaluate(NO_MARGIN)
            dashboard = self.prof.dashboard()
            frame = host.new_output(saved=saved_state(dashboard))
            frame.evaluate("id => void window.showWidget(id)", dashboard.model_id)
            frame.locator(".tl-about").wait_for()
            yield Screen(frame, host.page)
            assert host.errors == []

    @contextlib.contextmanager
    def page(self) -> Iterator[Screen]:
        """A page with what pages hold by default."""
        with self._shown(self.prof.to_html(self.folder / "page.html")) as screen:
            yield screen

    @contextlib.contextmanager
    def full(self) -> Iterator[Screen]:
        """A page that holds everything."""
        with self._shown(self.prof.to_html(self.folder / "full.html", embed="full")) as screen:
            about = screen.place.locator(".tl-about")
            poll(lambda: _is_whole(about.inner_text()), lambda: about.inner_text())
            yield screen

    @contextlib.contextmanager
    def _shown(self, path: Path) -> Iterator[Screen]:
        context = self.browser.new_context(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        try:
            context.add_init_script(AT_START)
            page = context.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(path.as_uri())
            page.evaluate(NO_MARGIN)
            page.locator(".tl-about").wait_for()
            yield Screen(page, page)
            assert errors == []
        finally:
            context.close()

    @property
    def all(self) -> dict[str, Callable[[], contextlib.AbstractContextManager[Screen]]]:
        """By name, the live one first."""
        return {"live": self.live, "saved notebook": self.saved, "page": self.page, "full page": self.full}


def _is_whole(about: str) -> bool:
    """Whether the toolbar of the timeline says that all events are here: "· 30,679 events"."""
    return "event" in about and not any(word in about for word in ("loading", "waiting", "in this page"))
