"""A training process -> a server from which other processes ask for captures of it, by TensorFlow's own protocol."""

from __future__ import annotations

import hmac
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from ...errors import CaptureError
from ...formats.sidecar import SIDECAR
from ..keras.patch import KerasPatch
from ..session.active import active_capture
from ..session.environment import enable_cpu_memory_recording
from ..session.record import CaptureOptions, CaptureRecord
from ..session.session import Capture
from ..session.step_notes import mark_steps, mark_steps_no_more, step_notes
from ..session.tf_profiler import import_tensorflow
from .messages import MESSAGES, PROFILE_METHOD, SOURCES_TOOL, TOKEN_KEY, XSPACE_TOOL

MAX_CAPTURE_S = 600.0
"""How long one request may have the profiler run."""
_VERBOSE_LEVEL = 3
_TICK_S = 0.02
NO_TOKEN = (
    "it asks for a token, and none was sent: capture_remote(..., token=...) sends one, TensorFlow's client cannot"
)
WRONG_TOKEN = "the token that was sent is not the one that it asks for"
_running: set[ProfilerServer] = set()
"""Whoever calls `serve(6009)` may drop what it returns; gRPC would end a server that nobody holds."""
_patch = KerasPatch()
"""Of all servers of the process, from the first to the last: a capture has the steps of a `fit` that ran before it."""
_logger = logging.getLogger(__name__)


class ProfilerServer:
    """A running server, which `serve` gives. It ends with `stop()`, at the end of its `with` block, or with the process."""

    def __init__(self, server: Any, host: str, port: int, *, asks_token: bool) -> None:
        self._server = server
        self._asks_token = asks_token
        self.host = host
        """The address it listens at."""
        self.port = port
        """The port it listens at."""

    @property
    def address(self) -> str:
        """`host:port`: what `capture_remote` takes, on this machine or, where it listens for others, on them."""
        return f"{self.host}:{self.port}"

    def stop(self) -> None:
        """Answer no more requests; a capture under way is dropped. A second call does nothing."""
        self._server.stop(grace=None).wait()
        _running.discard(self)
        if not _running:
            mark_steps_no_more()
            _patch.remove()

    def __enter__(self) -> ProfilerServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        reach = "from this machine only" if _is_loopback(self.host) else "from every machine that reaches it"
        door = "with a token" if self._asks_token else "without authentication"
        return f"<ProfilerServer {self.address}: {door}, {reach}>"


def start_server(port: int, host: str, token: str | None) -> ProfilerServer:
    """Listen for requests to capture this process, where `token` is given only for those that send it.

    Raises:
        CaptureError: TensorFlow or gRPC is missing, or the port is taken.
    """
    import_tensorflow()
    enable_cpu_memory_recording()
    grpc = import_grpc()
    server = grpc.server(
        ThreadPoolExecutor(max_workers=4, thread_name_prefix="tfprof-server"),
        options=[("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)],
    )
    service, _, method = PROFILE_METHOD.strip("/").partition("/")
    handler = grpc.unary_unary_rpc_method_handler(_Door(grpc, token).before(_Requests(grpc).answer))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise CaptureError(
            f"The profiler server cannot listen at {host}:{port}: the port is taken, or the address is not this "
            "machine's. Give port=0 for any free port, or another host=."
        ) from error
    _patch.install()
    mark_steps()
    server.start()
    running = ProfilerServer(server, host, bound, asks_token=token is not None)
    _running.add(running)
    if told := _openness(running.address, is_local=_is_loopback(host), asks_token=token is not None):
        _logger.warning("%s", told)
    return running


def _openness(address: str, *, is_local: bool, asks_token: bool) -> str:
    """What others can read there who were not asked to; empty where nobody can."""
    if asks_token and is_local:
        return ""
    if asks_token:
        return (
            f"tfprof: nothing that {address} sends and receives is encrypted: who can read the traffic of that network "
            "reads the token and the traces. Let an SSH tunnel to 127.0.0.1 carry it where that is not your own."
        )
    who = "every user of this machine" if is_local else "everyone whose machine reaches that port"
    return (
        f"tfprof: {address} asks for no token: {who} can have this process profiled, which slows it down, and read the "
        "names of its machine, devices, files, layers and ops, shapes, and the text of its code that makes ops. "
        "tfprof.serve(port, token=...) answers only those who send the same token."
    )


def import_grpc() -> Any:
    """Return the `grpc` module, which TensorFlow brings.

    Raises:
        CaptureError: it is not installed.
    """
    try:
        import grpc
    except ImportError as error:
        raise CaptureError(
            f"Remote captures need gRPC, and it could not be imported: {error}. Install it with `pip install grpcio`."
        ) from error
    return grpc


_Answer = Callable[[bytes, Any], bytes]
"""A request and its context -> the response; `context.abort` raises."""


class _Door:
    """Lets those through who send the token, where one is asked for."""

    def __init__(self, grpc: Any, token: str | None) -> None:
        self._codes = grpc.StatusCode
        self._token = None if token is None else token.encode()

    def before(self, answer: _Answer) -> _Answer:
        """The same method behind this door."""

        def guarded(content: bytes, context: Any) -> bytes:
            if self._token is not None:
                metadata = dict(context.invocation_metadata())
                if TOKEN_KEY not in metadata:
                    context.abort(self._codes.UNAUTHENTICATED, NO_TOKEN)
                if not hmac.compare_digest(metadata[TOKEN_KEY], self._token):
                    context.abort(self._codes.UNAUTHENTICATED, WRONG_TOKEN)
            return answer(content, context)

        return guarded


class _Requests:
    """Answers one request after the other: TensorFlow has one profiler for each process."""

    def __init__(self, grpc: Any) -> None:
        self._grpc = grpc
        self._busy = threading.Lock()

    def answer(self, content: bytes, context: Any) -> bytes:
        """Capture as the request says and return the trace; a failure becomes a status that the client can act on."""
        codes = self._grpc.StatusCode
        try:
            request = MESSAGES["ProfileRequest"].FromString(content)
        except Exception:  # whatever was sent to the port: the caller is told, the training goes on
            context.abort(codes.INVALID_ARGUMENT, "this is no ProfileRequest of TensorFlow's profiler service")
        if not self._busy.acquire(blocking=False):
            context.abort(codes.ALREADY_EXISTS, "another request has this process captured right now")
        try:
            if active_capture() is not None:
                context.abort(codes.ALREADY_EXISTS, "a capture of its own runs in this process right now")
            record = _captured(request, context)
            if SOURCES_TOOL in request.tools and record.program is not None:
                record.program.write()  # before the next capture, which would see the program wait for it
        except CaptureError as error:
            context.abort(codes.INTERNAL, str(error))
        finally:
            self._busy.release()
        return _response(request, record)


def _captured(request: Any, context: Any) -> CaptureRecord:
    """Have the profiler run from the time that was asked for, as long as was asked for, or until the caller is gone."""
    duration_s = (request.opts.duration_ms or request.duration_ms) / 1e3
    if not 0 < duration_s <= MAX_CAPTURE_S:
        raise CaptureError(
            f"a duration of {duration_s:g} s was asked for; give more than 0 s and at most {MAX_CAPTURE_S:g} s"
        )
    wait_s = request.opts.start_timestamp_ns / 1e9 - time.time() if request.opts.start_timestamp_ns else 0.0
    _sleep(min(wait_s, MAX_CAPTURE_S), context)
    notes = step_notes()
    capture = Capture(
        CaptureOptions(
            system=False,
            detail="high" if request.opts.host_tracer_level >= _VERBOSE_LEVEL else "normal",
            max_seconds=duration_s + 1,
            command="capture_remote",
        ),
        patch=KerasPatch(),
        numbers=None if notes is None else notes.numbers,
    )
    capture.start()
    try:
        _sleep(duration_s, context)
    finally:
        record = capture.stop()
    return record


def _sleep(duration_s: float, context: Any) -> None:
    end_s = time.monotonic() + duration_s
    while (left_s := end_s - time.monotonic()) > 0 and context.is_active():
        time.sleep(min(left_s, _TICK_S))


def _response(request: Any, record: CaptureRecord) -> bytes:
    """The trace in the field where the caller looks for it: TensorFlow's client, which does not ask for the XSpace itself,
    saves what comes as the data of a tool. Nothing is written to a path that a request names."""
    response = MESSAGES["ProfileResponse"](empty_trace=not record.run_dirs)
    for run in record.run_dirs[:1]:
        content = next(run.glob("*.xplane.pb")).read_bytes()
        if request.emit_xspace:
            response.xspace = content
        else:
            response.tool_data.add(name=XSPACE_TOOL, data=content)
        sources = run / SIDECAR
        if SOURCES_TOOL in request.tools and sources.is_file():
            response.tool_data.add(name=SOURCES_TOOL, data=sources.read_bytes())
    content = response.SerializeToString()
    return bytes(content)


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host in ("::1", "[::1]")
