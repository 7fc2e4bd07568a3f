"""The line that tells how far a capture is: what a kernel sends to each front end, and what a terminal shows."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from jupyter_client import BlockingKernelClient

from tests.notebook.kernels import messages, started_kernel
from tests.warm_process import run_python

pytestmark = pytest.mark.tensorflow

JUPYTERLAB = {"cellId": "a6b3", "deletedCells": [], "recordTiming": False}
VS_CODE = {"cellId": "vscode-notebook-cell:/a.ipynb#W0"}
NOBODY: dict[str, Any] = {}
"""What `nbconvert`, papermill and consoles say of a cell."""
VIEW, PAGE = "application/vnd.jupyter.widget-view+json", "text/html"

SET_UP = """
import os, time, threading
import numpy as np
import keras
import tfprof_widgets as tfprof
%load_ext tfprof_widgets
x, y = np.ones((160, 4), "f4"), np.ones((160, 1), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
def train(n_fits=3):
    for _ in range(n_fits):
        model.fit(x, y, batch_size=8, verbose=0)
        time.sleep(0.4)  # longer than from one look at the capture to the next
train(1)
"""


@dataclass(frozen=True)
class Sent:
    """What a cell sent, in order."""

    displays: list[dict[str, Any]]
    streams: dict[str, str]
    error: str

    def lines(self, number: int = 0) -> list[str]:
        """What the line said that was shown as the n-th with an id."""
        ids = list(dict.fromkeys(one["id"] for one in self.displays if one["id"]))
        return [one["text"] for one in self.displays if one["id"] == ids[number] and VIEW not in one["data"]]

    @property
    def dashboards(self) -> list[dict[str, Any]]:
        return [one for one in self.displays if VIEW in one["data"] and PAGE not in one["data"]]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingKernelClient]:
    with started_kernel(tmp_path_factory.mktemp("kernel")) as (_, client):
        assert run(client, SET_UP).error == ""
        yield client


def run(client: BlockingKernelClient, code: str, metadata: dict[str, Any] = JUPYTERLAB) -> Sent:
    """Run a cell as a front end that sends this with it."""
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    request = client.session.msg("execute_request", content, metadata=metadata)
    client.shell_channel.send(request)
    sent = Sent([], {"stdout": "", "stderr": ""}, "")
    error = ""
    for message in messages(client, request["header"]["msg_id"]):
        kind, content = message["msg_type"], message["content"]
        if kind in ("display_data", "update_display_data"):
            data, place = content["data"], content["transient"].get("display_id", "")
            text = {"text": data["text/plain"], "id": place, "is_update": kind == "update_display_data"}
            sent.displays.append(text | {"data": data})
        elif kind == "stream":
            sent.streams[content["name"]] += content["text"]
        elif kind == "error":
            error = content["ename"]
    return Sent(sent.displays, sent.streams, error)


def check_line(lines: list[str]) -> None:
    """It counts steps and seconds, and ends with reading."""
    numbers = [re.fullmatch(r"tfprof: recording, step ([\d,]+), ([\d.]+) s(, .*)?", line) for line in lines]
    counted = [int(match[1].replace(",", "")) for match in numbers if match]
    assert len(counted) > 1, lines
    assert counted == sorted(counted)
    assert counted[0] < counted[-1]
    assert lines[0].startswith("tfprof: recording")
    assert "tfprof: reading" in lines


def check_fallback(sent: Sent) -> None:
    """What stands for the dashboard where that is missing is one output, behind all others."""
    (fallback,) = (one for one in sent.displays if one["text"] and PAGE in one["data"])
    assert fallback is sent.displays[-1]
    assert (fallback["is_update"], fallback["id"]) == (False, "")
    assert fallback["text"].startswith("tfprof profile\n")
    assert VIEW not in fallback["data"]
    assert 'data-page="' in fallback["data"][PAGE]


def test_in_jupyterlab_the_dashboard_takes_the_place_of_the_line(client: BlockingKernelClient) -> None:
    sent = run(client, "%%tfprofile\ntrain()\nprint('trained')")
    check_line(sent.lines())
    (dashboard,) = sent.dashboards
    assert (dashboard["is_update"], dashboard["id"]) == (True, sent.displays[0]["id"])
    assert [one["is_update"] for one in sent.displays if one["id"]].count(False) == 1
    check_fallback(sent)
    assert sent.streams == {"stdout": "trained\n", "stderr": ""}


def test_in_vs_code_it_stands_below_what_the_line_says_at_the_end(client: BlockingKernelClient) -> None:
    sent = run(client, "%%tfprofile\ntrain()", VS_CODE)
    check_line(sent.lines()[:-1])
    assert sent.lines()[-1].startswith("tfprof: recorded ")
    (dashboard,) = sent.dashboards
    assert (dashboard["is_update"], dashboard["id"]) == (False, "")
    check_fallback(sent)


def test_where_nobody_looks_there_is_no_line(client: BlockingKernelClient) -> None:
    sent = run(client, "%%tfprofile\ntrain(1)", NOBODY)
    assert [one["id"] for one in sent.displays] == [""] * len(sent.displays)
    assert len(sent.dashboards) == 1
    check_fallback(sent)


def test_what_takes_all_outputs_takes_no_line(client: BlockingKernelClient) -> None:
    assert run(client, "%%capture got\n%tfprofile train(1)").displays == []
    sent = run(client, "print([output.data['text/plain'][:14] for output in got.outputs])")
    assert sent.streams["stdout"] == "['<Profile profi', '', 'tfprof profile']\n"


def test_a_block_says_at_the_end_what_it_recorded(client: BlockingKernelClient) -> None:
    sent = run(client, "with tfprof.profile(steps=range(5, 10)) as prof:\n    train()")
    lines = sent.lines()
    assert lines[0] == "tfprof: waiting for step 5"
    assert any(line.startswith("tfprof: no more steps selected, at step ") for line in lines)
    assert re.fullmatch(r"tfprof: recorded 5 steps, [\d.]+ s, .* .iB", lines[-1])
    assert sent.dashboards == []


def test_a_block_that_met_nothing_says_so(client: BlockingKernelClient) -> None:
    lines = run(client, "with tfprof.profile(steps=[10_000]):\n    train(0)").lines()
    assert lines[-1].startswith("tfprof: nothing was captured. No step met steps=[10000]")


@pytest.mark.parametrize(
    ("block", "error"), [("with tfprof.profile():", "KeyError"), ("%%tfprofile\nif True:", "KeyboardInterrupt")]
)
def test_a_block_that_fails_shows_what_was_captured_in_the_place(
    client: BlockingKernelClient, block: str, error: str
) -> None:
    sent = run(client, f"{block}\n    train(1)\n    raise {error}")
    assert sent.error == error
    (dashboard,) = sent.dashboards
    assert dashboard["id"] == sent.displays[0]["id"]
    check_fallback(sent)


def test_two_captures_in_a_cell_have_a_line_each_and_leave_no_thread(client: BlockingKernelClient) -> None:
    before = run(client, "print(threading.active_count())").streams["stdout"]
    twice = "for _ in range(2):\n    with tfprof.profile():\n        train(1)\nprint(threading.active_count())"
    sent = run(client, twice)
    assert [sent.lines(number)[-1][:16] for number in range(2)] == ["tfprof: recorded"] * 2
    assert sent.streams["stdout"] == before


def test_a_cell_that_clears_its_output_gets_no_line_before_the_end(client: BlockingKernelClient) -> None:
    clearing = """%%tfprofile
from IPython.display import clear_output
clear_output(wait=True)
train(2)"""
    sent = run(client, clearing)
    assert len(sent.lines(0)) == 1
    assert sent.lines(1) == ["tfprof: reading"]
    assert sent.dashboards[0]["id"] != sent.displays[0]["id"]


PROGRAM = """
import time, sys
import numpy as np
import keras
import tfprof_widgets as tfprof
x, y = np.ones((160, 4), "f4"), np.ones((160, 1), "f4")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
print("before", file=sys.stderr)
with tfprof.profile() as prof:
    model.fit(x, y, batch_size=8, verbose=0)
    time.sleep(0.6)
    print("trained")
    time.sleep(0.6)
print("steps:", len(prof.steps))
"""


ON_TERMINAL = f"""
import os, pty, sys
child, terminal = pty.fork()
if not child:
    sys.stdout.reconfigure(line_buffering=True)
    exec({PROGRAM!r})
    os._exit(0)
try:
    while content := os.read(terminal, 65536):
        os.write(1, content)
except OSError:  # the other end is closed
    pass
os.waitpid(child, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a program with TensorFlow is forked, which is safe on Linux only")
def test_a_terminal_shows_one_line_that_is_gone_at_the_end() -> None:
    text = run_python(ON_TERMINAL).stdout.partition("before\r\n")[2]
    assert re.search(r"\rtfprof: recording, step 20, [\d.]+ s", text), text
    assert "\rtfprof: reading" in text
    # What stays of each line: what was written last in each column.
    lines = []
    for line in text.split("\r\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    assert lines == ["trained", "steps: 20", ""]


def test_a_program_without_a_terminal_writes_nothing() -> None:
    done = run_python(PROGRAM)
    assert (done.stdout, done.stderr) == ("trained\nsteps: 20\n", "before\n")
