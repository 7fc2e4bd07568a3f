"""The rule `busy`: what computes for over a fifth of a step, and what bounds it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from ...trace.arrays import Bool
from ...trace.source_map import parse_shapes
from ..card import COMPUTE, HIGH_GAIN, LAST, Advice, Claim, Fix, behind, rule
from ..common import PS_PER_US, amount, number, percent
from ..grouping import UNIT_TEXTS
from ..layers.layers import OPTIMIZER
from ..out_of_memory.what_held import batch_size_of
from .causes import MOST_STEPS, PRODUCTS
from .computing import op_line
from .device import LAUNCH_US, MOST, kernel_blocks, multiprocessors
from .run import NO_TIME_DISTRIBUTED, Run, input_sizes, masked_length, runs_functions

NO_FAULT = "That is a large part of a step, and need not be a fault."
PADDED = (
    "A mask may hide some of the {} places of each sequence, and what it hides takes as long as the rest: where lengths differ "
    "much, pad each batch to its own longest, of sequences of about one length (bucket_by_sequence_length)."
)


@rule("Where a large part of a step goes", level=LAST, claims=COMPUTE, needs=runs_functions)
def busy(run: Run) -> Iterator[Advice]:
    """A layer, the optimizer, a line, an op or a kind of kernel computes for over a fifth of the steps' time, and no rule says
    why; it has neither fix nor gain, but for products with one-hot rows and results that are thrown away."""
    computing = run.computing
    every = (computing.op_ms > 0) & run.graph.is_noted  # else nothing tells what they are of
    for what, ops in computing.groups(every):
        if computing.part(ops).ratio > HIGH_GAIN:
            yield _told(run, what, ops)
            return
    yield from _unnamed(run)


def _told(run: Run, what: str, ops: Bool) -> Advice:
    """What takes the time and where, with the mechanism where the graph shows one."""
    computing = run.computing
    name, evidence = computing.place(what, ops)
    part, kind = computing.part(ops), computing.types[computing.top(ops)]
    share = computing.part(ops & (computing.types == kind)).ms / part.ms
    much = "all" if share > 0.995 else percent(share)
    more = f", {much} of that in {kind}" if what in ("layer", "line") and share > HIGH_GAIN else ""
    sizes = input_sizes(run, computing.top(ops)) if what == "op" else ""
    bound = _bound(run, np.isin(computing.op, np.flatnonzero(ops)))
    known = next((found for one in _MECHANISMS if (found := one(run, ops))), _Mechanism(NO_FAULT))
    return computing.advise(
        f"{name} takes {part}{computing.of_device}{f', on {sizes}' if sizes else ''}{more}{bound and f', {bound}'}. {known.why}",
        ops,
        Fix(known.fix),
        known.won * part.ms,
        **evidence,
    )


class _Mechanism(NamedTuple):
    """Why something takes long."""

    why: str
    fix: str = ""
    won: float = 0.0
    """Of its time what the fix wins; 0 where nobody knows."""


def _one_hot(run: Run, ops: Bool) -> _Mechanism | None:
    """The costliest op, or the one that it is the gradient of, is a product with one-hot rows."""
    traced, computing = run.graph, run.computing
    row, kind = int(traced.of_row[computing.top(ops)]), computing.types[computing.top(ops)]
    read = [traced.behind(row, slot) for slot in (0, 1)] if row >= 0 and traced.type[row] in PRODUCTS else []
    if not any(one >= 0 and traced.type[one] == "OneHot" for one in read):
        return None
    return _Mechanism(
        "Its product with one-hot rows only picks rows of the other factor.",
        "Pick the rows: a keras.layers.Embedding of the numbers in place of one_hot and a Dense without bias, or "
        "tf.gather(weights, ids) in place of the product.",
        computing.part(ops & (computing.types == kind)).ms / computing.part(ops).ms,
    )


_PICKS = ("StridedSlice", "Slice", "GatherV2")
_LOOKS = ("Shape", "ShapeN", "Size", "Rank")
KEPT = 0.5


def _thrown_away(run: Run, ops: Bool) -> _Mechanism | None:
    """All that reads the results of the costliest op, or of the one that it is the gradient of, picks few of them."""
    traced, row = run.graph, int(run.graph.of_row[run.computing.top(ops)])
    if row < 0 or (traced.type[row] not in PRODUCTS and "Conv" not in traced.type[row]):
        return None
    for _ in range(MOST_STEPS):
        readers = [one for one in traced.readers([row]) if traced.type[one] not in _LOOKS]
        if len(readers) != 1:
            return None
        (row,) = readers
        if traced.type[row] in _PICKS:
            break
    read, made = ((*of(row), None)[0] or (0,) for of in (traced.input_shapes, traced.output_shapes))
    kept = prod(map(abs, made)) / prod(map(abs, read)) if min(map(abs, (*read, *made))) else 1.0
    if traced.type[row] not in _PICKS or kept > KEPT or read[-1] != made[-1]:  # along the last axis all is needed
        return None
    return _Mechanism(
        f"{percent(1 - kept)} of its results are thrown away by a {traced.type[row]} behind it.",
        "Pick first, and compute that alone: the same slice, such as x[:, -1], in front of it.",
        1 - kept,
    )


def _pairs(run: Run, ops: Bool) -> _Mechanism | None:
    """An op makes many times the numbers that it reads, by broadcasting."""
    traced, batch = run.graph, batch_size_of(run.results, 0) or 0

    def most(shapes: list[tuple[int, ...] | None]) -> int:
        return max((prod(batch if size < 0 else size for size in shape or (0,)) for shape in shapes), default=0)

    row, kinds = traced.row.to_numpy(np.int64), run.computing.types
    for op in np.flatnonzero(ops & run.computing.matter & np.isin(kinds, ("Sub", "Mul", "SquaredDifference"))).tolist():
        made, read = most(traced.output_shapes(row[op])), most(traced.input_shapes(row[op]))
        if made >= MANY_TIMES * read > 0:
            return _Mechanism(
                f"{kinds[op]}{behind(op_line(run, op))} makes {amount(made)} numbers of {amount(read)}: where squares or "
                "products of all pairs are summed up, tf.matmul and tf.einsum need none of them."
            )
    return None


MANY_TIMES = 8


def _collected(run: Run, ops: Bool) -> _Mechanism | None:
    """It puts together what a loop made one by one."""
    kinds = run.computing.types
    is_list = ops & np.array([kind.startswith("TensorList") for kind in kinds.tolist()], np.bool_)
    if run.computing.part(is_list).ms <= MOST * run.computing.part(ops).ms:
        return None
    return _Mechanism(
        "That puts together what a loop, as of tf.map_fn, makes one by one: ops on the whole batch, as "
        "tf.vectorized_map has them, need neither."
    )


def _flattened(run: Run, ops: Bool) -> _Mechanism | None:
    """Most of the weights that the optimizer, or the product itself, works on read flattened images."""
    traced, variables = run.graph, run.source_map.variables
    shapes = [parse_shapes(text)[0] or (0,) for text in variables["shape"].tolist()]
    n_weights = np.array([prod(shape) for shape in shapes]) * variables["trainable"].astype(bool).to_numpy()
    largest, top = int(n_weights.argmax()) if len(n_weights) else -1, run.computing.top(ops)
    if largest < 0 or n_weights[largest] <= MOST * n_weights.sum():
        return None
    for row in np.flatnonzero((traced.type == "MatMul").to_numpy()).tolist():
        flat = traced.source(row, 0)
        read = traced.input_shapes(flat) if flat >= 0 and traced.type[flat] == "Reshape" else []
        images = (*read, None)[0] or ()
        is_of_it = len(images) > 2 and traced.variable(traced.behind(row, 1)) == largest
        if is_of_it and (run.results.layers.op_phase[top] == OPTIMIZER or traced.of_row[top] == row):
            return _Mechanism(
                f"{amount(n_weights[largest])} of {amount(n_weights.sum())} weights are "
                f"{variables['name'].iloc[largest]}, which reads flattened images "
                f"({'x'.join(map(str, images[1:]))}): a pooling or fewer channels before Flatten leaves fewer, in another model."
            )
    return None


def _padded(run: Run, ops: Bool) -> _Mechanism | None:
    """Most of it may work on what is no more than padding."""
    length, traced = masked_length(run), run.graph
    if not length:
        return None
    shapes = {row: [*traced.input_shapes(row), *traced.output_shapes(row)] for row in set(traced.row[ops].tolist())}
    rows = [row for row, sizes in shapes.items() if any(length in (one or ())[1:] for one in sizes)]
    in_loop = np.array(["/body/_" in name for name in run.results.op_shares.name], np.bool_)  # over the places
    of_places = ops & (np.isin(traced.row, rows) | in_loop)
    ms, of_places_ms = run.computing.part(ops).ms, run.computing.part(of_places).ms
    return _Mechanism(PADDED.format(f"{length:,}")) if of_places_ms > MOST * ms else None


def _distributed(run: Run, ops: Bool) -> _Mechanism | None:
    """A layer runs once for each time step what could run for all at once."""
    layers = run.results.layers
    entry = layers.entries.iloc[int(layers.op_entry[run.computing.top(ops)])]
    return _Mechanism(NO_TIME_DISTRIBUTED) if entry["class_name"] == "TimeDistributed" else None


_MECHANISMS = (_one_hot, _thrown_away, _pairs, _collected, _flattened, _distributed, _padded)


def _unnamed(run: Run) -> Iterator[Advice]:
    """A kind of kernel of which no op is known."""
    computing = run.computing
    own = np.flatnonzero(computing.op < 0)
    if not len(own) or not run.steps.device_computes:
        return
    names, code = np.unique(run.trace.name_id[computing.event[own]], return_inverse=True)
    ms = np.bincount(code, computing.ms[own])
    part, name = run.steps.part("kernel", float(ms.max())), run.trace.strings[int(names[ms.argmax()])]
    if part.ratio > HIGH_GAIN:
        bound = _bound(run, np.isin(np.arange(len(computing.op)), own[code == ms.argmax()]))
        yield run.advise(
            f"The kernel {name[:80]} takes {part}{computing.of_device}{bound and f', {bound}'}. {NO_FAULT}",
            part,
            Fix(),
            ops=(name,),
            gain=0.0,
            claim=Claim(run.trace.name_id[run.results.attribution.event] == names[ms.argmax()]),
            kernel=name,
        )


def _bound(run: Run, chosen: Bool) -> str:
    """What bounds most of the time of some rows on a GPU, in words; "" where nothing tells."""
    computing, frame = run.computing, run.results.kernels.frame
    if not chosen.any() or frame.empty:
        return ""
    event, ms = computing.event[chosen], computing.ms[chosen]
    blocks = np.append(kernel_blocks(frame), 0)[computing.event_kernel[event]]
    average_us = float(run.trace.duration_ps[event].mean()) / PS_PER_US
    roofline = run.results.roofline
    bounds = dict(zip(roofline.units.tolist(), roofline.frame["bound"].tolist(), strict=True))
    of_row = np.array([bounds.get(unit, "") for unit in run.results.event_unit[event].tolist()], np.str_)

    def is_most(rows: Bool) -> bool:
        return float(ms[rows].sum()) > MOST * float(ms.sum())

    unit = run.results.kernel_units[event].astype(np.int64)
    most = int(np.bincount(unit, ms).argmax())
    on = f", most of it on {UNIT_TEXTS[most]} units" if UNIT_TEXTS.get(most) and is_most(unit == most) else ""
    if average_us < LAUNCH_US:
        return f"in kernels of {number(average_us)} µs on average, as short as a launch{on}"
    if is_most((blocks > 0) & (blocks < multiprocessors(run))):
        return f"most of it in fewer blocks than the {run.steps.device} has multiprocessors{on}"
    bound = next((one for one in ("memory", "compute") if is_most(of_row == one)), "")
    return f"bound by {bound}{on}" if bound else on.removeprefix(", ")
