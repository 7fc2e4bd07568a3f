"""Ops in a form that the device likes less -> advice: another layout than its kernels want, norms and attention op by op."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import plural
from ..layers.op_scopes import without_number
from ..layers.scope_words import FUNCTIONS, OPS
from .advice import MEDIUM_GAIN, Advice, advise
from .call_fixes import compiled
from .fix import Fix
from .spent_ops import SpentOps
from .traced_ops import PRODUCTS

if TYPE_CHECKING:
    from ...trace.trace import Bool, Int32
    from .run import Run

_CONVERSION = re.compile(r"nchw_?to_?nhwc|nhwc_?to_?nchw|layoutoptimizer")
"""Kernels of cuDNN and TensorFlow, and transpositions that TensorFlow's layout optimizer adds, in small letters."""
_NORM = re.compile(r"batch_?norm|(?:^|_)bn\d*(?:_\d+)?$", re.IGNORECASE)
_ATTENTION = re.compile(r"attention(?!_output)", re.IGNORECASE)
_FUSED_ATTENTION = re.compile(r"fmha|flash|sdpa", re.IGNORECASE)
_MOST_KNOWN = 2**12
"""So many scopes stay judged: each has many ops."""
FEW_16BIT = 0.10
"""Up to this share of the compute time in 16 bits, mixed precision is not in use."""
SEPARATE_PASSES, FUSED_PASSES = 5, 2
"""Over the data: mean, variance, subtraction, product and sum each read all of it; one kernel for all reads it twice."""


def layout_conversion(run: Run) -> Iterator[Advice]:
    """Images are converted between channels first and channels last around convolutions.

    Gain: the share of the step time in which kernels that do nothing else run.
    """
    steps, kernels = run.steps, run.results.kernels.frame
    if not steps.has_device or kernels.empty:
        return
    chosen = _converts(kernels["name"].tolist()) | _converts(kernels["op_name"].tolist())
    us = kernels["total_time_us"].to_numpy(np.float64)
    share = float(us[chosen].sum() / us.sum()) if us.sum() else 0.0
    part = steps.part("conversion", steps.ms("device_compute") * share)
    if part.ratio < MEDIUM_GAIN:
        return
    yield advise(
        "layout_conversion",
        f"Converting images between channels first and channels last takes {part}.",
        evidence=part.evidence,
        fix=Fix(
            "Keep images as channels last from the input on, as Tensor Cores want them: data, layers and losses alike."
            if run.results.steps.compute_16bit_ratio >= FEW_16BIT
            else "Tensor Cores want channels last, as in Keras, and 16 bits (the policy mixed_float16, which "
            "changes the precision); in 32 bits without them GPUs want channels first, from the input on: data, "
            "layers and losses alike."
        ),
        selection=steps.usual(
            steps.category_ms("device_compute"), view="kernel_table", op_names=run.of_kernels(kernels[chosen])
        ),
        gain_ratio=part.ratio,
    )


def _converts(names: list[str]) -> Bool:
    """Which names say so, of which each is looked at once."""
    known = {name: _CONVERSION.search(name.lower()) is not None for name in dict.fromkeys(names)}
    return np.fromiter(map(known.__getitem__, names), np.bool_, len(names))


def unfused_norm(run: Run) -> Iterator[Advice]:
    """Batch normalisation in separate ops, on a device or in a graph of TensorFlow 1; not where XLA compiled it.

    Gain: of the share of the step time of these ops, what one kernel for all of them would not read again. Keras on a CPU has
    no other form, so it has no such advice.
    """
    steps, results = run.steps, run.results
    if not steps.mean_ms or not (steps.device_computes or results.stored_graph is not None) or run.starves:
        return
    ops = SpentOps(run, "norm", _separate_norms(run))
    gain = ops.part.ratio * (1 - FUSED_PASSES / SEPARATE_PASSES)
    if gain < MEDIUM_GAIN:
        return
    yield ops.advise(
        "unfused_norm",
        f"Batch normalisation in separate ops takes {ops.part}; one kernel can do it.",
        fix=_one_norm(run),
        gain_ratio=gain,
        estimate=f"{FUSED_PASSES} of {SEPARATE_PASSES} passes over its data remain",
    )


def _one_norm(run: Run) -> Fix:
    """How to have one kernel for a batch normalisation: Keras 3 has no form of its layer for that."""
    if run.results.stored_graph is not None:
        return Fix("Make it by tf.compat.v1.layers.batch_normalization with fused=True.")
    if run.can_be_compiled:
        return compiled(run)
    return Fix("Call tf.compat.v1.nn.fused_batch_norm in a layer of your own: Keras 3 has no fused form of its layer.")


def _separate_norms(run: Run) -> Bool:
    """For each framework op whether it is part of a batch normalisation of which no op is a fused or a compiled one."""
    shares = run.results.op_shares
    norms = _norms(run)
    fused = {norm for norm, kind in zip(norms, shares.type, strict=True) if "FusedBatchNorm" in kind}
    fused |= {norm for norm, name in zip(norms, shares.name, strict=True) if name in run.compiled}
    with_root = {norm for norm, kind in zip(norms, shares.type, strict=True) if kind in ("Rsqrt", "RsqrtGrad")} - {""}
    return np.array([norm in with_root and norm not in fused for norm in norms], np.bool_)


def _norms(run: Run) -> list[str]:
    """For each framework op the batch normalisation that it is part of: by the class of its layer, and of a layer whose class
    is not known by names of scopes; "" for none."""
    entries, scopes = run.results.layers.entries, run.results.op_scopes.scope
    rows = run.results.layers.op_entry.tolist()
    layers, classes, kinds = (entries[name].tolist() for name in ("layer", "class_name", "kind"))
    known = {at: layers[at] if _NORM.search(classes[at]) else "" for at in range(len(entries)) if classes[at]}
    known |= {at: "" for at, kind in enumerate(kinds) if kind == "optimizer" and at not in known}
    return [known[row] if row in known else _norm_scope(scope) for row, scope in zip(rows, scopes, strict=True)]


@lru_cache(_MOST_KNOWN)
def _norm_scope(scope: tuple[str, ...]) -> str:
    """The outermost of a scope and those around it that is named as a batch normalisation is; "" for none."""
    at = next((i for i, part in enumerate(scope) if _NORM.search(part)), -1)
    return "/".join(scope[: at + 1])


def useless_bias(run: Run) -> Iterator[Advice]:
    """A convolution adds a bias that the batch normalisation after it subtracts again; XLA makes little of that.

    Gain: the share of the step time of adding these biases and of their gradients.
    """
    steps, results = run.steps, run.results
    if not steps.device_computes or run.starves or run.is_compiled:
        return
    types, entry = np.array(results.op_shares.type, np.object_), results.layers.op_entry
    biased = np.unique(entry[_before_norms(run, (types == "BiasAdd") & ~results.op_scopes.is_backward)])
    is_layer = (results.layers.entries["kind"] == "layer").to_numpy()
    biased = biased[is_layer[biased]]
    chosen = np.isin(entry, biased) & np.isin(types, ("BiasAdd", "BiasAddGrad"))
    ops = SpentOps(run, "bias", chosen)
    if ops.part.ratio < MEDIUM_GAIN:
        return
    yield ops.advise(
        "useless_bias",
        f"The bias of {plural(len(biased), 'layer')} takes {ops.part}, and the batch normalisation after it subtracts it again.",
        fix=Fix(
            "Make these convolutions with use_bias=False: beta of the batch normalisation is the bias. A model of "
            "keras.applications is built with it: copy the function that makes its blocks."
        ),
        gain_ratio=ops.part.ratio,
        n_layers=len(biased),
    )


def _before_norms(run: Run, chosen: Bool) -> Int32:
    """Those of some framework ops that a device runs right before a batch normalisation; of parallel branches before theirs."""
    runs = run.facts.occurrences
    rows = np.flatnonzero(runs.is_device[runs.op])
    rows = rows[np.lexsort((runs.start_ps[rows], runs.lane[rows]))]
    op = run.results.op_shares.dominant[runs.op[rows]]
    op = op[np.flatnonzero(np.diff(op, prepend=-1))]
    is_norm = np.array([bool(norm) for norm in _norms(run)], np.bool_)
    n_norms = np.cumsum(np.append(0, is_norm[op]))
    at = np.flatnonzero(chosen[op])
    stretch = np.cumsum(np.diff(at, prepend=-2) > 1) - 1
    length = np.bincount(stretch)[stretch]
    end = at[np.append(np.flatnonzero(np.diff(stretch)), len(at) - 1)][stretch] + 1 if len(at) else at
    is_followed = n_norms[np.minimum(end + length, len(op))] - n_norms[end] == length
    found: Int32 = op[at[is_followed]]
    return found


def unfused_attention(run: Run) -> Iterator[Advice]:
    """Attention writes its scores to memory and reads them again, kernel by kernel.

    Gain: of the share of the step time of its ops, all but the products: a fused kernel keeps the scores on the chip.
    """
    steps, results = run.steps, run.results
    if not steps.device_computes or run.starves:
        return
    scopes = results.op_scopes
    chosen = np.array([*map(_is_attention, scopes.scopes)], np.bool_)[scopes.scope_id] & ~scopes.is_optimizer
    types = np.array(results.op_shares.type, np.object_)
    if not (chosen & (types == "Softmax")).any():
        return
    ops = SpentOps(run, "attention", chosen)
    gain = run.side.ratio(chosen & ~np.isin(types, [*PRODUCTS]))
    # Last, as there may be hundreds of thousands of names.
    if gain < MEDIUM_GAIN or any(map(_FUSED_ATTENTION.search, set(results.kernels.frame["name"]))):
        return
    yield ops.advise(
        "unfused_attention",
        f"Attention takes {ops.part} in separate kernels that write its scores to memory and read them again.",
        fix=_fewer_passes_over_scores(run),
        gain_ratio=gain,
        estimate="all but the products of queries, keys and values",
    )


def _fewer_passes_over_scores(run: Run) -> Fix:
    """What TensorFlow can do about it, if anything: Keras 3.15 raises where fused attention is asked for, and XLA in TensorFlow
    2.21 has no pass that makes it."""
    none = "Keras on TensorFlow has no fused attention: flash_attention=True raises, enable_flash_attention() changes nothing."
    if run.is_compiled:
        return Fix(
            f"{none} XLA fused what it can already: the products stay apart, and the scores between them in memory."
        )
    return (
        compiled(run).also(f"Scale, mask, softmax and casts become one kernel. {none}")
        if run.can_be_compiled
        else Fix(none)
    )


@lru_cache(_MOST_KNOWN)
def _is_attention(scope: tuple[str, ...]) -> bool:
    """Whether a scope is an attention's own, and not that of a layer in it that projects queries, keys, values or results."""
    at = next((i for i, part in enumerate(scope) if _ATTENTION.search(part)), len(scope))
    inner = [without_number(part) for part in scope[at + 1 :]]
    return at < len(scope) and all(part in FUNCTIONS or part in OPS for part in inner)
