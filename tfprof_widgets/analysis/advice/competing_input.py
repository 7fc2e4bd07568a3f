"""Ops of the input on cores that are all busy -> advice on input that takes them from the model, although nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.units import US_PER_MS
from ..base.wording import number, percent
from ..steps.averaged_steps import MIN_STEPS
from ..system.machine_load import FREE
from .advice import MEDIUM_GAIN, Advice, advise
from .input_fixes import cheaper_map
from .input_stages import input_ops
from .mapped_function import mapped_function

if TYPE_CHECKING:
    from .run import Run

_WON = 0.5
"""Of the time that is freed: a model cannot use all of it. 0.45 to 1.4 were seen on two cores."""


def input_competes(run: Run) -> Iterator[Advice]:
    """On a machine without a device, the input computes on the cores of the model, which is never made to wait for it.

    Gain: half the share of this process' time on cores that functions of the input take. It is about that: how much of what is
    freed the model can use is its own matter.
    """
    steps, load = run.steps, run.load
    if len(steps) < MIN_STEPS or steps.has_device or run.wait.is_told or load is None:
        return
    # Where others take the cores, it is not the input that leaves none.
    if load.free >= FREE or load.is_busy:
        return
    input_ms = float(input_ops(run)[0].sum()) / US_PER_MS
    frame = run.results.steps.frame
    core_ms = float(frame["step_time_ms"].sum()) * load.own
    share = input_ms / core_ms if core_ms else 0.0
    # More than the process computed is no computing: Python that sleeps, or reads.
    if share > 1 or _WON * share < MEDIUM_GAIN:
        return
    costly = mapped_function(run)
    each_ms = input_ms / len(frame)
    yield advise(
        "input_competes",
        f"Functions of the input compute for {number(each_ms)} ms a step on cores that the model needs: {percent(share)} of what "
        "this process takes of them, and none is free.",
        evidence={
            "input_ops_ms": each_ms,
            "step_time_ms": steps.mean_ms,
            "share_of_cores_ratio": share,
            "free_cores": load.free,
            "estimate": "half of the time on cores that is freed",
            **({"line": costly.place, "code": costly.code} if costly else {}),
        },
        fix=cheaper_map(run),
        selection=steps.usual(steps.time_ms, view="step_chart"),
        gain_ratio=_WON * share,
    )
