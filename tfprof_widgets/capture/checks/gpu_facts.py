"""gpu_facts: the driver, TensorFlow and the user's rights -> `GpuFacts`, from which `gpu_checks` judges."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .check import text_of
from .cupti import CuptiFacts, cupti_facts
from .tensorflow_facts import BuildFacts, build_facts, imported_tensorflow
from .versions import installed_version

DRIVER = Path("/proc/driver/nvidia")
_CAPABILITIES = {"SYS_ADMIN": 21, "PERFMON": 38}
"""Bits of `CapEff`, either of which gives access to the GPU's counters; the second since driver 565."""


@dataclass(frozen=True)
class GpuFacts:
    """What is known of the GPUs; nothing here was started to know it, unless TensorFlow was imported before."""

    driver_gpus: tuple[str, ...] | None = ()
    """Their models, as the driver names them; None: the driver cannot be asked."""
    driver_source: str = ""
    """`NVML` or `/proc/driver/nvidia`; the second also lists GPUs that this process may not use."""
    nvml_error: str = ""
    """Why NVML, which samples load and memory, cannot be read; empty where it can."""
    seen: tuple[str, ...] | None = None
    """Names of TensorFlow's GPUs; None: TensorFlow is not imported, or does not tell."""
    n_used: int = 0
    """How many of `seen` `tf.config.set_visible_devices` leaves."""
    seen_error: str = ""
    visible_devices: str | None = None
    """The environment variable CUDA_VISIBLE_DEVICES."""
    xla_flags: str = ""
    """The environment variable XLA_FLAGS."""
    tensorflow_version: str = ""
    build: BuildFacts = field(default_factory=BuildFacts)
    has_cuda_wheels: bool = False
    """Whether NVIDIA's wheels lie beside TensorFlow."""
    cupti: CuptiFacts = field(default_factory=CuptiFacts)
    is_admin_only: bool | None = None
    """The driver's RmProfilingAdminOnly; None: it does not tell."""
    is_admin: bool | None = None
    """Whether this process counts as an administrator to the driver."""
    is_container: bool = False
    platform: str = "linux"


def gather_gpu_facts() -> GpuFacts:
    """Ask the driver, TensorFlow where it is imported, and the system. CUPTI is looked for only where there is a GPU."""
    gpus, source, nvml_error = _driver_gpus()
    seen, n_used, seen_error = _seen_by_tensorflow()
    build = build_facts()
    has_gpu = bool(gpus) or bool(seen)
    return GpuFacts(
        driver_gpus=gpus,
        driver_source=source,
        nvml_error=nvml_error,
        seen=seen,
        n_used=n_used,
        seen_error=seen_error,
        visible_devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        xla_flags=os.environ.get("XLA_FLAGS", ""),
        tensorflow_version=installed_version("tensorflow"),
        build=build,
        has_cuda_wheels=build.folder is not None and (build.folder.parent / "nvidia").is_dir(),
        cupti=cupti_facts(build) if has_gpu and build.is_cuda and sys.platform == "linux" else CuptiFacts(),
        is_admin_only=parse_admin_only(text_of(DRIVER / "params")),
        is_admin=parse_is_admin(text_of(Path("/proc/self/status"))),
        is_container=is_container(),
        platform=sys.platform,
    )


def _driver_gpus() -> tuple[tuple[str, ...] | None, str, str]:
    """`(models, source, why NVML cannot be read)`."""
    error = ""
    try:
        import pynvml
    except ImportError:
        error = "the package nvidia-ml-py is not installed"
    else:
        try:
            pynvml.nvmlInit()
            try:
                handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
                names = [pynvml.nvmlDeviceGetName(handle) for handle in handles]
            finally:
                pynvml.nvmlShutdown()
            return tuple(n.decode() if isinstance(n, bytes) else str(n) for n in names), "NVML", ""
        except Exception as failure:  # NVML's errors are made at run time; each means that it cannot be read
            error = f"NVML: {failure}"
    folders = sorted((DRIVER / "gpus").glob("*/information"))
    if folders:
        return tuple(parse_model(text_of(path)) for path in folders), str(DRIVER), error
    # In WSL the driver is Windows' and has no folder here: only NVML knows.
    return (None if Path("/dev/dxg").exists() or sys.platform == "win32" else ()), "", error


def _seen_by_tensorflow() -> tuple[tuple[str, ...] | None, int, str]:
    """`(names, how many are used, error)`; asks only a TensorFlow that is imported."""
    tf = imported_tensorflow()
    if tf is None:
        return None, 0, ""
    try:
        seen = tuple(str(device.name) for device in tf.config.list_physical_devices("GPU"))
        return seen, len(tf.config.get_visible_devices("GPU")), ""
    except Exception as error:  # a driver that does not fit fails in many ways; each means that there is no answer
        return None, 0, f"{type(error).__name__}: {error}"


def parse_model(text: str) -> str:
    """Take the model out of `/proc/driver/nvidia/gpus/*/information`."""
    match = re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE)
    return match.group(1) if match else "GPU"


def parse_admin_only(text: str) -> bool | None:
    """Take RmProfilingAdminOnly out of `/proc/driver/nvidia/params`."""
    match = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    return None if match is None else match.group(1) != "0"


def parse_is_admin(text: str) -> bool | None:
    """Whether the capabilities in `/proc/self/status` hold one that the driver asks for; root in a container may lack them.

    Source: NVIDIA's page on ERR_NVGPUCTRPERM: CAP_SYS_ADMIN, and CAP_PERFMON from driver R565 on.
    """
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", text, re.MULTILINE)
    if match is None:
        return None
    bits = int(match.group(1), 16)
    return any(bits >> bit & 1 for bit in _CAPABILITIES.values())


def is_container() -> bool:
    """Whether this process runs in a container, as far as its files tell."""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"), Path("/.singularity.d"))
    return any(mark.exists() for mark in marks) or "KUBERNETES_SERVICE_HOST" in os.environ
