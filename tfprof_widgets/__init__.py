"""The TensorFlow profiler inside the notebook: capture with one line, explore in linked widgets, read every number as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import experiments
from .capture.session.loop import step, trace_steps
from .errors import CaptureError, EmptyTraceError, TfProfError, TraceError
from .notebook.dialog.remote import capture_dialog
from .notebook.doctor_report import DoctorReport, doctor
from .profiles.live_watch import Watch
from .profiles.loading import ProfileCallback, load, profile
from .profiles.one_run import Profile
from .profiles.recovery import recover, stop
from .profiles.remote import capture_remote, serve
from .profiles.sessions import ProfilerHook, from_run_metadata
from .profiles.several_runs import Scaling, scaling
from .profiles.two_runs import ProfileDiff, diff
from .profiles.watched_run import WatchedRun
from .profiles.watching import WatchCallback, watch
from .profiles.workers_watch import WorkersWatch

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "DoctorReport",
    "EmptyTraceError",
    "Profile",
    "ProfileCallback",
    "ProfileDiff",
    "ProfilerHook",
    "Scaling",
    "TfProfError",
    "TraceError",
    "Watch",
    "WatchCallback",
    "WatchedRun",
    "WorkersWatch",
    "capture_dialog",
    "capture_remote",
    "diff",
    "doctor",
    "experiments",
    "from_run_metadata",
    "load",
    "load_ipython_extension",
    "profile",
    "recover",
    "scaling",
    "serve",
    "step",
    "stop",
    "trace_steps",
    "unload_ipython_extension",
    "watch",
]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%tfprofile` and `%%tfprofile`, and ask TensorFlow to record CPU memory if it has not started yet."""
    from .notebook.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics out again."""
    from .notebook.magics import unregister

    unregister(shell)
