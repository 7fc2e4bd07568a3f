"""A Keras call -> its `Profile` or its `Watch`: the callbacks that a user passes to `fit`, `evaluate` or `predict`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..capture.keras.callback import CapturingCallback
from ..capture.session.record import CaptureOptions
from ..capture.session.session import Capture
from ..capture.watched.window_plan import DEFAULT_STEPS, DEFAULT_WINDOWS
from .live_watch import Watch
from .one_run import Profile
from .status_line import StatusLine, status_line
from .watch_options import WatchOptions

if TYPE_CHECKING:
    from ..capture.session.detail import Detail
    from ..capture.session.record import CaptureRecord
    from ..capture.session.selection import Steps


class ProfileCallback(CapturingCallback[Profile]):
    """A Keras callback that profiles the `fit`, `evaluate` or `predict` it is passed to.

        callback = tfprof.ProfileCallback(steps=range(10, 20))
        model.fit(dataset, callbacks=[callback])
        callback.profile

    For code where only a callback can go; elsewhere `with profile():` or `%%tfprofile` needs no edit of the call. One callback
    may be passed to many calls. A call that fails leaves the profile of what ran before.

    Args:
        steps: numbers of the steps to capture, counted from 0 in each call: a range, other whole numbers, or a function from a
            number to True or False. The other arguments are those of `profile` as well.
        every: capture each step whose number is a multiple of this.
        system: sample the machine meanwhile, or how often a second.
        logdir: keep TensorFlow's files in this log directory.
        max_seconds: how many seconds a call may be captured, 60 by default.
        max_bytes: about how many bytes of files a call may give, 32 MiB by default.
        every_seconds: capture one step as often as this, in seconds.
        detail: `"low"`, `"normal"` or `"high"`.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError, ValueError: an argument that means nothing.
    """

    _result_name = "profile"

    def __init__(
        self,
        steps: Steps | None = None,
        every: int | None = None,
        *,
        system: bool | float = True,
        logdir: str | Path | None = None,
        max_seconds: float | None = None,
        max_bytes: int | None = None,
        every_seconds: float | None = None,
        detail: Detail = "normal",
    ) -> None:
        super().__init__()
        self._options = CaptureOptions(
            steps=steps,
            every=every,
            every_seconds=every_seconds,
            system=system,
            detail=detail,
            logdir=logdir,
            max_seconds=max_seconds,
            max_bytes=max_bytes,
        )

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
        capture = Capture(self._options, end_if_over=end_if_over)
        capture.start()
        return capture

    def _result_of(self, record: CaptureRecord) -> Profile:
        captured = Profile(title="profile")
        captured.take(record)
        return captured


class WatchCallback(CapturingCallback[Watch]):
    """A Keras callback that watches the `fit`, `evaluate` or `predict` it is passed to, as `watch()` does.

        callback = tfprof.WatchCallback(every_seconds=600)
        model.fit(dataset, epochs=50, callbacks=[callback])
        callback.watch.steps

    In a notebook a widget shows every step while the call runs, elsewhere one line on the terminal.

    Args:
        every: profile some steps at each step whose number is a multiple of this.
        every_seconds: and as often as this, in seconds.
        windows: whether what goes wrong is profiled without being asked.
        max_windows: so many windows open without being asked, at most.
        window_steps: how many steps a window has.
        logdir: keep the steps and windows in a folder below this one. Without it they live as long as the `Watch`.
        detail: of the windows: `"low"`, `"normal"` or `"high"`, as of `profile`.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError, ValueError: an argument that means nothing.
    """

    _result_name = "watch"

    def __init__(
        self,
        *,
        every: int | None = None,
        every_seconds: float | None = None,
        windows: bool = True,
        max_windows: int = DEFAULT_WINDOWS,
        window_steps: int = DEFAULT_STEPS,
        logdir: str | Path | None = None,
        detail: Detail = "normal",
    ) -> None:
        super().__init__()
        self._options = WatchOptions(
            every=every,
            every_seconds=every_seconds,
            windows=windows,
            max_windows=max_windows,
            window_steps=window_steps,
            logdir=logdir,
            detail=detail,
        )
        self._now: tuple[Watch, StatusLine] | None = None

    @property
    def watch(self) -> Watch:
        """The `Watch` of the last call.

        Raises:
            CaptureError: no call has been watched yet, or the first one still runs.
        """
        return self._last_result

    @property
    def watches(self) -> list[Watch]:
        """The `Watch` of each call that has ended, oldest first; empty before the first."""
        return self._all_results

    def _start_capture(self, end_if_over: Callable[[], None]) -> Capture:
        watch, line = Watch(self._options), status_line()
        capture = watch.begin(line, end_if_over=end_if_over)
        watch.show(line)
        self._now = watch, line
        return capture

    def _result_of(self, record: CaptureRecord) -> Watch:
        assert self._now is not None
        (watch, line), self._now = self._now, None
        watch.finish(record.outcome)
        line.end()
        return watch
