"""Waiting for data -> `input_bound`, with the stage of the pipeline that is slow and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ..base.iterator_names import base_name
from ..base.op_names import parse_op_names
from ..base.wording import number, percent
from ..input.iterator_calls import FILE_READERS
from ..input.iterator_table import slowest_below
from ..input.suggestions import calls_at_a_time
from .advice import Advice, advise
from .input_fixes import input_fix
from .input_stages import MOST_KEPT, kept_ratio, map_stage, runs_python, waits_idly

if TYPE_CHECKING:
    from .run import Run

HIDDEN_BY_PREFETCH = 0.5
"""A pipeline without any stage that works ahead, whose work takes up to this share of the step, would be wholly hidden behind
the rest of the step by a prefetch alone; of a larger share something else must become faster too."""

FILLS = 0.5
"""Of all the wait for data: where shuffles fill their buffers for so much of it, that is the cause."""

_REMOTE = ("LMDB", "Spanner", "TFColumn", "DataService", "Courier", "ReverbDataset", "SyntheticDatasetOp")
_READERS = frozenset((*FILE_READERS, *_REMOTE))
_PARALLEL = frozenset(("ParallelMap", "MapAndBatch", "ParseExample"))
_HANDS_ON = frozenset(("Prefetch", "Root", "Model", "Repeat", "ForeverRepeat", "FiniteRepeat", "Take", "Options"))
_SLOW = {
    "slow_read": "reading the data is slow",
    "slow_map": "the mapped function is the cost",
    "no_prefetch": "no batch is prepared while the model computes",
    "no_parallel_map": "the map makes one element after another",
    "sequential_stage": "the stage works on one element after another",
    "generator": "Python makes one element after another",
    "python_map": "the mapped function runs in Python, which lets one call run at a time",
    "element_map": "calling the mapped function for each element costs more than what it computes",
    "filter_after": "a filter throws away most of what the map prepares",
    "few_threads": "an option of the dataset leaves one thread for all of it",
}


def input_bound(run: Run) -> Iterator[Advice]:
    """The training waits for data.

    Gain: the share of the step time spent waiting. The best a pipeline can do is to have every batch ready when it is asked
    for; copies to a device that nothing hides are counted by `h2d_bound`. Where a filter throws elements away that were prepared
    for nothing, it is their part of that.
    """
    steps, wait = run.steps, run.wait
    if not wait.is_told or _is_filling(run):
        return
    part = steps.part("input", float(wait.ms.mean()))
    pipeline = run.results.tf_data.bottleneck_pipeline
    stage = "generator" if pipeline is None else _stage(run, pipeline, part.ratio)
    name = "" if pipeline is None else str(pipeline["bottleneck_name"])
    short = "" if pipeline is None else str(_working(run, pipeline)["name"])
    by = f" in {short}" if short else ""
    who = f"The {steps.device if steps.has_device else 'model'}"
    yield advise(
        "input_bound",
        f"{who} waits {number(part.ms)} of {number(steps.mean_ms)} ms a step for data ({percent(part.ratio)}){by}: "
        f"{_SLOW[stage]}.",
        evidence=part.evidence | {"bottleneck": name} | _numbers(run, pipeline),
        fix=input_fix(run, stage, short, pipeline),
        selection=steps.stretch(
            wait.ms,
            "input",
            view="timeline" if pipeline is None else "input_graph",
            op_names=_names(run, pipeline),
        ),
        gain_ratio=part.ratio * (1 - kept_ratio(run) if stage == "filter_after" else 1.0),
        stage=stage,
    )


def _is_filling(run: Run) -> bool:
    """Whether shuffles fill their buffers in most of the time for which steps wait: `shuffle_fill` tells that."""
    fill = run.shuffle_fill
    return fill is not None and fill.ms >= FILLS * float(run.results.steps.frame["input_ms"].sum())


def works_ahead(run: Run) -> bool:
    """Whether the pipeline prepares batches while the model computes."""
    pipeline = run.results.tf_data.bottleneck_pipeline
    if pipeline is None:
        return False
    iterators = run.results.tf_data.iterators
    return bool(iterators["is_async"][iterators["pipeline"] == pipeline["id"]].any())


def _working(run: Run, pipeline: pd.Series) -> pd.Series:
    """The row of the bottleneck; where that only hands on, of the first iterator below it that does something."""
    iterators, row = run.results.tf_data.iterators, int(pipeline["bottleneck"])
    below = iterators.iloc[[row, *slowest_below(iterators, row)]]
    works = (~below["name"].map(base_name).isin(_HANDS_ON)).to_numpy()
    return below.iloc[int(works.argmax()) if works.any() else -1]


def _stage(run: Run, pipeline: pd.Series, gain: float) -> str:
    working = _working(run, pipeline)
    base = base_name(str(working["name"]))
    if base == "Generator":
        return "generator"
    if not works_ahead(run) and gain <= HIDDEN_BY_PREFETCH:
        return "no_prefetch"
    if base == "Map" and kept_ratio(run) <= MOST_KEPT:
        return "filter_after"
    if calls_at_a_time(base, working["params"]):
        # Python that waits lets others run: where it is not known to compute, calls in parallel may help.
        return "python_map" if runs_python(run) and waits_idly(run) is False else "no_parallel_map"
    if base in _PARALLEL or (base == "Filter" and kept_ratio(run) <= MOST_KEPT):
        return map_stage(run, pipeline)
    return "slow_read" if base in _READERS else "sequential_stage"


def _names(run: Run, pipeline: pd.Series | None) -> tuple[str, ...]:
    """Names of ops that are the bottleneck."""
    if pipeline is None:
        return run.known("IteratorGetNext")
    events = list(run.results.tf_data.iterators["event_names"].iloc[int(pipeline["bottleneck"])])
    return run.known(*parse_op_names(events).name, *events)


def _numbers(run: Run, pipeline: pd.Series | None) -> dict[str, float | str]:
    if pipeline is None:
        return {}
    row = run.results.tf_data.iterators.iloc[int(pipeline["bottleneck"])]
    numbers: dict[str, float | str] = {
        "bottleneck_time_ms": float(pipeline["bottleneck_time_ms"]),
        "bottleneck_self_time_ms": float(row["self_time_ms"]),
    }
    if row["settings"]:
        numbers["settings"] = str(row["settings"])
    return numbers
