"""Rules on the host: saves, copies back, stragglers, small batches, repeated work, the largest part of a step."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...trace.arrays import Bool
from ...trace.source_map import SourceMap
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
    place_of,
    rule,
    step_highlight,
    user_files,
)
from ..common import number, percent, plural, size
from ..memory.memory import NEARLY_FULL
from ..steps.spans import MIN_STEPS
from .calls import OUTSIDE, of_batches, outside_ms
from .causes import PASSES_ON, TracedOps
from .computing import SpentOps, op_line
from .facts import OP_OVERHEAD_MS
from .input_rules import works_ahead
from .python import python_makes_batches
from .python_work import top_line
from .run import FIXED, QUICK, Run, copy_events, event_names, fewer_calls, has_graph, larger_batch, several_in_one_call

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
    copies = steps.wait_ms("output")
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
        copies_per_step=n,
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
    saving = steps.pieces[np.isin(steps.pieces["step"].to_numpy(), steps.row[saves.is_saving])]
    line = top_line(run, saving[saving["category"] == "other"])
    line = line if line and line.writes else None
    where = f" in {line.function} ({line.place})" if line else ""
    stall_ms = float(saves.stall_ms[saves.is_saving].mean())
    yield run.advise(
        f"Saving weights{where} stalls {n} of {plural(len(steps), 'step')} by {number(stall_ms)} ms each: "
        f"{percent(gain)} of the time.",
        None,
        Fix(
            f"Save once an epoch instead of every few steps{behind(line.quoted if line else '')}, as ModelCheckpoint does with "
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
        n_steps=len(steps),
        step_time_ms=steps.median_ms,
        stall_ratio=gain,
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
    if more == _OF_METRICS:
        fix = Fix(_OF_METRICS).also(larger_batch(run))
    elif more:
        fix = fix.also(more)
    yield run.advise(
        f"{fixed}{of_batches(run)} are the same for any batch: {number(run.work.n_ops)} ops of {number(average_us)} µs on average"
        f"{f', most of them in {where}' if where else ''}, their scheduling, and Python around them.",
        fixed,
        fix,
        view="step_chart",
        claim=claim,
        growing_ms=run.work.growing_ms,
        ops_per_step=run.work.n_ops,
        avg_op_time_us=average_us,
        op_overhead_us=1e3 * OP_OVERHEAD_MS,
        layer=where,
    )


_NO_TIME_DISTRIBUTED = "What works on the last axis, as Dense does, needs no TimeDistributed around it."
_OF_METRICS = (
    "Each metric has ops of its own in every step: let one count all classes (a confusion matrix holds what recall and precision "
    "of each are made of), or compute what you look at once an epoch from predictions."
)
_OF_VARIABLES = (
    "Each variable is updated by ops of its own: one layer in place of many small ones side by side has one large variable, "
    "which costs as much as a small one."
)
MANY = 32
"""From so many variables on their number is worth a word."""


def _most_ops(run: Run) -> tuple[str, str]:
    """What runs most of the ops, a layer, the metrics or the optimizer of many variables, and what to do about that."""
    layers, work = run.results.layers, run.work
    n_variables = int(run.source_map.variables["trainable"].astype(bool).sum())
    if n_variables >= MANY and work.per_step[work.is_optimizer].sum() >= FIXED * work.n_ops:
        return f"the optimizer, for {n_variables:,} variables", _OF_VARIABLES
    n = np.bincount(layers.op_entry[run.results.op_shares.dominant], work.per_step * work.is_model, len(layers.entries))
    top = layers.entries.iloc[int(n.argmax())] if len(n) else None
    if top is None or top["kind"] not in ("layer", "metrics") or n.max() < FIXED * work.n_ops:
        return "", ""
    more = {"metrics": _OF_METRICS, "TimeDistributed": _NO_TIME_DISTRIBUTED}
    return str(top["layer"]), more.get(str(top["class_name"] or top["kind"]), "")


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
    waited_ms = sum(float(steps.wait_ms(part).mean()) for part in ("dispatch", "kernel_launch", "sync"))
    causes = {name for name, one in RULES.items() if one.level == CAUSE}
    has_cause = any(one.gain_ratio >= MEDIUM_GAIN and one.rule in causes for one in advice)
    if waited_ms >= WAITS * steps.mean_ms and not has_cause:
        why = f"{used}, and the {steps.device} waits for the CPU as long for any batch"
        return "A larger batch fits and may help", why
    return larger, used


_MOST_OPS = 100_000
"""Graphs of more ops in all are not compared: it takes a second."""


@rule("Compute it once", claims=COMPUTE, explains=("small_batch",), needs=has_graph, least=MEDIUM_GAIN)
def repeated_work(run: Run) -> Iterator[Advice]:
    """Ops of the step read and make the same as others of it; gain: the share of the step time of all but the first of each."""
    traced = run.graph
    yield from _recomputed(run, traced)
    again, of_first = _again(traced)
    if not again.any():
        return
    ops = SpentOps(run.computing, "repeated", again)
    where = behind(" and ".join(dict.fromkeys(filter(None, (ops.place, op_line(run, of_first[ops.top]))))))
    n = int(ops.own.sum())
    yield ops.advise(
        f"{plural(n, 'op')} of the step compute{'s' if n == 1 else ''} again what another one did, of the same tensors and "
        f"weights: {ops.type}{where} above all. That takes {ops.part}.",
        fix=Fix(
            "Call the model once a step, model(x, training=True): its result is for the loss, the metrics and "
            "whatever else. Ask one tape once for the gradients of all variables."
        ),
        n_repeated_ops=n,
    )


_REMAT = re.compile(r"\b(recompute_grad|RematScope|remat)\(")


def _recomputed(run: Run, traced: TracedOps) -> Iterator[Advice]:
    """What a program that asks for it computes a second time for gradients: ops made within the call that makes these."""
    source_map = traced.source_map
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
    ops = SpentOps(run.computing, "recomputed", np.isin(traced.row, rows))
    place, name = asked[0] if len({call for _, call in asked}) == 1 else ("", asked[0][1])
    yield ops.advise(
        f"{name}{behind(place)} computes a second time, for gradients, what the forward pass did: {ops.part}.",
        fix=Fix(f"Leave {name} out where memory suffices: what it recomputes is held from the forward pass then."),
    )


def _again(traced: TracedOps) -> tuple[Bool, dict[int, int]]:
    """The framework ops that compute what one before them did, and that one of each; none where no product with weights is among
    them, as equal gradients cannot be left out."""
    none = np.zeros(len(traced.row), np.bool_)
    own = traced.row.to_numpy()
    ran = np.unique(own[own >= 0])
    ops = traced.source_map.ops
    graphs = ops["graph"].isin(np.unique(ops["graph"].to_numpy()[ran]))
    if int(graphs.sum()) > _MOST_OPS:
        return none, {}
    values = _values(traced, np.flatnonzero(graphs.to_numpy()))
    op_of_row = {int(row): op for op, row in reversed(list(enumerate(own.tolist()))) if row >= 0}
    first_of: dict[int, int] = {}
    earlier: dict[int, int] = {}
    for row in ran.tolist():  # one turn an op that ran
        first = first_of.setdefault(values.number[row], row)
        if first != row:
            earlier[row] = first
    # A gradient stands for another op.
    if not any(row in values.with_weights and int(traced.of_row[op_of_row[row]]) == row for row in earlier):
        return none, {}
    again = np.isin(own, list(earlier))
    return again, {op: op_of_row[earlier[int(own[op])]] for op in np.flatnonzero(again).tolist()}


@dataclass(frozen=True, eq=False)
class _Values:
    number: dict[int, int]
    """Of each op, equal where ops compute the same."""
    with_weights: set[int]
    """The ops that read variables that are trained, but for those that pass them on."""


def _values(traced: TracedOps, rows: np.ndarray) -> _Values:
    """Compare the ops of some graphs by type, shapes and what they read; unknown inputs, variables that are not trained and
    constants of the user's lines make an op unlike all others."""
    source_map = traced.source_map
    details = source_map.details.drop_duplicates("op").set_index("op").reindex(rows)
    reads = _by_op(source_map.edges[source_map.edges["source_output"] >= 0])
    waits = _by_op(source_map.edges[source_map.edges["source_output"] < 0])
    trained = {row for row, is_one in enumerate(source_map.variables["trainable"].tolist()) if is_one}
    columns = (details["input_shapes"].fillna(""), details["output_shapes"].fillna(""), details["variable"].fillna(-1))
    names, graphs, kinds = (source_map.ops[name].tolist() for name in ("op", "graph", "type"))
    is_given = _is_given(source_map)
    keys: dict[Hashable, int] = {}
    found = _Values({}, set())
    weights: set[int] = set()
    for row, before, after, variable in zip(rows.tolist(), *(column.tolist() for column in columns), strict=True):
        inputs, kind = reads.get(row, []), kinds[row]
        n_inputs = before.count(";") + 1 if before else 0
        read = tuple((slot, found.number.get(source, -1 - output), output) for slot, source, output in inputs)
        key: Hashable = graphs[row], kind, after, read
        if int(variable) in trained:
            key = graphs[row], kind, after, int(variable), tuple(sorted(source for _, source, _ in waits.get(row, [])))
            weights.add(row)
        elif kind == "Const":
            key = (graphs[row], kind, after, names[row].rpartition("/")[2]) if is_given[row] else row
        elif len(inputs) < n_inputs or not n_inputs:
            key = row
        elif any(source in weights for _, source, _ in inputs):
            (weights if kind in PASSES_ON else found.with_weights).add(row)
        found.number[row] = keys.setdefault(key, len(keys))
    return found


def _by_op(edges: pd.DataFrame) -> dict[int, list[tuple[int, int, int]]]:
    """Slot, source and output of the edges into each op, by slot."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for op, slot, source, output in edges.sort_values(["op", "slot"], kind="stable").itertuples(index=False):
        found.setdefault(op, []).append((slot, source, output))
    return found


def _is_given(source_map: SourceMap) -> list[bool]:
    """For each op whether, as a constant, it follows from what an op or a layer is: made by a library's code, or a gradient's."""
    files, frames = source_map.files["is_user"].to_numpy(bool), source_map.frames["file"].to_numpy(int)
    is_user = np.append(np.append(files, False)[frames], True)
    told = ~is_user[source_map.ops["frame"].to_numpy(int)]
    of_gradient = source_map.ops["op"].str.contains("gradient_tape/", regex=False).to_numpy(bool)
    given: list[bool] = (told | of_gradient).tolist()
    return given
