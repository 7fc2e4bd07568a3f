"""The average composition of a step -> the verdict, idle time, and notices on the framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..trace.arrays import Float64, Int64
from ..trace.capture_facts import unrecorded_notice
from .common import number, percent
from .events import Framework
from .facts import Facts
from .input.pipeline import INPUT_MODERATE
from .ops.shares import OpShares


@dataclass(frozen=True)
class OpTime:
    """Shares of the time of ops."""

    host_time_ratio: float
    """With `device_time_ratio` it adds up to 1, or both are 0 without ops."""
    device_time_ratio: float
    host_eager_ratio: float
    """Share of eagerly run ops in the op time of the host."""
    device_eager_ratio: float


def op_time_of(table: OpShares, own: Int64 | Float64) -> OpTime:
    """Host and device shares of op time, and of each the share of eager ops; `own` is self time of each op. Differs from XProf:
    not of counts (D10)."""
    device, eager = table.is_device, table.is_eager
    host, all_device = float(own[~device].sum()), float(own[device].sum())

    def share(part: float, whole: float) -> float:
        return part / whole if whole else 0.0

    return OpTime(
        host_time_ratio=share(host, host + all_device),
        device_time_ratio=share(all_device, host + all_device),
        host_eager_ratio=share(float(own[~device & eager].sum()), host),
        device_eager_ratio=share(float(own[device & eager].sum()), all_device),
    )


OTHER_HIGH = 0.15
"""From this share of a step on what it loses is named beside what limits it."""


@dataclass(frozen=True)
class Verdict:
    """What limits a step."""

    limiter: str
    """A name of `STEP_CATEGORIES`; empty where nothing was measured."""
    kind: str
    """Such as `Host-bound`; empty where no part of a step is most of it."""
    sentence: str
    """With the kind, and times of the mean step."""
    headline: str
    """The same without the kind, in shares of a step."""


_HOST = ("dispatch", "kernel_launch")
"""One group: the device waits for calls of the host."""
_CLAIMS = {
    "input": ("Input-bound", "the {who} waits {part} {step} for data{share}{most}"),
    "compile": ("Compile-bound", "tracing and compilation take {part} {step}{share}"),
    "copy_to_device": ("Copy-bound", "the {device} waits {part} {step} for copies from the host{share}"),
    "dispatch": ("Host-bound", "the {device} waits {part} {step} for the host{share}: {parts}"),
    "kernel_launch": ("Launch-bound", "the {device} waits {part} {step} for the host{share}: {parts}"),
    "sync": ("Host-bound", "in {part} {step} the host waits for a {device} that has nothing to do{share}"),
    "checkpoint": ("Checkpoint-bound", "saving and restoring weights takes {part} {step}{share}"),
    "device_collectives": ("Communication-bound", "exchange between {peers} takes {part} {step}{share}"),
    "device_to_device": ("Copy-bound", "copies within and between {peers} take {part} {step}{share}"),
    "output": ("Output-bound", "copies back to the host take {part} {step}{share}"),
    "host_compute": ("Host-bound", "the {device} waits {part} {step} for ops on the CPU{share}{most}"),
    "other": ("Stalled", "the {device} idles in {part} {step}{share}, and nothing on the host tells why"),
}
"""By what limits a step its kind, and what is said of it."""
_PYTHON = ("Python-bound", "no op computes in {part} {step}{share}: Python, or waiting")
_AROUND = "Python and the runtime around ops take {part} {step}{share}"
_RUNTIME = ("Dispatch-bound", f"{_AROUND}, the ops themselves {{computing}}")
_LOCKED = (
    "Python-bound",
    f"{_AROUND}; in {{locked}} of these Python of the input runs, too, and one thread at a time can",
)
"""Without a device."""
_COMPUTE = {
    True: "the {device} computes in {part} {step}{share}{most}",
    False: "ops on the CPU compute in {part} {step}{share}{most}",
}
_LOST_TO = {
    "compile": "tracing and compilation",
    "copy_to_device": "copies from the host",
    "dispatch": "Python, dispatch and launches",
    "kernel_launch": "Python, dispatch and launches",
    "sync": "a host that waits for it",
    "checkpoint": "saving and restoring weights",
    "device_collectives": "exchange between {peers}",
    "device_to_device": "copies within and between {peers}",
    "output": "copies back to the host",
    "host_compute": "ops on the CPU",
    "other": "idling, and nothing on the host tells why",
}
"""What a step that mostly computes loses time to."""


def judge(
    ms: Mapping[str, float],
    step_ms: float,
    *,
    has_device: bool,
    device: str = "GPU",
    waits: bool = True,
    python_ms: float = 0.0,
    locked_ms: float = 0.0,
    most: Mapping[str, str] = MappingProxyType({}),
    batches: str = "",
) -> Verdict:
    """Name the largest of what a step's time goes to, given the mean of each of `STEP_CATEGORIES`. Of what is around ops
    `python_ms` is without any op, and `locked_ms` beside Python of the input; `most` names what has most of a category.
    Differs from XProf: it looks at the input first."""
    if step_ms <= 0:
        return untold("No step time was measured, so what limits the steps cannot be told.")
    host_ms = sum(ms.get(name, 0.0) for name in _HOST)
    of_host = max(_HOST, key=lambda name: ms.get(name, 0.0))
    groups = {name: part for name, part in ms.items() if name not in _HOST} | {of_host: host_ms}
    if not has_device:  # what nothing tells of is Python there, too
        groups[of_host] += groups.pop("other", 0.0)
    compute = "device_compute" if has_device else "host_compute"
    limiter = max(groups, key=lambda name: (groups[name], name == compute))
    share = {name: part / step_ms for name, part in groups.items()}
    on_cpu = limiter in _HOST and not has_device
    if limiter == compute:
        kind, claim = "Compute-bound" if share[compute] >= _MOST else "", _COMPUTE[has_device]
        lost = max((name for name in groups if name not in (compute, "input")), key=groups.__getitem__)
        if share[lost] >= OTHER_HIGH:
            what = _LOST_TO[lost] if has_device or lost not in _HOST else "Python and the runtime around ops"
            claim += f"; another {percent(share[lost])} is lost to {what}"
    elif on_cpu:
        most_of_it = {_LOCKED: locked_ms, _PYTHON: python_ms}
        kind, claim = next((one for one, part in most_of_it.items() if part >= groups[limiter] / 2), _RUNTIME)
    else:
        kind, claim = _CLAIMS[limiter]
    if (limiter == compute or on_cpu) and waits and share.get("input", 0.0) >= INPUT_MODERATE:
        claim += f"; {'it' if has_device else 'the model'} waits for data for another {percent(share['input'])}"
    words = {
        "step": f"a step{f' of {batches}' if batches else ''}",
        "computing": percent(share[compute]),
        "most": f", most of it {most[limiter]}" if limiter in most else "",
        "peers": f"{device}s" if has_device else "hosts",
        "device": device,
        "who": device if has_device else "model",
    }

    def said(part: str, ratio: str, amount: Callable[[float], str]) -> str:
        of_both = (f"{amount(ms.get(name, 0.0))} {_OF_HOST[name]}" for name in (of_host, *(set(_HOST) - {of_host})))
        parts, locked = " and ".join(of_both), amount(locked_ms)
        return claim.format(**words, part=part, share=ratio, parts=parts, locked=locked) + "."

    ratio = percent(share[limiter])
    times = said(f"{number(groups[limiter])} of {number(step_ms)} ms", f" ({ratio})", lambda part: f"{number(part)} ms")
    shares = said(f"{ratio} of", "", lambda part: percent(part / step_ms))
    sentence, headline = f"{kind}: {times}" if kind else _capital(times), _capital(shares)
    return Verdict("dispatch" if on_cpu else limiter, kind, sentence, headline)


def untold(sentence: str) -> Verdict:
    """Where no part of a step is judged."""
    return Verdict("", "", sentence, sentence)


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


_OF_HOST = {"dispatch": "for Python and dispatch", "kernel_launch": "for kernel launches"}
_MOST = 0.5
"""Of a step."""


@dataclass(frozen=True)
class Idle:
    """Shares in [0, 1]; NaN where there is nothing to tell of."""

    device_idle_ratio: float
    """Share of the time from first to last event, over windows and devices that ran, without kernel, copy or TensorCore op."""
    host_idle_ratio: float
    """Of host threads that run ops the share between first and last op without one, high in a healthy program too."""
    device_duty_cycle_ratio: float
    """On a TPU the share of time in which its TensorCores did something else than waiting for the host."""


def idle_of(times: Mapping[str, int]) -> Idle:
    """How idle devices and host were, from the sums of `idle_times`. Differs from XProf: GPUs too, streams at once count once,
    and duty cycles are by TensorCore."""

    def ratio(kind: str) -> float:
        busy, window = times[f"{kind}_busy"], times[f"{kind}_window"]
        return busy / window if window else float("nan")

    return Idle(
        device_idle_ratio=1 - ratio("device"), host_idle_ratio=1 - ratio("host"), device_duty_cycle_ratio=ratio("duty")
    )


MARKING: Mapping[Framework, str] = {
    "TensorFlow": "`for batch in tfprof.trace_steps(dataset): ...` or `with tfprof.step(i): ...`",
    "JAX": '`with jax.profiler.StepTraceAnnotation("train", step_num=i): ...`',
    "PyTorch/XLA": '`with torch_xla.debug.profiler.StepTrace("train", step_num=i): ...`',
    "PyTorch": "`recorded.step()` of `with torch.profiler.profile() as recorded: ...`",
}
"""What marks a step."""
UNTOLD_INPUT = (
    "How long steps wait for data is not told: {framework} records no input pipeline. It is part of Python's time."
)


def framework_notices(results: Facts) -> Iterator[str]:
    """What is not in a trace of another framework than TensorFlow, or where another one ran, and that its steps were inferred."""
    environment = results.environment
    framework = environment.framework
    if environment.unrecorded:
        yield unrecorded_notice(environment.unrecorded)
    if framework == "TensorFlow":
        return
    if framework == "PyTorch":
        yield (
            "This is a trace of PyTorch. Its steps, kernels, copies and launches are read; its ops are in the timeline alone, "
            "and there is no advice."
        )
        return
    version = f" {environment.jax_version}" if environment.jax_version else ""
    yield (
        f"This is a trace of {framework}{version}. What only TensorFlow records is not in it, such as its input pipeline, Keras "
        "layers and the memory of a CPU; advice about these is left out."
    )
    if results.hlo_ops.frame.empty:
        yield (
            "No op of a compiled program is in it, so what ran is not known: JAX 0.4.30 records none on a CPU, 0.10 does. "
            "Time in programs counts as Python's."
        )
    steps = results.steps.frame
    inferred = steps[steps["source"] == "inferred"]
    if len(inferred):
        yield (
            f"Nobody marked its steps: the {len(inferred):,} that are shown are inferred, each from the begin of one run of "
            f"{inferred['name'].iloc[0].rpartition(' ')[0]} to that of the next. {MARKING[framework]} marks them."
        )
