"""What a GPU or TPU waits for, and in which precision it computes -> advice; nothing on a machine without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..base.wording import number, percent, size
from ..ops.kernels import beside_products
from .advice import MEDIUM_GAIN, Advice, advise
from .device_copies import copy_events
from .host_rules import LARGER_BATCH, event_names, host_callback
from .task_rules import task_communication

if TYPE_CHECKING:
    from .run import Run

LAUNCH_US = 10.0
"""What the host takes to enqueue a kernel: 5 to 10 us. Kernels that are shorter on average can never hide it, and a larger batch
makes them longer; longer ones that the device waits for have a busy host beside them."""
TENSOR_CORE_SPEEDUP = 8.0
"""Of products in 16 bits on Tensor Cores over 32 bits without them, by Nvidia's figures for Volta (125 and 15.7 TFLOPS)."""
HALF_SPEEDUP = 2.0
"""Of ops limited by memory: half the bytes."""
FEW_16BIT = 0.10
"""Up to this share of the compute time in 16 bits, mixed precision is not in use."""
_WITHOUT_TENSOR_CORES = ("Fermi", "Kepler", "Maxwell", "Pascal")
_BYTES = re.compile(r"\bsize:(\d+)")


def device_idle(run: Run) -> Iterator[Advice]:
    """Neither the device nor the host runs anything.

    Gain: the share of such time in the steps, less that which a callback or other Python explains.
    """
    steps = run.steps
    if not steps.has_device:
        return
    owned = float(run.gap.ms.mean()) if next(host_callback(run), None) is not None else 0.0
    idle = steps.part("idle", steps.ms("other") - owned)
    if idle.ratio < MEDIUM_GAIN:
        return
    yield advise(
        "device_idle",
        f"The {steps.device} idles and no op runs in {idle}.",
        evidence=idle.evidence,
        fix=(
            "# the whole step in one function, so that the device never waits for Python\n"
            "@tf.function(jit_compile=True)\n"
            "def train_step(batch): ...\n"
            "# Keras: model.compile(..., steps_per_execution=32)"
        ),
        selection=steps.stretch(steps.category_ms("other"), "other", view="timeline"),
        gain_ratio=idle.ratio,
    )


def launch_bound(run: Run) -> Iterator[Advice]:
    """The device waits for kernels to be enqueued; `small_batch` where the kernels are too short to hide that.

    Gain: the share of the step time in which the device does nothing until what it runs next is launched.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    waited = steps.wait_ms("kernel_launch")
    launch = steps.part("kernel_launch", float(waited.mean()) if len(steps) else 0.0)
    if not steps.has_device or launch.ratio < MEDIUM_GAIN:
        return
    n = int(kernels["occurrences"].sum())
    average_us = float(kernels["total_time_us"].sum()) / n if n else 0.0
    is_small = bool(n) and average_us < LAUNCH_US
    per_step = n / max(run.steps.n_all, 1)
    yield advise(
        "small_batch" if is_small else "launch_bound",
        f"The {steps.device} waits {launch} for the host to enqueue kernels: {number(per_step)} a step of "
        f"{number(average_us)} us on average.",
        evidence=launch.evidence | {"avg_kernel_us": average_us, "kernels_per_step": per_step},
        fix=(
            LARGER_BATCH
            if is_small
            else 'import os; os.environ["TF_GPU_THREAD_MODE"] = "gpu_private"  # before TensorFlow is imported\n'
        )
        + "model.compile(..., jit_compile=True)  # fewer, larger kernels",
        # A whole step: single gaps between kernels are far shorter than what can be seen.
        selection=steps.usual(waited, view="timeline", op_names=run.of_kernels(kernels)),
        gain_ratio=launch.ratio,
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
    rows = copy_events(run, "h2d")
    rows = rows[run.entry[rows] >= 0]
    n_bytes, is_pageable = _copied(run, rows.tolist())
    seconds = float(run.trace.duration_ps[rows].sum()) / 1e12
    what = (
        f", {size(n_bytes / len(steps))} a step at {number(n_bytes / seconds / 1e9)} GB/s"
        if n_bytes and seconds
        else ""
    )
    yield advise(
        "h2d_bound",
        f"The {steps.device} waits {part} for copies from the host{what}.",
        evidence={
            **part.evidence,
            **({"h2d_bytes": n_bytes / len(steps)} if n_bytes else {}),
            **({"host_memory": "pageable"} if is_pageable else {}),
        },
        fix=(
            f'dataset = dataset.apply(tf.data.experimental.prefetch_to_device("/{steps.device}:0"))  # the last step\n'
            "# send less: uint8 images, indices instead of one-hot masks, and convert on the device\n"
            "x = tf.cast(x, tf.float32) / 255.0  # in the model, not in the map"
        ),
        selection=steps.stretch(copies, "copy_to_device", view="timeline", op_names=event_names(run, rows)),
        gain_ratio=part.ratio,
    )


def _copied(run: Run, rows: list[int]) -> tuple[int, bool]:
    """Bytes that some copies moved, and whether any came from memory that the driver must copy first."""
    details = run.trace.string_stat("memcpy_details")[rows]
    n_bytes, is_pageable = 0, False
    for text, n in zip(
        *np.unique(details[details >= 0], return_counts=True), strict=True
    ):  # one turn per distinct text
        found = _BYTES.search(run.trace.strings[int(text)])
        n_bytes += int(found[1]) * int(n) if found else 0
        is_pageable |= "kind_src:pageable" in run.trace.strings[int(text)]
    return n_bytes, is_pageable


def low_precision_unused(run: Run) -> Iterator[Advice]:
    """The device computes in 32 bits.

    Gain: of the share of computing, 7/8 for the time of kernels that Tensor Cores could serve (8 times as fast), and half of the
    rest (half the bytes). An upper bound: ops that stay in 32 bits, and ones limited by neither, win nothing.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    device = run.results.environment.device_type
    if not steps.has_device or kernels.empty or any(name in device for name in _WITHOUT_TENSOR_CORES):
        return
    share = run.results.steps.compute_16bit_ratio
    if not share < FEW_16BIT:  # nan: the trace does not tell
        return
    part = _time_ratio(_off_tensor_cores(kernels), kernels)
    gain = (
        steps.ratio("device_compute")
        * (1 - share)
        * (part * (1 - 1 / TENSOR_CORE_SPEEDUP) + (1 - part) * (1 - 1 / HALF_SPEEDUP))
    )
    if gain < MEDIUM_GAIN:
        return
    yield advise(
        "low_precision_unused",
        f"The {steps.device} computes {number(steps.ms('device_compute'))} of {number(steps.mean_ms)} ms a step, "
        f"{percent(1 - share)} of that in 32 bits.",
        evidence={
            "compute_16bit_ratio": share,
            "device_compute_ms": steps.ms("device_compute"),
            "step_time_ms": steps.mean_ms,
            "tensor_core_eligible_ratio": part,
        },
        fix=(
            "keras.mixed_precision.set_global_policy('mixed_float16')  # 'mixed_bfloat16' from Ampere on and on TPUs\n"
            "# before the model is built; keep its last layer in float32: keras.layers.Activation('softmax', dtype='float32')"
        ),
        selection=steps.usual(
            steps.category_ms("device_compute"), view="kernel_table", op_names=run.of_kernels(kernels)
        ),
        gain_ratio=gain,
    )


def _off_tensor_cores(kernels: pd.DataFrame) -> pd.DataFrame:
    """Kernels of the ops that Tensor Cores could serve and do not."""
    return kernels[kernels["tensor_core_eligible"] & ~kernels["uses_tensor_core"] & ~beside_products(kernels)]


def _time_ratio(part: pd.DataFrame, kernels: pd.DataFrame) -> float:
    """Share of some kernels in the time of all; 0 where all are too short to be measured."""
    whole = float(kernels["total_time_us"].sum())
    return float(part["total_time_us"].sum()) / whole if whole else 0.0


def tensor_core_unused(run: Run) -> Iterator[Advice]:
    """Mixed precision is in use, and ops that Tensor Cores could serve run without them.

    Gain: of the share of computing, 7/8 of the time of those kernels.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    if not steps.has_device or kernels.empty or not run.results.steps.compute_16bit_ratio >= FEW_16BIT:
        return
    unused = _off_tensor_cores(kernels)
    part = _time_ratio(unused, kernels)
    gain = steps.ratio("device_compute") * part * (1 - 1 / TENSOR_CORE_SPEEDUP)
    if gain < MEDIUM_GAIN:
        return
    name = str(unused["op_name"].iloc[0])
    yield advise(
        "tensor_core_unused",
        f"Kernels that Tensor Cores could serve, such as those of {name or unused['name'].iloc[0]}, take "
        f"{percent(part)} of the kernel time without them.",
        evidence={
            "kernel_ratio": part,
            "unused_us": float(unused["total_time_us"].sum()),
            "step_time_ms": steps.mean_ms,
            "op": name,
        },
        fix=(
            "# sizes that are multiples of 8 (of 64 even better): batch, channels, units, vocabulary\n"
            "keras.layers.Dense(8 * round(units / 8))"
        ),
        selection=steps.usual(
            steps.category_ms("device_compute"), view="kernel_table", op_names=run.of_kernels(unused)
        ),
        gain_ratio=gain,
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
        fix=(
            "# larger batches exchange less often, smaller gradients faster\n"
            "optimizer = keras.optimizers.Adam(gradient_accumulation_steps=4)\n"
            "strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce(num_packs=2))"
        ),
        selection=steps.stretch(
            steps.category_ms("device_collectives"),
            "device_collectives",
            view="worker_chart" if len(run.results.workers.hosts) > 1 else "timeline",
            op_names=tuple(names[:5]),
        ),
        gain_ratio=part.ratio,
    )
