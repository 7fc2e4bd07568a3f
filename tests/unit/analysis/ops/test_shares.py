"""Which framework ops an executed unit stands for, and its family."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Plane, event, line, plane, trace
from tests.hlo_drawings import Computation, computation, instruction, metadata_plane, module
from tfprof_widgets.analysis import FAMILIES, Analysis, families, hlo_families, op_families
from tfprof_widgets.read import MESSAGES

DOT = MESSAGES["DotDimensions"](lhs_contracting=[1])


def threads(*ops: tuple[str, float, float], **stats: object) -> Plane:
    events = (event(name, at, lasts, hlo_op=name, hlo_module="mod", program_id=1, **stats) for name, at, lasts in ops)
    return plane("/host:CPU", line("worker", *events))


def results_of(*computations: Computation, ops: tuple[tuple[str, float, float], ...]) -> Analysis:
    return Analysis(trace(metadata_plane({1: module("mod", *computations)}), threads(*ops)))


def self_us(frame: pd.DataFrame) -> dict[str, float]:
    return dict(zip(frame["name"], frame["total_self_time_us"].round(9), strict=True))


def fused(*inside: object) -> Analysis:
    """A fusion that runs 12 us."""
    return results_of(
        computation("fused", *inside),  # type: ignore[arg-type]
        computation(
            "main",
            instruction("x", "parameter"),
            instruction("f", "fusion", reads="x", calls="fused", op="root/Add:AddV2"),
        ),
        ops=(("f", 0, 12),),
    )


def test_a_fusion_is_shared_in_proportion_to_the_work_of_its_instructions() -> None:
    results = fused(
        instruction("p", "parameter", (100,)),
        instruction("big", "multiply", (100,), reads="p p", op="a/Mul:Mul"),
        instruction("all", "broadcast", (999,), reads="p", op="free/Cast:Cast"),
        instruction("small", "reduce", (50,), reads="big", op="b/Sum:Sum"),
        instruction("out", "add", (50,), reads="small small", op="root/Add:AddV2"),
    )
    # 100 products, 100 elements read by the sum, 50 additions; XProf would charge all 12 us to root/Add.
    assert self_us(results.ops) == pytest.approx({"a/Mul": 4.8, "b/Sum": 4.8, "root/Add": 2.4})


def test_what_xla_added_without_a_name_counts_for_nobody() -> None:
    results = fused(
        instruction("h", "convert", (500,)), instruction("out", "add", (50,), reads="h h", op="a/Add:AddV2")
    )
    assert self_us(results.ops) == {"a/Add": 12.0}


def test_fusions_within_fusions_are_shared_too() -> None:
    results = results_of(
        computation("inner", instruction("m", "multiply", (8,), op="a/Mul:Mul")),
        computation(
            "outer",
            instruction("i", "fusion", (8,), calls="inner", op="a/Mul:Mul"),
            instruction("s", "add", (8,), op="b/Add:AddV2"),
        ),
        computation("main", instruction("f", "fusion", (8,), calls="outer", op="b/Add:AddV2")),
        ops=(("f", 0, 10),),
    )
    assert self_us(results.ops) == pytest.approx({"a/Mul": 5.0, "b/Add": 5.0})


def test_a_fusion_of_free_instructions_goes_to_the_framework_op_of_its_root() -> None:
    results = fused(instruction("out", "broadcast", (50,), op="a/Fill:Fill"))
    assert self_us(results.ops) == {"root/Add": 12.0}


def test_a_copy_works_for_the_op_that_reads_it() -> None:
    results = results_of(
        computation(
            "fused", instruction("q", "parameter"), instruction("t", "transpose", reads="q", op="net/MatMul:MatMul")
        ),
        computation(
            "main",
            instruction("x", "parameter", op="args:Arg"),
            instruction("copy.1", "copy", reads="x"),
            instruction("copy.2", "copy", reads="copy.1"),
            instruction("f", "fusion", reads="copy.2", calls="fused"),
        ),
        ops=(("copy.1", 0, 3), ("copy.2", 5, 4)),
    )
    assert self_us(results.ops) == {"net/MatMul": 7.0}
    assert results.hlo_ops.frame["op_name"].tolist() == ["", ""], "the instructions themselves name nothing"


def test_thunks_nest_and_their_end_marks_are_no_executions() -> None:
    main = computation(
        "main", instruction("loop", "while", op="net/while:While"), instruction("d", "dot", op="net/MatMul:MatMul")
    )
    stats = {"hlo_module": "mod", "program_id": 1}
    thunks = [
        event("loop", 0, 20, hlo_op="loop", **stats),
        event("d", 5, 6, hlo_op="d", **stats),
        event("end: d", 11, 1, _ct=0, _c=5),
    ]
    results = Analysis(trace(metadata_plane({1: module("mod", main)}), plane("/host:CPU", line("t", *thunks))))
    assert self_us(results.ops) == {"net/while": 14.0, "net/MatMul": 6.0}
    assert len(results.occurrences) == 2


def test_a_damaged_module_leaves_ops_under_their_hlo_names_and_is_told() -> None:
    results = Analysis(trace(metadata_plane({1: b"\x0a\xff"}), threads(("dot.3", 0, 4))))
    assert self_us(results.ops) == {"dot.3": 4.0}
    (notice,) = results.notices
    assert "mod(1)" in notice


WINDOW = MESSAGES["Window"](dimensions=[MESSAGES["WindowDimension"](size=2)])
WHOLE = module(
    "mod",
    computation(
        "fused",
        instruction("p", "parameter", (4, 4)),
        instruction("d", "dot", (4, 4), reads="p p", op="a/MatMul:MatMul", dot_dimensions=DOT),
    ),
    computation(
        "main",
        instruction("x", "parameter", (4, 4)),
        instruction("w", "reduce-window", (4, 4), reads="x", calls="fused", window=WINDOW),
        instruction("c", "convolution", (4, 4), reads="x x", window=WINDOW),
        instruction("f", "fusion", (4, 4), reads="c", calls="fused"),
    ),
)


@given(st.data())
def test_no_mutation_of_a_module_breaks_an_analysis_or_loses_time(data: st.DataObject) -> None:
    raw = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(0, 5))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    runs = threads(("f", 0, 5), ("c", 10, 5), ("w", 20, 5))
    results = Analysis(trace(metadata_plane({1: bytes(raw)}), runs))
    assert results.ops["total_self_time_us"].sum() == pytest.approx(15.0)
    assert results.hlo_ops.frame["total_self_time_us"].sum() == 15.0


FAMILY_OF = {
    "tfdata": "Iterator::Root::Prefetch::Map PrefetchConsume InstantiatedCapturedFunction::Run",
    "image": "m/decode:DecodeJpeg ResizeBilinear:ResizeBilinear a:RandomCropImage",
    "conv": "m/c:Conv2D m/c:_MklNativeFusedConv2D m/d:MatMul volta_sgemm_128x64_nn e:Einsum convolution.1",
    "elem": "m/a:AddV2 m/r:Relu m/m:Mul m/e:Exp",
    "reduce": "m/s:Sum m/p:MaxPool l:SparseSoftmaxCrossEntropyWithLogits b:FusedBatchNormV3",
    "optim": "adam/x:ResourceApplyAdam sgd/x:AssignSubVariableOp a:AssignAddVariableOp",
    "move": "MemcpyH2D m/t:Transpose m/c:ConcatV2 x:Cast g:GatherV2 edge_1;2:_Send",
    "runtime": "ExecutorState::Process MemoryAllocation x:NoOp a:_Retval v:VarHandleOp dot-decomposer",
    "python": "train test train_step tf.function-graph_building convert_to_tensor",
}


@pytest.mark.parametrize("family", FAMILY_OF)
def test_names_of_one_kind_share_a_family(family: str) -> None:
    names = FAMILY_OF[family].split(" ")
    assert [FAMILIES[code] for code in families(names)] == [family] * len(names)


@pytest.mark.parametrize(
    ("name", "op_type", "family"),
    [
        ("resnet50/conv2_block1_1_bn/batchnorm/mul", "Mul", "elem"),
        ("gradient_tape/resnet50/conv2_block1_1_conv/BiasAddGrad", "BiasAddGrad", "reduce"),
        ("adam/AssignAdd", "AssignAddVariableOp", "optim"),
        ("n", "MemcpyDToD", "move"),
        ("Iterator::Root::Map", "Dataset", "tfdata"),
        ("fusion.1", "convolution fusion", "conv"),
        ("model/conv2d/StatefulPartitionedCall", "StatefulPartitionedCall", "conv"),
        ("a", "StatefulPartitionedCall", "runtime"),
        ("m/d/MatMul:MatMul", "", "conv"),
    ],
)
def test_an_op_has_the_family_of_its_type_and_only_without_one_that_of_its_layer(
    name: str, op_type: str, family: str
) -> None:
    assert [FAMILIES[code] for code in op_families([name], [op_type])] == [family]


@pytest.mark.parametrize(
    ("category", "op_type", "family"),
    [
        ("convolution", "Conv2D", "conv"),
        ("dot", "MatMul", "conv"),
        ("data formatting", "MatMul", "move"),
        ("reduce", "Sum", "reduce"),
        ("all-reduce", "CollectiveReduce", "move"),
        ("non-fusion elementwise", "ResourceApplyAdam", "optim"),
        ("non-fusion elementwise", "Cast", "elem"),
        ("input fusion", "Sum", "reduce"),
        ("custom-call", "Conv2D", "conv"),
        ("loop fusion", "loop fusion", "elem"),
    ],
)
def test_an_hlo_op_has_the_family_of_its_category_or_of_the_op_it_is_most_of(
    category: str, op_type: str, family: str
) -> None:
    assert [FAMILIES[code] for code in hlo_families([category], [op_type])] == [family]
