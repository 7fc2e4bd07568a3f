"""A kernel that is restarted, within a capture or after one, leaves it to the next kernel."""

from __future__ import annotations

import json
import os
import queue
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

pytestmark = pytest.mark.tensorflow

SET_UP = """
import json, tensorflow as tf, tfprof_widgets as tfprof
def some_steps(n):
    for i in range(n):
        with tfprof.step(i):
            tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
"""
ENDED = """
with tfprof.profile() as prof:
    some_steps(4)
print("ended")
"""
IN_BETWEEN = """
import time
with tfprof.profile() as running:
    some_steps(7)
    print("runs", flush=True)
    time.sleep(60)
"""
LOOK = """
import tempfile
table = tfprof.recover()
table = table[table.folder.str.startswith(tempfile.gettempdir())]  # not what other tests left elsewhere
found = [tfprof.load(folder) for folder in table.folder]
print(json.dumps([table.state.tolist(), [len(one.steps) for one in found]]))
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name="python3")
    (tmp_path / "tmp").mkdir()
    manager.start_kernel(cwd=str(tmp_path), env=os.environ | {"TMPDIR": str(tmp_path / "tmp")})
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    if manager.is_alive():
        manager.shutdown_kernel(now=True)


def printed(client: BlockingKernelClient, code: str, until: str = "") -> str:
    """What code prints, until it is done or has printed a word."""
    request = client.execute(code)
    text = ""
    end_s = time.monotonic() + 120
    while time.monotonic() < end_s:
        try:
            message: dict[str, Any] = client.get_iopub_msg(timeout=10)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "error":
            raise AssertionError("\n".join(message["content"]["traceback"]))
        text += message["content"].get("text", "")
        is_idle = message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
        if is_idle or (until and until in text):
            return text
    raise AssertionError(f"it takes too long: {text}")


def restart(manager: KernelManager, client: BlockingKernelClient) -> None:
    manager.restart_kernel()  # as JupyterLab does: a message, SIGTERM, SIGKILL
    client.wait_for_ready(timeout=60)


def test_a_restarted_kernel_finds_what_the_one_before_had_captured(
    kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path
) -> None:
    manager, client = kernel
    printed(client, SET_UP + ENDED)
    restart(manager, client)
    assert json.loads(printed(client, SET_UP + LOOK)) == [["ended"], [4]], "from an idle kernel"
    printed(client, IN_BETWEEN, until="runs")
    restart(manager, client)
    assert json.loads(printed(client, SET_UP + LOOK)) == [["ended", "ended"], [7, 4]], "from the middle of a cell"
    left = set((tmp_path / "tmp").iterdir())
    printed(client, ENDED)
    manager.shutdown_kernel()
    assert set((tmp_path / "tmp").iterdir()) <= left, "who shuts a kernel down has no use for them"
