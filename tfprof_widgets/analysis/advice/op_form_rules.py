"""Ops in a form that the device likes less -> advice: data in another layout than its kernels want, norms op by op."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .advice import MEDIUM_GAIN, Advice, advise
from .op_rules import costliest, side_ops

if TYPE_CHECKING:
    from ...trace.trace import Bool
    from .run import Run

_CONVERSION = re.compile(r"nchw_?to_?nhwc|nhwc_?to_?nchw|LayoutOptimizer", re.IGNORECASE)
"""Kernels of cuDNN and TensorFlow, and transpositions that TensorFlow's layout optimizer adds."""
_NORM = re.compile(r"batch_?norm", re.IGNORECASE)
SEPARATE_PASSES, FUSED_PASSES = 5, 2
"""Over the data: mean, variance, subtraction, product and sum each read all of it; one kernel for all reads it twice."""


def layout_conversion(run: Run) -> Iterator[Advice]:
    """Images are converted between channels first and channels last around convolutions.

    Gain: the share of the step time in which kernels that do nothing else run.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    if not steps.has_device or kernels.empty:
        return
    texts = zip(kernels["name"], kernels["op_name"], strict=True)
    chosen = np.array([bool(_CONVERSION.search(f"{name} {op}")) for name, op in texts], np.bool_)
    us = kernels["total_time_us"].to_numpy(np.float64)
    share = float(us[chosen].sum() / us.sum()) if us.sum() else 0.0
    part = steps.part("conversion", steps.ms("device_compute") * share)
    if part.ratio < MEDIUM_GAIN:
        return
    yield advise(
        "layout_conversion",
        f"Converting images between channels first and channels last takes {part}.",
        evidence=part.evidence,
        fix=(
            'keras.mixed_precision.set_global_policy("mixed_float16")  # Tensor Cores want channels last, as Keras has them\n'
            "# in 32 bits without Tensor Cores, GPUs want channels first, from the input on:\n"
            'keras.backend.set_image_data_format("channels_first")'
        ),
        selection=steps.usual(
            steps.category_ms("device_compute"), view="kernel_table", op_names=run.of_kernels(kernels[chosen])
        ),
        gain_ratio=part.ratio,
    )


def unfused_norm(run: Run) -> Iterator[Advice]:
    """Batch normalisation in separate ops, on a device or in a graph of TensorFlow 1.

    Gain: of the share of the step time of these ops, what one kernel for all of them would not read again. Keras on a CPU has
    no other form, so it has no such advice.
    """
    steps, results = run.steps, run.results
    if not steps.mean_ms or not (steps.has_device or results.stored_graph is not None):
        return
    chosen = _separate_norms(run)
    ops = side_ops(run)
    norm = steps.part("norm", ops.ratio(chosen) * steps.mean_ms)
    gain = norm.ratio * (1 - FUSED_PASSES / SEPARATE_PASSES)
    if gain < MEDIUM_GAIN:
        return
    names = costliest(run, chosen & ops.side)
    yield advise(
        "unfused_norm",
        f"Batch normalisation in separate ops takes {norm}; one kernel can do it.",
        evidence=norm.evidence,
        fix=(
            "model.compile(..., jit_compile=True)  # XLA makes one kernel of them\n"
            "# a graph of TensorFlow 1:\n"
            "y = tf.compat.v1.layers.batch_normalization(x, fused=True, training=True)"
        ),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=names),
        gain_ratio=gain,
    )


def _separate_norms(run: Run) -> Bool:
    """For each framework op whether it is part of a batch normalisation of which no op is a fused one."""
    shares = run.results.op_shares
    scopes = [_norm_of(scope) for scope in run.results.op_scopes.scope]
    fused = {scope for scope, kind in zip(scopes, shares.type, strict=True) if "FusedBatchNorm" in kind}
    with_root = {scope for scope, kind in zip(scopes, shares.type, strict=True) if kind == "Rsqrt"}
    return np.array([scope in with_root and scope not in fused for scope in scopes], np.bool_)


def _norm_of(scope: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a scope up to the normalisation; none for one without."""
    found = [i for i, part in enumerate(scope) if _NORM.search(part)]
    return scope[: found[0] + 1] if found else ()
