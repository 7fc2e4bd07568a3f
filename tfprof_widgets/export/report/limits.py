"""`Subject` -> the end of a report: what the capture cost, what it does not show and how to record that, where it ran."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.base.wording import number, plural, size
from ...analysis.overview.framework_words import MARKING
from .markdown import code, fence, sentence, table
from .subject import Room, Subject

_FEW_STEPS = 10
_MOST_HOSTS = 3
_OF_KERAS = "; Keras `fit` is marked by itself."
_OUTCOMES = {
    "complete": "It ended with the program.",
    "bounded": "It stopped itself at its bound of seconds or bytes (`max_seconds=`, `max_bytes=`): what came after is not in it.",
    "exception": "The program ended in an exception, which cut it short.",
    "interrupted": "It was interrupted, which cut it short.",
}


def capture_section(subject: Subject, room: Room) -> str:
    """What the capture was and what it cost."""
    capture = subject.capture
    if capture is None:
        return (
            "What the capture cost is not known: the trace was loaded without it. Profiles of `tfprof.profile` note it, and "
            "`prof.save` keeps it."
        )
    outcome = _OUTCOMES.get(capture.outcome, "")
    return f"{sentence(capture.sentence, 600)} {outcome} Detail: {code(capture.detail, room.name)}.".replace("  ", " ")


def limits_section(subject: Subject, room: Room) -> Iterator[str]:
    """What the numbers do not say, and what was not recorded."""
    yield "\n".join(f"- {line}" for line in [*_always(subject, room), *_steps(subject, room), *_missing(subject)])
    remedy = subject.results.memory.remedy
    if remedy:
        *why, line = remedy.splitlines()
        yield f"- Memory: {sentence(' '.join(why), room.sentence)}"
        yield fence(line, room.code)


def _always(subject: Subject, room: Room) -> Iterator[str]:
    trace = subject.results.trace
    yield (
        "Times of ops are sums over threads and streams that run at once; times of steps are elapsed time. Do not compare one "
        "with the other."
    )
    if trace.warnings:
        yield (
            f"The profiler or the reader warned {plural(len(trace.warnings), 'time')} (all: `prof.trace.warnings`), first: "
            f"{sentence(trace.warnings[0], room.sentence)}"
        )
    if subject.results.overview.environment.n_sessions > 1:
        n_sessions = subject.results.overview.environment.n_sessions
        yield f"The trace is of {n_sessions:,} sessions of the profiler; what ran between them is not in it."


def _steps(subject: Subject, room: Room) -> Iterator[str]:
    overview = subject.results.overview
    if overview.environment.unrecorded:
        return  # the verdict tells why, and what to do
    framework = overview.environment.framework
    if not overview.n_steps:
        yield (
            "No steps: nothing is known of a step's time, and most advice needs it. Mark them with "
            f"{MARKING[framework]}{_OF_KERAS if framework == 'TensorFlow' else '.'}"
        )
        return
    if overview.left_out:
        yield sentence(overview.left_out, room.sentence)
    if overview.is_inferred:
        yield (
            f"Steps are inferred from calls that repeat: their borders may be off. To mark them: {MARKING[framework]}."
        )
    if overview.n_steps_averaged < _FEW_STEPS:
        yield (
            f"The averages are over {plural(overview.n_steps_averaged, 'step')}: a single odd one moves them. Capture some 20"
            f"{', such as `tfprof.profile(steps=range(10, 30))`' if framework == 'TensorFlow' else ''}."
        )


def _missing(subject: Subject) -> Iterator[str]:
    results = subject.results
    if results.overview.environment.unrecorded:
        return
    if not results.trace.n_events:
        yield "Nothing ran while the profiler was on, so there are no tables."
        return
    if results.overview.environment.framework != "TensorFlow":
        return  # the notices tell what such a trace lacks
    has_device = any(plane.is_device for plane in results.trace.planes)
    if not has_device:
        yield (
            "No GPU or TPU was recorded. Where the machine has one, `tfprof.doctor()` tells what keeps the profiler from "
            "seeing it."
        )
    elif not results.overview.environment.n_active_devices and results.hlo_ops.frame.empty:
        yield "A device is in the trace, but nothing that ran on it: `tfprof.doctor()` tells what may be in the way."
    elif not (results.ops["device"] == "Device").any():
        yield (
            "What ran on the device does not name its ops in this trace: the tables of ops, lines and layers are of the host "
            "alone, and `prof.kernels` is all there is of the device."
        )
    if results.input_pipeline.iterators.empty:
        yield "No tf.data iterator ran. Input from Python or NumPy counts as time between steps; its parts are not known."
    if results.source_lines.frame.empty or not (results.source_lines.frame["bucket"] == "").any():
        yield (
            "No source line is known: traces do not carry them. Captures of `tfprof.profile` and `%%tfprofile` note them, for "
            "graphs that are traced while the package is imported; `prof.save` keeps them, a Chrome trace does not."
        )
    if not (results.layers.entries["kind"] == "layer").any():
        yield "No Keras layer is known: they come from the capture's notes, or from name scopes that name layers."
    if subject.system.empty:
        yield "The machine was not sampled (CPU, memory, disk, network): capture with `tfprof.profile(system=True)`, the default."


def environment_section(subject: Subject, room: Room) -> str:
    """On what and with which versions, as far as it was noted."""
    environment = subject.results.overview.environment
    noted = subject.results.sources.facts if subject.results.sources is not None else None
    facts = {} if noted is None else dict(zip(noted["name"], noted["value"], strict=True))
    versions = {
        "TensorFlow": environment.tensorflow_version,
        "JAX": environment.jax_version,
        "Keras": environment.keras_version,
        "Python": environment.python_version,
        "platform": facts.get("platform", ""),
        "tfprof_widgets that wrote this report": subject.version,
    }
    rows = [(name, code(value, room.name)) for name, value in versions.items() if value]
    hosts = ", ".join(code(host, room.name) for host in environment.hosts[:_MOST_HOSTS] if host)
    if hosts:
        n_hosts = len(environment.hosts)
        rows.append(("host", f"{hosts} ({_MOST_HOSTS} of {n_hosts:,})" if n_hosts > _MOST_HOSTS else hosts))
    if environment.n_cpus:
        rows.append(("CPU cores", f"{environment.n_cpus:,}"))
    if environment.host_memory_bytes:
        rows.append(("host memory", size(environment.host_memory_bytes)))
    if environment.n_devices:
        memory = f", {size(environment.device_memory_bytes)} each" if environment.device_memory_bytes else ""
        speed = environment.memory_bandwidth_bytes_per_s
        speed_text = f", {number(speed / 1e9)} GB/s" if speed else ""
        rows.append(("devices", f"{environment.n_devices:,}{memory}{speed_text}"))
    is_own = environment.framework == "TensorFlow"
    missing = [name for name in ("TensorFlow", "Keras", "Python") if is_own and not versions[name]]
    told = table(["what", "value"], rows) if rows else "Nothing was noted."
    if missing:
        told += f"\n\nNot noted: versions of {', '.join(missing)}. Captures of `tfprof.profile` that `prof.save` kept have them."
    return told
