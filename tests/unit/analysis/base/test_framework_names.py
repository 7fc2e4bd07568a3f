"""Names of framework ops as compiled programs have them."""

from __future__ import annotations

import pytest

from tfprof_widgets.analysis import framework_op


@pytest.mark.parametrize(
    ("op_name", "op_type", "want"),
    [
        ("net/dense/MatMul", "MatMul", ("net/dense/MatMul", "MatMul")),
        ("jit(train)/jit(main)/dense/dot_general", "", ("dense/dot_general", "dot_general")),
        ("pjit(f)/add_3", "", ("add_3", "add")),
        ("a_inference_one_step_on_data_1538__.14/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("__inference_train_12/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("cluster_0_1/net/Relu", "Relu", ("net/Relu", "Relu")),
        ("net/Mul;net/Add", "Mul", ("net/Mul", "Mul")),
        ("net/Relu:", "Relu", ("net/Relu", "Relu")),
        ("jit(f)/", "", ("jit(f)/", "Unknown")),
        ("was <b>fett</b>", "Böse", ("was <b>fett</b>", "Böse")),
    ],
)
def test_framework_names_are_those_of_the_traced_graph(op_name: str, op_type: str, want: tuple[str, str]) -> None:
    assert framework_op(op_name, op_type) == want
