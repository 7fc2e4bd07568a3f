"""Jupyter servers and a Chromium for the tests in this folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.browser.harness import CHROMIUM_ARGUMENTS, LOCAL, Notebook, Server, opened, opened_in, page_of
from tests.browser.listeners import WATCH_LISTENERS
from tests.browser.widget_host import KernelSide, WidgetHost, widget_host
from tools import chromium

Open = Callable[..., AbstractContextManager[Notebook]]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Asked for the items of this folder only."""
    item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium_path() -> Path:
    path = chromium.find()
    if path is None:
        sentence = "No Chromium here: `make test` gets one, or set CHROME=/path/to/chrome."
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    return path


@pytest.fixture(scope="package")
def browser(chromium_path: Path) -> Iterator[Browser]:
    # Not for the session: Playwright's event loop stays the running one of this thread, and other tests have theirs.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium_path), args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server("lab", root=tmp_path_factory.mktemp("lab"), home=tmp_path_factory.mktemp("lab-home")) as server:
        yield server


@pytest.fixture(scope="session")
def notebook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server("notebook", root=tmp_path_factory.mktemp("nb"), home=tmp_path_factory.mktemp("nb-home")) as server:
        yield server


@pytest.fixture(scope="package")
def open_lab(browser: Browser, lab_server: Server) -> Iterator[Open]:
    """`open_lab("name.ipynb")` opens a notebook of `lab_server.root` in a JupyterLab that shows one after the other."""
    with page_of(browser, at_start=WATCH_LISTENERS) as page:
        yield partial(opened_in, page, lab_server)


@pytest.fixture
def open_notebook(browser: Browser, notebook_server: Server) -> Open:
    """The same in Notebook 7."""
    return partial(opened, browser, notebook_server)


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A page that reaches nothing but this machine; `refused` of it has what it asked for."""
    with page_of(browser) as page:
        page.refused = []  # type: ignore[attr-defined]

        def answer(route: Route) -> None:
            if route.request.url.startswith(LOCAL):
                route.continue_()
            else:
                page.refused.append(route.request.url)  # type: ignore[attr-defined]
                route.abort()

        page.context.route("**/*", answer)
        yield page


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelSide]:
    """The widgets of this process, as the kernel of `host`."""
    with pytest.MonkeyPatch.context() as patch:
        yield KernelSide(patch)


@pytest.fixture
def host(browser: Browser, kernel: KernelSide) -> Iterator[WidgetHost]:
    """A page that shows them; nothing may fail in it or be fetched by it."""
    with widget_host(browser, kernel) as host:
        yield host
        assert host.refused == []
        assert host.errors == []
