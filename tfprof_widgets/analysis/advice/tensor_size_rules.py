"""Shapes of what ops read and make -> advice on results of which few are used, and on all pairs made by broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..base.wording import amount, percent
from ..failure.batch_estimate import batch_size_of
from .advice import HIGH_GAIN, MEDIUM_GAIN, Advice
from .fix import Fix
from .spent_ops import SpentOps
from .traced_ops import PRODUCTS

if TYPE_CHECKING:
    from .run import Run
    from .traced_ops import TracedOps

_PICKS = ("StridedSlice", "Slice", "GatherV2")
"""Ops that give on a part of what they read."""
FEW_USED = 0.5
"""Of the numbers that are made: where more are used, little is left to save."""
MANY_TIMES = 8
"""An op makes at least so many times the numbers that it reads, where they are called all pairs."""
_MOST_STEPS = 16
HALF = 0.5
"""Of the time of ops on all pairs: a product that makes the same takes less than that, seen."""


def unused_results(run: Run) -> Iterator[Advice]:
    """Ops compute numbers of which a slice right behind them throws most away, as the logits of all but the last position.

    Gain: of the share of the step time of these ops, with their gradients, that of what nobody uses.
    """
    traced = run.traced_ops
    if traced is None or not run.steps.mean_ms or run.eager.is_hot:
        return
    readers = _n_readers(traced)
    kept = {row: _kept_ratio(traced, row) for row in traced.ran(*_PICKS)}
    kept = {row: ratio for row, ratio in kept.items() if 0 < ratio <= FEW_USED}
    made = {row: _made_for(traced, row, readers) for row in kept}
    found = {row: SpentOps(run, "unused", traced.runs([row, *rows])) for row, rows in made.items() if rows}
    row = max(found, key=lambda one: found[one].part.ratio * (1 - kept[one]), default=-1)
    if row < 0 or found[row].part.ratio * (1 - kept[row]) < MEDIUM_GAIN:
        return
    ops = found[row]
    yield ops.advise(
        "unused_results",
        f"A slice keeps {percent(kept[row])} of what {ops.type}{ops.where} makes: with its gradient that takes {ops.part}.",
        fix=Fix(
            "Slice first, and compute for what is used alone, such as the last position: dense(x[:, -1]), not dense(x)[:, -1]."
        ),
        gain_ratio=ops.part.ratio * (1 - kept[row]),
        kept_ratio=kept[row],
    )


def _n_readers(traced: TracedOps) -> dict[int, int]:
    """How many ops of the forward pass read what an op makes, those that ask for its shape left out."""
    edges, ops = traced.source_map.edges, traced.source_map.ops
    reader = edges["op"].to_numpy()
    is_forward = ~ops["op"].str.contains("gradient_tape/", regex=False).to_numpy(bool)
    counts = is_forward & (ops["type"] != "Shape").to_numpy()
    chosen = edges[(edges["source"] >= 0) & (edges["source_output"] >= 0) & counts[reader]]
    found: dict[int, int] = chosen.groupby("source")["op"].nunique().to_dict()
    return found


def _kept_ratio(traced: TracedOps, row: int) -> float:
    """Of what an op reads the share that it gives on; 0 where it is not known."""
    before, after = next(iter(traced.input_shapes(row)), None), next(iter(traced.output_shapes(row)), None)
    if not before or after is None or sum(size < 0 for size in before) != sum(size < 0 for size in after):
        return 0.0
    return prod(size for size in after if size >= 0) / max(prod(size for size in before if size >= 0), 1)


def _made_for(traced: TracedOps, row: int, readers: dict[int, int]) -> list[int]:
    """The ops that made what an op picks from for no other, up to a product with what does not depend on the position, such as
    weights; none where there is no such product: what else makes of all positions one is not known."""
    found: list[int] = []
    for _ in range(_MOST_STEPS):
        row = traced.source(row, 0)
        if row < 0 or readers.get(row) != 1:
            break
        found.append(row)
        if traced.type[row] in PRODUCTS:
            return found if traced.variable(traced.behind(row, 1)) >= 0 else []
        made, read = (next(iter(shapes), None) for shapes in (traced.output_shapes(row), traced.input_shapes(row)))
        if made is None or read is None or abs(prod(made)) != abs(prod(read)):
            break
    return []


def all_pairs(run: Run) -> Iterator[Advice]:
    """An op reads two tensors and makes all pairs of their numbers, many times as many, for what follows to sum up.

    Gain: half of the share of the step time of ops on tensors of that shape.
    """
    traced = run.traced_ops
    if traced is None or not run.steps.mean_ms or run.eager.is_hot or run.is_compiled or run.compiles_functions:
        return
    batch = batch_size_of(run.facts, 0)
    own = traced.row.to_numpy()
    rows = np.unique(own[(own >= 0) & run.side.matter]).tolist()
    shapes = {row: traced.output_shapes(row)[0] or () for row in rows if _makes_pairs(traced, row, batch)}
    for shape in set(shapes.values()):
        makers = [row for row in shapes if shapes[row] == shape]
        on_pairs = _working_on(traced, makers, shape)
        ops = SpentOps(run, "pairs", traced.runs(makers) | np.isin(own, on_pairs))
        if ops.part.ratio < HIGH_GAIN:
            continue
        first = SpentOps(run, "pairs", traced.runs(makers))
        n_made, n_read = _n_numbers(shape, batch), _n_read(traced, makers[0], batch)
        yield ops.advise(
            "all_pairs",
            f"{traced.type[makers[0]]}{first.where} makes {amount(n_made)} numbers of all pairs of {amount(n_read)}: "
            f"{ops.part} with what works on them.",
            fix=Fix(
                "Make squared distances of all pairs by a product, |a - b|^2 = |a|^2 - 2 a.b + |b|^2 (tf.matmul "
                "with transpose_b=True); what is no distance by tf.einsum, or sum up before the broadcast."
            ),
            gain_ratio=ops.part.ratio * HALF,
            numbers_made=n_made,
            numbers_read=n_read,
            estimate="half of their time",
        )


def _working_on(traced: TracedOps, makers: list[int], shape: tuple[int, ...]) -> list[int]:
    """What reads what some ops make, and so on, as long as it reads or makes tensors of one shape."""
    found, newest = {*makers}, makers
    while newest:  # one turn per op along the longest path
        newest = [row for row in traced.readers(newest) if row not in found and traced.has_shape(row, shape)]
        found.update(newest)
    return [*found]


def _makes_pairs(traced: TracedOps, row: int, batch: int | None) -> bool:
    """Whether an op broadcasts what it reads to many times as many numbers."""
    read, made = traced.input_shapes(row), traced.output_shapes(row)
    if traced.type[row] in PRODUCTS or len(read) != 2 or len(made) != 1 or None in (*read, *made):
        return False
    n_read = _n_read(traced, row, batch)
    return 0 < MANY_TIMES * n_read <= _n_numbers(made[0], batch) and _are_broadcast(read, made[0] or ())


def _n_read(traced: TracedOps, row: int, batch: int | None) -> int:
    """How many numbers the larger of the tensors has that an op reads."""
    return max(_n_numbers(one, batch) for one in traced.input_shapes(row))


def _n_numbers(shape: tuple[int, ...] | None, batch: int | None) -> int:
    """How many numbers such a tensor has, taking what is not known of it for the batch; 0 where that is not known either."""
    return prod((batch or 0) if size < 0 else size for size in shape or (0,))


def _are_broadcast(shapes: list[tuple[int, ...] | None], made: tuple[int, ...]) -> bool:
    """Whether such tensors broadcast to another."""
    padded = [(1,) * (len(made) - len(shape or ())) + (shape or ()) for shape in shapes]
    sizes = list(zip(*padded, made, strict=True)) if all(len(one) == len(made) for one in padded) else [(2, 2, 1)]
    return all({*read} <= {1, size} for *read, size in sizes)
