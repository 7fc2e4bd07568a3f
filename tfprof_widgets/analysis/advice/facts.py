"""`RunFacts`: steps, ops and machine of one run, as rules and the causes behind them ask for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...trace.arrays import Bool, Float64, Int32, Int64
from ...trace.source_map import SourceMap, empty_source_map
from ...trace.trace import Trace
from ..card import (
    COMPREHENSIONS,
    Advice,
    Claim,
    Fix,
    Highlight,
    Spans,
    advise,
    definitions_around,
    last_part,
    line_text,
    ns_range,
    one_line,
    result_is_used,
    step_highlight,
    title_of,
)
from ..common import PS_PER_MS, Stretches, number, percent
from ..facts import Facts
from ..layers.layers import OPTIMIZER
from ..machine import MachineLoad, machine_load
from ..source import sample_times
from ..steps.steps import ran_on_device

VISIBLE = 0.02
"""Of the step that the timeline shows: some twenty pixels."""


@dataclass(frozen=True, eq=False, repr=False)
class StepFacts:
    """The steps that averages are over; arrays have one entry for each of them, in order of time."""

    frame: pd.DataFrame
    """Their rows of `Steps.frame`."""
    pieces: pd.DataFrame
    """Their pieces, as `Steps.pieces`; `step` is a row of the whole table."""
    gaps: pd.DataFrame
    """The pieces in which nothing at all runs, on hosts or devices."""
    n_all: int
    """How many steps there are, those left out too."""
    has_device: bool
    """Whether they ran anything on a device, if only copies."""
    device: str
    """`GPU` or `TPU`, `CPU` where the steps ran nothing on a device."""

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def device_computes(self) -> bool:
        """Whether a device computed in any of them."""
        return bool((self.category_ms("device_compute") > 0).any())

    @cached_property
    def row(self) -> Int64:
        """Of each its row in `steps`."""
        return self.frame["step"].to_numpy(np.int64)

    @cached_property
    def entry_of(self) -> Int64:
        """For each step of all, and none, its entry among these, -1 for none."""
        entry = np.full(self.n_all + 1, -1, np.int64)
        entry[self.row] = np.arange(len(self))
        return entry

    @cached_property
    def time_ms(self) -> Float64:
        """How long each took."""
        return self.frame["step_time_ms"].to_numpy(np.float64)

    @cached_property
    def start_ps(self) -> Int64:
        """When each began."""
        return self.frame["start_ps"].to_numpy(np.int64)

    @cached_property
    def end_ps(self) -> Int64:
        """When each ended."""
        end: Int64 = self.start_ps + self.frame["duration_ps"].to_numpy(np.int64)
        return end

    @cached_property
    def mean_ms(self) -> float:
        """Mean step time; 0 without steps."""
        return float(self.time_ms.mean()) if len(self) else 0.0

    @cached_property
    def median_ms(self) -> float:
        """Median step time; 0 without steps."""
        return float(np.median(self.time_ms)) if len(self) else 0.0

    def category_ms(self, name: str) -> Float64:
        """What each spent in one of `STEP_CATEGORIES`."""
        return self.frame[f"{name}_ms"].to_numpy(np.float64)

    def ms(self, name: str) -> float:
        """The mean of that."""
        return float(self.category_ms(name).mean()) if len(self) else 0.0

    def ratio(self, name: str) -> float:
        """Its share of the step time."""
        return self.ms(name) / self.mean_ms if self.mean_ms else 0.0

    @property
    def busy_ratio(self) -> float:
        """The share in which a thread of the host runs ops, or what calls them."""
        return self.ratio("host_compute") + self.ratio("dispatch")

    def spans(self, entry: npt.NDArray[np.integer], start_ps: Int64, end_ps: Int64) -> Spans:
        """Some time of some of them."""
        return Spans(self.row[entry], start_ps, end_ps)

    def part(self, name: str, ms: float) -> StepPart:
        """Some time of the mean step."""
        return StepPart(name, ms, self.mean_ms)

    def typical(self, values: Float64) -> int:
        """The entry whose value is the median of the values, or next to it."""
        return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])

    def usual_ms(self, owned_ms: Float64) -> float:
        """What a step that no stall lengthens takes beside what others own of each."""
        return float(np.median(self.time_ms - owned_ms)) if len(self) else 0.0

    def usual_ratio(self, ms: float, owned_ms: Float64) -> float:
        """The share of such a step, with what others own on average, that some time of it has: what a fix would win of it."""
        step_ms = self.usual_ms(owned_ms) + (float(owned_ms.mean()) if len(self) else 0.0)
        return ms / step_ms if step_ms else 0.0

    def usual(self, values: Float64, *, view: str, op_names: tuple[str, ...] = ()) -> Highlight:
        """Select the typical step by some values, and ops."""
        return step_highlight(self.frame, self.typical(values), view=view, op_names=op_names)

    def stretch(self, values: Float64, category: str, *, view: str, op_names: tuple[str, ...] = ()) -> Highlight:
        """Select the longest stretch of a category in the typical step; all of the step where it has none that can be seen."""
        step = self.usual(values, view=view, op_names=op_names)
        pieces = self.gaps if category == "other" else self.pieces
        own = pieces[(pieces["step"] == step.step) & (pieces["category"] == category)]
        longest_ps = int(own["duration_ps"].max()) if len(own) else 0
        if longest_ps < max(VISIBLE * int(self.frame["duration_ps"].iloc[self.typical(values)]), 1):
            return step
        start_ps = int(own["start_ps"].iloc[int(own["duration_ps"].to_numpy().argmax())])
        return replace(step, time_range_ns=ns_range(start_ps, start_ps + longest_ps))


@dataclass(frozen=True)
class StepPart:
    """A part of the time of a step, and how advice tells of it: its text is `3.1 of 13.1 ms a step (24 %)`."""

    name: str
    """What it is spent for: the beginning of its names among the evidence."""
    ms: float
    step_ms: float

    @property
    def ratio(self) -> float:
        """Its share of the step; 0 without one."""
        return self.ms / self.step_ms if self.step_ms else 0.0

    @property
    def evidence(self) -> dict[str, float | str]:
        """Its numbers."""
        return {f"{self.name}_ms": self.ms, "step_time_ms": self.step_ms, f"{self.name}_ratio": self.ratio}

    def __str__(self) -> str:
        return f"{number(self.ms)} of {number(self.step_ms)} ms a step ({percent(self.ratio)})"


SERVERS = "ps"
"""The job of tasks that hold the variables of others: most of the time they wait to be asked, which is no fault."""


def job_of(host: str) -> str:
    """The job of a task: `worker` of `/job:worker/replica:0/task:1`; "" for a host that is no task."""
    return host.removeprefix("/job:").split("/")[0] if host.startswith("/job:") else ""


def trained(hosts: Iterable[str]) -> list[str]:
    """Those that train, rather than serve parameters to others; all, where none does."""
    every = list(dict.fromkeys(hosts))
    return [host for host in every if job_of(host) != SERVERS] or every


def step_facts(results: Facts, *, with_compiling: bool = False) -> StepFacts:
    """The facts of the steps that the averages of the overview are over; with compiling steps if asked for."""
    frame, is_averaged = results.steps.frame, results.is_averaged
    if with_compiling:
        is_averaged = is_averaged | results.averaged_steps.compiles_again
    chosen = frame[is_averaged]
    chosen = chosen[chosen["host"].isin(trained(chosen["host"]))]
    guide = results.steps.guide_pieces
    pieces, gaps = (
        one[np.isin(one["step"].to_numpy(), chosen["step"].to_numpy())].reset_index(drop=True)
        for one in (results.steps.pieces, guide[guide["category"] == "other"])
    )
    has_device = ran_on_device(chosen)
    kind = "TPU" if "TPU" in results.environment.device_type else "GPU"
    return StepFacts(
        frame=chosen.reset_index(drop=True),
        pieces=pieces,
        gaps=gaps,
        n_all=len(frame),
        has_device=has_device,
        device=kind if has_device else "CPU",
    )


_WAITS = re.compile(r"\.(?:get|join|wait|acquire|recv)\((?:timeout=[\w.]+)?\)")


@dataclass(frozen=True)
class CodeLine:
    """A line of the user's."""

    file: str
    """What the notebook shows, such as `Cell [3]`, or the path."""
    line: int
    function: str
    code: str
    """Its text without indentation, empty where it is not known."""
    share: float
    """Of the samples within the gaps."""

    owner: str = ""
    """The class in which its function is written; empty for none."""
    is_needed: bool = False
    """Whether its file does something with what its function returns."""
    writes: bool = False
    """Whether its function says that it saves something."""

    @property
    def place(self) -> str:
        """`train.py:12`."""
        return f"{last_part(self.file)}:{self.line}"

    @property
    def quoted(self) -> str:
        """`train.py:12: plot(loss)`."""
        return one_line(f"{self.place}: {self.code}".removesuffix(": "))

    @property
    def waits_for_others(self) -> bool:
        """Whether it waits for what another thread or process makes, as of a queue."""
        return _WAITS.search(self.code) is not None

    @property
    def evidence(self) -> dict[str, Any]:
        """What cards have of it."""
        return {"line": self.place, "function": self.function, "code": self.code}

    @property
    def where(self) -> str:
        """`Report.on_epoch_end (train.py:12)`; of a line that is in no function the place alone."""
        if not self.function.isidentifier():
            return self.place
        return f"{self.owner}{'.' if self.owner else ''}{self.function} ({self.place})"


def code_line(source_map: SourceMap, file: int, line: int, share: float) -> CodeLine:
    """The line that samples lie at, with its function and text."""
    text = str(source_map.files["text"].iloc[file])
    around = definitions_around(text, line)
    function = _function(source_map, file, line, around)
    head = next((one for one in reversed(around) if not isinstance(one, ast.ClassDef)), None)
    lines = text.split("\n")[(head.lineno if head else max(line, 1)) - 1 : (head.end_lineno if head else line)]
    return CodeLine(
        file=title_of(source_map, file),
        line=line,
        function=function,
        code=line_text(text, line),
        share=share,
        owner=next(
            (out.name for out, one in pairwise(around) if one.name == function and isinstance(out, ast.ClassDef)), ""
        ),
        is_needed=result_is_used(text, function),
        writes=any(word in " ".join(lines) for word in ("save", "write", "dump", "ckpt", "checkpoint")),
    )


def _function(source_map: SourceMap, file: int, line: int, around: Sequence[ast.stmt]) -> str:
    """The function that a line belongs to; of a comprehension the one that it is written in, by its callers or by the text."""
    frames = source_map.frames
    rows = frames[(frames["file"] == file) & (frames["line"] == line)]
    own = [str(name) for name in rows["function"] if name not in COMPREHENSIONS]
    if own:
        return own[0]
    row = rows.iloc[0]
    while str(row["function"]) in COMPREHENSIONS and row["parent"] >= 0:  # a parent is always an earlier row
        row = frames.iloc[int(row["parent"])]
    if str(row["function"]) not in COMPREHENSIONS and row["file"] == file:
        return str(row["function"])
    names = [one.name for one in around if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return names[-1] if names else str(rows["function"].iloc[0])


def covered(time_ps: Int64, pieces: pd.DataFrame) -> Bool:
    """Which moments lie in some pieces; pieces of several hosts may overlap, the later begun one counts."""
    start = pieces["start_ps"].to_numpy(np.int64)
    order = np.argsort(start, kind="stable")
    end = (start + pieces["duration_ps"].to_numpy(np.int64))[order]
    at = np.searchsorted(start[order], time_ps, side="right") - 1
    return (at >= 0) & (time_ps < np.append(end, 0)[at])


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """Where the user's thread was seen."""

    source_map: SourceMap
    time_ps: Int64
    places: pd.DataFrame
    """Of each its `file`, -1 for none, `line` and `function`."""

    def within(self, pieces: pd.DataFrame) -> Bool:
        """Which lie in some pieces."""
        return covered(self.time_ps, pieces)

    def most_often(self, chosen: Bool) -> tuple[int, int] | None:
        """File and line at which most of some samples are."""
        counts = self.places[chosen][["file", "line"]].value_counts()
        return None if counts.empty else (int(counts.index[0][0]), int(counts.index[0][1]))

    def lines(self, chosen: Bool, told: Bool | None = None) -> tuple[CodeLine, ...]:
        """The lines of some samples, or of those of them that are told of, the most frequent first."""
        here = chosen if told is None else chosen & told
        counts = self.places[here & (self.places["file"] >= 0)][["file", "line"]].value_counts()
        n = int(chosen.sum())
        rows = zip(counts.index, counts.tolist(), strict=True)
        return tuple(code_line(self.source_map, int(file), int(line), count / n) for (file, line), count in rows)

    def step_call(self, chosen: Bool, step: Int64) -> tuple[int, int, str]:
        """File, line and function that run the steps: what some samples see in most of them, rather than most often."""
        seen = self.places[chosen].assign(step=step[chosen]).groupby(["file", "line", "function"])["step"]
        file, line, function = seen.agg(["nunique", "size"]).sort_values(["nunique", "size"]).index[-1]
        return int(file), int(line), str(function)


OP_OVERHEAD_MS = 0.010
"""What running any op costs at least, on whatever shapes: 5 to 20 us on the machines measured."""


@dataclass(frozen=True, eq=False, repr=False)
class OpWork:
    """One entry per unit of `Occurrences`, in a usual one of the averaged steps."""

    median_ms: Float64
    """Self time of one execution; 0 for one that did not run in the steps."""
    per_step: Float64
    """Executions a step."""
    is_model: Bool
    """Whether it is neither of the input nor of the optimizer."""
    is_optimizer: Bool
    is_compiled: Bool
    """Whether it is an op of a compiled program on the host, whose events show only the dispatch, a tenth of the time."""

    @property
    def is_told(self) -> bool:
        """Whether the trace tells how long the model's ops ran: most of them are no compiled ops of a CPU."""
        ours = (self.is_model | self.is_optimizer) & (self.per_step > 0)
        return bool(ours.any()) and float(self.per_step[ours & self.is_compiled].sum()) < 0.5 * self.n_ops

    @property
    def ms(self) -> Float64:
        """Time a step."""
        return self.median_ms * self.per_step

    @property
    def growing_ms(self) -> float:
        """Time a step that grows with the batch: of the model's ops what they take beyond the cost of running any op."""
        beyond = np.maximum(self.median_ms - OP_OVERHEAD_MS, 0.0) * self.per_step
        return float(beyond[self.is_model].sum())

    @property
    def n_ops(self) -> float:
        """How many ops of the model and the optimizer run a step."""
        return float(self.per_step[self.is_model | self.is_optimizer].sum())


def op_work(results: Facts, entry: Int32, n_steps: int) -> OpWork:
    """What the ops of a usual step cost."""
    occurrences, shares = results.occurrences, results.op_shares
    n = len(occurrences.name)
    rows = np.flatnonzero(entry[occurrences.event] >= 0)
    execution, first_row, at = np.unique(occurrences.execution[rows], return_index=True, return_inverse=True)
    own = np.bincount(at, occurrences.self_ps[rows] / PS_PER_MS, len(execution))
    op = occurrences.op[rows[first_row]]
    order = np.lexsort((own, op))
    count = np.bincount(op, minlength=n)
    first = np.cumsum(count) - count
    ran = count > 0
    median = np.zeros(n, np.float64)
    median[ran] = own[order][(first + count // 2)[ran]]
    framework = shares.dominant
    is_optimizer = results.layers.op_phase[framework] == OPTIMIZER
    is_input = results.op_scopes.is_input[framework]
    return OpWork(
        median_ms=median,
        per_step=count / max(n_steps, 1),
        is_model=~is_optimizer & ~is_input,
        is_optimizer=is_optimizer & ~is_input,
        is_compiled=(np.arange(n) >= occurrences.n_ops) & ~occurrences.is_device,
    )


_NOT_IN_XLA = re.compile(
    r"CudnnRNN|(Eager)?PyFunc|Lookup|HashTable|String|Regex|Nccl|Collective|Where\Z|Unique|DynamicPartition"
)
_DECIMAL = re.compile(r"\d{1,6}(?:\.\d{1,6})?", re.ASCII)
KERAS_STEPS = ("_step_on_iterator", "_step_on_data_distributed", "multi_step_on_data", "train_function")
"""Functions of `fit`, `evaluate` and `predict`, which take `steps_per_execution`; `train_on_batch` calls `one_step_on_data`."""


@dataclass(frozen=True, eq=False, repr=False)
class RunFacts:
    """The results of one trace, and what is read from them directly."""

    results: Facts
    counts_compiling: bool = False
    """Whether steps that compile are among `steps`, but for the first of each loop."""

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.results.trace

    @cached_property
    def source_map(self) -> SourceMap:
        """What was recorded of the program; an empty one where nothing was."""
        return self.results.source_map or empty_source_map()

    @cached_property
    def steps(self) -> StepFacts:
        """The steps that averages are over, but for those of parameter servers."""
        return step_facts(self.results, with_compiling=self.counts_compiling)

    @cached_property
    def entry(self) -> Int32:
        """For each event the entry of its step in `steps`, -1 for none."""
        return self.steps.entry_of[self.results.steps.event_step].astype(np.int32)

    @cached_property
    def work(self) -> OpWork:
        """What the ops of a usual step take."""
        return op_work(self.results, self.entry, len(self.steps))

    def advise(
        self,
        title: str,
        part: StepPart | None,
        fix: Fix,
        selection: Highlight | None = None,
        /,
        *,
        by: Float64 | None = None,
        view: str = "timeline",
        ops: tuple[str, ...] = (),
        gain: float | None = None,
        stage: str = "",
        headline: str = "",
        claim: Claim | None = None,
        rule: str = "",
        **evidence: float | str,
    ) -> Advice:
        """A card of the rule that is asked, or of another one, on a part of the mean step, which is its gain unless another is
        given, shown in the typical step `by` some values of each. What is "" is no evidence."""
        shown = self.steps.time_ms if by is None else by
        gain = gain if gain is not None else part.ratio if part else 0.0
        won = gain / part.ratio if part and part.ratio else 1.0
        return advise(
            rule,
            title,
            evidence=(part.evidence if part else {}) | {name: one for name, one in evidence.items() if one != ""},
            fix=fix,
            selection=selection or self.steps.usual(shown, view=view, op_names=ops),
            gain_ratio=gain,
            stage=stage,
            headline=headline,
            claim=replace(claim or Claim(), won=won),
        )

    @cached_property
    def samples(self) -> Samples:
        """Where the user's thread was seen."""
        time_ps, frame = sample_times(self.trace, self.source_map)
        places = self.source_map.frames.iloc[frame][["file", "line", "function"]].reset_index(drop=True)
        return Samples(self.source_map, time_ps, places)

    @cached_property
    def load(self) -> MachineLoad | None:
        """Who used the cores of the machine during the steps; None where nobody sampled that."""
        quota, steps = self.results.noted.get("cpu_quota", ""), self.steps
        cores = float(quota) if _DECIMAL.fullmatch(quota) else 0.0
        return machine_load(self.results.system, steps.start_ps, steps.end_ps, quota=cores)

    @property
    def is_machine_busy(self) -> bool:
        """Whether other programs took cores that this one could have used."""
        return self.load is not None and self.load.is_busy

    @cached_property
    def is_compiled(self) -> bool:
        """Whether XLA compiled most of what devices compute."""
        hlo, kernels = self.results.hlo_ops.frame, self.results.kernels.frame
        own_us = float(hlo["total_self_time_us"][hlo["device"] == "Device"].sum())
        return bool(own_us > 0 and own_us >= 0.5 * float(kernels["total_time_us"].sum()))

    @cached_property
    def can_be_compiled(self) -> bool:
        """Whether XLA compiled little, and could: it has no program for cuDNN's recurrent networks, Python, text,
        exchanges, and may refuse sizes that the device alone knows."""
        scopes = self.results.op_scopes
        own = zip(scopes.type, scopes.is_input.tolist(), strict=True)
        return not self.is_compiled and not any(_NOT_IN_XLA.match(kind) for kind, is_input in own if not is_input)

    @cached_property
    def is_keras_loop(self) -> bool:
        """Whether Keras calls the steps, as `fit` does."""
        if self.in_keras_calls:
            return True
        # Of hosts that were read elsewhere the trace has few names, but all functions.
        texts = (*self.trace.strings, *self.results.tf_functions["function"])
        return any(word in text for text in texts for word in KERAS_STEPS)

    @cached_property
    def in_keras_calls(self) -> bool:
        """Whether most steps began within a recorded call of `fit`, `evaluate` or `predict`."""
        calls = self.source_map.calls
        if not len(calls) or not len(self.steps):
            return False
        begin, end = (calls[name].to_numpy(np.int64) for name in ("begin_ns", "end_ns"))
        at = self.steps.start_ps // 1000 + self.trace.origin_ns
        return bool(Stretches.of(begin, end).within(at, at + 1).mean() > 0.5)

    @cached_property
    def compiles_functions(self) -> bool:
        """Whether XLA compiles a `tf.function` that Python called."""
        return bool(self.results.tf_functions["compiler"].isin(["xla", "mixed"]).any())

    @cached_property
    def op_names(self) -> frozenset[str]:
        """Names in the `ops` table: what a selection may name."""
        # Not from the table, which takes a hundred times as long to make.
        count = self.results.op_sums.count.tolist()
        return frozenset(name for name, n in zip(self.results.op_shares.name, count, strict=True) if n)

    @cached_property
    def has_layers(self) -> bool:
        """Whether ops are known to belong to layers."""
        return bool((self.results.layers.entries["kind"] == "layer").any())

    def of_kernels(self, kernels: pd.DataFrame) -> tuple[str, ...]:
        """The ops of the first five of some kernels."""
        return self.known(*kernels["op_name"].head(5).tolist())

    def known(self, *names: str) -> tuple[str, ...]:
        """Those that are names of ops, each once."""
        return tuple(dict.fromkeys(name for name in names if name in self.op_names))
