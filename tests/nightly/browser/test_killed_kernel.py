"""A training whose kernel is killed -> what the page and the file keep of it."""

from __future__ import annotations

import os
import re
import signal
import time
from functools import partial

import numpy as np
import pytest
from playwright.sync_api import Browser

import tfprof_widgets as tfprof
from tests.browser.harness import Server, opened, poll
from tests.browser.test_live_training import BY_MAGIC, n_steps, training
from tfprof_widgets.loading import WatchedRun


@pytest.mark.tensorflow
def test_of_a_kernel_that_is_killed_the_page_and_the_file_keep_what_there_was(
    browser: Browser, lab_server: Server
) -> None:
    # In a page of its own: JupyterLab puts a dialog about the kernel over whatever it shows next.
    with training(partial(opened, browser, lab_server), lab_server, BY_MAGIC) as notebook:
        poll(lambda: n_steps(notebook) > 200, "no steps")
        (found,) = (lab_server.root / "kept").iterdir()
        pid = int(re.search(r'"process_id": ?(\d+)', (found / "tfprof.events.jsonl").read_text())[1])  # type: ignore[index]
        os.kill(pid, signal.SIGKILL)
        killed_ns = time.time_ns()
        run = tfprof.load(found)
        assert isinstance(run, WatchedRun)
        steps = run.log.steps
        assert steps["start_ns"][-1] > killed_ns - 1_500_000_000
        assert np.all(np.diff(steps["number"]) == 1)
        live = notebook.view("live")
        poll(lambda: "Not heard" in live.inner_text(), lambda: live.inner_text(), timeout_s=30)
        assert n_steps(notebook) > len(steps) - 200
        notebook.screenshot("live-lab-killed")
        assert live.locator("canvas").first.is_visible()
