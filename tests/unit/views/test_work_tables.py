"""What travels for kernels, HLO ops, layers, the roofline and the graph adds up in the browser to what Python says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfprof_widgets as tfprof
from tests.browser.drawings import large_space, linked_space
from tests.builders import Event, event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.packs import first_of, is_here, unpack
from tests.structure_drawings import KINDS, drawn_graph, profile_of
from tests.unit.analysis.roofline import test_roofline as roofline
from tests.unit.analysis.roofline.test_roofline import GEMM, drawn
from tfprof_widgets.analysis import FAMILIES, Analysis, UserFiles
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import Payload, TreeView, hlo_list, lists, structure_list

from .received import receive

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
def results() -> Analysis:
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
def travelled(results: Analysis) -> tuple[dict[str, Any], dict[str, Any]]:
    got = receive(Payload(results))
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
    (found,) = lists.roofline_list(drawn(roofline.compiled("gemm", 0, 10, GEMM), roofline.compiled("sum", 20, 30)))
    assert found["ops"]["name"] == ["sum"]
    assert found["n_ops"] == 2


def test_of_kernels_without_a_program_nothing_is_worked_out() -> None:
    results = drawn(roofline.kernel("volta_sgemm", 20, 5, tf_op="net/mul/Mul:Mul"))
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
    assert set(meta["figures"]) >= {"micros", "params", "float_ops", "output_bytes"}
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
    linked = [meta["names"][row] for row in meta["of_framework_op"] if row >= 0]
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
