"""Trace and `Snapshots` -> what to do where no memory was recorded, or not the memory that matters."""

from __future__ import annotations

from collections.abc import Mapping

from ...trace.trace import Trace
from ..base.program_calls import Framework, framework_of
from .memory_snapshots import Snapshots

_CPU_REMEDY = (
    "{cause} TensorFlow records all CPU tensor memory only when TF_CPU_ALLOCATOR_USE_BFC is set before its first op. "
    "Restart the kernel, set it (%load_ext tfprof_widgets does that, too), and capture again:\n"
    'import os; os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"'
)
_NOT_RECORDED = (
    "{framework} records no memory of a CPU. What XLA planned for the programs in the trace:\nprof.program_memory"
)
_IDLE_REMEDY = (
    "Nothing ran while this capture was on, so no memory was allocated. Put the code that trains inside it:\n{code}"
)
_DEVICE_REMEDY = (
    "No memory was allocated or given back while this capture ran, so there is nothing to show. "
    "Capture more steps, the first one included:\n{code}"
)
_CAPTURING: Mapping[Framework, tuple[str, str]] = {
    "TensorFlow": (
        "with tfprof.profile() as prof: model.fit(...)",
        "with tfprof.profile(steps=range(0, 10)) as prof: ...",
    ),
    "JAX": ('with jax.profiler.trace("logs"): ...',) * 2,
    "PyTorch/XLA": ('torch_xla.debug.profiler.start_trace("logs")',) * 2,
}
"""What captures a training, and what captures its first steps."""


def memory_remedy(trace: Trace, snapshots: Snapshots) -> str | None:
    """Why little or no memory was recorded and what to do, the code on the last line; None where all is there."""
    framework = framework_of(trace)
    training, first_steps = _CAPTURING[framework]
    if not trace.n_events:
        return _IDLE_REMEDY.format(code=training)
    has_device = any(plane.is_device for plane in trace.planes)
    if has_device:
        return None if snapshots.allocators else _DEVICE_REMEDY.format(code=first_steps)
    if framework != "TensorFlow":
        return None if snapshots.allocators else _NOT_RECORDED.format(framework=framework)
    if not snapshots.allocators:
        return _CPU_REMEDY.format(cause="This capture holds no memory events.")
    if set(snapshots.allocators) == {"mklcpu"}:
        # Without the BFC allocator oneDNN's still reports: its scratch memory, and where TensorFlow took it for tensors,
        # too (the default on CPUs with AVX-512 VNNI and the like), those that are not small.
        return _CPU_REMEDY.format(
            cause="This capture holds only what oneDNN's allocator (`mklcpu`) reports: "
            "its scratch memory, and of the tensors at most those of 256 KiB and more."
        )
    return None
