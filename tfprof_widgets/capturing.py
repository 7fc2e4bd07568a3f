"""What runs -> `Profile`: a block, a Keras call, training processes elsewhere, a capture that was left running."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .capture.keras import CapturingCallback, KerasPatch, OwnMarksPatch
from .capture.record import CaptureOptions
from .capture.session import Capture
from .capture.steps import takes_arguments_of
from .errors import CaptureError
from .profiles import Profile
from .progress import Progress, StatusLine, following, record_text, status_line
from .read.opening import FailedHost, named_reasons
from .show.front_end import kernel_shell

if TYPE_CHECKING:
    from .capture.record import CaptureRecord, Detail
    from .capture.remote import Answer, ProfilerServer, RemoteOptions, Tell
    from .capture.window_policy import Steps
    from .read.opening import Opened


_REMEDY = "Check that each runs tfprof.serve(port), at an address that this machine reaches, and trains meanwhile."


@contextlib.contextmanager
def profile(
    steps: Steps | None = None,
    every: int | None = None,
    *,
    system: bool | float = True,
    logdir: str | Path | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    every_seconds: float | None = None,
    detail: Detail = "normal",
) -> Iterator[Profile]:
    """Profile the TensorFlow code of a `with` block: it gives a `Profile`, which is filled when the block ends.

    `model.fit`, `evaluate` and `predict` get their steps without an edit. In a loop of your own use `trace_steps` or
    `step`; where there is neither, steps are found by what repeats. When the block raises, or is interrupted, what was
    captured is kept (and shown in a notebook), and the exception goes on; `Profile.memory_failure` explains one that
    says that memory ran out. A line in the output tells how far it is; `recover` lists what is kept of dead processes.

    Args:
        steps: numbers of the steps to capture, counted from 0 over the whole block: a range, the first and the last as a
            tuple, such as `(10, 20)`, other whole numbers (two of them as a set, `{10, 20}`), or a function from a number
            to True or False. Steps that follow each other share a short session of the profiler. None: all.
        every: capture each step whose number is a multiple of this.
        system: sample CPU, each core, memory, disk, network and GPUs meanwhile: True for ten times a second (0.1 to 0.5 %
            of one core), a number for another rate, 5 to 20 Hz, False for not at all.
        logdir: keep TensorFlow's files in this log directory; without it they live as long as the profile. Beside each
            trace `tfprof.sources.json.gz` has the lines of ops and the text of your cells and files that they are in.
        max_seconds: for how many seconds sessions may run in all, 60 s by default, until the capture stops and says so.
        max_bytes: about how many bytes they may write, 32 MiB by default; likewise.
        every_seconds: capture one step as often as this, in seconds.
        detail: how much is recorded of each step. `"low"` leaves out the events of thread pools, half of all on a CPU,
            few on a GPU: steps, ops, memory, tf.data, layers and source lines stay. `"high"` adds the ops that TensorFlow
            found to be cheap, and the queues of its executor: twice the events of `"normal"` and twice its cost.

    Yields:
        The `Profile`. Inside the block its data raises `CaptureError`. `capture` tells what it cost, if some steps ran without.

    Raises:
        CaptureError: the profiler cannot start or its files cannot be written; the message says what to do.
        TypeError: an argument of the wrong type.
        ValueError: an argument that means nothing.

    Examples:
        >>> with tfprof.profile(steps=range(2, 5)) as prof:
        ...     history = model.fit(dataset, verbose=0)
        >>> prof.steps["name"].tolist()
        ['train 2', 'train 3', 'train 4']
    """
    options = CaptureOptions(
        steps=steps,
        every=every,
        every_seconds=every_seconds,
        system=system,
        detail=detail,
        logdir=logdir,
        max_seconds=max_seconds,
        max_bytes=max_bytes,
    )
    with status_line() as line, capturing(options, line, on_failure=lambda got: _show(got, line)) as captured:
        yield captured


@contextlib.contextmanager
def capturing(
    options: CaptureOptions, line: StatusLine, *, on_failure: Callable[[Profile], None], title: str = "profile"
) -> Iterator[Profile]:
    """Capture a block; `on_failure` gets the filled profile before its exception goes on. The line shows progress."""
    captured = Profile(title=title)
    capture = Capture(options, patch=KerasPatch(), title=title)
    capture.start()

    def take() -> None:
        captured.run.take(capture.record)
        line.rest = record_text(capture.record)

    with capture.around(take, lambda: on_failure(captured)), following(capture, line):
        yield captured


def _show(captured: Profile, line: StatusLine) -> None:
    """Display a profile in a notebook only."""
    if kernel_shell() is not None:
        line.display(captured)


def stop() -> Profile | None:
    """End the capture that runs in this process, such as one that was left running, and get its profile.

    The program goes on. The `with` block, cell or callback that had begun it keeps what was recorded until now.

    Returns:
        The profile; None where no capture runs. Its data raises `EmptyTraceError` where nothing could be recorded.

    Examples:
        >>> tfprof.stop() is None
        True
    """
    from .capture.session import active_capture

    capture = active_capture()
    if capture is None:
        return None
    profile = Profile(title="profile")
    profile.run.take(capture.stop(outcome="interrupted"))
    return profile


class ProfileCallback(CapturingCallback[Profile]):
    """A Keras callback that profiles the `fit`, `evaluate` or `predict` it is passed to.

    It is for code where only a callback can go; elsewhere `with profile():` or `%%tfprofile` needs no edit of the call.
    One callback may be passed to many calls. A call that fails leaves the profile of what ran before.

    Its arguments are those of `profile`, for each call: `steps` (counted from 0 in each), `every`, `system`, `logdir`,
    `max_seconds`, `max_bytes`, `every_seconds`, `detail`.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError: an argument of the wrong type.
        ValueError: an argument that means nothing.

    Examples:
        >>> callback = tfprof.ProfileCallback(steps=range(2, 5))
        >>> history = model.fit(dataset, callbacks=[callback], verbose=0)
        >>> callback.profile.steps["name"].tolist()
        ['train 2', 'train 3', 'train 4']
    """

    _result_name = "profile"

    @takes_arguments_of(profile)
    def __init__(self, steps: Steps | None = None, every: int | None = None, **options: Any) -> None:
        super().__init__()
        self._options = CaptureOptions(steps=steps, every=every, **options)

    @property
    def profile(self) -> Profile:
        """The profile of the last call.

        Raises:
            CaptureError: no call has been captured yet, or the first one still runs.
        """
        return self._last_result

    @property
    def profiles(self) -> list[Profile]:
        """The profiles of all calls that have ended, oldest first; empty before the first."""
        return self._all_results

    def _start_capture(self, end_if_over: Callable[[], None]) -> Capture:
        capture = Capture(self._options, patch=OwnMarksPatch(), end_if_over=end_if_over)
        capture.start()
        return capture

    def _result_of(self, record: CaptureRecord) -> Profile:
        captured = Profile(title="profile")
        captured.run.take(record)
        return captured


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
    from .capture.remote import check_token, start_server

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
    from .capture.remote import RemoteOptions, worker_addresses

    workers = worker_addresses(addresses)
    options = RemoteOptions(
        duration_ms=duration_ms,
        host_tracer_level=host_tracer_level,
        device_tracer_level=device_tracer_level,
        delay_ms=delay_ms,
        num_tracing_attempts=num_tracing_attempts,
        token=token,
    )
    told: set[str] = set()
    with Progress("Capturing", unit="workers", total=len(workers), is_scaled=False, after_s=0) as bar:

        def tell(answers: Mapping[str, Answer | None]) -> None:
            new = {address for address, answer in answers.items() if answer is not None} - told
            told.update(new)  # an address answers each attempt
            bar.tell(len(new))

        return captured(workers, options, logdir=logdir, tell=tell)


def captured(addresses: Sequence[str], options: RemoteOptions, *, logdir: str | Path | None, tell: Tell) -> Profile:
    """The profile of all workers that answered; see `capture_remote`. Whatever `tell` raises ends the capture."""
    from .capture.remote import ask_workers, check_logdir

    place = None if logdir is None else check_logdir(logdir)
    answers = ask_workers(addresses, options, tell)
    failed = [answer for answer in answers if answer.failure]
    if len(failed) == len(answers):
        raise CaptureError(f"None of {len(answers)} workers sent a trace. {_reasons(failed)} {_REMEDY}")
    return _profile_of(answers, failed, place)


def _profile_of(answers: Sequence[Answer], failed: Sequence[Answer], logdir: Path | None) -> Profile:
    from .capture.folders import make_scratch, remove_scratch
    from .capture.remote import write_run

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
    """The run with what it lacks as if saved with it, so that it stays wherever the profile is saved."""
    from .read.opening import open_traces
    from .read.saved import SavedProfile

    opened = open_traces(run)
    if not failed:
        return opened
    notice = f"{n_asked - len(failed)} of {n_asked} workers sent a trace. {_reasons(failed)}"
    return replace(opened, saved=SavedProfile(title=title, notices=(notice,), n_missing_hosts=len(failed)))


def _reasons(failed: Sequence[Answer]) -> str:
    return named_reasons([FailedHost(answer.address, answer.failure) for answer in failed])
