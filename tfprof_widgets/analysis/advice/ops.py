"""Rules on single kinds of ops: work that could be left out, and forms that run faster."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...trace.arrays import Bool
from ...trace.source_map import SourceMap, parse_shapes
from ..card import (
    COMPUTE,
    IDLE,
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    behind,
    line_text,
    noted_place,
    one_line,
    only_call,
    parsed,
    place_of,
    rule,
)
from ..common import PS_PER_MS, amount, number, percent, plural
from ..grouping import ComputeUnit
from ..names import sent_op
from ..ops.kernels import is_eligible_type
from ..steps.owners import CATEGORIES
from .causes import TracedOps
from .computing import costliest, op_line
from .loops import user_frames
from .run import Run, runs_functions

_CONVERSION = re.compile(r"nchw_?to_?nhwc|nhwc_?to_?nchw|layoutoptimizer")
"""Kernels of cuDNN and TensorFlow, and transpositions that TensorFlow's layout optimizer adds, in small letters."""
_CONVOLVES = re.compile(r".*Conv[23]D.*|.*(Max|Avg)_?Pool.*", re.IGNORECASE)
FEW_16BIT = 0.10
"""Up to this share of the compute time in 16 bits, mixed precision is not in use."""


@rule("Keep images in one layout", claims=COMPUTE)
def layout_conversion(run: Run) -> Iterator[Advice]:
    """Images are converted between channels first and last around convolutions, by kernels that only do that or by ops of the
    program; gain: the share of these."""
    kernels, computing = run.results.kernels.frame, run.computing
    chosen = _converts(kernels["name"].tolist()) | _converts(kernels["op_name"].tolist())
    turning = _turning(run)
    if not chosen.any() and not turning.any():
        return
    rows = computing.rows_of_kernels(chosen) | computing.rows_of(turning)
    part, claim = run.free("conversion", "layout_conversion", rows=rows)
    if part.ratio < MEDIUM_GAIN:
        return
    place = op_line(run, computing.top(turning)) if turning.any() else ""
    yield run.advise(
        f"Converting images between channels first and channels last{behind(place)} takes {part}.",
        part,
        _ONE_LAYOUT[bool(turning.any()) or run.results.steps.compute_16bit_ratio >= FEW_16BIT],
        view="op_table" if turning.any() else "kernel_table",
        ops=costliest(run, turning) or run.of_kernels(kernels[chosen]),
        claim=claim,
        line=place,
    )


_ONE_LAYOUT = {
    True: Fix(
        "Have images as channels last from the input on: turn the data once, before the training "
        '(tf.transpose(x, [0, 2, 3, 1])), and no image in the model; layers and losses take data_format="channels_last".'
    ),
    False: Fix(
        "Tensor Cores want channels last, as in Keras, and 16 bits (the policy mixed_float16, which changes the precision); in "
        "32 bits without them GPUs want channels first, from the input on: data, layers and losses alike."
    ),
}


def _turning(run: Run) -> Bool:
    """The framework ops of the program that turn images, and their gradients; none where nothing convolves."""
    traced, computing = run.graph, run.computing
    if not computing.of_type(_CONVOLVES).any():
        return np.zeros(len(traced.row), np.bool_)
    turning = traced.runs([row for row in traced.ran("Transpose") if _moves_channels(traced, row)])
    return turning & (computing.op_ms > 0)


def _moves_channels(traced: TracedOps, row: int) -> bool:
    """Whether a transposition moves the last dimension of images to the second place, or back."""
    before, after = ((*of(row), None)[0] or () for of in (traced.input_shapes, traced.output_shapes))
    first, last = before[:1] + before[-1:] + before[1:-1], before[:1] + before[2:] + before[1:2]
    return len(before) in (4, 5) and before != after and after in (first, last)


def _converts(names: list[str]) -> Bool:
    """Which names say so, of which each is looked at once."""
    known = {name: _CONVERSION.search(name.lower()) is not None for name in dict.fromkeys(names)}
    return np.fromiter(map(known.__getitem__, names), np.bool_, len(names))


FEWEST = 2
"""Filters of 3 x 3 in place of a large one."""
LEAST_SAVED, CHANGES_MODEL = 1 / 6, 0.1
"""Of a convolution's work, and of a step: another model that wins less is no advice."""
LARGE_FILTER = 5
"""Filters of 3 x 3 are the smallest that see a neighbourhood; from 5 x 5 on a stack of them sees as much and costs less."""
OUTSIDE_SHARE = 0.20
"""From this share of the op time on, heavy ops outside of the model's layers are worth a look: a loss takes a few percent."""
_HEAVY = re.compile(
    r"_?(?:Fused|Mkl|Native|Depthwise)*(?:Conv|MatMul|BatchMatMul|Einsum|FFT|IFFT|RFFT|Sort|TopK|Unique|NonMaxSuppression|Resize"
    r"|Svd|Qr|MatrixInverse|Cholesky|ExtractImagePatches)\w*"
)
_COSTLY = {
    r"(Eager)?PyFunc(Stateless)?": (
        "Python inside the graph {python} takes {part}, under the interpreter's lock.",
        Fix("Write it in ops of TensorFlow or keras.ops instead of tf.py_function or tf.numpy_function."),
    ),
    "StringFormat|PrintV2": (
        "{type}{where} makes text of numbers in each step, as tf.print does: {part}.",
        Fix(
            "Print few of the numbers (tf.print with summarize=3) or a sum of them, not all as with -1; or print from Python "
            "every hundredth step, outside of the graph."
        ),
    ),
}
"""By types of ops what a card says of them, and what to do."""


@rule("Replace a costly op", claims=(*COMPUTE, *IDLE, "copy_to_device", "output"), needs=runs_functions)
def inefficient_op(run: Run) -> Iterator[Advice]:
    """Ops for which something cheaper is known: large filters, Python and printing in the graph, heavy work in loss or
    metrics; gain: their share of the step time times what the alternative saves."""
    yield from _large_filters(run)
    for kinds, (title, fix) in _COSTLY.items():
        yield from _of_types(run, "inefficient_op", kinds, title, fix)
    yield from _outside_layers(run)


def _filter_sizes(run: Run) -> dict[str, tuple[int, int]]:
    """Height and width of the filters of each layer that has one convolution, by its variable."""
    variables = run.source_map.variables
    found: dict[str, list[tuple[int, int]]] = {}
    for layer, text in zip(variables["layer"], variables["shape"], strict=True):
        shape = next(iter(parse_shapes(str(text))), None) or ()
        if layer and len(shape) == 4 and min(shape) > 0:
            found.setdefault(str(layer), []).append(shape[:2])
    return {layer: sizes[0] for layer, sizes in found.items() if len(sizes) == 1}


def _large_filters(run: Run) -> Iterator[Advice]:
    """A filter of K x K needs K*K times channels in times channels out a point; two of 3 x 3 nine times those of each."""
    layers, computing = run.results.layers, run.computing
    is_conv = np.array(["conv" in kind.lower() for kind in computing.types.tolist()], np.bool_)
    of_size: dict[int, dict[str, _Filter]] = {}
    for layer, sides in _filter_sizes(run).items():
        if min(sides) >= LARGE_FILTER and min(sides) % 2:
            one = _filter(run, is_conv & (layers.entries["layer"] == layer).to_numpy()[layers.op_entry], min(sides))
            if one is not None and one.left() <= 1 - LEAST_SAVED:
                of_size.setdefault(min(sides), {})[layer] = one
    for size, filters in of_size.items():  # a handful
        chosen = np.any([one.ops for one in filters.values()], axis=0)
        part, top = computing.part(chosen), computing.top(chosen)
        saved_ms = sum(computing.part(one.ops).ms * (1 - one.left()) for one in filters.values())
        if saved_ms < CHANGES_MODEL * run.steps.mean_ms:
            continue
        layer = str(layers.entries["layer"].iloc[layers.op_entry[top]])
        n, one = (size - 1) // 2, filters[layer]
        farther = f", the {n} that see as far {percent(one.left(n))}" if n > FEWEST else ", and see as far"
        place = noted_place(run.source_map, "layers", "layer", layer)
        where, is_one = behind(place), len(filters) == 1
        each = f" of {layer}{where} takes" if is_one else f"s of {len(filters)} layers, {layer}{where} above all, take"
        yield computing.advise(
            f"The {size} x {size} convolution{each} {part}: two of 3 x 3 need {percent(one.left())} of the work{farther}.",
            chosen,
            _smaller_filters(one_line(layer), one, is_depthwise="Depthwise" in computing.types[top]),
            saved_ms,
            filter_px=size,
            layer=layer,
            line=place,
        )


@dataclass(frozen=True)
class _Filter:
    """A layer's convolution with a large filter."""

    ops: Bool
    size: int
    more_out: float = 1.0
    """How many times as many channels go out as come in, where the graph tells."""
    is_strided: bool = False

    def left(self, n: int = FEWEST) -> float:
        """The share of its work that several of 3 x 3 need, the first with its strides and all its channels out."""
        return 9 * (1 + (n - 1) * self.more_out) / self.size**2


def _filter(run: Run, ops: Bool, size: int) -> _Filter | None:
    """What is known of the convolution that some ops and gradients are of; None of one that upsamples."""
    traced = run.graph
    for row in np.unique(traced.of_row[ops & (traced.of_row >= 0)]).tolist():
        if traced.type[row] == "Conv2DBackpropInput":  # its own gradient is a Conv2D, which comes later
            return None
        shapes = [*traced.input_shapes(row), *traced.output_shapes(row)] if traced.type[row] == "Conv2D" else []
        if len(shapes) == 3 and all(shape and len(shape) == 4 for shape in shapes) and min(shapes[1] or (0,)) > 0:
            read, (_, _, n_in, n_out), made = (shape or () for shape in shapes)
            return _Filter(ops, size, n_out / n_in, read[2] >= 2 * made[2] > 0)  # widths, or heights of channels first
    return _Filter(ops, size)


def _smaller_filters(layer: str, one: _Filter, *, is_depthwise: bool) -> Fix:
    size, n = one.size, (one.size - 1) // 2
    several = f"two {f'to {n} ' if n > FEWEST else ''}"
    kind = "DepthwiseConv2D of 3 x 3" if is_depthwise else "convolutions of 3 x 3 with an activation each"
    strides = ", the first with its strides" if one.is_strided else ""
    separable = "" if is_depthwise else f"; or a SeparableConv2D of {size} x {size}"
    fewer = "" if one.is_strided else "; or have it after a pooling or with strides=2, on a quarter of the points"
    return Fix(
        f'Put {several}{kind}, with padding="same"{strides}, in place of {layer}{separable}{fewer}: another model, which trains '
        "differently."
    )


def _of_types(run: Run, rule: str, kinds: str, title: str, fix: Fix, *, behind_each: bool = False) -> Iterator[Advice]:
    """Ops of some types, on whichever side they run, if asked for with what the runtime takes right behind each."""
    computing, shares, scopes = run.computing, run.results.op_shares, run.results.op_scopes
    is_one = re.compile(kinds).fullmatch
    chosen = np.array([is_one(kind) is not None for kind in scopes.type], np.bool_) & ~scopes.is_input
    if not chosen.any():
        return
    top = int(np.where(chosen, run.results.op_sums.self_us, -1.0).argmax())
    n, place = float(run.work.per_step[chosen[shares.dominant]].sum()), op_line(run, top)
    rows = computing.rows_of(chosen, computing.behind(chosen) if behind_each else None)
    part, claim = run.free("op", rule, rows=rows)
    if part.ratio < MEDIUM_GAIN:
        return
    python = f"in {run.other_thread[0].where}" if run.other_thread else f"({shares.name[top]})"
    told = {"n": amount(n), "n_all": amount(run.work.n_ops), "where": behind(place), "python": python}
    yield run.advise(
        title.format(type=shares.type[top], part=part, **told),
        part,
        fix,
        view="op_table",
        ops=costliest(run, chosen),
        claim=claim,
        line=place,
        estimate="with what the runtime takes right behind each" if behind_each else "",
    )


@rule("Stop checking each op's result", claims=(*COMPUTE, *IDLE), explains=("small_batch",), needs=runs_functions)
def number_checks(run: Run) -> Iterator[Advice]:
    """Each op's result is checked for what is no number; gain: the share of the checks, and of running so many more ops."""
    yield from _of_types(
        run,
        "number_checks",
        r"(CheckNumerics|DebugNumericSummary|DebugIdentity)\w*",
        "{n} of {n_all} ops a step check for what is no number (NaN): about {part}.",
        Fix(
            "Leave out tf.debugging.enable_check_numerics() and enable_dump_debug_info(), or end it before the model is built. "
            "The callback keras.callbacks.TerminateOnNaN stops a fit where the loss is no number.",
            "import tensorflow as tf\n\ntf.debugging.disable_check_numerics()",
        ),
        behind_each=True,
    )


def _outside_layers(run: Run) -> Iterator[Advice]:
    """Convolutions, products and sorting in the loss, metrics whatever they do, where the model has layers of its own."""
    if not run.has_layers:
        return
    layers, types = run.results.layers, run.results.op_scopes.type
    kind = layers.entries["kind"].to_numpy()[layers.op_entry]
    is_heavy = np.array([_HEAVY.fullmatch(one) is not None for one in types], np.bool_)
    in_loss = (kind == "loss") & is_heavy
    # A regulariser's gradient may stand in no scope.
    twins = (kind == "other") & np.isin(types, np.array(types, np.str_)[in_loss])
    computing = run.computing
    ops = (in_loss | twins | (kind == "metrics")) & (computing.op_ms > 0)
    part, amid = computing.with_waits(ops)
    if part.ratio < OUTSIDE_SHARE:
        return
    where = "metrics" if kind[computing.top(ops)] == "metrics" else "loss"
    _, place = computing.place("op", ops)
    call = only_call(run.source_map, "compile", lambda call: any(one.arg == where for one in call.keywords))
    place = ({"line": call.place} if call else {}) | place
    yield computing.advise(
        f"{place['op_type']} in the {where}{behind(place.get('line'))} takes, with its gradient, {part}.",
        ops,
        Fix(
            "Leave it out, or compute it on fewer points, which changes what is trained: smaller filters (two of 1 "
            "x K and K x 1), a coarser grid."
            if where == "loss"
            else "Leave metrics out of compile, and compute them in evaluate, or every hundredth step."
        ),
        part.ms,
        part,
        amid,
        **place,
    )


@rule("Move ops from the host to the device", claims=("host_compute", "copy_to_device", "output"))
def host_fallback(run: Run) -> Iterator[Advice]:
    """Ops of the step run on the CPU while the device waits; gain: that time, with the copies of what they take and make."""
    steps, shares, rows = run.steps, run.results.op_shares, run.results.attribution
    if not steps.has_device or float(steps.category_ms("host_compute").mean()) < MEDIUM_GAIN * steps.mean_ms:
        return
    names = shares.name
    on_device = {name for name, is_one in zip(names, shares.is_device.tolist(), strict=True) if is_one}
    ours = ~shares.is_device & ~run.results.op_scopes.is_input & ~run.results.op_scopes.is_optimizer
    ours &= np.array([name not in on_device for name in names], np.bool_)
    made = {name for name, is_one in zip(names, ours.tolist(), strict=True) if is_one}
    brings = np.array([sent_op(name) in made for name in names], np.bool_)
    is_op = (rows.category == CATEGORIES.index("host_compute")) & np.append(ours, False)[rows.op]
    is_copy = (rows.category == CATEGORIES.index("copy_to_device")) & np.append(brings, False)[rows.op]
    is_copy |= rows.category == CATEGORIES.index("output")
    is_averaged = steps.entry_of[rows.step] >= 0
    told = is_op & is_averaged
    by_op = np.bincount(rows.op[told], rows.time_ps[told] / PS_PER_MS, len(names)) / max(len(steps), 1)
    op_ms = float(by_op.sum())
    copies_ms = float(rows.time_ps[is_copy & is_averaged].sum()) / PS_PER_MS / max(len(steps), 1)
    part = steps.part("host", op_ms + copies_ms)
    if op_ms < MEDIUM_GAIN * steps.mean_ms or not op_ms:
        return
    top, order = int(by_op.argmax()), np.argsort(-by_op, kind="stable")[:5]
    yield run.advise(
        f"{shares.type[top]} ({names[top].rpartition('/')[2]}) and what else runs on the CPU make the {steps.device} wait "
        f"{number(op_ms)} of {number(steps.mean_ms)} ms a step ({percent(part.ratio)} with the copies for it).",
        part,
        _on_device(run, top),
        steps.stretch(
            steps.category_ms("host_compute"),
            "host_compute",
            view="timeline",
            op_names=run.known(*(names[i] for i in order.tolist() if by_op[i] > 0)),
        ),
        claim=Claim(is_op | is_copy),
        op=names[top],
    )


def _on_device(run: Run, op: int) -> Fix:
    """How a framework op comes off the CPU: by the line that put it there, where one did."""
    source_map, device = run.source_map, run.steps.device
    row = int(run.graph.row[op])
    told = "".join(source_map.details["device"][source_map.details["op"] == row].head(1).astype(str))
    if "CPU" not in told:
        return Fix(
            f"It has no kernel of this type and dtype for the {device}, or is placed by hand (tf.device). float32 and int32 have "
            "kernels where float64, strings and int64 have none; tf.debugging.set_log_device_placement(True), before anything "
            "runs, says where each op is placed."
        )
    place, code = _placing_line(source_map, int(source_map.ops["frame"].iloc[row]))
    where = f"{one_line(code)} at {place} places it" if place else "tf.device places it"
    return Fix(
        f'{where} on the CPU: leave that out, or have "/{device}:0" there. Where the {device} has no kernel for an op, place '
        "that op alone, and none beside it."
    )


def _placing_line(source_map: SourceMap, frame: int) -> tuple[str, str]:
    """Place and text of the innermost `with tf.device(...)` of the user's around a frame or its callers; empty without one."""
    for file, line in user_frames(source_map, frame):
        text = str(source_map.files["text"].iloc[file])
        tree = parsed(text)
        heads = [one for one in ast.walk(tree) if isinstance(one, ast.With) and _is_device(one)] if tree else []
        around = [one.lineno for one in heads if one.lineno <= line <= (one.end_lineno or one.lineno)]
        if around:
            code = line_text(text, max(around)).partition("):")[0]
            return place_of(source_map, str(source_map.files["file"].iloc[file]), max(around)), f"{code})"
    return "", ""


def _is_device(head: ast.With) -> bool:
    calls = (one.context_expr for one in head.items)
    return any(
        isinstance(one, ast.Call) and "device" in (getattr(one.func, "attr", ""), getattr(one.func, "id", ""))
        for one in calls
    )


HALF = 0.5
"""Of the time of an op in 64 bits: numbers of half the size are half as much to move, and twice as many to a vector."""
MOST_SPEEDUP = 8.0
"""Of products in 32 bits over 64 bits at most: Tensor Cores do more than memory gives, and some cards next to nothing in 64."""
CPU_SPEEDUP = 4.0
"""Of products on a CPU: oneDNN has none in 64 bits, and 3.5 to 8 times were measured, 2 on another machine."""


@rule("Compute in 32 bits", claims=COMPUTE, needs=runs_functions, least=MEDIUM_GAIN)
def double_precision(run: Run) -> Iterator[Advice]:
    """Most of what is computed is in 64 bits; gain: half of the share of the step time of such ops, of products more."""
    computing = run.computing
    ops = (_ops_of_type(run, "float64") | _ops_on(run, ComputeUnit.VECTOR_64)) & (computing.op_ms > 0)
    if not ops.any():
        return
    part, (name, place) = computing.part(ops), computing.place("op", ops)
    products = ops & np.array([*map(is_eligible_type, run.results.op_shares.type)], np.bool_)
    faster = min(_faster_in_32_bits(run), MOST_SPEEDUP)
    n_variables = _weight_types(run).count("float64")
    held = f", as {plural(n_variables, 'weight')} {'is' if n_variables == 1 else 'are'}" if n_variables else ""
    yield computing.advise(
        f"Ops in float64 take {part}{held}: {name} above all.",
        ops,
        Fix(
            'Train in 32 bits, which changes the precision: keras.backend.set_floatx("float32") before the model is made, and '
            "data, constants and variables as float32 (astype(np.float32)), as NumPy makes float64 of what has no type."
        ),
        part.ms * HALF + computing.part(products).ms * (1 - 1 / faster - HALF),
        estimate="in 32 bits half of their time"
        + (f", products {number(faster)} times as fast" if faster > 1 / HALF else ""),
        **place,
    )


def _faster_in_32_bits(run: Run) -> float:
    """How many times as many operations of products in 32 bits as in 64 the device can do, on Tensor Cores too, or a CPU does."""
    if not run.steps.device_computes:
        return CPU_SPEEDUP
    peaks = np.fmax.reduce(run.results.roofline.peaks, axis=0, initial=0.0)
    single = max(peaks[ComputeUnit.VECTOR_32], peaks[ComputeUnit.TENSOR_TF32])
    return max(single / peaks[ComputeUnit.VECTOR_64], 1 / HALF) if peaks[ComputeUnit.VECTOR_64] > 0 else 1 / HALF


@rule("Compute in float32 on a CPU", claims=COMPUTE, needs=runs_functions, least=MEDIUM_GAIN)
def half_precision(run: Run) -> Iterator[Advice]:
    """A CPU computes much in float16, converted to float32 and back; gain: half of the share of the step time of such ops."""
    if run.steps.has_device:
        return
    computing = run.computing
    ops = _ops_of_type(run, "float16") & (computing.op_ms > 0)
    if not ops.any():
        return
    part, (name, place) = computing.part(ops), computing.place("op", ops)
    yield computing.advise(
        f"Ops in float16 take {part}, {name} above all: most CPUs convert each number to float32 and back.",
        ops,
        Fix(
            "Compute in float32 on this CPU, before the model is built, which changes the precision: mixed_float16 "
            "is for GPUs. A CPU that computes in bfloat16 may take mixed_bfloat16.",
            'import keras\n\nkeras.mixed_precision.set_global_policy("float32")',
        ),
        part.ms * HALF,
        estimate="without the conversions half of their time",
        **place,
    )


def _ops_of_type(run: Run, dtype: str) -> Bool:
    """The framework ops that make numbers of one type; those missing in graphs count where all weights are of that type."""
    traced = run.graph
    told = traced.dtype.reindex(traced.row).fillna("").to_numpy(object)
    found: Bool = (told == dtype) | (told == "") & traced.is_noted & ({*_weight_types(run)} == {dtype})
    return found & ~run.results.op_scopes.is_input


def _weight_types(run: Run) -> list[str]:
    """The type of numbers of each trained variable."""
    variables = run.source_map.variables
    return [*variables["dtype"][variables["trainable"].astype(bool)]]


def _ops_on(run: Run, unit: ComputeUnit) -> Bool:
    """The framework ops most of whose kernel time is on one unit."""
    unit_ns = run.results.op_sums.unit_ns
    found: Bool = 2 * unit_ns[:, unit] > unit_ns.sum(axis=1)
    return found & ~run.results.op_scopes.is_input
