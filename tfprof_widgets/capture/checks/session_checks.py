"""session_checks: a TensorFlow that may run -> whether its profiler is free, and whether CPU memory is recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..session.active import active_capture
from ..session.environment import BFC_VARIABLE
from .check import Check, ok, unknown, warning
from .tensorflow_facts import imported_tensorflow, is_started

Session = Literal["none", "ours", "python", "elsewhere", "unknown"]
"""Who runs the profiler of this process: a capture of ours, `tf.profiler.experimental.start`, or something without a
Python name, such as a profiler server that serves a request."""
Recorded = Literal["all", "large", "nothing", "unknown"]
"""Which CPU tensors the allocator in use reports to the profiler. oneDNN's, which TensorFlow takes by default on CPUs with
AVX-512 VNNI and the like, reports those of 256 KiB and more."""


@dataclass(frozen=True)
class SessionFacts:
    """What is known of TensorFlow's profiler and of its CPU allocator."""

    session: Session = "none"
    is_imported: bool = False
    is_started: bool | None = False
    """Whether TensorFlow has chosen its allocators; None: nobody can tell."""
    variable: str | None = None
    """TF_CPU_ALLOCATOR_USE_BFC as it is now."""
    recorded: Recorded = "unknown"
    """What the allocator in use reports; unknown, too, where none is in use."""


def gather_session_facts() -> SessionFacts:
    """Ask TensorFlow where it is imported; start nothing, leave no session behind."""
    started = is_started()
    return SessionFacts(
        session=running_session(),
        is_imported=imported_tensorflow() is not None,
        is_started=started,
        variable=os.environ.get(BFC_VARIABLE),
        recorded=_recorded() if started else "unknown",
    )


def running_session() -> Session:
    """Tell who runs the profiler of this process now."""
    if active_capture() is not None:
        return "ours"
    if imported_tensorflow() is None:
        return "none"
    if getattr(sys.modules.get("tensorflow.python.profiler.profiler_v2"), "_profiler", None) is not None:
        return "python"
    # Never by trying: a `start()` that fails blocks the next one, and one that works starts CUPTI where there is a GPU
    # (TensorFlow 2.21 takes no notice of the levels in its options). Whether events are recorded can be asked for free.
    is_recording: Any = getattr(sys.modules.get("tensorflow.python.profiler.trace"), "enabled", None)
    if not callable(is_recording):
        return "unknown"
    return "elsewhere" if is_recording() else "none"


def _recorded() -> Recorded:
    """What the CPU allocator in use reports: of TensorFlow's, those have statistics that report to the profiler, and
    oneDNN's counts nothing that is small."""
    tf = imported_tensorflow()
    try:
        before = _in_use_bytes(tf)
    except ValueError:
        return "nothing"
    except Exception:  # a build without this function, or without a CPU device
        return "unknown"
    if not tf.executing_eagerly():
        return "unknown"
    with tf.device("CPU:0"):
        held = tf.fill([1], tf.constant(1, tf.uint8))
    counted = _in_use_bytes(tf) - before
    del held
    return "all" if counted > 0 else "large"


def _in_use_bytes(tf: Any) -> int:
    return int(tf.config.experimental.get_memory_info("CPU:0")["current"])


def session_checks(facts: SessionFacts) -> Iterator[Check]:
    """Check that a capture can start, and that it will see CPU memory."""
    yield profiler_check(facts)
    yield cpu_memory_check(facts)


def profiler_check(facts: SessionFacts) -> Check:
    """Check that no profiler session runs: TensorFlow has one a process."""
    name = "profiler_session"
    if facts.session == "ours":
        found = "a tfprof capture is running, and a second one cannot start"
        return warning(name, found, "tfprof.stop()  # returns its profile")
    if facts.session == "python":
        found = "someone left a session running; the next capture ends it, and what it recorded is dropped"
        return warning(name, found, "tf.profiler.experimental.stop()  # writes what it recorded")
    if facts.session == "elsewhere":
        found = "a session without a Python name is running (a profiler server's), so a capture cannot start"
        return warning(
            name, found, "tfprof.doctor()  # again, when the remote capture is over; else restart the kernel"
        )
    if facts.session == "unknown":
        remedy = "with tfprof.profile(max_seconds=1): pass  # raises where another session runs"
        return unknown(name, "this TensorFlow does not tell whether a session runs", remedy)
    return ok(name, "none is running" if facts.is_imported else "none is running: TensorFlow is not imported")


def cpu_memory_check(facts: SessionFacts) -> Check:
    """Check that TensorFlow records, or will record, the memory of CPU tensors."""
    name, value = "cpu_memory", (facts.variable or "").strip().lower()
    is_on = value in ("1", "true")
    restart = "restart the kernel; in its first cell, before any op: %load_ext tfprof_widgets"
    set_late = f"; {BFC_VARIABLE} was set too late" if is_on else ""
    if facts.recorded == "all":
        return ok(name, "recorded")
    if facts.recorded == "large":
        found = "recorded in part: TensorFlow has chosen oneDNN's allocator, which reports tensors of 256 KiB and more"
        return warning(name, f"{found}{set_late}", restart)
    if facts.recorded == "nothing":
        return warning(name, f"not recorded: TensorFlow has chosen its allocator{set_late}", restart)
    if facts.variable is not None and not is_on:
        remedy = f'import os; os.environ["{BFC_VARIABLE}"] = "true"  # before TensorFlow runs its first op'
        return warning(name, f"not recorded: {BFC_VARIABLE}={facts.variable!r}", remedy)
    if facts.is_started is not False:
        how = f"{BFC_VARIABLE} is {'on' if is_on else 'not set'}, and whether TensorFlow chose its allocator before is not known"
        return unknown(name, how, restart)
    if is_on:
        return ok(name, f"will be recorded: {BFC_VARIABLE} is on, and TensorFlow has not started")
    return warning(
        name, f"will not be recorded: {BFC_VARIABLE} is not set", "%load_ext tfprof_widgets  # before the first op"
    )
