import pytest

from tfprof_widgets.analysis import FAMILIES, families, hlo_families, op_families


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
                "v:VarHandleOp",
                "",
                "dot-decomposer",
            ],
        ),
        ("python", ["train", "test", "train_step", "tf.function-graph_building", "convert_to_tensor"]),
    ],
)
def test_names_of_one_kind_share_a_family(family: str, names: list[str]) -> None:
    assert [FAMILIES[code] for code in families(names)] == [family] * len(names)


@pytest.mark.parametrize(
    ("name", "op_type", "family"),
    [
        ("resnet50/conv2_block1_1_bn/batchnorm/mul", "Mul", "elem"),
        ("resnet50/conv2_block1_1_bn/moments/mean", "Mean", "reduce"),
        ("resnet50/conv2_block1_1_conv/convolution/Cast", "Cast", "move"),
        ("resnet50/conv2_block1_1_conv/BiasAdd", "BiasAdd", "elem"),
        ("gradient_tape/resnet50/conv2_block1_1_conv/BiasAddGrad", "BiasAddGrad", "reduce"),
        ("transformer/attention/einsum/Einsum", "Einsum", "conv"),
        ("m/concat", "ConcatV2", "move"),
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


def test_a_type_alone_has_the_family_of_an_op_of_that_type() -> None:
    types = ["Einsum", "BiasAddGrad", "AddN", "AssignAddVariableOp", "Mean", "Cast", "Conv2D", "Softmax"]
    assert families(types).tolist() == op_families(types, types).tolist()


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
