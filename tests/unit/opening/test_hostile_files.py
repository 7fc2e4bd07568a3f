"""Files and servers made to hang, to fill memory or to lead elsewhere: each is refused within limits."""

from __future__ import annotations

import gzip
import http.server
import json
import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tfprof_widgets as tfprof
from tests.builders import event, line, plane, session, space
from tests.unit.opening.served import Server
from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import SAVED, SIDECAR, open_traces, places, watched_reading

SOON_S = 5.0
"""Far more than any takes on a busy machine; before they were bounded, these took 10 to 50 s or never ended."""
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def run(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    steps = line("main", event("train", 0, 900, _r=1, step_num=0), event("net/MatMul:MatMul", 100, 500))
    (directory / "h.xplane.pb").write_bytes(space(session(duration_us=1000), plane("/host:CPU", steps)))
    return directory


def refused(file: Path) -> str:
    begin = time.monotonic()
    with pytest.raises(TraceError) as refusal:
        tfprof.load(file)
    assert time.monotonic() - begin < SOON_S
    return str(refusal.value)


@needs_pipes
@pytest.mark.parametrize("name", ["h.xplane.pb", "h.trace.json", "h.xplane.pb.gz"])
def test_a_pipe_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    assert "is a pipe or a device" in refused(tmp_path / name)


@needs_pipes
@pytest.mark.parametrize("name", [SIDECAR, SAVED])
def test_a_pipe_beside_a_trace_does_not_keep_it_from_loading(name: str, tmp_path: Path) -> None:
    os.mkfifo(run(tmp_path) / name)
    assert len(tfprof.load(tmp_path).ops)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_a_sidecar_that_is_a_device_is_told_and_not_read(tmp_path: Path) -> None:
    (run(tmp_path) / SIDECAR).symlink_to("/dev/zero")
    prof = tfprof.load(tmp_path)
    assert len(prof.ops)
    assert any("is a pipe or a device" in notice for notice in prof.notices)


def test_saving_follows_no_link_out_of_the_run(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_bytes(gzip.compress(b'{"version":1}'))
    (run(tmp_path / "run") / SIDECAR).symlink_to(private)
    with pytest.warns(UserWarning, match="is a link out of its directory, so it was not saved"):
        tfprof.load(tmp_path / "run").save(tmp_path / "saved")
    assert not [file for file in (tmp_path / "saved").rglob("*") if file.name == SIDECAR]


def test_saving_takes_a_link_within_the_run_along(tmp_path: Path) -> None:
    (run(tmp_path / "run") / "kept").write_bytes(gzip.compress(b'{"version":1}'))
    (tmp_path / "run" / SIDECAR).symlink_to("kept")
    tfprof.load(tmp_path / "run").save(tmp_path / "saved")
    assert [file for file in (tmp_path / "saved").rglob("*") if file.name == SIDECAR]


def test_millions_of_empty_planes_are_refused_before_they_are_held(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb.gz").write_bytes(gzip.compress(b"\x0a\x00" * 24_000_000, 1))
    assert "are empty messages, which no profiler writes" in refused(tmp_path / "h.xplane.pb.gz")
    (tmp_path / "h.xplane.pb").write_bytes(b"\x0a\x00" * 20_000)
    assert "more than 10,000 planes" in refused(tmp_path / "h.xplane.pb")


def test_a_hundred_thousand_empty_streams_take_no_more_than_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "h.xplane.pb.gz").write_bytes(gzip.compress(b"") * 100_000)
    assert "is empty" in refused(tmp_path / "h.xplane.pb.gz")


def test_zeros_between_streams_are_stepped_over_without_copying(tmp_path: Path) -> None:
    trace = (run(tmp_path) / "h.xplane.pb").read_bytes()
    (tmp_path / "z").mkdir()
    packed = gzip.compress(b"") + b"\0"
    (tmp_path / "z" / "h.xplane.pb.gz").write_bytes(packed * 50_000 + gzip.compress(trace) + b"\0" * 20_000_000)
    begin = time.monotonic()
    assert len(tfprof.load(tmp_path / "z").ops)
    assert time.monotonic() - begin < SOON_S


def test_names_of_members_of_json_are_read_in_the_time_of_their_bytes(tmp_path: Path) -> None:
    members = ",".join(f'"m{i}":1' for i in range(175_000))
    (tmp_path / "h.trace.json").write_text(f'{{"traceEvents":[],{members}}}')
    begin = time.monotonic()
    tfprof.load(tmp_path / "h.trace.json")
    assert time.monotonic() - begin < SOON_S


def test_a_capture_that_is_there_twice_counts_once_and_is_told(tmp_path: Path) -> None:
    once = tfprof.load(run(tmp_path / "a"))
    run(tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "h.xplane.pb.gz").write_bytes(gzip.compress((tmp_path / "a" / "h.xplane.pb").read_bytes()))
    prof = tfprof.load(tmp_path / "*")
    assert len(prof.trace.sessions) == 1
    assert prof.ops["occurrences"].tolist() == once.ops["occurrences"].tolist()
    assert "2 of 3 files are copies of another, and counted once: b/h.xplane.pb, c/h.xplane.pb.gz." in prof.notices


def test_a_hundred_copies_take_the_memory_of_one(tmp_path: Path) -> None:
    content = space(*(plane("/host:CPU", line("t", *(event(f"op{i}:T", i, 1) for i in range(600)))),))
    for k in range(100):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "h.xplane.pb").write_bytes(content)
    tracemalloc.start()
    try:
        opened = open_traces(tmp_path / "*")
        assert tracemalloc.get_traced_memory()[1] < 2e6  # a tenth of a MB is kept, and one more read
    finally:
        tracemalloc.stop()
    assert opened.trace.n_events == 600
    assert "99 of 100 files are copies" in opened.trace.warnings[-1]


def test_a_run_that_a_saved_profile_names_twice_counts_once(tmp_path: Path) -> None:
    saved = tfprof.load(run(tmp_path / "run")).save(tmp_path / "saved")
    document = json.loads((saved / SAVED).read_text())
    document["runs"] *= 1000
    (saved / SAVED).write_text(json.dumps(document))
    assert len(tfprof.load(saved).trace.sessions) == 1


def test_two_sessions_of_a_host_at_one_time_break_no_search_for_steps(tmp_path: Path) -> None:
    calls = [event("f", 100 * i, 90, tf_function_call="traced-nonXla") for i in range(5)]
    for name, name_of_more in (("a", "x"), ("b", "y")):  # of which one differs, so that it is no copy
        (tmp_path / name).mkdir()
        threads = line("main", *calls, event(name_of_more, 600, 5), id=1)
        (tmp_path / name / "h.xplane.pb").write_bytes(space(session(), plane("/host:CPU", threads)))
    prof = tfprof.load(tmp_path / "*")
    assert len(prof.trace.sessions) == 2
    assert prof.report()


SERVED_SOON_S = 8.0
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
        monkeypatch.setattr(places, "SILENT_S", 30.0)
        monkeypatch.setattr(places, "ANSWER_S", 30.0)
        monkeypatch.setattr(places, "MAX_LOOKING_S", 30.0)
    begin = time.monotonic()
    with pytest.raises(TraceError, match=told):
        tfprof.load(f"{server}/{path}")
    assert time.monotonic() - begin < SERVED_SOON_S


def test_a_slow_server_is_waited_for_and_the_bytes_are_told_as_they_come(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SLOW_BYTES_PER_S", 1.0)
    told: list[tuple[int, int]] = []
    with watched_reading(lambda *counts: told.append(counts)):
        assert open_traces(f"{server}/slow/h.xplane.pb").trace.n_events == 1
    assert told[0] == (0, len(TRACE))
    assert len([n_read for n_read, _ in told if n_read]) > 2
