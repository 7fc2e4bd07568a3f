"""Code of TensorFlow's sessions -> `Profile`: a hook of `MonitoredTrainingSession`, and the metadata that a session returned."""

from __future__ import annotations

import logging
import operator
import os
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .capture.steps import takes_arguments_of
from .capture.v1 import HookOptions, SessionObserver
from .errors import CaptureError, EmptyTraceError
from .profiles import Profile

if TYPE_CHECKING:
    from .capture.v1 import SessionCapture
    from .read.opening import Opened


logger = logging.getLogger(__name__)


def from_run_metadata(run_metadata: Any, *, graph: Any = None, op_log: Any = None) -> Profile:
    """Make a profile of what `session.run` of TensorFlow 1 recorded in a `RunMetadata`.

    Ask for it with `session.run(..., options=tf.compat.v1.RunOptions(trace_level=3), run_metadata=metadata)`; 3 is
    `FULL_TRACE`.

    Args:
        run_metadata: a `RunMetadata` message (or `StepStats`), or its bytes; for several steps a mapping from the
            number of each to one. A single one is step 0.
        graph: the `tf.Graph` that ran, or a `GraphDef`, best of `as_graph_def(add_shapes=True)`, or its bytes. A
            `tf.Graph` also tells call stacks, trainable variables and float operations. Without any, edges and types
            are those that the executions are labelled with.
        op_log: an `OpLogProto` or its bytes, with types and float operations of your own.

    Returns:
        The profile, with all tables, views and exports.

    Raises:
        EmptyTraceError: the metadata hold no step statistics: the run was not traced.
        TraceError: some bytes are no such message; the text says which.
        TypeError: an argument is neither a message nor bytes, or a step has no whole number.
        ValueError: a step has a negative number.

    Examples:
        >>> import tensorflow.compat.v1 as v1
        >>> metadata = v1.RunMetadata()
        >>> with v1.Graph().as_default() as graph, v1.Session() as session:
        ...     total = v1.reduce_sum(v1.random.uniform([10, 10]), name="total")
        ...     value = session.run(total, options=v1.RunOptions(trace_level=3), run_metadata=metadata)
        >>> prof = tfprof.from_run_metadata(metadata, graph=graph)
        >>> "total" in prof.ops["name"].tolist()
        True
    """
    items = run_metadata.items() if isinstance(run_metadata, Mapping) else [(0, run_metadata)]
    runs = {_step_number(step): _bytes_of(one, "run_metadata") for step, one in items}
    log = b"" if op_log is None else _bytes_of(op_log, "op_log")
    if graph is None:
        content = b""
    elif hasattr(graph, "as_graph_def"):
        from .capture.v1 import graph_bytes, op_log_bytes

        content = graph_bytes(graph)
        log = op_log_bytes(graph, next(iter(runs.values()), b""), log)
    else:
        content = _bytes_of(graph, "graph")
    opened = _opened(runs, content, log)
    return Profile(lambda: opened, title="session")


class ProfilerHook(SessionObserver[Profile]):
    """A hook that profiles steps of a `tf.compat.v1.train.MonitoredTrainingSession`, or of an `Estimator`.

    In a session that trains, the steps are the runs that advance the global step, and the number of a step is the
    global step after it, as in the names of TensorFlow's own timeline files; other runs, such as evaluations between
    training steps, are left out, and a notice says how many. In a session that never advances a global step, every run
    is a step, counted from 1. Give one of `save_steps`, `save_secs` and `steps`; without any, every step is profiled.
    What fails in the hook is a notice of the profile, and the session goes on. The graph is read with the first step
    that is profiled, which takes a moment after that step, and is not kept alive.

    Args:
        save_steps: profile one step, then the first after so many more; never the first run.
        save_secs: profile one step as often as this, in seconds; never the first run.
        steps: numbers of the steps to profile: a range, the first and the last as a tuple, such as `(10, 20)`, other whole
            numbers, or a function from a number to True or False. Two numbers that are meant one by one are a set,
            `{10, 20}`.
        output_dir: also write the metadata of each step there as it comes, with the graph, so that a crash keeps them,
            and `load(output_dir)` gives the profile again.
        max_steps: how many steps are kept at most; of more the profile says so.
        max_bytes: how many bytes their metadata may take; likewise.

    Raises:
        CaptureError: TensorFlow is not installed.
        TypeError: an argument of the wrong type.
        ValueError: an argument that means nothing, or more than one choice of steps.

    Examples:
        >>> import tensorflow.compat.v1 as v1
        >>> hook = tfprof.ProfilerHook(steps=range(3, 5))
        >>> with v1.Graph().as_default():
        ...     step = v1.train.get_or_create_global_step()
        ...     advance = v1.assign_add(step, 1)
        ...     with v1.train.MonitoredTrainingSession(hooks=[hook]) as session:
        ...         for _ in range(6):
        ...             number = session.run(advance)
        >>> hook.profile.steps["name"].tolist()
        ['step 3', 'step 4']
    """

    @takes_arguments_of(HookOptions)
    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(HookOptions(*given, **options))

    @property
    def profile(self) -> Profile:
        """The profile of what the last session ran so far: also while it runs, and after an exception or Ctrl-C.

        As long as no step was profiled its data raises `EmptyTraceError`, which says why.
        """
        return self._last_result

    @property
    def profiles(self) -> list[Profile]:
        """The profiles of all sessions that the hook was passed to, oldest first."""
        return self._all_results

    def _result_of(self, capture: SessionCapture) -> Profile:
        if not capture.runs:
            return Profile(_raiser(_nothing(capture)), title="session", notices=capture.notices)
        runs, (graph, log) = dict(capture.runs), capture.graph_and_log()
        return Profile(lambda: _opened(runs, graph, log), title="session", notices=capture.notices)


def _nothing(capture: SessionCapture) -> str:
    if capture.failures:
        return f"No step was profiled. {next(iter(capture.failures))}"
    if not capture.n_runs:
        return "No step was profiled yet: pass the hook to a session and run it."
    if capture.n_left_out:
        return f"No step was profiled. {capture.notices[-1]}"
    return (
        f"No step was profiled: of {capture.n_runs} runs none was asked for. "
        "Give other save_steps=, save_secs= or steps=; the number of a step is the global step after it."
    )


def _raiser(text: str) -> Callable[[], Opened]:
    def fail() -> Opened:
        raise EmptyTraceError(text)

    return fail


def _opened(runs: dict[int, bytes], graph: bytes, log: bytes) -> Opened:
    """The trace of the messages, which also lie as files in a private folder with the trace's life, for saving."""
    from .capture.folders import make_scratch, remove_scratch
    from .capture.v1 import GRAPH_FILE, LOG_FILE, RUN_FILE
    from .read.opening import Opened, stamp_of
    from .read.v1.run_metadata_trace import read_run_metadata

    trace, op_graph = read_run_metadata(runs, graph=graph or None, op_log=log or None)
    beside = {name: content for name, content in ((GRAPH_FILE, graph), (LOG_FILE, log)) if content}
    try:
        folder = make_scratch(sum(map(len, (*runs.values(), graph, log))))
        weakref.finalize(trace, remove_scratch, folder, os.getpid())
        paths = tuple(_written(folder / RUN_FILE.format(step), content) for step, content in runs.items())
        companions = tuple(_written(folder / name, content) for name, content in beside.items())
        stamps = tuple(map(stamp_of, paths))
        return Opened(trace, paths, op_graph=op_graph, companions=companions, stamps=stamps)
    except (CaptureError, OSError):  # no room: all but saving works
        logger.warning("the profile has no files and cannot be saved", exc_info=True)
        return Opened(trace, (), op_graph=op_graph)


def _written(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def _step_number(step: Any) -> int:
    try:
        number = operator.index(step)
    except TypeError as error:
        raise TypeError(f"{step!r} is no number of a step.") from error
    if number < 0:
        raise ValueError(f"{step!r} is no number of a step; give 0 or more.")
    return number


def _bytes_of(thing: Any, name: str) -> bytes:
    if isinstance(thing, (bytes, bytearray, memoryview)):
        return bytes(thing)
    serialize = getattr(thing, "SerializeToString", None)
    if serialize is None:
        raise TypeError(f"{name} is a {type(thing).__name__}; give a protobuf message or its bytes.")
    return bytes(serialize())
