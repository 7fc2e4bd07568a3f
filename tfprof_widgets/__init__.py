"""The TensorFlow profiler inside the notebook: capture with one line, explore in linked widgets, read every number as a table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from . import experiments
    from .analysis.advice.advice import Advice
    from .analysis.cluster.merged_memory import ReducedMemory
    from .analysis.failure.memory_failure import MemoryFailure
    from .analysis.input.input_pipeline import InputPipeline
    from .analysis.memory.memory import MemoryProfile
    from .analysis.memory.memory_growth import MemoryGrowth
    from .analysis.overview.overview import Overview
    from .analysis.selection import Selection
    from .analysis.steps.interference import CaptureSummary
    from .analysis.watched.anomaly import Anomaly
    from .capture.remote.server import ProfilerServer
    from .capture.session.loop import step, trace_steps
    from .errors import CaptureError, EmptyTraceError, TfProfError, TraceError
    from .export.table_list import TableList
    from .notebook.dialog.dialog import CaptureDialog
    from .notebook.dialog.remote import capture_dialog
    from .notebook.doctor_report import DoctorReport, doctor
    from .profiles.callbacks import ProfileCallback, WatchCallback
    from .profiles.live_watch import Watch
    from .profiles.loading import load, profile
    from .profiles.one_run import Profile
    from .profiles.recovery import recover, stop
    from .profiles.remote import capture_remote, serve
    from .profiles.sessions import ProfilerHook, from_run_metadata
    from .profiles.several_runs import Scaling, scaling
    from .profiles.two_runs import ProfileDiff, diff
    from .profiles.watched_run import WatchedRun
    from .profiles.watching import watch
    from .trace.capture_facts import CaptureCost
    from .trace.trace import Trace
    from .views.widgets.base import View
    from .views.widgets.link import LinkModel

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

_HOMES = {
    "TableList": ".export.table_list",
    "Advice": ".analysis.advice.advice",
    "ReducedMemory": ".analysis.cluster.merged_memory",
    "MemoryFailure": ".analysis.failure.memory_failure",
    "InputPipeline": ".analysis.input.input_pipeline",
    "MemoryProfile": ".analysis.memory.memory",
    "MemoryGrowth": ".analysis.memory.memory_growth",
    "Overview": ".analysis.overview.overview",
    "Selection": ".analysis.selection",
    "CaptureSummary": ".analysis.steps.interference",
    "Anomaly": ".analysis.watched.anomaly",
    "ProfilerServer": ".capture.remote.server",
    "CaptureDialog": ".notebook.dialog.dialog",
    "CaptureCost": ".trace.capture_facts",
    "Trace": ".trace.trace",
    "View": ".views.widgets.base",
    "LinkModel": ".views.widgets.link",
    "step": ".capture.session.loop",
    "trace_steps": ".capture.session.loop",
    "CaptureError": ".errors",
    "EmptyTraceError": ".errors",
    "TfProfError": ".errors",
    "TraceError": ".errors",
    "capture_dialog": ".notebook.dialog.remote",
    "DoctorReport": ".notebook.doctor_report",
    "doctor": ".notebook.doctor_report",
    "ProfileCallback": ".profiles.callbacks",
    "WatchCallback": ".profiles.callbacks",
    "Watch": ".profiles.live_watch",
    "load": ".profiles.loading",
    "profile": ".profiles.loading",
    "Profile": ".profiles.one_run",
    "recover": ".profiles.recovery",
    "stop": ".profiles.recovery",
    "capture_remote": ".profiles.remote",
    "serve": ".profiles.remote",
    "ProfilerHook": ".profiles.sessions",
    "from_run_metadata": ".profiles.sessions",
    "Scaling": ".profiles.several_runs",
    "scaling": ".profiles.several_runs",
    "ProfileDiff": ".profiles.two_runs",
    "diff": ".profiles.two_runs",
    "WatchedRun": ".profiles.watched_run",
    "watch": ".profiles.watching",
}
"""Public name -> the module that has it, imported where the name is first used: what the whole package needs takes seconds."""


def __getattr__(name: str) -> Any:
    """Import a public name as it is first used."""
    if name == "experiments":
        return import_module(".experiments", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
    return found


def __dir__() -> list[str]:
    """Name what a reader may type, imported or not."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add `%tfprofile` and `%%tfprofile` to IPython's `shell`: what `%load_ext tfprof_widgets` calls. Load it before the
    first op runs, and TensorFlow records CPU memory.
    """
    from .notebook.magics import register

    register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics out of IPython's `shell` again: what `%unload_ext tfprof_widgets` calls."""
    from .notebook.magics import unregister

    unregister(shell)
