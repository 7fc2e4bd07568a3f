"""The calls of tf.data iterators as the browser gets them: enough to show any single execution of a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tfprof_widgets.analysis import Analysis, input_words
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import compute_positions, iterator_call_table, meta_of


def column(results: Analysis, name: str) -> np.ndarray:
    values, _ = iterator_call_table(results, slice(None)).columns[name]
    return np.asarray(values)


def test_the_calls_of_an_execution_add_up_to_what_the_analysis_says_of_it(capture_of: Callable[[str], Path]) -> None:
    results = Analysis(read_xspace(capture_of("keras_fit").read_bytes()))
    pipeline = results.input_pipeline
    root, owner, node = (column(results, name) for name in ("root", "pipeline", "node"))
    duration, wait, start = (column(results, name) for name in ("duration_ps", "wait_ps", "start_ps"))
    own = np.flatnonzero((root == np.arange(len(root))) & (owner == 0))
    ranked = own[np.lexsort((start[own], -duration[own]))]
    assert len(ranked) == len(pipeline.executions(0)) > 1
    for rank in (0, len(ranked) - 1):
        table = pipeline.execution(0, rank)
        mine = root == ranked[rank]
        place = table["id"].to_numpy() - pipeline.iterators.query("pipeline == 0")["id"].min()
        n = int(node.max()) + 1
        assert np.bincount(node[mine], minlength=n)[place].tolist() == table["calls"].tolist()
        waited = np.bincount(node[mine], weights=wait[mine], minlength=n)[place] / 1e9
        np.testing.assert_allclose(waited, table["wait_time_ms"])
        # The waits of an execution are its latency: nothing is lost, nothing counts twice.
        assert wait[mine].sum() == duration[ranked[rank]]


def test_the_meta_object_has_the_verdict_and_the_category_and_work_of_each_input_op(
    capture_of: Callable[[str], Path],
) -> None:
    results = Analysis(read_xspace(capture_of("keras_fit").read_bytes()))
    meta = meta_of(results, compute_positions(results.trace), title="")["input"]
    assert meta["verdict"] == input_words(results.overview, "")
    ops = results.input_pipeline.ops
    assert [one[:3] for one in meta["ops"]] == ops[["op", "category", "work_time_ms"]].to_numpy().tolist()
    iterators = results.input_pipeline.iterators
    assert sum(one[2] for one in meta["ops"]) == pytest.approx(iterators["self_time_ms"].sum())
    # What the averaged steps did is a part of that.
    assert all(0 <= one[3] <= one[2] * (1 + 1e-9) for one in meta["ops"])
    np.testing.assert_allclose(ops["work_time_ms"] + ops["waiting_time_ms"], ops["total_time_ms"])
    prefetch = ops.set_index("op").loc["Iterator::Root::Prefetch"]
    assert prefetch["work_time_ms"] < 0.1 * prefetch["self_time_ms"] < prefetch["waiting_time_ms"]
