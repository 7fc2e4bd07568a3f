"""The running process -> what it runs on, by name: versions, memory, CPUs.

machine_facts() -> {"tensorflow": "2.21.0", "python": "3.11.7", "memory_bytes": "16777216000", "n_cpus": "8"}
"""

from __future__ import annotations

import os
import platform
import sys

_PACKAGES = ("tensorflow", "keras")


def machine_facts() -> dict[str, str]:
    """Facts as text; what is not known is left out. Nothing is imported that the program has not imported itself."""
    facts = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            facts[name] = version
    facts["n_cpus"] = str(os.cpu_count() or 0)
    memory_bytes = _memory_bytes()
    if memory_bytes > 0:
        facts["memory_bytes"] = str(memory_bytes)
    return facts


def _memory_bytes() -> int:
    import psutil

    try:
        return int(psutil.virtual_memory().total)
    except (OSError, NotImplementedError, RuntimeError):  # a sandbox without /proc
        return 0
