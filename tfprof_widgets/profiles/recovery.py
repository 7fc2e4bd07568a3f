"""A capture that was left running, or that an ended process left on disk -> its `Profile`, or a table of what there is."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from .one_run import Profile

if TYPE_CHECKING:
    import pandas as pd


def stop() -> Profile | None:
    """End the capture that runs in this process, such as one that was left running, and get its profile.

    The program goes on. The `with` block, cell or callback that had begun it keeps what was recorded until now.

    Returns:
        The profile; None where no capture runs. Its data raises `EmptyTraceError` where nothing could be recorded.

    Examples:
        >>> tfprof.stop() is None
        True
    """
    from ..capture.session.active import active_capture

    capture = active_capture()
    if capture is None:
        return None
    profile = Profile(title="profile")
    profile.run.take(capture.stop(outcome="interrupted"))
    return profile


def recover() -> pd.DataFrame:
    """List what earlier processes captured without `logdir=` and left on disk: killed ones, ended ones, restarted kernels.

    What is kept of a process depends on how it ended. After SIGTERM, SIGHUP, the restart of a kernel and the exit of
    Python while a thread captures: all until then, with the lines of the program. After SIGKILL, `os._exit` or a crash:
    the windows that were closed before. Where all steps are captured, a window closes after 20 s, at the end of a step;
    with a selection it closes behind the selected steps. So at most that much is lost: where no steps are marked, or
    several threads mark some at once, at most `max_seconds`. As much is lost by SIGTERM where the capture was begun on
    another thread than the main one. With `logdir=` what is kept is in that directory instead, where `load` finds it.
    Of a training that was watched all steps but those of the last second are there, too.

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

    from ..trace.scratch import left_folders

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
