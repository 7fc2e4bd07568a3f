"""Tables on their way to the browser: what it adds up is what the tables of Python say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfprof_widgets as tfprof
from tests.browser.drawings import large_space, linked_space
from tests.builders import Event, aggregated, event, line, plane, session, space, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.packs import first_of, is_here, unpack
from tests.structure_drawings import KINDS, drawn_graph, profile_of
from tests.unit.analysis.parity.vector_traces import gpu_host
from tests.unit.analysis.roofline import test_roofline as roofline
from tests.unit.analysis.roofline.test_roofline import GEMM
from tests.unit.views.received import receive
from tfprof_widgets.analysis import FAMILIES, STEP_CATEGORIES, Analysis, Flows, SourceLines, UserFiles
from tfprof_widgets.read import open_traces, read_xspace
from tfprof_widgets.show import (
    FlowTiles,
    Payload,
    Positions,
    Table,
    Tiles,
    TreeView,
    compute_positions,
    compute_tiles,
    hlo_list,
    line_numbers,
    lists,
    longest_of_runs,
    op_place_table,
    sample_events,
    source_meta,
    structure_list,
    worker_step_table,
)
from tfprof_widgets.show import counters as positions_module
from tfprof_widgets.show import counters as tiles_module
from tfprof_widgets.trace import Trace, merge_traces, ranges

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
    table, hosts = worker_step_table(workers, ALL), list(workers.hosts)
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
    assert op_place_table(results, ALL).n == 0


def test_an_unaligned_host_is_told_of() -> None:
    alone = space(session(), plane("/host:CPU", line("main", event("x", 0, 1))), hostnames=["cpu"])
    gpu = gpu_host("gpu", 3, 0)
    results = results_of(gpu, alone)
    assert "cpu" in results.workers.note


EVIL = "<img src=x onerror=alert(1)></script>"
PROGRAM = module(
    "mod",
    computation(
        "main",
        instruction("x", "parameter"),
        instruction("c", "convolution", reads="x x", op="net/conv2d/convolution:Conv2D"),
        instruction("t", "tanh", reads="c", op="net/conv2d/Tanh:Tanh"),
    ),
)


def kernel(name: str, at: float, lasts: float, **stats: Any) -> Event:
    return event(name, at, lasts, kernel_details="regs:40 grid:2,1,1 occ_pct:inf", **stats)


def compiled(name: str, at: float, lasts: float) -> Event:
    return kernel(f"{name}_kernel", at, lasts, hlo_op=name, hlo_module="mod", program_id=2**63 - 5)


@pytest.fixture(scope="module")
def gpu_results() -> Analysis:
    """A GPU that runs ops of a layer, of its gradient and of the optimizer, and a compiled program."""
    runs = [
        kernel("volta_sgemm", 0, 5, tf_op="net/dense/MatMul:MatMul"),
        kernel("volta_sgemm", 10, 7, tf_op="net/dense/MatMul:MatMul"),
        kernel(EVIL, 20, 3, tf_op="gradient_tape/net/dense/MatMul/MatMul:MatMul"),
        kernel("adam_kernel", 30, 2, tf_op="adam/ResourceApplyAdam:ResourceApplyAdam"),
        *(compiled("c", 40, 4), compiled("t", 50, 1), compiled("c", 60, 4)),
    ]
    host = plane("/host:CPU", line("main", event("net/dense/MatMul:MatMul", 0, 2)))
    device = plane("/device:GPU:0", line("Stream #1(Compute)", *runs), device_vendor="Nvidia")
    return Analysis(trace(metadata_plane({2**63 - 5: PROGRAM}), host, device))


@pytest.fixture(scope="module")
def travelled(gpu_results: Analysis) -> tuple[dict[str, Any], dict[str, Any]]:
    got = receive(Payload(gpu_results))
    return got.meta, got.tables


def test_numbers_that_neither_json_nor_javascript_has_travel(travelled: tuple[Any, Any]) -> None:
    meta, _ = travelled
    assert EVIL in [one["name"] for one in meta["kernels"]]
    assert meta["kernels"][0]["occupancy_pct"] is None, "JSON knows no infinity"
    assert meta["hlo_ops"][0]["program_id"] == str(2**63 - 5), "more than a number of JavaScript holds"


@pytest.mark.parametrize(("kind", "is_inferred"), [("function_loop", 1), ("function_loop_marked", 0)])
def test_a_step_says_whether_it_was_inferred(capture_of: Callable[[str], Path], kind: str, is_inferred: int) -> None:
    got = receive(Payload(Analysis(read_xspace(capture_of(kind).read_bytes()))))
    assert set(got.tables["steps"]["source"].tolist()) == {is_inferred}


def test_a_kernel_says_whether_tensor_cores_could_serve_its_op_by_name_or_type(travelled: tuple[Any, Any]) -> None:
    marks = {
        one["op_name"]: (one["tensor_core_eligible"], one["could_use_tensor_core"]) for one in travelled[0]["kernels"]
    }
    assert marks["net/dense/MatMul"] == (True, True)
    assert marks["net/conv2d/convolution"] == (False, True)
    assert marks["adam/ResourceApplyAdam"] == (False, False)


def test_kernels_are_coloured_by_their_name_or_else_by_their_op(travelled: tuple[Any, Any]) -> None:
    families = {one["name"]: FAMILIES[one["family"]] for one in travelled[0]["kernels"]}
    assert families["volta_sgemm"] == families[EVIL] == "conv"
    assert families["adam_kernel"] == "optim"


def test_a_capture_without_gpu_and_compiler_sends_no_such_table() -> None:
    made = Payload(Analysis(trace(plane("/host:CPU", line("main", event("a/b:MatMul", 0, 5))))))
    meta, tables = first_of(made)
    assert meta["kernels"] == meta["hlo_ops"] == []
    assert not {"kernel_runs", "hlo_units", "op_rates"} & set(tables)


FUSIONS = module(
    "mod",
    computation(
        "fused",
        instruction("p", "parameter"),
        instruction("m", "multiply", reads="p p", op="net/Mul:Mul"),
        instruction("s", "subtract", (4,), reads="m m", op="sgd/AssignSubVariableOp:AssignSubVariableOp"),
    ),
    computation(
        "normalised",
        instruction("q", "parameter"),
        instruction("n", "reduce", (), reads="q", op="net/Mean:Mean"),
        instruction("t", "transpose", reads="q", op="net/Cast:Cast"),
    ),
    computation(
        "product",
        instruction("r", "parameter"),
        instruction("w", "dot", reads="r r", op="net/MatMul:MatMul"),
        instruction("v", "maximum", reads="w w", op="net/Transpose:Transpose"),
    ),
    computation("turned", instruction("u", "parameter"), instruction("z", "transpose", reads="u", op="net/Relu:Relu")),
    computation(
        "main",
        instruction("x", "parameter"),
        instruction("g", "fusion", reads="x", calls="normalised"),
        instruction("h", "fusion", reads="x", calls="product"),
        instruction("i", "fusion", reads="x", calls="turned"),
        instruction("f", "fusion", reads="x", calls="fused"),
        instruction("d", "dot", reads="f x", op="net/MatMul:MatMul"),
        instruction("copy.9", "copy", reads="d"),
    ),
)


def run(name: str, at: float, lasts: float) -> Any:
    return event(name, at, lasts, hlo_op=name, hlo_module="mod", program_id=1)


@pytest.fixture(scope="module")
def compiled_results() -> Analysis:
    events = [event("net/Relu:Relu", 0, 2), run("f", 3, 12), run("d", 16, 5), run("copy.9", 22, 1), run("f", 30, 6)]
    return Analysis(trace(metadata_plane({1: FUSIONS}), plane("/host:CPU", line("t", *events))))


def test_an_event_points_to_the_framework_op_it_is_most_of(compiled_results: Analysis) -> None:
    meta, tables = first_of(Payload(compiled_results))
    events = tables["events:0"]
    shown = [
        (meta["names"][name], meta["names"][tables["ops"]["name"][op]])
        for name, op in zip(events["name"], events["op"], strict=True)
        if op >= 0
    ]
    assert shown == [
        ("net/Relu:Relu", "net/Relu"),
        ("f", "net/Mul"),
        ("d", "net/MatMul"),
        ("copy.9", "net/MatMul"),
        ("f", "net/Mul"),
    ]


def test_fusions_have_the_colour_of_what_leads_in_them_whatever_their_result_is_named_after() -> None:
    host = plane("/host:CPU", line("t", *(run(name, 10 * at, 5) for at, name in enumerate("fghi"))))
    compiled_results = Analysis(trace(metadata_plane({1: FUSIONS}), host))
    meta, tables = first_of(Payload(compiled_results))
    named = {name: FAMILIES[code] for name, code in zip(meta["names"], tables["names"]["family"], strict=True)}
    listed = hlo_list(compiled_results, UserFiles({}, ()), slice(None))
    want = {"f": "elem", "g": "reduce", "h": "conv", "i": "move"}
    assert {name: named[name] for name in want} == want
    assert {one["name"]: FAMILIES[one["family"]] for one in listed} == want


def test_an_uncompiled_run_has_no_table_of_shares() -> None:
    plain = Analysis(trace(plane("/host:CPU", line("t", event("a:A", 0, 1)))))
    meta, tables = first_of(Payload(plain))
    assert "op_shares" not in tables
    assert meta["n_units"] == meta["n_ops"] == len(tables["ops"]["name"]) == 1


def test_kernels_of_device_ops_travel_so_that_executions_can_be_counted() -> None:
    kernels = [event("kernel", 10 * i, 5, tf_op="net/MatMul:MatMul", scope_range_id=7 + i // 2) for i in range(5)]
    device = plane("/device:GPU:0", line("s", *kernels))
    drawn = Analysis(trace(plane("/host:CPU", line("t", event("a:A", 0, 1))), device))
    _, tables = first_of(Payload(drawn))
    assert drawn.ops.set_index("name")["occurrences"]["net/MatMul"] == 3
    assert tables["occurrences"]["execution"].tolist() == [-1, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(("root", "is_users"), [("/kit/keras", True), ("/home/me", False)])
def test_whose_line_an_hlo_op_is_travels_as_the_capture_knew_it(
    compiled_results: Analysis, root: str, is_users: bool
) -> None:
    compiled_results = Analysis(compiled_results.trace)
    compiled_results.hlo_ops.frame["source"] = "/home/me/site-packages-demo/net.py:7"
    told = hlo_list(compiled_results, UserFiles({}, (root,)), slice(None))
    assert {one["is_users"] for one in told} == {is_users}


def test_the_longest_ops_travel_and_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_MOST_ROOFLINE_OPS", 1)
    (found,) = lists.roofline_list(
        roofline.drawn(roofline.compiled("gemm", 0, 10, GEMM), roofline.compiled("sum", 20, 30))
    )
    assert found["ops"]["name"] == ["sum"]
    assert found["n_ops"] == 2


def test_of_kernels_without_a_program_nothing_is_worked_out() -> None:
    results = roofline.drawn(roofline.kernel("volta_sgemm", 20, 5, tf_op="net/mul/Mul:Mul"))
    meta = receive(Payload(results)).meta
    assert meta["roofline"] == []
    assert "roofline" not in results.__dict__


def test_nothing_travels_without_a_kernel() -> None:
    host = plane("/host:CPU", line("main", event("net/dense/MatMul:MatMul", 0, 2)))
    meta = receive(Payload(Analysis(trace(host)))).meta
    assert "roofline" not in meta
    assert "roofline" not in meta["sections"]


def test_it_travels_with_the_figures_that_are_known() -> None:
    (meta,) = receive(Payload(profile_of(drawn_graph(2)).run.results)).meta["structure"]
    assert len(meta["names"]) == meta["n_ops"] == 2 * len(KINDS)
    assert set(meta["figures"]) >= {"accelerator_micros", "params", "float_ops", "output_bytes"}
    assert "residual_bytes" not in meta["figures"]


def test_the_first_paint_does_not_wait_for_it() -> None:
    results = Analysis(read_xspace(large_space()))
    payload = Payload(results)
    assert "structure" not in is_here(payload)
    assert "op_graph" not in results.__dict__
    (meta,) = unpack(payload.part("structure:0"))[0]["structure"]
    assert {"hay/Relu", "needle/Neg"} <= set(meta["names"])


def test_names_are_those_by_which_other_views_select() -> None:
    results = Analysis(read_xspace(linked_space()))
    (meta,) = structure_list(results)
    linked = [meta["names"][row] for row in np.cumsum(meta["of_framework_op"]).tolist() if row >= 0]
    assert {"model/first/MatMul", "model/second/Conv2D"} <= set(linked)


def test_a_failure_is_said_in_its_own_view(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr(lists, "compute_shown_structure", fail)
    assert structure_list(Analysis(read_xspace(linked_space()))) == [{"problem": "ValueError: no luck"}]


def test_a_view_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    file.write_bytes(linked_space())
    prof = tfprof.load(file)
    assert '"view": "graph"' in prof.tree_view("graph").options
    assert '"view": "hlo"' in prof.tree_view("hlo").options
    assert isinstance(prof.tree_view(), TreeView)
    with pytest.raises(ValueError, match="'layers' is no view of a tree"):
        prof.tree_view("layers")  # type: ignore[arg-type]


lines_of_events = st.lists(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), max_size=25), min_size=1, max_size=5
)


def threads(lines: list[list[tuple[int, int]]]) -> Trace:
    return trace(plane("/host:CPU", *(line("t", *(Event("a", at, lasts) for at, lasts in one)) for one in lines)))


def reference_order(drawing: Trace) -> np.ndarray:
    return np.lexsort((np.arange(drawing.n_events), drawing.nesting.depth, drawing.line_id))


def ends_in_rows(drawing: Trace, positions: Positions) -> np.ndarray:
    """Ends by position, cut where the next event of the row starts, as the browser draws them."""
    start, end = drawing.start_ps[positions.order], drawing.end_ps[positions.order].copy()
    row = np.repeat(np.arange(positions.n_rows), np.diff(positions.row_offsets))
    follows = np.flatnonzero(row[1:] == row[:-1])
    end[follows] = np.minimum(end[follows], start[follows + 1])
    return end


def filled_rows(drawing: Trace, positions: Positions) -> list[int]:
    """Whether children fill their parents, row by row and event by event."""
    nesting = drawing.nesting
    has_child = set(nesting.parent.tolist())
    found = []
    for row in range(positions.n_rows):
        has_next = row + 1 < positions.n_rows and positions.row_line[row + 1] == positions.row_line[row]
        own = positions.order[slice(*positions.row_offsets[row : row + 2])].tolist()
        inner = positions.order[slice(*positions.row_offsets[row + 1 : row + 3])] if has_next else []
        parents = sum(int(nesting.span_ps[event]) for event in own if event in has_child)
        found.append(int(has_next and int(nesting.span_ps[inner].sum()) >= 0.95 * parents))
    return found


@settings(max_examples=30, deadline=None)
@given(lines_of_events, st.sampled_from([1, 8, 2**20]))
def test_rows_are_runs_of_positions_in_the_order_of_line_depth_and_start(
    lines: list[list[tuple[int, int]]], block: int
) -> None:
    drawing = threads(lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions_module, "_POSITION_BLOCK", block)
        positions = compute_positions(drawing)
    order = reference_order(drawing)
    np.testing.assert_array_equal(positions.order, order)
    counts = np.diff(positions.row_offsets)
    assert (counts > 0).all()
    np.testing.assert_array_equal(np.repeat(positions.row_line, counts), drawing.line_id[order])
    np.testing.assert_array_equal(np.repeat(positions.row_depth, counts), drawing.nesting.depth[order])
    assert positions.row_is_filled.tolist() == filled_rows(drawing, positions)
    np.testing.assert_array_equal(order[positions.of_trace_rows(drawing.n_events)], np.arange(drawing.n_events))


def test_only_what_travels_has_a_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_LINES", 2)
    monkeypatch.setattr(positions_module, "MAX_ROWS", 4)
    drawing = threads([[(0, 30), (1, 20), (2, 10)], [(0, 1)], [(0, 90), (1, 80), (2, 70), (3, 1)]])
    positions = compute_positions(drawing)
    assert positions.lines.tolist() == [0, 2]
    assert positions.order.tolist() == [0, 1, 4, 5]
    assert positions.row_is_filled.tolist() == [0, 0, 0, 0]
    assert positions.of_trace_rows(drawing.n_events).tolist() == [0, 1, -1, -1, 2, 3, -1, -1]
    assert line_numbers(drawing, positions.lines).tolist() == [0, 2, 1]


def test_aggregated_events_and_empty_lines_have_their_place() -> None:
    drawing = trace(
        plane("/host:CPU", line("none"), line("m", aggregated("a", 5, 9), event("b", 0, 5), event("c", 1, 2)))
    )
    positions = compute_positions(drawing)
    assert positions.n_events == 3
    assert positions.row_line.tolist() == [1, 1]
    assert compute_positions(trace(plane("/host:CPU", line("none")))).n_rows == 0
    assert compute_positions(trace(hostnames=["box"])).n_rows == 0


@settings(max_examples=30, deadline=None)
@given(lines_of_events, st.integers(1, 9))
def test_each_event_lies_in_one_tile_and_those_that_cross_an_edge_are_found(
    lines: list[list[tuple[int, int]]], n: int
) -> None:
    tiles = tiled(threads(lines), n)
    drawing, positions = tiles.trace, tiles.positions
    seen = np.concatenate([np.empty(0, np.int64), *(tiles.positions_in(k) for k in range(tiles.n))])
    assert sorted(seen.tolist()) == list(range(positions.n_events))
    for k in range(tiles.n):
        start = drawing.start_ps[positions.order[tiles.positions_in(k)]]
        assert ((start >= tiles.edges_ps[k]) & (start < tiles.edges_ps[k + 1])).all()
    assert tiles.counts.tolist() == [len(tiles.positions_in(k)) for k in range(tiles.n)]
    start, end = drawing.start_ps[positions.order], ends_in_rows(drawing, positions)
    crosses = [p for p in range(len(start)) if any(start[p] < edge < end[p] for edge in tiles.edges_ps[1:-1])]
    assert set(crosses) <= set(tiles.crossing().tolist())
    assert (np.diff(tiles.crossing()) > 0).all()


def tiled(drawing: Trace, n: int) -> Tiles:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_module, "TILE_EVENTS", n)
        return compute_tiles(drawing, compute_positions(drawing), (0.0, 0.0))


def test_tiles_are_of_much_the_same_size() -> None:
    # Bursts with long pauses between them.
    tiles = tiled(threads([[(10**6 * (i // 100) + i, 1) for i in range(4000)] for _ in range(3)]), 1000)
    assert tiles.n == 12
    assert all(900 <= n <= 1100 for n in tiles.counts)


def test_times_beyond_what_a_double_holds_keep_tiles_and_starts_consistent() -> None:
    late = 10**16 + 1
    tiles = tiled(threads([[(late + i, 1) for i in range(50)]]), 5)
    assert int(tiles.counts.sum()) == 50
    for k in range(tiles.n):
        start = tiles.trace.start_ps[tiles.positions.order[tiles.positions_in(k)]].astype(np.float64)
        assert ((start >= tiles.edges_ps[k]) & (start < tiles.edges_ps[k + 1])).all()


def test_a_span_overlaps_the_tiles_that_hold_its_ends() -> None:
    tiles = tiled(threads([[(10 * i, 1) for i in range(100)]]), 25)
    low, high = tiles.overlapping((float(tiles.edges_ps[1]), float(tiles.edges_ps[3])))
    assert (low, high) == (1, 3)
    assert tiles.overlapping((float(tiles.edges_ps[0]), float(tiles.edges_ps[-1]))) == (0, tiles.n)
    assert tiles.overlapping((5.0, 5.0)) == (0, 1)
    assert tiled(threads([[]]), 5).overlapping((0.0, 1.0)) == (0, 0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12))
def test_ranges_are_the_numbers_one_after_the_other(parts: list[tuple[int, int]]) -> None:
    start, length = np.array([a for a, _ in parts], np.int64), np.array([n for _, n in parts], np.int64)
    assert ranges(start, length).tolist() == [a + i for a, n in parts for i in range(n)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30))
def test_of_each_run_the_first_longest_is_kept(pairs: list[tuple[int, int]]) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    best: dict[int, int] = {}
    for i, (key, duration) in enumerate(pairs):
        if key not in best or duration > pairs[best[key]][1]:
            best[key] = i
    key, duration = np.array([k for k, _ in pairs], np.int64), np.array([d for _, d in pairs], np.int64)
    assert longest_of_runs(key, duration).tolist() == sorted(best.values())


def crowd() -> Tiles:
    """Two threads of 20,000 short events, some of them long, and one with a single event."""
    dense = [[(100 * i, 90 if i % 50 == 0 else 3) for i in range(20_000)] for _ in range(2)]
    return tiled(threads([*dense, [(5, 1)]]), 10_000)


def test_a_sample_keeps_every_row_the_longest_events_and_those_across_edges() -> None:
    tiles = crowd()
    sample = sample_events(tiles, (0.0, 1000.0), n_wanted=900)
    assert (np.diff(sample) > 0).all()
    assert 400 <= len(sample) <= 900 + len(tiles.crossing())
    rows = np.searchsorted(tiles.positions.row_offsets, sample, side="right") - 1
    assert set(rows.tolist()) == set(range(tiles.positions.n_rows))
    assert set(tiles.crossing().tolist()) <= set(sample.tolist())
    duration = tiles.trace.duration_ps[tiles.positions.order]
    bins = tiles.trace.start_ps[tiles.positions.order] // 40_000
    for row in (0, 1):
        of_row = np.arange(*tiles.positions.row_offsets[row : row + 2])
        for b in range(int(bins.max())):
            inside = of_row[bins[of_row] == b]
            kept = np.intersect1d(inside, sample)
            assert duration[kept].max() == duration[inside].max()


def test_a_sample_is_exact_where_the_reader_looks_first() -> None:
    tiles = crowd()
    home = (1_000_000.0, 1_005_000.0)
    start = tiles.trace.start_ps[tiles.positions.order]
    near = np.flatnonzero((start >= home[0]) & (start < home[1]))
    assert len(near) == 100
    assert set(near.tolist()) <= set(sample_events(tiles, home, n_wanted=900).tolist())


def test_a_sample_is_the_same_however_few_events_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    tiles = crowd()
    whole = sample_events(tiles, (1_000_000.0, 1_005_000.0), n_wanted=900)
    monkeypatch.setattr("tfprof_widgets.show.counters._BLOCK_EVENTS", 777)
    np.testing.assert_array_equal(sample_events(tiles, (1_000_000.0, 1_005_000.0), n_wanted=900), whole)


def test_of_more_rows_than_wanted_the_longest_events_are_kept() -> None:
    tiles = tiled(threads([[(0, 10 + i)] for i in range(300)]), 100)
    sample = sample_events(tiles, (0.0, 1.0), n_wanted=20)
    assert len(sample) <= 40
    assert 299 in sample


def test_a_sample_of_a_small_trace_is_the_trace() -> None:
    tiles = crowd()
    np.testing.assert_array_equal(sample_events(tiles, (0.0, 1.0), n_wanted=10**6), np.arange(40_001))


def test_the_first_tile_begins_with_the_earliest_event_however_few_starts_were_looked_at() -> None:
    later = [
        line("t", event("a", 0, 1)),
        line("t", event("a", -20, 1)),
        line("t", *(event("a", i, 1) for i in range(3000))),
    ]
    drawing = trace(plane("/host:CPU", *later))
    tiles = compute_tiles(drawing, compute_positions(drawing), (0.0, 0.0))
    assert tiles.edges_ps[0] == drawing.start_ps.min() < 0


def tiles() -> FlowTiles:
    flows = Flows(
        from_event=np.array([0, 0, 3, 4], np.int32),
        to_event=np.array([2, 1, 1, 2], np.int32),
        kind=np.array([0, 1, 2, 3], np.uint8),
    )
    return FlowTiles(flows, position=np.array([4, 3, 2, 1, -1]), tile=np.array([0, 1, 1, 0, 0]), n_tiles=2)


def columns(tile: int, name: str) -> dict[str, list[int]]:
    return {column: values.tolist() for column, (values, _) in tiles().tables(tile)[name].columns.items()}


def test_what_an_event_started_lies_in_its_own_tile_by_position() -> None:
    assert columns(0, "flows_out") == {"from": [1, 4, 4], "to": [3, 2, 3], "kind": [2, 0, 1]}
    assert columns(1, "flows_out") == {"from": [], "to": [], "kind": []}


def test_what_started_an_event_lies_in_the_tile_of_that_event() -> None:
    assert columns(0, "flows_in") == {"to": [], "from": [], "kind": []}
    assert columns(1, "flows_in") == {"to": [2, 3, 3], "from": [4, 1, 4], "kind": [0, 2, 1]}
