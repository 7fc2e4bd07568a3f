"""What travels for the tables of kernels, HLO ops and layers adds up in the browser to what Python says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import Event, event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.packs import unpack
from tfprof_widgets.analysis import FAMILIES, PHASES, Analysis
from tfprof_widgets.read import read_xspace
from tfprof_widgets.show import build_payload

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
    got = receive(build_payload(results))
    return got.meta, got.tables


def test_runs_of_kernels_add_up_to_the_kernel_table(results: Analysis, travelled: tuple[Any, Any]) -> None:
    meta, tables = travelled
    frame, runs = results.kernels.frame, tables["kernel_runs"]
    total = np.bincount(runs["kernel"], weights=runs["duration_ps"], minlength=len(frame))
    assert (total / 1e6).tolist() == frame["total_time_us"].tolist()
    assert [one["name"] for one in meta["kernels"]] == frame["name"].tolist()
    assert EVIL in frame["name"].tolist()
    first = meta["kernels"][0]
    assert (first["op_name"], first["op_type"], first["grid_dim"]) == ("net/dense/MatMul", "MatMul", "2,1,1")
    assert first["occupancy_pct"] is None, "JSON knows no infinity"


def test_runs_of_copies_say_when_each_ran_what_it_cost_and_whether_steps_are_averaged(
    capture_of: Callable[[str], Path],
) -> None:
    results = Analysis(read_xspace(capture_of("h100_resnet_mixed").read_bytes()))
    got = receive(build_payload(results))
    runs, copies = got.tables["copy_runs"], results.copies
    exposed = np.bincount(runs["copy"], weights=runs["exposed_ps"], minlength=len(copies))
    assert (exposed / 1e9).tolist() == pytest.approx(copies["exposed_time_ms"].tolist())
    step = results.steps.event_step[results.copy_runs["event"]]
    averaged = np.flatnonzero(results.is_averaged)
    assert 0 < len(averaged) < len(results.is_averaged)
    assert (runs["is_steady"] == 1).tolist() == np.isin(step, averaged).tolist()


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


def test_units_add_up_to_the_hlo_table(results: Analysis, travelled: tuple[Any, Any]) -> None:
    meta, tables = travelled
    frame, occurrences = results.hlo_ops.frame, tables["occurrences"]
    row = tables["hlo_units"]["hlo"][occurrences["op"]]
    total = np.bincount(row[row >= 0], weights=occurrences["duration_ps"][row >= 0], minlength=len(frame))
    assert (total / 1e6).tolist() == frame["total_time_us"].tolist()
    assert len(tables["hlo_units"]["hlo"]) == meta["n_units"]
    assert [(one["name"], one["op_type"]) for one in meta["hlo_ops"]] == [("c", "Conv2D"), ("t", "Tanh")]
    # More than a number of JavaScript holds.
    assert meta["hlo_ops"][0]["program_id"] == str(2**63 - 5)


def test_places_of_ops_add_up_to_the_layer_table(results: Analysis, travelled: tuple[Any, Any]) -> None:
    meta, tables = travelled
    frame, places = results.layers.frame, tables["op_places"]
    assert len(places["layer"]) == meta["n_ops"]
    ops = results.ops.set_index(["device", "name"])["total_self_time_us"]
    found: dict[tuple[str, str, str], float] = {}
    for op, name in enumerate(tables["ops"]["name"]):
        side = "Device" if tables["ops"]["is_device"][op] else "Host"
        key = (side, meta["layers"][places["layer"][op]]["layer"], PHASES[places["phase"][op]])
        found[key] = found.get(key, 0) + ops.get((side, meta["names"][name]), 0)
    want = {
        (row["device"], row["layer"], phase): row[f"{phase}_time_us"]
        for row in frame.to_dict("records")
        for phase in PHASES
        if row[f"{phase}_time_us"] > 0
    }
    assert {key: us for key, us in found.items() if us > 0} == pytest.approx(want)
    assert sum(found.values()) == pytest.approx(results.ops["total_self_time_us"].sum())


def test_rates_travel_for_the_ops_that_have_one(results: Analysis, travelled: tuple[Any, Any]) -> None:
    meta, tables = travelled
    rates = tables["op_rates"]
    known = results.ops.set_index(["device", "name"])
    for op, name in enumerate(tables["ops"]["name"]):
        row = known.loc[("Device" if tables["ops"]["is_device"][op] else "Host", meta["names"][name])]
        for rate in ("flop_rate_gflops", "memory_bandwidth_gibps", "tensor_core_ratio"):
            np.testing.assert_equal(rates[rate][op], row[rate])


def test_a_capture_without_gpu_and_compiler_sends_no_such_table() -> None:
    made = build_payload(Analysis(trace(plane("/host:CPU", line("main", event("a/b:MatMul", 0, 5))))))
    meta, tables = unpack(made.overview)
    assert meta["kernels"] == meta["hlo_ops"] == []
    assert not {"kernel_runs", "hlo_units", "op_rates"} & set(tables)


def test_kernels_of_a_real_trace_travel_whole(v100_xplane: Path) -> None:
    results = Analysis(read_xspace(v100_xplane.read_bytes()))
    payload = build_payload(results)
    meta, tables = unpack(payload.overview)
    if "kernel_runs" not in payload.is_here:
        tables |= unpack(payload.part("kernel_runs:0"))[1]
    assert len(meta["kernels"]) == len(results.kernels.frame) == 15
    assert len(tables["kernel_runs"]["kernel"]) == results.kernels.frame["occurrences"].sum()
