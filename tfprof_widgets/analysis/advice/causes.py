"""Causes of lost time that rules share: waits for input and devices, work of other tasks, iterators, time outside of steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int64
from ...trace.source_map import SourceMap, parse_shapes
from ...trace.trace import Session, Trace
from ..card import HIGH_GAIN, IDLE, MEDIUM_GAIN, Spans
from ..common import PS_PER_MS, US_PER_MS, Stretches
from ..events import int_stat_at
from ..grouping import within_data
from ..input.iterators import MAKES_ITERATOR
from ..input.pipeline import INPUT_HIGH, limits_steps, waits_often
from ..names import base_name, by_ends
from ..steps.owners import CATEGORIES
from ..steps.spans import MIN_STEPS, Coverage, kinds_of
from ..xla.programs import graphs_switched_off
from .facts import CodeLine, code_line, covered
from .input_stages import stage_of
from .python_work import calls_op

if TYPE_CHECKING:
    from .facts import RunFacts


_PYTHON = re.compile(r".*:(Eager)?PyFunc(Stateless)?\Z")


def input_python(run: RunFacts) -> Stretches:
    """When any function of the input runs in Python, for whatever batch."""
    trace = run.trace
    is_python = by_ends(trace, lambda name, *_: bool(_PYTHON.match(name)))
    rows = np.flatnonzero(is_python[trace.name_id] & within_data(trace))
    return Stretches.of(trace.start_ps[rows], trace.ends(rows))


def input_python_ms(run: RunFacts) -> Float64:
    """For each step how long that runs meanwhile."""
    return input_python(run).within(run.steps.start_ps, run.steps.end_ps) / PS_PER_MS


IDLE_INPUT = 0.5
"""Cores that a process computes on beside its ops: with fewer, Python of the input may as well wait for a disk or a clock."""


def locked_ms(run: RunFacts) -> float:
    """What of the mean step neither ops nor the input have, while Python of the input computes, which shares the interpreter."""
    steps, rows, load = run.steps, run.results.attribution, run.load
    computes = float(steps.category_ms("host_compute").mean()) / steps.mean_ms if steps.mean_ms else 0.0
    if not steps.mean_ms or steps.has_device or load is None or load.own - computes < IDLE_INPUT:
        return 0.0
    idle = [CATEGORIES.index(name) for name in IDLE]
    own = np.flatnonzero(np.isin(rows.category, idle) & (steps.entry_of[rows.step] >= 0))
    beside_ps = np.minimum(input_python(run).within(rows.start_ps[own], rows.end_ps[own]), rows.time_ps[own])
    return float(beside_ps.sum()) / PS_PER_MS / len(steps)


def python_stage(run: RunFacts) -> str:
    """Which stage of the input runs it: a generator, as Keras makes one of a PyDataset, or else a map."""
    names = run.results.tf_data.iterators["name"].map(base_name)
    return "generator" if (names == "Generator").any() else "python_map"


CROWDED = 0.5
"""Of the time of steps: an input that works less is no fault beside other programs, however long steps wait for it."""
NEVER_RESTS = 0.8
"""Of a step: so long runs Python of the input that sets the pace."""


@dataclass(frozen=True, eq=False, repr=False)
class InputWait:
    """Waiting for data in the steps that averages are over."""

    ms: Float64
    """For each step; without copies to a device that nothing hides, which are not the pipeline's."""
    ratio: float
    """Share of the time of all steps."""
    is_long: bool
    """Whether it is more than handing ready batches over, which takes the same for any batch."""
    is_told: bool
    """Whether it is long, and more than chance: not only beside other programs that take the cores."""
    sets_the_pace: bool
    """Whether it is so long in so many steps that nothing else could make the training faster, whoever slows the input."""


_PY_FUNCS = ("PyFunc", "EagerPyFunc", "PyFuncStateless")


def input_ops(run: RunFacts) -> tuple[Float64, list[str]]:
    """Time of their own of the ops that mapped functions run, in us, and their types."""
    results = run.results
    own_us = np.where(results.op_scopes.is_input, results.op_sums.self_us, 0.0)
    rows = [k for k in np.flatnonzero(own_us > 0).tolist() if results.op_shares.type[k] != "Dataset"]
    return own_us[rows], [results.op_shares.type[k] for k in rows]


def runs_python(run: RunFacts) -> bool:
    """Whether the costliest op of mapped functions is one that runs Python."""
    own_us, kinds = input_ops(run)
    return bool(len(own_us)) and kinds[int(own_us.argmax())] in _PY_FUNCS


def input_work(run: RunFacts) -> float:
    """How long the input works for all steps, of their time: its slowest stage, or functions on the cores that may run them.
    Beside other programs both take longer, and an input that works longer than the model computes keeps up with it nowhere."""
    data, whole_ms = run.results.tf_data, float(run.results.steps.frame["step_time_ms"].sum())
    if data.bottleneck_pipeline is None or not whole_ms or run.load is None:
        return 0.0
    own_us, kinds = input_ops(run)
    in_python = np.isin(np.array(kinds, np.str_), _PY_FUNCS)
    stage = data.iterators.iloc[int(data.bottleneck_pipeline["bottleneck"])]
    is_alone = stage_of(str(stage["name"]), stage["params"]) == "no_parallel_map"
    n_cores = 1.0 if is_alone else min(run.load.quota or run.load.n_cores, run.load.n_cores)
    functions_ms = max(float(own_us[in_python].sum()), float(own_us.sum()) / n_cores) / US_PER_MS
    stage_ms = 0.0 if stage["is_async"] else float(stage["self_time_ms"])
    return float(max(functions_ms, stage_ms) / whole_ms)


def input_wait(run: RunFacts) -> InputWait:
    """How long the averaged steps wait for data, and whether that matters."""
    steps = run.steps
    if not len(steps):
        return InputWait(np.zeros(0), 0.0, is_long=False, is_told=False, sets_the_pace=False)
    wait = steps.category_ms("input")
    ratio = float(wait.mean()) / steps.mean_ms if steps.mean_ms else 0.0
    is_long = run.results.waits_are_usual and limits_steps(wait, steps.time_ms)
    # Where others take the cores, a pipeline that keeps up otherwise falls behind; one in Python that never rests does not.
    never_rests = float(np.median(input_python_ms(run))) >= NEVER_RESTS * steps.median_ms > 0
    is_told = is_long and (never_rests or not run.is_machine_busy or input_work(run) >= max(1 - ratio, CROWDED))
    often = waits_often(wait, steps.time_ms)
    return InputWait(
        wait, ratio, is_long=is_long, is_told=is_told, sets_the_pace=is_long and often and ratio >= INPUT_HIGH
    )


@dataclass(frozen=True, eq=False, repr=False)
class DeviceWaits:
    """Idle time of devices in the averaged steps, as rows of `attribution`."""

    run: RunFacts
    is_launch: Bool
    """Which rows are of launches, or of Python and the runtime between two kernels; none where a profiler made XLA launch the
    kernels of CUDA graphs one by one."""
    is_border: Bool
    """Which are of Python, the runtime and synchronising before the first or after the last kernel of a step."""

    def ms(self, chosen: Bool) -> Float64:
        """What some rows have of each averaged step."""
        rows, steps = self.run.results.attribution, self.run.steps
        own = np.flatnonzero(chosen & (steps.entry_of[rows.step] >= 0))
        of_step = np.bincount(steps.entry_of[rows.step[own]], rows.time_ps[own] / PS_PER_MS, len(steps))
        return of_step.astype(np.float64)

    @cached_property
    def launching_ms(self) -> Float64:
        """How long no device works for a launch in each step."""
        return self.ms(self.is_launch)

    @cached_property
    def border_ms(self) -> Float64:
        """How long none does at the borders of each."""
        return self.ms(self.is_border)

    def before_kernels(self, ops: Bool) -> Bool:
        """The waits for launches of kernels of some ops, but for those at a border."""
        rows = self.run.results.attribution
        found: Bool = self.is_launch & ~rows.is_at_border & np.append(ops, False)[rows.op]
        return found

    def before(self, ops: Bool) -> float:
        """The part that these are of all waits for launches, in [0, 1]."""
        whole = float(self.launching_ms.sum())
        return float(self.ms(self.before_kernels(ops)).sum()) / whole if whole else 0.0

    @property
    def most(self) -> list[int]:
        """Up to five ops for whose launches the devices wait longest."""
        rows, steps = self.run.results.attribution, self.run.steps
        own = np.flatnonzero(self.is_launch & (rows.op >= 0) & (steps.entry_of[rows.step] >= 0))
        time_ps = np.bincount(rows.op[own], rows.time_ps[own])
        return [one for one in np.argsort(-time_ps, kind="stable")[:5].tolist() if time_ps[one] > 0]


def device_waits(run: RunFacts) -> DeviceWaits:
    """The waits of devices for launches, and at the borders of steps."""
    rows = run.results.attribution
    border = rows.is_at_border | ~rows.is_wait  # nothing follows the last work of all
    launch, dispatch, sync = (rows.category == CATEGORIES.index(one) for one in ("kernel_launch", "dispatch", "sync"))
    is_made_by_profiler = graphs_switched_off(run.trace).n_graphs > 0
    return DeviceWaits(run, (launch | dispatch & ~border) & (not is_made_by_profiler), (dispatch | sync) & border)


RECEIVED = "RecvTensor"
"""The type by which TensorFlow's trace names the arrival of a tensor of another task."""


PASSES_ON = frozenset(("Identity", "Cast", "Reshape", "ReadVariableOp", "StopGradient", "ExpandDims", "Squeeze"))
"""Types of ops that give on what they read, in another form at most."""
PRODUCTS = frozenset(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"))
"""Types of products of matrices."""
MOST_STEPS = 8
"""Ops in a row that are followed."""


@dataclass(frozen=True, eq=False, repr=False)
class TracedOps:
    """The ops of the graphs in a source map; `row` is always one of `SourceMap.ops`."""

    source_map: SourceMap
    row: pd.Series
    """For each framework op that of itself, -1 for none."""
    of_row: pd.Series
    """For each framework op that of itself, or of a gradient op of the op that it is the gradient of."""

    @property
    def is_noted(self) -> bool:
        """Whether any graph is recorded."""
        return len(self.source_map.details) > 0

    @cached_property
    def type(self) -> pd.Series:
        """Type of each."""
        return self.source_map.ops["type"]

    @property
    def dtype(self) -> pd.Series:
        """What type of numbers an op makes, by its row; "" where that is not known."""
        return self._shapes["dtype"]

    @cached_property
    def _shapes(self) -> pd.DataFrame:
        return self.source_map.details.drop_duplicates("op").set_index("op")

    @cached_property
    def _source(self) -> pd.Series:
        edges = self.source_map.edges
        data = edges[(edges["source_output"] >= 0) & (edges["source"] >= 0)].drop_duplicates(["op", "slot"])
        return data.set_index(["op", "slot"])["source"]

    def input_shapes(self, row: int) -> list[tuple[int, ...] | None]:
        """Shapes of what an op reads, see `parse_shapes`; [] where not known."""
        return parse_shapes(str(self._shapes["input_shapes"].get(row, "")))

    def output_shapes(self, row: int) -> list[tuple[int, ...] | None]:
        """Shapes of what it makes, likewise."""
        return parse_shapes(str(self._shapes["output_shapes"].get(row, "")))

    def has_shape(self, row: int, shape: tuple[int, ...]) -> bool:
        """Whether an op reads or makes a tensor of a shape."""
        return shape in self.input_shapes(row) or shape in self.output_shapes(row)

    def source(self, row: int, slot: int) -> int:
        """The op that made what an op reads; -1 where it is not known."""
        return int(self._source.get((row, slot), -1))

    def behind(self, row: int, slot: int) -> int:
        """The op that made what an op reads, through those that only pass it on; -1 where it is not known."""
        for _ in range(MOST_STEPS):
            row, slot = self.source(row, slot), 0
            if row < 0 or self.type[row] not in PASSES_ON or (row, 0) not in self._source.index:
                break
        return row

    def before(self, rows: list[int]) -> list[int]:
        """All ops that some ops come behind, within their graphs."""
        return self._beyond(rows, *(self.source_map.edges[name].to_numpy() for name in ("op", "source")))

    def after(self, rows: list[int]) -> list[int]:
        """All ops that come behind some ops, within their graphs."""
        return self._beyond(rows, *(self.source_map.edges[name].to_numpy() for name in ("source", "op")))

    def _beyond(self, rows: list[int], near: Int64, far: Int64) -> list[int]:
        found = np.zeros(len(self.type), np.bool_)
        newest = np.array(rows, np.int64)
        while len(newest):  # one turn per op along the longest path
            newest = np.unique(far[np.isin(near, newest) & (far >= 0)])
            newest = newest[~found[newest]]
            found[newest] = True
        return np.flatnonzero(found).tolist()

    def readers(self, rows: list[int]) -> list[int]:
        """The ops that read what some ops make."""
        edges = self.source_map.edges
        is_read = edges["source"].isin(rows) & (edges["source_output"] >= 0)
        found: list[int] = edges["op"][is_read].unique().tolist()
        return found

    def variable(self, row: int) -> int:
        """The row of the variable that an op reads, -1 for none that is known."""
        return int(self._shapes["variable"].get(row, -1))

    def runs(self, rows: list[int]) -> Bool:
        """Which framework ops are some ops or gradients of them."""
        chosen: Bool = np.isin(self.of_row, rows)
        return chosen

    def ran(self, *types: str) -> list[int]:
        """The ops of some types that ran themselves, not as gradients of others."""
        rows = np.unique(self.row[self.row >= 0])
        found: list[int] = rows[self.type.iloc[rows].isin(types).to_numpy()].tolist()
        return found


def ops_of_graphs(run: RunFacts) -> TracedOps:
    """The traced ops."""
    match = run.results.op_match
    rows = (
        pd.Series(row if len(run.source_map.details) else np.full_like(row, -1)) for row in (match.own_row, match.row)
    )
    return TracedOps(run.source_map, *rows)


OFTEN = 0.5
"""An iterator made in so many steps is one made in each: an epoch has more steps than two."""
MIN_FILL_MS = 50.0


def iterator_spans(run: RunFacts) -> Spans:
    """From making an iterator until its first batch, in each step that makes one; nothing where most make none, as in `fit`."""
    steps, trace = run.steps, run.trace
    none = np.empty(0, np.int64)
    if len(steps) < MIN_STEPS or run.is_keras_loop:
        return steps.spans(none, none, none)
    made = np.flatnonzero(trace.names_matching(MAKES_ITERATOR) & (run.entry >= 0))
    fetched = steps.pieces[steps.pieces["category"] == "input"]
    first, last = np.full(len(steps), np.iinfo(np.int64).max), np.zeros(len(steps), np.int64)
    np.minimum.at(first, run.entry[made], trace.start_ps[made])
    at = steps.entry_of[fetched["step"].to_numpy(np.int64)]
    np.maximum.at(last, at, fetched["start_ps"].to_numpy(np.int64) + fetched["duration_ps"].to_numpy(np.int64))
    own = np.flatnonzero(last > first) if (last > first).mean() >= OFTEN else none
    return steps.spans(own, first[own], last[own])


@dataclass(frozen=True)
class ShuffleFill:
    """A shuffle that fetches until its buffer is full before it gives the first element, in each epoch."""

    row: int
    """In the table of iterators."""
    ms: float
    """For which the training waited, in all."""
    n_times: int
    ratio: float
    """Share of the time captured."""


def shuffle_fill_of(run: RunFacts) -> ShuffleFill | None:
    """Find the one that is waited for longest; None where nothing is waited for, or it is not known of what that is a share."""
    iterators, coverage = run.results.tf_data.iterators, run.results.coverage
    if iterators.empty or not coverage.captured_ps or not _are_one(run.trace.sessions):
        return None
    row = int(iterators["fill_time_ms"].to_numpy(np.float64).argmax())
    ms = float(iterators["fill_time_ms"].iloc[row])
    ratio = ms / (coverage.captured_ps / PS_PER_MS)
    # Beside other programs a buffer takes longer to fill than it would.
    if ms < MIN_FILL_MS or ratio < (HIGH_GAIN if run.is_machine_busy else MEDIUM_GAIN):
        return None
    of_pipeline = iterators["pipeline"] == iterators["pipeline"].iloc[row]
    n_times = int(iterators["n_iterators"][of_pipeline & (iterators["parent_id"] < 0)].sum())
    return ShuffleFill(row, ms, n_times, ratio)


def _are_one(sessions: Sequence[Session]) -> bool:
    """Whether sessions have less between them than they last: a long capture, written in parts, and no chosen steps."""
    in_order = sorted(sessions, key=lambda one: one.start_ps)
    between_ps = sum(max(after.start_ps - before.stop_ps, 0) for before, after in pairwise(in_order))
    return between_ps <= sum(one.stop_ps - one.start_ps for one in sessions)


Kinds = npt.NDArray[np.object_]
MARK = "begun_ns"
"""What our marker of the first step of such a loop says: how long before it the loop began."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluations:
    """Loops of an evaluation, such as validations, by begin; columns have one entry for each."""

    start_ps: Int64
    end_ps: Int64
    kind: Kinds
    """Of most of its steps."""
    n_steps: Int64
    are_told: bool
    """Whether markers tell where each begins, and so which steps are of one."""

    @property
    def ms(self) -> Float64:
        """How long each took."""
        return (self.end_ps - self.start_ps) / PS_PER_MS

    def at(self, rows: Int64) -> Evaluations:
        """Only these."""
        return replace(
            self,
            start_ps=self.start_ps[rows],
            end_ps=self.end_ps[rows],
            kind=self.kind[rows],
            n_steps=self.n_steps[rows],
        )

    def of(self, time_ps: Int64) -> Int64:
        """For each moment in which it lies, -1 for none."""
        at = np.searchsorted(self.start_ps, time_ps, side="right") - 1
        return np.where((at >= 0) & (time_ps < np.append(self.end_ps, 0)[at]), at, -1)


def find_evaluations(trace: Trace, steps: pd.DataFrame, kinds: Kinds, coverage: Coverage) -> Evaluations:
    """The evaluations among the steps that are not trained; a loop without markers begins with its first step."""
    start_ps = steps["start_ps"].to_numpy(np.int64)
    end_ps = start_ps + steps["duration_ps"].to_numpy(np.int64)
    stretch = np.maximum(np.searchsorted(coverage.start_ps, start_ps, side="right") - 1, 0)
    marks = trace.keyed_stats(MARK).event
    marked = np.searchsorted(start_ps, trace.start_ps[marks], side="left")
    lead_ps = np.zeros(len(start_ps) + 1, np.int64)
    lead_ps[marked] = np.clip(int_stat_at(trace, MARK, marks), 1, 2**50) * 1000
    lead_ps = lead_ps[:-1]
    is_first = np.append(True, (np.diff(stretch) > 0) | (kinds[1:] != kinds[:-1]))[: len(start_ps)] | (lead_ps > 0)
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(start_ps))[: len(first)] - 1
    until_ps = np.maximum.accumulate(end_ps)[last] if len(first) else end_ps
    begin_ps = np.maximum(start_ps - lead_ps, np.append(coverage.start_ps, 0)[stretch])[first]
    return Evaluations(
        start_ps=np.maximum(begin_ps, np.append(0, until_ps)[: len(first)]),
        end_ps=until_ps,
        kind=kinds[first],
        n_steps=last + 1 - first,
        are_told=bool(len(marks)),
    )


SPARSE_MS = 100.0
"""A stretch with fewer than one sample for so long is one in which Python's lock was held: nobody knows where."""


@dataclass(frozen=True)
class OutsideWork:
    """What one function of the user's, or what it calls, does outside of the steps that a training consists of."""

    line: CodeLine
    """At which it was most often."""
    is_training_call: bool
    """Whether this is the line at which the training's steps run, too, such as that of `fit`: it is what the framework does."""
    ms: float
    """In all: of a validation from the begin of each to its end; else each stretch without a training step as the usual one."""
    usual_ms: float
    """In all, each time counted as the usual one: the first may trace, compile or import."""
    n_times: int
    """So often; what is no validation in so many stretches, with steps between them."""
    is_between: bool
    """Whether training steps came before and after any of that: it is more than how a program begins and ends."""
    kind: str
    """Of the steps that ran meanwhile the most frequent kind, such as `test` of a validation; empty for none."""
    n_steps: int
    """How many of that kind there are in all; of a validation its own."""
    n_ops: float = 0.0
    """How many ops Python calls one by one each time, by its share of the stretches without a training step."""


def outside_work(run: RunFacts) -> tuple[OutsideWork, ...]:
    """Work of the user's functions outside of the training steps, most time first; nothing where nobody sampled lines, or of
    several hosts, as nobody knows of which."""
    trace, source_map, coverage = run.trace, run.source_map, run.results.coverage
    frame, averaged = run.results.steps.frame, run.results.is_averaged
    if not len(source_map.samples) or not len(coverage.start_ps) or frame["host"].nunique() > 1:
        return ()
    time_ps = run.samples.time_ps
    kinds = kinds_of(frame["name"])
    is_trained = np.isin(kinds, np.unique(kinds[averaged]))
    begins, others = np.sort(frame["start_ps"].to_numpy(np.int64)), frame[~is_trained]
    gap = np.searchsorted(begins, time_ps, side="right")
    in_step = covered(time_ps, frame[is_trained])
    main = run.samples.step_call(in_step, gap)[:2] if in_step.any() else (-1, -1)
    stretch, weight_ms = _weights(time_ps, coverage)
    samples = run.samples.places.assign(time_ps=time_ps, stretch=stretch, gap=gap, ms=weight_ms)[weight_ms > 0]
    samples = samples[samples["file"] >= 0].copy()  # of a damaged map of sources some frames are in no file
    first, last = _first_and_last(coverage, frame["start_ps"][is_trained])
    samples["is_between"] = (samples["stretch"] > first) & (samples["stretch"] < last)
    samples["is_main"] = (samples["file"] == main[0]) & (samples["line"] == main[1])
    evaluations = find_evaluations(trace, others, kinds[~is_trained], coverage)
    samples["evaluation"] = evaluations.of(samples["time_ps"].to_numpy(np.int64))
    samples["kind"] = np.append(evaluations.kind, "")[samples["evaluation"]]
    validations = _validations(evaluations, samples)
    validates = (samples["is_main"] & (validations.of(samples["time_ps"].to_numpy(np.int64)) >= 0)).to_numpy()
    samples["n_ops"] = _ops_of_python(trace, coverage)[samples["stretch"]] * samples["ms"]
    samples["n_ops"] /= samples.groupby("stretch")["ms"].transform("sum")
    found = [
        *_each_kind(source_map, validations, samples, validates),
        *_each_function(source_map, samples[~validates], len(samples), kinds, are_told=evaluations.are_told),
    ]
    return tuple(sorted(found, key=lambda one: -one.ms))


def _each_kind(
    source_map: SourceMap, validations: Evaluations, samples: pd.DataFrame, validates: Bool
) -> Iterator[OutsideWork]:
    """Validations by the kind of their steps, at the line that runs the training."""
    for kind in np.unique(validations.kind.astype(str)).tolist():  # a handful
        own, seen = validations.at(np.flatnonzero(validations.kind == kind)), samples[validates].iloc[0]
        yield OutsideWork(
            line=code_line(source_map, int(seen["file"]), int(seen["line"]), float(validates.mean())),
            is_training_call=True,
            ms=float(own.ms.sum()),
            usual_ms=_usual_ms(own.ms),
            n_times=len(own.ms),
            is_between=True,
            kind=kind,
            n_steps=int(own.n_steps.sum()),
        )


def _each_function(
    source_map: SourceMap, samples: pd.DataFrame, n_all: int, kinds: npt.NDArray[np.object_], *, are_told: bool
) -> Iterator[OutsideWork]:
    """What is no validation, by function; where `are_told`, each evaluation is known to be one."""
    for _, own in samples.groupby(["file", "function", "is_main"]):  # one turn per function
        by_line = own.groupby("line")["ms"].sum().sort_values(ascending=False)
        is_main, top = bool(own["is_main"].iloc[0]), int(by_line.index[0])
        known = own["kind"][(own["line"] == top) & (own["kind"] != "")]
        kind = str(known.mode().iloc[0]) if len(known) and not is_main else ""
        if is_main:  # a framework begins and ends a call of its own once, which is nothing between epochs
            own = own[own["is_between"]]
            if own.empty:
                continue
        ms = _usual_ms(own.groupby("stretch")["ms"].sum().to_numpy())
        evaluations = own["evaluation"][own["evaluation"] >= 0]
        times = evaluations if kind and are_told else own["stretch" if is_main else "gap"]
        yield OutsideWork(
            line=code_line(source_map, int(own["file"].iloc[0]), top, len(own) / n_all),
            is_training_call=is_main,
            ms=ms,
            usual_ms=ms,
            n_times=int(times.nunique()),
            is_between=bool(own["is_between"].any()),
            kind=kind,
            n_steps=int((kinds == kind).sum()) if kind else 0,
            n_ops=float(own["n_ops"].sum()) / max(int(times.nunique()), 1),
        )


def _ops_of_python(trace: Trace, coverage: Coverage) -> Int64:
    """How many ops Python calls one by one in each stretch without a training step."""
    called = trace.start_ps[by_ends(trace, lambda name, *_: calls_op(name))[trace.name_id]]
    called.sort()
    return np.searchsorted(called, coverage.end_ps) - np.searchsorted(called, coverage.start_ps)


def _first_and_last(coverage: Coverage, start_ps: pd.Series) -> tuple[int, int]:
    """The stretch before the first training step, and the one after the last."""
    before, after = np.searchsorted(coverage.start_ps, [start_ps.min(), start_ps.max()], side="left")
    return int(before) - 1, int(after)


def _validations(found: Evaluations, samples: pd.DataFrame) -> Evaluations:
    """Those that the line of the training's steps runs: of a kind seen there, and mostly seen there themselves, if at all."""
    own = samples["evaluation"].to_numpy(np.int64)
    is_main = samples["is_main"].to_numpy(np.bool_)
    at_main, elsewhere = (
        np.bincount(own[chosen & (own >= 0)], minlength=len(found.ms)) for chosen in (is_main, ~is_main)
    )
    known = np.unique(found.kind[at_main > elsewhere].astype(str))
    return found.at(np.flatnonzero((at_main >= elsewhere) & np.isin(found.kind.astype(str), known)))


def _usual_ms(each_ms: Float64) -> float:
    each_ms = np.sort(each_ms)
    n = len(each_ms)
    return float(np.minimum(each_ms, each_ms[n // 2 if n > 2 else 0]).sum())


def _weights(time_ps: Int64, coverage: Coverage) -> tuple[Int64, Float64]:
    """For each sample its stretch outside of steps, -1 for none, and how much of that it stands for, in ms."""
    n = len(coverage.start_ps)
    stretch = np.searchsorted(coverage.start_ps, time_ps, side="right") - 1
    stretch[(stretch >= 0) & (time_ps >= coverage.end_ps[stretch])] = -1
    count = np.bincount(stretch[stretch >= 0], minlength=n)
    length_ms = (coverage.end_ps - coverage.start_ps) / PS_PER_MS
    each_ms = np.where(count * SPARSE_MS >= length_ms, length_ms / np.maximum(count, 1), 0.0)
    return stretch, np.append(each_ms, 0.0)[stretch]
