"""What lived when an allocation failed -> the batch size that is likely to fit, and in words how that was estimated.

Bytes of tensors whose first dimension is the batch size, or a multiple of it in a layer, grow with the batch; all others are
taken as fixed. What the rest of the step would have needed is not in the trace, so it is taken as: the layers that had not
run need as much each as those that had, and in a training the backward pass as much again. Of the capacity a part stays
free. The result is rounded down to a power of two, and is at most half of what failed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base.wording import percent, plural, size
from ..facts.facts import Facts
from ..layers.layers import BACKWARD, FORWARD

RESERVE_RATIO = 0.15
"""Of the capacity, for what fragmentation and rounding take."""
MIN_SCALED_RATIO = 0.05
"""Less of the memory than this, and the batch is not what fills it."""
_BATCHES = frozenset(("BatchV2", "ParallelBatch", "MapAndBatch"))
_EARLY = frozenset(("ReadVariableOp", "Const", "Identity", "NoOp", "VarHandleOp"))
"""Ops that wait for nothing of their layer: they run at the begin of the step."""
_WHOLE = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a step had come when it failed."""

    n_run: int
    """Layers whose forward pass had begun."""
    n_layers: int
    """Layers of the model; 0 where they are not known."""
    is_backward: bool
    """Whether the op that failed is of the backward pass or of the optimizer."""
    is_training: bool


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A batch size that is likely to fit."""

    batch_size: int | None
    """The one that failed; None where it is not known."""
    fits: int | None
    """None where it cannot be judged."""
    words: str


def batch_size_of(facts: Facts, told: int) -> int | None:
    """The batch size of the program: as the call of Keras told it, else as the one batching iterator does."""
    if told > 0:
        return told
    iterators = facts.input_pipeline.iterators
    found = set()
    for name, params in zip(iterators["name"], iterators["params"], strict=True):
        size_ = params.get("batch_size") if isinstance(params, dict) else None
        if str(name).rpartition("::")[2] in _BATCHES and isinstance(size_, int) and size_ > 0:
            found.add(size_)
    return found.pop() if len(found) == 1 else None


def progress_of(facts: Facts, step: int, until_ps: int, op: str) -> Progress:
    """What had run of a step.

    Args:
        facts: the analyses.
        step: row of the `steps` table, -1 for none.
        until_ps: when the allocation failed, after the trace origin.
        op: the op that failed, as the trace calls it; "" where it is not known.
    """
    trace, layers = facts.trace, facts.layers
    is_training = step >= 0 and str(facts.step_frame["name"].iloc[step]).startswith("train")
    here = (facts.steps.event_step == step) & (trace.start_ps <= until_ps) & (facts.event_op >= 0)
    failed = facts.op_shares.name.index(op) if op in facts.op_shares.name else -1
    # Not what ran of the backward pass: its constants are there from the begin of the step on.
    is_after = failed >= 0 and (
        layers.op_phase[failed] == BACKWARD or layers.entries["kind"].iloc[layers.op_entry[failed]] == "optimizer"
    )
    ops = [i for i in np.unique(facts.event_op[here]).tolist() if facts.op_shares.type[i] not in _EARLY]
    entry = layers.op_entry[ops][layers.op_phase[ops] == FORWARD]
    run = {
        str(layer)
        for layer, kind in zip(layers.entries["layer"].iloc[entry], layers.entries["kind"].iloc[entry], strict=True)
        if kind == "layer"
    }
    leaves = _model_layers(facts, run)
    return Progress(
        n_run=min(len(run), len(leaves)) if leaves else len(run),
        n_layers=len(leaves),
        is_backward=bool(is_after),
        is_training=is_training,
    )


def _model_layers(facts: Facts, run: set[str]) -> list[str]:
    """The layers without parts of the model that runs, of all models that are alive; none where they are not known."""
    if facts.source_map is None or not run:
        return []
    known = facts.source_map.layers
    paths = {
        path for path, name in zip(known["layer"], known["class_name"], strict=True) if path and name != "InputLayer"
    }
    (root, _), *_ = Counter(path.partition("/")[0] for path in sorted(run)).most_common(1)
    below = [path for path in paths if path.startswith(f"{root}/")]
    around = {path.rpartition("/")[0] for path in below}
    return [path for path in below if path not in around]


def estimate_batch(
    live: pd.DataFrame,
    shape: tuple[int, ...] | None,
    requested_bytes: float,
    *,
    capacity_bytes: float,
    batch_size: int | None,
    progress: Progress,
) -> Estimate:
    """Estimate the batch size that fits.

    Args:
        live: what was live, `shape`, `kind` and `total_bytes` of each row.
        shape: of the request; None where unknown.
        requested_bytes: its size; NaN where unknown.
        capacity_bytes: of the allocator; NaN where unknown.
        batch_size: the one that failed.
        progress: of the step that failed.
    """

    def unknown(why: str) -> Estimate:
        return Estimate(batch_size=batch_size, fits=None, words=f"No batch size that fits is estimated: {why}.")

    if not (math.isfinite(capacity_bytes) and math.isfinite(requested_bytes)):
        return unknown("the size of the request or of the allocator is not known")
    if batch_size is None or batch_size < 2:
        return unknown("the batch size is not known" if batch_size is None else "the batch holds one sample")
    grows = np.array(
        [_grows(_dims(text), kind, batch_size) for text, kind in zip(live["shape"], live["kind"], strict=True)],
        np.bool_,
    )
    total = live["total_bytes"].to_numpy(np.float64)
    scaled, fixed = float(total[grows].sum()), float(total[~grows].sum())
    if _grows(shape or (), "layer", batch_size):
        scaled += requested_bytes
    else:
        fixed += requested_bytes
    if scaled < MIN_SCALED_RATIO * (scaled + fixed):
        return unknown(f"hardly any of the memory grows with the batch size of {batch_size:,}")
    factor, ahead = _ahead(progress)
    if not math.isfinite(factor):
        return unknown(ahead)
    usable = (1 - RESERVE_RATIO) * capacity_bytes
    most = (usable - fixed) / (scaled * factor) * batch_size
    words = (
        f"At batch size {batch_size:,} tensors of {size(scaled)} grow with the batch, {size(fixed)} do not{ahead}; "
        f"{percent(RESERVE_RATIO)} of {size(capacity_bytes)} stay free"
    )
    if most < 1:
        return unknown(f"{words[0].lower()}{words[1:]}, and even a batch of one sample does not fit")
    fits = 2 ** math.floor(math.log2(min(most, batch_size / 2)))
    return Estimate(
        batch_size=batch_size, fits=int(fits), words=f"{words}. An estimate, rounded down to a power of two."
    )


def _ahead(progress: Progress) -> tuple[float, str]:
    """By how much what grows with the batch would have grown until the end of the step, and why; NaN where unknown."""
    if progress.is_backward:
        return 1.5, "; half as much again is added for the rest of the backward pass"
    if not progress.n_layers or not progress.n_run:
        return math.nan, "how much of the step was still to come is not known"
    layers = progress.n_layers / progress.n_run
    words = f"; {progress.n_run} of {plural(progress.n_layers, 'layer')} had run, and the others are taken to need as much each"
    if progress.is_training:
        return 2 * layers, f"{words}, the backward pass as much again"
    return layers, words


def _grows(dims: tuple[int, ...], kind: str, batch_size: int) -> bool:
    if not dims:
        return False
    is_multiple = kind in ("layer", "loss", "metrics") and dims[0] % batch_size == 0 and dims[0] > 0 and batch_size >= 8
    return dims[0] == batch_size or is_multiple


def _dims(text: object) -> tuple[int, ...]:
    return tuple(int(part) for part in _WHOLE.findall(str(text)[:400]) if len(part) < 19)
