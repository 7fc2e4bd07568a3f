import pytest

from tfprof_widgets.analysis.ops.op_families import FAMILIES, families, hlo_families


@pytest.mark.parametrize(
    ("family", "names"),
    [
        (
            "tfdata",
            [
                "Iterator::Root::Prefetch::Map",
                "PrefetchConsume",
                "InstantiatedCapturedFunction::Run",
                "OptionalGetValue",
            ],
        ),
        ("image", ["m/decode:DecodeJpeg", "ResizeBilinear:ResizeBilinear", "a:RandomCropImage"]),
        (
            "conv",
            [
                "m/c:Conv2D",
                "m/c:_MklNativeFusedConv2D",
                "m/d:MatMul",
                "volta_sgemm_128x64_nn",
                "e:Einsum",
                "convolution.1",
            ],
        ),
        ("elem", ["m/a:AddV2", "m/r:Relu", "m/m:Mul", "m/e:Exp"]),
        ("reduce", ["m/s:Sum", "m/p:MaxPool", "l:SparseSoftmaxCrossEntropyWithLogits", "b:FusedBatchNormV3", "m:Mean"]),
        ("optim", ["adam/x:ResourceApplyAdam", "sgd/x:AssignSubVariableOp", "a:AssignAddVariableOp"]),
        ("move", ["MemcpyH2D", "m/t:Transpose", "m/c:ConcatV2", "x:Cast", "g:GatherV2", "edge_1;2:_Send"]),
        (
            "runtime",
            [
                "ExecutorState::Process",
                "ThreadpoolListener::Record",
                "MemoryAllocation",
                "x:NoOp",
                "a:_Retval",
                "",
                "dot-decomposer",
            ],
        ),
        ("python", ["train", "test", "train_step", "tf.function-graph_building", "convert_to_tensor"]),
    ],
)
def test_names_of_one_kind_share_a_family(family: str, names: list[str]) -> None:
    assert [FAMILIES[code] for code in families(names)] == [family] * len(names)


def test_no_names_have_no_families() -> None:
    assert len(families([])) == 0


@pytest.mark.parametrize(
    ("category", "op_type", "family"),
    [
        ("convolution", "Conv2D", "conv"),
        ("dot", "MatMul", "conv"),
        ("data formatting", "MatMul", "move"),
        ("reduce", "Sum", "reduce"),
        ("all-reduce", "CollectiveReduce", "move"),
        ("loop fusion", "AssignSubVariableOp", "optim"),
        ("input fusion", "Sum", "reduce"),
        ("custom-call", "Conv2D", "conv"),
        ("loop fusion", "loop fusion", "elem"),
    ],
)
def test_an_hlo_op_has_the_family_of_its_category_or_of_the_op_it_is_most_of(
    category: str, op_type: str, family: str
) -> None:
    assert [FAMILIES[code] for code in hlo_families([category], [op_type])] == [family]
