"""The frames of all threads, asked for while Python collects garbage."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

from tests.warm_process import run_python
from tfprof_widgets.capture.source.running_frames import running_frames

PROGRAM = """
import gc, threading
from tfprof_widgets.capture.source.running_frames import running_frames

class Graph:
    def __init__(self):
        self.itself, self.current = self, threading.local()
        self.current.stack = []

never = 1_000_000
for _ in range(300):
    gc.set_threshold(never)
    Graph()
    gc.set_threshold(1)
    running_frames()
    gc.set_threshold(never)
print("ended", gc.isenabled())
"""


def test_garbage_that_is_collected_meanwhile_stops_nobody() -> None:
    assert run_python(PROGRAM, timeout_s=60).stdout == "ended True\n"


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_as_it_was(*, is_enabled: bool) -> None:
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        frames = running_frames()
        left = gc.isenabled()
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert frames[threading.get_ident()].f_back is sys._getframe()
    assert left == is_enabled


def test_an_error_leaves_the_collector_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise RuntimeError("an audit hook refuses")

    monkeypatch.setattr(sys, "_current_frames", refuse)
    with pytest.raises(RuntimeError, match="refuses"):
        running_frames()
    assert gc.isenabled()
