"""`Subject` -> the key figures of a report: how long a step takes, on what, with how much memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analysis.base.wording import number, plural, size
from ...analysis.steps.steps import ran_on_device
from .markdown import code, table
from .subject import Room, Subject


def share(ratio: float) -> str:
    """A share in percent, to three digits."""
    return "unknown" if math.isnan(ratio) else f"{number(ratio * 100)} %"


def key_figures(subject: Subject, room: Room) -> str:
    """The table at the top."""
    rows = [*_steps(subject), *_machine(subject, room), *_samples(subject)]
    return table(["figure", "value"], rows)


def _steps(subject: Subject) -> Iterator[tuple[str, str]]:
    overview = subject.results.overview
    if not overview.n_steps:
        yield "Steps", "none found"
        return
    average = overview.step_time_avg_ms
    over = f"{overview.n_steps_averaged:,} of {plural(overview.n_steps, 'step')}"
    if overview.n_steps_averaged > 1:
        spread = f" ± {number(overview.step_time_std_ms)} ms (mean ± standard deviation over {over})"
        yield "Step time", f"{number(average)} ms{spread}"
    else:
        yield "Step time", f"{number(average)} ms (of {over})"
    if overview.batches:
        yield "A step", overview.batches
    frame = subject.results.steps.frame
    slowest = frame.loc[overview.is_averaged].nlargest(1, "step_time_ms")
    if overview.n_steps_averaged > 1:
        extremes = f"{number(overview.step_time_min_ms)} ms to {number(overview.step_time_max_ms)} ms"
        yield "Fastest to slowest step", f"{extremes} (slowest: row {int(slowest['step'].iloc[0]):,} of `prof.steps`)"
    if average > 0:
        yield "Rate", f"{number(1e3 / average)} steps/s by the mean step time (times the batch size: samples/s)"
    ratio = dict(zip(overview.breakdown["category"], overview.breakdown["ratio"], strict=True))
    has_device = ran_on_device(frame.loc[overview.is_averaged])
    name, computing = ("Device computes", "device_compute") if has_device else ("Ops on the CPU", "host_compute")
    yield name, f"{share(ratio[computing])} of the step"
    if overview.environment.framework == "TensorFlow":
        yield "Waiting for input", f"{share(ratio['input'])} of the step"
    if not math.isnan(overview.compute_16bit_ratio):
        yield "16-bit arithmetic", f"{share(overview.compute_16bit_ratio)} of device compute time"
    kernels = subject.results.kernels.frame
    time_us = kernels.loc[kernels["unit"] != ""].groupby("uses_tensor_core")["total_time_us"].sum()
    if time_us.sum() > 0:
        yield "Tensor Cores", f"{share(time_us.get(True, 0.0) / time_us.sum())} of the time of kernels"


def _machine(subject: Subject, room: Room) -> Iterator[tuple[str, str]]:
    environment = subject.results.overview.environment
    many = f" × {environment.n_devices:,}" if environment.n_devices > 1 else ""
    active = f" ({environment.n_active_devices:,} active)" if environment.n_devices else ""
    yield "Device", f"{code(environment.device_type, room.name)}{many}{active}"
    memory = subject.results.memory.summary
    for row in memory.nlargest(1, "peak_bytes").to_dict("records"):
        limit = f" of {size(row['capacity_bytes'])}" if row["capacity_bytes"] > 0 else ""
        yield "Most memory in use", f"{size(row['peak_bytes'])}{limit} in {code(row['allocator'], room.name)}"
    yield (
        "Captured",
        f"{number(environment.captured_ms)} ms, {plural(environment.n_events, 'event')} of "
        f"{plural(environment.n_threads, 'host thread')}",
    )


def _samples(subject: Subject) -> Iterator[tuple[str, str]]:
    system = subject.system
    if system.empty:
        return
    parts = []
    for column, label in (("cpu_pct", "CPU"), ("process_cpu_pct", "this process"), ("gpu_pct", "GPU")):
        if column in system and system[column].notna().any():
            parts.append(f"{label} {number(float(system[column].mean()))} %")
    if "rss_bytes" in system and system["rss_bytes"].notna().any():
        parts.append(f"resident memory with the profiler's at most {size(float(system['rss_bytes'].max()))}")
    if parts:
        yield "Machine meanwhile", f"{', '.join(parts)} (means over {plural(len(system), 'sample')})"
