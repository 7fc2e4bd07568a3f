"""Facts -> the table of the program's variables: noted beside a capture, or the variables of a stored graph."""

from __future__ import annotations

import pandas as pd

from ...trace.dtypes import ITEM_BYTES, dtype_name
from ...trace.op_graph import OpGraph
from ...trace.source_map import SourceMap, parse_shapes
from ..base.table_types import Types, typed_table
from ..columns.registry import TABLES
from ..facts.totals import Totals
from .captured_graph import TRAINABLE
from .op_figures import n_params

VARIABLE_TYPES: Types = TABLES["variables"].types
"""Columns of the table of variables, and their types."""
_SHORT_NAMES = {"float": "float32", "double": "float64", "half": "float16"}
_HOLDERS = frozenset(("VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable"))
"""Types of ops that hold a variable in a graph of TensorFlow 1."""


def compute_variables(facts: Totals) -> pd.DataFrame:
    """One row per variable of the program: the weights of its Keras models in the order of their layers, then the others.

    What an optimizer, a metric or a random generator of Keras keeps for itself is left out, so that `n_params` adds up to the
    models' `count_params()`. Of a graph of TensorFlow 1 the variables are those that it trains, in order of their names, and
    others that have a shape.

    Returns:
        `name`; `shape` (tuple of ints, -1 for an unknown dimension, None for an unknown shape); `dtype` ("" where a file does not
        say); `n_params`, how many numbers it holds, and `bytes`, how much memory they take, both 0 where that is not known;
        `layer` (path of names from the model, "" outside of any); `trainable`; `device` ("" for none). No rows where nobody
        noted them, as in traces of other tools.
    """
    if facts.stored_graph is not None:
        return _of_graph(facts.stored_graph)
    return _of_map(facts.source_map)


def _of_map(source_map: SourceMap | None) -> pd.DataFrame:
    rows = []
    if source_map is not None:
        names = ("name", "shape", "dtype", "layer", "trainable", "device")
        columns = (source_map.variables[key].tolist() for key in names)
        for name, text, dtype, layer, trainable, device in zip(*columns, strict=True):  # 20,000, a bound of the capture
            shape = next(iter(parse_shapes(text)), None)
            rows.append(_row(name, shape, dtype, layer=layer, trainable=trainable, device=device))
    return typed_table(rows, VARIABLE_TYPES)


def _of_graph(graph: OpGraph) -> pd.DataFrame:
    """The trainable variables of a graph, and what else of it holds a shape of its own."""
    rows = []
    columns = (graph.ops[key].tolist() for key in ("name", "type", "op_types", "shape", "device", "dtype"))
    for name, kind, op_types, shape, device, dtype in sorted(zip(*columns, strict=True), key=lambda op: str(op[0])):
        is_trainable = TRAINABLE in op_types
        if is_trainable or (kind in _HOLDERS and shape is not None):
            rows.append(_row(name, shape, _dtype(dtype), layer="", trainable=is_trainable, device=device))
    return typed_table(rows, VARIABLE_TYPES)


def _dtype(number: int) -> str:
    """The name of a dtype as `tf.DType.name` says it; "" for none."""
    name = dtype_name(number).removesuffix("_ref") if number else ""
    return _SHORT_NAMES.get(name, name)


def _row(
    name: str, shape: tuple[int, ...] | None, dtype: str, *, layer: str, trainable: bool, device: str
) -> dict[str, object]:
    n = n_params(shape)
    return {
        "name": name,
        "shape": shape,
        "dtype": dtype,
        "n_params": n,
        "bytes": n * ITEM_BYTES.get(dtype, 0),
        "layer": layer,
        "trainable": bool(trainable),
        "device": device,
    }
