"""`Run`: the causes of lost time in one run, each found once, and what several rules write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...trace.arrays import Bool, Float64, Int64
from ..card import Claim, Fix, Spans, is_of_model, named, one_line, only_call, place_of, rewritten
from ..common import PS_PER_MS
from ..layers.layers import OPTIMIZER
from ..places import FrameTable, frame_places
from ..steps.owners import CATEGORIES
from ..steps.spans import MIN_STEPS, SpanType, kinds_of, on_stream
from ..steps.steps import fetches_in_a_loop
from .causes import device_waits, input_wait, iterator_spans, ops_of_graphs, outside_work, shuffle_fill_of
from .claims import Claims
from .computing import Computing
from .facts import CodeLine, RunFacts, StepPart
from .python_work import (
    CalledWork,
    CallGaps,
    call_gaps,
    called_work,
    eager_work,
    find_saves,
    other_thread,
    python_gap,
    step_calls,
    traced_calls,
)


@dataclass(frozen=True, eq=False, repr=False)
class Run(RunFacts):
    """The results of one trace and what rules share: where several could explain the same time, the more specific one owns it."""

    @cached_property
    def with_compiling(self) -> Run:
        """The same with these, for rules on what compiles."""
        has_more = not self.counts_compiling and self.results.averaged_steps.compiles_again.any()
        return Run(self.results, counts_compiling=True) if has_more else self

    @cached_property
    def claims(self) -> Claims:
        """What of the steps' time no advice speaks of yet."""
        return Claims(self.results.attribution, self.steps, self.with_compiling.steps)

    def ran(self, overhead_ms: float = 0.0, least_ms: float = 0.0, *, of_model: bool = False) -> Spans:
        """When ops ran on the host in the averaged steps, without what calling each takes, and at least so long."""
        rows = self.results.attribution
        is_run = (rows.op >= 0) & ~rows.is_wait & (rows.category == CATEGORIES.index("host_compute"))
        if of_model:
            grows = (self.results.layers.op_phase != OPTIMIZER) & ~self.results.op_scopes.is_input
            is_run &= np.append(grows, False)[rows.op]
        own = np.flatnonzero(is_run & (self.steps.entry_of[rows.step] >= 0))
        begin = rows.start_ps[own] + round(overhead_ms * PS_PER_MS)
        until = np.maximum(rows.end_ps[own], rows.start_ps[own] + round(least_ms * PS_PER_MS))
        is_long = until > begin
        return Spans(rows.step[own][is_long], begin[is_long], until[is_long])

    def when(self, events: Int64) -> Spans:
        """When some events of averaged steps ran."""
        return self.steps.spans(self.entry[events], self.trace.start_ps[events], self.trace.ends(events))

    def free(
        self, name: str, rule: str, spans: Spans | None = None, *, rows: Bool | None = None, is_outside: bool = False
    ) -> tuple[StepPart, Claim]:
        """What of the mean step is in a rule's categories and in some rows, or spans, or outside of these, with no advice on it
        yet; and the claim to just that."""
        ms, claim = self.claims.free(rule, Claim(rows, spans, is_outside))
        return self.steps.part(name, float(ms.mean())), claim

    computing = cached_property(Computing)
    eager = cached_property(eager_work)
    traced = cached_property(traced_calls)
    calls = cached_property(step_calls)
    saves = cached_property(find_saves)
    wait = cached_property(input_wait)
    new_iterators = cached_property(iterator_spans)
    shuffle_fill = cached_property(shuffle_fill_of)
    waits = cached_property(device_waits)
    gap = cached_property(python_gap)
    graph = cached_property(ops_of_graphs)

    @cached_property
    def new_iterator_ms(self) -> Float64:
        """The same for each step."""
        step, start_ps, end_ps = self.new_iterators
        ms = np.bincount(step, (end_ps - start_ps) / PS_PER_MS, self.steps.n_all)
        return ms[self.steps.row].astype(np.float64)

    @cached_property
    def is_called_for_each_step(self) -> bool:
        """Whether Keras makes a pipeline for most steps, as a call of `predict` for each batch does: they wait for that."""
        n_steps = len(self.steps)
        return self.is_keras_loop and n_steps >= MIN_STEPS and len(self.results.tf_data.pipelines) > n_steps / 2

    @cached_property
    def takes_several(self) -> bool:
        """Whether a call takes several batches already, as with `steps_per_execution`."""
        is_marked = bool((self.steps.frame["n_batches"] > 1).any())
        return is_marked or fetches_in_a_loop(self.trace, self.results.steps.event_step, self.steps.row)

    @cached_property
    def starves(self) -> bool:
        """Whether a device waits longer for launches and data than it computes, so that faster kernels would only wait longer."""
        steps = self.steps
        if not steps.has_device:
            return False
        waited_ms = sum(float(steps.category_ms(name).mean()) for name in ("input", "kernel_launch"))
        return waited_ms > steps.ms("device_compute")

    @cached_property
    def call_gaps(self) -> CallGaps:
        """What of long stretches of Python lies in calls of functions, before anything of these runs."""
        return call_gaps(self, self.gap)

    @property
    def runs_eagerly(self) -> bool:
        """Whether the step itself runs op by op: beside a function that Keras calls, the eager ops are those of callbacks."""
        has_function = self.is_keras_loop and not self.steps.has_device and self.calls.n_functions > 0
        return self.eager.is_hot and not has_function

    @cached_property
    def other_thread(self) -> tuple[CodeLine, Spans] | None:
        """Where another thread of the program runs Python, and when, unless the steps wait for what it makes."""
        waits = any(line.waits_for_others for line in self.gap.lines)
        return None if waits else other_thread(self)

    @cached_property
    def called_at_all(self) -> tuple[CalledWork, ...]:
        """What functions of the user's take of the steps beside computing, be it of a single one."""
        return called_work(self, calls_only_hooks=self.is_keras_loop and not self.runs_eagerly)

    @property
    def called(self) -> tuple[CalledWork, ...]:
        """Those seen in several steps: what happens in a single one may never come again."""
        return tuple(one for one in self.called_at_all if one.n_steps > 1)

    @cached_property
    def called_ms(self) -> Float64:
        """What they take of each step."""
        total: Float64 = sum((one.ms for one in self.called), np.zeros(len(self.steps)))
        return total

    @cached_property
    def n_trained(self) -> int:
        """How many steps are of a kind that averages are over, such as `train`."""
        kinds = kinds_of(self.results.steps.frame["name"])
        return int(np.isin(kinds, np.unique(kinds[self.results.is_averaged])).sum())

    outside = cached_property(outside_work)


def runs_functions(run: Run) -> bool:
    """Whether steps run functions, rather than op by op."""
    return run.steps.mean_ms > 0 and not run.eager.is_hot


def has_graph(run: Run) -> bool:
    """Whether their graphs are known, too."""
    return runs_functions(run) and run.graph.is_noted


def event_names(run: RunFacts, rows: Int64) -> tuple[str, ...]:
    """Up to five names of some events, the most frequent first."""
    names, count = np.unique(run.trace.name_id[rows], return_counts=True)
    return tuple(run.trace.strings[i] for i in names[np.argsort(-count, kind="stable")][:5].tolist())


DATA_GRAPH = re.compile(r"Dataset_")


@dataclass(frozen=True)
class MappedFunction:
    """A line of a function that was given to a dataset."""

    name: str
    place: str
    """`train.py:7`, or `Cell [3]:7`."""
    line: int
    """The same line, in the file of its text."""

    @property
    def words(self) -> str:
        """What a sentence calls it."""
        return f"{named(self.name, 'the lambda')} ({one_line(self.place)})"


def mapped_function(run: Run) -> MappedFunction | None:
    """The function on the line that takes most of the time in ops of the input; None where functions of datasets have such an op
    at several lines, as a trace does not say whose an op is."""
    own_us = np.where(run.results.op_scopes.is_input, run.results.op_sums.self_us, 0.0)
    op, source_map = _costliest_op(run, own_us), run.source_map
    if op < 0 or source_map.is_empty:
        return None
    shares, ops = run.results.op_shares, source_map.ops
    is_data = np.array([*map(DATA_GRAPH.match, source_map.functions["graph"]), None], np.bool_)[ops["graph"]]
    frames = ops["frame"][
        is_data & (ops["op"] == shares.name[op]) & (ops["type"] == shares.type[op]) & (ops["frame"] >= 0)
    ]
    table = FrameTable.of_map(source_map)
    own = {*frame_places(table).user_frame[frames].tolist()} - {-1}
    lines = {(table.path[at], table.line[at], table.function[at]) for at in own}
    row = run.results.source_lines.entries.iloc[int(run.results.source_lines.op_entry[op])]
    file, line, function = min(lines, default=(str(row["file"]), int(row["line"]), str(row["function"])))
    if len({place[:2] for place in lines}) > 1:
        return None
    return MappedFunction(function, place_of(source_map, file, line), line)


def _costliest_op(run: Run, own_us: Float64) -> int:
    """The op that takes most time at the line that takes most; -1 where no line of the user's is known."""
    lines = run.results.source_lines
    entry = lines.op_entry
    time_us = np.bincount(entry, own_us[: len(entry)], minlength=len(lines.entries))
    time_us[(lines.entries["bucket"] != "").to_numpy()] = 0.0
    if not len(time_us) or time_us.max() <= 0:
        return -1
    is_there: Bool = entry == int(time_us.argmax())
    return int(np.where(is_there, own_us[: len(entry)], -1.0).argmax())


FIXED = 0.5
"""From this share of the step time on, twice the batch is worth a third more samples a second."""
QUICK = 0.1
"""The quickest tenth of the steps shows what is the program's: a busy machine makes steps longer, the ops in them hardly."""


NO_TIME_DISTRIBUTED = "What works on the last axis, as Dense does, needs no TimeDistributed around it."


def larger_batch(run: Run, factor: int = 8) -> str:
    """What to try, and what it changes: nothing where Keras only predicts or evaluates."""
    words = f"Try a larger batch, such as {factor} times as many samples"
    if {*kinds_of(run.steps.frame["name"])} <= {"predict", "test"}:
        return f"{words}: the results are the same."
    return f"{words}: an epoch then has fewer, larger updates, which changes the training (the learning rate may have to follow)."


def several_in_one_call(run: Run) -> Fix | None:
    """One call of Python for many steps; None where a call takes several already."""
    if run.takes_several:
        return None
    if not run.is_keras_loop:
        return Fix(
            "Run several steps in one call: a tf.function with a loop over tf.range(32), which trains with the next "
            "batch of an iterator each time."
        )
    words = (
        "Run 32 steps in one call: steps_per_execution=32, an argument of compile. Callbacks then see each 32nd batch."
    )
    return _compiled_with(run, words, "steps_per_execution", "32")


def fewer_calls(run: Run) -> Fix:
    """Less of what is the same for any batch: several steps in one call, or larger ones."""
    several = several_in_one_call(run)
    return several.also(larger_batch(run)) if several else Fix(larger_batch(run))


def compiled(run: Run, into: str = "fewer, larger kernels") -> Fix:
    """The whole step as one program of XLA."""
    words = f"Compile the whole step, with the optimizer, into {into}: jit_compile=True, an argument of "
    if not run.is_keras_loop:
        return Fix(f"{words}the tf.function around it.")
    return _compiled_with(run, f"{words}compile.", "jit_compile", "True")


def _compiled_with(run: Run, words: str, name: str, value: str) -> Fix:
    call = only_call(run.source_map, "compile", is_of_model)
    return rewritten(words, call, call.with_keyword(name, value) if call else "")


_TYPE = {"h2d": SpanType.HOST_TO_DEVICE, "d2h": SpanType.DEVICE_TO_HOST}


def copy_events(run: Run, way: Literal["h2d", "d2h"]) -> Int64:
    """The copies on streams of devices, in one direction; rows of the trace."""
    if not run.steps.has_device:
        return np.empty(0, np.int64)
    return np.flatnonzero(
        on_stream(run.trace) & (run.results.steps.span_type == _TYPE[way]) & (run.trace.duration_ps > 0)
    )


def input_sizes(run: Run, op: int) -> str:
    """What an op reads, but for what is no more than a list of numbers: `8192x2047 and 2047x2047`."""
    sizes = [shape for shape in run.graph.input_shapes(int(run.graph.row[op])) if shape]
    known = ["x".join("?" if one < 0 else str(one) for one in shape) for shape in sizes[:2] if len(shape) > 1]
    return " and ".join(known)


def masked_length(run: Run) -> int:
    """How many places each sequence of a batch has, where rows are looked up by them and a mask may hide some; 0 where not."""
    traced = run.graph
    looked_up = [shape for row in traced.ran("GatherV2", "ResourceGather") for shape in traced.input_shapes(row)[1:2]]
    compared = [shape for row in traced.ran("NotEqual") for shape in traced.input_shapes(row)[:1]]
    return max((shape[1] for shape in compared if shape and len(shape) == 2 and shape in looked_up), default=0)
