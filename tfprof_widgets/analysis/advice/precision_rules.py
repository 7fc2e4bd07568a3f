"""In which precision a device computes, and on which of its units -> advice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.trace import Bool
from ..base.compute_units import UNIT_TEXTS, ComputeUnit
from ..base.wording import number, percent
from ..ops.kernels import beside_products
from .advice import MEDIUM_GAIN, Advice, advise
from .fix import Fix
from .op_form_rules import FEW_16BIT, unfused_norm
from .op_waste_rules import double_precision

if TYPE_CHECKING:
    from .run import Run

TENSOR_CORE_SPEEDUP = 8.0
"""Of products in 16 bits on Tensor Cores over 32 bits without them, by Nvidia's figures for Volta (125 and 15.7 TFLOPS)."""
HALF_SPEEDUP = 2.0
"""Of products in 16 bits over TF32 on the same Tensor Cores, and of what memory limits: half the bytes."""
_WITHOUT_TENSOR_CORES = ("Fermi", "Kepler", "Maxwell", "Pascal")
_TF32, _TENSOR_16, _DOUBLE = (
    UNIT_TEXTS[unit] for unit in (ComputeUnit.TENSOR_TF32, ComputeUnit.TENSOR_16, ComputeUnit.VECTOR_64)
)
_NEVER = re.compile(r"gemv|depthwise|dwconv", re.IGNORECASE)
"""Kernels of products for which Tensor Cores have no instruction."""


def low_precision_unused(run: Run) -> Iterator[Advice]:
    """The device computes in 32 bits.

    Gain: of the share of computing, half of the time of products in TF32, 7/8 of that of products without Tensor Cores, and of
    the rest, where XLA compiled it, half (half the bytes). Op by op, half the bytes are outweighed by the conversions between
    ops: a ResNet50 became slower. So nothing is said where ops other than products take most, or norms are to be fused first.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    device = run.results.environment.device_type
    if not steps.has_device or kernels.empty or any(name in device for name in _WITHOUT_TENSOR_CORES) or run.starves:
        return
    share = run.results.steps.compute_16bit_ratio
    if not share < FEW_16BIT or next(unfused_norm(run), None) is not None:  # nan: the trace does not tell
        return
    if next(double_precision(run), None) is not None:  # float32 first: it may be all that is missing
        return
    tf32 = time_ratio(kernels[kernels["unit"] == _TF32], kernels)
    slow = time_ratio(kernels[_without_tensor_cores(kernels)], kernels)
    if time_ratio(kernels[kernels["unit"] == _TENSOR_16], kernels) > tf32 + slow:  # mixed precision is in use
        return
    double = time_ratio(kernels[kernels["unit"] == _DOUBLE], kernels)
    rest = 1 - tf32 - slow - double
    if rest > 0.5 and not run.is_compiled:
        return
    saved = tf32 * (1 - 1 / HALF_SPEEDUP) + slow * (1 - 1 / TENSOR_CORE_SPEEDUP)
    saved += rest * (1 - 1 / HALF_SPEEDUP) if run.is_compiled else 0.0
    single = 1 - share - double
    gain = steps.ratio("device_compute") * single * saved
    if gain < MEDIUM_GAIN:
        return
    yield advise(
        "low_precision_unused",
        f"The {steps.device} computes {number(steps.ms('device_compute'))} of {number(steps.mean_ms)} ms a step; "
        f"{'all' if single > 0.995 else percent(single) + ' of'} its arithmetic is float32.",
        evidence={
            "compute_16bit_ratio": share,
            "device_compute_ms": steps.ms("device_compute"),
            "step_time_ms": steps.mean_ms,
            "tf32_ratio": tf32,
            "tensor_core_eligible_ratio": slow,
            "estimate": f"products {_times(tf32, slow)} as fast"
            + (", all else half the bytes" if run.is_compiled else ", all else as it is"),
        },
        fix=Fix(
            "Compute in 16 bits, which changes the precision: before the model is built; 'mixed_bfloat16' from "
            "Ampere on and on TPUs. Keep its last layer in float32, such as keras.layers.Activation('softmax', "
            "dtype='float32').",
            "import keras\n\nkeras.mixed_precision.set_global_policy('mixed_float16')",
        ),
        selection=steps.usual(
            steps.category_ms("device_compute"), view="kernel_table", op_names=run.of_kernels(kernels)
        ),
        gain_ratio=gain,
    )


def _times(tf32: float, slow: float) -> str:
    """How many times as fast products become, by what they run on."""
    told = [f"in TF32 {number(HALF_SPEEDUP)} times"] * (tf32 > 0)
    told += [f"without Tensor Cores {number(TENSOR_CORE_SPEEDUP)} times"] * (slow > 0)
    return " and ".join(told)


def _without_tensor_cores(kernels: pd.DataFrame) -> Bool:
    """Which kernels are of ops that Tensor Cores could serve and do not, as they are: those in float64 are another matter."""
    found = (kernels["tensor_core_eligible"] & ~kernels["uses_tensor_core"]).to_numpy() & ~beside_products(kernels)
    found &= (kernels["unit"] != _DOUBLE).to_numpy()
    rows = np.flatnonzero(found)
    found[rows] = [_NEVER.search(name) is None for name in kernels["name"].to_numpy()[rows].tolist()]
    return found


def time_ratio(part: pd.DataFrame, kernels: pd.DataFrame) -> float:
    """Share of some kernels in the time of all; 0 where all are too short to be measured."""
    whole = float(kernels["total_time_us"].sum())
    return float(part["total_time_us"].sum()) / whole if whole else 0.0


def tensor_core_unused(run: Run) -> Iterator[Advice]:
    """Mixed precision is in use, and products that Tensor Cores could make are made without them.

    Gain: of the share of computing, 7/8 of the time of those kernels.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    if not steps.has_device or kernels.empty or not run.results.steps.compute_16bit_ratio >= FEW_16BIT or run.starves:
        return
    unused = kernels[_without_tensor_cores(kernels)]
    part = time_ratio(unused, kernels)
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
            "estimate": f"these products {number(TENSOR_CORE_SPEEDUP)} times as fast",
        },
        fix=Fix(
            "Make sizes multiples of 8 (of 64 even better): batch, channels, units, vocabulary. It is another model then."
        ),
        selection=steps.usual(
            steps.category_ms("device_compute"), view="kernel_table", op_names=run.of_kernels(unused)
        ),
        gain_ratio=gain,
    )
