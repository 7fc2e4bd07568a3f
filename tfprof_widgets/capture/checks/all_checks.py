"""Facts of the machine, the GPU, the session and the front end -> checks, each with what to do."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar

from ...trace import scratch
from ..machine import MachineReader, keras_backend
from ..record import BFC_VARIABLE, DEFAULT_MAX_BYTES
from ..session import active_capture
from .facts import (
    Check,
    GpuFacts,
    backend_check,
    gather_gpu_facts,
    imported_tensorflow,
    is_started,
    ok,
    unknown,
    version_checks,
    warning,
)

EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget")
"""What JupyterLab and Notebook 7 need in `share/jupyter/labextensions` to draw our widgets."""

_ENVIRONMENT = (
    *("COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE", "DATABRICKS_RUNTIME_VERSION", "VOILA_KERNEL_ID"),
    *("VOILA_BASE_URL", "JPY_SESSION_NAME", "VSCODE_PID", "VSCODE_CWD"),
)


@dataclass(frozen=True)
class FrontEndFacts:
    """What the kernel knows of its page, without a message."""

    has_shell: bool = False
    has_kernel: bool = False
    """Whether output goes to a front end, not to a terminal."""
    variables: frozenset[str] = frozenset()
    """Environment variables of front ends that are set and not empty."""
    is_colab: bool = False
    is_vscode_notebook: bool = False
    """Whether the kernel knows the notebook's path from VS Code."""
    is_lite: bool = False
    is_marimo: bool = False
    parent: tuple[str, ...] = ()
    """The command line of the server that started the kernel; empty where unknown."""
    missing: tuple[str, ...] | None = None
    """`EXTENSIONS` that the server lacks; None where its folders are unknown."""


def gather_front_end_facts() -> FrontEndFacts:
    """Look at IPython, the environment and the parent process."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    has_kernel = getattr(shell, "kernel", None) is not None
    parent = _parent(os.environ) if has_kernel else ()
    return FrontEndFacts(
        has_shell=shell is not None,
        has_kernel=has_kernel,
        variables=frozenset(name for name in _ENVIRONMENT if os.environ.get(name)),
        is_colab="google.colab" in sys.modules,
        is_vscode_notebook=bool(shell is not None and "__vsc_ipynb_file__" in shell.user_ns),
        is_lite=sys.platform == "emscripten",
        is_marimo="marimo" in sys.modules and sys.modules["marimo"].running_in_notebook(),
        parent=parent,
        missing=missing_extensions(parent, os.environ),
    )


def _parent(environ: Mapping[str, str]) -> tuple[str, ...]:
    pid = environ.get("JPY_PARENT_PID", "")
    if not pid.isdigit():
        return ()
    import psutil

    try:
        return tuple(psutil.Process(int(pid)).cmdline())
    except (psutil.Error, OSError):  # gone, or another user's
        return ()


def missing_extensions(parent: tuple[str, ...], environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return which of `EXTENSIONS` a JupyterLab or Notebook server lacks; its environment need not be the kernel's."""
    prefix = server_prefix(parent)
    if prefix is None:
        return None
    data = [Path(p) for p in environ.get("JUPYTER_PATH", "").split(os.pathsep) if p]
    data += [Path(environ["JUPYTER_DATA_DIR"])] if environ.get("JUPYTER_DATA_DIR") else []
    data += [Path.home() / ".local" / "share" / "jupyter", Path.home() / "Library" / "Jupyter"]
    data += [prefix / "share" / "jupyter", Path("/usr/local/share/jupyter"), Path("/usr/share/jupyter")]
    return tuple(name for name in EXTENSIONS if not any((d / "labextensions" / name).is_dir() for d in data))


def server_prefix(parent: tuple[str, ...]) -> Path | None:
    """Return the environment that a server's command belongs to: of `/opt/conda/bin/jupyter-lab` that is `/opt/conda`."""
    # The script first: `python` may be a link of another environment.
    for folder in (Path(word).parent for word in reversed(parent[:3]) if Path(word).is_absolute()):
        if folder.name in ("bin", "Scripts") and (folder.parent / "share" / "jupyter").is_dir():
            return folder.parent
    return None


_SHORT_OF_ROOM = 2
"""A folder with less free than this many times a capture's bound is short of room."""
_MIB = 1 << 20


def disk_check() -> Check:
    """Check the room where captures without a `logdir` put their files; nothing is written there."""
    name, elsewhere = "disk", 'with tfprof.profile(logdir="/path/with/room"): ...'
    try:
        folder = scratch.room_for(DEFAULT_MAX_BYTES)
    except OSError as error:  # none of the temporary folders can be written
        return warning(name, f"no folder for temporary files can be written: {error}", elsewhere)
    kind, free = "in memory" if scratch.is_memory(folder) else "on disk", scratch.free_bytes(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return warning(name, f"{folder} cannot be written", elsewhere)
    if not free:
        return unknown(name, f"{folder} ({kind}) does not tell its free space", elsewhere)
    if free < _SHORT_OF_ROOM * DEFAULT_MAX_BYTES:
        found = f"{folder} ({kind}) has {bytes_text(free)} free; a capture may write {bytes_text(DEFAULT_MAX_BYTES)}"
        return warning(name, found, elsewhere)
    return ok(name, f"captures go to {folder} ({kind}), {bytes_text(free)} free")


def sampling_check() -> Check:
    """Check that the machine can be sampled, by reading it once as captures do."""
    name, begin_s = "cpu_sampling", time.perf_counter()
    try:
        with contextlib.closing(MachineReader()) as reader:
            n_counters = len(reader.read())
    except Exception as error:  # restricted systems fail in many ways; each means that it is not readable
        remedy = "with tfprof.profile(system=False): ...  # captures all else"
        return warning(name, f"captures will have no samples ({type(error).__name__}: {error})", remedy)
    return ok(name, f"{n_counters} counters in {1e3 * (time.perf_counter() - begin_s):.1f} ms")


def bytes_text(n: int) -> str:
    """Three significant digits: `23.9 GiB`."""
    return f"{n / 2**30:.3g} GiB" if n >= 1000 * _MIB else f"{n / _MIB:.3g} MiB"


Session = Literal["none", "ours", "python", "elsewhere", "unknown"]
"""Who runs this process' profiler: a capture of ours, `tf.profiler.experimental.start`, or something like a profiler server."""
Recorded = Literal["all", "large", "nothing", "unknown"]
"""The CPU tensors that the allocator in use reports; oneDNN's, the default with AVX-512 VNNI, reports those from 256 KiB on."""


@dataclass(frozen=True)
class SessionFacts:
    """What is known of TensorFlow's profiler and of its CPU allocator."""

    session: Session = "none"
    is_imported: bool = False
    is_started: bool | None = False
    """Whether TensorFlow has chosen its allocators; None where unknown."""
    variable: str | None = None
    recorded: Recorded = "unknown"
    """Unknown, too, where no allocator is in use."""


def gather_session_facts() -> SessionFacts:
    """Ask TensorFlow where it is imported; start nothing, leave no session behind."""
    started = is_started()
    return SessionFacts(
        session=running_session(),
        is_imported=imported_tensorflow() is not None,
        is_started=started,
        variable=os.environ.get(BFC_VARIABLE),
        recorded=_recorded() if started else "unknown",
    )


def running_session() -> Session:
    """Tell who runs the profiler of this process now."""
    if active_capture() is not None:
        return "ours"
    if imported_tensorflow() is None:
        return "none"
    if getattr(sys.modules.get("tensorflow.python.profiler.profiler_v2"), "_profiler", None) is not None:
        return "python"
    # Never by trying: a `start()` that fails blocks the next one, and one that works starts CUPTI where there is a GPU
    # (TensorFlow 2.21 takes no notice of the levels in its options). Whether events are recorded can be asked for free.
    is_recording: Any = getattr(sys.modules.get("tensorflow.python.profiler.trace"), "enabled", None)
    if not callable(is_recording):
        return "unknown"
    return "elsewhere" if is_recording() else "none"


def _recorded() -> Recorded:
    """What the CPU allocator in use reports: all of TensorFlow's that have statistics do, oneDNN's omits what is small."""
    tf = imported_tensorflow()
    try:
        before = _in_use_bytes(tf)
    except ValueError:
        return "nothing"
    except Exception:  # a build without this function, or without a CPU device
        return "unknown"
    if not tf.executing_eagerly():
        return "unknown"
    with tf.device("CPU:0"):
        held = tf.fill([1], tf.constant(1, tf.uint8))
    counted = _in_use_bytes(tf) - before
    del held
    return "all" if counted > 0 else "large"


def _in_use_bytes(tf: Any) -> int:
    return int(tf.config.experimental.get_memory_info("CPU:0")["current"])


def profiler_check(facts: SessionFacts) -> Check:
    """Check that no profiler session runs: TensorFlow has one a process."""
    name = "profiler_session"
    if facts.session == "ours":
        found = "a tfprof capture is running, and a second one cannot start"
        return warning(name, found, "tfprof.stop()  # returns its profile")
    if facts.session == "python":
        found = "someone left a session running; the next capture ends it, and what it recorded is dropped"
        return warning(name, found, "tf.profiler.experimental.stop()  # writes what it recorded")
    if facts.session == "elsewhere":
        found = "a session without a Python name is running (a profiler server's), so a capture cannot start"
        return warning(
            name, found, "tfprof.doctor()  # again, when the remote capture is over; else restart the kernel"
        )
    if facts.session == "unknown":
        remedy = "with tfprof.profile(max_seconds=1): pass  # raises where another session runs"
        return unknown(name, "this TensorFlow does not tell whether a session runs", remedy)
    return ok(name, "none is running" if facts.is_imported else "none is running: TensorFlow is not imported")


def cpu_memory_check(facts: SessionFacts) -> Check:
    """Check that TensorFlow records, or will record, the memory of CPU tensors."""
    name, value = "cpu_memory", (facts.variable or "").strip().lower()
    is_on = value in ("1", "true")
    restart = "restart the kernel; in its first cell, before any op: %load_ext tfprof_widgets"
    set_late = f"; {BFC_VARIABLE} was set too late" if is_on else ""
    if facts.recorded == "all":
        return ok(name, "recorded")
    if facts.recorded == "large":
        found = "recorded in part: TensorFlow has chosen oneDNN's allocator, which reports tensors of 256 KiB and more"
        return warning(name, f"{found}{set_late}", restart)
    if facts.recorded == "nothing":
        return warning(name, f"not recorded: TensorFlow has chosen its allocator{set_late}", restart)
    if facts.variable is not None and not is_on:
        remedy = f'import os; os.environ["{BFC_VARIABLE}"] = "true"  # before TensorFlow runs its first op'
        return warning(name, f"not recorded: {BFC_VARIABLE}={facts.variable!r}", remedy)
    if facts.is_started is not False:
        how = f"{BFC_VARIABLE} is {'on' if is_on else 'not set'}, and whether TensorFlow chose its allocator before is not known"
        return unknown(name, how, restart)
    if is_on:
        return ok(name, f"will be recorded: {BFC_VARIABLE} is on, and TensorFlow has not started")
    return warning(
        name, f"will not be recorded: {BFC_VARIABLE} is not set", "%load_ext tfprof_widgets  # before the first op"
    )


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
    yield from _each(facts, devices_check, cupti_check, privileges_check, gpu_sampling_check, cuda_graphs_check)


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
    restart = "  # then restart the kernel"
    if cupti.is_other_version:
        found = f"{cupti.found} loads, but TensorFlow was built for {cupti.wanted}; kernels may be missing"
        return unknown(name, found, install + restart)
    if cupti.found:
        return ok(name, f"{cupti.found} loads")
    if cupti.found is None:
        why = "it could not be tried: no process can be started here"
        return unknown(name, why, f"import ctypes; ctypes.CDLL({cupti.wanted!r})")
    lost = "captures will have no GPU kernels"
    if cupti.failure:
        again = install.replace("pip install ", "pip install --force-reinstall --no-deps ", 1) if package else install
        return warning(name, f"{lost}: {cupti.failure}", again + restart)
    return warning(name, f"{cupti.wanted} is not found, so {lost}", install + restart)


def privileges_check(facts: GpuFacts) -> Check:
    """Check that the driver lets this user profile; since CUDA 10.2 that restricts hardware counters only, but some machines
    refuse tracing, too. Source: NVIDIA's page on CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, its table of expected behaviour."""
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


def gpu_sampling_check(facts: GpuFacts) -> Check:
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
    """Check whether XLA keeps its CUDA graphs while a profiler runs."""
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
    version = f"=={facts.tensorflow_version}" if facts.tensorflow_version else ""
    return f'pip install "tensorflow[and-cuda]{version}"'


_SERVERS = ("JupyterLab", "Notebook 7", "JupyterLab or Notebook 7")
_OWN_WIDGETS = ("Colab", "VS Code", "Voila", "marimo")
"""They bring themselves what draws widgets."""
_SAVED = "saved notebooks have the widgets with Settings > Save Widget State Automatically"
_PAGE_KEEPS = 'saved notebooks have no widgets, prof.to_html("run.html") keeps them'
_AS_PAGE = "the dashboard goes into the output as a page"
_AS_TEXT = 'profiles are shown as text; prof.to_html("run.html") writes the dashboard'
_WORDS = {
    **dict.fromkeys(_SERVERS, _SAVED),
    **dict.fromkeys(_OWN_WIDGETS, _PAGE_KEEPS),
    **dict.fromkeys(("plain Python", "IPython in a terminal"), _AS_TEXT),
    **dict.fromkeys(("nbconvert", "jupyter execute", "papermill"), f"no page is open: {_AS_PAGE}"),
}
"""Front ends that were tried -> what they show and keep."""
_PROGRAMS = {
    "jupyter-lab": "JupyterLab",
    "jupyter-labhub": "JupyterLab",
    "jupyterlab": "JupyterLab",
    "jupyter-notebook": "Notebook 7",
    "notebook": "Notebook 7",
    "voila": "Voila",
    **dict.fromkeys(("jupyter-server", "jupyterhub-singleuser"), "JupyterLab or Notebook 7"),
    "jupyter-nbconvert": "nbconvert",
    "jupyter-execute": "jupyter execute",
    "papermill": "papermill",
}
"""What starts a kernel -> what shows its output."""


def front_end_checks(facts: FrontEndFacts) -> Iterator[Check]:
    yield from _each(facts, front_end_check, page_check)


def front_end_check(facts: FrontEndFacts) -> Check:
    name = front_end_name(facts)
    if words := _WORDS.get(name):
        return ok("front_end", f"{name}: {words}")
    remedy = 'prof.to_html("run.html")  # shows everything where widgets do not work'
    return unknown("front_end", f"{name}: untested", remedy)


def front_end_name(facts: FrontEndFacts) -> str:
    """What shows the output of this process, as far as it can be known."""
    variables, programs = facts.variables, _programs(facts)
    # What only one front end sets goes first: a server started in VS Code's terminal inherits some of its variables.
    found: list[tuple[object, str]] = [
        (facts.is_lite, "JupyterLite"),
        (facts.is_marimo, "marimo"),
        (not facts.has_kernel, "IPython in a terminal" if facts.has_shell else "plain Python"),
        (facts.is_colab or "COLAB_RELEASE_TAG" in variables, "Colab"),
        (facts.is_vscode_notebook, "VS Code"),
        (variables & {"VOILA_KERNEL_ID", "VOILA_BASE_URL"}, "Voila"),
        ("KAGGLE_KERNEL_RUN_TYPE" in variables, "Kaggle"),
        ("DATABRICKS_RUNTIME_VERSION" in variables, "Databricks"),
        *((program in programs, name) for program, name in _PROGRAMS.items()),
        ("JPY_SESSION_NAME" in variables, "JupyterLab or Notebook 7"),
        (not programs and variables & {"VSCODE_PID", "VSCODE_CWD"}, "VS Code"),
    ]
    return next((name for is_so, name in found if is_so), "a kernel whose front end is not known")


def page_check(facts: FrontEndFacts) -> Check:
    """Check that the server whose page shows the widgets has what draws them; the kernel's own packages do not help."""
    name = "page_widgets"
    if not facts.has_kernel:
        return ok(name, "not needed: there is no page")
    page = front_end_name(facts)
    if page not in _SERVERS:
        return ok(name, "not needed: the front end brings its own" if page in _OWN_WIDGETS else "not looked for")
    if facts.missing is None:
        return unknown(
            name, "where the server keeps its extensions is not known", "jupyter labextension list  # on the server"
        )
    if facts.missing:
        found = f"the server lacks {' and '.join(facts.missing)}, so its pages cannot draw the widgets"
        return warning(
            name, found, f"{_server_python(facts)} -m pip install ipywidgets anywidget  # then reload the page"
        )
    return ok(name, "the server has what draws them")


def _server_python(facts: FrontEndFacts) -> str:
    first = facts.parent[0] if facts.parent else ""
    return first if Path(first).name.startswith("python") else "python"


def _programs(facts: FrontEndFacts) -> set[str]:
    words = [Path(word).name.removesuffix(".exe").removesuffix("-script.py") for word in facts.parent[:4]]
    joined = {f"jupyter-{after}" for before, after in pairwise(words) if before == "jupyter"}
    return set(words) | joined


_logger = logging.getLogger(__name__)
_SHOW_ERROR = "import logging; logging.basicConfig(level=logging.DEBUG); tfprof.doctor()  # shows the traceback"


_Facts = TypeVar("_Facts")


def _each(facts: _Facts, *checks: Callable[[_Facts], Check]) -> list[Check]:
    return [check(facts) for check in checks]


def run_all_checks() -> tuple[Check, ...]:
    """Run the checks, each group apart: one that fails becomes a check that says so."""
    checks: list[Check] = []
    for name, run in _GROUPS.items():
        try:
            checks += list(run())
        except Exception as error:  # whatever is broken here is what a user came to find out
            _logger.debug("the check %s failed", name, exc_info=True)
            checks.append(unknown(name, f"not checked: {type(error).__name__}: {error}", _SHOW_ERROR))
    return tuple(checks)


_GROUPS: dict[str, Callable[[], Iterable[Check]]] = {
    "versions": version_checks,
    "keras_backend": lambda: (backend_check(keras_backend()),),
    "gpu": lambda: gpu_checks(gather_gpu_facts()),
    "profiler_session": lambda: _each(gather_session_facts(), profiler_check, cpu_memory_check),
    "machine": lambda: (disk_check(), sampling_check()),
    "front_end": lambda: front_end_checks(gather_front_end_facts()),
}
