"""Servers that keep silent, trickle, or never end: each is left within limits, which its message tells with what to do."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, session, space
from tests.unit.opening.served import Server
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import open_traces, places, watched_reading

SOON_S = 8.0
"""Far more than any limit that is set here."""
TRACE = space(session(), plane("/host:CPU", line("main", event("op", 1, 1))))


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as its path says."""

    n_asked = 0
    stop = threading.Event()

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        if "*" in self.path:
            self.send_error(404)
            return
        self.begin("application/octet-stream" if self.path.endswith(".pb") else "text/html")

    def do_GET(self) -> None:
        type(self).n_asked += 1
        if "*" in self.path:
            self.send_error(404)
            return
        kind = self.path.strip("/").partition("/")[0]
        getattr(self, kind)()

    def begin(self, kind: str, size: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()

    def write(self, part: Callable[[], bytes], pause_s: float = 0.0) -> None:
        while not self.stop.wait(pause_s):
            self.wfile.write(part())

    def endless(self) -> None:
        self.begin("application/octet-stream")
        self.write(lambda: b"\n\0" * 50_000)

    def huge(self) -> None:
        self.begin("application/octet-stream", 2**40)
        self.write(lambda: b"\n\0" * 50_000)

    def trickle(self) -> None:
        self.begin("application/octet-stream" if self.path.endswith(".pb") else "text/html")
        self.write(lambda: b"\n", 0.05)

    def silent(self) -> None:
        self.stop.wait()

    def stuck(self) -> None:
        self.begin("application/octet-stream", 1000)
        self.wfile.write(b"\n")
        self.wfile.flush()
        self.stop.wait()

    def links(self) -> None:
        self.page("".join(f'<a href="{number}.xplane.pb">x</a>' for number in range(200_000)))

    def deep(self) -> None:
        self.page("".join(f'<a href="{number}/">x</a>' for number in range(20)))

    def pages(self) -> None:
        self.begin("text/html")
        self.write(lambda: b'<a href="x/">x</a>' * 5000)

    def slow(self) -> None:
        self.begin("application/octet-stream", len(TRACE))
        for low in range(0, len(TRACE), 40):
            self.wfile.write(TRACE[low : low + 40])
            time.sleep(0.02)

    def page(self, text: str) -> None:
        self.begin("text/html", len(text))
        self.wfile.write(text.encode())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server of this machine, and limits that a test can wait for."""
    limits = {"SILENT_S": 0.5, "ANSWER_S": 1.5, "SLOW_S": 1.0, "MAX_FILE_BYTES": 10_000_000, "MAX_LISTINGS": 50}
    for name, value in {**limits, "MAX_LOOKING_S": 3.0}.items():
        monkeypatch.setattr(places, name, value)
    handler = type("Handler", (Handler,), {"n_asked": 0, "stop": threading.Event()})
    with Server(("127.0.0.1", 0), handler) as served:
        served.daemon_threads = True
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served_url = f"http://127.0.0.1:{served.server_port}"
        yield served_url
        assert handler.n_asked < 3 * limits["MAX_LISTINGS"]
        handler.stop.set()
        served.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("endless/h.xplane.pb", r"has more than 10,000,000 bytes, the limit\. Copy it to this machine"),
        ("huge/h.xplane.pb", r"has more than 10,000,000 bytes, the limit\. Copy it to this machine"),
        ("trickle/h.xplane.pb", r"is too slow: \d+ bytes came in 1 s, .* the limit\. Copy it to this machine"),
        ("stuck/h.xplane.pb", r"does not answer: .* the limits\. Try again later"),
        ("silent/h", r"does not answer: .* the limits\. Try again later"),
        ("silent/", r"does not answer: .* the limits\. Try again later"),
        ("trickle/", r"does not answer: .* the limits\. Try again later"),
        ("pages/", r"The listing of .* has more than 8,388,608 bytes, the limit\. Give the address of the run"),
        ("links/", r"lists 200,000 names; the limit is 20,000\. Give the address of the run"),
        ("links/*.xplane.pb", r"lists 200,000 names; the limit is 20,000\."),
        ("deep/**/*.xplane.pb", r"50 directories were listed in \d s, .* Give the address of the run itself"),
        ("deep/*/*/*/*.xplane.pb", r"50 directories were listed in \d s, .* or a narrower pattern"),
    ],
)
def test_a_server_is_left_within_the_limits_that_the_message_tells(
    server: str, path: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine needs longer for so many names than a silent server is given.
    if path.startswith(("links", "deep")):
        monkeypatch.setattr(places, "ANSWER_S", 30.0)
        monkeypatch.setattr(places, "MAX_LOOKING_S", 30.0)
    begin = time.monotonic()
    with pytest.raises(TraceError, match=told):
        tfprof.load(f"{server}/{path}")
    assert time.monotonic() - begin < SOON_S


def test_a_slow_server_is_waited_for_and_the_bytes_are_told_as_they_come(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SLOW_BYTES_PER_S", 1.0)
    told: list[tuple[int, int]] = []
    with watched_reading(lambda *counts: told.append(counts)):
        assert open_traces(f"{server}/slow/h.xplane.pb").trace.n_events == 1
    assert told[0] == (0, len(TRACE))
    assert len([n_read for n_read, _ in told if n_read]) > 2
