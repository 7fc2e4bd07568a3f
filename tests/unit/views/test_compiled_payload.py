"""What travels for a compiled run: units, their shares, framework ops and colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.builders import event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.packs import unpack
from tfprof_widgets.analysis import FAMILIES, Analysis, UserFiles, aggregate_ops
from tfprof_widgets.show import build_payload, hlo_list

PROGRAM = module(
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
def results() -> Analysis:
    events = [event("net/Relu:Relu", 0, 2), run("f", 3, 12), run("d", 16, 5), run("copy.9", 22, 1), run("f", 30, 6)]
    return Analysis(trace(metadata_plane({1: PROGRAM}), plane("/host:CPU", line("t", *events))))


def shared(meta: dict[str, Any], tables: Any, self_ps: Any) -> dict[str, float]:
    """What a browser adds up: self time of units, by share, under the names of framework ops."""
    shares, total = tables["op_shares"], np.zeros(meta["n_ops"])
    np.add.at(total, shares["op"], self_ps[shares["unit"]] * shares["ratio"])
    return {meta["names"][name]: float(ps) for name, ps in zip(tables["ops"]["name"], total, strict=True)}


def test_units_and_shares_give_the_browser_the_same_table_as_python(results: Analysis) -> None:
    meta, tables = unpack(build_payload(results).overview)
    units = np.bincount(
        tables["occurrences"]["op"], weights=tables["occurrences"]["span_ps"], minlength=meta["n_units"]
    )
    ops = aggregate_ops(results.occurrences, shares=results.op_shares)
    want = dict(zip(ops["name"], ops["total_self_time_us"] * 1e6, strict=True))
    assert shared(meta, tables, units) == pytest.approx(want)
    assert want == pytest.approx({"net/Relu": 2e6, "net/Mul": 12e6, "sgd/AssignSubVariableOp": 6e6, "net/MatMul": 6e6})
    assert meta["n_units"] == 4


def test_an_event_points_to_the_framework_op_it_is_most_of(results: Analysis) -> None:
    meta, tables = unpack(build_payload(results).overview)
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


def test_slices_of_hlo_ops_have_the_colour_of_what_they_do(results: Analysis) -> None:
    meta, tables = unpack(build_payload(results).overview)
    family = {name: FAMILIES[code] for name, code in zip(meta["names"], tables["names"]["family"], strict=True)}
    assert (family["d"], family["copy.9"], family["f"]) == ("conv", "move", "elem")


def test_fusions_have_the_colour_of_what_leads_in_them_whatever_their_result_is_named_after() -> None:
    host = plane("/host:CPU", line("t", *(run(name, 10 * at, 5) for at, name in enumerate("fghi"))))
    results = Analysis(trace(metadata_plane({1: PROGRAM}), host))
    meta, tables = unpack(build_payload(results).overview)
    named = {name: FAMILIES[code] for name, code in zip(meta["names"], tables["names"]["family"], strict=True)}
    listed = hlo_list(results, UserFiles({}, ()), slice(None))
    want = {"f": "elem", "g": "reduce", "h": "conv", "i": "move"}
    assert {name: named[name] for name in want} == want
    assert {one["name"]: FAMILIES[one["family"]] for one in listed} == want


def test_an_uncompiled_run_has_no_table_of_shares() -> None:
    plain = Analysis(trace(plane("/host:CPU", line("t", event("a:A", 0, 1)))))
    meta, tables = unpack(build_payload(plain).overview)
    assert "op_shares" not in tables
    assert meta["n_units"] == meta["n_ops"] == len(tables["ops"]["name"]) == 1


def test_kernels_of_device_ops_travel_so_that_executions_can_be_counted() -> None:
    kernels = [event("kernel", 10 * i, 5, tf_op="net/MatMul:MatMul", scope_range_id=7 + i // 2) for i in range(5)]
    device = plane("/device:GPU:0", line("s", *kernels))
    drawn = Analysis(trace(plane("/host:CPU", line("t", event("a:A", 0, 1))), device))
    _, tables = unpack(build_payload(drawn).overview)
    assert drawn.ops.set_index("name")["occurrences"]["net/MatMul"] == 3
    assert tables["occurrences"]["execution"].tolist() == [-1, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(("root", "is_users"), [("/kit/keras", True), ("/home/me", False)])
def test_whose_line_an_hlo_op_is_travels_as_the_capture_knew_it(results: Analysis, root: str, is_users: bool) -> None:
    results = Analysis(results.trace)
    results.hlo_ops.frame["source"] = "/home/me/site-packages-demo/net.py:7"
    told = hlo_list(results, UserFiles({}, (root,)), slice(None))
    assert {one["is_users"] for one in told} == {is_users}
