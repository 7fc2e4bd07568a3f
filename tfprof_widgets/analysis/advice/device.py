"""Rules on devices: waits for launches, copies and collectives, few blocks, low and uneven use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ...trace.arrays import Float64, Int64
from ..card import GENERAL, MEDIUM_GAIN, RARELY, Advice, Claim, Fix, rule
from ..common import PS_PER_MS, US_PER_MS, Stretches, amount, number, percent, size
from ..layers.layers import OPTIMIZER
from .causes import input_python_ms, python_stage
from .input_rules import without_python
from .input_stages import STAGES
from .python import host_callback, is_usual, slow_call
from .run import Run, compiled, copy_events, event_names, larger_batch, several_in_one_call


@rule(
    "Copy less to the device, or earlier",
    claims=("copy_to_device",),
    fixes={"JAX": "Copy the batch of the next step (jax.device_put) before the result of this one is read."},
)
def h2d_bound(run: Run) -> Iterator[Advice]:
    """Copies to the device that no computation hides; gain: what all else of the step could hide of them, of images in 32 bits
    were they sent in 8."""
    steps = run.steps
    if not steps.has_device:
        return
    copies = steps.category_ms("copy_to_device")
    part = steps.part("h2d", float(copies.mean()))
    if part.ratio < MEDIUM_GAIN:
        return
    copied_ms, else_ms = _copying_ms(run), steps.mean_ms - part.ms
    left_ms = max(copied_ms * (BYTES_OF_IMAGE if _reads_float_images(run) else 1), else_ms)
    table = run.results.copies
    table = table[(table["direction"] == "host to device") & (table["bytes"] > 0) & (table["exposed_time_ms"] > 0)]
    what, evidence = "", dict[str, Any]()
    if not table.empty:
        n_bytes, seconds = float(table["bytes"].sum()), float(table["total_time_ms"].sum()) / 1e3
        by_source = table.groupby("source")["bytes"].sum()
        source, whole = str(by_source.idxmax()), ", most of it" if len(by_source) > 1 else ""
        what = f", {size(n_bytes / max(steps.n_all, 1))} a step at {number(n_bytes / seconds / 1e9)} GB/s"
        what += f"{whole} from {source} memory" if source else ""
        evidence = {"h2d_bytes": n_bytes / max(steps.n_all, 1), "host_memory": source, "op": str(table["op"].iloc[0])}
    yield run.advise(
        f"The {steps.device} waits {part} for copies from the host{what}.",
        part,
        _copied_ahead(run, copied_ms if left_ms > else_ms else 0.0),
        steps.stretch(copies, "copy_to_device", view="timeline", op_names=event_names(run, copy_events(run, "h2d"))),
        gain=min(part.ms, steps.mean_ms - left_ms) / steps.mean_ms,
        **evidence,
    )


BYTES_OF_IMAGE = 1 / 4
"""Of an image of float32 as uint8, which is what files hold."""
_IMAGE, _MOST_CHANNELS = 4, 4
"""Sizes of a batch of images, the last of them its colours."""


def _reads_float_images(run: Run) -> bool:
    """Whether the dataset gives a step images of 32 bits."""
    traced = run.graph
    given = [row for row in traced.ran("IteratorGetNext") if traced.dtype.get(row) == "float32"]
    shapes = [shape for row in given for shape in traced.output_shapes(row)]
    return any(shape is not None and len(shape) == _IMAGE and 0 < shape[-1] <= _MOST_CHANNELS for shape in shapes)


def _copying_ms(run: Run) -> float:
    """How long a step copies to the device, whatever runs beside that."""
    rows = copy_events(run, "h2d")
    own = rows[run.entry[rows] >= 0]
    return float(run.trace.duration_ps[own].sum()) / PS_PER_MS / max(len(run.steps), 1)


def _copied_ahead(run: Run, copied_ms: float) -> Fix:
    """How a device waits less for copies; `copied_ms` is given where they take longer than all else."""
    less = "Send less: uint8 images and indices instead of one-hot masks, converted in the model, not in the map."
    if copied_ms:
        less += f" The copies alone take {number(copied_ms)} ms a step: beyond the gain only fewer bytes win."
    if len(run.results.tf_data.pipelines):
        ahead = f'Copy ahead: tf.data.experimental.prefetch_to_device("/{run.steps.device}:0")'
        return Fix(f"{ahead} as the last step of the dataset. {less}")
    return Fix(
        f"Keep on the {run.steps.device} what steps read again: a tf.Variable made there once. Tensors of int32 that are made "
        "outside of a function stay in the host's memory, those of int64 do not."
    )


@rule("Exchange gradients less often", claims=("device_collectives",), scope="hosts")
def collective_bound(run: Run) -> Iterator[Advice]:
    """Devices exchange gradients while they compute nothing; gain: the share of the step time in which only a collective ran."""
    steps = run.steps
    part = steps.part("collectives", steps.ms("device_collectives"))
    if not steps.has_device or part.ratio < MEDIUM_GAIN:
        return
    names = [text for text in run.trace.strings if text.lower().startswith("nccl") or text.startswith("all-reduce")]
    yield run.advise(
        f"Collectives between devices take {part} in which nothing is computed.",
        part,
        Fix(
            "Exchange less often, by larger batches or gradient_accumulation_steps=4 of a Keras optimizer: fewer, "
            "larger updates, which changes the training. Or exchange in larger pieces: "
            "tf.distribute.NcclAllReduce(num_packs=2) for MirroredStrategy."
        ),
        steps.stretch(
            steps.category_ms("device_collectives"),
            "device_collectives",
            view="worker_chart" if len(run.results.workers.hosts) > 1 else "timeline",
            op_names=tuple(names[:5]),
        ),
    )


LAUNCH_US = 10.0
"""What the host takes to enqueue a kernel, 5 to 10 us: kernels that are shorter on average can never hide it."""
MOST = 0.5
"""From this share on something is most of a whole."""
_ONE_KERNEL = "Of Adam, have one kernel a variable instead of a dozen: tf.raw_ops.ResourceApplyAdam."
_OWN_THREADS = 'Give the GPU threads of its own: TF_GPU_THREAD_MODE="gpu_private", set before TensorFlow is imported.'
_GAPS_ALONE = "the gaps alone; a compiled step keeps some of them, but its fewer kernels take less time as well"
_GAPS_OF_SHORT = "of a large batch the gaps alone; kernels as short as these take it in little more time as well"


RECORDED_US = 1.5
"""What recording an event costs: a step of some 600 took 0.9 ms more by it, one of a tiny model 1.6 times as long."""
TURN_MS = 0.1
"""What a turn of a loop in a graph takes beside its ops: some twenty ops that hand its variables on."""


@rule(
    "Close the gap between steps",
    level=GENERAL,
    claims=("dispatch", "sync", "output"),
    fixes={
        "JAX": "Run several steps in one call: jax.lax.scan over some batches in a jitted function, so that "
        f"Python runs once for all of them. {RARELY}",
        "PyTorch/XLA": f"{RARELY} loss.item() and print(loss) are reads.",
    },
)
def idle_border(run: Run) -> Iterator[Advice]:
    """The device idles between the last kernel of a step and the next step's first; gain: what of that no other rule owns."""
    steps, waits = run.steps, run.waits
    if not steps.device_computes:
        return
    owned_ms = _owned_ms(run)
    graph_ms = np.maximum(run.calls.function_ms - steps.category_ms("device_compute"), 0.0)
    lost_ms = float(np.median(np.minimum(waits.border_ms, steps.time_ms - graph_ms) - owned_ms))
    idle = steps.part("border", float(waits.border_ms.mean()))
    lock_ms = float(np.median(input_python_ms(run)))
    waits_for_lock = lock_ms >= MOST * idle.ms
    recorded_ms = _recorded_ms(run)
    won_ms = lost_ms - recorded_ms - (0.0 if waits_for_lock else TURN_MS)
    gain = won_ms / max(steps.usual_ms(owned_ms) + float(owned_ms.mean()) - recorded_ms, won_ms, 1e-9)
    if gain < MEDIUM_GAIN or lost_ms < float(owned_ms.mean()):
        return
    if waits_for_lock and run.wait.is_told:  # `input_bound` tells that cause
        return
    stage = python_stage(run) if waits_for_lock else ""
    fix = _without_lock(run, stage) if stage else _several_at_once(run)
    if fix is None:  # one call takes several batches already
        return
    yield run.advise(
        f"The {steps.device} idles {idle} between the last kernel of a step and the first of the next, "
        + (
            f"while the input runs Python for {number(lock_ms)} ms: the steps' own shares the interpreter's lock with that."
            if waits_for_lock
            else "for Python, the runtime and waiting for results."
        ),
        idle,
        fix,
        by=waits.border_ms,
        gain=gain,
        stage=stage,
        headline=STAGES[stage].headline if stage else "",
        claim=Claim(waits.is_border),
        estimate="a step keeps what the host needs to run its graph, and loses what recording its events takes",
    )


def _recorded_ms(run: Run) -> float:
    """What recording the events of hosts takes while a device idles at the borders of a step."""
    trace, rows = run.trace, run.results.attribution
    own = np.flatnonzero(run.waits.is_border & (run.steps.entry_of[rows.step] >= 0))
    on_host = ~trace.on_planes([plane.is_device for plane in trace.planes])
    begin_ps = trace.start_ps[on_host & (run.entry >= 0)]
    n = np.count_nonzero(Stretches.of(rows.start_ps[own], rows.end_ps[own]).within(begin_ps, begin_ps + 1))
    return RECORDED_US / US_PER_MS * int(n) / len(run.steps)


def _owned_ms(run: Run) -> Float64:
    """What more specific rules say of Python in each step."""
    is_told = any(next(rule(run), None) is not None for rule in (host_callback, slow_call))
    owned = (run.gap.ms if is_usual(run) else run.called_ms) * is_told
    made = np.maximum(run.traced.cost_ms, run.steps.category_ms("compile"))
    return owned + made + run.new_iterator_ms + run.calls.converted_ms


def _without_lock(run: Run, stage: str) -> Fix:
    if stage == "generator":
        return Fix(
            "Give the data by ops of TensorFlow, which need no lock, such as tf.data.Dataset.from_tensor_slices, in place of "
            "a generator or a PyDataset."
        )
    return without_python(run)


def _several_at_once(run: Run) -> Fix | None:
    """A fix: one border for several steps; and, where steps wait for results, none of these; None where there is none."""
    fix = several_in_one_call(run)
    waits = float(np.median(run.steps.category_ms("sync") + run.steps.category_ms("output"))) > 0
    if run.is_keras_loop or not waits:
        return fix
    rarely = "Fetching a result, as float(loss) does, waits for the device: not in every step."
    return fix.also(rarely) if fix else Fix(rarely)


@rule("Launch fewer kernels", level=GENERAL, claims=("dispatch", "kernel_launch"))
def launch_bound(run: Run) -> Iterator[Advice]:
    """The device waits for launches, of kernels too short to hide them (`small_batch`), or mostly of an optimizer that XLA did
    not compile; gain: the share of the step time in such waits, without Python before the first kernel, or where the step
    cannot be compiled those before the optimizer's."""
    steps, waits, kernels = run.steps, run.waits, run.results.kernels.frame
    launch = steps.part("launch_wait", float(waits.launching_ms.mean())) if steps.device_computes else None
    if launch is None or launch.ratio < MEDIUM_GAIN:
        return
    of_optimizer = run.results.layers.op_phase == OPTIMIZER
    share = waits.before(of_optimizer)
    is_optimizer = share >= MOST and not run.is_compiled
    chosen = kernels[_of_optimizer(run)] if is_optimizer else kernels
    n = int(chosen["occurrences"].sum())
    average_us = float(chosen["total_time_us"].sum()) / n if n else 0.0
    is_small, per_step = bool(n) and average_us < LAUNCH_US and not is_optimizer, n / max(steps.n_all, 1)
    otherwise = _ONE_KERNEL if is_optimizer else larger_batch(run) if is_small else _OWN_THREADS
    rest = is_optimizer and not run.can_be_compiled
    yield run.advise(
        f"The {steps.device} waits {launch} between kernels for the CPU: {_launch_words(run)}; {percent(share)} of it before the "
        f"{number(per_step)} kernels of the optimizer."
        if is_optimizer
        else f"The {steps.device} waits {launch} between {amount(per_step)}{' small' if is_small else ''} "
        f"kernel{'' if per_step == 1 else 's'}, of {number(average_us)} µs on average, for the CPU: {_launch_words(run)}.",
        launch,
        compiled(run).also(f"Or: {otherwise[0].lower()}{otherwise[1:]}") if run.can_be_compiled else Fix(otherwise),
        by=waits.launching_ms,
        ops=run.known(*(run.results.op_shares.name[one] for one in waits.most)),
        gain=launch.ratio * (share if rest else 1.0),
        claim=Claim(waits.before_kernels(of_optimizer) if rest else waits.is_launch),
        rule="small_batch" if is_small else "launch_bound",
        estimate=_GAPS_ALONE if run.can_be_compiled else _GAPS_OF_SHORT if is_small else "",
    )


@rule("Fill the GPU's multiprocessors", level=GENERAL, claims=("device_compute",), share_of="sample")
def few_blocks(run: Run) -> Iterator[Advice]:
    """Most of the kernel time has fewer blocks than the GPU has multiprocessors; gain: the share of multiprocessors without a
    block in such kernels but those of the optimizer."""
    steps, kernels = run.steps, run.results.kernels.frame
    n_sms = multiprocessors(run)
    if not steps.has_device or n_sms <= 0 or kernels.empty:
        return
    us, all_us = kernels["total_time_us"].to_numpy(np.float64), float(kernels["total_time_us"].sum())
    blocks = kernel_blocks(kernels)
    is_few = (blocks > 0) & (blocks < n_sms)
    grows = ~_of_optimizer(run)
    share = float(us[is_few].sum()) / all_us if all_us else 0.0
    kernel, ms = run.computing.event_kernel[run.computing.event], run.computing.ms
    empty = np.append((1 - blocks / n_sms) * (is_few & grows), 0.0)[kernel]
    gain = float((ms * empty).sum()) / steps.mean_ms
    if share < MOST or gain < MEDIUM_GAIN:
        return
    chosen = kernels[is_few & grows]
    yield run.advise(
        f"{percent(share)} of the kernel time runs fewer blocks than the {steps.device} has multiprocessors ({n_sms}): the "
        "others idle, and a larger batch costs such kernels little more.",
        run.computing.part_of_kernels(is_few & grows, "few_blocks"),
        Fix(larger_batch(run)),
        by=steps.category_ms("device_compute"),
        view="kernel_table",
        ops=run.of_kernels(chosen),
        gain=gain,
        claim=Claim(run.computing.rows_of_kernels(is_few & grows)),
        estimate="of the kernel time per sample the part of the multiprocessors that have no block",
    )


def multiprocessors(run: Run) -> int:
    """Of the device that has fewest; 0 where no trace says."""
    counts = [plane.stats.get("core_count") for plane in run.trace.planes if plane.is_device]
    return min((count for count in counts if isinstance(count, int)), default=0)


def kernel_blocks(kernels: pd.DataFrame) -> Int64:
    """Of each kernel how many blocks a launch has."""
    distinct = {
        text: int(np.prod([int(n) for n in text.split(",")])) if text else 0 for text in set(kernels["grid_dim"])
    }
    return kernels["grid_dim"].map(distinct).to_numpy(np.int64)


def _launch_words(run: Run) -> str:
    """Of which categories of the step that is, with their whole times: those that the breakdown shows."""
    launch_ms, dispatched = (float(run.steps.category_ms(name).mean()) for name in ("kernel_launch", "dispatch"))
    between, launched = float(run.waits.launching_ms.mean()) - launch_ms, f"kernel launch {number(launch_ms)} ms"
    return f"{launched}, dispatch {number(between)} of {number(dispatched)} ms" if between else launched


def _of_optimizer(run: Run) -> np.ndarray:
    """For each kernel whether it is of the optimizer."""
    shares, phase = run.results.op_shares, run.results.layers.op_phase
    names = {name for name, one in zip(shares.name, phase.tolist(), strict=True) if one == OPTIMIZER}
    return run.results.kernels.frame["op_name"].isin(names).to_numpy(np.bool_)
