"""Rules on the host: saves, copies back, stragglers, small batches, repeated work, the largest part of a step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..card import (
    ANY_STEP,
    CAUSE,
    COMPUTE,
    MEDIUM_GAIN,
    RARELY,
    RULES,
    Advice,
    Claim,
    Fix,
    behind,
    only_call,
    place_of,
    rule,
    step_highlight,
    user_files,
)
from ..common import amount, number, percent, plural, size
from ..memory.memory import NEARLY_FULL
from ..steps.spans import MIN_STEPS
from .calls import OUTSIDE, PYTHON_STAYS, of_batches, outside_ms
from .facts import OP_OVERHEAD_MS
from .input_rules import works_ahead
from .python import python_makes_batches
from .python_work import top_line
from .run import (
    FIXED,
    NO_TIME_DISTRIBUTED,
    QUICK,
    Run,
    copy_events,
    event_names,
    fewer_calls,
    has_graph,
    larger_batch,
    several_in_one_call,
)

if TYPE_CHECKING:
    from ..facts import Facts


@rule(
    "Fetch results less often",
    claims=("output",),
    fixes={"JAX": RARELY, "PyTorch/XLA": f"{RARELY} loss.item() and print(loss) are reads."},
)
def output_bound(run: Run) -> Iterator[Advice]:
    """Copies from the device to the host that nothing hides; gain: the share of the step time in which only such a copy ran."""
    steps = run.steps
    if not steps.has_device:
        return
    copies = steps.category_ms("output")
    output = steps.part("output", float(copies.mean()))
    if output.ratio < MEDIUM_GAIN or (run.is_keras_loop and run.takes_several):  # metrics are fetched once a call
        return
    rows = copy_events(run, "d2h")
    n = int((run.entry[rows] >= 0).sum()) / len(steps)
    several = several_in_one_call(run) if run.is_keras_loop else None
    yield run.advise(
        f"Copies back to the host take {output}, {number(n)} copies a step.",
        output,
        several.also("Metrics are then fetched once for 32 steps.")
        if several
        else Fix(
            "Read results, as float(loss) and .numpy() do, every hundredth step: until then they stay on the device."
        ),
        steps.stretch(copies, "output", view="timeline", op_names=event_names(run, rows)),
    )


@rule("Save weights less often", claims=("checkpoint", "dispatch", "host_compute", "sync", "output", "other"))
def checkpoint_stall(run: Run) -> Iterator[Advice]:
    """Steps that wait until weights are written; gain: by how much these are longer than usual ones, of the time of all steps."""
    steps, saves = run.steps, run.saves
    n = int(saves.is_saving.sum())
    if not n or len(steps) < MIN_STEPS or not steps.mean_ms:
        return
    gain = float(saves.stall_ms.sum() / steps.time_ms.sum())
    if gain < MEDIUM_GAIN or _reads_for_others(run):
        return
    at = int(saves.stall_ms.argmax())
    line = top_line(run, steps.gaps[steps.gaps["step"].isin(steps.row[saves.is_saving])])
    line = line if line and line.writes else None
    where = f" in {line.function} ({line.place})" if line else ""
    made = only_call(run.source_map, "ModelCheckpoint", lambda _: True)
    place = made.place if made else line.quoted if line else ""
    stall_ms = float(saves.stall_ms[saves.is_saving].mean())
    yield run.advise(
        f"Saving weights{where} stalls {n} of {plural(len(steps), 'step')} by {number(stall_ms)} ms each: "
        f"{percent(gain)} of the time.",
        None,
        Fix(
            f"Save once an epoch instead of every few steps{behind(place)}, as ModelCheckpoint does with "
            f'save_freq="epoch"; or beside the '
            "training, by tf.train.CheckpointOptions(enable_async=True) for checkpoint.save."
        ),
        step_highlight(
            steps.frame,
            at,
            view="timeline",
            op_names=run.known(*(f"eager/{one}" for one in (*saves.op_types, "ReadVariableOp"))),
        ),
        gain=gain,
        claim=Claim(spans=saves.spans),
        stall_ms=stall_ms,
        n_saving_steps=n,
        **(line.evidence if line else {}),
    )


def _reads_for_others(run: Run) -> bool:
    """Whether a function of the user's that saves nothing read the variables, such as one that evaluates or logs norms."""
    saving = run.saves.is_saving
    return not run.saves.op_types and any(one.ms[saving].any() and not one.line.writes for one in run.called_at_all)


@rule("Use a larger batch", level=ANY_STEP, claims=("dispatch", "kernel_launch", "host_compute"), share_of="sample")
def small_batch(run: Run) -> Iterator[Advice]:
    """Without a device, most of a step is the same for any batch; gain: the share that neither grows with the batch
    nor is another rule's; none where the pipeline sets the pace."""
    steps = run.steps
    if len(steps) < MIN_STEPS or steps.has_device or run.eager.is_hot or not run.work.is_told:
        return
    if (run.wait.sets_the_pace and works_ahead(run)) or python_makes_batches(run):  # which a larger batch needs more of
        return
    own_ms = steps.time_ms - np.minimum(run.claims.taken_ms, steps.time_ms)
    if run.work.growing_ms > (1 - FIXED) * float(np.quantile(own_ms, QUICK)):
        return
    fixed, claim = run.free("fixed", "small_batch", run.ran(OP_OVERHEAD_MS, of_model=True), is_outside=True)
    around_ms = float(np.median(outside_ms(run)))
    if run.is_machine_busy:  # the rest may be what this program had to wait for others
        fixed = steps.part("fixed", min(fixed.ms, run.work.n_ops * OP_OVERHEAD_MS + around_ms))
    if fixed.ratio < MEDIUM_GAIN:
        return
    average_us = 1e3 * float(run.work.ms[run.work.is_model | run.work.is_optimizer].sum()) / run.work.n_ops
    where, more = _most_ops(run)
    # More steps in one call save what is outside of it, not the ops in it.
    fix = fewer_calls(run) if around_ms >= OUTSIDE * float(np.median(own_ms)) else Fix(larger_batch(run))
    if more in (_OF_METRICS, _OF_FUNCTIONS):
        fix = Fix(more).also(larger_batch(run))
    elif more:
        fix = fix.also(more)
    yield run.advise(
        f"{fixed}{of_batches(run)} are the same for any batch: {number(run.work.n_ops)} ops of {number(average_us)} µs on average"
        f"{where}, their scheduling, and Python around them.",
        fixed,
        fix,
        view="step_chart",
        claim=claim,
        growing_ms=run.work.growing_ms,
        ops_per_step=run.work.n_ops,
    )


_OF_METRICS = (
    "Each metric has ops of its own in every step: let one count all classes (a confusion matrix holds what recall and precision "
    "of each are made of), or compute what you look at once an epoch from predictions."
)
_OF_VARIABLES = (
    "Each variable is updated by ops of its own: one layer in place of many small ones side by side has one large variable, "
    "which costs as much as a small one."
)
_OF_FUNCTIONS = (
    f"Put @tf.function around the whole step: the functions that it calls become part of its graph. {PYTHON_STAYS}"
)
MANY, MANY_FUNCTIONS = 32, 4
"""From so many variables, or functions a step, on their number is worth a word; a GAN's step is two or three functions."""


def _most_ops(run: Run) -> tuple[str, str]:
    """What runs most of the ops, many functions, a layer, the metrics or the optimizer of many variables, and what to do."""
    layers, work = run.results.layers, run.work
    if run.calls.n_functions >= MANY_FUNCTIONS:
        return f" in {amount(run.calls.n_functions)} functions", _OF_FUNCTIONS
    n_variables = int(run.source_map.variables["trainable"].astype(bool).sum())
    if n_variables >= MANY and work.per_step[work.is_optimizer].sum() >= FIXED * work.n_ops:
        return f", most of them in the optimizer, for {n_variables:,} variables", _OF_VARIABLES
    n = np.bincount(layers.op_entry[run.results.op_shares.dominant], work.per_step * work.is_model, len(layers.entries))
    top = layers.entries.iloc[int(n.argmax())] if len(n) else None
    if top is None or top["kind"] not in ("layer", "metrics") or n.max() < FIXED * work.n_ops:
        return "", ""
    more = {"metrics": _OF_METRICS, "TimeDistributed": NO_TIME_DISTRIBUTED}
    return f", most of them in {top['layer']}", more.get(str(top["class_name"] or top["kind"]), "")


FACTORS = (4, 2)
"""By how much one would try a larger batch."""
WAITS = 0.2
"""A device that waits less of a step for Python and launches gains little by a larger batch."""


def batch_factor(peak: float, fixed: float, capacity: float) -> int:
    """How many times as large a batch fits, 0 for none: all of the peak but what is fixed, such as weights, grows with it."""
    return next((n for n in FACTORS if fixed + n * (peak - fixed) <= NEARLY_FULL * capacity), 0)


def batch_words(results: Facts, advice: Sequence[Advice]) -> tuple[str, ...]:
    """Whether a larger batch fits, and why: `("A larger batch fits and may help", "4.46 GiB of 76.4 GiB used, and ...")`."""
    run = Run(results)
    steps, row, by_op = run.steps, results.memory.fullest_device, results.memory_by_op
    if row is None or not steps.device_computes:
        return ()
    peak, capacity = float(row["peak_bytes"]), float(row["capacity_bytes"])
    before = float(by_op.before_capture_bytes) if by_op.allocator == row["allocator"] else 0.0
    factor = batch_factor(peak, min(before, peak), capacity)
    if not factor:
        return ()
    used = f"{size(peak)} of {size(capacity)} used"
    larger = f"A batch {'twice' if factor == 2 else f'{factor} times'} as large fits"
    if any("larger batch" in one.fix.words for one in advice):
        return "A larger batch fits", used
    if run.wait.sets_the_pace:
        return f"{larger}, but the input sets the pace", used
    waited_ms = sum(float(steps.category_ms(part).mean()) for part in ("dispatch", "kernel_launch", "sync"))
    causes = {name for name, one in RULES.items() if one.level == CAUSE}
    has_cause = any(one.gain_ratio >= MEDIUM_GAIN and one.rule in causes for one in advice)
    if waited_ms >= WAITS * steps.mean_ms and not has_cause:
        why = f"{used}, and the {steps.device} waits for the CPU as long for any batch"
        return "A larger batch fits and may help", why
    return larger, used


_REMAT = re.compile(r"\b(recompute_grad|RematScope|remat)\(")


@rule("Compute it once", claims=COMPUTE, explains=("small_batch",), needs=has_graph, least=MEDIUM_GAIN)
def repeated_work(run: Run) -> Iterator[Advice]:
    """The program asks to compute again for gradients what the forward pass did; gain: the share of ops made within the call
    that makes these."""
    source_map = run.source_map
    asked = [
        (place_of(source_map, path, number), call[1])
        for path, text in user_files(source_map)
        for number, line in enumerate(text.split("\n"), 1)
        if (call := _REMAT.search(line))
    ]
    if not asked:
        return
    frame, parent = source_map.ops["frame"].to_numpy(np.int64), source_map.frames["parent"].tolist()
    of_gradient = source_map.ops["op"].str.contains("gradient_tape/", regex=False).to_numpy(bool)
    makes_gradients, within = {*frame[of_gradient].tolist()} - {-1}, set[int]()
    for at, above in enumerate(parent):  # a parent is always an earlier row
        within |= {at} if above in makes_gradients or above in within else set()
    rows = np.flatnonzero(~of_gradient & np.isin(frame, [*within]))
    ops = np.isin(run.graph.row, rows)
    part = run.computing.part(ops)
    place, name = asked[0] if len({call for _, call in asked}) == 1 else ("", asked[0][1])
    yield run.computing.advise(
        f"{name}{behind(place)} computes a second time, for gradients, what the forward pass did: {part}.",
        ops,
        Fix(f"Leave {name} out where memory suffices: what it recomputes is held from the forward pass then."),
        part.ms,
    )
