"""Environment: what has to be set before TensorFlow's first op so that a capture can record CPU memory."""

from __future__ import annotations

import os

BFC_VARIABLE = "TF_CPU_ALLOCATOR_USE_BFC"


def enable_cpu_memory_recording() -> bool:
    """Ask TensorFlow to record every CPU tensor allocation, unless the user has set the variable already.

    Only the BFC allocator reports its allocations to the profiler, and TensorFlow chooses the CPU allocator when it
    runs its first op: this has an effect until then, also after `import tensorflow`, and none later.

    Returns:
        Whether the variable is on now.
    """
    return os.environ.setdefault(BFC_VARIABLE, "true").strip().lower() in ("1", "true", "t", "yes", "y")
