"""Steps, host ops and tf.data -> `InputPipeline`: whether the training waits for data, for what, and what to do.

compute_input_pipeline(trace, steps=frame, ops=frame) -> InputPipeline
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..store.trace import Trace
from .input_ops import input_categories, input_ops
from .tf_data import TfData, compute_tf_data
from .verdict import INPUT_HIGH, INPUT_MODERATE
from .wording import number, plural

OTHER_RATIO = 0.03
"""From this share of unattributed step time on, a small input share is no proof. Source: semantics 5.1."""


@dataclass(frozen=True, eq=False, repr=False)
class InputPipeline:
    """What the input of the training costs."""

    verdict: str
    """One sentence with numbers."""
    input_ratio: float
    """Share of the step time in which the training waits for data, in [0, 1]; NaN where there are no steps."""
    categories: pd.DataFrame
    """`category, time_ms, ratio`: enqueueing, reading on demand or ahead, preprocessing, other; all host threads."""
    ops: pd.DataFrame
    """`op, count, total_time_ms, total_time_ratio, self_time_ms, self_time_ratio, category`, by falling self time."""
    tf_data: TfData
    bottleneck: str
    """Long name of the iterator that holds the training up, such as `Iterator::Root::Map`; empty when there is none."""
    suggestion: str
    """What to change, its last line the code; empty when the pipeline keeps up or there is none."""
    suggestion_code: str
    """The code line of `suggestion`."""

    def __repr__(self) -> str:
        return f"InputPipeline({plural(len(self.pipelines), 'pipeline')}: {self.verdict})"

    @property
    def pipelines(self) -> pd.DataFrame:
        """One row per tf.data pipeline; see `TfData.pipelines`."""
        return self.tf_data.pipelines

    @property
    def iterators(self) -> pd.DataFrame:
        """One row per tf.data iterator; see `TfData.iterators`."""
        return self.tf_data.iterators


def compute_input_pipeline(
    trace: Trace, *, steps: pd.DataFrame, ops: pd.DataFrame, tf_data: TfData | None = None
) -> InputPipeline:
    """Judge the input pipeline.

    Args:
        trace: the trace.
        steps: the `steps` table (`step_time_ms`, `input_ms`, `other_ms`); with `is_averaged`, only those rows count.
        ops: the `ops` table.
        tf_data: what `compute_tf_data` gave for the trace, when the caller has it already.

    Source: semantics 5.1-5.3.
    """
    data = compute_tf_data(trace) if tf_data is None else tf_data
    table = input_ops(ops)
    counted = steps[steps["is_averaged"].astype(bool)] if "is_averaged" in steps else steps
    total_ms = float(counted["step_time_ms"].sum()) if len(counted) else 0.0
    ratio = float(counted["input_ms"].sum()) / total_ms if total_ms else float("nan")
    pipeline = _pipeline(data)
    keeps_up = ratio < INPUT_MODERATE  # False where there are no steps to tell
    advised = None if keeps_up else pipeline
    return InputPipeline(
        verdict=_verdict(counted, total_ms, data, pipeline),
        input_ratio=ratio,
        categories=input_categories(trace, table),
        ops=table,
        tf_data=data,
        bottleneck=str(pipeline["bottleneck_name"]) if pipeline is not None else "",
        suggestion=_suggestion(advised),
        suggestion_code=str(advised["suggestion_code"]) if advised is not None else "",
    )


def _pipeline(data: TfData) -> pd.Series | None:
    """The pipeline that `TfData.bottleneck` lies in."""
    return None if data.bottleneck < 0 else data.pipelines.iloc[data.iterators["pipeline"].iloc[data.bottleneck]]


def _suggestion(pipeline: pd.Series | None) -> str:
    if pipeline is None or not pipeline["suggestion"]:
        return ""
    return f"{pipeline['suggestion']}\n{pipeline['suggestion_code']}"


def _verdict(steps: pd.DataFrame, total_ms: float, data: TfData, pipeline: pd.Series | None) -> str:
    """The conclusion in one sentence (semantics 5.2, in our words)."""
    if not total_ms:
        seen = f" {pipeline['summary']}" if pipeline is not None else f" {data.summary}"
        return "No step was measured, so the share of the input cannot be told." + seen
    input_ratio, other_ratio = float(steps["input_ms"].sum()) / total_ms, float(steps["other_ms"].sum()) / total_ms
    n = len(steps)
    waits = (
        f"the model waits {_of(steps['input_ms'].sum() / n, total_ms / n)} a step for data ({100 * input_ratio:.0f} %)"
    )
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


def _of(part_ms: float, whole_ms: float) -> str:
    """Two times in one unit: "13.1 of 21.3 ms"."""
    return f"{number(part_ms)} of {number(whole_ms)} ms"
