"""Training processes elsewhere -> one `Profile` of all of them: a server in each, and the capture that asks them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CaptureError
from ..opening.failed_hosts import FailedHost, named_reasons
from .one_run import Profile
from .progress import Progress

if TYPE_CHECKING:
    from ..capture.remote.client import Answer, RemoteOptions, Watch
    from ..capture.remote.server import ProfilerServer
    from ..opening.opened import Opened


def serve(port: int = 0, host: str = "127.0.0.1", *, token: str | None = None) -> ProfilerServer:
    """Let other processes capture this one while it trains: with `capture_remote`, TensorFlow's own client or TensorBoard.

    Call it once in each training process, before the training. Until somebody asks it only marks the steps of `fit`,
    `evaluate`, `predict`, `trace_steps` and `step`, which takes some microseconds a step.

    **Without `token` it has no authentication**: whoever reaches the port can have this process profiled, which slows
    it down, and gets the names, shapes and source lines of the program; a warning says so. So it listens on this
    machine alone unless `host` says otherwise. Use an address of a private network for captures from other machines,
    never a public one. With a token it answers only `capture_remote` and `capture_dialog` with the same `token`;
    TensorFlow's client and TensorBoard, which can send none, are refused. Nothing on the way is encrypted, the token
    neither: a tunnel, such as SSH's, does that.

    Args:
        port: to listen at; 0 for any free one, which the result tells.
        host: the address to listen at: `"127.0.0.1"`, or `"0.0.0.0"` for all networks of the machine.
        token: a text that a request must bring, such as `secrets.token_urlsafe()` makes; None: any request is answered.

    Returns:
        The running server, also a context manager: `.address`, `.port`, `.stop()`.

    Raises:
        CaptureError: TensorFlow or gRPC is not installed, or the port is taken.
        TypeError: a port or a token of the wrong type.
        ValueError: a port or a token that cannot be one.

    Examples:
        >>> with tfprof.serve(token="secret") as server:
        ...     address = server.address
    """
    from ..capture.remote.client import check_token
    from ..capture.remote.server import start_server

    if isinstance(port, bool) or not isinstance(port, int):
        raise TypeError(f"port={port!r} is a {type(port).__name__}; give an int, 0 for any free port.")
    if not 0 <= port < 2**16:
        raise ValueError(f"port={port} is no port; give 0 to {2**16 - 1}, 0 for any free one.")
    check_token(token)
    return start_server(port, host, token)


def capture_remote(
    addresses: str | Sequence[str],
    duration_ms: int = 2000,
    *,
    host_tracer_level: int = 2,
    device_tracer_level: int = 1,
    delay_ms: int | None = None,
    num_tracing_attempts: int = 3,
    logdir: str | Path | None = None,
    token: str | None = None,
) -> Profile:
    """Capture training processes elsewhere, all in the same seconds, while they train.

    Each must run a profiler server: `tfprof.serve(port)`, whose answer has the lines of the program too, or
    `tf.profiler.experimental.server.start(port)`. The traces come over the connection: no shared file system is needed.
    Where some workers fail, the profile has the others, and its `notices` name each failed one with the reason.

    The profiler of TensorFlow 2.21 has a fault that may end a worker of `MultiWorkerMirroredStrategy`, by a
    segmentation fault, when a capture stops, whoever takes it. The fewer steps are captured the less likely it is; save
    checkpoints of a training that you cannot lose.

    Args:
        addresses: a list of `"host:port"`, or one text of several with commas.
        duration_ms: for how many milliseconds to capture, 1 to 600,000.
        host_tracer_level: 1 critical events only, 2 info, 3 verbose; `tfprof.serve` takes 1 as 2.
        device_tracer_level: 1 to trace devices, 0 not to; `tfprof.serve` always traces them.
        delay_ms: how many milliseconds ahead all begin together; by default 500 where there are several workers.
        num_tracing_attempts: how often all are asked while one has no events to send, or is busy with another capture.
        logdir: keep the traces as a run of this log directory; without it they live as long as the profile.
        token: what workers that were started with `tfprof.serve(port, token=...)` ask for; sent to all, and not
            encrypted.

    Returns:
        The profile of all workers that answered: a host each, named as its machine is, or by its address where several
        machines have one name.

    Raises:
        CaptureError: no worker answered; the message has the reason of each. Or the files cannot be written.
        TypeError: an argument of the wrong type.
        ValueError: an argument out of its range, or no address.
    """
    from ..capture.remote.client import RemoteOptions, worker_addresses

    workers = worker_addresses(addresses)
    options = RemoteOptions(
        duration_ms=duration_ms,
        host_tracer_level=host_tracer_level,
        device_tracer_level=device_tracer_level,
        delay_ms=delay_ms,
        num_tracing_attempts=num_tracing_attempts,
        token=token,
    )
    with _progress(len(workers)) as watch:
        return captured(workers, options, logdir=logdir, watch=watch)


def captured(addresses: Sequence[str], options: RemoteOptions, *, logdir: str | Path | None, watch: Watch) -> Profile:
    """The profile of all workers that answered; see `capture_remote`. Whatever `watch` raises ends the capture.

    Raises:
        CaptureError: no worker answered, or the files cannot be written.
    """
    from ..capture.remote.client import ask_workers, check_logdir

    place = None if logdir is None else check_logdir(logdir)
    answers = ask_workers(addresses, options, watch)
    failed = [answer for answer in answers if answer.failure]
    if len(failed) == len(answers):
        raise CaptureError(f"None of {len(answers)} workers sent a trace. {_reasons(failed)} {_REMEDY}")
    return _profile_of(answers, failed, place)


_REMEDY = "Check that each runs tfprof.serve(port), at an address that this machine reaches, and trains meanwhile."


def _profile_of(answers: Sequence[Answer], failed: Sequence[Answer], logdir: Path | None) -> Profile:
    from ..capture.remote.client import write_run
    from ..capture.session.scratch import make_scratch, remove_scratch

    n_bytes = sum(len(answer.xspace) for answer in answers)
    place = make_scratch(n_bytes) if logdir is None else logdir
    try:
        run = write_run(answers, place)
    except BaseException:
        if logdir is None:
            remove_scratch(place, os.getpid())
        raise
    title = f"{len(answers) - len(failed)} workers"
    profile = Profile(lambda: _opened(run, title, len(answers), failed), title=title)
    if logdir is None:
        weakref.finalize(profile.run, remove_scratch, place, os.getpid())
    return profile


def _opened(run: Path, title: str, n_asked: int, failed: Sequence[Answer]) -> Opened:
    """The run, and as if saved with it what it lacks: so that is kept wherever the profile is saved."""
    from ..formats.saved import SavedProfile
    from ..opening.open import open_traces

    opened = open_traces(run)
    if not failed:
        return opened
    notice = f"{n_asked - len(failed)} of {n_asked} workers sent a trace. {_reasons(failed)}"
    return replace(opened, saved=SavedProfile(title=title, notices=(notice,), n_missing_hosts=len(failed)))


def _reasons(failed: Sequence[Answer]) -> str:
    return named_reasons([FailedHost(answer.address, answer.failure) for answer in failed])


@contextmanager
def _progress(n_workers: int) -> Iterator[Watch]:
    """A progress bar of the workers that answered, where a person watches."""
    from ..capture.remote.client import Watch

    class Counted(Watch):
        def answered(self, answer: Answer) -> None:
            if answer.address not in seen:  # an address answers each attempt
                seen.add(answer.address)
                bar.tell(1)

    seen: set[str] = set()
    with Progress("Capturing", unit="workers", total=n_workers, is_scaled=False, after_s=0) as bar:
        yield Counted()
