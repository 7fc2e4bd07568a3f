"""Trace -> `TfData`: the tf.data pipelines of a capture, what each iterator costs, and which holds the training up.

Differs from XProf: D11.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pandas as pd

from ...trace.trace import Trace
from ..base.grouping import Grouping, group_events
from ..base.table_types import Types, typed_table
from ..base.units import PS_PER_US
from ..base.wording import plural
from .iterator_calls import find_calls
from .iterator_nodes import merge_iterators
from .iterator_table import ITERATOR_TYPES, iterator_table
from .iterator_waits import find_waits
from .pipeline_executions import SLOW_CALL_PS, execution, executions
from .pipeline_table import PIPELINE_TYPES, SLOWEST_TYPES, pipeline_table, slowest_calls, time_text
from .pipeline_usage import find_usage

CALL_TYPES: Types = {
    "pipeline": int,
    "iterator": int,
    "event": int,
    "start_ps": int,
    "duration_ps": int,
    "self_ps": int,
    "is_blocking": bool,
    "root_call": int,
    "wait_ps": int,
    "is_startup": bool,
}


@dataclass(frozen=True, eq=False, repr=False)
class Pipelines(ABC):
    """What tf.data did during the capture: `InputPipeline.tf_data`. All tables are empty where it did nothing.

    The bottleneck is decided over all calls of a pipeline's root, weighted by time, without the first call of each
    epoch: it starts threads and fills buffers, and would hide what holds up the rest. Where there are only first calls,
    or only they make an average call longer than 50 us, they count.

    Differs from XProf: it no longer has this analysis; iterators are merged over epochs, windows and the files of an
    interleave; its bottleneck, that of the slowest call, is in `slowest_calls`.
    """

    pipelines: pd.DataFrame
    """A row is a pipeline, in order of first use; `InputPipeline.pipelines` tells its columns."""
    iterators: pd.DataFrame
    """A row is an iterator, a consumer before what it consumes; `InputPipeline.iterators` tells its columns.
    `is_bottleneck` is the one on the critical path with the largest `wait_time_ms`; a shuffle that took most of the
    time to fill its buffer; or, where it is a prefetch whose thread was busy meanwhile, what that thread spent most
    time on.
    """
    slowest_calls: pd.DataFrame
    """For each pipeline of the CPU the bottleneck of its slowest call, slowest first: `host`, `pipeline`,
    `max_latency_us`, `bottleneck`, `long_name`, `self_time_us`.
    """

    @abstractmethod
    def executions(self, pipeline: int) -> pd.DataFrame:
        """Every execution of a `pipeline`, a row of `pipelines`, slowest first."""

    @abstractmethod
    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """The iterators of one execution of a `pipeline`, a row of `pipelines`; `rank` 0 is the slowest."""

    @property
    def is_empty(self) -> bool:
        """Whether no iterator call was captured."""
        return self.iterators.empty

    @property
    def bottleneck(self) -> int:
        """Row in `iterators` of the bottleneck of the pipeline that took most time; -1 when there is none.

        Host pipelines come first: a device pipeline only hands on what a host pipeline made.
        """
        columns = (self.pipelines[name].tolist() for name in ("is_device", "total_time_ms", "bottleneck"))
        held_up = [(not is_device, ms, i, row) for i, (is_device, ms, row) in enumerate(zip(*columns, strict=True))]
        return int(max((one for one in held_up if one[-1] >= 0), default=(-1,))[-1])

    @property
    def bottleneck_pipeline(self) -> pd.Series | None:
        """The row of `pipelines` that `bottleneck` lies in; None where there is none."""
        return None if self.bottleneck < 0 else self.pipelines.iloc[self.iterators["pipeline"].iloc[self.bottleneck]]

    @property
    def summary(self) -> str:
        """By the slowest call of all pipelines of the CPU, in one sentence, as TensorBoard's tf.data analysis told it."""
        if self.slowest_calls.empty:
            return "No call of a host tf.data pipeline was captured; capture more steps."
        slowest = float(self.slowest_calls["max_latency_us"].iloc[0])
        if slowest > SLOW_CALL_PS / PS_PER_US:
            took = time_text(slowest)
            return f"The slowest call of a tf.data pipeline took {took}; the training waits from 50 µs on."
        return "No call of a tf.data pipeline took longer than 50 µs."


@dataclass(frozen=True, eq=False, repr=False)
class TfData(Pipelines):
    """The pipelines of one trace, with every call."""

    calls: pd.DataFrame
    """One row per GetNext call in trace order: `pipeline`, `iterator` (rows), `event` (row in the trace), `start_ps`,
    `duration_ps`, `self_ps`, `is_blocking` (its root call waited for it), `root_call` (row of the execution it belongs
    to, -1 where its element was not fetched), `wait_ps` (part of its self time for which the root call waited),
    `is_startup` (it belongs to the first execution of an epoch)."""

    def __repr__(self) -> str:
        n_calls, n_iterators = plural(len(self.calls), "call"), plural(len(self.iterators), "iterator")
        return f"TfData({n_calls} of {n_iterators} in {plural(len(self.pipelines), 'pipeline')})"

    def executions(self, pipeline: int) -> pd.DataFrame:
        """Every execution of a pipeline, that is every call of its root, slowest first.

        Raises:
            ValueError: there is no such pipeline.
        """
        if not 0 <= pipeline < len(self.pipelines):
            raise ValueError(f"pipeline {pipeline} is not a row of `pipelines`, which has {len(self.pipelines)}")
        return executions(self.calls, self.iterators, int(pipeline))

    def execution(self, pipeline: int, rank: int = 0) -> pd.DataFrame:
        """The iterators that took part in one execution of a pipeline, a consumer before what it consumes.

        Args:
            pipeline: row of `pipelines`.
            rank: 0 for the slowest execution, 1 for the next, ...

        Returns:
            The columns of `iterators`; times, calls, critical path and bottleneck are of this execution alone. Work done ahead
            of it counts in `total_time_ms`, not in `wait_time_ms`, which adds up to the execution's latency.

        Raises:
            ValueError: there is no such pipeline, or it was executed fewer times.
        """
        ranked = self.executions(pipeline)
        if not 0 <= rank < len(ranked):
            raise ValueError(f"rank {rank} is not one of the {len(ranked)} executions of pipeline {pipeline}")
        return execution(self.calls, self.iterators, int(ranked["root_call"].iloc[rank]))


def compute_tf_data(trace: Trace, *, grouping: Grouping | None = None) -> TfData:
    """Find the tf.data pipelines and what holds them up.

    Args:
        trace: the trace.
        grouping: the groups of its events, when the caller has them already; they tell training from evaluation.
    """
    calls = find_calls(trace)
    if not len(calls.event):
        return TfData(
            pipelines=typed_table((), PIPELINE_TYPES),
            iterators=typed_table((), ITERATOR_TYPES),
            calls=typed_table((), CALL_TYPES),
            slowest_calls=typed_table((), SLOWEST_TYPES),
        )
    start, end = trace.start_ps[calls.event], trace.ends(calls.event)
    waits = find_waits(start, end, calls.parent, calls.is_root, calls.is_extra_link)
    usage = find_usage(trace, calls, waits, merge_iterators(trace, calls, grouping or group_events(trace)))
    iterators = iterator_table(trace, usage)
    return TfData(
        pipelines=pipeline_table(usage, iterators),
        iterators=iterators,
        calls=pd.DataFrame(
            {
                "pipeline": usage.pipeline,
                "iterator": usage.node,
                "event": usage.calls.event,
                "start_ps": usage.start_ps,
                "duration_ps": usage.duration_ps,
                "self_ps": usage.waits.self_ps,
                "is_blocking": usage.waits.is_blocking,
                "root_call": usage.waits.root_call,
                "wait_ps": usage.waits.wait_ps,
                "is_startup": usage.is_startup,
            }
        ),
        slowest_calls=slowest_calls(trace, usage),
    )
