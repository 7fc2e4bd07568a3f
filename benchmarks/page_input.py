"""Moves of a hand -> input events of a page, sent by the DevTools protocol at the pace of the display, unanswered.

Playwright waits for each event to be handled, two frames long; a hand does not wait. The page is reached by the port
that `--remote-debugging-port` opens beside Playwright's own pipe.
"""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from typing import Any

import websocket

FRAME_S = 1 / 60
CONTROL = 2
MAX_WAITING = 6
"""Events that the page has not handled yet; a browser's own queue is kept as short by the speed of a hand."""
_KEY_CODES = {"Enter": 13, "Escape": 27}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def debugging(port: int) -> list[str]:
    """What Chromium must be started with."""
    return [f"--remote-debugging-port={port}", "--remote-allow-origins=*"]


class Hand:
    """Mouse and keyboard of one page."""

    def __init__(self, port: int, url: str, at: tuple[float, float]) -> None:
        self.at = at
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page" and one["url"] == url]
        self._wire = websocket.create_connection(pages[0]["webSocketDebuggerUrl"], timeout=60)
        self._n_sent = self._n_handled = 0
        self._next = 0.0

    def close(self) -> None:
        self._wire.close()

    def start(self) -> None:
        """Begin to count time."""
        self._next = time.perf_counter()

    def wheel(self, down_px: float, *, modifiers: int = 0) -> None:
        x, y = self.at
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=down_px, modifiers=modifiers)

    def move(self, x: float, y: float, *, is_pressed: bool = False) -> None:
        self._mouse("mouseMoved", x, y, button="left" if is_pressed else "none", buttons=int(is_pressed))

    def press(self, x: float, y: float) -> None:
        self._mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)

    def release(self, x: float, y: float) -> None:
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key: str) -> None:
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = _KEY_CODES.get(key, ord(key.upper()[0]))
        common = {"key": key, "windowsVirtualKeyCode": code}
        self._send("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **common})
        self._send("Input.dispatchKeyEvent", {"type": "keyUp", **common})
        self.wait(1)

    def wait(self, n_frames: int) -> None:
        """Until so many display frames after the last input; at once when the page was slower."""
        self._next = max(self._next + n_frames * FRAME_S, time.perf_counter())
        time.sleep(max(0.0, self._next - time.perf_counter()))

    def rest(self) -> None:
        """Until the page has handled everything."""
        while self._n_handled < self._n_sent:
            self._hear()

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self._send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})
        self.wait(1)

    def _send(self, method: str, parameters: dict[str, Any]) -> None:
        while self._n_sent - self._n_handled >= MAX_WAITING:
            self._hear()
        self._n_sent += 1
        self._wire.send(json.dumps({"id": self._n_sent, "method": method, "params": parameters}))

    def _hear(self) -> None:
        answer = json.loads(self._wire.recv())
        if "error" in answer:
            raise RuntimeError(f"the page refused an input event: {answer['error']}")
        self._n_handled += "id" in answer
