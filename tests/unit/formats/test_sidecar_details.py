"""What a sidecar tells of edges, shapes and variables; older sidecars, which do not, are read as before."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfprof_widgets.errors import TraceError
from tfprof_widgets.read import parse_source_map
from tfprof_widgets.trace import SOURCE_TABLES, SourceMap, merge_source_maps, parse_shapes

NEW = ("details", "edges", "variables")


def document(**changed: Any) -> dict[str, Any]:
    """A sidecar of a variable and two ops, one of which reads it for the other."""
    return {
        "version": 1,
        "recorder": "a",
        "ops": {"graph": [0, 0], "op": ["r", "m"], "type": ["ReadVariableOp", "Mul"], "frame": [-1, -1]},
        "functions": {"graph": ["f"], "file": [-1], "line": [0], "function": [""]},
        "details": {
            "op": [0, 1],
            "device": ["", "/cpu:0"],
            "float_ops": [0, 6],
            "input_shapes": ["()", "2x3;?"],
            "output_shapes": ["2x3", "2x-1"],
            "variable": [0, -1],
            "dtype": ["float32", "float16"],
        },
        "edges": {"op": [1], "slot": [0], "source": [0], "source_output": [0]},
        "variables": {
            "name": ["w"],
            "shape": ["2x3"],
            "dtype": ["float32"],
            "trainable": [True],
            "layer": ["net/a"],
            "device": ["CPU"],
        },
    } | changed


def parsed(**changed: Any) -> SourceMap:
    return parse_source_map(gzip.compress(json.dumps(document(**changed)).encode()))


def test_details_are_read_as_they_were_written() -> None:
    one = parsed()
    for name in NEW:
        assert getattr(one, name).to_dict("list") == document()[name]


def test_types_of_ops_are_unknown_in_a_sidecar_of_before() -> None:
    details = {key: values for key, values in document()["details"].items() if key != "dtype"}
    assert parsed(details=details).details["dtype"].tolist() == ["", ""]


@pytest.mark.parametrize("name", NEW)
def test_a_sidecar_of_before_has_none_and_the_rest(name: str) -> None:
    old = document()
    del old[name]
    one = parse_source_map(gzip.compress(json.dumps(old).encode()))
    assert getattr(one, name).empty
    assert list(getattr(one, name).columns) == list(SOURCE_TABLES[name])
    assert one.ops["op"].tolist() == ["r", "m"]
    assert one.warnings == ()


@pytest.mark.parametrize(
    ("name", "column", "values"),
    [
        ("details", "float_ops", ["6", "7"]),
        ("details", "input_shapes", [1, 2]),
        ("edges", "slot", [0, 1]),
        ("edges", "source", [2**70]),
        ("variables", "trainable", ["yes"]),
        ("variables", "shape", [[2, 3]]),
    ],
)
def test_a_broken_table_is_told_of(name: str, column: str, values: list[Any]) -> None:
    with pytest.raises(TraceError, match="broken"):
        parsed(**{name: document()[name] | {column: values}})


def test_references_to_rows_that_are_not_there_are_none() -> None:
    one = parsed(
        edges={"op": [7, 1], "slot": [0, 0], "source": [0, -5], "source_output": [0, 0]},
        details=document()["details"] | {"op": [0, 9], "variable": [3, 0]},
    )
    assert one.edges["op"].tolist() == [-1, 1]
    assert one.edges["source"].tolist() == [0, -1]
    assert one.details["op"].tolist() == [0, -1]
    assert one.details["variable"].tolist() == [-1, 0]


def test_maps_of_two_captures_keep_their_own_rows() -> None:
    both = merge_source_maps([parsed(), parsed(recorder="b")])
    assert both.details["op"].tolist() == [0, 1, 2, 3]
    assert both.details["variable"].tolist() == [0, -1, 1, -1]
    assert both.edges["source"].tolist() == [0, 2]
    assert both.edges["op"].tolist() == [1, 3]
    assert len(both.variables) == 2


def test_variables_alone_make_a_map() -> None:
    assert not parsed(ops={}, details={}, edges={}, functions={}).is_empty


def test_shapes_are_told_apart() -> None:
    assert parse_shapes("32x-1;();?;7") == [(32, -1), (), None, (7,)]
    assert parse_shapes("") == []
    assert parse_shapes(";") == [None, None]
    assert parse_shapes("x".join("1" * 255)) == [None]
    assert parse_shapes("9" * 19) == [None]


@given(st.text(max_size=60))
def test_any_text_is_shapes_or_none(text: str) -> None:
    for shape in parse_shapes(text):
        assert shape is None or all(size >= -1 for size in shape)
