"""A double of NVML's Python module with the names that the real one has."""

from __future__ import annotations

import types
from typing import Any


class NVMLError(Exception):
    """As the real one is raised by every function that fails."""


def nvml(gpus: list[tuple[float | None, float | None]], *, fails: bool = False) -> Any:
    """A module for these GPUs, a load and bytes in use each; None for what a GPU does not tell."""
    module: Any = types.ModuleType("pynvml")
    module.NVMLError = NVMLError
    module.n_open = 0

    def start() -> None:
        if fails:
            raise NVMLError("Driver Not Loaded")
        module.n_open += 1

    def end() -> None:
        module.n_open -= 1

    def told(value: float | None, field: str) -> Any:
        if not module.n_open:
            raise NVMLError("Uninitialized")
        if value is None:
            raise NVMLError("Not Supported")
        return types.SimpleNamespace(**{field: value})

    module.nvmlInit, module.nvmlShutdown = start, end
    module.nvmlDeviceGetCount = lambda: len(gpus)
    module.nvmlDeviceGetHandleByIndex = lambda index: index
    module.nvmlDeviceGetUtilizationRates = lambda index: told(gpus[index][0], "gpu")
    module.nvmlDeviceGetMemoryInfo = lambda index: told(gpus[index][1], "used")
    return module
