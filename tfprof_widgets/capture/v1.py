"""A hook of TensorFlow 1's sessions -> the RunMetadata of chosen runs, the graph and the op log."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .program.frames import write_whole
from .program.graphs import without_deprecations
from .record import import_tensorflow
from .steps import LateBase
from .window_policy import StepRule, Steps, make_selection, require_positive

DEFAULT_MAX_STEPS = 100
DEFAULT_MAX_BYTES = 256 * 2**20


@dataclass(frozen=True)
class HookOptions:
    """What a hook is asked to do; a bad argument is a `TypeError` or `ValueError` that says what to give."""

    save_steps: int | None = None
    save_secs: float | None = None
    _: KW_ONLY
    steps: Steps | None = None
    output_dir: str | Path | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    max_bytes: int = DEFAULT_MAX_BYTES

    def __post_init__(self) -> None:
        given = [name for name in ("save_steps", "save_secs", "steps") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} were given; give one of save_steps=, save_secs= and steps=.")
        for name in ("save_steps", "save_secs", "max_steps", "max_bytes"):
            kind = Real if name == "save_secs" else Integral
            if (value := getattr(self, name)) is not None:
                require_positive(name, value, kind, give="a number")
        if self.output_dir is not None and not isinstance(self.output_dir, (str, os.PathLike)):
            raise TypeError(f"output_dir={self.output_dir!r} is a {type(self.output_dir).__name__}; give a path.")
        self.rule()

    def rule(self) -> StepRule | None:
        """Which step numbers are wanted; None where no number is left out."""
        selection = make_selection(steps=self.steps)
        return None if selection is None else selection.rule


_logger = logging.getLogger(__name__)


def graph_bytes(graph: Any) -> bytes:
    """The GraphDef of a `tf.Graph`, with the shapes that are known."""
    return bytes(graph.as_graph_def(add_shapes=True).SerializeToString())


def op_log_bytes(graph: Any, run_metadata: bytes = b"", op_log: bytes = b"") -> bytes:
    """The op log of a `tf.Graph`: call stacks, trainable variables, and float operations by registered statistics."""
    from tensorflow.core.profiler import tfprof_log_pb2
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.profiler import tfprof_logger

    given = tfprof_log_pb2.OpLogProto.FromString(op_log)
    for entry in given.log_entries:
        entry.ClearField("code_def")  # its texts are numbered by a table that the new log does not have
    run = config_pb2.RunMetadata.FromString(run_metadata)
    with without_deprecations():
        counted = _counted(graph, run, given) if run_metadata else given
        # Some metadata, if empty: without any TensorFlow writes to stderr of how many ops it knows no shape.
        whole = tfprof_logger.merge_default_with_oplog(graph, counted, config_pb2.RunMetadata())
    return bytes(whole.SerializeToString())


def _counted(graph: Any, run: Any, given: Any) -> Any:
    """The log with float operations, as far as the shapes of a run give them, counted in a copy of the graph."""
    from tensorflow.python.framework import importer, ops
    from tensorflow.python.profiler import tfprof_logger

    try:
        copy = ops.Graph()
        with copy.as_default():
            importer.import_graph_def(graph.as_graph_def(), name="")
        return tfprof_logger.merge_default_with_oplog(copy, given, run, add_trace=False, add_trainable_var=False)
    except Exception:  # ops of libraries that are not loaded, graphs beyond 2 GiB: static shapes are left
        _logger.info("float operations are counted without the shapes of a run", exc_info=True)
        return given


RUN_FILE = "run_metadata-{}.pb"
GRAPH_FILE = "graph.pb"
LOG_FILE = "tfprof_log"
"""Names of the files of `output_dir`; the last one is TensorFlow's own."""


@dataclass
class SessionCapture:
    """The metadata of one session's runs, as bytes, which do not keep the graph alive."""

    options: HookOptions
    runs: dict[int, bytes] = field(default_factory=dict)
    """Number of a step -> bytes of its RunMetadata."""
    n_runs: int = 0
    is_cut: bool = False
    """Whether a step that was asked for had no room."""
    n_left_out: int = 0
    """Profiled runs that did not advance the global step, in a session where others do (or where none was asked for)."""
    n_bytes: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    """Text of each failure -> how often."""
    _graph: weakref.ref[Any] | None = None
    _known: tuple[bytes, bytes] | None = None

    @property
    def has_room(self) -> bool:
        return len(self.runs) < self.options.max_steps and self.n_bytes < self.options.max_bytes

    @property
    def state(self) -> tuple[int, ...]:
        """Equal to an earlier one as long as the profile would be the same."""
        return self.n_runs, self.is_cut, self.n_left_out, len(self.runs), sum(self.failures.values())

    def watch(self, graph: Any) -> None:
        """Take the graph that the session will run; the session owns it."""
        self._graph = weakref.ref(graph)

    def keep(self, number: int, content: bytes) -> None:
        """Add the metadata of one run; a step run again after a restart replaces the earlier one."""
        self.n_bytes += len(content) - len(self.runs.get(number, b""))
        self.runs[number] = content
        self._write(RUN_FILE.format(number), content)
        if self._known is None:  # now, since nothing tells when a session ends by an exception, and the graph with it
            graph, log = self.graph_and_log()
            self._write(GRAPH_FILE, graph)
            self._write(LOG_FILE, log)

    def leave_out_all(self) -> None:
        """Forget the runs so far, and their files: they turned out to be no training steps."""
        self.n_left_out += len(self.runs)
        if self.options.output_dir is not None:
            with self.telling(f"Files of runs that are no steps are left in {self._folder}"):
                for number in self.runs:
                    (self._folder / RUN_FILE.format(number)).unlink(missing_ok=True)
        self.runs, self.n_bytes, self.is_cut = {}, 0, False
        self._known = None  # the log has shapes of a run that was left out; the next one makes its own

    def graph_and_log(self) -> tuple[bytes, bytes]:
        """The bytes of the graph and of its op log, each empty where it cannot be had."""
        graph = self._graph() if self._graph is not None else None
        if self._known is None and graph is not None:
            definition, log = b"", b""
            # Beyond 2 GiB, or of ops that nobody can count: the times are worth having.
            with self.telling("The graph is not known in full"):
                definition = graph_bytes(graph)
                log = op_log_bytes(graph, next(iter(self.runs.values()), b""))
            self._known = definition, log
        return self._known or (b"", b"")

    @contextlib.contextmanager
    def telling(self, what: str) -> Iterator[None]:
        """Note what the block raises, and go on."""
        try:
            yield
        except Exception as error:  # the user's session must run, whatever of the hook fails
            self.tell(what, error)

    def tell(self, what: str, error: Exception) -> None:
        """Note a failure of the hook; the user's session goes on."""
        text = f"{what}: {type(error).__name__}: {error}."
        if text not in self.failures:
            _logger.warning("%s", what, exc_info=error)
        self.failures[text] = self.failures.get(text, 0) + 1

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user has to know; empty when all went as asked."""
        told = [text if n == 1 else f"{text} ({n} times)" for text, n in self.failures.items()]
        n_kept = len(self.runs)
        if self.n_left_out:
            n_profiled = n_kept + self.n_left_out
            told.append(
                f"{self.n_left_out} of {n_profiled} profiled runs did not advance the global step and are left out: "
                "where a session trains, only its training runs are steps."
            )
        if self.is_cut:
            limits = f"max_steps={self.options.max_steps}, max_bytes={self.options.max_bytes}"
            told.append(f"The profile has {n_kept} steps, and no room for the others that were asked for ({limits}).")
        return tuple(told)

    @property
    def _folder(self) -> Path:
        return Path(self.options.output_dir or "").expanduser()

    def _write(self, name: str, content: bytes) -> None:
        if not content or self.options.output_dir is None:
            return
        with self.telling(f"{name} could not be written to {self._folder}"):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._folder / name, content)


REMEMBERED_ANSWERS = 64


class SessionSteps:
    """Numbers a session's runs by the global step after them, else from 1, and selects those of its capture."""

    def __init__(self, capture: SessionCapture, clock: Callable[[], float] = time.monotonic) -> None:
        self._capture = capture
        answers = _answers(capture)
        self._by_step = StepChoice(capture.options, answers, clock)
        self._by_run = StepChoice(capture.options, answers, clock)
        self._start: int | None = None
        self._number: int | None = None
        """The last known global step; None without one. What a run fetches may be from before it."""
        self._is_exact = False
        self._advances = False
        self._is_profiling = False

    def begin(self, number: int | None) -> None:
        """The session was created, or created again after a failure, with its global step at `number`."""
        self._start = self._number = number
        self._is_exact = True

    def before_run(self, read: Callable[[], int]) -> bool:
        self._is_profiling = False
        if self._may_want():
            if self._number is not None and not self._capture.is_cut:
                self._observe(read(), is_exact=True)
            self._is_profiling = self._capture.has_room and self._may_want()
            self._capture.is_cut |= not self._capture.has_room and self._may_want()
        self._is_exact = False  # the run may advance it, even if it fails
        return self._is_profiling

    def after_run(self, read: Callable[[], int], fetched: int | None, content: Callable[[], bytes]) -> None:
        """Number the run that has ended, and keep it if it is wanted."""
        self._capture.n_runs += 1
        is_first, is_profiled, before = self._capture.n_runs == 1, self._is_profiling, self._number
        if before is not None:
            is_exact = is_profiled or is_first
            self._observe(read() if is_exact or fetched is None else fetched, is_exact=is_exact)
        if is_profiled:
            self._keep(before, content)
        elif is_first:
            self._took(1)

    def _may_want(self) -> bool:
        """Whether the next run may be wanted, as far as the global step is known."""
        if not self._advances and self._by_run.wants(self._capture.n_runs + 1):
            return True
        return self._number is not None and (
            self._by_step.wants(self._number + 1) or (not self._is_exact and self._by_step.wants(self._number + 2))
        )

    def _observe(self, number: int, *, is_exact: bool) -> None:
        if not self._advances and self._start is not None and number > self._start:
            self._advances = True
            self._capture.leave_out_all()
        self._number, self._is_exact = number, is_exact

    def _keep(self, before: int | None, content: Callable[[], bytes]) -> None:
        n_runs, number = self._capture.n_runs, self._number
        if not self._advances and self._by_run.wants(n_runs):
            self._capture.keep(n_runs, content())
            self._took(n_runs)
        elif before is None or number is None or number <= before:
            self._capture.n_left_out += 1
        elif self._by_step.wants(before + 1):  # else it was wanted by count, and turned out to be a training step
            self._capture.keep(number, content())
            self._took(n_runs)

    def _took(self, n_runs: int) -> None:
        self._by_run.took(n_runs)
        if self._number is not None:
            self._by_step.took(self._number)


class StepChoice:
    """Which numbers the options want: by the user's rule, every so many, or every so many seconds."""

    def __init__(
        self, options: HookOptions, answers: Callable[[int], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._options, self._answers, self._clock = options, answers, clock
        self._last: tuple[int, float] | None = None

    def wants(self, number: int) -> bool:
        options = self._options
        if options.save_steps is None and options.save_secs is None:
            return self._answers(number)
        if self._last is None:  # the first run makes variables and plans; TensorFlow's hook leaves it out, too
            return False
        if options.save_steps is not None:
            return number >= self._last[0] + options.save_steps
        return options.save_secs is not None and self._clock() >= self._last[1] + options.save_secs

    def took(self, number: int) -> None:
        """From here the next number of steps, or seconds, counts: this one was profiled, or is the first."""
        self._last = number, self._clock()


def _answers(capture: SessionCapture) -> Callable[[int], bool]:
    """The user's rule, asked once per number, as it may be stateful; a failure is a no, and reported."""
    rule = capture.options.rule()

    @functools.lru_cache(maxsize=REMEMBERED_ANSWERS)
    def answer(number: int) -> bool:
        if rule is None:
            return True
        try:
            return bool(rule(number))
        except Exception as error:  # the user's own
            capture.tell("A step was not profiled, as the choice of steps failed", error)
            return False

    return answer


if TYPE_CHECKING:
    from tensorflow.compat.v1.train import SessionRunHook
else:
    SessionRunHook = object

_COUNTED = "Runs are counted from 1, as the global step could not be read"

Result = TypeVar("Result")


class SessionObserver(LateBase, Generic[Result], SessionRunHook):  # type: ignore[misc]
    """A hook of TensorFlow with its names of methods; no failure disturbs the user's session, all are reported in the capture."""

    def __init__(self, options: HookOptions) -> None:
        self._options = options
        self._captures = [SessionCapture(options)]
        self._steps = SessionSteps(self._captures[-1])
        self._results: dict[int, tuple[tuple[int, ...], Result]] = {}
        self._step_name: str | None = None
        """A name, as the tensor itself would keep the graph alive."""

    @classmethod
    def _late_base(cls) -> type:
        base: type = import_tensorflow().compat.v1.train.SessionRunHook
        return base

    def _result_of(self, capture: SessionCapture) -> Result:
        raise NotImplementedError

    @property
    def _last_result(self) -> Result:
        """What the last session gives so far, also after an exception or Ctrl-C."""
        return self._result_at(len(self._captures) - 1)

    @property
    def _all_results(self) -> list[Result]:
        """Results of all sessions with this hook, oldest first."""
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
        with self._now.telling("A step is not in the profile"):
            self._steps.after_run(
                lambda: self._read(run_context.session),
                None if run_values.results is None else int(run_values.results),
                lambda: bytes(run_values.run_metadata.SerializeToString()),
            )

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
