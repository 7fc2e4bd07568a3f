"""Addresses of workers -> their traces, all captured in the same seconds; and the server that answers such requests."""

from __future__ import annotations

import hmac
import logging
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import CaptureError
from ..read.protobuf import Messages
from ..read.saved import SIDECAR
from .folders import new_run
from .keras import KerasPatch
from .program.frames import write_whole
from .record import CaptureOptions, CaptureRecord, enable_cpu_memory_recording, import_tensorflow
from .session import Capture, active_capture, mark_steps, mark_steps_no_more, step_notes

PROFILE_METHOD = "/tensorflow.ProfilerService/Profile"
SOURCES_TOOL = SIDECAR
"""The tool for which a worker with `serve()` sends its program's facts beside the trace."""
TOKEN_KEY = "tfprof-token-bin"
"""Metadata of a request with the token as UTF-8, which TensorFlow's client cannot send."""
XSPACE_TOOL = "xplane.pb"
"""How TensorFlow's own client names a trace that it is to save."""

MESSAGES = Messages(
    "tfprof_widgets.remote",
    """
ProfileOptions: host_tracer_level 2 uint32, device_tracer_level 3 uint32, python_tracer_level 4 uint32,
    version 5 uint32, enable_hlo_proto 7 bool, start_timestamp_ns 8 uint64, duration_ms 9 uint64
ProfileRequest: duration_ms 1 uint64, max_events 2 uint64, tools 3 string repeated, opts 4 ProfileOptions,
    repository_root 5 string, session_id 6 string, host_name 7 string, emit_xspace 9 bool
ProfileToolData: name 1 string, data 2 bytes
ProfileResponse: tool_data 6 ProfileToolData repeated, empty_trace 7 bool, xspace 8 bytes
""",
)
"""The XSpace stays bytes, to be written to a file as they are."""


MAX_CAPTURE_S = 600.0
"""Of one request."""
_VERBOSE_LEVEL = 3
_ACCEPT_S = 0.02
NO_TOKEN = (
    "it asks for a token, and none was sent: capture_remote(..., token=...) sends one, TensorFlow's client cannot"
)
WRONG_TOKEN = "the token that was sent is not the one that it asks for"
_running: set[ProfilerServer] = set()
"""As gRPC ends a server that nobody holds, and the caller of `serve(6009)` may drop its result."""
_patch = KerasPatch()
"""Of all servers of the process, so that a capture has the steps of a `fit` that began before it."""
_logger = logging.getLogger(__name__)


class ProfilerServer:
    """A running server, which `serve` gives. It ends with `stop()`, at the end of its `with` block, or with the process."""

    def __init__(self, server: Any, host: str, port: int, *, asks_token: bool) -> None:
        self._server = server
        self._asks_token = asks_token
        self.host = host
        self.port = port

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
    """Listen for requests to capture this process, where `token` is given only for those that send it."""
    import_tensorflow()
    enable_cpu_memory_recording()
    grpc = import_grpc()
    server = grpc.server(
        ThreadPoolExecutor(max_workers=4, thread_name_prefix="tfprof-server"),
        options=[("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)],
    )
    service, _, method = PROFILE_METHOD.strip("/").partition("/")
    handler = grpc.unary_unary_rpc_method_handler(_guarded(_Requests(grpc).answer, grpc.StatusCode, token))
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
    """What uninvited others can read there; "" where nobody can."""
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
    """Return the `grpc` module, which TensorFlow brings."""
    try:
        import grpc
    except ImportError as error:
        raise CaptureError(
            f"Remote captures need gRPC, and it could not be imported: {error}. Install it with `pip install grpcio`."
        ) from error
    return grpc


_Answer = Callable[[bytes, Any], bytes]
"""A request and its context -> the response; `context.abort` raises."""


def _guarded(answer: _Answer, codes: Any, token: str | None) -> _Answer:
    """Passes requests with the right token, where one is needed."""
    if token is None:
        return answer
    expected = token.encode()

    def guarded(content: bytes, context: Any) -> bytes:
        metadata = dict(context.invocation_metadata())
        if TOKEN_KEY not in metadata:
            context.abort(codes.UNAUTHENTICATED, NO_TOKEN)
        if not hmac.compare_digest(metadata[TOKEN_KEY], expected):
            context.abort(codes.UNAUTHENTICATED, WRONG_TOKEN)
        return answer(content, context)

    return guarded


class _Requests:
    """Answers requests one by one, as a process has one profiler."""

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
    """Run the profiler at the time and for as long as asked, or until the caller is gone."""
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
    with capture.around():
        _sleep(duration_s, context)
    return capture.record


def _sleep(duration_s: float, context: Any) -> None:
    end_s = time.monotonic() + duration_s
    while (left_s := end_s - time.monotonic()) > 0 and context.is_active():
        time.sleep(min(left_s, _ACCEPT_S))


def _response(request: Any, record: CaptureRecord) -> bytes:
    """The trace as a tool's data, which TensorFlow's client saves; nothing is written to a path that a request names."""
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


DEFAULT_DELAY_MS = 500
"""How far ahead several workers begin, so that all have heard of it by then."""
ANSWER_S = 120.0
"""For a worker to write its trace and send it, besides the capture itself."""
_MAX_EVENTS = 1_000_000
_OPTIONS_VERSION = 1
_TICK_S = 0.1
_MOST_SHOWN = 200
"""Characters of a path that a message shows."""
_ADDRESS = re.compile(r"(?:grpc://)?(\[[0-9a-fA-F:.]+\]|[^\s:/,\[\]]+):([0-9]{1,5})")


@dataclass(frozen=True, kw_only=True)
class RemoteOptions:
    """What workers are asked to capture, in the fields of TensorFlow's client; a bad one is a `TypeError` or `ValueError`."""

    duration_ms: int = 2000
    host_tracer_level: int = 2
    """1: critical events only, 2: info, 3: verbose."""
    device_tracer_level: int = 1
    delay_ms: int | None = None
    """How far ahead all workers begin; None for 500 ms with several, else at once."""
    num_tracing_attempts: int = 3
    """How often all are asked while a worker has no events, or is busy with another capture."""
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        limits = {
            "duration_ms": (1, 600_000),
            "host_tracer_level": (1, 3),
            "device_tracer_level": (0, 1),
            "delay_ms": (0, 600_000),
            "num_tracing_attempts": (1, 100),
        }
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if value is None and name == "delay_ms":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise TypeError(f"{name}={value!r} is a {type(value).__name__}; give an int from {low} to {high}.")
            if not low <= int(value) <= high:
                raise ValueError(f"{name}={value!r} cannot be asked for; give an int from {low} to {high}.")
        check_token(self.token)


def check_token(token: object) -> None:
    """Refuse what is no token; no message shows it."""
    if token is not None and not isinstance(token, str):
        raise TypeError(f"token= is a {type(token).__name__}; give a text, such as secrets.token_urlsafe() makes.")
    if token == "":
        raise ValueError("token= is empty; give a text, such as secrets.token_urlsafe() makes, or None for no token.")


@dataclass(frozen=True)
class Answer:
    """What one worker sent: a trace, or why there is none."""

    address: str
    xspace: bytes = b""
    sources: bytes = b""
    """The worker's facts of its program, as a sidecar; empty from TensorFlow's own server."""
    failure: str = ""
    can_be_asked_again: bool = False


Tell = Callable[[Mapping[str, Answer | None]], None]
"""Hears some times a second what each worker answered, None until it did; what it raises ends the capture, and stops them all."""


def worker_addresses(given: str | Sequence[str]) -> tuple[str, ...]:
    """Addresses as `host:port`, each once, in the order given; a text has commas or line ends between them."""
    texts = [one for one in re.split(r"[,\n]", given) if one.strip()] if isinstance(given, str) else list(given)
    found = []
    for text in texts:
        match = _ADDRESS.fullmatch(str(text).strip())
        if match is None or not 0 < int(match[2]) < 2**16:
            raise ValueError(f"{text!r} is no address of a worker; give host:port, such as 127.0.0.1:6009.")
        found.append(f"{match[1]}:{int(match[2])}")
    if not found:
        raise ValueError("There is no worker to capture; give addresses such as 127.0.0.1:6009.")
    return tuple(dict.fromkeys(found))


def check_logdir(given: str | Path) -> Path:
    """Find out before a capture whether its traces could be written; nothing is made."""
    text = str(given) if str(given).isprintable() else repr(str(given))
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text):,} characters)"
    try:
        logdir = Path(given).expanduser()
        existing = _nearest_existing(logdir)
    except (OSError, RuntimeError, ValueError) as error:  # too long, not yours to look at; no such user; a zero byte
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        raise CaptureError(f"The traces cannot be written to {shown}: {why.rstrip('.')}.") from error
    if not existing.is_dir():
        raise CaptureError(f"The traces cannot be written to {shown}: {existing} is no directory.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise CaptureError(f"The traces cannot be written to {shown}: {existing} is not yours to write to.")
    return logdir


def _nearest_existing(place: Path) -> Path:
    """The place itself, or the lowest directory above it that exists."""
    for one in (place, *place.absolute().parents):
        try:
            one.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        return one
    return Path(place.anchor)


def ask_workers(addresses: Sequence[str], options: RemoteOptions, tell: Tell) -> list[Answer]:
    """Have all workers capture the same seconds, all anew where one has no events; the attempt with the most answers counts."""
    best: list[Answer] = []
    for _ in range(options.num_tracing_attempts):
        answers = _ask_once(addresses, options, tell)
        if not best or _n_traces(answers) >= _n_traces(best):
            best = answers
        if not any(answer.can_be_asked_again for answer in answers):
            break
    tell({answer.address: answer for answer in best})
    return best


def _n_traces(answers: Sequence[Answer]) -> int:
    return sum(not answer.failure for answer in answers)


def _ask_once(addresses: Sequence[str], options: RemoteOptions, tell: Tell) -> list[Answer]:
    grpc = import_grpc()
    delay_ms = options.delay_ms if options.delay_ms is not None else DEFAULT_DELAY_MS * (len(addresses) > 1)
    request = _request(options, start_ns=time.time_ns() + delay_ms * 1_000_000 if delay_ms else 0)
    timeout_s = (delay_ms + options.duration_ms) / 1e3 + ANSWER_S
    metadata = () if options.token is None else ((TOKEN_KEY, options.token.encode()),)
    channels = [grpc.insecure_channel(one, options=[("grpc.max_receive_message_length", -1)]) for one in addresses]
    try:
        calls = []
        for address, channel in zip(addresses, channels, strict=True):
            request.host_name = address
            ask = channel.unary_unary(PROFILE_METHOD)
            calls.append(ask.future(request.SerializeToString(), timeout=timeout_s, metadata=metadata))
        return _gathered(grpc, dict(zip(addresses, calls, strict=True)), tell)
    finally:  # Ctrl-C too: a closed channel tells the worker that nobody waits any more
        for channel in channels:
            channel.close()


def _gathered(grpc: Any, calls: dict[str, Any], tell: Tell) -> list[Answer]:
    answers: dict[str, Answer | None] = dict.fromkeys(calls)
    while True:
        for address, call in calls.items():
            if answers[address] is None and call.done():
                answers[address] = _answer(grpc, address, call)
        tell(answers)
        found = [answer for answer in answers.values() if answer is not None]
        if len(found) == len(calls):
            return found
        time.sleep(_TICK_S)


def _request(options: RemoteOptions, *, start_ns: int) -> Any:
    request = MESSAGES["ProfileRequest"](
        duration_ms=options.duration_ms,
        max_events=_MAX_EVENTS,
        tools=[XSPACE_TOOL, SOURCES_TOOL],
        session_id=uuid.uuid4().hex,
        emit_xspace=True,
    )
    request.opts.version = _OPTIONS_VERSION
    request.opts.enable_hlo_proto = True
    request.opts.host_tracer_level = options.host_tracer_level
    request.opts.device_tracer_level = options.device_tracer_level
    request.opts.duration_ms = options.duration_ms
    request.opts.start_timestamp_ns = start_ns
    return request


def _answer(grpc: Any, address: str, call: Any) -> Answer:
    try:
        response = MESSAGES["ProfileResponse"].FromString(call.result())
    except grpc.RpcError as error:
        codes = grpc.StatusCode
        again = error.code() == codes.ALREADY_EXISTS
        return Answer(address, failure=_reason(error, codes), can_be_asked_again=again)
    except Exception as error:  # an answer that is no message: the other workers' traces are kept
        return Answer(address, failure=f"it sent no answer of a profiler server: {error}")
    tools = {tool.name: tool.data for tool in response.tool_data}
    xspace = response.xspace or tools.get(XSPACE_TOOL, b"")
    if response.empty_trace or not xspace:
        return Answer(address, failure="nothing ran there while it was captured", can_be_asked_again=True)
    return Answer(address, xspace, tools.get(SOURCES_TOOL, b""))


_LOST = ("socket closed", "connection reset", "stream removed")
"""gRPC's words for a lost connection."""
# TensorFlow 2.21 keeps pointers to events (`SplitEventTracker`) while the vector that owns those grows, which copies them. Only
# collectives leave such pointers: `CollectiveExecutor::CompleteParams` begins in one thread and ends in another.
_MAY_HAVE_CRASHED = (
    "; if a signal ended it: TensorFlow 2.21 may crash a worker of MultiWorkerMirroredStrategy when its profiler stops, "
    "whoever captures"
)


def _reason(error: Any, codes: Any) -> str:
    details = " ".join(str(error.details()).split())[:300]
    if error.code() == codes.UNAVAILABLE:
        lost = any(word in details.lower() for word in _LOST)
        return f"it cannot be reached, or ended meanwhile ({details}){_MAY_HAVE_CRASHED if lost else ''}"
    if error.code() == codes.DEADLINE_EXCEEDED:
        return f"it did not answer within {ANSWER_S:g} s after the capture"
    if error.code() == codes.UNIMPLEMENTED:
        return "a server runs at that address, but no profiler server"
    if error.code() == codes.UNAUTHENTICATED:
        return details
    return f"{error.code().name.lower().replace('_', ' ')}: {details}"


def write_run(answers: Sequence[Answer], logdir: Path) -> Path:
    """Write the traces that came as one run, a host per file, below `logdir`; return its directory."""
    try:
        run = new_run(logdir, time.strftime("%Y_%m_%d_%H_%M_%S"))
        for answer in answers:
            if answer.failure:
                continue
            host = re.sub(r"[^A-Za-z0-9._-]", "_", answer.address)
            write_whole(run / f"{host}.xplane.pb", answer.xspace)
            if answer.sources:
                write_whole(run / f"{host}.{SIDECAR}", answer.sources)
    except OSError as error:
        raise CaptureError(f"The traces of the workers cannot be written to {logdir}: {error}.") from error
    return run
