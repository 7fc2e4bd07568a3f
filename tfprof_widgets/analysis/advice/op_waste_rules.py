"""Ops whose work could be left out -> advice: float64, float16 on CPUs, one-hot products, text, checks, turned images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..base.compute_units import ComputeUnit
from ..base.units import US_PER_MS
from ..base.wording import amount, plural
from .advice import MEDIUM_GAIN, Advice, advise
from .fix import Fix
from .spent_ops import SpentOps, costliest, op_line
from .traced_ops import PRODUCTS

if TYPE_CHECKING:
    from ...trace.trace import Bool
    from .run import Run
    from .traced_ops import TracedOps

HALF = 0.5
"""Of the time of an op in 64 bits: numbers of half the size are half as much to move, and twice as many to a vector."""
_CHECKS = ("CheckNumerics", "DebugNumericSummary", "DebugIdentity")
_SCHEDULED_MS = 0.002
"""What an op of next to no work costs a step beside its own time, measured: others run beside it."""


def double_precision(run: Run) -> Iterator[Advice]:
    """Most of what is computed is in 64 bits.

    Gain: half of the share of the step time of such ops.
    """
    steps = run.steps
    if not steps.mean_ms or run.eager.is_hot:
        return
    ops = SpentOps(run, "double", _ops_of_type(run, "float64") | _ops_on(run, ComputeUnit.VECTOR_64))
    if ops.part.ratio * HALF < MEDIUM_GAIN:
        return
    n_variables = len(_double_variables(run))
    held = f", as {plural(n_variables, 'weight')} {'is' if n_variables == 1 else 'are'}" if n_variables else ""
    yield ops.advise(
        "double_precision",
        f"Ops in float64 take {ops.part}{held}: {ops.type}{ops.where} above all.",
        fix=Fix(
            'Train in 32 bits, which changes the precision: keras.backend.set_floatx("float32") before the model is '
            "made, and data, "
            "constants and variables as float32 (astype(np.float32)), as NumPy makes float64 of what has no type."
        ),
        gain_ratio=ops.part.ratio * HALF,
        n_double_variables=n_variables,
        estimate="in 32 bits half of their time",
    )


def half_precision(run: Run) -> Iterator[Advice]:
    """Much of what a CPU computes is in float16, which it converts to float32 and back; bfloat16 some compute as it is.

    Gain: half of the share of the step time of such ops.
    """
    steps = run.steps
    if not steps.mean_ms or steps.has_device or run.eager.is_hot:
        return
    ops = SpentOps(run, "half", _ops_of_type(run, "float16"))
    if ops.part.ratio * HALF < MEDIUM_GAIN:
        return
    yield ops.advise(
        "half_precision",
        f"Ops in float16 take {ops.part}, {ops.type}{ops.where} above all: most CPUs convert each number to float32 and back.",
        fix=Fix(
            "Compute in float32 on this CPU, before the model is built, which changes the precision: mixed_float16 "
            "is for GPUs. A CPU that computes in bfloat16 may take mixed_bfloat16.",
            'import keras\n\nkeras.mixed_precision.set_global_policy("float32")',
        ),
        gain_ratio=ops.part.ratio * HALF,
        estimate="without the conversions half of their time",
    )


def _ops_of_type(run: Run, dtype: str) -> Bool:
    """The framework ops that make numbers of one type. Those that nothing is noted of, as such that the runtime made of others,
    count where all weights are of that type."""
    traced = run.traced_ops
    if traced is None:
        return np.zeros(len(run.results.op_shares.name), np.bool_)
    told = traced.dtype.reindex(traced.row).fillna("").to_numpy(object)
    variables = traced.source_map.variables
    weights = variables["dtype"][variables["trainable"].astype(bool)]
    found: Bool = (told == dtype) | (told == "") & bool(len(weights) and (weights == dtype).all())
    return found & ~run.results.op_scopes.is_input


def _ops_on(run: Run, unit: ComputeUnit) -> Bool:
    """The framework ops most of whose kernel time is on one unit."""
    unit_ns = run.results.op_sums.unit_ns
    found: Bool = 2 * unit_ns[:, unit] > unit_ns.sum(axis=1)
    return found & ~run.results.op_scopes.is_input


def _double_variables(run: Run) -> list[str]:
    source_map = run.results.source_map
    if source_map is None:
        return []
    variables = source_map.variables
    found: list[str] = variables["name"][
        variables["trainable"].astype(bool) & (variables["dtype"] == "float64")
    ].tolist()
    return found


def one_hot_product(run: Run) -> Iterator[Advice]:
    """A product with one-hot rows, which picks rows of the other matrix.

    Gain: the share of the step time of making them, of the product and of its gradients: picking rows takes next to none of it.
    """
    steps, traced = run.steps, run.traced_ops
    if traced is None or not steps.mean_ms or run.eager.is_hot:
        return
    products, rows = _one_hot_products(traced)
    if not products:
        return
    ops = SpentOps(run, "product", traced.runs([*products, *rows]))
    if ops.part.ratio < MEDIUM_GAIN:
        return
    depth = ((traced.output_shapes(rows[0]) or [None])[0] or (0,))[-1]
    where = SpentOps(run, "product", traced.runs(products)).where
    yield ops.advise(
        "one_hot_product",
        f"The product of one-hot rows{f' of {depth:,}' if depth > 0 else ''} with weights{where} takes, with its gradient, "
        f"{ops.part}: it only picks rows of them.",
        fix=Fix(
            "Pick the rows: a keras.layers.Embedding of the numbers in place of one_hot and a Dense without bias, "
            "or tf.gather(weights, ids) in place of the product."
        ),
        gain_ratio=ops.part.ratio,
        depth=depth,
    )


def _one_hot_products(traced: TracedOps) -> tuple[list[int], list[int]]:
    """Products of which an operand is one-hot, and what makes these operands."""
    products, rows = [], []
    for row in traced.ran(*PRODUCTS):
        for slot in (0, 1):
            source = traced.behind(row, slot)
            while source >= 0 and traced.type[source] == "Transpose":  # an earlier row each time
                source = traced.behind(source, 0)
            if source >= 0 and traced.type[source] == "OneHot":
                products.append(row)
                rows.append(source)
    return products, rows


def text_of_numbers(run: Run) -> Iterator[Advice]:
    """Each step makes text of numbers, as printing within a graph does.

    Gain: the share of the step time of making and writing it, on the host whatever computes.
    """
    traced, steps = run.traced_ops, run.steps
    if traced is None or not steps.mean_ms:
        return
    made = traced.dtype[traced.dtype == "string"].index
    of_numbers = [row for row in made.tolist() if traced.dtype.get(traced.source(row, 0), "string") != "string"]
    chosen = np.isin(traced.row, [*of_numbers, *traced.readers(of_numbers)]) & ~run.results.op_scopes.is_input
    spent_ms = float(run.results.op_totals.self_us[chosen].sum()) / US_PER_MS
    part = steps.part("text", spent_ms / len(run.results.steps.frame) if len(run.results.steps.frame) else 0.0)
    if part.ratio < MEDIUM_GAIN:
        return
    names = costliest(run, chosen)
    top = int(np.where(chosen, run.results.op_totals.self_us, -1.0).argmax())
    place = op_line(run, top)
    yield advise(
        "text_of_numbers",
        f"{run.results.op_shares.type[top]}{f' ({place})' if place else ''} makes text of numbers in each step, as tf.print "
        f"does: {part}.",
        evidence=part.evidence | ({"line": place} if place else {}),
        fix=Fix(
            "Print few of the numbers (tf.print with summarize=3) or a sum of them, not all as with -1; or print "
            "from Python every hundredth step, outside of the graph."
        ),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=names),
        gain_ratio=part.ratio,
    )


def number_checks(run: Run) -> Iterator[Advice]:
    """Each op's result is checked for what is no number.

    Gain: the share of the step time of the checks, and of running so many more ops.
    """
    steps = run.steps
    kinds = run.results.op_scopes.type
    chosen = np.array([kind.startswith(_CHECKS) for kind in kinds], np.bool_)
    if not steps.mean_ms or not chosen.any():
        return
    ops = SpentOps(run, "check", chosen)
    n = ops.n_per_step
    part = steps.part("check", min(ops.part.ms + n * _SCHEDULED_MS, steps.mean_ms))
    if part.ratio < MEDIUM_GAIN:
        return
    yield advise(
        "number_checks",
        f"{amount(n)} of {amount(run.work.n_ops)} ops a step check for what is no number (NaN): about {part}.",
        evidence=part.evidence
        | {
            "checks_per_step": n,
            "ops_per_step": run.work.n_ops,
            "estimate": "the checks, and what the runtime needs for any op; ops between them can be fused again, too",
        },
        fix=Fix(
            "Leave out tf.debugging.enable_check_numerics() and enable_dump_debug_info(), or end it before the "
            "model is built. The callback keras.callbacks.TerminateOnNaN stops a fit where the loss is no number.",
            "import tensorflow as tf\n\ntf.debugging.disable_check_numerics()",
        ),
        selection=steps.usual(steps.time_ms, view="op_table", op_names=costliest(run, ops.own)),
        gain_ratio=part.ratio,
    )


def turned_images(run: Run) -> Iterator[Advice]:
    """Images are transposed between channels first and channels last by ops of the program, around convolutions.

    Gain: the share of the step time of such transpositions; XLA and GPUs that do so by themselves are `layout_conversion`'s.
    """
    steps, traced = run.steps, run.traced_ops
    if traced is None or not steps.mean_ms or run.eager.is_hot:
        return
    turning = [row for row in traced.ran("Transpose") if _moves_channels(traced, row)]
    if len(turning) < 2 or not _meets_convolution(traced, set(turning)):
        return
    ops = SpentOps(run, "transpose", traced.runs(turning))
    if ops.part.ratio < MEDIUM_GAIN:
        return
    yield ops.advise(
        "turned_images",
        f"{amount(ops.n_per_step)} transpositions a step{ops.where} turn images between channels first and channels last around "
        f"convolutions: {ops.part}.",
        fix=Fix(
            "Have images as channels last from the input on: turn the data once, before the training (tf.transpose(x, "
            "[0, 2, 3, 1])), "
            'and no image in the model; layers take data_format="channels_last".'
        ),
        gain_ratio=ops.part.ratio,
        transposes_per_step=ops.n_per_step,
        estimate="the transpositions; ops on both sides of one can be fused without it",
    )


def _moves_channels(traced: TracedOps, row: int) -> bool:
    """Whether a transposition moves the last dimension of images to the second place, or back."""
    before = next(iter(traced.input_shapes(row)), None)
    after = next(iter(traced.output_shapes(row)), None)
    if not before or not after or len(before) not in (3, 4, 5) or before == after:
        return False
    first, last = before[:1] + before[-1:] + before[1:-1], before[:1] + before[2:] + before[1:2]
    return after in (first, last)


def _meets_convolution(traced: TracedOps, turning: set[int]) -> bool:
    """Whether a convolution reads what one of them makes."""
    kinds = traced.type[traced.type.str.contains("Conv[23]D|MaxPool|AvgPool", case=False)]
    ran = set(np.unique(traced.row).tolist())
    return any(traced.behind(row, 0) in turning for row in kinds.index.tolist() if row in ran)
