"""The rule `busy`: what computes for over a fifth of a step, what bounds it, and what to change where the mechanism is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...trace.arrays import Bool
from ..card import HIGH_GAIN, MEDIUM_GAIN, Advice, Fix, advise
from ..common import PS_PER_MS, PS_PER_US, number, percent
from ..grouping import UNIT_TEXTS
from .computing import Computing
from .device import LAUNCH_US, MOST, kernel_blocks, multiprocessors
from .moved import passes, slow_sums

if TYPE_CHECKING:
    from .run import Run

NO_FAULT = "That is a large part of a step, and need not be a fault."


def busy(run: Run) -> Iterator[Advice]:
    """A layer, the optimizer, a line, an op or a kind of kernel computes for over a fifth of the steps' time; gain: what fused
    ops, sums at the speed of memory or results of a fixed size would win of it, 0 where no such mechanism is known."""
    if not run.steps.mean_ms or run.eager.is_hot:
        return
    computing = Computing(run)
    explained = np.zeros(len(computing.op_ms), np.bool_)
    for mechanism in (passes, slow_sums):
        for told, ops in mechanism(computing):
            explained |= ops
            yield told
    yield from _unknown_sizes(computing)
    for what, ops in computing.groups(computing.op_ms > 0):
        if computing.part(ops).ratio > HIGH_GAIN:
            if computing.part(ops & explained).ms < MOST * computing.part(ops).ms:
                yield _told(computing, what, ops)
            return
    yield from _unnamed(computing)


def _told(computing: Computing, what: str, ops: Bool) -> Advice:
    """What takes the time and where, without a fix."""
    name, evidence = computing.place(what, ops)
    part, kind = computing.part(ops), computing.types[computing.top(ops)]
    share = computing.part(ops & (computing.types == kind)).ms / part.ms
    much = "all" if share > 0.995 else percent(share)
    more = f", {much} of that in {kind}" if what != "op" and share > HIGH_GAIN else ""
    sizes = _sizes(computing.run, computing.top(ops)) if what == "op" else ""
    bound = _bound(computing, np.isin(computing.op, np.flatnonzero(ops)))
    return computing.advise(
        f"{name} takes {part}{computing.of_device}{f', on {sizes}' if sizes else ''}{more}{bound and f', {bound}'}. "
        f"{NO_FAULT}",
        ops,
        Fix(),
        **evidence,
    )


def _unnamed(computing: Computing) -> Iterator[Advice]:
    """A kind of kernel of which no op is known."""
    run, own = computing.run, np.flatnonzero(computing.op < 0)
    if not len(own) or not run.steps.device_computes:
        return
    names, code = np.unique(run.trace.name_id[computing.event[own]], return_inverse=True)
    ms = np.bincount(code, computing.ms[own])
    part, name = run.steps.part("kernel", float(ms.max())), run.trace.strings[int(names[ms.argmax()])]
    if part.ratio > HIGH_GAIN:
        bound = _bound(computing, np.isin(np.arange(len(computing.op)), own[code == ms.argmax()]))
        yield advise(
            "busy",
            f"The kernel {name[:80]} takes {part}{computing.of_device}{bound and f', {bound}'}. {NO_FAULT}",
            evidence=part.evidence | {"kernel": name},
            fix=Fix(),
            selection=run.steps.usual(run.steps.time_ms, view="timeline", op_names=(name,)),
        )


def _bound(computing: Computing, chosen: Bool) -> str:
    """What bounds most of the time of some rows on a GPU, in words; "" where nothing tells."""
    run, frame = computing.run, computing.run.results.kernels.frame
    if not chosen.any() or frame.empty:
        return ""
    event, ms = computing.event[chosen], computing.ms[chosen]
    kernel = np.full(run.trace.n_events, -1, np.int64)
    kernel[run.results.kernels.run_event] = run.results.kernels.run_kernel
    blocks = np.append(kernel_blocks(frame), 0)[kernel[event]]
    average_us = float(run.trace.duration_ps[event].mean()) / PS_PER_US
    roofline = run.results.roofline
    bounds = dict(zip(roofline.units.tolist(), roofline.frame["bound"].tolist(), strict=True))
    of_row = np.array([bounds.get(unit, "") for unit in run.facts.event_unit[event].tolist()], np.str_)

    def is_most(rows: Bool) -> bool:
        return float(ms[rows].sum()) > MOST * float(ms.sum())

    unit = run.facts.kernel_units[event].astype(np.int64)
    most = int(np.bincount(unit, ms).argmax())
    on = f", most of it on {UNIT_TEXTS[most]} units" if UNIT_TEXTS.get(most) and is_most(unit == most) else ""
    if average_us < LAUNCH_US:
        return f"in kernels of {number(average_us)} µs on average, as short as a launch{on}"
    if is_most((blocks > 0) & (blocks < multiprocessors(run))):
        return f"most of it in fewer blocks than the {run.steps.device} has multiprocessors{on}"
    bound = next((one for one in ("memory", "compute") if is_most(of_row == one)), "")
    return f"bound by {bound}{on}" if bound else on.removeprefix(", ")


def _sizes(run: Run, op: int) -> str:
    """What an op reads, but for what is no more than a list of numbers."""
    traced = run.traced_ops
    row = int(traced.row[op]) if traced is not None else -1
    sizes = [shape for shape in traced.input_shapes(row) if shape] if traced is not None and row >= 0 else []
    known = ["x".join("?" if one < 0 else str(one) for one in shape) for shape in sizes[:2] if len(shape) > 1]
    return " and ".join(known)


_UNKNOWN_SIZE = re.compile(r"Where|Unique(WithCounts)?(V2)?|NonMaxSuppressionV\d|DynamicPartition")


def _unknown_sizes(computing: Computing) -> Iterator[Advice]:
    """Ops whose results have a size that the device alone knows: the host waits for it, and the device for the host."""
    run, rows = computing.run, computing.run.facts.attribution
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
        "unknown_size",
        **part.evidence,
        **evidence,
    )
