"""A capture that was left running, or that an ended process left on disk -> its `Profile`, or a table of what there is."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from .one_run import Profile

if TYPE_CHECKING:
    import pandas as pd


def stop() -> Profile | None:
    """End the capture that runs in this process, such as one that was left running, and return its profile.

    The program goes on. The `with` block, cell or callback that had begun it keeps what was recorded until now.

    Returns:
        The profile; None where no capture runs. Its data raises `EmptyTraceError` where nothing could be recorded.
    """
    from ..capture.session.active import active_capture

    capture = active_capture()
    if capture is None:
        return None
    profile = Profile(title="profile")
    profile.take(capture.stop(outcome="interrupted"))
    return profile


def recover() -> pd.DataFrame:
    """List what earlier processes captured without `logdir=` and left on disk: killed ones, ended ones, restarted kernels.

        tfprof.load(tfprof.recover().folder[0]).save("kept")    # the newest one

    What is kept of a process depends on how it ended. SIGTERM, SIGHUP, the restart of a kernel and the exit of Python with a
    capture in a thread: all until then, with the lines of the program. SIGKILL, `os._exit`, a crash: the windows that were
    closed before. A window closes behind the selected steps, or after 20 s, at the end of a step, where all steps are
    captured: at most so much is lost (at most `max_seconds` where no steps are marked, or several threads mark some at once).
    The same is lost by SIGTERM where another thread than the main one began the capture. With `logdir=` what is kept is in that
    directory instead, where `load` finds it.

    Of a training that was watched all steps but those of the last second are there, too; its folder opens as a `WatchedRun`.

    Traces of ended processes are deleted after 7 days, and the oldest of them beyond 1 GiB.

    Returns:
        One row per process and capture, the newest first; no rows where there are none. `began` (local time), `program` (of a
        notebook its name), `process_id`, `state` (`ended`; `unknown` of a process in another container or machine, which may
        still run), `n_windows` (sessions of the profiler), `n_steps` (marked ones, whole), `size_bytes`, `folder`
        (what `load` opens).
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
