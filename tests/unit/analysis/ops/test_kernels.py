"""Kernel statistics: equal to XProf's kernel_stats on drawings of every form of `kernel_details`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.builders import Event, U, event, line, plane, space
from tests.hlo_drawings import computation, instruction, metadata_plane, module
from tests.unit.analysis.xprof_oracle import as_xprof, rows, xprof_all
from tfprof_widgets.analysis import TABLES, UNIT_RATIOS, Analysis, ComputeUnit, Kernels, is_eligible_type, unit_of_name
from tfprof_widgets.read import MESSAGES, read_xspace

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
    return Analysis(read_xspace(xplane)).kernels


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
    results = Analysis(read_xspace(space(metadata_plane({1: PROGRAM}), gpu(*runs))))
    frame = results.kernels.frame
    assert frame["op_name"].tolist() == ["net/conv/convolution", "net/MatMul", "net/MatMul", "net/Tanh"]
    assert frame["op_type"].tolist() == ["Conv2D", "MatMul", "MatMul", "Tanh"]
    # The name of a Keras convolution does not tell that it is one; its type does.
    assert frame["tensor_core_eligible"].tolist() == [False, True, True, False]
    assert [is_eligible_type(kind) for kind in frame["op_type"]] == [True, True, True, False]
    assert set(frame["op_name"]) <= set(results.ops["name"])


def test_a_device_that_names_no_vendor_is_read_as_one_of_nvidia() -> None:
    """Differs from XProf, which finds no Tensor Core use in traces of before it wrote the vendor down."""
    silent, named = (kernels_of(space(gpu(*tensor_cores(), **stats))) for stats in ({}, {"device_vendor": "Nvidia"}))
    assert silent.frame.equals(named.frame)
    assert silent.frame["uses_tensor_core"].any()


def test_a_kernel_of_a_derived_line_counts_once() -> None:
    stream = line("Stream #13(Compute)", kernel("k", 0), id=13)
    derived = line("TensorFlow Ops", kernel("k", 0), id=-559038737 + 5)
    assert kernels_of(space(plane("/device:GPU:0", stream, derived))).frame["occurrences"].tolist() == [1]


def test_occupancy_that_is_no_finite_number_does_no_harm() -> None:
    frame = kernels_of(
        space(gpu(*(kernel(f"k{i}", i, 1, f"occ_pct:{text}") for i, text in enumerate(("nan", "inf", "1e400")))))
    ).frame
    assert not np.isfinite(frame["occupancy_pct"]).any()


TENSOR_16, TF32, OTHER = ComputeUnit.TENSOR_16, ComputeUnit.TENSOR_TF32, ComputeUnit.TENSOR_OTHER
VECTOR_16, VECTOR_64, SILENT = ComputeUnit.VECTOR_16, ComputeUnit.VECTOR_64, ComputeUnit.UNKNOWN
MANGLED = "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_10{type}ENS4_4warp11{math}INS7_"
UMMA = (
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::collective::CollectiveMma"
    "<cutlass::gemm::MainloopSm100ArrayTmaUmmaWarpSpecialized<3, 8, 2>, {0}, {0}, cute::SM100_MMA_{1}_SS<{0}, {0}, float>>>>"
)
NAMES = {
    "volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1": TENSOR_16,
    "volta_fp16_scudnn_fp16_128x64_relu_small_nn_v1": VECTOR_16,
    "volta_sgemm_128x64_nn": SILENT,
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorCwiseBinaryOp<scalar_product_op<double, double>>, int>": VECTOR_64,
    "turing_int8_i8816cudnn_int8_256x128_ldg16_relu": TENSOR_16,
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn": TENSOR_16,
    "cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4": TF32,
    "cutlass_80_tensorop_s1688bf16gemm_128x128_16x5_nt_align4": TENSOR_16,
    "cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1": OTHER,
    "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x16_stage4_warpsize2x2x1_tensor16x8x8_kernel": TF32,
    "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize32x32x8_stage3_warpsize1x2x1_g1_ffma_aligna4": (
        SILENT
    ),
    "sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize32x32x16_stage4_tensor8x8x4_kernel": OTHER,
    "sm80_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_kernel__5x_cudnn": TENSOR_16,
    "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x128x128_warpgroupsize1x1x1_kernel": TENSOR_16,
    "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT": TENSOR_16,
    "nvjet_sm90_sss_128x128_32x5_2x1_v_bz_TNN": TF32,
    "nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_TNT": TENSOR_16,
    "cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_bf16_bf16_128x128x64_2x1x1_0_tnn_align8": TENSOR_16,
    "cutlass3x_sm100_tensorop_s128x128x8tf32gemm_f32_f32_f32_f32_f32_128x128x32_0_tnn_align4_2sm": TF32,
    UMMA.format("cutlass::bfloat16_t", "F16BF16"): TENSOR_16,
    UMMA.format("float", "TF32"): TF32,
    MANGLED.format(type="bfloat16_t", math="MmaTensorOp"): TENSOR_16,
    MANGLED.format(type="tfloat32_t", math="MmaTensorOp"): TF32,
    MANGLED.format(type="half_t", math="MmaSimt"): VECTOR_16,
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0": TENSOR_16,
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, float, __half, false>": VECTOR_16,
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, false>": SILENT,
    "sm80_xmma_gemm_i4i4_i4i32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_kernel": TENSOR_16,
    "void tensorflow::ResizeKernel<float, tensorflow::HalfPixelScaler>(float const*, int)": SILENT,
    "void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::reduction::kernel::ReduceSplitK<bfloat16_t, 8>>": VECTOR_16,
    "void gemvNSP_kernel<__half, __half, __half, float, 1, 32, 4, 1024>": VECTOR_16,
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, true>": VECTOR_16,
    "AddV2_GPU_DT_HALF_DT_HALF_kernel": VECTOR_16,
    "ncclDevKernel_AllReduce_Sum_f16_RING_LL": VECTOR_16,
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SN": TENSOR_16,
    "Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x1x2_SN": OTHER,
    "Cijk_Ailk_Bljk_SB_MT64x64x16_SE_K1": SILENT,
    "igemm_fwd_gtcx2_nhwc_fp16_bx0_ex1_bt256x128x32_wt64x32x4": TENSOR_16,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_tells_what_its_kernel_computes_on(name: str) -> None:
    assert unit_of_name(name) == NAMES[name]


S32, F16, F32, F64, C64, BF16, F8, TUPLE = 4, 10, 11, 12, 15, 16, 20, 13


def array(kind: int) -> Any:
    return MESSAGES["Shape"](element_type=kind, dimensions=(8, 8))


def program(kind: int) -> bytes:
    """A fusion that holds a product of some type, one that holds none, and one with two results."""
    two = MESSAGES["Shape"](element_type=TUPLE, tuple_shapes=[array(kind), array(kind)])
    return module(
        "mod",
        computation(
            "product",
            instruction("a", "parameter", shape=array(kind)),
            instruction("m", "dot", reads="a a", shape=array(kind)),
        ),
        computation("sum", instruction("b", "parameter", shape=array(kind))),
        computation(
            "main",
            instruction("x", "parameter", shape=array(kind)),
            instruction("dot_fusion", "fusion", reads="x", calls="product", shape=array(kind)),
            instruction("loop_fusion", "fusion", reads="x", calls="sum", shape=array(kind)),
            instruction("two_fusion", "fusion", reads="x", calls="sum", shape=two),
        ),
    )


def device(*kernels: Any, capability: tuple[int, int] = (9, 0), vendor: str = "Nvidia") -> Any:
    stats = {"device_vendor": vendor, "compute_cap_major": U(capability[0]), "compute_cap_minor": U(capability[1])}
    return plane("/device:GPU:0", line("Stream #7(Compute)", *kernels, id=7), **stats)


def unit_kernel(name: str, at: float, **stats: Any) -> Any:
    return event(name, at, 5, kernel_details="regs:1", correlation_id=U(1), **stats)


def of_program(name: str, at: float, op: str) -> Any:
    return unit_kernel(name, at, hlo_op=op, hlo_module="mod", program_id=U(1))


def units_of(*planes: Any) -> dict[str, str]:
    kernels = Analysis(read_xspace(space(*planes))).kernels.frame
    return dict(zip(kernels["name"], kernels["unit"], strict=True))


@pytest.mark.parametrize(
    ("kind", "capability", "vendor", "unit"),
    [
        (BF16, (9, 0), "Nvidia", "16-bit Tensor Core"),
        (BF16, (7, 5), "Nvidia", "16-bit vector"),
        (F16, (6, 0), "Nvidia", "16-bit vector"),
        (F32, (8, 0), "Nvidia", "TF32 Tensor Core"),
        (F64, (9, 0), "Nvidia", "64-bit vector"),
        (F8, (9, 0), "Nvidia", "16-bit Tensor Core"),
        (S32, (9, 0), "Nvidia", "32-bit vector"),
        (BF16, (9, 4), "AMD", ""),
    ],
)
def test_a_fusion_that_holds_a_product_has_its_type(
    kind: int, capability: tuple[int, int], vendor: str, unit: str
) -> None:
    ran = of_program("gemm_fusion_dot", 0, "dot_fusion")
    assert units_of(metadata_plane({1: program(kind)}), device(ran, capability=capability, vendor=vendor)) == {
        "gemm_fusion_dot": unit
    }


def test_a_product_without_operands_on_a_device_that_says_nonsense_of_itself_is_no_product() -> None:
    empty = module("mod", computation("main", instruction("x", "parameter"), instruction("m", "dot")))
    ran = of_program("fusion", 0, "m")
    gpu = plane("/device:GPU:0", line("Stream #1", ran), compute_cap_major="x", compute_cap_minor=0.5)
    assert units_of(metadata_plane({1: empty}), gpu) == {"fusion": "32-bit vector"}
    gpu = plane("/device:GPU:0", line("Stream #1", of_program("f", 0, "dot_fusion")), compute_cap_major="x")
    assert units_of(metadata_plane({1: program(F32)}), gpu) == {"f": "32-bit vector"}


def test_of_a_cuda_graph_as_a_whole_nobody_knows_what_it_computes_on() -> None:
    graph = event("CudaGraph", 10, 80, correlation_id=U(2), cuda_graph_exec_id=U(7))
    main = plane("/host:CPU", line("main", event("train", 0, 100, _r=1, step_num=0)))
    (step,) = Analysis(read_xspace(space(main, device(unit_kernel("nvjet_tst", 2), graph)))).steps.frame.itertuples()
    assert (step.tensor_16bit_ratio, step.vector_32bit_ratio) == (1, 0)


def test_a_size_of_thousands_of_digits_is_read_as_a_large_one() -> None:
    ran = unit_kernel("kern", 0, shape=f"half[{'9' * 6000}]")
    assert units_of(device(ran)) == {"kern": "16-bit vector"}


def test_a_product_of_a_damaged_module_has_no_type() -> None:
    """It reads nothing, and one whose sizes are beyond what 64 bits count."""
    most = MESSAGES["Shape"](element_type=BF16, dimensions=[2**61])
    drawn = module(
        "mod",
        computation("product", instruction("m", "dot")),
        computation(
            "main",
            instruction("x", "parameter", shape=most),
            instruction("sum", "add", reads="x x", shape=most),
            instruction("dot_fusion", "fusion", calls="product"),
        ),
    )
    ran = [of_program("gemm_fusion_dot", 0, "dot_fusion"), of_program("sum", 10, "sum")]
    assert units_of(metadata_plane({1: drawn}), device(*ran)) == {
        "gemm_fusion_dot": "32-bit vector",
        "sum": "16-bit vector",
    }


def test_a_matrix_times_a_vector_is_none_for_tensor_cores_whatever_the_program_says() -> None:
    ran = of_program("gemv_kernel", 0, "dot_fusion")
    assert units_of(metadata_plane({1: program(BF16)}), device(ran)) == {"gemv_kernel": "16-bit vector"}


@pytest.mark.parametrize(("kind", "unit"), [(BF16, "16-bit vector"), (F32, "32-bit vector")])
def test_other_fusions_have_the_width_of_most_of_their_bytes(kind: int, unit: str) -> None:
    ran = [of_program("loop_half", 0, "loop_fusion"), of_program("two_half", 10, "two_fusion")]
    # Analysis of several arrays are of no type.
    assert units_of(metadata_plane({1: program(kind)}), device(*ran)) == {
        "loop_half": unit,
        "two_half": "32-bit vector",
    }


@pytest.mark.parametrize(("half_bytes", "unit"), [(600, "16-bit vector"), (400, "32-bit vector")])
def test_without_a_program_an_op_has_the_width_of_most_of_what_it_allocates(half_bytes: int, unit: str) -> None:
    def allocation(at: float, dtype: int, size: int) -> Any:
        return event("MemoryAllocation", at, 0, tf_op="net/relu:Relu", data_type=dtype, requested_bytes=size)

    host = plane("/host:CPU", line("main", allocation(0, 19, half_bytes), allocation(1, 1, 500)))
    ran = [
        unit_kernel(name, 10 * i, tf_op="net/relu:Relu") for i, name in enumerate(("opaque", "init_device_workspace"))
    ]
    other = unit_kernel("another_half", 30, tf_op="net/other:Relu")
    assert units_of(host, device(*ran, other)) == {
        "opaque": unit,
        "init_device_workspace": "32-bit vector",
        "another_half": "16-bit vector",
    }


@pytest.mark.parametrize(
    ("shape", "unit"),
    [
        ("(half[8,8];float[])", "16-bit vector"),
        ("(half[8];float[8])", "32-bit vector"),
        ("(double[8];float[8])", "64-bit vector"),
        ("(int32[8])", "16-bit vector"),
        ("", "16-bit vector"),
    ],
)
def test_in_old_traces_an_op_has_the_width_of_most_of_what_it_reads(shape: str, unit: str) -> None:
    assert units_of(device(unit_kernel("Conversion<half>", 0, shape=shape))) == {"Conversion<half>": unit}


def test_of_a_device_of_an_unknown_kind_nothing_is_said() -> None:
    ran = [
        unit_kernel("some_h884gemm", 0, tf_op="net/MatMul:MatMul"),
        unit_kernel("half_kernel", 10, tf_op="net/add:AddV2"),
    ]
    results = Analysis(read_xspace(space(device(*ran, vendor="Intel"))))
    assert set(results.kernels.frame["unit"]) == {""}
    assert not results.kernels.frame["uses_tensor_core"].any()
    assert results.ops[["tensor_core_ratio", *UNIT_RATIOS]].isna().all(axis=None)
    assert np.isnan(results.steps.compute_16bit_ratio)
