"""A hook of TensorFlow 1's sessions -> a `SessionCapture` of each session that it was passed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..session.late_base import LateBase
from ..session.tf_profiler import import_tensorflow
from .session_capture import SessionCapture
from .session_options import HookOptions
from .session_steps import SessionSteps

if TYPE_CHECKING:
    from tensorflow.compat.v1.train import SessionRunHook
else:
    SessionRunHook = object

_COUNTED = "Runs are counted from 1, as the global step could not be read"

Result = TypeVar("Result")


class SessionObserver(LateBase, Generic[Result], SessionRunHook):  # type: ignore[misc]
    """A hook of TensorFlow: every method that it has is named as, and called by, one.

    The user's session must run, whatever of this fails: a failure is told of in the capture.
    """

    def __init__(self, options: HookOptions) -> None:
        self._options = options
        self._captures = [SessionCapture(options)]
        self._steps = SessionSteps(self._captures[-1])
        self._results: dict[int, tuple[tuple[int, ...], Result]] = {}
        self._step_name: str | None = None
        """The name of the tensor that reads the global step; the tensor itself would keep the graph alive."""

    @classmethod
    def _late_base(cls) -> type:
        """TensorFlow's class of hooks."""
        base: type = import_tensorflow().compat.v1.train.SessionRunHook
        return base

    def _result_of(self, capture: SessionCapture) -> Result:
        """What a session gives of which this was noted."""
        raise NotImplementedError

    @property
    def _last_result(self) -> Result:
        """What the last session gives of what it ran so far, also after an exception or Ctrl-C."""
        return self._result_at(len(self._captures) - 1)

    @property
    def _all_results(self) -> list[Result]:
        """What all sessions give that the hook was passed to, oldest first."""
        return [self._result_at(i) for i in range(len(self._captures))]

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

    def _result_at(self, i: int) -> Result:
        capture = self._captures[i]
        state = capture.state
        if i not in self._results or self._results[i][0] != state:
            self._results[i] = state, self._result_of(capture)
        return self._results[i][1]

    def _read(self, session: Any) -> int:
        return int(session.run(self._step_name))


def _global_step_name() -> str | None:
    """The name of a tensor of the default graph's global step; None where it has none."""
    from tensorflow.python.training import training_util

    if training_util.get_global_step() is None:
        return None
    return str(training_util._get_or_create_global_step_read().name)
