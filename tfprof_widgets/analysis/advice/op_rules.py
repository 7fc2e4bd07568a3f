"""Ops that cost more than they must -> `inefficient_op`; ops on the CPU amid a device's step -> `host_fallback`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...trace.trace import Int64
from ..base.stretches import Stretches
from ..base.units import PS_PER_MS
from ..base.wording import number, percent
from .advice import MEDIUM_GAIN, Advice, advise
from .code_places import noted_place
from .code_text import one_line
from .conv_sizes import filter_sizes
from .fix import Fix
from .spent_ops import SpentOps, costliest

if TYPE_CHECKING:
    from .run import Run

LARGE_FILTER = 5
"""Filters of 3 x 3 are the smallest that see a neighbourhood; from 5 x 5 on a stack of them sees as much and costs less."""
OUTSIDE_SHARE = 0.20
"""From this share of the op time on, heavy ops outside of the model's layers are worth a look: a loss compares what the layers
computed, and takes a few percent."""
_HEAVY = re.compile(
    r"_?(?:Fused|Mkl|Native|Depthwise)*(?:Conv|MatMul|BatchMatMul|Einsum|FFT|IFFT|RFFT|Sort|TopK|Unique|NonMaxSuppression|Resize"
    r"|Svd|Qr|MatrixInverse|Cholesky|ExtractImagePatches)\w*"
)
_PYTHON = re.compile(r"(Eager)?PyFunc(Stateless)?")


def inefficient_op(run: Run) -> Iterator[Advice]:
    """Ops for which something cheaper is known: large filters, Python in the graph, heavy work in the loss or the metrics.

    That an op takes most of the time is no fault of its own: some op of every model does. So only what has an alternative is
    named. Gain: the share of the step time of those ops, times what the alternative saves; all of it where the work can be left
    out.
    """
    if not run.steps.mean_ms or run.eager.is_hot:
        return
    yield from _large_filters(run)
    yield from _python_ops(run)
    yield from _outside_layers(run)


def _large_filters(run: Run) -> Iterator[Advice]:
    """A filter of K x K costs K*K multiplications a point; (K-1)/2 filters of 3 x 3 on each other see as far with 9(K-1)/2."""
    sizes = {layer: min(size) for layer, size in filter_sizes(run).items()}
    sizes = {layer: size for layer, size in sizes.items() if size >= LARGE_FILTER and size % 2}
    if not sizes:
        return
    ops, layers = run.side, run.results.layers
    is_conv = np.array(["conv" in kind.lower() for kind in run.results.op_shares.type], np.bool_)
    candidates = []
    for layer, size in sizes.items():  # one turn per convolution
        row = np.flatnonzero((layers.entries["layer"] == layer).to_numpy())
        chosen = np.isin(layers.op_entry, row) & is_conv
        saved = 1 - 9 * ((size - 1) // 2) / (size * size)
        candidates.append((ops.ratio(chosen) * saved, ops.ratio(chosen), layer, size, chosen))
    for gain, share, layer, size, chosen in sorted(candidates, key=lambda one: -one[0])[:3]:
        if gain < MEDIUM_GAIN:
            return
        n = (size - 1) // 2
        place = noted_place(run.results.source_map, "layers", "layer", layer)
        where = f" ({place})" if place else ""
        part = run.steps.part("op", share * run.steps.mean_ms)
        yield advise(
            "inefficient_op",
            f"The {size} x {size} convolution of {layer}{where} takes {part}: {n} of 3 x 3 see as far "
            f"for {percent(9 * n / size**2)} of its work.",
            evidence={
                **part.evidence,
                "filter_px": size,
                "saved_ratio": gain / share,
                "layer": layer,
                **({"line": place} if place else {}),
            },
            fix=Fix(
                f'Put {n} convolutions of 3 x 3 with padding="same" and an activation each in place of {one_line(layer)}, or a '
                f"SeparableConv2D of {size} x {size}: another model, which trains differently."
            ),
            selection=run.steps.usual(run.steps.time_ms, view="op_table", op_names=costliest(run, chosen)),
            gain_ratio=gain,
        )


def _python_ops(run: Run) -> Iterator[Advice]:
    scopes = run.results.op_scopes
    chosen = np.array([_PYTHON.fullmatch(kind) is not None for kind in scopes.type], np.bool_) & ~scopes.is_input
    if not chosen.any():
        return
    # It runs on the host whatever the device is, and the device waits for it.
    host = chosen & ~run.results.op_shares.is_device
    steps = run.steps
    spent = float(run.results.op_totals.self_us[host].sum()) / 1e3
    whole = float(run.results.steps.frame["step_time_ms"].sum())
    part = steps.part("op", spent / whole * steps.mean_ms if whole else 0.0)
    if part.ratio < MEDIUM_GAIN:
        return
    names = costliest(run, host)
    yield advise(
        "inefficient_op",
        f"Python inside the graph ({names[0] if names else 'py_function'}) takes {part}, under the interpreter's lock.",
        evidence=part.evidence,
        fix=Fix("Write it in ops of TensorFlow or keras.ops instead of tf.py_function or tf.numpy_function."),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=names),
        gain_ratio=part.ratio,
    )


def _outside_layers(run: Run) -> Iterator[Advice]:
    """Convolutions, products and sorting in the loss, metrics whatever they do, where the model has layers of its own."""
    if not run.has_layers:
        return
    layers, types = run.results.layers, run.results.op_scopes.type
    kind = layers.entries["kind"].to_numpy()[layers.op_entry]
    is_heavy = np.array([_HEAVY.fullmatch(one) is not None for one in types], np.bool_)
    chosen = ((kind == "loss") & is_heavy) | (kind == "metrics")
    if not chosen.any():
        return
    ops = SpentOps(run, "op", chosen)
    if ops.part.ratio < OUTSIDE_SHARE:
        return
    where = "metrics" if kind[ops.top] == "metrics" else "loss"
    yield ops.advise(
        "inefficient_op",
        f"{ops.type} in the {where}{ops.where} takes, with its gradient, {ops.part}.",
        fix=Fix(
            "Leave it out, or compute it on fewer points, which changes what is trained: smaller filters (two of 1 "
            "x K and K x 1), a coarser grid."
            if where == "loss"
            else "Leave metrics out of compile, and compute them in evaluate, or every hundredth step."
        ),
        gain_ratio=ops.part.ratio,
        op_type=ops.type,
    )


def host_fallback(run: Run) -> Iterator[Advice]:
    """Ops of the step that run on the CPU while the device waits.

    Gain: the share of the step time in which such an op runs and the device does not compute, with the copies back that feed it.
    """
    steps, occurrences = run.steps, run.facts.occurrences
    if not steps.has_device:
        return
    names = np.array(occurrences.name, np.object_)
    on_device = set(names[occurrences.is_device].tolist())
    is_ours = run.work.is_model & ~occurrences.is_device
    is_ours &= np.array([name not in on_device for name in names.tolist()], np.bool_)
    rows = np.flatnonzero(is_ours[occurrences.op] & (run.entry[occurrences.event] >= 0))
    if not len(rows):
        return
    waited = _in_host_compute(run, rows)
    by_op = np.zeros(len(occurrences.name), np.float64)
    np.add.at(by_op, occurrences.op[rows], waited / PS_PER_MS)
    host_ms = steps.wait_ms("host_compute")
    op_ms = min(float(by_op.sum()) / len(steps), float(host_ms.mean()))
    copies_ms = float(steps.wait_ms("output").mean())
    gain = (op_ms + copies_ms) / steps.mean_ms
    if op_ms / steps.mean_ms < MEDIUM_GAIN:
        return
    top = int(by_op.argmax())
    order = [int(i) for i in np.argsort(-by_op, kind="stable")[:5] if by_op[i] > 0]
    name = occurrences.name[top]
    yield advise(
        "host_fallback",
        f"{occurrences.type[top]} ({name.rpartition('/')[2]}) and what else runs on the CPU make the {steps.device} wait "
        f"{number(op_ms)} of {number(steps.mean_ms)} ms a step ({percent(gain)} with the copies for it).",
        evidence={
            "host_op_ms": op_ms,
            "output_ms": copies_ms,
            "step_time_ms": steps.mean_ms,
            "host_ratio": gain,
            "op": name,
            "op_type": occurrences.type[top],
        },
        fix=Fix(
            f"It has no kernel of this type and dtype for the {steps.device}, or is placed by hand (tf.device). "
            "float32 and int32 have kernels where float64, strings and int64 have none; "
            "tf.debugging.set_log_device_placement(True), before anything runs, says where each op is placed."
        ),
        selection=steps.stretch(
            host_ms,
            "host_compute",
            view="timeline",
            op_names=run.known(*(occurrences.name[i] for i in order)),
        ),
        gain_ratio=gain,
    )


def _in_host_compute(run: Run, rows: Int64) -> Int64:
    """Of each of some executions in steps how long, in ps, its own host computes while its device does not."""
    steps, occurrences = run.steps, run.facts.occurrences
    pieces = steps.wait_pieces[steps.wait_pieces["category"] == "host_compute"]
    host = steps.frame["host"].to_numpy(object)
    of_piece = host[np.searchsorted(steps.row, pieces["step"].to_numpy(np.int64))]
    of_row = host[run.entry[occurrences.event[rows]]]
    low, start = pieces["start_ps"].to_numpy(np.int64), occurrences.start_ps[rows]
    high, end = low + pieces["duration_ps"].to_numpy(np.int64), start + occurrences.duration_ps[rows]
    found = np.zeros(len(rows), np.int64)
    for one in set(host.tolist()):  # one turn a host
        own, mine = of_piece == one, of_row == one
        found[mine] = Stretches.of(low[own], high[own]).within(start[mine], end[mine])
    return found
