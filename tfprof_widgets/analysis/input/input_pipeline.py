"""Steps, host ops and tf.data -> `InputPipeline`: whether the training waits for data, for what, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...trace.trace import Trace
from ..base.units import PS_PER_US
from ..base.wording import number, plural
from ..columns.docstrings import tell_columns
from .input_ops import (
    ADVANCED_READ,
    DEMANDED_READ,
    ENQUEUE,
    PREPROCESSING,
    UNCLASSIFIED,
    enqueue_times,
    input_categories,
    input_ops,
)
from .input_usage import INPUT_HIGH, INPUT_MODERATE, host_waits, limits_steps, step_waits
from .iterator_work import with_work
from .pipeline_executions import SLOW_CALL_PS
from .tf_data import Pipelines, compute_tf_data

OTHER_RATIO = 0.03
"""From this share of unattributed step time on, a small input share is no proof. Source: semantics 5.1."""

_NOTHING = {"suggestion": "", "suggestion_code": ""}


def _time_in(category: str, told: str) -> property:
    """The time of a category of the input, all host threads, with its docstring."""

    def read(pipeline: InputPipeline) -> float:
        return float(pipeline.categories.loc[pipeline.categories["category"] == category, "time_ms"].iloc[0])

    return property(read, doc=told)


@dataclass(frozen=True, eq=False, repr=False)
class InputPipeline:
    """What the input of the training costs."""

    verdict: str
    """One sentence with numbers."""
    input_ratio: float
    """Share of the step time in which the training waits for data, in [0, 1]; NaN where there are no steps."""
    categories: pd.DataFrame
    """Of all host threads. The columns of this and the next tables are told in `columns/input.py`."""
    ops: pd.DataFrame
    tf_data: Pipelines
    bottleneck: str
    """Long name of the iterator that holds the training up, such as `Iterator::Root::Map`; empty when there is none."""
    suggestion: str
    """What to change, its last line the code; empty when the pipeline keeps up or there is none."""
    suggestion_code: str
    """The code line of `suggestion`."""
    steps: pd.DataFrame
    """The wait for data against the step number, one row per step in their order."""
    hosts: pd.DataFrame
    """The most input-bound host first, by its slowest call (semantics 8.5). Hosts on which tf.data did nothing have no row."""

    def __repr__(self) -> str:
        return f"InputPipeline({plural(len(self.pipelines), 'pipeline')}: {self.verdict})"

    @property
    def pipelines(self) -> pd.DataFrame:
        """See `Pipelines.pipelines`."""
        return self.tf_data.pipelines

    @property
    def iterators(self) -> pd.DataFrame:
        """See `Pipelines.iterators`."""
        return self.tf_data.iterators

    @property
    def is_input_bound(self) -> bool:
        """Whether a host pipeline ever took more than 50 us to hand an element over. Source: semantics 8.5."""
        slowest = self.tf_data.slowest_calls["max_latency_us"]
        return bool((slowest > SLOW_CALL_PS / PS_PER_US).any())

    @property
    def sentence(self) -> str:
        """What that says of tf.data, in one sentence."""
        return self.tf_data.summary

    def executions(self, pipeline: int) -> pd.DataFrame:
        """Every execution of a pipeline, slowest first; see `TfData.executions`."""
        return self.tf_data.executions(pipeline)

    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """The iterators of one execution of a pipeline, 0 the slowest; see `TfData.execution`."""
        return self.tf_data.execution(pipeline, rank)

    enqueue_ms = _time_in(ENQUEUE, "Time that the host spent handing data to a device.")
    read_on_demand_ms = _time_in(DEMANDED_READ, "Time spent reading files when somebody already waited.")
    read_in_advance_ms = _time_in(
        ADVANCED_READ, "Time spent reading files ahead: by a prefetch, an interleave or a parallel map."
    )
    preprocessing_ms = _time_in(PREPROCESSING, "Time spent in everything between reading and handing over.")
    unclassified_ms = _time_in(UNCLASSIFIED, "Time of the input that is none of these.")


def compute_input_pipeline(
    trace: Trace,
    *,
    steps: pd.DataFrame,
    ops: pd.DataFrame,
    tf_data: Pipelines | None = None,
    enqueue_ps: tuple[int, int] | None = None,
) -> InputPipeline:
    """Judge the input pipeline.

    Args:
        trace: the trace.
        steps: the `steps` table (of it at least `step_time_ms, input_ms, other_ms`); with `is_averaged`, only those rows
            count.
        ops: the `ops` table.
        tf_data: what `compute_tf_data` gave for the trace, when the caller has it already.
        enqueue_ps: what `enqueue_times` gave for the trace, likewise.

    Source: semantics 5.1-5.3.
    """
    data = compute_tf_data(trace) if tf_data is None else tf_data
    table = with_work(input_ops(ops), data.iterators)
    counted = steps[steps["is_averaged"].astype(bool)] if "is_averaged" in steps else steps
    total_ms = float(counted["step_time_ms"].sum()) if len(counted) else 0.0
    ratio = float(counted["input_ms"].sum()) / total_ms if total_ms else float("nan")
    pipeline = data.bottleneck_pipeline
    waits = step_waits(steps)
    # Averages leave the first step out, in which a shuffle fills its buffer.
    fills = _fills(pipeline, whole_ms=float(waits["step_time_ms"].sum()))
    keeps_up = ratio < INPUT_MODERATE and not fills  # False where there are no steps to tell
    advised = _NOTHING if keeps_up or pipeline is None else pipeline
    verdict = _verdict(counted, total_ms, data, None if fills else pipeline)
    return InputPipeline(
        verdict=f"{verdict} {pipeline['summary']}" if fills and pipeline is not None and total_ms else verdict,
        input_ratio=ratio,
        categories=input_categories(enqueue_times(trace) if enqueue_ps is None else enqueue_ps, table),
        ops=table,
        tf_data=data,
        bottleneck=str(pipeline["bottleneck_name"]) if pipeline is not None else "",
        suggestion="\n".join(filter(None, (advised["suggestion"], advised["suggestion_code"]))),
        suggestion_code=str(advised["suggestion_code"]),
        steps=waits,
        hosts=host_waits(data.pipelines, data.slowest_calls, waits),
    )


def _fills(pipeline: pd.Series | None, *, whole_ms: float) -> bool:
    """Whether the pipeline is held up by a shuffle that fills its buffer, for a share of the steps' time that matters."""
    if pipeline is None or not pipeline["fill_time_ms"]:
        return False
    is_named = pipeline["bottleneck_time_ms"] == pipeline["fill_time_ms"]
    return bool(is_named and pipeline["fill_time_ms"] >= INPUT_MODERATE * whole_ms)


def _verdict(steps: pd.DataFrame, total_ms: float, data: Pipelines, pipeline: pd.Series | None) -> str:
    """The conclusion in one sentence (semantics 5.2, in our words)."""
    if not total_ms:
        seen = f" {pipeline['summary']}" if pipeline is not None else f" {data.summary}"
        return "No step was measured, so the share of the input cannot be told." + seen
    input_ratio, other_ratio = float(steps["input_ms"].sum()) / total_ms, float(steps["other_ms"].sum()) / total_ms
    n = len(steps)
    times = f"{number(steps['input_ms'].sum() / n)} of {number(total_ms / n)} ms"
    waits = f"the model waits {times} a step for data ({100 * input_ratio:.0f} %)"
    is_told = limits_steps(*(steps[name].to_numpy(np.float64) for name in ("input_ms", "step_time_ms")))
    if input_ratio >= INPUT_MODERATE and not is_told:
        return f"Not input-bound: {waits}, in few of the steps or for as long as a ready batch takes."
    if input_ratio >= INPUT_MODERATE:
        word = "Input-bound" if input_ratio >= INPUT_HIGH else "Moderately input-bound"
        cause = (
            f", and {data.iterators['name'].iloc[data.bottleneck]} holds the pipeline up"
            if pipeline is not None
            else ""
        )
        return f"{word}: {waits}{cause}."
    if other_ratio >= OTHER_RATIO:
        rest = f"{100 * other_ratio:.0f} % is not attributed, such as Python or file access"
        return f"Probably not input-bound: {waits}; {rest}."
    return f"Not input-bound: {waits}."


tell_columns(InputPipeline, "input_pipeline.")
