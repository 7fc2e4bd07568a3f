"""A hook of TensorFlow 1's sessions -> a `SessionCapture` of each session that it was passed to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..session.tf_profiler import import_tensorflow
from .session_capture import SessionCapture
from .session_options import HookOptions
from .session_steps import SessionSteps

_COUNTED = "Runs are counted from 1, as the global step could not be read"

Wrap = Callable[[SessionCapture], Any]


def make_hook(options: HookOptions, wrap: Wrap) -> Any:
    """A `SessionRunHook` with `profile` and `profiles`; `wrap` turns what a session noted into what they give.

    Raises:
        CaptureError: TensorFlow is not installed.
    """
    import_tensorflow()
    return _hook_class()(options, wrap)


class SessionObserver:
    """What a hook does, without its base class: every method is named as, and called by, a hook of TensorFlow.

    The user's session must run, whatever of this fails: a failure is told of in the capture.
    """

    def __init__(self, options: HookOptions, wrap: Wrap) -> None:
        self._options, self._wrap = options, wrap
        self._captures = [SessionCapture(options)]
        self._steps = SessionSteps(self._captures[-1])
        self._profiles: dict[int, tuple[tuple[int, ...], Any]] = {}
        self._step_name: str | None = None
        """The name of the tensor that reads the global step; the tensor itself would keep the graph alive."""

    @property
    def profile(self) -> Any:
        """The profile of the last session: of what it ran so far, also after an exception or Ctrl-C.

        It is empty, and says why when it is asked for data, as long as no step was profiled.
        """
        return self._profile_of(len(self._captures) - 1)

    @property
    def profiles(self) -> list[Any]:
        """The profiles of all sessions that the hook was passed to, oldest first."""
        return [self._profile_of(i) for i in range(len(self._captures))]

    def begin(self) -> None:
        """Take the graph and its global step, before the graph is finished."""
        if self._now.n_runs:
            self._captures.append(SessionCapture(self._options))
        self._steps, self._step_name = SessionSteps(self._now), None
        with self._now.telling(_COUNTED):
            self._now.watch(import_tensorflow().compat.v1.get_default_graph())
            self._step_name = _global_step_name()

    def after_create_session(self, session: Any, _coord: Any) -> None:
        """Read where the global step stands, as after a restart from a checkpoint."""
        number = None
        with self._now.telling(_COUNTED):
            number = None if self._step_name is None else self._read(session)
        if number is None:
            self._step_name = None
        self._steps.begin(number)

    def before_run(self, run_context: Any) -> Any:
        """Ask for a trace of the run, where its step is wanted."""
        v1 = import_tensorflow().compat.v1
        options = None
        with self._now.telling("A step was not profiled"):
            if self._steps.before_run(lambda: self._read(run_context.session)):
                options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        return v1.train.SessionRunArgs(self._step_name, options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Keep what the run noted."""
        with self._now.telling("A step is not in the profile"):
            self._steps.after_run(
                lambda: self._read(run_context.session),
                None if run_values.results is None else int(run_values.results),
                lambda: bytes(run_values.run_metadata.SerializeToString()),
            )

    def end(self, session: Any) -> None:
        """Count the last run, where not all that was asked for could be kept."""
        with self._now.telling("The last step was not counted"):
            self._steps.end(lambda: self._read(session))

    @property
    def _now(self) -> SessionCapture:
        return self._captures[-1]

    def _profile_of(self, i: int) -> Any:
        capture = self._captures[i]
        state = capture.state
        if i not in self._profiles or self._profiles[i][0] != state:
            self._profiles[i] = state, self._wrap(capture)
        return self._profiles[i][1]

    def _read(self, session: Any) -> int:
        return int(session.run(self._step_name))


@functools.cache
def _hook_class() -> type:
    """The class of hooks; made on first use, since its base lives in TensorFlow."""
    base: Any = import_tensorflow().compat.v1.train.SessionRunHook

    class ProfilerHook(SessionObserver, base):  # type: ignore[misc]
        """Profiles the chosen steps of the session it is passed to; `profile` is what it has so far."""

    return ProfilerHook


def _global_step_name() -> str | None:
    """The name of a tensor of the default graph's global step; None where it has none."""
    from tensorflow.python.training import training_util

    if training_util.get_global_step() is None:
        return None
    return str(training_util._get_or_create_global_step_read().name)
