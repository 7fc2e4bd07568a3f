"""Drawn kernels against the peaks of an H100: what is judged, by which roof, and what is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.builders import Event, Plane, U, event, line, plane, trace
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import TABLES, Analysis, of_other_width, peaks_of
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


def drawn(*events: Event, **gpu: Any) -> Analysis:
    return Analysis(trace(*planes(*events, **gpu)))


def row(results: Analysis, name: str) -> dict[str, Any]:
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


def test_what_moved_more_than_the_memory_could_read_from_a_cache() -> None:
    found = row(drawn(compiled("sum", 0, us(ADD_BYTES, BYTES) / 2)), "sum")
    assert found["bound"] == "cache"
    assert math.isnan(found["roof_ratio"])


def test_what_computed_more_than_its_units_could_is_not_judged() -> None:
    found = row(drawn(compiled("gemm", 0, us(GEMM_FLOPS, TF32) / 2, GEMM)), "gemm")
    assert (found["bound"], found["known_ratio"]) == ("", 0)
    assert all(math.isnan(found[name]) for name in ("roof_ratio", "mfu_ratio", "flops"))


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


def test_what_devices_exchange_is_bound_by_neither_roof() -> None:
    exchanged = compiled("sum", 0, 50, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
    frame = drawn(exchanged, compiled("gemm", 100, 10, GEMM)).roofline.frame
    assert frame["name"].tolist() == ["gemm"]


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
    return row(Analysis(trace(metadata_plane({1: program}), plane("/host:CPU"), device)), hlo)


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


@pytest.mark.parametrize("rows", ["op", "kernel", "layer", "step"])
def test_without_a_gpu_tables_have_their_columns_and_no_row(rows: Any) -> None:
    host = plane("/host:CPU", line("main", event("net/dense/MatMul:MatMul", 0, 2)))
    frame = Analysis(trace(host)).roofline.by(rows)
    assert list(frame) == list(TABLES["roofline"].names)
    assert frame.empty


def test_rows_of_something_else_are_refused() -> None:
    with pytest.raises(ValueError, match="'op', 'kernel', 'layer', 'step'"):
        drawn(compiled("sum", 0, 1)).roofline.by("color")  # type: ignore[arg-type]


def card(name: str, capability: tuple[int, int], cores: int, mhz: int, gb_per_s: int) -> dict[str, Any]:
    """The stats of a device's plane as CUPTI fills them."""
    return {
        "device_vendor": "Nvidia",
        "gpu_device_name": name,
        "compute_cap_major": capability[0],
        "compute_cap_minor": capability[1],
        "core_count": cores,
        "clock_rate": mhz * 1000,
        "memory_bandwidth": gb_per_s * 10**9,
    }


@pytest.mark.parametrize(
    ("device", "tensor_16", "tensor_32", "vector_32", "vector_64"),
    [
        (card("NVIDIA H100 80GB HBM3", (9, 0), 132, 1980, 3352), 989, 495, 67, 33.5),
        (card("NVIDIA H100 PCIe", (9, 0), 114, 1755, 2039), 756, 378, 51, None),
        (card("NVIDIA A100-SXM4-40GB", (8, 0), 108, 1410, 1555), 312, 156, 19.5, 9.7),
        (card("NVIDIA A30", (8, 0), 56, 1440, 933), 165, 82.6, 10.3, None),
        (card("Tesla V100-SXM2-16GB", (7, 0), 80, 1530, 898), 125, math.nan, 15.7, 7.8),
        (card("Tesla T4", (7, 5), 40, 1590, 320), 65, math.nan, 8.1, 0.254),
        (card("NVIDIA L4", (8, 9), 58, 2040, 300), 121, 60.5, 30.3, 0.473),
        (card("NVIDIA L40S", (8, 9), 142, 2520, 864), 366, 183, 91.6, None),
        (card("NVIDIA A10", (8, 6), 72, 1695, 600), 125, 62.5, 31.2, 0.488),
        (card("NVIDIA GeForce RTX 3090", (8, 6), 82, 1695, 936), 71, 35.6, 35.6, None),
        (card("NVIDIA RTX PRO 6000 Blackwell Server Edition", (12, 0), 188, 2617, 1792), 503.8, 251.9, 126, None),
        (card("NVIDIA GeForce GTX 1660 Ti", (7, 5), 24, 1770, 288), math.nan, math.nan, 5.4, None),
        (card("NVIDIA GB200", (10, 0), 152, 2062, 7900), math.nan, math.nan, 80.2, None),
        (card("NVIDIA B200", (10, 0), 148, 1965, 7672), 2250, 1125, 74.5, 37.2),
    ],
)
def test_peaks_are_those_of_the_data_sheets(
    device: dict[str, Any], tensor_16: float, tensor_32: float, vector_32: float, vector_64: float | None
) -> None:
    peaks = peaks_of(device)
    want = (tensor_16, tensor_32, vector_32)
    found = tuple(peak / 1e12 for peak in (peaks.tensor_16, peaks.tensor_32, peaks.vector_32))
    assert found == pytest.approx(want, rel=0.015, nan_ok=True)
    assert vector_64 is None or peaks.vector_64 / 1e12 == pytest.approx(vector_64, rel=0.015)
    assert peaks.bytes_per_s == device["memory_bandwidth"]


@pytest.mark.parametrize(
    "changed",
    [
        {"compute_cap_major": 99},
        {"device_vendor": "AMD"},
        {"gpu_device_name": "NVIDIA H20"},
        {"gpu_device_name": "NVIDIA GeForce RTX 5090 D"},
        {"core_count": 0},
        {"clock_rate": "fast"},
        {"clock_rate": None},
    ],
)
def test_what_the_table_does_not_have_has_no_peaks(changed: dict[str, Any]) -> None:
    peaks = peaks_of(card("", (9, 0), 132, 1980, 3352) | changed)
    assert math.isnan(peaks.tensor_16)
    assert math.isnan(peaks.vector_32)
    assert peaks.bytes_per_s == 3352e9


def test_a_letter_that_ends_a_word_before_gemm_is_no_width() -> None:
    names = ("ampere_dgemm_128x64_tn", "void dgemv_kernel", "void stridedBatchedGemm_kernel", "FusedGemmKernel")
    kernels = [
        event(name, 10 * i, 5, tf_op="MatMul:MatMul", kernel_details="regs:40", correlation_id=U(i + 1))
        for i, name in enumerate(names)
    ]
    results = Analysis(trace(plane("/host:CPU"), plane("/device:GPU:0", line("Stream #1(Compute)", *kernels))))
    ran = results.occurrences
    _, is_wide = of_other_width(results.trace, ran, np.arange(len(ran.event)))
    found = {results.trace.strings[results.trace.name_id[e]]: wide for e, wide in zip(ran.event, is_wide, strict=True)}
    assert [bool(found[name]) for name in names] == [True, True, False, False]
