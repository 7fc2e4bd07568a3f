"""Which rows of two runs are the same: names, lines, stages of the input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tfprof_widgets.analysis import MAX_DEPTH, MAX_SIBLINGS, Quantities, numbered, pair_lines, pair_names, pair_stages


def paired(a: list[str], b: list[str], cost_a: list[float] | None = None, cost_b: list[float] | None = None) -> dict:
    paths = [tuple(name.split("/")) for name in a], [tuple(name.split("/")) for name in b]
    costs = np.array(cost_a or [1.0] * len(a)), np.array(cost_b or [1.0] * len(b))
    return {a[i]: b[k] for i, k in enumerate(pair_names(*paths, *costs).tolist()) if k >= 0}


def test_a_model_built_again_has_the_same_ops_under_other_numbers() -> None:
    a = ["f/dense/MatMul", "f/dense_1/MatMul", "f/dense_1/MatMul_1", "f/dense_2/MatMul"]
    b = ["f_1/dense_3/MatMul", "f_1/dense_4/MatMul", "f_1/dense_4/MatMul_1", "f_1/dense_5/MatMul"]
    assert paired(a, b) == dict(zip(a, b, strict=True))


def test_functions_traced_again_are_the_same() -> None:
    a, b = ["__inference_train_12/x", "__inference_train_99/y"], ["__inference_train_30/x", "__inference_train_31/y"]
    assert paired(a, b) == dict(zip(a, b, strict=True))


@pytest.mark.parametrize("is_swapped", [False, True])
def test_of_renumbered_layers_the_one_too_many_is_the_one_that_costs_otherwise(is_swapped: bool) -> None:
    a, b = ["dense/M", "dense_1/M", "dense_2/M"], ["dense_3/M", "dense_4/M", "dense_5/M", "dense_6/M"]
    costs = [10.0, 3.0, 1.0], [11.0, 40.0, 2.9, 1.1]
    expected = {"dense/M": "dense_3/M", "dense_1/M": "dense_5/M", "dense_2/M": "dense_6/M"}
    if is_swapped:
        assert paired(b, a, costs[1], costs[0]) == {there: here for here, there in expected.items()}
    else:
        assert paired(a, b, *costs) == expected


def test_very_deep_and_very_many_names_are_paired() -> None:
    deep = "/".join(["a"] * (MAX_DEPTH * 3))
    assert paired([deep, "x"], [deep, "y"]) == {deep: deep}
    many = [f"op_{i}" for i in range(MAX_SIBLINGS + 50)]
    assert paired(many, [*many[1:], "op_9999"]) == {name: name for name in many[1:]}


Row = tuple[str, int, str, str, str]


def rows(*lines: Row) -> Quantities:
    labels = pd.DataFrame(lines, columns=["file", "line", "function", "code", "bucket"]).assign(device="Host")
    return Quantities.of(labels, [(str(i),) for i in range(len(lines))], np.ones((len(lines), 4)))


def paired_of_lines(a: Quantities, b: Quantities) -> list[int]:
    return pair_lines(a, b).tolist()


def test_a_line_of_a_cell_that_ran_again_is_found() -> None:
    a = rows(("/tmp/ipykernel_1/1.py", 2, "f", "y = relu(x)", ""), ("/tmp/ipykernel_1/1.py", 3, "f", "z = y + 1", ""))
    b = rows(("/tmp/ipykernel_1/2.py", 4, "f", "y = relu(x)", ""), ("/tmp/ipykernel_1/2.py", 5, "f", "z = y + 2", ""))
    assert paired_of_lines(a, b) == [0, -1]


def test_an_edited_line_is_found_by_its_place() -> None:
    assert paired_of_lines(rows(("m.py", 3, "f", "x = a @ b", "")), rows(("m.py", 3, "f", "x = a @ c", ""))) == [0]


def test_equal_texts_in_several_places_are_not_guessed() -> None:
    a = rows(("m.py", 3, "f", "x = x + 1", ""))
    b = rows(("m.py", 5, "f", "x = x + 1", ""), ("m.py", 7, "f", "x = x + 1", ""))
    assert paired_of_lines(a, b) == [-1]


INPUT = ["Root::Map", "Root", "Root::Map::Shuffle", "Root::Map::Shuffle::TensorSlice"]


def rows_of_stages(*names: str) -> Quantities:
    labels = pd.DataFrame({"long_name": [f"Iterator::{name}" for name in names]})
    return Quantities.of(labels, numbered([tuple(name.split("::")) for name in names]), np.ones((len(names), 4)))


def paired_of_stages(a: list[str], b: list[str]) -> dict[str, str]:
    found = pair_stages(rows_of_stages(*a), rows_of_stages(*b), "long_name").tolist()
    return {one: b[row] for one, row in zip(a, found, strict=True) if row >= 0}


@pytest.mark.parametrize("stage", ["Prefetch", "BatchV2::MemoryCache"])
def test_a_stage_that_is_new_leaves_those_below_it_what_they_are(stage: str) -> None:
    more = [name.replace("Root::", f"Root::{stage}::") for name in INPUT] + [f"Root::{stage}"]
    changed = dict(zip(INPUT, more, strict=False))
    assert paired_of_stages(INPUT, more) == changed
    assert paired_of_stages(more, INPUT) == {new: old for old, new in changed.items()}


def test_a_stage_is_the_same_in_another_version_and_below_each_of_several_equal_ones() -> None:
    a = ["Root", "Root::BatchV1", "Root::BatchV1::Prefetch", "Root::BatchV1::Prefetch::MapV2"]
    b = ["Root", "Root::Prefetch", "Root::Prefetch::BatchV2", "Root::Prefetch::BatchV2::Prefetch"]
    b.append("Root::Prefetch::BatchV2::Prefetch::MapV2")
    assert paired_of_stages(a, b) == {"Root": "Root", a[1]: b[2], a[2]: b[3], a[3]: b[4]}


def test_what_is_another_stage_or_of_another_kind_is_no_pair() -> None:
    assert paired_of_stages(["Root", "Root::Map"], ["Root", "Root::Filter"]) == {"Root": "Root"}
    ops = [pd.DataFrame({"name": names}) for names in (["model/Map"], ["other/Map"])]
    a, b = (Quantities.of(labels, [(labels["name"].iloc[0],)], np.ones((1, 4))) for labels in ops)
    assert pair_stages(a, b, "name").tolist() == [-1]
