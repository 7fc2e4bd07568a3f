"""Addresses of workers -> their traces, all captured in the same seconds, in one run directory."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from ...errors import CaptureError
from ...formats.sidecar import SIDECAR
from ..session.scratch import new_run
from ..source.whole_file import write_whole
from .messages import MESSAGES, PROFILE_METHOD, SOURCES_TOOL, TOKEN_KEY, XSPACE_TOOL
from .server import import_grpc

DEFAULT_DELAY_MS = 500
"""How far ahead several workers are told to begin, so that all of them have heard of it by then."""
ANSWER_S = 120.0
"""How long a worker may take to write its trace and send it, besides the capture itself."""
_MAX_EVENTS = 1_000_000
_OPTIONS_VERSION = 1
_TICK_S = 0.1
_MOST_SHOWN = 200
"""Characters of a path that a message shows."""
_ADDRESS = re.compile(r"(?:grpc://)?(\[[0-9a-fA-F:.]+\]|[^\s:/,\[\]]+):([0-9]{1,5})")


@dataclass(frozen=True, kw_only=True)
class RemoteOptions:
    """What workers are asked to capture; the fields are those of TensorFlow's client.

    Raises:
        TypeError, ValueError: a field that means nothing; the message says what to give.
    """

    duration_ms: int = 2000
    host_tracer_level: int = 2
    """1: critical events only, 2: info, 3: verbose."""
    device_tracer_level: int = 1
    """1: devices are traced, 0: they are not."""
    delay_ms: int | None = None
    """How far ahead all workers begin; None: 500 ms where there are several, else at once."""
    num_tracing_attempts: int = 3
    """How often all are asked while a worker has no events in its trace, or is busy with another capture."""
    token: str | None = field(default=None, repr=False)
    """What is sent to workers that ask for it; None: nothing."""

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

    def delay_for(self, n_workers: int) -> int:
        """How many milliseconds ahead so many workers begin."""
        return self.delay_ms if self.delay_ms is not None else DEFAULT_DELAY_MS * (n_workers > 1)


def check_token(token: object) -> None:
    """Refuse what is no token; no message shows it.

    Raises:
        TypeError, ValueError: it is neither None nor a text that holds something.
    """
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
    """What the worker noted of its program, as a sidecar; empty where it runs TensorFlow's own server."""
    failure: str = ""
    can_be_asked_again: bool = False


class Watch:
    """Is told how a capture goes on; this one does nothing. What a method raises ends it, and every worker is told to stop."""

    def asked(self, attempt: int, delay_ms: int) -> None:
        """All workers have been asked, for the first time where `attempt` is 1, to begin in so many milliseconds."""

    def answered(self, answer: Answer) -> None:
        """One worker answered this attempt; told of all again at the end where an earlier attempt counts."""

    def waiting(self) -> None:
        """Answers are waited for; called ten times a second."""


def worker_addresses(given: str | Sequence[str]) -> tuple[str, ...]:
    """Addresses as `host:port`, each once, in the order given; a text has commas or line ends between them.

    Raises:
        ValueError: there is none, or one is no address.
    """
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
    """Find out before a capture whether its traces could be written; nothing is made.

    Returns:
        The log directory, `~` resolved.

    Raises:
        CaptureError: they could not; the message says why.
    """
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
    """The place itself, or the lowest directory above it that there is."""
    for one in (place, *place.absolute().parents):
        try:
            one.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        return one
    return Path(place.anchor)


def ask_workers(addresses: Sequence[str], options: RemoteOptions, watch: Watch | None = None) -> list[Answer]:
    """Have all workers capture the same seconds.

    Where one has no events, or is busy, all are asked again, up to `num_tracing_attempts` times, so that what is
    compared was captured together; the attempt in which most workers answered counts, of equals the last.

    Returns:
        One answer per address, in their order.

    Raises:
        CaptureError: gRPC is missing.
    """
    best: list[Answer] = []
    watch = watch or Watch()
    for number in range(options.num_tracing_attempts):
        answers = _ask_once(addresses, options, watch, attempt=number + 1)
        if not best or _n_traces(answers) >= _n_traces(best):
            best = answers
        if not any(answer.can_be_asked_again for answer in answers):
            break
    if best is not answers:
        for answer in best:
            watch.answered(answer)
    return best


def _n_traces(answers: Sequence[Answer]) -> int:
    return sum(not answer.failure for answer in answers)


def _ask_once(addresses: Sequence[str], options: RemoteOptions, watch: Watch, *, attempt: int) -> list[Answer]:
    grpc = import_grpc()
    delay_ms = options.delay_for(len(addresses))
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
        watch.asked(attempt, delay_ms)
        return _gathered(grpc, dict(zip(addresses, calls, strict=True)), watch)
    finally:  # Ctrl-C too: a closed channel tells the worker that nobody waits any more
        for channel in channels:
            channel.close()


def _gathered(grpc: Any, calls: dict[str, Any], watch: Watch) -> list[Answer]:
    answers: dict[str, Answer] = {}
    while len(answers) < len(calls):
        for address, call in calls.items():
            if address not in answers and call.done():
                answers[address] = _answer(grpc, address, call)
                watch.answered(answers[address])
        watch.waiting()
        time.sleep(_TICK_S)
    return [answers[address] for address in calls]


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
"""What gRPC says of a connection that was there."""
# TensorFlow 2.21 keeps pointers to events (`SplitEventTracker`) while the vector that owns those grows, which copies them. Only
# collectives leave such pointers: `CollectiveExecutor::CompleteParams` begins in one thread and ends in another.
_MAY_HAVE_CRASHED = (
    "; if a signal ended it: TensorFlow 2.21 may crash a worker of MultiWorkerMirroredStrategy when its profiler stops, "
    "whoever captures"
)


def _reason(error: Any, codes: Any) -> str:
    """What a status means for a person."""
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
    """Write the traces that came as one run, a host per file, below `logdir`; return its directory.

    Raises:
        CaptureError: it cannot be written; the message says where.
    """
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
