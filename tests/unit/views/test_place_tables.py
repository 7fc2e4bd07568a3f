"""Lines, scopes and hosts on their way to the browser: what it adds up is what the tables of Python say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from tests.builders import event, line, plane, session, space, trace
from tests.unit.analysis.parity.vector_traces import gpu_host
from tfprof_widgets.analysis import STEP_CATEGORIES, Analysis, SourceLines
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.show import (
    Table,
    op_place_table,
    source_meta,
    worker_meta,
    worker_step_table,
)
from tfprof_widgets.trace import merge_traces

ALL = slice(None)
HOSTILE = "</script><img src=x onerror=alert(1)>"


def column(table: Table, name: str) -> np.ndarray:
    return table.columns[name][0]


def drawn() -> Analysis:
    """Ops with and without scope, a gradient and an iterator, nested."""
    ops = [
        event("StatefulPartitionedCall/net/dense/MatMul:MatMul", 0, 10),
        event("StatefulPartitionedCall/gradient_tape/net/dense/MatMul/MatMul:MatMul", 10, 20),
        event("Adam/update/ResourceApplyAdam:ResourceApplyAdam", 30, 5),
        event("Add:AddV2", 40, 4),
        event(f"{HOSTILE}/x:Mul", 50, 1),
        event("Iterator::Root::Map", 60, 9),
    ]
    return Analysis(trace(session(), plane("/host:CPU", line("main", *ops))))


@pytest.fixture(params=["drawn", "keras"])
def results(request: pytest.FixtureRequest) -> Analysis:
    if request.param == "drawn":
        return drawn()
    opened = open_traces(request.getfixturevalue("keras_xplane"))
    return Analysis(opened.trace, opened.source_map)


def lines(entries: list[tuple[str, int, str, str, str]], files: list[tuple[str, str, str]]) -> SourceLines:
    return dataclasses.replace(
        drawn().source_lines,
        entries=pd.DataFrame(entries, columns=["file", "line", "function", "code", "bucket"]),
        files=pd.DataFrame(files, columns=["file", "title", "text"]),
    )


def test_a_line_names_its_file_by_number_and_a_bucket_has_none() -> None:
    made = lines(
        [("b.py", 3, "f", "x = y", ""), ("", 0, "", "", "tf.data"), ("a.py", 1, "", "a", "")],
        [("a.py", "Cell [1]", "a\nb"), ("b.py", "b.py", "")],
    )
    meta = source_meta(made)
    assert [entry["file"] for entry in meta["source_lines"]] == [0, -1, 1]
    assert meta["source_lines"][1]["bucket"] == "tf.data"
    assert meta["source_files"][1] == {"file": "a.py", "title": "Cell [1]", "text": "a\nb"}


def test_samples_of_the_users_thread_name_their_file_too() -> None:
    sampled = pd.DataFrame(
        [("b.py", 2, "f", "x", 3, 1.0, 0.75), ("", 0, "", "", 1, 0.3, 0.25)],
        columns=["file", "line", "function", "code", "n_samples", "time_ms", "time_ratio"],
    )
    made = dataclasses.replace(lines([], [("a.py", "a.py", "")]), sampled=sampled)
    meta = source_meta(made)
    assert meta["source_samples"] == [{"file": 0, "line": 2, "n_samples": 3, "time_ratio": 0.75}]
    assert [file["file"] for file in meta["source_files"]] == ["b.py"]


def test_files_that_no_line_names_travel_only_where_there_is_no_other() -> None:
    files = [("a.py", "a.py", "x"), ("b.py", "b.py", "y" * 10_000)]
    assert [file["file"] for file in source_meta(lines([], files))["source_files"]] == ["a.py", "b.py"]
    charged = lines([("a.py", 1, "", "x", "")], files)
    assert [file["file"] for file in source_meta(charged)["source_files"]] == ["a.py"]


def test_a_file_whose_text_nobody_kept_is_listed_all_the_same() -> None:
    meta = source_meta(lines([("gone.py", 3, "f", "x = y", ""), ("gone.py", 4, "f", "z", "")], []))
    assert meta["source_files"] == [{"file": "gone.py", "title": "gone.py", "text": ""}]
    assert [entry["file"] for entry in meta["source_lines"]] == [0, 0]


def test_of_two_files_of_one_path_the_first_is_meant() -> None:
    meta = source_meta(lines([("a.py", 1, "", "", "")], [("a.py", "host 1", "x"), ("a.py", "host 2", "y")]))
    assert meta["source_files"] == [{"file": "a.py", "title": "host 1", "text": "x"}]


def results_of(*files: bytes) -> Analysis:
    return Analysis(merge_traces([read_xspace(content) for content in files]))


def test_steps_of_hosts_name_their_host_and_their_row_among_the_steps() -> None:
    results = results_of(gpu_host("a", 5, 0), gpu_host(HOSTILE, 5, 2, kernel_us=6))
    workers = results.workers
    table, hosts = worker_step_table(workers, ALL), worker_meta(workers)["worker_hosts"]
    frame = results.steps.frame
    assert hosts == ["a", HOSTILE]
    assert table.n == 2 * workers.n_steps > 0
    for name in ("step_time_ms", *(f"{category}_ms" for category in STEP_CATEGORIES)):
        np.testing.assert_array_equal(column(table, name), frame[name].to_numpy()[column(table, "row")])
    named = [hosts[host] for host in column(table, "host")]
    assert named == frame["host"].to_numpy()[column(table, "row")].tolist()


def test_without_steps_the_tables_are_empty() -> None:
    results = Analysis(trace(plane("/host:CPU")))
    workers = results.workers
    assert worker_step_table(workers, ALL).n == 0
    assert worker_meta(workers)["worker_hosts"] == []
    assert op_place_table(results, ALL).n == 0


def test_an_unaligned_host_is_told_of() -> None:
    alone = space(session(), plane("/host:CPU", line("main", event("x", 0, 1))), hostnames=["cpu"])
    gpu = gpu_host("gpu", 3, 0)
    results = results_of(gpu, alone)
    assert "cpu" in worker_meta(results.workers)["worker_note"]
