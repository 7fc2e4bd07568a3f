"""The average composition of a step -> one sentence that says what limits it.

Source: semantics 5.1 and 5.2 for the thresholds of step time; the wording is this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..base.wording import number, percent
from ..input.input_usage import INPUT_HIGH, INPUT_MODERATE

OUTPUT_HIGH = 0.20
OTHER_HIGH = 0.15
"""Also for all that XProf has no threshold for, but computing on the host."""
HOST_HIGH = 0.20
"""Ops on the CPU, where a device waits for them; XProf has no threshold for this."""


@dataclass(frozen=True)
class Verdict:
    """What limits a step."""

    limiter: str
    """A name of `STEP_CATEGORIES`; empty where nothing was measured."""
    sentence: str


_HIGH = {
    **dict.fromkeys(
        ("compile", "kernel_launch", "device_collectives", "dispatch", "sync", "checkpoint", "other"), OTHER_HIGH
    ),
    **dict.fromkeys(("copy_to_device", "device_to_device"), OTHER_HIGH),
    "output": OUTPUT_HIGH,
    "host_compute": HOST_HIGH,
}
_SENTENCES = {
    "input": "Input-bound: the {who} waits {part} of {whole} ms {step} for data ({share}).",
    "compile": "Compile-bound: tracing and compilation take {part} of {whole} ms {step} ({share}).",
    "copy_to_device": "Copy-bound: the {device} waits {part} of {whole} ms {step} for copies from the host ({share}).",
    "dispatch": "Host-bound: the {device} waits {part} of {whole} ms {step} for Python and dispatch ({share}).",
    "kernel_launch": "Launch-bound: the {device} idles {part} of {whole} ms {step} until kernels are launched ({share}).",
    "sync": "Host-bound: in {part} of {whole} ms {step} the host waits for a {device} that has nothing to do ({share}).",
    "checkpoint": "Checkpoint-bound: saving and restoring weights takes {part} of {whole} ms {step} ({share}).",
    "device_collectives": "Communication-bound: exchange between {peers} takes {part} of {whole} ms {step} ({share}).",
    "device_to_device": "Copy-bound: copies within and between {peers} take {part} of {whole} ms {step} ({share}).",
    "output": "Output-bound: copies back to the host take {part} of {whole} ms {step} ({share}).",
    "host_compute": "Host-bound: the {device} waits {part} of {whole} ms {step} for ops on the CPU ({share}).",
}
_ALSO_OF_HOST = {
    "dispatch": ("kernel_launch", "kernel launches"),
    "kernel_launch": ("dispatch", "Python and dispatch"),
}
"""The two parts of waiting for the host's calls: where one limits, the other is no less to blame."""
_LOST_TO = {
    "input": "waiting for data",
    "compile": "tracing and compilation",
    "copy_to_device": "copies from the host",
    "dispatch": "Python and dispatch",
    "kernel_launch": "launching kernels",
    "sync": "a host that waits for it",
    "checkpoint": "saving and restoring weights",
    "device_collectives": "exchange between {peers}",
    "device_to_device": "copies within and between {peers}",
    "output": "copies back to the host",
    "host_compute": "ops on the CPU",
    "other": "idling, and nothing on the host tells why",
}
"""What a step loses time to that otherwise mostly computes."""
_OTHER = {
    True: "Stalled: the {device} idles in {part} of {whole} ms {step} ({share}), and nothing on the host tells why.",
    False: "Python-bound: no op runs in {part} of {whole} ms {step} ({share}): Python, or waiting.",
}
_COMPUTE = {
    True: "Compute-bound: the {device} computes in {part} of {whole} ms {step} ({share}).",
    False: "Compute-bound: ops on the CPU take {ops} of {whole} ms {step} ({ops_share}), with the runtime around them {part} ms "
    "({share}).",
}
_LOST = {
    True: "The {device} computes {computing} of {step}; {share} ({part} of {whole} ms) is lost to {lost}.",
    False: "Ops on the CPU, with the runtime around them, take {computing} of {step}; {share} ({part} of {whole} ms) is "
    "lost to {lost}.",
}
"""Where something limits a step that computes for longer than that."""


def judge(
    ms: Mapping[str, float],
    step_ms: float,
    *,
    has_device: bool,
    device: str = "GPU",
    waits: bool = True,
    ops_ms: float = 0.0,
    batches: str = "",
) -> Verdict:
    """Name what limits a step: the largest of waiting for data and of what else is too much, else computing.

    Too much of anything but input is named only where it is more than half of what computing takes; of input from where XProf
    calls it high. A step that computes 80 % of its time is compute-bound, whatever the rest is; that it waits for data besides
    is added. Where a step computes for longer than it loses to what limits it, the sentence says both. Where nothing computes,
    the largest is named.

    Differs from XProf: it looks at the input first, however much more another category takes. Here the verdict names the
    larger one, as does the advice, whose first piece is about what could win most.

    Args:
        ms: average milliseconds a step of each of `STEP_CATEGORIES`; where there is no device of each of `GUIDE_CATEGORIES`, as
            ops that cost little leave no event there: the runtime around them is computing as well.
        step_ms: average step time.
        has_device: whether the steps ran anything on a device, if only copies.
        device: what to call it.
        waits: whether steps wait for data for longer than handing ready batches over takes, see `limits_steps`; else that is
            no limit, however large a part of a short step it is.
        ops_ms: without a device, what of `host_compute` ops alone take, as `STEP_CATEGORIES` have it.
        batches: that a step takes in one call, such as `5 batches`; empty for one.
    """
    if step_ms <= 0:
        return Verdict("", "No step time was measured, so what limits the steps cannot be told.")
    share = {category: part / step_ms for category, part in ms.items()}
    compute = "device_compute" if has_device else "host_compute"
    much = {name: share[name] for name, limit in _HIGH.items() if name != compute and share.get(name, 0.0) >= limit}
    much = much or {name: share[name] for name in _HIGH if share.get(name, 0.0) > 0 and not share[compute]}
    if share["input"] >= INPUT_HIGH and waits:
        much["input"] = share["input"]
    limiter = max(much, key=much.__getitem__, default=compute)
    if limiter != "input" and share[limiter] <= share[compute] / 2:
        limiter = "input" if "input" in much else compute
    peers = f"{device}s" if has_device else "hosts"
    words = {"peers": peers, "part": number(ms[limiter]), "whole": number(step_ms), "share": percent(share[limiter])}
    words |= {"ops": number(ops_ms), "ops_share": percent(ops_ms / step_ms)}
    words["step"] = f"a step{f' of {batches}' if batches else ''}"
    words |= {"device": device, "who": device if has_device else "model", "computing": percent(share[compute])}
    is_python = limiter == "other" and not has_device
    if limiter == compute:
        text = _COMPUTE[has_device].format(**words)
        if share["input"] >= INPUT_MODERATE and waits:
            text = f"{text[:-1]}; {'it' if has_device else 'the model'} waits for data for another {percent(share['input'])}."
    elif share[limiter] < share[compute]:
        lost = "Python, or waiting" if is_python else _LOST_TO[limiter].format(**words)
        text = _LOST[has_device].format(lost=lost, **words)
    else:
        text = (_OTHER[has_device] if limiter == "other" else _SENTENCES[limiter]).format(**words)
        beside, why = _ALSO_OF_HOST.get(limiter, ("", ""))
        if share.get(beside, 0.0) >= OTHER_HIGH:
            text = f"{text[:-1]}, and another {percent(share[beside])} for {why}."
    return Verdict("dispatch" if is_python else limiter, text)
