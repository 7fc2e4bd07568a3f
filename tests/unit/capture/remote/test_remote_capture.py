"""Several training processes -> one profile, asked for over the network; and what is told where some do not answer."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

import tfprof_widgets as tfprof
from tests.unit.capture.remote.processes import TrainingProcess
from tests.unit.capture.remote.training import free_port
from tests.warm_process import run_python
from tfprof_widgets.errors import CaptureError

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def workers() -> Iterator[tuple[TrainingProcess, TrainingProcess]]:
    """One process with our server, one with TensorFlow's."""
    both = TrainingProcess("own"), TrainingProcess("tensorflow")
    yield both
    for one in both:
        one.end()


def test_workers_captured_together_are_hosts_of_one_profile(workers: tuple[TrainingProcess, TrainingProcess]) -> None:
    addresses = [worker.address for worker in workers]
    profile = tfprof.capture_remote(addresses, duration_ms=700)
    hosts = {address.replace(":", "_") for address in addresses}
    assert set(profile.steps["host"]) == hosts
    assert profile.notices == ()
    aligned = profile.workers.groupby("step")["host"].agg(set)
    assert len(aligned) > 5
    assert all(found == hosts for found in aligned)
    starts = profile.workers.groupby("step")["start_ms"]
    assert (starts.max() - starts.min()).median() < 700, "windows of 700 ms overlap"


def test_a_worker_with_our_server_sends_the_lines_of_its_program(
    workers: tuple[TrainingProcess, TrainingProcess],
) -> None:
    profile = tfprof.capture_remote(workers[0].address, duration_ms=500)
    lines = profile.source_lines
    assert any(str(file).endswith("training.py") for file in lines["file"])


def test_traces_kept_in_a_log_directory_are_loaded_again(
    workers: tuple[TrainingProcess, TrainingProcess], tmp_path: Path
) -> None:
    profile = tfprof.capture_remote([one.address for one in workers], duration_ms=300, logdir=tmp_path)
    again = tfprof.load(tmp_path)
    assert again.trace.n_events == profile.trace.n_events
    assert set(again.steps["host"]) == set(profile.steps["host"])
    assert len(again.source_lines) == len(profile.source_lines)
    saved = tfprof.load(profile.save(tmp_path / "saved"))
    assert saved.source_lines.equals(profile.source_lines)
    assert saved.steps.equals(profile.steps)


def test_a_worker_that_cannot_be_reached_is_named_and_the_others_kept(
    workers: tuple[TrainingProcess, TrainingProcess],
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    profile = tfprof.capture_remote([workers[0].address, nobody], duration_ms=300)
    assert len(profile.steps) > 5
    (notice,) = profile.notices
    assert notice.startswith("1 of 2 workers sent a trace")
    assert nobody in notice
    assert "cannot be reached" in notice


def test_a_worker_killed_during_the_capture_leaves_the_others_whole(
    workers: tuple[TrainingProcess, TrainingProcess],
) -> None:
    doomed = TrainingProcess("own")
    try:
        addresses = [workers[0].address, doomed.address]
        killer = threading.Timer(1.5, doomed.kill)
        killer.start()
        profile = tfprof.capture_remote(addresses, duration_ms=3000, delay_ms=200)
        killer.join()
    finally:
        doomed.end()
    (notice,) = profile.notices
    assert "1 of 2 workers" in notice
    assert doomed.address in notice
    assert workers[0].address not in notice
    assert profile.overview.n_steps > 20


def test_nobody_there_is_an_error_that_names_each() -> None:
    ports = [free_port(), free_port()]
    with pytest.raises(CaptureError, match="None of 2 workers") as raised:
        tfprof.capture_remote([f"127.0.0.1:{port}" for port in ports], duration_ms=100)
    assert all(str(port) in str(raised.value) for port in ports)
    assert "tfprof.serve" in str(raised.value)


def test_a_server_of_something_else_is_no_worker() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        answering = threading.Thread(target=_answer_http, args=(other,), daemon=True)
        answering.start()
        with pytest.raises(CaptureError, match=address):
            tfprof.capture_remote(address, duration_ms=100, num_tracing_attempts=1)


def _answer_http(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def test_our_server_listens_on_the_loopback_alone(workers: tuple[TrainingProcess, TrainingProcess]) -> None:
    port = int(workers[0].address.rpartition(":")[2])
    listening = [
        one.laddr.ip
        for one in psutil.Process(workers[0].pid).net_connections(kind="inet")
        if one.status == psutil.CONN_LISTEN and one.laddr.port == port
    ]
    assert [address.removeprefix("::ffff:") for address in listening] == ["127.0.0.1"]


def test_tensorflows_own_client_captures_a_process_with_our_server(
    workers: tuple[TrainingProcess, TrainingProcess], tmp_path: Path
) -> None:
    asked = f"'grpc://{workers[0].address}', {str(tmp_path)!r}, 300, num_tracing_attempts=1"
    done = run_python(f"import tensorflow as tf\ntf.profiler.experimental.client.trace({asked})", timeout_s=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(tfprof.load(tmp_path).steps) > 5


def test_a_busy_worker_is_asked_again(workers: tuple[TrainingProcess, TrainingProcess]) -> None:
    found: list[int] = []
    first = threading.Thread(
        target=lambda: found.append(len(tfprof.capture_remote(workers[0].address, duration_ms=1500).steps))
    )
    first.start()
    time.sleep(0.5)
    with pytest.raises(CaptureError, match="another request"):
        tfprof.capture_remote(workers[0].address, duration_ms=100, num_tracing_attempts=1)
    second = tfprof.capture_remote(workers[0].address, duration_ms=300, num_tracing_attempts=100)
    first.join()
    assert found[0] > 5
    assert len(second.steps) > 5


@pytest.mark.parametrize("text", ["", "host", "host:", "host:0", "host:70000", "a b:1", "http://host:1", "host:1/x"])
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        tfprof.capture_remote([text])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("duration_ms", 0),
        ("host_tracer_level", 4),
        ("device_tracer_level", -1),
        ("num_tracing_attempts", 0),
        ("delay_ms", -1),
    ],
)
def test_what_cannot_be_asked_for_is_told(name: str, value: int) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name}={value}"):
        tfprof.capture_remote(["127.0.0.1:1"], **arguments)


def test_a_server_says_that_it_has_no_authentication_and_ends_and_a_taken_port_is_told() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        done = run_python(f"""
import tfprof_widgets as tfprof
with tfprof.serve() as server:
    print(repr(server))
    address = server.address
for ask in (lambda: tfprof.capture_remote(address, duration_ms=100), lambda: tfprof.serve({other.getsockname()[1]})):
    try:
        ask()
    except tfprof.CaptureError as error:
        print(error)
""")
    assert done.returncode == 0, done.stderr[-3000:]
    for words in ("without authentication", "this machine only", "cannot be reached", "cannot listen"):
        assert words in done.stdout


def test_a_server_with_a_token_answers_only_who_sends_it(tmp_path: Path) -> None:
    token = "a täken of two words"
    worker = TrainingProcess("own", token)
    try:
        address = worker.address
        assert len(tfprof.capture_remote(address, duration_ms=300, token=token).steps) > 5
        with pytest.raises(CaptureError, match="asks for a token, and none was sent"):
            tfprof.capture_remote(address, duration_ms=300)
        with pytest.raises(CaptureError, match="is not the one that it asks for") as raised:
            tfprof.capture_remote(address, duration_ms=300, token=f"{token}.")
        assert token not in str(raised.value)
        asked = f"'grpc://{address}', {str(tmp_path)!r}, 300, num_tracing_attempts=1"
        done = run_python(f"import tensorflow as tf\ntf.profiler.experimental.client.trace({asked})", timeout_s=120)
        assert not list(tmp_path.rglob("*.xplane.pb")), done.stdout
    finally:
        worker.end()


def test_a_server_without_a_token_does_not_ask_for_the_one_that_is_sent(
    workers: tuple[TrainingProcess, TrainingProcess],
) -> None:
    for worker in workers:
        assert len(tfprof.capture_remote(worker.address, duration_ms=300, token="some").steps) > 5


@pytest.mark.parametrize(("token", "told"), [("", "empty"), (b"bytes", "a bytes"), (7, "an? int")])
def test_what_is_no_token_is_told_and_not_shown(token: Any, told: str) -> None:
    for refuse in (lambda: tfprof.serve(token=token), lambda: tfprof.capture_remote("127.0.0.1:1", token=token)):
        with pytest.raises((TypeError, ValueError), match=told) as raised:
            refuse()
        assert str(token or "bytes") not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "told", "not_told"),
    [
        ("", "every user of this machine can .* the text of its code", "encrypted"),
        ("host='0.0.0.0'", "everyone whose machine reaches that port can .* the text of its code", "encrypted"),
        ("host='0.0.0.0', token='s3cret'", "nothing .* is encrypted", "s3cret"),
        ("token='s3cret'", "^(?!(.|\n)*tfprof:)", "s3cret"),
    ],
)
def test_who_can_read_what_is_said_on_start(arguments: str, told: str, not_told: str) -> None:
    done = run_python(f"import tfprof_widgets as tfprof\nwith tfprof.serve({arguments}) as server: print(server)")
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.search(told, done.stderr), done.stderr
    assert not_told not in done.stderr + done.stdout
    assert ("with a token" in done.stdout) == ("token" in arguments)
    assert ("this machine only" in done.stdout) == ("host" not in arguments)
