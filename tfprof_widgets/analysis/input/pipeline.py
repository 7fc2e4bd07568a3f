"""Steps, host ops and tf.data -> `InputPipeline`: whether the training waits for data, for what, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.arrays import Float64
from ...trace.trace import Trace
from ..common import PS_PER_US, number, plural, sum_by, typed_table
from ..table import TableProperty, table
from .iterators import (
    EXECUTIONS,
    SLOW_CALL_PS,
    enqueue_times,
    input_categories,
    input_ops,
)
from .tf_data import Pipelines, compute_tf_data, with_work
from .usage import EXECUTION

STEPS = table("""
    input_pipeline.steps: a training step
        step          int    the row
        name          text   of the mark, such as `train 3`
        host          text   on which it ran
        start_ms      float  after the trace origin
        step_time_ms  float  how long it took; the categories add up to it
        input_ms      float  waiting for data, or copying it to the device
        input_ratio   float  that as part of the step's time
        is_averaged   bool   whether the averages of the overview count it
""")

HOSTS = table("""
    input_pipeline.hosts: a host with tf.data, the most input-bound first
        host            text   its name
        n_pipelines     int    that ran on it
        n_calls         int    of their roots
        n_slow_calls    int    of those over 50 µs
        total_time_ms   float  of those calls
        max_latency_us  float  the slowest call
        pipeline        int    row of the pipelines table of that call, -1 for none
        bottleneck      text   the iterator that held that call up
        long_name       text   the same with the iterators around it
        input_ratio     float  part of the time of the host's steps; NaN without any
""")


INPUT_HIGH, INPUT_MODERATE = 0.20, 0.05
"""From these shares of the step time on, the wait for data limits the steps, or does so moderately."""
MIN_WAIT_MS = 0.3
"""Handing a ready batch over takes 0.05 to 0.3 ms, by how busy the machine is; steps so short need larger batches."""
LONG_WAIT_MS = 50.0
"""Waits in few steps, as at the begin of each file, count if they are longer than a busy machine's for a core and come twice."""
OFTEN = 0.25
"""Where so many steps wait long, a pipeline that works ahead is emptied faster than filled; single ones wait by chance."""


def limits_steps(wait_ms: Float64, time_ms: Float64) -> bool:
    """Whether steps wait for data for longer than handing ready batches over takes, and more than by chance."""
    whole_ms = float(time_ms.sum())
    if not whole_ms or float(wait_ms.sum()) < INPUT_MODERATE * whole_ms:
        return False
    is_usual = float(np.median(wait_ms)) >= max(MIN_WAIT_MS, INPUT_MODERATE * float(np.median(time_ms)))
    is_repeated = int((wait_ms >= LONG_WAIT_MS).sum()) >= 2
    return is_usual or is_repeated or waits_often(wait_ms, time_ms)


def waits_often(wait_ms: Float64, time_ms: Float64) -> bool:
    """Whether many steps wait long; arguments as of `limits_steps`."""
    least_ms = max(MIN_WAIT_MS, INPUT_HIGH * float(np.median(time_ms))) if len(time_ms) else 0.0
    return bool(len(time_ms)) and float((wait_ms >= least_ms).mean()) >= OFTEN


def step_waits(steps: pd.DataFrame) -> pd.DataFrame:
    """How long each step waited for data, with the columns of `InputPipeline.steps`."""
    frame = steps.reindex(columns=[name for name in list(STEPS.names) if name != "input_ratio"]).reset_index(drop=True)
    if "is_averaged" not in steps:
        frame["is_averaged"] = True
    time_ms = frame["step_time_ms"].to_numpy(np.float64)
    ratio = np.divide(frame["input_ms"].to_numpy(np.float64), time_ms, where=time_ms > 0, out=np.zeros(len(frame)))
    return frame.assign(input_ratio=ratio)[list(STEPS.names)]


def host_waits(pipelines: pd.DataFrame, slowest_calls: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """What tf.data did on each host, the most input-bound host first, with the columns of `InputPipeline.hosts`."""
    own = pipelines[~pipelines["is_device"].astype(bool)]
    if own.empty:
        return typed_table([], HOSTS.types)
    hosts = {host: row for row, host in enumerate(dict.fromkeys(own["host"]))}
    row = np.array([hosts[host] for host in own["host"]], np.int64)  # one turn per pipeline
    slowest_us = np.full(len(hosts), -np.inf)
    np.maximum.at(slowest_us, row, own["max_latency_us"].to_numpy(np.float64))
    columns = ("host", "pipeline", "bottleneck", "long_name")
    calls = list(zip(*(slowest_calls[name].tolist() for name in columns), strict=True))
    slowest = {host: call for host, *call in reversed(calls)}  # of several of one host the first
    number = dict(zip(zip(own["host"], own["name"], strict=True), own["id"].tolist(), strict=True))
    named = [slowest.get(host, ["", "", ""]) for host in hosts]
    frame = pd.DataFrame(
        {
            "host": list(hosts),
            "n_pipelines": np.bincount(row),
            **{name: sum_by(row, own[name].to_numpy(np.int64), len(hosts)) for name in ("n_calls", "n_slow_calls")},
            "total_time_ms": np.bincount(row, own["total_time_ms"].to_numpy(np.float64)),
            "max_latency_us": slowest_us,
            "pipeline": [number.get((host, call[0]), -1) for host, call in zip(hosts, named, strict=True)],
            "bottleneck": [call[1] for call in named],
            "long_name": [call[2] for call in named],
            "input_ratio": _input_ratios(hosts, waits),
        }
    )[list(HOSTS.names)]
    return frame.sort_values("max_latency_us", ascending=False, kind="stable", ignore_index=True)


def _input_ratios(hosts: Mapping[str, int], waits: pd.DataFrame) -> Float64:
    """The part of the time of its averaged steps for which each host waits for data; NaN where it has none."""
    averaged = waits[waits["is_averaged"].astype(bool)]
    host = averaged["host"].map(hosts).fillna(len(hosts)).to_numpy(np.int64)
    time_ms, input_ms = (
        np.bincount(host, averaged[name].fillna(0.0).to_numpy(np.float64), len(hosts))[: len(hosts)]
        for name in ("step_time_ms", "input_ms")
    )
    ratio: Float64 = np.divide(input_ms, time_ms, out=np.full(len(hosts), np.nan), where=time_ms != 0)
    return ratio


OTHER_RATIO = 0.03
"""From this share of unattributed step time on, a small input share is no proof. Source: semantics 5.1."""


@dataclass(frozen=True, eq=False, repr=False)
class InputPipeline:
    """What the input of the training costs, and what to change: what `Profile.input_pipeline` gives. Tables are empty
    where tf.data did nothing.
    """

    verdict: str
    """Whether the training waits for data, in one sentence with numbers."""
    input_ratio: float
    """Share of the step time in which the training waits for data, in [0, 1]; NaN where there are no steps."""
    categories: pd.DataFrame
    """What the CPU did for the input: the table `input_pipeline.categories`."""
    ops: pd.DataFrame
    """The input ops, most self time first: the table `input_pipeline.ops`."""
    tf_data: Pipelines
    """The pipelines and iterators as they were found, with `slowest_calls`, which is what TensorBoard's tf.data analysis
    told.
    """
    bottleneck: str
    """Long name of the iterator that holds the training up, such as `Iterator::Root::Map`; empty where there is none."""
    steps: pd.DataFrame
    """The wait of each step for data: the table `input_pipeline.steps`."""
    hosts: pd.DataFrame
    """The most input-bound host first: the table `input_pipeline.hosts`."""
    suggestion: str = ""
    """What to change, as the advice on the input says; empty where it keeps up."""

    def __repr__(self) -> str:
        return f"InputPipeline({plural(len(self.pipelines), 'pipeline')}: {self.verdict})"

    pipelines = TableProperty("input_pipeline.pipelines", lambda self: self.tf_data.pipelines)
    iterators = TableProperty("input_pipeline.iterators", lambda self: self.tf_data.iterators)

    @property
    def is_input_bound(self) -> bool:
        """Whether a pipeline of the CPU ever took more than 50 us to hand an element over, the bound of TensorBoard."""
        slowest = self.tf_data.slowest_calls["max_latency_us"]
        return bool((slowest > SLOW_CALL_PS / PS_PER_US).any())

    @property
    def sentence(self) -> str:
        """What `is_input_bound` is told from, in one sentence: the slowest call."""
        return self.tf_data.summary

    @EXECUTIONS.given_by
    def executions(self, pipeline: int) -> pd.DataFrame:
        """Every execution of a pipeline, that is each element that it handed over.

        Args:
            pipeline: row of `pipelines`.

        Raises:
            ValueError: there is no such pipeline.
            TfProfError: the profile is reduced (not `Profile.has_events`).
        """
        return self.tf_data.executions(pipeline)

    @EXECUTION.given_by
    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """The iterators of one execution of a pipeline, a consumer before what it consumes, in the columns of `iterators`.

        Times, calls, critical path and bottleneck are of this execution alone. Work that was done ahead of it counts in
        `total_time_ms`, not in `wait_time_ms`, which adds up to how long the execution took.

        Args:
            pipeline: row of `pipelines`.
            rank: 0 for the slowest execution, 1 for the next, and so on.

        Raises:
            ValueError: there is no such pipeline, or it was executed fewer times.
            TfProfError: the profile is reduced (not `Profile.has_events`).

        Examples:
            >>> slowest = prof.input_pipeline.execution(0)
            >>> slowest["name"].iloc[0]
            'Root'
        """
        return self.tf_data.execution(pipeline, rank)


def compute_input_pipeline(
    trace: Trace,
    *,
    steps: pd.DataFrame,
    ops: pd.DataFrame,
    tf_data: Pipelines | None = None,
    enqueue_ps: tuple[int, int] | None = None,
) -> InputPipeline:
    """Judge the input pipeline. Source: semantics 5.1-5.3."""
    data = compute_tf_data(trace) if tf_data is None else tf_data
    table = with_work(input_ops(ops), data.iterators)
    counted = steps[steps["is_averaged"].astype(bool)] if "is_averaged" in steps else steps
    total_ms = float(counted["step_time_ms"].sum()) if len(counted) else 0.0
    ratio = float(counted["input_ms"].sum()) / total_ms if total_ms else float("nan")
    pipeline = data.bottleneck_pipeline
    waits = step_waits(steps)
    # Averages leave the first step out, in which a shuffle fills its buffer.
    fills = _fills(pipeline, whole_ms=float(waits["step_time_ms"].sum()))
    verdict = _verdict(counted, total_ms, data, pipeline, fills=fills)
    return InputPipeline(
        verdict=f"{verdict} {pipeline['summary']}" if fills and pipeline is not None and total_ms else verdict,
        input_ratio=ratio,
        categories=input_categories(enqueue_times(trace) if enqueue_ps is None else enqueue_ps, table),
        ops=table,
        tf_data=data,
        bottleneck=str(pipeline["bottleneck_name"]) if pipeline is not None else "",
        steps=waits,
        hosts=host_waits(data.pipelines, data.slowest_calls, waits),
    )


def _fills(pipeline: pd.Series | None, *, whole_ms: float) -> bool:
    """Whether the pipeline is held up by a shuffle that fills its buffer, for a share of the steps' time that matters."""
    if pipeline is None or not pipeline["fill_time_ms"]:
        return False
    is_named = pipeline["bottleneck_time_ms"] == pipeline["fill_time_ms"]
    return bool(is_named and pipeline["fill_time_ms"] >= INPUT_MODERATE * whole_ms)


def _verdict(steps: pd.DataFrame, total_ms: float, data: Pipelines, pipeline: pd.Series | None, *, fills: bool) -> str:
    """The conclusion in one sentence (semantics 5.2, in our words)."""
    if not total_ms:
        seen = f" {pipeline['summary']}" if pipeline is not None else f" {data.summary}"
        return "No step was measured, so the share of the input cannot be told." + seen
    input_ratio, other_ratio = float(steps["input_ms"].sum()) / total_ms, float(steps["other_ms"].sum()) / total_ms
    n = len(steps)
    times = f"{number(steps['input_ms'].sum() / n)} of {number(total_ms / n)} ms"
    waits = f"the model waits {times} a step for data ({100 * input_ratio:.0f} %)"
    is_told = fills or limits_steps(*(steps[name].to_numpy(np.float64) for name in ("input_ms", "step_time_ms")))
    if input_ratio >= INPUT_MODERATE and not is_told:
        return f"Not input-bound: {waits}, in few of the steps or for as long as a ready batch takes."
    if input_ratio >= INPUT_MODERATE:
        word = "Input-bound" if input_ratio >= INPUT_HIGH else "Moderately input-bound"
        cause = (
            f", and {data.iterators['name'].iloc[data.bottleneck]} holds the pipeline up"
            if pipeline is not None and not fills
            else ""
        )
        return f"{word}: {waits}{cause}."
    if other_ratio >= OTHER_RATIO:
        rest = f"{100 * other_ratio:.0f} % is not attributed, such as Python or file access"
        return f"Probably not input-bound: {waits}; {rest}."
    return f"Not input-bound: {waits}."
