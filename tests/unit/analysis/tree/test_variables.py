"""The table of variables: of Keras captures, of graphs of TensorFlow 1, and of neither."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import event, line, plane, session, trace
from tfprof_widgets.analysis import TABLES, Results
from tfprof_widgets.read import parse_source_map
from tfprof_widgets.trace import make_op_graph

from .captured_programs import run_program


def results_of(**columns: list[Any]) -> Results:
    document = {"version": 1, "recorder": "a", "variables": columns}
    return Results(
        trace(session(), plane("/host:CPU", line("main", event("Mul:Mul", 0, 1)))),
        parse_source_map(gzip.compress(json.dumps(document).encode())),
    )


@pytest.mark.tensorflow
def test_parameters_of_a_model_add_up_to_its_own_count(tmp_path: Path) -> None:
    results, known = run_program("conv", tmp_path)
    table = results.variables
    assert int(table["n_params"].sum()) == known["n_params"]
    assert int(table["n_params"][table["trainable"]].sum()) == known["n_trainable"]
    kernel = table.set_index("name").loc["net/conv/kernel"]
    assert (kernel["shape"], kernel["dtype"], kernel["layer"]) == ((3, 3, 1, 4), "float32", "net/conv")
    assert kernel["bytes"] == 4 * 36
    assert "CPU:0" in kernel["device"]
    assert table["layer"].tolist() == ["net/conv"] * 2 + ["net/norm"] * 4 + ["net/out"] * 2


@pytest.mark.tensorflow
def test_a_loop_of_the_users_has_its_own_variables(tmp_path: Path) -> None:
    results, _ = run_program("loop", tmp_path)
    table = results.variables
    assert table[["name", "n_params", "layer", "trainable"]].to_dict("list") == {
        "name": ["weight", "scale"],
        "n_params": [64, 1],
        "layer": ["", ""],
        "trainable": [True, False],
    }
    assert table["shape"].tolist() == [(16, 4), ()]


def test_a_trace_beside_which_nothing_was_noted_has_no_variables_but_the_columns() -> None:
    table = Results(trace(session())).variables
    assert len(table) == 0
    assert list(table.columns) == list(TABLES["variables"].names)
    assert table["n_params"].dtype == np.int64
    assert table["trainable"].dtype == np.bool_


def test_what_is_not_known_counts_as_nothing() -> None:
    table = results_of(
        name=["a", "b", "c", "<d>"],
        shape=["?", "-1x3", "999999999999999999x999999999999999999", "2x[3"],
        dtype=["float32", "float32", "int8", "string"],
        trainable=[True] * 4,
        layer=[""] * 4,
        device=[""] * 4,
    ).variables
    assert table["shape"].tolist() == [None, (-1, 3), (999999999999999999,) * 2, None]
    assert table["n_params"].tolist()[:2] == [0, 0]
    assert table["n_params"].tolist()[3] == 0
    assert table["n_params"].dtype == np.int64
    assert (table["bytes"] >= 0).all()


def test_of_a_graph_of_a_session_the_variables_are_what_it_trains_and_holds() -> None:
    ops = {
        "name": ["w", "x", "b", "slot"],
        "type": ["VariableV2", "Placeholder", "VarHandleOp", "VarHandleOp"],
        "op_types": [
            ("VariableV2", "_trainable_variables"),
            ("Placeholder",),
            ("_trainable_variables",),
            ("VarHandleOp",),
        ],
        "device": ["/device:cpu:0", "", "", ""],
        "host_device": [""] * 4,
        "float_ops": [0] * 4,
        "shape": [(2, 3), (5, 5), (3,), (3,)],
        "frame": [-1] * 4,
        "dtype": [101, 1, 2, 0],
    }
    results = Results(trace(session()), stored_graph=make_op_graph({"ops": ops}))
    assert results.variables[["name", "n_params", "dtype", "bytes", "trainable"]].to_dict("list") == {
        "name": ["b", "slot", "w"],
        "n_params": [3, 3, 6],
        "dtype": ["float64", "", "float32"],
        "bytes": [24, 0, 24],
        "trainable": [True, False, True],
    }
