"""Drawn kernels against the peaks of an H100: what is judged, by which roof, and what is not."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from tests.builders import Event, Plane, U, event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import TABLES, Results
from tfprof_widgets.read import MESSAGES

H100 = {
    "device_vendor": "Nvidia",
    "compute_cap_major": U(9),
    "compute_cap_minor": U(0),
    "core_count": U(132),
    "clock_rate": U(1_980_000),
    "memory_bandwidth": U(3352 * 10**9),
}
F32, F64, BF16 = 11, 12, 16
TF32 = 132 * 1830e6 * 2048
VECTOR = 132 * 1980e6 * 256
BYTES = 3352e9
GEMM_FLOPS = 2 * 1024**3
GEMM_BYTES = 3 * 4 * 1024**2
ADD_BYTES = 3 * 4 * 10**6
PROGRAM = module(
    "mod",
    computation(
        "main",
        instruction("x", "parameter", (1024, 1024)),
        instruction("v", "parameter", (1_000_000,)),
        instruction(
            "gemm",
            "dot",
            (1024, 1024),
            reads="x x",
            op="net/dense/MatMul:MatMul",
            dot_dimensions=MESSAGES["DotDimensions"](lhs_contracting=[1]),
        ),
        instruction("sum", "add", (1_000_000,), reads="v v", op="net/add/AddV2:AddV2"),
        instruction("flat", "copy", (1_000_000,), reads="v", op="net/flat/Reshape:Reshape"),
        instruction("who", "custom-call", (1_000_000,), reads="v", op="net/who/Who:Who"),
    ),
)
FP8 = "nvjet_sm90_qqtst_128x128_128x6_1x2_h_bz_coopA_TNT"
GEMM = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n"
REDUCE = "void cublasLt::splitKreduce_kernel<32, 16>"


def kernel(name: str, at: float, lasts: float, **stats: Any) -> Event:
    return event(name, at, lasts, kernel_details="regs:40 grid:2,1,1 block:128,1,1", correlation_id=U(1), **stats)


def compiled(hlo: str, at: int, lasts: float, name: str = "", scope: int = 0) -> Event:
    """One kernel of an execution, of the one that bears its `scope` or of one of its own."""
    stats = {"hlo_op": hlo, "hlo_module": "mod", "program_id": 1, "scope_range_id": U(scope or at + 1)}
    return kernel(name or f"{hlo}_kernel", at, lasts, **stats)


def planes(*events: Event, **gpu: Any) -> list[Plane]:
    device = plane("/device:GPU:0", line("Stream #1(Compute)", *events), **(gpu or H100))
    return [metadata_plane({1: PROGRAM}), plane("/host:CPU", line("main", event("x", 0, 1))), device]


def drawn(*events: Event, **gpu: Any) -> Results:
    return Results(trace(*planes(*events, **gpu)))


def row(results: Results, name: str) -> dict[str, Any]:
    frame = results.roofline.frame
    (found,) = frame[frame["name"] == name].to_dict("records")
    return {str(column): value for column, value in found.items()}


def us(least: float, rate: float) -> float:
    return least / rate * 1e6


def test_a_product_is_bound_by_the_units_that_its_kernel_runs_on() -> None:
    lasts = 2 * us(GEMM_FLOPS, TF32)
    found = row(drawn(compiled("gemm", 0, lasts, GEMM), compiled("gemm", 100, lasts, GEMM)), "gemm")
    assert (found["unit"], found["bound"], found["occurrences"]) == ("TF32 Tensor Core", "compute", 2)
    assert (found["flops"], found["bytes"]) == (2 * GEMM_FLOPS, 2 * GEMM_BYTES)
    assert found["roof_ratio"] == pytest.approx(0.5, rel=1e-4)
    assert found["mfu_ratio"] == pytest.approx(0.5, rel=1e-4)
    assert found["flop_rate_tflops"] == pytest.approx(TF32 / 2 / 1e12, rel=1e-4)
    assert found["intensity"] == pytest.approx(GEMM_FLOPS / GEMM_BYTES)
    assert (found["op_name"], found["known_ratio"], found["time_ratio"]) == ("net/dense/MatMul", 1, 1)


def test_what_adds_up_vectors_is_bound_by_the_memory() -> None:
    found = row(drawn(compiled("sum", 0, 4 * us(ADD_BYTES, BYTES))), "sum")
    assert (found["unit"], found["bound"]) == ("32-bit vector", "memory")
    assert found["roof_ratio"] == pytest.approx(0.25, rel=1e-3)
    assert found["bandwidth_gbps"] == pytest.approx(BYTES / 4 / 1e9, rel=1e-3)
    assert found["mfu_ratio"] == pytest.approx(1e6 / (4 * ADD_BYTES / BYTES) / VECTOR, rel=1e-3)


def test_what_computes_nothing_has_a_roof_all_the_same() -> None:
    found = row(drawn(compiled("flat", 0, 10)), "flat")
    assert (found["flops"], found["mfu_ratio"], found["intensity"], found["bound"]) == (0, 0, 0, "memory")
    assert found["roof_ratio"] == pytest.approx(us(8e6, BYTES) / 10, rel=1e-3)


def test_what_moved_more_than_the_memory_could_read_from_a_cache() -> None:
    found = row(drawn(compiled("sum", 0, us(ADD_BYTES, BYTES) / 2)), "sum")
    assert found["bound"] == "cache"
    assert math.isnan(found["roof_ratio"])


def test_an_op_is_judged_by_its_mean() -> None:
    """Of two executions at the memory's rate one is a little quicker than it could be."""
    least = us(ADD_BYTES, BYTES)
    found = row(drawn(compiled("sum", 0, least * 0.97), compiled("sum", 100, least * 1.05)), "sum")
    assert found["bound"] == "memory"
    assert found["roof_ratio"] == pytest.approx(1 / 1.01, rel=1e-3)


def test_what_computed_more_than_its_units_could_is_not_judged() -> None:
    found = row(drawn(compiled("gemm", 0, us(GEMM_FLOPS, TF32) / 2, GEMM)), "gemm")
    assert (found["bound"], found["known_ratio"]) == ("", 0)
    assert all(math.isnan(found[name]) for name in ("roof_ratio", "mfu_ratio", "flops"))


def test_a_call_of_something_unknown_and_an_op_without_a_program_are_not_known() -> None:
    results = drawn(compiled("who", 0, 10), kernel("volta_sgemm", 20, 5, tf_op="net/mul/Mul:Mul"))
    for name in ("who", "net/mul/Mul"):
        found = row(results, name)
        assert (found["known_ratio"], found["bound"]) == (0, "")
        assert math.isnan(found["flops"])


def test_the_kernels_on_the_fastest_units_do_the_work_of_an_execution() -> None:
    lasts = 2 * us(GEMM_FLOPS, TF32)
    results = drawn(compiled("gemm", 0, lasts, GEMM, scope=5), compiled("gemm", 20, lasts, REDUCE, scope=5))
    found = row(results, "gemm")
    assert (found["occurrences"], found["flops"]) == (1, GEMM_FLOPS)
    assert found["roof_ratio"] == pytest.approx(0.25, rel=1e-3)
    by_kernel = results.roofline.by("kernel").set_index("name")
    assert by_kernel.loc[GEMM, "flops"] == GEMM_FLOPS
    assert by_kernel.loc[GEMM, "roof_ratio"] == pytest.approx(0.5, rel=1e-3)
    assert [by_kernel.loc[REDUCE, name] for name in ("flops", "bytes", "bound")] == [0, 0, ""]


def test_copies_from_and_to_the_host_are_bound_by_neither_roof() -> None:
    copy = event("MemcpyH2D", 0, 50, tf_op="net/arg:_Arg", correlation_id=U(1), memcpy_details="kind_src:pageable")
    frame = drawn(copy, compiled("sum", 100, 10)).roofline.frame
    assert frame["name"].tolist() == ["sum"]
    assert frame["time_ratio"].tolist() == [1]


def test_what_devices_exchange_is_bound_by_neither_roof() -> None:
    exchanged = compiled("sum", 0, 50, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
    frame = drawn(exchanged, compiled("gemm", 100, 10, GEMM)).roofline.frame
    assert frame["name"].tolist() == ["gemm"]


def test_a_device_that_nobody_knows_has_rates_without_a_roof() -> None:
    found = row(drawn(compiled("gemm", 0, 10, GEMM), device_vendor="Nvidia"), "gemm")
    assert found["flop_rate_tflops"] == pytest.approx(GEMM_FLOPS / 10e-6 / 1e12)
    assert found["bound"] == ""
    assert math.isnan(found["roof_ratio"])
    assert math.isnan(found["mfu_ratio"])


def test_a_product_of_8_bits_has_rates_without_a_roof() -> None:
    """It may be twice as fast as one of 16; the kernel beside it, which adds up its parts, says nothing of its peak."""
    results = drawn(compiled("gemm", 0, 10, FP8, scope=5), compiled("gemm", 20, 10, REDUCE, scope=5))
    found = row(results, "gemm")
    assert (found["flops"], found["bound"]) == (GEMM_FLOPS, "")
    assert math.isnan(found["mfu_ratio"])
    assert results.roofline.by("step")["mfu_ratio"].isna().all()


def program_of(in_type: int, out_type: int = F32) -> bytes:
    """A fusion that multiplies numbers of one type, and an addition of numbers of another."""
    own, other = (MESSAGES["Shape"](element_type=one, dimensions=(1024, 1024)) for one in (in_type, out_type))
    contracting = MESSAGES["DotDimensions"](lhs_contracting=[1])
    return module(
        "mod",
        computation(
            "fused",
            instruction("a", "parameter", (1024, 1024), shape=own),
            instruction("dot", "dot", (1024, 1024), reads="a a", dot_dimensions=contracting),
        ),
        computation(
            "main",
            instruction("x", "parameter", (1024, 1024), shape=own),
            instruction("y", "parameter", (1024, 1024), shape=other),
            instruction("fusion", "fusion", (1024, 1024), reads="x", calls="fused", op="net/dense/MatMul:MatMul"),
            instruction("sum", "add", (1024, 1024), reads="y y", op="net/add/AddV2:AddV2", shape=other),
        ),
    )


def judged(program: bytes, hlo: str) -> dict[str, Any]:
    device = plane("/device:GPU:0", line("Stream #1(Compute)", compiled(hlo, 0, 100)), **H100)
    return row(Results(trace(metadata_plane({1: program}), plane("/host:CPU"), device)), hlo)


@pytest.mark.parametrize("of_eight_bits", [2, 19, 20, 28])
def test_a_fusion_of_a_product_of_8_bits_has_rates_without_a_roof(of_eight_bits: int) -> None:
    found = judged(program_of(of_eight_bits), "fusion")
    assert (found["unit"], found["flops"], found["bound"]) == ("16-bit Tensor Core", GEMM_FLOPS, "")
    assert math.isnan(found["mfu_ratio"])
    assert judged(program_of(BF16), "fusion")["mfu_ratio"] == pytest.approx(GEMM_FLOPS / 100e-6 / (2 * TF32), rel=1e-3)


def test_what_adds_numbers_of_64_bits_is_set_against_the_peak_of_64() -> None:
    found = judged(program_of(F32, F64), "sum")
    assert (found["unit"], found["flops"], found["bound"]) == ("64-bit vector", 1024**2, "memory")
    assert found["mfu_ratio"] == pytest.approx(1024**2 / 100e-6 / 33.45e12, rel=1e-3)
    assert judged(program_of(F32), "sum")["bound"] == "memory"


def test_layers_have_their_share_of_what_their_ops_do() -> None:
    layers = drawn(compiled("gemm", 0, 10, GEMM), compiled("sum", 20, 30)).roofline.by("layer")
    assert layers["time_us"].tolist() == sorted(layers["time_us"], reverse=True)
    assert layers["flops"].sum() == GEMM_FLOPS + 1e6
    assert layers["time_us"].sum() == 40


@pytest.mark.parametrize("rows", ["op", "kernel", "layer", "step"])
def test_without_a_gpu_tables_have_their_columns_and_no_row(rows: Any) -> None:
    host = plane("/host:CPU", line("main", event("net/dense/MatMul:MatMul", 0, 2)))
    frame = Results(trace(host)).roofline.by(rows)
    assert list(frame) == list(TABLES["roofline"].names)
    assert frame.empty


def test_rows_of_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="'op', 'kernel', 'layer', 'step'"):
        drawn(compiled("sum", 0, 1)).roofline.by("color")  # type: ignore[arg-type]


def test_the_fastest_units_of_each_device_are_what_a_step_is_set_against() -> None:
    """Two devices of one host, of which one multiplies."""
    devices = [
        plane(f"/device:GPU:{i}", line("Stream #1(Compute)", compiled(hlo, 0, 10, name)), **H100)
        for i, (hlo, name) in enumerate([("gemm", GEMM), ("sum", "")])
    ]
    results = Results(trace(metadata_plane({1: PROGRAM}), plane("/host:CPU"), *devices))
    (peak,) = results.roofline.peak_of_host.values()
    assert peak == pytest.approx(TF32 + VECTOR)
    assert isinstance(results.roofline.frame, pd.DataFrame)
