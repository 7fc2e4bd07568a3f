"""The TensorFlow profiler inside the notebook: capture with one line, explore in linked widgets, read every number as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import first_use

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from . import experiments
    from .analysis.card import Advice
    from .analysis.memory.memory import ReducedMemory
    from .analysis.out_of_memory.failure import MemoryFailure
    from .analysis.input.pipeline import InputPipeline
    from .analysis.memory.memory import MemoryProfile
    from .analysis.memory.growth import MemoryGrowth
    from .analysis.overview import Overview
    from .analysis.part import Selection
    from .analysis.steps.steps import CaptureSummary
    from .analysis.watching.anomalies import Anomaly
    from .capture.remote import ProfilerServer
    from .capture.loop import step, trace_steps
    from .capturing import ProfileCallback, capture_remote, profile, serve, stop
    from .comparing import ProfileDiff, diff
    from .errors import CaptureError, EmptyTraceError, TfProfError, TraceError
    from .export.files import TableList
    from .loading import WatchedRun, load, recover
    from .notebook.dialog import CaptureDialog, capture_dialog
    from .notebook.doctor_report import DoctorReport, doctor
    from .profiles import Profile
    from .sessions import ProfilerHook, from_run_metadata
    from .several_runs import Scaling, scaling
    from .trace.capture_facts import CaptureCost
    from .trace.trace import Trace
    from .show.widgets import View
    from .show.link import LinkModel
    from .watching import Watch, WatchCallback, watch

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Anomaly",
    "CaptureCost",
    "CaptureDialog",
    "CaptureError",
    "CaptureSummary",
    "DoctorReport",
    "EmptyTraceError",
    "InputPipeline",
    "LinkModel",
    "MemoryFailure",
    "MemoryGrowth",
    "MemoryProfile",
    "Overview",
    "Profile",
    "ProfileCallback",
    "ProfileDiff",
    "ProfilerHook",
    "ProfilerServer",
    "ReducedMemory",
    "Scaling",
    "Selection",
    "TableList",
    "TfProfError",
    "Trace",
    "TraceError",
    "View",
    "Watch",
    "WatchCallback",
    "WatchedRun",
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

__getattr__, __dir__ = first_use(__name__)


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add `%tfprofile` and `%%tfprofile` to IPython's `shell`: before the first op runs, so that CPU memory is recorded."""
    from .notebook.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics out of IPython's `shell` again: what `%unload_ext tfprof_widgets` calls."""
    from .notebook.magics import unregister

    unregister(shell)
