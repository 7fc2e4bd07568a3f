"""What can be profiled -> `Profile`: a `with` block, a Keras call, a file on disk."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .display import in_notebook
from .errors import CaptureError
from .profile import Profile

if TYPE_CHECKING:
    from .capture.detail import Detail
    from .capture.record import CaptureOptions, CaptureRecord

_N_RUNS_NAMED = 5
_SLOW_S = 1.0

StepChoice = range | Callable[[int], bool] | None


def load(path: str | Path) -> Profile:
    """Open a profile from disk: an `.xplane.pb` file, a Chrome trace (`.json`, `.json.gz`), a run directory, a log directory
    (its newest run; all of one that `Profile.save` wrote), or a glob.

    Raises:
        TraceError: nothing readable is there; the message says what was found instead. An empty file or directory is an
            `EmptyTraceError`.
    """
    from .store.file_content import watched_reading
    from .store.open import open_traces, printable

    bar = _ReadingBar()
    try:
        with watched_reading(bar.tell):
            opened = open_traces(path)
    finally:
        bar.close()
    notices = []
    if opened.others:
        names = ", ".join(printable(run.name) for run in opened.others[:_N_RUNS_NAMED])
        more = f" and {len(opened.others) - _N_RUNS_NAMED} more" if len(opened.others) > _N_RUNS_NAMED else ""
        notices.append(f"This is the newest of {len(opened.others) + 1} runs. The others are {names}{more}.")
    title = (opened.saved.title if opened.saved else "") or printable(opened.paths[0].absolute().parent.name)
    return Profile(lambda: opened, title=title, notices=tuple(notices))


class _ReadingBar:
    """A progress bar of what is read, once that takes over a second and where a person watches."""

    def __init__(self) -> None:
        self._since_s = time.monotonic()
        self._n_read = self._n_all = 0
        self._bar: Any = None

    def tell(self, n_read: int, n_more: int) -> None:
        """Take up bytes that were read, and bytes that will be."""
        self._n_read, self._n_all = self._n_read + n_read, self._n_all + n_more
        if self._bar is None and time.monotonic() - self._since_s > _SLOW_S and _is_watched():
            from tqdm.auto import tqdm

            self._bar = tqdm(total=self._n_all, desc="Reading", unit="B", unit_scale=True, leave=False)
        if self._bar is not None:
            self._bar.total = self._n_all
            self._bar.update(min(self._n_read, self._n_all) - self._bar.n)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()


def _is_watched() -> bool:
    return in_notebook() or sys.stderr.isatty()


@contextlib.contextmanager
def profile(
    steps: StepChoice = None,
    every: int | None = None,
    system: bool | float = True,
    logdir: str | Path | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    *,
    every_seconds: float | None = None,
    detail: Detail = "normal",
) -> Iterator[Profile]:
    """Profile the TensorFlow code of a `with` block; what it yields is filled when the block ends.

    `model.fit`, `evaluate` and `predict` get their step markers without an edit; in a loop of your own use `trace_steps`
    or `step`; where there is neither, steps are inferred. When the block raises, or is interrupted, what was captured is
    kept (and shown in a notebook), and the exception goes on; `memory_failure` explains one that says that memory ran out.

    Args:
        steps: numbers of the steps to capture, counted over the whole block: a range, or a callable of the number. Each
            run of selected steps is a short session of its own.
        every: capture each step whose number is a multiple of this.
        system: sample CPU, each core, memory, disk, network and GPUs meanwhile: True for ten times a second, a number for
            another rate, 5 to 20 Hz, False for not at all. At 10 Hz it takes 0.1 to 0.5 % of one core.
        logdir: keep TensorFlow's files in this log directory; without it they live as long as the profile. Beside each trace
            lies `tfprof.sources.json.gz`, with the lines of ops and the text of your cells and files that they are in.
        max_seconds: how long sessions may run in all (60 s by default), and
        max_bytes: about how much they may write (32 MiB by default), before the capture stops itself and says so.
        every_seconds: capture one step as often as this.
        detail: how much is recorded of each step. `"low"` leaves out the events of thread pools, half of all on a CPU: steps,
            ops, memory, tf.data, layers and source lines stay. `"high"` adds the ops that TensorFlow found to be cheap, and
            the queues of its executor: twice the events of `"normal"` and twice its cost. `capture/detail.py` has a measured
            table; `Profile.capture` tells what it cost your steps, where some of them ran outside of the capture.

    Raises:
        CaptureError: the profiler cannot start or its files cannot be written; the message says what to do.
        TypeError, ValueError: an argument that means nothing.
    """
    from .capture.record import CaptureOptions

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
    with capturing(options, on_failure=_show) as captured:
        yield captured


@contextlib.contextmanager
def capturing(
    options: CaptureOptions, *, on_failure: Callable[[Profile], None], title: str = "profile"
) -> Iterator[Profile]:
    """Capture a block with these options; `on_failure` gets the filled profile before the block's exception goes on."""
    from .capture.session import Capture

    captured = Profile(title=title)
    capture = Capture(options)
    capture.start()
    try:
        yield captured
    except BaseException as error:
        with contextlib.suppress(CaptureError):  # the user's own exception is the one to report
            interrupted = isinstance(error, KeyboardInterrupt)
            captured.take(capture.stop(outcome="interrupted" if interrupted else "exception", error=error))
            on_failure(captured)
        raise
    try:
        capture.stop()
    finally:  # also when Ctrl-C came while files were written: they are complete
        captured.take(capture.record)


def ProfileCallback(  # noqa: N802 -- it makes a Keras callback, whose class exists only once Keras is imported
    steps: StepChoice = None,
    every: int | None = None,
    system: bool | float = True,
    logdir: str | Path | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    *,
    every_seconds: float | None = None,
    detail: Detail = "normal",
) -> Any:
    """Make a Keras callback that profiles the `fit`, `evaluate` or `predict` it is passed to.

    Its `profile` is the `Profile` of the last call, its `profiles` those of all calls, oldest first. Arguments are those of
    `profile()`; step numbers count from 0 in each call.

    Raises:
        CaptureError: TensorFlow is not installed.
    """
    from .capture.callback import make_callback
    from .capture.record import CaptureOptions

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
    return make_callback(options, _profile_of)


def _profile_of(record: CaptureRecord) -> Profile:
    captured = Profile(title="profile")
    captured.take(record)
    return captured


def _show(captured: Profile) -> None:
    """Display a profile in a notebook; elsewhere nobody asked for output."""
    if in_notebook():
        from IPython.display import display

        display(captured)
