"""A Keras call -> its `Profile` or its `Watch`: the callbacks that a user passes to `fit`, `evaluate` or `predict`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..capture.keras.callback import CapturingCallback
from ..capture.keras.patch import OwnMarksPatch
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

    It is for code where only a callback can go; elsewhere `with profile():` or `%%tfprofile` needs no edit of the call.
    One callback may be passed to many calls. A call that fails leaves the profile of what ran before.

    Args:
        steps: numbers of the steps to capture, counted from 0 in each call: a range, the first and the last as a tuple,
            such as `(10, 20)`, other whole numbers, or a function from a number to True or False. Two numbers that are
            meant one by one are a set, `{10, 20}`. None: all.
        every: capture each step whose number is a multiple of this.
        system: sample the machine meanwhile: True for ten times a second, a number for another rate, 5 to 20 Hz, False
            for not at all.
        logdir: keep TensorFlow's files in this log directory; without it they live as long as the profile.
        max_seconds: for how many seconds a call may be captured, 60 by default.
        max_bytes: about how many bytes of files a call may give, 32 MiB by default.
        every_seconds: capture one step as often as this, in seconds.
        detail: how much is recorded of each step: `"low"`, `"normal"` or `"high"`, as of `profile`.

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
        capture = Capture(self._options, patch=OwnMarksPatch(), end_if_over=end_if_over)
        capture.start()
        return capture

    def _result_of(self, record: CaptureRecord) -> Profile:
        captured = Profile(title="profile")
        captured.run.take(record)
        return captured


class WatchCallback(CapturingCallback[Watch]):
    """A Keras callback that watches the `fit`, `evaluate` or `predict` it is passed to, as `watch()` does.

    In a notebook a widget shows every step while the call runs, elsewhere one line on the terminal.

    Args:
        every: profile some steps at each step whose number is a multiple of this.
        every_seconds: and as often as this, in seconds.
        windows: whether what goes wrong is profiled without being asked.
        max_windows: how many windows open without being asked, at most.
        window_steps: how many steps a window has.
        logdir: keep the steps and windows in a folder below this one. Without it they live as long as the `Watch`.
        detail: of the windows: `"low"`, `"normal"` or `"high"`, as of `profile`.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError: an argument of the wrong type.
        ValueError: an argument that means nothing.

    Examples:
        >>> callback = tfprof.WatchCallback(windows=False)
        >>> history = model.fit(dataset, callbacks=[callback], verbose=0)
        >>> len(callback.watch.steps)
        8
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
        capture = watch.begin(line, patch=OwnMarksPatch(), end_if_over=end_if_over)
        watch.show(line)
        self._now = watch, line
        return capture

    def _result_of(self, record: CaptureRecord) -> Watch:
        assert self._now is not None
        (watch, line), self._now = self._now, None
        watch.finish(record.outcome)
        line.end()
        return watch
