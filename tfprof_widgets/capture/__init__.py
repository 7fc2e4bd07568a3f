"""Capture: a running TensorFlow program -> profile files on disk and a frozen record of how they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from .bounds import (
        BoundKind, BoundWatch, Building, BuildingWatch, DOUBT_BYTES, FileRate, HEAP_BYTES_PER_FILE_BYTE, MIN_PIECES,
        N_PIECES, Piece, Stride, heap_reader,
    )
    from .control import LONGEST_SESSION_S, Standing
    from .checks import all_checks, facts
    from .checks.all_checks import (
        EXTENSIONS, FrontEndFacts, SessionFacts, cpu_memory_check, disk_check, front_end_check, front_end_checks,
        gpu_checks, missing_extensions, profiler_check, sampling_check, server_prefix,
    )
    from .checks.facts import (
        BuildFacts, Check, CuptiFacts, GpuFacts, cupti_facts, loader_environment, lowest_versions, needed_packages,
        ok, package_check, parse_admin_only, parse_build_info, parse_is_admin, parse_model, unknown, version_checks,
        warning,
    )
    from .experiments import Batches, Bounds, Run, Variant, measure
    from .folders import without_profiler_lines
    from .keras import CapturingCallback, KerasPatch, OwnMarksPatch, batch_size_of, without_own_marks
    from .loop import step, trace_steps
    from .machine import (
        COLUMNS, Children, GpuReader, MachineReader, MachineRows, ProcCounters, SystemSampler, cpu_quota,
        machine_facts, memory_limit, no_samples, on_trace_clock,
    )
    from . import step_rows, window_policy
    from .program import calls, captured, frames, graphs
    from .program.calls import FitCall, LayerFacts, LineSampler, UNKNOWN, Wanted, calls_of, creation_lines, simple
    from .program.frames import (
        LayerRecord, cut_text, frames_outwards, is_below, is_user_file, keras_layers, look_for_libraries,
        running_frames, text_of, title_of,
    )
    from .program.graphs import FrameTable, GraphTable, HeldFunctions
    from .program.captured import CapturedProgram, NotedModels, ProgramReader
    from .record import (
        BFC_VARIABLE, CaptureOptions, CaptureRecord, DEFAULT_MAX_BYTES, DEFAULT_MAX_SECONDS,
        enable_cpu_memory_recording, no_step_times, note_session_times, read_failure, start_session, stop_session,
    )
    from .remote import Answer, _running
    from .window_policy import OddPolicy, WindowPolicy, make_selection
    from .session import Capture, active_capture
    from .v1 import HookOptions, SessionCapture, SessionSteps
    from .step_rows import Gaps, MAX_LOSSES, MEMORY_NS, StepRecorder, Waits
    from .steps import OpenStep
    from .signals import run_shielded
# fmt: on

__getattr__, __dir__ = first_use(__name__)
