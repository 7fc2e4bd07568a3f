"""Kernel statistics: equal to XProf's kernel_stats on drawings of every form of `kernel_details`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import Event, U, event, line, plane, space
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.unit.analysis.xprof_oracle import rows, xprof, xprof_all
from tests.unit.analysis.xprof_reading import as_xprof
from tfprof_widgets.analysis import TABLES, Kernels, Launch, Results, is_eligible_type, parse_launch
from tfprof_widgets.read import read_hlo_modules, read_xspace

DETAILS = "regs:32 static_shared:16 dynamic_shared:8 grid:1,2,3 block:4,5,6 occ_pct:62.5"
FORMS = {
    "usual": DETAILS,
    "packed beyond 32 bits": "regs:687194767361 shm:4294967297 grid:2256,139757090178736,971983408 block:0,0,0",
    "too few or many dimensions": "regs:+5 grid:1,2 block:7,8,9,10",
    "no numbers": "regs:-5 static_shared:1x grid:a,b,c block:3,x,9 occ_pct:33.3",
    "two colons": "regs:5:6 grid:4,5,6",
    "repeated": "regs:1 regs:2 occ_pct:abc",
    "a line each": "regs: 5\ngrid:2,2,2",
    "unknown words": "junk regs:7\toccupancy:3",
    "largest": "regs:4294967295 static_shared:4294967295 dynamic_shared:2",
    "digits apart": "occ_pct:1_0 regs:1_0",
}
OPS = (
    *("Conv2D", "a/Conv2D_1", "a/Conv2DBackpropInput", "b/Conv3D", "x/MatMul", "MatMul", "xMatMul", "FusedMatMul"),
    *("a/CudnnRNN", "CudnnRNN", "CudnnRNNVx/z", "xBatchMatMulV2/y", "XlaDotV2", "a/Einsum", "DepthwiseConv2dNative"),
)
TENSOR_CORE_NAMES = (
    *("volta_fp16_s884gemm_fp16_128x64", "volta_h884gemm", "turing_h1688gemm", "ampere_fp16_s16816gemm", "x_hmma_y"),
    *(
        "sm80_xmma_gemm_f16",
        "cutlass_i8816",
        "implicit_convolve_sgemm",
        "H884",
        "conv1x1_kernel",
        "c1688",
        "i16832gemm",
    ),
)
OF_XPROF = {
    "name": "kernel_name",
    "shared_memory_bytes": "shmem_bytes",
    "tensor_core_eligible": "is_op_tensor_core_eligible",
    "uses_tensor_core": "is_kernel_using_tensor_core",
    "total_time_us": "total_duration_us",
    "avg_time_us": "avg_duration_us",
    "min_time_us": "min_duration_us",
    "max_time_us": "max_duration_us",
}
"""Our columns that have another name there."""


def gpu(*kernels: Event, number: int = 0, **stats: Any) -> Any:
    return plane(f"/device:GPU:{number}", line("Stream #13(Compute)", *kernels, id=13), **stats)


def kernel(name: str, at: float, us: float = 5, details: str = "regs:1", **stats: Any) -> Event:
    return event(name, at, us, kernel_details=details, **stats)


def forms() -> list[Event]:
    return [kernel(name, 10 * i, 5 + i / 7, form) for i, (name, form) in enumerate(FORMS.items())]


def keys() -> list[Event]:
    """Executions that differ in one part of the key each, ties, and what is no execution."""
    return [
        kernel("k", 0, details="regs:1 occ_pct:10"),
        kernel("k", 10, 3.0007, details="regs:1 occ_pct:20"),
        *(kernel("k", 20 + i, 1, details=f"regs:1 {part}:2,1,1") for i, part in enumerate(("grid", "block"))),
        *(kernel("k", 30 + i, 1, details=f"regs:1 {part}_shared:4") for i, part in enumerate(("static", "dynamic"))),
        *(kernel(name, 40 + i, 1) for i, name in enumerate(("b", "a", "ä", "B"))),
        *(
            kernel("op", 50 + i, 1, tf_op=op)
            for i, op in enumerate(("b/op:Cast", "a/op:Cast", "junk-!", ":Foo", "Iterator::Root"))
        ),
        kernel("no duration", 60, 0),
        kernel("less than a ns", 61, 0.0004),
        kernel("no details", 62, 1, details=""),
        event("MemcpyH2D", 63, 1, memcpy_details="kind_src:1"),
    ]


def tensor_cores() -> list[Event]:
    return [
        *(kernel(name, 10 * i, 4, tf_op="a/b:Cast") for i, name in enumerate(TENSOR_CORE_NAMES)),
        *(kernel("plain", 500 + 10 * i, 3, tf_op=f"{op}:Type") for i, op in enumerate(OPS)),
        kernel("volta_h884gemm", 800, 3),
        *(
            kernel("sum", 900 + i, 1, tf_op=f"e{i}:Einsum", equation=text)
            for i, text in enumerate(("ab,bc->ac", "ab->a", "a,b,c->"))
        ),
    ]


DRAWN = {
    "forms": space(gpu(*forms(), device_vendor="Nvidia")),
    "keys": space(gpu(*keys(), device_vendor="Nvidia"), gpu(*keys(), number=1, device_vendor="Nvidia")),
    "tensor cores": space(gpu(*tensor_cores(), device_vendor="Nvidia")),
    "another vendor": space(gpu(*tensor_cores(), device_vendor="AMD")),
}


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, Any]]:
    return xprof_all(DRAWN, "kernel_stats")


def kernels_of(xplane: bytes) -> Kernels:
    return Results(read_xspace(xplane)).kernels


def assert_same_as_xprof(ours: Kernels, shown: list[dict[str, Any]]) -> None:
    columns = [column for column in TABLES["kernels"].names if column not in ("op_type", "unit")]
    assert list(ours.frame.columns) == list(TABLES["kernels"].names)
    for column in columns:
        assert ours.frame[column].tolist() == [row[OF_XPROF.get(column, column)] for row in shown], column


@pytest.mark.parametrize("drawing", DRAWN)
def test_kernels_equal_xprof_to_the_last_digit(drawing: str, theirs: dict[str, dict[str, Any]]) -> None:
    shown = rows(theirs[drawing]["kernel_stats"])
    assert shown
    assert_same_as_xprof(as_xprof(read_xspace(DRAWN[drawing])).kernels, shown)


def test_kernels_of_test_vector_6() -> None:
    runs = [kernel("kern_half_x" if i % 2 else "kern", 10 * i + 3, 5, DETAILS, tf_op="m/foo:MatMul") for i in range(3)]
    frame = kernels_of(space(gpu(*runs, event("MemcpyH2D", 8, 0.5, correlation_id=U(9999))))).frame
    assert frame["name"].tolist() == ["kern", "kern_half_x"]
    assert frame["occurrences"].tolist() == [2, 1]
    assert frame["total_time_us"].tolist() == [10, 5]
    assert frame["shared_memory_bytes"].tolist() == [24, 24]
    assert frame["occupancy_pct"].tolist() == [62.5, 62.5]
    assert (frame["grid_dim"][0], frame["block_dim"][0], frame["op_name"][0]) == ("1,2,3", "4,5,6", "m/foo")


PROGRAM = module(
    "mod",
    computation(
        "fused",
        instruction("p", "parameter"),
        instruction("big", "tanh", (4096,), reads="p", op="net/Tanh:Tanh"),
        instruction("small", "negate", (4,), reads="big", op="net/Neg:Neg"),
    ),
    computation(
        "main",
        instruction("x", "parameter"),
        instruction("f", "fusion", reads="x", calls="fused"),
        instruction("c", "convolution", reads="f x", op="net/conv/convolution:Conv2D"),
        instruction("d", "dot", reads="f x", op="net/MatMul:MatMul"),
    ),
)


def test_a_kernel_of_a_compiled_program_goes_by_the_op_it_is_most_of() -> None:
    of = {"hlo_module": "mod", "program_id": U(1)}
    runs = [
        kernel("c_kernel", 0, 9, hlo_op="c", **of),
        kernel("sm80_xmma_gemm", 20, 8, hlo_op="d", **of),
        kernel("d_kernel", 40, 7, hlo_op="d", tf_op="outer:XlaLaunch", **of),
        kernel("f_kernel", 60, 6, hlo_op="f", **of),
    ]
    results = Results(read_xspace(space(metadata_plane({1: PROGRAM}), gpu(*runs))))
    frame = results.kernels.frame
    assert frame["op_name"].tolist() == ["net/conv/convolution", "net/MatMul", "net/MatMul", "net/Tanh"]
    assert frame["op_type"].tolist() == ["Conv2D", "MatMul", "MatMul", "Tanh"]
    # The name of a Keras convolution does not tell that it is one; its type does.
    assert frame["tensor_core_eligible"].tolist() == [False, True, True, False]
    assert [is_eligible_type(kind) for kind in frame["op_type"]] == [True, True, True, False]
    assert set(frame["op_name"]) <= set(results.ops["name"])


def test_kernels_of_a_real_compiled_program_equal_xprof_but_for_the_ops_of_fusions(
    capture_of: Callable[[str], Path],
) -> None:
    blob = max(read_xspace(capture_of("xla_fit").read_bytes()).blobs, key=len)
    modules = read_hlo_modules(read_xspace(space(metadata_plane({1: blob}))))
    entry = int(np.argmax(np.diff(modules.instruction_offsets)))
    low, high = modules.instruction_offsets[entry : entry + 2].tolist()
    runs = [
        kernel(f"{modules.name[row]}_kernel", 20 * i, 1 + i % 9, hlo_op=modules.name[row], hlo_module="m", program_id=1)
        for i, row in enumerate(range(low, high))
    ]
    xplane = space(metadata_plane({1: blob}), gpu(*runs, device_vendor="Nvidia"))
    ours, shown = kernels_of(xplane).frame, rows(xprof(xplane, "kernel_stats")["kernel_stats"])
    assert ours["name"].tolist() == [row["kernel_name"] for row in shown]
    assert ours["total_time_us"].tolist() == [row["total_duration_us"] for row in shown]
    compared = 0
    for row, want in zip(ours.to_dict("records"), shown, strict=True):
        if want["op_name"] and "fusion" not in row["name"]:
            compared += 1
            assert (row["op_name"], row["tensor_core_eligible"]) == (
                want["op_name"],
                want["is_op_tensor_core_eligible"],
            )
    assert compared > 5
    assert any(row["is_op_tensor_core_eligible"] for row in shown)


def test_a_device_that_names_no_vendor_is_read_as_one_of_nvidia() -> None:
    """Differs from XProf, which finds no Tensor Core use in traces of before it wrote the vendor down."""
    silent, named = (kernels_of(space(gpu(*tensor_cores(), **stats))) for stats in ({}, {"device_vendor": "Nvidia"}))
    assert silent.frame.equals(named.frame)
    assert silent.frame["uses_tensor_core"].any()


def test_devices_of_several_hosts_are_added_up() -> None:
    """Differs from XProf, which lists a row per host without naming the host."""
    from tfprof_widgets.trace import merge_traces

    merged = merge_traces([read_xspace(space(gpu(kernel("k", 0, 5)), hostnames=[host])) for host in ("a", "b")])
    frame = Results(merged).kernels.frame
    assert (frame["name"].tolist(), frame["occurrences"].tolist(), frame["total_time_us"].tolist()) == (
        ["k"],
        [2],
        [10],
    )


def test_no_row_is_cut_off() -> None:
    many = [kernel(f"k{i}", i, 0.5) for i in range(1500)]
    assert len(kernels_of(space(gpu(*many))).frame) == 1500


def test_executions_point_to_their_row_and_add_up_to_it() -> None:
    xplane = DRAWN["keys"]
    trace, ours = read_xspace(xplane), kernels_of(xplane)
    ns = trace.duration_ps[ours.run_event] // 1000
    total = np.bincount(ours.run_kernel, weights=ns, minlength=len(ours.frame))
    np.testing.assert_array_equal(total / 1000, ours.frame["total_time_us"])
    names = [trace.strings[i] for i in trace.name_id[ours.run_event]]
    assert names == ours.frame["name"].iloc[ours.run_kernel].tolist()


def test_a_trace_without_a_gpu_has_no_kernels() -> None:
    ours = kernels_of(space(plane("/host:CPU", line("main", event("a:MatMul", 0, 5, kernel_details=DETAILS)))))
    assert ours.frame.empty
    assert list(ours.frame.columns) == list(TABLES["kernels"].names)
    assert len(ours.run_kernel) == len(ours.run_event) == 0


def test_a_kernel_of_a_derived_line_counts_once() -> None:
    stream = line("Stream #13(Compute)", kernel("k", 0), id=13)
    derived = line("TensorFlow Ops", kernel("k", 0), id=-559038737 + 5)
    assert kernels_of(space(plane("/device:GPU:0", stream, derived))).frame["occurrences"].tolist() == [1]


def test_occupancy_that_is_no_finite_number_does_no_harm() -> None:
    frame = kernels_of(
        space(gpu(*(kernel(f"k{i}", i, 1, f"occ_pct:{text}") for i, text in enumerate(("nan", "inf", "1e400")))))
    ).frame
    assert not np.isfinite(frame["occupancy_pct"]).any()


@pytest.mark.parametrize(
    ("text", "launch"),
    [
        (DETAILS, Launch((1, 2, 3), (4, 5, 6), 32, 16, 8, 62.5)),
        ("", Launch()),
        ("grid:1,2,3 grid:x", Launch(grid=(1, 2, 3))),
        ("regs:" + "9" * 5000, Launch()),
    ],
)
def test_details_are_read_by_their_keys(text: str, launch: Launch) -> None:
    assert parse_launch(text) == launch
