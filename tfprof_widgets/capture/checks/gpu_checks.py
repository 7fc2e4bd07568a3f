"""gpu_checks: `GpuFacts` -> whether a capture will see the GPU, its kernels and its load. Pure: asks nobody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .check import Check, ok, unknown, warning
from .gpu_facts import GpuFacts

KEEP_GRAPHS = "--xla_enable_command_buffers_during_profiling=true"
_KEEPS_GRAPHS = re.compile(r"--xla_enable_command_buffers_during_profiling(?:=(?:true|1))?(?:\s|$)", re.I)
_NOT_NEEDED = "not needed: there is no NVIDIA GPU"
_SHOW_LOG = "python -c \"import tensorflow as tf; print(tf.config.list_physical_devices('GPU'))\"  # its log tells why"
_UNLOCK = (
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-profiling.conf "
    "&& sudo reboot"
)
_UNLOCK_CONTAINER = "docker run --cap-add=SYS_ADMIN ..."


def gpu_checks(facts: GpuFacts) -> Iterator[Check]:
    """Check the GPUs, CUPTI, the right to profile and the sampling of load."""
    yield devices_check(facts)
    yield cupti_check(facts)
    yield privileges_check(facts)
    yield sampling_check(facts)
    yield cuda_graphs_check(facts)


def devices_check(facts: GpuFacts) -> Check:
    """Check that TensorFlow sees the GPUs that the driver has."""
    name, models = "gpu", models_text(facts.driver_gpus or ())
    if facts.seen_error:
        return warning(name, f"TensorFlow cannot list its GPUs: {facts.seen_error}", _SHOW_LOG)
    if not facts.driver_gpus:
        if facts.seen:
            return ok(name, f"{_count(len(facts.seen))} in TensorFlow; the NVIDIA driver was not asked")
        if facts.driver_gpus is None:
            return unknown(name, f"the driver cannot be asked: {facts.nvml_error}", "pip install nvidia-ml-py")
        return ok(name, "none: captures record the CPU")
    if facts.build.is_cuda is False and not facts.seen and not facts.build.is_rocm:
        return warning(name, f"{models}, but this TensorFlow is built without CUDA", _install_cuda(facts))
    if facts.seen is None:
        hidden = f" (CUDA_VISIBLE_DEVICES={facts.visible_devices!r})" if facts.visible_devices is not None else ""
        found = f"{models}{hidden}; whether TensorFlow sees it is not known before its import"
        return unknown(name, found, "import tensorflow; tfprof.doctor()")
    if not facts.seen:
        return _nothing_seen(facts, models)
    return _some_seen(facts, models)


def _nothing_seen(facts: GpuFacts, models: str) -> Check:
    if facts.visible_devices is not None and facts.visible_devices.strip() in ("", "-1", "NoDevFiles"):
        return warning(
            "gpu",
            f"{models}, hidden from TensorFlow by CUDA_VISIBLE_DEVICES={facts.visible_devices!r}",
            'restart the kernel; before `import tensorflow`: import os; os.environ.pop("CUDA_VISIBLE_DEVICES", None)',
        )
    if facts.has_cuda_wheels or not facts.build.is_cuda:
        return warning("gpu", f"{models}, but TensorFlow sees none", _SHOW_LOG)
    return warning(
        "gpu", f"{models}, but TensorFlow sees none; NVIDIA's wheels are not beside it", _install_cuda(facts)
    )


def _some_seen(facts: GpuFacts, models: str) -> Check:
    n_driver, n_seen = len(facts.driver_gpus or ()), len(facts.seen or ())
    if facts.n_used < n_seen:
        return ok("gpu", f"{models}; this program uses {facts.n_used} of {n_seen} (tf.config.set_visible_devices)")
    if n_seen >= n_driver:
        return ok("gpu", f"{models}, seen by TensorFlow")
    part = f"{models}; TensorFlow sees {n_seen} of {n_driver}"
    if facts.visible_devices is not None:
        return ok("gpu", f"{part} (CUDA_VISIBLE_DEVICES={facts.visible_devices!r})")
    if facts.driver_source != "NVML":  # a scheduler gives a job some of the GPUs that the driver's folder lists
        return ok("gpu", part)
    return warning("gpu", part, _SHOW_LOG)


def cupti_check(facts: GpuFacts) -> Check:
    """Check that CUPTI, through which TensorFlow traces kernels, is there and loads."""
    name, cupti = "cupti", facts.cupti
    if not facts.driver_gpus:
        return ok(name, _NOT_NEEDED)
    if not facts.build.is_cuda:
        return ok(name, "not needed: this TensorFlow is built without CUDA")
    package = facts.build.cupti_requirement
    install = f'pip install "{package}"' if package else _install_cuda(facts)
    if cupti.is_other_version:
        found = f"{cupti.loaded or cupti.loadable} loads, but TensorFlow was built for {cupti.wanted}; kernels may be missing"
        return unknown(name, found, f"{install}  # then restart the kernel")
    if cupti.loaded or cupti.loadable:
        return ok(name, f"{cupti.loaded}, loaded" if cupti.loaded else f"{cupti.loadable} loads")
    lost = "captures will have no GPU kernels"
    if cupti.failures:
        path, error = cupti.failures[0]
        again = install.replace("pip install ", "pip install --force-reinstall --no-deps ", 1) if package else install
        return warning(name, f"{path} does not load, so {lost}: {error}", f"{again}  # then restart the kernel")
    if cupti.elsewhere:
        folder = cupti.elsewhere[0]
        found = f"{cupti.wanted} is in {folder}, where nobody looks, so {lost}"
        return warning(name, found, f"export LD_LIBRARY_PATH={folder}:$LD_LIBRARY_PATH  # then start Jupyter again")
    if not cupti.is_tried:
        return unknown(name, "it could not be tried: no process can be started here", _load_line(cupti.wanted))
    return warning(name, f"{cupti.wanted} is not found, so {lost}", f"{install}  # then restart the kernel")


def privileges_check(facts: GpuFacts) -> Check:
    """Check that the driver lets this user profile.

    Since CUDA 10.2 the restriction is about hardware counters: tracing, which is what TensorFlow does, is allowed to
    everybody. Some machines refuse it all the same, so a restriction is "unknown", not a warning.

    Source: NVIDIA's page on CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, its table of expected behaviour.
    """
    name = "gpu_privileges"
    if not facts.driver_gpus:
        return ok(name, _NOT_NEEDED)
    if facts.is_admin_only is False:
        return ok(name, "the driver lets every user profile")
    if facts.is_admin_only and facts.is_admin:
        return ok(name, "profiling is for administrators, and this process is one")
    allow = _UNLOCK_CONTAINER if facts.is_container else _UNLOCK
    if facts.is_admin_only is None:
        return unknown(name, "the driver does not tell who may profile", f"if captures have no GPU kernels: {allow}")
    return unknown(
        name,
        "hardware counters are for administrators (RmProfilingAdminOnly: 1); tracing of kernels needs none since CUDA 10.2, "
        "but some machines refuse it too (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES in the log)",
        f"if captures have no GPU kernels, an administrator runs: {allow}",
    )


def sampling_check(facts: GpuFacts) -> Check:
    """Check that the load and the memory of the GPUs can be sampled."""
    name = "gpu_sampling"
    if not facts.driver_gpus:
        return ok(name, _NOT_NEEDED)
    if not facts.nvml_error:
        return ok(name, "NVML is readable")
    lost = "captures will have no GPU load"
    if "not installed" in facts.nvml_error:
        return warning(name, f"{facts.nvml_error}, so {lost}", "pip install nvidia-ml-py")
    return warning(name, f"{facts.nvml_error}, so {lost}", "nvidia-smi  # fails the same way; it tells more")


def cuda_graphs_check(facts: GpuFacts) -> Check:
    """Tell whether XLA keeps its CUDA graphs while a profiler runs."""
    name = "cuda_graphs"
    if not facts.driver_gpus:
        return ok(name, _NOT_NEEDED)
    if _KEEPS_GRAPHS.search(facts.xla_flags):
        return ok(name, "XLA keeps them while a profiler runs")
    return ok(name, f"XLA switches them off while a profiler runs; XLA_FLAGS={KEEP_GRAPHS} keeps them")


def models_text(models: tuple[str, ...]) -> str:
    """The models with their numbers: `2 x Tesla T4`."""
    return ", ".join(f"{n} x {model}" if n > 1 else model for model, n in Counter(models).items())


def _count(n: int) -> str:
    return f"{n} GPU" if n == 1 else f"{n} GPUs"


def _install_cuda(facts: GpuFacts) -> str:
    if facts.platform == "win32":  # TensorFlow 2.10 was the last with GPUs there
        return "wsl --install  # then TensorFlow inside WSL: it has no GPU support on Windows itself"
    version = f"=={facts.tensorflow_version}" if facts.tensorflow_version else ""
    return f'pip install "tensorflow[and-cuda]{version}"'


def _load_line(wanted: str) -> str:
    return f"import ctypes; ctypes.CDLL({wanted!r})"
