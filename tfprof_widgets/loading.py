"""Files on disk or behind a URL -> `Profile`, or `WatchedRun` of a training that was watched; what ended processes left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .analysis.table import TableProperty, table
from .display import WithoutWidgets, output_of, write_page
from .errors import EmptyTraceError
from .profiles import Profile
from .progress import Progress
from .trace.capture_facts import EPOCH_BEGIN, PROFILED, Steps

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from .analysis.watching.anomalies import Anomaly
    from .read.opening import Found, Opened
    from .show.live import LiveView
    from .show.payload import Amount
    from .trace.capture_facts import WatchLog

STEPS = table("""
    watch.steps: a step that has ended, in the order of their ends
        number        int    its own number, as Keras or the loop counts
        kind          text   `train`, `validation`, `predict` or `other`
        start_s       float  after the begin of the first step
        step_time_ms  float  how long it took
        wait_ms       float  the part of it that waited for the next batch
        outside_ms    float  the part of it outside of the function that computes: callbacks, logs
        loss          float  as Keras told it
        n_batches     int    that it took, several with `steps_per_execution`
        profiled      bool   whether a window of the profiler held it
        begins_epoch  bool   whether it is the first of an epoch

    Validation is included. NaN stands for what is not known. Rows are read from the file each time: 10 million
    steps take some 600 MB. Empty before the first step.
""")

SAMPLES = table("""
    watch.samples: a sample of the machine, in time order
        time_ns           number  Unix time
        cpu_pct           float   load of all cores that this process may run on
        process_cpu_pct   float   load by this process and those that it started, 100 for one core
        rss_bytes         number  resident memory of this process
        tf_bytes          number  held by TensorFlow's allocators of GPUs
        gpu_pct           float   load of GPUs
        gpu_memory_bytes  number  used on GPUs
        gpu_clock_mhz     float   of the slowest GPU [MHz]
        gpu_throttled     number  1 where a GPU is slowed down by heat or power, else 0

    About one a second. NaN stands for what is not known, such as figures of a GPU where there is none. Empty before
    the first sample.
""")

KINDS = ("train", "validation", "predict", "other")
"""Kinds of steps, by their code in the file of a watched training."""


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
      last one: a `WatchedRun` in place of a `Profile`. So it is of a capture that was killed before a window had closed.

    Each of these may be a URL that fsspec knows: `http://`, `https://`, `memory://`, and `gs://` and `s3://` with their
    packages. Only the files of what is opened are fetched, with limits on size, listings and a server's silence.

    **Many hosts.** A run of up to 16 host files is read whole. The files of a larger one are each read and reduced to
    tables where a worker of `executor` runs, and only the tables come here: `Profile.has_events` tells, and
    `Profile.host(name)` opens one host in full. Left out, and named by a notice, are hosts that cannot be read, and of
    either files that start more than 13 days from most, or from the latest where no time is that of most.

    Args:
        path: what to open.
        graph: the `GraphDef` (`.pb` or `.pbtxt`, best of `graph.as_graph_def(add_shapes=True)`) of the program that
            wrote timelines or `RunMetadata`: op types, edges and shapes. Without it a `graph.pb` or `graph.pbtxt`
            beside them is taken, and so is a `tfprof_log` with call stacks and float operations.
        executor: reduce the hosts here, however few: any `concurrent.futures.Executor`, such as `Client.get_executor()`
            of Dask, whose workers must have this package and reach the same files. By default processes of this
            machine, one a CPU, or this process where the files are few and small: spawned, without the calling program.

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
    from .read.steps_file import has_one_profile, newest_watch, read_watch_log, steps_folder

    folder = steps_folder(path)
    if folder is None or has_one_profile(folder):
        try:
            return load_profile(folder or path, graph=graph, executor=executor)
        except EmptyTraceError:
            folder = folder or newest_watch(path)
            if folder is None:
                raise
    log = read_watch_log(folder)  # what cannot be read is told now
    return WatchedRun(lambda: read_watch_log(log.folder))


def load_profile(path: str | Path, *, graph: str | Path | None = None, executor: Executor | None = None) -> Profile:
    from .read.opening import find

    found = find(path)
    if found.is_many or (executor is not None and found.hosts):
        return _load_reduced(found, graph, executor)
    from .read.opening import open_found
    from .read.protobuf import watched_reading

    with Progress("Reading", unit="B") as bar, watched_reading(bar.tell):
        opened = open_found(found, graph=graph)
    return Profile(lambda: opened, title=_title(opened), notices=_newest(opened.others))


def _load_reduced(found: Found, graph: str | Path | None, executor: Executor | None) -> Profile:
    from .analysis.many_hosts import host_file_list, reduce_hosts
    from .read.opening import Opened, stamp_of
    from .read.places import is_url

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
    """The name under which a profile was saved, else its files' directory."""
    from .read.places import printable

    return (opened.saved.title if opened.saved else "") or printable(opened.paths[0].absolute().parent.name)


def _reduced_notice(n_hosts: int) -> str:
    from .analysis.common import plural
    from .analysis.summaries import MOST

    return (
        f"Reduced profile of {plural(n_hosts, 'host')}: tables are of the whole capture, the timeline has each host's steps and "
        f"at most {MOST.longest} longest events of each of its CPUs and devices. prof.host(name) opens one host in full."
    )


def _newest(others: Sequence[Path]) -> tuple[str, ...]:
    from .read.places import some_names

    if not others:
        return ()
    return (
        f"This is the newest of {len(others) + 1} runs. The others are {some_names([run.name for run in others])}.",
    )


def recover() -> pd.DataFrame:
    """List what earlier processes captured without `logdir=` and left on disk: killed ones, ended ones, restarted kernels.

    What is kept of a process depends on how it ended. After SIGTERM, SIGHUP, the restart of a kernel and the exit of
    Python while a thread captures: all until then, with the lines of the program. After SIGKILL, `os._exit` or a crash:
    the windows that were closed before. Where all steps are captured, a window closes after 20 s, at the end of a step;
    with a selection it closes behind the selected steps. So at most that much is lost: where no steps are marked, or
    several threads mark some at once, at most `max_seconds`. As much is lost by SIGTERM where the capture was begun on
    another thread than the main one. With `logdir=` the windows are in that directory instead, where `load` finds them.
    How long steps took is there of all but the last second, whatever ended it: `load` gives a `WatchedRun` where no window
    was closed.

    Traces of ended processes are deleted after 7 days, and the oldest of them beyond 1 GiB.

    Returns:
        A process and capture a row, the newest first; no rows where there are none. `began` (local time), `program` (of
        a notebook its name), `process_id`, `state` (`ended`; `unknown` of a process in another container or on another
        machine, which may still run), `n_windows` (sessions of the profiler), `n_steps` (marked ones, whole),
        `size_bytes`, `folder` (what `load` opens; of a training that was watched as a `WatchedRun`).

    Examples:
        >>> left = tfprof.recover()
        >>> if len(left):
        ...     newest = tfprof.load(left["folder"].iloc[0])
    """
    import pandas as pd

    from .trace.scratch import left_folders

    found = [left for left in left_folders() if left.is_wanted]
    table = pd.DataFrame(
        {
            "began": pd.to_datetime([datetime.fromtimestamp(left.owner.made_ns // 10**9) for left in found]),
            "program": [left.owner.program for left in found],
            "process_id": [left.owner.process_id for left in found],
            "state": [left.state for left in found],
            "n_windows": [left.n_windows for left in found],
            "n_steps": [left.owner.n_steps for left in found],
            "size_bytes": [left.n_bytes for left in found],
            "folder": [str(left.folder) for left in found],
        }
    )
    texts = dict.fromkeys(("program", "state", "folder"), "str")
    numbers = dict.fromkeys(("process_id", "n_windows", "n_steps", "size_bytes"), "int64")
    return table.astype(texts | numbers)  # without rows, too


class WatchedRun:
    """A training that was watched: a row for each step, profiles of some, and what went wrong.

    `load` of its folder makes it, also while the training still runs; `watch()` gives one that is live. It shows itself
    as the widget.

    Raises:
        TraceError: whatever needs data raises it where a file of the folder cannot be read.
    """

    def __init__(self, read: Callable[[], WatchLog]) -> None:
        self._read = read
        self._loaded: dict[Path, Profile] = {}

    @property
    def log(self) -> WatchLog:
        """What the folder holds until now, as its files have it."""
        return self._read()

    @property
    def folder(self) -> Path:
        """The folder of its files; `tfprof.load(folder)` opens it in another process, also while the training runs."""
        return self.log.folder

    steps = TableProperty("watch.steps", lambda self: _steps_table(self.log.steps))
    samples = TableProperty("watch.samples", lambda self: self.log.samples)

    @property
    def windows(self) -> list[Profile]:
        """The profiles of the windows that have closed, oldest first; empty where nothing was profiled."""
        run_dirs = self.log.windows
        self._loaded |= {one: load_profile(one) for one in run_dirs if one not in self._loaded}
        return [self._loaded[one] for one in run_dirs]

    @property
    def anomalies(self) -> list[Anomaly]:
        """What was beyond the run's own noise, as it was told while it ran: a list of `Anomaly`, oldest first."""
        from .analysis.watching.anomalies import anomalies_of

        return anomalies_of(self.log)

    def report(self) -> str:
        """What came out, as Markdown: step times, waits, anomalies, windows."""
        from .export.document_tables import watch_report

        return watch_report(self.log)

    def to_html(self, path: str | Path) -> Path:
        """Write the widget as one page that needs no kernel and no network, without the dashboards of the windows.

        Args:
            path: of the page; its folder is made where it is not there.

        Returns:
            The path.

        Raises:
            TfProfError: it cannot be written. What was at the path before is still there.
        """
        return write_page(path, self._page, embed="steps")

    def dashboard(self) -> LiveView:
        """The widget that shows it."""
        from .watching_state import view_of

        return view_of(self.log, self.windows)

    def __repr__(self) -> str:
        return self._summary().partition("\n")[0]

    def __str__(self) -> str:
        return self._summary()

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        instead = WithoutWidgets(
            text=self._summary, plain=lambda: f"<pre>{escape(self._summary())}</pre>", page=self._page
        )
        return output_of(self, instead, name="watched training")

    def _summary(self) -> str:
        from .export.document_tables import watch_summary

        return watch_summary(self.log)

    def _page(self, amount: Amount) -> str:  # noqa: ARG002 -- it is small, and whole in any case
        from .show.page import live_page

        return live_page(self.dashboard(), title=self.folder.name)


def _steps_table(rows: Steps) -> pd.DataFrame:
    import pandas as pd

    start_ns = rows["start_ns"]
    codes: npt.NDArray[np.int8] = np.minimum(rows["kind"], len(KINDS) - 1).astype(np.int8)
    return pd.DataFrame(
        {
            "number": rows["number"],
            "kind": pd.Categorical.from_codes(codes, pd.Index(KINDS)),
            "start_s": (start_ns - (start_ns[0] if len(rows) else 0)) / 1e9,
            "step_time_ms": rows["duration_us"] / np.float32(1e3),
            "wait_ms": rows["wait_us"] / np.float32(1e3),
            "outside_ms": rows["outside_us"] / np.float32(1e3),
            "loss": rows["loss"],
            "n_batches": rows["n_batches"],
            "profiled": rows["flags"] & PROFILED != 0,
            "begins_epoch": rows["flags"] & EPOCH_BEGIN != 0,
        }
    )
