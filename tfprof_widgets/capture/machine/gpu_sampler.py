"""gpu_sampler: the NVIDIA GPUs of this machine, by NVML -> load and memory of each as one row of numbers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

NAN = float("nan")


class GpuReader:
    """Reads every GPU of the machine, numbered as `nvidia-smi` numbers them; nothing where there are none.

    `pct` is the share of time in which a kernel ran, over NVML's own last period (some 0.2 s to 1 s); `memory_bytes` is what
    all processes hold, and TensorFlow takes almost all of it at once unless it is told otherwise. What a GPU does not tell
    (a part of a divided one has no load) is NaN.
    """

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        except Exception:  # no library, no driver, no permission: each means that there is nothing to read
            self.close()

    @property
    def columns(self) -> tuple[str, ...]:
        """`gpu_pct, gpu_memory_bytes` (mean load, sum), then the same of each GPU: `gpu0_pct, gpu0_memory_bytes, ...`."""
        if not self._handles:
            return ()
        each = [f"gpu{i}_{what}" for i in range(len(self._handles)) for what in ("pct", "memory_bytes")]
        return ("gpu_pct", "gpu_memory_bytes", *each)

    def read(self) -> list[float]:
        """Return the values of `columns`."""
        if not self._handles:
            return []
        loads = [_number(self._nvml.nvmlDeviceGetUtilizationRates, gpu, "gpu") for gpu in self._handles]
        used = [_number(self._nvml.nvmlDeviceGetMemoryInfo, gpu, "used") for gpu in self._handles]
        known_loads, known_used = _known(loads), _known(used)
        row = [sum(known_loads) / len(known_loads) if known_loads else NAN, sum(known_used) if known_used else NAN]
        for load, memory in zip(loads, used, strict=True):
            row += [load, memory]
        return row

    def close(self) -> None:
        """Let go of NVML; nothing can be read then."""
        nvml, self._nvml, self._handles = self._nvml, None, []
        if nvml is not None:
            with contextlib.suppress(Exception):  # as above: a driver that went away has nothing to be let go of
                nvml.nvmlShutdown()


def _number(ask: Callable[[Any], Any], gpu: Any, field: str) -> float:
    try:
        return float(getattr(ask(gpu), field))
    except Exception:  # one GPU that does not answer must not end the samples of the others
        return NAN


def _known(values: list[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]
