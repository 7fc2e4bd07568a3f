"""What can be profiled -> `Profile`: a `with` block, a Keras call, a file on disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CaptureError, EmptyTraceError
from ..views.widgets.shell import kernel_shell
from .feedback import following, record_text
from .one_run import Profile
from .progress import Progress
from .status_line import StatusLine, status_line
from .watched_run import WatchedRun

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..capture.session.detail import Detail
    from ..capture.session.record import CaptureOptions
    from ..capture.session.selection import Steps
    from ..opening.found import Found
    from ..opening.opened import Opened


def load(
    path: str | Path, *, graph: str | Path | None = None, executor: Executor | None = None
) -> Profile | WatchedRun:
    """Open a profile from disk or from a URL, with or without TensorFlow installed.

    Files are told by their content, compressed by gzip or not:

    - an XSpace (`*.xplane.pb`), a run directory, a log directory (its newest capture; all of one that `Profile.save`
      wrote);
    - a Chrome trace (`*.json`, `*.json.gz`) of any program;
    - a `timeline-N.json` of `tf.compat.v1.train.ProfilerHook`, of `timeline.Timeline` or of tfprof: N is its step;
    - a `RunMetadata` or `StepStats` of a session of TensorFlow 1, written with `SerializeToString()`;
    - a `ProfileProto` of tfprof, TensorFlow's first profiler (`profile.context`);
    - a directory or a glob of timelines, of `RunMetadata` or of `ProfileProto`: several steps of one profile, each with
      the number in its file's name; files of several directories are of several tasks;
    - any other glob of files and run directories: all are merged; a capture that is there twice counts once;
    - the folder of a training that is watched, or was, or the `logdir` of such, without a profile of its own, for the
      last one: a `WatchedRun` in place of a `Profile`.

    Each of these may be a URL that fsspec knows: `http://`, `https://`, `memory://`, and `gs://` and `s3://` with their
    packages installed. Only the files of what is opened are fetched, and there are limits on their size, on listings
    and on how long a server may keep silent.

    **Many hosts.** A run of up to 16 host files is read whole. The files of a larger one are each read and reduced to
    tables where a worker of `executor` runs, and only the tables come here: `Profile.is_reduced` tells, and
    `Profile.host(name)` opens one host in full. Hosts that cannot be read are left out, and a notice names them. Files
    that start more than 13 days from most are left out of either, and a notice names them; where no time is that of
    most, the latest are shown.

    Args:
        path: what to open.
        graph: the `GraphDef` (`.pb` or `.pbtxt`, best of `graph.as_graph_def(add_shapes=True)`) of the program that
            wrote timelines or `RunMetadata`: op types, edges and shapes. Without it a `graph.pb` or `graph.pbtxt`
            beside them is taken, and so is a `tfprof_log` with call stacks and float operations.
        executor: reduce the hosts here, however few: any `concurrent.futures.Executor`, such as `Client.get_executor()`
            of Dask, whose workers must have this package and reach the same files. By default processes of this
            machine, one a CPU, or this process where the files are few and small. They are spawned, and import nothing
            of the calling program.

    Returns:
        A `Profile`; a `WatchedRun` for the folder of a watched training. For a type checker `isinstance(run,
        tfprof.Profile)` tells which.

    Raises:
        TraceError: nothing readable is there; the message says what was found instead. An empty file or directory is an
            `EmptyTraceError`.

    Examples:
        >>> prof = tfprof.load(logdir)
        >>> prof
        <Profile run: 8 steps, ... ms a step, ... events>
    """
    from ..formats.watch_log.reader import is_watch_log, newest_watch

    if is_watch_log(path):
        return _watched(path)
    try:
        return load_profile(path, graph=graph, executor=executor)
    except EmptyTraceError:
        newest = newest_watch(path)
        if newest is None:
            raise
        return _watched(newest)


def _watched(folder: str | Path) -> WatchedRun:
    from ..formats.watch_log.reader import read_watch_log

    read_watch_log(folder)  # what cannot be read is told now
    return WatchedRun(lambda: read_watch_log(folder))


def load_profile(path: str | Path, *, graph: str | Path | None = None, executor: Executor | None = None) -> Profile:
    """Open a profile; see `load`.

    Raises:
        TraceError: nothing readable is there.
    """
    from ..opening.found import find

    found = find(path)
    if found.is_many or (executor is not None and found.hosts):
        return _load_reduced(found, graph, executor)
    return _load_whole(found, graph)


def _load_whole(found: Found, graph: str | Path | None) -> Profile:
    from ..formats.wire.content import watched_reading
    from ..opening.open import open_found

    with Progress("Reading", unit="B") as bar, watched_reading(bar.tell):
        opened = open_found(found, graph=graph)
    return Profile(lambda: opened, title=_title(opened), notices=_newest(opened.others))


def _load_reduced(found: Found, graph: str | Path | None, executor: Executor | None) -> Profile:
    """The profile of hosts that are read elsewhere, as far as they can be."""
    from ..opening.many_hosts import host_file_list, reduce_hosts
    from ..opening.opened import Opened, stamp_of
    from ..opening.places import is_url

    files = found.hosts
    stamps = tuple(stamp_of(file) for file in files if not is_url(file))  # a server would be asked for each
    with Progress(f"Reading {len(files):,} hosts", unit="hosts", total=len(files), is_scaled=False) as bar:
        hosts = reduce_hosts(host_file_list(found), executor, on_done=bar.tell)
    opened = Opened(hosts.results.trace, files, found.others, saved=found.saved, stamps=stamps)
    notices = [_reduced_notice(len(hosts.files)), *hosts.notices, *_newest(found.others)]
    if found.told:
        notices.append(found.told)
    if graph is not None:
        notices.append("The graph was not used: what was read is no RunMetadata and no timeline.")
    return Profile(lambda: opened, title=_title(opened), notices=tuple(notices), hosts=hosts)


def _title(opened: Opened) -> str:
    """What a profile is called: as it was saved, else as the directory of its files."""
    from ..opening.file_names import printable

    return (opened.saved.title if opened.saved else "") or printable(opened.paths[0].absolute().parent.name)


def _reduced_notice(n_hosts: int) -> str:
    from ..analysis.base.wording import plural
    from ..analysis.cluster.low_detail import MAX_LONGEST

    return (
        f"Reduced profile of {plural(n_hosts, 'host')}: tables are of the whole capture, the timeline has each host's steps and "
        f"at most {MAX_LONGEST} longest events of each of its CPUs and devices. prof.host(name) opens one host in full."
    )


def _newest(others: Sequence[Path]) -> tuple[str, ...]:
    """That a log directory has more runs than the one that was read."""
    from ..opening.file_names import some_names

    if not others:
        return ()
    return (
        f"This is the newest of {len(others) + 1} runs. The others are {some_names([run.name for run in others])}.",
    )


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
    says that memory ran out. Meanwhile a line in the output, or on the terminal, tells how far it is. `recover` lists
    what is kept of a process that died.

    Args:
        steps: numbers of the steps to capture, counted from 0 over the whole block: a range, the first and the last as a
            tuple, such as `(10, 20)`, other whole numbers, or a function from a number to True or False. Two numbers that
            are meant one by one are a set, `{10, 20}`. Steps that follow each other share a short session of the
            profiler. None: all.
        every: capture each step whose number is a multiple of this.
        system: sample CPU, each core, memory, disk, network and GPUs meanwhile: True for ten times a second, a number
            for another rate, 5 to 20 Hz, False for not at all. At 10 Hz it takes 0.1 to 0.5 % of one core.
        logdir: keep TensorFlow's files in this log directory; without it they live as long as the profile. Beside each
            trace lies `tfprof.sources.json.gz`, with the lines of ops and the text of your cells and files that they
            are in: from when a view or table first needs them, at the latest when Python exits.
        max_seconds: for how many seconds sessions may run in all, 60 s by default, before the capture stops itself and
            says so. The program goes on.
        max_bytes: about how many bytes they may write, 32 MiB by default; likewise.
        every_seconds: capture one step as often as this, in seconds.
        detail: how much is recorded of each step. `"low"` leaves out the events of thread pools, half of all on a CPU,
            but few on a GPU, where it is hardly cheaper: steps, ops, memory, tf.data, layers and source lines stay.
            `"high"` adds the ops that TensorFlow found to be cheap, and the queues of its executor: twice the events of
            `"normal"` and twice its cost. `Profile.capture` tells what it cost your steps, where some of them ran
            outside of the capture.

    Yields:
        The `Profile`. Inside the block its data raises `CaptureError`.

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
    from ..capture.session.record import CaptureOptions

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
    """Capture a block with these options; `on_failure` gets the filled profile before the block's exception goes on.

    The line tells meanwhile how far it is. It is left to whoever has it, who can display the profile in its place.
    """
    from ..capture.keras.patch import KerasPatch
    from ..capture.session.session import Capture
    from ..capture.session.shield import interrupts_put_off

    captured = Profile(title=title)
    capture = Capture(options, patch=KerasPatch())
    capture.start()
    try:
        with following(capture, line):
            yield captured
    except BaseException as error:
        with contextlib.suppress(CaptureError):  # the user's own exception is the one to report
            interrupted = isinstance(error, KeyboardInterrupt)
            with contextlib.suppress(KeyboardInterrupt), interrupts_put_off():
                captured.run.take(capture.stop(outcome="interrupted" if interrupted else "exception", error=error))
                line.rest = record_text(capture.record)
            with contextlib.suppress(KeyboardInterrupt):
                on_failure(captured)
        raise
    with interrupts_put_off():
        try:
            capture.stop()
        finally:  # also when nothing could be written, which the record tells
            captured.run.take(capture.record)
            line.rest = record_text(capture.record)


def _show(captured: Profile, line: StatusLine) -> None:
    """Display a profile in a notebook; elsewhere nobody asked for output."""
    if kernel_shell() is not None:
        line.display(captured)
