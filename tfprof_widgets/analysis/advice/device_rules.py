"""What a GPU or TPU waits for -> advice; nothing on a machine without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.wording import number, size
from .advice import MEDIUM_GAIN, Advice, advise
from .call_fixes import several_in_one_call
from .device_copies import copy_events
from .fix import Fix
from .run import event_names
from .task_rules import task_communication

if TYPE_CHECKING:
    from .run import Run


def device_idle(run: Run) -> Iterator[Advice]:
    """Neither the device nor the host runs anything, and no other rule says why.

    Gain: the share of such time in the steps.
    """
    steps = run.steps
    idle = steps.part("idle", steps.ms("other"))
    if not steps.has_device or idle.ratio < MEDIUM_GAIN or (run.is_keras_loop and run.takes_several):
        return
    yield advise(
        "device_idle",
        f"The {steps.device} idles and no op runs in {idle}.",
        evidence=idle.evidence,
        fix=(several_in_one_call(run) if run.is_keras_loop else None)
        or Fix("Put the whole step into one tf.function, so that the device never waits for Python."),
        selection=steps.stretch(steps.category_ms("other"), "other", view="timeline"),
        gain_ratio=idle.ratio,
    )


def h2d_bound(run: Run) -> Iterator[Advice]:
    """Copies to the device that no computation hides.

    Gain: the share of the step time in which only such a copy ran: prefetched to the device, it runs beside the step before.
    """
    steps = run.steps
    if not steps.has_device:
        return
    copies = steps.wait_ms("copy_to_device")
    part = steps.part("h2d", float(copies.mean()))
    if part.ratio < MEDIUM_GAIN:
        return
    table = run.results.copies
    table = table[(table["direction"] == "host to device") & (table["bytes"] > 0) & (table["exposed_time_ms"] > 0)]
    what, evidence = "", dict[str, float | str]()
    if not table.empty:
        n_bytes, seconds = float(table["bytes"].sum()), float(table["total_time_ms"].sum()) / 1e3
        by_source = table.groupby("source")["bytes"].sum()
        source, whole = str(by_source.idxmax()), ", most of it" if len(by_source) > 1 else ""
        what = f", {size(n_bytes / max(steps.n_all, 1))} a step at {number(n_bytes / seconds / 1e9)} GB/s"
        what += f"{whole} from {source} memory" if source else ""
        evidence = {"h2d_bytes": n_bytes / max(steps.n_all, 1), "host_memory": source, "op": str(table["op"].iloc[0])}
    yield advise(
        "h2d_bound",
        f"The {steps.device} waits {part} for copies from the host{what}.",
        evidence=part.evidence | evidence,
        fix=Fix(
            f'Copy ahead: tf.data.experimental.prefetch_to_device("/{steps.device}:0") as the last step of the '
            f"dataset. Send less: uint8 "
            "images and indices instead of one-hot masks, converted in the model, not in the map."
        ),
        selection=steps.stretch(
            copies, "copy_to_device", view="timeline", op_names=event_names(run, copy_events(run, "h2d"))
        ),
        gain_ratio=part.ratio,
    )


def collective_bound(run: Run) -> Iterator[Advice]:
    """Devices exchange gradients while they compute nothing.

    Gain: the share of the step time in which only a collective ran.
    """
    steps = run.steps
    part = steps.part("collectives", steps.ms("device_collectives"))
    if not steps.has_device or part.ratio < MEDIUM_GAIN or next(task_communication(run), None) is not None:
        return
    names = [text for text in run.trace.strings if text.lower().startswith("nccl") or text.startswith("all-reduce")]
    yield advise(
        "collective_bound",
        f"Collectives between devices take {part} in which nothing is computed.",
        evidence=part.evidence | {"n_devices": run.results.environment.n_active_devices},
        fix=Fix(
            "Exchange less often, by larger batches or gradient_accumulation_steps=4 of a Keras optimizer: fewer, "
            "larger updates, which changes the training. Or exchange in larger pieces: "
            "tf.distribute.NcclAllReduce(num_packs=2) for MirroredStrategy."
        ),
        selection=steps.stretch(
            steps.category_ms("device_collectives"),
            "device_collectives",
            view="worker_chart" if len(run.results.workers.hosts) > 1 else "timeline",
            op_names=tuple(names[:5]),
        ),
        gain_ratio=part.ratio,
    )
