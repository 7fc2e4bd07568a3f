"""Rules on the model: precision, optimizer, frozen layers, sizes of tensors, memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import numpy as np
import pandas as pd

from ...trace.arrays import Bool
from ...trace.source_map import parse_shapes
from ..card import (
    COMPUTE,
    GENERAL,
    HIGH_GAIN,
    MEDIUM_GAIN,
    Advice,
    Claim,
    Fix,
    Highlight,
    ns_range,
    one_line,
    rule,
)
from ..common import number, percent, plural
from ..grouping import UNIT_TEXTS, ComputeUnit
from ..ops.kernels import beside_products
from ..out_of_memory.what_held import batch_size_of
from ..steps.spans import MIN_STEPS
from .causes import PRODUCTS, TracedOps
from .ops import FEW_16BIT, double_precision
from .run import Run, has_graph, input_sizes


@rule("Compute once what does not learn", claims=COMPUTE, needs=has_graph)
def frozen_layers(run: Run) -> Iterator[Advice]:
    """Layers behind nothing trained or random, frozen ones or such as text vectorization, compute the same for an example in
    each epoch; gain: the share of the step time of their ops."""
    traced, layers = run.graph, run.results.layers
    if not run.has_layers:
        return
    variables = traced.source_map.variables
    reads = traced.source_map.details["variable"].isin(np.flatnonzero(variables["trainable"].astype(bool)))
    changing = [*traced.source_map.details["op"][reads].unique(), *np.flatnonzero(traced.type.map(_is_drawn))]
    rows = traced.row.to_numpy()
    may_change = np.isin(rows, [-1, *changing, *traced.after(changing)])
    computing = run.computing
    ops = _forward_only(run)[layers.op_entry] & ~may_change & (computing.op_ms > 0)
    part = computing.part(ops, "frozen")
    if part.ratio < HIGH_GAIN or _input_is_drawn(run):
        return
    names = layers.entries["layer"]
    own = [name for name in names.iloc[np.unique(layers.op_entry[ops])] if name in set(variables["layer"])]
    base = _scope(own) if own else str(names.iloc[layers.op_entry[computing.top(ops)]])
    takes, once = _done_once(base, len(own))
    n_epochs = _n_epochs(run)
    estimate = f"what they take in all but one of the {n_epochs} epochs" if n_epochs > 1 else ""
    yield computing.advise(
        f"{takes} {part}: the same features of the same input in each epoch.",
        ops,
        Fix(once),
        part.ms * (1 - 1 / n_epochs if n_epochs > 1 else 1),
        part,
        layer=base,
        estimate=estimate,
    )


def _n_epochs(run: Run) -> int:
    """How many epochs of Keras' the capture holds, as each makes an iterator; 1 where that is not known."""
    iterators = run.results.tf_data.iterators
    roots = iterators["n_iterators"][iterators["parent_id"] < 0]
    return int(roots.max()) if run.is_keras_loop and len(roots) else 1


def _done_once(base: str, n_frozen: int) -> tuple[str, str]:
    """What takes time, frozen layers of a scope or one without variables, and how it takes that once."""
    named = one_line(base)
    if n_frozen:
        return (
            f"{plural(n_frozen, 'frozen layer')}{f' of {base}' if base else ''} take{'s' if n_frozen == 1 else ''}",
            f"Compute what {named or 'they'} give{'s' if base else ''} once, by predict of a model of the frozen layers alone, "
            "and train the layers behind them on that.",
        )
    return (
        f"{base}, which learns nothing, takes",
        f"Call {named} in the dataset, not in the model: dataset.map(lambda x, y: (layer(x), y), num_parallel_calls="
        "tf.data.AUTOTUNE).cache(), before elements are shuffled and batched. Without cache() it still runs beside the training.",
    )


def _scope(layers: list[str]) -> str:
    """The scope that all of some layers are in, "" for none."""
    parts = [layer.split("/") for layer in layers]
    shared = min(map(len, parts)) if parts else 0
    n = next((i for i in range(shared) if len({one[i] for one in parts}) > 1), shared)
    return "/".join(parts[0][:n]) if parts else ""


def _forward_only(run: Run) -> Bool:
    """For each entry of the layers whether it is one that runs, without gradients, in steps that train others."""
    layers, is_backward = run.results.layers, run.results.op_scopes.is_backward
    n = len(layers.entries)
    runs = np.bincount(layers.op_entry, minlength=n) > 0
    has_gradient = np.bincount(layers.op_entry[is_backward], minlength=n) > 0
    is_layer = (layers.entries["kind"] == "layer").to_numpy()
    found: Bool = is_layer & runs & ~has_gradient & bool((is_layer & has_gradient).any())
    return found


def _is_drawn(kind: str) -> bool:
    """Whether an op of this type draws random numbers for more than an order."""
    return "Random" in kind and kind != "RandomShuffle"


def _input_is_drawn(run: Run) -> bool:
    """Whether the input draws random numbers for more than an order."""
    scopes = run.results.op_scopes
    return any(_is_drawn(kind) for kind, is_one in zip(scopes.type, scopes.is_input.tolist(), strict=True) if is_one)


_GATHERS = ("GatherV2", "ResourceGather", "GatherNd", "ResourceGatherNd", "Gather")
FEW_ROWS = 0.5
"""Of the rows of a table: where a step reads more of them, updating all is no waste."""

_WRITES = re.compile(r"ReadVariableOp|Assign\w*VariableOp|Resource\w*(?:Apply|Scatter)\w+")
"""What changes a variable, or copies one that rows were written to."""
_FEWER_ROWS = Fix(
    "An optimizer with a state of its own for each row, as Keras' Adam and its kin have, a regularizer of the table or a gradient"
    " that was made dense changes all rows, read or not. keras.optimizers.SGD, or a lazy Adam of your own that gathers and "
    "scatters these rows, changes the rows that were read alone, activity_regularizer is of these alone, and a table of fewer "
    "rows (keras.layers.Hashing) has less to change: all train differently. What gathers from the variable itself, "
    "tf.gather(variable, ids), copies no other rows, and variable.scatter_nd_update(indices, rows) writes none."
)


@rule("Work on fewer rows of a table", claims=COMPUTE, explains=("small_batch",), least=HIGH_GAIN)
def dense_update(run: Run) -> Iterator[Advice]:
    """A step copies, computes with or updates all rows of tables of which it reads few; gain: the share of all that does."""
    traced, computing = run.graph, run.computing
    tables = _tables(run, traced) if len(run.steps) >= MIN_STEPS else {}
    ops = {table: own for table in tables if (own := _on_all_rows(run, traced, table)).any()}
    if not ops:
        return
    table, every = max(ops, key=lambda one: computing.part(ops[one]).ms), np.any([*ops.values()], axis=0)
    name, shape = (str(traced.source_map.variables[key].iloc[table]) for key in ("name", "shape"))
    n_rows, reads = (parse_shapes(shape)[0] or (0,))[0], f"{tables[table]:,} at most" if tables[table] else "some"
    others = f" and of {plural(len(ops) - 1, 'other table')}" if len(ops) > 1 else ""
    part = computing.part(every)
    yield computing.advise(
        f"A step works on all {n_rows:,} rows of {name} ({shape}){others}, and reads {reads}: {part}.",
        every,
        _FEWER_ROWS,
        part.ms,
        variable=name,
    )


def _on_all_rows(run: Run, traced: TracedOps, table: int) -> Bool:
    """The framework ops that work on all rows of a table; none where products need all, or nothing changes or copies it."""
    variables, details, own = traced.source_map.variables, traced.source_map.details, traced.row.to_numpy()
    shape, gathers = parse_shapes(variables["shape"].iloc[table])[0] or (), traced.ran(*_GATHERS)
    reads = details["op"][details["variable"] == table]
    behind = {*_working_on(traced, [row for row in reads.tolist() if row not in gathers], shape)}.difference(gathers)
    every = np.zeros(len(own), np.bool_)
    ops = np.flatnonzero((own >= 0) & run.computing.matter & ~np.isin(own, gathers))
    every[ops] = [traced.has_shape(row, shape) for row in own[ops].tolist()]
    is_needed = bool(PRODUCTS & {*traced.type.iloc[traced.readers([*behind])]})
    return every & (not is_needed and bool((every & run.computing.of_type(_WRITES)).any()))


def _working_on(traced: TracedOps, makers: list[int], shape: tuple[int, ...]) -> list[int]:
    """What reads what some ops make, and so on, as long as it reads or makes tensors of one shape."""
    found, newest = {*makers}, makers
    while newest:  # one turn per op along the longest path
        newest = [row for row in traced.readers(newest) if row not in found and traced.has_shape(row, shape)]
        found.update(newest)
    return [*found]


def _tables(run: Run, traced: TracedOps) -> dict[int, int]:
    """The trainable variables of which steps gather few rows, and how many at most; 0 where that is not known."""
    variables, batch = traced.source_map.variables, batch_size_of(run.results, 0)
    found: dict[int, int] = {}
    shapes = [parse_shapes(text)[0] or (1,) for text in variables["shape"].tolist()]
    for row in traced.ran(*_GATHERS):
        table = max(traced.variable(row), traced.variable(traced.behind(row, 0)))
        if table < 0 or not variables["trainable"].iloc[table]:
            continue
        made, each = next(iter(traced.output_shapes(row)), None), shapes[table][1:]
        sizes = [batch or 0 if size < 0 else size for size in made or (0,)]
        if made and made[len(made) - len(each) :] != each:  # along another axis each row is read
            sizes = [shapes[table][0], *each]
        found[table] = found.get(table, 0) + prod(sizes) // max(prod(each), 1)
    return {table: n_read for table, n_read in found.items() if n_read <= FEW_ROWS * shapes[table][0]}


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


@rule("Compute in 16 bits", level=GENERAL, claims=COMPUTE, least=MEDIUM_GAIN)
def low_precision_unused(run: Run) -> Iterator[Advice]:
    """The device computes in 32 bits; gain: half the time of TF32 products, 7/8 of those without Tensor Cores, half of the rest
    where XLA compiled it (op by op, conversions outweigh that)."""
    steps, kernels = run.steps, run.results.kernels.frame
    device = run.results.environment.device_type
    if not steps.has_device or kernels.empty or any(name in device for name in _WITHOUT_TENSOR_CORES) or run.starves:
        return
    share = run.results.steps.compute_16bit_ratio
    if not share < FEW_16BIT:  # nan: the trace does not tell
        return
    if next(double_precision(run), None) is not None:  # float32 first: it may be all that is missing
        return
    is_tf32, is_slow = (kernels["unit"] == _TF32).to_numpy(), _without_tensor_cores(kernels)
    tf32, slow = (time_ratio(kernels[own], kernels) for own in (is_tf32, is_slow))
    if time_ratio(kernels[kernels["unit"] == _TENSOR_16], kernels) > tf32 + slow:  # mixed precision is in use
        return
    double = time_ratio(kernels[kernels["unit"] == _DOUBLE], kernels)
    rest = 1 - tf32 - slow - double
    if rest > 0.5 and not run.is_compiled:
        return
    saved = tf32 * (1 - 1 / HALF_SPEEDUP) + slow * (1 - 1 / TENSOR_CORE_SPEEDUP)
    is_better = ~kernels["unit"].isin([_TENSOR_16, _DOUBLE]).to_numpy() if run.is_compiled else is_tf32 | is_slow
    saved += rest * (1 - 1 / HALF_SPEEDUP) if run.is_compiled else 0.0
    single = 1 - share - double
    gain = steps.ratio("device_compute") * single * saved
    yield run.advise(
        f"The {steps.device} computes {number(steps.ms('device_compute'))} of {number(steps.mean_ms)} ms a step; "
        f"{'all' if single > 0.995 else percent(single) + ' of'} its arithmetic is float32.",
        run.computing.part_of_kernels(is_better, "kernels"),
        Fix(
            "Compute in 16 bits, which changes the precision: before the model is built; 'mixed_bfloat16' from "
            "Ampere on and on TPUs. Keep its last layer in float32, such as keras.layers.Activation('softmax', "
            "dtype='float32').",
            "import keras\n\nkeras.mixed_precision.set_global_policy('mixed_float16')",
        ),
        by=steps.category_ms("device_compute"),
        view="kernel_table",
        ops=run.of_kernels(kernels),
        gain=gain,
        claim=Claim(run.computing.rows_of_kernels(is_better)),
        estimate=f"products {_times(tf32, slow)} as fast"
        + (", all else half the bytes" if run.is_compiled else ", all else as it is"),
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


_UNALIGNED = re.compile(r"align[124](?!\d)")
"""Of 16 bits: Tensor Cores are fed fewer numbers at a time than they take."""
UNALIGNED_SPEEDUP = 2.0
"""Of a product whose sides are multiples of 8, a guess: on an H200 steps of layers of 2,048 took 28 % less than of 2,047."""


@rule("Make sizes fit the Tensor Cores", claims=COMPUTE)
def tensor_core_unused(run: Run) -> Iterator[Advice]:
    """With mixed precision, products that suit Tensor Cores run without them, or with sides that do not suit them; gain: 7/8 of
    the share of computing of the former, half of that of the latter."""
    kernels, computing = run.results.kernels.frame, run.computing
    if kernels.empty or not run.results.steps.compute_16bit_ratio >= FEW_16BIT or run.starves:
        return
    is_unused = _without_tensor_cores(kernels)
    is_unaligned = (kernels["unit"] == _TENSOR_16).to_numpy() & kernels["name"].str.contains(_UNALIGNED).to_numpy(bool)
    unused, unaligned = (
        np.isin(np.array(run.results.op_shares.name, np.object_), kernels["op_name"][own].unique())
        for own in (is_unused, is_unaligned & ~is_unused)
    )
    saved_ms = computing.part(unused).ms * (1 - 1 / TENSOR_CORE_SPEEDUP)
    saved_ms += computing.part(unaligned & ~unused).ms * (1 - 1 / UNALIGNED_SPEEDUP)
    ops = (unused | unaligned) & (computing.op_ms > 0)
    if saved_ms < MEDIUM_GAIN * run.steps.mean_ms:
        return
    name, evidence = computing.place("op", ops)
    sizes = input_sizes(run, computing.top(ops))
    is_most = computing.op_ms[unused].sum() > computing.op_ms[unaligned].sum()
    how = "without them" if is_most else "with sides that are no multiples of 8"
    yield computing.advise(
        f"Products that Tensor Cores could serve take {computing.part(ops)} {how}: {name}{f', on {sizes},' if sizes else ''} "
        "above all.",
        ops,
        Fix(
            "Make sizes multiples of 8 (of 64 even better): batch, channels, units, vocabulary. It is another model then."
        ),
        saved_ms,
        estimate=f"these products {number(TENSOR_CORE_SPEEDUP)} times as fast, those on Tensor Cores "
        f"{number(UNALIGNED_SPEEDUP)} times",
        **evidence,
    )


@rule("Stop memory from growing")
def memory_growth(run: Run) -> Iterator[Advice]:
    """Memory in use keeps growing from step to step."""
    memory = run.results.memory
    if not len(memory.step_spans):
        return
    for name in memory.allocators:  # one turn per allocator
        growth = memory.growth(name)
        if not growth.is_significant:
            continue
        held = memory.unfreed(name)
        held = held[held["held_bytes"] > 0]
        op = str(held["op"].iloc[0]) if len(held) else ""
        steps = run.results.steps.frame
        start, end = int(steps["start_ps"].min()), int((steps["start_ps"] + steps["duration_ps"]).max())
        yield run.advise(
            f"{name}: {growth.sentence}",
            None,
            Fix(
                f"{one_line(op) or 'Tensors'} of each step may be kept in a list, a closure or a metric: keep "
                "numbers instead, float(loss) and not loss."
            ),
            Highlight(
                op_names=run.known(op, f"eager/{op}"), time_range_ns=ns_range(start, end), view="memory_timeline"
            ),
            bytes_per_step=growth.bytes_per_step,
            op=op,
            held_bytes=float(held["held_bytes"].iloc[0]) if op else "",
        )
