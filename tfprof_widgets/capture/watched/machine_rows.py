"""The machine under a training -> about one sample a second, with what TensorFlow's allocators hold and the clock of the GPU."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import pandas as pd

from ...trace.watched import SAMPLE_COLUMNS
from ..machine.sampler import SystemSampler

INTERVAL_S = 1.0
_SLOWED = 0x08 | 0x20 | 0x40 | 0x80
"""Reasons of NVML for a lower clock that are no choice of the program: hardware, heat by software or hardware, power brake.

Source: nvml.h, nvmlClocksThrottleReason*. A power cap (0x4) is the usual state of a busy GPU, and is not among them.
"""


class MachineRows:
    """Samples between `start()` and `stop()`; rows are taken, tables of all are read."""

    def __init__(self) -> None:
        self._sampler = SystemSampler(interval_s=INTERVAL_S)
        self._clocks = GpuClocks()
        self._last_ns = 0.0
        self._tf_bytes = float("nan")

    def start(self) -> None:
        """Begin."""
        self._sampler.start()

    def stop(self) -> None:
        """End; what was sampled stays."""
        self._sampler.stop()
        self._clocks.close()

    def table(self) -> pd.DataFrame:
        """All samples so far, as `CaptureRecord.system`."""
        return self._sampler.table()

    def take(self) -> list[float] | None:
        """Return the latest sample, as `SAMPLE_COLUMNS`; None where that was taken before."""
        row = self._sampler.latest
        if not row or row["time_ns"] == self._last_ns:
            return None
        self._last_ns = row["time_ns"]
        row |= {"tf_bytes": self._tf_bytes, **self._clocks.read()}
        # Workers of the program are no other programs.
        row["process_cpu_pct"] += row.get("children_cpu_pct", 0.0)
        return [float(row.get(name, "nan")) for name in SAMPLE_COLUMNS]

    def memory(self) -> dict[str, float]:
        """Return what is in use now: `rss_bytes` and `tf_bytes` of `SAMPLE_COLUMNS`; some 30 us.

        To be called once the program has used its devices: to ask TensorFlow for them would make it begin to use them, and
        whoever sets how much memory it may take would come too late.
        """
        self._tf_bytes = _allocated_bytes()
        return {"rss_bytes": self._sampler.rss_bytes(), "tf_bytes": self._tf_bytes}


class GpuClocks:
    """The clock of the slowest GPU, and whether any is slowed down; nothing where there are none."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        with contextlib.suppress(Exception):  # no library, no driver, no permission
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]

    def read(self) -> dict[str, float]:
        """Return `gpu_clock_mhz` and `gpu_throttled`, as far as they are told."""
        nvml, found = self._nvml, {}
        if nvml is None or not self._handles:
            return {}
        with contextlib.suppress(Exception):
            clocks = [nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) for gpu in self._handles]
            found["gpu_clock_mhz"] = float(min(clocks))
        with contextlib.suppress(Exception):
            reasons = [nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu) for gpu in self._handles]
            found["gpu_throttled"] = float(any(reason & _SLOWED for reason in reasons))
        return found

    def close(self) -> None:
        """Let go of NVML."""
        nvml, self._nvml, self._handles = self._nvml, None, []
        if nvml is not None:
            with contextlib.suppress(Exception):
                nvml.nvmlShutdown()


def _allocated_bytes() -> float:
    """What TensorFlow's allocators of GPUs have given out, in all; NaN without GPUs."""
    tensorflow = sys.modules.get("tensorflow")
    try:
        gpus = tensorflow.config.list_logical_devices("GPU")  # type: ignore[union-attr]
        used = [tensorflow.config.experimental.get_memory_info(gpu.name)["current"] for gpu in gpus]  # type: ignore[union-attr]
    except Exception:  # a program that is not that far, a device without numbers
        return float("nan")
    return float(sum(used)) if used else float("nan")
