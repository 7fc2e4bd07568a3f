"""This process and its machine -> facts that checks read: versions, GPU, CUPTI, TensorFlow."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ...trace.capture_facts import framework_of_keras

Status = Literal["ok", "warning", "unknown"]


@dataclass(frozen=True)
class Check:
    """The answer to one question of `doctor()`."""

    name: str
    """What was looked at, such as `cupti`; unique in a report."""
    status: Status
    """`warning`: something will be missing or fail. `unknown`: it cannot be found out from here."""
    value: str
    """What was found, in a few words and one line."""
    remedy: str = ""
    """A command for a shell or a line of code; empty where the status is "ok"."""


def ok(name: str, value: str) -> Check:
    """Make the check that found nothing to do."""
    return Check(name, "ok", _one_line(value))


def warning(name: str, value: str, remedy: str) -> Check:
    """Make the check that found what needs to be done."""
    return Check(name, "warning", _one_line(value), _one_line(remedy))


def unknown(name: str, value: str, remedy: str) -> Check:
    """Make the check that found no answer; `remedy` leads to one."""
    return Check(name, "unknown", _one_line(value), _one_line(remedy))


def text_of(path: Path) -> str:
    """Return the text of a small file of the system; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _one_line(text: str) -> str:
    # Values hold messages of other libraries, which may have many lines and control characters.
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


@dataclass(frozen=True)
class BuildFacts:
    """How the installed TensorFlow was built; read from its files."""

    folder: Path | None = None
    """None where it is not installed."""
    is_cuda: bool | None = None
    is_rocm: bool = False
    cuda_version: str = ""
    cupti_requirement: str = ""
    """The package of the right CUPTI in TensorFlow's metadata: `nvidia-cuda-cupti-cu12>=12.5.82`."""


def imported_tensorflow() -> Any:
    """Return the `tensorflow` of this process where its import is done, else None. Imports nothing."""
    tf = sys.modules.get("tensorflow")
    return tf if tf is not None and hasattr(tf, "profiler") and hasattr(tf, "config") else None


def is_started() -> bool | None:
    """Whether TensorFlow has run an op, and so chosen its allocators; None where unknown."""
    if imported_tensorflow() is None:
        return False
    # No public name tells this; the private one has been there since 2.0, and its absence is an answer too.
    context = sys.modules.get("tensorflow.python.eager.context")
    find = getattr(context, "context_safe", None)
    if find is None:
        return None
    state = find()
    if state is None:
        return False
    started = getattr(state, "_initialized", None)
    return started if isinstance(started, bool) else None


def build_facts() -> BuildFacts:
    """Read how TensorFlow was built from what lies beside it."""
    try:
        spec = importlib.util.find_spec("tensorflow")
    except (ImportError, ValueError):  # ValueError: a module put into `sys.modules` by hand
        spec = None
    if spec is None or not spec.origin:
        return BuildFacts()
    folder = Path(spec.origin).parent
    text = text_of(folder / "python" / "platform" / "build_info.py")
    return parse_build_info(text, folder=folder, cupti_requirement=_cupti_requirement())


def parse_build_info(text: str, *, folder: Path | None, cupti_requirement: str = "") -> BuildFacts:
    """Take the facts out of the text of TensorFlow's `build_info.py`."""
    is_cuda = re.search(r"'is_cuda_build',\s*(True|False)", text)
    cuda_version = re.search(r"'cuda_version',\s*'([\d.]+)'", text)
    return BuildFacts(
        folder=folder,
        is_cuda=None if is_cuda is None else is_cuda.group(1) == "True",
        is_rocm=re.search(r"'is_rocm_build',\s*True", text) is not None,
        cuda_version=cuda_version.group(1) if cuda_version else "",
        cupti_requirement=cupti_requirement,
    )


def _cupti_requirement() -> str:
    try:
        requirements = importlib.metadata.requires("tensorflow") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    return next((r.partition(";")[0].strip() for r in requirements if r.startswith("nvidia-cuda-cupti")), "")


TRY_SECONDS = 1.0
_PLAIN = "libcupti.so"
_TRY = """
import ctypes, json, sys
path, failures = "", []
for name in sys.argv[1:]:
    try:
        ctypes.CDLL(name)
    except OSError as error:
        failures.append((name, str(error)))
    else:
        with open("/proc/self/maps", errors="replace") as maps:
            path = next((m[m.index("/"):].strip() for m in maps if "/libcupti" in m), name)
        break
print(json.dumps((path, failures)))
"""
"""The file that the first library that loads is taken from, and what the loader said of those before it."""


@dataclass(frozen=True)
class CuptiFacts:
    wanted: str = _PLAIN
    """The file that TensorFlow asks for first, such as `libcupti.so.12`."""
    found: str | None = ""
    """The file that this process has loaded, or that loads where TensorFlow looks; None where no process could try it."""
    failure: str = ""
    """A file that does not load, and the loader's words."""

    @property
    def is_other_version(self) -> bool:
        """Whether TensorFlow gets another version than it was built for: the wanted one is missing, a plain one is there."""
        wanted, found = _major(self.wanted), _major(self.found or "")
        return bool(wanted and found) and wanted != found


def cupti_facts(build: BuildFacts) -> CuptiFacts:
    """Look for CUPTI in another process: loading it here would change what TensorFlow finds, and may crash."""
    major = build.cuda_version.partition(".")[0]
    names = [f"{_PLAIN}.{major}", _PLAIN] if major else [_PLAIN]
    if loaded := _loaded():
        return CuptiFacts(names[0], loaded)
    wheels = [folder / name for name in names for folder in _wheel_folders(build)]
    found, failures = _try([*names, *(str(file) for file in wheels if file.is_file())])
    # Of a bare name that failed nothing is to be learned, except that a file was found and is broken.
    broken = (f"{name} does not load: {error}" for name, error in failures if not _is_absent(name, error))
    return CuptiFacts(names[0], found, next(broken, ""))


def _major(path: str) -> str:
    """The version in a file's name; for a plain `libcupti.so` in the name that it links to, if any."""
    return Path(path).name.rpartition(".so")[2].strip(".").partition(".")[0]


def _is_absent(name: str, error: str) -> bool:
    # The loader says the same of a library and of what that needs: only the first word tells them apart.
    return error.startswith(f"{name}:") and "No such file" in error


def _loaded() -> str:
    maps = text_of(Path("/proc/self/maps")).splitlines()
    return next((line[line.index("/") :] for line in maps if "/libcupti.so" in line), "")


def _wheel_folders(build: BuildFacts) -> list[Path]:
    if build.folder is None:
        return []
    nvidia = build.folder.parent / "nvidia"
    return [nvidia / "cuda_cupti" / "lib", *sorted(nvidia.glob("cu[0-9]*/lib"))]


def loader_environment(environ: Mapping[str, str], at_start: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a process finds libraries as this one, whose loader read LD_LIBRARY_PATH at its start, does."""
    changed = {name: text for name, text in environ.items() if name != "LD_LIBRARY_PATH"}
    return changed | {name: at_start[name] for name in ("LD_LIBRARY_PATH",) if name in at_start}


def _try(names: list[str]) -> tuple[str | None, list[tuple[str, str]]]:
    """The file that loads, None where no process could be started to try, and those that do not with why."""
    import psutil

    command = [sys.executable, "-I", "-S", "-c", _TRY, *names]
    try:
        done = subprocess.run(
            command,
            env=loader_environment(os.environ, psutil.Process().environ()),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TRY_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", [(names[0], f"it took more than {TRY_SECONDS:g} s")]
    except (OSError, psutil.Error):
        return None, []
    if done.returncode:
        return "", [(names[0], f"the process ended with status {done.returncode}")]
    path, failures = json.loads(done.stdout)
    return path, [(name, error) for name, error in failures]


_DISTRIBUTIONS: dict[str, tuple[str, ...]] = {
    "tensorflow": (
        "tensorflow",
        "tensorflow-cpu",
        "tf-nightly",
        "tensorflow-macos",
        "tensorflow-rocm",
        "tensorflow-intel",
    ),
    "tfprof_widgets": ("tfprof-widgets",),
}
_RECORDED_BY = {
    "jax": 'jax.profiler.start_trace("logs"); model.fit(...); jax.profiler.stop_trace(); tfprof.load("logs")',
    "torch": "with torch.profiler.profile() as recorded: model.fit(...)",
}
_MODULES = {"protobuf": "google.protobuf"}
"""Import names of packages where they differ."""


def installed_version(name: str) -> str:
    """Return the version of a package on disk; empty where it is not installed."""
    found = _distribution(name)
    return str(found.version or "") if found else ""


def _distribution(name: str) -> importlib.metadata.Distribution | None:
    for one in _DISTRIBUTIONS.get(name, (name,)):
        try:
            return importlib.metadata.distribution(one)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def needed_packages() -> dict[str, str]:
    """Package -> lowest version that works ("": any), from this package's metadata and, for Keras, TensorFlow's."""
    own = lowest_versions(_requirements("tfprof_widgets"), extra="tensorflow")
    keras = lowest_versions(text for text in _requirements("tensorflow") if text.startswith("keras"))
    first = {"tensorflow": "", "keras": keras.get("keras", ""), "tfprof_widgets": ""}
    return {**first, **own}


def _requirements(name: str) -> list[str]:
    found = _distribution(name)
    return list(found.requires or ()) if found else []


def lowest_versions(requirements: Iterable[str], extra: str = "") -> dict[str, str]:
    """Package -> lowest version, of those requirements that are for this machine and, besides all, for one extra."""
    parsed = [Requirement(text) for text in requirements]
    return {
        one.name: _lowest(one.specifier)
        for one in parsed
        if one.marker is None or one.marker.evaluate({"extra": extra})
    }


def _lowest(allowed: SpecifierSet) -> str:
    return next((one.version for one in allowed if one.operator == ">="), "")


def version_checks() -> Iterator[Check]:
    """Check Python and each package that is needed."""
    own = _distribution("tfprof_widgets")
    python = _lowest(SpecifierSet(own.metadata["Requires-Python"])) if own else ""
    yield package_check("python", python, running=platform.python_version())
    for name, at_least in needed_packages().items():
        running = getattr(sys.modules.get(_MODULES.get(name, name)), "__version__", "")
        yield package_check(name, at_least, installed_version(name), running if isinstance(running, str) else "")


def backend_check(backend: str) -> Check:
    """Check that Keras, where the program has imported it, runs on TensorFlow, which alone is profiled."""
    name = "keras_backend"
    if backend in ("", "tensorflow"):
        return ok(name, "TensorFlow" if backend else "Keras is not imported")
    found = f"{framework_of_keras(backend)}: TensorFlow's profiler records nothing of it"
    return warning(name, found, _RECORDED_BY.get(backend, 'os.environ["KERAS_BACKEND"] = "tensorflow"'))


def package_check(name: str, at_least: str, installed: str = "", running: str = "") -> Check:
    """Check the version of a package on disk and in this process; each is "" where there is none."""
    wanted = f'pip install -U "{name.replace("_", "-")}{">=" * bool(at_least)}{at_least}"'
    version = running or installed
    if not version:
        if name == "tfprof_widgets":  # a checkout on the path works as well as an installed one
            found = "not installed: it runs from its folder, and which versions it needs is not looked at"
            return unknown(name, found, "pip install .  # in that folder")
        is_of_captures = name in ("tensorflow", "keras")
        why = "a capture needs it; opening saved profiles works without" if is_of_captures else "needed"
        return warning(name, f"not installed; {why}", wanted)
    if running and installed and running != installed:
        found = f"{running} runs, but {installed} is installed by now"
        return warning(name, found, "restart the kernel, then run your cells again")
    if at_least and _numbers(version) < _numbers(at_least):
        remedy = "conda create -n tf python=3.12" if name == "python" else wanted
        return warning(name, f"{version}; {at_least} or later is needed", remedy)
    return ok(name, version)


def _numbers(version: str) -> list[int]:
    """The first three numbers of a version before any letter."""
    numbers = re.match(r"[\d.]*", version).group()  # type: ignore[union-attr]  # it matches nothing, too
    return [*(int(part) for part in numbers.split(".") if part), 0, 0, 0][:3]


DRIVER = Path("/proc/driver/nvidia")
_CAPABILITIES = {"SYS_ADMIN": 21, "PERFMON": 38}
"""Bits of `CapEff`, either of which gives access to the GPU's counters; the second since driver 565."""


@dataclass(frozen=True)
class GpuFacts:
    """What is known of the GPUs; nothing here was started to know it, unless TensorFlow was imported before."""

    driver_gpus: tuple[str, ...] | None = ()
    """Their models; None where the driver cannot be asked."""
    driver_source: str = ""
    """`NVML` or `/proc/driver/nvidia`; the second also lists GPUs that this process may not use."""
    nvml_error: str = ""
    """Why NVML, which samples load and memory, cannot be read; "" where it can."""
    seen: tuple[str, ...] | None = None
    """Names of TensorFlow's GPUs; None where it is not imported, or does not say."""
    n_used: int = 0
    """How many of `seen` `tf.config.set_visible_devices` leaves."""
    seen_error: str = ""
    visible_devices: str | None = None
    xla_flags: str = ""
    tensorflow_version: str = ""
    build: BuildFacts = field(default_factory=BuildFacts)
    has_cuda_wheels: bool = False
    cupti: CuptiFacts = field(default_factory=CuptiFacts)
    is_admin_only: bool | None = None
    """The driver's RmProfilingAdminOnly; None where unknown."""
    is_admin: bool | None = None
    """Whether this process counts as an administrator to the driver."""
    is_container: bool = False


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
    return (None if Path("/dev/dxg").exists() else ()), "", error


def _seen_by_tensorflow() -> tuple[tuple[str, ...] | None, int, str]:
    """`(names, number in use, error)`, without importing TensorFlow."""
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
    """Whether `/proc/self/status` has a capability that the driver asks for, which root in a container may lack. Source:
    NVIDIA's page on ERR_NVGPUCTRPERM: CAP_SYS_ADMIN, and CAP_PERFMON from driver R565 on."""
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", text, re.MULTILINE)
    if match is None:
        return None
    bits = int(match.group(1), 16)
    return any(bits >> bit & 1 for bit in _CAPABILITIES.values())


def is_container() -> bool:
    """Whether this process runs in a container, by its files."""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"), Path("/.singularity.d"))
    return any(mark.exists() for mark in marks) or "KUBERNETES_SERVICE_HOST" in os.environ
