"""Bytes that ops move to and from a device's memory -> elementwise ops that one kernel could do, sums that are too slow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ...trace.trace import ITEM_BYTES
from ..card import HIGH_GAIN, IDLE, MEDIUM_GAIN, Advice, Fix, rule
from ..common import PS_PER_MS, number, percent, plural, size
from ..layers.layers import BACKWARD
from ..out_of_memory.what_held import batch_size_of
from .computing import NAMED
from .device import MOST
from .run import Run, compiled

if TYPE_CHECKING:
    from .causes import TracedOps

_ELEMENTWISE = re.compile(
    r"Abs|AddN|Add(V2)?|Sub|Mul(NoNan)?|(Real|Xlog|X|Floor)?[Dd]iv(NoNan)?|Neg|Exp|Expm1|Log|Log1p|R?[Ss]qrt(Grad)?|Square(dDifference)?"
    r"|Pow|Sign|Sigmoid(Grad)?|Tanh(Grad)?|Soft(plus|sign)(Grad)?|S?[Ee]lu(Grad)?|(Leaky)?Relu6?(Grad)?|Relu6?Grad|Erfc?|Sin|Cos"
    r"|Maximum|Minimum|Select(V2)?|(Greater|Less)(Equal)?|(Not)?Equal|Logical\w+|Cast|ClipByValue|BiasAdd|Reciprocal(Grad)?"
    r"|Inv(Grad)?|Assign(Add|Sub)VariableOp|(Log)?Softmax|OneHot|Tile|BroadcastTo|Fill|(Zeros|Ones)Like"
)
_REDUCTION = re.compile(r"BiasAddGrad|Sum|Mean|Max|Min|Prod|All|Any|L2Loss|ArgM(ax|in)")
ROOF = 0.4
"""From this part of the speed of memory on it is memory that ops wait for."""
SLOW = 0.25
"""Below it a kernel that reads its data once is not made for their shape."""
MIN_PASSES = 4
"""From so many elementwise ops on one kernel for all is worth a word."""


@dataclass(frozen=True, eq=False, repr=False)
class Moved:
    """Bytes to and from memory of some ops of a graph; arrays have one entry an op, nan where sizes are not known."""

    traced: TracedOps
    rows: Int64
    """Of `SourceMap.ops`."""
    batch: int | None
    """In place of sizes that are not known."""

    @cached_property
    def reads(self) -> list[list[float]]:
        """Of each tensor that each reads."""
        edges, dtype = self._edges, self.traced.dtype.to_dict()
        made = dict(
            zip(zip(edges["op"].tolist(), edges["slot"].tolist(), strict=True), edges["source"].tolist(), strict=True)
        )
        return [
            [
                self._bytes(shape, dtype.get(made.get((row, slot)), "") or dtype.get(row, ""))
                for slot, shape in enumerate(shapes)
            ]
            for row, shapes in ((row, self.traced.input_shapes(row)) for row in self.rows.tolist())
        ]

    @cached_property
    def writes(self) -> Float64:
        """Of all that each makes, or changes of a variable."""
        made = [(self.traced.output_shapes(row), str(self.traced.dtype.get(row, ""))) for row in self.rows.tolist()]
        n_bytes = np.array([sum(self._bytes(shape, dtype) for shape in shapes) for shapes, dtype in made])
        return np.where(self._changes, [sum(sizes[1:]) for sizes in self.reads], n_bytes)

    @cached_property
    def all(self) -> Float64:
        """Of both; a variable that is changed is read, too."""
        return np.array([sum(sizes) for sizes in self.reads]) + self.writes * np.where(self._changes, 2, 1)

    def fused(self, is_backward: Bool) -> float:
        """Of elementwise ops, and sums of what they make, what a kernel for all has to read and write; one for gradients reads
        again what the others read."""
        edges = self._edges
        inner, sums = (
            self.traced.type.map(lambda kind, of=of: of.fullmatch(kind) is not None).to_numpy(np.bool_)
            for of in (_ELEMENTWISE, _REDUCTION)
        )
        entry = {row: at for at, row in enumerate(self.rows.tolist())}
        read: dict[tuple[bool, int, int], float] = {}
        for op, slot, source, output in edges[["op", "slot", "source", "source_output"]].itertuples(index=False):
            if (source < 0 or not inner[source]) and slot < len(self.reads[entry[op]]):
                read[bool(is_backward[entry[op]]), source, output] = self.reads[entry[op]][slot]
        every = self.traced.source_map.edges
        source, is_inner = every["source"].to_numpy(np.int64), (inner | sums)[every["op"].to_numpy(np.int64)]
        is_given = np.isin(self.rows, source[~is_inner]) | ~np.isin(self.rows, source)
        again = 2 if is_backward.any() else 1
        return float(self.writes[is_given].sum()) + sum(size * (1 if key[0] else again) for key, size in read.items())

    @cached_property
    def _changes(self) -> Bool:
        return self.traced.type.iloc[self.rows].isin(("AssignAddVariableOp", "AssignSubVariableOp")).to_numpy(np.bool_)

    @cached_property
    def _edges(self) -> pd.DataFrame:
        edges = self.traced.source_map.edges
        return edges[edges["op"].isin(self.rows) & (edges["source_output"] >= 0)]

    def _bytes(self, shape: tuple[int, ...] | None, dtype: str) -> float:
        if shape is None or (self.batch is None and min(shape, default=0) < 0):
            return float("nan")
        return float(prod((self.batch or 0) if one < 0 else one for one in shape) * ITEM_BYTES.get(dtype, 4))


@rule("Fuse elementwise ops", claims=("device_compute",))
def many_passes(run: Run) -> Iterator[Advice]:
    """Elementwise ops move the same numbers again and again, at the speed of memory; gain: of their share the bytes that one
    kernel for all would not move."""
    computing, per_us, traced = run.computing, _per_us(run), run.graph
    if run.is_compiled or not per_us:
        return
    row, spent = traced.row.to_numpy(np.int64), run.results.op_sums
    passes = computing.of_type(_ELEMENTWISE)
    what, here = next(
        (one for one in computing.places(passes) if computing.part(one[1]).ratio > HIGH_GAIN), ("", passes)
    )
    # What is compiled is fused with the sums of it, wherever it is; by hand one place is changed.
    passes = passes if run.can_be_compiled else here
    ops = passes | computing.of_type(_REDUCTION) if run.can_be_compiled else passes
    known, part = np.flatnonzero(ops & (row >= 0)), computing.part(passes)
    if part.ratio <= HIGH_GAIN or int(passes[known].sum()) < MIN_PASSES:
        return
    moved, count = Moved(traced, row[known], batch_size_of(run.results, 0)), spent.count[known]
    us, n_bytes = float(spent.self_us[known][passes[known]].sum()), moved.all * count
    pass_bytes = float(n_bytes[passes[known]].sum())
    is_told = us >= MOST * float(spent.self_us[passes].sum()) and pass_bytes >= ROOF * per_us * us
    left = moved.fused(run.results.layers.op_phase[known] == BACKWARD) / float(moved.all.sum())
    won_ms = min(
        part.ms * (1 - left) * float(n_bytes.sum()) / max(pass_bytes, 1.0), computing.part(ops).ms * (1 - left)
    )
    if not is_told or not won_ms >= MEDIUM_GAIN * run.steps.mean_ms:  # nan: sizes that nobody knows
        return
    name, evidence = computing.place(what or "op", here)
    here_ms = computing.part(here).ms
    much = "all" if here_ms > 0.995 * part.ms else f"{number(here_ms)} ms"
    a_step = float(n_bytes.sum()) / max(run.steps.n_all, 1)
    with_sums = f" with {plural(int((ops & ~passes).sum()), 'sum')}" if (ops & ~passes).any() else ""
    at = f", {much} of that in {name[0].lower()}{name[1:]}" if what else ""
    title = (
        f"{plural(int(passes.sum()), 'elementwise op')} take {part}{computing.of_device}{at}, at "
        f"{percent(pass_bytes / us / per_us)} of the speed of memory:{with_sums} they move {size(a_step)} a step, up to "
        f"{size(float(moved.all.max()))} each, of which fused ones would move {size(a_step * left)}."
    )
    evidence |= {"moved_bytes": a_step, "fused_bytes": a_step * left}
    fix = _fewer_passes(run, is_optimizer=name.startswith(NAMED["optimizer"]))
    told = "the bytes that kernels of several ops do not move"
    yield computing.advise(title, ops, fix, won_ms, estimate=told, **evidence)


def _fewer_passes(run: Run, *, is_optimizer: bool) -> Fix:
    other = (
        "an optimizer of one kernel a variable, as tf.raw_ops.ResourceApplyAdam is for Adam, or of less state, such as SGD, "
        "which trains differently."
        if is_optimizer
        else "fewer ops for the same: Keras' own activations have a kernel each, a formula has one an op."
    )
    return compiled(run).also(f"Or have {other}") if run.can_be_compiled else Fix(f"Have {other}")


@rule("Sum up in a faster way", claims=("device_compute",))
def slow_sum(run: Run) -> Iterator[Advice]:
    """Sums over a large axis, such as gradients of biases, are far slower than memory gives what they read; gain: what they take
    beyond a quarter of its speed."""
    computing, per_us, traced = run.computing, _per_us(run), run.graph
    own = computing.of_type(_REDUCTION)
    if run.is_compiled or not per_us or computing.part(own).ratio <= HIGH_GAIN:
        return
    row, sums = traced.row.to_numpy(np.int64), run.results.op_sums
    groups = ((what, ops) for what, ops in computing.groups(own) if what in ("op", "type"))
    what, ops = next(one for one in groups if one[0] == "type" or computing.part(one[1]).ratio > HIGH_GAIN)
    known, part = np.flatnonzero(ops & (row >= 0)), computing.part(ops)
    reads = Moved(traced, row[known], batch_size_of(run.results, 0)).reads
    us, n_bytes = (
        float(sums.self_us[known].sum()),
        sum(sum(one) * sums.count[op] for one, op in zip(reads, known, strict=True)),
    )
    if part.ratio <= HIGH_GAIN or not 0 < n_bytes < SLOW * per_us * us:
        return
    name, evidence = computing.place(what, ops)
    ratio = float(n_bytes / per_us / us)
    is_bias = evidence["op_type"] == "BiasAddGrad"
    evidence |= {"memory_ratio": ratio}
    fixes = ["Make this layer with use_bias=False: a bias for each of so many outputs is of little use."] * is_bias
    fixes += [compiled(run, "other kernels").words] * run.can_be_compiled
    title = (
        f"{name} takes {part}{computing.of_device} to add up numbers that memory gives in {percent(ratio)} of that time: its "
        "kernel does not suit so long an axis."
    )
    fix = Fix(" Or: ".join(fixes) or "Sum up in two steps, first over a part of the axis, as by a reshape.")
    told = f"sums at {percent(SLOW)} of the speed of memory"
    yield computing.advise(title, ops, fix, part.ms * (1 - ratio / SLOW), estimate=told, **evidence)


_UNKNOWN_SIZE = re.compile(r"Where|Unique(WithCounts)?(V2)?|NonMaxSuppressionV\d|DynamicPartition")


@rule("Give results a fixed size", claims=(*IDLE, "output"))
def unknown_size(run: Run) -> Iterator[Advice]:
    """The host waits for the size of a result, which the device alone knows, and the device for the host; gain: the share of the
    step in which it does."""
    computing, rows = run.computing, run.results.attribution
    own, at = computing.of_type(_UNKNOWN_SIZE), computing.rows
    if run.is_compiled or not run.steps.device_computes or not own.any():
        return
    order = at[np.lexsort((rows.start_ps[at], rows.step[at]))]
    before, after = order[:-1], order[1:]
    op = rows.op
    # Between kernels of one op: the first ones count, those after them know how much to make.
    is_wait = (rows.step[before] == rows.step[after]) & (op[before] == op[after]) & (op[before] >= 0) & own[op[before]]
    waited_ms = np.maximum(rows.start_ps[after] - rows.end_ps[before], 0)[is_wait] / PS_PER_MS / len(run.steps)
    part = run.steps.part("wait", float(waited_ms.sum()))
    if part.ratio < MEDIUM_GAIN:
        return
    name, evidence = computing.place("op", own)
    n = int(np.count_nonzero(waited_ms)) / len(run.steps)
    yield computing.advise(
        f"The {run.steps.device} waits {part} amid {name} and its like: {number(n)} times a step the CPU waits for a size that "
        f"only the {run.steps.device} knows.",
        own,
        Fix(
            "Have results of a fixed size: multiply by a mask, or tf.where with three arguments, in place of tf.boolean_mask, "
            "tf.where with one and tf.unique."
        ),
        part.ms,
        part,
        np.flatnonzero(np.append(own, False)[op]),
        **evidence,
    )


def _per_us(run: Run) -> float:
    """Bytes that the memory of a device moves in a microsecond at most; 0 where that is not known."""
    return (
        float(np.fmax.reduce(run.results.roofline.peaks[:, -1], initial=0.0)) / 1e6
        if run.steps.device_computes
        else 0.0
    )
