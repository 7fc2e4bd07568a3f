"""Counters and times of a pipeline -> which of the ways to be slow it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..base.iterator_names import base_name
from ..base.units import US_PER_MS
from ..input.iterator_table import slowest_below

if TYPE_CHECKING:
    from .run import Run

IDLE = 0.5
"""Of the wait for data: where the process computes less than this beside its ops, the pipeline waits itself."""
MOST_KEPT = 0.7
"""A filter that keeps more than this has little left to save."""
FEW_OPS = 0.3
"""Of the wait for data: where the ops of the input take no more, what calls them is the cost."""
_PYTHON = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
MAPS = frozenset(("Map", "ParallelMap", "MapAndBatch"))


def kept_ratio(run: Run) -> float:
    """Of what a filter behind the pipeline's map judged, the share that it kept; 1 where there is none such."""
    data = run.results.tf_data
    pipeline = data.bottleneck_pipeline
    if pipeline is None:
        return 1.0
    iterators = data.iterators
    of_pipeline = iterators["pipeline"] == pipeline["id"]
    for row in np.flatnonzero(of_pipeline & (iterators["name"].map(base_name) == "Filter")).tolist():  # a handful
        below = iterators["name"].iloc[slowest_below(iterators, row)]
        params = iterators["params"].iloc[row]
        passed, filtered = (params.get(key) for key in ("passed", "filtered"))
        if isinstance(passed, int) and isinstance(filtered, int) and any(base_name(one) in MAPS for one in below):
            return passed / max(passed + filtered, 1)
    return 1.0


def map_stage(run: Run, pipeline: pd.Series) -> str:
    """Why a map that calls its function in parallel already is slow, or the function itself: one of `STAGES`."""
    if kept_ratio(run) <= MOST_KEPT:
        return "filter_after"
    if _has_one_thread(run, pipeline):
        return "few_threads"
    if waits_idly(run):
        return "slow_map"
    if runs_python(run):
        return "python_map"
    own_us, _ = input_ops(run)
    if not len(own_us):
        return "slow_map"
    waited_ms = float(run.results.steps.frame["input_ms"].sum())
    is_called_for_elements = own_us.sum() / US_PER_MS <= FEW_OPS * waited_ms and _batches_behind(run, pipeline)
    return "element_map" if is_called_for_elements else "slow_map"


def runs_python(run: Run) -> bool:
    """Whether the costliest op of mapped functions is one that runs Python."""
    own_us, kinds = input_ops(run)
    return bool(len(own_us)) and kinds[int(own_us.argmax())] in _PYTHON


def input_ops(run: Run) -> tuple[np.ndarray, list[str]]:
    """Time of their own of the ops that mapped functions run, in us, and their types."""
    results = run.results
    own_us = np.where(results.op_scopes.is_input, results.op_totals.self_us, 0.0)
    rows = [k for k in np.flatnonzero(own_us > 0).tolist() if results.op_shares.type[k] != "Dataset"]
    return own_us[rows], [results.op_shares.type[k] for k in rows]


def _batches_behind(run: Run, pipeline: pd.Series) -> bool:
    """Whether the map works on single elements, which are batched behind it."""
    iterators = run.results.tf_data.iterators
    names = iterators["name"][iterators["pipeline"] == pipeline["id"]].map(base_name).tolist()
    first = next((k for k, name in enumerate(names) if name in MAPS), len(names))
    return first < len(names) and (names[first] == "MapAndBatch" or any("Batch" in name for name in names[:first]))


def _has_one_thread(run: Run, pipeline: pd.Series) -> bool:
    """Whether an option of the dataset leaves one thread for all that could run in parallel."""
    iterators = run.results.tf_data.iterators
    own = iterators[iterators["pipeline"] == pipeline["id"]]
    return any(one.get("threadpool_size") == 1 and int(one.get("cpu_budget", 1)) > 1 for one in own["params"])


def waits_idly(run: Run) -> bool | None:
    """Whether the wait for data is one for a disk, a network or a clock rather than for a core; None where nobody sampled that,
    and where other programs took the cores: then the process may compute little because they compute.

    Of what this process computed in the meantime, the ops of the steps are taken off; were all of the rest the pipeline's, it
    would still fill less than half of the wait.
    """
    load = run.load
    if load is None or load.is_busy:
        return None
    return load.own - run.steps.ratio("host_compute") < IDLE * run.wait.ratio
