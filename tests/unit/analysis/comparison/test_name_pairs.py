"""Names that differ only by numbers that TensorFlow appends are those of the same thing."""

from __future__ import annotations

import numpy as np
import pytest

from tfprof_widgets.analysis import MAX_DEPTH, MAX_SIBLINGS, pair_names, without_counters


def paired(a: list[str], b: list[str], cost_a: list[float] | None = None, cost_b: list[float] | None = None) -> dict:
    paths = [tuple(name.split("/")) for name in a], [tuple(name.split("/")) for name in b]
    costs = np.array(cost_a or [1.0] * len(a)), np.array(cost_b or [1.0] * len(b))
    return {a[i]: b[k] for i, k in enumerate(pair_names(*paths, *costs).tolist()) if k >= 0}


@pytest.mark.parametrize(
    ("component", "bare", "numbers"),
    [
        ("dense", "dense", ()),
        ("dense_12", "dense", (12,)),
        ("dense_1_2", "dense", (1, 2)),
        ("conv2d", "conv2d", ()),
        ("_38", "", (38,)),
        ("__inference_train_123", "__inference_train", (123,)),
        (
            "__inference_one_step_on_data_77__XlaNumResourceArgs",
            "__inference_one_step_on_data__XlaNumResourceArgs",
            (77,),
        ),
        ("block_1a", "block_1a", ()),
        ("", "", ()),
    ],
)
def test_counters_are_told_from_names(component: str, bare: str, numbers: tuple[int, ...]) -> None:
    assert without_counters(component) == (bare, numbers)


def test_equal_names_are_pairs() -> None:
    names = ["m/dense/MatMul", "m/dense_1/MatMul"]
    assert paired(names, names[::-1]) == {name: name for name in names}


def test_a_model_built_again_has_the_same_ops_under_other_numbers() -> None:
    a = ["f/dense/MatMul", "f/dense_1/MatMul", "f/dense_1/MatMul_1", "f/dense_2/MatMul"]
    b = ["f_1/dense_3/MatMul", "f_1/dense_4/MatMul", "f_1/dense_4/MatMul_1", "f_1/dense_5/MatMul"]
    assert paired(a, b) == dict(zip(a, b, strict=True))


def test_numbers_that_overlap_are_paired_in_order() -> None:
    a, b = ["dense_1/M", "dense_2/M"], ["dense_2/M", "dense_3/M"]
    assert paired(a, b) == {"dense_1/M": "dense_2/M", "dense_2/M": "dense_3/M"}


def test_numbers_are_ordered_as_numbers() -> None:
    a, b = ["dense_9/M", "dense_10/M"], ["dense_19/M", "dense_20/M"]
    assert paired(a, b) == {"dense_9/M": "dense_19/M", "dense_10/M": "dense_20/M"}


def test_functions_traced_again_are_the_same() -> None:
    a, b = ["__inference_train_12/x", "__inference_train_99/y"], ["__inference_train_30/x", "__inference_train_31/y"]
    assert paired(a, b) == dict(zip(a, b, strict=True))


def test_a_removed_layer_leaves_the_others_as_they_are() -> None:
    assert paired(["block_1/M", "block_2/M", "block_3/M"], ["block_1/M", "block_3/M"]) == {
        "block_1/M": "block_1/M",
        "block_3/M": "block_3/M",
    }


@pytest.mark.parametrize("is_swapped", [False, True])
def test_of_renumbered_layers_the_one_too_many_is_the_one_that_costs_otherwise(is_swapped: bool) -> None:
    a, b = ["dense/M", "dense_1/M", "dense_2/M"], ["dense_3/M", "dense_4/M", "dense_5/M", "dense_6/M"]
    costs = [10.0, 3.0, 1.0], [11.0, 40.0, 2.9, 1.1]
    expected = {"dense/M": "dense_3/M", "dense_1/M": "dense_5/M", "dense_2/M": "dense_6/M"}
    if is_swapped:
        assert paired(b, a, costs[1], costs[0]) == {there: here for here, there in expected.items()}
    else:
        assert paired(a, b, *costs) == expected


def test_other_names_are_no_pairs() -> None:
    assert paired(["dense/MatMul"], ["dense/Relu", "dense"]) == {}
    assert paired([], ["x"]) == {}
    assert paired(["x"], []) == {}


def test_very_deep_and_very_many_names_are_paired() -> None:
    deep = "/".join(["a"] * (MAX_DEPTH * 3))
    assert paired([deep, "x"], [deep, "y"]) == {deep: deep}
    many = [f"op_{i}" for i in range(MAX_SIBLINGS + 50)]
    assert paired(many, [*many[1:], "op_9999"]) == {name: name for name in many[1:]}
