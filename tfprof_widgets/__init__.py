"""The TensorFlow profiler inside the notebook: capture with one line, explore in linked widgets, read every number as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import experiments
from .capture.loop import step, trace_steps
from .comparison import ProfileDiff, diff
from .doctor import DoctorReport, doctor
from .errors import CaptureError, EmptyTraceError, TfProfError, TraceError
from .profile import Profile
from .remote_dialog import capture_dialog
from .remote_sources import capture_remote, serve
from .scaling import Scaling, scaling
from .session_sources import ProfilerHook, from_run_metadata
from .sources import ProfileCallback, load, profile

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
    "capture_dialog",
    "capture_remote",
    "diff",
    "doctor",
    "experiments",
    "from_run_metadata",
    "load",
    "load_ipython_extension",
    "profile",
    "scaling",
    "serve",
    "step",
    "trace_steps",
    "unload_ipython_extension",
]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register `%tfprofile` and `%%tfprofile`, and ask TensorFlow to record CPU memory if it has not started yet."""
    from .magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics out again."""
    from .magics import unregister

    unregister(shell)
