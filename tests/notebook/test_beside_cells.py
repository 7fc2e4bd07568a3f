"""A widget's message that comes beside a cell, as JupyterLab sends it: heard at once, and nothing of the cell is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client import BlockingKernelClient

from tests.notebook.kernels import printed, printed_by, started_kernel

SET_UP = """
import json, sys, threading, time
import ipywidgets
from tfprof_widgets.show import hear_beside_cells, is_beside_cells
heard, ended = [], []
get_ipython().events.register("post_execute", lambda: ended.append(threading.current_thread().name))
widget = ipywidgets.Widget()
def answer(_widget, message, _buffers):
    heard.append([message["n"], is_beside_cells(), is_running])
    print("of the handler")
widget.on_msg(answer)
is_running = False
"""
MESSAGES = 50
CELL = f"""
is_running, ticks = True, []
def tell():
    while is_running:
        ticks.append(len(ticks))
        print("tick", ticks[-1], flush=True)
        time.sleep(0.002)
other = threading.Thread(target=tell)
other.start()
end_s = time.monotonic() + 30
while len(heard) < {MESSAGES} and time.monotonic() < end_s:
    time.sleep(0.01)
is_running = False
other.join()
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[BlockingKernelClient]:
    with started_kernel(tmp_path) as (_, client):
        yield client


def subshell(client: BlockingKernelClient) -> str:
    request = client.session.msg("create_subshell_request", {})
    client.control_channel.send(request)
    content = client.get_control_msg(timeout=20)["content"]
    if content["status"] != "ok":
        pytest.skip("this ipykernel has no subshells")
    return str(content["subshell_id"])


def send(client: BlockingKernelClient, comm_id: str, n: int, subshell_id: str) -> None:
    data = {"method": "custom", "content": {"n": n}}
    message = client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
    message["header"]["subshell_id"] = subshell_id
    client.shell_channel.send(message)


def value(client: BlockingKernelClient, code: str) -> Any:
    return json.loads(printed(client, f"print(json.dumps({code}))"))


@pytest.mark.parametrize("is_in_the_cell", [True, False])
def test_a_message_is_heard_while_a_cell_runs_which_loses_nothing(
    client: BlockingKernelClient, is_in_the_cell: bool
) -> None:
    printed(client, SET_UP)
    comm_id, subshell_id = value(client, "widget.comm.comm_id"), subshell(client)
    if not is_in_the_cell:
        printed(client, "hear_beside_cells(widget)")
    running = client.execute(("hear_beside_cells(widget)\n" if is_in_the_cell else "") + "ended.clear()\n" + CELL)
    time.sleep(0.4)
    for n in range(MESSAGES):
        time.sleep(0.02)
        send(client, comm_id, n, subshell_id)
    ticks = [line for line in printed_by(client, running).splitlines() if line.startswith("tick")]
    assert ticks == [f"tick {i}" for i in range(value(client, "len(ticks)"))]
    assert value(client, "heard") == [[n, True, True] for n in range(MESSAGES)]
    assert value(client, "ended") == ["MainThread"] * 3, "of three cells"
    assert value(client, "is_running") is False


def test_between_cells_it_is_heard_too(client: BlockingKernelClient) -> None:
    printed(client, SET_UP + "hear_beside_cells(widget)")
    send(client, value(client, "widget.comm.comm_id"), 7, subshell(client))
    end_s = time.monotonic() + 20
    while not (heard := value(client, "heard")):
        assert time.monotonic() < end_s
        time.sleep(0.1)
    assert heard == [[7, True, False]]
    assert printed(client, "print('the next cell')") == "the next cell\n"


def test_without_a_kernel_nothing_happens() -> None:
    import ipywidgets

    from tfprof_widgets.show import hear_beside_cells

    widget = ipywidgets.Widget()
    handle = widget.comm.handle_msg
    hear_beside_cells(widget)
    assert widget.comm.handle_msg == handle
