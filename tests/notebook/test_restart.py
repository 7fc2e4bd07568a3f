"""A kernel that is restarted, within a capture or after one, leaves it to the next kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

from tests.notebook.kernels import printed, started_kernel

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


def restart(manager: KernelManager, client: BlockingKernelClient) -> None:
    manager.restart_kernel()  # as JupyterLab does: a message, SIGTERM, SIGKILL
    client.wait_for_ready(timeout=60)


def test_a_restarted_kernel_finds_what_the_one_before_had_captured(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    with started_kernel(tmp_path, TMPDIR=str(tmp_path / "tmp")) as (manager, client):
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
