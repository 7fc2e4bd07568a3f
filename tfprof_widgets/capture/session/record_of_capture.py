"""A capture that has ended -> the record that it leaves."""

from __future__ import annotations

from ...trace.capture_facts import CaptureCost, Failure
from ..machine.sampler import SystemSampler, no_samples
from ..source.captured_program import CapturedProgram
from .control import WindowControl
from .notices import closing_notices
from .record import CaptureOptions, CaptureRecord, Outcome


def record_of(
    options: CaptureOptions,
    control: WindowControl,
    sampler: SystemSampler | None,
    program: CapturedProgram,
    *,
    outcome: Outcome,
    failure: Failure | None,
) -> CaptureRecord:
    """The record of a capture whose windows have closed; ends its sampling.

    Args:
        options: of the capture.
        control: of its windows.
        sampler: of the machine; None where it was not sampled.
        program: that ran in the windows.
        outcome: how the user's code ended.
        failure: the allocation that failed, where one did.
    """
    keeper = control.keeper
    windows = tuple(keeper.windows)
    system = no_samples() if sampler is None else sampler.stop()
    told = (control.step_times.notice, "" if sampler is None else sampler.notice)
    return CaptureRecord(
        run_dirs=tuple(window.run_dir for window in windows),
        windows=windows,
        notices=(
            *keeper.notices,
            *(() if program.unrecorded else closing_notices(options, keeper, control.bound, control.n_steps)),
            *(notice for notice in told if notice),
        ),
        cost=CaptureCost(
            start_s=sum(window.start_s for window in windows),
            stop_s=sum(window.stop_s for window in windows),
            n_bytes=keeper.n_bytes,
        ),
        system=system,
        step_times=control.step_times.frame(),
        detail=options.detail,
        outcome="bounded" if outcome == "complete" and control.bound else outcome,
        n_steps=control.n_steps,
        pauses_ns=tuple(window.pause_ns for window in windows),
        failure=failure,
        program=program,
    )


def record_in_fork(control: WindowControl) -> CaptureRecord:
    """The record of a capture in a fork of the process whose capture it is: of nothing."""
    return CaptureRecord(
        run_dirs=(),
        windows=(),
        notices=("This process is a fork of the one that captures, which has the capture.",),
        cost=CaptureCost(start_s=0.0, stop_s=0.0, n_bytes=0),
        system=no_samples(),
        outcome="interrupted",
        n_steps=control.n_steps,
    )
