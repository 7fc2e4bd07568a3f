"""The servers and the Chromium of the tests in `tests/browser`."""

from __future__ import annotations

from tests.browser.conftest import (  # noqa: F401 -- fixtures
    browser,
    chromium_path,
    host,
    kernel,
    lab_server,
    notebook_server,
    offline,
    open_lab,
    open_notebook,
)
